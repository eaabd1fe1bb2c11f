/* A plain Lua of its own for scripts of models. */
#pragma once

#include <stdbool.h>

/* argv[1] of a program that is to run a Lua script from its standard input. */
#define HOCKET__PLAIN_LUA_WORD "--hocket-lua"

/* The same for a script that exchanges messages: a line gives the script's size in bytes, the script follows, and the
 * script itself reads the rest. */
#define HOCKET__TALKING_LUA_WORD "--hocket-talking-lua"

/* Runs it in a new state with the standard libraries, and ends the process: 0, or 1 after an error,
 * which goes to the standard error with a traceback. There is nothing of hocket in that state;
 * what holds the script is the sandbox around the process. */
_Noreturn void hocket__plain_lua_main(bool talks);

/* A Lua of its own for scripts that a model writes, in a process and a sandbox of their own. Only
 * text is loaded, no bytecode, which can crash any Lua. Errors end the process with 1 and are printed on stderr,
 * as `lua` does. */
#include "bind/plain_lua.h"

#include <lauxlib.h>
#include <lualib.h>
#include <stdio.h>
#include <stdlib.h>

static int traceback(lua_State *L)
{
    luaL_traceback(L, L, luaL_tolstring(L, 1, NULL), 1);
    return 1;
}

static const char *read_piece(lua_State *L, void *ud, size_t *size)
{
    static char piece[8192];
    (void) L;
    *size = fread(piece, 1, sizeof(piece), ud);
    return piece;
}

/* A program that goes on reading what comes behind its own text: a line says how long that is. */
static const char *read_counted(lua_State *L, void *ud, size_t *size)
{
    static char piece[8192];
    size_t *left = ud;
    (void) L;
    *size = fread(piece, 1, *left < sizeof(piece) ? *left : sizeof(piece), stdin);
    *left -= *size;
    return piece;
}

static size_t read_length(void)
{
    char line[32];
    return fgets(line, sizeof(line), stdin) ? strtoul(line, NULL, 10) : 0;
}

static int load(lua_State *L, bool talks)
{
    size_t left = talks ? read_length() : 0;
    return talks ? lua_load(L, read_counted, &left, "=prelude", "t")
                 : lua_load(L, read_piece, stdin, "=script", "t");
}

_Noreturn void hocket__plain_lua_main(bool talks)
{
    lua_State *L = luaL_newstate();
    if (!L)
        exit(1);
    luaL_openlibs(L);
    lua_pushcfunction(L, traceback);
    if (load(L, talks) == LUA_OK && lua_pcall(L, 0, 0, 1) == LUA_OK) {
        lua_close(L);
        exit(0);
    }
    const char *message = lua_tostring(L, -1);
    fflush(stdout);
    fprintf(stderr, "%s\n", message ? message : "an error without a message");
    exit(1);
}

/* The module hocket.process. */
#pragma once

#include <lua.h>

int hocket__open_process(lua_State *L);

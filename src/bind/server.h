/* hocket.core.server (lua_server.c), of the optional component hocket-serve. */
#pragma once

#include <lua.h>

int hocket__open_server(lua_State *L);

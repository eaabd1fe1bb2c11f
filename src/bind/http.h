/* hocket.http (lua_http.c). */
#pragma once

#include <lua.h>

int hocket__open_http(lua_State *L);

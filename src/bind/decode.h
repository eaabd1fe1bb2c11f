/* hocket.core.decode (lua_decode.c). */
#pragma once

#include <lua.h>

int hocket__open_decode(lua_State *L);

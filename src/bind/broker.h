/* hocket.core.broker (lua_broker.c). */
#pragma once

#include <lua.h>

int hocket__open_broker(lua_State *L);

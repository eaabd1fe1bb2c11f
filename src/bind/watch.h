/* The module hocket.core.watch. */
#pragma once

#include <lua.h>

int hocket__open_watch(lua_State *L);

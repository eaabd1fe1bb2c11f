/* The module hocket.core.web. */
#pragma once

#include <lua.h>

int hocket__open_web(lua_State *L);

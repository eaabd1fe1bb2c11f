/* hocket.core.schema (lua_schema.c). */
#pragma once

#include <lua.h>

int hocket__open_schema(lua_State *L);

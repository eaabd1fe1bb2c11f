/* hocket.schema (lua_schema.c). */
#pragma once

#include "base/str.h"

#include <lua.h>

int hocket__open_schema(lua_State *L);

/* Reads a JSON object and checks it by the schema at arg, or by none for nil. Pushes it as a table,
 * or nil, what is wrong and the details in words: "json" (the text is none), "object" (it is
 * another value), "fit". Returns how many values that are. */
int hocket__schema_read(lua_State *L, int arg, struct hocket__str json);

/* The Lua modules over net/llm.h. */
#pragma once

#include <lua.h>

struct hocket__history;

int hocket__open_llm(lua_State *L);
/* Adds `history` to the module table on top (lua_history.c). */
void hocket__open_history(lua_State *L);
struct hocket__history *hocket__check_history(lua_State *L, int arg);

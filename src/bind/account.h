/* hocket.core.account: see lua_account.c. */
#pragma once

#include <lua.h>

int hocket__open_account(lua_State *L);

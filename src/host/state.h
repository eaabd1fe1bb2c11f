/* Hosts that `require "hocket"` makes: they live and die with their Lua state. */
#pragma once

#include "host/host.h"

/* Whether the state's host was made by hocket_luaopen. */
bool hocket__host_is_guarded(lua_State *L);
/* Lets go of it: it will be closed by hand. */
void hocket__host_unguard(lua_State *L);

/* The open function of hocket.internal.core.host (lua_host.c). */
int hocket__open_host(lua_State *L);

/* Hosts that `require "hocket"` makes: they live and die with their Lua state. */
#pragma once

#include "host/host.h"

/* The open function of hocket.internal.core.host (lua_host.c). */
int hocket__open_host(lua_State *L);

/* hocket.internal.core.cassette: recordings as Lua objects. */
#pragma once

#include "net/cassette/cassette.h"

#include <lua.h>

int hocket__open_cassette(lua_State *L);

/* The cassette of the running fiber's context ({cassette = …}, inherited), or NULL. It stays
 * valid while its userdata lives: whoever keeps it, keeps that too. */
struct hocket__cassette *hocket__cassette_here(lua_State *L);
/* The same, with its userdata, or nil, pushed. */
struct hocket__cassette *hocket__cassette_push(lua_State *L);

/* hocket.internal.core.cassette: recordings as Lua objects. */
#pragma once

#include "net/cassette/cassette.h"

#include <lua.h>

struct hocket__runtime;

int hocket__open_cassette(lua_State *L);

/* The cassette of the running fiber's context ({cassette = …}, inherited), or NULL. */
struct hocket__cassette *hocket__cassette_here(lua_State *L, struct hocket__runtime *rt);

/* require "hocket" in a Lua state that is not ours. A guard in the registry closes the host when
 * the state is closed. It runs among the state's last finalizers, when objects of ours may have
 * been finalized already: so no Lua code runs any more then, and fibers are dropped as Lua drops
 * suspended coroutines. */

#include "host/state.h"

#include <stdlib.h>

#include <lauxlib.h>

#include "bind/modules.h"
#include "bind/util.h"

static const char guard_key;

static int guard_gc(lua_State *L)
{
    struct hocket_host **guarded = hocket__gc_userdata(L, guard_gc);
    struct hocket_host *h = guarded ? *guarded : NULL;
    if (!h)
        return 0;
    *guarded = NULL;
    if (!hocket__host_busy(h)) /* otherwise os.exit was called inside of a run: the process ends */
        hocket__host_abandon(h);
    return 0;
}

static struct hocket_host **guard(lua_State *L)
{
    struct hocket_host **guarded = NULL;
    if (lua_checkstack(L, 1)) {
        lua_rawgetp(L, LUA_REGISTRYINDEX, &guard_key);
        guarded = lua_touserdata(L, -1);
        lua_pop(L, 1);
    }
    return guarded;
}

bool hocket__host_is_guarded(lua_State *L)
{
    struct hocket_host **guarded = guard(L);
    return guarded && *guarded;
}

void hocket__host_unguard(lua_State *L)
{
    struct hocket_host **guarded = guard(L);
    if (guarded)
        *guarded = NULL;
}

/* ---- Opening ------------------------------------------------------------------------ */

static const char *from_environment(const char *name, void *ud)
{
    (void) ud;
    return getenv(name);
}

/* Lua's own channel for what is worth knowing; off until a script says warn "@on". */
static void to_warnings(enum hocket_log_level level, const char *text, void *ud)
{
    if (level > HOCKET_LOG_WARN)
        return;
    lua_warning(ud, "hocket: ", 1);
    lua_warning(ud, text, 0);
}

static bool has_getenv(lua_State *L)
{
    /* An engine that gives its scripts no os.getenv does not want them to see the environment:
     * nor do we through a side door. Raw, since _G may have metamethods. */
    luaL_getsubtable(L, LUA_REGISTRYINDEX, LUA_LOADED_TABLE);
    lua_pushliteral(L, "os");
    bool has = lua_rawget(L, -2) == LUA_TTABLE;
    if (has) {
        lua_pushliteral(L, "getenv");
        has = lua_rawget(L, -2) == LUA_TFUNCTION;
        lua_pop(L, 1);
    }
    lua_pop(L, 2);
    return has;
}

/* All that can raise comes before the host is opened. */
static void open_guarded(lua_State *L)
{
    struct hocket_options o;
    hocket_options_init(&o, sizeof(o));
    struct hocket_error err;
    lua_rawgeti(L, LUA_REGISTRYINDEX, LUA_RIDX_MAINTHREAD);
    o.lua_state = lua_tothread(L, -1);
    lua_pop(L, 1);
    o.log_cb = to_warnings;
    o.log_ud = o.lua_state;
    o.getenv_cb = has_getenv(L) ? from_environment : NULL;
    struct hocket_host **guarded = lua_newuserdatauv(L, sizeof(*guarded), 0);
    *guarded = NULL;
    lua_createtable(L, 0, 1);
    lua_pushcfunction(L, guard_gc);
    lua_setfield(L, -2, "__gc");
    lua_pushvalue(L, -2);
    lua_rawsetp(L, LUA_REGISTRYINDEX, &guard_key);
    if (hocket_open(&o, guarded, &err) < 0)
        hocket__raise(L, &err);
    lua_setmetatable(L, -2); /* last: what is marked first is finalized last */
    lua_pop(L, 1);
}

int hocket_luaopen(lua_State *L)
{
    luaL_checkversion(L);
    luaL_checkstack(L, 8, NULL);
    if (!hocket_of_state(L))
        open_guarded(L);
    hocket__require(L, "hocket");
    return 1;
}

hocket_host *hocket_of_state(lua_State *L)
{
    struct hocket__runtime *rt = hocket__runtime_of(L);
    return rt ? rt->on_drained_ud : NULL;
}

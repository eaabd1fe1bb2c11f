/* hocket.internal.core.host: what Lua may ask of the host that it lives in; lua/hocket/host.lua makes
 * `hocket.host` of it. For programs whose loop is written in Lua.
 *
 * The same functions as in the public header, with errors raised or returned as Lua has them. None
 * of them may be called by a fiber that the host itself is running, since it would turn the loop
 * below itself. */

#include "host/host.h"

#include "bind/util.h"
#include "host/run/run.h"
#include "host/state.h"
#include "host/tools/tools.h"

static struct hocket_host *check_host(lua_State *L)
{
    return hocket__runtime(L)->on_drained_ud;
}

static int answer(lua_State *L, int rc)
{
    if (rc < 0)
        return luaL_error(
            L, "the host cannot be turned here: it is at work, or its event loop is the program's");
    lua_pushboolean(L, rc > 0);
    return 1;
}

/* pump(microseconds) -> whether work is left */
static int l_pump(lua_State *L)
{
    struct hocket__runtime *rt =
        hocket__runtime(L); /* outlives the host, which may close in there */
    lua_Integer us = luaL_checkinteger(L, 1);
    lua_State *outer = rt->from;
    rt->from = L;
    int rc = hocket_pump(rt->on_drained_ud, us);
    rt->from = outer;
    return answer(L, rc);
}

/* wait(milliseconds or -1) -> whether work is left */
static int l_wait(lua_State *L)
{
    struct hocket__runtime *rt = hocket__runtime(L);
    int ms = (int) luaL_checkinteger(L, 1);
    lua_State *outer = rt->from;
    rt->from = L;
    int rc = hocket_wait(rt->on_drained_ud, ms);
    rt->from = outer;
    return answer(L, rc);
}

static int l_fd(lua_State *L)
{
    lua_pushinteger(L, hocket_backend_fd(check_host(L)));
    return 1;
}

/* timeout() -> milliseconds, -1: for ever */
static int l_timeout(lua_State *L)
{
    lua_pushinteger(L, hocket_backend_timeout(check_host(L)));
    return 1;
}

/* stats() -> table */
static int l_stats(lua_State *L)
{
    struct hocket_host_stats s = { .size = sizeof(s) };
    hocket_stats(check_host(L), &s);
    const struct {
        const char *name;
        uint64_t value;
    } rows[] = { { "runs", s.runs }, { "runs_ended", s.runs_ended }, { "events", s.events },
        { "fibers", s.fibers }, { "requests", s.requests }, { "tool_calls", s.tool_calls },
        { "lua_bytes", s.lua_bytes } };
    lua_newtable(L);
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        lua_pushinteger(L, (lua_Integer) rows[i].value);
        lua_setfield(L, -2, rows[i].name);
    }
    return 1;
}

/* close(): of a host that was made by require; the program's own is the program's to close */
static int l_close(lua_State *L)
{
    struct hocket_host *h = check_host(L);
    if (!hocket__host_is_guarded(L))
        return luaL_error(L, "this host was opened by the program, and is closed by it");
    if (hocket__host_busy(h))
        return luaL_error(L, "the host is at work: close it from outside of its runs");
    hocket__host_unguard(L);
    hocket_close(h, NULL, NULL);
    return 0;
}

/* delta(journal, kind, text, agent, op): text of a stream, for whoever listens to the run */
static int l_delta(lua_State *L)
{
    struct hocket__lua_journal *j = hocket__check_journal(L, 1);
    struct hocket__str kind = hocket__check_str(L, 2), text = hocket__check_str(L, 3);
    struct hocket__str agent = hocket__check_str(L, 4), op = hocket__check_str(L, 5);
    if (j->on_append == hocket__run_on_append)
        hocket__run_delta(j->ud, kind, text, agent, op);
    return 0;
}

/* told(journal) -> the record up to which a run was told in an earlier life, 0: it has had none; nothing where it is none of the
 * host's own runs */
static int l_told(lua_State *L)
{
    struct hocket__lua_journal *j = hocket__check_journal(L, 1);
    if (j->on_append != hocket__run_on_append)
        return 0;
    lua_pushinteger(L, (lua_Integer) ((const struct hocket__run *) j->ud)->reported_before);
    return 1;
}

static const luaL_Reg functions[] = {
    { "call_tool", hocket__call_tool },
    { "delta", l_delta },
    { "told", l_told },
    { "start", hocket__lua_run_start },
    { "pump", l_pump },
    { "wait", l_wait },
    { "fd", l_fd },
    { "timeout", l_timeout },
    { "stats", l_stats },
    { "close", l_close },
    { NULL, NULL },
};

int hocket__open_host(lua_State *L)
{
    hocket__tools_open(L);
    hocket__lua_started_open(L);
    lua_newtable(L);
    hocket__setfuncs(L, functions);
    return 1;
}

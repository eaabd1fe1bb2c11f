/* hocket.internal.core.host: what Lua may ask of the host that it lives in; lua/hocket/host.lua makes
 * `hocket.host` of it. For programs whose loop is written in Lua.
 *
 * The same functions as in the public header, with errors raised or returned as Lua has them. None
 * of them may be called by a fiber that the host itself is running, since it would turn the loop
 * below itself. */
#include "host/host.h"

#include <stdlib.h>
#include <string.h>

#include <lauxlib.h>

#include "bind/fiber/fiber.h"
#include "bind/modules.h"
#include "bind/util.h"
#include "host/run/run.h"
#include "host/state.h"
#include "host/tools/tools.h"

/* require "hocket" in a Lua state that is not ours. A guard in the registry closes the host when
 * the state is closed. It runs among the state's last finalizers, when objects of ours may have
 * been finalized already: so no Lua code runs any more then, and fibers are dropped as Lua drops
 * suspended coroutines. */

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

/* Whether the state's host was made by hocket_luaopen. */
static bool is_guarded(lua_State *L)
{
    struct hocket_host **guarded = guard(L);
    return guarded && *guarded;
}

/* Lets go of it: it will be closed by hand. */
static void unguard(lua_State *L)
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

/* Everything that can raise comes before the host is opened. */
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

/* Runs that Lua starts in its own host, as hocket_run_start does. Each is a run of its own, is kept where the host keeps
 * runs, and does not end with the fiber that has started it.
 *
 *     local started = start("agents", "Two days in Rome", "{}")
 *     local code, text, json, message = started:wait()        -- as entry.lua's start returns them
 *
 * The userdata stands in the registry until the run has ended: on_done writes into it. */

static const char STARTED[] = "hocket.started";

struct started {
    struct hocket_host *host;
    uint64_t id, waiter;
    int ref;
    bool done, kept;
    char name[HOCKET__RUN_ID_LEN + 1];
    int status;
    struct hocket__buf text, json, message;
};

static struct started *check(lua_State *L)
{
    return hocket__check_object(L, 1, STARTED);
}

static void on_done(hocket_host *h, uint64_t id, const struct hocket_result *result, void *ud)
{
    struct started *s = ud;
    (void) id;
    s->done = true;
    s->status = result->status;
    hocket__buf_add(&s->text, result->text, result->text_len);
    hocket__buf_add(&s->json, result->json, result->json_len);
    if (result->error)
        hocket__buf_addstr(&s->message, hocket__cstr(result->error->message));
    if (s->text.status < 0 || s->json.status < 0 || s->message.status < 0)
        s->status = HOCKET_ENOMEM;
    luaL_unref(h->L, LUA_REGISTRYINDEX, s->ref);
    s->ref = LUA_NOREF;
    hocket__fiber_wake(h->rt, s->waiter);
}

static int started_gc(lua_State *L)
{
    struct started *s = hocket__gc_userdata(L, started_gc);
    if (!s)
        return 0;
    hocket__buf_deinit(&s->text);
    hocket__buf_deinit(&s->json);
    hocket__buf_deinit(&s->message);
    return 0;
}

/* ---- What is asked of it ---------------------------------------------------------------------- */

static int l_name(lua_State *L)
{
    lua_pushstring(L, check(L)->name);
    return 1;
}

static int l_is_kept(lua_State *L)
{
    lua_pushboolean(L, check(L)->kept);
    return 1;
}

static int l_journal(lua_State *L)
{
    lua_getiuservalue(L, (check(L), 1), 1);
    return 1;
}

static void push_text(lua_State *L, const struct hocket__buf *b)
{
    hocket__push_str(L, b->status < 0 ? HOCKET__STR("") : hocket__buf_str(b));
}

/* A wake is a hint: whoever was woken looks again. */
static int again(lua_State *L, int status, lua_KContext ctx)
{
    struct started *s = (struct started *) ctx;
    (void) status;
    if (!s->done)
        return hocket__await(L, -1, NULL, NULL, ctx, again);
    lua_pushstring(L, s->status == 0 ? "ok" : hocket_status_word(s->status));
    push_text(L, &s->text);
    push_text(L, &s->json);
    push_text(L, &s->message);
    return 4;
}

/* wait() -> code, text, json, message */
static int l_wait_started(lua_State *L)
{
    struct started *s = check(L);
    s->waiter = hocket__fiber_current(L)->id;
    return again(L, LUA_OK, (lua_KContext) s);
}

/* Ends it. Whether it goes on. */
static int l_cancel(lua_State *L)
{
    struct started *s = check(L);
    lua_pushboolean(L, !s->done && hocket_run_cancel(s->host, s->id) == 0);
    return 1;
}

/* Ends the run in this process, so that it can be resumed later; a run that is not durable is
 * cancelled. Returns whether it was parked. */
static int l_park(lua_State *L)
{
    struct started *s = check(L);
    bool parked = !s->done && hocket_run_park(s->host, s->id) == 0;
    if (!parked && !s->done)
        hocket_run_cancel(s->host, s->id);
    lua_pushboolean(L, parked);
    return 1;
}

/* answer(question, text) -> true | nil, err */
static int l_answer(lua_State *L)
{
    struct started *s = check(L);
    struct hocket__str text = hocket__check_str(L, 3);
    struct hocket_error err;
    struct hocket__run *r = s->done ? NULL : hocket__run_find(s->host, s->id);
    int rc = r ? hocket__run_say(r, "answer", luaL_checkstring(L, 2), text, &err)
               : hocket__error(&err, HOCKET_ENOTFOUND, "the run is over");
    return hocket__succeed(L, rc, &err);
}

static const luaL_Reg methods[] = {
    { "name", l_name },
    { "is_kept", l_is_kept },
    { "journal", l_journal },
    { "wait", l_wait_started },
    { "cancel", l_cancel },
    { "park", l_park },
    { "answer", l_answer },
    { "__gc", started_gc },
    { NULL, NULL },
};

/* ---- Starting --------------------------------------------------------------------------------- */

static struct started *push_started(lua_State *L)
{
    struct hocket__runtime *rt = hocket__runtime(L);
    struct started *s = hocket__new_object(L, sizeof(*s), 1, STARTED);
    *s = (struct started){ .host = rt->on_drained_ud, .ref = LUA_NOREF };
    hocket__buf_init(&s->text, rt->alloc, 0);
    hocket__buf_init(&s->json, rt->alloc, 0);
    hocket__buf_init(&s->message, rt->alloc, 0);
    luaL_setmetatable(L, STARTED);
    return s;
}

static void take(lua_State *L, struct started *s)
{
    const struct hocket__run *r = hocket__run_find(s->host, s->id);
    memcpy(s->name, r->name, sizeof(s->name));
    s->kept = hocket__run_is_durable(r);
    lua_rawgeti(L, LUA_REGISTRYINDEX, r->journal_ref);
    lua_setiuservalue(L, -2, 1);
}

/* start(target, input or nil, options as JSON) -> started | nil, err */
static int run_start(lua_State *L)
{
    struct hocket_error err;
    size_t n = 0;
    struct hocket_run_spec spec = { .size = sizeof(spec), .target = luaL_checkstring(L, 1) };
    spec.input = luaL_optlstring(L, 2, NULL, &n);
    spec.input_len = n;
    spec.options = luaL_optstring(L, 3, "{}");
    struct started *s = push_started(L);
    lua_pushvalue(L, -1);
    s->ref = luaL_ref(L, LUA_REGISTRYINDEX);
    if (hocket_run_start(s->host, &spec, &s->id, NULL, on_done, s, &err) == 0) {
        take(L, s);
        return 1;
    }
    luaL_unref(L, LUA_REGISTRYINDEX, s->ref);
    return hocket__fail(L, &err);
}

/* Makes what it needs in the Lua state. */
static void started_open(lua_State *L)
{
    hocket__newmeta(L, STARTED, methods);
    lua_pop(L, 1);
}

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
static int l_prepare(lua_State *L)
{
    struct hocket_error err;
    if (hocket_prepare(check_host(L), &err) < 0)
        return hocket__fail(L, &err);
    lua_pushboolean(L, 1);
    return 1;
}

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
        hocket__set_int(L, rows[i].name, (lua_Integer) rows[i].value);
    }
    return 1;
}

/* close(): of a host that was made by require; the program's own is the program's to close */
static int l_close(lua_State *L)
{
    struct hocket_host *h = check_host(L);
    if (!is_guarded(L))
        return luaL_error(L, "this host was opened by the program, and is closed by it");
    if (hocket__host_busy(h))
        return luaL_error(L, "the host is at work: close it from outside of its runs");
    unguard(L);
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

/* told(journal) -> the number of the last record that an earlier attempt of the run emitted; 0: there was no earlier
 * attempt; nothing: not one of the host's own runs */
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
    { "start", run_start },
    { "prepare", l_prepare },
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
    started_open(L);
    lua_newtable(L);
    hocket__setfuncs(L, functions);
    return 1;
}

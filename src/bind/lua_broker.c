/* hocket.core.broker: the broker's state machine for Lua. Its callbacks only take note: what
 * happened is fetched with take(), and whoever waits is woken as a fiber. */

#include "bind/broker.h"

#include <sys/random.h>

#include "bind/broker_impl.h"

static const char META[] = "hocket.broker";
#define MAX_BATCH 1000

/* One event that was not fetched yet, with its texts behind it. */
struct noted {
    struct hocket__list link;
    size_t size;
    enum hocket__broker_event_type type;
    uint64_t id;
    struct hocket__str payload, usage;
    char text[];
};

struct hocket__lua_broker *hocket__check_broker(lua_State *L)
{
    struct hocket__lua_broker *b = hocket__check_object(L, 1, META);
    hocket__runtime(L);
    return b;
}

static uint64_t random_number(void)
{
    uint64_t v = 0;
    if (getrandom(&v, sizeof(v), GRND_NONBLOCK) != (ssize_t) sizeof(v))
        v = uv_hrtime() * 0x9E3779B97F4A7C15u;
    return v;
}

/* ---- What the broker tells ------------------------------------------------------ */

static struct hocket__str put(char **at, struct hocket__str s)
{
    struct hocket__str copy = hocket__str(*at, s.n);
    if (s.n > 0)
        memcpy(*at, s.p, s.n);
    *at += s.n;
    return copy;
}

/* What the dispatcher does itself it goes on to look at anyway. */
static void nudge(struct hocket__lua_broker *b)
{
    struct hocket__fiber *running = b->rt->running;
    if (b->nudged || (running && running->id == b->dispatcher))
        return;
    b->nudged = true;
    hocket__fiber_wake(b->rt, b->dispatcher);
}

static void on_event(const struct hocket__broker_event *e, void *ud)
{
    struct hocket__lua_broker *b = ud;
    size_t size = sizeof(struct noted) + e->payload.n + e->usage.n;
    struct noted *n = hocket__new(b->rt->alloc, size);
    nudge(b);
    if (!n) {
        b->lost = true;
        return;
    }
    char *at = n->text;
    n->size = size;
    n->type = e->type;
    n->id = e->job->id;
    n->payload = put(&at, e->payload);
    n->usage = put(&at, e->usage);
    hocket__list_add(&b->events, &n->link);
}

static void on_wake(uint64_t token, void *ud)
{
    hocket__fiber_wake(((struct hocket__lua_broker *) ud)->rt, token);
}

static void push_text(lua_State *L, struct hocket__str s)
{
    if (s.n > 0)
        hocket__push_str(L, s);
    else
        lua_pushnil(L);
}

static int push_event(lua_State *L, struct hocket__lua_broker *b)
{
    struct noted *n = hocket__container_of(b->events.next, struct noted, link);
    lua_pushstring(L, hocket__broker_event_word(n->type));
    lua_pushinteger(L, (lua_Integer) n->id);
    push_text(L, n->payload);
    push_text(L, n->usage);
    hocket__list_del(&n->link);
    hocket__free(b->rt->alloc, n, n->size);
    return 4;
}

/* b:take() -> type, id, payload or nil, usage or nil; nothing when there is no event */
static int l_take(lua_State *L)
{
    struct hocket__lua_broker *b = hocket__check_broker(L);
    if (b->lost) {
        b->lost = false;
        return luaL_error(L, "out of memory: an event of the broker was lost");
    }
    return hocket__list_empty(&b->events) ? 0 : push_event(L, b);
}

/* ---- Making ------------------------------------------------------------------------ */

static int l_gc(lua_State *L)
{
    struct hocket__lua_broker *b = hocket__gc_userdata(L, l_gc);
    if (!b)
        return 0;
    if (b->broker)
        hocket__broker_free(b->broker);
    if (b->store)
        b->store->ops->close(b->store);
    b->broker = NULL;
    b->store = NULL;
    while (!hocket__list_empty(&b->events)) {
        struct noted *n = hocket__container_of(b->events.next, struct noted, link);
        hocket__list_del(&n->link);
        hocket__free(b->rt->alloc, n, n->size);
    }
    return 0;
}

/* new{max_running=, max_jobs=, max_depth=} -> broker, with the memory store */
static int l_new(lua_State *L)
{
    static const char *const names[] = { "max_running", "max_jobs", "max_depth", NULL };
    struct hocket__runtime *rt = hocket__runtime(L);
    struct hocket__broker_options o = hocket__broker_options_default();
    hocket__opt_only(L, 1, names);
    o.max_running = hocket__opt_int(L, 1, "max_running", o.max_running, 0, INT64_MAX);
    o.max_jobs = (size_t) hocket__opt_int(L, 1, "max_jobs", (lua_Integer) o.max_jobs, 0, INT32_MAX);
    o.max_depth = (size_t) hocket__opt_int(L, 1, "max_depth", (lua_Integer) o.max_depth, 0, 4096);
    struct hocket__lua_broker *b = lua_newuserdatauv(L, sizeof(*b), 0);
    *b = (struct hocket__lua_broker){ .rt = rt };
    hocket__list_init(&b->events);
    luaL_setmetatable(L, META);
    struct hocket__broker_hooks hooks = { on_event, on_wake, b };
    if (hocket__store_memory_new(rt->alloc, &b->store) < 0
        || hocket__broker_new(rt->alloc, &o, b->store, &hooks, &b->broker) < 0)
        return luaL_error(L, "out of memory");
    return 1;
}

/* b:dispatcher(): the running fiber is woken by every change from now on */
static int l_dispatcher(lua_State *L)
{
    hocket__check_broker(L)->dispatcher = hocket__fiber_current(L)->id;
    return 0;
}

/* b:limit("agent" | "provider" | "group", name, n or nil); b:limit_all(n or nil) */
static int l_limit(lua_State *L)
{
    static const char *const kinds[] = { "agent", "provider", "group", NULL };
    static const enum hocket__limit_kind values[] = { HOCKET__LIMIT_AGENT, HOCKET__LIMIT_PROVIDER,
        HOCKET__LIMIT_GROUP };
    struct hocket__lua_broker *b = hocket__check_broker(L);
    int kind = luaL_checkoption(L, 2, NULL, kinds);
    if (hocket__broker_limit(b->broker, values[kind], hocket__check_str(L, 3),
            luaL_optinteger(L, 4, HOCKET__UNLIMITED))
        < 0)
        return luaL_error(L, "out of memory");
    nudge(b);
    return 0;
}

static int l_limit_all(lua_State *L)
{
    struct hocket__lua_broker *b = hocket__check_broker(L);
    hocket__broker_limit_all(b->broker, luaL_optinteger(L, 2, HOCKET__UNLIMITED));
    nudge(b);
    return 0;
}

/* ---- Submitting ---------------------------------------------------------------------- */

/* b:submit({spec, …}, run, {data, parent, fence, …}) -> ids | nil, error: all or none */
static int l_submit(lua_State *L)
{
    struct hocket__lua_broker *b = hocket__check_broker(L);
    struct hocket_error err;
    luaL_checktype(L, 2, LUA_TTABLE);
    lua_Unsigned n = lua_rawlen(L, 2);
    uint64_t run = (uint64_t) luaL_checkinteger(L, 3);
    luaL_checktype(L, 4, LUA_TTABLE);
    luaL_argcheck(L, n >= 1 && n <= MAX_BATCH, 2, "1 to 1000 jobs expected");
    struct hocket__job_spec *specs = lua_newuserdatauv(L, n * sizeof(*specs), 0);
    uint64_t *ids = lua_newuserdatauv(L, n * sizeof(*ids), 0);
    for (lua_Unsigned i = 0; i < n; i++) {
        lua_rawgeti(L, 2, (lua_Integer) i + 1);
        luaL_argcheck(L, lua_istable(L, -1), 2, "a list of tables expected");
        hocket__job_spec_read(L, lua_gettop(L), &specs[i]);
        hocket__job_spec_read_beside(L, 4, (lua_Integer) i, &specs[i]);
        specs[i].run = run;
    }
    if (hocket__broker_submit(b->broker, specs, n, (int64_t) hocket__deadlines_now(), ids, &err)
        < 0)
        return hocket__fail(L, &err);
    lua_createtable(L, (int) n, 0);
    for (lua_Unsigned i = 0; i < n; i++) {
        lua_pushinteger(L, (lua_Integer) ids[i]);
        lua_rawseti(L, -2, (lua_Integer) i + 1);
    }
    return 1;
}

/* ---- Working --------------------------------------------------------------------------- */

static int push_due(lua_State *L, struct hocket__lua_broker *b)
{
    int64_t at = hocket__broker_next_wakeup(b->broker), now = (int64_t) hocket__deadlines_now();
    b->nudged = false;
    lua_pushnil(L);
    if (at == HOCKET__NEVER)
        return 1;
    lua_pushnumber(L, at > now ? (double) (at - now) / 1000 : 0);
    return 2;
}

/* b:step() -> what the dispatcher is to do: an event as take(); or "start" or "resume", id,
 * fence; or nil and the seconds until something is due (nil: nothing is) */
static int l_step(lua_State *L)
{
    struct hocket__lua_broker *b = hocket__check_broker(L);
    struct hocket__claim claim;
    struct hocket_error err;
    if (b->lost || !hocket__list_empty(&b->events))
        return l_take(L);
    hocket__broker_expire(b->broker, (int64_t) hocket__deadlines_now(), random_number());
    int rc =
        hocket__broker_next(b->broker, (int64_t) hocket__deadlines_now(), 1, HOCKET__NEVER, &claim);
    if (rc < 0) {
        hocket__error(&err, rc, "the job store: %s", hocket_status_text(rc));
        return hocket__raise(L, &err);
    }
    if (rc == 0)
        return hocket__list_empty(&b->events) ? push_due(L, b) : l_take(L);
    lua_pushstring(L, claim.resumed ? "resume" : "start");
    lua_pushinteger(L, (lua_Integer) claim.job->id);
    lua_pushinteger(L, (lua_Integer) claim.fence);
    return 3;
}

static int answered(lua_State *L, int rc, const struct hocket_error *err)
{
    if (rc < 0)
        return hocket__fail(L, err);
    nudge(lua_touserdata(L, 1));
    lua_pushboolean(L, true);
    return 1;
}

static struct hocket__str opt_text(lua_State *L, int arg)
{
    return lua_isnoneornil(L, arg) ? hocket__str("", 0) : hocket__check_str(L, arg);
}

/* b:complete(id, fence, result, usage) -> true | nil, error */
static int l_complete(lua_State *L)
{
    struct hocket__lua_broker *b = hocket__check_broker(L);
    struct hocket_error err;
    return answered(L,
        hocket__broker_complete(b->broker, hocket__job_id_at(L, 2), hocket__job_id_at(L, 3),
            (int64_t) hocket__deadlines_now(), opt_text(L, 4), opt_text(L, 5), &err),
        &err);
}

/* b:fail(id, fence, {code=, message=, usage=, no_retry=}) -> true | nil, error */
static int l_fail(lua_State *L)
{
    static const char *const names[] = { "code", "message", "usage", "no_retry", NULL };
    struct hocket__lua_broker *b = hocket__check_broker(L);
    struct hocket_error err;
    luaL_checktype(L, 4, LUA_TTABLE);
    hocket__opt_only(L, 4, names);
    struct hocket__job_outcome o = { .error = hocket__broker_text(L, 4, "message"),
        .usage = hocket__broker_text(L, 4, "usage"),
        .no_retry = hocket__opt_bool(L, 4, "no_retry", false) };
    struct hocket__str code = hocket__broker_text(L, 4, "code");
    o.status = hocket__status_from_word(code.n ? code.p : "script");
    return answered(L,
        hocket__broker_fail(b->broker, hocket__job_id_at(L, 2), hocket__job_id_at(L, 3),
            (int64_t) hocket__deadlines_now(), random_number(), &o, &err),
        &err);
}

/* b:park(id, fence), b:unpark(id, fence) -> true | nil, error */
static int l_park(lua_State *L)
{
    struct hocket__lua_broker *b = hocket__check_broker(L);
    struct hocket_error err;
    return answered(L,
        hocket__broker_park(b->broker, hocket__job_id_at(L, 2), hocket__job_id_at(L, 3), &err),
        &err);
}

static int l_unpark(lua_State *L)
{
    struct hocket__lua_broker *b = hocket__check_broker(L);
    struct hocket_error err;
    return answered(L,
        hocket__broker_unpark(b->broker, hocket__job_id_at(L, 2), hocket__job_id_at(L, 3), &err),
        &err);
}

/* b:cancel(id) -> true | nil, error; b:cancel_all(run) -> count */
static int l_cancel(lua_State *L)
{
    struct hocket__lua_broker *b = hocket__check_broker(L);
    struct hocket_error err;
    return answered(L,
        hocket__broker_cancel(
            b->broker, hocket__job_id_at(L, 2), (int64_t) hocket__deadlines_now(), &err),
        &err);
}

static int l_cancel_all(lua_State *L)
{
    struct hocket__lua_broker *b = hocket__check_broker(L);
    lua_pushinteger(L, (lua_Integer) hocket__broker_cancel_all(b->broker,
                           (uint64_t) luaL_optinteger(L, 2, 0), (int64_t) hocket__deadlines_now()));
    return 1;
}

/* b:note(id, fence, "progress" | "log", text) -> true | nil, error */
static int l_note(lua_State *L)
{
    static const char *const kinds[] = { "progress", "log", NULL };
    struct hocket__lua_broker *b = hocket__check_broker(L);
    struct hocket_error err;
    int kind = luaL_checkoption(L, 4, NULL, kinds);
    return answered(L,
        hocket__broker_note(b->broker, hocket__job_id_at(L, 2), hocket__job_id_at(L, 3),
            (int64_t) hocket__deadlines_now(), kind ? HOCKET__NOTE_LOG : HOCKET__NOTE_PROGRESS,
            hocket__check_str(L, 5), &err),
        &err);
}

/* ---- Waiting ------------------------------------------------------------------------------ */

struct wait {
    struct hocket__lua_broker *b;
    uint64_t token;
    bool open;
};

static void end_wait(struct wait *w)
{
    if (w->open && w->b->broker)
        hocket__broker_wait_cancel(w->b->broker, w->token);
    w->open = false;
}

static void unwait(void *ud)
{
    end_wait(ud);
}

static int after_wait(lua_State *L, int status, lua_KContext ctx)
{
    (void) status;
    struct wait *w = lua_touserdata(L, -1);
    struct hocket__fiber *f = hocket__fiber_current(L);
    uint64_t now = hocket__deadlines_now();
    /* Cancelling a wait that has been satisfied fails: that is how it is told. */
    if (hocket__broker_wait_cancel(w->b->broker, w->token) == HOCKET_ENOTFOUND) {
        w->open = false;
        lua_pushboolean(L, true);
        return 1;
    }
    w->open = false;
    if (f->timed_out || (ctx != 0 && now >= (uint64_t) ctx)) {
        lua_pushboolean(L, false);
        return 1;
    }
    lua_pushinteger(L, 0); /* woken by somebody else: wait on */
    return 1;
}

/* b:wait_once(ids, "any" | "all", seconds?) -> true (satisfied), false (the time is over), 0 (woken
 * early: wait again). The loop around it is in Lua. */
static int l_wait_once(lua_State *L)
{
    static const char *const modes[] = { "any", "all", NULL };
    struct hocket__lua_broker *b = hocket__check_broker(L);
    struct hocket_error err;
    luaL_checktype(L, 2, LUA_TTABLE);
    int mode = luaL_checkoption(L, 3, NULL, modes);
    int64_t ms = hocket__opt_seconds(L, 4);
    lua_Unsigned n = lua_rawlen(L, 2);
    uint64_t *ids = lua_newuserdatauv(L, (n + 1) * sizeof(*ids), 0);
    for (lua_Unsigned i = 0; i < n; i++) {
        lua_rawgeti(L, 2, (lua_Integer) i + 1);
        ids[i] = (uint64_t) luaL_checkinteger(L, -1);
        lua_pop(L, 1);
    }
    struct wait *w = lua_newuserdatauv(L, sizeof(*w), 0);
    *w = (struct wait){ b, hocket__fiber_current(L)->id, true };
    int rc = hocket__broker_wait(
        b->broker, w->token, ids, n, mode ? HOCKET__WAIT_ALL : HOCKET__WAIT_ANY, &err);
    if (rc < 0)
        return hocket__fail(L, &err);
    if (rc == 1) {
        lua_pushboolean(L, true);
        return 1;
    }
    uint64_t due = ms < 0 ? 0 : hocket__deadlines_now() + (uint64_t) ms;
    return hocket__await(L, ms, unwait, w, (lua_KContext) due, after_wait);
}

/* b:forget(id), b:forget_run(run) -> true | nil, error */
static int l_forget(lua_State *L)
{
    struct hocket__lua_broker *b = hocket__check_broker(L);
    struct hocket_error err;
    return answered(L, hocket__broker_forget(b->broker, hocket__job_id_at(L, 2), &err), &err);
}

static int l_forget_run(lua_State *L)
{
    struct hocket__lua_broker *b = hocket__check_broker(L);
    struct hocket_error err;
    return answered(L, hocket__broker_forget_run(b->broker, hocket__job_id_at(L, 2), &err), &err);
}

static const luaL_Reg functions[] = { { "new", l_new }, { "record", hocket__broker_l_record },
    { NULL, NULL } };
static const luaL_Reg methods[] = {
    { "dispatcher", l_dispatcher },
    { "limit", l_limit },
    { "limit_all", l_limit_all },
    { "submit", l_submit },
    { "step", l_step },
    { "take", l_take },
    { "complete", l_complete },
    { "fail", l_fail },
    { "park", l_park },
    { "unpark", l_unpark },
    { "cancel", l_cancel },
    { "cancel_all", l_cancel_all },
    { "note", l_note },
    { "notes", hocket__broker_l_notes },
    { "wait_once", l_wait_once },
    { "get", hocket__broker_l_get },
    { "take_finished", hocket__broker_l_take_finished },
    { "children", hocket__broker_l_children },
    { "mark_read", hocket__broker_l_mark_read },
    { "counts", hocket__broker_l_counts },
    { "forget", l_forget },
    { "forget_run", l_forget_run },
    { "__gc", l_gc },
    { NULL, NULL },
};

int hocket__open_broker(lua_State *L)
{
    hocket__newmeta(L, META, methods);
    lua_pop(L, 1);
    lua_newtable(L);
    hocket__setfuncs(L, functions);
    return 1;
}

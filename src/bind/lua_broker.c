/* hocket.core.broker: the broker's state machine for Lua. Its callbacks only take note: what
 * happened is fetched with take(), and whoever waits is woken as a fiber. */

#include "bind/broker.h"

#include <sys/random.h>

#include "bind/await.h"
#include "bind/journal.h"
#include "bind/util.h"
#include "core/broker.h"

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

struct broker {
    struct hocket__runtime *rt;
    struct hocket__store *store;
    struct hocket__broker *broker;
    struct hocket__list events;
    uint64_t dispatcher; /* the fiber that is woken when there may be something to do */
    bool nudged;         /* it was woken and has not looked since: once is enough */
    bool lost;           /* an event could not be noted: memory was out */
};

static struct broker *check_broker(lua_State *L)
{
    struct broker *b = hocket__check_object(L, 1, META);
    hocket__runtime(L);
    return b;
}

static int64_t now_ms(struct broker *b)
{
    return (int64_t) hocket__deadlines_now();
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
static void nudge(struct broker *b)
{
    struct hocket__fiber *running = b->rt->running;
    if (b->nudged || (running && running->id == b->dispatcher))
        return;
    b->nudged = true;
    hocket__fiber_wake(b->rt, b->dispatcher);
}

static void on_event(const struct hocket__broker_event *e, void *ud)
{
    struct broker *b = ud;
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
    hocket__fiber_wake(((struct broker *) ud)->rt, token);
}

static void push_text(lua_State *L, struct hocket__str s)
{
    if (s.n > 0)
        hocket__push_str(L, s);
    else
        lua_pushnil(L);
}

static int push_event(lua_State *L, struct broker *b)
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
    struct broker *b = check_broker(L);
    if (b->lost) {
        b->lost = false;
        return luaL_error(L, "out of memory: an event of the broker was lost");
    }
    return hocket__list_empty(&b->events) ? 0 : push_event(L, b);
}

/* ---- Making ------------------------------------------------------------------------ */

static int l_gc(lua_State *L)
{
    struct broker *b = hocket__gc_userdata(L, l_gc);
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
    struct broker *b = lua_newuserdatauv(L, sizeof(*b), 0);
    *b = (struct broker) { .rt = rt };
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
    check_broker(L)->dispatcher = hocket__fiber_current(L)->id;
    return 0;
}

/* b:limit("agent" | "provider" | "group", name, n or nil); b:limit_all(n or nil) */
static int l_limit(lua_State *L)
{
    static const char *const kinds[] = { "agent", "provider", "group", NULL };
    static const enum hocket__limit_kind values[] = { HOCKET__LIMIT_AGENT, HOCKET__LIMIT_PROVIDER, HOCKET__LIMIT_GROUP };
    struct broker *b = check_broker(L);
    int kind = luaL_checkoption(L, 2, NULL, kinds);
    if (hocket__broker_limit(b->broker, values[kind], hocket__check_str(L, 3),
            luaL_optinteger(L, 4, HOCKET__UNLIMITED)) < 0)
        return luaL_error(L, "out of memory");
    nudge(b);
    return 0;
}

static int l_limit_all(lua_State *L)
{
    struct broker *b = check_broker(L);
    hocket__broker_limit_all(b->broker, luaL_optinteger(L, 2, HOCKET__UNLIMITED));
    nudge(b);
    return 0;
}

/* ---- Submitting ---------------------------------------------------------------------- */

static struct hocket__str text(lua_State *L, int idx, const char *name)
{
    struct hocket__str s = hocket__opt_str(L, idx, name);
    return s.p ? s : hocket__str("", 0);
}

/* Lists go into blocks that stay on the stack below the returned position. */
static size_t read_deps(lua_State *L, int idx, const uint64_t **out)
{
    if (lua_getfield(L, idx, "deps") != LUA_TTABLE)
        return 0;
    lua_Unsigned n = lua_rawlen(L, -1);
    uint64_t *ids = lua_newuserdatauv(L, (n + 1) * sizeof(*ids), 0);
    for (lua_Unsigned i = 0; i < n; i++) {
        lua_rawgeti(L, -2, (lua_Integer) i + 1);
        ids[i] = (uint64_t) luaL_checkinteger(L, -1);
        lua_pop(L, 1);
    }
    *out = ids;
    return n;
}

static size_t read_needs(lua_State *L, int idx, const struct hocket__str **out)
{
    if (lua_getfield(L, idx, "needs") != LUA_TTABLE)
        return 0;
    lua_Unsigned n = lua_rawlen(L, -1);
    struct hocket__str *names = lua_newuserdatauv(L, (n + 1) * sizeof(*names), 0);
    for (lua_Unsigned i = 0; i < n; i++) {
        lua_rawgeti(L, -2, (lua_Integer) i + 1);
        names[i].p = luaL_checklstring(L, -1, &names[i].n);
        lua_pop(L, 1); /* the list keeps it */
    }
    *out = names;
    return n;
}

static int64_t milliseconds(lua_State *L, int idx, const char *name, int64_t otherwise)
{
    double s = hocket__opt_number(L, idx, name, -1);
    return s < 0 ? otherwise : s > 1e9 ? INT64_C(1000000000000) : (int64_t) (s * 1000 + 0.5);
}

static enum hocket__job_on_dep read_on_dep(lua_State *L, int idx)
{
    struct hocket__str s = text(L, idx, "on_dependency");
    if (s.n == 0 || hocket__str_is(s, "skip"))
        return HOCKET__DEP_SKIP;
    if (hocket__str_is(s, "continue"))
        return HOCKET__DEP_CONTINUE;
    if (!hocket__str_is(s, "fail"))
        luaL_error(L, "bad option 'on_dependency' (skip, continue or fail expected, got %s)", s.p);
    return HOCKET__DEP_FAIL;
}

static void read_spec(lua_State *L, struct broker *b, int idx, struct hocket__job_spec *s)
{
    luaL_checkstack(L, 8, NULL);
    *s = hocket__job_spec_default();
    s->run = (uint64_t) hocket__opt_int(L, idx, "run", 0, 0, INT64_MAX);
    s->parent = (uint64_t) hocket__opt_int(L, idx, "parent", 0, 0, INT64_MAX);
    s->parent_fence = (uint64_t) hocket__opt_int(L, idx, "fence", 0, INT64_MIN, INT64_MAX);
    s->agent = text(L, idx, "agent");
    s->provider = text(L, idx, "provider");
    s->group = text(L, idx, "group");
    s->data = text(L, idx, "data");
    s->name = text(L, idx, "name");
    s->priority = (int) hocket__opt_int(L, idx, "priority", 0, -HOCKET__PRIORITY_MAX, HOCKET__PRIORITY_MAX);
    s->max_retries = (uint32_t) hocket__opt_int(L, idx, "retries", 0, 0, 1000);
    s->backoff_ms = milliseconds(L, idx, "backoff", s->backoff_ms);
    s->backoff_max_ms = milliseconds(L, idx, "backoff_max", s->backoff_max_ms);
    int64_t within = milliseconds(L, idx, "deadline", -1);
    s->deadline_ms = within < 0 ? HOCKET__NEVER : now_ms(b) + within;
    s->on_dep = read_on_dep(L, idx);
    s->dep_count = read_deps(L, idx, &s->deps);
    s->need_count = read_needs(L, idx, &s->needs);
}

/* b:submit{spec, …} -> ids | nil, error: all or none */
static int l_submit(lua_State *L)
{
    struct broker *b = check_broker(L);
    struct hocket_error err;
    luaL_checktype(L, 2, LUA_TTABLE);
    lua_Unsigned n = lua_rawlen(L, 2);
    luaL_argcheck(L, n >= 1 && n <= MAX_BATCH, 2, "1 to 1000 jobs expected");
    struct hocket__job_spec *specs = lua_newuserdatauv(L, n * sizeof(*specs), 0);
    uint64_t *ids = lua_newuserdatauv(L, n * sizeof(*ids), 0);
    for (lua_Unsigned i = 0; i < n; i++) {
        lua_rawgeti(L, 2, (lua_Integer) i + 1);
        luaL_argcheck(L, lua_istable(L, -1), 2, "a list of tables expected");
        read_spec(L, b, lua_gettop(L), &specs[i]);
    }
    if (hocket__broker_submit(b->broker, specs, n, now_ms(b), ids, &err) < 0)
        return hocket__fail(L, &err);
    lua_createtable(L, (int) n, 0);
    for (lua_Unsigned i = 0; i < n; i++) {
        lua_pushinteger(L, (lua_Integer) ids[i]);
        lua_rawseti(L, -2, (lua_Integer) i + 1);
    }
    return 1;
}

/* ---- Working --------------------------------------------------------------------------- */

static int push_due(lua_State *L, struct broker *b)
{
    int64_t at = hocket__broker_next_wakeup(b->broker), now = now_ms(b);
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
    struct broker *b = check_broker(L);
    struct hocket__claim claim;
    struct hocket_error err;
    if (b->lost || !hocket__list_empty(&b->events))
        return l_take(L);
    hocket__broker_expire(b->broker, now_ms(b), random_number());
    int rc = hocket__broker_next(b->broker, now_ms(b), 1, HOCKET__NEVER, &claim);
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

static uint64_t id_at(lua_State *L, int arg)
{
    return (uint64_t) luaL_checkinteger(L, arg);
}

static struct hocket__str opt_text(lua_State *L, int arg)
{
    return lua_isnoneornil(L, arg) ? hocket__str("", 0) : hocket__check_str(L, arg);
}

/* b:complete(id, fence, result, usage) -> true | nil, error */
static int l_complete(lua_State *L)
{
    struct broker *b = check_broker(L);
    struct hocket_error err;
    return answered(L, hocket__broker_complete(b->broker, id_at(L, 2), id_at(L, 3), now_ms(b), opt_text(L, 4),
                           opt_text(L, 5), &err), &err);
}

/* b:fail(id, fence, {code=, message=, usage=, no_retry=}) -> true | nil, error */
static int l_fail(lua_State *L)
{
    static const char *const names[] = { "code", "message", "usage", "no_retry", NULL };
    struct broker *b = check_broker(L);
    struct hocket_error err;
    luaL_checktype(L, 4, LUA_TTABLE);
    hocket__opt_only(L, 4, names);
    struct hocket__job_outcome o = { .error = text(L, 4, "message"), .usage = text(L, 4, "usage"),
        .no_retry = hocket__opt_bool(L, 4, "no_retry", false) };
    struct hocket__str code = text(L, 4, "code");
    o.status = hocket__status_from_word(code.n ? code.p : "script");
    return answered(L, hocket__broker_fail(b->broker, id_at(L, 2), id_at(L, 3), now_ms(b), random_number(), &o, &err), &err);
}

/* b:park(id, fence), b:unpark(id, fence) -> true | nil, error */
static int l_park(lua_State *L)
{
    struct broker *b = check_broker(L);
    struct hocket_error err;
    return answered(L, hocket__broker_park(b->broker, id_at(L, 2), id_at(L, 3), &err), &err);
}

static int l_unpark(lua_State *L)
{
    struct broker *b = check_broker(L);
    struct hocket_error err;
    return answered(L, hocket__broker_unpark(b->broker, id_at(L, 2), id_at(L, 3), &err), &err);
}

/* b:cancel(id) -> true | nil, error; b:cancel_all(run) -> count */
static int l_cancel(lua_State *L)
{
    struct broker *b = check_broker(L);
    struct hocket_error err;
    return answered(L, hocket__broker_cancel(b->broker, id_at(L, 2), now_ms(b), &err), &err);
}

static int l_cancel_all(lua_State *L)
{
    struct broker *b = check_broker(L);
    lua_pushinteger(L, (lua_Integer) hocket__broker_cancel_all(b->broker, (uint64_t) luaL_optinteger(L, 2, 0), now_ms(b)));
    return 1;
}

/* b:note(id, fence, "progress" | "log", text) -> true | nil, error */
static int l_note(lua_State *L)
{
    static const char *const kinds[] = { "progress", "log", NULL };
    struct broker *b = check_broker(L);
    struct hocket_error err;
    int kind = luaL_checkoption(L, 4, NULL, kinds);
    return answered(L, hocket__broker_note(b->broker, id_at(L, 2), id_at(L, 3), now_ms(b),
                           kind ? HOCKET__NOTE_LOG : HOCKET__NOTE_PROGRESS, hocket__check_str(L, 5), &err), &err);
}

/* ---- Waiting ------------------------------------------------------------------------------ */

struct wait {
    struct broker *b;
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
    struct broker *b = check_broker(L);
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
    *w = (struct wait) { b, hocket__fiber_current(L)->id, true };
    int rc = hocket__broker_wait(b->broker, w->token, ids, n, mode ? HOCKET__WAIT_ALL : HOCKET__WAIT_ANY, &err);
    if (rc < 0)
        return hocket__fail(L, &err);
    if (rc == 1) {
        lua_pushboolean(L, true);
        return 1;
    }
    uint64_t due = ms < 0 ? 0 : hocket__deadlines_now() + (uint64_t) ms;
    return hocket__await(L, ms, unwait, w, (lua_KContext) due, after_wait);
}

/* ---- Results --------------------------------------------------------------------------------- */

static void set_str(lua_State *L, const char *name, struct hocket__str s)
{
    if (s.n > 0) {
        hocket__push_str(L, s);
        lua_setfield(L, -2, name);
    }
}

static void set_id(lua_State *L, const char *name, uint64_t v)
{
    if (v > 0) {
        lua_pushinteger(L, (lua_Integer) v);
        lua_setfield(L, -2, name);
    }
}

/* b:get(id) -> {id, run, parent, agent, state, status, attempt, data, result, error, usage, seconds} | nil */
static int l_get(lua_State *L)
{
    struct broker *b = check_broker(L);
    const struct hocket__job *j = hocket__broker_get(b->broker, id_at(L, 2));
    if (!j)
        return 0;
    lua_createtable(L, 0, 14);
    set_id(L, "id", j->id);
    set_id(L, "run", j->run);
    set_id(L, "parent", j->parent);
    set_id(L, "attempt", j->attempt);
    set_id(L, "cause", j->cause);
    set_str(L, "name", j->name);
    set_str(L, "agent", j->agent);
    set_str(L, "data", j->data);
    set_str(L, "result", j->result);
    set_str(L, "error", j->error);
    set_str(L, "usage", j->usage);
    lua_pushstring(L, hocket__job_state_outward(j->state));
    lua_setfield(L, -2, "status");
    lua_pushstring(L, hocket__job_state_word(j->state));
    lua_setfield(L, -2, "state");
    lua_pushboolean(L, hocket__job_is_final(j->state));
    lua_setfield(L, -2, "final");
    if (j->status < 0) {
        lua_pushstring(L, hocket_status_word(j->status));
        lua_setfield(L, -2, "code");
    }
    if (j->started_ms != HOCKET__NEVER) {
        int64_t end = j->finished_ms != HOCKET__NEVER ? j->finished_ms : now_ms(b);
        lua_pushnumber(L, (double) (end - j->started_ms) / 1000);
        lua_setfield(L, -2, "seconds");
    }
    return 1;
}

static int push_ids(lua_State *L, const uint64_t *ids, size_t n)
{
    lua_createtable(L, (int) n, 0);
    for (size_t i = 0; i < n; i++) {
        lua_pushinteger(L, (lua_Integer) ids[i]);
        lua_rawseti(L, -2, (lua_Integer) i + 1);
    }
    return 1;
}

/* b:take_finished(run, parent) -> up to 256 ids that were not handed out yet */
static int l_take_finished(lua_State *L)
{
    struct broker *b = check_broker(L);
    uint64_t ids[256];
    return push_ids(L, ids, hocket__broker_take_finished(b->broker, id_at(L, 2), id_at(L, 3), ids, 256));
}

/* b:children(run, parent, after?) -> up to 256 ids */
static int l_children(lua_State *L)
{
    struct broker *b = check_broker(L);
    uint64_t ids[256];
    uint64_t after = (uint64_t) luaL_optinteger(L, 4, 0);
    return push_ids(L, ids, hocket__broker_children(b->broker, id_at(L, 2), id_at(L, 3), after, ids, 256));
}

/* b:mark_read(id) -> whether it had not been handed out */
static int l_mark_read(lua_State *L)
{
    struct broker *b = check_broker(L);
    struct hocket_error err;
    int rc = hocket__broker_mark_read(b->broker, id_at(L, 2), &err);
    if (rc < 0)
        return hocket__fail(L, &err);
    lua_pushboolean(L, rc == 1);
    return 1;
}

/* b:notes(id, after?) -> array of {seq, kind, text} */
static int l_notes(lua_State *L)
{
    struct broker *b = check_broker(L);
    struct hocket__broker_noted notes[64];
    size_t n = hocket__broker_notes(b->broker, id_at(L, 2), (uint64_t) luaL_optinteger(L, 3, 0), notes, 64);
    lua_createtable(L, (int) n, 0);
    for (size_t i = 0; i < n; i++) {
        lua_createtable(L, 0, 3);
        set_id(L, "seq", notes[i].seq);
        lua_pushstring(L, notes[i].kind == HOCKET__NOTE_LOG ? "log" : "progress");
        lua_setfield(L, -2, "kind");
        set_str(L, "text", notes[i].text);
        lua_rawseti(L, -2, (lua_Integer) i + 1);
    }
    return 1;
}

/* b:counts(run?) -> {pending=, running=, …, slots=} */
static int l_counts(lua_State *L)
{
    struct broker *b = check_broker(L);
    struct hocket__broker_counts c = hocket__broker_counts(b->broker, (uint64_t) luaL_optinteger(L, 2, 0));
    lua_createtable(L, 0, HOCKET__JOB_STATE_COUNT + 1);
    for (int s = 0; s < HOCKET__JOB_STATE_COUNT; s++) {
        lua_pushinteger(L, (lua_Integer) c.of[s]);
        lua_setfield(L, -2, hocket__job_state_word((enum hocket__job_state) s));
    }
    lua_pushinteger(L, (lua_Integer) c.slots);
    lua_setfield(L, -2, "slots");
    return 1;
}

/* b:forget(id), b:forget_run(run) -> true | nil, error */
static int l_forget(lua_State *L)
{
    struct broker *b = check_broker(L);
    struct hocket_error err;
    return answered(L, hocket__broker_forget(b->broker, id_at(L, 2), &err), &err);
}

static int l_forget_run(lua_State *L)
{
    struct broker *b = check_broker(L);
    struct hocket_error err;
    return answered(L, hocket__broker_forget_run(b->broker, id_at(L, 2), &err), &err);
}

static const luaL_Reg functions[] = { { "new", l_new }, { NULL, NULL } };
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
    { "notes", l_notes },
    { "wait_once", l_wait_once },
    { "get", l_get },
    { "take_finished", l_take_finished },
    { "children", l_children },
    { "mark_read", l_mark_read },
    { "counts", l_counts },
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

/* hocket.internal.core.broker: brokers for Lua. What stands here and in the files beside it is what happens
 * to each job; hocket/broker.lua adds what is seldom called.
 *
 * A broker's Lua side and its C side (core/broker) hold each other by number alone: a job that is
 * gone in one of them is simply not found by the other. */

#include "bind/broker/broker.h"

#include "bind/broker/broker_impl.h"
#include "os/own.h"

static const char META[] = "hocket.broker";

/* Whether the second argument, an id or a list of them, is a job's of this broker. */
static bool is_of_job(lua_State *L, const struct hocket__lua_broker *b)
{
    hocket__need_stack(L, 8);
    if (lua_istable(L, 2))
        lua_rawgeti(L, 2, 1);
    else
        lua_pushinteger(L, lua_isinteger(L, 2) ? lua_tointeger(L, 2) : 0);
    bool known = lua_isinteger(L, -1) && hocket__job_find(b, (uint64_t) lua_tointeger(L, -1));
    lua_pop(L, 1);
    return known;
}

/* Code of a tool or a step that has the broker of its run has one of its own in that one's place (effects.within). */
static void replace_by_own(lua_State *L)
{
    lua_getfield(L, 1, "own_here");
    lua_pushvalue(L, 1);
    lua_call(L, 1, 1);
    lua_replace(L, 1);
}

struct hocket__lua_broker *hocket__check_broker(lua_State *L)
{
    struct hocket__lua_broker *b = hocket__check_object(L, 1, META);
    hocket__runtime(L);
    if (!hocket__clock_outside(b->clock) || is_of_job(L, b))
        return b;
    replace_by_own(L);
    return hocket__check_object(L, 1, META);
}

static uint64_t seed(const struct hocket__runtime *rt)
{
    uint64_t v = 0;
    if (hocket__kept_here(rt))
        hocket__kept_random(hocket__kept_here(rt), HOCKET__STR("broker"), &v, sizeof(v));
    else if (hocket__random(&v, sizeof(v)) < 0)
        v = uv_hrtime() * 0x9E3779B97F4A7C15u;
    return v;
}

/* ---- Finding ------------------------------------------------------------------------- */

struct hocket__lua_job *hocket__job_find(const struct hocket__lua_broker *b, uint64_t id)
{
    const struct hocket__job *record = b->broker ? hocket__broker_get(b->broker, id) : NULL;
    return record ? record->ud : NULL;
}

struct hocket__fiber *hocket__job_fiber(const struct hocket__lua_job *j)
{
    return j->fiber ? hocket__map_get(&j->home->broker->rt->fibers, j->fiber) : NULL;
}

void hocket__job_adopt(const struct hocket__lua_broker *b, uint64_t id)
{
    const struct hocket__lua_job *j = hocket__job_find(b, id);
    struct hocket__fiber *f = j ? hocket__job_fiber(j) : NULL;
    if (f && b->rt->running)
        hocket__fiber_adopt(f, b->rt->running);
}

void hocket__job_push(lua_State *L, int at, const struct hocket__lua_job *j)
{
    lua_getiuservalue(L, at, HOCKET__BROKER_JOBS);
    lua_rawgetp(L, -1, j);
    lua_replace(L, -2);
}

/* Pushes the field `name` of the running fiber's context; false, and nothing, without one. */
static bool push_from_context(lua_State *L, const char *name)
{
    if (!hocket__fiber_push_context(L))
        return false;
    if (lua_istable(L, -1)) {
        lua_getfield(L, -1, name);
        lua_replace(L, -2);
        return true;
    }
    lua_pop(L, 1);
    return false;
}

struct hocket__lua_job *hocket__job_here(lua_State *L, struct hocket__lua_broker *b)
{
    if (!push_from_context(L, "job"))
        return NULL;
    if (lua_isuserdata(L, -1)) {
        struct hocket__lua_job *j = hocket__check_job(L, lua_gettop(L));
        if (!b || j->home->broker == b)
            return j;
    }
    lua_pop(L, 1);
    return NULL;
}

uint64_t hocket__run_here(lua_State *L)
{
    uint64_t number = 0;
    if (!push_from_context(L, "run"))
        return 0;
    if (lua_istable(L, -1)) {
        lua_getfield(L, -1, "number");
        number = (uint64_t) lua_tointeger(L, -1);
        lua_pop(L, 1);
    }
    lua_pop(L, 1);
    return number;
}

/* b:job(id) -> job | nil */
static int l_job(lua_State *L)
{
    struct hocket__lua_broker *b = hocket__check_broker(L);
    struct hocket__lua_job *j = hocket__job_find(b, hocket__job_id_at(L, 2));
    if (j)
        hocket__job_push(L, 1, j);
    return j != NULL;
}

/* ---- Making ------------------------------------------------------------------------ */

static int l_gc(lua_State *L)
{
    struct hocket__lua_broker *b = hocket__gc_userdata(L, l_gc);
    if (!b)
        return 0;
    struct hocket__fiber *dispatcher = hocket__map_get(&b->rt->fibers, b->dispatcher);
    if (dispatcher)
        dispatcher->on_done = NULL;
    if (b->broker)
        hocket__broker_free(b->broker);
    hocket__clock_unref(b->clock);
    b->clock = NULL;
    b->broker = NULL;
    hocket__broker_forget_told(b);
    return 0;
}

/* Lua follows a chain of 2,000 contexts. */
#define MAX_DEPTH 1000

static struct hocket__broker_options read_options(lua_State *L)
{
    static const char *const names[] = { "max_running", "max_jobs", "max_depth", NULL };
    struct hocket__broker_options o = hocket__broker_options_default();
    hocket__opt_only(L, 1, names);
    o.max_running = hocket__opt_int(L, 1, "max_running", o.max_running, 1, INT64_MAX);
    o.max_jobs = (size_t) hocket__opt_int(L, 1, "max_jobs", (lua_Integer) o.max_jobs, 1, INT32_MAX);
    o.max_depth =
        (size_t) hocket__opt_int(L, 1, "max_depth", (lua_Integer) o.max_depth, 0, MAX_DEPTH);
    return o;
}

/* new{max_running=, max_jobs=, max_depth=} -> broker */
static int l_new(lua_State *L)
{
    struct hocket__runtime *rt = hocket__runtime(L);
    struct hocket__broker_options o = read_options(L);
    struct hocket__lua_broker *b = hocket__new_object(L, sizeof(*b), HOCKET__BROKER_VALUES, META);
    *b = (struct hocket__lua_broker){ .rt = rt, .random = seed(rt) };
    hocket__list_init(&b->over);
    hocket__list_init(&b->dropped);
    hocket__list_init(&b->told);
    b->clock = hocket__clock_here(rt);
    luaL_setmetatable(L, META);
    lua_newtable(L);
    lua_setiuservalue(L, -2, HOCKET__BROKER_JOBS);
    hocket__push_weak_keys(L); /* a home goes with the last of its run */
    lua_setiuservalue(L, -2, HOCKET__BROKER_HOMES);
    hocket__job_push_work(L);
    lua_setiuservalue(L, -2, HOCKET__BROKER_WORK);
    struct hocket__broker_hooks hooks = hocket__broker_lua_hooks(b);
    if (hocket__broker_new(rt->alloc, &o, &hooks, &b->broker) < 0)
        return hocket__raise_nomem(L);
    return 1;
}

/* b:numbers() -> the last id that it gave, where its chance stands; b:numbers(last, chance): it goes on behind those */
static int l_numbers(lua_State *L)
{
    struct hocket__lua_broker *b = hocket__check_broker(L);
    if (!b->broker)
        return 0;
    if (lua_isnoneornil(L, 2)) {
        lua_pushinteger(L, (lua_Integer) hocket__broker_last_id(b->broker));
        lua_pushinteger(L, (lua_Integer) b->random);
        return 2;
    }
    lua_Integer last = luaL_checkinteger(L, 2);
    b->random = (uint64_t) luaL_checkinteger(L, 3);
    if (last > 0)
        hocket__broker_pass_ids(b->broker, (uint64_t) last);
    return 0;
}

/* b:take_ids(n) -> the first of n ids, which it gives to nobody else */
static int l_take_ids(lua_State *L)
{
    struct hocket__lua_broker *b = hocket__check_broker(L);
    lua_Integer n = luaL_checkinteger(L, 2);
    luaL_argcheck(L, n >= 0 && n <= HOCKET__JOBS_MAX, 2, "0 to 1000 expected");
    if (!b->broker)
        return hocket__raise_nomem(L);
    uint64_t last = hocket__broker_last_id(b->broker);
    hocket__broker_pass_ids(b->broker, last + (uint64_t) n);
    lua_pushinteger(L, (lua_Integer) last + 1);
    return 1;
}

/* b:numbered_by(fn): fn(n) -> the first of n ids for jobs of its own, larger than all before */
static int l_numbered_by(lua_State *L)
{
    hocket__check_broker(L);
    luaL_checktype(L, 2, LUA_TFUNCTION);
    lua_settop(L, 2);
    lua_setiuservalue(L, 1, HOCKET__BROKER_NUMBERS);
    return 0;
}

/* ---- Limits -------------------------------------------------------------------------- */

/* Under a limit of 0 nothing would start, and who waits for it would wait for ever. */
static int64_t check_limit(lua_State *L, int arg)
{
    int whole;
    if (lua_isnoneornil(L, arg))
        return HOCKET__UNLIMITED;
    lua_Integer limit = lua_tointegerx(L, arg, &whole);
    luaL_argcheck(L, whole && lua_type(L, arg) == LUA_TNUMBER, arg,
        "a whole number expected, or nil for no limit");
    luaL_argcheck(
        L, limit >= 1, arg, "at least 1 expected, or nothing would start; nil for no limit");
    return limit;
}

/* b:limit("agent" | "provider" | "group", name, n or nil), b:limit("all", nil, n or nil) */
static int l_limit(lua_State *L)
{
    static const char *const kinds[] = { "agent", "provider", "group", "all", NULL };
    static const enum hocket__limit_kind values[] = { HOCKET__LIMIT_AGENT, HOCKET__LIMIT_PROVIDER,
        HOCKET__LIMIT_GROUP };
    struct hocket__lua_broker *b = hocket__check_broker(L);
    int kind = luaL_checkoption(L, 2, NULL, kinds);
    int64_t limit = check_limit(L, 4);
    if (kind == 3)
        hocket__broker_limit_all(b->broker, limit);
    else if (hocket__broker_limit(b->broker, values[kind], hocket__check_str(L, 3), limit) < 0)
        return hocket__raise_nomem(L);
    hocket__broker_nudge(b);
    return 0;
}

/* ---- Ending -------------------------------------------------------------------------- */

/* For the broker's answer to a call that may have changed jobs: does what follows from that, and
 * gives true, or nil and the error. The broker is the first argument. */
static int answered(lua_State *L, int rc, const struct hocket_error *err)
{
    struct hocket__lua_broker *b = lua_touserdata(L, 1);
    hocket__jobs_follow(L, 1, b);
    if (rc < 0)
        return hocket__fail(L, err);
    hocket__broker_nudge(b);
    lua_pushboolean(L, true);
    return 1;
}

/* b:shut(): takes no more jobs */
static int l_shut(lua_State *L)
{
    hocket__broker_stop_accepting(hocket__check_broker(L)->broker);
    return 0;
}

/* b:cancel(id) -> true | nil, error */
static int l_cancel(lua_State *L)
{
    struct hocket__lua_broker *b = hocket__check_broker(L);
    struct hocket_error err;
    int rc = hocket__broker_cancel(b->broker, hocket__job_id_at(L, 2), hocket__broker_now(b), &err);
    return answered(L, rc, &err);
}

/* b:cancel_own(id): the same, and the running fiber ends after it */
static int l_cancel_own(lua_State *L)
{
    hocket__job_adopt(hocket__check_broker(L), hocket__job_id_at(L, 2));
    return l_cancel(L);
}

/* b:cancel_all(run?) -> count: of the current run, or of every run (0, or outside of any) */
static int l_cancel_all(lua_State *L)
{
    struct hocket__lua_broker *b = hocket__check_broker(L);
    uint64_t run = lua_isnoneornil(L, 2) ? hocket__run_here(L) : hocket__job_id_at(L, 2);
    size_t n = hocket__broker_cancel_all(b->broker, run, hocket__broker_now(b));
    hocket__jobs_follow(L, 1, b);
    lua_pushinteger(L, (lua_Integer) n);
    return 1;
}

/* b:drop(id): it is cancelled, and forgotten when it has cleaned up; nobody asks for it any more */
static int l_drop(lua_State *L)
{
    struct hocket__lua_broker *b = hocket__check_broker(L);
    hocket__job_drop(L, 1, b, hocket__job_id_at(L, 2));
    return 0;
}

/* b:forget(id), b:forget_run(run) -> true | nil, error */
static int l_forget(lua_State *L)
{
    struct hocket__lua_broker *b = hocket__check_broker(L);
    struct hocket_error err;
    int rc = hocket__broker_forget(b->broker, hocket__job_id_at(L, 2), &err);
    return answered(L, rc, &err);
}

static int l_forget_run(lua_State *L)
{
    struct hocket__lua_broker *b = hocket__check_broker(L);
    struct hocket_error err;
    int rc = hocket__broker_forget_run(b->broker, hocket__job_id_at(L, 2), &err);
    return answered(L, rc, &err);
}

/* b:watch(id): functions of Lua get its events from now on, by take_told */
static int l_watch(lua_State *L)
{
    struct hocket__lua_broker *b = hocket__check_broker(L);
    struct hocket__lua_job *j = hocket__job_find(b, hocket__job_id_at(L, 2));
    if (j)
        j->tells = true;
    return 0;
}

static const luaL_Reg functions[] = {
    { "new", l_new },
    { "account_here", hocket__job_l_account_here },
    { NULL, NULL },
};
static const luaL_Reg methods[] = {
    { "job", l_job },
    { "limit", l_limit },
    { "numbers", l_numbers },
    { "take_ids", l_take_ids },
    { "numbered_by", l_numbered_by },
    { "submit", hocket__broker_l_submit },
    { "submit_all", hocket__broker_l_submit_all },
    { "led_by", hocket__broker_l_led_by },
    { "work", hocket__broker_l_work },
    { "give_up", hocket__broker_l_give_up },
    { "watch", l_watch },
    { "take_told", hocket__broker_l_take_told },
    { "wait", hocket__broker_l_wait },
    { "wait_for", hocket__broker_l_wait_for },
    { "call", hocket__broker_l_call },
    { "await_event", hocket__broker_l_await_event },
    { "leave", hocket__broker_l_leave },
    { "come_back", hocket__broker_l_come_back },
    { "shut", l_shut },
    { "cancel", l_cancel },
    { "cancel_own", l_cancel_own },
    { "cancel_all", l_cancel_all },
    { "poll", hocket__broker_l_poll },
    { "result", hocket__broker_l_result },
    { "has_ended", hocket__broker_l_has_ended },
    { "reap", hocket__broker_l_reap },
    { "take", hocket__broker_l_take },
    { "background", hocket__broker_l_background },
    { "is_background", hocket__broker_l_is_background },
    { "counts", hocket__broker_l_counts },
    { "drop", l_drop },
    { "forget", l_forget },
    { "forget_run", l_forget_run },
    { "__gc", l_gc },
    { NULL, NULL },
};

/* Beside the functions `Broker` and `Job`: where hocket/broker.lua puts further methods. */
int hocket__open_broker(lua_State *L)
{
    lua_newtable(L);
    hocket__setfuncs(L, functions);
    hocket__newmeta(L, META, methods);
    lua_setfield(L, -2, "Broker");
    hocket__open_job(L);
    lua_setfield(L, -2, "Job");
    hocket__open_wait(L);
    return 1;
}

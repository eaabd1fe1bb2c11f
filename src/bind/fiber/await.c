/* Fibers wait and are resumed. fiber.h has the states, fiber.c makes fibers, ends them, and runs
 * the ready ones.
 *
 * lua_resume and lua_yieldk stand in this file alone. So one place knows which fiber runs
 * (rt->running), and nobody else resumes one that waits. No C frame of ours is on the stack when Lua
 * jumps out of it: a C function that waits ends with `return hocket__await(…)`, and does the rest in
 * its continuation. */
#include "bind/fiber/kept_impl.h"
#include "bind/fiber/work_clock.h"

#include "bind/util.h"

/* A fiber that is cancelled and catches the error again and again is given up
 * after so many raises: it is parked for good and closed. */
#define MAX_CANCEL_RAISES 64

static void raise_cancelled(lua_State *L)
{
    struct hocket_error e;
    hocket__error(&e, HOCKET_ECANCELLED, "cancelled");
    hocket__raise(L, &e);
}

/* ---- Ready ------------------------------------------------------------------ */

void hocket__fiber_ready(struct hocket__fiber *f)
{
    struct hocket__runtime *rt = f->rt;
    f->state = HOCKET__READY;
    f->unwait = NULL;
    hocket__fiber_note_outside(f, false);
    hocket__deadline_clear(&rt->deadlines, &f->deadline);
    hocket__work_clock_unlimit(f);
    hocket__work_clock_note(f, HOCKET__BUSY);
    hocket__list_add(&rt->ready, &f->ready);
    if (f->kept)
        f->kept->n_ready++;
    hocket__fibers_go_on(rt);
}

void hocket__fiber_wake(struct hocket__runtime *rt, uint64_t id)
{
    struct hocket__fiber *f = hocket__map_get(&rt->fibers, id);
    if (!f || (f->kept != rt->kept && f->kept && !hocket__kept_woken(f)))
        return;
    if (f->state == HOCKET__WAITING)
        hocket__fiber_ready(f);
    else
        f->woken = true;
}

void hocket__fiber_expire(struct hocket__fiber *f)
{
    f->wait_end = HOCKET__TIMED_OUT;
    hocket__fiber_ready(f);
}

/* A clock that is set, or a machine that sleeps, moves the time of day and not our deadlines. */
#define LOOK_AGAIN_MS 60000

int64_t hocket__fiber_look_in(int64_t wall_due)
{
    int64_t left = wall_due - hocket__wall_ms();
    return left < 0 ? 0 : left < LOOK_AGAIN_MS ? left : LOOK_AGAIN_MS;
}

/* What was said before its time was over may not have been heard. */
#define HEARD_IN_MS 10

/* The awaited operation continues: the C function that waits decides what a timeout means for it. */
void hocket__fiber_on_timeout(struct hocket__deadline *d)
{
    struct hocket__fiber *f = hocket__container_of(d, struct hocket__fiber, deadline);
    int64_t left = f->wall_due ? hocket__fiber_look_in(f->wall_due) : 0;
    if (left == 0 && hocket__fiber_waits_on_program(f) && f->kept && hocket__kept_is_deaf(f->kept))
        left = HEARD_IN_MS;
    if (left == 0 && f->kept)
        left = hocket__effect_early_ms(f);
    if (left > 0) {
        hocket__deadline_set(&f->rt->deadlines, d, hocket__deadlines_now() + (uint64_t) left);
        return;
    }
    if (f->kept && hocket__effect_end_turns(f))
        return;
    if (f->kept)
        hocket__kept_timed_out(f);
    if (f->state == HOCKET__WAITING) /* a log that cannot be written has cancelled it */
        hocket__fiber_expire(f);
}

/* ---- Waiting ------------------------------------------------------------------ */

static void raise_stuck(lua_State *L, struct hocket__fiber *f)
{
    struct hocket_error e;
    f->wait_end = HOCKET__WOKEN;
    hocket__error(&e, HOCKET_ESTATE,
        "nothing is under way any more that could end this wait: what it waits for waits itself, "
        "or "
        "was lost");
    hocket__raise(L, &e);
}

/* Between Lua and the continuation: a fiber that was cancelled while it waited does not come
 * back to what it did, but to an error. */
static int resumed(lua_State *L, int status, lua_KContext ctx)
{
    struct hocket__fiber *f = hocket__fiber_current(L);
    if (f->cancelled && !f->masked)
        raise_cancelled(L);
    if (f->wait_end == HOCKET__STUCK)
        raise_stuck(L, f);
    return f->k(L, status, ctx);
}

/* limit_due: 0, or the time of its clock at which the wait ends in place of timeout_ms. */
static void set_time(struct hocket__fiber *f, int64_t timeout_ms, int64_t limit_due)
{
    bool now = !f->kept || hocket__kept_waits(f, timeout_ms);
    if (timeout_ms >= 0 && now)
        hocket__deadline_set(
            &f->rt->deadlines, &f->deadline, hocket__deadlines_now() + (uint64_t) timeout_ms);
    if (limit_due != 0)
        hocket__work_clock_limit(f, limit_due);
}

/* Whether the wait can end from outside, also where a service waits. */
static bool is_from_outside(enum hocket__waits_on on)
{
    return on >= HOCKET__ON_THREAD;
}

static int await(lua_State *L, int64_t timeout_ms, int64_t limit_due, void (*unwait)(void *ud),
    void *ud, lua_KContext ctx, lua_KFunction k)
{
    struct hocket__fiber *f = hocket__fiber_current(L);
    f->wait_end = HOCKET__WOKEN;
    f->until_ms = timeout_ms < 0 ? 0 : (int64_t) hocket__deadlines_now() + timeout_ms;
    if (f->cancelled && !f->masked) {
        /* The awaited operation has been started already: it is stopped as a cancel would have. */
        if (unwait)
            unwait(ud);
        if (++f->cancel_raises <= MAX_CANCEL_RAISES || f->state == HOCKET__UNWINDING
            || !lua_isyieldable(L))
            raise_cancelled(L);
        f->course = HOCKET__GIVEN_UP;
        f->passes = L != f->co;
        return lua_yield(L, 0);
    }
    if (f->state == HOCKET__UNWINDING)
        return luaL_error(L, "cannot wait here: an error has ended this fiber");
    if (!lua_isyieldable(L))
        return luaL_error(L, "cannot wait here: a C function (table.sort, string.gsub, require, "
                             "a metamethod …) is between this call and its fiber");
    if (f->woken) {
        /* The wake came before the wait, as it does when a request fails at once. Without a note of
         * it the fiber would sleep for ever. */
        f->woken = false;
        return k(L, LUA_OK, ctx);
    }
    set_time(f, timeout_ms, limit_due);
    f->state = HOCKET__WAITING;
    f->unwait = unwait;
    f->unwait_ud = ud;
    f->k = k;
    hocket__fiber_note_outside(f,
        is_from_outside(f->waits_on)
            || (!(f->traits & HOCKET__SERVICE) && (unwait || timeout_ms >= 0 || limit_due != 0)));
    hocket__work_clock_note(f, hocket__work_clock_standing(f, timeout_ms));
    f->passes = L != f->co;
    return lua_yieldk(L, 0, ctx, resumed);
}

static void begin_wait(lua_State *L, enum hocket__waits_on on, int64_t wall_due)
{
    struct hocket__fiber *f = hocket__fiber_current(L);
    f->waits_on = on;
    f->wall_due = wall_due;
}

int hocket__await(lua_State *L, int64_t timeout_ms, void (*unwait)(void *ud), void *ud,
    lua_KContext ctx, lua_KFunction k)
{
    begin_wait(L, unwait ? HOCKET__ON_OPERATION : HOCKET__ON_FIBERS, 0);
    return await(L, timeout_ms, 0, unwait, ud, ctx, k);
}

int hocket__await_rest(
    lua_State *L, void (*unwait)(void *ud), void *ud, lua_KContext ctx, lua_KFunction k)
{
    const struct hocket__fiber *f = hocket__fiber_current(L);
    int64_t left = f->until_ms - (int64_t) hocket__deadlines_now();
    return await(L, f->until_ms == 0 ? -1 : left > 0 ? left : 0, 0, unwait, ud, ctx, k);
}

int hocket__await_outside(lua_State *L, int64_t timeout_ms, lua_KContext ctx, lua_KFunction k)
{
    begin_wait(L, HOCKET__ON_THREAD, 0);
    return await(L, timeout_ms, 0, NULL, NULL, ctx, k);
}

int hocket__await_program(lua_State *L, int64_t timeout_ms, lua_KContext ctx, lua_KFunction k)
{
    begin_wait(L, HOCKET__ON_PROGRAM, 0);
    return await(L, timeout_ms, 0, NULL, NULL, ctx, k);
}

int hocket__await_program_until(
    lua_State *L, int64_t due_ms, bool idle, lua_KContext ctx, lua_KFunction k)
{
    begin_wait(L, idle ? HOCKET__ON_LOOK : HOCKET__ON_PROGRAM, due_ms);
    return await(L, hocket__fiber_look_in(due_ms), 0, NULL, NULL, ctx, k);
}

int hocket__await_wall(lua_State *L, int64_t due_ms, lua_KContext ctx, lua_KFunction k)
{
    begin_wait(L, HOCKET__ON_DAY, due_ms);
    return await(L, hocket__fiber_look_in(due_ms), 0, NULL, NULL, ctx, k);
}

int hocket__await_inside(lua_State *L, int64_t timeout_ms, lua_KContext ctx, lua_KFunction k)
{
    begin_wait(L, HOCKET__ON_FIBERS, 0);
    return await(L, timeout_ms, 0, NULL, NULL, ctx, k);
}

int hocket__await_limit(lua_State *L, int64_t due_ms, lua_KContext ctx, lua_KFunction k)
{
    begin_wait(L, HOCKET__ON_FIBERS, 0);
    return await(L, -1, due_ms, NULL, NULL, ctx, k);
}

bool hocket__has_to_pause(const struct hocket__runtime *rt)
{
    bool over = hocket__over_budget(rt);
    return rt->kept ? hocket__kept_rests(rt->running, over) : over;
}

int hocket__rest(lua_State *L, const struct hocket__runtime *rt)
{
    bool over = uv_hrtime() >= rt->turn_end_ns;
    struct hocket__fiber *f = over || rt->kept ? hocket__fiber_here(L) : NULL;
    if (!f || f->state == HOCKET__UNWINDING || !lua_isyieldable(L)
        || (f->kept && !hocket__kept_rests(f, over)))
        return 0;
    f->passes = L != f->co;
    return lua_yield(L, 0);
}

/* ---- Coroutines of a script's own ----------------------------------------------------
 *
 * coroutine.resume and coroutine.wrap in place of Lua's, where the Lua state is ours. Whoever has resumed a coroutine that
 * waits in here waits with it, down to the fiber, and resumes it again when the fiber goes on:
 *
 *     fiber ── resume ──> coroutine ── resume ──> coroutine ── hocket__await
 *       └──── yields <───── yields <──────────────────┘           (f->passes)
 *
 * Meanwhile it is marked: to nobody else it is suspended. A fiber's own coroutine is marked for good: only the fiber resumes
 * it. */

enum own_mode { OWN_RESUME, OWN_WRAP, OWN_PLAIN };

static const char
    own_key; /* registry: coroutines that were resumed in a fiber and have not come back, weak */

/* Marks the coroutine at 1, or takes the mark away, which needs no memory. */
static void own_mark(lua_State *L, bool on)
{
    lua_rawgetp(L, LUA_REGISTRYINDEX, &own_key);
    lua_pushvalue(L, 1);
    if (on)
        lua_pushboolean(L, 1);
    else
        lua_pushnil(L);
    lua_rawset(L, -3);
    lua_pop(L, 1);
}

/* In the bytes that Lua leaves to each coroutine: a table of all fibers would grow with what the collector has not seen yet. */
void hocket__own_claim(lua_State *co)
{
    *(const void **) lua_getextraspace(co) = &own_key;
}

static bool own_is_marked(lua_State *L)
{
    if (*(const void **) lua_getextraspace(lua_tothread(L, 1)) == &own_key)
        return true;
    lua_rawgetp(L, LUA_REGISTRYINDEX, &own_key);
    lua_pushvalue(L, 1);
    lua_rawget(L, -2);
    bool marked = lua_toboolean(L, -1);
    lua_pop(L, 2);
    return marked;
}

/* The error is on top of L. As Lua's own do: resume returns it, wrap raises it, with where. */
static int own_fail(lua_State *L, enum own_mode mode)
{
    if (mode != OWN_WRAP) {
        lua_pushboolean(L, 0);
        lua_insert(L, -2);
        return 2;
    }
    if (lua_type(L, -1) == LUA_TSTRING) {
        luaL_where(L, 1);
        lua_insert(L, -2);
        lua_concat(L, 2);
    }
    return lua_error(L);
}

static int own_refuse(lua_State *L, enum own_mode mode, const char *why)
{
    lua_pushstring(L, why);
    return own_fail(L, mode);
}

/* What a cancel has ended is closed as well: nobody else does. */
static int own_failed(lua_State *L, lua_State *co, bool cancelled, enum own_mode mode)
{
    int status = lua_status(co);
    if ((mode == OWN_WRAP || cancelled) && status != LUA_OK && status != LUA_YIELD)
        hocket__close_coroutine(co, L);
    lua_xmove(co, L, 1);
    return own_fail(L, mode);
}

static int own_resumed(lua_State *L, int status, lua_KContext mode);

/* Resumes the coroutine at 1 with the n values on top of L. */
static int own_go_on(lua_State *L, int n, enum own_mode mode)
{
    lua_State *co = lua_tothread(L, 1);
    bool may_wait = mode != OWN_PLAIN && lua_isyieldable(L);
    struct hocket__fiber *f = may_wait ? hocket__fiber_here(L) : NULL;
    lua_State *outer = f ? f->inner : NULL;
    int results = 0;
    lua_xmove(L, co, n);
    if (f)
        f->inner = co;
    int status = lua_resume(co, L, n, &results);
    if (f)
        f->inner = outer;
    if (f && f->passes) {
        lua_pop(co, results);
        f->passes = L != f->co;
        return lua_yieldk(L, 0, mode, own_resumed);
    }
    own_mark(L, false);
    if (status != LUA_OK && status != LUA_YIELD)
        return own_failed(L, co, f && f->cancelled, mode);
    if (!lua_checkstack(L, results + 1)) {
        lua_pop(co, results);
        return own_refuse(L, mode, "too many results to resume");
    }
    if (mode != OWN_WRAP)
        lua_pushboolean(L, 1);
    lua_xmove(co, L, results);
    return results + (mode != OWN_WRAP);
}

static int own_resumed(lua_State *L, int status, lua_KContext mode)
{
    (void) status;
    return own_go_on(L, 0, (enum own_mode) mode);
}

static int own_begin(lua_State *L, enum own_mode mode)
{
    lua_State *co = lua_tothread(L, 1);
    int n = lua_gettop(L) - 1;
    if (own_is_marked(L))
        return own_refuse(L, mode, "cannot resume non-suspended coroutine");
    if (!lua_checkstack(co, n))
        return own_refuse(L, mode, "too many arguments to resume");
    own_mark(L, true);
    return own_go_on(L, n, mode);
}

/* resume(co, …) -> true, what it yields or returns | false, error */
static int l_own_resume(lua_State *L)
{
    luaL_argexpected(L, lua_tothread(L, 1), 1, "coroutine");
    return own_begin(L, OWN_RESUME);
}

static int l_own_call(lua_State *L)
{
    lua_pushvalue(L, lua_upvalueindex(2));
    lua_insert(L, 1);
    return own_begin(L, OWN_WRAP);
}

/* wrap(fn) -> a function that resumes it */
static int l_own_wrap(lua_State *L)
{
    luaL_checktype(L, 1, LUA_TFUNCTION);
    lua_pushvalue(L, lua_upvalueindex(1)); /* of all our functions: the runtime */
    lua_State *co = lua_newthread(L);
    lua_pushvalue(L, 1);
    lua_xmove(L, co, 1);
    lua_pushcclosure(L, l_own_call, 2);
    return 1;
}

/* plain_resume(co, …): the same where nothing may wait */
static int l_plain_resume(lua_State *L)
{
    luaL_argexpected(L, lua_tothread(L, 1), 1, "coroutine");
    return own_begin(L, OWN_PLAIN);
}

static int call_lua_s_own(lua_State *L)
{
    lua_pushvalue(L, lua_upvalueindex(1));
    lua_insert(L, 1);
    lua_call(L, lua_gettop(L) - 1, LUA_MULTRET);
    return lua_gettop(L);
}

/* close(co): as Lua's, but for one that waits, whose stack holds what it waits for */
static int l_own_close(lua_State *L)
{
    if (lua_tothread(L, 1) && own_is_marked(L))
        return luaL_error(L, "cannot close a normal coroutine");
    return call_lua_s_own(L);
}

/* status(co): one that waits is not suspended */
static int l_own_status(lua_State *L)
{
    lua_State *co = lua_tothread(L, 1);
    if (!co || co == L || lua_status(co) != LUA_YIELD || !own_is_marked(L))
        return call_lua_s_own(L);
    lua_pushliteral(L, "normal");
    return 1;
}

/* In the table on top, a function of Lua's in ours. */
static void replace_one(lua_State *L, const char *name, lua_CFunction fn)
{
    lua_getfield(L, -1, name);
    lua_pushcclosure(L, fn, 1);
    lua_setfield(L, -2, name);
}

void hocket__own_coroutines(lua_State *L, bool replace)
{
    static const luaL_Reg own[] = { { "resume", l_own_resume }, { "wrap", l_own_wrap },
        { NULL, NULL } };
    static const luaL_Reg plain[] = { { "plain_resume", l_plain_resume }, { NULL, NULL } };
    hocket__setfuncs(L, plain);
    lua_newtable(L);
    lua_newtable(L);
    lua_pushliteral(L, "k");
    lua_setfield(L, -2, "__mode");
    lua_setmetatable(L, -2);
    lua_rawsetp(L, LUA_REGISTRYINDEX, &own_key);
    if (replace && lua_getglobal(L, "coroutine") == LUA_TTABLE) {
        hocket__setfuncs(L, own);
        replace_one(L, "close", l_own_close);
        replace_one(L, "status", l_own_status);
    }
    lua_settop(L, replace ? -2 : -1);
}

/* ---- Running -------------------------------------------------------------------- */

const char hocket__fiber_begin_key;

/* Calls what is to be called first in each fiber, in the fiber's coroutine: hooks belong to one coroutine each. */
static void call_begin(struct hocket__fiber *f)
{
    struct hocket_error err;
    if (!f->rt->begins || !lua_checkstack(f->co, 2))
        return;
    lua_rawgetp(f->co, LUA_REGISTRYINDEX, &hocket__fiber_begin_key);
    if (lua_pcall(f->co, 0, 0, 0) == LUA_OK)
        return;
    hocket__to_error(f->co, -1, &err);
    lua_pop(f->co, 1);
    hocket__runtime_log(
        f->rt, HOCKET_LOG_ERROR, "what flow.on_begin was given raised: %s", err.message);
}

static void run(struct hocket__fiber *f)
{
    struct hocket__runtime *rt = f->rt;
    struct hocket__fiber *outer = rt->running;
    int nresults = 0, nargs = f->nargs;
    rt->steps++;
    bool first = f->course == HOCKET__UNBEGUN;
    if (f->cancelled && first) { /* never ran: nothing to unwind */
        lua_settop(f->co, 0);
        hocket__fiber_ended(f, LUA_OK, 0);
        return;
    }
    if (first)
        f->course = HOCKET__BEGUN;
    f->state = HOCKET__RUNNING;
    f->nargs = 0;
    rt->running = f;
    if (first)
        call_begin(f);
    int status = lua_resume(f->co, rt->from ? rt->from : rt->L, nargs, &nresults);
    rt->running = outer;
    if (rt->breaking) { /* it may have waited before the hook came */
        rt->breaking = false;
        lua_sethook(f->co, NULL, 0, 0);
    }
    if (status == LUA_YIELD && f->course == HOCKET__GIVEN_UP) {
        lua_pushliteral(f->co, "cancelled");
        hocket__fiber_ended(f, LUA_ERRRUN, 0);
    } else if (status == LUA_YIELD) {
        lua_pop(f->co, nresults);
        if (f->state == HOCKET__RUNNING) /* a plain coroutine.yield: let the others run */
            hocket__fiber_ready(f);
    } else {
        hocket__fiber_ended(f, status, nresults);
    }
}

/* The step in which a run that is kept was entered has ended. It counts as none, and may have been everything that its log says. */
static void has_entered(struct hocket__runtime *rt)
{
    struct hocket__kept *k = rt->kept;
    if (!k)
        return;
    k->refs++;
    rt->kept = NULL;
    hocket__kept_settle_memory(rt);
    hocket__kept_stepped(k);
    hocket__kept_unref(k);
}

/* What it does is its run's, also what its end brings about. */
static void step_kept(struct hocket__fiber *f)
{
    struct hocket__runtime *rt = f->rt;
    struct hocket__kept *k = f->kept;
    if (hocket__kept_freeze(f))
        return;
    k->refs++;
    rt->kept = k;
    hocket__kept_step(f);
    run(f);
    rt->kept = NULL;
    hocket__kept_settle_memory(rt);
    hocket__kept_stepped(k);
    hocket__kept_unref(k);
}

/* One that enters a run that is kept is its from there on. */
void hocket__fiber_step(struct hocket__fiber *f)
{
    struct hocket__runtime *rt = f->rt;
    bool any_kept = !hocket__list_empty(&rt->kept_runs);
    if (any_kept)
        hocket__kept_watch_memory(rt);
    if (f->kept) {
        step_kept(f);
    } else {
        run(f);
        has_entered(rt);
    }
    if (any_kept)
        hocket__kept_unwatch_memory(rt);
}

/* A hook: the next step of the code. */
static void break_in(lua_State *L, lua_Debug *ar)
{
    struct hocket_error e;
    (void) ar;
    lua_sethook(L, NULL, 0, 0);
    hocket__error(&e, HOCKET_ECANCELLED, "stopped in the middle of code that never waits");
    hocket__raise(L, &e);
}

bool hocket__fibers_break(struct hocket__runtime *rt)
{
    struct hocket__fiber *f = rt->running;
    if (!f)
        return false;
    rt->breaking = true;
    lua_sethook(f->co, break_in, LUA_MASKCALL | LUA_MASKRET | LUA_MASKCOUNT, 1);
    if (f->inner) /* the code runs in there; whoever has resumed it is stopped as well */
        lua_sethook(f->inner, break_in, LUA_MASKCALL | LUA_MASKRET | LUA_MASKCOUNT, 1);
    return true;
}

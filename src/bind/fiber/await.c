/* Fibers wait and are resumed. fiber.h has the states, fiber.c makes fibers, ends them, and
 * runs those that are ready.
 *
 * lua_resume and lua_yieldk stand in this file alone. So there is one place that knows which fiber
 * runs (rt->running), that nobody else resumes one that waits, and that no C frame of ours is on the
 * stack when Lua jumps out of it: a C function that waits ends with `return hocket__await(…)`, and
 * what it has to do afterwards is its continuation. */
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

/* What is waited for goes on: the C function that waits decides what a timeout means for it. */
void hocket__fiber_on_timeout(struct hocket__deadline *d)
{
    struct hocket__fiber *f = hocket__container_of(d, struct hocket__fiber, deadline);
    int64_t left = f->wall_due ? hocket__fiber_look_in(f->wall_due) : 0;
    if (left == 0 && hocket__fiber_waits_on_program(f) && f->kept && hocket__kept_is_deaf(f->kept))
        left = HEARD_IN_MS;
    if (left > 0) {
        hocket__deadline_set(&f->rt->deadlines, d, hocket__deadlines_now() + (uint64_t) left);
        return;
    }
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
        /* What is waited for has been started already: it is stopped as a cancel would have. */
        if (unwait)
            unwait(ud);
        if (++f->cancel_raises <= MAX_CANCEL_RAISES || f->state == HOCKET__UNWINDING
            || !lua_isyieldable(L))
            raise_cancelled(L);
        f->course = HOCKET__GIVEN_UP;
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
    return lua_yield(L, 0);
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

/* The step in which a run that is kept was entered has ended. It counts as none, and may have been all that its log says. */
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
    return true;
}

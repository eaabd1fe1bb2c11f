/* hocket.internal.core.fiber: the primitives under hocket.flow (see fiber.h).
 *
 * Each function is a few lines around one of await.c's: what waits ends with `return
 * hocket__await(…)`, and what comes after the wait is in the function named after_…. */

#include "bind/fiber/kept_impl.h"

#include <math.h>

#include <uv.h>

#include "bind/fiber/work_clock.h"
#include "bind/util.h"

static const char META[] = "hocket.fiber";

static struct hocket__fiber *check_fiber(lua_State *L, int arg)
{
    return luaL_checkudata(L, arg, META);
}

static void push_self(lua_State *L, struct hocket__fiber *f)
{
    lua_rawgeti(L, LUA_REGISTRYINDEX, f->rt->anchor);
    lua_rawgeti(L, -1, (lua_Integer) f->id);
    lua_remove(L, -2);
}

/* Makes a fiber of the function and its arguments, which are the whole stack, and pushes it. */
static struct hocket__fiber *spawn(lua_State *L, bool detached)
{
    luaL_checktype(L, 1, LUA_TFUNCTION);
    hocket__fiber_guard(L, lua_gettop(L) - 1);
    return hocket__fiber_spawn(L, hocket__runtime(L), lua_gettop(L) - 1, detached);
}

/* spawn(fn, ...) -> fiber: a child of the running fiber */
static int l_spawn(lua_State *L)
{
    spawn(L, false);
    return 1;
}

/* shelter(fn, ...) -> fiber: a child that a cancel of the running fiber does not reach, though it
 * was cancelled already. Refused where nobody could wait for it. */
static int l_shelter(lua_State *L)
{
    luaL_checktype(L, 1, LUA_TFUNCTION);
    struct hocket__fiber *self = hocket__fiber_current(L);
    if (self->state == HOCKET__UNWINDING || !lua_isyieldable(L))
        return luaL_error(L, "cannot wait here, so nothing can be shielded");
    struct hocket__fiber *f = spawn(L, false);
    f->traits |= HOCKET__SHELTERED;
    f->cancelled = false;
    return 1;
}

/* f:hold_up(): says that its parent waits for its end, whatever else there is */
static int l_hold_up(lua_State *L)
{
    check_fiber(L, 1)->traits |= HOCKET__AWAITED;
    return 0;
}

/* detach(fn, ...) -> fiber: without a parent */
static int l_detach(lua_State *L)
{
    spawn(L, true);
    return 1;
}

/* outside(fn, ...) -> fiber: without a parent, and no part of a run that is kept: for what serves several */
static int l_outside(lua_State *L)
{
    luaL_checktype(L, 1, LUA_TFUNCTION);
    hocket__fiber_guard(L, lua_gettop(L) - 1);
    hocket__fiber_spawn_outside(L, hocket__runtime(L), lua_gettop(L) - 1, NULL);
    return 1;
}

/* spawn_under(parent, fn, ...) -> fiber: a child of another fiber, which has not ended */
static int l_spawn_under(lua_State *L)
{
    struct hocket__fiber *parent = check_fiber(L, 1);
    luaL_checktype(L, 2, LUA_TFUNCTION);
    /* a closing fiber waits for its children, and takes no more */
    luaL_argcheck(L, parent->state < HOCKET__CLOSING, 1, "that fiber has ended");
    hocket__fiber_guard(L, lua_gettop(L) - 2);
    hocket__fiber_spawn_under(L, hocket__runtime(L), lua_gettop(L) - 2, parent);
    return 1;
}

/* Instructions between two looks at the clock. */
#define CODE_STEP 10000

/* A hook: the code that runs is ended when its time is over. What catches that is ended at its next step. */
static void on_code(lua_State *L, lua_Debug *at)
{
    const struct hocket__runtime *rt = hocket__runtime_of(L);
    const struct hocket__fiber *f = rt ? rt->running : NULL;
    struct hocket_error err;
    (void) at;
    if (!f || f->code_due_ns == 0 || uv_hrtime() < f->code_due_ns)
        return;
    lua_sethook(L, on_code, LUA_MASKCOUNT, 1);
    hocket__error(
        &err, HOCKET_ETIMEOUT, "its time was over in the middle of code that never waits");
    hocket__raise(L, &err);
}

/* limit_code(seconds): code of the running fiber, and of the ones that it spawns from now on, raises "timeout" where it works for
 * longer than that without an end */
static int l_limit_code(lua_State *L)
{
    lua_Number seconds = luaL_checknumber(L, 1);
    struct hocket__fiber *f = hocket__fiber_current(L);
    luaL_argcheck(L, seconds >= 0 && seconds < 1e9, 1, "seconds expected");
    f->code_due_ns =
        uv_hrtime() + (uint64_t) (seconds * 1e9) + 1; /* the loop's time stands still meanwhile */
    lua_sethook(L, on_code, LUA_MASKCOUNT, CODE_STEP);
    return 0;
}

static int after_park(lua_State *L, int status, lua_KContext ctx)
{
    (void) status;
    (void) ctx;
    lua_pushboolean(L, !hocket__timed_out(L));
    return 1;
}

/* park([seconds]) -> woken: waits for a wake */
static int l_park(lua_State *L)
{
    return hocket__await_inside(L, hocket__opt_seconds(L, 1), 0, after_park);
}

/* park_for_program([seconds]) -> woken: the same for what only the program brings that hocket is part of */
static int l_park_for_program(lua_State *L)
{
    return hocket__await_program(L, hocket__opt_seconds(L, 1), 0, after_park);
}

/* park_until(time, idle?) -> woken: the same until a time of day, in seconds since 1970, whoever turns the clock */
static int l_park_until(lua_State *L)
{
    lua_Number seconds = luaL_checknumber(L, 1);
    luaL_argcheck(L, seconds > -1e12 && seconds < 1e12, 1, "seconds since 1970 expected");
    int64_t due = (int64_t) (seconds * 1000 + 0.5);
    return hocket__await_program_until(L, due, lua_toboolean(L, 2), 0, after_park);
}

/* A wake is a hint and may be meant for something else: whoever sleeps looks at the clock
 * again. */
static int after_sleep(lua_State *L, int status, lua_KContext ctx)
{
    (void) status;
    int64_t now = hocket__script_ms(hocket__runtime(L));
    if (now >= (int64_t) ctx)
        return 0;
    return hocket__await_inside(L, (int64_t) ctx - now, ctx, after_sleep);
}

/* sleep(seconds) */
static int l_sleep(lua_State *L)
{
    luaL_checknumber(L, 1);
    const struct hocket__runtime *rt = hocket__runtime(L);
    int64_t ms = hocket__opt_seconds(L, 1);
    if (!rt->kept && ms > 0)
        ms++; /* deadlines count whole milliseconds, and the first one has begun */
    int64_t due = hocket__script_ms(rt) + ms;
    return hocket__await_inside(L, ms, (lua_KContext) due, after_sleep);
}

static int sleep_until(lua_State *L, int64_t due);

static int after_sleep_until(lua_State *L, int status, lua_KContext ctx)
{
    (void) status;
    return hocket__timed_out(L) ? 0 : sleep_until(L, (int64_t) ctx);
}

static int sleep_until(lua_State *L, int64_t due)
{
    if (due <= hocket__script_wall_ms(hocket__runtime(L)))
        return 0;
    return hocket__await_wall(L, due, (lua_KContext) due, after_sleep_until);
}

/* sleep_until(time): seconds since 1970 */
static int l_sleep_until(lua_State *L)
{
    lua_Number seconds = luaL_checknumber(L, 1);
    luaL_argcheck(L, seconds > -1e12 && seconds < 1e12, 1, "seconds since 1970 expected");
    return sleep_until(L, (int64_t) (seconds * 1000));
}

/* rest(): lets the other fibers run when this turn has taken long enough, so that a loop over a
 * thousand things does not make it a long one. Otherwise, and where nobody can wait, it returns at
 * once. */
static int l_rest(lua_State *L)
{
    return hocket__rest(L, hocket__runtime(L));
}

/* on_begin(fn or nil): fn() is called first in each fiber that begins from now on */
static int l_on_begin(lua_State *L)
{
    bool any = !lua_isnoneornil(L, 1);
    if (any)
        luaL_checktype(L, 1, LUA_TFUNCTION);
    lua_settop(L, 1);
    lua_rawsetp(L, LUA_REGISTRYINDEX, &hocket__fiber_begin_key);
    hocket__runtime(L)->begins = any;
    return 0;
}

/* self() -> fiber, or nil outside of any */
static int l_self(lua_State *L)
{
    struct hocket__fiber *f = hocket__fiber_here(L);
    if (!f)
        return 0;
    push_self(L, f);
    return 1;
}

/* steps() -> how often fibers of this host have gone on: the same number as long as none has waited */
static int l_steps(lua_State *L)
{
    lua_pushinteger(L, (lua_Integer) hocket__runtime(L)->steps);
    return 1;
}

/* begin_work(): the running fiber, and everything that it starts from now on, is a run, with a clock of its own for its time limits. A
 * durable run has one already. */
static int l_begin_work(lua_State *L)
{
    struct hocket__fiber *f = hocket__fiber_here(L);
    if (!f || f->kept)
        return 0;
    struct hocket__work_clock *c = hocket__work_clock_new(f->rt);
    if (!c)
        return hocket__raise_nomem(L);
    hocket__work_clock_join(f, c);
    hocket__work_clock_unref(c);
    return 0;
}

/* away(kind?) -> what it was: what the running fiber, and everything that it starts, waits for from now on: "people", another "run", or
 * its own "work" */
static int l_away(lua_State *L)
{
    static const char *const words[] = { "work", "run", "people", NULL };
    struct hocket__fiber *f = hocket__fiber_current(L);
    enum hocket__away was = f->away;
    f->away = (enum hocket__away) luaL_checkoption(L, 1, words[was], words);
    lua_pushstring(L, words[was]);
    return 1;
}

/* work() -> seconds on the clock of the run's work, as it goes on: a replay does not see the same */
static int l_work(lua_State *L)
{
    lua_pushnumber(L, (double) hocket__work_ms(hocket__runtime(L)) / 1e3);
    return 1;
}

/* still() -> seconds for which that clock has stood still so far; a replay sees the same */
static int l_still(lua_State *L)
{
    lua_pushnumber(L, (double) hocket__work_still_ms(hocket__runtime(L)) / 1e3);
    return 1;
}

/* limit_run(seconds or nil): the program may break into code of the whole run that works for longer than that from now on */
static int l_limit_run(lua_State *L)
{
    hocket__work_limit_run(hocket__runtime(L), hocket__opt_seconds(L, 1));
    return 0;
}

/* context() -> the value that fibers inherit */
static int l_context(lua_State *L)
{
    return hocket__fiber_push_context(L);
}

/* within() -> what that has as `within`, where it is a table */
static int l_within(lua_State *L)
{
    hocket__fiber_push_context(L);
    if (!lua_istable(L, -1))
        return 0;
    lua_getfield(L, -1, "within");
    return 1;
}

/* f:context() -> the value that it hands down */
static int l_context_of(lua_State *L)
{
    check_fiber(L, 1);
    lua_getiuservalue(L, 1, HOCKET__FIBER_CONTEXT);
    return 1;
}

/* children() -> the fibers that end before the running one, in a list */
static int l_children(lua_State *L)
{
    struct hocket__fiber *self = hocket__fiber_current(L);
    lua_Integer n = 0;
    lua_newtable(L);
    for (struct hocket__list *l = self->children.next; l != &self->children; l = l->next) {
        push_self(L, hocket__container_of(l, struct hocket__fiber, sibling));
        lua_rawseti(L, -2, ++n);
    }
    return 1;
}

static int l_set_context(lua_State *L)
{
    luaL_checkany(L, 1);
    push_self(L, hocket__fiber_current(L));
    lua_pushvalue(L, 1);
    lua_setiuservalue(L, -2, HOCKET__FIBER_CONTEXT);
    return 0;
}

/* now() -> script time, in seconds on a clock that never goes back */
static int l_now(lua_State *L)
{
    const struct hocket__runtime *rt = hocket__runtime(L);
    lua_pushnumber(L, rt->kept ? (double) hocket__script_ms(rt) / 1e3 : (double) uv_hrtime() / 1e9);
    return 1;
}

/* real_now() -> seconds on the machine's clock: no script time, and never in a log */
static int l_real_now(lua_State *L)
{
    lua_pushnumber(L, (double) uv_hrtime() / 1e9);
    return 1;
}

/* has_come(time) -> whether now() has come to it; for code that asks very often */
static int l_has_come(lua_State *L)
{
    const struct hocket__runtime *rt = hocket__runtime(L);
    double due = fmin(fmax(luaL_checknumber(L, 1), -1e12), 1e12);
    if (rt->kept)
        lua_pushboolean(L, hocket__kept_has_come(rt->kept, (int64_t) ceil(due * 1e3)));
    else
        lua_pushboolean(L, (double) uv_hrtime() / 1e9 >= due);
    return 1;
}

/* f:wake() */
static int l_wake(lua_State *L)
{
    hocket__fiber_wake(hocket__runtime(L), check_fiber(L, 1)->id);
    return 0;
}

/* f:cancel() -> whether it was still running */
static int l_cancel(lua_State *L)
{
    hocket__runtime(L);
    lua_pushboolean(L, hocket__fiber_cancel(check_fiber(L, 1)));
    return 1;
}

/* f:help(): it does nothing of its own, but for others: that it waits for them is as it should be */
static int l_help(lua_State *L)
{
    hocket__fiber_help(check_fiber(L, 1));
    return 0;
}

/* f:serve(): it is a service: that it waits for its clients keeps nobody else going */
static int l_serve(lua_State *L)
{
    hocket__fiber_serve(check_fiber(L, 1));
    return 0;
}

static int l_status(lua_State *L)
{
    static const char *const words[] = { "ready", "running", "waiting", "running", "closing",
        "done" };
    lua_pushstring(L, words[check_fiber(L, 1)->state]);
    return 1;
}

/* f:cancelled() -> whether it was cancelled */
static int l_cancelled(lua_State *L)
{
    lua_pushboolean(L, check_fiber(L, 1)->cancelled);
    return 1;
}

/* cancelled() -> whether the running fiber was cancelled */
static int l_here_cancelled(lua_State *L)
{
    struct hocket__fiber *f = hocket__fiber_here(L);
    lua_pushboolean(L, f && f->cancelled);
    return 1;
}

/* f:watch(): wakes the running fiber when f is done; f:unwatch() takes it back */
static int l_watch(lua_State *L)
{
    struct hocket__fiber *f = check_fiber(L, 1), *self = hocket__fiber_current(L);
    if (f->state == HOCKET__DONE) {
        hocket__fiber_wake(f->rt, self->id);
    } else {
        if (hocket__grow(
                f->rt->alloc, &f->watchers, &f->cap_watchers, f->n_watchers + 1, sizeof(uint64_t))
            < 0)
            return hocket__raise_nomem(L);
        f->watchers[f->n_watchers++] = self->id;
    }
    return 0;
}

static int l_unwatch(lua_State *L)
{
    struct hocket__fiber *f = check_fiber(L, 1);
    uint64_t self = hocket__fiber_current(L)->id;
    /* From the end: what is moved into the gap has been looked at. */
    for (size_t i = f->n_watchers; i-- > 0;)
        if (f->watchers[i] == self)
            f->watchers[i] = f->watchers[--f->n_watchers];
    return 0;
}

static int push_cancelled(lua_State *L)
{
    struct hocket_error e;
    hocket__error(&e, HOCKET_ECANCELLED, "cancelled");
    lua_pushboolean(L, false);
    hocket__push_error(L, &e);
    return 2;
}

/* f:result() -> true, values… or false, error, traceback?; nothing while it runs */
static int l_result(lua_State *L)
{
    struct hocket__fiber *f = check_fiber(L, 1);
    if (f->state != HOCKET__DONE)
        return 0;
    /* its coroutine has no error value: it never ran, or was closed where it yielded */
    if ((f->cancelled && f->course == HOCKET__UNBEGUN) || f->course == HOCKET__GIVEN_UP)
        return push_cancelled(L);
    bool failed = hocket__fiber_has_failed(f);
    lua_pushboolean(L, !failed);
    hocket__need_stack(L, f->nresults + 1);
    if (!lua_checkstack(f->co, f->nresults))
        return hocket__raise_nomem(L);
    for (int i = 0, base = lua_gettop(f->co) - f->nresults; i < f->nresults; i++)
        lua_pushvalue(f->co, base + 1 + i);
    lua_xmove(f->co, L, f->nresults);
    if (failed)
        lua_getiuservalue(L, 1, HOCKET__FIBER_TRACEBACK);
    return 1 + f->nresults + failed;
}

static int push_timeout(lua_State *L)
{
    struct hocket_error e;
    hocket__error(&e, HOCKET_ETIMEOUT, "the fiber has not ended in time");
    return hocket__fail(L, &e);
}

/* Waits for the end of the fiber at index 1 until the time at ctx of the clock of the run's work (0: none). */
static int wait_end(lua_State *L, lua_KContext ctx, lua_KFunction k)
{
    l_watch(L);
    return ctx == 0 ? hocket__await_inside(L, -1, ctx, k) : hocket__await_limit(L, ctx, ctx, k);
}

static lua_KContext due_at(lua_State *L)
{
    int64_t ms = hocket__opt_seconds(L, 2);
    return ms < 0 ? 0 : (lua_KContext) (hocket__work_ms(hocket__runtime(L)) + ms);
}

static int after_join(lua_State *L, int status, lua_KContext ctx)
{
    (void) status;
    l_unwatch(L);
    bool done = check_fiber(L, 1)->state == HOCKET__DONE;
    if (!done && !hocket__timed_out(L))
        return wait_end(L, ctx, after_join);
    lua_pushboolean(L, done);
    return 1;
}

/* f:join(seconds?) -> whether it has ended; raises nothing of what it raised */
static int l_join(lua_State *L)
{
    lua_KContext due = due_at(L);
    hocket__fiber_current(L)->wait_end = HOCKET__WOKEN;
    return after_join(L, LUA_OK, due);
}

static int after_outlast(lua_State *L, int status, lua_KContext ctx)
{
    (void) status;
    struct hocket__fiber *self = hocket__fiber_current(L);
    self->masked = false;
    /* a join that was woken by something else would watch twice */
    l_unwatch(L);
    bool done = check_fiber(L, 1)->state == HOCKET__DONE;
    int64_t left = done || ctx == 0 ? -1 : (int64_t) ctx - hocket__script_ms(self->rt);
    if (!done && (ctx == 0 || left > 0)) {
        self->masked = true;
        l_watch(L);
        return hocket__await_inside(L, left, ctx, after_outlast);
    }
    lua_pushboolean(L, done);
    return 1;
}

/* f:outlast(seconds?) -> whether the child has ended; waits for it also when the running fiber is, or is going to be,
 * cancelled. The time that people take counts: whoever has cancelled it waits as well. */
static int l_outlast(lua_State *L)
{
    struct hocket__fiber *f = check_fiber(L, 1);
    luaL_argcheck(L, f->state == HOCKET__DONE || f->parent == hocket__fiber_current(L), 1,
        "a child expected");
    int64_t ms = hocket__opt_seconds(L, 2);
    return after_outlast(
        L, LUA_OK, ms < 0 ? 0 : (lua_KContext) (hocket__script_ms(hocket__runtime(L)) + ms));
}

static int after_wait(lua_State *L, int status, lua_KContext ctx)
{
    (void) status;
    l_unwatch(L);
    if (check_fiber(L, 1)->state != HOCKET__DONE)
        return hocket__timed_out(L) ? push_timeout(L) : wait_end(L, ctx, after_wait);
    lua_settop(L, 1);
    int n = l_result(L);
    if (lua_toboolean(L, 2))
        return n - 1;
    lua_settop(L, 3);
    return lua_error(L);
}

/* f:wait(seconds?) -> its results; raises what it raised; nil, error when the time is over */
static int l_wait(lua_State *L)
{
    lua_KContext due = due_at(L);
    hocket__fiber_current(L)->wait_end = HOCKET__WOKEN;
    return after_wait(L, LUA_OK, due);
}

/* ---- For programs whose main chunk is no fiber ------------------------------------ */

/* So that its error is not told to the log: somebody waits for it. */
static void on_waited(struct hocket__fiber *f, void *ud)
{
    (void) f;
    (void) ud;
}

/* run(fn, ...) -> as f:result(): turns the loop until fn has ended */
static int l_run(lua_State *L)
{
    struct hocket__runtime *rt = hocket__runtime(L);
    luaL_checktype(L, 1, LUA_TFUNCTION);
    if (rt->running)
        return luaL_error(L,
            "run() was called while a fiber runs: call the function itself, and not in "
            "a coroutine of your own");
    /* Turning it here would run callbacks of the embedding program in the middle of a call of
     * its own. */
    if (rt->foreign_loop)
        return luaL_error(
            L, "the event loop belongs to the embedding program: start a run and let it pump");
    if (rt->in_callback || rt->asking)
        return luaL_error(L, "this waits: it cannot be called inside of a callback of the program");
    hocket__fiber_guard(L, lua_gettop(L) - 1);
    struct hocket__fiber *f = hocket__fiber_spawn(L, rt, lua_gettop(L) - 1, true);
    f->on_done = on_waited;
    lua_State *outer = rt->from;
    rt->from = L;
    while (f->state != HOCKET__DONE) {
        uv_run(rt->loop, UV_RUN_ONCE);
        if (rt->on_turned)
            rt->on_turned(rt->on_drained_ud);
    }
    rt->from = outer;
    lua_settop(L, 1);
    return l_result(L);
}

static const luaL_Reg functions[] = {
    { "spawn", l_spawn },
    { "spawn_under", l_spawn_under },
    { "shelter", l_shelter },
    { "detach", l_detach },
    { "outside", l_outside },
    { "park", l_park },
    { "park_for_program", l_park_for_program },
    { "park_until", l_park_until },
    { "sleep", l_sleep },
    { "sleep_until", l_sleep_until },
    { "rest", l_rest },
    { "steps", l_steps },
    { "on_begin", l_on_begin },
    { "self", l_self },
    { "cancelled", l_here_cancelled },
    { "children", l_children },
    { "context", l_context },
    { "within", l_within },
    { "set_context", l_set_context },
    { "now", l_now },
    { "real_now", l_real_now },
    { "has_come", l_has_come },
    { "begin_work", l_begin_work },
    { "away", l_away },
    { "work", l_work },
    { "still", l_still },
    { "limit_code", l_limit_code },
    { "limit_run", l_limit_run },
    { "run", l_run },
    { NULL, NULL },
};

static const luaL_Reg methods[] = {
    { "wake", l_wake },
    { "cancel", l_cancel },
    { "serve", l_serve },
    { "help", l_help },
    { "hold_up", l_hold_up },
    { "status", l_status },
    { "cancelled", l_cancelled },
    { "context", l_context_of },
    { "watch", l_watch },
    { "unwatch", l_unwatch },
    { "result", l_result },
    { "join", l_join },
    { "outlast", l_outlast },
    { "wait", l_wait },
    { NULL, NULL },
};

int hocket__open_fiber(lua_State *L)
{
    hocket__newmeta(L, META, methods);
    lua_rawsetp(L, LUA_REGISTRYINDEX, (const void *) hocket__open_fiber);
    hocket__fiber_open_guard(L);
    lua_newtable(L);
    hocket__setfuncs(L, functions);
    hocket__own_coroutines(L, hocket__runtime(L)->own_state);
    return 1;
}

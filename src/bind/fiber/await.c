/* The scheduler: fibers become ready, run until they wait, and end. fiber.h has the states.
 *
 * lua_resume and lua_yieldk stand in this file alone. So there is one place that knows which fiber
 * runs (rt->running), that nobody else resumes one that waits, and that no C frame of ours is on the
 * stack when Lua jumps out of it: a C function that waits ends with `return hocket__await(…)`, and
 * what it has to do afterwards is its continuation.
 *
 * Who owns what: the coroutine and the context belong to the fiber's userdata, which the anchor table
 * holds until the fiber is done; a script may hold it longer, for its result. Anything that wants to
 * wake a fiber has its id and not its address: ids are not used again, so a wake that comes late
 * finds nobody. */
#include "bind/fiber/kept_impl.h"

#include <string.h>

#include "bind/util.h"

/* A fiber that is cancelled and catches the error again and again is given up
 * after so many raises: it is parked for good and closed. */
#define MAX_CANCEL_RAISES 64
#define TURN_NS           1000000
#define MAX_TURNS_HELD    20

static void raise_cancelled(lua_State *L)
{
    struct hocket_error e;
    hocket__error(&e, HOCKET_ECANCELLED, "cancelled");
    hocket__raise(L, &e);
}

/* ---- Which fiber is this -------------------------------------------------- */

struct hocket__fiber *hocket__fiber_here(lua_State *L)
{
    struct hocket__runtime *rt = hocket__runtime(L);
    return rt->running && rt->running->co == L ? rt->running : NULL;
}

struct hocket__fiber *hocket__fiber_current(lua_State *L)
{
    struct hocket__fiber *f = hocket__fiber_here(L);
    if (!f)
        luaL_error(L,
            "this waits: call it inside of a run, or of hocket.flow.run(function() … end); "
            "not on the main thread, nor in a coroutine of your own");
    return f;
}

struct hocket__fiber *hocket__fiber_test(lua_State *L, int idx)
{
    void *p = lua_touserdata(L, idx);
    if (!p || !lua_getmetatable(L, idx))
        return NULL;
    lua_rawgetp(L, LUA_REGISTRYINDEX, (const void *) hocket__open_fiber);
    bool is = lua_rawequal(L, -1, -2);
    lua_pop(L, 2);
    return is ? p : NULL;
}

bool hocket__fiber_push_context(lua_State *L)
{
    struct hocket__fiber *f = hocket__fiber_here(L);
    if (!f)
        return false;
    lua_rawgeti(L, LUA_REGISTRYINDEX, f->rt->anchor);
    lua_rawgeti(L, -1, (lua_Integer) f->id);
    lua_getiuservalue(L, -1, HOCKET__FIBER_CONTEXT);
    lua_replace(L, -3);
    lua_pop(L, 1);
    return true;
}

/* ---- Ready ------------------------------------------------------------------ */

static void on_idle(uv_idle_t *idle)
{
    hocket__fibers_drain_in_loop(idle->data);
}

static bool is_root(const struct hocket__fiber *f)
{
    return !f->parent && !f->service && !f->helper;
}

static void note_outside(struct hocket__fiber *f, bool outside)
{
    f->rt->n_outside += (size_t) outside - (size_t) f->outside;
    f->outside = outside;
}

static void make_ready(struct hocket__fiber *f)
{
    struct hocket__runtime *rt = f->rt;
    f->state = HOCKET__READY;
    f->unwait = NULL;
    note_outside(f, false);
    hocket__deadline_clear(&rt->deadlines, &f->deadline);
    hocket__list_add(&rt->ready, &f->ready);
    if (f->kept)
        f->kept->n_ready++;
    uv_idle_start(&rt->idle, on_idle);
}

void hocket__fiber_wake(struct hocket__runtime *rt, uint64_t id)
{
    struct hocket__fiber *f = hocket__map_get(&rt->fibers, id);
    if (!f || (f->kept != rt->kept && f->kept && !hocket__kept_woken(f)))
        return;
    if (f->state == HOCKET__WAITING)
        make_ready(f);
    else
        f->woken = true;
}

void hocket__fiber_expire(struct hocket__fiber *f)
{
    f->timed_out = true;
    make_ready(f);
}

/* What is waited for goes on: the C function that waits decides what a timeout means for it. */
static void on_timeout(struct hocket__deadline *d)
{
    struct hocket__fiber *f = hocket__container_of(d, struct hocket__fiber, deadline);
    if (f->kept)
        hocket__kept_timed_out(f);
    if (f->state == HOCKET__WAITING) /* a log that cannot be written has cancelled it */
        hocket__fiber_expire(f);
}

/* ---- Waiting ------------------------------------------------------------------ */

static void raise_stuck(lua_State *L, struct hocket__fiber *f)
{
    struct hocket_error e;
    f->stuck = false;
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
    if (f->stuck)
        raise_stuck(L, f);
    return f->k(L, status, ctx);
}

static void set_time(struct hocket__fiber *f, int64_t timeout_ms)
{
    bool now = !f->kept || hocket__kept_waits(f, timeout_ms);
    if (timeout_ms >= 0 && now)
        hocket__deadline_set(
            &f->rt->deadlines, &f->deadline, hocket__deadlines_now() + (uint64_t) timeout_ms);
}

static int await(lua_State *L, int64_t timeout_ms, bool outside, void (*unwait)(void *ud), void *ud,
    lua_KContext ctx, lua_KFunction k)
{
    struct hocket__fiber *f = hocket__fiber_current(L);
    f->timed_out = f->stuck = false;
    if (f->cancelled && !f->masked) {
        /* What is waited for has been started already: it is stopped as a cancel would have. */
        if (unwait)
            unwait(ud);
        if (++f->cancel_raises <= MAX_CANCEL_RAISES || f->unwinding)
            raise_cancelled(L);
        f->given_up = true;
        return lua_yield(L, 0);
    }
    if (f->unwinding)
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
    set_time(f, timeout_ms);
    f->state = HOCKET__WAITING;
    f->unwait = unwait;
    f->unwait_ud = ud;
    f->k = k;
    note_outside(f, outside || (!f->service && (unwait || timeout_ms >= 0)));
    return lua_yieldk(L, 0, ctx, resumed);
}

int hocket__await(lua_State *L, int64_t timeout_ms, void (*unwait)(void *ud), void *ud,
    lua_KContext ctx, lua_KFunction k)
{
    hocket__fiber_current(L)->outer = unwait != NULL;
    return await(L, timeout_ms, false, unwait, ud, ctx, k);
}

int hocket__await_outside(lua_State *L, int64_t timeout_ms, lua_KContext ctx, lua_KFunction k)
{
    hocket__fiber_current(L)->outer = true;
    return await(L, timeout_ms, true, NULL, NULL, ctx, k);
}

int hocket__await_program(lua_State *L, int64_t timeout_ms, lua_KContext ctx, lua_KFunction k)
{
    hocket__fiber_current(L)->outer = false;
    return await(L, timeout_ms, true, NULL, NULL, ctx, k);
}

int hocket__await_inside(lua_State *L, int64_t timeout_ms, lua_KContext ctx, lua_KFunction k)
{
    hocket__fiber_current(L)->outer = false;
    return await(L, timeout_ms, false, NULL, NULL, ctx, k);
}

/* When the drain that is under way lets the loop look at its sockets: a thousand fibers that are
 * ready at once would keep their first requests, and all other streams, waiting for the last. */
static uint64_t turn_end(const struct hocket__runtime *rt)
{
    uint64_t end = uv_hrtime() + TURN_NS;
    return rt->budget_end_ns && rt->budget_end_ns < end ? rt->budget_end_ns : end;
}

bool hocket__over_budget(const struct hocket__runtime *rt)
{
    return rt->budget_end_ns && uv_hrtime() >= rt->budget_end_ns;
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
    if (!f || f->unwinding || !lua_isyieldable(L) || (f->kept && !hocket__kept_rests(f, over)))
        return 0;
    return lua_yield(L, 0);
}

/* ---- Ends ---------------------------------------------------------------------- */

/* All that a fiber has which is not Lua's goes with its end and not with its userdata: a finalizer
 * would keep the coroutine, and all that its stack refers to, for one more cycle of the collector. */
static void drop_watchers(struct hocket__fiber *f)
{
    hocket__free(f->rt->alloc, f->watchers, f->cap_watchers * sizeof(*f->watchers));
    f->watchers = NULL;
    f->cap_watchers = f->n_watchers = 0;
}

static void cancel_children(struct hocket__fiber *f)
{
    for (struct hocket__list *l = f->children.next; l != &f->children; l = l->next) {
        struct hocket__fiber *child = hocket__container_of(l, struct hocket__fiber, sibling);
        if (!child->sheltered)
            hocket__fiber_cancel(child);
    }
}

/* From outside of the run that it belongs to. */
static void cancel_kept(struct hocket__fiber *f)
{
    struct hocket__runtime *rt = f->rt;
    struct hocket__kept *outer = rt->kept;
    hocket__kept_cancelled(f);
    rt->kept = f->kept;
    hocket__fiber_cancel(f);
    rt->kept = outer;
}

bool hocket__fiber_cancel(struct hocket__fiber *f)
{
    if (f->state == HOCKET__DONE)
        return false;
    if (f->kept && f->kept != f->rt->kept) {
        cancel_kept(f);
        return true;
    }
    f->cancelled = true;
    cancel_children(f);
    if (f->state == HOCKET__WAITING && !f->masked) {
        void (*unwait)(void *ud) = f->unwait;
        f->unwait = NULL;
        if (unwait)
            unwait(f->unwait_ud);
        make_ready(f);
    }
    return true;
}

void hocket__fiber_abandon(struct hocket__fiber *f)
{
    void (*unwait)(void *ud) = f->state == HOCKET__WAITING ? f->unwait : NULL;
    f->cancelled = true;
    f->state = HOCKET__DONE;
    f->unwait = NULL;
    note_outside(f, false);
    hocket__deadline_clear(&f->rt->deadlines, &f->deadline);
    drop_watchers(f);
    if (unwait)
        unwait(f->unwait_ud);
    if (f->kept)
        hocket__kept_drop(f);
}

/* Takes it out of everything and tells whoever waits for its end. The parent may
 * become done by this, and so on upwards. */
static void finish(struct hocket__fiber *f)
{
    struct hocket__runtime *rt = f->rt;
    /* A loop and no recursion: a chain of a thousand parents may end with its last child. */
    while (f && f->state == HOCKET__CLOSING && hocket__list_empty(&f->children)) {
        struct hocket__fiber *parent = f->parent;
        f->state = HOCKET__DONE;
        rt->n_roots -= is_root(f);
        f->parent = NULL;
        hocket__list_del(&f->sibling);
        hocket__map_del(&rt->fibers, f->id);
        hocket__deadlines_leave(&rt->deadlines);
        for (size_t i = 0; i < f->n_watchers; i++)
            hocket__fiber_wake(rt, f->watchers[i]);
        drop_watchers(f);
        if (f->kept)
            hocket__kept_ending(f);
        if (f->on_done)
            f->on_done(f, f->on_done_ud);
        if (f->kept)
            hocket__kept_drop(f);
        if (lua_checkstack(rt->L, 2)) { /* let go of the userdata: f may be collected */
            lua_rawgeti(rt->L, LUA_REGISTRYINDEX, rt->anchor);
            lua_pushnil(rt->L);
            lua_rawseti(rt->L, -2, (lua_Integer) f->id);
            lua_pop(rt->L, 1);
        }
        f = parent;
    }
}

static int close_coroutine(lua_State *co, lua_State *from)
{
#if LUA_VERSION_RELEASE_NUM >= 50406
    return lua_closethread(co, from);
#else
    (void) from;
    return lua_resetthread(co);
#endif
}

/* Protected: (fiber userdata, coroutine, message) -> the userdata's third user value. */
static int keep_traceback(lua_State *L)
{
    lua_State *co = lua_touserdata(L, 2);
    luaL_traceback(L, co, NULL, 0);
    lua_setiuservalue(L, 1, HOCKET__FIBER_TRACEBACK);
    return 0;
}

/* Of the fiber's coroutine, whose error is on top. L is where there is room for the work. */
static void note_traceback(struct hocket__fiber *f, lua_State *L)
{
    if (lua_type(f->co, -1) != LUA_TSTRING || !lua_checkstack(L, 5))
        return;
    lua_pushcfunction(L, keep_traceback);
    lua_rawgeti(L, LUA_REGISTRYINDEX, f->rt->anchor);
    lua_rawgeti(L, -1, (lua_Integer) f->id);
    lua_remove(L, -2);
    lua_pushlightuserdata(L, f->co);
    if (lua_pcall(L, 2, 0, 0) != LUA_OK)
        lua_pop(L, 1); /* no memory for a traceback: the message alone has to do */
}

/* ---- Around a fiber's function ------------------------------------------------------- */

static const char guard_key;

/* A message handler, at the place of the error: nothing is closed yet. */
static int at_error(lua_State *L)
{
    struct hocket__fiber *f = hocket__fiber_here(L);
    lua_settop(L, 1);
    if (f)
        note_traceback(f, f->rt->L);
    return 1;
}

/* Results are what stands above the message handler, at 1. */
static int guarded(lua_State *L, int status, lua_KContext ctx)
{
    (void) ctx;
    if (status == LUA_OK || status == LUA_YIELD)
        return lua_gettop(L) - 1;
    hocket__fiber_current(L)->failed = true;
    return 1;
}

/* Upvalues: the runtime, at_error. */
static int guard(lua_State *L)
{
    lua_pushvalue(L, lua_upvalueindex(2));
    lua_insert(L, 1);
    return guarded(L, lua_pcallk(L, lua_gettop(L) - 2, LUA_MULTRET, 1, 0, guarded), 0);
}

void hocket__fiber_open_guard(lua_State *L)
{
    lua_pushvalue(L, lua_upvalueindex(1));
    lua_pushvalue(L, lua_upvalueindex(1));
    lua_pushcclosure(L, at_error, 1);
    lua_pushcclosure(L, guard, 2);
    lua_rawsetp(L, LUA_REGISTRYINDEX, &guard_key);
}

void hocket__fiber_guard(lua_State *L, int nargs)
{
    hocket__need_stack(L, 1);
    lua_rawgetp(L, LUA_REGISTRYINDEX, &guard_key);
    lua_insert(L, -nargs - 2);
}

/* Nobody can ask for the result of a fiber without owner: its error must not vanish. */
static void report(struct hocket__fiber *f)
{
    struct hocket_error err;
    if (f->parent || f->on_done || f->cancelled || f->n_watchers > 0 || f->nresults == 0)
        return;
    hocket__to_error(f->co, -1, &err);
    hocket__runtime_log(f->rt, HOCKET_LOG_ERROR, "a detached fiber raised: %s", err.message);
}

/* Runs the to-be-closed variables, with the fiber as the running one; leaves the error. */
static void unwind(struct hocket__fiber *f)
{
    struct hocket__fiber *outer = f->rt->running;
    f->state = HOCKET__RUNNING;
    f->unwinding = true;
    f->rt->running = f;
    close_coroutine(f->co, f->rt->L);
    f->rt->running = outer;
}

static void ended(struct hocket__fiber *f, int status, int nresults)
{
    f->nresults = nresults;
    if (status != LUA_OK) { /* without a guard around its function, or given up */
        f->failed = true;
        note_traceback(f, f->rt->L);
        unwind(f);
        f->nresults = lua_gettop(f->co) > 0 ? 1 : 0;
    }
    if (f->failed)
        report(f);
    f->state = HOCKET__CLOSING;
    if (f->failed && f->parent) /* which may count on being told by it, and never is */
        hocket__fiber_wake(f->rt, f->parent->id);
    cancel_children(f);
    finish(f);
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
    if (f->cancelled && !f->started) { /* never ran: nothing to unwind */
        lua_settop(f->co, 0);
        ended(f, LUA_OK, 0);
        return;
    }
    bool first = !f->started;
    f->started = true;
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
    if (status == LUA_YIELD && f->given_up) {
        lua_pushliteral(f->co, "cancelled");
        ended(f, LUA_ERRRUN, 0);
    } else if (status == LUA_YIELD) {
        lua_pop(f->co, nresults);
        if (f->state == HOCKET__RUNNING) /* a plain coroutine.yield: let the others run */
            make_ready(f);
    } else {
        ended(f, status, nresults);
    }
}

/* What it does is its run's, also what its end brings about. */
static void step(struct hocket__fiber *f)
{
    struct hocket__runtime *rt = f->rt;
    struct hocket__kept *k = f->kept;
    if (!k) {
        run(f);
        return;
    }
    k->refs++;
    rt->kept = k;
    hocket__kept_step(f);
    run(f);
    rt->kept = NULL;
    hocket__kept_stepped(k);
    hocket__kept_unref(k);
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

/* What belongs together is told together: after a drain that had to stop in the middle of it only
 * when that goes on for long. */
static bool may_deliver(struct hocket__runtime *rt)
{
    bool through = hocket__list_empty(&rt->ready) || hocket__over_budget(rt);
    rt->turns_held = through || rt->turns_held == MAX_TURNS_HELD ? 0 : rt->turns_held + 1;
    return rt->turns_held == 0;
}

/* ---- Nothing goes on ------------------------------------------------------------- */

/* How often one hears it; who goes on waiting then is cancelled. */
#define MAX_STUCK_RAISES 3

static void tell_stuck(struct hocket__fiber *f)
{
    hocket__runtime_log(f->rt, HOCKET_LOG_ERROR,
        "nothing is under way in what fiber %llu waits for: it is ended",
        (unsigned long long) f->id);
    if (f->kept)
        hocket__kept_stuck(f);
    hocket__fiber_raise_stuck(f);
}

void hocket__fiber_raise_stuck(struct hocket__fiber *f)
{
    f->stuck = true;
    if (++f->stuck_raises > MAX_STUCK_RAISES)
        hocket__fiber_cancel(f);
    else
        make_ready(f);
}

/* Nothing is ready, and nothing that somebody waits for comes from outside. */
static void end_stuck(struct hocket__runtime *rt)
{
    for (size_t i = 0; i < rt->fibers.cap; i++) {
        struct hocket__fiber *f = rt->fibers.slots[i].id ? rt->fibers.slots[i].value : NULL;
        if (f && is_root(f) && f->state == HOCKET__WAITING)
            tell_stuck(f);
    }
}

void hocket__fiber_serve(struct hocket__fiber *f)
{
    note_outside(f, false);
    f->rt->n_roots -= is_root(f);
    f->service = true;
}

void hocket__fiber_help(struct hocket__fiber *f)
{
    f->rt->n_roots -= is_root(f);
    f->helper = true;
}

/* Nothing is ready. Where nothing is on its way either nothing may wake the loop but what somebody
 * waits for. */
static void rest(struct hocket__runtime *rt)
{
    if (rt->n_outside == 0 && rt->n_roots > 0 && !rt->closing)
        end_stuck(rt);
    if (!hocket__list_empty(&rt->ready))
        return;
    uv_idle_stop(&rt->idle);
    if (hocket__runtime_requests(rt) == 0)
        hocket__deadlines_settle(&rt->deadlines);
}

void hocket__fibers_drain(struct hocket__runtime *rt)
{
    if (rt->running) /* somebody turns the loop from inside of a fiber */
        return;
    rt->rounds++;
    rt->turn_end_ns = turn_end(rt);
    while (!hocket__list_empty(&rt->ready)) {
        struct hocket__fiber *f = hocket__container_of(rt->ready.next, struct hocket__fiber, ready);
        hocket__list_del(&f->ready);
        step(f);
        if (uv_hrtime() >= rt->turn_end_ns)
            break;
    }
    if (rt->on_drained && may_deliver(rt))
        rt->on_drained(rt->on_drained_ud);
    if (!rt->closed) /* it may close the host */
        hocket__fibers_settle(rt);
}

void hocket__fibers_settle(struct hocket__runtime *rt)
{
    if (rt->undelivered)
        uv_idle_start(&rt->idle, on_idle);
    else if (hocket__list_empty(&rt->ready))
        rest(rt);
}

void hocket__fibers_drain_in_loop(struct hocket__runtime *rt)
{
    rt->in_loop = true;
    hocket__fibers_drain(rt);
    rt->in_loop = false;
}

/* ---- Making ----------------------------------------------------------------------- */

static void init(struct hocket__fiber *f, struct hocket__runtime *rt)
{
    memset(f, 0, sizeof(*f));
    f->rt = rt;
    f->id = ++rt->next_id;
    f->state = HOCKET__READY;
    hocket__list_init(&f->ready);
    hocket__list_init(&f->sibling);
    hocket__list_init(&f->children);
    hocket__list_init(&f->kin);
    f->deadline.passed = on_timeout;
}

/* Keeps the userdata on top while the fiber lives. Raises when memory is out; what was set up
 * before is taken back then: a fiber that is in the map but not anchored could be collected. */
static int anchor_protected(lua_State *L)
{
    lua_rawgeti(L, LUA_REGISTRYINDEX, (int) lua_tointeger(L, 2));
    lua_pushvalue(L, 1);
    lua_rawseti(L, -2, lua_tointeger(L, 3));
    return 0;
}

static void anchor(lua_State *L, struct hocket__runtime *rt, struct hocket__fiber *f)
{
    lua_pushcfunction(L, anchor_protected);
    lua_pushvalue(L, -2);
    lua_pushinteger(L, rt->anchor);
    lua_pushinteger(L, (lua_Integer) f->id);
    if (lua_pcall(L, 3, 0, 0) == LUA_OK)
        return;
    hocket__map_del(&rt->fibers, f->id);
    hocket__deadlines_leave(&rt->deadlines);
    lua_error(L);
}

struct hocket__fiber *hocket__fiber_spawn(
    lua_State *L, struct hocket__runtime *rt, int nargs, bool detached)
{
    return hocket__fiber_spawn_under(L, rt, nargs, detached ? NULL : hocket__fiber_current(L));
}

/* Stack of L: … fn args | userdata */
struct hocket__fiber *hocket__fiber_spawn_under(
    lua_State *L, struct hocket__runtime *rt, int nargs, struct hocket__fiber *parent)
{
    hocket__need_stack(L, 6);
    struct hocket__fiber *f = lua_newuserdatauv(L, sizeof(*f), HOCKET__FIBER_VALUES);
    init(f, rt);
    lua_rawgetp(L, LUA_REGISTRYINDEX, (const void *) hocket__open_fiber);
    lua_setmetatable(L, -2);
    f->co = lua_newthread(L);
    lua_setiuservalue(L, -2, HOCKET__FIBER_CO);
    if (parent) { /* the context is inherited */
        lua_rawgeti(L, LUA_REGISTRYINDEX, rt->anchor);
        lua_rawgeti(L, -1, (lua_Integer) parent->id);
        lua_getiuservalue(L, -1, HOCKET__FIBER_CONTEXT);
        lua_setiuservalue(L, -4, HOCKET__FIBER_CONTEXT);
        lua_pop(L, 2);
    }
    if (!lua_checkstack(f->co, nargs + 4)) /* not luaL_: nobody would catch it on that one */
        hocket__raise_nomem(L);
    if (hocket__deadlines_join(&rt->deadlines) < 0)
        hocket__raise_nomem(L);
    if (hocket__map_set(&rt->fibers, f->id, f) < 0) {
        hocket__deadlines_leave(&rt->deadlines);
        hocket__raise_nomem(L);
    }
    anchor(L, rt, f);
    lua_insert(L, -nargs - 2);
    lua_xmove(L, f->co, nargs + 1);
    f->nargs = nargs;
    f->parent = parent;
    if (parent) {
        hocket__list_add(&parent->children, &f->sibling);
        f->cancelled = parent->cancelled;
        f->service = parent->service;
    }
    rt->n_roots += is_root(f);
    if (rt->kept)
        hocket__kept_adopt(f, parent);
    make_ready(f);
    return f;
}

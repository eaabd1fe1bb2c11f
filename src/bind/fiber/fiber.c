/* Fibers are made, and found again.
 *
 * Who owns what: the coroutine and the context belong to the fiber's userdata, which the anchor table
 * holds until the fiber is done; a script may hold it longer, for its result. Anything that wants to
 * wake a fiber has its id and not its address: ids are not used again, so a wake that comes late
 * finds nobody. */
#include "bind/fiber/kept_impl.h"

#include <string.h>

#include "bind/fiber/work_clock.h"
#include "bind/util.h"

/* ---- Which fiber is this -------------------------------------------------- */

struct hocket__fiber *hocket__fiber_here(lua_State *L)
{
    struct hocket__fiber *f = hocket__runtime(L)->running;
    return f && (f->co == L || f->inner == L) ? f : NULL;
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
    hocket__list_init(&f->limit);
    f->deadline.passed = hocket__fiber_on_timeout;
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
static struct hocket__fiber *spawn(lua_State *L, struct hocket__runtime *rt, int nargs,
    struct hocket__fiber *parent, uint64_t path, bool outside)
{
    hocket__need_stack(L, 6);
    struct hocket__fiber *f = lua_newuserdatauv(L, sizeof(*f), HOCKET__FIBER_VALUES);
    init(f, rt);
    lua_rawgetp(L, LUA_REGISTRYINDEX, (const void *) hocket__open_fiber);
    lua_setmetatable(L, -2);
    f->co = lua_newthread(L);
    if (rt->own_state)
        hocket__own_claim(f->co);
    lua_setiuservalue(L, -2, HOCKET__FIBER_CO);
    if (parent) { /* the context is inherited */
        f->code_due_ns = parent->code_due_ns;
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
        f->traits = parent->traits & HOCKET__SERVICE;
        f->patience_ms = parent->patience_ms;
        if (parent == rt->running)
            f->away = parent->away;
        if (parent->work)
            hocket__work_clock_join(f, parent->work);
    }
    rt->n_roots += hocket__fiber_is_root(f);
    if (rt->kept && !outside)
        hocket__kept_adopt(f, parent, path);
    hocket__fiber_ready(f);
    return f;
}

struct hocket__fiber *hocket__fiber_spawn_under(
    lua_State *L, struct hocket__runtime *rt, int nargs, struct hocket__fiber *parent)
{
    return spawn(L, rt, nargs, parent, 0, false);
}

struct hocket__fiber *hocket__fiber_spawn_at(lua_State *L, struct hocket__runtime *rt, int nargs,
    struct hocket__fiber *parent, uint64_t path)
{
    return spawn(L, rt, nargs, parent, path, false);
}

struct hocket__fiber *hocket__fiber_spawn_outside(
    lua_State *L, struct hocket__runtime *rt, int nargs, struct hocket__fiber *parent)
{
    return spawn(L, rt, nargs, parent, 0, true);
}

static int nothing(lua_State *L)
{
    (void) L;
    return 0;
}

struct hocket__fiber *hocket__fiber_spawn_sure(
    lua_State *L, struct hocket__runtime *rt, int nargs, bool outside)
{
    struct hocket__fiber *f = outside ? hocket__fiber_spawn_outside(L, rt, nargs, NULL)
                                      : hocket__fiber_spawn(L, rt, nargs, false);
    lua_pushcfunction(f->co, nothing);
    if (lua_pcall(f->co, 0, 0, 0) != LUA_OK) { /* else Lua keeps the frame for the next call */
        lua_pop(f->co, 1);
        hocket__fiber_cancel(f); /* it has not begun, and does not */
        hocket__raise_nomem(L);
    }
    return f;
}

/* ==== End ===================================================================================== */

/* Fibers end: by themselves, by an error, by a cancel, or because nobody will ever run them again.
 *
 * A fiber whose function is through is closing until its last child has ended, then done: it goes out of
 * everything, and whoever waits for its end is woken. So ends travel from the leaves to the root. */

/* What a fiber has beside Lua's objects goes with its end and not with its userdata. A finalizer would keep the
 * coroutine, and everything that its stack refers to, for one more cycle of the collector. */
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
        if (!(child->traits & HOCKET__SHELTERED))
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
    hocket__effect_cancelled(f);
    if (f->state == HOCKET__WAITING && !f->masked) {
        void (*unwait)(void *ud) = f->unwait;
        f->unwait = NULL;
        if (unwait)
            unwait(f->unwait_ud);
        hocket__fiber_ready(f);
    }
    return true;
}

void hocket__fiber_abandon(struct hocket__fiber *f)
{
    void (*unwait)(void *ud) = f->state == HOCKET__WAITING ? f->unwait : NULL;
    f->cancelled = true;
    f->state = HOCKET__DONE;
    f->unwait = NULL;
    hocket__fiber_note_outside(f, false);
    hocket__deadline_clear(&f->rt->deadlines, &f->deadline);
    drop_watchers(f);
    hocket__work_clock_leave(f);
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
        rt->n_roots -= hocket__fiber_is_root(f);
        f->parent = NULL;
        hocket__list_del(&f->sibling);
        hocket__map_del(&rt->fibers, f->id);
        hocket__deadlines_leave(&rt->deadlines);
        hocket__work_clock_leave(f);
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

void hocket__fiber_adopt(struct hocket__fiber *f, struct hocket__fiber *parent)
{
    struct hocket__fiber *before = f->parent;
    if (f->state == HOCKET__DONE || parent->state >= HOCKET__CLOSING || f->kept != parent->kept
        || hocket__fiber_is_above(f, parent))
        return;
    f->rt->n_roots -= hocket__fiber_is_root(f);
    hocket__list_move(&parent->children, &f->sibling);
    f->parent = parent;
    if (before)
        finish(before);
}

int hocket__close_coroutine(lua_State *co, lua_State *from)
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
    hocket__fiber_current(L)->course = HOCKET__RAISED;
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

/* ---- The end of its function ---------------------------------------------------------- */

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
    f->state = HOCKET__UNWINDING;
    f->rt->running = f;
    hocket__close_coroutine(f->co, f->rt->L);
    f->rt->running = outer;
}

void hocket__fiber_ended(struct hocket__fiber *f, int status, int nresults)
{
    f->nresults = nresults;
    if (status != LUA_OK) { /* without a guard around its function, or given up */
        if (f->course != HOCKET__GIVEN_UP)
            f->course = HOCKET__RAISED;
        note_traceback(f, f->rt->L);
        unwind(f);
        f->nresults = lua_gettop(f->co) > 0 ? 1 : 0;
    }
    bool failed = hocket__fiber_has_failed(f);
    if (failed)
        report(f);
    f->state = HOCKET__CLOSING;
    if (failed && f->parent) /* which may count on being told by it, and never is */
        hocket__fiber_wake(f->rt, f->parent->id);
    cancel_children(f);
    hocket__work_clock_note(f, HOCKET__IDLE);
    finish(f);
}

/* ==== Drain =================================================================================== */

/* Fibers that are ready are run, for a millisecond at most, then the loop looks at its sockets. When none
 * is left the loop sleeps; and where nothing from outside can wake a fiber, all get an error. */

#define TURN_NS        1000000
#define MAX_TURN_NS    4000000
#define MAX_TURNS_HELD 20

static void on_idle(uv_idle_t *idle)
{
    hocket__fibers_drain_in_loop(idle->data);
}

void hocket__fibers_go_on(struct hocket__runtime *rt)
{
    uv_idle_start(&rt->idle, on_idle);
}

/* When the drain that is under way lets the loop look at its sockets: a thousand fibers that are
 * ready at once would keep their first requests, and all other streams, waiting for the last. Fibers that
 * the last drain left get as much time as the loop has taken since. Otherwise ten thousand streams, whose
 * pieces take ten milliseconds a turn, leave a tenth of the thread to the agents that are still to begin. */
static uint64_t turn_end(const struct hocket__runtime *rt)
{
    uint64_t now = uv_hrtime();
    uint64_t share = rt->left_ns ? now - rt->left_ns : 0;
    uint64_t end = now + (share < TURN_NS ? TURN_NS : share < MAX_TURN_NS ? share : MAX_TURN_NS);
    return rt->budget_end_ns && rt->budget_end_ns < end ? rt->budget_end_ns : end;
}

bool hocket__over_budget(const struct hocket__runtime *rt)
{
    return rt->budget_end_ns && uv_hrtime() >= rt->budget_end_ns;
}

/* The loop drains before and after its poll: what is over the budget is not gone beyond twice. One step is always
 * made, or a host with tiny budgets would stand still. */
static bool may_step(const struct hocket__runtime *rt)
{
    return !rt->stepped || !hocket__over_budget(rt);
}

/* Events that belong together are delivered together; after a drain that stopped in the middle they wait, but not
 * for long. */
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
    if (f->state == HOCKET__WAITING) /* a log that cannot go on has let it go */
        hocket__fiber_raise_stuck(f);
}

void hocket__fiber_raise_stuck(struct hocket__fiber *f)
{
    f->wait_end = HOCKET__STUCK;
    if (++f->stuck_raises > MAX_STUCK_RAISES)
        hocket__fiber_cancel(f);
    else
        hocket__fiber_ready(f);
}

/* Nothing is ready, and nothing that somebody waits for comes from outside. */
static void end_stuck(struct hocket__runtime *rt)
{
    for (size_t i = 0; i < rt->fibers.cap; i++) {
        struct hocket__fiber *f = rt->fibers.slots[i].id ? rt->fibers.slots[i].value : NULL;
        if (f && hocket__fiber_is_root(f) && f->state == HOCKET__WAITING)
            tell_stuck(f);
    }
}

void hocket__fiber_serve(struct hocket__fiber *f)
{
    hocket__fiber_note_outside(f, false);
    f->rt->n_roots -= hocket__fiber_is_root(f);
    f->traits |= HOCKET__SERVICE;
}

void hocket__fiber_help(struct hocket__fiber *f)
{
    f->rt->n_roots -= hocket__fiber_is_root(f);
    f->traits |= HOCKET__HELPER;
}

/* Nothing is ready. Where nothing is on its way either nothing may wake the loop but what somebody
 * waits for. */
static void rest(struct hocket__runtime *rt)
{
    if (rt->n_outside == 0 && rt->n_roots > 0 && rt->life == HOCKET__RUNTIME_OPEN)
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
    while (!hocket__list_empty(&rt->ready) && may_step(rt)) {
        struct hocket__fiber *f = hocket__container_of(rt->ready.next, struct hocket__fiber, ready);
        hocket__list_del(&f->ready);
        rt->stepped = true;
        hocket__fiber_step(f);
        if (uv_hrtime() >= rt->turn_end_ns)
            break;
    }
    rt->left_ns = hocket__list_empty(&rt->ready) ? 0 : uv_hrtime();
    if (rt->on_drained && may_deliver(rt))
        rt->on_drained(rt->on_drained_ud);
    if (rt->life != HOCKET__RUNTIME_CLOSED) /* it may close the host */
        hocket__fibers_settle(rt);
}

void hocket__fibers_settle(struct hocket__runtime *rt)
{
    if (rt->undelivered)
        hocket__fibers_go_on(rt);
    else if (hocket__list_empty(&rt->ready))
        rest(rt);
}

void hocket__fibers_drain_in_loop(struct hocket__runtime *rt)
{
    rt->in_loop = true;
    hocket__fibers_drain(rt);
    rt->in_loop = false;
}

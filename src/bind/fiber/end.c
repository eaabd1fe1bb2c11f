/* Fibers end: by themselves, by an error, by a cancel, or because nobody will ever run them again.
 *
 * A fiber whose function is through is closing until its last child has ended, then done: it goes out of
 * everything, and whoever waits for its end is woken. So ends travel from the leaves to the root. */
#include "bind/fiber/kept_impl.h"
#include "bind/fiber/work_clock.h"

#include "bind/util.h"

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
    hocket__list_del(&f->sibling);
    hocket__list_add(&parent->children, &f->sibling);
    f->parent = parent;
    if (before)
        finish(before);
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
    close_coroutine(f->co, f->rt->L);
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

/* Fibers are made, and found again.
 *
 * Who owns what: the coroutine and the context belong to the fiber's userdata, which the anchor table
 * holds until the fiber is done; a script may hold it longer, for its result. Anything that wants to
 * wake a fiber has its id and not its address: ids are not used again, so a wake that comes late
 * finds nobody. */
#include "bind/fiber/kept_impl.h"
#include "bind/fiber/work_clock.h"

#include <string.h>

#include "bind/util.h"

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
static struct hocket__fiber *spawn(
    lua_State *L, struct hocket__runtime *rt, int nargs, struct hocket__fiber *parent, bool outside)
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
        f->traits = parent->traits & HOCKET__SERVICE;
        f->patience_ms = parent->patience_ms;
        if (parent == rt->running)
            f->away = parent->away;
        if (parent->work)
            hocket__work_clock_join(f, parent->work);
    }
    rt->n_roots += hocket__fiber_is_root(f);
    if (rt->kept && !outside)
        hocket__kept_adopt(f, parent);
    hocket__fiber_ready(f);
    return f;
}

struct hocket__fiber *hocket__fiber_spawn_under(
    lua_State *L, struct hocket__runtime *rt, int nargs, struct hocket__fiber *parent)
{
    return spawn(L, rt, nargs, parent, false);
}

struct hocket__fiber *hocket__fiber_spawn_outside(
    lua_State *L, struct hocket__runtime *rt, int nargs, struct hocket__fiber *parent)
{
    return spawn(L, rt, nargs, parent, true);
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

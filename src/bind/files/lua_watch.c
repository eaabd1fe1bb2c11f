/* hocket.internal.core.watch: directories watched for changes. One fiber waits for them.
 *
 * The system's callbacks note that something has changed and wake the fiber, which looks for itself
 * what it was: events may be lost or come in heaps, and a look is right in any case. */

#include "bind/life.h"
#include "bind/open.h"

#include "bind/fiber/fiber.h"
#include "bind/util.h"
#include "os/watch.h"

#define META "hocket.watch"

struct watch {
    struct hocket__closer closer;
    struct hocket__runtime *rt;
    struct hocket__watch *watch; /* NULL: closed */
    uint64_t fiber;
    bool changed; /* since the last wait returned */
    int self_ref; /* keeps this userdata while the loop knows it */
};

static void on_change(void *ud)
{
    struct watch *w = ud;
    w->changed = true;
    hocket__fiber_wake(w->rt, w->fiber);
}

static void let_go(void *ud)
{
    struct watch *w = ud;
    luaL_unref(w->rt->L, LUA_REGISTRYINDEX, w->self_ref);
    hocket__runtime_release(w->rt, &w->closer);
}

static void close_watch(struct watch *w)
{
    if (!w->watch)
        return;
    hocket__watch_close(w->watch, let_go, w);
    w->watch = NULL;
    hocket__fiber_wake(w->rt, w->fiber);
}

static void on_runtime_close(struct hocket__closer *c)
{
    close_watch(hocket__container_of(c, struct watch, closer));
}

/* new() -> watch | nil, error */
static int l_new(lua_State *L)
{
    struct hocket__runtime *rt = hocket__runtime(L);
    struct hocket_error err;
    struct watch *w = lua_newuserdatauv(L, sizeof(*w), 0);
    *w = (struct watch){ .rt = rt, .closer = { .close = on_runtime_close } };
    hocket__list_init(&w->closer.link);
    luaL_setmetatable(L, META);
    lua_pushvalue(L, -1);
    w->self_ref = luaL_ref(L, LUA_REGISTRYINDEX);
    if (hocket__watch_new(rt->loop, rt->alloc, on_change, w, &w->watch, &err) < 0) {
        luaL_unref(L, LUA_REGISTRYINDEX, w->self_ref);
        return hocket__fail(L, &err);
    }
    hocket__runtime_hold(rt, &w->closer);
    return 1;
}

/* w:add(directory) -> true | nil, error */
static int l_add(lua_State *L)
{
    struct watch *w = luaL_checkudata(L, 1, META);
    struct hocket_error err;
    if (!w->watch)
        return luaL_error(L, "the watch is closed");
    return hocket__succeed(L, hocket__watch_add(w->watch, luaL_checkstring(L, 2), &err), &err);
}

static void stop_waiting(void *ud)
{
    ((struct watch *) ud)->fiber = 0;
}

static int after_wait(lua_State *L, int status, lua_KContext ctx)
{
    (void) status;
    (void) ctx;
    struct watch *w = luaL_checkudata(L, 1, META);
    if (!w->watch)
        return 0;
    if (!w->changed && !hocket__timed_out(L))
        return hocket__await_rest(L, stop_waiting, w, 0, after_wait);
    lua_pushboolean(L, w->changed);
    w->changed = false;
    return 1;
}

/* w:wait([seconds]) -> whether something changed since the last time; nothing when it is closed */
static int l_wait(lua_State *L)
{
    struct watch *w = luaL_checkudata(L, 1, META);
    int64_t timeout = hocket__opt_seconds(L, 2);
    lua_settop(L, 1);
    w->fiber = hocket__fiber_current(L)->id;
    if (w->changed || !w->watch)
        return after_wait(L, LUA_OK, 0);
    return hocket__await(L, timeout, stop_waiting, w, 0, after_wait);
}

static int l_close(lua_State *L)
{
    close_watch(luaL_checkudata(L, 1, META));
    return 0;
}

static const luaL_Reg functions[] = { { "new", l_new }, { NULL, NULL } };
static const luaL_Reg methods[] = { { "add", l_add }, { "wait", l_wait }, { "close", l_close },
    { "__close", l_close }, { NULL, NULL } };

int hocket__open_watch(lua_State *L)
{
    return hocket__open_class(L, META, methods, functions);
}

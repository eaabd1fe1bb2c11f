/* From nothing to a runtime and back. Every handle in the loop is counted in open_handles; the
 * last that has closed ends the runtime (one_closed).
 *
 * Memory of the runtime itself is Lua's: it is collected with its state, long after on_closed. */
#include "bind/life.h"

#include <string.h>

#include <lauxlib.h>

#include "bind/fiber/fiber.h"
#include "bind/util.h"
#include "net/http/http.h"
#include "net/relay.h"

/* Milliseconds. */
#define CLOCK_STEP_MS 10

/* ---- Opening ------------------------------------------------------------------ */

static void on_check(uv_check_t *check)
{
    struct hocket__runtime *rt = check->data;
    if (!hocket__list_empty(&rt->ready) || rt->undelivered)
        hocket__fibers_drain_in_loop(rt);
}

static void open_handles(struct hocket__runtime *rt)
{
    hocket__deadlines_init(&rt->deadlines, rt->alloc, rt->loop);
    uv_check_init(rt->loop, &rt->check);
    uv_idle_init(rt->loop, &rt->idle);
    rt->check.data = rt->idle.data = rt;
    uv_check_start(&rt->check, on_check);
    uv_unref((uv_handle_t *) &rt->check); /* it alone keeps no loop alive */
    rt->open_handles = 3;
}

struct opening {
    const struct hocket_options *o;
    uv_loop_t *loop;
    struct hocket__runtime *rt;
};

/* Protected: makes the userdata, anchors it and the table of fibers. */
static int open_protected(lua_State *L)
{
    struct opening *op = lua_touserdata(L, 1);
    if (lua_rawgetp(L, LUA_REGISTRYINDEX, &hocket__runtime_key) != LUA_TNIL)
        return luaL_error(L, "this lua_State has a hocket host already");
    struct hocket__runtime *rt = lua_newuserdatauv(L, sizeof(*rt), 1);
    memset(rt, 0, sizeof(*rt));
    rt->launcher = lua_pushstring(L, op->o->launcher);
    lua_setiuservalue(L, -2, 1);
    lua_rawgeti(L, LUA_REGISTRYINDEX, LUA_RIDX_MAINTHREAD);
    rt->L = lua_tothread(L, -1);
    lua_pop(L, 1);
    lua_newtable(L);
    rt->anchor = luaL_ref(L, LUA_REGISTRYINDEX);
    lua_rawsetp(
        L, LUA_REGISTRYINDEX, &hocket__runtime_key); /* last: it says that there is a host */
    op->rt = rt;
    return 0;
}

static void fill(struct hocket__runtime *rt, const struct hocket_options *o, uv_loop_t *loop)
{
    rt->memory.below = o->allocator.realloc_cb ? o->allocator : hocket__malloc;
    rt->alloc_copy = (struct hocket_allocator){ hocket__kept_alloc, rt };
    rt->alloc = &rt->alloc_copy;
    rt->loop = loop;
    hocket__runtime_init_direct(rt);
    rt->log_cb = o->log_cb;
    rt->log_ud = o->log_ud;
    rt->getenv_cb = o->getenv_cb;
    rt->getenv_ud = o->getenv_ud;
    rt->secret_cb = o->secret_cb;
    rt->secret_ud = o->secret_ud;
    rt->wakeup_cb = o->wakeup_cb;
    rt->wakeup_ud = o->wakeup_ud;
    rt->output_cb = o->output_cb;
    rt->output_ud = o->output_ud;
    rt->max_message = o->max_message ? o->max_message : (size_t) 32 << 20;
    rt->max_connections = o->max_connections;
    rt->threaded = o->thread;
    hocket__launchers_init(&rt->launchers, rt->alloc);
    hocket__own_open(&rt->own);
    hocket__map_init(&rt->fibers, rt->alloc);
    hocket__list_init(&rt->ready);
    hocket__list_init(&rt->kept_runs);
    rt->clock_step_ms = CLOCK_STEP_MS;
    hocket__list_init(&rt->closers);
    hocket__list_init(&rt->resting);
    hocket__buf_init(&rt->scratch, rt->alloc, 0);
    hocket__buf_init(&rt->block, rt->alloc, 0);
    hocket__buf_init(&rt->plain, rt->alloc, 0);
    hocket__buf_init(&rt->quoted, rt->alloc, 0);
    hocket__buf_init(&rt->policy_words, rt->alloc, 0);
    hocket__buf_init(&rt->approve, rt->alloc, 0);
}

int hocket__runtime_new(lua_State *L, const struct hocket_options *o, uv_loop_t *loop,
    struct hocket__runtime **out, struct hocket_error *err)
{
    struct opening op = { o, loop, NULL };
    int rc = hocket__pcall(L, open_protected, &op, err);
    if (rc < 0)
        return rc;
    fill(op.rt, o, loop);
    open_handles(op.rt);
    op.rt->life = HOCKET__RUNTIME_OPEN;
    *out = op.rt;
    return 0;
}

/* ---- Closing ---------------------------------------------------------------------- */

/* Scripts of ours that somebody still holds load others when they need them. */
static int load_closed(lua_State *L)
{
    return luaL_error(L, "the hocket host is closed: require \"hocket\" anew for another one");
}

/* Takes what is named "hocket…" out of the table on top, or puts `instead` in its place, but not in that
 * of "hocket" itself. Allocates nothing. */
static void forget_names(lua_State *L, lua_CFunction instead)
{
    for (lua_pushnil(L); lua_next(L, -2);) {
        lua_pop(L, 1);
        const char *name = lua_type(L, -1) == LUA_TSTRING ? lua_tostring(L, -1) : "";
        if (strncmp(name, "hocket", 6) != 0)
            continue;
        lua_pushvalue(L, -1);
        if (instead && name[6] == '.')
            lua_pushcfunction(L, instead);
        else
            lua_pushnil(L);
        lua_rawset(L, -4);
    }
}

/* A further host in this state begins anew, with modules and metatables of its own; objects of
 * this one keep theirs, and with them this runtime. */
static void leave_state(struct hocket__runtime *rt)
{
    static const struct {
        const char *name;
        lua_CFunction instead;
    } tables[] = { { LUA_LOADED_TABLE, NULL }, { LUA_PRELOAD_TABLE, load_closed } };
    lua_State *L = rt->L;
    lua_pushnil(L);
    lua_rawsetp(L, LUA_REGISTRYINDEX, &hocket__runtime_key);
    luaL_unref(L, LUA_REGISTRYINDEX, rt->anchor);
    for (size_t i = 0; i < 2; i++) {
        if (lua_getfield(L, LUA_REGISTRYINDEX, tables[i].name) == LUA_TTABLE)
            forget_names(L, tables[i].instead);
        lua_pop(L, 1);
    }
    lua_pushvalue(L, LUA_REGISTRYINDEX);
    forget_names(L, NULL);
    lua_pop(L, 1);
}

static void one_closed(struct hocket__runtime *rt)
{
    if (--rt->open_handles > 0)
        return;
    hocket__deadlines_deinit(&rt->deadlines);
    hocket__map_deinit(&rt->fibers);
    hocket__buf_deinit(&rt->scratch);
    hocket__launchers_close(&rt->launchers);
    hocket__own_close(&rt->own);
    hocket__buf_deinit(&rt->block);
    hocket__buf_deinit(&rt->plain);
    hocket__buf_deinit(&rt->quoted);
    hocket__buf_deinit(&rt->policy_words);
    hocket__buf_deinit(&rt->approve);
    rt->life = HOCKET__RUNTIME_CLOSED;
    if (lua_checkstack(rt->L, 6))
        leave_state(rt);
    if (rt->on_closed)
        rt->on_closed(rt->on_closed_ud);
}

static void on_handle_closed(uv_handle_t *handle)
{
    one_closed(handle->data);
}

static void on_timer_closed(uv_handle_t *handle)
{
    one_closed(hocket__container_of(handle, struct hocket__runtime, deadlines.timer));
}

static void on_http_closed(void *ud)
{
    one_closed(ud);
}

void hocket__runtime_hold(struct hocket__runtime *rt, struct hocket__closer *c)
{
    hocket__list_add(&rt->closers, &c->link);
}

void hocket__runtime_release(struct hocket__runtime *rt, struct hocket__closer *c)
{
    hocket__list_del(&c->link);
    if (rt->life != HOCKET__RUNTIME_OPEN)
        one_closed(rt);
}

static void cancel_all(struct hocket__runtime *rt)
{
    for (size_t i = 0; i < rt->fibers.cap; i++)
        if (rt->fibers.slots[i].id)
            hocket__fiber_cancel(rt->fibers.slots[i].value);
}

void hocket__runtime_abandon(struct hocket__runtime *rt)
{
    for (size_t i = 0; i < rt->fibers.cap; i++)
        if (rt->fibers.slots[i].id)
            hocket__fiber_abandon(rt->fibers.slots[i].value);
    hocket__map_deinit(&rt->fibers);
    /* empty, and not gone: objects that are collected later look for their fibers in it */
    hocket__map_init(&rt->fibers, rt->alloc);
    hocket__list_init(&rt->ready);
}

void hocket__runtime_close(struct hocket__runtime *rt, void (*on_closed)(void *ud), void *ud)
{
    rt->on_closed = on_closed;
    rt->on_closed_ud = ud;
    /* the end takes the time that it needs */
    rt->budget_end_ns = 0;
    hocket__kept_leave_all(rt);
    while (rt->fibers.count > 0) { /* each round ends at least one: cancel is sticky */
        cancel_all(rt);
        hocket__fibers_drain(rt);
    }
    rt->life = HOCKET__RUNTIME_CLOSING;
    rt->open_handles++; /* this function itself: closers may be done at once */
    while (!hocket__list_empty(&rt->closers)) {
        struct hocket__closer *c =
            hocket__container_of(rt->closers.next, struct hocket__closer, link);
        /* taken out first: close may lead to release, which would take it out again */
        hocket__list_del(&c->link);
        rt->open_handles++;
        c->close(c);
    }
    if (rt->http) {
        rt->open_handles++;
        hocket__http_close(rt->http, on_http_closed, rt);
        rt->http = NULL;
    }
    if (rt->relay) {
        rt->open_handles++;
        hocket__relay_close(rt->relay, on_http_closed, rt);
        rt->relay = NULL;
    }
    uv_close((uv_handle_t *) &rt->check, on_handle_closed);
    uv_close((uv_handle_t *) &rt->idle, on_handle_closed);
    hocket__deadlines_close(&rt->deadlines, on_timer_closed);
    one_closed(rt);
}

/* A host from open to close, and how it is turned.
 *
 *    open: Lua state ─> loop ─> runtime ─> modules          each fails by itself, fail_open undoes all
 *    turn: pump, wait (own loop)   or   the embedder's loop, which drains by a check handle
 *    close: runtime_close ─> its handles ─> our two handles ─> free_host ─> on_closed
 *
 * Closing from inside of a callback or of Lua is put off until nothing of the host is on the C
 * stack (close_deferred): on a loop of our own the pump does it on its way out, on the
 * embedder's the end of the delivery. */
#include "host/host.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <lauxlib.h>
#include <lualib.h>

#include "base/descriptors.h"
#include "base/json/json.h"
#include "bind/life.h"
#include "bind/fiber/fiber.h"
#include "bind/modules.h"
#include "bind/util.h"
#include "host/sized.h"
#include "host/state.h"
#include "host/tools.h"

/* What cannot be a size is left for hocket_open, which has words for it. */
void hocket_options_init(struct hocket_options *o, size_t size)
{
    static const struct hocket_options none = { .size = 0 };
    if (!o)
        return;
    o->size = size;
    hocket__sized_give(o, &none, sizeof(none));
    o->size = size;
}

const char *hocket_version(void)
{
    return HOCKET_VERSION;
}

/* ---- Opening --------------------------------------------------------------- */

/* The current directory is where tools work: what lies there is no module of anybody's unasked. */
static void forget_here(lua_State *L, const char *field, const char *const *entries)
{
    lua_getglobal(L, LUA_LOADLIBNAME);
    lua_getfield(L, -1, field);
    for (; *entries; entries++) {
        luaL_gsub(L, luaL_checkstring(L, -1), *entries, "");
        lua_replace(L, -2);
    }
    lua_setfield(L, -2, field);
    lua_pop(L, 1);
}

static int open_libraries(lua_State *L)
{
    static const char *const lua[] = { ";./?.lua", ";./?/init.lua", NULL }, *const c[] = {
        ";./?.so", NULL
    };
    luaL_checkversion(L);
    luaL_openlibs(L);
    forget_here(L, "path", lua);
    forget_here(L, "cpath", c);
    return 0;
}

static void *metered(void *ud, void *p, size_t old_size, size_t new_size)
{
    struct hocket__meter *m = ud;
    /* Lua hands the object's kind over in the place of a size */
    if (!p)
        old_size = 0; /* Lua says what kind of object it is */
    if (new_size > old_size && m->used + (new_size - old_size) > m->max)
        return NULL;
    void *q = m->below->realloc_cb(m->below->ud, p, old_size, new_size);
    if (q || new_size == 0)
        m->used += new_size - old_size;
    return q;
}

static int open_lua(struct hocket_host *h, const struct hocket_options *o, struct hocket_error *err)
{
    h->L = o->lua_state;
    if (h->L)
        return 0;
    const struct hocket_allocator *a = &h->alloc;
#ifndef __SANITIZE_ADDRESS__ /* which is to see each block by itself */
    hocket__slab_init(&h->slab, &h->alloc);
    a = &h->slab.a;
#endif
    /* On top of the slabs: what counts against max_memory is what Lua has, not what the slabs
     * keep in reserve. */
    h->meter = (struct hocket__meter){ { metered, &h->meter }, a, 0, o->max_memory };
    a = o->max_memory ? &h->meter.a : a;
    h->L = lua_newstate(a->realloc_cb, a->ud);
    if (!h->L)
        return hocket__error_nomem(err);
    h->owns_lua = true;
    hocket__collector_init(&h->collector, h->L);
    lua_pushcfunction(h->L, open_libraries);
    if (lua_pcall(h->L, 0, 0, 0) != LUA_OK) {
        hocket__to_error(h->L, -1, err);
        return err->status;
    }
    return 0;
}

static void on_wakeup(uv_async_t *wakeup)
{
    hocket__tools_answered(wakeup->data);
}

/* Descriptors of a loop, with the pipe that libuv makes with the first one. */
#define LOOP_DESCRIPTORS 6

static int no_loop(struct hocket_error *err, int code)
{
    char words[HOCKET__ERRNO_WORDS];
    int status = code == ENOMEM ? HOCKET_ENOMEM : HOCKET_EIO;
    hocket__error(err, status, "cannot make an event loop, which takes %d descriptors: %s",
        LOOP_DESCRIPTORS, hocket__errno_words(code, words));
    if (err)
        err->retryable = true;
    return status;
}

/* libuv aborts where its loop lacks one: so that is looked at before. */
static int check_descriptors(struct hocket_error *err, int n, int epoll)
{
    int why = hocket__descriptors_left(n, epoll);
    return why == 0 ? 0 : no_loop(err, why);
}

static int own_loop(struct hocket_host *h, struct hocket_error *err)
{
    int rc = check_descriptors(err, LOOP_DESCRIPTORS, -1);
    if (rc < 0)
        return rc;
    rc = uv_loop_init(&h->own_loop);
    if (rc < 0)
        return no_loop(err, -rc);
    h->loop = &h->own_loop;
    h->owns_loop = true;
    return 0;
}

static int open_loop(
    struct hocket_host *h, const struct hocket_options *o, struct hocket_error *err)
{
    h->loop = o->uv_loop;
    int rc = h->loop ? 0 : own_loop(h, err);
    if (rc < 0 || (rc = check_descriptors(err, 1, uv_backend_fd(h->loop))) < 0)
        return rc;
    rc = uv_async_init(h->loop, &h->wakeup, on_wakeup);
    if (rc < 0)
        return no_loop(err, -rc);
    uv_timer_init(h->loop, &h->wait_timer);
    h->wakeup.data = h->wait_timer.data = h;
    if (!h->owns_loop) /* of whom an idle host is to keep no loop alive */
        uv_unref((uv_handle_t *) &h->wakeup);
    h->open_handles = 2;
    return 0;
}

static void free_host(struct hocket_host *h)
{
    struct hocket_allocator a = h->alloc;
    /* runs hold references into the Lua state, so they go before it */
    hocket__host_drop_runs(h);
    hocket__host_forget_told(h);
    hocket__tools_free(h);
    hocket__buf_deinit(&h->event);
    if (h->owns_lua && h->L)
        lua_close(h->L);
    if (h->slab.below)
        hocket__slab_deinit(&h->slab);
    if (h->owns_loop) {
        /* finalizers in lua_close may have closed handles; they end here */
        uv_run(&h->own_loop, UV_RUN_DEFAULT);
        uv_loop_close(&h->own_loop);
    }
    hocket__free(&a, h, sizeof(*h));
}

static void on_handle_closed(uv_handle_t *handle)
{
    struct hocket_host *h = handle->data;
    if (--h->open_handles > 0)
        return;
    h->closed = true;
    if (!h->owns_loop) {
        hocket_closed_cb cb = h->on_closed;
        void *ud = h->closed_ud;
        free_host(h);
        if (cb)
            cb(ud);
    }
}

static void close_handles(void *ud)
{
    struct hocket_host *h = ud;
    if (h->open_handles == 0) { /* opening failed before there were any */
        h->closed = true;
        return;
    }
    uv_close((uv_handle_t *) &h->wakeup, on_handle_closed);
    uv_close((uv_handle_t *) &h->wait_timer, on_handle_closed);
}

/* On a failure everything that was opened is closed again; on an embedder's loop the last
 * handles go when it turns. */
static int fail_open(struct hocket_host *h, int status)
{
    h->on_closed = NULL;
    if (h->rt)
        hocket__runtime_close(h->rt, close_handles, h);
    else
        close_handles(h);
    if (h->owns_loop || h->closed) {
        if (h->owns_loop)
            uv_run(&h->own_loop, UV_RUN_DEFAULT);
        free_host(h);
    }
    return status;
}

static int take_options(
    struct hocket_options *ours, const struct hocket_options *theirs, struct hocket_error *err)
{
    if (!theirs)
        return hocket__error(err, HOCKET_EINVAL, "a host needs options: hocket_options_init");
    int rc = hocket__sized_take(ours, sizeof(*ours), theirs, "hocket_options", err);
    if (rc == 0 && (ours->max_runs < 0 || ours->max_connections < 0))
        return hocket__error(
            err, HOCKET_EINVAL, "the options max_runs and max_connections cannot be negative");
    return rc;
}

/* Protected: require("hocket.internal.host.entry").prepare() */
static int prepare_protected(lua_State *L)
{
    hocket__require(L, "hocket.internal.host.entry");
    lua_getfield(L, -1, "prepare");
    lua_call(L, 0, 0);
    return 0;
}

/* Reading the scripts that every run needs takes milliseconds, which whoever promises its frames
 * has now and not in the first one. */
static int prepare(struct hocket_host *h, struct hocket_error *err)
{
    if (!lua_checkstack(h->L, 4))
        return hocket__error_nomem(err);
    lua_pushcfunction(h->L, prepare_protected);
    if (lua_pcall(h->L, 0, 0, 0) == LUA_OK)
        return 0;
    hocket__to_error(h->L, -1, err);
    lua_pop(h->L, 1);
    return err->status;
}

/* What a request has in small blocks comes and goes as fast as Lua's objects, and from the same slabs;
 * but not when it works on a thread of its own. */
static int open_runtime(
    struct hocket_host *h, const struct hocket_options *o, struct hocket_error *err)
{
    struct hocket_options mine = *o;
    if (h->slab.below && !o->thread)
        mine.allocator = h->slab.a;
    return hocket__runtime_new(h->L, &mine, h->loop, &h->rt, err);
}

static int open_host(const struct hocket_options *o, hocket_host **out, struct hocket_error *err)
{
    int rc;
    struct hocket_allocator a = o->allocator.realloc_cb ? o->allocator : hocket__malloc;
    struct hocket_host *h = hocket__zero(&a, sizeof(*h));
    if (!h)
        return hocket__error_nomem(err);
    h->alloc = a;
    h->max_journal = o->max_journal;
    h->max_runs = o->max_runs;
    hocket__list_init(&h->runs);
    hocket__list_init(&h->due);
    hocket__buf_init(&h->event, &h->alloc, 0);
    if (hocket__tools_new(h) < 0) {
        hocket__free(&a, h, sizeof(*h));
        return hocket__error_nomem(err);
    }
    if ((rc = open_lua(h, o, err)) < 0 || (rc = open_loop(h, o, err)) < 0
        || (rc = open_runtime(h, o, err)) < 0
        || (rc = hocket__modules_open(h->rt, h->L, o->lua_path, err)) < 0
        || (rc = hocket__module_add(h->L, "hocket.internal.core.host", hocket__open_host, err)) < 0
        || (o->thread && (rc = prepare(h, err)) < 0))
        return fail_open(h, rc);
    h->rt->foreign_loop = !h->owns_loop;
    h->rt->own_state = h->owns_lua;
    h->rt->on_drained = hocket__host_on_drained;
    h->rt->on_turned = hocket__host_on_turned;
    h->rt->on_drained_ud = h;
    *out = h;
    return 0;
}

int hocket_open(const struct hocket_options *options, hocket_host **out, struct hocket_error *err)
{
    struct hocket_options o;
    struct hocket_error unused;
    err = err ? err : &unused;
    if (!out)
        return hocket__error(err, HOCKET_EINVAL, "a host needs a place to be put");
    *out = NULL;
    int rc = take_options(&o, options, err);
    return rc < 0 ? rc : open_host(&o, out, err);
}

/* ---- Turning ------------------------------------------------------------------ */

static void close_now(struct hocket_host *h);

/* What a turn of the loop answers. A close that one of its callbacks asked for is done here, where
 * nothing of the host is on the C stack. */
static int state(struct hocket_host *h)
{
    if (h->close_deferred && h->owns_loop) {
        close_now(h);
        return 0;
    }
    h->said_work = h->n_runs > 0;
    return h->said_work;
}

/* A host that was opened before its process was forked works in the child when it has nothing open
 * there that is the parent's. An embedder's loop is the embedder's to put right. */
int hocket__host_check_process(struct hocket_host *h)
{
    if (!hocket__own_is_forked(&h->rt->own))
        return 0;
    if (h->owns_loop && (h->n_runs > 0 || hocket__runtime_after_fork(h->rt) < 0))
        return HOCKET_ESTATE;
    hocket__own_take_over(&h->rt->own);
    return 0;
}

void hocket__host_on_drained(void *ud)
{
    struct hocket_host *h = ud;
    if (!h->owns_loop || h->closing) {
        hocket__host_deliver(h);
        return;
    }
    h->drained = true;
    h->rt->undelivered = !hocket__list_empty(&h->due) || hocket__tools_due(h);
}

void hocket__host_on_turned(void *ud)
{
    struct hocket_host *h = ud;
    if (!h->drained)
        return;
    h->drained = false;
    hocket__host_deliver(h);
    hocket__fibers_settle(h->rt);
}

/* Whoever looks at no answer hears of it by the log, once. */
static int inside_callback(struct hocket_host *h)
{
    if (!h->complained && !h->rt->asking)
        hocket__runtime_log(h->rt, HOCKET_LOG_ERROR, "%s",
            h->rt->lost ? "the host is lost: a callback was left where it may not be"
                        : hocket_status_text(HOCKET_ECALLBACK));
    h->complained = true;
    return HOCKET_ECALLBACK;
}

static bool has_more(const struct hocket_host *h)
{
    return !hocket__list_empty(&h->rt->ready) || h->rt->undelivered;
}

static void turn(struct hocket_host *h)
{
    if (!h->owns_loop) {
        hocket__fibers_drain(h->rt);
        return;
    }
    uv_run(h->loop, UV_RUN_NOWAIT);
    hocket__host_on_turned(h);
}

/* The last result was taken, and who turns the host does not know yet: a loop that ends when there
 * is no work left must not sleep over it. */
static bool has_become_idle(const struct hocket_host *h)
{
    return h->said_work && h->n_runs == 0;
}

/* The collector's share comes first; and last, in a pump that had hardly anything else to do, the rest of
 * what it owes. Not in others: one of its pieces cannot be cut. */
static void turn_for(struct hocket_host *h, uint64_t budget_ns)
{
    uint64_t end = uv_hrtime() + budget_ns;
    h->rt->budget_end_ns = end;
    if (h->owns_lua)
        hocket__collector_work(&h->collector, h->L, budget_ns);
    uint64_t begin = uv_hrtime();
    do {
        turn(h);
    } while (!h->close_deferred && has_more(h) && uv_hrtime() < end);
    h->rt->budget_end_ns = 0;
    if (h->owns_lua && !has_more(h) && uv_hrtime() - begin < budget_ns / 8)
        hocket__collector_pay(&h->collector, h->L, end);
}

/* A turn without a budget has time for all that is owed. */
static void rest_collector(struct hocket_host *h)
{
    if (!h->owns_lua)
        return;
    hocket__collector_pay(&h->collector, h->L, UINT64_MAX);
    hocket__collector_choose(&h->collector, h->L);
}

int hocket_pump(hocket_host *h, int64_t budget_us)
{
    if (!h)
        return HOCKET_EINVAL;
    if (hocket__host_busy(h))
        return inside_callback(h);
    if (hocket__host_check_process(h) < 0)
        return HOCKET_ESTATE;
    if (budget_us > 0) {
        turn_for(h, (uint64_t) budget_us * 1000);
        return state(h);
    }
    rest_collector(h);
    turn(h);
    return state(h);
}

/* It may be due before the loop polls at all, as the loop's time is that of its last turn: then there is
 * nothing else that would end the poll. */
static void on_wait_over(uv_timer_t *timer)
{
    uv_stop(timer->loop);
}

int hocket_wait(hocket_host *h, int timeout_ms)
{
    if (!h)
        return HOCKET_EINVAL;
    if (hocket__host_busy(h))
        return inside_callback(h);
    if (!h->owns_loop || hocket__host_check_process(h) < 0)
        return HOCKET_ESTATE;
    if (has_become_idle(h))
        timeout_ms = 0;
    if (timeout_ms >= 0)
        uv_timer_start(&h->wait_timer, on_wait_over, (uint64_t) timeout_ms, 0);
    rest_collector(h);
    uv_run(h->loop, UV_RUN_ONCE);
    uv_timer_stop(&h->wait_timer);
    hocket__host_on_turned(h);
    return state(h);
}

void hocket__host_wake(struct hocket_host *h)
{
    /* ends a wait of our own loop; the callback tells a program that waits for something else */
    uv_async_send(&h->wakeup);
    if (h->rt->wakeup_cb)
        h->rt->wakeup_cb(h->rt->wakeup_ud);
}

void hocket_wakeup(hocket_host *h)
{
    if (h)
        uv_async_send(&h->wakeup); /* and nothing else: it may be in a signal handler */
}

int hocket_break(hocket_host *h)
{
    return h ? hocket__fibers_break(h->rt) : HOCKET_EINVAL;
}

int hocket_stats(hocket_host *h, struct hocket_stats *out)
{
    if (!h || !out)
        return HOCKET_EINVAL;
    struct hocket_stats stats = {
        .runs = h->n_runs,
        .runs_ended = h->n_ended,
        .events = h->n_events,
        .fibers = h->rt->fibers.count,
        .requests = (size_t) hocket__runtime_requests(h->rt),
        .tool_calls = hocket__tools_open_calls(h),
        .lua_bytes =
            (size_t) lua_gc(h->L, LUA_GCCOUNT) * 1024 + (size_t) lua_gc(h->L, LUA_GCCOUNTB),
    };
    return hocket__sized_give(out, &stats, sizeof(stats));
}

int hocket_backend_fd(hocket_host *h)
{
    return h ? uv_backend_fd(h->loop) : HOCKET_EINVAL;
}

int hocket_backend_timeout(hocket_host *h)
{
    if (!h)
        return -1;
    /* On the embedder's loop the handle is without reference as a rule; it is left as it was. */
    bool was = uv_has_ref((uv_handle_t *) &h->wakeup);
    if (has_more(h) || has_become_idle(h) || hocket__collector_owes(&h->collector))
        return 0;
    uv_update_time(h->loop);
    uv_ref((uv_handle_t *) &h->wakeup); /* without any such handle libuv would not sleep at all */
    int timeout = uv_backend_timeout(h->loop);
    if (!was)
        uv_unref((uv_handle_t *) &h->wakeup);
    return timeout;
}

/* ---- Closing -------------------------------------------------------------------- */

bool hocket__host_busy(const struct hocket_host *h)
{
    const struct hocket__runtime *rt = h->rt;
    return rt->in_callback || rt->running || rt->asking || rt->lost;
}

int hocket__host_may_enter(const struct hocket_host *h, struct hocket_error *err)
{
    if (h->rt->lost)
        return hocket__error(err, HOCKET_ECALLBACK,
            "the host is lost: a callback was left by an exception or a jump where it may not be");
    if (h->rt->asking)
        return hocket__error(err, HOCKET_ECALLBACK,
            "log_cb, getenv_cb and secret_cb are called in the middle of hocket's work: they call "
            "nothing of it, and they return");
    return 0;
}

/* In a child of the process that it was opened in, at work: its epoll sets, connections and programs
 * are the parent's as well, which a close here would take them from, and threads that work for it are
 * not here. Its runs are told that they are over; the rest stays as it is until the process ends. */
static bool left_to_parent(struct hocket_host *h)
{
    const struct hocket__runtime *rt = h->rt;
    if (!h->owns_loop || !hocket__own_is_forked(&rt->own)
        || (h->n_runs == 0 && !rt->http && hocket__list_empty(&rt->closers)))
        return false;
    h->closing = true;
    h->close_deferred = false;
    hocket__host_cancel_runs(h);
    if (h->on_closed)
        h->on_closed(h->closed_ud);
    return true;
}

/* A loop of our own is turned until nothing is left, an embedder's does so by itself. */
static void close_now(struct hocket_host *h)
{
    bool owns = h->owns_loop;
    if (left_to_parent(h))
        return;
    h->closing = true;
    hocket_closed_cb on_closed = h->on_closed;
    void *ud = h->closed_ud;
    h->close_deferred = false;
    hocket__host_deliver(
        h); /* of a close that a callback has left there may be something to tell */
    hocket__runtime_close(h->rt, close_handles, h);
    if (!owns)
        return;
    while (!h->closed)
        uv_run(h->loop, UV_RUN_ONCE);
    free_host(h);
    if (on_closed)
        on_closed(ud);
}

void hocket__host_close_asked(struct hocket_host *h)
{
    if (h->close_deferred && !h->owns_loop)
        close_now(h);
}

void hocket__host_abandon(struct hocket_host *h)
{
    h->close_asked = true;
    h->on_closed = NULL;
    hocket__runtime_abandon(h->rt);
    hocket__host_drop_runs(h);
    close_now(h);
}

void hocket_close(hocket_host *h, hocket_closed_cb on_closed, void *ud)
{
    if (!h || (h->close_asked && !h->close_deferred))
        return;
    if (!h->close_asked) {
        h->on_closed = on_closed;
        h->closed_ud = ud;
    }
    h->close_asked = true;
    h->close_deferred = hocket__host_busy(h);
    if (!h->close_deferred)
        close_now(h);
    else if (h->rt->lost)
        inside_callback(h);
}

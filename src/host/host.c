/* A host is opened: Lua state ─> loop ─> runtime ─> modules. Each step can fail, and fail_open undoes
 * the steps before it. turn.c turns the host, close.c ends it. */
#include "host/host_impl.h"

#include <errno.h>

#include <lauxlib.h>
#include <lualib.h>

#include "os/descriptors.h"
#include "bind/life.h"
#include "bind/store/store.h"
#include "bind/modules.h"
#include "bind/util.h"
#include "host/policy.h"
#include "host/sized.h"
#include "host/state.h"
#include "host/tools/tools.h"
#include "net/curl.h"

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

/* `code`: an errno. */
static int no_loop(struct hocket_error *err, int code)
{
    char words[HOCKET__ERRNO_WORDS];
    int status = code == ENOMEM ? HOCKET_ENOMEM : HOCKET_EIO;
    hocket__error(err, status,
        "cannot make an event loop, which takes %d descriptors, and /dev/null where 0, 1 or 2 is "
        "closed: %s",
        LOOP_DESCRIPTORS, hocket__errno_words(code, words));
    if (err)
        err->retryable = true;
    return status;
}

/* libuv aborts when it gets no descriptor for its loop, or gets one of the first three. So we check
 * this before. */
static int check_descriptors(struct hocket_error *err, int n, int epoll)
{
    int why = hocket__descriptors_left(n, epoll);
    return why == 0 ? 0 : no_loop(err, why);
}

static int own_loop(struct hocket_host *h, struct hocket_error *err)
{
    int why = hocket__descriptors_hold_standard();
    int rc = why != 0 ? no_loop(err, why) : check_descriptors(err, LOOP_DESCRIPTORS, -1);
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

/* On a failure everything that was opened is closed again; on an embedder's loop the last
 * handles go when it turns. */
static int fail_open(struct hocket_host *h, int status)
{
    h->on_closed = NULL;
    if (h->rt)
        hocket__runtime_close(h->rt, hocket__host_close_handles, h);
    else
        hocket__host_close_handles(h);
    if (h->owns_loop || h->life == HOCKET__HOST_CLOSED) {
        if (h->owns_loop)
            uv_run(&h->own_loop, UV_RUN_DEFAULT);
        hocket__host_free(h);
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
    return hocket__pcall(h->L, prepare_protected, NULL, err);
}

int hocket_prepare(hocket_host *h, struct hocket_error *err)
{
    if (!h)
        return hocket__error(err, HOCKET_EINVAL, "hocket_prepare needs a host");
    struct hocket_error why = { .status = HOCKET_EUNSUPPORTED };
    int rc = hocket__host_may_enter(h, err);
    if (rc < 0 || (rc = prepare(h, err)) < 0 || hocket__curl_load(&why))
        return rc;
    if (err)
        *err = why;
    return why.status;
}

/* What a request has in small blocks comes and goes as fast as Lua's objects, and from the same slabs;
 * but not when it works on a thread of its own. */
static int open_runtime(
    struct hocket_host *h, const struct hocket_options *o, struct hocket_error *err)
{
    struct hocket_options mine = *o;
    if (h->slab.below && !o->thread)
        mine.allocator = h->slab.a;
    int rc = hocket__runtime_new(h->L, &mine, h->loop, &h->rt, err);
    if (rc < 0)
        return rc;
    h->rt->own_state = h->owns_lua;
    if ((rc = hocket__runtime_set_store(h->rt, &mine, err)) == 0)
        hocket__host_watch_store(h);
    return rc;
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
    hocket__list_init(&h->idle);
    hocket__list_init(&h->saves);
    h->store_optional = o->store_optional;
    hocket__buf_init(&h->event, &h->alloc, 0);
    if (hocket__tools_new(h) < 0) {
        hocket__free(&a, h, sizeof(*h));
        return hocket__error_nomem(err);
    }
    if ((rc = open_lua(h, o, err)) < 0 || (rc = open_loop(h, o, err)) < 0
        || (rc = open_runtime(h, o, err)) < 0
        || (rc = hocket__modules_open(h->rt, h->L, o->lua_path, err)) < 0
        || (rc = hocket__module_add(h->L, "hocket.internal.core.host", hocket__open_host, err)) < 0
        || (o->n_policies > 0
            && (rc = hocket__host_set_policies(h, o->policies, o->n_policies, err)) < 0)
        || (o->thread && (rc = prepare(h, err)) < 0))
        return fail_open(h, rc);
    h->rt->foreign_loop = !h->owns_loop;
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

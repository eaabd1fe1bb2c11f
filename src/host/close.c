/* A host ends:
 *
 *    runtime_close ─> its handles ─> our two handles ─> free ─> on_closed
 *
 * Closing from inside of a callback or of Lua is put off until nothing of the host is on the C
 * stack (HOCKET__HOST_CLOSE_ASKED). On a loop of our own the pump does it on its way out; on the
 * embedder's loop the end of the delivery does. */
#include "host/host_impl.h"

#include "bind/fiber/fiber.h"
#include "bind/life.h"
#include "bind/store/store.h"
#include "os/loop_event.h"
#include "host/tools/tools.h"

void hocket__host_free(struct hocket_host *h)
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
        hocket__loop_event_free(h->loop_event);
        uv_loop_close(&h->own_loop);
    }
    hocket__free(&a, h, sizeof(*h));
}

/* With the last handle the host of an embedder's loop is freed here; one of our own is freed by
 * hocket__host_close_now, which turns the loop. */
static void on_handle_closed(uv_handle_t *handle)
{
    struct hocket_host *h = handle->data;
    if (--h->open_handles > 0)
        return;
    h->life = HOCKET__HOST_CLOSED;
    if (!h->owns_loop) {
        hocket_closed_cb cb = h->on_closed;
        void *ud = h->closed_ud;
        hocket__host_free(h);
        if (cb)
            cb(ud);
    }
}

void hocket__host_close_handles(void *ud)
{
    struct hocket_host *h = ud;
    if (h->rt)
        hocket__runtime_drop_store(h->rt);
    if (h->open_handles == 0) { /* opening failed before there were any */
        h->life = HOCKET__HOST_CLOSED;
        return;
    }
    uv_close((uv_handle_t *) &h->wakeup, on_handle_closed);
    uv_close((uv_handle_t *) &h->wait_timer, on_handle_closed);
}

/* A callback of the host's, or Lua of its state, is on the C stack: nothing may be taken away under
 * it. */
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

/* In a forked child of the process that opened the host: the parent shares its epoll sets,
 * connections and programs, so a close here would break them, and its threads do not exist here. The
 * runs receive their end; the rest stays as it is until the process ends. */
static bool left_to_parent(struct hocket_host *h)
{
    const struct hocket__runtime *rt = h->rt;
    if (!h->owns_loop || !hocket__own_is_forked(&rt->own)
        || (h->n_runs == 0 && !rt->http && hocket__list_empty(&rt->closers)))
        return false;
    h->life = HOCKET__HOST_CLOSING;
    hocket__host_cancel_runs(h);
    if (h->on_closed)
        h->on_closed(h->closed_ud);
    return true;
}

/* A loop of our own is turned until nothing is left, an embedder's does so by itself. */
void hocket__host_close_now(struct hocket_host *h)
{
    bool owns = h->owns_loop;
    if (left_to_parent(h))
        return;
    h->life = HOCKET__HOST_CLOSING;
    hocket__host_cancel_resuming(h);
    hocket__host_cancel_saves(h);
    hocket__host_close_inbox(h);
    hocket_closed_cb on_closed = h->on_closed;
    void *ud = h->closed_ud;
    hocket__host_deliver(
        h); /* of a close that a callback has left there may be something to tell */
    hocket__runtime_close(h->rt, hocket__host_close_handles, h);
    if (!owns)
        return;
    while (h->life != HOCKET__HOST_CLOSED)
        uv_run(h->loop, UV_RUN_ONCE);
    hocket__host_free(h);
    if (on_closed)
        on_closed(ud);
}

void hocket__host_close_asked(struct hocket_host *h)
{
    if (h->life == HOCKET__HOST_CLOSE_ASKED && !h->owns_loop)
        hocket__host_close_now(h);
}

void hocket__host_abandon(struct hocket_host *h)
{
    h->life = HOCKET__HOST_CLOSE_ASKED;
    h->on_closed = NULL;
    hocket__runtime_abandon(h->rt);
    hocket__host_drop_runs(h);
    hocket__host_close_now(h);
}

void hocket_close(hocket_host *h, hocket_closed_cb on_closed, void *ud)
{
    if (!h || h->life >= HOCKET__HOST_CLOSING)
        return;
    if (h->life == HOCKET__HOST_OPEN) {
        h->on_closed = on_closed;
        h->closed_ud = ud;
    }
    h->life = HOCKET__HOST_CLOSE_ASKED;
    if (!hocket__host_busy(h))
        hocket__host_close_now(h);
    else if (h->rt->lost)
        hocket__host_inside_callback(h);
}

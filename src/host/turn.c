/* A host is turned: by pump and wait on a loop of our own, which deliver when the loop has turned; or by
 * the embedder's loop, whose check handle drains and delivers. What the embedder needs for a loop of its
 * own (descriptor, timeout, wake-up) stands here as well. */
#include "host/host_impl.h"

#include "base/upkeep.h"
#include "bind/fiber/fiber.h"
#include "host/sized.h"
#include "host/tools/tools.h"
#include "os/loop_event.h"

#define ASIDE 16 /* timers that only tidy up: of requests, and of each server */

struct aside {
    uv_timer_t *timers[ASIDE];
    uint64_t due[ASIDE];
    size_t n;
};

/* What a turn of the loop answers. A close that one of its callbacks asked for is done here, where
 * nothing of the host is on the C stack. */
static int state(struct hocket_host *h)
{
    if (h->life == HOCKET__HOST_CLOSE_ASKED && h->owns_loop) {
        hocket__host_close_now(h);
        return 0;
    }
    h->said_work = h->n_runs > 0;
    hocket__loop_event_arm(h->loop_event);
    return h->said_work;
}

/* A host that was opened before its process was forked works in the child when it has nothing open
 * there that is the parent's. An embedder's loop is the embedder's to put right. 0, or ESTATE. */
static int check_process(struct hocket_host *h)
{
    if (!hocket__own_is_forked(&h->rt->own))
        return 0;
    if (h->owns_loop && (h->n_runs > 0 || hocket__runtime_after_fork(h->rt) < 0))
        return HOCKET_ESTATE;
    hocket__own_take_over(&h->rt->own);
    return 0;
}

int hocket__host_is_usable(struct hocket_host *h, struct hocket_error *err)
{
    if (h->life != HOCKET__HOST_OPEN)
        return hocket__error(err, HOCKET_ECLOSED, "the host is closing");
    if (check_process(h) < 0)
        return hocket__error(err, HOCKET_ESTATE,
            "the process was forked after the host had begun to work: open a host in the child");
    return 0;
}

/* On a loop of our own, events are delivered when uv_run has returned (on_turned): a callback may
 * leave by an exception, and libuv's frames must not be below it. */
void hocket__host_on_drained(void *ud)
{
    struct hocket_host *h = ud;
    hocket__host_look(h);
    if (!h->owns_loop || h->life >= HOCKET__HOST_CLOSING) {
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

/* The log reports it once, for programs that check no results. */
int hocket__host_inside_callback(struct hocket_host *h)
{
    if (!h->complained && !h->rt->asking)
        hocket__runtime_log(h->rt, HOCKET_LOG_ERROR, "%s",
            h->rt->lost ? "the host is lost: a callback was left where it may not be"
                        : hocket_status_text(HOCKET_ECALLBACK));
    h->complained = true;
    return HOCKET_ECALLBACK;
}

/* Work that needs no event from outside: the loop is to turn again and not to sleep. */
static bool has_more(const struct hocket_host *h)
{
    return !hocket__list_empty(&h->rt->ready) || h->rt->undelivered || h->saved_some;
}

static void turn(struct hocket_host *h)
{
    h->saved_some = false;
    if (!h->owns_loop) {
        hocket__fibers_drain(h->rt);
        return;
    }
    h->turned = true;
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
    h->rt->stepped = false;
    if (h->owns_lua)
        hocket__collector_work(&h->collector, h->L, budget_ns);
    uint64_t begin = uv_hrtime();
    do {
        turn(h);
    } while (h->life != HOCKET__HOST_CLOSE_ASKED && has_more(h) && uv_hrtime() < end);
    h->rt->budget_end_ns = 0;
    if (h->owns_lua && !has_more(h) && uv_hrtime() - begin < budget_ns / 8)
        hocket__collector_pay(&h->collector, h->L, end);
}

/* A turn without a budget has time for all outstanding work. */
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
        return hocket__host_inside_callback(h);
    if (check_process(h) < 0)
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
        return hocket__host_inside_callback(h);
    if (!h->owns_loop || check_process(h) < 0)
        return HOCKET_ESTATE;
    if (has_become_idle(h))
        timeout_ms = 0;
    if (timeout_ms >= 0)
        uv_timer_start(&h->wait_timer, on_wait_over, (uint64_t) timeout_ms, 0);
    rest_collector(h);
    h->turned = true;
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

int hocket_has_time(hocket_host *h)
{
    return h ? hocket__work_has_time(h->rt) : HOCKET_EINVAL;
}

int hocket_stats(hocket_host *h, struct hocket_host_stats *out)
{
    if (!h || !out)
        return HOCKET_EINVAL;
    struct hocket_host_stats stats = {
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

void *hocket_backend_handle(hocket_host *h)
{
    if (!h || !h->owns_loop)
        return NULL;
    if (!h->loop_event)
        h->loop_event = hocket__loop_event_new(h->loop);
    return hocket__loop_event_handle(h->loop_event);
}

/* Takes a timer that only tidies up out of the loop, and adds it to the list. */
static void put_aside(uv_handle_t *handle, void *ud)
{
    struct aside *aside = ud;
    uv_timer_t *timer = (uv_timer_t *) handle;
    if (handle->type != UV_TIMER || handle->data != HOCKET__UPKEEP || !uv_is_active(handle)
        || aside->n == ASIDE)
        return;
    aside->timers[aside->n] = timer;
    aside->due[aside->n++] = uv_timer_get_due_in(timer);
    uv_timer_stop(timer);
}

/* Of a loop of ours in which no run goes on: without what only tidies up, which can wait for the next pump. */
static int idle_timeout(struct hocket_host *h)
{
    struct aside aside = { 0 };
    uv_walk(h->loop, put_aside, &aside);
    int timeout = uv_backend_timeout(h->loop);
    for (size_t i = 0; i < aside.n; i++)
        uv_timer_start(aside.timers[i], aside.timers[i]->timer_cb, aside.due[i], 0);
    return timeout;
}

/* 0 also while the collector owes: an idle host pays its debt in turns of its own, and then sleeps
 * for good. */
int hocket_backend_timeout(hocket_host *h)
{
    if (!h)
        return -1;
    /* On the embedder's loop the handle is without reference as a rule; it is left as it was. */
    bool was = uv_has_ref((uv_handle_t *) &h->wakeup);
    bool first = h->owns_loop && !h->turned;
    if (first || has_more(h) || has_become_idle(h) || hocket__collector_owes(&h->collector))
        return 0;
    uv_update_time(h->loop);
    uv_ref((uv_handle_t *) &h->wakeup); /* without any such handle libuv would not sleep at all */
    bool idle = h->owns_loop && h->n_runs == 0;
    int timeout = idle ? idle_timeout(h) : uv_backend_timeout(h->loop);
    if (!was)
        uv_unref((uv_handle_t *) &h->wakeup);
    return timeout;
}

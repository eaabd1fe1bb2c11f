#include "net/timer.h"

static void place(struct hocket__timers *ts, struct hocket__timer *t, size_t pos)
{
    ts->heap[pos] = t;
    t->pos = pos + 1;
}

static void sift_up(struct hocket__timers *ts, size_t i)
{
    struct hocket__timer *t = ts->heap[i];
    while (i > 0 && ts->heap[(i - 1) / 2]->due_ms > t->due_ms) {
        place(ts, ts->heap[(i - 1) / 2], i);
        i = (i - 1) / 2;
    }
    place(ts, t, i);
}

static void sift_down(struct hocket__timers *ts, size_t i)
{
    struct hocket__timer *t = ts->heap[i];
    for (size_t child; (child = 2 * i + 1) < ts->count; i = child) {
        if (child + 1 < ts->count && ts->heap[child + 1]->due_ms < ts->heap[child]->due_ms)
            child++;
        if (ts->heap[child]->due_ms >= t->due_ms)
            break;
        place(ts, ts->heap[child], i);
    }
    place(ts, t, i);
}

static void take_out(struct hocket__timers *ts, struct hocket__timer *t)
{
    size_t i = t->pos - 1;
    struct hocket__timer *last = ts->heap[--ts->count];
    t->pos = 0;
    if (last == t)
        return;
    place(ts, last, i);
    sift_up(ts, i);
    sift_down(ts, last->pos - 1);
}

static void on_timer(uv_timer_t *handle);

/* Sets the one uv timer to the earliest deadline; it keeps the loop alive only
 * while there is one. */
static void arm(struct hocket__timers *ts)
{
    if (ts->firing)
        return;
    if (ts->count == 0) {
        uv_timer_stop(&ts->handle);
        return;
    }
    uint64_t now = uv_now(ts->handle.loop), due = ts->heap[0]->due_ms;
    if (uv_is_active((uv_handle_t *) &ts->handle) && uv_timer_get_due_in(&ts->handle) + now == due)
        return;
    uv_timer_start(&ts->handle, on_timer, due > now ? due - now : 0, 0);
}

static void on_timer(uv_timer_t *handle)
{
    struct hocket__timers *ts = handle->data;
    uint64_t now = uv_now(handle->loop);
    ts->firing = true;
    while (ts->count > 0 && ts->heap[0]->due_ms <= now) {
        struct hocket__timer *t = ts->heap[0];
        take_out(ts, t);
        t->cb(t);
    }
    ts->firing = false;
    arm(ts);
}

int hocket__timers_init(struct hocket__timers *ts, const struct hocket_allocator *a, uv_loop_t *loop)
{
    *ts = (struct hocket__timers) { .a = a };
    int rc = uv_timer_init(loop, &ts->handle);
    ts->handle.data = ts;
    return rc < 0 ? HOCKET_EIO : 0;
}

void hocket__timers_deinit(struct hocket__timers *ts)
{
    for (size_t i = 0; i < ts->count; i++)
        ts->heap[i]->pos = 0;
    hocket__free(ts->a, ts->heap, ts->cap * sizeof(*ts->heap));
    ts->heap = NULL;
    ts->count = ts->cap = 0;
}

int hocket__timer_start(
    struct hocket__timers *ts, struct hocket__timer *t, uint64_t ms, hocket__timer_cb cb)
{
    if (t->pos)
        take_out(ts, t);
    if (hocket__grow(ts->a, &ts->heap, &ts->cap, ts->count + 1, sizeof(*ts->heap)) < 0)
        return HOCKET_ENOMEM;
    t->due_ms = uv_now(ts->handle.loop) + ms;
    t->cb = cb;
    place(ts, t, ts->count++);
    sift_up(ts, t->pos - 1);
    arm(ts);
    return 0;
}

void hocket__timer_stop(struct hocket__timers *ts, struct hocket__timer *t)
{
    if (t->pos) {
        take_out(ts, t);
        arm(ts);
    }
}

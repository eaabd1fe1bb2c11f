/* Timeouts of a host, in one heap over one timer: a request sets and clears several, and a
 * timer of libuv's for each would cost more than the request's own work. Room is made when a
 * deadline joins, so setting one cannot fail. */
#include "net/deadline.h"

#include "base/list.h"

static void put(struct hocket__deadlines *ds, size_t i, struct hocket__deadline *d)
{
    ds->heap[i] = d;
    d->place = i + 1;
}

static void sift_up(struct hocket__deadlines *ds, size_t i, struct hocket__deadline *d)
{
    while (i > 0 && d->at < ds->heap[(i - 1) / 2]->at) {
        put(ds, i, ds->heap[(i - 1) / 2]);
        i = (i - 1) / 2;
    }
    put(ds, i, d);
}

static void sift_down(struct hocket__deadlines *ds, size_t i, struct hocket__deadline *d)
{
    for (size_t child; (child = 2 * i + 1) < ds->len; i = child) {
        if (child + 1 < ds->len && ds->heap[child + 1]->at < ds->heap[child]->at)
            child++;
        if (ds->heap[child]->at >= d->at)
            break;
        put(ds, i, ds->heap[child]);
    }
    put(ds, i, d);
}

static void take_out(struct hocket__deadlines *ds, struct hocket__deadline *d)
{
    size_t i = d->place - 1;
    struct hocket__deadline *last = ds->heap[--ds->len];
    d->place = 0;
    if (last == d)
        return;
    if (i > 0 && last->at < ds->heap[(i - 1) / 2]->at)
        sift_up(ds, i, last);
    else
        sift_down(ds, i, last);
}

static void on_timer(uv_timer_t *timer);

/* The timer is only ever moved to an earlier time; firing early is found out then. */
static void arm(struct hocket__deadlines *ds)
{
    if (ds->len == 0 || ds->heap[0]->at >= ds->fires_at)
        return;
    uint64_t now = hocket__deadlines_now();
    ds->fires_at = ds->heap[0]->at;
    uv_timer_start(&ds->timer, on_timer, ds->fires_at > now ? ds->fires_at - now : 1, 0);
}

static void on_timer(uv_timer_t *timer)
{
    struct hocket__deadlines *ds = hocket__container_of(timer, struct hocket__deadlines, timer);
    uint64_t now = hocket__deadlines_now();
    /* A deadline that is set inside of `passed` fires in a later round, however short: or two
     * that set each other would keep the loop for ever. */
    ds->floor = now + 1;
    while (ds->len > 0 && ds->heap[0]->at <= now) {
        struct hocket__deadline *d = ds->heap[0];
        take_out(ds, d);
        d->passed(d);
    }
    ds->floor = 0;
    ds->fires_at = UINT64_MAX;
    if (!uv_is_closing((uv_handle_t *) &ds->timer))
        arm(ds);
}

void hocket__deadlines_settle(struct hocket__deadlines *ds)
{
    if (ds->fires_at == UINT64_MAX || (ds->len > 0 && ds->heap[0]->at <= ds->fires_at))
        return;
    uv_timer_stop(&ds->timer);
    ds->fires_at = UINT64_MAX;
    arm(ds);
}

void hocket__deadlines_init(
    struct hocket__deadlines *ds, const struct hocket_allocator *a, uv_loop_t *loop)
{
    *ds = (struct hocket__deadlines){ .a = a, .fires_at = UINT64_MAX };
    uv_timer_init(loop, &ds->timer);
}

void hocket__deadlines_close(struct hocket__deadlines *ds, uv_close_cb closed)
{
    while (ds->len > 0)
        ds->heap[--ds->len]->place = 0;
    uv_close((uv_handle_t *) &ds->timer, closed);
}

void hocket__deadlines_deinit(struct hocket__deadlines *ds)
{
    hocket__free(ds->a, ds->heap, ds->cap * sizeof(struct hocket__deadline *));
    ds->heap = NULL;
    ds->cap = 0;
}

int hocket__deadlines_join(struct hocket__deadlines *ds)
{
    if (hocket__grow(ds->a, &ds->heap, &ds->cap, ds->members + 1, sizeof(*ds->heap)) < 0)
        return HOCKET_ENOMEM;
    ds->members++;
    return 0;
}

void hocket__deadlines_leave(struct hocket__deadlines *ds)
{
    ds->members--;
}

void hocket__deadline_set(struct hocket__deadlines *ds, struct hocket__deadline *d, uint64_t at)
{
    d->at = at > ds->floor ? at : ds->floor;
    if (d->place == 0)
        sift_up(ds, ds->len++, d);
    else if (d->place > 1 && d->at < ds->heap[d->place / 2 - 1]->at)
        sift_up(ds, d->place - 1, d);
    else
        sift_down(ds, d->place - 1, d);
    if (ds->floor == 0)
        arm(ds);
}

void hocket__deadline_clear(struct hocket__deadlines *ds, struct hocket__deadline *d)
{
    if (d->place != 0)
        take_out(ds, d);
}

uint64_t hocket__deadlines_now(void)
{
    return uv_hrtime() / 1000000;
}

/* Timers of one event loop: any number of deadlines on a single uv_timer_t.
 *
 * A timer is embedded in the object it belongs to and is either idle or in the
 * heap; starting, stopping and firing cost O(log n) and allocate only when the
 * heap grows. A callback may start and stop any timer, its own too. */
#pragma once

#include "base/alloc.h"

#include <uv.h>

struct hocket__timer;
typedef void (*hocket__timer_cb)(struct hocket__timer *t);

struct hocket__timer {
    uint64_t due_ms; /* on the loop's clock (uv_now) */
    size_t pos;      /* place in the heap, from 1; 0: idle */
    hocket__timer_cb cb;
};

struct hocket__timers {
    const struct hocket_allocator *a;
    uv_timer_t handle; /* open while the struct is in use */
    struct hocket__timer **heap;
    size_t count, cap;
    bool firing;
};

int hocket__timers_init(struct hocket__timers *ts, const struct hocket_allocator *a, uv_loop_t *loop);
/* Stops all timers and frees the heap; the caller closes `handle` (uv_close) and keeps the
 * struct until the close callback has run. */
void hocket__timers_deinit(struct hocket__timers *ts);

/* Fires `cb` once, `ms` from now, in place of what was set before. 0 or ENOMEM. */
int hocket__timer_start(
    struct hocket__timers *ts, struct hocket__timer *t, uint64_t ms, hocket__timer_cb cb);
void hocket__timer_stop(struct hocket__timers *ts, struct hocket__timer *t);

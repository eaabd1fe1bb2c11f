/* Many deadlines on one libuv timer: a binary heap of places that belong to the
 * objects they time.
 *
 * Made for waits that nearly always end before their time. A wait that is
 * prolonged (each byte of a stream prolongs the idle wait) is not set anew: its
 * owner keeps a time stamp, lets the deadline pass, and sets the next one then. So
 * a busy stream costs the timer nothing. */
#pragma once

#include "base/alloc.h"

#include <uv.h>

struct hocket__deadline {
    uint64_t at;  /* milliseconds, as hocket__deadlines_now has them */
    size_t place; /* 1 + its index in the heap; 0: not set */
    /* Runs from the loop, with the deadline not set any more. */
    void (*passed)(struct hocket__deadline *d);
};

struct hocket__deadlines {
    const struct hocket_allocator *a;
    struct hocket__deadline **heap;
    size_t len, cap;
    size_t members;    /* how many deadlines may be set */
    uint64_t fires_at; /* what the timer is set to; UINT64_MAX: it is stopped */
    uint64_t floor;    /* while deadlines pass: nothing is set to before this */
    uv_timer_t timer;
};

void hocket__deadlines_init(
    struct hocket__deadlines *ds, const struct hocket_allocator *a, uv_loop_t *loop);
/* Forgets all deadlines and closes the timer; hocket__deadlines_deinit then belongs into
 * `closed`, or after it. */
void hocket__deadlines_close(struct hocket__deadlines *ds, uv_close_cb closed);
void hocket__deadlines_deinit(struct hocket__deadlines *ds);

/* Makes room for one more deadline, so that setting it cannot fail: 0 or ENOMEM. */
int hocket__deadlines_join(struct hocket__deadlines *ds);
void hocket__deadlines_leave(struct hocket__deadlines *ds);

/* Sets it, or moves it when it is set. From inside `passed` it never passes again
 * before the loop has polled. */
void hocket__deadline_set(struct hocket__deadlines *ds, struct hocket__deadline *d, uint64_t at);
void hocket__deadline_clear(struct hocket__deadlines *ds, struct hocket__deadline *d);

/* For the moment when nothing is under way any more: a timer that is set to a deadline that was
 * cleared would wake an idle program for nothing. */
void hocket__deadlines_settle(struct hocket__deadlines *ds);

/* Now, exactly. A loop's own time may be old when it has worked for long. */
uint64_t hocket__deadlines_now(void);

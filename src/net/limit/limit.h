/* A limiter on an event loop, with its retry budget: waiting calls are woken by one deadline,
 * set for the moment when the next of them may go, and by answers; nothing is polled. */
#pragma once

#include "net/deadline.h"
#include "net/limit/limiter.h"
#include "net/limit/retry.h"

struct hocket__lane {
    struct hocket__limiter limiter;
    struct hocket__retry_budget budget;
    struct hocket__deadlines *deadlines;
    struct hocket__deadline deadline; /* when the next may go */
    int connections;
    /* Of limits that are shared: somebody is needed who looks, and grants. Only notes and wakes; not again until then. */
    void (*on_short)(void *ud);
    void *ud;
    bool told_short;
};

struct hocket__lane_wait {
    struct hocket__limiter_wait wait;
    int64_t tokens;
    enum { HOCKET__LANE_OUT, HOCKET__LANE_QUEUED, HOCKET__LANE_GOING, HOCKET__LANE_ANSWERED } state;
    void (*on_turn)(struct hocket__lane_wait *w); /* it may go now; only notes and wakes */
};

/* `connections`: how many the transport has for one host. 0 or ENOMEM. */
int hocket__lane_init(struct hocket__lane *lane, const struct hocket_allocator *a,
    struct hocket__deadlines *deadlines, struct hocket__limits limits, int connections);
void hocket__lane_deinit(struct hocket__lane *lane);
/* As hocket__limiter_limit. */
void hocket__lane_limit(struct hocket__lane *lane, struct hocket__limits limits);

/* As hocket__limiter_share, _look and _grant. A NULL shares nothing any more. */
void hocket__lane_share(struct hocket__lane *lane, void (*on_short)(void *ud), void *ud);
void hocket__lane_need(struct hocket__lane *lane, struct hocket__limiter_need *need);
void hocket__lane_grant(struct hocket__lane *lane, const struct hocket__limiter_grant *grant);

/* As hocket__limiter_ask. After 1, and after on_turn, the wait is GOING until it is left. */
int hocket__lane_ask(struct hocket__lane *lane, struct hocket__lane_wait *w,
    const struct hocket__limiter_ask *ask, struct hocket_error *err);
/* The answer's head, for a wait that is GOING; others are ignored. `multiplexed`: its connection
 * takes many requests at a time. */
void hocket__lane_answer(struct hocket__lane *lane, struct hocket__lane_wait *w, int status,
    const struct hocket__advice *advice, bool multiplexed);
/* As hocket__limiter_refused. */
void hocket__lane_refused(struct hocket__lane *lane, int64_t after_ms);
/* The body's own word on when to come again. */
void hocket__lane_block(struct hocket__lane *lane, int64_t ms);
void hocket__lane_used(
    struct hocket__lane *lane, const struct hocket__lane_wait *w, int64_t tokens);
/* Out of the queue, or over, with or without an answer. Any state. */
void hocket__lane_leave(struct hocket__lane *lane, struct hocket__lane_wait *w);

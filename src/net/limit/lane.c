/* The limiter with a clock and a timer. A wait goes through these states; hocket__lane_leave
 * is right in each of them, so whoever gives a call up need not know how far it has come:
 *
 *    OUT ─ask─> QUEUED ─turn─> GOING ─answer─> ANSWERED
 *     ^           └────leave─────┴────leave──────┘
 *     └─────────────────────────────┘ */
#include "net/limit/limit.h"

#define STREAMS 100 /* that one multiplexed connection takes; see net/http/origin.h */

static int64_t now_ms(void)
{
    return (int64_t) hocket__deadlines_now();
}

static void turn(struct hocket__lane *lane);

static void on_time(struct hocket__deadline *d)
{
    struct hocket__lane *lane = hocket__container_of(d, struct hocket__lane, deadline);
    /* A timer has passed, so the loop has polled: an answer that was there would have been
     * seen. */
    hocket__limiter_no_answer_yet(&lane->limiter, now_ms());
    turn(lane);
}

static void tell_short(struct hocket__lane *lane, int64_t now)
{
    if (lane->told_short || !lane->on_short || !hocket__limiter_is_short(&lane->limiter, now))
        return;
    lane->told_short = true;
    lane->on_short(lane->ud);
}

/* Lets go whoever may, and sets the deadline for the next. */
static void turn(struct hocket__lane *lane)
{
    struct hocket__limiter_wait *next;
    int64_t delay, now = now_ms();
    while ((next = hocket__limiter_next(&lane->limiter, now, &delay)) != NULL) {
        struct hocket__lane_wait *w = hocket__container_of(next, struct hocket__lane_wait, wait);
        w->state = HOCKET__LANE_GOING;
        /* It only notes and wakes. Would it start a request here, that could end at once and
         * call back into the queue that is being walked. */
        w->on_turn(w);
    }
    if (delay > 0)
        hocket__deadline_set(lane->deadlines, &lane->deadline, (uint64_t) (now + delay));
    else
        hocket__deadline_clear(lane->deadlines, &lane->deadline);
    tell_short(lane, now);
}

int hocket__lane_init(struct hocket__lane *lane, const struct hocket_allocator *a,
    struct hocket__deadlines *deadlines, struct hocket__limits limits, int connections)
{
    *lane = (struct hocket__lane){
        .deadlines = deadlines, .deadline.passed = on_time, .connections = connections
    };
    hocket__limiter_init(&lane->limiter, a, limits);
    lane->limiter.max_flying = connections;
    hocket__retry_budget_init(&lane->budget);
    return hocket__deadlines_join(deadlines);
}

void hocket__lane_limit(struct hocket__lane *lane, struct hocket__limits limits)
{
    hocket__limiter_limit(&lane->limiter, limits, now_ms());
    turn(lane);
}

void hocket__lane_share(struct hocket__lane *lane, void (*on_short)(void *ud), void *ud)
{
    lane->on_short = on_short;
    lane->ud = ud;
    lane->told_short = false;
    hocket__limiter_share(&lane->limiter, on_short != NULL, now_ms());
    turn(lane);
}

void hocket__lane_need(struct hocket__lane *lane, struct hocket__limiter_need *need)
{
    lane->told_short = false;
    hocket__limiter_need(&lane->limiter, need, now_ms());
}

void hocket__lane_grant(struct hocket__lane *lane, const struct hocket__limiter_grant *grant)
{
    hocket__limiter_grant(&lane->limiter, grant, now_ms());
    turn(lane);
}

void hocket__lane_deinit(struct hocket__lane *lane)
{
    hocket__deadline_clear(lane->deadlines, &lane->deadline);
    hocket__deadlines_leave(lane->deadlines);
    hocket__limiter_deinit(&lane->limiter);
}

int hocket__lane_ask(struct hocket__lane *lane, struct hocket__lane_wait *w,
    const struct hocket__limiter_ask *ask, struct hocket_error *err)
{
    int rc = hocket__limiter_ask(&lane->limiter, &w->wait, ask, now_ms(), err);
    if (rc < 0)
        return rc;
    w->tokens = ask->tokens;
    w->state = rc ? HOCKET__LANE_GOING : HOCKET__LANE_QUEUED;
    if (rc == 0)
        turn(lane);
    else
        tell_short(lane, now_ms());
    return rc;
}

void hocket__lane_answer(struct hocket__lane *lane, struct hocket__lane_wait *w, int status,
    const struct hocket__advice *advice, bool multiplexed)
{
    if (w->state != HOCKET__LANE_GOING)
        return;
    w->state = HOCKET__LANE_ANSWERED;
    /* Only the first answer tells that a host speaks HTTP/2; until then each request counts as
     * a connection. */
    lane->limiter.max_flying = (int64_t) lane->connections * (multiplexed ? STREAMS : 1);
    hocket__limiter_answer(&lane->limiter, w->tokens, status, advice, now_ms());
    turn(lane);
}

void hocket__lane_refused(struct hocket__lane *lane, int64_t after_ms)
{
    hocket__limiter_refused(&lane->limiter, after_ms, now_ms());
    turn(lane);
}

void hocket__lane_block(struct hocket__lane *lane, int64_t ms)
{
    hocket__limiter_block(&lane->limiter, ms, now_ms());
    turn(lane);
}

void hocket__lane_used(struct hocket__lane *lane, const struct hocket__lane_wait *w, int64_t tokens)
{
    hocket__limiter_used(&lane->limiter, w->tokens, tokens);
}

void hocket__lane_leave(struct hocket__lane *lane, struct hocket__lane_wait *w)
{
    if (w->state == HOCKET__LANE_QUEUED)
        hocket__limiter_leave(&lane->limiter, &w->wait);
    else if (w->state == HOCKET__LANE_GOING)
        hocket__limiter_forget_call(&lane->limiter, w->tokens);
    else if (w->state == HOCKET__LANE_OUT)
        return;
    if (w->state != HOCKET__LANE_QUEUED)
        hocket__limiter_end(&lane->limiter, now_ms());
    w->state = HOCKET__LANE_OUT;
    turn(lane);
}

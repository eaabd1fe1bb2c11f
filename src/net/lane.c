#include "net/lane.h"

static int64_t now_of(const struct hocket__lane *lane)
{
    return (int64_t)uv_now(lane->timers->handle.loop);
}

static void turn(struct hocket__lane *lane);

static void on_timer(struct hocket__timer *t)
{
    turn(hocket__container_of(t, struct hocket__lane, timer));
}

/* Lets go whoever may, and sets the timer for the next. */
static void turn(struct hocket__lane *lane)
{
    struct hocket__limiter_wait *next;
    int64_t delay;
    while ((next = hocket__limiter_next(&lane->limiter, now_of(lane), &delay)) != NULL) {
        struct hocket__lane_wait *w = hocket__container_of(next, struct hocket__lane_wait, wait);
        w->state = HOCKET__LANE_GOING;
        w->on_turn(w);
    }
    if (delay > 0) /* should memory be out for it, the next answer takes its place */
        hocket__timer_start(lane->timers, &lane->timer, (uint64_t)delay, on_timer);
    else
        hocket__timer_stop(lane->timers, &lane->timer);
}

void hocket__lane_init(struct hocket__lane *lane, const struct hocket_allocator *a,
    struct hocket__timers *timers, struct hocket__limits limits)
{
    *lane = (struct hocket__lane){.timers = timers};
    hocket__limiter_init(&lane->limiter, a, limits);
    hocket__retry_budget_init(&lane->budget);
}

void hocket__lane_deinit(struct hocket__lane *lane)
{
    hocket__timer_stop(lane->timers, &lane->timer);
    hocket__limiter_deinit(&lane->limiter);
}

int hocket__lane_ask(struct hocket__lane *lane, struct hocket__lane_wait *w,
    const struct hocket__limiter_ask *ask, struct hocket_error *err)
{
    int rc = hocket__limiter_ask(&lane->limiter, &w->wait, ask, now_of(lane), err);
    if (rc < 0)
        return rc;
    w->tokens = ask->tokens;
    w->state = rc ? HOCKET__LANE_GOING : HOCKET__LANE_QUEUED;
    if (rc == 0)
        turn(lane);
    return rc;
}

void hocket__lane_answer(struct hocket__lane *lane, struct hocket__lane_wait *w, int status,
    const struct hocket__advice *advice)
{
    if (w->state != HOCKET__LANE_GOING)
        return;
    w->state = HOCKET__LANE_OUT;
    hocket__limiter_answer(&lane->limiter, w->tokens, status, advice, now_of(lane));
    turn(lane);
}

void hocket__lane_block(struct hocket__lane *lane, int64_t ms)
{
    hocket__limiter_block(&lane->limiter, ms, now_of(lane));
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
        hocket__limiter_lost(&lane->limiter, w->tokens);
    else
        return;
    w->state = HOCKET__LANE_OUT;
    turn(lane);
}

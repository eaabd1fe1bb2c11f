/* Fibers that are ready are run, for a millisecond at most, then the loop looks at its sockets. When none
 * is left the loop sleeps; and where nothing can come from outside that would wake one, they are told. */
#include "bind/fiber/kept_impl.h"

#define TURN_NS        1000000
#define MAX_TURN_NS    4000000
#define MAX_TURNS_HELD 20

static void on_idle(uv_idle_t *idle)
{
    hocket__fibers_drain_in_loop(idle->data);
}

void hocket__fibers_go_on(struct hocket__runtime *rt)
{
    uv_idle_start(&rt->idle, on_idle);
}

/* When the drain that is under way lets the loop look at its sockets: a thousand fibers that are
 * ready at once would keep their first requests, and all other streams, waiting for the last. Those that the
 * last drain left get as much time as the loop has taken since: else ten thousand streams, whose pieces take
 * ten milliseconds a turn, leave a tenth of the thread to the agents that are still to begin. */
static uint64_t turn_end(const struct hocket__runtime *rt)
{
    uint64_t now = uv_hrtime();
    uint64_t share = rt->left_ns ? now - rt->left_ns : 0;
    uint64_t end = now + (share < TURN_NS ? TURN_NS : share < MAX_TURN_NS ? share : MAX_TURN_NS);
    return rt->budget_end_ns && rt->budget_end_ns < end ? rt->budget_end_ns : end;
}

bool hocket__over_budget(const struct hocket__runtime *rt)
{
    return rt->budget_end_ns && uv_hrtime() >= rt->budget_end_ns;
}

/* The loop drains before and after its poll: what is over the budget is not gone beyond twice. One step is always
 * made, or a host with tiny budgets would stand still. */
static bool may_step(const struct hocket__runtime *rt)
{
    return !rt->stepped || !hocket__over_budget(rt);
}

/* What belongs together is told together: after a drain that had to stop in the middle of it only
 * when that goes on for long. */
static bool may_deliver(struct hocket__runtime *rt)
{
    bool through = hocket__list_empty(&rt->ready) || hocket__over_budget(rt);
    rt->turns_held = through || rt->turns_held == MAX_TURNS_HELD ? 0 : rt->turns_held + 1;
    return rt->turns_held == 0;
}

/* ---- Nothing goes on ------------------------------------------------------------- */

/* How often one hears it; who goes on waiting then is cancelled. */
#define MAX_STUCK_RAISES 3

static void tell_stuck(struct hocket__fiber *f)
{
    hocket__runtime_log(f->rt, HOCKET_LOG_ERROR,
        "nothing is under way in what fiber %llu waits for: it is ended",
        (unsigned long long) f->id);
    if (f->kept)
        hocket__kept_stuck(f);
    if (f->state == HOCKET__WAITING) /* a log that cannot go on has let it go */
        hocket__fiber_raise_stuck(f);
}

void hocket__fiber_raise_stuck(struct hocket__fiber *f)
{
    f->wait_end = HOCKET__STUCK;
    if (++f->stuck_raises > MAX_STUCK_RAISES)
        hocket__fiber_cancel(f);
    else
        hocket__fiber_ready(f);
}

/* Nothing is ready, and nothing that somebody waits for comes from outside. */
static void end_stuck(struct hocket__runtime *rt)
{
    for (size_t i = 0; i < rt->fibers.cap; i++) {
        struct hocket__fiber *f = rt->fibers.slots[i].id ? rt->fibers.slots[i].value : NULL;
        if (f && hocket__fiber_is_root(f) && f->state == HOCKET__WAITING)
            tell_stuck(f);
    }
}

void hocket__fiber_serve(struct hocket__fiber *f)
{
    hocket__fiber_note_outside(f, false);
    f->rt->n_roots -= hocket__fiber_is_root(f);
    f->traits |= HOCKET__SERVICE;
}

void hocket__fiber_help(struct hocket__fiber *f)
{
    f->rt->n_roots -= hocket__fiber_is_root(f);
    f->traits |= HOCKET__HELPER;
}

/* Nothing is ready. Where nothing is on its way either nothing may wake the loop but what somebody
 * waits for. */
static void rest(struct hocket__runtime *rt)
{
    if (rt->n_outside == 0 && rt->n_roots > 0 && rt->life == HOCKET__RUNTIME_OPEN)
        end_stuck(rt);
    if (!hocket__list_empty(&rt->ready))
        return;
    uv_idle_stop(&rt->idle);
    if (hocket__runtime_requests(rt) == 0)
        hocket__deadlines_settle(&rt->deadlines);
}

void hocket__fibers_drain(struct hocket__runtime *rt)
{
    if (rt->running) /* somebody turns the loop from inside of a fiber */
        return;
    rt->rounds++;
    rt->turn_end_ns = turn_end(rt);
    while (!hocket__list_empty(&rt->ready) && may_step(rt)) {
        struct hocket__fiber *f = hocket__container_of(rt->ready.next, struct hocket__fiber, ready);
        hocket__list_del(&f->ready);
        rt->stepped = true;
        hocket__fiber_step(f);
        if (uv_hrtime() >= rt->turn_end_ns)
            break;
    }
    rt->left_ns = hocket__list_empty(&rt->ready) ? 0 : uv_hrtime();
    if (rt->on_drained && may_deliver(rt))
        rt->on_drained(rt->on_drained_ud);
    if (rt->life != HOCKET__RUNTIME_CLOSED) /* it may close the host */
        hocket__fibers_settle(rt);
}

void hocket__fibers_settle(struct hocket__runtime *rt)
{
    if (rt->undelivered)
        hocket__fibers_go_on(rt);
    else if (hocket__list_empty(&rt->ready))
        rest(rt);
}

void hocket__fibers_drain_in_loop(struct hocket__runtime *rt)
{
    rt->in_loop = true;
    hocket__fibers_drain(rt);
    rt->in_loop = false;
}

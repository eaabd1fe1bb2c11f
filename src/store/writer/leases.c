/* When leases are renewed, and when those of others are believed.
 *
 * That a lease is over is no proof that its owner is gone where nobody could renew any: while the machine slept, the database
 * was away, or a clock was put forward. So a store notes how far the database's clock was when it was last at work itself, or
 * slept no longer than it meant to. Where that clock is further on, leases that ended meanwhile are not believed for as long
 * as others need to renew theirs; nor when it is opened, as it knows nothing of what was before.
 *
 *     at work, asleep as planned          ──> seen_ms goes with the clock ──> a lease that is over is over
 *     stopped, away, the clock put on     ──> seen_ms stays behind        ──> only what had ended before seen_ms is over
 *
 * An owner that has ended on this machine is seen to have (bury, in the databases), and waited for by nobody. */
#include "store/writer/thread.h"

#include "os/clock.h"

#define RETRY_MS 1000 /* until leases that could not be renewed are tried again */
#define FAR_MS   (INT64_C(1) << 60)

static int64_t third(const struct hocket__writer *w)
{
    return w->o.lease_ms / 3;
}

/* ---- Those of others -------------------------------------------------------------------------- */

static bool is_lapse(const struct hocket__writer *w, int64_t now)
{
    return now - w->leases.seen_ms > third(w);
}

/* One renewal, and half as long again. However often it lapses meanwhile, a lease's time is enough. */
static void be_patient(struct hocket__leases *l, int64_t lease_ms)
{
    int64_t now = hocket__monotonic_ms();
    if (now >= l->until_ms) {
        l->since_ms = l->seen_ms;
        l->begun_ms = now;
    } else if (l->seen_ms < l->since_ms) {
        l->since_ms = l->seen_ms;
    }
    l->until_ms = now + lease_ms / 2;
    if (l->until_ms > l->begun_ms + lease_ms)
        l->until_ms = l->begun_ms + lease_ms;
}

static void see(struct hocket__writer *w)
{
    int64_t now = w->ops->now(w);
    if (is_lapse(w, now))
        be_patient(&w->leases, w->o.lease_ms);
    w->leases.seen_ms = now;
}

void hocket__leases_init(struct hocket__writer *w)
{
    int64_t now = hocket__monotonic_ms();
    w->leases = (struct hocket__leases){ .seen_ms = w->ops->now(w),
        .since_ms = HOCKET__QUEUE_BURIED,
        .begun_ms = now,
        .until_ms = now + w->o.lease_ms / 2 };
    w->leases.renewed_ms = w->leases.seen_ms;
    w->next_renewal_ms = now + third(w);
}

/* While it is away nothing is seen, however short each sleep between two tries. */
void hocket__leases_answered(struct hocket__writer *w, int status)
{
    w->leases.away = status < 0;
    if (status >= 0)
        see(w);
}

void hocket__leases_slept(struct hocket__writer *w, int64_t from_ms, int64_t until_ms)
{
    int64_t now = hocket__monotonic_ms();
    int64_t ms = (now < until_ms ? now : until_ms) - from_ms;
    if (!w->leases.away && ms > 0)
        w->leases.seen_ms += ms;
}

int64_t hocket__leases_expired_before(const struct hocket__writer *w)
{
    const struct hocket__leases *l = &w->leases;
    int64_t over = hocket__monotonic_ms() < l->until_ms ? l->since_ms : INT64_MAX;
    return is_lapse(w, w->ops->now(w)) && l->seen_ms < over ? l->seen_ms : over;
}

void hocket__leases_limit_horizon(struct hocket__writer *w)
{
    w->leases.next_far_ms = hocket__monotonic_ms() + w->o.lease_ms;
}

int64_t hocket__leases_horizon(struct hocket__writer *w)
{
    if (hocket__monotonic_ms() < w->leases.next_far_ms)
        return w->o.lease_ms;
    hocket__leases_limit_horizon(w);
    return FAR_MS;
}

/* ---- Ours --------------------------------------------------------------------------------------- */

/* By the database's clock, which goes on while the machine sleeps. */
static bool is_due(const struct hocket__writer *w)
{
    int64_t ms = w->ops->now(w) - w->leases.renewed_ms;
    return !hocket__list_empty(&w->claims) && (ms < 0 || ms >= third(w));
}

/* A lost claim is reported before it has any other consequence. */
static int renew(struct hocket__writer *w)
{
    int64_t now = w->ops->now(w), retry = third(w) < RETRY_MS ? third(w) : RETRY_MS;
    int rc = w->ops->renew(w);
    hocket__leases_answered(w, rc);
    w->leases.failed = rc != 0;
    if (rc == 0)
        w->leases.renewed_ms = now;
    w->next_renewal_ms = hocket__monotonic_ms() + (rc == 0 ? third(w) : retry);
    return rc < 0 || w->leases.writing ? rc : hocket__writer_report_refusals(w->store);
}

int hocket__leases_renew(struct hocket__writer *w)
{
    int rc = is_due(w) ? renew(w) : 0;
    return rc < 0 ? rc : 0;
}

void hocket__leases_poll(struct hocket__writer *w)
{
    if (atomic_load(&w->closing) || (w->leases.away && hocket__list_empty(&w->claims)))
        return;
    bool woke = !w->leases.failed && is_due(w);
    if (woke || hocket__monotonic_ms() >= w->next_renewal_ms)
        renew(w);
}

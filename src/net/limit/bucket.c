/* Buckets of what may be used up: requests or tokens, given by the user, told by a server or
 * measured. A level may go below zero: what was estimated too low is paid back by those who
 * come later. */
#include "net/limit/limiter_impl.h"

#include <math.h>

#include "net/when.h"

#define MINUTE_MS 60000.0
#define SLACK     1e-6 /* of sums of fractions */

struct hocket__bucket hocket__bucket_per_minute(int64_t limit, int64_t now)
{
    if (limit < 0)
        return (struct hocket__bucket){ .known = false };
    /* A burst of b and then r a minute is at most b + r - 1 in any 60 seconds. */
    double burst = limit >= 10 ? floor((double) limit / 10) : 1;
    return (struct hocket__bucket){ .known = true,
        .level = burst,
        .cap = burst,
        .per_ms = ((double) limit - burst + 1) / MINUTE_MS,
        .at = now };
}

void hocket__bucket_learn(
    struct hocket__bucket *b, const struct hocket__quota *q, int64_t outstanding, int64_t now)
{
    /* Headers are a server's word and may contradict each other or be half there: the larger
     * of the two is the limit, and without one the limit that was known stays. */
    int64_t limit = q->limit >= q->remaining ? q->limit : q->remaining;
    if (q->remaining < 0 || limit <= 0)
        return;
    if (q->limit < 0 && b->known && b->cap > (double) limit)
        limit = (int64_t) b->cap;
    double used = (double) (limit - q->remaining);
    *b = (struct hocket__bucket){ .known = true,
        .level = (double) (q->remaining - outstanding),
        .cap = (double) limit,
        .at = now,
        .per_ms = (double) limit / MINUTE_MS };
    /* "All of it is there again in reset_ms": used / reset is the rate, if the server refills
     * bit by bit. Whether it does is not known yet (`windowed` in limiter.h). */
    if (q->reset_ms > 0 && used > 0) {
        b->full_at = now + q->reset_ms;
        b->per_ms = used / (double) q->reset_ms;
    }
}

void hocket__bucket_refill(struct hocket__bucket *b, bool windowed, int64_t now)
{
    if (!b->known || now <= b->at)
        return;
    /* A server's window is over: it has said so itself, whatever the rate would give. */
    if (b->full_at > 0 && now >= b->full_at) {
        b->level = b->cap;
        b->full_at = 0;
    } else if (!windowed || b->full_at == 0) {
        b->level += b->per_ms * (double) (now - b->at);
        if (b->level > b->cap)
            b->level = b->cap;
    }
    b->at = now;
}

int64_t hocket__bucket_wait(const struct hocket__bucket *b, double n, bool windowed, int64_t now)
{
    if (!b->known)
        return 0;
    if (n > b->cap) /* more than there ever is: when it is full */
        n = b->cap;
    if (b->level + SLACK >= n)
        return 0;
    double ms = ceil((n - b->level - SLACK) / b->per_ms);
    int64_t wait = ms < 1                              ? 1
                   : ms > (double) HOCKET__WHEN_MAX_MS ? HOCKET__WHEN_MAX_MS
                                                       : (int64_t) ms;
    if (b->full_at > now && (windowed || b->full_at - now < wait))
        wait = b->full_at - now;
    return wait;
}

void hocket__bucket_take(struct hocket__bucket *b, double n)
{
    if (b->known)
        b->level -= n;
}

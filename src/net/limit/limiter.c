/* The decisions of the limiter; limiter.h says what holds calls back.
 *
 * Two things are learned. `window`: how many calls may be unanswered at once, doubled and
 * halved as in TCP's slow start; it keeps thousands from running into a limit that nobody
 * knew. `pace`: after a block, how many got through in the time since the last one (`epoch`,
 * `accepted`), which is the provider's limit as nearly as it can be seen from outside.
 *
 * All of it counts in the limiter's own time, milliseconds of a monotonic clock that is handed
 * in. */
#include "net/limit/limiter.h"

#include <math.h>

#include "net/limit/limiter_impl.h"
#include "net/when.h"

/* Buckets of requests or tokens, with limits from the user, from the server's headers or from
 * measuring. A level may go below zero: later calls pay back what was estimated too low. */

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

/* As the server told it, with `outstanding` sent since. */
static void bucket_learn(
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

static void bucket_refill(struct hocket__bucket *b, bool windowed, int64_t now)
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

/* Milliseconds until n can be taken, 0: now. After a refill. */
static int64_t bucket_wait(const struct hocket__bucket *b, double n, bool windowed, int64_t now)
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

#define FIRST_WINDOW  64
#define SILENCE_OPENS 10 /* calls a millisecond, as fast as one thread sends them, and more later */
#define SILENCE_SEEN  4  /* milliseconds between two looks, at most: a held-up loop sees nothing */
#define MAX_WINDOW    65536
#define MAX_WAITING   100000
#define EPOCH_MS      10000  /* what got through longer ago says little about the pace */
#define STALE_MS      300000 /* … and this says nothing at all */
#define MIN_BLOCKS    3
#define MIN_MEASURED  10 /* fewer say nothing */
#define ISOLATED      50 /* times as many got through, and as long */
#define RECENT_MS     20000
#define PACE_MARGIN   0.95
#define PACE_GROWTH   1.01 /* a second */
#define PACE_FASTER   1.10 /* a second, after … */
#define PACE_CALM_MS  15000
#define PACE_IDLE_MS  60000
#define PACE_BURST    50.0 /* milliseconds' worth that may go at once */
#define STRIKE_MS     500  /* a block that the server gave no time for: this, doubled … */
#define STRIKE_MAX    8000 /* … up to this */

/* ---- Making --------------------------------------------------------------------- */

void hocket__limiter_init(
    struct hocket__limiter *l, const struct hocket_allocator *a, struct hocket__limits limits)
{
    *l = (struct hocket__limiter){ .a = a,
        .limits = { -1, -1, -1 },
        .window = FIRST_WINDOW,
        .max_waiting = MAX_WAITING,
        .max_flying = INT64_MAX };
    hocket__limiter_limit(l, limits, 0);
    hocket__map_init(&l->runs, a);
    hocket__list_init(&l->ring);
}

void hocket__limiter_limit(struct hocket__limiter *l, struct hocket__limits limits, int64_t now)
{
    if (limits.requests != l->limits.requests)
        l->own_requests = hocket__limiter_bucket(l, limits.requests, now);
    if (limits.tokens != l->limits.tokens)
        l->own_tokens = hocket__limiter_bucket(l, limits.tokens, now);
    l->limits = limits;
}

void hocket__limiter_deinit(struct hocket__limiter *l)
{
    for (struct hocket__limiter_wait *w; (w = hocket__limiter_head(l)) != NULL;)
        hocket__limiter_leave(l, w);
    hocket__map_deinit(&l->runs);
}

/* ---- Room ----------------------------------------------------------------------------- */

/* Enough to tell a rate from: many got through, or several blocks were lived through. */
static bool is_measured(const struct hocket__limiter *l)
{
    return l->blocked_until > l->epoch
           && (l->accepted >= MIN_MEASURED
               || (l->blocks >= MIN_BLOCKS && l->accepted >= MIN_BLOCKS));
}

/* Blocks that cost next to nothing are no reason to go slower: few were turned away, and
 * little time was lost. */
static bool is_isolated(struct hocket__limiter *l)
{
    struct hocket__limiter_losses *r = &l->recent;
    int64_t ms = l->blocked_until - r->since;
    bool isolated = r->rejected * ISOLATED <= r->accepted && r->blocked_ms * ISOLATED <= ms;
    if (ms > RECENT_MS) { /* what is older counts less and less */
        r->accepted /= 2;
        r->rejected /= 2;
        r->blocked_ms /= 2;
        r->since += ms / 2;
    }
    return isolated;
}

static void set_pace(struct hocket__limiter *l, int64_t now)
{
    double rate = PACE_MARGIN * (double) l->accepted / (double) (l->blocked_until - l->epoch);
    if (l->pace.known && rate < l->pace.per_ms / 8) /* not many wanted to go, perhaps */
        rate = l->pace.per_ms / 8;
    double burst = rate * PACE_BURST > 1 ? rate * PACE_BURST : 1;
    l->pace = (struct hocket__bucket){
        .known = true, .level = 1, .cap = burst, .per_ms = rate, .at = now
    };
    l->pace_since = l->pace_grown = l->pace_used = now;
}

/* After a block: what the time before it taught. */
static void unblock(struct hocket__limiter *l, int64_t now)
{
    bool measured = is_measured(l), isolated = is_isolated(l);
    l->blocks++;
    if (measured && !isolated)
        set_pace(l, now);
    if (measured) {
        l->epoch = now;
        l->accepted = l->blocks = 0;
    }
    if (l->idle_since > 0) /* a block is no idling, whoever sleeps through it */
        l->idle_since = l->blocked_until;
    if (!isolated)
        /* Half where a pace holds calls back already, or else one: whoever is let in next is a
         * probe. */
        l->window = l->pace.known && l->window > 1 ? l->window / 2 : 1;
    l->blocked_until = 0;
}

/* The limit may be higher than what was measured: probed gently at first, and faster when
 * that met with nothing. */
static void speed_up(struct hocket__limiter *l, int64_t now)
{
    int64_t ms = now - l->pace_grown;
    if (!l->pace.known || ms < 1000)
        return;
    double rate = now - l->pace_since > PACE_CALM_MS ? PACE_FASTER : PACE_GROWTH;
    l->pace.per_ms *= pow(rate, (double) ms / 1000);
    l->pace_grown = now;
}

static void refill(struct hocket__limiter *l, int64_t now)
{
    if (l->blocked_until > 0 && now >= l->blocked_until)
        unblock(l, now);
    if (l->pace.known && now - l->pace_used > PACE_IDLE_MS)
        l->pace.known = false;
    bucket_refill(&l->own_requests, false, now);
    bucket_refill(&l->own_tokens, false, now);
    bucket_refill(&l->seen_requests, l->windowed, now);
    bucket_refill(&l->seen_tokens, l->windowed, now);
    speed_up(l, now);
    bucket_refill(&l->pace, false, now);
}

/* Milliseconds until a call with so many tokens may go; -1: an answer has to come, or to end,
 * first. */
static int64_t wait_for(struct hocket__limiter *l, int64_t tokens, int64_t now)
{
    refill(l, now);
    if (l->blocked_until > now)
        return l->blocked_until - now;
    if (l->flying >= l->max_flying || l->flying >= hocket__limiter_slots(l))
        return -1;
    if (l->unanswered >= l->window)
        /* Before the first answer there is nothing to wait for but time: a look in a
         * millisecond */
        return l->answered ? -1 : 1;
    int64_t waits[] = {
        bucket_wait(&l->own_requests, 1, false, now),
        bucket_wait(&l->own_tokens, (double) tokens, false, now),
        bucket_wait(&l->seen_requests, 1, l->windowed, now),
        bucket_wait(&l->seen_tokens, (double) tokens, l->windowed, now),
        bucket_wait(&l->pace, 1, false, now),
    };
    int64_t longest = 0;
    /* a pace that holds nobody back for a minute says nothing any more: refill forgets it */
    if (waits[4] > 0)
        l->pace_used = now;
    for (size_t i = 0; i < sizeof(waits) / sizeof(waits[0]); i++)
        longest = waits[i] > longest ? waits[i] : longest;
    return longest;
}

static void take(struct hocket__limiter *l, int64_t tokens, int64_t now)
{
    if (l->idle_since > 0)
        l->epoch += now - l->idle_since;
    l->idle_since = 0;
    l->flying++;
    l->unanswered++;
    l->unanswered_tokens += tokens;
    /* the first call of a measured time begins it: what was idle before says nothing of the
     * pace */
    if (l->accepted == 0 && l->blocks == 0 && l->unanswered == 1)
        l->epoch = now;
    if (l->recent.since == 0)
        l->recent.since = now;
    l->share.took_requests++;
    l->share.took_tokens += tokens;
    hocket__bucket_take(&l->own_requests, 1);
    hocket__bucket_take(&l->own_tokens, (double) tokens);
    hocket__bucket_take(&l->seen_requests, 1);
    hocket__bucket_take(&l->seen_tokens, (double) tokens);
    hocket__bucket_take(&l->pace, 1);
}

/* ---- Asking ------------------------------------------------------------------------------ */

static int refuse(const struct hocket__limiter *l, const struct hocket__limiter_ask *ask,
    int64_t now, struct hocket_error *err)
{
    /* Zero means zero. Queued, it would wait for ever. */
    if (l->limits.requests == 0 || l->limits.tokens == 0 || l->limits.calls == 0)
        return hocket__error(err, HOCKET_ELIMIT, "the rate limit is set to 0 %s: no call is made",
            l->limits.requests == 0 ? "requests per minute"
            : l->limits.tokens == 0 ? "tokens per minute"
                                    : "calls at once");
    int64_t blocked = l->blocked_until - now;
    if (l->blocked_until > 0 && ask->patience_ms >= 0 && blocked > ask->patience_ms) {
        hocket__error(err, HOCKET_ELIMIT,
            "the provider wants to be left alone for %lld s more (rate limit)",
            (long long) (blocked + 999) / 1000);
        if (err)
            err->retry_after_ms = blocked;
        return HOCKET_ELIMIT;
    }
    if (l->waiting >= l->max_waiting)
        return hocket__error(err, HOCKET_ELIMIT,
            "%zu calls wait for this provider's rate limit already", l->waiting);
    return 0;
}

int hocket__limiter_ask(struct hocket__limiter *l, struct hocket__limiter_wait *w,
    const struct hocket__limiter_ask *ask, int64_t now, struct hocket_error *err)
{
    int rc = refuse(l, ask, now, err);
    if (rc < 0)
        return rc;
    w->tokens = ask->tokens;
    /* not past others who wait, even where there is room for a call as small as this */
    if (l->waiting == 0 && wait_for(l, ask->tokens, now) == 0) {
        take(l, ask->tokens, now);
        return 1;
    }
    return hocket__limiter_enqueue(l, w, ask->run, ask->again) < 0 ? hocket__error_nomem(err) : 0;
}

struct hocket__limiter_wait *hocket__limiter_next(
    struct hocket__limiter *l, int64_t now, int64_t *delay)
{
    struct hocket__limiter_wait *w = hocket__limiter_head(l);
    *delay = w ? wait_for(l, w->tokens, now) : -1;
    if (*delay != 0)
        return NULL;
    hocket__limiter_pop(l);
    take(l, w->tokens, now);
    return w;
}

void hocket__limiter_no_answer_yet(struct hocket__limiter *l, int64_t now)
{
    if (l->answered || l->unanswered < l->window)
        return;
    /* What went before the first look may not have been sent yet. */
    int64_t ms = l->silent_at > 0 ? now - l->silent_at : 0;
    ms = ms < SILENCE_SEEN ? ms : SILENCE_SEEN;
    l->silent_at = now;
    l->window += (SILENCE_OPENS + l->window / FIRST_WINDOW) * ms;
    l->window = l->window < MAX_WINDOW ? l->window : MAX_WINDOW;
}

/* ---- Learning ------------------------------------------------------------------------------ */

/* One millisecond more than asked for: clocks round down. */
void hocket__limiter_block(struct hocket__limiter *l, int64_t ms, int64_t now)
{
    int64_t until = now + 1 + (ms < HOCKET__WHEN_MAX_MS ? ms : HOCKET__WHEN_MAX_MS);
    int64_t more = until - (l->blocked_until > now ? l->blocked_until : now);
    if (until > l->blocked_until)
        l->blocked_until = until;
    l->recent.blocked_ms += more > 0 ? more : 0;
}

/* One block for all calls that were turned away together. */
static void strike(struct hocket__limiter *l, int64_t now)
{
    int64_t ms = STRIKE_MS;
    if (l->blocked_until > now)
        return;
    for (int i = 0; i < l->strikes && ms < STRIKE_MAX; i++)
        ms *= 2;
    l->strikes++;
    hocket__limiter_block(l, ms, now);
}

/* A 429 while the server's own figures say that there is room: they are of a window that
 * refills all at once, and what we took for refilled bit by bit was not there yet. */
static void turned_away(struct hocket__limiter *l, int64_t after_ms, int64_t now)
{
    if (l->seen_requests.known && l->seen_requests.level >= 1 && l->seen_requests.full_at > now)
        l->windowed = true;
    l->recent.rejected++;
    if (after_ms > 0)
        hocket__limiter_block(l, after_ms, now);
    else
        strike(l, now);
}

static void got_through(struct hocket__limiter *l, int64_t now)
{
    if (now - l->epoch > (l->blocks > 0 ? STALE_MS : EPOCH_MS)) {
        l->epoch = now;
        l->accepted = l->blocks = 0;
    }
    l->accepted++;
    l->recent.accepted++;
    /* A window that was never filled has proven nothing and does not grow. */
    bool filled = (l->unanswered + 1) * 2 >= l->window;
    if (filled && l->window < MAX_WINDOW)
        l->window++;
}

void hocket__limiter_answer(struct hocket__limiter *l, int64_t tokens, int status,
    const struct hocket__advice *advice, int64_t now)
{
    hocket__limiter_forget_call(l, tokens);
    refill(l, now);
    l->answered = true;
    if (status == 429)
        turned_away(l, advice->after_ms, now);
    else if (status >= 500 && advice->after_ms > 0)
        hocket__limiter_block(l, advice->after_ms, now);
    else
        got_through(l, now);
    /* A good beginning ends a row of blocks, but only for now: servers tell of a rate limit in
     * the middle of a stream, too, and then (hocket__limiter_refused) the row goes on where it
     * was. */
    if (status < 400 && l->strikes > 0) {
        l->struck = l->strikes;
        l->strikes = 0;
    }
    bucket_learn(&l->seen_requests, &advice->requests, l->unanswered, now);
    bucket_learn(&l->seen_tokens, &advice->tokens, l->unanswered_tokens, now);
}

void hocket__limiter_refused(struct hocket__limiter *l, int64_t after_ms, int64_t now)
{
    refill(l, now);
    /* it was counted as one that got through when its head came */
    l->accepted -= l->accepted > 0;
    l->recent.accepted -= l->recent.accepted > 0;
    if (l->strikes < l->struck)
        l->strikes = l->struck;
    l->struck = 0;
    turned_away(l, after_ms, now);
}

void hocket__limiter_forget_call(struct hocket__limiter *l, int64_t tokens)
{
    l->unanswered -= l->unanswered > 0;
    l->unanswered_tokens -= tokens < l->unanswered_tokens ? tokens : l->unanswered_tokens;
}

void hocket__limiter_end(struct hocket__limiter *l, int64_t now)
{
    l->flying -= l->flying > 0;
    if (l->flying == 0 && l->waiting == 0)
        l->idle_since = now;
}

void hocket__limiter_used(struct hocket__limiter *l, int64_t estimated, int64_t real)
{
    hocket__bucket_take(&l->own_tokens, (double) (real - estimated));
    l->struck = 0; /* it was good to its end */
}

/* Limits that several processes have together. What this one may use is granted from outside, some at a time, so that nobody
 * is asked for each call; between two grants the buckets are not refilled. Whoever grants them sees to it that what is
 * granted to all is no more than the limit, and takes back what is not used. */
#include "net/limit/limiter_impl.h"

#include <math.h>

struct hocket__bucket hocket__limiter_bucket(
    const struct hocket__limiter *l, int64_t limit, int64_t now)
{
    if (!l->share.on || limit < 0)
        return hocket__bucket_per_minute(limit, now);
    return (struct hocket__bucket){ .known = true, .cap = INFINITY, .at = now };
}

int64_t hocket__limiter_slots(const struct hocket__limiter *l)
{
    if (l->limits.calls < 0)
        return INT64_MAX;
    return l->share.on && l->share.slots < l->limits.calls ? l->share.slots : l->limits.calls;
}

void hocket__limiter_share(struct hocket__limiter *l, bool on, int64_t now)
{
    l->share = (struct hocket__limiter_share){ .on = on };
    l->own_requests = hocket__limiter_bucket(l, l->limits.requests, now);
    l->own_tokens = hocket__limiter_bucket(l, l->limits.tokens, now);
}

static bool is_below(const struct hocket__bucket *b, double few)
{
    return b->known && b->level < few;
}

/* Calls at once: 1: more are wanted than were granted, and there are more; -1: some are not used; 0: neither. */
static int places(const struct hocket__limiter *l)
{
    int64_t slots = hocket__limiter_slots(l);
    if (l->limits.calls < 0)
        return 0;
    if (hocket__limiter_head(l))
        return l->flying >= slots && slots < l->limits.calls;
    return slots > l->flying ? -1 : 0;
}

bool hocket__limiter_is_short(const struct hocket__limiter *l, int64_t now)
{
    const struct hocket__limiter_wait *head = hocket__limiter_head(l);
    if (!l->share.on)
        return false;
    if (l->blocked_until > now)
        return l->blocked_until > l->share.told_until;
    return is_below(&l->own_requests, head ? 1 : l->share.few_requests)
           || is_below(&l->own_tokens, head ? (double) head->tokens : l->share.few_tokens)
           || (places(l) != 0 && places(l) != l->share.told_places);
}

void hocket__limiter_need(struct hocket__limiter *l, struct hocket__limiter_need *need, int64_t now)
{
    const struct hocket__limiter_wait *head = hocket__limiter_head(l);
    bool is_news = l->blocked_until > now && l->blocked_until > l->share.told_until;
    *need = (struct hocket__limiter_need){ .waiting = (int64_t) l->waiting,
        .flying = l->flying,
        .waiting_tokens = l->waiting_tokens,
        .head_tokens = head ? head->tokens : 0,
        .requests = l->own_requests.level,
        .tokens = l->own_tokens.level,
        .took_requests = l->share.took_requests,
        .took_tokens = l->share.took_tokens,
        .block_ms = is_news ? l->blocked_until - now : 0 };
    l->share.took_requests = l->share.took_tokens = 0;
    l->share.told_places = places(l);
    if (is_news)
        l->share.told_until = l->blocked_until;
}

void hocket__limiter_grant(
    struct hocket__limiter *l, const struct hocket__limiter_grant *grant, int64_t now)
{
    if (!l->share.on)
        return;
    hocket__bucket_take(&l->own_requests, -grant->requests);
    hocket__bucket_take(&l->own_tokens, -grant->tokens);
    l->share.slots = grant->slots < 0 ? l->share.slots : grant->slots;
    l->share.told_places = places(l);
    l->share.few_requests = grant->few_requests;
    l->share.few_tokens = grant->few_tokens;
    if (grant->block_ms <= 0)
        return;
    hocket__limiter_block(l, grant->block_ms, now);
    if (l->blocked_until > l->share.told_until)
        l->share.told_until = l->blocked_until;
}

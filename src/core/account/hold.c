/* What is limited, and what is held of it: by whom, and up to where.
 *
 * A hold is on the accounts from the one that calls up to the root, or up to where somebody has set
 * the amount aside; those above hold it once, as a part of that. So one walk up, without a look at
 * siblings, decides whether a call may be made. */
#include "core/account/account_impl.h"

#include <string.h>

/* ---- Counting ------------------------------------------------------------------ */

void hocket__budget_amounts(const struct hocket__usage_sum *u, int64_t out[KINDS])
{
    out[HOCKET__BUDGET_TURNS] = hocket__clamp_to_zero(u->calls);
    out[HOCKET__BUDGET_TOOL_CALLS] = hocket__clamp_to_zero(u->tool_calls);
    out[HOCKET__BUDGET_TOKENS] =
        hocket__saturating_add(hocket__clamp_to_zero(u->input), hocket__clamp_to_zero(u->output));
    out[HOCKET__BUDGET_COST] = hocket__clamp_to_zero(u->cost);
}

int64_t hocket__budget_left_unheld(const struct hocket__account *c, int k)
{
    int64_t used[KINDS];
    hocket__budget_amounts(&c->total, used);
    return c->limits->limit[k]
           - hocket__saturating_add(used[k], hocket__clamp_to_zero(c->limits->held[k]));
}

bool hocket__budget_limited(const struct hocket__account *c, int k)
{
    return c->limits && c->limits->limit[k] != HOCKET__NO_LIMIT;
}

/* ---- Holding --------------------------------------------------------------------- */

void hocket__budget_hold(struct hocket__accounts *s, uint32_t n, const int64_t amount[KINDS])
{
    int64_t rest[KINDS];
    memcpy(rest, amount, sizeof(rest));
    /* up to where somebody has set the amount aside: those above hold it once, as part of that */
    for (; n; n = s->list[n].parent) {
        struct hocket__limits *l = s->list[n].limits;
        if (!l)
            continue;
        for (int k = 0; k < KINDS; k++) {
            l->held[k] += rest[k];
            if (l->aside[k] != HOCKET__NO_LIMIT)
                rest[k] = 0; /* the ones above hold it already */
        }
    }
}

void hocket__budget_unhold(struct hocket__accounts *s, uint32_t n, int64_t amount[KINDS])
{
    for (int k = 0; k < KINDS; k++)
        amount[k] = -amount[k];
    hocket__budget_hold(s, n, amount);
    memset(amount, 0, sizeof(int64_t) * HOCKET__BUDGET_KINDS);
}

/* On the way up, `covered` is what the account just passed had set aside for this: the accounts
 * above have held it until now. */
void hocket__budget_use(
    struct hocket__accounts *s, uint32_t n, const struct hocket__usage_sum *used)
{
    int64_t amount[KINDS], covered[KINDS] = { 0 };
    hocket__budget_amounts(used, amount);
    for (; n; n = s->list[n].parent) {
        struct hocket__limits *l = s->list[n].limits;
        if (!l)
            continue;
        for (int k = 0; k < KINDS; k++) {
            l->held[k] -= covered[k];
            if (l->aside[k] == HOCKET__NO_LIMIT)
                continue;
            covered[k] = amount[k] < l->aside[k] ? amount[k] : l->aside[k];
            l->aside[k] -= covered[k];
        }
    }
}

/* Those below it may go on. Nothing is set aside for them any more: from here on the accounts above hold what they hold. */
void hocket__budget_return(struct hocket__accounts *s, uint32_t n)
{
    struct hocket__account *c = &s->list[n];
    struct hocket__limits *l = c->limits;
    int64_t back[KINDS] = { 0 };
    if (!c->limited)
        return;
    hocket__budget_unhold(s, n, c->kept);
    for (int k = 0; l && k < KINDS; k++) {
        if (l->aside[k] == HOCKET__NO_LIMIT)
            continue;
        back[k] = l->aside[k] - l->held[k];
        l->aside[k] = HOCKET__NO_LIMIT;
    }
    hocket__budget_unhold(s, c->parent, back);
}

/* ---- Limits ------------------------------------------------------------------------ */

static int64_t find_least(const struct hocket__accounts *s, uint32_t n, int k, uint32_t *whose)
{
    int64_t least = INT64_MAX;
    for (; n; n = s->list[n].parent) {
        if (!hocket__budget_limited(&s->list[n], k))
            continue;
        int64_t left = hocket__clamp_to_zero(hocket__budget_left_unheld(&s->list[n], k));
        if (left < least) {
            least = left;
            *whose = n;
        }
        if (s->list[n].limits->aside[k] != HOCKET__NO_LIMIT)
            break;
    }
    return least;
}

int64_t hocket__budget_tightest(const struct hocket__accounts *s, uint32_t n, int k)
{
    uint32_t whose;
    return find_least(s, n, k, &whose);
}

static void set_aside(struct hocket__accounts *s, uint32_t n)
{
    struct hocket__limits *l = s->list[n].limits;
    int64_t amount[KINDS] = { 0 };
    for (int k = 0; k < KINDS; k++) {
        if (l->limit[k] == HOCKET__NO_LIMIT)
            continue;
        uint32_t giver = 0;
        int64_t there = find_least(s, s->list[n].parent, k, &giver);
        if (there < l->limit[k]) {
            l->asked[k] = l->limit[k];
            l->giver[k] = hocket__account_id(s, giver);
            l->limit[k] = there;
        }
        l->aside[k] = amount[k] = l->limit[k];
    }
    hocket__budget_hold(s, s->list[n].parent, amount);
}

static int64_t part(int64_t limit, int permille)
{
    return limit / 1000 * permille + (limit % 1000 * permille + 999) / 1000;
}

int hocket__budget_set(
    struct hocket__accounts *s, uint64_t account, const struct hocket__budget_spec *spec)
{
    uint32_t n = hocket__account_find(s, account);
    struct hocket__account *c = &s->list[n];
    if (!n)
        return HOCKET_ENOTFOUND;
    if (c->limits)
        return HOCKET_EEXIST;
    /* What has been used under no limit cannot be held against one afterwards. */
    if (c->first || c->merged || c->total.calls || c->total.tool_calls)
        return HOCKET_ESTATE;
    struct hocket__limits *l = hocket__zero(s->a, sizeof(*l));
    if (!l)
        return HOCKET_ENOMEM;
    memcpy(l->limit, spec->limit, sizeof(l->limit));
    l->seconds_ms = spec->time_ms;
    for (int k = 0; k < KINDS; k++)
        l->aside[k] = HOCKET__NO_LIMIT;
    c->limits = l;
    c->limited = true;
    if (spec->reserve && n > 1)
        set_aside(s, n);
    for (int k = 0; k < KINDS; k++)
        l->warn[k] = l->limit[k] > 0 && spec->warn_permille > 0
                         ? part(l->limit[k], spec->warn_permille)
                         : HOCKET__NO_LIMIT;
    return 0;
}

bool hocket__budget_is_limited(const struct hocket__accounts *s, uint64_t account)
{
    uint32_t n = hocket__account_find(s, account);
    return s->stopping || s->list[n ? n : 1].limited;
}

void hocket__budget_stop(struct hocket__accounts *s)
{
    s->stopping = true;
}

int64_t hocket__budget_left(
    const struct hocket__accounts *s, uint64_t account, enum hocket__budget_kind kind)
{
    uint32_t n = hocket__account_find(s, account);
    return n && hocket__budget_limited(&s->list[n], (int) kind)
               ? hocket__clamp_to_zero(hocket__budget_left_unheld(&s->list[n], (int) kind))
               : HOCKET__NO_LIMIT;
}

int64_t hocket__budget_left_above(
    const struct hocket__accounts *s, uint64_t account, enum hocket__budget_kind kind)
{
    uint32_t n = hocket__account_find(s, account), whose;
    int64_t least = n ? find_least(s, s->list[n].parent, (int) kind, &whose) : INT64_MAX;
    return least == INT64_MAX ? HOCKET__NO_LIMIT : least;
}

int64_t hocket__budget_time(const struct hocket__accounts *s, uint64_t account, int64_t now_ms)
{
    int64_t least = INT64_MAX;
    for (uint32_t n = hocket__account_find(s, account); n; n = s->list[n].parent) {
        const struct hocket__account *c = &s->list[n];
        if (!c->limits || c->limits->seconds_ms == HOCKET__NO_LIMIT)
            continue;
        int64_t left = hocket__clamp_to_zero(c->limits->seconds_ms - (now_ms - c->opened_ms));
        least = left < least ? left : least;
    }
    return least == INT64_MAX ? HOCKET__NO_LIMIT : least;
}

/* ---- Lending ------------------------------------------------------------------------- */

static struct hocket__limits *new_limits(const struct hocket__accounts *s)
{
    struct hocket__limits *l = hocket__zero(s->a, sizeof(*l));
    for (int k = 0; l && k < KINDS; k++)
        l->limit[k] = l->warn[k] = l->aside[k] = HOCKET__NO_LIMIT;
    if (l)
        l->seconds_ms = HOCKET__NO_LIMIT;
    return l;
}

/* What has been used is within a limit that is new. */
static void lend_one(struct hocket__account *c, int k, int64_t amount, bool is_aside)
{
    struct hocket__limits *l = c->limits;
    int64_t used[KINDS];
    hocket__budget_amounts(&c->total, used);
    if (l->limit[k] == HOCKET__NO_LIMIT)
        l->limit[k] = used[k];
    l->limit[k] = hocket__saturating_add(l->limit[k], amount);
    if (is_aside)
        l->aside[k] = hocket__saturating_add(hocket__clamp_to_zero(l->aside[k]), amount);
}

int hocket__budget_lend(
    struct hocket__accounts *s, uint64_t account, const int64_t amount[HOCKET__BUDGET_KINDS])
{
    uint32_t n = hocket__account_find(s, account);
    int64_t more[KINDS] = { 0 };
    if (!n)
        return HOCKET_ENOTFOUND;
    struct hocket__account *c = &s->list[n];
    if (!c->limits && !(c->limits = new_limits(s)))
        return HOCKET_ENOMEM;
    c->limited = true;
    for (int k = 0; k < KINDS; k++) {
        if (amount[k] == HOCKET__NO_LIMIT)
            continue;
        lend_one(c, k, amount[k], n > 1);
        more[k] = amount[k];
    }
    hocket__budget_hold(s, c->parent, more);
    return 0;
}

void hocket__budget_take_back(
    struct hocket__accounts *s, uint64_t account, enum hocket__budget_kind kind, int64_t most)
{
    uint32_t n = hocket__account_find(s, account);
    struct hocket__limits *l = n > 1 ? s->list[n].limits : NULL;
    int64_t back[KINDS] = { 0 };
    if (!l || l->aside[kind] <= 0 || most == 0)
        return;
    back[kind] = most == HOCKET__NO_LIMIT || most > l->aside[kind] ? l->aside[kind] : most;
    l->limit[kind] -= back[kind];
    l->aside[kind] -= back[kind];
    hocket__budget_unhold(s, s->list[n].parent, back);
}

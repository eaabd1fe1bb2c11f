/* What account.c and budget.c share. */
#pragma once

#include "core/account/account.h"

/* What a limit is kept on, and how much of it. Only accounts with a limit have one. */
struct hocket__limits {
    int64_t limit[HOCKET__BUDGET_KINDS]; /* HOCKET__NO_LIMIT: none */
    int64_t warn[HOCKET__BUDGET_KINDS];
    int64_t held[HOCKET__BUDGET_KINDS];   /* by calls, by agents for their last one, set aside */
    int64_t aside[HOCKET__BUDGET_KINDS];  /* the rest of what the parent set aside for it */
    int64_t asked[HOCKET__BUDGET_KINDS];  /* more than could be set aside, for … */
    uint64_t giver[HOCKET__BUDGET_KINDS]; /* … this account had no more; 0: all was */
    bool warned[HOCKET__BUDGET_KINDS];
    int64_t seconds_ms; /* HOCKET__NO_LIMIT: none */
    size_t in_flight;   /* model calls, below as well */
};

/* Numbers of accounts are indices from 1; 0 is none. */
struct hocket__account {
    uint32_t generation, parent, first, last, next, previous;
    uint32_t kept_children, holds;
    bool used, open;
    bool limited; /* it, or one above it, has a limit */
    size_t merged;
    char *names; /* op, agent, trigger, each with its NUL */
    size_t agent_at, trigger_at, names_size;
    struct hocket__usage_sum own, total;
    int64_t opened_ms, closed_ms;
    /* Its own calls, from which the need of the next one is estimated. */
    int64_t last_tokens, last_guess, asked_guess, most_output;
    int64_t kept[HOCKET__BUDGET_KINDS]; /* reserved for its last answer */
    struct hocket__limits *limits;
};

struct hocket__hold {
    uint32_t generation, account; /* account 0: free */
    uint32_t next_free;
    int64_t amount[HOCKET__BUDGET_KINDS];
    int64_t price_in, price_out; /* of the call */
};

struct hocket__accounts {
    const struct hocket_allocator *a;
    struct hocket__account *list; /* list[0] is not used */
    size_t cap, used;             /* used: highest number that was ever given out */
    size_t count, keep;
    uint32_t free; /* by `next` */
    struct hocket__hold *holds;
    size_t holds_cap, holds_used;
    uint32_t free_hold;
    bool stopping;
};

enum { KINDS = HOCKET__BUDGET_KINDS };

/* 0 for 0. */
static inline uint64_t hocket__account_id(const struct hocket__accounts *s, uint32_t n)
{
    return n ? (uint64_t) s->list[n].generation << 32 | n : 0;
}

/* The number of an id, or 0. */
static inline uint32_t hocket__account_find(const struct hocket__accounts *s, uint64_t id)
{
    uint32_t n = (uint32_t) id;
    if (n == 0 || n > s->used || !s->list[n].used || s->list[n].generation != id >> 32)
        return 0;
    return n;
}

/* Merges a closed account, and those above it for which it was waited, when there are too many. */
void hocket__account_tidy(struct hocket__accounts *s, uint32_t n);

/* Sums that stop at the largest number. */
static inline int64_t hocket__saturating_add(int64_t a, int64_t b)
{
    return a > INT64_MAX - b ? INT64_MAX : a + b;
}

static inline int64_t hocket__clamp_to_zero(int64_t v)
{
    return v > 0 ? v : 0;
}

/* What of the usage counts for each limit. */
void hocket__budget_amounts(const struct hocket__usage_sum *u, int64_t out[KINDS]);
bool hocket__budget_limited(const struct hocket__account *c, int k);
/* Not used and not held: below 0 when more is held than there is. */
int64_t hocket__budget_left_unheld(const struct hocket__account *c, int k);
/* The least that is left of a kind from n upward, up to where it is set aside; INT64_MAX: no limit.
 */
int64_t hocket__budget_tightest(const struct hocket__accounts *s, uint32_t n, int k);

/* Reserves (or with negative amounts gives back) along the way from `n` up to where somebody has
 * set something aside for it. */
void hocket__budget_hold(struct hocket__accounts *s, uint32_t n, const int64_t amount[KINDS]);
/* Gives the amounts back, and clears them. */
void hocket__budget_unhold(struct hocket__accounts *s, uint32_t n, int64_t amount[KINDS]);
/* What was set aside for `n` and is used now is not reserved any more by those above. */
void hocket__budget_use(
    struct hocket__accounts *s, uint32_t n, const struct hocket__usage_sum *used);
/* Gives back everything that `n` reserves. */
void hocket__budget_return(struct hocket__accounts *s, uint32_t n);

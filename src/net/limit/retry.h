/* Whether a failed call is tried again, and when. A pure decision: time and chance go in.
 *
 * The rules are those of the providers' own SDKs, made safe for many callers at once:
 * - what is tried again: connection failures, timeouts, answers cut short, and the statuses
 *   and error types that hocket_error.retryable stands for; x-should-retry has the last word;
 * - never after something of the answer was handed out, never past the total deadline;
 * - the wait is what the server asked for, and a little more; without that it is
 *   random between nothing and min(base * 2^n, cap) ("full jitter");
 * - a server that wants a longer wait than `max_wait_ms` is not waited for;
 * - a budget, shared by all calls of one lane, keeps retries at about one for five calls.
 *   Calls that a rate limit turned away do not count in it: the lane holds them back (see
 *   limiter.h), so they cannot multiply, and they are to get through. */
#pragma once

#include "base/status.h"
#include "net/advice.h"

struct hocket__retry_policy {
    int retries; /* after the first attempt; 0: none */
    int64_t base_ms, cap_ms;
    int64_t max_wait_ms; /* the longest wait that a server may ask for */
};
/* 2 retries, 500 ms, 8 s, 120 s. */
extern const struct hocket__retry_policy hocket__retry_default;

/* A token bucket without a clock: calls pay in, retries take out. */
struct hocket__retry_budget {
    double tokens;
};
void hocket__retry_budget_init(struct hocket__retry_budget *b);
void hocket__retry_budget_call(struct hocket__retry_budget *b); /* a first attempt is made */

struct hocket__retry_case {
    const struct hocket_error *err;
    const struct hocket__advice *advice; /* resolved; NULL when no head came */
    int made;                            /* retries so far */
    bool handed_out;                     /* something of the answer was acted upon */
    bool limited;                        /* by a rate limit, whatever the status says */
    bool broken_off;                     /* it was read to its end, which was no good one */
    bool none;       /* its end was good, and it was none: asked once more, and no more */
    int64_t left_ms; /* until the total deadline; -1: there is none */
    double chance;   /* at least 0, less than 1 */
};

struct hocket__retry_verdict {
    bool again;
    int64_t delay_ms;
    /* Why, for events: "rate_limit", "overloaded", "server", "connect", "timeout", "truncated",
     * "broken_off", "malformed", "protocol", "asked", "loading"; why not: "output", "final", "refused", "attempts", "too_long",
     * "deadline", "budget". */
    const char *reason;
};

/* Takes a token from the budget when it says yes. `budget` may be NULL. */
struct hocket__retry_verdict hocket__retry_decide(const struct hocket__retry_policy *p,
    const struct hocket__retry_case *c, struct hocket__retry_budget *budget);

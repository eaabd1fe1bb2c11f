/* Accounts: who has used how much. One tree for each run, one account for each operation (an
 * agent at work, or whatever else is to be told apart), below the one that asked for it.
 *
 *     run ── facilitator ──┬── food (dispatch)          each: own, and total = own + children's
 *                          └── logistics (dispatch)
 *
 * What is used is added to its own account and to all above it, so every total is exact at any
 * time. Beyond `keep` accounts, those that are closed go into the one above them: the sums stay,
 * only the detail is gone. Limits are budget.h's. No clock: time is an argument. */
#pragma once

#include "base/str.h"
#include "core/usage.h"

/* The run's own account; 0 is no account. Ids are not used again. */
#define HOCKET__ACCOUNT_ROOT UINT64_C(1)

struct hocket__accounts;

/* ENOMEM. `keep`: accounts that are kept apart, at least 1; those that are open are always kept. */
int hocket__accounts_new(
    const struct hocket_allocator *a, size_t keep, int64_t now_ms, struct hocket__accounts **out);
void hocket__accounts_free(struct hocket__accounts *s); /* NULL is fine */

/* What an account is called: names without NUL, empty where there is none. */
struct hocket__account_names {
    struct hocket__str op, agent, trigger; /* the trigger: why it is at work, "delegate" */
};

/* Opens an account below another, which may be closed: one that is not known any more stands for
 * the root. Returns its id, or 0 when memory is out. */
uint64_t hocket__account_open(struct hocket__accounts *s, uint64_t parent,
    const struct hocket__account_names *names, int64_t now_ms);
/* Ends its time, and gives back what it still reserves. Once: further calls do nothing. */
void hocket__account_close(struct hocket__accounts *s, uint64_t id, int64_t now_ms);

/* Adds what was used; that of an account that is not known any more goes to the root. */
void hocket__account_add(
    struct hocket__accounts *s, uint64_t id, const struct hocket__usage_sum *used);

struct hocket__account_info {
    uint64_t id, parent;
    const char *op, *agent, *trigger; /* valid until the account goes */
    struct hocket__usage_sum own, total;
    int64_t opened_ms, closed_ms; /* closed: 0 while it is open */
    size_t merged;                /* accounts below that are not kept apart any more */
};

/* False when it is not known (any more). */
bool hocket__account_get(
    const struct hocket__accounts *s, uint64_t id, struct hocket__account_info *out);
/* Children, oldest first; 0 at the end. */
uint64_t hocket__account_first(const struct hocket__accounts *s, uint64_t id);
uint64_t hocket__account_next(const struct hocket__accounts *s, uint64_t id);
/* How many are kept apart, the root among them. */
size_t hocket__account_count(const struct hocket__accounts *s);

/* Accounts: who has used how much. One tree for each run, one account for each operation (an
 * agent at work, or whatever else is to be told apart), below the one that asked for it.
 *
 *     run ── facilitator ──┬── food (dispatch)          each: own, and total = own + children's
 *                          └── logistics (dispatch)
 *
 * What is used is added to its own account and to all above it, so every total is exact at any
 * time. Beyond `keep` accounts, closed accounts are merged into their parents: the sums stay, only
 * the detail is lost. Limits on it stand in the second half. No clock: time is an argument. */
#pragma once

#include "base/buf.h"
#include "base/str.h"
#include "core/usage.h"

/* The run's own account; 0 is no account. Ids are not used again. */
#define HOCKET__ACCOUNT_ROOT UINT64_C(1)

struct hocket__accounts;

/* ENOMEM. `keep`: how many accounts are kept apart, at least 1; open ones are always kept. */
int hocket__accounts_new(
    const struct hocket_allocator *a, size_t keep, int64_t now_ms, struct hocket__accounts **out);
void hocket__accounts_free(struct hocket__accounts *s); /* NULL is fine */

/* What an account is called: names without NUL, empty where there is none. */
struct hocket__account_names {
    struct hocket__str op, agent, trigger; /* the trigger: why it is at work, "delegate" */
};

/* Opens an account below another, which may be closed. A forgotten parent means the root. Returns
 * its id, or 0 when memory is out. */
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

/* ---- budget.c: limits on accounts ---------------------------------------------------- */

/* Budgets: limits on accounts, kept before a call is made and not after.
 *
 *     ask ──> GO, with a hold for what the call may need ──> settle: the hold is gone, what was
 *      │                                                             used is added (or nothing)
 *      ├──> WAIT    others are calling; when they are done there may be enough
 *      ├──> LAST    enough for one more call, not for two: let it be the answer
 *      └──> REFUSED nothing is left
 *
 * A limit holds for an account and all below it. Between two of its calls an agent keeps back what
 * its last answer will need, so that those whom it calls cannot use that up. What is held, kept or
 * set aside returns exactly once: by settle, by the next ask, by close. So a limit is passed only
 * by a call that needs more than was asked for, and by no more than one such call of an agent.
 * Zero means zero: no call at all. Pure: time is an argument. */
/* X(name, word): what is limited. Turns are model calls; tokens are input and output together. */
#define HOCKET__BUDGET_MAP(X)                                                                      \
    X(TURNS, "turns")                                                                              \
    X(TOOL_CALLS, "tool_calls")                                                                    \
    X(TOKENS, "tokens")                                                                            \
    X(COST, "cost")

enum hocket__budget_kind {
#define HOCKET__BUDGET_ENUM(name, word) HOCKET__BUDGET_##name,
    HOCKET__BUDGET_MAP(HOCKET__BUDGET_ENUM)
#undef HOCKET__BUDGET_ENUM
        HOCKET__BUDGET_KINDS,
    HOCKET__BUDGET_SECONDS = HOCKET__BUDGET_KINDS, /* wall time: of a verdict only */
    HOCKET__BUDGET_STOP,                           /* somebody has stopped the run */
};

const char *hocket__budget_word(enum hocket__budget_kind kind);

#define HOCKET__NO_LIMIT INT64_C(-1)

struct hocket__budget_spec {
    int64_t limit[HOCKET__BUDGET_KINDS]; /* cost in nano-dollars; HOCKET__NO_LIMIT: none */
    int64_t time_ms;                     /* since the account was opened; HOCKET__NO_LIMIT */
    int warn_permille;                   /* of each limit; 0: no warning */
    bool reserve;                        /* the parents set all of it aside, as far as they can */
};

/* Limits an account; once. Set aside is what the parents have left, so that what is granted
 * may be less. ENOTFOUND, EEXIST (it has limits), ESTATE (it has children or has used something),
 * ENOMEM. */
int hocket__budget_set(
    struct hocket__accounts *s, uint64_t account, const struct hocket__budget_spec *spec);

/* Whether anything has to be asked: a limit, here or above, or a stop. */
bool hocket__budget_is_limited(const struct hocket__accounts *s, uint64_t account);

/* What a call may need. */
struct hocket__budget_ask {
    int64_t input;               /* tokens, rather too many */
    int64_t max_output;          /* or -1: not limited */
    int64_t price_in, price_out; /* nano-dollars for a token, the dearest; -1: not known */
    bool last;                   /* it is the last answer */
};

enum hocket__budget_verdict {
    HOCKET__BUDGET_GO,
    HOCKET__BUDGET_WAIT,
    HOCKET__BUDGET_LAST,
    HOCKET__BUDGET_REFUSED,
    HOCKET__BUDGET_UNPRICED, /* there is a limit on cost, and the price is not known */
    HOCKET__BUDGET_NOMEM,
};

struct hocket__budget_answer {
    enum hocket__budget_verdict verdict;
    uint64_t hold;      /* GO: to be settled */
    int64_t max_output; /* GO: tokens that there are for its answer, or -1: as many as it likes */
    /* Otherwise, and for a warning: whose limit on what, and how it stands. */
    uint64_t account;
    enum hocket__budget_kind kind;
    int64_t used, limit; /* seconds: the limit in milliseconds */
    /* All of a reserve could not be set aside: what it should be, and whose limit had no more. */
    int64_t asked;
    uint64_t giver; /* 0: all could */
};

struct hocket__budget_answer hocket__budget_ask(struct hocket__accounts *s, uint64_t account,
    const struct hocket__budget_ask *ask, int64_t now_ms);

/* Ends a hold: once, further calls do nothing and return false. What was used is added before, by
 * hocket__account_add. `goes_on`: the agent will call again, and keeps back what a last answer
 * needs: the price of one more call like this. */
bool hocket__budget_settle(struct hocket__accounts *s, uint64_t hold, bool goes_on);

/* For an agent that lets others work before its own first call: it keeps back what that one needs, as far
 * as that can be known. */
void hocket__budget_reserve_first_call(struct hocket__accounts *s, uint64_t account);

/* How many of n tool calls may be made, of which *out (may be NULL) names the limit when it is
 * fewer. They are not added. */
int64_t hocket__budget_tools(const struct hocket__accounts *s, uint64_t account, int64_t n,
    struct hocket__budget_answer *out);

/* A limit, here or above, whose warning is due: true once for each. */
bool hocket__budget_warning(
    struct hocket__accounts *s, uint64_t account, struct hocket__budget_answer *out);

/* What is left of a limit: not used, not held by anybody. HOCKET__NO_LIMIT where there is none. */
int64_t hocket__budget_left(
    const struct hocket__accounts *s, uint64_t account, enum hocket__budget_kind kind);

/* The same of the tightest limit above an account. */
int64_t hocket__budget_left_above(
    const struct hocket__accounts *s, uint64_t account, enum hocket__budget_kind kind);

/* Milliseconds until the first limit in seconds that holds for an account; HOCKET__NO_LIMIT. */
int64_t hocket__budget_time(const struct hocket__accounts *s, uint64_t account, int64_t now_ms);

/* Lets an account use so much more, which is set aside by those above it until it is taken back or the account is closed; a
 * kind of which it had no limit has one from now on. HOCKET__NO_LIMIT: not of this kind. Of the root there is nobody above.
 * It does not check whether those above have so much. ENOMEM, ENOTFOUND. */
int hocket__budget_lend(
    struct hocket__accounts *s, uint64_t account, const int64_t amount[HOCKET__BUDGET_KINDS]);

/* Returns what is set aside for an account and not used to those above it: at most `most`; HOCKET__NO_LIMIT: all. */
void hocket__budget_take_back(
    struct hocket__accounts *s, uint64_t account, enum hocket__budget_kind kind, int64_t most);

/* From now on every agent makes one more call at most: its last answer. */
void hocket__budget_stop(struct hocket__accounts *s);

/* ---- change.c: changes as data -------------------------------------------------------- */

/* What somebody does with accounts, so that a log can hold it and a replay do it again. */
enum hocket__account_op {
    HOCKET__ACCOUNT_OPEN = 1, /* below the account `id`, which may be the root */
    HOCKET__ACCOUNT_CLOSE,
    HOCKET__ACCOUNT_ADD,
    HOCKET__ACCOUNT_LIMIT,
    HOCKET__ACCOUNT_ASK,
    HOCKET__ACCOUNT_KEEP,
    HOCKET__ACCOUNT_SETTLE, /* `id`: the hold */
    HOCKET__ACCOUNT_WARN,
    HOCKET__ACCOUNT_LEFT, /* whoever did the others is gone: what is still open of them ends. Not for hocket__account_change */
    HOCKET__ACCOUNT_OPS
};

struct hocket__account_change {
    enum hocket__account_op op;
    uint64_t id;
    struct hocket__account_names names; /* OPEN */
    struct hocket__usage_sum used;      /* ADD */
    struct hocket__budget_spec limits;  /* LIMIT */
    struct hocket__budget_ask ask;      /* ASK */
    bool goes_on;                       /* SETTLE */
};

/* Appends it to *out, whose status says whether there was memory. */
void hocket__account_change_write(const struct hocket__account_change *c, struct hocket__buf *out);
/* Reads one that points into the text. False: it is none. */
bool hocket__account_change_read(struct hocket__str text, struct hocket__account_change *out);
/* Does it. Returns the account or the hold that it has opened; 0: none. */
uint64_t hocket__account_change(
    struct hocket__accounts *s, const struct hocket__account_change *c, int64_t now_ms);

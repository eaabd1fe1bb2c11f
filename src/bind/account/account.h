/* hocket.internal.core.account: see lua_account.c. */
#pragma once

#include "base/list.h"
#include "core/account/account.h"

#include <lua.h>

struct hocket__clock;

struct hocket__lua_accounts {
    const struct hocket_allocator *alloc;
    struct hocket__accounts *s;
    struct hocket__clock *clock;   /* of its times; NULL: the host's */
    struct hocket__list under_way; /* tallies */
    bool logged; /* what code does with it that is not of the clock's run is in that one's log */
    struct hocket__account_open *open; /* by what the log has of those: what is open still */
    size_t n_open, cap_open;
};

/* What has to end when its opener is gone. */
struct hocket__account_open {
    enum hocket__account_op op; /* that ends it: CLOSE or SETTLE */
    uint64_t id;
};

/* change.c: whoever changes accounts does so here, or says so before. In a run that is kept the code of a tool or a step is not the
 * run's, and a replay does not run it: its log has what that code did with the run's accounts.
 *
 * Before a change: the time that it has. */
int64_t hocket__accounts_note(
    struct hocket__lua_accounts *a, const struct hocket__account_change *c);
/* Notes it and does it. Returns the account that was opened; 0: none. */
uint64_t hocket__accounts_do(
    struct hocket__lua_accounts *a, const struct hocket__account_change *c);
/* A change that was noted had no memory: no replay could follow it, and the run ends. */
void hocket__accounts_no_memory(struct hocket__lua_accounts *a);
void hocket__accounts_close(struct hocket__lua_accounts *a, uint64_t id);
void hocket__accounts_add(
    struct hocket__lua_accounts *a, uint64_t id, const struct hocket__usage_sum *used);
/* A replay has come to a change. */
#define HOCKET__ACCOUNTS_NOTICE HOCKET__STR("accounts")
void hocket__accounts_again(struct hocket__lua_accounts *a, struct hocket__str change);
/* The replay is over: what is open still was opened by a process that is gone. */
void hocket__accounts_left(struct hocket__lua_accounts *a);

int hocket__open_account(lua_State *L);
struct hocket__lua_accounts *hocket__check_accounts(lua_State *L, int arg);

/* A model call that is under way: it is counted on its account once, when it has ended, when it is
 * given up, or when the accounts are closed before (tally.c). All zeros: not under way. */
struct hocket__tally {
    struct hocket__list link;
    struct hocket__lua_accounts *accounts; /* NULL: not under way */
    uint64_t id;                           /* of the account */
    bool free;                             /* the model costs nothing */
    struct hocket__usage_sum *apart;       /* where it is counted instead; or NULL */
};

void hocket__tally_begin(
    struct hocket__tally *t, struct hocket__lua_accounts *a, uint64_t id, bool free);
/* The same for a call that is counted into *apart, and by somebody else on an account. */
void hocket__tally_begin_apart(struct hocket__tally *t, struct hocket__usage_sum *apart, bool free);
/* Whether it has not been counted, nor dropped. */
bool hocket__tally_is_open(const struct hocket__tally *t);
/* What it used. */
void hocket__tally_end(struct hocket__tally *t, const struct hocket__usage_sum *used);
/* It was given up: a call whose usage nobody says. */
void hocket__tally_lost(struct hocket__tally *t);
/* It failed, and is not counted. */
void hocket__tally_drop(struct hocket__tally *t);
void hocket__tallies_lost(struct hocket__lua_accounts *a);

/* Prices: what models cost, as userdata. */
void hocket__open_price(lua_State *L);
int hocket__account_l_price(lua_State *L);
/* NULL for nil. */
const struct hocket__price *hocket__opt_price(lua_State *L, int arg);

/* Pushes the total of an account as a table; nil when it is not known (any more). */
void hocket__account_push_usage(lua_State *L, const struct hocket__lua_accounts *a, uint64_t id);

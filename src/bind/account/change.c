/* Changes of a run's accounts, whoever makes them. Those of code that is not the run's go through the run's log: see account.h. */

#include "bind/account/account.h"

#include "bind/fiber/fiber.h"
#include "bind/runtime.h"
#include "bind/util.h"

/* The run whose log has what is done now; NULL: that is of the run itself, or no log has it. */
static struct hocket__kept *log_of(const struct hocket__lua_accounts *a)
{
    return a->logged ? hocket__clock_outside(a->clock) : NULL;
}

/* A log without the change would be replayed to other accounts. */
static void fail_log(struct hocket__kept *k)
{
    struct hocket_error err;
    hocket__error_nomem(&err);
    hocket__kept_fail(k, &err);
}

static void put(struct hocket__kept *k, const struct hocket__account_change *c,
    const struct hocket_allocator *alloc)
{
    struct hocket__buf b = hocket__buf(alloc, 0);
    hocket__account_change_write(c, &b);
    if (b.status == 0)
        hocket__kept_notice(k, HOCKET__ACCOUNTS_NOTICE, hocket__buf_str(&b));
    else
        fail_log(k);
    hocket__buf_deinit(&b);
}

int64_t hocket__accounts_note(
    struct hocket__lua_accounts *a, const struct hocket__account_change *c)
{
    struct hocket__kept *k = log_of(a);
    if (!k)
        return hocket__clock_ms(a->clock);
    put(k, c, a->alloc);
    return hocket__clock_log_ms(a->clock);
}

uint64_t hocket__accounts_do(struct hocket__lua_accounts *a, const struct hocket__account_change *c)
{
    uint64_t opened = hocket__account_change(a->s, c, hocket__accounts_note(a, c));
    if (c->op == HOCKET__ACCOUNT_OPEN && !opened)
        hocket__accounts_no_memory(a);
    return opened;
}

void hocket__accounts_no_memory(struct hocket__lua_accounts *a)
{
    struct hocket__kept *k = log_of(a);
    if (k)
        fail_log(k);
}

void hocket__accounts_close(struct hocket__lua_accounts *a, uint64_t id)
{
    struct hocket__account_change c = { .op = HOCKET__ACCOUNT_CLOSE, .id = id };
    hocket__accounts_do(a, &c);
}

void hocket__accounts_add(
    struct hocket__lua_accounts *a, uint64_t id, const struct hocket__usage_sum *used)
{
    struct hocket__account_change c = { .op = HOCKET__ACCOUNT_ADD, .id = id, .used = *used };
    hocket__accounts_do(a, &c);
}

/* ---- In a replay --------------------------------------------------------------------------------- */

static void remember(struct hocket__lua_accounts *a, enum hocket__account_op op, uint64_t id)
{
    if (id == 0)
        return;
    if (hocket__grow(a->alloc, &a->open, &a->cap_open, a->n_open + 1, sizeof(*a->open)) < 0) {
        fail_log(hocket__clock_run(a->clock));
        return;
    }
    a->open[a->n_open++] = (struct hocket__account_open){ op, id };
}

static void forget(struct hocket__lua_accounts *a, enum hocket__account_op op, uint64_t id)
{
    for (size_t i = a->n_open; i-- > 0;)
        if (a->open[i].op == op && a->open[i].id == id)
            a->open[i] = a->open[--a->n_open];
}

static void end_all(struct hocket__lua_accounts *a, int64_t now)
{
    for (size_t i = a->n_open; i-- > 0;) {
        struct hocket__account_change c = { .op = a->open[i].op, .id = a->open[i].id };
        hocket__account_change(a->s, &c, now);
    }
    a->n_open = 0;
}

void hocket__accounts_again(struct hocket__lua_accounts *a, struct hocket__str change)
{
    struct hocket__account_change c;
    int64_t now = hocket__clock_log_ms(a->clock);
    if (!hocket__account_change_read(change, &c))
        return;
    if (c.op == HOCKET__ACCOUNT_LEFT) {
        end_all(a, now);
        return;
    }
    uint64_t made = hocket__account_change(a->s, &c, now);
    if (c.op == HOCKET__ACCOUNT_OPEN)
        remember(a, HOCKET__ACCOUNT_CLOSE, made);
    else if (c.op == HOCKET__ACCOUNT_ASK)
        remember(a, HOCKET__ACCOUNT_SETTLE, made);
    else
        forget(a, c.op, c.id);
}

void hocket__accounts_left(struct hocket__lua_accounts *a)
{
    struct hocket__account_change c = { .op = HOCKET__ACCOUNT_LEFT };
    if (a->n_open == 0)
        return;
    put(hocket__clock_run(a->clock), &c, a->alloc);
    end_all(a, hocket__clock_log_ms(a->clock));
}

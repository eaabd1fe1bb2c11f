/* Changes of accounts as data: written, read, done. What is read comes from a stored run, and is trusted in nothing: ids that are not
 * known do nothing, amounts below 0 count as 0. */
#include "core/account/account_impl.h"

#include "base/pack.h"

/* The numbers of a usage, in the order of the struct. */
#define USED 10

static void numbers_of(struct hocket__usage_sum *u, int64_t *at[USED])
{
    int64_t *const all[USED] = { &u->input, &u->output, &u->cached, &u->cache_write, &u->reasoning,
        &u->calls, &u->tool_calls, &u->cost, &u->unpriced, &u->ms };
    for (int i = 0; i < USED; i++)
        at[i] = all[i];
}

static void write_used(struct hocket__usage_sum used, struct hocket__buf *out)
{
    int64_t *at[USED];
    numbers_of(&used, at);
    for (int i = 0; i < USED; i++)
        hocket__pack_int(out, *at[i]);
}

static void read_used(struct hocket__packed *in, struct hocket__usage_sum *used)
{
    int64_t *at[USED];
    numbers_of(used, at);
    for (int i = 0; i < USED; i++)
        *at[i] = hocket__unpack_int(in);
}

static void write_limits(const struct hocket__budget_spec *l, struct hocket__buf *out)
{
    for (int i = 0; i < HOCKET__BUDGET_KINDS; i++)
        hocket__pack_int(out, l->limit[i]);
    hocket__pack_int(out, l->time_ms);
    hocket__pack_int(out, l->warn_permille);
    hocket__pack_num(out, l->reserve);
}

static int64_t at_least(struct hocket__packed *in, int64_t least)
{
    int64_t v = hocket__unpack_int(in);
    return v < least ? least : v;
}

static int64_t limit(struct hocket__packed *in)
{
    return at_least(in, HOCKET__NO_LIMIT);
}

static void read_limits(struct hocket__packed *in, struct hocket__budget_spec *l)
{
    for (int i = 0; i < HOCKET__BUDGET_KINDS; i++)
        l->limit[i] = limit(in);
    l->time_ms = limit(in);
    int64_t permille = hocket__unpack_int(in);
    l->warn_permille = permille < 0 || permille > 1000 ? 0 : (int) permille;
    l->reserve = hocket__unpack_num(in) != 0;
}

void hocket__account_change_write(const struct hocket__account_change *c, struct hocket__buf *out)
{
    hocket__pack_num(out, c->op);
    hocket__pack_num(out, c->id);
    if (c->op == HOCKET__ACCOUNT_OPEN) {
        hocket__pack_str(out, c->names.op);
        hocket__pack_str(out, c->names.agent);
        hocket__pack_str(out, c->names.trigger);
    } else if (c->op == HOCKET__ACCOUNT_ADD) {
        write_used(c->used, out);
    } else if (c->op == HOCKET__ACCOUNT_LIMIT) {
        write_limits(&c->limits, out);
    } else if (c->op == HOCKET__ACCOUNT_ASK) {
        hocket__pack_int(out, c->ask.input);
        hocket__pack_int(out, c->ask.max_output);
        hocket__pack_int(out, c->ask.price_in);
        hocket__pack_int(out, c->ask.price_out);
        hocket__pack_num(out, c->ask.last);
    } else if (c->op == HOCKET__ACCOUNT_SETTLE) {
        hocket__pack_num(out, c->goes_on);
    }
}

static void read_names(struct hocket__packed *in, struct hocket__account_names *names)
{
    names->op = hocket__unpack_str(in);
    names->agent = hocket__unpack_str(in);
    names->trigger = hocket__unpack_str(in);
}

static void read_ask(struct hocket__packed *in, struct hocket__budget_ask *ask)
{
    ask->input = at_least(in, 0);
    ask->max_output = at_least(in, -1);
    ask->price_in = at_least(in, -1);
    ask->price_out = at_least(in, -1);
    ask->last = hocket__unpack_num(in) != 0;
}

bool hocket__account_change_read(struct hocket__str text, struct hocket__account_change *out)
{
    struct hocket__packed in = hocket__packed(text);
    uint64_t op = hocket__unpack_num(&in);
    *out = (struct hocket__account_change){ .id = hocket__unpack_num(&in) };
    out->op = op < HOCKET__ACCOUNT_OPS ? (enum hocket__account_op) op : 0;
    if (out->op == HOCKET__ACCOUNT_OPEN)
        read_names(&in, &out->names);
    else if (out->op == HOCKET__ACCOUNT_ADD)
        read_used(&in, &out->used);
    else if (out->op == HOCKET__ACCOUNT_LIMIT)
        read_limits(&in, &out->limits);
    else if (out->op == HOCKET__ACCOUNT_ASK)
        read_ask(&in, &out->ask);
    else if (out->op == HOCKET__ACCOUNT_SETTLE)
        out->goes_on = hocket__unpack_num(&in) != 0;
    return out->op != 0 && !in.bad;
}

uint64_t hocket__account_change(
    struct hocket__accounts *s, const struct hocket__account_change *c, int64_t now_ms)
{
    struct hocket__budget_answer a = { 0 };
    switch (c->op) {
    case HOCKET__ACCOUNT_OPEN: return hocket__account_open(s, c->id, &c->names, now_ms);
    case HOCKET__ACCOUNT_CLOSE: hocket__account_close(s, c->id, now_ms); break;
    case HOCKET__ACCOUNT_ADD: hocket__account_add(s, c->id, &c->used); break;
    case HOCKET__ACCOUNT_LIMIT: hocket__budget_set(s, c->id, &c->limits); break;
    case HOCKET__ACCOUNT_ASK:
        a = hocket__budget_ask(s, c->id, &c->ask, now_ms);
        return a.verdict == HOCKET__BUDGET_GO ? a.hold : 0;
    case HOCKET__ACCOUNT_KEEP: hocket__budget_reserve_first_call(s, c->id); break;
    case HOCKET__ACCOUNT_SETTLE: hocket__budget_settle(s, c->id, c->goes_on); break;
    case HOCKET__ACCOUNT_WARN: hocket__budget_warning(s, c->id, &a); break;
    case HOCKET__ACCOUNT_LEFT:
    case HOCKET__ACCOUNT_OPS: break;
    }
    return 0;
}

/* Model calls of runs that are kept: a reply as bytes, and a call that is made of them; and what a call has
 * used, for whoever counts it at a time of his own.
 *
 * Which reply an effect has had is in the log; the usage is counted when whoever waited for it goes
 * on, which in a replay is at the same step as it was: so budgets stop a run again where they did. */

#include "bind/llm/attempt.h"

#include "bind/util.h"

/* What stands before the reply: when it came, what it was, each in 8 bytes. */
enum { FIRST_US, TOTAL_US, WAITED_MS, COST, NEXT_CALL, NUMBERS };

static void put_number(struct hocket__buf *out, int64_t v)
{
    char bytes[8];
    for (int i = 0; i < 8; i++)
        bytes[i] = (char) ((uint64_t) v >> 8 * i);
    hocket__buf_add(out, bytes, sizeof(bytes));
}

static int64_t number_at(struct hocket__str from, int i)
{
    uint64_t v = 0;
    for (int j = 7; j >= 0; j--)
        v = v << 8 | (unsigned char) from.p[8 * i + j];
    return (int64_t) v;
}

/* Appends the reply of one that has ended well. */
static void pack_attempt(const struct hocket__attempt *a, struct hocket__buf *out)
{
    struct hocket__llm_timing t = hocket__llm_timing(a->llm);
    const int64_t numbers[NUMBERS] = { (int64_t) t.first_us, (int64_t) t.total_us,
        (int64_t) a->answer.waited_ms, a->answer.cost, (int64_t) a->history->next_call };
    for (int i = 0; i < NUMBERS; i++)
        put_number(out, numbers[i]);
    hocket__reply_pack(hocket__llm_reply(a->llm), out);
}

int hocket__attempt_recall(
    struct hocket__attempt *a, struct hocket__str packed, struct hocket_error *err)
{
    if (packed.n < 8 * NUMBERS)
        return hocket__error(err, HOCKET_EPARSE, "the reply that was kept cannot be read");
    struct hocket__str reply = hocket__str(packed.p + 8 * NUMBERS, packed.n - 8 * NUMBERS);
    struct hocket__llm_timing t = { .first_us = (uint64_t) number_at(packed, FIRST_US),
        .total_us = (uint64_t) number_at(packed, TOTAL_US),
        .sent = true };
    int rc = hocket__llm_from_packed(
        a->rt->alloc, &a->provider->net, a->rt->max_message, t, reply, &a->llm, err);
    if (rc < 0)
        return rc;
    a->answer.llm = a->llm;
    a->answer.waited_ms = (uint64_t) number_at(packed, WAITED_MS);
    a->answer.cost = number_at(packed, COST);
    a->history->next_call = (uint64_t) number_at(packed, NEXT_CALL);
    a->done = true;
    return 0;
}

/* call:pack() -> the reply as a text, for recall */
static int l_pack(lua_State *L)
{
    const struct hocket__attempt *a = hocket__check_call(L, 1);
    luaL_argcheck(L, a->answer.llm && !a->failed, 1, "this call has no reply");
    struct hocket__buf *out = &a->rt->scratch;
    hocket__buf_reset(out);
    pack_attempt(a, out);
    if (out->status < 0)
        return hocket__raise_nomem(L);
    hocket__push_str(L, hocket__buf_str(out));
    return 1;
}

/* ---- What it has used ------------------------------------------------------------------------- */

/* call:counted() -> a text for accounts:count, of what it has used so far; and whether it may still use something,
 * or be given up without having used anything (call:settle says which) */
static int l_counted(lua_State *L)
{
    const struct hocket__attempt *a = hocket__check_call(L, 1);
    lua_pushlstring(L, (const char *) &a->counted, sizeof(a->counted));
    lua_pushboolean(L, hocket__tally_is_open(&a->answer.tally));
    return 2;
}

void hocket__open_recall(lua_State *L)
{
    static const luaL_Reg methods[] = { { "pack", l_pack }, { "counted", l_counted },
        { NULL, NULL } };
    hocket__setfuncs(L, methods);
}

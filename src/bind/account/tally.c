/* How model calls are counted, and what they cost.
 *
 * A tally is one model call that is under way: begun before the request goes out, ended with what
 * the provider says of it, or lost when nobody will say. So a budget knows of calls that have not
 * come back. */

#include "bind/account/account.h"
#include "bind/options.h"
#include "bind/util.h"

/* ---- Calls under way ------------------------------------------------------------------ */

void hocket__tally_begin(
    struct hocket__tally *t, struct hocket__lua_accounts *a, uint64_t id, bool free)
{
    t->accounts = a;
    t->id = id;
    t->free = free;
    hocket__list_add(&a->under_way, &t->link);
}

void hocket__tally_begin_apart(struct hocket__tally *t, struct hocket__usage_sum *apart, bool free)
{
    hocket__list_init(&t->link);
    t->apart = apart;
    t->free = free;
}

bool hocket__tally_is_open(const struct hocket__tally *t)
{
    return t->accounts || t->apart;
}

void hocket__tally_drop(struct hocket__tally *t)
{
    if (!hocket__tally_is_open(t))
        return;
    hocket__list_del(&t->link);
    t->accounts = NULL;
    t->apart = NULL;
}

void hocket__tally_end(struct hocket__tally *t, const struct hocket__usage_sum *used)
{
    if (t->apart)
        hocket__usage_sum_add(t->apart, used);
    else if (t->accounts)
        hocket__accounts_add(t->accounts, t->id, used);
    hocket__tally_drop(t);
}

void hocket__tally_lost(struct hocket__tally *t)
{
    struct hocket__usage_sum used = { .calls = 1, .unpriced = !t->free };
    hocket__tally_end(t, &used);
}

void hocket__tallies_lost(struct hocket__lua_accounts *a)
{
    while (!hocket__list_empty(&a->under_way))
        hocket__tally_lost(hocket__container_of(a->under_way.next, struct hocket__tally, link));
}

/* ---- Prices ----------------------------------------------------------------------------- */

static const char PRICE[] = "hocket.price";

#define RATE(prefix)                                                                               \
    { HOCKET__OPT_NUMBER("input", struct hocket__price, prefix.input) },                           \
        { HOCKET__OPT_NUMBER("output", struct hocket__price, prefix.output) },                     \
        { HOCKET__OPT_NUMBER("cached", struct hocket__price, prefix.cached) },                     \
    {                                                                                              \
        HOCKET__OPT_NUMBER("cache_write", struct hocket__price, prefix.cache_write)                \
    }

/* price{input=, output=, cached=, cache_write=, above={tokens=, …the same}}: USD for a million
 * tokens -> price */
int hocket__account_l_price(lua_State *L)
{
    static const struct hocket__opt usual[] = { RATE(rate), { 0 } };
    static const struct hocket__opt above[] = { RATE(above),
        { HOCKET__OPT_NUMBER("tokens", struct hocket__price, limit) }, { 0 } };
    luaL_checktype(L, 1, LUA_TTABLE);
    lua_settop(L, 1);
    struct hocket__price *p = hocket__new_object(L, sizeof(*p), 0, PRICE);
    *p = (struct hocket__price){
        .limit = -1, .rate = { -1, -1, -1, -1 }, .above = { -1, -1, -1, -1 }
    };
    lua_rawgetp(L, LUA_REGISTRYINDEX, PRICE);
    lua_setmetatable(L, -2);
    hocket__opt_fields(L, 1, usual, p);
    if (lua_getfield(L, 1, "above") == LUA_TTABLE)
        hocket__opt_fields(L, 3, above, p);
    lua_settop(L, 2);
    return 1;
}

const struct hocket__price *hocket__opt_price(lua_State *L, int arg)
{
    return lua_isnoneornil(L, arg) ? NULL : hocket__check_object(L, arg, PRICE);
}

static int64_t count(lua_State *L, int idx, const char *name)
{
    return hocket__opt_int(L, idx, name, -1, 0, INT64_MAX);
}

/* p:cost(usage) -> USD; nothing when a price or a count is not known. To the nano-dollar: sums stay
 * readable. */
static int l_cost(lua_State *L)
{
    const struct hocket__price *p = hocket__check_object(L, 1, PRICE);
    luaL_checktype(L, 2, LUA_TTABLE);
    int64_t cost = hocket__price_cost(p, count(L, 2, "input"), count(L, 2, "output"),
        count(L, 2, "cached"), count(L, 2, "cache_write"));
    if (cost < 0)
        return 0;
    lua_pushnumber(L, (double) cost / (double) HOCKET__DOLLAR);
    return 1;
}

void hocket__open_price(lua_State *L)
{
    static const luaL_Reg methods[] = { { "cost", l_cost }, { NULL, NULL } };
    hocket__newmeta(L, PRICE, methods);
    lua_pop(L, 1);
}

/* hocket.internal.core.account: the accounts of a run and their budgets. Money is a number of dollars
 * here, and whole nano-dollars inside. What is looked up in them is in look.c, what
 * counts model calls in tally.c. */

#include "bind/account/account.h"
#include "bind/fiber/fiber.h"

#include <math.h>
#include <string.h>

#include <uv.h>

#include "base/buf.h"
#include "base/json/json.h"
#include "bind/json/json.h"
#include "bind/runtime.h"
#include "bind/options.h"
#include "bind/util.h"
#include "core/account/account.h"

static const char META[] = "hocket.accounts";
#define KEEP 1000 /* accounts of one run that are kept apart */

struct hocket__lua_accounts *hocket__check_accounts(lua_State *L, int arg)
{
    return hocket__check_object(L, arg, META);
}

static struct hocket__accounts *check(lua_State *L)
{
    return hocket__check_accounts(L, 1)->s;
}

static uint64_t id_at(lua_State *L, int arg)
{
    return (uint64_t) luaL_checkinteger(L, arg);
}

/* new(keep?) -> accounts */
static int l_new(lua_State *L)
{
    struct hocket__runtime *rt = hocket__runtime(L);
    lua_Integer keep = luaL_optinteger(L, 1, KEEP);
    luaL_argcheck(L, keep > 0, 1, "at least 1 expected");
    struct hocket__lua_accounts *a = hocket__new_object(L, sizeof(*a), 0, META);
    *a = (struct hocket__lua_accounts){ .alloc = rt->alloc, .clock = hocket__clock_here(rt) };
    hocket__list_init(&a->under_way);
    luaL_setmetatable(L, META);
    if (hocket__accounts_new(rt->alloc, (size_t) keep, hocket__clock_ms(a->clock), &a->s) < 0)
        return hocket__raise_nomem(L);
    return 1;
}

/* a:close(id): that of the run also gives up what is under way */
static int l_close(lua_State *L)
{
    if (id_at(L, 2) == HOCKET__ACCOUNT_ROOT)
        hocket__tallies_lost(hocket__check_accounts(L, 1));
    hocket__accounts_close(hocket__check_accounts(L, 1), id_at(L, 2));
    return 0;
}

/* ---- Using ----------------------------------------------------------------------- */

static int64_t field(lua_State *L, int idx, const char *name)
{
    lua_getfield(L, idx, name);
    int64_t v = lua_isinteger(L, -1) ? lua_tointeger(L, -1) : -1;
    lua_pop(L, 1);
    return v;
}

/* A number of dollars, seconds … in units of which there are `one` in 1; -1 for none. */
static int64_t units(lua_State *L, int arg, double one)
{
    if (lua_isnoneornil(L, arg))
        return -1;
    double v = luaL_checknumber(L, arg) * one + 0.5;
    luaL_argcheck(L, v >= 0, arg, "a number of at least 0 expected");
    return v < 9e18 ? (int64_t) v : INT64_MAX;
}

/* a:add(id, usage, cost?, seconds, calls = 1): one model call; usage as in a reply. 0 calls: what is paid for beside one */
static int l_add(lua_State *L)
{
    struct hocket__lua_accounts *a = hocket__check_accounts(L, 1);
    int64_t cost = units(L, 4, (double) HOCKET__DOLLAR);
    luaL_checktype(L, 3, LUA_TTABLE);
    struct hocket__usage_sum used = { .input = field(L, 3, "input"),
        .output = field(L, 3, "output"),
        .cached = field(L, 3, "cached"),
        .cache_write = field(L, 3, "cache_write"),
        .reasoning = field(L, 3, "reasoning"),
        .calls = luaL_optinteger(L, 6, 1),
        .cost = cost,
        .unpriced = cost < 0,
        .ms = units(L, 5, 1000) };
    hocket__accounts_add(a, id_at(L, 2), &used);
    return 0;
}

/* a:count(id, counted?): what call:counted() gave; without it a call that used nothing */
static int l_count(lua_State *L)
{
    struct hocket__lua_accounts *a = hocket__check_accounts(L, 1);
    struct hocket__usage_sum used = { .calls = 1 };
    if (!lua_isnoneornil(L, 3)) {
        struct hocket__str text = hocket__check_str(L, 3);
        luaL_argcheck(L, text.n == sizeof(used), 3, "this is nothing that was counted");
        memcpy(&used, text.p, sizeof(used));
    }
    if (used.calls > 0)
        hocket__accounts_add(a, id_at(L, 2), &used);
    return 0;
}

/* a:counted(id) -> what it and all below it have used */
static int l_counted(lua_State *L)
{
    struct hocket__account_info info;
    if (!hocket__account_get(check(L), id_at(L, 2), &info))
        return 0;
    lua_pushlstring(L, (const char *) &info.total, sizeof(info.total));
    return 1;
}

static int64_t beyond(int64_t was, int64_t is)
{
    return was > is ? was - is : 0;
}

/* a:raise(id, counted): adds what there is more in `counted`, of an earlier life of the run, than it has used in this one */
static int l_raise(lua_State *L)
{
    struct hocket__lua_accounts *a = hocket__check_accounts(L, 1);
    struct hocket__account_info info;
    struct hocket__usage_sum was;
    struct hocket__str text = hocket__check_str(L, 3);
    luaL_argcheck(L, text.n == sizeof(was), 3, "this is nothing that was counted");
    memcpy(&was, text.p, sizeof(was));
    if (!hocket__account_get(a->s, id_at(L, 2), &info))
        return 0;
    const struct hocket__usage_sum *is = &info.total;
    struct hocket__usage_sum more = { .input = beyond(was.input, is->input),
        .output = beyond(was.output, is->output),
        .cached = beyond(was.cached, is->cached),
        .cache_write = beyond(was.cache_write, is->cache_write),
        .reasoning = beyond(was.reasoning, is->reasoning),
        .calls = beyond(was.calls, is->calls),
        .tool_calls = beyond(was.tool_calls, is->tool_calls),
        .cost = beyond(was.cost, is->cost),
        .unpriced = beyond(was.unpriced, is->unpriced),
        .ms = beyond(was.ms, is->ms) };
    hocket__accounts_add(a, id_at(L, 2), &more);
    return 0;
}

/* ---- Budgets ----------------------------------------------------------------------- */

struct asked {
    int64_t turns, tool_calls, tokens;
    double cost, seconds, warn_at;
    bool reserve;
};

#define AMOUNTS                                                                                    \
    { HOCKET__OPT_INT("turns", struct asked, turns, 0, INT64_MAX) },                               \
        { HOCKET__OPT_INT("tool_calls", struct asked, tool_calls, 0, INT64_MAX) },                 \
        { HOCKET__OPT_INT("tokens", struct asked, tokens, 0, INT64_MAX) },                         \
    {                                                                                              \
        HOCKET__OPT_NUMBER("cost", struct asked, cost)                                             \
    }

static const struct asked nothing = { HOCKET__NO_LIMIT, HOCKET__NO_LIMIT, HOCKET__NO_LIMIT, -1, -1,
    0.8, false };

static int64_t limit_of(double v, double one)
{
    if (v < 0 || isnan(v))
        return HOCKET__NO_LIMIT;
    return v * one < 9e18 ? (int64_t) (v * one + 0.5) : INT64_MAX;
}

/* a:limit(id, {turns=, tool_calls=, tokens=, cost=, seconds=, warn_at=, reserve=}) -> true | nil,
 * error */
static int l_limit(lua_State *L)
{
    static const struct hocket__opt rows[] = { AMOUNTS,
        { HOCKET__OPT_NUMBER("seconds", struct asked, seconds) },
        { HOCKET__OPT_NUMBER("warn_at", struct asked, warn_at) },
        { HOCKET__OPT_BOOL("reserve", struct asked, reserve) }, { 0 } };
    struct hocket_error err;
    struct asked o = nothing;
    luaL_checktype(L, 3, LUA_TTABLE);
    hocket__opt_read(L, 3, rows, &o);
    struct hocket__account_change c = { .op = HOCKET__ACCOUNT_LIMIT, .id = id_at(L, 2) };
    c.limits = (struct hocket__budget_spec){
        .limit = { o.turns, o.tool_calls, o.tokens, limit_of(o.cost, (double) HOCKET__DOLLAR) },
        .time_ms = limit_of(o.seconds, 1000),
        .warn_permille = (int) (fmin(fmax(o.warn_at, 0), 1) * 1000),
        .reserve = o.reserve,
    };
    hocket__accounts_note(hocket__check_accounts(L, 1), &c);
    int rc = hocket__budget_set(check(L), c.id, &c.limits);
    if (rc < 0) {
        hocket__error(&err, rc, "%s", hocket_status_text(rc));
        return hocket__fail(L, &err);
    }
    lua_pushboolean(L, true);
    return 1;
}

/* a:matters(id) -> whether a call has to ask */
static int l_matters(lua_State *L)
{
    lua_pushboolean(L, hocket__budget_is_limited(check(L), id_at(L, 2)));
    return 1;
}

static void push_amount(lua_State *L, enum hocket__budget_kind kind, int64_t v)
{
    if (kind == HOCKET__BUDGET_COST)
        lua_pushnumber(L, (double) v / (double) HOCKET__DOLLAR);
    else if (kind == HOCKET__BUDGET_SECONDS)
        lua_pushnumber(L, (double) v / 1000);
    else
        lua_pushinteger(L, v);
}

static void push_agent(lua_State *L, const struct hocket__accounts *s, uint64_t account)
{
    struct hocket__account_info info;
    lua_pushstring(L, hocket__account_get(s, account, &info) ? info.agent : "");
}

/* Pushes kind, used, limit and the agent whose limit it is ("": the run); of one that could not be
 * set aside whole also what it should be, and the agent that had no more. */
static int push_why(
    lua_State *L, const struct hocket__accounts *s, const struct hocket__budget_answer *a)
{
    lua_pushstring(L, hocket__budget_word(a->kind));
    push_amount(L, a->kind, a->used);
    push_amount(L, a->kind, a->limit);
    push_agent(L, s, a->account);
    if (a->giver == 0)
        return 4;
    push_amount(L, a->kind, a->asked);
    push_agent(L, s, a->giver);
    return 6;
}

/* Dollars for a million tokens, as nano-dollars for one, rounded up. */
static int64_t price_at(lua_State *L, int arg)
{
    return lua_isnoneornil(L, arg) ? -1
                                   : (int64_t) ceil(fmin(luaL_checknumber(L, arg), 1e12) * 1000);
}

/* a:ask(id, input, max_output?, price_in?, price_out?, last?)
 *   -> "go", hold, max_output? | "wait" | "last", kind, used, limit, agent | "refused", … |
 *      "unpriced", … */
static int l_ask(lua_State *L)
{
    static const char *const words[] = { "go", "wait", "last", "refused", "unpriced" };
    struct hocket__accounts *s = check(L);
    struct hocket__account_change c = { .op = HOCKET__ACCOUNT_ASK, .id = id_at(L, 2) };
    c.ask = (struct hocket__budget_ask){ luaL_checkinteger(L, 3), luaL_optinteger(L, 4, -1),
        price_at(L, 5), price_at(L, 6), lua_toboolean(L, 7) };
    int64_t now = hocket__accounts_note(hocket__check_accounts(L, 1), &c);
    struct hocket__budget_answer a = hocket__budget_ask(s, c.id, &c.ask, now);
    if (a.verdict == HOCKET__BUDGET_NOMEM) {
        hocket__accounts_no_memory(hocket__check_accounts(L, 1));
        return hocket__raise_nomem(L);
    }
    lua_pushstring(L, words[a.verdict]);
    if (a.verdict != HOCKET__BUDGET_GO)
        return 1 + push_why(L, s, &a);
    lua_pushinteger(L, (lua_Integer) a.hold);
    if (a.max_output < 0)
        return 2;
    lua_pushinteger(L, a.max_output);
    return 3;
}

/* a:keep(id): the agent's first call comes after those of others */
static int l_keep(lua_State *L)
{
    struct hocket__account_change c = { .op = HOCKET__ACCOUNT_KEEP, .id = id_at(L, 2) };
    hocket__accounts_do(hocket__check_accounts(L, 1), &c);
    return 0;
}

/* a:settle(hold, goes_on) -> whether it was open */
static int l_settle(lua_State *L)
{
    struct hocket__account_change c = { .op = HOCKET__ACCOUNT_SETTLE, .id = id_at(L, 2) };
    c.goes_on = lua_toboolean(L, 3);
    hocket__accounts_note(hocket__check_accounts(L, 1), &c);
    lua_pushboolean(L, hocket__budget_settle(check(L), c.id, c.goes_on));
    return 1;
}

/* a:tools(id, n) -> how many may be made, which are counted, and whether a warning may be due; and
 * when it is fewer: kind, used, limit, agent */
static int l_tools(lua_State *L)
{
    struct hocket__accounts *s = check(L);
    struct hocket__budget_answer a = { 0 };
    uint64_t id = id_at(L, 2);
    lua_Integer n = luaL_checkinteger(L, 3), may = hocket__budget_tools(s, id, n, &a);
    struct hocket__usage_sum used = { .tool_calls = may };
    lua_pushinteger(L, may);
    lua_pushboolean(L, may > 0 && hocket__budget_is_limited(s, id));
    int results = may < n ? 2 + push_why(L, s, &a) : 2;
    if (may > 0)
        hocket__accounts_add(hocket__check_accounts(L, 1), id, &used);
    return results;
}

/* a:warning(id) -> kind, used, limit, agent of a warning that is due; nothing when none is */
static int l_warning(lua_State *L)
{
    struct hocket__accounts *s = check(L);
    struct hocket__budget_answer a;
    struct hocket__account_change c = { .op = HOCKET__ACCOUNT_WARN, .id = id_at(L, 2) };
    if (!hocket__budget_warning(s, c.id, &a))
        return 0;
    hocket__accounts_note(hocket__check_accounts(L, 1), &c);
    return push_why(L, s, &a);
}

/* a:left(id, kind) -> what is left of the account's own limit, nil where there is none */
static int l_left(lua_State *L)
{
    static const char *const kinds[] = { "turns", "tool_calls", "tokens", "cost", NULL };
    enum hocket__budget_kind kind = (enum hocket__budget_kind) luaL_checkoption(L, 3, NULL, kinds);
    int64_t left = hocket__budget_left(check(L), id_at(L, 2), kind);
    if (left == HOCKET__NO_LIMIT)
        return 0;
    push_amount(L, kind, left);
    return 1;
}

/* a:above(id, kind) -> what is left of the tightest limit above it; nil where there is none */
static int l_above(lua_State *L)
{
    static const char *const kinds[] = { "turns", "tool_calls", "tokens", "cost", NULL };
    enum hocket__budget_kind kind = (enum hocket__budget_kind) luaL_checkoption(L, 3, NULL, kinds);
    int64_t least = hocket__budget_left_above(check(L), id_at(L, 2), kind);
    if (least == HOCKET__NO_LIMIT)
        return 0;
    push_amount(L, kind, least);
    return 1;
}

/* a:time(id) -> seconds until the first limit on time; nil where there is none */
static int l_time(lua_State *L)
{
    int64_t now = hocket__clock_ms(hocket__check_accounts(L, 1)->clock);
    int64_t left = hocket__budget_time(check(L), id_at(L, 2), now);
    if (left == HOCKET__NO_LIMIT)
        return 0;
    lua_pushnumber(L, (double) left / 1000);
    return 1;
}

/* a:lend(id, {turns=, tool_calls=, tokens=, cost=}): so much more */
static int l_lend(lua_State *L)
{
    static const struct hocket__opt rows[] = { AMOUNTS, { 0 } };
    struct asked o = nothing;
    luaL_checktype(L, 3, LUA_TTABLE);
    hocket__opt_read(L, 3, rows, &o);
    int64_t amount[HOCKET__BUDGET_KINDS] = { o.turns, o.tool_calls, o.tokens,
        limit_of(o.cost, (double) HOCKET__DOLLAR) };
    if (hocket__budget_lend(check(L), id_at(L, 2), amount) == HOCKET_ENOMEM)
        return hocket__raise_nomem(L);
    return 0;
}

/* a:take_back(id, kind): what was lent and not used */
static int l_take_back(lua_State *L)
{
    static const char *const kinds[] = { "turns", "tool_calls", "tokens", "cost", NULL };
    enum hocket__budget_kind kind = (enum hocket__budget_kind) luaL_checkoption(L, 3, NULL, kinds);
    hocket__budget_take_back(check(L), id_at(L, 2), kind);
    return 0;
}

/* a:stop() */
static int l_stop(lua_State *L)
{
    hocket__budget_stop(check(L));
    return 0;
}

static int l_gc(lua_State *L)
{
    struct hocket__lua_accounts *a = hocket__gc_userdata(L, l_gc);
    if (!a)
        return 0;
    hocket__clock_unref(a->clock);
    a->clock = NULL;
    if (!a->s)
        return 0;
    hocket__tallies_lost(a);
    hocket__accounts_free(a->s);
    hocket__free(a->alloc, a->open, a->cap_open * sizeof(*a->open));
    a->s = NULL;
    return 0;
}

static const luaL_Reg functions[] = {
    { "new", l_new },
    { "price", hocket__account_l_price },
    { NULL, NULL },
};
static const luaL_Reg methods[] = {
    { "close", l_close },
    { "add", l_add },
    { "count", l_count },
    { "counted", l_counted },
    { "raise", l_raise },
    { "limit", l_limit },
    { "keep", l_keep },
    { "matters", l_matters },
    { "ask", l_ask },
    { "settle", l_settle },
    { "tools", l_tools },
    { "warning", l_warning },
    { "left", l_left },
    { "above", l_above },
    { "time", l_time },
    { "lend", l_lend },
    { "take_back", l_take_back },
    { "stop", l_stop },
    { "usage", hocket__account_l_usage },
    { "seconds", hocket__account_l_seconds },
    { "tree", hocket__account_l_tree },
    { "tree_json", hocket__account_l_tree_json },
    { "__gc", l_gc },
    { NULL, NULL },
};

int hocket__open_account(lua_State *L)
{
    hocket__newmeta(L, META, methods);
    lua_pop(L, 1);
    hocket__open_price(L);
    lua_newtable(L);
    hocket__setfuncs(L, functions);
    return 1;
}

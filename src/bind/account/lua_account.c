/* hocket.internal.core.account: the accounts of a run and their budgets. Money is a number of dollars
 * here, and whole nano-dollars inside. What counts model calls is in tally.c. */
#include "bind/account/account.h"

#include <math.h>
#include <string.h>

#include <uv.h>

#include "base/buf.h"
#include "base/json/json.h"
#include "base/num/num.h"
#include "bind/fiber/fiber.h"
#include "bind/json/json.h"
#include "bind/options.h"
#include "bind/runtime.h"
#include "bind/util.h"
#include "core/account/account.h"

/* What the accounts of a run say: the usage of one, and the tree of all of them, as tables and as
 * JSON.
 *
 * Two forms of one walk, since results go to C as text and to scripts as tables. Where a run has very many
 * accounts, closed ones were merged into the one above (core/account): the sums are there, with how many were
 * merged. */

/* Which account, and when. */
struct view {
    const struct hocket__accounts *s;
    int64_t now_ms;
};

static struct view view_of(const struct hocket__lua_accounts *a)
{
    return (struct view){ a->s, hocket__clock_ms(a->clock) };
}

#define DEPTH 200 /* of a tree: what lies deeper is in the sums only */

static void set_number(lua_State *L, const char *name, int64_t v, int64_t one)
{
    hocket__set_number(L, name, (double) v / (double) one);
}

/* A cost of which a part is not known is null, and what is known of it stands beside. */
static void push_usage(lua_State *L, const struct hocket__usage_sum *u)
{
    lua_createtable(L, 0, 10);
    hocket__set_int(L, "input", u->input);
    hocket__set_int(L, "output", u->output);
    hocket__set_int(L, "cached", u->cached);
    hocket__set_int(L, "cache_write", u->cache_write);
    hocket__set_int(L, "reasoning", u->reasoning);
    hocket__set_int(L, "calls", u->calls);
    hocket__set_int(L, "tool_calls", u->tool_calls);
    set_number(L, "seconds", u->ms, 1000);
    if (u->unpriced == 0) {
        set_number(L, "cost", u->cost, HOCKET__DOLLAR);
        return;
    }
    hocket__json_push_null(L);
    lua_setfield(L, -2, "cost");
    set_number(L, "cost_known", u->cost, HOCKET__DOLLAR);
    hocket__set_int(L, "unpriced", u->unpriced);
}

void hocket__account_push_usage(lua_State *L, const struct hocket__lua_accounts *a, uint64_t id)
{
    struct hocket__account_info info;
    if (hocket__account_get(a->s, id, &info))
        push_usage(L, &info.total);
    else
        lua_pushnil(L);
}

/* a:usage(id) -> the account's total; nil when it is not known (any more) */
static int l_usage(lua_State *L)
{
    hocket__account_push_usage(L, hocket__check_accounts(L, 1), (uint64_t) luaL_checkinteger(L, 2));
    return 1;
}

static void set_name(lua_State *L, const char *name, const char *value)
{
    if (!*value)
        return;
    hocket__set_cstr(L, name, value);
}

static void push_tree(lua_State *L, const struct view *v, uint64_t id, int depth);

/* Jobs without a name that did nothing themselves are passed over: their children stand here. */
static bool is_passed_over(const struct hocket__account_info *i)
{
    return !*i->agent && !*i->trigger && i->own.calls == 0 && i->own.tool_calls == 0
           && i->merged == 0;
}

static int64_t ms_of(const struct view *v, const struct hocket__account_info *i)
{
    return (i->closed_ms ? i->closed_ms : v->now_ms) - i->opened_ms;
}

static void add_children(lua_State *L, const struct view *v, uint64_t id, int depth)
{
    for (uint64_t c = hocket__account_first(v->s, id); c && depth < DEPTH;
         c = hocket__account_next(v->s, c)) {
        struct hocket__account_info info;
        hocket__account_get(v->s, c, &info);
        if (is_passed_over(&info)) {
            add_children(L, v, c, depth + 1);
            continue;
        }
        push_tree(L, v, c, depth + 1);
        lua_rawseti(L, -2, (lua_Integer) lua_rawlen(L, -2) + 1);
    }
}

static void push_tree(lua_State *L, const struct view *v, uint64_t id, int depth)
{
    struct hocket__account_info info;
    hocket__need_stack(L, 6);
    hocket__account_get(v->s, id, &info);
    lua_createtable(L, 0, 8);
    set_name(L, "op", info.op);
    set_name(L, "agent", info.agent);
    set_name(L, "trigger", info.trigger);
    set_number(L, "seconds", ms_of(v, &info), 1000);
    push_usage(L, &info.own);
    lua_setfield(L, -2, "own");
    push_usage(L, &info.total);
    lua_setfield(L, -2, "total");
    if (info.merged > 0)
        hocket__set_int(L, "merged", (int64_t) info.merged);
    lua_newtable(L);
    luaL_setmetatable(L, HOCKET__ARRAY_META);
    add_children(L, v, id, depth);
    lua_setfield(L, -2, "children");
}

/* a:tree() -> {op=, agent=, trigger=, seconds=, own=, total=, merged=, children={…}} of the run */
static int l_tree(lua_State *L)
{
    struct view v = view_of(hocket__check_accounts(L, 1));
    push_tree(L, &v, HOCKET__ACCOUNT_ROOT, 1);
    return 1;
}

/* a:seconds() -> how long there has been the run */
static int l_seconds(lua_State *L)
{
    struct view v = view_of(hocket__check_accounts(L, 1));
    struct hocket__account_info info;
    hocket__account_get(v.s, HOCKET__ACCOUNT_ROOT, &info);
    lua_pushnumber(L, (double) ms_of(&v, &info) / 1000);
    return 1;
}

/* Members stand with their commas: one that comes first is never left out. */
static void write_text(struct hocket__buf *out, struct hocket__str name, const char *value)
{
    if (!*value)
        return;
    hocket__buf_addstr(out, name);
    hocket__jw_cstring(out, value);
}

static void write_tree(struct hocket__buf *out, const struct view *v,
    const struct hocket__account_info *info, int depth);

static void write_children(struct hocket__buf *out, const struct view *v, uint64_t id, int depth)
{
    for (uint64_t c = hocket__account_first(v->s, id); c && depth < DEPTH;
         c = hocket__account_next(v->s, c)) {
        struct hocket__account_info info;
        hocket__account_get(v->s, c, &info);
        if (is_passed_over(&info))
            write_children(out, v, c, depth + 1);
        else
            write_tree(out, v, &info, depth + 1);
    }
}

static void write_seconds(
    struct hocket__buf *out, const struct view *v, const struct hocket__account_info *info)
{
    char text[HOCKET__NUM_MAX], *end = hocket__num_put_decimal(text, ms_of(v, info), 3);
    hocket__buf_lit(out, ",\"seconds\":");
    hocket__buf_add(out, text, (size_t) (end - text));
}

static void write_tree(struct hocket__buf *out, const struct view *v,
    const struct hocket__account_info *info, int depth)
{
    hocket__jw_open(out, '{');
    write_text(out, HOCKET__STR("\"agent\":"), info->agent);
    hocket__jw_key(out, "children");
    hocket__buf_addc(out, '[');
    write_children(out, v, info->id, depth);
    hocket__buf_addc(out, ']');
    if (info->merged > 0)
        hocket__jw_key_int(out, "merged", (int64_t) info->merged);
    write_text(out, HOCKET__STR(",\"op\":"), info->op);
    hocket__buf_lit(out, ",\"own\":");
    hocket__usage_sum_print(&info->own, out);
    write_seconds(out, v, info);
    hocket__buf_lit(out, ",\"total\":");
    hocket__usage_sum_print(&info->total, out);
    write_text(out, HOCKET__STR(",\"trigger\":"), info->trigger);
    hocket__buf_addc(out, '}');
}

/* a:tree_json() -> the same as JSON text. Of a run with many calls it is most of what is said of
 * it. */
static int l_tree_json(lua_State *L)
{
    struct hocket__runtime *rt = hocket__runtime(L);
    struct view v = view_of(hocket__check_accounts(L, 1));
    struct hocket__account_info info;
    hocket__buf_reset(&rt->scratch);
    hocket__account_get(v.s, HOCKET__ACCOUNT_ROOT, &info);
    write_tree(&rt->scratch, &v, &info, 1);
    if (rt->scratch.status < 0)
        return hocket__raise_nomem(L);
    hocket__push_str(L, hocket__buf_str(&rt->scratch));
    return 1;
}

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

/* a:raise(id, counted): adds what `counted`, of an earlier life of the run, has more than it has used in this one */
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

static int push_left(lua_State *L,
    int64_t (*left_of)(const struct hocket__accounts *, uint64_t, enum hocket__budget_kind))
{
    static const char *const kinds[] = { "turns", "tool_calls", "tokens", "cost", NULL };
    enum hocket__budget_kind kind = (enum hocket__budget_kind) luaL_checkoption(L, 3, NULL, kinds);
    int64_t left = left_of(check(L), id_at(L, 2), kind);
    if (left == HOCKET__NO_LIMIT)
        return 0;
    push_amount(L, kind, left);
    return 1;
}

/* a:left(id, kind) -> what is left of the account's own limit, nil where there is none */
static int l_left(lua_State *L)
{
    return push_left(L, hocket__budget_left);
}

/* a:above(id, kind) -> what is left of the tightest limit above it; nil where there is none */
static int l_above(lua_State *L)
{
    return push_left(L, hocket__budget_left_above);
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

/* a:take_back(id, kind[, most]): takes back what l_lend gave and nobody used, so much at most */
static int l_take_back(lua_State *L)
{
    static const char *const kinds[] = { "turns", "tool_calls", "tokens", "cost", NULL };
    enum hocket__budget_kind kind = (enum hocket__budget_kind) luaL_checkoption(L, 3, NULL, kinds);
    double most = luaL_optnumber(L, 4, -1);
    int64_t unit = kind == HOCKET__BUDGET_COST ? HOCKET__DOLLAR : 1;
    hocket__budget_take_back(
        check(L), id_at(L, 2), kind, most < 0 ? HOCKET__NO_LIMIT : limit_of(most, (double) unit));
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
    { "usage", l_usage },
    { "seconds", l_seconds },
    { "tree", l_tree },
    { "tree_json", l_tree_json },
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

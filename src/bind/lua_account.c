/* hocket.core.account: the accounts of a run and their budgets. Money is a number of dollars
 * here, and whole nano-dollars inside. */

#include "bind/account.h"

#include <math.h>
#include <string.h>

#include <uv.h>

#include "base/buf.h"
#include "base/json_write.h"
#include "bind/json.h"
#include "bind/runtime.h"
#include "bind/util.h"
#include "core/budget.h"

#define META  "hocket.accounts"
#define KEEP  1000 /* accounts of one run that are kept apart */
#define DEPTH 200  /* of a tree as tables: what lies deeper is in the sums only */

struct accounts {
    struct hocket__accounts *s;
};

static struct hocket__accounts *check(lua_State *L)
{
    return ((struct accounts *) luaL_checkudata(L, 1, META))->s;
}

static int64_t now_ms(void)
{
    return (int64_t) (uv_hrtime() / 1000000);
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
    struct accounts *a = lua_newuserdatauv(L, sizeof(*a), 0);
    a->s = NULL;
    luaL_setmetatable(L, META);
    if (hocket__accounts_new(rt->alloc, (size_t) keep, now_ms(), &a->s) < 0)
        return luaL_error(L, "out of memory");
    return 1;
}

static struct hocket__str name_at(lua_State *L, int arg)
{
    struct hocket__str s = { "", 0 };
    if (!lua_isnoneornil(L, arg))
        s.p = luaL_checklstring(L, arg, &s.n);
    return s;
}

/* a:open(parent, op?, agent?, trigger?) -> id */
static int l_open(lua_State *L)
{
    struct hocket__account_names names = { name_at(L, 3), name_at(L, 4), name_at(L, 5) };
    uint64_t id = hocket__account_open(check(L), id_at(L, 2), &names, now_ms());
    if (!id)
        return luaL_error(L, "out of memory");
    lua_pushinteger(L, (lua_Integer) id);
    return 1;
}

/* a:close(id) */
static int l_close(lua_State *L)
{
    hocket__account_close(check(L), id_at(L, 2), now_ms());
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

/* a:add(id, usage, cost?, seconds): one model call; usage as in a reply */
static int l_add(lua_State *L)
{
    struct hocket__accounts *s = check(L);
    int64_t cost = units(L, 4, (double) HOCKET__DOLLAR);
    luaL_checktype(L, 3, LUA_TTABLE);
    struct hocket__usage_sum used = { .input = field(L, 3, "input"),
        .output = field(L, 3, "output"),
        .cached = field(L, 3, "cached"),
        .cache_write = field(L, 3, "cache_write"),
        .reasoning = field(L, 3, "reasoning"),
        .calls = 1,
        .cost = cost,
        .unpriced = cost < 0,
        .ms = units(L, 5, 1000) };
    hocket__account_add(s, id_at(L, 2), &used);
    return 0;
}

/* a:lost(id, free): a model call that was given up: what it used nobody says */
static int l_lost(lua_State *L)
{
    struct hocket__usage_sum used = { .calls = 1, .unpriced = !lua_toboolean(L, 3) };
    hocket__account_add(check(L), id_at(L, 2), &used);
    return 0;
}

/* a:add_tools(id, n) */
static int l_add_tools(lua_State *L)
{
    struct hocket__usage_sum used = { .tool_calls = luaL_checkinteger(L, 3) };
    hocket__account_add(check(L), id_at(L, 2), &used);
    return 0;
}

/* ---- Budgets ----------------------------------------------------------------------- */

static int64_t opt_limit(lua_State *L, const char *name)
{
    return hocket__opt_int(L, 3, name, HOCKET__NO_LIMIT, 0, INT64_MAX);
}

static int64_t opt_units(lua_State *L, const char *name, double one)
{
    double v = hocket__opt_number(L, 3, name, -1);
    if (v < 0 || isnan(v))
        return HOCKET__NO_LIMIT;
    return v * one < 9e18 ? (int64_t) (v * one + 0.5) : INT64_MAX;
}

/* a:limit(id, {turns=, tool_calls=, tokens=, cost=, seconds=, warn_at=, reserve=}) -> true | nil,
 * error */
static int l_limit(lua_State *L)
{
    static const char *const names[] = { "turns", "tool_calls", "tokens", "cost", "seconds",
        "warn_at", "reserve", NULL };
    struct hocket_error err;
    luaL_checktype(L, 3, LUA_TTABLE);
    hocket__opt_only(L, 3, names);
    struct hocket__budget_spec spec = {
        .limit = { opt_limit(L, "turns"), opt_limit(L, "tool_calls"), opt_limit(L, "tokens"),
            opt_units(L, "cost", (double) HOCKET__DOLLAR) },
        .time_ms = opt_units(L, "seconds", 1000),
        .warn_permille = (int) (fmin(fmax(hocket__opt_number(L, 3, "warn_at", 0.8), 0), 1) * 1000),
        .reserve = hocket__opt_bool(L, 3, "reserve", false),
    };
    int rc = hocket__budget_set(check(L), id_at(L, 2), &spec);
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
    lua_pushboolean(L, hocket__budget_matters(check(L), id_at(L, 2)));
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

/* Pushes kind, used, limit and the agent whose limit it is ("": the run). */
static int push_why(
    lua_State *L, const struct hocket__accounts *s, const struct hocket__budget_answer *a)
{
    struct hocket__account_info info;
    lua_pushstring(L, hocket__budget_word(a->kind));
    push_amount(L, a->kind, a->used);
    push_amount(L, a->kind, a->limit);
    lua_pushstring(L, hocket__account_get(s, a->account, &info) ? info.agent : "");
    return 4;
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
    struct hocket__budget_ask ask = { luaL_checkinteger(L, 3), luaL_optinteger(L, 4, -1),
        price_at(L, 5), price_at(L, 6), lua_toboolean(L, 7) };
    struct hocket__budget_answer a = hocket__budget_ask(s, id_at(L, 2), &ask, now_ms());
    if (a.verdict == HOCKET__BUDGET_NOMEM)
        return luaL_error(L, "out of memory");
    lua_pushstring(L, words[a.verdict]);
    if (a.verdict != HOCKET__BUDGET_GO)
        return 1 + push_why(L, s, &a);
    lua_pushinteger(L, (lua_Integer) a.hold);
    if (a.max_output < 0)
        return 2;
    lua_pushinteger(L, a.max_output);
    return 3;
}

/* a:settle(hold, goes_on) -> whether it was open */
static int l_settle(lua_State *L)
{
    lua_pushboolean(L, hocket__budget_settle(check(L), id_at(L, 2), lua_toboolean(L, 3)));
    return 1;
}

/* a:tools(id, n) -> how many may be made, and when it is fewer: kind, used, limit, agent */
static int l_tools(lua_State *L)
{
    struct hocket__accounts *s = check(L);
    struct hocket__budget_answer a = { 0 };
    lua_Integer n = luaL_checkinteger(L, 3), may = hocket__budget_tools(s, id_at(L, 2), n, &a);
    lua_pushinteger(L, may);
    return may < n ? 1 + push_why(L, s, &a) : 1;
}

/* a:warning(id) -> kind, used, limit, agent of a warning that is due; nothing when none is */
static int l_warning(lua_State *L)
{
    struct hocket__accounts *s = check(L);
    struct hocket__budget_answer a;
    return hocket__budget_warning(s, id_at(L, 2), &a) ? push_why(L, s, &a) : 0;
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

/* a:stop() */
static int l_stop(lua_State *L)
{
    hocket__budget_stop(check(L));
    return 0;
}

/* ---- Looking ------------------------------------------------------------------------- */

static void set_int(lua_State *L, const char *name, int64_t v)
{
    lua_pushinteger(L, v);
    lua_setfield(L, -2, name);
}

static void set_number(lua_State *L, const char *name, int64_t v, int64_t one)
{
    lua_pushnumber(L, (double) v / (double) one);
    lua_setfield(L, -2, name);
}

/* A cost of which a part is not known is null, and what is known of it stands beside. */
static void push_usage(lua_State *L, const struct hocket__usage_sum *u)
{
    lua_createtable(L, 0, 10);
    set_int(L, "input", u->input);
    set_int(L, "output", u->output);
    set_int(L, "cached", u->cached);
    set_int(L, "cache_write", u->cache_write);
    set_int(L, "reasoning", u->reasoning);
    set_int(L, "calls", u->calls);
    set_int(L, "tool_calls", u->tool_calls);
    set_number(L, "seconds", u->ms, 1000);
    if (u->unpriced == 0) {
        set_number(L, "cost", u->cost, HOCKET__DOLLAR);
        return;
    }
    hocket__json_push_null(L);
    lua_setfield(L, -2, "cost");
    set_number(L, "cost_known", u->cost, HOCKET__DOLLAR);
    set_int(L, "unpriced", u->unpriced);
}

/* a:usage(id) -> the account's total; nil when it is not known (any more) */
static int l_usage(lua_State *L)
{
    struct hocket__account_info info;
    if (!hocket__account_get(check(L), id_at(L, 2), &info))
        return 0;
    push_usage(L, &info.total);
    return 1;
}

/* a:json(id) -> the same as JSON text; nil when nothing was used */
static int l_json(lua_State *L)
{
    struct hocket__runtime *rt = hocket__runtime(L);
    struct hocket__account_info info;
    if (!hocket__account_get(check(L), id_at(L, 2), &info)
        || (info.total.calls == 0 && info.total.tool_calls == 0))
        return 0;
    hocket__buf_reset(&rt->scratch);
    hocket__usage_sum_print(&info.total, &rt->scratch);
    hocket__push_str(L, hocket__buf_str(&rt->scratch));
    return 1;
}

static void set_name(lua_State *L, const char *name, const char *value)
{
    if (!*value)
        return;
    lua_pushstring(L, value);
    lua_setfield(L, -2, name);
}

static void push_tree(lua_State *L, const struct hocket__accounts *s, uint64_t id, int depth);

/* Jobs without a name that did nothing themselves are passed over: their children stand here. */
static bool is_passed_over(const struct hocket__account_info *i)
{
    return !*i->agent && !*i->trigger && i->own.calls == 0 && i->own.tool_calls == 0
           && i->merged == 0;
}

static double seconds_of(const struct hocket__account_info *i)
{
    return (double) ((i->closed_ms ? i->closed_ms : now_ms()) - i->opened_ms) / 1000;
}

static void add_children(lua_State *L, const struct hocket__accounts *s, uint64_t id, int depth)
{
    for (uint64_t c = hocket__account_first(s, id); c && depth < DEPTH;
         c = hocket__account_next(s, c)) {
        struct hocket__account_info info;
        hocket__account_get(s, c, &info);
        if (is_passed_over(&info)) {
            add_children(L, s, c, depth + 1);
            continue;
        }
        push_tree(L, s, c, depth + 1);
        lua_rawseti(L, -2, (lua_Integer) lua_rawlen(L, -2) + 1);
    }
}

static void push_tree(lua_State *L, const struct hocket__accounts *s, uint64_t id, int depth)
{
    struct hocket__account_info info;
    luaL_checkstack(L, 6, "the tree is too deep");
    hocket__account_get(s, id, &info);
    lua_createtable(L, 0, 8);
    set_name(L, "op", info.op);
    set_name(L, "agent", info.agent);
    set_name(L, "trigger", info.trigger);
    lua_pushnumber(L, seconds_of(&info));
    lua_setfield(L, -2, "seconds");
    push_usage(L, &info.own);
    lua_setfield(L, -2, "own");
    push_usage(L, &info.total);
    lua_setfield(L, -2, "total");
    if (info.merged > 0)
        set_int(L, "merged", (int64_t) info.merged);
    lua_newtable(L);
    luaL_setmetatable(L, HOCKET__ARRAY_META);
    add_children(L, s, id, depth);
    lua_setfield(L, -2, "children");
}

/* a:tree() -> {op=, agent=, trigger=, seconds=, own=, total=, merged=, children={…}} of the run */
static int l_tree(lua_State *L)
{
    push_tree(L, check(L), HOCKET__ACCOUNT_ROOT, 1);
    return 1;
}

static void write_name(struct hocket__buf *out, const char *name, const char *value)
{
    if (!*value)
        return;
    hocket__jw_key(out, name);
    hocket__jw_cstring(out, value);
}

static void write_tree(
    struct hocket__buf *out, const struct hocket__accounts *s, uint64_t id, int depth);

static void write_children(
    struct hocket__buf *out, const struct hocket__accounts *s, uint64_t id, int depth)
{
    for (uint64_t c = hocket__account_first(s, id); c && depth < DEPTH;
         c = hocket__account_next(s, c)) {
        struct hocket__account_info info;
        hocket__account_get(s, c, &info);
        if (is_passed_over(&info))
            write_children(out, s, c, depth + 1);
        else
            write_tree(out, s, c, depth + 1);
    }
}

static void write_tree(
    struct hocket__buf *out, const struct hocket__accounts *s, uint64_t id, int depth)
{
    struct hocket__account_info info;
    hocket__account_get(s, id, &info);
    hocket__jw_open(out, '{');
    write_name(out, "agent", info.agent);
    hocket__jw_key(out, "children");
    hocket__jw_open(out, '[');
    write_children(out, s, id, depth);
    hocket__jw_close(out, ']');
    if (info.merged > 0) {
        hocket__jw_key(out, "merged");
        hocket__jw_int(out, (int64_t) info.merged);
    }
    write_name(out, "op", info.op);
    hocket__jw_key(out, "own");
    hocket__usage_sum_print(&info.own, out);
    hocket__jw_key(out, "seconds");
    hocket__jw_double(out, seconds_of(&info));
    hocket__jw_key(out, "total");
    hocket__usage_sum_print(&info.total, out);
    write_name(out, "trigger", info.trigger);
    hocket__jw_close(out, '}');
}

/* a:tree_json() -> the same as JSON text. Of a run with many calls it is most of what is said of
 * it. */
static int l_tree_json(lua_State *L)
{
    struct hocket__runtime *rt = hocket__runtime(L);
    hocket__buf_reset(&rt->scratch);
    write_tree(&rt->scratch, check(L), HOCKET__ACCOUNT_ROOT, 1);
    if (rt->scratch.status < 0)
        return luaL_error(L, "out of memory");
    hocket__push_str(L, hocket__buf_str(&rt->scratch));
    return 1;
}

static int l_gc(lua_State *L)
{
    struct accounts *a = hocket__gc_userdata(L, l_gc);
    if (a)
        hocket__accounts_free(a->s);
    if (a)
        a->s = NULL;
    return 0;
}

static const luaL_Reg functions[] = { { "new", l_new }, { NULL, NULL } };
static const luaL_Reg methods[] = {
    { "open", l_open },
    { "close", l_close },
    { "add", l_add },
    { "lost", l_lost },
    { "add_tools", l_add_tools },
    { "limit", l_limit },
    { "matters", l_matters },
    { "ask", l_ask },
    { "settle", l_settle },
    { "tools", l_tools },
    { "warning", l_warning },
    { "left", l_left },
    { "stop", l_stop },
    { "usage", l_usage },
    { "json", l_json },
    { "tree", l_tree },
    { "tree_json", l_tree_json },
    { "__gc", l_gc },
    { NULL, NULL },
};

int hocket__open_account(lua_State *L)
{
    hocket__newmeta(L, META, methods);
    lua_pop(L, 1);
    lua_newtable(L);
    hocket__setfuncs(L, functions);
    return 1;
}

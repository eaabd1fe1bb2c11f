/* What the accounts of a run say: the usage of one, and the tree of all of them, as tables and as
 * JSON.
 *
 * Two forms of one walk, since results go to C as text and to scripts as tables. Where a run has
 * very many accounts those that are closed have been merged into the one above (core/account):
 * their numbers are there, and their number is told. */

#include "base/json/json.h"
#include "base/num/num.h"
#include "bind/account/account.h"
#include "bind/fiber/fiber.h"
#include "bind/json/json.h"
#include "bind/runtime.h"
#include "bind/util.h"

/* What is looked at, and when. */
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
    lua_pushnumber(L, (double) v / (double) one);
    lua_setfield(L, -2, name);
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
int hocket__account_l_usage(lua_State *L)
{
    hocket__account_push_usage(L, hocket__check_accounts(L, 1), (uint64_t) luaL_checkinteger(L, 2));
    return 1;
}

static void set_name(lua_State *L, const char *name, const char *value)
{
    if (!*value)
        return;
    lua_pushstring(L, value);
    lua_setfield(L, -2, name);
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
int hocket__account_l_tree(lua_State *L)
{
    struct view v = view_of(hocket__check_accounts(L, 1));
    push_tree(L, &v, HOCKET__ACCOUNT_ROOT, 1);
    return 1;
}

/* a:seconds() -> how long there has been the run */
int hocket__account_l_seconds(lua_State *L)
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
    if (info->merged > 0) {
        hocket__jw_key(out, "merged");
        hocket__jw_int(out, (int64_t) info->merged);
    }
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
int hocket__account_l_tree_json(lua_State *L)
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

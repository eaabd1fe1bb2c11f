/* A model's reply as a Lua table.
 *
 * Fields that the provider did not give are nil, not 0 or "". Texts are pushed once and not copied
 * before. */

#include "bind/llm/llm.h"

#include <string.h>

#include "bind/util.h"

static void set_text(lua_State *L, const char *name, const struct hocket__buf *b)
{
    hocket__push_str(L, hocket__buf_str(b));
    lua_setfield(L, -2, name);
}

static void set_count(lua_State *L, const char *name, int64_t v)
{
    if (v >= 0) {
        lua_pushinteger(L, v);
        lua_setfield(L, -2, name);
    }
}

static void set_cost(lua_State *L, int64_t cost)
{
    if (cost < 0)
        return;
    lua_pushnumber(L, (double) cost / (double) HOCKET__DOLLAR);
    lua_setfield(L, -2, "cost");
}

static void push_usage(lua_State *L, const struct hocket__usage *u, int64_t cost)
{
    lua_createtable(L, 0, 6);
    set_cost(L, cost);
    set_count(L, "input", u->input);
    set_count(L, "output", u->output);
    set_count(L, "cached", u->cached);
    set_count(L, "cache_write", u->cache_write);
    set_count(L, "reasoning", u->reasoning);
}

static void set_usage(lua_State *L, const struct hocket__answer *a)
{
    struct hocket__usage usage = hocket__usage_of(a->llm);
    push_usage(L, &usage, a->cost);
    lua_setfield(L, -2, "usage");
}

static void push_call(lua_State *L, const struct hocket__call *c)
{
    lua_createtable(L, 0, 3);
    set_text(L, "id", &c->id);
    set_text(L, "name", &c->name);
    set_text(L, "arguments", &c->arguments);
}

static void push_calls(lua_State *L, const struct hocket__reply *r)
{
    lua_createtable(L, (int) r->n_calls, 0);
    for (size_t i = 0; i < r->n_calls; i++) {
        push_call(L, &r->calls[i]);
        lua_rawseti(L, -2, (lua_Integer) i + 1);
    }
}

/* Its tools are at work, or the conversation was made shorter: it goes on from there. */
static bool is_paused(struct hocket__str finish)
{
    return hocket__str_is(finish, "pause_turn") || hocket__str_is(finish, "compaction");
}

void hocket__push_reply(lua_State *L, const struct hocket__answer *a, bool with_usage)
{
    const struct hocket__reply *r = hocket__llm_reply(a->llm);
    struct hocket__llm_timing t = hocket__llm_timing(a->llm);
    lua_createtable(L, 0, 14);
    set_text(L, "text", &r->text);
    if (r->reasoning.len > 0)
        set_text(L, "reasoning", &r->reasoning);
    if (r->in_tags) {
        lua_pushboolean(L, true);
        lua_setfield(L, -2, "in_tags");
    }
    if (r->has_refusal)
        set_text(L, "refusal", &r->refusal);
    push_calls(L, r);
    lua_setfield(L, -2, "calls");
    lua_pushstring(L, r->finish ? hocket__finish_word(r->finish) : "stop");
    lua_setfield(L, -2, "finish");
    if (is_paused(hocket__buf_str(&r->finish_raw))) {
        lua_pushboolean(L, true);
        lua_setfield(L, -2, "paused");
    }
    if (with_usage)
        set_usage(L, a);
    set_cost(L, a->cost);
    set_text(L, "model", &r->model);
    set_text(L, "id", &r->id);
    lua_pushnumber(L, (double) t.total_us / 1e6);
    lua_setfield(L, -2, "seconds");
    lua_pushnumber(L, (double) a->waited_ms / 1000);
    lua_setfield(L, -2, "waited");
    if (t.first_us > 0) {
        lua_pushnumber(L, (double) t.first_us / 1e6);
        lua_setfield(L, -2, "first_seconds");
    }
}

/* A model request as Lua describes it, read and checked once for all the turns of a session: of
 * every call only the model, the time and the history are new.
 *
 * What a request points to (tools as text, the system prompt) is anchored in its userdata, which
 * lives as long as the session. */

#include "bind/llm/llm.h"

#include <math.h>

#include "bind/options.h"
#include "bind/runtime.h"
#include "bind/util.h"

static const char REQUEST[] = "hocket.llm_request";

struct hocket__lua_request *hocket__check_request(lua_State *L, int arg)
{
    return hocket__check_object(L, arg, REQUEST);
}

#define ROW(kind, name, field) HOCKET__OPT_##kind(name, struct hocket__lua_request, net.field)

static const struct hocket__opt rows[] = {
    { ROW(TEXT, "system", system) },
    { ROW(TEXT, "tools", tools) },
    { ROW(TEXT, "server_tools", server_tools) },
    { ROW(WORD, "tool_choice", tool_choice) },
    { ROW(NOT, "parallel", no_parallel_calls) },
    { ROW(BOOL, "stream", stream) },
    { ROW(NUMBER, "temperature", temperature) },
    { ROW(NUMBER, "top_p", top_p) },
    { HOCKET__OPT_INT("top_k", struct hocket__lua_request, net.top_k, 0, INT32_MAX) },
    { HOCKET__OPT_INT("max_tokens", struct hocket__lua_request, net.max_tokens, 1, INT32_MAX) },
    { HOCKET__OPT_INT("seed", struct hocket__lua_request, net.seed, 0, INT64_MAX) },
    { ROW(TEXT, "stop", stop) },
    { ROW(WORD, "reasoning", reasoning) },
    { ROW(TEXT, "schema", schema) },
    { ROW(WORD, "schema_name", schema_name) },
    { ROW(TEXT, "extra", extra) },
    { ROW(BOOL, "cache_mark", cache_mark) },
    { HOCKET__OPT_BOOL("warm_cache", struct hocket__lua_request, first) },
    { HOCKET__OPT_SECONDS("connect_timeout", struct hocket__lua_request, connect_ms) },
    { HOCKET__OPT_SECONDS("first_timeout", struct hocket__lua_request, first_ms) },
    { HOCKET__OPT_SECONDS("idle_timeout", struct hocket__lua_request, idle_ms) },
    { HOCKET__OPT_SECONDS("max_wait", struct hocket__lua_request, max_wait_ms) },
    { HOCKET__OPT_OWN("timeout") },
    { HOCKET__OPT_OWN("retries") },
    { 0 },
};

/* A copy of the table, which keeps the texts that the request points to. */
static void push_copy(lua_State *L, int idx)
{
    lua_newtable(L);
    for (lua_pushnil(L); lua_next(L, idx);) {
        lua_pushvalue(L, -2);
        lua_insert(L, -2);
        lua_rawset(L, -4);
    }
}

/* request(fields, deltas?) -> request, timeout?, retries: what of it Lua keeps to itself */
static int l_request(lua_State *L)
{
    static const struct hocket__retry_policy *const usual = &hocket__retry_default;
    bool deltas = lua_toboolean(L, 2);
    luaL_checktype(L, 1, LUA_TTABLE);
    push_copy(L, 1);
    lua_replace(L, 1);
    struct hocket__lua_request *r = hocket__new_object(L, sizeof(*r), 2, REQUEST);
    *r = (struct hocket__lua_request){
        .net = { .stream = true,
            .temperature = NAN,
            .top_p = NAN,
            .top_k = -1,
            .max_tokens = -1,
            .seed = -1,
            .system = { "", 0 },
            .tools = { "", 0 },
            .server_tools = { "", 0 },
            .stop = { "", 0 },
            .schema = { "", 0 },
            .extra = { "", 0 } },
        .max_wait_ms = (int) usual->max_wait_ms,
        .deltas = deltas,
    };
    hocket__opt_read(L, 1, rows, r);
    hocket__buf_init(&r->fitted, hocket__runtime(L)->alloc, 0);
    hocket__buf_init(&r->fitted_schema, hocket__runtime(L)->alloc, 0);
    hocket__prepared_init(&r->prepared, hocket__runtime(L)->alloc);
    r->net.prepared = &r->prepared;
    luaL_setmetatable(L, REQUEST);
    lua_pushvalue(L, 1);
    lua_setiuservalue(L, -2, 1);
    double timeout = hocket__opt_number(L, 1, "timeout", 0);
    if (timeout > 0)
        lua_pushnumber(L, timeout);
    else
        lua_pushnil(L);
    lua_pushinteger(L, hocket__opt_int(L, 1, "retries", usual->retries, 0, INT32_MAX));
    return 3;
}

static int request_gc(lua_State *L)
{
    struct hocket__lua_request *r = hocket__gc_userdata(L, request_gc);
    if (r) {
        hocket__prepared_reset(&r->prepared);
        hocket__buf_deinit(&r->fitted);
        hocket__buf_deinit(&r->fitted_schema);
    }
    return 0;
}

void hocket__open_request(lua_State *L)
{
    static const luaL_Reg functions[] = { { "request", l_request }, { NULL, NULL } };
    static const luaL_Reg methods[] = { { "__gc", request_gc }, { NULL, NULL } };
    hocket__newmeta(L, REQUEST, methods);
    lua_pop(L, 1);
    hocket__setfuncs(L, functions);
}

/* A model request as Lua describes it, read and checked once for all the turns of a session: of
 * every call only the model, the time and the history are new.
 *
 * What a request points to (tools as text, the system prompt) is anchored in its userdata, which
 * lives as long as the session. */

#include "bind/llm/llm.h"

#include <math.h>

#include "bind/runtime.h"
#include "bind/util.h"

static const char REQUEST[] = "hocket.llm_request";

struct hocket__lua_request *hocket__check_request(lua_State *L, int arg)
{
    return hocket__check_object(L, arg, REQUEST);
}

static const char *word(lua_State *L, const char *name)
{
    return hocket__opt_str(L, 1, name).p;
}

static struct hocket__str text(lua_State *L, const char *name)
{
    struct hocket__str s = hocket__opt_str(L, 1, name);
    return s.p ? s : hocket__str("", 0);
}

static int option_ms(lua_State *L, const char *name)
{
    return hocket__seconds_to_ms(hocket__opt_number(L, 1, name, 0));
}

int hocket__seconds_to_ms(double s)
{
    return !(s > 0) ? 0 : s > 86400 * 20 ? INT32_MAX : s < 0.001 ? 1 : (int) (s * 1000);
}

static struct hocket__llm_request read_request(lua_State *L)
{
    return (struct hocket__llm_request){
        .system = text(L, "system"),
        .tools = text(L, "tools"),
        .server_tools = text(L, "server_tools"),
        .tool_choice = word(L, "tool_choice"),
        .no_parallel_calls = !hocket__opt_bool(L, 1, "parallel", true),
        .stream = hocket__opt_bool(L, 1, "stream", true),
        .temperature = hocket__opt_number(L, 1, "temperature", NAN),
        .top_p = hocket__opt_number(L, 1, "top_p", NAN),
        .top_k = hocket__opt_int(L, 1, "top_k", -1, 0, INT32_MAX),
        .max_tokens = hocket__opt_int(L, 1, "max_tokens", -1, 1, INT32_MAX),
        .seed = hocket__opt_int(L, 1, "seed", -1, 0, INT64_MAX),
        .stop = text(L, "stop"),
        .reasoning = word(L, "reasoning"),
        .schema = text(L, "schema"),
        .schema_name = word(L, "schema_name"),
        .extra = text(L, "extra"),
    };
}

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
    static const char *const names[] = { "system", "tools", "tool_choice", "parallel", "stream",
        "temperature", "top_p", "top_k", "max_tokens", "seed", "stop", "reasoning", "schema",
        "schema_name", "extra", "server_tools", "connect_timeout", "first_timeout", "idle_timeout",
        "timeout", "retries", "max_wait", NULL };
    static const struct hocket__retry_policy *const usual = &hocket__retry_default;
    bool deltas = lua_toboolean(L, 2);
    luaL_checktype(L, 1, LUA_TTABLE);
    hocket__opt_only(L, 1, names);
    push_copy(L, 1);
    lua_replace(L, 1);
    struct hocket__lua_request *r = hocket__new_object(L, sizeof(*r), 2, REQUEST);
    *r = (struct hocket__lua_request){
        .net = read_request(L),
        .connect_ms = option_ms(L, "connect_timeout"),
        .first_ms = option_ms(L, "first_timeout"),
        .idle_ms = option_ms(L, "idle_timeout"),
        .max_wait_ms = hocket__seconds_to_ms(
            hocket__opt_number(L, 1, "max_wait", (double) usual->max_wait_ms / 1000)),
        .deltas = deltas,
    };
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
    if (r)
        hocket__prepared_reset(&r->prepared);
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

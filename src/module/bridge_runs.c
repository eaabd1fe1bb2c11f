/* Runs: started, told something, and what they tell. */
#include "bridge_impl.h"

/* start(host, target, input?, options?) -> id | nil, err */
int bridge_start(lua_State *L)
{
    struct bridge *b = bridge_check(L);
    struct hocket_error err;
    size_t len = 0;
    uint64_t id;
    struct hocket_run_spec spec = { .size = sizeof(spec), .target = luaL_checkstring(L, 2) };
    spec.input = luaL_optlstring(L, 3, NULL, &len);
    spec.input_len = len;
    spec.options = luaL_optstring(L, 4, NULL);
    if (bridge_hocket->run_start(b->host, &spec, &id, NULL, NULL, NULL, &err) < 0)
        return bridge_fail_with(L, &err);
    lua_pushnumber(L, (lua_Number) id);
    return 1;
}

int bridge_cancel(lua_State *L)
{
    struct bridge *b = bridge_check(L);
    lua_pushboolean(L, bridge_hocket->run_cancel(b->host, bridge_check_id(L, 2)) == 0);
    return 1;
}

int bridge_stop(lua_State *L)
{
    struct bridge *b = bridge_check(L);
    lua_pushboolean(L, bridge_hocket->run_stop(b->host, bridge_check_id(L, 2)) == 0);
    return 1;
}

/* interrupt(host, run) -> true | nil, err */
int bridge_interrupt(lua_State *L)
{
    struct bridge *b = bridge_check(L);
    struct hocket_error err;
    if (bridge_hocket->run_interrupt(b->host, bridge_check_id(L, 2), &err) < 0)
        return bridge_fail_with(L, &err);
    return bridge_done(L);
}

/* change(host, run, options) -> true | nil, err */
int bridge_change(lua_State *L)
{
    struct bridge *b = bridge_check(L);
    struct hocket_error err;
    if (bridge_hocket->run_change(b->host, bridge_check_id(L, 2), luaL_checkstring(L, 3), &err) < 0)
        return bridge_fail_with(L, &err);
    return bridge_done(L);
}

/* tree(host, run) -> tree | nil, err */
int bridge_run_tree(lua_State *L)
{
    struct bridge *b = bridge_check(L);
    return bridge_tree(L, b->host, bridge_check_id(L, 2));
}

/* answer(host, run, question, text) -> true | nil, err */
int bridge_answer(lua_State *L)
{
    struct bridge *b = bridge_check(L);
    struct hocket_error err;
    size_t len;
    const char *text = luaL_checklstring(L, 4, &len);
    if (bridge_hocket->run_answer(
            b->host, bridge_check_id(L, 2), luaL_checkstring(L, 3), text, len, &err)
        < 0)
        return bridge_fail_with(L, &err);
    return bridge_done(L);
}

/* say(host, run, agent or nil, text) -> true | nil, err */
int bridge_say(lua_State *L)
{
    struct bridge *b = bridge_check(L);
    struct hocket_error err;
    size_t len;
    const char *text = luaL_checklstring(L, 4, &len);
    if (bridge_hocket->run_say(
            b->host, bridge_check_id(L, 2), luaL_optstring(L, 3, NULL), text, len, &err)
        < 0)
        return bridge_fail_with(L, &err);
    return bridge_done(L);
}

/* signal(host, run, name, json) -> true | nil, err */
int bridge_signal(lua_State *L)
{
    struct bridge *b = bridge_check(L);
    struct hocket_error err;
    if (bridge_hocket->run_signal(
            b->host, bridge_check_id(L, 2), luaL_checkstring(L, 3), luaL_checkstring(L, 4), &err)
        < 0)
        return bridge_fail_with(L, &err);
    return bridge_done(L);
}

/* load(host, name, text) -> true | nil, err */
int bridge_load_buffer(lua_State *L)
{
    struct bridge *b = bridge_check(L);
    struct hocket_error err;
    size_t len;
    const char *text = luaL_checklstring(L, 3, &len);
    if (bridge_hocket->load_buffer(b->host, luaL_checkstring(L, 2), text, len, &err) < 0)
        return bridge_fail_with(L, &err);
    return bridge_done(L);
}

/* load_dir(host, name, dir) -> true | nil, err */
int bridge_load_dir(lua_State *L)
{
    struct bridge *b = bridge_check(L);
    struct hocket_error err;
    if (bridge_hocket->load_dir(b->host, luaL_checkstring(L, 2), luaL_checkstring(L, 3), &err) < 0)
        return bridge_fail_with(L, &err);
    return bridge_done(L);
}

/* next(host) -> run, type, event | run, "result", result, err?; nothing when there is none
 * An event's texts are good until the next call, and are in Lua before that. */
int bridge_next(lua_State *L)
{
    const struct hocket_event *e;
    if (bridge_hocket->event_next(bridge_check(L)->host, &e) <= 0)
        return 0;
    lua_pushnumber(L, (lua_Number) e->run);
    lua_pushstring(L, e->type);
    bridge_push_json(L, e->json, e->json_len);
    if (!e->result || !e->result->error)
        return 3;
    bridge_fail_with(L, e->result->error);
    lua_remove(L, -2);
    return 4;
}

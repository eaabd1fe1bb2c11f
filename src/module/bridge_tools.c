/* Tools that are functions of the engine's Lua, and others that look into the host. */
#include "bridge_impl.h"

#include <stdlib.h>
#include <string.h>

static void append(struct bridge *b, struct note *n)
{
    n->next = NULL;
    *b->last = n;
    b->last = &n->next;
}

/* In the middle of the pump: the engine's Lua is not to be entered here. The note is one block with
 * its texts, which l_call frees. */
static void on_call(hocket_host *h, const struct hocket_tool_call *c, void *ud)
{
    size_t tool = strlen(c->tool) + 1, agent = strlen(c->agent) + 1;
    struct note *n = malloc(sizeof(*n) + c->args_len + 1 + tool + agent);
    if (!n) {
        bridge_hocket->tool_answer(h, c->id, HOCKET_ENOMEM, "out of memory", 0);
        return;
    }
    *n = (struct note){ .id = c->id, .args_len = c->args_len, .args = (char *) (n + 1) };
    n->tool = n->args + c->args_len + 1;
    n->agent = n->tool + tool;
    memcpy(n->args, c->args, c->args_len);
    n->args[c->args_len] = 0;
    memcpy(n->tool, c->tool, tool);
    memcpy(n->agent, c->agent, agent);
    append(ud, n);
}

/* Out of memory the engine does not hear of it: its answer then finds nobody, which does no harm. */
static void on_cancel(hocket_host *h, uint64_t id, void *ud)
{
    (void) h;
    struct bridge *b = ud;
    struct note *n =
        b->host ? calloc(1, sizeof(*n)) : NULL; /* while it closes nobody asks any more */
    if (!n)
        return;
    n->id = id;
    n->cancelled = true;
    append(b, n);
}

/* tool(host, name, description, parameters?, timeout_ms, idempotent?) -> true | nil, err */
int bridge_tool(lua_State *L)
{
    struct bridge *b = bridge_check(L);
    struct hocket_error err;
    struct hocket_tool_spec spec = { .size = sizeof(spec),
        .name = luaL_checkstring(L, 2),
        .description = luaL_checkstring(L, 3),
        .parameters = luaL_optstring(L, 4, NULL),
        .timeout_ms = (int64_t) luaL_checknumber(L, 5),
        .flags = lua_toboolean(L, 6) ? HOCKET_TOOL_IDEMPOTENT : 0 };
    if (bridge_hocket->tool_add(b->host, &spec, on_call, on_cancel, b, &err) < 0)
        return bridge_fail_with(L, &err);
    return bridge_done(L);
}

/* untool(host, name) -> true | nil, err */
int bridge_untool(lua_State *L)
{
    struct bridge *b = bridge_check(L);
    struct hocket_error err;
    if (bridge_hocket->tool_remove(b->host, luaL_checkstring(L, 2), &err) < 0)
        return bridge_fail_with(L, &err);
    return bridge_done(L);
}

/* hook(host, name, points, match?, timeout_ms) -> true | nil, err */
int bridge_hook(lua_State *L)
{
    struct bridge *b = bridge_check(L);
    struct hocket_error err;
    struct hocket_hook_spec spec = { .size = sizeof(spec),
        .name = luaL_checkstring(L, 2),
        .points = luaL_checkstring(L, 3),
        .match = luaL_optstring(L, 4, NULL),
        .timeout_ms = (int64_t) luaL_checknumber(L, 5) };
    if (bridge_hocket->hook_add(b->host, &spec, on_call, on_cancel, b, &err) < 0)
        return bridge_fail_with(L, &err);
    return bridge_done(L);
}

/* unhook(host, name) -> true | nil, err */
int bridge_unhook(lua_State *L)
{
    struct bridge *b = bridge_check(L);
    struct hocket_error err;
    if (bridge_hocket->hook_remove(b->host, luaL_checkstring(L, 2), &err) < 0)
        return bridge_fail_with(L, &err);
    return bridge_done(L);
}

/* offer(host, name?, options as JSON?) -> true | nil, err */
int bridge_offer(lua_State *L)
{
    struct bridge *b = bridge_check(L);
    struct hocket_error err;
    if (bridge_hocket->offer(b->host, luaL_optstring(L, 2, NULL), luaL_optstring(L, 3, NULL), &err)
        < 0)
        return bridge_fail_with(L, &err);
    return bridge_done(L);
}

/* withdraw(host, name?) -> true | nil, err */
int bridge_withdraw(lua_State *L)
{
    struct bridge *b = bridge_check(L);
    struct hocket_error err;
    if (bridge_hocket->withdraw(b->host, luaL_optstring(L, 2, NULL), &err) < 0)
        return bridge_fail_with(L, &err);
    return bridge_done(L);
}

/* call(host) -> id, tool, agent, args | id (it was cancelled); nothing when there is none
 * The note stays in the list until everything is pushed: an error of memory on the way loses no
 * call. */
int bridge_call(lua_State *L)
{
    struct bridge *b = bridge_check(L);
    struct note *n = b->first;
    if (!n)
        return 0;
    lua_pushnumber(L, (lua_Number) n->id);
    if (!n->cancelled) {
        lua_pushstring(L, n->tool);
        lua_pushstring(L, n->agent);
        bridge_push_json(L, n->args, n->args_len);
    }
    int pushed = n->cancelled ? 1 : 4;
    b->first = n->next; /* after every call that may raise */
    if (!b->first)
        b->last = &b->first;
    free(n);
    return pushed;
}

/* reply(host, id, text | nil, message?) -> whether somebody waits for it; nil, err when it is too long */
int bridge_reply(lua_State *L)
{
    struct bridge *b = bridge_check(L);
    size_t len = 0;
    bool failed = lua_isnil(L, 3);
    const char *text = luaL_checklstring(L, failed ? 4 : 3, &len);
    int rc = bridge_hocket->tool_answer(
        b->host, bridge_check_id(L, 2), failed ? HOCKET_EIO : 0, text, len);
    if (rc == HOCKET_ELIMIT) {
        lua_pushfstring(
            L, "the tool's answer of %d KB is too long (max_message)", (int) (len / 1024));
        return bridge_fail(L, "limit", lua_tostring(L, -1));
    }
    lua_pushboolean(L, rc == 0);
    return 1;
}

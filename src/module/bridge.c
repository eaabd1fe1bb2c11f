/* hocket.so for engines with another Lua: a host with a Lua 5.4 of its own, and plain functions
 * over it, of which bridge.lua makes the module. Nothing of the engine is called from inside of
 * hocket: callbacks only take note, and the engine's functions run when the pump has returned.
 * In a Lua 5.4 hocket lives in the same state (hocket.c), and only hocket.open comes from here.
 *
 * Functions of hocket are reached through a table (bridge_load.c), not by linking: the engine's
 * process may have a libhocket of its own.
 *
 * Ids cross as doubles, which every Lua has; they are counted up from 1 and so are exact. */

#include "bridge_impl.h"

#include <stdlib.h>

#define META "hocket.bridge.host"

const struct bridge_api *bridge_hocket;

/* Every function asks: after close() the object is a shell, whatever the engine still holds of it. */
struct bridge *bridge_check(lua_State *L)
{
    struct bridge *b = luaL_checkudata(L, 1, META);
    if (!b->host)
        luaL_error(L, "the hocket host is closed");
    return b;
}

int bridge_fail_with(lua_State *L, const struct hocket_error *err)
{
    return bridge_fail(L, bridge_hocket->status_word(err->status), err->message);
}

int bridge_done(lua_State *L)
{
    lua_pushboolean(L, 1);
    return 1;
}

uint64_t bridge_check_id(lua_State *L, int arg)
{
    return (uint64_t) luaL_checknumber(L, arg);
}

/* ---- Life ----------------------------------------------------------------------------------- */

/* `host` is NULL before the host is closed: what it calls while it closes (on_cancel) must add no
 * note to a list that is being freed. */
static void close_bridge(struct bridge *b)
{
    hocket_host *h = b->host;
    b->host = NULL;
    if (h)
        bridge_hocket->close(h, NULL, NULL);
    while (b->first) {
        struct note *n = b->first;
        b->first = n->next;
        free(n);
    }
    b->last = &b->first;
    while (b->saved) {
        struct save *s = b->saved;
        b->saved = s->next;
        free(s->bytes);
        free(s);
    }
}

static int l_close(lua_State *L)
{
    close_bridge(luaL_checkudata(L, 1, META));
    return 0;
}

static const char *from_environment(const char *name, void *ud)
{
    (void) ud;
    return getenv(name);
}

/* open(options) -> host | nil, err
 * The metatable is set before the host is opened, so that whatever raises later finds its
 * finalizer. */
static int l_open(lua_State *L)
{
    struct hocket_error err;
    struct hocket_options o;
    struct hocket_policy policy;
    bridge_hocket->options_init(&o, sizeof(o));
    bridge_read_options(L, &o, &policy);
    o.getenv_cb = from_environment;
    struct bridge *b = lua_newuserdata(L, sizeof(*b));
    *b = (struct bridge){ NULL, NULL, &b->first, NULL };
    b->last = &b->first;
    luaL_getmetatable(L, META);
    lua_setmetatable(L, -2);
    if (bridge_hocket->open(&o, &b->host, &err) < 0) {
        b->host = NULL;
        return bridge_fail_with(L, &err);
    }
    bridge_hocket->serve_attach(b->host, NULL); /* `sim` models; without memory there are none */
    return 1;
}

static int l_prepare(lua_State *L)
{
    struct hocket_error e;
    if (bridge_hocket->prepare(bridge_check(L)->host, &e) < 0)
        return bridge_fail_with(L, &e);
    lua_pushboolean(L, 1);
    return 1;
}

/* ---- Turning -------------------------------------------------------------------------------- */

/* Misuse raises: a loop that does not look at a return value would spin over it. */
static int turned(lua_State *L, int rc)
{
    if (rc < 0)
        return luaL_error(L, "the host cannot be turned here: it is at work, or its process was "
                             "forked after its first call");
    lua_pushboolean(L, rc > 0);
    return 1;
}

static int l_pump(lua_State *L)
{
    struct bridge *b = bridge_check(L);
    return turned(L, bridge_hocket->pump(b->host, (int64_t) luaL_checknumber(L, 2)));
}

static int l_wait(lua_State *L)
{
    struct bridge *b = bridge_check(L);
    return turned(L, bridge_hocket->wait(b->host, (int) luaL_checknumber(L, 2)));
}

static int l_fd(lua_State *L)
{
    lua_pushinteger(L, bridge_hocket->backend_fd(bridge_check(L)->host));
    return 1;
}

static int l_timeout(lua_State *L)
{
    lua_pushinteger(L, bridge_hocket->backend_timeout(bridge_check(L)->host));
    return 1;
}

static int l_stats(lua_State *L)
{
    struct hocket_host_stats s = { .size = sizeof(s) };
    bridge_hocket->stats(bridge_check(L)->host, &s);
    const struct {
        const char *name;
        double value;
    } rows[] = { { "runs", (double) s.runs }, { "runs_ended", (double) s.runs_ended },
        { "events", (double) s.events }, { "fibers", (double) s.fibers },
        { "requests", (double) s.requests }, { "tool_calls", (double) s.tool_calls },
        { "lua_bytes", (double) s.lua_bytes } };
    lua_newtable(L);
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        lua_pushnumber(L, rows[i].value);
        lua_setfield(L, -2, rows[i].name);
    }
    return 1;
}

/* ---- The module --------------------------------------------------------------------------------
 */

static const luaL_Reg functions[] = {
    { "answer", bridge_answer },
    { "say", bridge_say },
    { "signal", bridge_signal },
    { "array", bridge_array },
    { "call", bridge_call },
    { "cancel", bridge_cancel },
    { "change", bridge_change },
    { "close", l_close },
    { "decode", bridge_decode },
    { "encode", bridge_encode },
    { "fd", l_fd },
    { "interrupt", bridge_interrupt },
    { "load", bridge_load_buffer },
    { "load_dir", bridge_load_dir },
    { "next", bridge_next },
    { "open", l_open },
    { "prepare", l_prepare },
    { "pump", l_pump },
    { "reply", bridge_reply },
    { "restore", bridge_restore },
    { "save", bridge_save },
    { "saved", bridge_saved },
    { "start", bridge_start },
    { "stats", l_stats },
    { "stop", bridge_stop },
    { "timeout", l_timeout },
    { "hook", bridge_hook },
    { "tool", bridge_tool },
    { "tree", bridge_run_tree },
    { "unhook", bridge_unhook },
    { "untool", bridge_untool },
    { "offer", bridge_offer },
    { "withdraw", bridge_withdraw },
    { "wait", l_wait },
    { NULL, NULL },
};

static void push_core(lua_State *L)
{
    luaL_newmetatable(L, META);
    lua_pushcfunction(L, l_close);
    lua_setfield(L, -2, "__gc");
    lua_pop(L, 1);
    bridge_open_json(L);
    lua_newtable(L);
    for (const luaL_Reg *f = functions; f->name; f++) {
        lua_pushcfunction(L, f->func);
        lua_setfield(L, -2, f->name);
    }
    bridge_push_null(L);
    lua_setfield(L, -2, "null");
    lua_pushstring(L, bridge_hocket->version());
    lua_setfield(L, -2, "version");
}

/* The Lua half gets the functions as its argument and returns the module; it is text and no
 * bytecode, since it runs in any Lua. */
int bridge_module(lua_State *L)
{
    const char *why;
    const struct bridge_api *loaded = bridge_load(&why);
    if (!loaded)
        return luaL_error(L, "hocket cannot be loaded: %s", why);
    bridge_hocket = loaded; /* the same for whoever comes */
    if (luaL_loadbuffer(L, bridge_lua, bridge_lua_size, "@hocket.lua") != 0)
        return lua_error(L);
    push_core(L);
    lua_call(L, 1, 1);
    return 1;
}

#if LUA_VERSION_NUM < 504
#if defined(__GNUC__)
__attribute__((visibility("default")))
#endif
int luaopen_hocket(lua_State *L);

int luaopen_hocket(lua_State *L)
{
    return bridge_module(L);
}
#endif

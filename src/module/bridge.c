/* hocket.so for engines with another Lua: a host with a Lua 5.4 of its own, and plain functions
 * over it, of which bridge.lua makes the module. Nothing of the engine is called from inside of
 * hocket: callbacks only take note, and the engine's functions run when the pump has returned.
 *
 * Functions of hocket are reached through a table (bridge_load.c), not by linking: the engine's
 * process may have a Lua of its own under the same symbols, and libhocket must find the 5.4 that it
 * was built with.
 *
 * Ids cross as doubles, which every Lua has; they are counted up from 1 and so are exact. */

#include "bridge.h"

#include <stdlib.h>
#include <string.h>

#define META "hocket.bridge.host"

#if defined(__GNUC__)
#define BRIDGE_EXPORT __attribute__((visibility("default")))
#else
#define BRIDGE_EXPORT
#endif
BRIDGE_EXPORT int luaopen_hocket(lua_State *L);

/* A call of a tool, or its end. */
struct note {
    struct note *next;
    uint64_t id;
    bool cancelled;
    size_t args_len;
    char *args, *tool, *agent; /* behind the structure */
};

/* A save that was asked for; when it is done it waits in `saved` to be taken. */
struct save {
    struct save *next;
    struct bridge *bridge;
    char *bytes; /* NULL: err says why there are none */
    size_t len;
    struct hocket_error err;
};

struct bridge {
    hocket_host *host; /* NULL: closed */
    struct note *first, **last;
    struct save *saved;
};

static const struct bridge_api *api;

/* Every function asks: after close() the object is a shell, whatever the engine still holds of it. */
static struct bridge *check(lua_State *L)
{
    struct bridge *b = luaL_checkudata(L, 1, META);
    if (!b->host)
        luaL_error(L, "the hocket host is closed");
    return b;
}

static int fail(lua_State *L, const struct hocket_error *err)
{
    return bridge_fail(L, api->status_word(err->status), err->message);
}

static int done(lua_State *L)
{
    lua_pushboolean(L, 1);
    return 1;
}

static uint64_t check_id(lua_State *L, int arg)
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
        api->close(h, NULL, NULL);
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

/* Numbers of at least 0, and what they may be at most. */
static const struct {
    const char *name;
    double max;
} limits[] = { { "max_runs", 1e9 }, { "max_memory", 1e15 }, { "max_connections", 1e9 },
    { "max_journal", 1e15 }, { "max_message", 1e15 }, { "store_days", 1e6 },
    { "store_bytes", 1e15 } };
enum { RUNS, MEMORY, CONNECTIONS, JOURNAL, MESSAGE, STORE_DAYS, STORE_BYTES, N_LIMITS };
static const char *const others[] = { "thread", "store", "durability", "store_optional" };

/* Written so that a NaN fails, too. */
static double limit_option(lua_State *L, int i)
{
    lua_getfield(L, 1, limits[i].name);
    double v = lua_isnil(L, -1) ? 0 : lua_type(L, -1) == LUA_TNUMBER ? lua_tonumber(L, -1) : -1;
    if (!(v >= 0 && v <= limits[i].max))
        luaL_error(L, "bad option '%s' (a number of at least 0 expected)", limits[i].name);
    lua_pop(L, 1);
    return v;
}

static bool is_option(const char *name)
{
    bool known = false;
    for (size_t i = 0; name && i < sizeof(others) / sizeof(*others); i++)
        known |= strcmp(name, others[i]) == 0;
    for (int i = 0; name && i < N_LIMITS; i++)
        known |= strcmp(name, limits[i].name) == 0;
    return known;
}

/* Names that there are not raise, as everywhere in hocket: a limit that is misspelt would be no
 * limit. */
static void check_options(lua_State *L)
{
    luaL_checktype(L, 1, LUA_TTABLE);
    for (lua_pushnil(L); lua_next(L, 1); lua_pop(L, 1)) {
        const char *name = lua_type(L, -2) == LUA_TSTRING ? lua_tostring(L, -2) : NULL;
        if (!is_option(name))
            luaL_error(L,
                "unknown option '%s' (there are: thread, max_runs, max_memory, max_connections, "
                "max_journal, max_message, store, durability, store_days, store_bytes, "
                "store_optional)",
                name ? name : luaL_typename(L, -2));
    }
}

/* Its text is the table's, which is there as long as it is needed. */
static const char *text_option(lua_State *L, const char *name)
{
    lua_getfield(L, 1, name);
    if (!lua_isnil(L, -1) && lua_type(L, -1) != LUA_TSTRING)
        luaL_error(L, "bad option '%s' (a string expected)", name);
    const char *text = lua_tostring(L, -1);
    lua_pop(L, 1);
    return text;
}

static void store_options(lua_State *L, struct hocket_options *o)
{
    o->store = text_option(L, "store");
    o->durability = text_option(L, "durability");
    o->store_days = (int) limit_option(L, STORE_DAYS);
    o->store_bytes = (uint64_t) limit_option(L, STORE_BYTES);
    lua_getfield(L, 1, "store_optional");
    o->store_optional = lua_toboolean(L, -1);
    lua_pop(L, 1);
}

/* open(options) -> host | nil, err
 * The metatable is set before the host is opened, so that whatever raises later finds its
 * finalizer. */
static int l_open(lua_State *L)
{
    struct hocket_error err;
    struct hocket_options o;
    api->options_init(&o, sizeof(o));
    check_options(L);
    lua_getfield(L, 1, "thread");
    o.thread = lua_toboolean(L, -1);
    o.max_runs = (int) limit_option(L, RUNS);
    o.max_memory = (size_t) limit_option(L, MEMORY);
    o.max_connections = (int) limit_option(L, CONNECTIONS);
    o.max_journal = (size_t) limit_option(L, JOURNAL);
    o.max_message = (size_t) limit_option(L, MESSAGE);
    store_options(L, &o);
    o.getenv_cb = from_environment;
    struct bridge *b = lua_newuserdata(L, sizeof(*b));
    *b = (struct bridge){ NULL, NULL, &b->first, NULL };
    b->last = &b->first;
    luaL_getmetatable(L, META);
    lua_setmetatable(L, -2);
    if (api->open(&o, &b->host, &err) < 0) {
        b->host = NULL;
        return fail(L, &err);
    }
    if (api->serve_attach)
        api->serve_attach(b->host, NULL);
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
    struct bridge *b = check(L);
    return turned(L, api->pump(b->host, (int64_t) luaL_checknumber(L, 2)));
}

static int l_wait(lua_State *L)
{
    struct bridge *b = check(L);
    return turned(L, api->wait(b->host, (int) luaL_checknumber(L, 2)));
}

static int l_fd(lua_State *L)
{
    lua_pushinteger(L, api->backend_fd(check(L)->host));
    return 1;
}

static int l_timeout(lua_State *L)
{
    lua_pushinteger(L, api->backend_timeout(check(L)->host));
    return 1;
}

static int l_stats(lua_State *L)
{
    struct hocket_stats s = { .size = sizeof(s) };
    api->stats(check(L)->host, &s);
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

/* ---- Runs ----------------------------------------------------------------------------------- */

/* start(host, target, input?, options?) -> id | nil, err */
static int l_start(lua_State *L)
{
    struct bridge *b = check(L);
    struct hocket_error err;
    size_t len = 0;
    uint64_t id;
    struct hocket_run_spec spec = { .size = sizeof(spec), .target = luaL_checkstring(L, 2) };
    spec.input = luaL_optlstring(L, 3, NULL, &len);
    spec.input_len = len;
    spec.options = luaL_optstring(L, 4, NULL);
    if (api->run_start(b->host, &spec, &id, NULL, NULL, NULL, &err) < 0)
        return fail(L, &err);
    lua_pushnumber(L, (lua_Number) id);
    return 1;
}

static int l_cancel(lua_State *L)
{
    struct bridge *b = check(L);
    lua_pushboolean(L, api->run_cancel(b->host, check_id(L, 2)) == 0);
    return 1;
}

static int l_stop(lua_State *L)
{
    struct bridge *b = check(L);
    lua_pushboolean(L, api->run_stop(b->host, check_id(L, 2)) == 0);
    return 1;
}

/* interrupt(host, run) -> true | nil, err */
static int l_interrupt(lua_State *L)
{
    struct bridge *b = check(L);
    struct hocket_error err;
    if (api->run_interrupt(b->host, check_id(L, 2), &err) < 0)
        return fail(L, &err);
    return done(L);
}

/* change(host, run, options) -> true | nil, err */
static int l_change(lua_State *L)
{
    struct bridge *b = check(L);
    struct hocket_error err;
    if (api->run_change(b->host, check_id(L, 2), luaL_checkstring(L, 3), &err) < 0)
        return fail(L, &err);
    return done(L);
}

/* tree(host, run) -> tree | nil, err */
static int l_tree(lua_State *L)
{
    struct bridge *b = check(L);
    return bridge_tree(L, b->host, check_id(L, 2));
}

/* answer(host, run, question, text) -> true | nil, err */
static int l_answer(lua_State *L)
{
    struct bridge *b = check(L);
    struct hocket_error err;
    size_t len;
    const char *text = luaL_checklstring(L, 4, &len);
    if (api->run_answer(b->host, check_id(L, 2), luaL_checkstring(L, 3), text, len, &err) < 0)
        return fail(L, &err);
    return done(L);
}

/* signal(host, run, name, json) -> true | nil, err */
static int l_signal(lua_State *L)
{
    struct bridge *b = check(L);
    struct hocket_error err;
    if (api->run_signal(
            b->host, check_id(L, 2), luaL_checkstring(L, 3), luaL_checkstring(L, 4), &err)
        < 0)
        return fail(L, &err);
    return done(L);
}

/* load(host, name, text) -> true | nil, err */
static int l_load(lua_State *L)
{
    struct bridge *b = check(L);
    struct hocket_error err;
    size_t len;
    const char *text = luaL_checklstring(L, 3, &len);
    if (api->load_buffer(b->host, luaL_checkstring(L, 2), text, len, &err) < 0)
        return fail(L, &err);
    return done(L);
}

/* load_dir(host, name, dir) -> true | nil, err */
static int l_load_dir(lua_State *L)
{
    struct bridge *b = check(L);
    struct hocket_error err;
    if (api->load_dir(b->host, luaL_checkstring(L, 2), luaL_checkstring(L, 3), &err) < 0)
        return fail(L, &err);
    return done(L);
}

/* next(host) -> run, type, event | run, "result", result, err?; nothing when there is none
 * An event's texts are good until the next call, and are in Lua before that. */
static int l_next(lua_State *L)
{
    const struct hocket_event *e;
    if (api->event_next(check(L)->host, &e) <= 0)
        return 0;
    lua_pushnumber(L, (lua_Number) e->run);
    lua_pushstring(L, e->type);
    bridge_push_json(L, e->json, e->json_len);
    if (!e->result || !e->result->error)
        return 3;
    fail(L, e->result->error);
    lua_remove(L, -2);
    return 4;
}

/* ---- Saving ----------------------------------------------------------------------------------- */

static void on_saved(
    hocket_host *h, const void *bytes, size_t len, const struct hocket_error *error, void *ud)
{
    struct save *s = ud;
    (void) h;
    s->bytes = error ? NULL : malloc(len);
    if (s->bytes)
        memcpy(s->bytes, bytes, s->len = len);
    else if (error)
        s->err = *error;
    else
        s->err = (struct hocket_error){ .status = HOCKET_ENOMEM, .message = "out of memory" };
    s->next = s->bridge->saved;
    s->bridge->saved = s;
}

/* save(host, run?) -> what saved() will name | nil, err */
static int l_save(lua_State *L)
{
    struct bridge *b = check(L);
    struct hocket_error err;
    bool one = !lua_isnoneornil(L, 2);
    uint64_t id = one ? check_id(L, 2) : 0;
    struct save *s = calloc(1, sizeof(*s));
    if (!s)
        return bridge_fail(L, "memory", "out of memory");
    s->bridge = b;
    int rc =
        one ? api->run_save(b->host, id, on_saved, s, &err) : api->save(b->host, on_saved, s, &err);
    if (rc < 0) {
        free(s);
        return fail(L, &err);
    }
    lua_pushlightuserdata(L, s);
    return 1;
}

/* saved(host) -> which, bytes | which, nil, err; nothing when there is none */
static int l_saved(lua_State *L)
{
    struct bridge *b = check(L);
    struct save *s = b->saved;
    if (!s)
        return 0;
    lua_pushlightuserdata(L, s);
    int n = 1;
    if (s->bytes)
        lua_pushlstring(L, s->bytes, s->len);
    else
        n = fail(L, &s->err);
    b->saved = s->next; /* after all that may raise */
    free(s->bytes);
    free(s);
    return 1 + n;
}

/* restore(host, bytes, options?) -> the first run, how many | nil, err */
static int l_restore(lua_State *L)
{
    struct bridge *b = check(L);
    struct hocket_error err;
    size_t len;
    uint64_t first;
    const char *bytes = luaL_checklstring(L, 2, &len);
    int n =
        api->load(b->host, bytes, len, luaL_optstring(L, 3, NULL), &first, NULL, NULL, NULL, &err);
    if (n < 0)
        return fail(L, &err);
    lua_pushnumber(L, (lua_Number) first);
    lua_pushnumber(L, n);
    return 2;
}

/* ---- Tools ----------------------------------------------------------------------------------- */

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
        api->tool_answer(h, c->id, HOCKET_ENOMEM, "out of memory", 0);
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

/* tool(host, name, description, parameters?, timeout_ms) -> true | nil, err */
static int l_tool(lua_State *L)
{
    struct bridge *b = check(L);
    struct hocket_error err;
    struct hocket_tool_spec spec = { .size = sizeof(spec),
        .name = luaL_checkstring(L, 2),
        .description = luaL_checkstring(L, 3),
        .parameters = luaL_optstring(L, 4, NULL),
        .timeout_ms = (int64_t) luaL_checknumber(L, 5) };
    if (api->tool_add(b->host, &spec, on_call, on_cancel, b, &err) < 0)
        return fail(L, &err);
    return done(L);
}

/* untool(host, name) -> true | nil, err */
static int l_untool(lua_State *L)
{
    struct bridge *b = check(L);
    struct hocket_error err;
    if (api->tool_remove(b->host, luaL_checkstring(L, 2), &err) < 0)
        return fail(L, &err);
    return done(L);
}

/* offer(host, name?, options as JSON?) -> true | nil, err */
static int l_offer(lua_State *L)
{
    struct bridge *b = check(L);
    struct hocket_error err;
    if (api->offer(b->host, luaL_optstring(L, 2, NULL), luaL_optstring(L, 3, NULL), &err) < 0)
        return fail(L, &err);
    return done(L);
}

/* withdraw(host, name?) -> true | nil, err */
static int l_withdraw(lua_State *L)
{
    struct bridge *b = check(L);
    struct hocket_error err;
    if (api->withdraw(b->host, luaL_optstring(L, 2, NULL), &err) < 0)
        return fail(L, &err);
    return done(L);
}

/* call(host) -> id, tool, agent, args | id (it was cancelled); nothing when there is none
 * The note stays in the list until everything is pushed: an error of memory on the way loses no
 * call. */
static int l_call(lua_State *L)
{
    struct bridge *b = check(L);
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
    b->first = n->next; /* after all that may raise */
    if (!b->first)
        b->last = &b->first;
    free(n);
    return pushed;
}

/* reply(host, id, text | nil, message?) -> whether somebody waits for it; nil, err when it is too long */
static int l_reply(lua_State *L)
{
    struct bridge *b = check(L);
    size_t len = 0;
    bool failed = lua_isnil(L, 3);
    const char *text = luaL_checklstring(L, failed ? 4 : 3, &len);
    int rc = api->tool_answer(b->host, check_id(L, 2), failed ? HOCKET_EIO : 0, text, len);
    if (rc == HOCKET_ELIMIT) {
        lua_pushfstring(
            L, "the tool's answer of %d KB is too long (max_message)", (int) (len / 1024));
        return bridge_fail(L, "limit", lua_tostring(L, -1));
    }
    lua_pushboolean(L, rc == 0);
    return 1;
}

/* ---- The module --------------------------------------------------------------------------------
 */

static const luaL_Reg functions[] = {
    { "answer", l_answer },
    { "signal", l_signal },
    { "array", bridge_array },
    { "call", l_call },
    { "cancel", l_cancel },
    { "change", l_change },
    { "close", l_close },
    { "decode", bridge_decode },
    { "encode", bridge_encode },
    { "fd", l_fd },
    { "interrupt", l_interrupt },
    { "load", l_load },
    { "load_dir", l_load_dir },
    { "next", l_next },
    { "open", l_open },
    { "pump", l_pump },
    { "reply", l_reply },
    { "restore", l_restore },
    { "save", l_save },
    { "saved", l_saved },
    { "start", l_start },
    { "stats", l_stats },
    { "stop", l_stop },
    { "timeout", l_timeout },
    { "tool", l_tool },
    { "tree", l_tree },
    { "untool", l_untool },
    { "offer", l_offer },
    { "withdraw", l_withdraw },
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
    lua_pushlightuserdata(L, NULL);
    lua_setfield(L, -2, "null");
    lua_pushstring(L, api->version());
    lua_setfield(L, -2, "version");
}

/* The Lua half gets the functions as its argument and returns the module; it is text and no
 * bytecode, since it runs in any Lua. */
int luaopen_hocket(lua_State *L)
{
    const char *why;
    const struct bridge_api *loaded = bridge_load(&why);
    if (!loaded)
        return luaL_error(L, "hocket cannot be loaded: %s", why);
    api = loaded; /* the same for whoever comes */
    if (luaL_loadbuffer(L, bridge_lua, bridge_lua_size, "@hocket.lua") != 0)
        return lua_error(L);
    push_core(L);
    lua_call(L, 1, 1);
    return 1;
}

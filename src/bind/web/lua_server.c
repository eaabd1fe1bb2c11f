/* hocket.internal.core.server: the HTTP server for Lua, which answers in fibers. Part of the optional
 * component hocket-serve: an embedder that wants no server does not link it. */
#include "bind/web/lua_server_impl.h"

#include <limits.h>
#include <time.h>

#include "bind/open.h"
#include "bind/options.h"

struct hocket__lua_server *hocket__check_server(lua_State *L)
{
    struct hocket__lua_server *s = hocket__check_object(L, 1, HOCKET__SERVER_META);
    if (!s->server)
        luaL_error(L, "the server is closed");
    return s;
}

uint64_t hocket__server_check_id(lua_State *L)
{
    return (uint64_t) luaL_checkinteger(L, 2);
}

/* ---- Opening and closing ---------------------------------------------------------- */

static void on_closed(void *ud)
{
    struct hocket__lua_server *s = ud;
    luaL_unref(s->rt->L, LUA_REGISTRYINDEX, s->self_ref);
    hocket__runtime_release(s->rt, &s->closer);
}

/* Who accepts is woken to see that it is over. The userdata is held by the registry until the last
 * handle is closed. */
static void close_server(struct hocket__lua_server *s)
{
    struct hocket__server *server = s->server;
    s->server = NULL;
    hocket__server_drop_queue(s);
    hocket__fiber_wake(s->rt, s->fiber);
    hocket__server_wake_drains(s);
    hocket__server_close(server, on_closed, s);
}

static void on_runtime_close(struct hocket__closer *c)
{
    struct hocket__lua_server *s = hocket__container_of(c, struct hocket__lua_server, closer);
    if (s->server)
        close_server(s);
}

static int64_t wall_seconds(void)
{
    return time(NULL);
}

struct asked {
    struct hocket__server_options o;
    int fd;
    bool tells_gone;
};

#define ROW(kind, name, field) HOCKET__OPT_##kind(name, struct asked, field)
#define AMOUNT(name, field)    HOCKET__OPT_INT(name, struct asked, field, 1, INT64_MAX)

static const struct hocket__opt rows[] = {
    { HOCKET__OPT_INT("port", struct asked, o.port, 0, 65535) },
    { ROW(WORD, "address", o.address) },
    { HOCKET__OPT_INT("fd", struct asked, fd, 0, INT_MAX - 1) },
    { ROW(WORD, "tls_cert", o.cert) },
    { ROW(WORD, "tls_key", o.key_file) },
    { ROW(BOOL, "tells_gone", tells_gone) },
    { AMOUNT("max_body", o.max_body) },
    { AMOUNT("max_header", o.max_header) },
    { AMOUNT("max_queue", o.max_queue) },
    { AMOUNT("max_connections", o.max_connections) },
    { ROW(SECONDS, "idle", o.idle_ms) },
    { ROW(TEXT, "key", o.key) },
    { 0 },
};

/* new{port=, address=, fd=, tls_cert=, tls_key=, tells_gone=, max_body=, max_header=, max_queue=, max_connections=, idle=} -> server | nil, error.
 * fd: a socket that listens already, in place of address and port; it is the server's from then on. tls_cert, tls_key:
 * files in PEM, for TLS. tells_gone: accept
 * also gives {id, gone = true} for a request whose client went before it had its answer. key: of who does not bring
 * it a body has 64 KiB at most. The limits are bytes, and seconds of idle (serve/server.h has what they are otherwise). */
static int l_new(lua_State *L)
{
    struct hocket__runtime *rt = hocket__runtime(L);
    struct hocket_error err;
    struct asked asked = { .fd = -1,
        .o = { .alloc = rt->alloc,
            .loop = rt->loop,
            .max_connections = 16384,
            .clock = wall_seconds,
            .log_cb = rt->log_cb ? hocket__runtime_log_text : NULL,
            .log_ud = rt } };
    hocket__opt_read(L, 1, rows, &asked);
    struct hocket__lua_server *s = hocket__new_object(L, sizeof(*s), 0, HOCKET__SERVER_META);
    *s = (struct hocket__lua_server){ .rt = rt, .closer = { .close = on_runtime_close } };
    hocket__list_init(&s->queue);
    hocket__list_init(&s->closer.link);
    hocket__map_init(&s->drains, rt->alloc);
    luaL_setmetatable(L, HOCKET__SERVER_META);
    lua_pushvalue(L, -1);
    s->self_ref = luaL_ref(L, LUA_REGISTRYINDEX);
    asked.o.fd = asked.fd + 1;
    asked.o.handler = &hocket__server_handlers[asked.tells_gone];
    asked.o.ud = s;
    if (hocket__server_new(&asked.o, &s->server, &err) < 0) {
        luaL_unref(L, LUA_REGISTRYINDEX, s->self_ref);
        return hocket__fail(L, &err);
    }
    hocket__runtime_hold(rt, &s->closer);
    return 1;
}

static int l_close(lua_State *L)
{
    struct hocket__lua_server *s = hocket__check_object(L, 1, HOCKET__SERVER_META);
    if (s->server)
        close_server(s);
    return 0;
}

/* Stack: server, the error if there is one */
static int served(lua_State *L, int status, lua_KContext ctx)
{
    struct hocket__lua_server *s = lua_touserdata(L, 1);
    (void) ctx;
    if (status == LUA_OK || status == LUA_YIELD)
        return 0;
    if (s->server)
        close_server(s);
    return lua_error(L);
}

/* What a fiber calls: (server, fn, ...). Until fn is called nothing in here needs memory. */
static int serve(lua_State *L)
{
    return served(L, lua_pcallk(L, lua_gettop(L) - 2, 0, 0, 0, served), 0);
}

/* s:serve(fn, ...) -> fiber: calls fn(...), which accepts, in a fiber without a parent that is part of no run. When it raises the
 * server is closed: clients would wait for ever. */
static int l_serve(lua_State *L)
{
    struct hocket__runtime *rt = hocket__check_server(L)->rt;
    luaL_checktype(L, 2, LUA_TFUNCTION);
    lua_pushcfunction(L, serve);
    lua_insert(L, 1);
    hocket__fiber_spawn_sure(L, rt, lua_gettop(L) - 1, true);
    return 1;
}

/* s:mute(): nobody new is let in from now on; requests that are open go on */
static int l_mute(lua_State *L)
{
    hocket__server_mute(hocket__check_server(L)->server);
    return 0;
}

/* s:peer(id) -> the address that a request comes from; nothing where it is not known */
static int l_peer(lua_State *L)
{
    char address[HOCKET__SERVER_PEER];
    if (hocket__server_peer(hocket__check_server(L)->server, hocket__server_check_id(L), address)
            < 0
        || !*address)
        return 0;
    lua_pushstring(L, address);
    return 1;
}

/* s:refresh() -> true | nil, error: reads the certificate and its key again */
static int l_refresh(lua_State *L)
{
    struct hocket_error err;
    if (hocket__server_refresh(hocket__check_server(L)->server, &err) < 0)
        return hocket__fail(L, &err);
    lua_pushboolean(L, true);
    return 1;
}

/* s:certified(host) -> whether its certificate is for a name or an address */
static int l_certified(lua_State *L)
{
    struct hocket__lua_server *s = hocket__check_server(L);
    lua_pushboolean(L, hocket__server_certified(s->server, hocket__check_str(L, 2)));
    return 1;
}

static int l_connections(lua_State *L)
{
    lua_pushinteger(L, (lua_Integer) hocket__server_connections(hocket__check_server(L)->server));
    return 1;
}

static int l_port(lua_State *L)
{
    lua_pushinteger(L, hocket__server_port(hocket__check_server(L)->server));
    return 1;
}

static const luaL_Reg functions[] = { { "new", l_new }, { NULL, NULL } };
static const luaL_Reg methods[] = {
    { "accept", hocket__server_l_accept },
    { "respond", hocket__server_l_respond },
    { "begin", hocket__server_l_begin },
    { "write", hocket__server_l_write },
    { "raw", hocket__server_l_raw },
    { "finish", hocket__server_l_finish },
    { "drain", hocket__server_l_drain },
    { "abort", hocket__server_l_abort },
    { "serve", l_serve },
    { "mute", l_mute },
    { "peer", l_peer },
    { "refresh", l_refresh },
    { "certified", l_certified },
    { "connections", l_connections },
    { "give_up", hocket__server_l_give_up },
    { "answer", hocket__server_l_answer },
    { "port", l_port },
    { "close", l_close },
    { NULL, NULL },
};

int hocket__open_server(lua_State *L)
{
    return hocket__open_class(L, HOCKET__SERVER_META, methods, functions);
}

/* hocket.internal.core.server: the HTTP server for Lua, which answers in fibers. Part of the optional
 * component hocket-serve: an embedder that wants no server does not link it.
 *
 * A request is copied when it comes, since the server's texts are good during the callback only,
 * and waits in a queue until a fiber accepts it. Answers go by the request's number: one that was
 * given up finds nobody. */

#include "bind/life.h"
#include "bind/open.h"

#include <limits.h>

#include "base/map.h"
#include "bind/fiber/fiber.h"
#include "bind/util.h"
#include "serve/server.h"

static const char META[] = "hocket.server";
#define MAX_PENDING 65536 /* requests that nobody has accepted */

/* A request that waits to be accepted, with its texts in one block behind it; or the end of one. */
struct pending {
    struct hocket__list link;
    uint64_t id;
    size_t size;
    bool gone;
    struct hocket__str method, path, body;
    size_t n_headers;
    struct hocket__server_header headers[];
};

struct server {
    struct hocket__closer closer;
    struct hocket__runtime *rt;
    struct hocket__server *server;
    struct hocket__list queue;
    size_t n_queued;
    uint64_t fiber;            /* in accept */
    struct hocket__map drains; /* request -> its wait for the client to read on */
    int self_ref;              /* keeps this userdata until the server is closed */
};

/* A userdata on the stack of the fiber that waits. */
struct drain {
    struct server *server;
    uint64_t id, fiber;
    size_t max;
};

static struct server *check_server(lua_State *L)
{
    struct server *s = hocket__check_object(L, 1, META);
    if (!s->server)
        luaL_error(L, "the server is closed");
    return s;
}

/* ---- Requests come ------------------------------------------------------------ */

static void add(struct server *s, struct pending *p)
{
    hocket__list_add(&s->queue, &p->link);
    s->n_queued++;
    hocket__fiber_wake(s->rt, s->fiber);
}

static struct hocket__str put(char **at, struct hocket__str s)
{
    struct hocket__str copy = hocket__str(*at, s.n);
    if (s.n > 0)
        memcpy(*at, s.p, s.n);
    *at += s.n;
    return copy;
}

/* Names and values stay as they came; they are put into lower case when they are pushed, which most
 * never are. */
static struct pending *copy_request(
    const struct hocket_allocator *a, const struct hocket__server_request *r)
{
    size_t size = sizeof(struct pending) + r->n_headers * sizeof(r->headers[0]) + r->method.n
                  + r->path.n + r->body.n;
    for (size_t i = 0; i < r->n_headers; i++)
        size += r->headers[i].name.n + r->headers[i].value.n;
    struct pending *p = hocket__new(a, size);
    if (!p)
        return NULL;
    char *at = (char *) &p->headers[r->n_headers];
    *p = (struct pending){ .id = r->id, .size = size, .n_headers = r->n_headers };
    p->method = put(&at, r->method);
    p->path = put(&at, r->path);
    p->body = put(&at, r->body);
    for (size_t i = 0; i < r->n_headers; i++) {
        p->headers[i].name = put(&at, r->headers[i].name);
        p->headers[i].value = put(&at, r->headers[i].value);
    }
    return p;
}

/* From the loop: nothing here may raise. A request that cannot be kept is answered at once, so that
 * no client waits for a timeout. */
static void on_request(void *ud, const struct hocket__server_request *r)
{
    struct server *s = ud;
    struct pending *p = s->n_queued < MAX_PENDING ? copy_request(s->rt->alloc, r) : NULL;
    if (!p) {
        hocket__server_respond(
            s->server, r->id, 503, NULL, 0, HOCKET__STR("too many requests wait\n"));
        return;
    }
    add(s, p);
}

static void wake_drain(struct server *s, uint64_t id)
{
    const struct drain *d = hocket__map_get(&s->drains, id);
    if (d)
        hocket__fiber_wake(s->rt, d->fiber);
}

static void wake_all_drains(struct server *s)
{
    for (size_t i = 0; i < s->drains.cap; i++)
        if (s->drains.slots[i].id && s->drains.slots[i].value)
            hocket__fiber_wake(s->rt, ((struct drain *) s->drains.slots[i].value)->fiber);
    hocket__map_deinit(&s->drains);
}

static void on_drained(void *ud, uint64_t id)
{
    wake_drain(ud, id);
}

/* Where memory is out nobody hears of it, until something is written to it. */
static void on_gone(void *ud, uint64_t id)
{
    struct server *s = ud;
    wake_drain(s, id);
    struct pending *p = s->server ? hocket__new(s->rt->alloc, sizeof(*p)) : NULL;
    if (!p)
        return;
    *p = (struct pending){ .id = id, .size = sizeof(*p), .gone = true };
    add(s, p);
}

static const struct hocket__server_handler handlers[2] = { { .on_request = on_request },
    { .on_request = on_request, .on_closed = on_gone, .on_drained = on_drained } };

static void drop_first(struct server *s)
{
    struct pending *p = hocket__container_of(s->queue.next, struct pending, link);
    hocket__list_del(&p->link);
    s->n_queued--;
    hocket__free(s->rt->alloc, p, p->size);
}

static void drop_queue(struct server *s)
{
    while (!hocket__list_empty(&s->queue))
        drop_first(s);
}

/* ---- Opening and closing ---------------------------------------------------------- */

static void on_closed(void *ud)
{
    struct server *s = ud;
    luaL_unref(s->rt->L, LUA_REGISTRYINDEX, s->self_ref);
    hocket__runtime_release(s->rt, &s->closer);
}

/* Who accepts is woken to see that it is over. The userdata is held by the registry until the last
 * handle is closed. */
static void close_server(struct server *s)
{
    struct hocket__server *server = s->server;
    s->server = NULL;
    drop_queue(s);
    hocket__fiber_wake(s->rt, s->fiber);
    wake_all_drains(s);
    hocket__server_close(server, on_closed, s);
}

static void on_runtime_close(struct hocket__closer *c)
{
    struct server *s = hocket__container_of(c, struct server, closer);
    if (s->server)
        close_server(s);
}

/* new{port=, address=, fd=, tls_cert=, tls_key=, tells_gone=, max_body=, max_header=, max_queue=, max_connections=, idle=} -> server | nil, error.
 * fd: a socket that listens already, in place of address and port; it is the server's from then on. tls_cert, tls_key:
 * files in PEM, for TLS. tells_gone: accept
 * also gives {id, gone = true} for a request whose client went before it had its answer. key: of who does not bring
 * it a body has 64 KiB at most. The limits are bytes, and seconds of idle (serve/server.h has what they are otherwise). */
static int l_new(lua_State *L)
{
    static const char *const names[] = { "port", "address", "fd", "tls_cert", "tls_key",
        "tells_gone", "max_body", "max_header", "max_queue", "max_connections", "idle", "key",
        NULL };
    struct hocket__runtime *rt = hocket__runtime(L);
    struct hocket_error err;
    hocket__opt_only(L, 1, names);
    struct server *s = hocket__new_object(L, sizeof(*s), 0, META);
    *s = (struct server){ .rt = rt, .closer = { .close = on_runtime_close } };
    hocket__list_init(&s->queue);
    hocket__list_init(&s->closer.link);
    hocket__map_init(&s->drains, rt->alloc);
    luaL_setmetatable(L, META);
    lua_pushvalue(L, -1);
    s->self_ref = luaL_ref(L, LUA_REGISTRYINDEX);
    struct hocket__server_options o = {
        .alloc = rt->alloc,
        .loop = rt->loop,
        .address = hocket__opt_str(L, 1, "address").p,
        .port = (int) hocket__opt_int(L, 1, "port", 0, 0, 65535),
        .fd = (int) hocket__opt_int(L, 1, "fd", -1, 0, INT_MAX) + 1,
        .cert = hocket__opt_str(L, 1, "tls_cert").p,
        .key_file = hocket__opt_str(L, 1, "tls_key").p,
        .max_body = (size_t) hocket__opt_int(L, 1, "max_body", 0, 1, INT64_MAX),
        .max_header = (size_t) hocket__opt_int(L, 1, "max_header", 0, 1, INT64_MAX),
        .max_queue = (size_t) hocket__opt_int(L, 1, "max_queue", 0, 1, INT64_MAX),
        .max_connections = (size_t) hocket__opt_int(L, 1, "max_connections", 16384, 1, INT64_MAX),
        .key = hocket__opt_str(L, 1, "key"),
        .idle_ms = (int) (hocket__opt_number(L, 1, "idle", 0) * 1000),
        .handler = &handlers[hocket__opt_bool(L, 1, "tells_gone", false)],
        .ud = s,
        .log_cb = rt->log_cb ? hocket__runtime_log_text : NULL,
        .log_ud = rt,
    };
    if (hocket__server_new(&o, &s->server, &err) < 0) {
        luaL_unref(L, LUA_REGISTRYINDEX, s->self_ref);
        return hocket__fail(L, &err);
    }
    hocket__runtime_hold(rt, &s->closer);
    return 1;
}

static int l_close(lua_State *L)
{
    struct server *s = hocket__check_object(L, 1, META);
    if (s->server)
        close_server(s);
    return 0;
}

/* ---- Accepting ---------------------------------------------------------------------- */

static void push_request(lua_State *L, const struct pending *p)
{
    lua_createtable(L, 0, 5);
    lua_pushinteger(L, (lua_Integer) p->id);
    lua_setfield(L, -2, "id");
    if (p->gone) {
        lua_pushboolean(L, true);
        lua_setfield(L, -2, "gone");
        return;
    }
    hocket__push_str(L, p->method);
    lua_setfield(L, -2, "method");
    hocket__push_str(L, p->path);
    lua_setfield(L, -2, "path");
    hocket__push_str(L, p->body);
    lua_setfield(L, -2, "body");
    lua_createtable(L, 0, (int) p->n_headers);
    for (size_t i = 0; i < p->n_headers; i++) {
        luaL_Buffer b;
        char *name = luaL_buffinitsize(L, &b, p->headers[i].name.n);
        for (size_t k = 0; k < p->headers[i].name.n; k++) {
            char c = p->headers[i].name.p[k];
            name[k] = (char) (c >= 'A' && c <= 'Z' ? c + 32 : c);
        }
        luaL_pushresultsize(&b, p->headers[i].name.n);
        hocket__push_str(L, p->headers[i].value);
        lua_rawset(L, -3);
    }
    lua_setfield(L, -2, "headers");
}

static void stop_accepting(void *ud)
{
    ((struct server *) ud)->fiber = 0;
}

/* Woken or not, the queue says what there is. */
static int accept_next(lua_State *L, int status, lua_KContext ctx)
{
    (void) status;
    (void) ctx;
    struct server *s = hocket__check_object(L, 1, META);
    if (!s->server)
        return 0;
    if (hocket__list_empty(&s->queue)) {
        s->fiber = hocket__fiber_current(L)->id;
        return hocket__await(L, -1, stop_accepting, s, 0, accept_next);
    }
    push_request(L, hocket__container_of(s->queue.next, struct pending, link));
    drop_first(s); /* not before: pushing may raise */
    return 1;
}

/* s:accept() -> {id, method, path, headers, body}; nothing when the server is closed */
static int l_accept(lua_State *L)
{
    check_server(L);
    return accept_next(L, LUA_OK, 0);
}

/* ---- Answering ------------------------------------------------------------------------ */

/* That a client has gone is nothing that a handler did wrong: it is told as a failure of the world. */
static int answered(lua_State *L, int rc)
{
    struct hocket_error err;
    if (rc < 0) {
        hocket__error(
            &err, rc, "%s", rc == HOCKET_ECLOSED ? "the client is gone" : hocket_status_text(rc));
        return hocket__fail(L, &err);
    }
    lua_pushboolean(L, true);
    return 1;
}

#define MAX_HEADERS 32

static size_t read_headers(lua_State *L, int arg, struct hocket__server_header *out)
{
    size_t n = 0;
    if (lua_isnoneornil(L, arg))
        return 0;
    luaL_checktype(L, arg, LUA_TTABLE);
    for (lua_pushnil(L); lua_next(L, arg); lua_pop(L, 1)) {
        luaL_argcheck(L, n < MAX_HEADERS, arg, "too many headers");
        luaL_argcheck(L, lua_type(L, -2) == LUA_TSTRING && lua_type(L, -1) == LUA_TSTRING, arg,
            "names and texts expected");
        out[n].name.p = lua_tolstring(L, -2, &out[n].name.n);
        out[n].value.p = lua_tolstring(L, -1, &out[n].value.n);
        n++;
    }
    return n;
}

static uint64_t check_id(lua_State *L)
{
    return (uint64_t) luaL_checkinteger(L, 2);
}

/* s:respond(id, status, headers, body) -> true | nil, error */
static int l_respond(lua_State *L)
{
    struct server *s = check_server(L);
    struct hocket__server_header headers[MAX_HEADERS];
    size_t n = read_headers(L, 4, headers);
    struct hocket__str body = { "", 0 };
    if (!lua_isnoneornil(L, 5))
        body = hocket__check_str(L, 5);
    return answered(L, hocket__server_respond(s->server, check_id(L), (int) luaL_checkinteger(L, 3),
                           headers, n, body));
}

/* s:begin(id, status, headers); s:write(id, bytes); s:raw(id, bytes); s:finish(id) */
static int l_begin(lua_State *L)
{
    struct server *s = check_server(L);
    struct hocket__server_header headers[MAX_HEADERS];
    size_t n = read_headers(L, 4, headers);
    return answered(
        L, hocket__server_begin(s->server, check_id(L), (int) luaL_checkinteger(L, 3), headers, n));
}

static int l_write(lua_State *L)
{
    struct server *s = check_server(L);
    return answered(L, hocket__server_write(s->server, check_id(L), hocket__check_str(L, 3)));
}

/* For the simulator's faults: bytes that are no HTTP. */
static int l_raw(lua_State *L)
{
    struct server *s = check_server(L);
    return answered(L, hocket__server_raw(s->server, check_id(L), hocket__check_str(L, 3)));
}

static int l_finish(lua_State *L)
{
    struct server *s = check_server(L);
    return answered(L, hocket__server_finish(s->server, check_id(L)));
}

static void end_drain(void *ud)
{
    struct drain *d = ud;
    hocket__map_del(&d->server->drains, d->id);
}

/* 0: there is room; 1: not yet; or ECLOSED. */
static int64_t is_full(const struct drain *d)
{
    int64_t queued =
        d->server->server ? hocket__server_queued(d->server->server, d->id) : HOCKET_ECLOSED;
    return queued < 0 ? queued : queued > (int64_t) d->max;
}

static int after_drain(lua_State *L, int status, lua_KContext ctx)
{
    struct drain *d = lua_touserdata(L, -1);
    (void) status;
    (void) ctx;
    int64_t full = is_full(d);
    if (full == 1)
        return hocket__await(L, -1, end_drain, d, 0, after_drain);
    end_drain(d);
    return answered(L, (int) full);
}

/* s:drain(id, bytes) -> true | nil, error: waits until no more than so much of its answer waits to be taken. One fiber for each
 * request. */
static int l_drain(lua_State *L)
{
    struct server *s = check_server(L);
    struct drain d = { .server = s, .id = check_id(L), .max = (size_t) luaL_checkinteger(L, 3) };
    int64_t full = is_full(&d);
    if (full != 1)
        return answered(L, (int) full);
    d.fiber = hocket__fiber_current(L)->id;
    struct drain *kept = lua_newuserdatauv(L, sizeof(d), 0);
    *kept = d;
    if (hocket__map_get(&s->drains, d.id))
        return luaL_error(L, "another fiber waits for this request");
    if (hocket__map_set(&s->drains, d.id, kept) < 0)
        return answered(L, HOCKET_ENOMEM);
    return hocket__await(L, -1, end_drain, kept, 0, after_drain);
}

/* s:abort(id, "reset" | "eof") */
static int l_abort(lua_State *L)
{
    static const char *const hows[] = { "reset", "eof", NULL };
    struct server *s = check_server(L);
    int how = luaL_checkoption(L, 3, "reset", hows);
    return answered(L, hocket__server_abort(s->server, check_id(L),
                           how ? HOCKET__SERVER_EOF : HOCKET__SERVER_RESET));
}

/* s:give_up(id?): a request cannot be answered, memory being out; without an id the first of those that were
 * not accepted, if there is one. Needs no memory of Lua's. */
static int l_give_up(lua_State *L)
{
    struct server *s = hocket__check_object(L, 1, META);
    bool accepted = !lua_isnoneornil(L, 2);
    if (!s->server || (!accepted && hocket__list_empty(&s->queue)))
        return 0;
    uint64_t id =
        accepted ? check_id(L) : hocket__container_of(s->queue.next, struct pending, link)->id;
    if (!accepted)
        drop_first(s);
    if (hocket__server_respond(s->server, id, 503, NULL, 0, HOCKET__STR("out of memory\n")) < 0)
        hocket__server_abort(s->server, id, HOCKET__SERVER_RESET);
    return 0;
}

/* s:mute(): nobody new is let in from now on; requests that are open go on */
static int l_mute(lua_State *L)
{
    hocket__server_mute(check_server(L)->server);
    return 0;
}

/* s:peer(id) -> the address that a request comes from; nothing where it is not known */
static int l_peer(lua_State *L)
{
    char address[HOCKET__SERVER_PEER];
    if (hocket__server_peer(check_server(L)->server, check_id(L), address) < 0 || !*address)
        return 0;
    lua_pushstring(L, address);
    return 1;
}

/* s:refresh() -> true | nil, error: reads the certificate and its key again */
static int l_refresh(lua_State *L)
{
    struct hocket_error err;
    if (hocket__server_refresh(check_server(L)->server, &err) < 0)
        return hocket__fail(L, &err);
    lua_pushboolean(L, true);
    return 1;
}

/* s:certified(host) -> whether its certificate is for a name or an address */
static int l_certified(lua_State *L)
{
    struct server *s = check_server(L);
    lua_pushboolean(L, hocket__server_certified(s->server, hocket__check_str(L, 2)));
    return 1;
}

static int l_connections(lua_State *L)
{
    lua_pushinteger(L, (lua_Integer) hocket__server_connections(check_server(L)->server));
    return 1;
}

static int l_port(lua_State *L)
{
    lua_pushinteger(L, hocket__server_port(check_server(L)->server));
    return 1;
}

static const luaL_Reg functions[] = { { "new", l_new }, { NULL, NULL } };
static const luaL_Reg methods[] = {
    { "accept", l_accept },
    { "respond", l_respond },
    { "begin", l_begin },
    { "write", l_write },
    { "raw", l_raw },
    { "finish", l_finish },
    { "drain", l_drain },
    { "abort", l_abort },
    { "mute", l_mute },
    { "peer", l_peer },
    { "refresh", l_refresh },
    { "certified", l_certified },
    { "connections", l_connections },
    { "give_up", l_give_up },
    { "port", l_port },
    { "close", l_close },
    { NULL, NULL },
};

int hocket__open_server(lua_State *L)
{
    hocket__newmeta(L, META, methods);
    lua_pop(L, 1);
    lua_newtable(L);
    hocket__setfuncs(L, functions);
    return 1;
}

/* hocket.internal.core.socket: lines between processes of one user. What listens and what is connected are objects of
 * one kind each; fibers look, and wait for news.
 *
 * Any number of fibers may wait for news of an object: all are woken, and each looks for itself.
 * When the host closes, what is open is closed by its closer, and its userdata is left as a shell
 * that says so. */

#include "bind/life.h"
#include "bind/open.h"

#include "bind/fiber/fiber.h"
#include "bind/util.h"
#include "os/self.h"
#include "os/socket.h"

static const char LISTENER[] = "hocket.socket.listener", STREAM[] = "hocket.socket.stream";

struct end {
    struct hocket__closer closer;
    struct hocket__runtime *rt;
    struct hocket__listener *listener; /* NULL in a stream, and when it is closed */
    struct hocket__stream *stream;
    uint64_t *waiting; /* fibers */
    size_t n_waiting, cap_waiting;
    int self_ref; /* keeps this userdata while the loop knows it */
};

/* ---- Waiting --------------------------------------------------------------- */

static void on_news(void *ud)
{
    struct end *e = ud;
    for (size_t i = 0; i < e->n_waiting; i++)
        hocket__fiber_wake(e->rt, e->waiting[i]);
    e->n_waiting = 0;
}

static struct end *check_end(lua_State *L)
{
    struct end *e = luaL_testudata(L, 1, LISTENER);
    return e ? e : luaL_checkudata(L, 1, STREAM);
}

static int after_wait(lua_State *L, int status, lua_KContext ctx)
{
    struct end *e = check_end(L);
    uint64_t id = hocket__fiber_current(L)->id;
    (void) status;
    (void) ctx;
    for (size_t i = e->n_waiting; i-- > 0;)
        if (e->waiting[i] == id)
            e->waiting[i] = e->waiting[--e->n_waiting];
    return 0;
}

/* What is woken and waits no more looks again, and finds nothing. That there is one at all says that news come from
 * outside. */
static void stop_waiting(void *ud)
{
    (void) ud;
}

/* e:wait(seconds?): until there may be something new, or it is closed */
static int l_wait(lua_State *L)
{
    struct end *e = check_end(L);
    uint64_t id = hocket__fiber_current(L)->id;
    int64_t timeout = hocket__opt_seconds(L, 2);
    if (!e->listener && !e->stream)
        return 0;
    if (hocket__grow(e->rt->alloc, &e->waiting, &e->cap_waiting, e->n_waiting + 1, sizeof(id)) < 0)
        return luaL_error(L, "out of memory");
    e->waiting[e->n_waiting++] = id;
    lua_settop(L, 1);
    return hocket__await(L, timeout, stop_waiting, e, 0, after_wait);
}

/* ---- Opening and closing ----------------------------------------------------- */

static void let_go(void *ud)
{
    struct end *e = ud;
    hocket__free(e->rt->alloc, e->waiting, e->cap_waiting * sizeof(*e->waiting));
    e->waiting = NULL;
    e->cap_waiting = e->n_waiting = 0;
    luaL_unref(e->rt->L, LUA_REGISTRYINDEX, e->self_ref);
    hocket__runtime_release(e->rt, &e->closer);
}

static void close_end(struct end *e)
{
    struct hocket__listener *listener = e->listener;
    struct hocket__stream *stream = e->stream;
    e->listener = NULL;
    e->stream = NULL;
    on_news(e);
    if (listener)
        hocket__listener_close(listener, let_go, e);
    if (stream)
        hocket__stream_close(stream, let_go, e);
}

static void on_runtime_close(struct hocket__closer *c)
{
    close_end(hocket__container_of(c, struct end, closer));
}

static int l_close(lua_State *L)
{
    close_end(check_end(L));
    return 0;
}

/* Pushes an object that stands for nothing yet, with itself kept. */
static struct end *new_end(lua_State *L, const char *meta)
{
    struct hocket__runtime *rt = hocket__runtime(L);
    struct end *e = lua_newuserdatauv(L, sizeof(*e), 0);
    *e = (struct end){ .rt = rt, .closer = { .close = on_runtime_close } };
    hocket__list_init(&e->closer.link);
    luaL_setmetatable(L, meta);
    lua_pushvalue(L, -1);
    e->self_ref = luaL_ref(L, LUA_REGISTRYINDEX);
    return e;
}

/* After what it stands for was opened, or was not. */
static int opened(lua_State *L, struct end *e, int rc, const struct hocket_error *err)
{
    if (rc >= 0) {
        hocket__runtime_hold(e->rt, &e->closer);
        return 1;
    }
    luaL_unref(L, LUA_REGISTRYINDEX, e->self_ref);
    return hocket__fail(L, err);
}

/* listen(directory, file) -> listener | nil, error */
static int l_listen(lua_State *L)
{
    const char *dir = luaL_checkstring(L, 1), *file = luaL_checkstring(L, 2);
    struct hocket_error err;
    struct end *e = new_end(L, LISTENER);
    int rc = hocket__listen(e->rt->loop, e->rt->alloc, dir, file, on_news, e, &e->listener, &err);
    return opened(L, e, rc, &err);
}

static int push_stream(
    lua_State *L, struct end *e, int fd, bool keeps, const struct hocket__peer *peer)
{
    struct hocket_error err;
    int rc = hocket__stream_new(e->rt->loop, e->rt->alloc, fd, keeps, on_news, e, &e->stream, &err);
    if (rc < 0)
        return opened(L, e, rc, &err);
    opened(L, e, 0, NULL);
    lua_pushinteger(L, peer->pid);
    lua_pushinteger(L, peer->uid);
    return 3;
}

/* l:accept() -> stream, pid, uid | nil, error; nothing when nobody has come, or it is closed */
static int l_accept(lua_State *L)
{
    struct end *l = luaL_checkudata(L, 1, LISTENER);
    struct hocket__peer peer;
    int fd;
    struct end *e = new_end(L, STREAM); /* first: it may raise */
    if (!l->listener || !hocket__accept(l->listener, &fd, &peer)) {
        luaL_unref(L, LUA_REGISTRYINDEX, e->self_ref);
        return 0;
    }
    return push_stream(L, e, fd, false, &peer);
}

/* connect(path) -> stream, pid, uid | nil, error */
static int l_connect(lua_State *L)
{
    const char *path = luaL_checkstring(L, 1);
    struct hocket__peer peer;
    struct hocket_error err;
    int fd;
    struct end *e = new_end(L, STREAM);
    int rc = hocket__connect(path, &fd, &peer, &err);
    if (rc < 0)
        return opened(L, e, rc, &err);
    return push_stream(L, e, fd, true, &peer);
}

/* stdio(max_line, max_queue) -> stream | nil, error: over this process's standard input and output */
static int l_stdio(lua_State *L)
{
    size_t max_line = (size_t) luaL_checkinteger(L, 1),
           max_queue = (size_t) luaL_checkinteger(L, 2);
    struct hocket_error err;
    struct end *e = new_end(L, STREAM);
    int rc = hocket__stream_stdio(
        e->rt->loop, e->rt->alloc, max_line, max_queue, on_news, e, &e->stream, &err);
    return opened(L, e, rc, &err);
}

/* self() -> pid, uid: of this process */
static int l_self(lua_State *L)
{
    lua_pushinteger(L, uv_os_getpid());
    lua_pushinteger(L, hocket__self_user());
    return 2;
}

/* ---- Lines --------------------------------------------------------------------- */

static int push_status(lua_State *L, int rc)
{
    struct hocket_error err;
    static const char *const words[] = { "the other side has closed the connection",
        "more than fits at once" };
    hocket__error(&err, rc, "%s",
        rc == HOCKET_ECLOSED  ? words[0]
        : rc == HOCKET_ELIMIT ? words[1]
                              : hocket_status_text(rc));
    return hocket__fail(L, &err);
}

/* s:line() -> text | nil, error; nothing when there is none yet */
static int l_line(lua_State *L)
{
    struct end *e = luaL_checkudata(L, 1, STREAM);
    struct hocket__str line;
    int rc = e->stream ? hocket__stream_line(e->stream, &line) : HOCKET_ECLOSED;
    if (rc < 0)
        return push_status(L, rc);
    if (rc == 0)
        return 0;
    hocket__push_str(L, line);
    return 1;
}

/* s:send(text) -> true | nil, error */
static int l_send(lua_State *L)
{
    struct end *e = luaL_checkudata(L, 1, STREAM);
    struct hocket__str text = hocket__check_str(L, 2);
    int rc = e->stream ? hocket__stream_send(e->stream, text) : HOCKET_ECLOSED;
    if (rc < 0)
        return push_status(L, rc);
    lua_pushboolean(L, true);
    return 1;
}

/* s:queued() -> bytes that wait to be sent */
static int l_queued(lua_State *L)
{
    struct end *e = luaL_checkudata(L, 1, STREAM);
    lua_pushinteger(L, e->stream ? (lua_Integer) hocket__stream_queued(e->stream) : 0);
    return 1;
}

static const luaL_Reg functions[] = { { "listen", l_listen }, { "connect", l_connect },
    { "self", l_self }, { "stdio", l_stdio }, { NULL, NULL } };
static const luaL_Reg listener_methods[] = { { "accept", l_accept }, { "wait", l_wait },
    { "close", l_close }, { "__close", l_close }, { NULL, NULL } };
static const luaL_Reg stream_methods[] = { { "line", l_line }, { "send", l_send },
    { "queued", l_queued }, { "wait", l_wait }, { "close", l_close }, { "__close", l_close },
    { NULL, NULL } };

int hocket__open_socket(lua_State *L)
{
    hocket__newmeta(L, LISTENER, listener_methods);
    hocket__newmeta(L, STREAM, stream_methods);
    lua_pop(L, 2);
    lua_newtable(L);
    hocket__setfuncs(L, functions);
    if (HOCKET__SOCKETS_ABSENT)
        hocket__set_cstr(L, "absent", HOCKET__SOCKETS_ABSENT);
    return 1;
}

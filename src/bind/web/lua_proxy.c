/* hocket.internal.core.proxy: the proxy of programs that may reach named hosts alone, whose questions are
 * answered in fibers. Part of the optional component hocket-serve.
 *
 * Questions and refusals wait in a queue, in order, until the fiber that listens takes them; the
 * program that wants to connect waits meanwhile, by a deadline of its own. */

#include "bind/life.h"
#include "bind/open.h"

#include "bind/fiber/fiber.h"
#include "bind/options.h"
#include "bind/taker.h"
#include "bind/util.h"
#include "net/address.h"
#include "os/tcp.h"
#include "serve/proxy/proxy.h"

#define META     HOCKET__PROXY_META
#define MOST     256 /* of what was reported and not yet taken */
#define HOST_MAX 254

/* A question, or with id 0 what was refused. */
struct news {
    struct hocket__list link;
    uint64_t id;
    int port;
    char host[HOST_MAX];
    const char *why; /* a literal */
};

struct proxy {
    struct hocket__taker taker; /* first */
    struct hocket__closer closer;
    struct hocket__runtime *rt;
    struct hocket__proxy *proxy; /* NULL: closed */
    struct hocket__list news;
    size_t n_news;
    uint64_t fiber; /* in next */
    int self_ref;   /* keeps this userdata until the proxy is closed */
};

static struct proxy *check_proxy(lua_State *L)
{
    struct proxy *p = hocket__check_object(L, 1, META);
    if (!p->proxy)
        luaL_error(L, "the proxy is closed");
    return p;
}

/* ---- Reports ---------------------------------------------------------------------- */

/* Where reports are not taken, further ones are dropped: the question stays open until the connection goes. */
static void report(struct proxy *p, uint64_t id, const char *host, int port, const char *why)
{
    struct news *one = p->n_news < MOST ? hocket__zero(p->rt->alloc, sizeof(*one)) : NULL;
    if (!one)
        return;
    *one = (struct news){ .id = id, .port = port, .why = why };
    strncpy(one->host, host, sizeof(one->host) - 1);
    hocket__list_add(&p->news, &one->link);
    p->n_news++;
    hocket__fiber_wake(p->rt, p->fiber);
}

static void on_question(void *ud, uint64_t id, const char *host, int port)
{
    report(ud, id, host, port, NULL);
}

static void on_refused(void *ud, const char *host, int port, const char *why)
{
    report(ud, 0, host, port, why);
}

static void drop_first(struct proxy *p)
{
    struct news *one = hocket__container_of(p->news.next, struct news, link);
    hocket__list_del(&one->link);
    hocket__free(p->rt->alloc, one, sizeof(*one));
    p->n_news--;
}

/* ---- Opening and closing ----------------------------------------------------------------- */

static void on_closed(void *ud)
{
    struct proxy *p = ud;
    luaL_unref(p->rt->L, LUA_REGISTRYINDEX, p->self_ref);
    hocket__runtime_release(p->rt, &p->closer);
}

static void close_proxy(struct proxy *p)
{
    struct hocket__proxy *proxy = p->proxy;
    p->proxy = NULL;
    while (p->n_news > 0)
        drop_first(p);
    hocket__fiber_wake(p->rt, p->fiber);
    hocket__proxy_close(proxy, on_closed, p);
}

static void on_runtime_close(struct hocket__closer *c)
{
    struct proxy *p = hocket__container_of(c, struct proxy, closer);
    if (p->proxy)
        close_proxy(p);
}

static void take(struct hocket__taker *t, int fd)
{
    struct proxy *p = (struct proxy *) t;
    if (p->proxy)
        hocket__proxy_listen(p->proxy, fd);
    else
        hocket__tcp_close(fd);
}

/* new{questions=, head=, connect=} -> proxy | nil, error */
static int l_new(lua_State *L)
{
    struct asked {
        struct hocket__proxy_options o;
        bool questions;
    };
    static const struct hocket__opt rows[] = {
        { HOCKET__OPT_BOOL("questions", struct asked, questions) },
        { HOCKET__OPT_SECONDS("head", struct asked, o.head_ms) },
        { HOCKET__OPT_SECONDS("connect", struct asked, o.connect_ms) },
        { HOCKET__OPT_INT("connections", struct asked, o.max_connections, 1, 65536) },
        { 0 },
    };
    struct hocket__runtime *rt = hocket__runtime(L);
    struct hocket_error err;
    struct asked asked = { .o = {
                               .alloc = rt->alloc,
                               .loop = rt->loop,
                               .is_public = hocket__address_is_public,
                               .handler = { .on_refused = on_refused },
                           } };
    hocket__opt_read(L, 1, rows, &asked);
    if (asked.questions)
        asked.o.handler.on_question = on_question;
    struct proxy *p = hocket__new_object(L, sizeof(*p), 0, META);
    *p = (struct proxy){ .taker = { take }, .rt = rt, .closer = { .close = on_runtime_close } };
    asked.o.ud = p;
    hocket__list_init(&p->news);
    hocket__list_init(&p->closer.link);
    luaL_setmetatable(L, META);
    lua_pushvalue(L, -1);
    p->self_ref = luaL_ref(L, LUA_REGISTRYINDEX);
    if (hocket__proxy_new(&asked.o, &p->proxy, &err) < 0) {
        luaL_unref(L, LUA_REGISTRYINDEX, p->self_ref);
        return hocket__fail(L, &err);
    }
    hocket__runtime_hold(rt, &p->closer);
    return 1;
}

static int l_close(lua_State *L)
{
    struct proxy *p = hocket__check_object(L, 1, META);
    if (p->proxy)
        close_proxy(p);
    return 0;
}

/* p:name(rule, inside?) -> true | nil, error: one more place where programs may go */
static int l_name(lua_State *L)
{
    struct proxy *p = check_proxy(L);
    struct hocket_error err;
    if (hocket__proxy_name(p->proxy, hocket__check_str(L, 2), lua_toboolean(L, 3), &err) < 0)
        return hocket__fail(L, &err);
    lua_pushboolean(L, true);
    return 1;
}

/* p:answer(id, allowed) */
static int l_answer(lua_State *L)
{
    struct proxy *p = hocket__check_object(L, 1, META);
    if (p->proxy)
        hocket__proxy_answer(p->proxy, (uint64_t) luaL_checkinteger(L, 2), lua_toboolean(L, 3));
    return 0;
}

/* ---- Taking reports ------------------------------------------------------------------------------- */

static void push_news(lua_State *L, const struct news *one)
{
    lua_createtable(L, 0, 4);
    if (one->id) {
        hocket__set_int(L, "id", (lua_Integer) one->id);
    }
    hocket__set_cstr(L, "host", one->host);
    hocket__set_int(L, "port", one->port);
    hocket__set_cstr(L, "refused", one->why);
}

static void stop_hearing(void *ud)
{
    ((struct proxy *) ud)->fiber = 0;
}

static int hear_next(lua_State *L, int status, lua_KContext ctx)
{
    (void) status;
    (void) ctx;
    struct proxy *p = hocket__check_object(L, 1, META);
    if (!p->proxy)
        return 0;
    if (p->n_news == 0) {
        p->fiber = hocket__fiber_current(L)->id;
        return hocket__await(L, -1, stop_hearing, p, 0, hear_next);
    }
    push_news(L, hocket__container_of(p->news.next, struct news, link));
    drop_first(p);
    return 1;
}

/* p:next() -> {id, host, port}, a question; {host, port, refused}; nothing when the proxy is closed */
static int l_next(lua_State *L)
{
    return hear_next(L, LUA_OK, 0);
}

static const luaL_Reg functions[] = { { "new", l_new }, { NULL, NULL } };
static const luaL_Reg methods[] = {
    { "name", l_name },
    { "next", l_next },
    { "answer", l_answer },
    { "close", l_close },
    { NULL, NULL },
};

int hocket__open_proxy(lua_State *L)
{
    return hocket__open_class(L, META, methods, functions);
}

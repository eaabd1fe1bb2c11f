/* hocket.http: plain HTTP requests for scripts, and for looking for local servers. Redirects are
 * not followed unless asked for. In a run that is recorded or replayed they are, too.
 *
 * The callbacks of net/http collect into the request's userdata and wake the fiber; a cancel takes
 * the request out of the actor, after which no callback comes. */

#include "bind/open.h"

#include "bind/fiber/fiber.h"
#include "bind/transport.h"
#include "bind/util.h"
#include "bind/web/http_impl.h"
#include "net/address.h"

static const char REQUEST[] = "hocket.http_request";

/* User value: what the transport belongs to. */
struct request {
    struct hocket__runtime *rt;
    struct hocket__transport *transport;
    int64_t id;
    uint64_t fiber;
    bool done, failed;
    int status;
    struct hocket__buf body, headers; /* headers: name NUL value NUL … */
    struct hocket_error err;
};

static void on_head(void *ud, int status)
{
    struct request *q = ud;
    q->status = status;
    hocket__buf_cut(&q->headers, 0); /* those of an answer before, when redirects are followed */
}

static void on_header(void *ud, struct hocket__str name, struct hocket__str value)
{
    struct request *q = ud;
    hocket__http_keep_header(&q->headers, name, value);
}

static int on_data(void *ud, const char *p, size_t n, struct hocket_error *err)
{
    struct request *q = ud;
    int rc = hocket__buf_add(&q->body, p, n);
    return rc < 0 ? hocket__error(err, rc, "the answer is too large") : 0;
}

static void on_done(void *ud, const struct hocket_error *err, const struct hocket__http_timing *t)
{
    struct request *q = ud;
    (void) t;
    q->id = 0;
    q->done = true;
    q->failed = err != NULL;
    if (err)
        q->err = *err;
    hocket__fiber_wake(q->rt, q->fiber);
}

static const struct hocket__http_handler handler = {
    .on_head = on_head, .on_header = on_header, .on_data = on_data, .on_done = on_done
};

static void abandon(void *ud)
{
    struct request *q = ud;
    if (q->id > 0)
        q->transport->ops->cancel(q->transport, q->id);
    q->id = 0;
}

static int request_gc(lua_State *L)
{
    struct request *q = hocket__gc_userdata(L, request_gc);
    if (!q)
        return 0;
    abandon(q);
    hocket__buf_deinit(&q->body);
    hocket__buf_deinit(&q->headers);
    return 0;
}

static struct request *new_request(lua_State *L, struct hocket__runtime *rt, size_t max)
{
    struct hocket__transport *transport = hocket__transport_push(L, rt);
    struct request *q = hocket__new_object(L, sizeof(*q), 1, REQUEST);
    *q = (struct request){ .rt = rt, .transport = transport };
    lua_insert(L, -2);
    lua_setiuservalue(L, -2, 1);
    hocket__buf_init(&q->body, rt->alloc, max);
    hocket__buf_init(&q->headers, rt->alloc, 1 << 20);
    luaL_setmetatable(L, REQUEST);
    return q;
}

static int finish(lua_State *L, int status, lua_KContext ctx)
{
    (void) status;
    (void) ctx;
    struct request *q = hocket__check_object(L, 2, REQUEST);
    if (!q->done)
        return hocket__await(L, -1, abandon, q, 0, finish);
    if (q->failed)
        return hocket__fail(L, &q->err);
    lua_createtable(L, 0, 3);
    hocket__set_int(L, "status", q->status);
    hocket__push_str(L, hocket__buf_str(&q->body));
    lua_setfield(L, -2, "body");
    hocket__http_push_headers(L, &q->headers);
    lua_setfield(L, -2, "headers");
    return 1;
}

/* request{url=, method=, headers=, body=, timeout=, connect_timeout=, max_body=, redirects=,
 * public=}
 *   -> {status, headers, body} | nil, error */
static int l_request(lua_State *L)
{
    static const struct hocket__opt rows[] = { HOCKET__HTTP_ROWS,
        { HOCKET__OPT_INT(
            "max_body", struct hocket__http_asked, spec.max_body, 0, INT64_C(1) << 40) },
        { 0 } };
    struct hocket__runtime *rt = hocket__runtime(L);
    struct hocket_error err;
    struct hocket__http_asked asked = {
        .spec = { .total_ms = 60000, .max_body = 32 << 20, .label = { .to = HOCKET__STR("http") } },
    };
    struct hocket__http_spec *spec = &asked.spec;
    luaL_checktype(L, 1, LUA_TTABLE);
    lua_settop(L, 1);
    hocket__http_read(L, rows, &asked);
    hocket__fiber_current(L);
    struct request *q = new_request(L, rt, spec->max_body + 1);
    struct hocket__buf sent; /* what is asked has nothing to do with max_body */
    hocket__buf_init(&sent, rt->alloc, 0);
    if (asked.body.p && hocket__buf_addstr(&sent, asked.body) < 0) {
        hocket__buf_deinit(&sent);
        return hocket__raise_nomem(L);
    }
    spec->body = asked.body.p ? &sent : NULL;
    int64_t id = q->transport->ops->start(q->transport, spec, &handler, q, &err);
    hocket__buf_deinit(&sent);
    if (id < 0)
        return hocket__fail(L, &err);
    q->id = id;
    q->fiber = hocket__fiber_current(L)->id;
    return finish(L, LUA_OK, 0);
}

static const luaL_Reg functions[] = { { "request", l_request }, { "open", hocket__http_open },
    { NULL, NULL } };
static const luaL_Reg methods[] = { { "__gc", request_gc }, { NULL, NULL } };

int hocket__open_http(lua_State *L)
{
    hocket__newmeta(L, REQUEST, methods);
    lua_pop(L, 1);
    hocket__http_register(L);
    lua_newtable(L);
    hocket__setfuncs(L, functions);
    return 1;
}

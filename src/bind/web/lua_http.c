/* hocket.http: plain HTTP requests for scripts, and for looking for local servers. Redirects are
 * not followed unless asked for. In a run that is recorded or replayed they are, too. */

#include "bind/open.h"

#include "bind/fiber/fiber.h"
#include "bind/cassette.h"
#include "bind/util.h"
#include "net/address.h"
#include "net/http/http.h"

static const char REQUEST[] = "hocket.http_request";
#define MAX_HEADERS 64

/* User value: the cassette. */
struct request {
    struct hocket__runtime *rt;
    struct hocket__cassette *cassette; /* NULL: none */
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
    hocket__buf_addstr(&q->headers, name);
    hocket__buf_addc(&q->headers, 0);
    hocket__buf_addstr(&q->headers, value);
    hocket__buf_addc(&q->headers, 0);
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

static const struct hocket__http_handler handler = { on_head, on_header, on_data, on_done };

static void abandon(void *ud)
{
    struct request *q = ud;
    if (q->id > 0 && q->cassette && (q->rt->http || hocket__cassette_replays(q->cassette)))
        hocket__cassette_cancel(q->cassette, q->rt->http, q->id);
    else if (q->id > 0 && q->cassette)
        hocket__cassette_orphan(q->cassette, q->id);
    else if (q->id > 0 && q->rt->http)
        hocket__http_cancel(q->rt->http, q->id);
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
    struct hocket__cassette *cassette = hocket__cassette_push(L);
    struct request *q = hocket__new_object(L, sizeof(*q), 1, REQUEST);
    *q = (struct request){ .rt = rt, .cassette = cassette };
    lua_insert(L, -2);
    lua_setiuservalue(L, -2, 1);
    hocket__buf_init(&q->body, rt->alloc, max);
    hocket__buf_init(&q->headers, rt->alloc, 1 << 20);
    luaL_setmetatable(L, REQUEST);
    return q;
}

static void push_headers(lua_State *L, const struct request *q)
{
    lua_newtable(L);
    const char *p = q->headers.data, *end = p + q->headers.len;
    while (p && p < end) {
        const char *value = p + strlen(p) + 1;
        lua_pushstring(L, value);
        lua_setfield(L, -2, p);
        p = value + strlen(value) + 1;
    }
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
    lua_pushinteger(L, q->status);
    lua_setfield(L, -2, "status");
    hocket__push_str(L, hocket__buf_str(&q->body));
    lua_setfield(L, -2, "body");
    push_headers(L, q);
    lua_setfield(L, -2, "headers");
    return 1;
}

static size_t read_headers(lua_State *L, struct hocket__http_header *list)
{
    size_t n = 0;
    if (lua_getfield(L, 1, "headers") == LUA_TTABLE)
        for (lua_pushnil(L); lua_next(L, -2) && n < MAX_HEADERS; lua_pop(L, 1)) {
            if (lua_type(L, -2) != LUA_TSTRING || lua_type(L, -1) != LUA_TSTRING)
                luaL_error(L, "bad option 'headers' (a table of names and texts expected)");
            list[n].name.p = lua_tolstring(L, -2, &list[n].name.n);
            list[n].value.p = lua_tolstring(L, -1, &list[n].value.n);
            n++;
        }
    lua_settop(L, 2);
    return n;
}

static int milliseconds(lua_State *L, const char *name, double otherwise)
{
    double s = hocket__opt_number(L, 1, name, otherwise);
    return s <= 0 ? 0 : s > 1e6 ? 1000000000 : (int) (s * 1000 + 0.5);
}

static int64_t send_off(
    struct request *q, const struct hocket__http_spec *spec, struct hocket_error *err)
{
    struct hocket__cassette *c = q->cassette;
    struct hocket__cassette_label label = { .to = HOCKET__STR("http"), .key = { "", 0 } };
    struct hocket__http *http =
        c && hocket__cassette_replays(c) ? NULL : hocket__runtime_http(q->rt, err);
    if (c && (http || hocket__cassette_replays(c)))
        return hocket__cassette_start(c, http, &label, spec, &handler, q, err);
    return http ? hocket__http_start(http, spec, &handler, q, err) : err->status;
}

/* request{url=, method=, headers=, body=, timeout=, connect_timeout=, max_body=, redirects=,
 * public=}
 *   -> {status, headers, body} | nil, error */
static int l_request(lua_State *L)
{
    static const char *const names[] = { "url", "method", "headers", "body", "timeout",
        "connect_timeout", "max_body", "redirects", "public", NULL };
    struct hocket__runtime *rt = hocket__runtime(L);
    struct hocket_error err;
    struct hocket__http_header headers[MAX_HEADERS];
    luaL_checktype(L, 1, LUA_TTABLE);
    lua_settop(L, 1);
    hocket__opt_only(L, 1, names);
    hocket__fiber_current(L);
    size_t max = (size_t) hocket__opt_int(L, 1, "max_body", 32 << 20, 0, INT64_C(1) << 40);
    bool public = hocket__opt_bool(L, 1, "public", false);
    struct hocket__str url = hocket__opt_str(L, 1, "url"), method = hocket__opt_str(L, 1, "method"),
                       body = hocket__opt_str(L, 1, "body");
    luaL_argcheck(L, url.p, 1, "option 'url' is missing");
    struct request *q = new_request(L, rt, max + 1);
    if (body.p && hocket__buf_addstr(&q->body, body) < 0)
        return hocket__raise_nomem(L);
    struct hocket__http_spec spec = {
        .method = method.p ? method.p
                  : body.p ? "POST"
                           : "GET",
        .url = url.p,
        .headers = headers,
        .n_headers = read_headers(L, headers),
        .body = body.p ? &q->body : NULL,
        .pool = public ? "public" : "script",
        .proxy = public ? "" : NULL, /* a proxy would connect to what may not be connected to */
        .allow_address = public ? hocket__address_is_public : NULL,
        .connect_ms = milliseconds(L, "connect_timeout", 10),
        .total_ms = milliseconds(L, "timeout", 60),
        .max_body = max,
        .max_redirects = (int) hocket__opt_int(L, 1, "redirects", 0, 0, 20),
    };
    int64_t id = send_off(q, &spec, &err);
    if (id < 0)
        return hocket__fail(L, &err);
    q->id = id;
    q->fiber = hocket__fiber_current(L)->id;
    return finish(L, LUA_OK, 0);
}

static const luaL_Reg functions[] = { { "request", l_request }, { NULL, NULL } };
static const luaL_Reg methods[] = { { "__gc", request_gc }, { NULL, NULL } };

int hocket__open_http(lua_State *L)
{
    hocket__newmeta(L, REQUEST, methods);
    lua_pop(L, 1);
    lua_newtable(L);
    hocket__setfuncs(L, functions);
    return 1;
}

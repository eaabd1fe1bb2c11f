/* hocket.http.open: an answer that is read while it comes, as event streams are. It is ended when
 * nobody holds it any more.
 *
 * What comes while nobody reads is kept up to a limit, then the stream fails: an event stream that
 * is opened and forgotten must not fill the memory. */
#include "bind/fiber/fiber.h"
#include "bind/util.h"
#include "bind/web/http_impl.h"

static const char META[] = "hocket.http_stream";

#define AHEAD                                                                                      \
    (32 << 20) /* bytes that nobody has read, at most: an answer that is larger is ended */

struct stream {
    struct hocket__runtime *rt;
    int64_t id;                /* 0: over */
    uint64_t fiber;            /* who waits, 0: nobody */
    bool done, failed, opened; /* opened: its headers are there */
    int status;
    struct hocket__buf out, headers, in;
    struct hocket_error err;
};

/* ---- Callbacks from the loop -------------------------------------------------------- */

static void wake(struct stream *s)
{
    uint64_t fiber = s->fiber;
    s->fiber = 0;
    if (fiber)
        hocket__fiber_wake(s->rt, fiber);
}

static void on_head(void *ud, int status)
{
    struct stream *s = ud;
    s->status = status;
    hocket__buf_cut(&s->headers, 0); /* those of an answer before, when redirects are followed */
}

static void on_header(void *ud, struct hocket__str name, struct hocket__str value)
{
    hocket__http_keep_header(&((struct stream *) ud)->headers, name, value);
}

/* A failed buffer ends the transfer with its error, and the reader gets what came before, then the
 * error. */
static int on_data(void *ud, const char *p, size_t n, struct hocket_error *err)
{
    struct stream *s = ud;
    int rc = hocket__buf_add(&s->in, p, n);
    wake(s);
    return rc < 0 ? hocket__error(err, rc, "more of the answer came than is kept unread") : 0;
}

static void on_done(void *ud, const struct hocket_error *err, const struct hocket__http_timing *t)
{
    struct stream *s = ud;
    (void) t;
    s->id = 0;
    s->done = true;
    s->failed = err != NULL;
    if (err)
        s->err = *err;
    wake(s);
}

static void on_headers_end(void *ud)
{
    struct stream *s = ud;
    s->opened = true;
    wake(s);
}

static const struct hocket__http_handler handler = { .on_head = on_head,
    .on_header = on_header,
    .on_headers_end = on_headers_end,
    .on_data = on_data,
    .on_done = on_done };

/* ---- Its life ----------------------------------------------------------------------------- */

/* After the cancel no callback comes: so the userdata may go. */
static void end(struct stream *s)
{
    if (s->id > 0)
        s->rt->direct.ops->cancel(&s->rt->direct, s->id);
    s->id = 0;
}

static int stream_gc(lua_State *L)
{
    struct stream *s = hocket__gc_userdata(L, stream_gc);
    if (!s)
        return 0;
    end(s);
    hocket__buf_deinit(&s->out);
    hocket__buf_deinit(&s->headers);
    hocket__buf_deinit(&s->in);
    return 0;
}

static struct stream *new_stream(lua_State *L, struct hocket__runtime *rt)
{
    struct stream *s = hocket__new_object(L, sizeof(*s), 0, META);
    *s = (struct stream){ .rt = rt };
    hocket__buf_init(&s->out, rt->alloc, 0);
    hocket__buf_init(&s->headers, rt->alloc, 1 << 20);
    hocket__buf_init(&s->in, rt->alloc, AHEAD);
    luaL_setmetatable(L, META);
    return s;
}

static void forget(void *ud)
{
    ((struct stream *) ud)->fiber = 0;
}

/* ---- The head ------------------------------------------------------------------------------ */

/* A cancel while the head is awaited takes the whole request with it: nobody has got the stream
 * yet. */
static void abandon(void *ud)
{
    forget(ud);
    end(ud);
}

/* An answer without a body may be over before anybody looks. */
static int opened(lua_State *L, int status, lua_KContext ctx)
{
    struct stream *s = hocket__check_object(L, 2, META);
    (void) status;
    (void) ctx;
    if (s->opened || (s->done && !s->failed))
        return 1;
    if (s->done)
        return hocket__fail(L, &s->err);
    s->fiber = hocket__fiber_current(L)->id;
    return hocket__await(L, -1, abandon, s, 0, opened);
}

int hocket__http_open(lua_State *L)
{
    static const struct hocket__opt rows[] = { HOCKET__HTTP_ROWS,
        HOCKET__HTTP_ROW(SECONDS, "idle_timeout", idle_ms), { 0 } };
    struct hocket__runtime *rt = hocket__runtime(L);
    struct hocket__http_asked asked = { .idle_ms = 0 };
    struct hocket__http_spec *spec = &asked.spec;
    struct hocket_error err;
    luaL_checktype(L, 1, LUA_TTABLE);
    lua_settop(L, 1);
    hocket__http_read(L, rows, &asked);
    hocket__fiber_current(L);
    spec->idle_ms = spec->first_ms = asked.idle_ms;
    struct stream *s = new_stream(L, rt);
    if (asked.body.p && hocket__buf_addstr(&s->out, asked.body) < 0)
        return hocket__raise_nomem(L);
    spec->body = asked.body.p ? &s->out : NULL;
    int64_t id = rt->direct.ops->start(&rt->direct, spec, &handler, s, &err);
    if (id < 0)
        return hocket__fail(L, &err);
    s->id = id;
    lua_settop(L, 2);
    return opened(L, LUA_OK, 0);
}

/* ---- Methods ------------------------------------------------------------------------------ */

static struct stream *check(lua_State *L)
{
    return hocket__check_object(L, 1, META);
}

/* Everything that has come is one piece: a slow reader gets larger ones and not more of them. */
static int read_on(lua_State *L, int status, lua_KContext ctx)
{
    struct stream *s = check(L);
    (void) status;
    (void) ctx;
    if (s->in.len > 0) {
        hocket__push_str(L, hocket__buf_str(&s->in));
        hocket__buf_cut(&s->in, 0);
        return 1;
    }
    if (s->failed)
        return hocket__fail(L, &s->err);
    if (s->done || s->id == 0)
        return 0;
    if (s->fiber != 0 && s->fiber != hocket__fiber_current(L)->id)
        return luaL_error(L, "somebody else reads this answer already");
    s->fiber = hocket__fiber_current(L)->id;
    return hocket__await(L, -1, forget, s, 0, read_on);
}

/* read() -> text, what has come | nil: the end | nil, error */
static int l_read(lua_State *L)
{
    lua_settop(L, 1);
    return read_on(L, LUA_OK, 0);
}

static int l_status(lua_State *L)
{
    lua_pushinteger(L, check(L)->status);
    return 1;
}

static int l_headers(lua_State *L)
{
    hocket__http_push_headers(L, &check(L)->headers);
    return 1;
}

static int l_close(lua_State *L)
{
    struct stream *s = check(L);
    end(s);
    wake(s);
    return 0;
}

static const luaL_Reg methods[] = { { "read", l_read }, { "status", l_status },
    { "headers", l_headers }, { "close", l_close }, { "__gc", stream_gc }, { "__close", l_close },
    { NULL, NULL } };

void hocket__http_register(lua_State *L)
{
    hocket__newmeta(L, META, methods);
    lua_pop(L, 1);
}

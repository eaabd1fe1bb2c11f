/* A request is copied when it comes, since the server's texts are good during the callback only,
 * and waits in a queue until a fiber accepts it. */
#include "bind/web/lua_server_impl.h"

#define MAX_PENDING 65536 /* requests that nobody has accepted */

static void add(struct hocket__lua_server *s, struct hocket__pending *p)
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
static struct hocket__pending *copy_request(
    const struct hocket_allocator *a, const struct hocket__server_request *r)
{
    size_t size = sizeof(struct hocket__pending) + r->n_headers * sizeof(r->headers[0])
                  + r->method.n + r->path.n + r->body.n;
    for (size_t i = 0; i < r->n_headers; i++)
        size += r->headers[i].name.n + r->headers[i].value.n;
    struct hocket__pending *p = hocket__new(a, size);
    if (!p)
        return NULL;
    char *at = (char *) &p->headers[r->n_headers];
    *p = (struct hocket__pending){ .id = r->id, .size = size, .n_headers = r->n_headers };
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
    struct hocket__lua_server *s = ud;
    struct hocket__pending *p = s->n_queued < MAX_PENDING ? copy_request(s->rt->alloc, r) : NULL;
    if (!p) {
        hocket__server_respond(
            s->server, r->id, 503, NULL, 0, HOCKET__STR("too many requests wait\n"));
        return;
    }
    add(s, p);
}

static void on_drained(void *ud, uint64_t id)
{
    hocket__server_wake_drain(ud, id);
}

/* Where memory is out nobody learns of it until something is written to it. */
static void on_gone(void *ud, uint64_t id)
{
    struct hocket__lua_server *s = ud;
    hocket__server_wake_drain(s, id);
    struct hocket__pending *p = s->server ? hocket__new(s->rt->alloc, sizeof(*p)) : NULL;
    if (!p)
        return;
    *p = (struct hocket__pending){ .id = id, .size = sizeof(*p), .gone = true };
    add(s, p);
}

const struct hocket__server_handler hocket__server_handlers[2] = { { .on_request = on_request },
    { .on_request = on_request, .on_closed = on_gone, .on_drained = on_drained } };

static void drop_first(struct hocket__lua_server *s)
{
    struct hocket__pending *p = hocket__container_of(s->queue.next, struct hocket__pending, link);
    hocket__list_del(&p->link);
    s->n_queued--;
    hocket__free(s->rt->alloc, p, p->size);
}

void hocket__server_drop_queue(struct hocket__lua_server *s)
{
    while (!hocket__list_empty(&s->queue))
        drop_first(s);
}

static void push_request(lua_State *L, const struct hocket__pending *p)
{
    lua_createtable(L, 0, 5);
    hocket__set_int(L, "id", (lua_Integer) p->id);
    if (p->gone) {
        hocket__set_bool(L, "gone", true);
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
        for (size_t k = 0; k < p->headers[i].name.n; k++)
            name[k] = hocket__lower(p->headers[i].name.p[k]);
        luaL_pushresultsize(&b, p->headers[i].name.n);
        hocket__push_str(L, p->headers[i].value);
        lua_rawset(L, -3);
    }
    lua_setfield(L, -2, "headers");
}

static void stop_accepting(void *ud)
{
    ((struct hocket__lua_server *) ud)->fiber = 0;
}

/* Woken or not, the queue has the requests. */
static int accept_next(lua_State *L, int status, lua_KContext ctx)
{
    (void) status;
    (void) ctx;
    struct hocket__lua_server *s = hocket__check_object(L, 1, HOCKET__SERVER_META);
    if (!s->server)
        return 0;
    if (hocket__list_empty(&s->queue)) {
        s->fiber = hocket__fiber_current(L)->id;
        return hocket__await(L, -1, stop_accepting, s, 0, accept_next);
    }
    push_request(L, hocket__container_of(s->queue.next, struct hocket__pending, link));
    drop_first(s); /* not before: pushing may raise */
    return 1;
}

/* s:accept() -> {id, method, path, headers, body}; nothing when the server is closed */
int hocket__server_l_accept(lua_State *L)
{
    hocket__check_server(L);
    return accept_next(L, LUA_OK, 0);
}

/* ---- Requests that nobody can answer ---------------------------------------------------------- */

/* Needs no memory of Lua's. */
static void give_up(const struct hocket__lua_server *s, uint64_t id)
{
    if (!s->server)
        return;
    if (hocket__server_respond(s->server, id, 503, NULL, 0, HOCKET__STR("out of memory\n")) < 0)
        hocket__server_abort(s->server, id, HOCKET__SERVER_RESET);
}

/* s:give_up(id?): a request cannot be answered, memory being out; without an id the first request that was
 * not accepted, if there is one. */
int hocket__server_l_give_up(lua_State *L)
{
    struct hocket__lua_server *s = hocket__check_object(L, 1, HOCKET__SERVER_META);
    if (!lua_isnoneornil(L, 2)) {
        give_up(s, hocket__server_check_id(L));
    } else if (!hocket__list_empty(&s->queue)) {
        give_up(s, hocket__container_of(s->queue.next, struct hocket__pending, link)->id);
        drop_first(s);
    }
    return 0;
}

/* Stack: server, id, the error if there is one */
static int answered(lua_State *L, int status, lua_KContext ctx)
{
    (void) ctx;
    if (status == LUA_OK || status == LUA_YIELD)
        return 0;
    give_up(lua_touserdata(L, 1), (uint64_t) lua_tointeger(L, 2));
    return lua_error(L);
}

/* What a fiber calls: (server, id, fn, ...). Until fn is called nothing in here needs memory. */
static int answer(lua_State *L)
{
    return answered(L, lua_pcallk(L, lua_gettop(L) - 3, 0, 0, 0, answered), 0);
}

/* s:answer(id, fn, ...) -> fiber: calls fn(...) in a child of the running fiber. A request that it raises at is given up: its
 * client would wait for ever. */
int hocket__server_l_answer(lua_State *L)
{
    struct hocket__runtime *rt = hocket__check_server(L)->rt;
    hocket__server_check_id(L);
    luaL_checktype(L, 3, LUA_TFUNCTION);
    lua_pushcfunction(L, answer);
    lua_insert(L, 1);
    hocket__fiber_spawn_sure(L, rt, lua_gettop(L) - 1, false);
    return 1;
}

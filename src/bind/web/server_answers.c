/* Answers go by the request's number: one that was given up finds nobody. */
#include "bind/web/lua_server_impl.h"

/* A userdata on the stack of the fiber that waits. */
struct hocket__drain {
    struct hocket__lua_server *server;
    uint64_t id, fiber;
    size_t max;
};

/* A client that has gone is no fault of the handler: it is a failure of the world (nil, err). */
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

/* s:respond(id, status, headers, body) -> true | nil, error */
int hocket__server_l_respond(lua_State *L)
{
    struct hocket__lua_server *s = hocket__check_server(L);
    struct hocket__server_header headers[MAX_HEADERS];
    size_t n = read_headers(L, 4, headers);
    struct hocket__str body = { "", 0 };
    if (!lua_isnoneornil(L, 5))
        body = hocket__check_str(L, 5);
    return answered(L, hocket__server_respond(s->server, hocket__server_check_id(L),
                           (int) luaL_checkinteger(L, 3), headers, n, body));
}

/* s:begin(id, status, headers); s:write(id, bytes); s:raw(id, bytes); s:finish(id) */
int hocket__server_l_begin(lua_State *L)
{
    struct hocket__lua_server *s = hocket__check_server(L);
    struct hocket__server_header headers[MAX_HEADERS];
    size_t n = read_headers(L, 4, headers);
    return answered(L, hocket__server_begin(s->server, hocket__server_check_id(L),
                           (int) luaL_checkinteger(L, 3), headers, n));
}

int hocket__server_l_write(lua_State *L)
{
    struct hocket__lua_server *s = hocket__check_server(L);
    return answered(
        L, hocket__server_write(s->server, hocket__server_check_id(L), hocket__check_str(L, 3)));
}

/* For the simulator's faults: bytes that are no HTTP. */
int hocket__server_l_raw(lua_State *L)
{
    struct hocket__lua_server *s = hocket__check_server(L);
    return answered(
        L, hocket__server_raw(s->server, hocket__server_check_id(L), hocket__check_str(L, 3)));
}

int hocket__server_l_finish(lua_State *L)
{
    struct hocket__lua_server *s = hocket__check_server(L);
    return answered(L, hocket__server_finish(s->server, hocket__server_check_id(L)));
}

/* s:abort(id, "reset" | "eof") */
int hocket__server_l_abort(lua_State *L)
{
    static const char *const hows[] = { "reset", "eof", NULL };
    struct hocket__lua_server *s = hocket__check_server(L);
    int how = luaL_checkoption(L, 3, "reset", hows);
    return answered(L, hocket__server_abort(s->server, hocket__server_check_id(L),
                           how ? HOCKET__SERVER_EOF : HOCKET__SERVER_RESET));
}

/* ---- Clients that do not read --------------------------------------------------------- */

void hocket__server_wake_drain(struct hocket__lua_server *s, uint64_t id)
{
    const struct hocket__drain *d = hocket__map_get(&s->drains, id);
    if (d)
        hocket__fiber_wake(s->rt, d->fiber);
}

void hocket__server_wake_drains(struct hocket__lua_server *s)
{
    for (size_t i = 0; i < s->drains.cap; i++)
        if (s->drains.slots[i].id && s->drains.slots[i].value)
            hocket__fiber_wake(s->rt, ((struct hocket__drain *) s->drains.slots[i].value)->fiber);
    hocket__map_deinit(&s->drains);
}

static void end_drain(void *ud)
{
    struct hocket__drain *d = ud;
    hocket__map_del(&d->server->drains, d->id);
}

/* 0: there is room; 1: not yet; or ECLOSED. */
static int64_t is_full(const struct hocket__drain *d)
{
    int64_t queued =
        d->server->server ? hocket__server_queued(d->server->server, d->id) : HOCKET_ECLOSED;
    return queued < 0 ? queued : queued > (int64_t) d->max;
}

static int after_drain(lua_State *L, int status, lua_KContext ctx)
{
    struct hocket__drain *d = lua_touserdata(L, -1);
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
int hocket__server_l_drain(lua_State *L)
{
    struct hocket__lua_server *s = hocket__check_server(L);
    struct hocket__drain d = {
        .server = s, .id = hocket__server_check_id(L), .max = (size_t) luaL_checkinteger(L, 3)
    };
    int64_t full = is_full(&d);
    if (full != 1)
        return answered(L, (int) full);
    d.fiber = hocket__fiber_current(L)->id;
    struct hocket__drain *kept = lua_newuserdatauv(L, sizeof(d), 0);
    *kept = d;
    if (hocket__map_get(&s->drains, d.id))
        return luaL_error(L, "another fiber waits for this request");
    if (hocket__map_set(&s->drains, d.id, kept) < 0)
        return answered(L, HOCKET_ENOMEM);
    return hocket__await(L, -1, end_drain, kept, 0, after_drain);
}

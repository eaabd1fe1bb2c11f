/* hocket.internal.core.runs: Lua starts runs as a program does, which are kept where the host keeps runs. Part of the
 * optional component hocket-serve, whose endpoints start them for their clients.
 *
 * A run that was started so is the host's, and no child of the fiber that did: it continues when that fiber ends.
 * `ended` returns its outcome once to whoever waits there: internal/serve/ends.lua, for all who listen. */
#include "bind/open.h"

#include <hocket/hocket.h>

#include "base/buf.h"
#include "base/list.h"
#include "bind/fiber/fiber.h"
#include "bind/util.h"
#include "host/host.h"

/* A run that was started here: in `open` until it has ended, then in `ends` until its outcome was
 * returned. */
struct started {
    struct hocket__list link;
    struct runs *runs;
    uint64_t id;
    int status;
    struct hocket__buf message, json;
};

struct runs {
    struct hocket__runtime *rt;
    struct hocket__list open, ends;
    uint64_t fiber; /* in ended */
};

/* One for each host. Its address is the registry's key: it lives as long as the state. */
static const char KEY[] = "hocket.runs";

static struct runs *check_runs(lua_State *L)
{
    lua_getfield(L, LUA_REGISTRYINDEX, KEY);
    struct runs *r = lua_touserdata(L, -1);
    lua_pop(L, 1);
    return r;
}

static hocket_host *check_host(lua_State *L)
{
    return hocket__runtime(L)->on_drained_ud;
}

/* ---- Ends ------------------------------------------------------------------------ */

static void forget(struct started *s)
{
    hocket__list_del(&s->link);
    hocket__buf_deinit(&s->message);
    hocket__buf_deinit(&s->json);
    hocket__free(s->runs->rt->alloc, s, sizeof(*s));
}

/* Called when no Lua runs. Out of memory, the end is reported without its texts. */
static void on_done(hocket_host *host, uint64_t id, const struct hocket_result *result, void *ud)
{
    struct started *s = ud;
    (void) host;
    (void) id;
    s->status = result->status;
    if (result->error)
        hocket__buf_adds(&s->message, result->error->message);
    if (hocket__buf_add(&s->json, result->json, result->json_len) < 0)
        hocket__buf_deinit(&s->json);
    hocket__list_move(&s->runs->ends, &s->link);
    hocket__fiber_wake(s->runs->rt, s->runs->fiber);
}

static void stop_waiting(void *ud)
{
    ((struct runs *) ud)->fiber = 0;
}

static int after_end(lua_State *L, int status, lua_KContext ctx)
{
    struct runs *r = check_runs(L);
    (void) status;
    (void) ctx;
    if (hocket__list_empty(&r->ends)) {
        r->fiber = hocket__fiber_current(L)->id;
        return hocket__await(L, -1, stop_waiting, r, 0, after_end);
    }
    struct started *s = hocket__container_of(r->ends.next, struct started, link);
    lua_pushinteger(L, (lua_Integer) s->id);
    lua_pushstring(L, s->status == 0 ? "ok" : hocket_status_word(s->status));
    hocket__push_str(L, hocket__buf_str(&s->message));
    hocket__push_str(L, hocket__buf_str(&s->json));
    forget(s); /* not before: pushing may raise */
    return 4;
}

/* ended() -> number, "ok" or a status word, message, result as JSON: of a run that has ended, each once */
static int l_ended(lua_State *L)
{
    return after_end(L, LUA_OK, 0);
}

/* ---- Runs ------------------------------------------------------------------------- */

static struct started *new_started(struct runs *r)
{
    struct started *s = hocket__zero(r->rt->alloc, sizeof(*s));
    if (!s)
        return NULL;
    s->runs = r;
    hocket__buf_init(&s->message, r->rt->alloc, 0);
    hocket__buf_init(&s->json, r->rt->alloc, 0);
    hocket__list_init(&s->link);
    hocket__list_add(&r->open, &s->link);
    return s;
}

static int answer(lua_State *L, int rc, struct started *s, const struct hocket_error *err)
{
    if (rc < 0) {
        forget(s);
        return hocket__fail(L, err);
    }
    lua_pushinteger(L, (lua_Integer) s->id);
    lua_pushstring(L, hocket_run_name(check_host(L), s->id)); /* nil: it is still looked for */
    return 2;
}

/* start(target, input or nil, options as JSON) -> number, name | nil, error */
static int l_start(lua_State *L)
{
    struct hocket_run_spec spec = { .size = sizeof(spec), .target = luaL_checkstring(L, 1) };
    struct hocket_error err;
    size_t n = 0;
    spec.input = luaL_optlstring(L, 2, NULL, &n);
    spec.input_len = n;
    spec.options = luaL_checkstring(L, 3);
    struct started *s = new_started(check_runs(L));
    if (!s) {
        hocket__error_nomem(&err);
        return hocket__fail(L, &err);
    }
    return answer(
        L, hocket_run_start(check_host(L), &spec, &s->id, NULL, on_done, s, &err), s, &err);
}

/* resume(name, options as JSON, fence?) -> number | nil, error: a run of the store; what is wrong with it comes by `ended`.
 * `fence`: of one that this host's store has claimed. */
static int l_resume(lua_State *L)
{
    const char *name = luaL_checkstring(L, 1), *options = luaL_checkstring(L, 2);
    uint64_t fence = (uint64_t) luaL_optinteger(L, 3, 0);
    struct hocket_error err;
    struct started *s = new_started(check_runs(L));
    if (!s) {
        hocket__error_nomem(&err);
        return hocket__fail(L, &err);
    }
    hocket_host *h = check_host(L);
    int rc = fence ? hocket__run_go_on(h, name, fence, options, &s->id, on_done, s, &err)
                   : hocket_run_resume(h, name, options, &s->id, NULL, on_done, s, &err);
    return answer(L, rc, s, &err);
}

/* replay(name, options as JSON) -> number | nil, error: a run of the store, from its log alone; its end comes by `ended` */
static int l_replay(lua_State *L)
{
    const char *name = luaL_checkstring(L, 1), *options = luaL_checkstring(L, 2);
    struct hocket_error err;
    struct started *s = new_started(check_runs(L));
    if (!s) {
        hocket__error_nomem(&err);
        return hocket__fail(L, &err);
    }
    int rc = hocket_run_replay(check_host(L), name, options, &s->id, NULL, on_done, s, &err);
    return answer(L, rc, s, &err);
}

static int answered(lua_State *L, int rc, const char *what)
{
    struct hocket_error err;
    if (rc == 0) {
        lua_pushboolean(L, true);
        return 1;
    }
    hocket__error(&err, rc, "%s: %s", what, hocket_status_text(rc));
    return hocket__fail(L, &err);
}

/* cancel(number), stop(number), park(number), drain(number) -> true | nil, error; name(number) -> its name, or nil */
static int l_cancel(lua_State *L)
{
    return answered(L, hocket_run_cancel(check_host(L), (uint64_t) luaL_checkinteger(L, 1)),
        "the run cannot be cancelled");
}

static int l_stop(lua_State *L)
{
    return answered(L, hocket_run_stop(check_host(L), (uint64_t) luaL_checkinteger(L, 1)),
        "the run cannot be stopped");
}

static int l_park(lua_State *L)
{
    return answered(L, hocket_run_park(check_host(L), (uint64_t) luaL_checkinteger(L, 1)),
        "the run cannot be parked");
}

static int l_drain(lua_State *L)
{
    return answered(L, hocket_run_drain(check_host(L), (uint64_t) luaL_checkinteger(L, 1)),
        "the run cannot be put away");
}

static int l_name(lua_State *L)
{
    lua_pushstring(L, hocket_run_name(check_host(L), (uint64_t) luaL_checkinteger(L, 1)));
    return 1;
}

static const luaL_Reg functions[] = {
    { "start", l_start },
    { "resume", l_resume },
    { "replay", l_replay },
    { "ended", l_ended },
    { "cancel", l_cancel },
    { "stop", l_stop },
    { "park", l_park },
    { "drain", l_drain },
    { "name", l_name },
    { NULL, NULL },
};

static int l_gc(lua_State *L)
{
    struct runs *r = lua_touserdata(L, 1);
    while (!hocket__list_empty(&r->ends))
        forget(hocket__container_of(r->ends.next, struct started, link));
    while (!hocket__list_empty(&r->open))
        forget(hocket__container_of(r->open.next, struct started, link));
    return 0;
}

int hocket__open_runs(lua_State *L)
{
    struct runs *r = lua_newuserdatauv(L, sizeof(*r), 0);
    *r = (struct runs){ .rt = hocket__runtime(L) };
    hocket__list_init(&r->open);
    hocket__list_init(&r->ends);
    lua_createtable(L, 0, 1);
    lua_pushcfunction(L, l_gc);
    lua_setfield(L, -2, "__gc");
    lua_setmetatable(L, -2);
    lua_setfield(L, LUA_REGISTRYINDEX, KEY);
    lua_newtable(L);
    hocket__setfuncs(L, functions);
    return 1;
}

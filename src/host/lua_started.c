/* Runs that Lua starts in the host that it lives in, as hocket_run_start does: each stands for itself, is kept where the
 * host keeps runs, and does not end with the fiber that has started it.
 *
 *     local started = start("agents", "Two days in Rome", "{}")
 *     local code, text, json, message = started:wait()        -- as entry.lua's start returns them
 *
 * The userdata stands in the registry until the run has ended: on_done writes into it. */

#include "host/run/run.h"

#include <string.h>

#include <lauxlib.h>

#include "bind/fiber/fiber.h"
#include "bind/util.h"

static const char STARTED[] = "hocket.started";

struct started {
    struct hocket_host *host;
    uint64_t id, waiter;
    int ref;
    bool done, kept;
    char name[HOCKET__RUN_ID_LEN + 1];
    int status;
    struct hocket__buf text, json, message;
};

static struct started *check(lua_State *L)
{
    return hocket__check_object(L, 1, STARTED);
}

static void on_done(hocket_host *h, uint64_t id, const struct hocket_result *result, void *ud)
{
    struct started *s = ud;
    (void) id;
    s->done = true;
    s->status = result->status;
    hocket__buf_add(&s->text, result->text, result->text_len);
    hocket__buf_add(&s->json, result->json, result->json_len);
    if (result->error)
        hocket__buf_addstr(&s->message, hocket__cstr(result->error->message));
    if (s->text.status < 0 || s->json.status < 0 || s->message.status < 0)
        s->status = HOCKET_ENOMEM;
    luaL_unref(h->L, LUA_REGISTRYINDEX, s->ref);
    s->ref = LUA_NOREF;
    hocket__fiber_wake(h->rt, s->waiter);
}

static int started_gc(lua_State *L)
{
    struct started *s = hocket__gc_userdata(L, started_gc);
    if (!s)
        return 0;
    hocket__buf_deinit(&s->text);
    hocket__buf_deinit(&s->json);
    hocket__buf_deinit(&s->message);
    return 0;
}

/* ---- What is asked of it ---------------------------------------------------------------------- */

static int l_name(lua_State *L)
{
    lua_pushstring(L, check(L)->name);
    return 1;
}

static int l_is_kept(lua_State *L)
{
    lua_pushboolean(L, check(L)->kept);
    return 1;
}

static int l_journal(lua_State *L)
{
    lua_getiuservalue(L, (check(L), 1), 1);
    return 1;
}

static void push_text(lua_State *L, const struct hocket__buf *b)
{
    hocket__push_str(L, b->status < 0 ? HOCKET__STR("") : hocket__buf_str(b));
}

/* A wake is a hint: whoever was woken looks again. */
static int again(lua_State *L, int status, lua_KContext ctx)
{
    struct started *s = (struct started *) ctx;
    (void) status;
    if (!s->done)
        return hocket__await(L, -1, NULL, NULL, ctx, again);
    lua_pushstring(L, s->status == 0 ? "ok" : hocket_status_word(s->status));
    push_text(L, &s->text);
    push_text(L, &s->json);
    push_text(L, &s->message);
    return 4;
}

/* wait() -> code, text, json, message */
static int l_wait(lua_State *L)
{
    struct started *s = check(L);
    s->waiter = hocket__fiber_current(L)->id;
    return again(L, LUA_OK, (lua_KContext) s);
}

/* Ends it. Whether it goes on. */
static int l_cancel(lua_State *L)
{
    struct started *s = check(L);
    lua_pushboolean(L, !s->done && hocket_run_cancel(s->host, s->id) == 0);
    return 1;
}

/* It ends here, and can be resumed; one that is not kept is cancelled. Whether it was parked. */
static int l_park(lua_State *L)
{
    struct started *s = check(L);
    bool parked = !s->done && hocket_run_park(s->host, s->id) == 0;
    if (!parked && !s->done)
        hocket_run_cancel(s->host, s->id);
    lua_pushboolean(L, parked);
    return 1;
}

/* answer(question, text) -> true | nil, err */
static int l_answer(lua_State *L)
{
    struct started *s = check(L);
    struct hocket__str text = hocket__check_str(L, 3);
    struct hocket_error err;
    struct hocket__run *r = s->done ? NULL : hocket__run_find(s->host, s->id);
    int rc = r ? hocket__run_say(r, "answer", luaL_checkstring(L, 2), text, &err)
               : hocket__error(&err, HOCKET_ENOTFOUND, "the run is over");
    if (rc < 0)
        return hocket__fail(L, &err);
    lua_pushboolean(L, true);
    return 1;
}

static const luaL_Reg methods[] = {
    { "name", l_name },
    { "is_kept", l_is_kept },
    { "journal", l_journal },
    { "wait", l_wait },
    { "cancel", l_cancel },
    { "park", l_park },
    { "answer", l_answer },
    { "__gc", started_gc },
    { NULL, NULL },
};

/* ---- Starting --------------------------------------------------------------------------------- */

static struct started *push_started(lua_State *L)
{
    struct hocket__runtime *rt = hocket__runtime(L);
    struct started *s = hocket__new_object(L, sizeof(*s), 1, STARTED);
    *s = (struct started){ .host = rt->on_drained_ud, .ref = LUA_NOREF };
    hocket__buf_init(&s->text, rt->alloc, 0);
    hocket__buf_init(&s->json, rt->alloc, 0);
    hocket__buf_init(&s->message, rt->alloc, 0);
    luaL_setmetatable(L, STARTED);
    return s;
}

static void take(lua_State *L, struct started *s)
{
    const struct hocket__run *r = hocket__run_find(s->host, s->id);
    memcpy(s->name, r->name, sizeof(s->name));
    s->kept = hocket__run_is_durable(r);
    lua_rawgeti(L, LUA_REGISTRYINDEX, r->journal_ref);
    lua_setiuservalue(L, -2, 1);
}

/* start(target, input or nil, options as JSON) -> started | nil, err */
int hocket__lua_run_start(lua_State *L)
{
    struct hocket_error err;
    size_t n = 0;
    struct hocket_run_spec spec = { .size = sizeof(spec), .target = luaL_checkstring(L, 1) };
    spec.input = luaL_optlstring(L, 2, NULL, &n);
    spec.input_len = n;
    spec.options = luaL_optstring(L, 3, "{}");
    struct started *s = push_started(L);
    lua_pushvalue(L, -1);
    s->ref = luaL_ref(L, LUA_REGISTRYINDEX);
    if (hocket_run_start(s->host, &spec, &s->id, NULL, on_done, s, &err) == 0) {
        take(L, s);
        return 1;
    }
    luaL_unref(L, LUA_REGISTRYINDEX, s->ref);
    return hocket__fail(L, &err);
}

void hocket__lua_started_open(lua_State *L)
{
    hocket__newmeta(L, STARTED, methods);
    lua_pop(L, 1);
}

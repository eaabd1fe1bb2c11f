/* An attempt at a job: the fiber that calls its function, and what is told of how that ended. What the function has returned is
 * kept as JSON; an error fails the attempt, after which there may be another one. */
#include <stdio.h>

#include "base/json/json.h"
#include "bind/account/account.h"
#include "bind/broker/broker_impl.h"
#include "bind/json/json.h"

/* In the fiber of an attempt: the job, the broker, and what its function has returned or raised
 * (VALUE, RAISED; what was raised is put into RAISED). */
enum { JOB = 1, OWNER, VALUE, RAISED };

static struct hocket__str member(lua_State *L, int idx, const char *name)
{
    struct hocket__str s = { "", 0 };
    lua_getfield(L, idx, name);
    if (lua_type(L, -1) == LUA_TSTRING)
        s.p = lua_tolstring(L, -1, &s.n);
    return s;
}

/* What to tell of the error at RAISED; what it borrows stays on the stack. An error that is no
 * table becomes one. */
static struct hocket__job_outcome read_error(lua_State *L)
{
    struct hocket__job_outcome o = { .status = HOCKET_ELUA };
    if (lua_istable(L, RAISED)) {
        lua_pushvalue(L, RAISED);
        hocket__mark_error(L);
        struct hocket__str code = member(L, RAISED, "code");
        o.error = member(L, RAISED, "message");
        lua_getfield(L, RAISED, "no_retry");
        o.no_retry = lua_toboolean(L, -1);
        if (code.n > 0)
            o.status = hocket__status_from_word(code.p);
        if (!o.error.p || o.error.n == 0)
            o.error = code.n > 0 ? code : HOCKET__STR("failed");
        return o;
    }
    o.error.p = luaL_tolstring(L, RAISED, &o.error.n);
    if (hocket__is_nomem(L, RAISED))
        o.status = HOCKET_ENOMEM;
    lua_createtable(L, 0, 2);
    lua_pushstring(L, hocket_status_word(o.status));
    lua_setfield(L, -2, "code");
    lua_pushvalue(L, -2);
    lua_setfield(L, -2, "message");
    hocket__mark_error(L);
    lua_replace(L, RAISED);
    return o;
}

/* Does what follows, and keeps the outcome of a job that has ended by it: where its function was,
 * which another attempt would need. */
static void follow(lua_State *L, const struct hocket__lua_job *j, int outcome)
{
    hocket__jobs_follow(L, OWNER, j->home->broker);
    if (!j->ended)
        return;
    lua_pushvalue(L, outcome);
    lua_setiuservalue(L, JOB, HOCKET__JOB_CALL);
}

/* An error that cannot be kept, of many megabytes, ends the job all the same. */
static int fail_plainly(struct hocket__lua_broker *b, const struct hocket__lua_job *j, int64_t now)
{
    struct hocket_error err;
    struct hocket__job_outcome o = { .status = HOCKET_ELIMIT,
        .error = HOCKET__STR("failed, with an error that is too long to be kept"),
        .no_retry = true };
    return hocket__broker_fail(b->broker, j->id, j->fence, now, 0, &o, &err);
}

/* The attempt has failed with the error at RAISED; another one may follow. */
static void fail(lua_State *L, struct hocket__lua_job *j, bool no_retry)
{
    struct hocket__lua_broker *b = j->home->broker;
    struct hocket_error err;
    int64_t now = hocket__broker_now(b);
    struct hocket__job_outcome o = read_error(L);
    char usage[HOCKET__USAGE_MAX];
    o.no_retry = o.no_retry || no_retry;
    o.usage = hocket__job_put_usage(j, usage);
    int rc =
        hocket__broker_fail(b->broker, j->id, j->fence, now, hocket__broker_random(b), &o, &err);
    if (rc == HOCKET_ELIMIT)
        rc = fail_plainly(b, j, now);
    if (rc == HOCKET_ENOMEM)
        hocket__broker_abandon(b->broker, j->id, j->fence, now, rc, &err);
    follow(L, j, RAISED);
}

/* The members of the table at 1 that are named in the list at 2. */
static void encode_members(lua_State *L, struct hocket__buf *out)
{
    hocket__jw_open(out, '{');
    for (lua_Integer i = 1; lua_rawgeti(L, 2, i) == LUA_TSTRING; i++) {
        struct hocket__str name = hocket__check_str(L, -1);
        lua_pushvalue(L, -1);
        if (lua_gettable(L, 1) != LUA_TNIL) {
            hocket__jw_keystr(out, name);
            hocket__json_encode(L, lua_gettop(L), out);
        }
        lua_pop(L, 2);
    }
    hocket__jw_close(out, '}');
}

/* Protected: writes what is kept of a value into the scratch as JSON; or, when JSON cannot hold
 * it and there is no second argument, what it is as text. Upvalue 2 of the fiber's function. */
static int encode(lua_State *L)
{
    struct hocket__buf *out = &hocket__runtime(L)->scratch;
    hocket__buf_reset(out);
    if (lua_gettop(L) == 1)
        luaL_tolstring(L, 1, NULL);
    if (lua_istable(L, 2) && lua_istable(L, 1))
        encode_members(L, out);
    else
        hocket__json_encode(L, lua_isstring(L, 2) ? 2 : 1, out);
    return out->status < 0 ? hocket__raise_nomem(L) : 0;
}

/* The value at VALUE. False: what was raised is pushed. */
static bool encoded(lua_State *L)
{
    lua_pushvalue(L, lua_upvalueindex(2));
    lua_pushvalue(L, VALUE);
    lua_getiuservalue(L, JOB, HOCKET__JOB_KEEPS);
    if (lua_pcall(L, 2, 0, 0) == LUA_OK)
        return true;
    lua_pushvalue(L, lua_upvalueindex(2));
    lua_pushvalue(L, VALUE);
    return lua_pcall(L, 1, 0, 0) == LUA_OK;
}

/* The text of a value that its event shows instead of the JSON. It stays on the stack. Nothing of
 * Lua runs, which could raise. */
static struct hocket__str push_shown(lua_State *L)
{
    struct hocket__str s = { NULL, 0 };
    if (lua_istable(L, VALUE)) {
        lua_pushliteral(L, "text");
        lua_rawget(L, VALUE);
    } else {
        lua_pushvalue(L, VALUE);
    }
    if (lua_type(L, -1) == LUA_TSTRING)
        s.p = lua_tolstring(L, -1, &s.n);
    return s;
}

/* What the broker refuses to keep is too long, or memory is out: said of the answer, not of a
 * job. */
static void refused(lua_State *L, const struct hocket_error *err)
{
    struct hocket_error told = *err;
    if (err->status == HOCKET_ELIMIT) {
        struct hocket__str text = { NULL, 0 };
        if (lua_istable(L, VALUE))
            text = member(L, VALUE, "text");
        char size[48] = "";
        if (text.p && text.n > 0)
            snprintf(size, sizeof(size), " of %.1f MiB", (double) text.n / (1 << 20));
        hocket__error(&told, HOCKET_ELIMIT,
            "the answer%s is longer than what can be kept of one (16 MiB)", size);
    }
    hocket__push_error(L, &told);
    lua_replace(L, RAISED);
}

static int complete(lua_State *L, struct hocket__lua_job *j, struct hocket__str usage,
    struct hocket__str shown, struct hocket_error *err)
{
    struct hocket__lua_broker *b = j->home->broker;
    b->shown = shown;
    int rc = hocket__broker_complete(b->broker, j->id, j->fence, hocket__broker_now(b),
        hocket__buf_str(&b->rt->scratch), usage, err);
    b->shown = (struct hocket__str){ NULL, 0 };
    follow(L, j, VALUE);
    return rc;
}

static void succeed(lua_State *L, struct hocket__lua_job *j)
{
    struct hocket_error err;
    char usage[HOCKET__USAGE_MAX];
    struct hocket__str shown = push_shown(L);
    if (!encoded(L)) {
        lua_replace(L, RAISED);
        fail(L, j, false);
        return;
    }
    int rc = complete(L, j, hocket__job_put_usage(j, usage), shown, &err);
    if (rc < 0 && rc != HOCKET_ESTATE) {
        refused(L, &err);
        fail(L, j, true);
    }
}

static int settle(lua_State *L, int status, lua_KContext ok)
{
    (void) status;
    struct hocket__lua_job *j = lua_touserdata(L, JOB);
    hocket__need_stack(L, 32);
    if (ok && (!lua_isnil(L, VALUE) || lua_isnil(L, RAISED)))
        succeed(L, j);
    else
        fail(L, j, false);
    return 0;
}

static int leave_dropped(lua_State *L, const struct hocket__lua_job *j)
{
    struct hocket__lua_broker *b = j->home->broker;
    struct hocket_error err;
    if (j->dropped && !j->forgotten && b->broker) {
        hocket__broker_forget(b->broker, j->id, &err);
        hocket__jobs_follow(L, OWNER, b);
    }
    return 0;
}

/* A fiber that was cancelled has nothing to tell, nor has one whose job has ended meanwhile. A job
 * with a fiber that waits gets its slot back first. */
static int worked(lua_State *L, int status, lua_KContext ctx)
{
    struct hocket__lua_job *j = lua_touserdata(L, JOB);
    bool ok = status == LUA_OK || status == LUA_YIELD;
    (void) ctx;
    if (!ok) { /* … what was raised */
        lua_pushnil(L);
        lua_insert(L, VALUE);
    }
    if (j->ended || j->forgotten || hocket__fiber_current(L)->cancelled)
        return leave_dropped(L, j);
    j->ending = true;
    if (!j->parked)
        return settle(L, LUA_OK, ok);
    return hocket__job_regain(L, JOB, ok, settle);
}

/* The function of a job's fiber. */
static int work(lua_State *L)
{
    lua_settop(L, JOB);
    hocket__job_push_from_home(L, JOB, HOCKET__HOME_BROKER);
    lua_getiuservalue(L, JOB, HOCKET__JOB_CALL);
    lua_pushvalue(L, JOB);
    return worked(L, lua_pcallk(L, 1, 2, 0, 0, worked), 0);
}

void hocket__job_push_work(lua_State *L)
{
    lua_pushvalue(L, lua_upvalueindex(1));
    lua_pushvalue(L, lua_upvalueindex(1));
    lua_pushcclosure(L, encode, 1);
    lua_pushcclosure(L, work, 2);
}

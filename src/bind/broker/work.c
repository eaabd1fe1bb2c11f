/* Jobs at work. One fiber of the broker, the dispatcher, starts jobs and lets them go on; each
 * attempt is a fiber of its own, which calls the job's function and says how that ended:
 *
 *     submit ─> next ─> start ─> the function ─> settle ─> complete or fail
 *                 └───> resume, after a wait
 */
#include "bind/broker/broker_impl.h"

#include <stdio.h>

#include "base/json/json.h"
#include "bind/account/account.h"
#include "bind/json/json.h"

/* ---- An attempt begins --------------------------------------------------------------------------- */

/* Pushes the metatable of a job's context, which differs from its submitter's in the job alone. All
 * jobs of a submitter share it, and the submitter's context holds it: a weak table by contexts would
 * hold each as long as a collection takes. */
static void push_inherited(lua_State *L, int context)
{
    lua_pushliteral(L, "inherited");
    if (lua_rawget(L, context) == LUA_TTABLE)
        return;
    lua_pop(L, 1);
    lua_createtable(L, 0, 1);
    lua_pushvalue(L, context);
    lua_setfield(L, -2, "__index");
    lua_pushliteral(L, "inherited");
    lua_pushvalue(L, -2);
    lua_rawset(L, context);
}

/* The job, the agent that works at it (see orchestrate.lua), and what those inherit that it calls. */
#define AGENT_CONTEXT 3

/* Pushes the context of the job at `job`, with room for the agent. Whether there is one. */
static bool push_context(lua_State *L, int job)
{
    bool agent = lua_getiuservalue(L, job, HOCKET__JOB_KEEPS) == LUA_TTABLE;
    lua_getiuservalue(L, job, HOCKET__JOB_CONTEXT);
    int above = lua_gettop(L);
    lua_createtable(L, 0, agent ? AGENT_CONTEXT : 1);
    lua_pushvalue(L, job);
    lua_setfield(L, -2, "job");
    if (lua_istable(L, above)) {
        push_inherited(L, above);
        lua_setmetatable(L, -2);
    }
    lua_replace(L, above - 1);
    lua_settop(L, above - 1);
    return agent;
}

/* Pushes what the code of a tool or a step that has submitted the job shares with it (effects.within), and says whether there is any. */
static bool push_within(lua_State *L, int job)
{
    return lua_getiuservalue(L, job, HOCKET__JOB_CONTEXT) == LUA_TTABLE
           && lua_getfield(L, -1, "within") == LUA_TTABLE;
}

static void push_scope(lua_State *L, int job)
{
    if (lua_getiuservalue(L, job, HOCKET__JOB_SCOPE) == LUA_TUSERDATA)
        return;
    if (push_within(L, job))
        lua_getfield(L, -1, "fiber");
    else if (hocket__job_push_from_home(L, job, HOCKET__HOME_RUN) == LUA_TTABLE)
        lua_getfield(L, -1, "scope");
}

/* The fiber that the job's fibers are children of: its own scope, else that of the tool or step, else that of its run. */
static struct hocket__fiber *scope_of(lua_State *L, int job)
{
    push_scope(L, job);
    struct hocket__fiber *f = hocket__fiber_test(L, -1);
    return f && f->state < HOCKET__CLOSING ? f : NULL;
}

/* Values on the stack of an agent that waits for its model: it is made as large at once. With too few Lua
 * doubles it, which is a kilobyte and a half for each of thousands. */
#define STACK 110

/* An attempt's fiber is over. Where it could not say how that ended (memory was out, or whatever it ran in
 * was cancelled) the job ends with it: it holds a slot, and somebody may wait for it. What follows is the
 * dispatcher's. The fiber's context is or has the job, which so is still there. */
static void on_attempt_over(struct hocket__fiber *f, void *ud)
{
    struct hocket__lua_job *j = ud;
    struct hocket_error err = { .status = HOCKET_ENOMEM };
    if (j->ended || j->forgotten || j->fiber != f->id || !j->home->broker->broker)
        return;
    if (hocket__fiber_has_failed(f) && f->nresults > 0)
        hocket__to_error(f->co, -1, &err);
    else if (f->cancelled)
        err.status = HOCKET_ECANCELLED;
    struct hocket__broker *b = j->home->broker->broker;
    int64_t now = hocket__broker_now(j->home->broker);
    if (err.status == HOCKET_ECANCELLED)
        hocket__broker_cancel(b, j->id, now, &err);
    else
        hocket__broker_abandon(b, j->id, j->fence, now, err.status, &err);
}

static void start(lua_State *L, struct hocket__lua_broker *b, const struct hocket__claim *claim)
{
    struct hocket__lua_job *j = claim->job->ud;
    hocket__job_push(L, 1, j);
    int job = lua_gettop(L);
    j->fence = claim->fence;
    j->attempt = claim->job->attempt;
    j->moved++;
    j->waiters = 0;
    j->parked = j->resuming = j->ending = false;
    struct hocket__fiber *scope = scope_of(L, job);
    lua_getiuservalue(L, 1, HOCKET__BROKER_WORK);
    lua_pushvalue(L, job);
    struct hocket__fiber *f =
        hocket__fiber_spawn_at(L, b->rt, 1, scope, hocket__kept_attempt(j->path, j->attempt));
    j->fiber = f->id;
    lua_pushvalue(L, job); /* until there is a context, which has it */
    lua_setiuservalue(L, -2, HOCKET__FIBER_CONTEXT);
    f->on_done = on_attempt_over;
    f->on_done_ud = j;
    if (push_context(L, job))
        lua_checkstack(f->co, STACK);
    lua_setiuservalue(L, -2, HOCKET__FIBER_CONTEXT);
    lua_settop(L, job - 1);
}

/* When another fiber of it has begun to wait, the slot is given away again. */
static void resume(struct hocket__lua_broker *b, const struct hocket__claim *claim)
{
    struct hocket__lua_job *j = claim->job->ud;
    struct hocket_error err;
    bool wanted = j->ending || j->waiters == 0;
    j->resuming = false;
    j->parked = !wanted && hocket__broker_park(b->broker, j->id, j->fence, &err) == 0;
    hocket__job_wake(j);
}

/* ---- The dispatcher ---------------------------------------------------------------------------------- */

static uint64_t mixed(uint64_t v)
{
    v = (v ^ v >> 30) * UINT64_C(0xBF58476D1CE4E5B9);
    v = (v ^ v >> 27) * UINT64_C(0x94D049BB133111EB);
    return v ^ v >> 31;
}

/* For jitter: splitmix64, in the order of time. */
static uint64_t next_jitter(struct hocket__lua_broker *b)
{
    return mixed(b->random += UINT64_C(0x9E3779B97F4A7C15));
}

/* Of the attempt that has failed: the same in whatever order jobs fail, where these have paths. */
static uint64_t jitter(struct hocket__lua_broker *b, const struct hocket__lua_job *j)
{
    uint64_t name = j->path ? j->path : j->id;
    return b->keyed ? mixed(b->random ^ hocket__kept_attempt(name, j->attempt)) : next_jitter(b);
}

/* Whether there was a job to start or to go on. */
static bool next(lua_State *L, struct hocket__lua_broker *b)
{
    struct hocket__claim claim;
    int64_t now = hocket__broker_now(b);
    if (hocket__broker_next_wakeup(b->broker) <= now) {
        hocket__broker_expire(b->broker, now);
        if (!b->keyed)
            next_jitter(b); /* logs of earlier versions have the retries that come after it */
        hocket__jobs_follow(L, 1, b);
    }
    if (!hocket__broker_next(b->broker, now, &claim))
        return false;
    if (claim.resumed) {
        resume(b, &claim);
    } else {
        /* what start raises (out of memory) leaves a job that holds a slot: give_up finds it
         * by this */
        b->starting = claim.job->id;
        start(L, b, &claim);
        b->starting = 0;
        b->failures = 0;
    }
    return true;
}

static int go_on(lua_State *L, int status, lua_KContext ctx);

/* A job that is to be tried again goes on by itself; a deadline is a time limit. */
static int await_due(lua_State *L, const struct hocket__lua_broker *b)
{
    int64_t at = hocket__broker_next_wakeup(b->broker);
    if (at == HOCKET__NEVER)
        return hocket__await_inside(L, -1, 0, go_on);
    int64_t left = at - hocket__broker_now(b);
    left = left > 0 ? left : 0;
    if (!b->keyed && hocket__broker_counts(b->broker, 0).of[HOCKET__JOB_DELAYED] > 0)
        return hocket__await_inside(L, left, 0, go_on);
    return hocket__await_limit(L, hocket__work_ms(b->rt) + left, 0, go_on);
}

static int go_on(lua_State *L, int status, lua_KContext ctx)
{
    struct hocket__lua_broker *b = hocket__check_broker(L);
    (void) status;
    (void) ctx;
    hocket__jobs_follow(L, 1, b);
    while (!b->lost && hocket__list_empty(&b->told)) {
        if (!next(L, b)) {
            b->nudged = false;
            return await_due(L, b);
        }
        if (hocket__has_to_pause(b->rt))
            return hocket__await_inside(L, 0, 0, go_on); /* the rest in the next round */
    }
    return 0;
}

/* Nobody starts jobs any more because memory seems to be out for good: waiting jobs would wait for ever. The next
 * submit makes another dispatcher, or fails for lack of memory. */
static void on_dispatcher_over(struct hocket__fiber *f, void *ud)
{
    struct hocket__lua_broker *b = ud;
    if (f->cancelled || b->dispatcher != f->id || !b->broker)
        return;
    b->dispatcher = 0;
    b->dead = true;
    hocket__broker_fail_all(b->broker, hocket__broker_now(b), HOCKET_ENOMEM);
}

/* b:led_by(fiber): that is the dispatcher, and has not run yet. Needs no memory. */
int hocket__broker_l_led_by(lua_State *L)
{
    struct hocket__lua_broker *b = hocket__check_broker(L);
    struct hocket__fiber *f = hocket__fiber_test(L, 2);
    luaL_argcheck(L, f, 2, "fiber expected");
    b->dispatcher = f->id;
    b->dead = b->nudged = false;
    f->on_done = on_dispatcher_over;
    f->on_done_ud = b;
    hocket__fiber_help(f);
    return 0;
}

/* b:work(): the running fiber is the dispatcher. Starts jobs as they may, for ever; returns when
 * functions of Lua have to be told of something. */
int hocket__broker_l_work(lua_State *L)
{
    hocket__check_broker(L);
    hocket__need_stack(L, 32);
    return go_on(L, LUA_OK, 0);
}

/* How often work may raise, and start nothing in between. */
#define MAX_FAILURES 3

/* b:give_up(error): work has raised this. The job that it was starting, if any, fails with it: it
 * holds a slot and would never end. Where it comes to no job at all, again and again, all of them fail. */
int hocket__broker_l_give_up(lua_State *L)
{
    struct hocket__lua_broker *b = hocket__check_broker(L);
    struct hocket_error err;
    int64_t now = hocket__broker_now(b);
    hocket__to_error(L, 2, &err);
    struct hocket__job_outcome o = {
        .status = err.status, .error = hocket__cstr(err.message), .no_retry = true
    };
    const struct hocket__lua_job *j = b->starting ? hocket__job_find(b, b->starting) : NULL;
    b->starting = 0;
    if (j && hocket__broker_fail(b->broker, j->id, j->fence, now, 0, &o, NULL) < 0)
        hocket__broker_abandon(b->broker, j->id, j->fence, now, HOCKET_ENOMEM, NULL);
    if (++b->failures > MAX_FAILURES)
        hocket__broker_fail_all(b->broker, now, o.status);
    hocket__jobs_follow(L, 1, b);
    return 0;
}

void hocket__broker_nudge(struct hocket__lua_broker *b)
{
    struct hocket__fiber *running = b->rt->running;
    if (b->nudged || (running && running->id == b->dispatcher))
        return;
    b->nudged = true;
    hocket__fiber_wake(b->rt, b->dispatcher);
}

/* ==== Attempt ================================================================================= */

/* An attempt at a job: the fiber that calls its function, and the report of how that ended. What the function has
 * returned is kept as JSON; an error fails the attempt, after which there may be another one. */

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
        lua_getfield(
            L, RAISED, "retryable"); /* where nothing is said of it another attempt may help */
        o.no_retry = lua_toboolean(L, -2) || (lua_isboolean(L, -1) && !lua_toboolean(L, -1));
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
    hocket__set_cstr(L, "code", hocket_status_word(o.status));
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

/* ---- Another attempt ------------------------------------------------------------------------------ */

/* In a run that is kept a fiber of its own waits until a job's next attempt is due. Its path is made of the job's and the attempt's. So a
 * fork finds its place among what came in, whichever job fails first. It is the dispatcher's child, and ends with the broker. */

/* Its stack: broker, job's id, fence, milliseconds. */
static int is_due(lua_State *L, int status, lua_KContext ctx)
{
    struct hocket__lua_broker *b = hocket__check_broker(L);
    uint64_t id = (uint64_t) lua_tointeger(L, 2);
    (void) status, (void) ctx;
    if (!b->broker)
        return 0;
    struct hocket__lua_job *j = hocket__job_find(b, id);
    if (j)
        j->put_off = false;
    hocket__broker_due(b->broker, id, (uint64_t) lua_tointeger(L, 3), hocket__broker_now(b));
    hocket__jobs_follow(L, 1, b);
    hocket__broker_nudge(b);
    return 0;
}

static int wait_until_due(lua_State *L)
{
    return hocket__await_inside(L, lua_tointeger(L, 4), 0, is_due);
}

/* Stack: broker, job's id, fence, milliseconds, path; upvalue 1 as all functions here have it. Protected: it takes memory. */
static int begin_to_wait(lua_State *L)
{
    struct hocket__lua_broker *b = hocket__check_broker(L);
    struct hocket__fiber *dispatcher = hocket__map_get(&b->rt->fibers, b->dispatcher);
    uint64_t path = (uint64_t) lua_tointeger(L, 5);
    lua_settop(L, 4);
    lua_pushvalue(L, lua_upvalueindex(1));
    lua_pushcclosure(L, wait_until_due, 1);
    lua_insert(L, 1);
    hocket__fiber_spawn_at(L, b->rt, 4, dispatcher, path)->traits |= HOCKET__PUT_OFF;
    return 0;
}

static uint64_t path_of_wait(const struct hocket__lua_job *j)
{
    return hocket__kept_attempt(hocket__kept_attempt(j->path, j->attempt), UINT32_MAX);
}

/* The job may wait for its next attempt. Where there is no memory for that wait it does not. */
static void put_off(lua_State *L, struct hocket__lua_broker *b, struct hocket__lua_job *j)
{
    int64_t now = hocket__broker_now(b);
    const struct hocket__job *record = b->keyed ? hocket__broker_get(b->broker, j->id) : NULL;
    int64_t left = record ? hocket__broker_hold_off(b->broker, j->id, now) : -1;
    if (left < 0)
        return;
    int top = lua_gettop(L);
    uint64_t fence = record->fence;
    lua_pushvalue(L, lua_upvalueindex(1));
    lua_pushcclosure(L, begin_to_wait, 1);
    lua_pushvalue(L, OWNER);
    lua_pushinteger(L, (lua_Integer) j->id);
    lua_pushinteger(L, (lua_Integer) fence);
    lua_pushinteger(L, left);
    lua_pushinteger(L, (lua_Integer) path_of_wait(j));
    j->put_off = b->dispatcher != 0 && lua_pcall(L, 5, 0, 0) == LUA_OK;
    lua_settop(L, top);
    if (!j->put_off)
        hocket__broker_due(b->broker, j->id, fence, now);
}

/* Its job has ended: nobody waits for its next attempt. */
void hocket__job_leave_wait(struct hocket__lua_job *j)
{
    const struct hocket__kept *k = hocket__clock_run(j->home->broker->clock);
    struct hocket__fiber *f = j->put_off ? hocket__kept_at(k, path_of_wait(j)) : NULL;
    j->put_off = false;
    if (f)
        hocket__fiber_cancel(f);
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
    int rc = hocket__broker_fail(b->broker, j->id, j->fence, now, jitter(b, j), &o, &err);
    if (rc == HOCKET_ELIMIT)
        rc = fail_plainly(b, j, now);
    if (rc == HOCKET_ENOMEM)
        hocket__broker_abandon(b->broker, j->id, j->fence, now, rc, &err);
    put_off(L, b, j);
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

/* Whether the text is part of what the job keeps of its value: not while somebody holds it. */
static bool keeps_text(lua_State *L)
{
    bool found = lua_getiuservalue(L, JOB, HOCKET__JOB_KEEPS) != LUA_TTABLE;
    for (lua_Integer i = 1; !found && lua_rawgeti(L, -1, i) == LUA_TSTRING; i++) {
        found = strcmp(lua_tostring(L, -1), "text") == 0;
        lua_pop(L, 1);
    }
    return found;
}

/* The text of a value that its event shows instead of the JSON. It stays on the stack. Nothing of
 * Lua runs, which could raise. */
static struct hocket__str push_shown(lua_State *L)
{
    struct hocket__str s = { NULL, 0 };
    if (lua_istable(L, VALUE) && !keeps_text(L))
        return s;
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

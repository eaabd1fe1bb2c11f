/* Jobs at work. One fiber of the broker, the dispatcher, starts jobs and lets them go on; each
 * attempt is a fiber of its own, which calls the job's function and says how that ended (attempt.c):
 *
 *     submit ─> next ─> start ─> the function ─> settle ─> complete or fail
 *                 └───> resume, after a wait
 */

#include "bind/broker/broker_impl.h"

/* ---- An attempt begins --------------------------------------------------------------------------- */

/* Contexts of jobs differ from their submitter's in the job alone; their metatable is shared, and
 * kept by the submitter's context itself: a weak table by contexts would hold each as long as a
 * collection takes. Pushes it. */
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
    struct hocket__fiber *f = hocket__fiber_spawn_under(L, b->rt, 1, scope);
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

/* For jitter: splitmix64. */
uint64_t hocket__broker_random(struct hocket__lua_broker *b)
{
    uint64_t v = b->random += UINT64_C(0x9E3779B97F4A7C15);
    v = (v ^ v >> 30) * UINT64_C(0xBF58476D1CE4E5B9);
    v = (v ^ v >> 27) * UINT64_C(0x94D049BB133111EB);
    return v ^ v >> 31;
}

/* Whether there was a job to start or to go on. */
static bool next(lua_State *L, struct hocket__lua_broker *b)
{
    struct hocket__claim claim;
    struct hocket_error err;
    int64_t now = hocket__broker_now(b);
    if (hocket__broker_next_wakeup(b->broker) <= now) {
        hocket__broker_expire(b->broker, now, hocket__broker_random(b));
        hocket__jobs_follow(L, 1, b);
    }
    int rc = hocket__broker_next(b->broker, now, 1, HOCKET__NEVER, &claim);
    if (rc < 0) {
        hocket__error(&err, rc, "the job store: %s", hocket_status_text(rc));
        hocket__raise(L, &err);
    }
    if (rc == 0)
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
    if (hocket__broker_counts(b->broker, 0).of[HOCKET__JOB_DELAYED] > 0)
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

/* Nobody starts jobs any more, memory being out for good as it seems: those that wait for that would
 * wait for ever. Whoever submits a job makes another dispatcher, or hears that memory is out. */
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

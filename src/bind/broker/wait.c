/* Waiting for jobs. While a fiber of a job waits, the job holds no slot, and gets one back before
 * the fiber goes on; when others of its fibers still wait, it goes on without.
 *
 *     leave ─> the broker's wait ─> regain ─> its result
 *
 * All of it is undone by one object on the stack that is to be closed, however the wait ends:
 * returned, raised or cancelled. */
#include "bind/broker/broker_impl.h"

#include <stdio.h>

#define WAIT_NAME "hocket.wait"

/* User values: the broker, the job. */
enum { WAIT_BROKER = 1, WAIT_JOB };

/* ---- Leaving a slot, and getting it back -------------------------------------------------------- */

/* Pushes it; the broker is at `owner`. */
static struct hocket__job_wait *wait_new(lua_State *L, struct hocket__lua_broker *b, int owner)
{
    struct hocket__job_wait *w = lua_newuserdatauv(L, sizeof(*w), 2);
    *w = (struct hocket__job_wait){ .b = b, .token = hocket__fiber_current(L)->id };
    lua_rawgetp(L, LUA_REGISTRYINDEX, (const void *) hocket__open_wait);
    lua_setmetatable(L, -2);
    lua_pushvalue(L, owner);
    lua_setiuservalue(L, -2, WAIT_BROKER);
    return w;
}

void hocket__job_wake(struct hocket__lua_job *j)
{
    for (struct hocket__job_wait *w = j->waits; w; w = w->next)
        if (w->wants) {
            w->wants = false;
            hocket__fiber_wake(j->home->broker->rt, w->token);
        }
}

static void enlist(struct hocket__job_wait *w)
{
    if (w->listed)
        return;
    w->listed = true;
    w->next = w->holds->waits;
    w->holds->waits = w;
}

/* A job has few fibers that wait. */
static void delist(struct hocket__job_wait *w)
{
    struct hocket__job_wait **at = w->listed ? &w->holds->waits : NULL;
    while (at && *at != w)
        at = &(*at)->next;
    if (at)
        *at = w->next;
    w->listed = false;
}

static void want(struct hocket__job_wait *w)
{
    w->wants = true;
    enlist(w);
}

/* Does not want the slot any more. */
static void unwant(struct hocket__job_wait *w)
{
    w->wants = false;
    if (!w->waits)
        delist(w);
}

/* The job is on top of the stack; pops it. */
static void hold(lua_State *L, int at, struct hocket__job_wait *w, struct hocket__lua_job *j)
{
    lua_setiuservalue(L, at, WAIT_JOB);
    w->holds = j;
    w->fence = j->fence;
}

/* The same. Those of its fibers that want the slot have to go on without. */
static void leave(lua_State *L, int at, struct hocket__job_wait *w, struct hocket__lua_job *j)
{
    struct hocket_error err;
    hold(L, at, w, j);
    w->job = j;
    w->left = true;
    j->waiters++;
    /* It is about to get the slot that it gives away again here: who wanted it goes on
     * without. */
    if (j->resuming)
        hocket__job_wake(j);
    if (!j->parked) {
        j->parked = hocket__broker_park(w->b->broker, j->id, j->fence, &err) == 0;
        hocket__broker_nudge(w->b);
    }
}

/* Not any more of an attempt that is over: the next one counts its own. */
static void come_back(struct hocket__job_wait *w)
{
    if (w->left && w->job->fence == w->fence)
        w->job->waiters--;
    w->left = false;
}

/* Whether the job has its slot, or its fiber goes on without: another one waits for a job, which
 * may need the very slot. */
static bool may_go_on(const struct hocket__job_wait *w)
{
    const struct hocket__lua_job *j = w->job;
    return !j || j->fence != w->fence || !j->parked || (!j->ending && j->waiters > 0);
}

static int regain(lua_State *L, int status, lua_KContext at)
{
    struct hocket__job_wait *w = lua_touserdata(L, (int) at);
    struct hocket__lua_job *j = w->job;
    struct hocket_error err;
    unwant(w);
    if (may_go_on(w))
        return w->after(L, status, w->ctx);
    if (!j->resuming) {
        j->resuming = true;
        hocket__broker_unpark(w->b->broker, j->id, j->fence, &err);
        hocket__broker_nudge(w->b);
    }
    want(w);
    return hocket__await_inside(L, -1, at, regain);
}

int hocket__job_regain(lua_State *L, int job, lua_KContext ctx, lua_KFunction k)
{
    struct hocket__lua_job *j = lua_touserdata(L, job);
    hocket__job_push_from_home(L, job, HOCKET__HOME_BROKER);
    struct hocket__job_wait *w = wait_new(L, j->home->broker, lua_gettop(L));
    int at = lua_gettop(L);
    lua_toclose(L, at);
    w->job = j;
    w->after = k;
    w->ctx = ctx;
    lua_pushvalue(L, job);
    hold(L, at, w, j);
    return regain(L, LUA_OK, at);
}

/* w:__close(): what was left comes back, and who waited does not any more. A job whose outcome
 * nobody waits for any more is cancelled, and who waited for it ends after it. */
static int l_close(lua_State *L)
{
    struct hocket__job_wait *w = lua_touserdata(L, 1);
    struct hocket_error err;
    bool waits = w->waits && w->reads == 0;
    w->waits = false;
    come_back(w);
    unwant(w);
    if (!w->b->broker)
        return 0;
    if (waits)
        hocket__broker_wait_cancel(w->b->broker, w->token);
    /* b:call is closed before its job has ended: an error or a cancel has taken its caller
     * away. */
    if (w->waited) {
        uint64_t id = w->waited;
        w->waited = 0;
        hocket__job_adopt(w->b, id);
        lua_getiuservalue(L, 1, WAIT_BROKER);
        if (w->forgets) { /* nobody else has its id */
            hocket__job_drop(L, lua_gettop(L), w->b, id);
            return 0;
        }
        hocket__broker_cancel(w->b->broker, id, hocket__broker_now(w->b), &err);
        hocket__jobs_follow(L, lua_gettop(L), w->b);
    }
    return 0;
}

/* ---- Without a wait for a job --------------------------------------------------------------------- */

/* b:leave() -> what is to be closed, and before that given to come_back; nil when the running
 * fiber works for no job. Until then the job holds no slot. */
int hocket__broker_l_leave(lua_State *L)
{
    struct hocket__lua_broker *b = hocket__check_broker(L);
    struct hocket__lua_job *j = hocket__job_here(L, b);
    if (!j || j->ended)
        return 0;
    struct hocket__job_wait *w = wait_new(L, b, 1);
    lua_insert(L, -2);
    leave(L, lua_gettop(L) - 1, w, j);
    return 1;
}

static int nothing(lua_State *L, int status, lua_KContext ctx)
{
    (void) L;
    (void) status;
    (void) ctx;
    return 0;
}

/* b:come_back(left): waits until the job holds a slot */
int hocket__broker_l_come_back(lua_State *L)
{
    hocket__check_broker(L);
    struct hocket__job_wait *w = luaL_checkudata(L, 2, WAIT_NAME);
    come_back(w);
    w->after = nothing;
    return regain(L, LUA_OK, 2);
}

/* ==== Ring ==================================================================================== */

/* Jobs that wait for each other in a ring, and so for ever. A wait that would close one is refused
 * when it begins, for nothing that happens later could end it but a deadline or a cancel.
 *
 *     job ──waits for──> job ──comes after──> job ──reads the events of──> the first
 *
 * The jobs may be of several brokers. A wait counts where it holds its job up for certain: it has no
 * timeout, is not for any of several, and its fiber is the job's own or one that this waits for. Who
 * reads a job's events waits for that job where no other fiber of it, and no open job below it, is
 * there to report something. So nothing is refused that could have ended; what begins to hold a job
 * up later (a fiber that is joined when it waits already) is not seen. */

/* ---- What holds a job up ------------------------------------------------------------------------ */

/* The fiber that does nothing but wait for the end of f; NULL. */
static const struct hocket__fiber *joined_by(
    const struct hocket__runtime *rt, const struct hocket__fiber *f)
{
    if (f->traits & HOCKET__AWAITED)
        return f->parent;
    for (size_t i = 0; i < f->n_watchers; i++) {
        const struct hocket__fiber *w = hocket__map_get(&rt->fibers, f->watchers[i]);
        if (w && w->state == HOCKET__WAITING && w->deadline.place == 0 && w->limit_due == 0
            && !w->unwait)
            return w;
    }
    return NULL;
}

/* Fibers that wait for fibers: more than anybody nests. */
#define MAX_JOINS 1000

static bool holds_up(const struct hocket__lua_job *j, uint64_t fiber)
{
    const struct hocket__runtime *rt = j->home->broker->rt;
    const struct hocket__fiber *f = hocket__map_get(&rt->fibers, fiber);
    for (int joins = 0; f && !f->cancelled && joins < MAX_JOINS; joins++) {
        if (f->id == j->fiber)
            return true;
        f = joined_by(rt, f);
    }
    return false;
}

static bool is_open(const struct hocket__lua_broker *b, uint64_t id)
{
    const struct hocket__job *record = hocket__broker_get(b->broker, id);
    return record && !hocket__job_is_final(record->state);
}

/* Whether the wait ends only when every open job has ended. */
static bool is_for_each(const struct hocket__job_wait *w)
{
    size_t open = 0;
    if (w->mode != HOCKET__WAIT_ANY)
        return true;
    for (size_t i = 0; i < w->n; i++)
        open += is_open(w->b, w->ids[i]);
    return open == 1;
}

static bool has_child(const struct hocket__fiber *f, const struct hocket__fiber *only)
{
    for (const struct hocket__list *l = f->children.next; l != &f->children; l = l->next)
        if (hocket__container_of(l, struct hocket__fiber, sibling) != only)
            return true;
    return false;
}

/* Whether the job has no fibers beside this one and its parents. */
static bool is_alone(const struct hocket__lua_job *j, uint64_t fiber)
{
    const struct hocket__fiber *below = NULL,
                               *f = hocket__map_get(&j->home->broker->rt->fibers, fiber);
    for (int joins = 0; f && joins < MAX_JOINS && !has_child(f, below); joins++) {
        if (f->id == j->fiber)
            return true;
        below = f;
        f = f->parent;
    }
    return false;
}

/* ---- The search ---------------------------------------------------------------------------------- */

struct met {
    struct hocket__lua_job *job;
    bool is_read; /* what waits for it reads its events */
};

/* Breadth first. `from` says for each job that was met, by address, which one waits for it. */
struct search {
    const struct hocket__job_wait *wait; /* that is about to begin */
    struct hocket__lua_job *start;       /* which it holds up */
    struct hocket__map from;
    struct met *met;
    size_t n, cap;
    int status;
    bool closed;
};

static uint64_t key_of(const struct hocket__lua_job *j)
{
    return (uint64_t) (uintptr_t) j;
}

static const struct hocket__job *record_of(const struct hocket__lua_job *j)
{
    return hocket__broker_get(j->home->broker->broker, j->id);
}

/* Only these wait for others. */
static bool may_wait(const struct hocket__lua_job *j)
{
    return j->waits || record_of(j)->state == HOCKET__JOB_BLOCKED;
}

/* Whether the search has come from the start over this job to `last`. */
static bool is_passed(
    const struct search *s, const struct hocket__lua_job *last, const struct hocket__lua_job *j)
{
    while (last != j && last != s->start)
        last = hocket__map_get(&s->from, key_of(last));
    return last == j;
}

/* Whether a job below this one is open that does not wait in the ring which led to `last`. */
static bool has_others_below(
    const struct search *s, const struct hocket__lua_job *last, const struct hocket__lua_job *j)
{
    const struct hocket__lua_broker *b = j->home->broker;
    uint64_t ids[16];
    size_t n, most = sizeof(ids) / sizeof(ids[0]);
    for (uint64_t after = 0;
         (n = hocket__broker_children(b->broker, 0, j->id, after, ids, most)) > 0;
         after = ids[n - 1])
        for (size_t i = 0; i < n; i++) {
            const struct hocket__lua_job *below =
                is_open(b, ids[i]) ? hocket__broker_get(b->broker, ids[i])->ud : NULL;
            if (below && (!is_passed(s, last, below) || has_others_below(s, last, below)))
                return true;
        }
    return false;
}

/* Whether only this fiber, and the fibers that wait for it, report for the job that `last` reads. */
static bool is_silent(const struct search *s, const struct hocket__lua_job *last,
    const struct hocket__lua_job *j, uint64_t fiber)
{
    return is_alone(j, fiber) && !has_others_below(s, last, j);
}

static void meet(
    struct search *s, struct hocket__lua_job *j, struct hocket__lua_job *waits, bool is_read)
{
    bool is_start = j == s->start;
    if (s->status < 0 || s->closed || hocket__map_get(&s->from, key_of(j))
        || (is_start ? is_read && !is_silent(s, waits, j, s->wait->token) : !may_wait(j)))
        return;
    if (hocket__map_set(&s->from, key_of(j), waits) < 0
        || hocket__grow(s->wait->b->rt->alloc, &s->met, &s->cap, s->n + 1, sizeof(*s->met)) < 0)
        s->status = HOCKET_ENOMEM;
    else
        s->met[s->n++] = (struct met){ j, is_read };
    s->closed = is_start && s->status == 0;
}

static void meet_all(struct search *s, const struct hocket__lua_broker *b, const uint64_t *ids,
    size_t n, struct hocket__lua_job *waits, bool is_read)
{
    for (size_t i = 0; i < n; i++)
        if (is_open(b, ids[i]))
            meet(s, hocket__broker_get(b->broker, ids[i])->ud, waits, is_read);
}

static void follow(struct search *s, const struct met *met)
{
    struct hocket__lua_job *j = met->job;
    const struct hocket__job *record = record_of(j);
    if (record->state == HOCKET__JOB_BLOCKED)
        meet_all(s, j->home->broker, record->deps, record->dep_count, j, false);
    for (const struct hocket__job_wait *w = j->waits; w; w = w->next)
        if (w->waits && w->due_ms == 0 && w->fence == j->fence && is_for_each(w)
            && holds_up(j, w->token)
            && (!met->is_read || is_silent(s, hocket__map_get(&s->from, key_of(j)), j, w->token)))
            meet_all(s, w->b, w->ids, w->n, j, w->reads != 0);
}

/* ---- Saying so -------------------------------------------------------------------------------------- */

#define SHOWN 8 /* jobs of a path, and as many again */

/* From the job that begins to wait, all the way round; backwards is how it was found. */
static int refuse(struct search *s, struct hocket_error *err)
{
    char path[SHOWN * 32 + 64];
    size_t n = 0, len = 0;
    struct hocket__lua_job *j = s->start;
    do {
        s->met[n++].job = j;
        j = hocket__map_get(&s->from, key_of(j));
    } while (j != s->start && n < s->n);
    len = (size_t) snprintf(path, sizeof(path), "task %llu", (unsigned long long) s->start->id);
    for (size_t i = n; i-- > 0;)
        if (i < SHOWN / 2 || i + SHOWN / 2 >= n)
            len += (size_t) snprintf(path + len, sizeof(path) - len, " -> task %llu",
                (unsigned long long) s->met[i].job->id);
        else if (i == SHOWN / 2)
            len += (size_t) snprintf(path + len, sizeof(path) - len, " -> …");
    return hocket__error(err, HOCKET_EINVAL,
        "tasks cannot wait for each other in a ring, which would be for ever: %s", path);
}

/* Whether anybody waits for it, or may. */
static bool is_awaited(const struct hocket__lua_job *j)
{
    return j->tells || hocket__broker_is_awaited(j->home->broker->broker, j->id);
}

/* Whether a wait of a fiber of job j, which is about to begin, may: EINVAL where it would close a
 * ring of jobs that wait for each other, ENOMEM. */
static int check_ring(
    const struct hocket__job_wait *w, struct hocket__lua_job *j, struct hocket_error *err)
{
    struct search s = { .wait = w, .start = j };
    bool itself = false;
    for (size_t i = 0; i < w->n && w->b == j->home->broker; i++)
        itself = itself || w->ids[i] == j->id;
    if ((!itself && !is_awaited(j)) || !is_for_each(w) || !holds_up(j, w->token))
        return 0;
    hocket__map_init(&s.from, w->b->rt->alloc);
    meet_all(&s, w->b, w->ids, w->n, j, w->reads != 0);
    for (size_t i = 0; i < s.n && s.status == 0 && !s.closed; i++) {
        struct met met = s.met[i];
        follow(&s, &met);
    }
    int rc = s.status < 0 ? hocket__error_nomem(err) : s.closed ? refuse(&s, err) : 0;
    hocket__map_deinit(&s.from);
    hocket__free(w->b->rt->alloc, s.met, s.cap * sizeof(*s.met));
    return rc;
}

/* ---- Waits for jobs ---------------------------------------------------------------------------------- */

static int after_wait(lua_State *L, int status, lua_KContext at);

static int await_jobs(lua_State *L, const struct hocket__job_wait *w, lua_KContext at)
{
    return w->due_ms == 0 ? hocket__await_inside(L, -1, at, after_wait)
                          : hocket__await_limit(L, w->due_ms, at, after_wait);
}

/* Wake-ups are hints: a wait that the broker still has goes on. */
static int after_wait(lua_State *L, int status, lua_KContext at)
{
    struct hocket__job_wait *w = lua_touserdata(L, (int) at);
    if (hocket__broker_is_waiting(w->b->broker, w->token)) {
        if (!hocket__timed_out(L))
            return await_jobs(L, w, at);
        hocket__broker_wait_cancel(w->b->broker, w->token);
        w->timed_out = true;
    }
    w->waits = false;
    come_back(w);
    return regain(L, status, at);
}

/* Who is not let wait leaves what it wanted to wait for as it is, unless it is its own. */
static int refused(lua_State *L, struct hocket__job_wait *w, const struct hocket_error *err)
{
    if (!w->forgets)
        w->waited = 0;
    return hocket__fail(L, err);
}

/* The job that the running fiber works for, of whatever broker; pushed. NULL: none that goes on. */
static struct hocket__lua_job *job_at_work(lua_State *L)
{
    struct hocket__lua_job *j = hocket__job_here(L, NULL);
    return j && !j->ended && j->home->broker->broker ? j : NULL;
}

/* Waits for w->ids, and calls w->after with the place of w on the stack. */
static int wait(lua_State *L, int at, int64_t ms)
{
    struct hocket__job_wait *w = lua_touserdata(L, at);
    struct hocket__lua_job *j = job_at_work(L);
    struct hocket_error err;
    int rc = 0;
    if (j && ms < 0)
        rc = check_ring(w, j, &err);
    if (rc == 0)
        rc = hocket__broker_wait(w->b->broker, w->token, w->ids, w->n, w->mode, &err);
    if (rc < 0)
        return refused(L, w, &err);
    w->ctx = at;
    if (rc == 1)
        return w->after(L, LUA_OK, at);
    w->waits = true;
    w->due_ms = ms < 0 ? 0 : hocket__work_ms(w->b->rt) + ms;
    if (j && j->home->broker == w->b)
        leave(L, at, w, j);
    else if (j)
        hold(L, at, w, j); /* at its own broker it keeps its slot */
    if (j)
        enlist(w);
    return await_jobs(L, w, at);
}

static int after_wait_for(lua_State *L, int status, lua_KContext at)
{
    const struct hocket__job_wait *w = lua_touserdata(L, (int) at);
    (void) status;
    lua_pushboolean(L, !w->timed_out);
    return 1;
}

static uint64_t *ids_at(lua_State *L, int arg, size_t *n)
{
    luaL_checktype(L, arg, LUA_TTABLE);
    *n = lua_rawlen(L, arg);
    uint64_t *ids = lua_newuserdatauv(L, (*n + 1) * sizeof(*ids), 0);
    for (size_t i = 0; i < *n; i++) {
        lua_rawgeti(L, arg, (lua_Integer) i + 1);
        ids[i] = (uint64_t) luaL_checkinteger(L, -1);
        lua_pop(L, 1);
    }
    return ids;
}

/* b:wait_for(ids, "any" | "all" | "failed", seconds?) -> whether they have ended in time | nil,
 * error. failed: until one has not completed, or all have ended. */
int hocket__broker_l_wait_for(lua_State *L)
{
    static const char *const modes[] = { "any", "all", "failed", NULL };
    struct hocket__lua_broker *b = hocket__check_broker(L);
    size_t n;
    enum hocket__wait_mode mode = (enum hocket__wait_mode) luaL_checkoption(L, 3, "all", modes);
    int64_t ms = hocket__opt_seconds(L, 4);
    const uint64_t *ids = ids_at(L, 2, &n);
    struct hocket__job_wait *w = wait_new(L, b, 1);
    int at = lua_gettop(L);
    lua_toclose(L, at);
    w->ids = ids;
    w->n = n;
    w->mode = mode;
    w->after = after_wait_for;
    return wait(L, at, ms);
}

static int after_wait_one(lua_State *L, int status, lua_KContext at)
{
    struct hocket__job_wait *w = lua_touserdata(L, (int) at);
    struct hocket_error err;
    uint64_t id = w->waited;
    (void) status;
    w->waited = 0;
    int n = w->timed_out ? hocket__job_fail(L, "timeout", "task %I has not ended in time%s", id, "")
                         : hocket__job_push_result(L, w->b, id);
    if (w->forgets) {
        hocket__broker_forget(w->b->broker, id, &err);
        hocket__jobs_follow(L, 1, w->b);
    }
    return n;
}

static int wait_one(
    lua_State *L, struct hocket__lua_broker *b, uint64_t id, int64_t ms, bool forget)
{
    struct hocket__job_wait *w = wait_new(L, b, 1);
    int at = lua_gettop(L);
    lua_toclose(L, at);
    w->waited = id;
    w->ids = &w->waited;
    w->n = 1;
    w->mode = HOCKET__WAIT_ALL;
    w->forgets = forget;
    w->after = after_wait_one;
    return wait(L, at, ms);
}

/* b:wait(id, seconds?) -> value | nil, error */
int hocket__broker_l_wait(lua_State *L)
{
    struct hocket__lua_broker *b = hocket__check_broker(L);
    return wait_one(L, b, hocket__job_id_at(L, 2), hocket__opt_seconds(L, 3), false);
}

/* b:call(spec) -> value | nil, error: whoever called has it, so it is forgotten */
int hocket__broker_l_call(lua_State *L)
{
    struct hocket__lua_broker *b = hocket__check_broker(L);
    struct hocket_error err;
    uint64_t id;
    hocket__fiber_current(L);
    if (hocket__jobs_submit(L, b, 2, false, &id, &err) < 0)
        return hocket__fail(L, &err);
    lua_settop(L, 2);
    return wait_one(L, b, id, -1, true);
}

/* ---- Waits for events -------------------------------------------------------------------------------- */

static int after_event(lua_State *L, int status, lua_KContext at)
{
    struct hocket__job_wait *w = lua_touserdata(L, (int) at);
    (void) status;
    w->waits = false;
    delist(w);
    lua_pushboolean(L, true);
    return 1;
}

/* b:await_event(id) -> true | nil, error: until the fiber is woken, which who tells of the job does. A wake is a hint */
int hocket__broker_l_await_event(lua_State *L)
{
    struct hocket__lua_broker *b = hocket__check_broker(L);
    struct hocket_error err;
    struct hocket__job_wait *w = wait_new(L, b, 1);
    int at = lua_gettop(L);
    lua_toclose(L, at);
    w->reads = hocket__job_id_at(L, 2);
    w->ids = &w->reads;
    w->n = 1;
    w->mode = HOCKET__WAIT_ALL;
    struct hocket__lua_job *j = job_at_work(L);
    if (j && check_ring(w, j, &err) < 0)
        return hocket__fail(L, &err);
    if (j) {
        hold(L, at, w, j);
        enlist(w);
    }
    w->waits = true;
    return hocket__await_inside(L, -1, at, after_event);
}

/* Its address is the registry key of the metatable of waits. */
void hocket__open_wait(lua_State *L)
{
    luaL_newmetatable(L, WAIT_NAME);
    lua_pushcfunction(L, l_close);
    lua_setfield(L, -2, "__close");
    lua_pushliteral(L, "locked");
    lua_setfield(L, -2, "__metatable");
    lua_rawsetp(L, LUA_REGISTRYINDEX, (const void *) hocket__open_wait);
}

/* What the broker tells of jobs: each event goes into the journal of the job's run as it happens,
 * and, where somebody asked for it, to functions of Lua, a little later and in order.
 *
 * The callbacks run inside of calls of the broker and call nothing but the journal. When such a call
 * has returned, hocket__jobs_follow does what follows from a job's end: it cancels the fiber and
 * closes the account. */
#include "base/json/json.h"

#include "base/num/num.h"
#include "bind/account/account.h"
#include "bind/broker/broker_impl.h"
#include "bind/journal/journal.h"
#include "core/text.h"

/* ---- In the journal ---------------------------------------------------------------------------- */

/* Bytes of a result or a message that its event shows; the result is kept whole. */
#define SHOWN 2000

/* What an event calls its text, as it stands in a record. */
static struct hocket__str payload_name(enum hocket__broker_event_type type)
{
    if (type == HOCKET__EVENT_COMPLETED)
        return HOCKET__STR(",\"result\":");
    return type == HOCKET__EVENT_FAILED ? HOCKET__STR(",\"error\":") : HOCKET__STR(",\"message\":");
}

struct hocket__str hocket__job_shorten(struct hocket__str text, size_t max, char *room)
{
    if (text.n <= max)
        return text;
    size_t n = hocket__text_cut(text, max - 1).n;
    memcpy(room, text.p, n);
    memcpy(room + n, HOCKET__JOB_REST, sizeof(HOCKET__JOB_REST));
    return hocket__str(room, n + sizeof(HOCKET__JOB_REST) - 1);
}

static void write_shown(struct hocket__buf *b, struct hocket__str text)
{
    char room[SHOWN + sizeof(HOCKET__JOB_REST)];
    hocket__jw_string(b, hocket__job_shorten(text, SHOWN, room));
}

/* In the order of their names, as all events have them. */
static void write_members(
    struct hocket__buf *b, const struct hocket__broker_event *e, struct hocket__str shown)
{
    char number[HOCKET__NUM_MAX];
    if (e->payload.n > 0) {
        hocket__buf_addstr(b, payload_name(e->type));
        write_shown(b, shown);
    }
    hocket__buf_lit(b, ",\"task\":");
    hocket__buf_add(b, number, hocket__num_print_int((int64_t) e->job->id, number));
    if (e->usage.n > 0) {
        hocket__buf_lit(b, ",\"usage\":");
        hocket__jw_raw(b, e->usage);
    }
}

/* A run that has ended takes no more, and one whose journal is full has said so. */
static void record(struct hocket__lua_broker *b, const struct hocket__lua_job *j,
    const struct hocket__broker_event *e, struct hocket__str shown)
{
    struct hocket_error err;
    char type[32] = "task_";
    const char *word = hocket__broker_event_word(e->type);
    size_t n = strlen(word);
    memcpy(type + 5, word, n);
    struct hocket__buf *out = hocket__journal_write(
        j->home->journal, NULL, j->op, e->job->agent, hocket__str(type, 5 + n), &err);
    if (out)
        write_members(out, e, shown);
    if (!out || hocket__journal_written(j->home->journal, &err) < 0)
        if (err.status == HOCKET_ENOMEM)
            hocket__runtime_log(b->rt, HOCKET_LOG_ERROR, "no memory for an event of task %llu",
                (unsigned long long) e->job->id);
}

/* ---- For functions of Lua -------------------------------------------------------------------------- */

/* One event that was not fetched yet, with its texts behind it. */
struct told {
    struct hocket__list link;
    size_t size;
    enum hocket__broker_event_type type;
    struct hocket__lua_job *job; /* which stays known while this is there */
    uint64_t id;
    struct hocket__str payload, usage, shown;
    char text[];
};

static struct hocket__str put(char **at, struct hocket__str s)
{
    struct hocket__str copy = hocket__str(*at, s.n);
    if (s.n > 0)
        memcpy(*at, s.p, s.n);
    *at += s.n;
    return copy;
}

static void keep(struct hocket__lua_broker *b, struct hocket__lua_job *j,
    const struct hocket__broker_event *e, struct hocket__str shown)
{
    size_t size = sizeof(struct told) + e->payload.n + e->usage.n + shown.n;
    struct told *t = hocket__new(b->rt->alloc, size);
    if (!t) {
        /* said by take_told, in a fiber that may raise: here, in the middle of the broker,
         * nobody can */
        b->lost = true;
        return;
    }
    char *at = t->text;
    t->size = size;
    t->type = e->type;
    t->job = j;
    t->id = e->job->id;
    t->payload = put(&at, e->payload);
    t->usage = put(&at, e->usage);
    t->shown = put(&at, shown);
    hocket__list_add(&b->told, &t->link);
    j->untold++;
}

static void drop_told(struct hocket__lua_broker *b, struct told *t)
{
    hocket__list_del(&t->link);
    hocket__free(b->rt->alloc, t, t->size);
}

void hocket__broker_forget_told(struct hocket__lua_broker *b)
{
    while (!hocket__list_empty(&b->told))
        drop_told(b, hocket__container_of(b->told.next, struct told, link));
}

static void push_text(lua_State *L, struct hocket__str s)
{
    if (s.n > 0)
        hocket__push_str(L, s);
    else
        lua_pushnil(L);
}

/* Takes a job out of the table of the broker at `at`. */
static void forget(lua_State *L, int at, const struct hocket__lua_job *j)
{
    lua_getiuservalue(L, at, HOCKET__BROKER_JOBS);
    lua_pushnil(L);
    lua_rawsetp(L, -2, j);
    lua_pop(L, 1);
}

/* Pushes an event and lets go of it. */
static void push_told(lua_State *L, struct hocket__lua_broker *b, struct told *t)
{
    struct hocket__lua_job *j = t->job;
    hocket__job_push(L, 1, j);
    lua_getiuservalue(L, -1, HOCKET__JOB_EMIT); /* nil where it has none */
    lua_pushstring(L, hocket__broker_event_word(t->type));
    lua_pushinteger(L, (lua_Integer) t->id);
    push_text(L, t->payload);
    push_text(L, t->usage);
    push_text(L, t->shown);
    drop_told(b, t);
    if (--j->untold == 0 && j->forgotten)
        forget(L, 1, j);
}

/* b:take_told() -> job, emit or nil, type, id, payload, usage, shown (each text or nil); nothing
 * when there is no event */
int hocket__broker_l_take_told(lua_State *L)
{
    struct hocket__lua_broker *b = hocket__check_broker(L);
    if (b->lost) {
        b->lost = false;
        return hocket__raise_nomem(L);
    }
    if (hocket__list_empty(&b->told))
        return 0;
    hocket__need_stack(L, 10);
    push_told(L, b, hocket__container_of(b->told.next, struct told, link));
    return 7;
}

/* ---- The callbacks ---------------------------------------------------------------------------------- */

static void on_event(const struct hocket__broker_event *e, void *ud)
{
    struct hocket__lua_broker *b = ud;
    struct hocket__lua_job *j = e->job->ud;
    bool completed = e->type == HOCKET__EVENT_COMPLETED;
    /* The result is JSON of the whole value; its event shows the text that a person would
     * read. */
    struct hocket__str shown = completed && b->shown.p ? b->shown : e->payload;
    hocket__broker_nudge(b);
    if (j->home->journal && !j->quiet)
        record(b, j, e, shown);
    if (j->tells)
        keep(b, j, e, shown);
    if (hocket__job_is_final(e->job->state)) {
        j->ended = true;
        hocket__list_del(&j->link); /* it may be about to be submitted */
        hocket__list_add(&b->over, &j->link);
    }
}

static void on_wake(uint64_t token, void *ud)
{
    hocket__fiber_wake(((struct hocket__lua_broker *) ud)->rt, token);
}

static void on_drop(void *job_ud, void *ud)
{
    struct hocket__lua_job *j = job_ud;
    hocket__list_move(&((struct hocket__lua_broker *) ud)->dropped, &j->link);
}

struct hocket__broker_hooks hocket__broker_lua_hooks(struct hocket__lua_broker *b)
{
    return (struct hocket__broker_hooks){ on_event, on_wake, b, on_drop };
}

/* ---- What follows ------------------------------------------------------------------------------------- */

static void clear(lua_State *L, int job, int value)
{
    lua_pushnil(L);
    lua_setiuservalue(L, job, value);
}

/* Its outcome stays as long as it is known; the rest goes. A job that did not end by itself has a
 * fiber that may still run. */
static void let_go(lua_State *L, int at, struct hocket__lua_broker *b, struct hocket__lua_job *j)
{
    const struct hocket__job *record = hocket__broker_get(b->broker, j->id);
    struct hocket__fiber *f = hocket__job_fiber(j);
    hocket__job_push(L, at, j);
    int job = lua_gettop(L);
    clear(L, job, HOCKET__JOB_CALL);
    clear(L, job, HOCKET__JOB_SCOPE);
    hocket__job_leave_wait(j);
    if (f && !(record && record->state == HOCKET__JOB_COMPLETED))
        hocket__fiber_cancel(f); /* which may end further jobs: they are in the list then */
    if (j->account)
        hocket__accounts_close(j->home->accounts, j->account);
    lua_settop(L, job - 1);
}

void hocket__job_drop(lua_State *L, int at, struct hocket__lua_broker *b, uint64_t id)
{
    struct hocket_error err;
    hocket__broker_cancel(b->broker, id, hocket__broker_now(b), &err);
    struct hocket__lua_job *j = hocket__job_find(b, id);
    struct hocket__fiber *f = j ? hocket__job_fiber(j) : NULL;
    if (f && f->course != HOCKET__UNBEGUN && f->state < HOCKET__CLOSING)
        j->dropped = true;
    else
        hocket__broker_forget(b->broker, id, &err);
    hocket__jobs_follow(L, at, b);
}

void hocket__jobs_follow(lua_State *L, int at, struct hocket__lua_broker *b)
{
    while (!hocket__list_empty(&b->over)) {
        struct hocket__lua_job *j =
            hocket__container_of(b->over.next, struct hocket__lua_job, link);
        hocket__list_del(&j->link);
        let_go(L, at, b, j);
    }
    while (!hocket__list_empty(&b->dropped)) {
        struct hocket__lua_job *j =
            hocket__container_of(b->dropped.next, struct hocket__lua_job, link);
        hocket__list_del(&j->link);
        j->forgotten = true;
        if (j->untold == 0)
            forget(L, at, j);
    }
}

/* ==== Result ================================================================================== */

/* What is known of jobs: their records, their results, each once, and their notes.
 *
 * A result is a Lua value where the one who waits is in this state, and JSON in the record, which
 * outlives both. Whoever reads a result is noted, so that nobody gets it a second time. */

static void set_id(lua_State *L, const char *name, uint64_t v)
{
    if (v > 0) {
        hocket__set_int(L, name, (lua_Integer) v);
    }
}

/* ---- Results ----------------------------------------------------------------------------------- */

int hocket__job_fail(lua_State *L, const char *code, const char *fmt, uint64_t id, const char *word)
{
    lua_pushnil(L);
    lua_createtable(L, 0, 2);
    hocket__set_cstr(L, "code", code);
    lua_pushfstring(L, fmt, (lua_Integer) id, word);
    lua_setfield(L, -2, "message");
    hocket__mark_error(L);
    return 2;
}

/* Pushes the error of an attempt as its function gave it, when it is what the job failed with. */
static bool push_own_error(lua_State *L, const struct hocket__job *record)
{
    lua_getiuservalue(L, -1, HOCKET__JOB_CALL);
    if (record->state != HOCKET__JOB_FAILED || !lua_istable(L, -1))
        return false;
    lua_getfield(L, -1, "message");
    bool same = lua_type(L, -1) == LUA_TSTRING;
    if (same) {
        struct hocket__str message;
        message.p = lua_tolstring(L, -1, &message.n);
        same = hocket__str_eq(message, record->error);
    }
    lua_pop(L, 1);
    return same;
}

static const char *code_of(const struct hocket__job *record)
{
    if (record->state == HOCKET__JOB_FAILED)
        return record->status < 0 ? hocket_status_word(record->status) : NULL;
    return record->state == HOCKET__JOB_SKIPPED ? "state" : "cancelled";
}

static int push_failure(lua_State *L, const struct hocket__job *record)
{
    lua_pushnil(L);
    lua_createtable(L, 0, 3);
    hocket__set_cstr(L, "code", code_of(record));
    if (record->error.n > 0)
        hocket__push_str(L, record->error);
    else
        lua_pushstring(L, hocket__job_state_outward(record->state));
    lua_setfield(L, -2, "message");
    set_id(L, "cause", record->cause);
    hocket__mark_error(L);
    return 2;
}

int hocket__job_push_result(lua_State *L, struct hocket__lua_broker *b, uint64_t id)
{
    struct hocket_error err;
    const struct hocket__job *record = hocket__broker_get(b->broker, id);
    if (!record)
        return hocket__job_fail(L, "not_found", "there is no task %I%s", id, "");
    if (!hocket__job_is_final(record->state))
        return hocket__job_fail(
            L, "state", "task %I is %s", id, hocket__job_state_outward(record->state));
    hocket__broker_mark_read(b->broker, id, &err);
    hocket__job_push(L, 1, record->ud);
    if (record->state == HOCKET__JOB_COMPLETED) {
        lua_getiuservalue(L, -1, HOCKET__JOB_CALL);
        return 1;
    }
    if (!push_own_error(L, record))
        return push_failure(L, record);
    lua_pushnil(L);
    lua_insert(L, -2);
    return 2;
}

/* b:result(id) -> value | nil, error: it counts as read */
int hocket__broker_l_result(lua_State *L)
{
    return hocket__job_push_result(L, hocket__check_broker(L), hocket__job_id_at(L, 2));
}

/* b:has_ended(id): true also for a forgotten job */
int hocket__broker_l_has_ended(lua_State *L)
{
    struct hocket__lua_broker *b = hocket__check_broker(L);
    const struct hocket__job *record = hocket__broker_get(b->broker, hocket__job_id_at(L, 2));
    lua_pushboolean(L, !record || hocket__job_is_final(record->state));
    return 1;
}

/* b:reap(id) -> false while it goes on; true, value or nil, error: it is forgotten */
int hocket__broker_l_reap(lua_State *L)
{
    struct hocket__lua_broker *b = hocket__check_broker(L);
    uint64_t id = hocket__job_id_at(L, 2);
    const struct hocket__job *record = hocket__broker_get(b->broker, id);
    struct hocket_error err;
    if (record && !hocket__job_is_final(record->state)) {
        lua_pushboolean(L, false);
        return 1;
    }
    int n = hocket__job_push_result(L, b, id);
    lua_pushboolean(L, true);
    lua_insert(L, -n - 1);
    hocket__broker_forget(b->broker, id, &err);
    hocket__jobs_follow(L, 1, b);
    return n + 1;
}

/* ---- Records ----------------------------------------------------------------------------------- */

/* Sets the notes of a job in the table on top: an array of {seq, kind, text}. */
static void set_notes(lua_State *L, struct hocket__lua_broker *b, uint64_t id)
{
    struct hocket__broker_noted notes[64];
    size_t n = hocket__broker_notes(b->broker, id, 0, notes, 64);
    lua_createtable(L, (int) n, 0);
    for (size_t i = 0; i < n; i++) {
        lua_createtable(L, 0, 3);
        set_id(L, "seq", notes[i].seq);
        hocket__set_cstr(L, "kind", notes[i].kind == HOCKET__NOTE_LOG ? "log" : "progress");
        hocket__set_str(L, "text", notes[i].text);
        lua_rawseti(L, -2, (lua_Integer) i + 1);
    }
    lua_setfield(L, -2, "notes");
}

static void set_texts(lua_State *L, const struct hocket__job *j)
{
    hocket__set_str(L, "name", j->name);
    hocket__set_str(L, "agent", j->agent);
    hocket__set_str(L, "data", j->data);
    hocket__set_str(L, "result", j->result);
    hocket__set_str(L, "error", j->error);
    hocket__set_str(L, "usage", j->usage);
    hocket__set_cstr(L, "status", hocket__job_state_outward(j->state));
    hocket__set_cstr(L, "state", hocket__job_state_word(j->state));
    if (j->status < 0) {
        hocket__set_cstr(L, "code", hocket_status_word(j->status));
    }
}

static void set_seconds(
    lua_State *L, const struct hocket__lua_broker *b, const struct hocket__job *j)
{
    if (j->started_ms == HOCKET__NEVER)
        return;
    int64_t end = j->finished_ms != HOCKET__NEVER ? j->finished_ms : hocket__broker_now(b);
    hocket__set_number(L, "seconds", (double) (end - j->started_ms) / 1000);
}

/* b:poll(id) -> {id, run, parent, agent, state, status, final, attempt, data, result, error, usage,
 * seconds, notes} | nil */
int hocket__broker_l_poll(lua_State *L)
{
    struct hocket__lua_broker *b = hocket__check_broker(L);
    const struct hocket__job *j = hocket__broker_get(b->broker, hocket__job_id_at(L, 2));
    if (!j)
        return 0;
    lua_createtable(L, 0, 16);
    set_id(L, "id", j->id);
    set_id(L, "run", j->run);
    set_id(L, "parent", j->parent);
    set_id(L, "attempt", j->attempt);
    set_id(L, "cause", j->cause);
    set_texts(L, j);
    hocket__set_bool(L, "final", hocket__job_is_final(j->state));
    set_seconds(L, b, j);
    set_notes(L, b, j->id);
    return 1;
}

/* ---- Those in the background --------------------------------------------------------------------- */

#define ROUND 256

static bool is_background(const struct hocket__lua_broker *b, uint64_t id)
{
    const struct hocket__lua_job *j = hocket__job_find(b, id);
    return j && j->background;
}

/* Appends the background jobs to the list on top, which has `count` elements. */
static lua_Integer add_ids(lua_State *L, const struct hocket__lua_broker *b, const uint64_t *ids,
    size_t n, lua_Integer count)
{
    for (size_t i = 0; i < n; i++)
        if (is_background(b, ids[i])) {
            lua_pushinteger(L, (lua_Integer) ids[i]);
            lua_rawseti(L, -2, ++count);
        }
    return count;
}

/* b:take(job) -> ids of its background jobs that have ended and were not handed out yet */
int hocket__broker_l_take(lua_State *L)
{
    struct hocket__lua_broker *b = hocket__check_broker(L);
    uint64_t id = hocket__check_job(L, 2)->id, ids[ROUND];
    lua_Integer count = 0;
    size_t n;
    lua_newtable(L);
    do {
        n = hocket__broker_take_finished(b->broker, 0, id, ids, ROUND);
        count = add_ids(L, b, ids, n, count);
    } while (n == ROUND);
    return 1;
}

/* b:background(job) -> ids of all its background jobs, oldest first */
int hocket__broker_l_background(lua_State *L)
{
    struct hocket__lua_broker *b = hocket__check_broker(L);
    uint64_t id = hocket__check_job(L, 2)->id, ids[ROUND], after = 0;
    lua_Integer count = 0;
    size_t n;
    lua_newtable(L);
    do {
        n = hocket__broker_children(b->broker, 0, id, after, ids, ROUND);
        count = add_ids(L, b, ids, n, count);
        after = n > 0 ? ids[n - 1] : after;
    } while (n == ROUND);
    return 1;
}

/* b:is_background(id) */
int hocket__broker_l_is_background(lua_State *L)
{
    lua_pushboolean(L, is_background(hocket__check_broker(L), hocket__job_id_at(L, 2)));
    return 1;
}

/* ---- Counts ------------------------------------------------------------------------------------ */

/* b:counts(run?) -> {pending=, running=, …, slots=} */
int hocket__broker_l_counts(lua_State *L)
{
    struct hocket__lua_broker *b = hocket__check_broker(L);
    struct hocket__broker_counts c =
        hocket__broker_counts(b->broker, (uint64_t) luaL_optinteger(L, 2, 0));
    lua_createtable(L, 0, HOCKET__JOB_STATE_COUNT + 1);
    for (int s = 0; s < HOCKET__JOB_STATE_COUNT; s++) {
        hocket__set_int(
            L, hocket__job_state_word((enum hocket__job_state) s), (lua_Integer) c.of[s]);
    }
    hocket__set_int(L, "slots", (lua_Integer) c.slots);
    return 1;
}

/* What is known of jobs: their records, their results, each once, and their notes.
 *
 * A result is a Lua value where the one who waits is in this state, and JSON in the record, which
 * outlives both. Whoever reads a result is noted, so that nobody is told of it a second time. */

#include "bind/broker/broker_impl.h"

static void set_str(lua_State *L, const char *name, struct hocket__str s)
{
    if (s.n > 0) {
        hocket__push_str(L, s);
        lua_setfield(L, -2, name);
    }
}

static void set_id(lua_State *L, const char *name, uint64_t v)
{
    if (v > 0) {
        lua_pushinteger(L, (lua_Integer) v);
        lua_setfield(L, -2, name);
    }
}

/* ---- Results ----------------------------------------------------------------------------------- */

int hocket__job_fail(lua_State *L, const char *code, const char *fmt, uint64_t id, const char *word)
{
    lua_pushnil(L);
    lua_createtable(L, 0, 2);
    lua_pushstring(L, code);
    lua_setfield(L, -2, "code");
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
    lua_pushstring(L, code_of(record));
    lua_setfield(L, -2, "code");
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

/* b:has_ended(id): also one that is not known any more */
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
        lua_pushstring(L, notes[i].kind == HOCKET__NOTE_LOG ? "log" : "progress");
        lua_setfield(L, -2, "kind");
        set_str(L, "text", notes[i].text);
        lua_rawseti(L, -2, (lua_Integer) i + 1);
    }
    lua_setfield(L, -2, "notes");
}

static void set_texts(lua_State *L, const struct hocket__job *j)
{
    set_str(L, "name", j->name);
    set_str(L, "agent", j->agent);
    set_str(L, "data", j->data);
    set_str(L, "result", j->result);
    set_str(L, "error", j->error);
    set_str(L, "usage", j->usage);
    lua_pushstring(L, hocket__job_state_outward(j->state));
    lua_setfield(L, -2, "status");
    lua_pushstring(L, hocket__job_state_word(j->state));
    lua_setfield(L, -2, "state");
    if (j->status < 0) {
        lua_pushstring(L, hocket_status_word(j->status));
        lua_setfield(L, -2, "code");
    }
}

static void set_seconds(
    lua_State *L, const struct hocket__lua_broker *b, const struct hocket__job *j)
{
    if (j->started_ms == HOCKET__NEVER)
        return;
    int64_t end = j->finished_ms != HOCKET__NEVER ? j->finished_ms : hocket__broker_now(b);
    lua_pushnumber(L, (double) (end - j->started_ms) / 1000);
    lua_setfield(L, -2, "seconds");
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
    lua_pushboolean(L, hocket__job_is_final(j->state));
    lua_setfield(L, -2, "final");
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

/* Appends those that are in the background to the list on top, which has `count`. */
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
        lua_pushinteger(L, (lua_Integer) c.of[s]);
        lua_setfield(L, -2, hocket__job_state_word((enum hocket__job_state) s));
    }
    lua_pushinteger(L, (lua_Integer) c.slots);
    lua_setfield(L, -2, "slots");
    return 1;
}

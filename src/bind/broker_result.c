/* What is known of jobs: their records, their results, each once, and their notes. */

#include "bind/broker_impl.h"

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

/* b:get(id) -> {id, run, parent, agent, state, status, attempt, data, result, error, usage,
 * seconds} | nil */
int hocket__broker_l_get(lua_State *L)
{
    struct hocket__lua_broker *b = hocket__check_broker(L);
    const struct hocket__job *j = hocket__broker_get(b->broker, hocket__job_id_at(L, 2));
    if (!j)
        return 0;
    lua_createtable(L, 0, 14);
    set_id(L, "id", j->id);
    set_id(L, "run", j->run);
    set_id(L, "parent", j->parent);
    set_id(L, "attempt", j->attempt);
    set_id(L, "cause", j->cause);
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
    lua_pushboolean(L, hocket__job_is_final(j->state));
    lua_setfield(L, -2, "final");
    if (j->status < 0) {
        lua_pushstring(L, hocket_status_word(j->status));
        lua_setfield(L, -2, "code");
    }
    if (j->started_ms != HOCKET__NEVER) {
        int64_t end =
            j->finished_ms != HOCKET__NEVER ? j->finished_ms : (int64_t) hocket__deadlines_now();
        lua_pushnumber(L, (double) (end - j->started_ms) / 1000);
        lua_setfield(L, -2, "seconds");
    }
    return 1;
}

static int push_ids(lua_State *L, const uint64_t *ids, size_t n)
{
    lua_createtable(L, (int) n, 0);
    for (size_t i = 0; i < n; i++) {
        lua_pushinteger(L, (lua_Integer) ids[i]);
        lua_rawseti(L, -2, (lua_Integer) i + 1);
    }
    return 1;
}

/* b:take_finished(run, parent) -> up to 256 ids that were not handed out yet */
int hocket__broker_l_take_finished(lua_State *L)
{
    struct hocket__lua_broker *b = hocket__check_broker(L);
    uint64_t ids[256];
    return push_ids(L, ids,
        hocket__broker_take_finished(
            b->broker, hocket__job_id_at(L, 2), hocket__job_id_at(L, 3), ids, 256));
}

/* b:children(run, parent, after?) -> up to 256 ids */
int hocket__broker_l_children(lua_State *L)
{
    struct hocket__lua_broker *b = hocket__check_broker(L);
    uint64_t ids[256];
    uint64_t after = (uint64_t) luaL_optinteger(L, 4, 0);
    return push_ids(L, ids,
        hocket__broker_children(
            b->broker, hocket__job_id_at(L, 2), hocket__job_id_at(L, 3), after, ids, 256));
}

/* b:mark_read(id) -> whether it had not been handed out */
int hocket__broker_l_mark_read(lua_State *L)
{
    struct hocket__lua_broker *b = hocket__check_broker(L);
    struct hocket_error err;
    int rc = hocket__broker_mark_read(b->broker, hocket__job_id_at(L, 2), &err);
    if (rc < 0)
        return hocket__fail(L, &err);
    lua_pushboolean(L, rc == 1);
    return 1;
}

/* b:notes(id, after?) -> array of {seq, kind, text} */
int hocket__broker_l_notes(lua_State *L)
{
    struct hocket__lua_broker *b = hocket__check_broker(L);
    struct hocket__broker_noted notes[64];
    size_t n = hocket__broker_notes(
        b->broker, hocket__job_id_at(L, 2), (uint64_t) luaL_optinteger(L, 3, 0), notes, 64);
    lua_createtable(L, (int) n, 0);
    for (size_t i = 0; i < n; i++) {
        lua_createtable(L, 0, 3);
        set_id(L, "seq", notes[i].seq);
        lua_pushstring(L, notes[i].kind == HOCKET__NOTE_LOG ? "log" : "progress");
        lua_setfield(L, -2, "kind");
        set_str(L, "text", notes[i].text);
        lua_rawseti(L, -2, (lua_Integer) i + 1);
    }
    return 1;
}

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

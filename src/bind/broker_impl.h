/* What the files of hocket.core.broker share: lua_broker.c (jobs at work and waits), broker_spec.c
 * (a table that becomes a job), broker_result.c (what is known of jobs), broker_record.c (a job's
 * event in a journal). */
#pragma once

#include "bind/await.h"
#include "bind/util.h"
#include "core/broker.h"

struct hocket__lua_broker {
    struct hocket__runtime *rt;
    struct hocket__store *store;
    struct hocket__broker *broker;
    struct hocket__list events;
    uint64_t dispatcher; /* the fiber that is woken when there may be something to do */
    bool nudged;         /* it was woken and has not looked since: once is enough */
    bool lost;           /* an event could not be noted: memory was out */
};

/* The first argument, of a host that is open. Raises when it is none. */
struct hocket__lua_broker *hocket__check_broker(lua_State *L);

static inline uint64_t hocket__job_id_at(lua_State *L, int arg)
{
    return (uint64_t) luaL_checkinteger(L, arg);
}

/* The job that the table at idx describes. Its texts and lists belong to values that stay on the
 * stack. Raises what is wrong with it. */
void hocket__job_spec_read(lua_State *L, int idx, struct hocket__job_spec *s);

/* What stands in the list at idx beside the spec of index i, from 0: its data as JSON, which the
 * list keeps, the id of its parent and the fence of that, or 0. */
void hocket__job_spec_read_beside(lua_State *L, int idx, lua_Integer i, struct hocket__job_spec *s);

/* The text of a field, or an empty one. */
struct hocket__str hocket__broker_text(lua_State *L, int idx, const char *name);

/* Methods: see broker_result.c. */
int hocket__broker_l_get(lua_State *L);
int hocket__broker_l_take_finished(lua_State *L);
int hocket__broker_l_children(lua_State *L);
int hocket__broker_l_mark_read(lua_State *L);
int hocket__broker_l_notes(lua_State *L);
int hocket__broker_l_counts(lua_State *L);

/* Functions: see broker_record.c. */
int hocket__broker_l_record(lua_State *L);

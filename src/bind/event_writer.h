/* Events of what C itself holds, written without a table in between. They go to
 *
 *     a writer     journal:writer(agent, op): the members go into the record as they are named
 *     a function   called with the type and a table of the same members
 *     nobody       nil or false
 *
 * Members come in the order of their names, as all events have them:
 *
 *     hocket__event_begin(&t, L, arg, HOCKET__STR("tool_call"));
 *     hocket__event_text(&t, HOCKET__STR("tool"), name);
 *     return hocket__event_end(&t, 0);
 *
 * No C function can stand between a script's function and its fiber, so writing the event is the
 * last that is done: results are pushed before it begins. */
#pragma once

#include "base/buf.h"

#include <lua.h>

struct hocket__lua_journal;

struct hocket__event {
    lua_State *L;
    struct hocket__lua_journal *journal; /* NULL: no writer */
    struct hocket__buf *out;             /* the record in the making; NULL: none */
    bool table;                          /* one lies on the stack */
};

/* Raises when arg is no writer. */
void hocket__event_begin(struct hocket__event *t, lua_State *L, int arg, struct hocket__str type);
/* Names are constants, in plain letters. */
void hocket__event_text(struct hocket__event *t, struct hocket__str name, struct hocket__str v);
void hocket__event_int(struct hocket__event *t, struct hocket__str name, int64_t v);
/* v / 10^places. */
void hocket__event_decimal(struct hocket__event *t, struct hocket__str name, int64_t v, int places);
void hocket__event_true(struct hocket__event *t, struct hocket__str name);
/* Members that follow are an object's, until it is closed. */
void hocket__event_open(struct hocket__event *t, struct hocket__str name);
void hocket__event_close(struct hocket__event *t);
/* What the C function has to return, whose results, so many, were pushed before the beginning.
 * After the end of the run nothing is written any more. */
int hocket__event_end(struct hocket__event *t, int results);

/* Gives journals, whose module was opened before, the method `writer`. */
void hocket__open_event_writer(lua_State *L);

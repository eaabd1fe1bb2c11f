/* Events that C tells of what it holds itself, without a table in between. Whoever is told is
 *
 *     a teller     journal:teller(agent, op): the members go into the record as they are named
 *     a function   called with the type and a table of the same members
 *     nobody       nil or false
 *
 * Members are told in the order of their names, as all events have them:
 *
 *     hocket__tell_begin(&t, L, arg, HOCKET__STR("tool_call"));
 *     hocket__tell_text(&t, HOCKET__STR("tool"), name);
 *     return hocket__tell_end(&t, 0);
 *
 * No C function can stand between a script's function and its fiber, so that telling is the last
 * that is done: results are pushed before it begins. */
#pragma once

#include "base/buf.h"

#include <lua.h>

struct hocket__lua_journal;

struct hocket__telling {
    lua_State *L;
    struct hocket__lua_journal *journal; /* NULL: no teller */
    struct hocket__buf *out;             /* the record in the making; NULL: none */
    bool table;                          /* one lies on the stack */
};

/* Raises when arg is nobody who can be told. */
void hocket__tell_begin(struct hocket__telling *t, lua_State *L, int arg, struct hocket__str type);
/* Names are constants, in plain letters. */
void hocket__tell_text(struct hocket__telling *t, struct hocket__str name, struct hocket__str v);
void hocket__tell_int(struct hocket__telling *t, struct hocket__str name, int64_t v);
/* v / 10^places. */
void hocket__tell_decimal(
    struct hocket__telling *t, struct hocket__str name, int64_t v, int places);
void hocket__tell_true(struct hocket__telling *t, struct hocket__str name);
/* Members that follow are an object's, until it is closed. */
void hocket__tell_open(struct hocket__telling *t, struct hocket__str name);
void hocket__tell_close(struct hocket__telling *t);
/* What the C function has to return, whose results, so many, were pushed before the beginning.
 * After the end of the run nothing is told any more. */
int hocket__tell_end(struct hocket__telling *t, int results);

/* Gives journals, whose module was opened before, the method `teller`. */
void hocket__open_writer(lua_State *L);

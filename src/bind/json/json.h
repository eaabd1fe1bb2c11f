/* Lua values and JSON, for the binding files. */
#pragma once

#include "base/json/json.h"
#include "bind/runtime.h"

#include <lua.h>

/* The name of the metatable that marks arrays. */
#define HOCKET__ARRAY_META "hocket.json.array"

/* Pushes json.null. */
void hocket__json_push_null(lua_State *L);
/* Pushes the value of a whole text, or returns a negative code with *err filled and nothing
 * pushed. Objects become tables, arrays tables with the array metatable, null json.null,
 * integers Lua integers when they fit 64 bits. Raises when Lua's memory is out. */
int hocket__json_push(lua_State *L, struct hocket__str text, struct hocket_error *err);
/* The same, with objects that are written again in the order in which they stand there (hocket__json_encode). */
int hocket__json_push_ordered(lua_State *L, struct hocket__str text, struct hocket_error *err);
/* As hocket__json_push for a value, or an object, that was read before, at most 128 deep. */
void hocket__json_push_tree(lua_State *L, const hocket_json *v);
void hocket__json_push_object(lua_State *L, const hocket_json *object);
/* Whether all numbers of a tree can be pushed without losing digits; and what to say where not. */
bool hocket__json_fits(const hocket_json *v);
#define HOCKET__JSON_UNFIT                                                                         \
    "a number has more digits than 64 bits hold, or is too large: write it as a string"
#define HOCKET__JSON_LUA_DEPTH 128
/* Appends the value at idx as JSON, keys sorted, so that equal values give equal bytes. An ordered object
 * (hocket__json_push_ordered, json.object) keeps its order, but in a run whose log is older than that.
 * Raises on functions, cycles (depth over 128), NaN, mixed keys: with the path. */
void hocket__json_encode(lua_State *L, int idx, struct hocket__buf *out);

/* The last longer text, quoted: a message to an agent goes into an event and into its conversation, one after the
 * other. Empty where that is not worth while, or memory is out. */
struct hocket__str hocket__json_quoted(lua_State *L, int idx);

/* As hocket__json_encode, for a table that has to be an object, an empty one too; `look`, which may raise, sees
 * its own names before they are written. */
void hocket__json_encode_object(lua_State *L, int idx, struct hocket__buf *out,
    void (*look)(lua_State *L, struct hocket__str name));

int hocket__open_json(lua_State *L);

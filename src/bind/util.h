/* Shared by the binding files: errors as values, options as tables. */
#pragma once

#include "base/private.h"
#include "base/status.h"
#include "base/str.h"

#include <lauxlib.h>
#include <lua.h>

/* Pushes an error value: a table {code, message, retryable, http_status?,
 * retry_after? (seconds)} whose tostring is "code: message". */
void hocket__push_error(lua_State *L, const struct hocket_error *err);

/* Lets the table on top, an error that Lua made, read "code: message" for tostring, as those of C do. */
void hocket__mark_error(lua_State *L);
/* Pushes nil and the error; returns 2: return hocket__fail(L, &err); Memory that is out is raised, as Lua
 * raises it anywhere: who looks at a nil alone would take it for a file that is not there. */
HOCKET__PRIVATE int hocket__fail(lua_State *L, const struct hocket_error *err);
/* true, or the same where the status is below 0. */
int hocket__succeed(lua_State *L, int status, const struct hocket_error *err);
/* Raises the error value. */
int hocket__raise(lua_State *L, const struct hocket_error *err);
/* Raises that memory is out: what Lua itself raises then, for which none is needed. Whoever makes an
 * error value of it knows the words (hocket__to_error, hocket/internal/base/caught.lua). */
HOCKET__PRIVATE int hocket__raise_nomem(lua_State *L);
/* Room for n more values, which nothing but a lack of memory can refuse. */
void hocket__need_stack(lua_State *L, int n);
/* Whether the value at idx is what that, or Lua, raises then. */
bool hocket__is_nomem(lua_State *L, int idx);
/* Keeps the names of an error's fields in the registry, so that reading one never allocates:
 * hocket__to_error is also called where nothing would catch an error. */
void hocket__keep_error_names(lua_State *L);
/* Reads an error value or any other raised value at idx into *err. */
void hocket__to_error(lua_State *L, int idx, struct hocket_error *err);

/* Calls f with `ud` as light userdata, from C that nothing would catch an error of: 0, or the status of what was raised,
 * with *err filled (NULL is fine). */
int hocket__pcall(lua_State *L, lua_CFunction f, void *ud, struct hocket_error *err);

/* Registers functions into the table on top, with the runtime as first upvalue (which the
 * calling open function has to have as its own first upvalue). */
HOCKET__PRIVATE void hocket__setfuncs(lua_State *L, const luaL_Reg *funcs);
/* Makes a metatable with __index and a locked __metatable; leaves it on the stack. */
HOCKET__PRIVATE void hocket__newmeta(lua_State *L, const char *name, const luaL_Reg *methods);
/* The result of an open function: a table of functions, and a metatable for the objects of the module. */
HOCKET__PRIVATE int hocket__open_class(
    lua_State *L, const char *name, const luaL_Reg *methods, const luaL_Reg *functions);
/* Pushes a new table whose keys do not keep what they are. */
void hocket__push_weak_keys(lua_State *L);
/* A userdata that hocket__check_object knows at once. Its metatable, `name`, is set by the caller. */
HOCKET__PRIVATE void *hocket__new_object(lua_State *L, size_t size, int values, const char *name);
/* luaL_checkudata for an object that was made with the same `name`, the pointer. */
HOCKET__PRIVATE void *hocket__check_object(lua_State *L, int arg, const char *name);

/* The userdata that a __gc function `gc` was called for, or NULL when it was called by hand for
 * something else. Unlike luaL_checkudata it needs no name in the registry: a state's
 * objects may outlive its host. */
void *hocket__gc_userdata(lua_State *L, lua_CFunction gc);

/* Options tables. Each reads the field `name` of the table at idx; absent gives `otherwise`;
 * the wrong type raises "bad option 'name' (integer expected, got string)". */
lua_Integer hocket__opt_int(lua_State *L, int idx, const char *name, lua_Integer otherwise,
    lua_Integer min, lua_Integer max);
double hocket__opt_number(lua_State *L, int idx, const char *name, double otherwise);
bool hocket__opt_bool(lua_State *L, int idx, const char *name, bool otherwise);
/* The text stays valid while the table holds it. {NULL, 0} when absent. */
struct hocket__str hocket__opt_str(lua_State *L, int idx, const char *name);
/* Refuses every key that is not in the NULL-terminated list: "unknown option 'x' (…)". */
void hocket__opt_only(lua_State *L, int idx, const char *const names[]);
/* The same of names that stand `stride` bytes apart. */
void hocket__opt_only_of(lua_State *L, int idx, const char *const *names, size_t stride);

HOCKET__PRIVATE struct hocket__str hocket__check_str(lua_State *L, int arg);
/* The same, or "" where there is none. */
struct hocket__str hocket__text_at(lua_State *L, int arg);
/* A path of the process's own: not empty, and without NUL. */
const char *hocket__check_path(lua_State *L, int arg);
HOCKET__PRIVATE void hocket__push_str(lua_State *L, struct hocket__str s);
/* Members of the table on top of the stack; an empty text is none. */
void hocket__set_str(lua_State *L, const char *name, struct hocket__str s);
HOCKET__PRIVATE void hocket__set_cstr(
    lua_State *L, const char *name, const char *s); /* "" is a text here; NULL is none */
HOCKET__PRIVATE void hocket__set_int(lua_State *L, const char *name, lua_Integer n);
void hocket__set_number(lua_State *L, const char *name, lua_Number n);
HOCKET__PRIVATE void hocket__set_bool(lua_State *L, const char *name, bool b);
/* Seconds (a number >= 0) at arg, or -1 when absent, as milliseconds. */
int64_t hocket__opt_seconds(lua_State *L, int arg);

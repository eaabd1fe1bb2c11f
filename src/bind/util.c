/* What every binding file needs: errors as Lua values, objects with a check that is cheap,
 * options as one table with unknown names refused.
 *
 * Errors cross in both directions as {code, message, retryable, …}. A message is copied at
 * once: what comes from Lua may be collected before anybody reads it. */
#include "bind/util.h"

#include <string.h>

#include "bind/runtime.h"

#define ERROR_META "hocket.error"

/* ---- Errors --------------------------------------------------------------- */

#define NO_MEMORY "not enough memory" /* Lua's own words, which it keeps */

int hocket__raise_nomem(lua_State *L)
{
    struct hocket__runtime *rt = hocket__runtime_of(L);
    if (rt && rt->memory.on_out)
        rt->memory.on_out(rt);
    lua_pushliteral(L, NO_MEMORY);
    return lua_error(L);
}

void hocket__need_stack(lua_State *L, int n)
{
    if (!lua_checkstack(L, n)) /* Lua's extra slots take the message */
        hocket__raise_nomem(L);
}

static int error_tostring(lua_State *L)
{
    lua_getfield(L, 1, "code");
    lua_getfield(L, 1, "message");
    lua_pushfstring(L, "%s: %s", luaL_optstring(L, -2, "error"), luaL_optstring(L, -1, "?"));
    return 1;
}

void hocket__mark_error(lua_State *L)
{
    if (lua_getmetatable(L, -1)) {
        lua_pop(L, 1); /* it says itself how it reads */
        return;
    }
    if (luaL_newmetatable(L, ERROR_META)) {
        lua_pushcfunction(L, error_tostring);
        lua_setfield(L, -2, "__tostring");
    }
    lua_setmetatable(L, -2);
}

void hocket__push_error(lua_State *L, const struct hocket_error *err)
{
    hocket__need_stack(L, 4);
    lua_createtable(L, 0, 5);
    lua_pushstring(L, hocket_status_word(err->status));
    lua_setfield(L, -2, "code");
    lua_pushstring(L, err->message);
    lua_setfield(L, -2, "message");
    lua_pushboolean(L, err->retryable);
    lua_setfield(L, -2, "retryable");
    if (err->http_status) {
        lua_pushinteger(L, err->http_status);
        lua_setfield(L, -2, "http_status");
    }
    if (err->retry_after_ms >= 0) {
        lua_pushnumber(L, (double) err->retry_after_ms / 1000);
        lua_setfield(L, -2, "retry_after");
    }
    hocket__mark_error(L);
}

int hocket__fail(lua_State *L, const struct hocket_error *err)
{
    if (err->status == HOCKET_ENOMEM)
        return hocket__raise_nomem(L);
    lua_pushnil(L);
    hocket__push_error(L, err);
    return 2;
}

int hocket__succeed(lua_State *L, int status, const struct hocket_error *err)
{
    if (status < 0)
        return hocket__fail(L, err);
    lua_pushboolean(L, true);
    return 1;
}

int hocket__raise(lua_State *L, const struct hocket_error *err)
{
    if (err->status == HOCKET_ENOMEM)
        return hocket__raise_nomem(L);
    hocket__push_error(L, err);
    return lua_error(L);
}

bool hocket__is_nomem(lua_State *L, int idx)
{
    return lua_type(L, idx) == LUA_TSTRING && strcmp(lua_tostring(L, idx), NO_MEMORY) == 0;
}

/* hocket__to_error looks names up in the middle of unwinding, where an allocation that fails
 * would raise. The names are kept as strings of the state, so pushing them again allocates
 * nothing. */
void hocket__keep_error_names(lua_State *L)
{
    static const char *const names[] = { "code", "message", "retryable", "http_status" };
    lua_newtable(L);
    for (int i = 0; i < 4; i++) {
        lua_pushstring(L, names[i]);
        lua_rawseti(L, -2, i + 1);
    }
    lua_rawsetp(L, LUA_REGISTRYINDEX, (const void *) hocket__keep_error_names);
}

static void copy_message(struct hocket_error *err, const char *text)
{
    size_t n = strlen(text);
    if (n >= sizeof(err->message))
        n = sizeof(err->message) - 1;
    memcpy(err->message, text, n);
    err->message[n] = 0;
}

/* Raw accesses only: an error value from a script may have hostile metamethods, and this
 * runs outside of protected calls too. */
static const char *raw_text(lua_State *L, int idx, const char *name)
{
    lua_pushstring(L, name);
    const char *s = lua_rawget(L, idx) == LUA_TSTRING ? lua_tostring(L, -1) : NULL;
    lua_pop(L, 1); /* the table keeps the string */
    return s;
}

void hocket__to_error(lua_State *L, int idx, struct hocket_error *err)
{
    idx = lua_absindex(L, idx);
    hocket__error(err, HOCKET_ELUA, "unknown error");
    if (lua_type(L, idx) == LUA_TSTRING) {
        copy_message(err, lua_tostring(L, idx));
        if (hocket__is_nomem(L, idx))
            err->status = HOCKET_ENOMEM;
    } else if (lua_type(L, idx) == LUA_TTABLE) {
        const char *code = raw_text(L, idx, "code"), *message = raw_text(L, idx, "message");
        if (code)
            err->status = hocket__status_from_word(code);
        copy_message(err, message ? message : hocket_status_text(err->status));
        lua_pushstring(L, "retryable");
        lua_rawget(L, idx);
        err->retryable = lua_toboolean(L, -1);
        lua_pushstring(L, "http_status");
        lua_rawget(L, idx);
        err->http_status = (int) lua_tointeger(L, -1);
        lua_pop(L, 2);
    } else {
        hocket__error(
            err, HOCKET_ELUA, "an error value of type %s was raised", luaL_typename(L, idx));
    }
}

int hocket__pcall(lua_State *L, lua_CFunction f, void *ud, struct hocket_error *err)
{
    struct hocket_error e;
    if (!lua_checkstack(L, 4))
        return hocket__error_nomem(err);
    lua_pushcfunction(L, f);
    lua_pushlightuserdata(L, ud);
    if (lua_pcall(L, 1, 0, 0) == LUA_OK)
        return 0;
    hocket__to_error(L, -1, &e);
    lua_pop(L, 1);
    if (err)
        *err = e;
    return e.status;
}

/* ---- Registering ------------------------------------------------------------ */

void hocket__setfuncs(lua_State *L, const luaL_Reg *funcs)
{
    lua_pushvalue(L, lua_upvalueindex(1));
    luaL_setfuncs(L, funcs, 1);
}

void hocket__newmeta(lua_State *L, const char *name, const luaL_Reg *methods)
{
    luaL_newmetatable(L, name);
    lua_pushvalue(L, -1);
    lua_rawsetp(L, LUA_REGISTRYINDEX, name);
    hocket__setfuncs(L, methods);
    lua_pushvalue(L, -1);
    lua_setfield(L, -2, "__index");
    lua_pushliteral(L, "locked");
    lua_setfield(L, -2, "__metatable");
}

int hocket__open_class(
    lua_State *L, const char *name, const luaL_Reg *methods, const luaL_Reg *functions)
{
    hocket__newmeta(L, name, methods);
    lua_pop(L, 1);
    lua_newtable(L);
    hocket__setfuncs(L, functions);
    return 1;
}

void hocket__push_weak_keys(lua_State *L)
{
    lua_newtable(L);
    lua_createtable(L, 0, 1);
    lua_pushliteral(L, "k");
    lua_setfield(L, -2, "__mode");
    lua_setmetatable(L, -2);
}

/* The mark of an object stands behind it, since what it begins with is its own affair. */
#define MARK sizeof(const char *)

void *hocket__new_object(lua_State *L, size_t size, int values, const char *name)
{
    size = (size + MARK - 1) / MARK * MARK;
    char *p = lua_newuserdatauv(L, size + MARK, values);
    memcpy(p + size, &name, MARK);
    return p;
}

void *hocket__check_object(lua_State *L, int arg, const char *name)
{
    /* luaL_checkudata compares metatables by name, which is a look-up in the registry for each
     * call. The mark is one comparison; what does not have it gets the usual error. */
    const char *p = lua_touserdata(L, arg), *mark;
    size_t n = p ? lua_rawlen(L, arg) : 0; /* 0 for a pointer that is no block of Lua's */
    if (n >= MARK) {
        memcpy(&mark, p + n - MARK, MARK);
        if (mark == name && lua_getmetatable(L, arg)) { /* without one it is finalized */
            lua_pop(L, 1);
            return (void *) p;
        }
    }
    return luaL_checkudata(L, arg, name);
}

/* A script can call __gc with whatever it likes, or before its time: an object that is not
 * ours is left alone. Ours loses its metatable, so that the finalizer of a script, which may run
 * afterwards and still hold it, gets an error from its methods. */
void *hocket__gc_userdata(lua_State *L, lua_CFunction gc)
{
    void *p = lua_touserdata(L, 1);
    if (!p || !lua_getmetatable(L, 1))
        return NULL;
    lua_pushliteral(L, "__gc");
    lua_rawget(L, -2);
    bool own = lua_tocfunction(L, -1) == gc;
    lua_pop(L, 2);
    if (!own)
        return NULL;
    lua_pushnil(L);
    lua_setmetatable(L, 1);
    return p;
}

/* ---- Options ------------------------------------------------------------------ */

static int bad_option(lua_State *L, const char *name, const char *expected)
{
    return luaL_error(
        L, "bad option '%s' (%s expected, got %s)", name, expected, luaL_typename(L, -1));
}

static bool get(lua_State *L, int idx, const char *name)
{
    if (lua_isnoneornil(L, idx))
        return false;
    if (lua_getfield(L, idx, name) != LUA_TNIL)
        return true;
    lua_pop(L, 1);
    return false;
}

lua_Integer hocket__opt_int(lua_State *L, int idx, const char *name, lua_Integer otherwise,
    lua_Integer min, lua_Integer max)
{
    if (!get(L, idx, name))
        return otherwise;
    int is_int;
    lua_Integer v = lua_tointegerx(L, -1, &is_int);
    /* "3" is no number here: Lua would convert it silently, and a typing mistake would stay */
    if (!is_int || lua_type(L, -1) != LUA_TNUMBER)
        bad_option(L, name, "integer");
    if (v < min || v > max)
        luaL_error(L, "bad option '%s' (%I is not between %I and %I)", name, v, min, max);
    lua_pop(L, 1);
    return v;
}

double hocket__opt_number(lua_State *L, int idx, const char *name, double otherwise)
{
    if (!get(L, idx, name))
        return otherwise;
    int is_number;
    double v = lua_tonumberx(L, -1, &is_number);
    if (!is_number || lua_type(L, -1) != LUA_TNUMBER)
        bad_option(L, name, "number");
    lua_pop(L, 1);
    return v;
}

bool hocket__opt_bool(lua_State *L, int idx, const char *name, bool otherwise)
{
    if (!get(L, idx, name))
        return otherwise;
    if (!lua_isboolean(L, -1))
        bad_option(L, name, "boolean");
    bool v = lua_toboolean(L, -1);
    lua_pop(L, 1);
    return v;
}

struct hocket__str hocket__opt_str(lua_State *L, int idx, const char *name)
{
    struct hocket__str s = { NULL, 0 };
    if (!get(L, idx, name))
        return s;
    if (lua_type(L, -1) != LUA_TSTRING)
        bad_option(L, name, "string");
    s.p = lua_tolstring(L, -1, &s.n);
    lua_pop(L, 1);
    return s;
}

static const char *name_at(const char *const *names, size_t stride, size_t i)
{
    return *(const char *const *) ((const char *) names + i * stride);
}

static bool is_in(const char *name, const char *const *names, size_t stride)
{
    for (size_t i = 0; name_at(names, stride, i); i++)
        if (strcmp(name, name_at(names, stride, i)) == 0)
            return true;
    return false;
}

void hocket__opt_only(lua_State *L, int idx, const char *const names[])
{
    hocket__opt_only_of(L, idx, names, sizeof(*names));
}

void hocket__opt_only_of(lua_State *L, int idx, const char *const *names, size_t stride)
{
    if (lua_isnoneornil(L, idx))
        return;
    luaL_checktype(L, idx, LUA_TTABLE);
    lua_pushnil(L);
    while (lua_next(L, idx)) {
        lua_pop(L, 1);
        if (lua_type(L, -1) == LUA_TSTRING && is_in(lua_tostring(L, -1), names, stride))
            continue;
        luaL_Buffer b;
        const char *key = luaL_tolstring(L, -1, NULL);
        luaL_buffinit(L, &b);
        for (size_t i = 0; name_at(names, stride, i); i++) {
            luaL_addstring(&b, i ? ", " : "");
            luaL_addstring(&b, name_at(names, stride, i));
        }
        luaL_pushresult(&b);
        luaL_error(L, "unknown option '%s' (there are: %s)", key, lua_tostring(L, -1));
    }
}

/* ---- Arguments ------------------------------------------------------------------ */

struct hocket__str hocket__check_str(lua_State *L, int arg)
{
    struct hocket__str s;
    s.p = luaL_checklstring(L, arg, &s.n);
    return s;
}

struct hocket__str hocket__text_at(lua_State *L, int arg)
{
    return lua_isnoneornil(L, arg) ? HOCKET__STR("") : hocket__check_str(L, arg);
}

const char *hocket__check_path(lua_State *L, int arg)
{
    struct hocket__str s = hocket__check_str(L, arg);
    luaL_argcheck(L, s.n > 0 && strlen(s.p) == s.n, arg, "a path must not be empty or contain NUL");
    return s.p;
}

void hocket__push_str(lua_State *L, struct hocket__str s)
{
    lua_pushlstring(L, s.p ? s.p : "", s.n);
}

void hocket__set_str(lua_State *L, const char *name, struct hocket__str s)
{
    if (s.n == 0)
        return;
    hocket__push_str(L, s);
    lua_setfield(L, -2, name);
}

void hocket__set_cstr(lua_State *L, const char *name, const char *s)
{
    lua_pushstring(L, s);
    lua_setfield(L, -2, name);
}

void hocket__set_int(lua_State *L, const char *name, lua_Integer n)
{
    lua_pushinteger(L, n);
    lua_setfield(L, -2, name);
}

void hocket__set_number(lua_State *L, const char *name, lua_Number n)
{
    lua_pushnumber(L, n);
    lua_setfield(L, -2, name);
}

void hocket__set_bool(lua_State *L, const char *name, bool b)
{
    lua_pushboolean(L, b);
    lua_setfield(L, -2, name);
}

int64_t hocket__opt_seconds(lua_State *L, int arg)
{
    if (lua_isnoneornil(L, arg))
        return -1;
    double s = luaL_checknumber(L, arg);
    luaL_argcheck(L, s >= 0, arg, "seconds must not be negative");
    return s > 1e12 ? (int64_t) 1e15 : (int64_t) (s * 1000 + 0.5);
}

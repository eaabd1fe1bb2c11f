/* Values across two Luas, as JSON. null is a light userdata; an empty table is an object, unless it is
 * marked as an array, as all arrays are that come from JSON.
 *
 * Two Luas share no values, only bytes: one writes what crosses, and the other reads it. In between is
 * the tree of the public header, whose memory a userdata holds while Lua may raise. */

#include "bridge.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define BOX       "hocket.bridge.json"
#define TEXT      "hocket.bridge.text"
#define ARRAY     "hocket.json.array" /* in a 5.4 also what its module hocket.json marks arrays with */
#define MAX_DEPTH 64

static const struct bridge_api *api(void)
{
    const char *why;
    return bridge_load(&why);
}

int bridge_fail(lua_State *L, const char *code, const char *message)
{
    lua_pushnil(L);
    lua_createtable(L, 0, 2);
    lua_pushstring(L, code);
    lua_setfield(L, -2, "code");
    lua_pushstring(L, message);
    lua_setfield(L, -2, "message");
    return 2;
}

/* ---- Decoding ---------------------------------------------------------------------------- */

static int box_gc(lua_State *L)
{
    hocket_json **box = lua_touserdata(L, 1);
    api()->json_free(*box);
    *box = NULL;
    return 0;
}

static int text_gc(lua_State *L);

#if LUA_VERSION_NUM >= 504
void bridge_push_null(lua_State *L)
{
    if (lua_getfield(L, LUA_REGISTRYINDEX, "hocket.bridge.null") != LUA_TNIL)
        return;
    lua_pop(L, 1);
    lua_getglobal(L, "require");
    lua_pushliteral(L, "hocket.json");
    lua_call(L, 1, 1);
    lua_getfield(L, -1, "null");
    lua_remove(L, -2);
    lua_pushvalue(L, -1);
    lua_setfield(L, LUA_REGISTRYINDEX, "hocket.bridge.null");
}
#else
void bridge_push_null(lua_State *L)
{
    lua_pushlightuserdata(L, NULL);
}
#endif

void bridge_open_json(lua_State *L)
{
    luaL_newmetatable(L, BOX);
    lua_pushcfunction(L, box_gc);
    lua_setfield(L, -2, "__gc");
    luaL_newmetatable(L, TEXT);
    lua_pushcfunction(L, text_gc);
    lua_setfield(L, -2, "__gc");
    luaL_newmetatable(L, ARRAY);
    lua_pop(L, 3);
}

static void mark_array(lua_State *L)
{
    luaL_getmetatable(L, ARRAY);
    lua_setmetatable(L, -2);
}

int bridge_array(lua_State *L)
{
    luaL_checktype(L, 1, LUA_TTABLE);
    lua_settop(L, 1);
    mark_array(L);
    return 1;
}

static bool is_array(lua_State *L, int idx)
{
    if (!lua_getmetatable(L, idx))
        return false;
    luaL_getmetatable(L, ARRAY);
    bool is = lua_rawequal(L, -1, -2);
    lua_pop(L, 2);
    return is;
}

static void push(lua_State *L, const hocket_json *v);

static void push_children(lua_State *L, const hocket_json *v, bool named)
{
    int n = 0;
    lua_newtable(L);
    if (!named)
        mark_array(L);
    for (const hocket_json *c = api()->json_first(v); c; c = api()->json_next(c)) {
        size_t len;
        const char *name = api()->json_name(c, &len);
        if (named)
            lua_pushlstring(L, name, len);
        push(L, c);
        if (named)
            lua_rawset(L, -3);
        else
            lua_rawseti(L, -2, ++n);
    }
}

/* Whole numbers are integers where the Lua has some; 2^53 is where doubles stop being exact. */
static void push_number(lua_State *L, double v)
{
#if LUA_VERSION_NUM >= 503
    if (v == floor(v) && fabs(v) < 9007199254740992.0) {
        lua_pushinteger(L, (lua_Integer) v);
        return;
    }
#endif
    lua_pushnumber(L, v);
}

static void push(lua_State *L, const hocket_json *v)
{
    size_t len = 0;
    const char *text;
    luaL_checkstack(L, 4, "JSON is nested too deeply");
    switch (api()->json_kind(v)) {
    case HOCKET_JSON_BOOL: lua_pushboolean(L, api()->json_bool(v, false)); break;
    case HOCKET_JSON_NUMBER: push_number(L, api()->json_number(v, 0)); break;
    case HOCKET_JSON_STRING:
        text = api()->json_text(v, "", &len);
        lua_pushlstring(L, text, len);
        break;
    case HOCKET_JSON_ARRAY: push_children(L, v, false); break;
    case HOCKET_JSON_OBJECT: push_children(L, v, true); break;
    default: bridge_push_null(L);
    }
}

/* There before anything can raise.
 * lua_newuserdata may raise as well; so the tree is made afterwards, with a place to be put. */
static hocket_json **new_box(lua_State *L)
{
    hocket_json **box = lua_newuserdata(L, sizeof(*box));
    *box = NULL;
    luaL_getmetatable(L, BOX);
    lua_setmetatable(L, -2);
    return box;
}

static void push_box(lua_State *L, hocket_json **box)
{
    push(L, *box);
    api()->json_free(*box);
    *box = NULL;
}

static int push_text(lua_State *L, const char *text, size_t len, struct hocket_error *err)
{
    hocket_json **box = new_box(L);
    *box = api()->json_parse(text, len, err);
    if (!*box)
        return err->status;
    push_box(L, box);
    return 0;
}

/* What hocket has written is valid; nil stands for what could not be read, for want of memory. */
void bridge_push_json(lua_State *L, const char *text, size_t len)
{
    struct hocket_error err;
    if (push_text(L, text, len, &err) < 0)
        lua_pushnil(L);
    lua_remove(L, -2);
}

int bridge_decode(lua_State *L)
{
    size_t len;
    struct hocket_error err;
    const char *text = luaL_checklstring(L, 1, &len);
    if (push_text(L, text, len, &err) < 0)
        return bridge_fail(L, "parse", err.message);
    return 1;
}

int bridge_tree(lua_State *L, hocket_host *h, uint64_t id)
{
    struct hocket_error err;
    hocket_json **box = new_box(L);
    *box = api()->run_tree(h, id, &err);
    if (!*box)
        return bridge_fail(L, api()->status_word(err.status), err.message);
    push_box(L, box);
    return 1;
}

/* ---- Encoding ---------------------------------------------------------------------------- */

/* In a userdata, so that an error frees it. */
struct text {
    char *p;
    size_t n, room;
};

static int text_gc(lua_State *L)
{
    struct text *t = lua_touserdata(L, 1);
    free(t->p);
    t->p = NULL;
    return 0;
}

/* Twice the room that is needed: a value of a megabyte is moved some twenty times and not for each
 * string. */
static void add(lua_State *L, struct text *t, const char *s, size_t n)
{
    if (t->n + n > t->room) {
        size_t room = (t->n + n) * 2 + 64;
        char *p = realloc(t->p, room);
        if (!p)
            luaL_error(L, "not enough memory");
        t->p = p;
        t->room = room;
    }
    memcpy(t->p + t->n, s, n);
    t->n += n;
}

/* Bytes past ASCII go as they are: whether they are UTF-8 is hocket's to check, and its error names
 * the place. */
static void add_string(lua_State *L, struct text *t, const char *s, size_t n)
{
    char escape[8];
    add(L, t, "\"", 1);
    for (size_t i = 0; i < n; i++) {
        unsigned char c = (unsigned char) s[i];
        if (c == '"' || c == '\\' || c < 0x20) {
            int k = c < 0x20 ? snprintf(escape, sizeof(escape), "\\u%04x", c)
                             : snprintf(escape, sizeof(escape), "\\%c", c);
            add(L, t, escape, (size_t) k);
        } else {
            add(L, t, s + i, 1);
        }
    }
    add(L, t, "\"", 1);
}

static void add_number(lua_State *L, int idx, struct text *t)
{
    char text[40];
    double v = lua_tonumber(L, idx);
    int n;
    if (!(fabs(v) < HUGE_VAL))
        luaL_error(L, "a number that is not finite has no JSON");
#if LUA_VERSION_NUM >= 503
    if (lua_isinteger(L, idx))
        n = snprintf(text, sizeof(text), "%lld", (long long) lua_tointeger(L, idx));
    else
#endif
        n = snprintf(text, sizeof(text), v == floor(v) && fabs(v) < 1e15 ? "%.0f" : "%.17g", v);
    for (char *at = text; *at; at++)
        *at = *at == ',' ? '.' : *at; /* the engine's locale */
    add(L, t, text, (size_t) n);
}

/* How many elements it has as an array; -1: it is an object.
 * Without a sequence's border operator, which may find any border of a table with holes: a list
 * with a hole is an object, and then an error that says so. */
static int array_length(lua_State *L, int idx)
{
    int n = 0, top = 0;
    for (lua_pushnil(L); lua_next(L, idx); lua_pop(L, 1)) {
        double key = lua_type(L, -2) == LUA_TNUMBER ? lua_tonumber(L, -2) : 0;
        if (key < 1 || key != floor(key) || key > 1e6) {
            lua_pop(L, 2);
            return -1;
        }
        n++;
        top = key > top ? (int) key : top;
    }
    return n == top && (n > 0 || is_array(L, idx)) ? n : -1;
}

static void encode(lua_State *L, int idx, struct text *t, int depth);

static void add_elements(lua_State *L, int idx, struct text *t, int n, int depth)
{
    add(L, t, "[", 1);
    for (int i = 1; i <= n; i++) {
        if (i > 1)
            add(L, t, ",", 1);
        lua_rawgeti(L, idx, i);
        encode(L, lua_gettop(L), t, depth);
        lua_pop(L, 1);
    }
    add(L, t, "]", 1);
}

struct key {
    const char *s; /* of the table, which keeps it */
    size_t n;
};

static int by_name(const void *a, const void *b)
{
    const struct key *left = a, *right = b;
    int c = memcmp(left->s, right->s, left->n < right->n ? left->n : right->n);
    return c ? c : (left->n > right->n) - (left->n < right->n);
}

/* Pushes a userdata that has the keys of the table, sorted. */
static struct key *push_keys(lua_State *L, int idx, size_t *count)
{
    size_t n = 0;
    for (lua_pushnil(L); lua_next(L, idx); lua_pop(L, 1)) {
        if (lua_type(L, -2) != LUA_TSTRING)
            luaL_error(L, "a table with keys of type %s has no JSON", luaL_typename(L, -2));
        n++;
    }
    struct key *keys = lua_newuserdata(L, (n + 1) * sizeof(*keys));
    n = 0;
    for (lua_pushnil(L); lua_next(L, idx); lua_pop(L, 1), n++)
        keys[n].s = lua_tolstring(L, -2, &keys[n].n);
    qsort(keys, n, sizeof(*keys), by_name);
    *count = n;
    return keys;
}

/* In the order of their names: a table has none, and a text that differs from one process to the next (LuaJIT's hashes
 * do) would make a saved run ask something else. */
static void add_members(lua_State *L, int idx, struct text *t, int depth)
{
    size_t count;
    const struct key *keys = push_keys(L, idx, &count);
    add(L, t, "{", 1);
    for (size_t i = 0; i < count; i++) {
        if (i > 0)
            add(L, t, ",", 1);
        add_string(L, t, keys[i].s, keys[i].n);
        add(L, t, ":", 1);
        lua_pushlstring(L, keys[i].s, keys[i].n);
        lua_rawget(L, idx);
        encode(L, lua_gettop(L), t, depth);
        lua_pop(L, 1);
    }
    add(L, t, "}", 1);
    lua_pop(L, 1);
}

/* Depth is counted, because a table may contain itself. */
static void encode(lua_State *L, int idx, struct text *t, int depth)
{
    size_t n;
    int elements;
    const char *s;
    luaL_checkstack(L, 6, "a table is nested too deeply");
    switch (lua_type(L, idx)) {
    case LUA_TBOOLEAN:
        s = lua_toboolean(L, idx) ? "true" : "false";
        add(L, t, s, strlen(s));
        break;
    case LUA_TNUMBER: add_number(L, idx, t); break;
    case LUA_TSTRING:
        s = lua_tolstring(L, idx, &n);
        add_string(L, t, s, n);
        break;
    case LUA_TNIL:
    case LUA_TLIGHTUSERDATA: add(L, t, "null", 4); break;
    case LUA_TTABLE:
        if (depth == MAX_DEPTH)
            luaL_error(L, "a table is nested more than %d deep, or contains itself", MAX_DEPTH);
        elements = array_length(L, idx);
        if (elements >= 0)
            add_elements(L, idx, t, elements, depth + 1);
        else
            add_members(L, idx, t, depth + 1);
        break;
    default: luaL_error(L, "a value of type %s has no JSON", luaL_typename(L, idx));
    }
}

int bridge_encode(lua_State *L)
{
    luaL_checkany(L, 1);
    lua_settop(L, 1);
    struct text *t = lua_newuserdata(L, sizeof(*t));
    memset(t, 0, sizeof(*t));
    luaL_getmetatable(L, TEXT);
    lua_setmetatable(L, -2);
    encode(L, 1, t, 0);
    lua_pushlstring(L, t->p, t->n);
    return 1;
}

/* hocket.json: strict decoding, deterministic encoding.
 *
 * Reading pushes values as the reader finds them, without a tree in between; depth is bounded by
 * the reader, the Lua stack is asked for before each level. Writing collects and sorts keys, so
 * that the same value is the same text, which caches of providers and recordings need.
 *
 * A table forgets the order of its members. An ordered object remembers it: its metatable has, at
 * &order_key, a table of its names, as a list and as a set. It is a hint: names that the object has
 * no more are passed over, new ones follow sorted. */

#include "bind/json/json.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/json/json.h"
#include "base/num/num.h"
#include "bind/fiber/fiber.h"
#include "bind/util.h"

static const char null_key, order_key;

void hocket__json_push_null(lua_State *L)
{
    lua_pushlightuserdata(L, (void *) &null_key);
}

/* ---- Ordered objects -------------------------------------------------------- */

/* By bytes and not by strcoll, which Lua's own comparison uses: the order must not depend on a
 * locale. */
static int by_bytes(const void *a, const void *b)
{
    const struct hocket__str *x = a, *y = b;
    if (x->n > 0 && y->n > 0 && *x->p != *y->p)
        return (unsigned char) *x->p - (unsigned char) *y->p;
    int c = memcmp(x->p, y->p, x->n < y->n ? x->n : y->n);
    return c ? c : (x->n > y->n) - (x->n < y->n);
}

/* Whether a name is in the set of names at `names`. */
static bool is_named(lua_State *L, int names, int name)
{
    lua_pushvalue(L, name);
    bool there = lua_rawget(L, names) != LUA_TNIL;
    lua_pop(L, 1);
    return there;
}

/* Adds the name at `name` to the names at `names`, unless it is there. Whether the list is sorted so far. */
static bool add_name(lua_State *L, int names, int name)
{
    size_t n = lua_rawlen(L, names);
    struct hocket__str last = { "", 0 }, now;
    if (is_named(L, names, name))
        return true;
    now.p = lua_tolstring(L, name, &now.n);
    if (n > 0) {
        lua_rawgeti(L, names, (lua_Integer) n);
        last.p = lua_tolstring(L, -1, &last.n);
        lua_pop(L, 1);
    }
    lua_pushvalue(L, name);
    lua_rawseti(L, names, (lua_Integer) n + 1);
    lua_pushvalue(L, name);
    lua_pushboolean(L, true);
    lua_rawset(L, names);
    return n == 0 || by_bytes(&last, &now) < 0;
}

/* The object at `object` gets the names on top of the stack as its order; pops them. */
static void set_order(lua_State *L, int object)
{
    lua_createtable(L, 0, 1);
    lua_insert(L, -2);
    lua_rawsetp(L, -2, &order_key);
    lua_setmetatable(L, object);
}

/* Pushes the names of an ordered object; nothing for another table, and in a run whose log is of a time
 * when all members were sorted. */
static bool push_order(lua_State *L, int idx)
{
    if (!lua_getmetatable(L, idx))
        return false;
    bool ordered =
        lua_rawgetp(L, -1, &order_key) == LUA_TTABLE && !hocket__kept_sorts(hocket__runtime_of(L));
    lua_remove(L, -2);
    if (!ordered)
        lua_pop(L, 1);
    return ordered;
}

/* ---- Decoding --------------------------------------------------------------- */

struct reading {
    struct hocket__json j;
    struct hocket__buf *scratch; /* between two pushes only: nothing of it has to survive a value */
    bool ordered;                /* objects remember the order of their members */
};

static void push_value(lua_State *L, struct reading *r);

static void push_string(lua_State *L, struct reading *r)
{
    if (!r->j.escaped) {
        hocket__push_str(L, r->j.text);
        return;
    }
    hocket__buf_reset(r->scratch);
    if (hocket__json_decode(&r->j, r->scratch) < 0)
        hocket__raise_nomem(L);
    hocket__push_str(L, hocket__buf_str(r->scratch));
}

static void push_number(lua_State *L, struct hocket__json *r)
{
    int64_t i;
    if (hocket__json_int(r, &i)) {
        lua_pushinteger(L, (lua_Integer) i);
        return;
    }
    lua_pushnumber(L, hocket__json_double(r));
    if (r->exact && !hocket__num_fits(r->text))
        hocket__json_refuse(r, HOCKET__JSON_UNFIT);
}

/* Marked, so that an array that was empty is one again when it is written. */
static void push_array(lua_State *L, struct reading *r)
{
    lua_newtable(L);
    luaL_setmetatable(L, HOCKET__ARRAY_META);
    for (lua_Integer i = 1; hocket__json_element(&r->j); i++) {
        push_value(L, r);
        lua_rawseti(L, -2, i);
    }
}

/* Most objects have a few members: a table that begins empty would be made anew for the first, the
 * second and the third. */
static void push_object(lua_State *L, struct reading *r)
{
    bool any = hocket__json_key(&r->j);
    lua_createtable(L, 0, any ? 4 : 0);
    for (; any; any = hocket__json_key(&r->j)) {
        push_string(L, r);
        hocket__json_next(&r->j);
        push_value(L, r);
        lua_rawset(L, -3);
    }
}

/* Names of an object that stand on the stack, behind it, until there are more or one comes out of turn. */
#define FEW 8

/* The names of an object so far, which are sorted: `few` on the stack, or the list of all there. */
struct names {
    int object;
    int few; /* below 0: there is a list */
};

/* The list takes the place of the few. What is on top stays there. */
static void list_names(lua_State *L, struct names *n)
{
    lua_createtable(L, n->few + 1, n->few + 1);
    for (int i = 1; i <= n->few; i++)
        add_name(L, lua_gettop(L), n->object + i);
    lua_insert(L, n->object + 1);
    for (; n->few > 0; n->few--)
        lua_remove(L, n->object + 2);
    n->few = -1;
}

/* The name on top comes next. False: it comes out of turn. */
static bool note_name(lua_State *L, struct names *n)
{
    struct hocket__str now = { 0 }, last = { 0 };
    if (n->few > 0) {
        now.p = lua_tolstring(L, -1, &now.n);
        last.p = lua_tolstring(L, n->object + n->few, &last.n);
    }
    if (n->few == FEW || (n->few > 0 && by_bytes(&last, &now) >= 0))
        list_names(L, n);
    if (n->few < 0)
        return add_name(L, n->object + 1, lua_gettop(L));
    lua_pushvalue(L, -1);
    lua_insert(L, n->object + ++n->few);
    return true;
}

/* One whose members are sorted needs no order: that is how every object is written. */
static void push_ordered(lua_State *L, struct reading *r)
{
    bool sorted = true, any = hocket__json_key(&r->j);
    hocket__need_stack(L, FEW + 8);
    lua_createtable(L, 0, any ? 4 : 0);
    struct names n = { lua_gettop(L), 0 };
    for (; any; any = hocket__json_key(&r->j)) {
        push_string(L, r);
        sorted &= note_name(L, &n);
        hocket__json_next(&r->j);
        push_value(L, r);
        lua_rawset(L, n.object);
    }
    if (sorted)
        lua_settop(L, n.object);
    else
        set_order(L, n.object);
}

/* The token that begins the value has been read. Depth is bounded by the reader. */
static void push_value(lua_State *L, struct reading *r)
{
    hocket__need_stack(L, 8);
    switch (r->j.token) {
    case HOCKET__JSON_FALSE:
    case HOCKET__JSON_TRUE: lua_pushboolean(L, r->j.token == HOCKET__JSON_TRUE); break;
    case HOCKET__JSON_NUMBER: push_number(L, &r->j); break;
    case HOCKET__JSON_STRING: push_string(L, r); break;
    case HOCKET__JSON_ARRAY: push_array(L, r); break;
    case HOCKET__JSON_OBJECT: (r->ordered ? push_ordered : push_object)(L, r); break;
    default: hocket__json_push_null(L); break; /* null; after an error the value is dropped */
    }
}

/* What was pushed of a text that turns out to be wrong is dropped; the error of memory, which
 * raises, drops it as well. */
static int push(
    lua_State *L, struct hocket__str text, bool exact, bool ordered, struct hocket_error *err)
{
    lua_rawgetp(L, LUA_REGISTRYINDEX, &null_key); /* the scratch buffer of this state's host */
    struct hocket__runtime *rt = lua_touserdata(L, -1);
    lua_pop(L, 1);
    struct reading r = { .scratch = &rt->scratch, .ordered = ordered };
    hocket__json_init(&r.j, text);
    r.j.max_depth = HOCKET__JSON_LUA_DEPTH;
    r.j.exact = exact;
    int top = lua_gettop(L);
    hocket__json_next(&r.j);
    push_value(L, &r);
    int status = hocket__json_end(&r.j, err);
    if (status < 0)
        lua_settop(L, top);
    return status;
}

int hocket__json_push(lua_State *L, struct hocket__str text, struct hocket_error *err)
{
    return push(L, text, false, false, err);
}

int hocket__json_push_ordered(lua_State *L, struct hocket__str text, struct hocket_error *err)
{
    return push(L, text, false, true, err);
}

/* Whether Lua's numbers hold what the text says, for values that were read as trees. */
bool hocket__json_fits(const hocket_json *v)
{
    if (hocket__tree_type(v) == HOCKET__TREE_NUMBER)
        return hocket__num_fits(hocket__tree_number_text(v));
    if (hocket__tree_type(v) != HOCKET__TREE_ARRAY && hocket__tree_type(v) != HOCKET__TREE_OBJECT)
        return true;
    bool fits = true;
    for (v = hocket__tree_first(v); v && fits; v = hocket__tree_next(v))
        fits = hocket__json_fits(v);
    return fits;
}

/* Depth is bounded by whoever made the tree. */
void hocket__json_push_tree(lua_State *L, const hocket_json *v)
{
    int64_t i;
    bool is_int;
    double d;
    hocket__need_stack(L, 4);
    switch (hocket__tree_type(v)) {
    case HOCKET__TREE_BOOL: lua_pushboolean(L, hocket__tree_bool(v)); return;
    case HOCKET__TREE_STRING: hocket__push_str(L, hocket__tree_str(v)); return;
    case HOCKET__TREE_NUMBER:
        if (hocket__num_int(hocket__tree_number_text(v), &i)) {
            lua_pushinteger(L, (lua_Integer) i);
            return;
        }
        hocket__num_read(hocket__tree_number_text(v), &is_int, &i, &d);
        lua_pushnumber(L, d);
        return;
    case HOCKET__TREE_ARRAY:
        lua_newtable(L);
        luaL_setmetatable(L, HOCKET__ARRAY_META);
        i = 0;
        for (v = hocket__tree_first(v); v; v = hocket__tree_next(v)) {
            hocket__json_push_tree(L, v);
            lua_rawseti(L, -2, (lua_Integer) ++i);
        }
        return;
    case HOCKET__TREE_OBJECT: hocket__json_push_object(L, v); return;
    default: hocket__json_push_null(L); return;
    }
}

void hocket__json_push_object(lua_State *L, const hocket_json *object)
{
    const hocket_json *v = hocket__tree_first(object);
    lua_createtable(L, 0, v ? 4 : 0);
    for (; v; v = hocket__tree_next(v)) {
        hocket__push_str(L, hocket__tree_name(v));
        hocket__json_push_tree(L, v);
        lua_rawset(L, -3);
    }
}

/* ---- Encoding ------------------------------------------------------------------ */

static void encode(lua_State *L, int idx, struct hocket__buf *out, int depth);

/* Looks at a name before it is written, and may raise. */
typedef void (*look_cb)(lua_State *L, struct hocket__str name);

/* NaN and infinity have no JSON, and null in their place would be read as "not known". */
static void encode_number(lua_State *L, int idx, struct hocket__buf *out)
{
    if (lua_isinteger(L, idx))
        hocket__jw_int(out, lua_tointeger(L, idx));
    else if (isfinite(lua_tonumber(L, idx)))
        hocket__jw_double(out, lua_tonumber(L, idx));
    else
        luaL_error(L, "cannot encode %f as JSON", lua_tonumber(L, idx));
}

/* Counted afterwards: a table that has other keys too would lose them silently. */
static void encode_array(lua_State *L, int idx, struct hocket__buf *out, int depth)
{
    lua_Unsigned n = lua_rawlen(L, idx);
    hocket__jw_open(out, '[');
    for (lua_Unsigned i = 1; i <= n; i++) {
        lua_rawgeti(L, idx, (lua_Integer) i);
        encode(L, lua_gettop(L), out, depth);
        lua_pop(L, 1);
    }
    hocket__jw_close(out, ']');
    for (lua_pushnil(L); lua_next(L, idx); lua_pop(L, 1))
        if (n-- == 0)
            luaL_error(L, "cannot encode a table that has both 1 to n and other keys as JSON");
}

/* `but`: where the names are that do not count; 0: all do. */
static size_t count_string_keys(lua_State *L, int idx, int but)
{
    size_t n = 0;
    for (lua_pushnil(L); lua_next(L, idx);) {
        lua_pop(L, 1);
        n += !but || !is_named(L, but, lua_gettop(L));
        if (lua_type(L, -1) != LUA_TSTRING)
            luaL_error(L,
                "cannot encode a table with a key of type %s as a JSON object (use strings, or "
                "1 to n for an array)",
                luaL_typename(L, -1));
    }
    return n;
}

/* Pushes a block of memory that holds the table's keys, sorted; the table keeps the texts. */
static struct hocket__str *push_sorted_keys(lua_State *L, int idx, int but, size_t *count)
{
    size_t n = count_string_keys(L, idx, but), i = 0;
    struct hocket__str *keys = lua_newuserdatauv(L, (n ? n : 1) * sizeof(*keys), 0);
    for (lua_pushnil(L); lua_next(L, idx);) {
        lua_pop(L, 1);
        if (i == n || (but && is_named(L, but, lua_gettop(L))))
            continue;
        keys[i].p = lua_tolstring(L, -1, &keys[i].n);
        i++;
    }
    qsort(keys, n, sizeof(*keys), by_bytes);
    *count = n;
    return keys;
}

/* `but`: names that are left out; 0: none. */
static void encode_large(
    lua_State *L, int idx, struct hocket__buf *out, int depth, look_cb look, int but)
{
    size_t n;
    struct hocket__str *keys = push_sorted_keys(L, idx, but, &n);
    for (size_t i = 0; i < n; i++) {
        if (look)
            look(L, keys[i]);
        hocket__jw_keystr(out, keys[i]);
        hocket__push_str(L, keys[i]);
        lua_rawget(L, idx);
        encode(L, lua_gettop(L), out, depth);
        lua_pop(L, 1);
    }
    lua_pop(L, 1);
}

/* Members of a small table, sorted, with their values left on the stack: no look-ups and no
 * memory. */
#define SMALL 16

struct member {
    struct hocket__str key;
    int value; /* its place on the stack */
};

static void insert(struct member *list, size_t n, struct member m)
{
    for (; n > 0 && by_bytes(&list[n - 1].key, &m.key) > 0; n--)
        list[n] = list[n - 1];
    list[n] = m;
}

/* How many members were gathered, or more than SMALL; keys and values stay on the stack.
 * A copy of each key stays for lua_next, which goes on from it; the original is what the list
 * points into. */
static size_t gather(lua_State *L, int idx, struct member *list)
{
    size_t n = 0;
    hocket__need_stack(L, 2 * SMALL + 8);
    for (lua_pushnil(L); lua_next(L, idx); n++) {
        struct member m;
        if (lua_type(L, -2) != LUA_TSTRING || n == SMALL)
            return SMALL + 1; /* the other way says what is wrong */
        m.key.p = lua_tolstring(L, -2, &m.key.n);
        m.value = lua_gettop(L);
        insert(list, n, m);
        lua_pushvalue(L, -2);
    }
    return n;
}

/* Pops the names of its order. Scripts can get at those: what is no name, or stands there twice, counts once at
 * most, so that an object is written all the same. */
static void encode_ordered(lua_State *L, int idx, struct hocket__buf *out, int depth, look_cb look)
{
    int order = lua_gettop(L);
    lua_Integer n = (lua_Integer) lua_rawlen(L, order);
    hocket__need_stack(L, 8);
    lua_newtable(L); /* the names that are written */
    hocket__jw_open(out, '{');
    for (lua_Integer i = 1; i <= n; i++, lua_settop(L, order + 1)) {
        if (lua_rawgeti(L, order, i) != LUA_TSTRING || is_named(L, order + 1, order + 2))
            continue;
        lua_pushvalue(L, -1);
        if (lua_rawget(L, idx) == LUA_TNIL)
            continue;
        lua_pushvalue(L, order + 2);
        lua_pushboolean(L, true);
        lua_rawset(L, order + 1);
        if (look)
            look(L, hocket__check_str(L, order + 2));
        hocket__jw_keystr(out, hocket__check_str(L, order + 2));
        encode(L, order + 3, out, depth);
    }
    encode_large(L, idx, out, depth, look, order + 1);
    lua_settop(L, order - 1);
    hocket__jw_close(out, '}');
}

static void encode_object(lua_State *L, int idx, struct hocket__buf *out, int depth, look_cb look)
{
    struct member list[SMALL + 1];
    int top = lua_gettop(L);
    if (push_order(L, idx)) {
        encode_ordered(L, idx, out, depth, look);
        return;
    }
    size_t n = gather(L, idx, list);
    hocket__jw_open(out, '{');
    if (n > SMALL) {
        lua_settop(L, top);
        encode_large(L, idx, out, depth, look, 0);
    }
    for (size_t i = 0; n <= SMALL && i < n; i++) {
        if (look)
            look(L, list[i].key);
        hocket__jw_keystr(out, list[i].key);
        encode(L, list[i].value, out, depth);
    }
    lua_settop(L, top);
    hocket__jw_close(out, '}');
}

/* What has a first element is one, whether it was marked or not. */
static bool is_array(lua_State *L, int idx)
{
    if (lua_rawlen(L, idx) > 0)
        return true;
    if (!lua_getmetatable(L, idx))
        return false;
    bool yes = luaL_getmetatable(L, HOCKET__ARRAY_META) == LUA_TTABLE && lua_rawequal(L, -1, -2);
    lua_pop(L, 2);
    return yes;
}

static void encode(lua_State *L, int idx, struct hocket__buf *out, int depth)
{
    struct hocket__str s;
    switch (lua_type(L, idx)) {
    case LUA_TBOOLEAN: hocket__jw_bool(out, lua_toboolean(L, idx)); return;
    case LUA_TNUMBER: encode_number(L, idx, out); return;
    case LUA_TSTRING:
        s.p = lua_tolstring(L, idx, &s.n);
        hocket__jw_string(out, s);
        return;
    case LUA_TTABLE:
        hocket__need_stack(L, 8);
        if (depth >= HOCKET__JSON_LUA_DEPTH)
            luaL_error(L, "cannot encode as JSON: nested deeper than %d, or a table inside itself",
                HOCKET__JSON_LUA_DEPTH);
        if (is_array(L, idx))
            encode_array(L, idx, out, depth + 1);
        else
            encode_object(L, idx, out, depth + 1, NULL);
        return;
    case LUA_TLIGHTUSERDATA:
        if (lua_touserdata(L, idx) == (void *) &null_key) {
            hocket__jw_null(out);
            return;
        }
        break;
    default: break;
    }
    luaL_error(L, "cannot encode a %s as JSON", luaL_typename(L, idx));
}

static void check_written(lua_State *L, const struct hocket__buf *out)
{
    if (out->status == HOCKET_ENOMEM)
        hocket__raise_nomem(L);
    if (out->status < 0)
        luaL_error(L, "%s", hocket_status_text(out->status));
}

void hocket__json_encode(lua_State *L, int idx, struct hocket__buf *out)
{
    encode(L, lua_absindex(L, idx), out, 0);
    check_written(L, out);
}

/* Bytes of texts that are quoted once for two places. */
#define QUOTED_MIN 512
#define QUOTED_MAX 8192

/* A long text (an answer) goes into an event and a history right after each other: quoted once, it
 * is found here by comparing. */
struct hocket__str hocket__json_quoted(lua_State *L, int idx)
{
    struct hocket__str text = { "", 0 };
    struct hocket__runtime *rt = hocket__runtime(L);
    if (lua_type(L, idx) == LUA_TSTRING)
        text.p = lua_tolstring(L, idx, &text.n);
    if (text.n < QUOTED_MIN || text.n > QUOTED_MAX)
        return hocket__str("", 0);
    if (rt->plain.len != text.n || memcmp(rt->plain.data, text.p, text.n) != 0) {
        hocket__buf_reset(&rt->plain);
        hocket__buf_reset(&rt->quoted);
        hocket__jw_string(&rt->quoted, text);
        if (rt->quoted.status == 0)
            hocket__buf_addstr(&rt->plain, text);
    }
    return rt->plain.len == text.n ? hocket__buf_str(&rt->quoted) : hocket__str("", 0);
}

void hocket__json_encode_object(lua_State *L, int idx, struct hocket__buf *out,
    void (*look)(lua_State *L, struct hocket__str name))
{
    encode_object(L, lua_absindex(L, idx), out, 1, look);
    check_written(L, out);
}

/* ---- The module ------------------------------------------------------------------ */

/* decode(text, ordered?) -> value | nil, error. `ordered`: objects remember the order of their members. */
static int l_decode(lua_State *L)
{
    struct hocket_error err;
    hocket__runtime(L);
    if (push(L, hocket__check_str(L, 1), true, lua_toboolean(L, 2), &err) < 0)
        return hocket__fail(L, &err);
    return 1;
}

/* find(text) -> value, its JSON | nil, error: what a model's text says, see base/json/lenient.h */
static int l_find(lua_State *L)
{
    struct hocket_error err;
    struct hocket__buf *out = &hocket__runtime(L)->scratch;
    struct hocket__lenient l;
    hocket__lenient_init(&l, hocket__check_str(L, 1));
    int rc = hocket__lenient_next(&l, out);
    if (rc < 0)
        return hocket__raise_nomem(L);
    if (rc == 0) {
        hocket__error(&err, HOCKET_EPARSE, "there is no JSON in it, or it is cut off");
        return hocket__fail(L, &err);
    }
    lua_pushlstring(L, out->data, out->len);
    if (hocket__json_push(L, hocket__check_str(L, -1), &err) < 0)
        return hocket__fail(L, &err);
    lua_insert(L, -2);
    return 2;
}

/* encode(value) -> text
 * The buffer stays for the next call unless this one made it large. */
static int l_encode(lua_State *L)
{
    struct hocket__runtime *rt = hocket__runtime(L);
    luaL_checkany(L, 1);
    hocket__buf_reset(&rt->scratch);
    hocket__json_encode(L, 1, &rt->scratch);
    hocket__push_str(L, hocket__buf_str(&rt->scratch));
    if (rt->scratch.cap > 1 << 20)
        hocket__buf_deinit(&rt->scratch);
    return 1;
}

/* Leaves name and value of a pair on top of the stack. */
static void push_pair(lua_State *L, lua_Integer i)
{
    if (lua_rawgeti(L, 1, i) != LUA_TTABLE)
        luaL_error(L, "bad pair %d to 'object' ({name, value} expected, got %s)", (int) i,
            luaL_typename(L, -1));
    lua_rawgeti(L, -1, 1);
    lua_rawgeti(L, -2, 2);
    if (lua_type(L, -2) != LUA_TSTRING || lua_isnil(L, -1))
        luaL_error(
            L, "bad pair %d to 'object' ({name, value} expected: a string, and not nil)", (int) i);
}

/* object(pairs) -> a table with the pairs as members, which is written in their order */
static int l_object(lua_State *L)
{
    luaL_checktype(L, 1, LUA_TTABLE);
    lua_settop(L, 1);
    lua_newtable(L);
    lua_newtable(L);
    lua_Integer n = (lua_Integer) lua_rawlen(L, 1);
    for (lua_Integer i = 1; i <= n; i++, lua_settop(L, 3)) {
        push_pair(L, i);
        if (is_named(L, 3, 5))
            luaL_error(L, "the name '%s' is given to 'object' twice", lua_tostring(L, 5));
        add_name(L, 3, 5);
        lua_rawset(L, 2);
    }
    set_order(L, 2);
    return 1;
}

/* array(table?) -> the table, marked as an array even when it is empty */
static int l_array(lua_State *L)
{
    lua_settop(L, lua_isnoneornil(L, 1) ? 0 : 1); /* or what follows gets the mark: all strings */
    if (lua_gettop(L) == 0)
        lua_newtable(L);
    luaL_checktype(L, 1, LUA_TTABLE);
    luaL_setmetatable(L, HOCKET__ARRAY_META);
    return 1;
}

/* is_array(value) -> whether it would be encoded as an array */
static int l_is_array(lua_State *L)
{
    lua_pushboolean(L, lua_istable(L, 1) && is_array(L, 1));
    return 1;
}

static const luaL_Reg functions[] = {
    { "decode", l_decode },
    { "find", l_find },
    { "encode", l_encode },
    { "array", l_array },
    { "object", l_object },
    { "is_array", l_is_array },
    { NULL, NULL },
};

int hocket__open_json(lua_State *L)
{
    luaL_newmetatable(L, HOCKET__ARRAY_META);
    lua_pop(L, 1);
    lua_pushvalue(L, lua_upvalueindex(1));
    lua_rawsetp(L, LUA_REGISTRYINDEX, &null_key);
    lua_newtable(L);
    hocket__setfuncs(L, functions);
    hocket__json_push_null(L);
    lua_setfield(L, -2, "null");
    return 1;
}

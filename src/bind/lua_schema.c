/* hocket.schema: JSON Schema for tool arguments and structured answers. */

#include "bind/schema.h"

#include "base/json_tree.h"
#include "bind/json.h"
#include "bind/util.h"
#include "core/schema/schema.h"

static const char META[] = "hocket.schema";

struct schema {
    struct hocket__runtime *rt;
    struct hocket__schema *schema;
};

static int l_gc(lua_State *L)
{
    struct schema *s = hocket__gc_userdata(L, l_gc);
    if (!s)
        return 0;
    hocket__schema_free(s->schema);
    s->schema = NULL;
    return 0;
}

/* compile(table or text) -> schema | nil, error */
static int l_compile(lua_State *L)
{
    struct hocket__runtime *rt = hocket__runtime(L);
    struct hocket_error err;
    struct schema *s = hocket__new_object(L, sizeof(*s), 0, META);
    *s = (struct schema){ .rt = rt };
    luaL_setmetatable(L, META);
    hocket__buf_reset(&rt->scratch);
    if (lua_type(L, 1) == LUA_TSTRING)
        hocket__buf_addstr(&rt->scratch, hocket__check_str(L, 1));
    else
        hocket__json_encode(L, 1, &rt->scratch);
    if (hocket__schema_new(rt->alloc, hocket__buf_str(&rt->scratch), NULL, &s->schema, &err) < 0)
        return hocket__fail(L, &err);
    return 1;
}

/* Pushes in words why the instance does not fit; what was found before without them. */
static void explain(lua_State *L, const struct schema *s, const hocket_json *tree, const char *what)
{
    struct hocket__schema_errors errors = { 0 };
    struct hocket__buf *out = &s->rt->scratch;
    hocket__buf_reset(out);
    if (hocket__schema_validate(s->schema, s->rt->alloc, tree, &errors, NULL) == HOCKET_EINVAL)
        hocket__schema_explain(&errors, what, out);
    hocket__push_str(L, hocket__buf_str(out));
}

/* Whether it fits; if not, the words are pushed. */
static bool fits(lua_State *L, const struct schema *s, const hocket_json *tree, const char *what)
{
    struct hocket_error err;
    int rc = hocket__schema_validate(s->schema, s->rt->alloc, tree, NULL, &err);
    if (rc == HOCKET_EINVAL)
        explain(L, s, tree, what);
    else if (rc < 0)
        lua_pushstring(L, err.message);
    return rc == 0;
}

/* A tree is one block of memory, which here is the runtime's: so that nothing is lost when Lua
 * raises while there is one. */
static void *in_block(void *ud, void *p, size_t old_size, size_t new_size)
{
    struct hocket__buf *block = ud;
    (void) old_size;
    if (p || new_size == 0) /* it is given back, and may be used again */
        return NULL;
    hocket__buf_reset(block);
    return hocket__buf_reserve(block, new_size) < 0 ? NULL : block->data;
}

static const hocket_json *read_tree(
    struct hocket__runtime *rt, struct hocket__str json, struct hocket_error *err)
{
    enum { KEPT = 1 << 20 };
    if (rt->block.cap > KEPT)
        hocket__buf_deinit(&rt->block);
    const struct hocket_allocator a = { in_block, &rt->block };
    return hocket__tree_new(&a, json, HOCKET__JSON_LUA_DEPTH, err);
}

static const char MISFIT[] = "the arguments do not fit";

int hocket__schema_read(lua_State *L, int arg, struct hocket__str json)
{
    struct schema *s = lua_isnoneornil(L, arg) ? NULL : hocket__check_object(L, arg, META);
    struct hocket_error err;
    const hocket_json *tree = read_tree(hocket__runtime(L), json, &err);
    const char *wrong = NULL;
    if (!tree || hocket__tree_type(tree) != HOCKET__TREE_OBJECT) {
        wrong = tree ? "object" : "json";
        lua_pushstring(L, tree ? NULL : err.message);
    } else if (s && !fits(L, s, tree, MISFIT)) {
        wrong = "fit";
    } else {
        hocket__json_push_object(L, tree);
        return 1;
    }
    lua_pushnil(L);
    lua_pushstring(L, wrong);
    lua_rotate(L, -3, -1);
    return 3;
}

/* s:check(value, what?, json?) -> true | false, text for a model. `what` begins the text; `json` is
 * the value as text, when it is at hand. */
static int l_check(lua_State *L)
{
    struct schema *s = hocket__check_object(L, 1, META);
    const char *what = luaL_optstring(L, 3, MISFIT);
    struct hocket_error err;
    struct hocket__str json;
    luaL_checkany(L, 2);
    hocket__runtime(L);
    if (lua_type(L, 4) == LUA_TSTRING) {
        json.p = lua_tolstring(L, 4, &json.n);
    } else {
        hocket__buf_reset(&s->rt->scratch);
        hocket__json_encode(L, 2, &s->rt->scratch);
        json = hocket__buf_str(&s->rt->scratch);
    }
    const hocket_json *tree = read_tree(s->rt, json, &err);
    lua_pushboolean(L, false);
    if (!tree)
        lua_pushstring(L, err.message);
    if (!tree || !fits(L, s, tree, what))
        return 2;
    lua_pushboolean(L, true);
    return 1;
}

static const luaL_Reg functions[] = { { "compile", l_compile }, { NULL, NULL } };
static const luaL_Reg methods[] = { { "check", l_check }, { "__gc", l_gc }, { NULL, NULL } };

int hocket__open_schema(lua_State *L)
{
    hocket__newmeta(L, META, methods);
    lua_pop(L, 1);
    lua_newtable(L);
    hocket__setfuncs(L, functions);
    return 1;
}

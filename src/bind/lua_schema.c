/* hocket.core.schema: JSON Schema for tool arguments and structured answers. */

#include "bind/schema.h"

#include "base/json_tree.h"
#include "bind/json.h"
#include "bind/util.h"
#include "core/schema.h"

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
    struct schema *s = lua_newuserdatauv(L, sizeof(*s), 0);
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

static int explain(lua_State *L, struct hocket__runtime *rt,
    const struct hocket__schema_errors *errors, const char *what)
{
    hocket__buf_reset(&rt->scratch);
    if (hocket__schema_explain(errors, what, &rt->scratch) < 0)
        return luaL_error(L, "out of memory");
    lua_pushboolean(L, false);
    hocket__push_str(L, hocket__buf_str(&rt->scratch));
    return 2;
}

/* s:check(value, what?, json?) -> true | false, text for a model. `what` begins the text; `json` is
 * the value as text, when it is at hand. */
static int l_check(lua_State *L)
{
    struct schema *s = hocket__check_object(L, 1, META);
    const char *what = luaL_optstring(L, 3, "the arguments do not fit");
    struct hocket__schema_errors errors = { 0 };
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
    hocket_json *tree = hocket__tree_parse(json, 0, &err);
    if (!tree) {
        lua_pushboolean(L, false);
        lua_pushstring(L, err.message);
        return 2;
    }
    int rc = hocket__schema_validate(s->schema, s->rt->alloc, tree, &errors, &err);
    hocket_json_free(tree);
    if (rc == HOCKET_EINVAL)
        return explain(L, s->rt, &errors, what);
    lua_pushboolean(L, rc == 0);
    lua_pushstring(L, rc == 0 ? NULL : err.message);
    return 2;
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

/* hocket.schema: JSON Schema for tool arguments and structured answers.
 *
 * A value becomes a tree in one block of the runtime's scratch memory. So nothing is lost when Lua
 * raises in the middle, and the values of most calls need no allocation. */

#include "bind/schema/schema.h"

#include "base/json/json.h"
#include "bind/json/json.h"
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
    if (rt->scratch.status < 0)
        return hocket__raise_nomem(L);
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

/* ---- What a model has written --------------------------------------------------------------- */

/* Copies out of what the next reading needs; the text stays on the stack. */
static struct hocket__str keep(lua_State *L, struct hocket__str text)
{
    struct hocket__str kept = { NULL, text.n };
    kept.p = lua_pushlstring(L, text.n > 0 ? text.p : "", text.n);
    return kept;
}

/* As many times as there are reasons named at once: more nulls than anybody means. */
#define MAX_REPAIRS 16

/* The members that are null and do not fit: left out they may. How many. */
static size_t find_nulls(
    const hocket_json *tree, const struct hocket__schema_errors *errors, const hocket_json **nulls)
{
    size_t n = 0;
    for (size_t i = 0; i < errors->count; i++) {
        const hocket_json *v = hocket__tree_at(tree, errors->at[i].path);
        if (v && v != tree && hocket__tree_type(v) == HOCKET__TREE_NULL)
            nulls[n++] = v;
    }
    return n;
}

/* Whether the tree fits, or does without the nulls in it that its schema does not take: models
 * write null for what they have nothing to say to. Then *json is what fits, and on the stack. */
static bool fits_without_nulls(
    lua_State *L, const struct schema *s, const hocket_json **tree, struct hocket__str *json)
{
    struct hocket__schema_errors errors;
    struct hocket_error err;
    const hocket_json *nulls[HOCKET__SCHEMA_ERRORS];
    for (int repairs = 0; *tree; repairs++) {
        memset(&errors, 0, sizeof(errors));
        int rc = hocket__schema_validate(s->schema, s->rt->alloc, *tree, &errors, &err);
        size_t n =
            rc == HOCKET_EINVAL && repairs < MAX_REPAIRS ? find_nulls(*tree, &errors, nulls) : 0;
        if (rc == 0 || n == 0)
            return rc == 0;
        struct hocket__buf *out = &s->rt->scratch;
        hocket__buf_reset(out);
        if (hocket__tree_print_without(*tree, nulls, n, out) < 0)
            hocket__raise_nomem(L);
        *json = keep(L, hocket__buf_str(out));
        *tree = read_tree(s->rt, *json, &err);
    }
    return false;
}

/* The tree of a text that is one value: strict JSON, or what is meant beyond doubt. NULL: *err says what
 * strict reading says. */
static const hocket_json *read_meant(
    lua_State *L, struct hocket__runtime *rt, struct hocket__str *json, struct hocket_error *err)
{
    const hocket_json *tree = read_tree(rt, *json, err);
    if (tree && hocket__tree_type(tree) != HOCKET__TREE_STRING)
        return tree;
    hocket__buf_reset(&rt->scratch);
    int rc = hocket__lenient_meant(*json, &rt->scratch);
    if (rc < 0)
        hocket__raise_nomem(L);
    if (rc == 0)
        return NULL;
    *json = keep(L, hocket__buf_str(&rt->scratch));
    return read_tree(rt, *json, err);
}

/* Pushes nil, what is wrong and the details, which are on top. */
static int refuse(lua_State *L, const char *wrong)
{
    lua_pushnil(L);
    lua_pushstring(L, wrong);
    lua_rotate(L, -3, -1);
    return 3;
}

int hocket__schema_read(lua_State *L, int arg, struct hocket__str json)
{
    struct schema *s = lua_isnoneornil(L, arg) ? NULL : hocket__check_object(L, arg, META);
    struct hocket__runtime *rt = hocket__runtime(L);
    struct hocket_error err;
    hocket__need_stack(L, MAX_REPAIRS + 8);
    const hocket_json *tree = read_meant(L, rt, &json, &err);
    if (!tree || hocket__tree_type(tree) != HOCKET__TREE_OBJECT) {
        lua_pushstring(L, tree ? NULL : err.message);
        return refuse(L, tree ? "object" : "json");
    }
    if (!hocket__json_fits(tree)) {
        lua_pushliteral(L, HOCKET__JSON_UNFIT);
        return refuse(L, "json");
    }
    struct hocket__str as_written = json;
    if (s && !fits_without_nulls(L, s, &tree, &json)) {
        fits(L, s, read_tree(rt, as_written, &err), MISFIT);
        return refuse(L, "fit");
    }
    hocket__json_push_object(L, tree);
    return 1;
}

/* Values of one text that are tried: an answer has one, and perhaps examples before it. */
#define MAX_VALUES 32

/* The outcome for the values of a text: of the values that do not fit, the error names the
 * longest. */
struct found {
    const char *what;
    size_t longest;
    int words; /* where on the stack it is said what is wrong with that */
};

static void note_misfit(
    lua_State *L, const struct schema *s, struct hocket__str json, struct found *found)
{
    struct hocket_error err;
    if (json.n <= found->longest)
        return;
    found->longest = json.n;
    const hocket_json *tree = read_tree(s->rt, json, &err);
    if (!tree)
        lua_pushstring(L, err.message);
    else if (!hocket__json_fits(tree))
        lua_pushliteral(L, HOCKET__JSON_UNFIT);
    else
        fits(L, s, tree, found->what);
    lua_replace(L, found->words);
}

/* Whether the JSON that is on top of the stack fits; then its value and its text are pushed. */
static bool take(lua_State *L, const struct schema *s, struct found *found)
{
    struct hocket_error err;
    struct hocket__str json = hocket__check_str(L, -1), as_written = json;
    const hocket_json *tree = read_tree(s->rt, json, &err);
    if (!tree || !hocket__json_fits(tree) || !fits_without_nulls(L, s, &tree, &json)) {
        note_misfit(L, s, as_written, found);
        return false;
    }
    hocket__json_push_tree(L, tree);
    hocket__push_str(L, json);
    return true;
}

/* s:read(text, what?) -> value, its JSON | nil, what is wrong, for a model; nil alone: there is
 * no JSON in it. The text is a model's: see base/json/lenient.h. `what` begins what is wrong. */
static int l_read(lua_State *L)
{
    const struct schema *s = hocket__check_object(L, 1, META);
    struct hocket__str text = hocket__check_str(L, 2);
    struct found found = { luaL_optstring(L, 3, "it does not fit"), 0, 4 };
    struct hocket__lenient l;
    int rc = 1;
    hocket__runtime(L);
    hocket__need_stack(L, MAX_REPAIRS + 8);
    lua_settop(L, 3);
    lua_pushnil(L);
    hocket__lenient_init(&l, text);
    for (int i = 0; i < MAX_VALUES; i++) {
        lua_settop(L, found.words);
        rc = hocket__lenient_next(&l, &s->rt->scratch);
        if (rc != 1)
            break;
        keep(L, hocket__buf_str(&s->rt->scratch));
        if (take(L, s, &found))
            return 2;
    }
    if (rc < 0)
        return hocket__raise_nomem(L);
    lua_pushnil(L);
    lua_insert(L, -2);
    return 2;
}

/* ---- Values -------------------------------------------------------------------------------------- */

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
static const luaL_Reg methods[] = { { "check", l_check }, { "read", l_read }, { "__gc", l_gc },
    { NULL, NULL } };

int hocket__open_schema(lua_State *L)
{
    return hocket__open_class(L, META, methods, functions);
}

/* hocket.internal.core.document: the shared document. Checks arguments, calls core/document/document.h, pushes
 * results.
 *
 * Slots come as tables and are turned into JSON for the core, which has the one reader of slots
 * that also reads those of models and records. */

#include <stdlib.h>

#include "bind/board/board.h"
#include "bind/fiber/fiber.h"
#include "bind/journal/journal.h"
#include "bind/json/json.h"
#include "bind/options.h"
#include "bind/util.h"
#include "core/document/document.h"

static const char META[] = "hocket.document";

struct document {
    struct hocket__runtime *rt;
    struct hocket__document *doc;
    struct hocket__lua_journal *journal; /* kept alive by the user value */
};

static struct document *check_document(lua_State *L)
{
    return hocket__check_object(L, 1, META);
}

/* ---- Making --------------------------------------------------------------------- */

static struct hocket__str element(lua_State *L, int idx, lua_Integer i, const char *what)
{
    struct hocket__str s;
    if (lua_rawgeti(L, idx, i) != LUA_TSTRING)
        luaL_error(L, "bad dimension (%s expected, got %s)", what, luaL_typename(L, -1));
    s.p = lua_tolstring(L, -1, &s.n);
    lua_pop(L, 1); /* the table keeps it */
    return s;
}

static void read_values(lua_State *L, struct hocket__dimension *dim)
{
    int list = lua_gettop(L);
    lua_Unsigned n = lua_rawlen(L, list);
    struct hocket__str *values = lua_newuserdatauv(L, (n + 1) * sizeof(*values), 0);
    for (lua_Unsigned i = 0; i < n; i++)
        values[i] = element(L, list, (lua_Integer) i + 1, "names in a list");
    dim->kind = HOCKET__DIMENSION_NAME;
    dim->values = values;
    dim->value_count = n;
}

/* {name, "integer"}, {name, "integer", {min, max}} or {name, {"one", "two"}}; leaves what it
 * needs on the stack. */
static void read_dimension(lua_State *L, struct hocket__dimension *dim)
{
    hocket__need_stack(L, 8);
    luaL_argcheck(
        L, lua_istable(L, -1), 1, "each dimension is a table, as in {\"day\", \"integer\"}");
    int at = lua_gettop(L);
    dim->name = element(L, at, 1, "a name first");
    if (lua_rawgeti(L, at, 2) == LUA_TTABLE) {
        read_values(L, dim);
        return;
    }
    if (lua_type(L, -1) != LUA_TSTRING || strcmp(lua_tostring(L, -1), "integer") != 0)
        luaL_error(L, "bad dimension '%s' (\"integer\" or a list of names expected)", dim->name.p);
    dim->kind = HOCKET__DIMENSION_INTEGER;
    if (lua_rawgeti(L, at, 3) == LUA_TTABLE) {
        lua_rawgeti(L, -1, 1);
        lua_rawgeti(L, -2, 2);
        dim->min = luaL_checkinteger(L, -2);
        dim->max = luaL_checkinteger(L, -1);
    }
}

/* new(dimensions, {max_entry=, max_bytes=, max_slots=, max_entries=, max_versions=}?) */
static int l_new(lua_State *L)
{
#define LIMIT(field)                                                                               \
    {                                                                                              \
        HOCKET__OPT_INT(#field, struct hocket__document_options, field, 0, INT64_MAX / 4)          \
    }
    static const struct hocket__opt rows[] = { LIMIT(max_entry), LIMIT(max_bytes), LIMIT(max_slots),
        LIMIT(max_entries), LIMIT(max_versions), { 0 } };
    struct hocket__runtime *rt = hocket__runtime(L);
    struct hocket_error err;
    struct hocket__dimension dims[HOCKET__DIMENSIONS];
    memset(dims, 0, sizeof(dims));
    struct hocket__document_options o = hocket__document_options_default();
    lua_settop(L, 2);
    luaL_checktype(L, 1, LUA_TTABLE);
    hocket__opt_read(L, 2, rows, &o);
    lua_Unsigned n = lua_rawlen(L, 1);
    luaL_argcheck(L, n >= 1 && n <= HOCKET__DIMENSIONS, 1, "1 to 6 dimensions expected");
    for (lua_Unsigned i = 0; i < n; i++) {
        lua_rawgeti(L, 1, (lua_Integer) i + 1);
        read_dimension(L, &dims[i]);
    }
    struct document *d = hocket__new_object(L, sizeof(*d), 2, META);
    *d = (struct document){ .rt = rt };
    luaL_setmetatable(L, META);
    lua_pushvalue(L, 1);
    lua_setiuservalue(L, -2, 2);
    o.dims = dims;
    o.dim_count = n;
    o.emit = hocket__emit_to_journal;
    o.ud = &d->journal;
    if (hocket__document_new(rt->alloc, &o, &d->doc, &err) < 0)
        return hocket__raise(L, &err);
    return 1;
}

/* d:attach(journal, number?, places?): changes are recorded there from now on, as those of this document among the run's.
 * places: with where the slot of each stands among all */
static int l_attach(lua_State *L)
{
    struct document *d = check_document(L);
    lua_Integer number = luaL_optinteger(L, 3, 0);
    luaL_argcheck(L, number >= 0, 3, "a number from 0 on expected");
    d->journal = hocket__check_journal(L, 2);
    hocket__document_set_number(d->doc, number);
    hocket__document_tell_places(d->doc, lua_toboolean(L, 4));
    lua_pushvalue(L, 2);
    lua_setiuservalue(L, 1, 1);
    return 0;
}

static int l_gc(lua_State *L)
{
    struct document *d = hocket__gc_userdata(L, l_gc);
    if (!d)
        return 0;
    hocket__document_free(d->doc);
    d->doc = NULL;
    return 0;
}

/* ---- Changing --------------------------------------------------------------------- */

static int parse_slot(
    lua_State *L, struct document *d, int arg, struct hocket__slot *slot, struct hocket_error *err)
{
    luaL_checktype(L, arg, LUA_TTABLE);
    hocket__buf_reset(&d->rt->scratch);
    hocket__json_encode(L, arg, &d->rt->scratch);
    return hocket__slots_parse(
        hocket__document_schema(d->doc), hocket__buf_str(&d->rt->scratch), slot, err);
}

static int pushed_version(lua_State *L, int64_t version, const struct hocket_error *err)
{
    if (version < 0)
        return hocket__fail(L, err);
    lua_pushinteger(L, version);
    return 1;
}

/* d:append(slot, agent, content) -> version | nil, error */
static int l_append(lua_State *L)
{
    struct document *d = check_document(L);
    struct hocket_error err;
    struct hocket__slot slot;
    struct hocket__str agent = hocket__check_str(L, 3), content = hocket__check_str(L, 4);
    int64_t v = parse_slot(L, d, 2, &slot, &err);
    if (v == 0)
        v = hocket__document_append(
            d->doc, &slot, agent, content, hocket__script_wall_ms(hocket__runtime(L)), &err);
    return pushed_version(L, v, &err);
}

static int by_version(const void *a, const void *b)
{
    int64_t x = *(const int64_t *) a, y = *(const int64_t *) b;
    return (x > y) - (x < y);
}

/* The list of versions at arg, which stays on the stack; NULL: there is none. */
static const struct hocket__versions *opt_versions(
    lua_State *L, int arg, struct hocket__versions *out)
{
    if (lua_isnoneornil(L, arg))
        return NULL;
    luaL_checktype(L, arg, LUA_TTABLE);
    lua_Unsigned n = lua_rawlen(L, arg);
    luaL_argcheck(L, n <= 1 << 20, arg, "too many versions");
    int64_t *v = lua_newuserdatauv(L, (n + 1) * sizeof(*v), 0);
    for (lua_Unsigned i = 0; i < n; i++) {
        int is_int;
        lua_rawgeti(L, arg, (lua_Integer) i + 1);
        v[i] = lua_tointegerx(L, -1, &is_int);
        luaL_argcheck(L, is_int, arg, "versions have to be integers");
        lua_pop(L, 1);
    }
    qsort(v, n, sizeof(*v), by_version);
    *out = (struct hocket__versions){ v, n };
    return out;
}

/* d:consolidate(slot, author, content, base_version, only?) -> version | nil, error */
static int l_consolidate(lua_State *L)
{
    struct document *d = check_document(L);
    struct hocket_error err;
    struct hocket__slot slot;
    struct hocket__str author = hocket__check_str(L, 3), content = hocket__check_str(L, 4);
    struct hocket__versions list;
    const struct hocket__versions *only = opt_versions(L, 6, &list);
    int64_t base = luaL_checkinteger(L, 5), v = parse_slot(L, d, 2, &slot, &err);
    if (v == 0)
        v = hocket__document_consolidate(d->doc, &slot, author, content, base, only,
            hocket__script_wall_ms(hocket__runtime(L)), &err);
    return pushed_version(L, v, &err);
}

/* d:replay(record) -> whether it was one of a document | nil, error */
static int l_replay(lua_State *L)
{
    struct document *d = check_document(L);
    struct hocket_error err;
    int rc = hocket__document_replay(d->doc, hocket__check_str(L, 2), &err);
    if (rc < 0)
        return hocket__fail(L, &err);
    lua_pushboolean(L, rc > 0);
    return 1;
}

/* ---- Reading ------------------------------------------------------------------------ */

/* d:record(version) -> the record that brought it, for d:replay */
static int l_record(lua_State *L)
{
    struct document *d = check_document(L);
    lua_Integer version = luaL_checkinteger(L, 2);
    luaL_argcheck(L, hocket__document_entry(d->doc, version), 2, "no such version");
    hocket__buf_reset(&d->rt->scratch);
    if (hocket__document_record(d->doc, version, &d->rt->scratch) < 0)
        return hocket__raise_nomem(L);
    hocket__push_str(L, hocket__buf_str(&d->rt->scratch));
    return 1;
}

struct beside {
    lua_State *L;
    int64_t version;
    lua_Integer count;
};

/* On top of the stack is the list. */
static bool push_beside(const struct hocket__entry *e, void *ud)
{
    struct beside *b = ud;
    if (e->born == b->version)
        return true;
    lua_createtable(b->L, 0, 3);
    lua_pushinteger(b->L, e->born);
    lua_setfield(b->L, -2, "version");
    hocket__push_str(b->L, e->agent);
    lua_setfield(b->L, -2, "agent");
    lua_pushboolean(b->L, e->base_version >= 0);
    lua_setfield(b->L, -2, "merged");
    lua_rawseti(b->L, -2, ++b->count);
    return true;
}

/* d:beside(version) -> array of {version, agent, merged} | nil, error */
static int l_beside(lua_State *L)
{
    struct document *d = check_document(L);
    struct hocket_error err;
    struct beside b = { .L = L, .version = luaL_checkinteger(L, 2) };
    const struct hocket__entry *e = hocket__document_entry(d->doc, b.version);
    if (!e) {
        hocket__error(&err, HOCKET_ENOTFOUND, "there is no version %lld", (long long) b.version);
        return hocket__fail(L, &err);
    }
    lua_newtable(L);
    if (hocket__document_each(d->doc, &e->slot, 0, push_beside, &b, &err) < 0)
        return hocket__fail(L, &err);
    return 1;
}

/* d:render{version=, tagged=}? -> text | nil, error. Version 0 is the empty document, the default the latest one. */
static int l_render(lua_State *L)
{
    struct asked {
        int64_t version;
        bool tagged;
    } asked = { -1, false };
    static const struct hocket__opt rows[] = {
        { HOCKET__OPT_INT("version", struct asked, version, 0, INT64_MAX) },
        { HOCKET__OPT_BOOL("tagged", struct asked, tagged) },
        { 0 },
    };
    struct document *d = check_document(L);
    struct hocket_error err;
    hocket__opt_read(L, 2, rows, &asked);
    hocket__buf_reset(&d->rt->scratch);
    if (asked.version == 0) {
        lua_pushliteral(L, "");
        return 1;
    }
    if (hocket__document_render(d->doc, asked.version < 0 ? 0 : asked.version,
            asked.tagged ? HOCKET__RENDER_TAGGED : HOCKET__RENDER_CLEAN, &d->rt->scratch, &err)
        < 0)
        return hocket__fail(L, &err);
    hocket__push_str(L, hocket__buf_str(&d->rt->scratch));
    return 1;
}

/* d:tagged(version) -> the entry that it brought, as d:render{tagged=true} shows it | nil: there is none, or it was replaced */
static int l_tagged(lua_State *L)
{
    struct document *d = check_document(L);
    lua_Integer version = luaL_checkinteger(L, 2);
    hocket__buf_reset(&d->rt->scratch);
    int rc = hocket__document_render_entry(d->doc, version, &d->rt->scratch);
    if (rc == HOCKET_ENOTFOUND)
        return 0;
    if (rc < 0)
        return hocket__raise_nomem(L);
    hocket__push_str(L, hocket__buf_str(&d->rt->scratch));
    return 1;
}

static int push_json(lua_State *L, struct document *d)
{
    struct hocket_error err;
    struct hocket__str json;
    hocket__push_str(L, hocket__buf_str(&d->rt->scratch)); /* decoding uses the buffer too */
    json.p = lua_tolstring(L, -1, &json.n);
    return hocket__json_push(L, json, &err) < 0 ? hocket__fail(L, &err) : 1;
}

/* d:slots(version?) -> array of {slot, heading, entries} | nil, error */
static int l_slots(lua_State *L)
{
    struct document *d = check_document(L);
    struct hocket_error err;
    hocket__buf_reset(&d->rt->scratch);
    if (hocket__document_read(d->doc, luaL_optinteger(L, 2, 0), &d->rt->scratch, &err) < 0)
        return hocket__fail(L, &err);
    return push_json(L, d);
}

/* d:history(after?, count?, as_json?) -> array of {version, author, change_description, time}, or
 * that as JSON text */
static int l_history(lua_State *L)
{
    struct document *d = check_document(L);
    lua_Integer after = luaL_optinteger(L, 2, 0), count = luaL_optinteger(L, 3, 1 << 20);
    hocket__buf_reset(&d->rt->scratch);
    if (hocket__document_history(d->doc, after, count < 0 ? 0 : (size_t) count, &d->rt->scratch)
        < 0)
        return hocket__raise_nomem(L);
    if (!lua_toboolean(L, 4))
        return push_json(L, d);
    hocket__push_str(L, hocket__buf_str(&d->rt->scratch));
    return 1;
}

/* d:version() -> integer, 0 for the empty document */
static int l_version(lua_State *L)
{
    lua_pushinteger(L, hocket__document_version(check_document(L)->doc));
    return 1;
}

/* d:dimensions() -> the list that the document was made with */
static int l_dimensions(lua_State *L)
{
    check_document(L);
    lua_getiuservalue(L, 1, 2);
    return 1;
}

/* d:number() -> which of its run's documents it is | nil */
static int l_number(lua_State *L)
{
    int64_t number = hocket__document_number(check_document(L)->doc);
    if (number == 0)
        return 0;
    lua_pushinteger(L, number);
    return 1;
}

static int l_len(lua_State *L)
{
    lua_pushinteger(L, (lua_Integer) hocket__document_entries(check_document(L)->doc));
    return 1;
}

static const luaL_Reg functions[] = { { "new", l_new }, { NULL, NULL } };
static const luaL_Reg methods[] = {
    { "attach", l_attach },
    { "append", l_append },
    { "consolidate", l_consolidate },
    { "replay", l_replay },
    { "record", l_record },
    { "beside", l_beside },
    { "render", l_render },
    { "tagged", l_tagged },
    { "slots", l_slots },
    { "history", l_history },
    { "version", l_version },
    { "number", l_number },
    { "dimensions", l_dimensions },
    { "__len", l_len },
    { "__gc", l_gc },
    { NULL, NULL },
};

int hocket__open_document(lua_State *L)
{
    return hocket__open_class(L, META, methods, functions);
}

/* What a run that is kept has of earlier lives, and of other runs, beside its log: files that it has read, and what it
 * remembers. They stand in tables of Lua's, which hocket.internal.base.kept_sources and .memory read. */
#include "bind/fiber/kept_impl.h"

#include <lauxlib.h>

#include "bind/util.h"

struct feeding {
    struct hocket__kept *k;
    struct hocket__str name, text;
    const struct hocket__log_entry *entry;
};

static int feed(struct feeding *f, lua_CFunction feed_protected)
{
    lua_State *L = f->k->rt->L;
    if (!lua_checkstack(L, 2))
        return HOCKET_ENOMEM;
    lua_pushcfunction(L, feed_protected);
    lua_pushlightuserdata(L, f);
    if (lua_pcall(L, 1, 0, 0) == LUA_OK)
        return 0;
    lua_pop(L, 1);
    return HOCKET_ENOMEM;
}

/* Pushes the table, which is made at need. */
static void push_table(lua_State *L, int *ref)
{
    if (*ref == LUA_NOREF) {
        lua_newtable(L);
        *ref = luaL_ref(L, LUA_REGISTRYINDEX);
    }
    lua_rawgeti(L, LUA_REGISTRYINDEX, *ref);
}

/* ---- Files ------------------------------------------------------------------------------------- */

static int feed_file(lua_State *L)
{
    const struct feeding *f = lua_touserdata(L, 1);
    push_table(L, &f->k->fed_ref);
    hocket__push_str(L, f->name);
    hocket__push_str(L, f->text);
    lua_rawset(L, -3);
    return 0;
}

int hocket__kept_feed_file(struct hocket__kept *k, struct hocket__str name, struct hocket__str text)
{
    struct feeding f = { .k = k, .name = name, .text = text };
    return feed(&f, feed_file);
}

void hocket__kept_push_files(const struct hocket__kept *k, lua_State *L)
{
    if (k->fed_ref == LUA_NOREF)
        lua_pushnil(L);
    else
        lua_rawgeti(L, LUA_REGISTRYINDEX, k->fed_ref);
}

/* ---- Another run's log -------------------------------------------------------------------------- */

static void set_text(lua_State *L, const char *name, struct hocket__str text)
{
    hocket__push_str(L, text);
    lua_setfield(L, -2, name);
}

static int feed_entry(lua_State *L)
{
    const struct feeding *f = lua_touserdata(L, 1);
    const struct hocket__log_entry *e = f->entry;
    push_table(L, &f->k->memory_ref);
    lua_createtable(L, 0, 7);
    set_text(L, "kind", hocket__cstr(hocket__log_word(e->kind)));
    set_text(L, "name", e->name);
    set_text(L, "digest", e->digest);
    set_text(L, "value", e->value);
    lua_pushinteger(L, (lua_Integer) e->n);
    lua_setfield(L, -2, "n");
    lua_pushinteger(L, (lua_Integer) e->path);
    lua_setfield(L, -2, "path");
    lua_pushinteger(L, (lua_Integer) e->ord);
    lua_setfield(L, -2, "ord");
    lua_rawseti(L, -2, (lua_Integer) lua_rawlen(L, -2) + 1);
    return 0;
}

int hocket__kept_remember(struct hocket__kept *k, const struct hocket__log_entry *e)
{
    struct feeding f = { .k = k, .entry = e };
    bool matters = e->kind == HOCKET__LOG_BEGIN || e->kind == HOCKET__LOG_END
                   || e->kind == HOCKET__LOG_VALUE || e->kind == HOCKET__LOG_TELL
                   || e->kind == HOCKET__LOG_TIMEOUT || e->kind == HOCKET__LOG_CANCEL;
    return matters ? feed(&f, feed_entry) : 0;
}

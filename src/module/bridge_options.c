/* The options of a host, out of a table. */
#include "bridge_impl.h"

#include <string.h>

/* Numbers of at least 0, and what they may be at most. */
static const struct {
    const char *name;
    double max;
} limits[] = { { "max_runs", 1e9 }, { "max_memory", 1e15 }, { "max_connections", 1e9 },
    { "max_journal", 1e15 }, { "max_message", 1e15 }, { "store_days", 1e6 },
    { "store_bytes", 1e15 } };
enum { RUNS, MEMORY, CONNECTIONS, JOURNAL, MESSAGE, STORE_DAYS, STORE_BYTES, N_LIMITS };
static const char *const others[] = { "thread", "store", "durability", "store_optional", "policy" };

/* Written so that a NaN fails, too. */
static double limit_option(lua_State *L, int i)
{
    lua_getfield(L, 1, limits[i].name);
    double v = lua_isnil(L, -1) ? 0 : lua_type(L, -1) == LUA_TNUMBER ? lua_tonumber(L, -1) : -1;
    if (!(v >= 0 && v <= limits[i].max))
        luaL_error(L, "bad option '%s' (a number of at least 0 expected)", limits[i].name);
    lua_pop(L, 1);
    return v;
}

static bool is_option(const char *name)
{
    bool known = false;
    for (size_t i = 0; name && i < sizeof(others) / sizeof(*others); i++)
        known |= strcmp(name, others[i]) == 0;
    for (int i = 0; name && i < N_LIMITS; i++)
        known |= strcmp(name, limits[i].name) == 0;
    return known;
}

/* Names that there are not raise, as everywhere in hocket: a limit that is misspelt would be no
 * limit. */
static void check_options(lua_State *L)
{
    luaL_checktype(L, 1, LUA_TTABLE);
    for (lua_pushnil(L); lua_next(L, 1); lua_pop(L, 1)) {
        const char *name = lua_type(L, -2) == LUA_TSTRING ? lua_tostring(L, -2) : NULL;
        if (!is_option(name))
            luaL_error(L,
                "unknown option '%s' (there are: thread, max_runs, max_memory, max_connections, "
                "max_journal, max_message, store, durability, store_days, store_bytes, "
                "store_optional, policy)",
                name ? name : luaL_typename(L, -2));
    }
}

/* Its text is the table's, which is there as long as it is needed. */
static const char *text_option(lua_State *L, const char *name)
{
    lua_getfield(L, 1, name);
    if (!lua_isnil(L, -1) && lua_type(L, -1) != LUA_TSTRING)
        luaL_error(L, "bad option '%s' (a string expected)", name);
    const char *text = lua_tostring(L, -1);
    lua_pop(L, 1);
    return text;
}

static void store_options(lua_State *L, struct hocket_options *o)
{
    o->store = text_option(L, "store");
    o->durability = text_option(L, "durability");
    o->store_days = (int) limit_option(L, STORE_DAYS);
    o->store_bytes = (uint64_t) limit_option(L, STORE_BYTES);
    lua_getfield(L, 1, "store_optional");
    o->store_optional = lua_toboolean(L, -1);
    lua_pop(L, 1);
}

void bridge_read_options(lua_State *L, struct hocket_options *o, struct hocket_policy *policy)
{
    check_options(L);
    lua_getfield(L, 1, "thread");
    o->thread = lua_toboolean(L, -1);
    lua_pop(L, 1);
    o->max_runs = (int) limit_option(L, RUNS);
    o->max_memory = (size_t) limit_option(L, MEMORY);
    o->max_connections = (int) limit_option(L, CONNECTIONS);
    o->max_journal = (size_t) limit_option(L, JOURNAL);
    o->max_message = (size_t) limit_option(L, MESSAGE);
    store_options(L, o);
    *policy = (struct hocket_policy){ "policy", text_option(L, "policy") };
    o->policies = policy;
    o->n_policies = policy->text ? 1 : 0;
}

/* A table that describes a job, as the broker takes it. */

#include "bind/broker_impl.h"

struct hocket__str hocket__broker_text(lua_State *L, int idx, const char *name)
{
    struct hocket__str s = hocket__opt_str(L, idx, name);
    return s.p ? s : hocket__str("", 0);
}

/* Lists go into blocks that stay on the stack below the returned position. */
static size_t read_deps(lua_State *L, int idx, const uint64_t **out)
{
    if (lua_getfield(L, idx, "deps") != LUA_TTABLE)
        return 0;
    lua_Unsigned n = lua_rawlen(L, -1);
    uint64_t *ids = lua_newuserdatauv(L, (n + 1) * sizeof(*ids), 0);
    for (lua_Unsigned i = 0; i < n; i++) {
        lua_rawgeti(L, -2, (lua_Integer) i + 1);
        ids[i] = (uint64_t) luaL_checkinteger(L, -1);
        lua_pop(L, 1);
    }
    *out = ids;
    return n;
}

static size_t read_needs(lua_State *L, int idx, const struct hocket__str **out)
{
    if (lua_getfield(L, idx, "needs") != LUA_TTABLE)
        return 0;
    lua_Unsigned n = lua_rawlen(L, -1);
    struct hocket__str *names = lua_newuserdatauv(L, (n + 1) * sizeof(*names), 0);
    for (lua_Unsigned i = 0; i < n; i++) {
        lua_rawgeti(L, -2, (lua_Integer) i + 1);
        names[i].p = luaL_checklstring(L, -1, &names[i].n);
        lua_pop(L, 1); /* the list keeps it */
    }
    *out = names;
    return n;
}

static int64_t milliseconds(lua_State *L, int idx, const char *name, int64_t otherwise)
{
    double s = hocket__opt_number(L, idx, name, -1);
    return s < 0 ? otherwise : s > 1e9 ? INT64_C(1000000000000) : (int64_t) (s * 1000 + 0.5);
}

static enum hocket__job_on_dep read_on_dep(lua_State *L, int idx)
{
    struct hocket__str s = hocket__broker_text(L, idx, "on_dependency");
    if (s.n == 0 || hocket__str_is(s, "skip"))
        return HOCKET__DEP_SKIP;
    if (hocket__str_is(s, "continue"))
        return HOCKET__DEP_CONTINUE;
    if (!hocket__str_is(s, "fail"))
        luaL_error(L, "bad option 'on_dependency' (skip, continue or fail expected, got %s)", s.p);
    return HOCKET__DEP_FAIL;
}

void hocket__job_spec_read(lua_State *L, int idx, struct hocket__job_spec *s)
{
    luaL_checkstack(L, 8, NULL);
    *s = hocket__job_spec_default();
    s->agent = hocket__broker_text(L, idx, "agent");
    s->provider = hocket__broker_text(L, idx, "provider");
    s->group = hocket__broker_text(L, idx, "group");
    s->name = hocket__broker_text(L, idx, "name");
    s->priority =
        (int) hocket__opt_int(L, idx, "priority", 0, -HOCKET__PRIORITY_MAX, HOCKET__PRIORITY_MAX);
    s->max_retries = (uint32_t) hocket__opt_int(L, idx, "retries", 0, 0, 1000);
    s->backoff_ms = milliseconds(L, idx, "backoff", s->backoff_ms);
    s->backoff_max_ms = milliseconds(L, idx, "backoff_max", s->backoff_max_ms);
    int64_t within = milliseconds(L, idx, "deadline", -1);
    s->deadline_ms = within < 0 ? HOCKET__NEVER : (int64_t) hocket__deadlines_now() + within;
    s->on_dep = read_on_dep(L, idx);
    s->dep_count = read_deps(L, idx, &s->deps);
    s->need_count = read_needs(L, idx, &s->needs);
}

void hocket__job_spec_read_beside(lua_State *L, int idx, lua_Integer i, struct hocket__job_spec *s)
{
    lua_rawgeti(L, idx, 3 * i + 1);
    s->data = hocket__check_str(L, -1);
    lua_rawgeti(L, idx, 3 * i + 2);
    s->parent = (uint64_t) luaL_checkinteger(L, -1);
    lua_rawgeti(L, idx, 3 * i + 3);
    s->parent_fence = (uint64_t) luaL_checkinteger(L, -1);
    lua_pop(L, 3); /* the list keeps the data */
}

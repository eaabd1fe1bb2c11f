/* A table that describes a job, read in one pass over what it has, not over what it could have:
 * most jobs have few fields of the many.
 *
 * A sorted table of names and readers, of which one is found by halves: a field that there is not is
 * an error that names it, as every option of ours. */

#include "bind/broker/spec.h"

#include "bind/broker/broker_impl.h"

/* ---- Single fields: the value is on top, the table at idx ----------------------------------- */

static void bad_field(lua_State *L, const char *name, const char *expected)
{
    luaL_error(L, "bad option '%s' (%s expected, got %s)", name, expected, luaL_typename(L, -1));
}

static struct hocket__str text(lua_State *L, const char *name)
{
    struct hocket__str s;
    if (lua_type(L, -1) != LUA_TSTRING)
        bad_field(L, name, "string");
    s.p = lua_tolstring(L, -1, &s.n);
    return s;
}

static int64_t milliseconds(lua_State *L, int idx, const char *name)
{
    double s = hocket__opt_number(L, idx, name, -1);
    /* written so that NaN is refused, too */
    if (!(s >= 0))
        luaL_error(L, "bad option '%s' (seconds must not be negative)", name);
    return s > 1e9 ? INT64_C(1000000000000) : (int64_t) (s * 1000 + 0.5);
}

static void read_agent(lua_State *L, int idx, struct hocket__job_reading *r)
{
    (void) idx;
    r->spec->agent = text(L, "agent");
}

static void read_provider(lua_State *L, int idx, struct hocket__job_reading *r)
{
    (void) idx;
    r->spec->provider = text(L, "provider");
}

static void read_group(lua_State *L, int idx, struct hocket__job_reading *r)
{
    (void) idx;
    r->spec->group = text(L, "group");
}

static void read_name(lua_State *L, int idx, struct hocket__job_reading *r)
{
    (void) idx;
    r->spec->name = text(L, "name");
}

static void read_priority(lua_State *L, int idx, struct hocket__job_reading *r)
{
    r->spec->priority =
        (int) hocket__opt_int(L, idx, "priority", 0, -HOCKET__PRIORITY_MAX, HOCKET__PRIORITY_MAX);
}

static void read_retries(lua_State *L, int idx, struct hocket__job_reading *r)
{
    r->spec->max_retries = (uint32_t) hocket__opt_int(L, idx, "retries", 0, 0, 1000);
}

static void read_backoff(lua_State *L, int idx, struct hocket__job_reading *r)
{
    r->spec->backoff_ms = milliseconds(L, idx, "backoff");
}

static void read_backoff_max(lua_State *L, int idx, struct hocket__job_reading *r)
{
    r->spec->backoff_max_ms = milliseconds(L, idx, "backoff_max");
}

/* Seconds from now; jobs have the time itself, so that a job that waits does not get more of it. */
static void read_deadline(lua_State *L, int idx, struct hocket__job_reading *r)
{
    r->spec->deadline_ms = hocket__clock_work_ms(r->clock) + milliseconds(L, idx, "deadline");
}

static void read_on_dependency(lua_State *L, int idx, struct hocket__job_reading *r)
{
    struct hocket__str s = text(L, "on_dependency");
    (void) idx;
    if (hocket__str_is(s, "skip"))
        r->spec->on_dep = HOCKET__DEP_SKIP;
    else if (hocket__str_is(s, "continue"))
        r->spec->on_dep = HOCKET__DEP_CONTINUE;
    else if (hocket__str_is(s, "fail"))
        r->spec->on_dep = HOCKET__DEP_FAIL;
    else
        luaL_error(L, "bad option 'on_dependency' (skip, continue or fail expected, got %s)", s.p);
}

static void read_run(lua_State *L, int idx, struct hocket__job_reading *r)
{
    (void) idx;
    r->has_run = lua_isfunction(L, -1);
}

static void read_deps(lua_State *L, int idx, struct hocket__job_reading *r)
{
    (void) idx;
    r->deps = lua_istable(L, -1);
    if (!r->deps)
        bad_field(L, "deps", "list");
}

static void read_needs(lua_State *L, int idx, struct hocket__job_reading *r)
{
    (void) idx;
    r->needs = lua_istable(L, -1);
    if (!r->needs)
        bad_field(L, "needs", "list");
}

static void read_after(lua_State *L, int idx, struct hocket__job_reading *r)
{
    (void) idx;
    r->after = lua_istable(L, -1);
    if (!r->after)
        bad_field(L, "after", "list");
}

static void read_detached(lua_State *L, int idx, struct hocket__job_reading *r)
{
    (void) idx;
    r->detached = lua_toboolean(L, -1);
}

static void read_background(lua_State *L, int idx, struct hocket__job_reading *r)
{
    (void) idx;
    r->background = lua_toboolean(L, -1);
}

static void read_parent(lua_State *L, int idx, struct hocket__job_reading *r)
{
    (void) idx;
    (void) L;
    r->parent = true;
}

/* ---- A table -------------------------------------------------------------------------------- */

/* Sorted by name. `keep`: the user value that it goes into, as it is, with the type it has to be
 * of (LUA_TNONE: any). */
static const struct field {
    const char *name;
    void (*read)(lua_State *L, int idx, struct hocket__job_reading *r);
    int keep, type;
} fields[] = {
    { "after", read_after, 0, 0 },
    { "agent", read_agent, 0, 0 },
    { "background", read_background, 0, 0 },
    { "backoff", read_backoff, 0, 0 },
    { "backoff_max", read_backoff_max, 0, 0 },
    { "budget", NULL, HOCKET__JOB_BUDGET, LUA_TTABLE },
    { "context", NULL, HOCKET__JOB_CONTEXT, LUA_TTABLE },
    { "data", NULL, HOCKET__JOB_DATA, LUA_TNONE },
    { "deadline", read_deadline, 0, 0 },
    { "deps", read_deps, 0, 0 },
    { "detached", read_detached, 0, 0 },
    { "emit", NULL, HOCKET__JOB_EMIT, LUA_TFUNCTION },
    { "group", read_group, 0, 0 },
    { "keeps", NULL, HOCKET__JOB_KEEPS, LUA_TTABLE },
    { "name", read_name, 0, 0 },
    { "needs", read_needs, 0, 0 },
    { "on_dependency", read_on_dependency, 0, 0 },
    { "op", NULL, HOCKET__JOB_OP, LUA_TSTRING },
    { "parent", read_parent, 0, 0 },
    { "priority", read_priority, 0, 0 },
    { "provider", read_provider, 0, 0 },
    { "retries", read_retries, 0, 0 },
    { "run", read_run, 0, 0 },
    { "scope", NULL, HOCKET__JOB_SCOPE, LUA_TUSERDATA },
    { "trigger", NULL, HOCKET__JOB_TRIGGER, LUA_TSTRING },
};
#define FIELDS (sizeof(fields) / sizeof(fields[0]))

static const struct field *find(const char *name)
{
    size_t low = 0, high = FIELDS;
    while (low < high) {
        size_t middle = (low + high) / 2;
        int c = strcmp(name, fields[middle].name);
        if (c == 0)
            return &fields[middle];
        if (c < 0)
            high = middle;
        else
            low = middle + 1;
    }
    return NULL;
}

/* The value on top belongs to the key below it.
 * NULL as `read`: the value stays a value of Lua, and is kept with the job. */
static void read_field(lua_State *L, int idx, struct hocket__job_reading *r)
{
    const struct field *f = lua_type(L, -2) == LUA_TSTRING ? find(lua_tostring(L, -2)) : NULL;
    if (!f)
        luaL_error(L, "unknown field '%s' in a job", luaL_tolstring(L, -2, NULL));
    else if (f->read)
        f->read(L, idx, r);
    else if (f->type != LUA_TNONE && lua_type(L, -1) != f->type)
        bad_field(L, f->name, lua_typename(L, f->type));
    else
        r->kept |= 1u << f->keep;
}

/* Lists go into blocks that stay on the stack. */
static size_t list_deps(lua_State *L, int idx, const uint64_t **out)
{
    lua_getfield(L, idx, "deps");
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

static size_t list_names(lua_State *L, int idx, const char *field, const struct hocket__str **out)
{
    lua_getfield(L, idx, field);
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

void hocket__job_read(lua_State *L, int idx, struct hocket__job_reading *r)
{
    struct hocket__job_spec *s = r->spec;
    *s = hocket__job_spec_default();
    s->agent = s->provider = s->group = s->name = HOCKET__STR("");
    s->data = HOCKET__STR("null");
    for (lua_pushnil(L); lua_next(L, idx); lua_pop(L, 1))
        read_field(L, idx, r);
    if (!r->has_run)
        luaL_error(L, "a job needs the field 'run' (a function)");
    if (r->deps)
        s->dep_count = list_deps(L, idx, &s->deps);
    if (r->needs)
        s->need_count = list_names(L, idx, "needs", &s->needs);
    if (r->after)
        s->after_count = list_names(L, idx, "after", &s->after);
}

void hocket__job_keep(lua_State *L, int idx, unsigned kept, int job)
{
    for (size_t i = 0; i < FIELDS; i++)
        if (fields[i].keep && kept >> fields[i].keep & 1) {
            lua_getfield(L, idx, fields[i].name);
            lua_setiuservalue(L, job, fields[i].keep);
        }
}

/* Submitting: a table becomes a job of Lua and one of the broker. What belongs to Lua (functions,
 * values) goes into the user values of the one, the rest into the other, which copies it.
 *
 * Everything that can raise (reading the tables, copies of values) happens before the broker gets the jobs: what
 * was made until then is garbage and needs no taking back. Several jobs of one call are submitted all or none. */
#include "bind/account/account.h"

#include "bind/broker/broker_impl.h"
#include "bind/journal/journal.h"
#include "bind/json/json.h"

/* ==== Spec ==================================================================================== */

/* A table that describes a job, read in one pass over what it has, not over what it could have:
 * most jobs have few fields of the many.
 *
 * A sorted table of names and readers, of which one is found by halves: a field that there is not is
 * an error that names it, as every option of ours. */

struct reading {
    struct hocket__job_spec *spec;
    const struct hocket__clock *clock; /* the broker's */
    unsigned kept;                     /* bit n: the job's user value n is given */
    bool has_run, deps, needs, after, detached, parent, background;
};

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

static void read_agent(lua_State *L, int idx, struct reading *r)
{
    (void) idx;
    r->spec->agent = text(L, "agent");
}

static void read_provider(lua_State *L, int idx, struct reading *r)
{
    (void) idx;
    r->spec->provider = text(L, "provider");
}

static void read_group(lua_State *L, int idx, struct reading *r)
{
    (void) idx;
    r->spec->group = text(L, "group");
}

static void read_name(lua_State *L, int idx, struct reading *r)
{
    (void) idx;
    r->spec->name = text(L, "name");
}

static void read_priority(lua_State *L, int idx, struct reading *r)
{
    r->spec->priority =
        (int) hocket__opt_int(L, idx, "priority", 0, -HOCKET__PRIORITY_MAX, HOCKET__PRIORITY_MAX);
}

static void read_retries(lua_State *L, int idx, struct reading *r)
{
    r->spec->max_retries = (uint32_t) hocket__opt_int(L, idx, "retries", 0, 0, 1000);
}

static void read_backoff(lua_State *L, int idx, struct reading *r)
{
    r->spec->backoff_ms = milliseconds(L, idx, "backoff");
}

static void read_backoff_max(lua_State *L, int idx, struct reading *r)
{
    r->spec->backoff_max_ms = milliseconds(L, idx, "backoff_max");
}

/* Seconds from now; jobs have the time itself, so that a job that waits does not get more of it. */
static void read_deadline(lua_State *L, int idx, struct reading *r)
{
    r->spec->deadline_ms = hocket__clock_work_ms(r->clock) + milliseconds(L, idx, "deadline");
}

static void read_on_dependency(lua_State *L, int idx, struct reading *r)
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

static void read_run(lua_State *L, int idx, struct reading *r)
{
    (void) idx;
    r->has_run = lua_isfunction(L, -1);
}

static void read_deps(lua_State *L, int idx, struct reading *r)
{
    (void) idx;
    r->deps = lua_istable(L, -1);
    if (!r->deps)
        bad_field(L, "deps", "list");
}

static void read_needs(lua_State *L, int idx, struct reading *r)
{
    (void) idx;
    r->needs = lua_istable(L, -1);
    if (!r->needs)
        bad_field(L, "needs", "list");
}

static void read_after(lua_State *L, int idx, struct reading *r)
{
    (void) idx;
    r->after = lua_istable(L, -1);
    if (!r->after)
        bad_field(L, "after", "list");
}

static void read_detached(lua_State *L, int idx, struct reading *r)
{
    (void) idx;
    r->detached = lua_toboolean(L, -1);
}

static void read_background(lua_State *L, int idx, struct reading *r)
{
    (void) idx;
    r->background = lua_toboolean(L, -1);
}

static void read_parent(lua_State *L, int idx, struct reading *r)
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
    void (*read)(lua_State *L, int idx, struct reading *r);
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
static void read_field(lua_State *L, int idx, struct reading *r)
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

/* Reads the table at idx into *r and its spec, but for what the table says of data, parent and
 * run. What the spec borrows belongs to the table, or stays on the stack. Raises what is wrong
 * with it. */
static void read_spec(lua_State *L, int idx, struct reading *r)
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

/* Puts what is `kept` of the table at idx into the user values of the job at `job`. */
static void keep_spec(lua_State *L, int idx, unsigned kept, int job)
{
    for (size_t i = 0; i < FIELDS; i++)
        if (fields[i].keep && kept >> fields[i].keep & 1) {
            lua_getfield(L, idx, fields[i].name);
            lua_setiuservalue(L, job, fields[i].keep);
        }
}

/* ---- Its job -------------------------------------------------------------------------------- */

/* Pushes a job that the broker's table holds; hocket__jobs_follow takes it out again unless it is
 * submitted, whatever is raised before. */
static struct hocket__lua_job *job_new(lua_State *L, struct hocket__lua_broker *b, int values)
{
    struct hocket__lua_job *j = hocket__new_object(L, sizeof(*j), values, hocket__job_meta);
    *j = (struct hocket__lua_job){ .op = { "", 0 } };
    hocket__list_init(&j->link);
    lua_rawgetp(L, LUA_REGISTRYINDEX, hocket__job_meta);
    lua_setmetatable(L, -2);
    lua_getiuservalue(L, 1, HOCKET__BROKER_JOBS);
    lua_pushvalue(L, -2);
    lua_rawsetp(L, -2, j);
    lua_pop(L, 1);
    hocket__list_add(&b->dropped, &j->link);
    return j;
}

/* The data as JSON stays on the stack. */
static void keep_data(lua_State *L, struct hocket__lua_broker *b, int job, struct reading *r)
{
    struct hocket__buf *out = &b->rt->scratch;
    lua_getiuservalue(L, job, HOCKET__JOB_DATA);
    hocket__buf_reset(out);
    hocket__json_encode(L, lua_gettop(L), out);
    r->spec->data.p = lua_pushlstring(L, out->data, out->len);
    r->spec->data.n = out->len;
}

static void keep_fields(lua_State *L, struct hocket__lua_broker *b, int idx, int job,
    struct hocket__lua_job *j, struct reading *r)
{
    keep_spec(L, idx, r->kept, job);
    if (r->kept >> HOCKET__JOB_OP & 1) {
        lua_getiuservalue(L, job, HOCKET__JOB_OP);
        j->op = hocket__check_str(L, -1); /* the job keeps it */
        lua_pop(L, 1);
    }
    if (r->kept >> HOCKET__JOB_DATA & 1)
        keep_data(L, b, job, r);
}

/* Pushes the home of the run on top (false: none), and puts it beside the others of the table
 * below that. */
static struct hocket__job_home *home_new(lua_State *L, struct hocket__lua_broker *b)
{
    int run = lua_gettop(L);
    struct hocket__job_home *home = lua_newuserdatauv(L, sizeof(*home), HOCKET__HOME_VALUES);
    *home = (struct hocket__job_home){ .broker = b };
    lua_pushvalue(L, 1);
    lua_setiuservalue(L, -2, HOCKET__HOME_BROKER);
    if (lua_istable(L, run)) {
        lua_pushvalue(L, run);
        lua_setiuservalue(L, -2, HOCKET__HOME_RUN);
        lua_getfield(L, run, "journal");
        home->journal = hocket__check_journal(L, lua_gettop(L));
        lua_setiuservalue(L, -2, HOCKET__HOME_JOURNAL);
        lua_getfield(L, run, "accounts");
        home->accounts = hocket__check_accounts(L, lua_gettop(L));
        lua_setiuservalue(L, -2, HOCKET__HOME_ACCOUNTS);
    }
    lua_pushvalue(L, run);
    lua_pushvalue(L, -2);
    lua_rawset(L, run - 1);
    return home;
}

/* Copies into the table on top what it does not have of the one at `from`, but for what each job
 * has of its own. */
static void copy_missing(lua_State *L, int from)
{
    int to = lua_gettop(L);
    for (lua_pushnil(L); lua_next(L, from); lua_settop(L, to + 1)) {
        lua_pushvalue(L, -2);
        bool own = lua_rawget(L, to) != LUA_TNIL;
        lua_pop(L, 1);
        if (own)
            continue;
        lua_pushvalue(L, -2);
        lua_insert(L, -2);
        lua_rawset(L, to);
    }
}

/* Pushes everything that the context at `here` has and inherits as a table of its own: who outlives its
 * submitter, and submits its successor, would make a chain of them without an end. */
static void push_fresh_context(lua_State *L, int here)
{
    lua_createtable(L, 0, 4);
    int fresh = lua_gettop(L);
    lua_pushvalue(L, here);
    while (lua_istable(L, -1)) {
        int from = lua_gettop(L);
        lua_pushvalue(L, fresh);
        copy_missing(L, from);
        lua_settop(L, from);
        if (luaL_getmetafield(L, from, "__index") == LUA_TNIL)
            break;
        lua_replace(L, from);
    }
    lua_settop(L, fresh);
    static const char *const own[] = { "job", "inherited" };
    for (size_t i = 0; i < sizeof(own) / sizeof(own[0]); i++) {
        lua_pushnil(L);
        lua_setfield(L, fresh, own[i]);
    }
}

/* Pushes the home of the run that a job's context is in. */
static struct hocket__job_home *push_home(lua_State *L, struct hocket__lua_broker *b, int job)
{
    lua_getiuservalue(L, 1, HOCKET__BROKER_HOMES);
    int run = lua_gettop(L) + 1;
    lua_getiuservalue(L, job, HOCKET__JOB_CONTEXT);
    if (!lua_istable(L, run) || lua_getfield(L, run, "run") != LUA_TTABLE)
        lua_pushboolean(L, false);
    lua_replace(L, run);
    lua_settop(L, run);
    lua_pushvalue(L, run);
    if (lua_rawget(L, run - 1) == LUA_TUSERDATA)
        return lua_touserdata(L, -1);
    lua_pop(L, 1);
    return home_new(L, b);
}

/* The parent of a new job: the named job, else the one that submits it. */
static struct hocket__lua_job *push_parent(
    lua_State *L, struct hocket__lua_broker *b, int idx, const struct reading *r)
{
    if (!r->parent)
        return r->detached ? NULL : hocket__job_here(L, b);
    lua_getfield(L, idx, "parent");
    struct hocket__lua_job *parent =
        lua_isuserdata(L, -1) ? hocket__check_job(L, lua_gettop(L)) : NULL;
    return parent && parent->home->broker == b ? parent : NULL;
}

static void keep_parent(lua_State *L, struct hocket__lua_broker *b, int idx,
    struct hocket__lua_job *j, struct reading *r)
{
    const struct hocket__lua_job *parent = push_parent(L, b, idx, r);
    if (!parent)
        return;
    r->spec->parent = j->parent = parent->id;
    r->spec->parent_fence = parent->fence;
}

/* From the table at idx; `here` is the context of whoever submits. Leaves on the stack what the
 * spec borrows. */
static struct hocket__lua_job *read_job(
    lua_State *L, struct hocket__lua_broker *b, int idx, int here, struct hocket__job_spec *spec)
{
    struct reading r = { .spec = spec, .clock = b->clock };
    hocket__need_stack(L, 16);
    read_spec(L, idx, &r);
    struct hocket__lua_job *j =
        job_new(L, b, r.kept >> HOCKET__JOB_DATA ? HOCKET__JOB_LONG : HOCKET__JOB_SHORT);
    int job = lua_gettop(L);
    spec->ud = j;
    j->path = hocket__kept_reserve(b->rt);
    b->keyed |= j->path != 0;
    j->background = r.background;
    j->tells = j->quiet = r.kept >> HOCKET__JOB_EMIT & 1;
    lua_getfield(L, idx, "run");
    lua_setiuservalue(L, job, HOCKET__JOB_CALL);
    if (lua_istable(L, here) && (r.detached || r.parent))
        push_fresh_context(L, here);
    else
        lua_pushvalue(L, here);
    lua_setiuservalue(L, job, HOCKET__JOB_CONTEXT);
    keep_fields(L, b, idx, job, j, &r);
    int top = lua_gettop(L);
    j->home = push_home(L, b, job);
    lua_setiuservalue(L, job, HOCKET__JOB_HOME);
    keep_parent(L, b, idx, j, &r);
    lua_settop(L, top);
    return j;
}

/* ---- Submitting ------------------------------------------------------------------------------ */

static size_t read_all(lua_State *L, struct hocket__lua_broker *b, int idx, int here,
    struct hocket__job_spec *specs, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        lua_rawgeti(L, idx, (lua_Integer) i + 1);
        luaL_argcheck(L, lua_istable(L, -1), idx, "a list of tables expected");
        read_job(L, b, lua_gettop(L), here, &specs[i]);
    }
    return n;
}

/* The next n jobs have numbers that somebody else gives, where it is so: what is raised leaves jobs that nobody submits. */
static void take_numbers(lua_State *L, struct hocket__lua_broker *b, size_t n)
{
    hocket__need_stack(L, 4);
    if (lua_getiuservalue(L, 1, HOCKET__BROKER_NUMBERS) == LUA_TFUNCTION) {
        lua_pushinteger(L, (lua_Integer) n);
        lua_call(L, 1, 1);
        lua_Integer first = luaL_checkinteger(L, -1);
        if (first > 0)
            hocket__broker_pass_ids(b->broker, (uint64_t) first - 1);
    }
    lua_pop(L, 1);
}

static int submit(lua_State *L, struct hocket__lua_broker *b, struct hocket__job_spec *specs,
    size_t n, uint64_t *ids, struct hocket_error *err)
{
    take_numbers(L, b, n);
    uint64_t run = hocket__run_here(L);
    for (size_t i = 0; i < n; i++)
        specs[i].run = run ? run : 1;
    int rc = hocket__broker_submit(b->broker, specs, n, hocket__broker_now(b), ids, err);
    for (size_t i = 0; i < n && rc == 0; i++) {
        struct hocket__lua_job *j = specs[i].ud;
        j->id = ids[i];
        if (!j->ended)
            hocket__list_del(&j->link);
    }
    hocket__jobs_follow(L, 1, b);
    return rc < 0 ? rc : (int) n;
}

static void push_context(lua_State *L)
{
    if (!hocket__fiber_push_context(L))
        lua_pushnil(L);
}

/* b:revive(): Lua's, and raises when memory is out. */
static void revive(lua_State *L)
{
    lua_getfield(L, 1, "revive");
    lua_pushvalue(L, 1);
    lua_call(L, 1, 0);
}

int hocket__jobs_submit(lua_State *L, struct hocket__lua_broker *b, int idx, bool many,
    uint64_t *ids, struct hocket_error *err)
{
    struct hocket__job_spec one, *specs = &one;
    luaL_checktype(L, idx, LUA_TTABLE);
    if (b->dead)
        revive(L);
    push_context(L);
    int here = lua_gettop(L);
    if (!many) {
        read_job(L, b, idx, here, &one);
        return submit(L, b, &one, 1, ids, err);
    }
    size_t n = lua_rawlen(L, idx);
    luaL_argcheck(L, n >= 1 && n <= HOCKET__JOBS_MAX, idx, "1 to 1000 jobs expected");
    specs = lua_newuserdatauv(L, n * sizeof(*specs), 0);
    return submit(L, b, specs, read_all(L, b, idx, here, specs, n), ids, err);
}

/* b:submit_all{spec, …} -> ids | nil, error: all or none */
int hocket__broker_l_submit_all(lua_State *L)
{
    struct hocket__lua_broker *b = hocket__check_broker(L);
    struct hocket_error err;
    uint64_t ids[HOCKET__JOBS_MAX];
    int n = hocket__jobs_submit(L, b, 2, true, ids, &err);
    if (n < 0)
        return hocket__fail(L, &err);
    lua_createtable(L, n, 0);
    for (int i = 0; i < n; i++) {
        lua_pushinteger(L, (lua_Integer) ids[i]);
        lua_rawseti(L, -2, i + 1);
    }
    return 1;
}

/* b:submit(spec) -> id | nil, error */
int hocket__broker_l_submit(lua_State *L)
{
    struct hocket__lua_broker *b = hocket__check_broker(L);
    struct hocket_error err;
    uint64_t id;
    if (hocket__jobs_submit(L, b, 2, false, &id, &err) < 0)
        return hocket__fail(L, &err);
    lua_pushinteger(L, (lua_Integer) id);
    return 1;
}

/* What a job's function is given: an object with fields, notes about how it gets on, and the
 * account of what it uses. Its methods are a table that hocket/broker.lua may add to.
 *
 * The object has an index of its own instead of set fields: most jobs look at two of a dozen
 * things, and what is not looked at is never made into a Lua value. */

#include "bind/account/account.h"
#include "bind/broker/broker_impl.h"

/* The registry has the jobs' metatable under this address, which is also their mark. */
const char hocket__job_meta[] = "hocket.job";

struct hocket__lua_job *hocket__check_job(lua_State *L, int arg)
{
    return hocket__check_object(L, arg, hocket__job_meta);
}

int hocket__job_push_from_home(lua_State *L, int job, int value)
{
    lua_getiuservalue(L, job, HOCKET__JOB_HOME);
    int type = lua_getiuservalue(L, -1, value);
    lua_replace(L, -2);
    return type;
}

/* The record of a job, until it is forgotten. */
static const struct hocket__job *record_of(lua_State *L, const struct hocket__lua_job *j)
{
    hocket__runtime(L);
    const struct hocket__broker *b = j->home->broker->broker;
    return b ? hocket__broker_get(b, j->id) : NULL;
}

/* NULL: it has none that is still known. */
static struct hocket__lua_job *parent_of(const struct hocket__lua_job *j)
{
    return j->parent ? hocket__job_find(j->home->broker, j->parent) : NULL;
}

/* Pushes the parent of the job at `job`, and returns it; NULL, and nothing is pushed. */
static struct hocket__lua_job *push_parent(lua_State *L, int job, const struct hocket__lua_job *j)
{
    struct hocket__lua_job *parent = parent_of(j);
    if (!parent)
        return NULL;
    hocket__job_push_from_home(L, job, HOCKET__HOME_BROKER);
    hocket__job_push(L, lua_gettop(L), parent);
    lua_replace(L, -2);
    return parent;
}

/* ---- Fields ------------------------------------------------------------------------------------ */

enum field { ID, DATA, ATTEMPT, LAST_ERROR, PARENT, RUN, BROKER, MOVED, WAITERS, OVER };
static const char *const field_names[] = { "id", "data", "attempt", "last_error", "parent", "run",
    "broker", "moved", "waiters", "over", NULL };

/* Of the attempt before: the record has it until this one ends. */
static void push_last_error(lua_State *L, const struct hocket__lua_job *j)
{
    const struct hocket__job *record = j->attempt > 1 && !j->ended ? record_of(L, j) : NULL;
    if (record && record->error.n > 0)
        hocket__push_str(L, record->error);
    else
        lua_pushnil(L);
}

static void push_field(lua_State *L, const struct hocket__lua_job *j, enum field field)
{
    switch (field) {
    case ID: lua_pushinteger(L, (lua_Integer) j->id); break;
    case DATA: lua_getiuservalue(L, 1, HOCKET__JOB_DATA); break;
    case ATTEMPT: lua_pushinteger(L, j->attempt); break;
    case LAST_ERROR: push_last_error(L, j); break;
    case PARENT:
        if (!push_parent(L, 1, j))
            lua_pushnil(L);
        break;
    case RUN: hocket__job_push_from_home(L, 1, HOCKET__HOME_RUN); break;
    case BROKER: hocket__job_push_from_home(L, 1, HOCKET__HOME_BROKER); break;
    case MOVED: lua_pushinteger(L, (lua_Integer) j->moved); break;
    case WAITERS: lua_pushinteger(L, j->waiters); break;
    case OVER: lua_pushboolean(L, j->ended); break;
    }
}

/* What scripts have put into jobs: a table for each that has some, by job, weakly. */
static const char own_key;

/* Pushes that of the job at index 1; without one nil, or a new one. */
static int push_own(lua_State *L, bool make)
{
    lua_rawgetp(L, LUA_REGISTRYINDEX, &own_key);
    lua_pushvalue(L, 1);
    int type = lua_rawget(L, -2);
    if (type != LUA_TTABLE && make) {
        lua_pop(L, 1);
        lua_newtable(L);
        lua_pushvalue(L, 1);
        lua_pushvalue(L, -2);
        lua_rawset(L, -4);
    }
    lua_replace(L, -2);
    return type;
}

/* Upvalues: the runtime, the methods, the fields' numbers by name. Methods, fields, and what a
 * script has put into it. */
static int l_index(lua_State *L)
{
    const struct hocket__lua_job *j = hocket__check_job(L, 1);
    lua_settop(L, 2);
    lua_pushvalue(L, 2);
    if (lua_rawget(L, lua_upvalueindex(2)) != LUA_TNIL)
        return 1;
    lua_pushvalue(L, 2);
    if (lua_rawget(L, lua_upvalueindex(3)) != LUA_TNIL) {
        push_field(L, j, (enum field) lua_tointeger(L, -1));
        return 1;
    }
    if (push_own(L, false) != LUA_TTABLE)
        return 0;
    lua_pushvalue(L, 2);
    lua_rawget(L, -2);
    return 1;
}

/* Upvalues: the runtime, the fields' numbers by name. */
static int l_newindex(lua_State *L)
{
    hocket__check_job(L, 1);
    lua_settop(L, 3);
    lua_pushvalue(L, 2);
    if (lua_rawget(L, lua_upvalueindex(2)) != LUA_TNIL)
        return luaL_error(L, "a job's field '%s' cannot be changed", lua_tostring(L, 2));
    push_own(L, true);
    lua_insert(L, 2);
    lua_settop(L, 4);
    lua_rawset(L, 2);
    return 0;
}

/* ---- How it gets on ------------------------------------------------------------------------------ */

void hocket__job_touch(struct hocket__lua_job *j)
{
    for (; j; j = parent_of(j))
        j->moved++;
}

/* job:touch() */
static int l_touch(lua_State *L)
{
    hocket__job_touch(hocket__check_job(L, 1));
    return 0;
}

/* Bytes of one note. */
#define NOTE 4000

/* The job is the first argument. A job that has ended reports to nobody. */
static void note(
    lua_State *L, struct hocket__lua_job *j, enum hocket__broker_note kind, struct hocket__str text)
{
    struct hocket_error err;
    struct hocket__lua_broker *b = j->home->broker;
    if (b->broker)
        hocket__broker_note(b->broker, j->id, j->fence, hocket__broker_now(b), kind, text, &err);
    hocket__job_push_from_home(L, 1, HOCKET__HOME_BROKER);
    hocket__jobs_follow(L, lua_gettop(L), b);
}

static int add_note(lua_State *L, enum hocket__broker_note kind)
{
    struct hocket__lua_job *j = hocket__check_job(L, 1);
    struct hocket__str text = hocket__check_str(L, 2);
    char room[NOTE + sizeof(HOCKET__JOB_REST)];
    hocket__runtime(L);
    hocket__job_touch(j);
    note(L, j, kind, hocket__job_shorten(text, NOTE, room));
    return 0;
}

/* job:progress(text) */
static int l_progress(lua_State *L)
{
    return add_note(L, HOCKET__NOTE_PROGRESS);
}

/* job:log(text) */
static int l_log(lua_State *L)
{
    return add_note(L, HOCKET__NOTE_LOG);
}

/* ---- Its account ------------------------------------------------------------------------------- */

/* The run's own account: what is used outside of jobs. */
#define ROOT 1

static uint64_t account_of(lua_State *L, struct hocket__lua_job *j);

/* The account of the job in whose tool or step the one on top was submitted, at another broker: that of a run that is kept does not
 * have what those do. */
static uint64_t account_around(lua_State *L, const struct hocket__lua_job *j)
{
    int top = lua_gettop(L);
    uint64_t account = ROOT;
    hocket__need_stack(L, 12);
    if (lua_getiuservalue(L, top, HOCKET__JOB_CONTEXT) == LUA_TTABLE
        && lua_getfield(L, -1, "job") == LUA_TUSERDATA) {
        struct hocket__lua_job *around = hocket__check_job(L, lua_gettop(L));
        if (around->home->accounts == j->home->accounts)
            account = account_of(L, around);
    }
    lua_settop(L, top);
    return account;
}

/* The account that the one of the job on top stands below: its parent's, in the same run. */
static uint64_t account_above(lua_State *L, const struct hocket__lua_job *j)
{
    const struct hocket__lua_job *known = parent_of(j);
    if (!known && !j->parent)
        return account_around(L, j);
    if (!known || known->home != j->home)
        return ROOT;
    /* parent accounts are opened first, and a job's own account only below an open one */
    if (known->account)
        return known->account;
    hocket__need_stack(L, 12);
    uint64_t above = account_of(L, push_parent(L, lua_gettop(L), j));
    lua_pop(L, 1);
    return above;
}

static void limit_account(lua_State *L, int job, uint64_t account)
{
    if (lua_getiuservalue(L, job, HOCKET__JOB_BUDGET) != LUA_TTABLE)
        return;
    int budget = lua_gettop(L);
    hocket__job_push_from_home(L, job, HOCKET__HOME_ACCOUNTS);
    lua_getfield(L, -1, "limit");
    lua_insert(L, -2);
    lua_pushinteger(L, (lua_Integer) account);
    lua_pushvalue(L, budget);
    lua_call(L, 3, 2);
    if (lua_isnil(L, -2))
        lua_error(L);
}

static uint64_t open_account(lua_State *L, int job, const struct hocket__lua_job *j, uint64_t above)
{
    const struct hocket__job *record = record_of(L, j);
    struct hocket__account_names names = { .op = j->op };
    if (record)
        names.agent = record->agent;
    if (lua_getiuservalue(L, job, HOCKET__JOB_TRIGGER) == LUA_TSTRING)
        names.trigger = hocket__check_str(L, -1);
    struct hocket__account_change c = { .op = HOCKET__ACCOUNT_OPEN, .id = above, .names = names };
    uint64_t id = hocket__accounts_do(j->home->accounts, &c);
    return id ? id : (uint64_t) hocket__raise_nomem(L);
}

/* It is opened when it is first asked for: a job that calls no model costs nothing. The job is on
 * top of the stack, and stays. */
static uint64_t account_of(lua_State *L, struct hocket__lua_job *j)
{
    int job = lua_gettop(L);
    if (j->account)
        return j->account;
    j->account = open_account(L, job, j, account_above(L, j));
    limit_account(L, job, j->account);
    lua_settop(L, job);
    return j->account;
}

struct hocket__str hocket__job_put_usage(const struct hocket__lua_job *j, char *out)
{
    struct hocket__account_info info;
    if (!j->account || !hocket__account_get(j->home->accounts->s, j->account, &info)
        || (info.total.calls == 0 && info.total.tool_calls == 0))
        return hocket__str("", 0);
    return hocket__str(out, hocket__usage_sum_put(&info.total, out));
}

/* job:account() -> id | nil outside of a run */
static int l_account(lua_State *L)
{
    struct hocket__lua_job *j = hocket__check_job(L, 1);
    lua_settop(L, 1);
    if (j->home->accounts)
        lua_pushinteger(L, (lua_Integer) account_of(L, j));
    else
        lua_pushnil(L);
    return 1;
}

/* job:usage() -> usage | nil when nobody has called a model */
static int l_usage(lua_State *L)
{
    struct hocket__lua_job *j = hocket__check_job(L, 1);
    if (!j->account)
        return 0;
    hocket__account_push_usage(L, j->home->accounts, j->account);
    return 1;
}

/* here() -> the run that the running fiber belongs to, and the account of the job that it works
 * for; nothing outside of a run */
int hocket__job_l_account_here(lua_State *L)
{
    uint64_t account = ROOT;
    lua_settop(L, 0);
    if (!hocket__fiber_push_context(L) || !lua_istable(L, 1)
        || lua_getfield(L, 1, "run") != LUA_TTABLE)
        return 0;
    if (lua_getfield(L, 1, "job") == LUA_TUSERDATA) {
        struct hocket__lua_job *j = hocket__check_job(L, 3);
        hocket__job_push_from_home(L, 3, HOCKET__HOME_RUN);
        bool same = lua_rawequal(L, 2, 4);
        lua_settop(L, 3);
        account = same ? account_of(L, j) : ROOT;
    }
    lua_settop(L, 2);
    lua_pushinteger(L, (lua_Integer) account);
    return 2;
}

/* ---- Opening ------------------------------------------------------------------------------------- */

static const luaL_Reg methods[] = {
    { "touch", l_touch },
    { "progress", l_progress },
    { "log", l_log },
    { "account", l_account },
    { "usage", l_usage },
    { NULL, NULL },
};

static void push_numbers(lua_State *L)
{
    lua_newtable(L);
    for (int i = 0; field_names[i]; i++) {
        hocket__set_int(L, field_names[i], i);
    }
}

static void open_own(lua_State *L)
{
    hocket__push_weak_keys(L);
    lua_rawsetp(L, LUA_REGISTRYINDEX, &own_key);
}

/* Leaves the methods. */
void hocket__open_job(lua_State *L)
{
    open_own(L);
    lua_newtable(L);
    hocket__setfuncs(L, methods);
    lua_newtable(L);
    push_numbers(L);
    lua_pushvalue(L, lua_upvalueindex(1));
    lua_pushvalue(L, -4);
    lua_pushvalue(L, -3);
    lua_pushcclosure(L, l_index, 3);
    lua_setfield(L, -3, "__index");
    lua_pushvalue(L, lua_upvalueindex(1));
    lua_insert(L, -2);
    lua_pushcclosure(L, l_newindex, 2);
    lua_setfield(L, -2, "__newindex");
    hocket__set_cstr(L, "__name", hocket__job_meta);
    lua_pushliteral(L, "locked");
    lua_setfield(L, -2, "__metatable");
    lua_rawsetp(L, LUA_REGISTRYINDEX, hocket__job_meta);
}

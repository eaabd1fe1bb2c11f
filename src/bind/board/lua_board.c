/* hocket.internal.core.board: the task board. Checks arguments, calls core/board/board.h, pushes results.
 *
 * A board that is attached to a run emits its changes into the run's journal
 * (hocket__emit_to_journal); one without a run keeps them to itself until a run takes it. */

#include "bind/board/board.h"

#include "bind/journal/journal.h"
#include "bind/json/json.h"
#include "bind/options.h"
#include "bind/util.h"
#include "core/board/board.h"

static const char META[] = "hocket.board";
#define MAX_IDS 1024

struct board {
    struct hocket__runtime *rt;
    struct hocket__board *board;
    struct hocket__lua_journal *journal; /* kept alive by the user value */
};

int hocket__emit_to_journal(const char *type, struct hocket__str agent, struct hocket__str payload,
    struct hocket_error *err, void *ud)
{
    struct hocket__lua_journal *j = *(struct hocket__lua_journal **) ud;
    if (!j)
        return 0;
    struct hocket__record r = { .type = hocket__cstr(type), .agent = agent, .payload = payload };
    int64_t seq = hocket__journal_put(j, &r, err);
    return seq < 0 ? (int) seq : 0;
}

static struct board *check_board(lua_State *L)
{
    return hocket__check_object(L, 1, META);
}

/* ---- Making -------------------------------------------------------------------- */

/* The names in option `agents`, as slices in a block that stays on the stack. */
static void read_agents(lua_State *L, struct hocket__board_options *o)
{
    if (lua_getfield(L, 1, "agents") == LUA_TNIL)
        return;
    luaL_checktype(L, -1, LUA_TTABLE);
    lua_Unsigned n = lua_rawlen(L, -1);
    struct hocket__str *names = lua_newuserdatauv(L, (n + 1) * sizeof(*names), 0);
    for (lua_Unsigned i = 0; i < n; i++) {
        if (lua_rawgeti(L, -2, (lua_Integer) i + 1) != LUA_TSTRING)
            luaL_error(L, "bad option 'agents' (a list of names expected)");
        names[i].p = lua_tolstring(L, -1, &names[i].n);
        lua_pop(L, 1); /* the table keeps it */
    }
    o->agents = names;
    o->agent_count = n;
}

/* new{limit=, max_text=, agents=} -> board */
static int l_new(lua_State *L)
{
    static const struct hocket__opt rows[] = {
        { HOCKET__OPT_INT("limit", struct hocket__board_options, max_tasks, 0, 100000) },
        { HOCKET__OPT_INT("max_text", struct hocket__board_options, max_text, 1, 1 << 24) },
        { HOCKET__OPT_OWN("agents") },
        { 0 },
    };
    struct hocket__runtime *rt = hocket__runtime(L);
    struct hocket_error err;
    lua_settop(L, 1);
    if (lua_isnil(L, 1)) {
        lua_newtable(L);
        lua_replace(L, 1);
    }
    struct hocket__board_options o = hocket__board_options_default();
    hocket__opt_read(L, 1, rows, &o);
    read_agents(L, &o);
    struct board *b = hocket__new_object(L, sizeof(*b), 1, META);
    *b = (struct board){ .rt = rt };
    luaL_setmetatable(L, META);
    o.emit = hocket__emit_to_journal;
    o.ud = &b->journal;
    if (hocket__board_new(rt->alloc, &o, &b->board, &err) < 0)
        return hocket__raise(L, &err);
    return 1;
}

/* b:attach(journal, number?): changes are recorded there from now on, as those of this board among the run's */
static int l_attach(lua_State *L)
{
    struct board *b = check_board(L);
    lua_Integer number = luaL_optinteger(L, 3, 0);
    luaL_argcheck(L, number >= 0, 3, "a number from 0 on expected");
    b->journal = hocket__check_journal(L, 2);
    hocket__board_set_number(b->board, number);
    lua_pushvalue(L, 2);
    lua_setiuservalue(L, 1, 1);
    return 0;
}

/* b:allow(n): from now on so many more tasks may be created */
static int l_allow(lua_State *L)
{
    struct board *b = check_board(L);
    lua_Integer n = luaL_checkinteger(L, 2);
    luaL_argcheck(L, n >= 0 && n <= 100000, 2, "a number from 0 to 100000 expected");
    hocket__board_allow(b->board, (size_t) n);
    return 0;
}

static int l_gc(lua_State *L)
{
    struct board *b = hocket__gc_userdata(L, l_gc);
    if (!b)
        return 0;
    hocket__board_free(b->board);
    b->board = NULL;
    return 0;
}

/* ---- Ids ------------------------------------------------------------------------- */

/* The list at arg: an array of integers. `out` has room for MAX_IDS. */
static struct hocket__ids check_ids(lua_State *L, int arg, int64_t *out)
{
    luaL_checktype(L, arg, LUA_TTABLE);
    lua_Unsigned n = lua_rawlen(L, arg);
    luaL_argcheck(L, n <= MAX_IDS, arg, "too many ids");
    for (lua_Unsigned i = 0; i < n; i++) {
        int is_int;
        lua_rawgeti(L, arg, (lua_Integer) i + 1);
        out[i] = lua_tointegerx(L, -1, &is_int);
        luaL_argcheck(L, is_int, arg, "ids have to be integers");
        lua_pop(L, 1);
    }
    return (struct hocket__ids){ out, n };
}

static void push_ids(lua_State *L, const int64_t *ids, size_t n)
{
    lua_createtable(L, (int) n, 0);
    for (size_t i = 0; i < n; i++) {
        lua_pushinteger(L, ids[i]);
        lua_rawseti(L, -2, (lua_Integer) i + 1);
    }
}

/* ids(value) -> array of integers | nil, error: from whatever form a model gave them */
static int l_ids(lua_State *L)
{
    struct hocket__runtime *rt = hocket__runtime(L);
    struct hocket_error err;
    int64_t ids[MAX_IDS];
    hocket__buf_reset(&rt->scratch);
    if (lua_isnoneornil(L, 1))
        hocket__buf_adds(&rt->scratch, "null");
    else
        hocket__json_encode(L, 1, &rt->scratch);
    int n = hocket__ids_parse(rt->alloc, hocket__buf_str(&rt->scratch), ids, MAX_IDS, &err);
    if (n < 0)
        return hocket__fail(L, &err);
    push_ids(L, ids, (size_t) n);
    return 1;
}

/* ---- Changing ---------------------------------------------------------------------- */

static struct hocket__str field(lua_State *L, int idx, const char *name)
{
    struct hocket__str s = { "", 0 };
    int type = lua_getfield(L, idx, name);
    if (type == LUA_TSTRING)
        s.p = lua_tolstring(L, -1, &s.n);
    else if (type != LUA_TNIL)
        luaL_error(
            L, "bad field '%s' of a task (string expected, got %s)", name, lua_typename(L, type));
    lua_pop(L, 1);
    return s;
}

/* The number of another task; 0: none is named. */
static int64_t task_field(lua_State *L, int idx, const char *name)
{
    int is_int = 0, type = lua_getfield(L, idx, name);
    lua_Integer id = lua_tointegerx(L, -1, &is_int);
    if (type != LUA_TNIL && (!is_int || id < 1))
        luaL_error(L, "bad field '%s' of a task (the number of a task expected)", name);
    lua_pop(L, 1);
    return type == LUA_TNIL ? 0 : id;
}

/* b:create(agent, {{text=, assigned_to=, active_form=, parent=, unblocks=}, …}) -> ids | nil, error */
static int l_create(lua_State *L)
{
    struct board *b = check_board(L);
    struct hocket_error err;
    struct hocket__str agent = hocket__check_str(L, 2);
    luaL_checktype(L, 3, LUA_TTABLE);
    lua_Unsigned n = lua_rawlen(L, 3);
    luaL_argcheck(L, n <= 100000, 3, "too many tasks");
    struct hocket__task_spec *specs = lua_newuserdatauv(L, (n + 1) * sizeof(*specs), 0);
    for (lua_Unsigned i = 0; i < n; i++) {
        lua_rawgeti(L, 3, (lua_Integer) i + 1);
        luaL_argcheck(L, lua_istable(L, -1), 3, "a list of tables expected");
        int at = lua_gettop(L);
        specs[i] = (struct hocket__task_spec){ field(L, at, "text"), field(L, at, "assigned_to"),
            field(L, at, "active_form"), task_field(L, at, "parent"),
            task_field(L, at, "unblocks") };
        lua_pop(L, 1);
    }
    int64_t first;
    if (hocket__board_create(b->board, agent, specs, n, &first, &err) < 0)
        return hocket__fail(L, &err);
    lua_createtable(L, (int) n, 0);
    for (lua_Unsigned i = 0; i < n; i++) {
        lua_pushinteger(L, first + (lua_Integer) i);
        lua_rawseti(L, -2, (lua_Integer) i + 1);
    }
    return 1;
}

/* b:start(agent, ids) -> true | nil, error */
static int l_start(lua_State *L)
{
    struct board *b = check_board(L);
    struct hocket_error err;
    int64_t ids[MAX_IDS];
    struct hocket__str agent = hocket__check_str(L, 2);
    enum hocket__board_pace pace = lua_toboolean(L, 4) ? HOCKET__ONE_BY_ONE : HOCKET__ALL_AT_ONCE;
    int rc = hocket__board_start(b->board, agent, check_ids(L, 3, ids), pace, &err);
    return hocket__succeed(L, rc, &err);
}

/* b:complete(agent, own_ids, id, result?, by?) -> {id, corrected, already} | nil, error */
static int l_complete(lua_State *L)
{
    struct board *b = check_board(L);
    struct hocket_error err;
    struct hocket__completion done;
    int64_t ids[MAX_IDS];
    struct hocket__str agent = hocket__check_str(L, 2);
    struct hocket__ids own = check_ids(L, 3, ids);
    int64_t id = luaL_checkinteger(L, 4);
    struct hocket__str result = hocket__text_at(L, 5), by = hocket__text_at(L, 6);
    if (hocket__board_complete(b->board, agent, by, own, id, result, &done, &err) < 0)
        return hocket__fail(L, &err);
    lua_createtable(L, 0, 3);
    hocket__set_int(L, "id", done.id);
    hocket__set_bool(L, "corrected", done.corrected);
    hocket__set_bool(L, "already", done.already);
    return 1;
}

typedef int close_fn(struct hocket__board *b, struct hocket__str agent, int64_t id,
    struct hocket__str why, struct hocket_error *err);

static int close_task(lua_State *L, close_fn *fn)
{
    struct board *b = check_board(L);
    struct hocket_error err;
    return hocket__succeed(L,
        fn(b->board, hocket__check_str(L, 2), luaL_checkinteger(L, 3), hocket__text_at(L, 4), &err),
        &err);
}

/* b:fail(agent, id, error) and so on -> true | nil, error */
static int l_fail(lua_State *L)
{
    return close_task(L, hocket__board_fail);
}

static int l_skip(lua_State *L)
{
    return close_task(L, hocket__board_skip);
}

static int l_cancel(lua_State *L)
{
    return close_task(L, hocket__board_cancel);
}

/* b:reassign(agent, id, to, error?) -> true | nil, error */
static int l_reassign(lua_State *L)
{
    struct board *b = check_board(L);
    struct hocket_error err;
    int rc = hocket__board_reassign(b->board, hocket__check_str(L, 2), luaL_checkinteger(L, 3),
        hocket__check_str(L, 4), hocket__text_at(L, 5), &err);
    return hocket__succeed(L, rc, &err);
}

/* b:settle(agent, own_ids, success, error?) -> ids that were left open | nil, error */
static int l_settle(lua_State *L)
{
    struct board *b = check_board(L);
    struct hocket_error err;
    int64_t ids[MAX_IDS], settled[MAX_IDS];
    struct hocket__str agent = hocket__check_str(L, 2);
    struct hocket__ids own = check_ids(L, 3, ids);
    int n = hocket__board_settle(
        b->board, agent, own, lua_toboolean(L, 4), hocket__text_at(L, 5), settled, &err);
    if (n < 0)
        return hocket__fail(L, &err);
    push_ids(L, settled, (size_t) n);
    return 1;
}

/* b:replay(record) -> whether it was one of a board | nil, error */
static int l_replay(lua_State *L)
{
    struct board *b = check_board(L);
    struct hocket_error err;
    int rc = hocket__board_replay(b->board, hocket__check_str(L, 2), &err);
    if (rc < 0)
        return hocket__fail(L, &err);
    lua_pushboolean(L, rc > 0);
    return 1;
}

/* ---- Reading ------------------------------------------------------------------------- */

/* b:status() -> "3/6 done, tasks 5, 6 pending" */
static int l_status(lua_State *L)
{
    struct board *b = check_board(L);
    hocket__buf_reset(&b->rt->scratch);
    if (hocket__board_status(b->board, &b->rt->scratch) < 0)
        return hocket__raise_nomem(L);
    hocket__push_str(L, hocket__buf_str(&b->rt->scratch));
    return 1;
}

/* The JSON has to be out of the scratch buffer before it is decoded, which uses that too. */
static int push_json(lua_State *L, struct hocket__runtime *rt)
{
    struct hocket_error err;
    struct hocket__str json;
    hocket__push_str(L, hocket__buf_str(&rt->scratch));
    json.p = lua_tolstring(L, -1, &json.n);
    if (hocket__json_push(L, json, &err) < 0)
        return hocket__raise(L, &err);
    return 1;
}

/* b:tasks(ids?, as_json?) -> array of tasks, or that as JSON text | nil, error */
static int l_tasks(lua_State *L)
{
    struct board *b = check_board(L);
    struct hocket_error err;
    int64_t v[MAX_IDS];
    struct hocket__ids ids, *some = NULL;
    if (!lua_isnoneornil(L, 2)) {
        ids = check_ids(L, 2, v);
        some = &ids;
    }
    hocket__buf_reset(&b->rt->scratch);
    if (hocket__board_read(b->board, some, &b->rt->scratch, &err) < 0)
        return hocket__fail(L, &err);
    if (!lua_toboolean(L, 3))
        return push_json(L, b->rt);
    hocket__push_str(L, hocket__buf_str(&b->rt->scratch));
    return 1;
}

/* b:number() -> which of its run's boards it is | nil */
static int l_number(lua_State *L)
{
    int64_t number = hocket__board_number(check_board(L)->board);
    if (number == 0)
        return 0;
    lua_pushinteger(L, number);
    return 1;
}

static int l_len(lua_State *L)
{
    lua_pushinteger(L, (lua_Integer) hocket__board_count(check_board(L)->board));
    return 1;
}

static const luaL_Reg functions[] = { { "new", l_new }, { "ids", l_ids }, { NULL, NULL } };
static const luaL_Reg methods[] = {
    { "attach", l_attach },
    { "allow", l_allow },
    { "create", l_create },
    { "start", l_start },
    { "complete", l_complete },
    { "fail", l_fail },
    { "skip", l_skip },
    { "cancel", l_cancel },
    { "reassign", l_reassign },
    { "settle", l_settle },
    { "replay", l_replay },
    { "status", l_status },
    { "tasks", l_tasks },
    { "number", l_number },
    { "__len", l_len },
    { "__gc", l_gc },
    { NULL, NULL },
};

int hocket__open_board(lua_State *L)
{
    return hocket__open_class(L, META, methods, functions);
}

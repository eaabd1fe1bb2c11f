/* hocket.internal.core.store: what is in the host's store, and what is said to its runs.
 *
 * Functions that wait return nil and an error when they fail. Long lists come in pages: the second result of runs,
 * records and entries says whether there is more behind the last row. */
#include "bind/store/store_impl.h"

#include <string.h>

#include "bind/fiber/fiber.h"
#include "bind/open.h"
#include "bind/options.h"
#include "bind/store/store.h"
#include "bind/util.h"
#include "os/self.h"
#include "store/fields.h"

/* The part of hocket.internal.core.store that is about items: what belongs to no run, as schedules and workers. */

/* What `push` makes of the answer's first row; true where there is none. */
static int give_first(
    lua_State *L, lua_KContext at, void (*push)(lua_State *L, const struct hocket__store_row *row))
{
    struct hocket__store_ask *a = lua_touserdata(L, (int) at);
    struct hocket__str rows = hocket__buf_str(&a->rows);
    struct hocket__store_row row;
    if (a->status < 0)
        return hocket__store_ask_failed(L, a);
    if (hocket__store_unpack(&rows, &row) == 1)
        push(L, &row);
    else
        lua_pushboolean(L, true);
    return 1;
}

static void push_version(lua_State *L, const struct hocket__store_row *row)
{
    lua_pushinteger(L, row->item.version);
}

static int give_version(lua_State *L, int status, lua_KContext at)
{
    (void) status;
    return give_first(L, at, push_version);
}

static int ask_put(lua_State *L, struct hocket__store_ask *a, const struct hocket__store_item *item,
    const struct hocket__store_run *run)
{
    int64_t expected = hocket__opt_int(L, 1, "expected", HOCKET__STORE_ANY, -1, INT64_MAX);
    int rc = hocket__store_pack_files(L, 1, item->generation, &a->text);
    if (rc == 0)
        rc = hocket__store_item_put(
            a->s, item, expected, run, hocket__buf_str(&a->text), &a->reply, &a->call);
    hocket__buf_deinit(&a->text);
    return rc;
}

/* item_put{kind=, id=, json=, due_ms=, generation=, files=, expected=, run=} -> version.
 *
 * Returns when the item is on the disk, with its files and its run
 * ({id=, target=, input=, options=, generation=, pool=, project=, due_ms=, caller=}).
 *
 * expected: the version that the item has, 0 for none, -1 (the default) for any. The error "state" says that it has another;
 * then nothing was written. */
static int l_store_item_put(lua_State *L)
{
    struct hocket__store_run run;
    static const struct hocket__opt rows[] = {
        { HOCKET__OPT_TEXT("kind", struct hocket__store_item, kind) },
        { HOCKET__OPT_TEXT("id", struct hocket__store_item, id) },
        { HOCKET__OPT_TEXT("json", struct hocket__store_item, json) },
        { HOCKET__OPT_INT("due_ms", struct hocket__store_item, due_ms, 0, INT64_MAX) },
        { HOCKET__OPT_TEXT("generation", struct hocket__store_item, generation) },
        { 0 },
    };
    struct hocket__store_item item = { .due_ms = 0 };
    luaL_checktype(L, 1, LUA_TTABLE);
    lua_settop(L, 1);
    hocket__opt_fields(L, 1, rows, &item);
    luaL_argcheck(
        L, item.kind.n > 0 && item.id.n > 0 && item.json.n > 0, 1, "an item has kind, id and json");
    bool has_run = lua_getfield(L, 1, "run") == LUA_TTABLE;
    if (has_run) {
        luaL_argcheck(L, hocket__opt_str(L, 2, "id").n > 0, 1, "a run has an id");
        hocket__store_read_job(L, 2, &run);
    }
    struct hocket__store_ask *a = hocket__store_ask_push(L);
    if (!a)
        return 2;
    return hocket__store_ask_wait(
        L, a, ask_put(L, a, &item, has_run ? &run : NULL), -1, give_version);
}

/* item_del(kind, id, expected?) -> true */
static int l_store_item_del(lua_State *L)
{
    struct hocket__str kind = hocket__check_str(L, 1), id = hocket__check_str(L, 2);
    int64_t expected = luaL_optinteger(L, 3, HOCKET__STORE_ANY);
    struct hocket__store_ask *a = hocket__store_ask_push(L);
    if (!a)
        return 2;
    return hocket__store_ask_wait(L, a,
        hocket__store_item_del(a->s, kind, id, expected, &a->reply, &a->call), -1, give_version);
}

/* pools() -> list of {pool, what, host, pid, n, since_ms}: struct hocket__store_pool */
static int l_store_pools(lua_State *L)
{
    struct hocket__store_ask *a = hocket__store_ask_push(L);
    if (!a)
        return 2;
    a->limit = SIZE_MAX;
    return hocket__store_ask_wait(
        L, a, hocket__store_pools(a->s, &a->reply, &a->call), -1, hocket__store_give_list);
}

/* blocked(limit) -> list of runs of pools, without input and options, that wait for somebody, or that another one has called */
static int l_store_blocked(lua_State *L)
{
    int64_t limit = luaL_checkinteger(L, 1);
    luaL_argcheck(L, limit > 0, 1, "a limit");
    struct hocket__store_ask *a = hocket__store_ask_push(L);
    if (!a)
        return 2;
    a->limit = SIZE_MAX;
    return hocket__store_ask_wait(L, a,
        hocket__store_blocked(a->s, (size_t) limit, &a->reply, &a->call), -1,
        hocket__store_give_list);
}

/* process() -> the machine's name and the process's number, as owners of runs have them; where that number means
 * something, and when the process began: for has_ended */
static int l_store_process(lua_State *L)
{
    struct hocket__self self = { 0 };
    hocket__self_init(&self);
    lua_pushstring(L, self.host);
    lua_pushinteger(L, self.pid);
    lua_pushstring(L, self.place);
    lua_pushinteger(L, self.start);
    return 4;
}

/* has_ended(place, pid, start) -> whether that process is known to be gone: of another machine nothing is */
static int l_store_has_ended(lua_State *L)
{
    struct hocket__self self = { 0 };
    struct hocket__str place = hocket__check_str(L, 1);
    hocket__self_init(&self);
    lua_pushboolean(L,
        hocket__self_knows_ended(&self, place, luaL_checkinteger(L, 2), luaL_checkinteger(L, 3)));
    return 1;
}

/* items_due(kind, ahead_ms, limit) -> list as of items, more: items that are due within so many milliseconds by the store's clock,
 * `limit` at most; `now_ms` in each is that clock */
static int l_store_items_due(lua_State *L)
{
    struct hocket__str kind = hocket__check_str(L, 1);
    lua_Integer ahead = luaL_checkinteger(L, 2), limit = luaL_checkinteger(L, 3);
    luaL_argcheck(L, limit > 0, 3, "at least one");
    struct hocket__store_ask *a = hocket__store_ask_push(L);
    if (!a)
        return 2;
    a->limit = (size_t) limit;
    return hocket__store_ask_wait(L, a,
        hocket__store_items_due(a->s, kind, ahead, &a->reply, &a->call), -1,
        hocket__store_give_list);
}

/* items(kind, id?) -> list of {kind, id, version, due_ms, at_ms, now_ms, generation, json}, what is due first in front */
static int l_store_items(lua_State *L)
{
    struct hocket__str kind = hocket__check_str(L, 1);
    struct hocket__str id = hocket__text_at(L, 2);
    struct hocket__store_ask *a = hocket__store_ask_push(L);
    if (!a)
        return 2;
    a->limit = SIZE_MAX;
    return hocket__store_ask_wait(L, a, hocket__store_items(a->s, kind, id, &a->reply, &a->call),
        -1, hocket__store_give_list);
}

/* The part of hocket.internal.core.store that is about notes: what agents remember. */

static int done(lua_State *L, int status, lua_KContext at)
{
    struct hocket__store_ask *a = lua_touserdata(L, (int) at);
    (void) status;
    if (a->status < 0)
        return hocket__store_ask_failed(L, a);
    lua_pushboolean(L, true);
    return 1;
}

/* note_put(memory, id, text, meta, labels, max_notes, max_bytes, vector?) -> true, when it is on the disk */
static int l_store_note_put(lua_State *L)
{
    struct hocket__store_note n = { .memory = hocket__check_str(L, 1),
        .id = hocket__check_str(L, 2),
        .text = hocket__check_str(L, 3),
        .meta = hocket__check_str(L, 4),
        .labels = (uint64_t) luaL_checkinteger(L, 5),
        .updated_ms = hocket__wall_ms() };
    if (!lua_isnoneornil(L, 8))
        n.vector = hocket__check_str(L, 8);
    lua_Integer notes = luaL_checkinteger(L, 6), bytes = luaL_checkinteger(L, 7);
    struct hocket__store_ask *a = hocket__store_ask_push(L);
    if (!a)
        return 2;
    int rc =
        hocket__store_note_put(a->s, &n, (uint64_t) notes, (uint64_t) bytes, &a->reply, &a->call);
    return hocket__store_ask_wait(L, a, rc, -1, done);
}

/* note_del(memory, id) -> true */
static int l_store_note_del(lua_State *L)
{
    struct hocket__str memory = hocket__check_str(L, 1), id = hocket__check_str(L, 2);
    struct hocket__store_ask *a = hocket__store_ask_push(L);
    if (!a)
        return 2;
    return hocket__store_ask_wait(
        L, a, hocket__store_note_del(a->s, memory, id, &a->reply, &a->call), -1, done);
}

/* notes{memory=, id=, query=, vector=, from=, limit=} -> list, more */
static int l_store_notes(lua_State *L)
{
    static const struct hocket__opt rows[] = {
        { HOCKET__OPT_TEXT("memory", struct hocket__store_note_query, memory) },
        { HOCKET__OPT_TEXT("id", struct hocket__store_note_query, id) },
        { HOCKET__OPT_TEXT("query", struct hocket__store_note_query, query) },
        { HOCKET__OPT_TEXT("vector", struct hocket__store_note_query, vector) },
        { HOCKET__OPT_INT("from", struct hocket__store_note_query, from, 0, INT64_C(1) << 40) },
        { HOCKET__OPT_INT("limit", struct hocket__store_note_query, limit, 1, HOCKET__STORE_PAGE) },
        { 0 },
    };
    struct hocket__store_note_query q = { .limit = HOCKET__STORE_PAGE };
    lua_settop(L, 1);
    luaL_checktype(L, 1, LUA_TTABLE);
    hocket__opt_read(L, 1, rows, &q);
    struct hocket__store_ask *a = hocket__store_ask_push(L);
    if (!a)
        return 2;
    a->limit = q.limit++; /* one more says that there is more */
    return hocket__store_ask_wait(
        L, a, hocket__store_notes(a->s, &q, &a->reply, &a->call), -1, hocket__store_give_list);
}

/* ---- Rows ------------------------------------------------------------------------------------ */

static void push_owner(lua_State *L, const struct hocket__store_owner *o)
{
    lua_createtable(L, 0, 3);
    hocket__set_int(L, "pid", o->pid);
    hocket__set_str(L, "host", o->host);
    hocket__set_int(L, "since_ms", o->since_ms);
}

/* What nobody knows is not there. */
static void set_usage(lua_State *L, const struct hocket__store_run *r)
{
    if (r->cost >= 0) {
        hocket__set_number(L, "cost", (double) r->cost / 1e9);
    }
    if (r->tokens >= 0)
        hocket__set_int(L, "tokens", r->tokens);
}

/* Of a run that workers may take. */
static void set_queue(lua_State *L, const struct hocket__store_run *r)
{
    hocket__set_str(L, "pool", r->pool);
    hocket__set_str(L, "project", r->project);
    hocket__set_str(L, "caller", hocket__cstr(r->caller));
    if (r->due_ms != 0)
        hocket__set_int(L, "due_ms", r->due_ms);
    if (r->attempts != 0)
        hocket__set_int(L, "attempts", r->attempts);
}

static void push_run(lua_State *L, const struct hocket__store_run *r)
{
    lua_createtable(L, 0, 16);
    hocket__set_str(L, "id", hocket__cstr(r->id));
    if (r->parent[0]) {
        hocket__set_str(L, "parent", hocket__cstr(r->parent));
        hocket__set_int(L, "at_n", (int64_t) r->at_n);
        hocket__set_int(L, "at_seq", (int64_t) r->at_seq);
    }
    hocket__set_str(L, "target", r->target);
    hocket__set_str(L, "input", r->input);
    hocket__set_str(L, "options", r->options);
    hocket__set_str(L, "generation", r->generation);
    hocket__set_str(L, "waiting_for", r->waiting_for);
    hocket__set_str(L, "version", r->version);
    hocket__set_cstr(L, "state", hocket__store_state_word(r->state));
    hocket__set_bool(L, "simulated", r->simulated);
    set_usage(L, r);
    hocket__set_int(L, "created_ms", r->created_ms);
    hocket__set_int(L, "updated_ms", r->updated_ms);
    hocket__set_int(L, "last_n", (int64_t) r->last_n);
    hocket__set_int(L, "last_seq", (int64_t) r->last_seq);
    hocket__set_int(L, "fence", (int64_t) r->fence);
    set_queue(L, r);
    if (r->owner.pid != 0) {
        push_owner(L, &r->owner);
        lua_setfield(L, -2, "owner");
    }
}

/* A state of its own in lists; whoever asks for the run itself gets an error. */
static void push_damaged(lua_State *L, const struct hocket__store_run *named)
{
    struct hocket__store_run r = {
        .created_ms = named->created_ms, .updated_ms = named->created_ms, .cost = -1, .tokens = -1
    };
    memcpy(r.id, named->id, sizeof(r.id));
    push_run(L, &r);
    hocket__set_cstr(L, "state", "damaged");
}

#define ONE(...)                   +1
#define SET_FIELD(KIND, of, field) SET_##KIND(#field, row->of.field);
#define SET_NUM(name, v)           hocket__set_int(L, name, (int64_t) (v))
#define SET_INT(name, v)           hocket__set_int(L, name, v)
#define SET_SMALL(name, v)         hocket__set_int(L, name, v)
#define SET_BYTE(name, v)          hocket__set_int(L, name, v)
#define SET_TEXT(name, v)          hocket__set_str(L, name, v)
#define SET_FULL(name, v)          hocket__push_str(L, v), lua_setfield(L, -2, name)
#define SET_OWN(name, v)
#define PUSH_ROW(KIND, FIELDS)                                                                     \
    case HOCKET__STORE_ROW_##KIND:                                                                 \
        lua_createtable(L, 0, FIELDS(ONE));                                                        \
        FIELDS(SET_FIELD)                                                                          \
        break;

static void push_row(lua_State *L, const struct hocket__store_row *row)
{
    switch (row->kind) {
    case HOCKET__STORE_ROW_RUN: push_run(L, &row->run); break;
    case HOCKET__STORE_ROW_DAMAGED:
        push_damaged(L, &row->run);
        break;
        HOCKET__ROW_KINDS(PUSH_ROW)
    }
}

/* ---- Answers ------------------------------------------------------------------------------------ */

/* list, more */
int hocket__store_give_list(lua_State *L, int status, lua_KContext at)
{
    (void) status;
    struct hocket__store_ask *a = lua_touserdata(L, (int) at);
    struct hocket__str rows = hocket__buf_str(&a->rows);
    struct hocket__store_row row;
    if (a->status < 0)
        return hocket__store_ask_failed(L, a);
    lua_createtable(L, (int) a->count, 0);
    for (lua_Integer i = 1; hocket__store_unpack(&rows, &row) == 1; i++) {
        push_row(L, &row);
        lua_rawseti(L, -2, i);
    }
    hocket__buf_deinit(&a->rows);
    lua_pushboolean(L, a->status > 0);
    return 2;
}

/* row */
static int give_one(lua_State *L, int status, lua_KContext at)
{
    (void) status;
    return give_first(L, at, push_row);
}

int hocket__store_give_run(lua_State *L, int status, lua_KContext at)
{
    struct hocket__store_ask *a = lua_touserdata(L, (int) at);
    int n = 1;
    if (a->status < 0 || a->rows.len > 0)
        n = give_one(L, status, at);
    else
        lua_pushboolean(L, false);
    a->takes = false; /* it is the script's */
    return n;
}

int hocket__store_give_id(lua_State *L, int status, lua_KContext at)
{
    struct hocket__store_ask *a = lua_touserdata(L, (int) at);
    (void) status;
    if (a->status < 0)
        return hocket__store_ask_failed(L, a);
    lua_pushstring(L, a->claim.id);
    return 1;
}

static size_t page(lua_State *L, int arg)
{
    lua_Integer n = luaL_optinteger(L, arg, HOCKET__STORE_PAGE);
    luaL_argcheck(L, n >= 1 && n <= HOCKET__STORE_PAGE, arg, "from 1 to 1000 at a time");
    return (size_t) n;
}

/* ---- Asking -------------------------------------------------------------------------------------- */

static unsigned read_states(lua_State *L, int idx)
{
    unsigned states = 0;
    if (lua_getfield(L, idx, "states") == LUA_TTABLE)
        for (lua_Integer i = 1; lua_rawgeti(L, -1, i) != LUA_TNIL; i++, lua_pop(L, 1)) {
            enum hocket__store_state s = hocket__store_state_of(hocket__check_str(L, -1));
            if (s == HOCKET__STORE_STATE_COUNT)
                luaL_error(L, "'%s' is no state of a run", lua_tostring(L, -1));
            states |= 1u << s;
        }
    lua_settop(L, idx);
    return states;
}

/* runs{states=, before=, parent=, caller=, pool=, project=, limit=} -> list, more: newest first */
static int l_runs(lua_State *L)
{
    static const struct hocket__opt rows[] = {
        { HOCKET__OPT_OWN("states") },
        { HOCKET__OPT_TEXT("before", struct hocket__store_filter, before) },
        { HOCKET__OPT_TEXT("parent", struct hocket__store_filter, parent) },
        { HOCKET__OPT_TEXT("caller", struct hocket__store_filter, caller) },
        { HOCKET__OPT_TEXT("pool", struct hocket__store_filter, pool) },
        { HOCKET__OPT_TEXT("project", struct hocket__store_filter, project) },
        { HOCKET__OPT_INT("limit", struct hocket__store_filter, limit, 1, HOCKET__STORE_PAGE) },
        { 0 },
    };
    struct hocket__store_filter filter = { .limit = HOCKET__STORE_PAGE };
    lua_settop(L, 1);
    if (lua_isnil(L, 1)) {
        lua_newtable(L);
        lua_replace(L, 1);
    }
    luaL_checktype(L, 1, LUA_TTABLE);
    hocket__opt_read(L, 1, rows, &filter);
    filter.states = read_states(L, 1);
    struct hocket__store_ask *a = hocket__store_ask_push(L);
    if (!a)
        return 2;
    a->limit = filter.limit++; /* one more says that there is more */
    return hocket__store_ask_wait(
        L, a, hocket__store_runs(a->s, &filter, &a->reply, &a->call), -1, hocket__store_give_list);
}

/* find(prefix) -> run */
static int l_find(lua_State *L)
{
    struct hocket__str prefix = hocket__check_str(L, 1);
    struct hocket__store_ask *a = hocket__store_ask_push(L);
    if (!a)
        return 2;
    return hocket__store_ask_wait(
        L, a, hocket__store_find(a->s, prefix, &a->reply, &a->call), -1, give_one);
}

typedef int (*list_fn)(struct hocket__store *s, struct hocket__str id, uint64_t from,
    const struct hocket__store_reply *reply, struct hocket__store_call **call);

static int list_from(lua_State *L, list_fn list)
{
    struct hocket__str id = hocket__check_str(L, 1);
    lua_Integer from = luaL_optinteger(L, 2, 1);
    size_t limit = page(L, 3);
    struct hocket__store_ask *a = hocket__store_ask_push(L);
    if (!a)
        return 2;
    a->limit = limit;
    return hocket__store_ask_wait(L, a,
        list(a->s, id, from < 1 ? 1 : (uint64_t) from, &a->reply, &a->call), -1,
        hocket__store_give_list);
}

/* records(id, from?, limit?) -> list, more */
static int l_records(lua_State *L)
{
    return list_from(L, hocket__store_records);
}

/* entries(id, from?, limit?) -> list, more */
static int l_entries(lua_State *L)
{
    return list_from(L, hocket__store_entries);
}

typedef int (*all_fn)(struct hocket__store *s, struct hocket__str of,
    const struct hocket__store_reply *reply, struct hocket__store_call **call);

static int list_all(lua_State *L, all_fn list, lua_KFunction k)
{
    struct hocket__str of = hocket__check_str(L, 1);
    struct hocket__store_ask *a = hocket__store_ask_push(L);
    if (!a)
        return 2;
    a->limit = SIZE_MAX;
    return hocket__store_ask_wait(L, a, list(a->s, of, &a->reply, &a->call), -1, k);
}

/* messages(id) -> list: the messages that were not taken yet */
static int l_messages(lua_State *L)
{
    return list_all(L, hocket__store_messages, hocket__store_give_list);
}

/* files(generation) -> list */
static int l_files(lua_State *L)
{
    return list_all(L, hocket__store_files, hocket__store_give_list);
}

/* remove(id) -> true */
static int l_remove(lua_State *L)
{
    return list_all(L, hocket__store_remove, give_one);
}

static void on_told(void *ud, int status, const struct hocket_error *err)
{
    struct hocket__store_ask *a = ud;
    struct hocket__runtime *rt = a->rt;
    hocket__store_ask_done(ud, status, err);
    if (status == 0)
        hocket__runtime_store_told(rt);
}

/* message(id, {id=, json=}) -> true, when it is on the disk */
static int l_message(lua_State *L)
{
    struct hocket__str id = hocket__check_str(L, 1);
    struct hocket__store_message m = { .id = hocket__opt_str(L, 2, "id"),
        .at_ms = hocket__wall_ms(),
        .json = hocket__opt_str(L, 2, "json") };
    luaL_argcheck(L, m.id.n > 0 && m.json.n > 0, 2, "a message has an id and json");
    struct hocket__store_ask *a = hocket__store_ask_push(L);
    if (!a)
        return 2;
    a->reply.done = on_told;
    return hocket__store_ask_wait(
        L, a, hocket__store_message(a->s, id, &m, &a->reply, &a->call), -1, give_one);
}

/* stats() -> {runs, bytes, …} */
static int l_stats(lua_State *L)
{
    struct hocket__store_ask *a = hocket__store_ask_push(L);
    if (!a)
        return 2;
    return hocket__store_ask_wait(
        L, a, hocket__store_stats(a->s, &a->reply, &a->call), -1, give_one);
}

/* maintain(what, {worker=, reader=, max_age_ms=}) -> list of {id=, json=} */
static int l_maintain(lua_State *L)
{
    static const char *const words[] = { "info", "check", "vacuum", "measure", "grant", NULL };
    struct hocket__store_maintenance wanted = {
        .what = (enum hocket__store_maintenance_kind) luaL_checkoption(L, 1, NULL, words),
        .worker = hocket__opt_str(L, 2, "worker"),
        .reader = hocket__opt_str(L, 2, "reader")
    };
    lua_getfield(L, 2, "max_age_ms");
    wanted.max_age_ms = luaL_optinteger(L, -1, 0);
    lua_pop(L, 1);
    struct hocket__store_ask *a = hocket__store_ask_push(L);
    if (!a)
        return 2;
    a->limit = SIZE_MAX;
    return hocket__store_ask_wait(L, a, hocket__store_maintain(a->s, &wanted, &a->reply, &a->call),
        -1, hocket__store_give_list);
}

/* draw{name=, want=, capacity=, least=, owing=, forced=, leak=, leak_ms=, holder=, lease_ms=, spent=, again=, block_ms=} ->
 * {granted, level, retry_ms, blocked_ms, holders, hungry, held}: see hocket__store_draw */
static int l_draw(lua_State *L)
{
#define ROW(kind, field) HOCKET__OPT_##kind(#field, struct hocket__store_draw, field)
#define AMOUNT(field)                                                                              \
    HOCKET__OPT_INT(#field, struct hocket__store_draw, field, -(INT64_C(1) << 42), INT64_C(1) << 42)
    static const struct hocket__opt rows[] = {
        { ROW(TEXT, name) },
        { AMOUNT(want) },
        { AMOUNT(least) },
        { ROW(BOOL, owing) },
        { ROW(BOOL, forced) },
        { AMOUNT(capacity) },
        { AMOUNT(leak) },
        { AMOUNT(leak_ms) },
        { ROW(TEXT, holder) },
        { AMOUNT(lease_ms) },
        { AMOUNT(spent) },
        { ROW(BOOL, again) },
        { AMOUNT(block_ms) },
        { 0 },
    };
    struct hocket__store_draw d = { .want = 0 };
    hocket__opt_fields(L, 1, rows, &d);
    struct hocket__store_ask *a = hocket__store_ask_push(L);
    if (!a)
        return 2;
    return hocket__store_ask_wait(
        L, a, hocket__store_draw(a->s, &d, &a->reply, &a->call), -1, give_one);
}

/* is_shared() -> whether other processes may have the same store */
static int l_is_shared(lua_State *L)
{
    lua_pushboolean(L, hocket__runtime_shares_store(hocket__runtime(L)));
    return 1;
}

/* is_id(value) -> whether it is the whole id of a run, whatever it is otherwise */
static int l_is_id(lua_State *L)
{
    struct hocket__str id = { 0 };
    if (lua_type(L, 1) == LUA_TSTRING)
        id.p = lua_tolstring(L, 1, &id.n);
    lua_pushboolean(L, hocket__store_is_id(id));
    return 1;
}

/* place() -> the store's file, the user; or nothing, where runs are in none */
static int l_place(lua_State *L)
{
    const char *path = hocket__runtime_store_file(hocket__runtime(L));
    if (!path)
        return 0;
    lua_pushstring(L, path);
    lua_pushinteger(L, hocket__self_user());
    return 2;
}

/* broken() -> why it cannot be used any more, or nothing */
static int l_broken(lua_State *L)
{
    const struct hocket_error *why = hocket__runtime_store_broken(hocket__runtime(L));
    if (!why)
        return 0;
    hocket__push_error(L, why);
    return 1;
}

/* patient(): while the store is away, opening it waits as long as that takes */
static int l_patient(lua_State *L)
{
    hocket__runtime_store_patient(hocket__runtime(L));
    return 0;
}

static const luaL_Reg functions[] = {
    { "runs", l_runs },
    { "find", l_find },
    { "records", l_records },
    { "entries", l_entries },
    { "messages", l_messages },
    { "message", l_message },
    { "files", l_files },
    { "remove", l_remove },
    { "stats", l_stats },
    { "maintain", l_maintain },
    { "submit", hocket__l_store_submit },
    { "take_next", hocket__l_store_take_next },
    { "take_several", hocket__l_store_take_several },
    { "take", hocket__l_store_take },
    { "finish", hocket__l_store_finish },
    { "changed", hocket__l_store_changed },
    { "draw", l_draw },
    { "is_id", l_is_id },
    { "is_shared", l_is_shared },
    { "place", l_place },
    { "patient", l_patient },
    { "note_put", l_store_note_put },
    { "note_del", l_store_note_del },
    { "notes", l_store_notes },
    { "item_put", l_store_item_put },
    { "item_del", l_store_item_del },
    { "items", l_store_items },
    { "pools", l_store_pools },
    { "blocked", l_store_blocked },
    { "broken", l_broken },
    { "process", l_store_process },
    { "has_ended", l_store_has_ended },
    { "hurry", hocket__l_store_hurry },
    { "is_away", hocket__l_store_is_away },
    { "items_due", l_store_items_due },
    { "export", hocket__l_store_export },
    { "export_end", hocket__l_store_export_end },
    { "import", hocket__l_store_import },
    { "fork", hocket__l_store_fork },
    { NULL, NULL },
};

int hocket__open_store(lua_State *L)
{
    lua_newtable(L);
    hocket__setfuncs(L, functions);
    return 1;
}

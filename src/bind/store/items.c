/* The part of hocket.internal.core.store that is about items: what belongs to no run, as schedules and workers. */
#include "bind/store/store_impl.h"

#include "os/self.h"
#include "bind/options.h"
#include "bind/util.h"

static int give_version(lua_State *L, int status, lua_KContext at)
{
    (void) status;
    struct hocket__store_ask *a = lua_touserdata(L, (int) at);
    struct hocket__str rows = hocket__buf_str(&a->rows);
    struct hocket__store_row row;
    if (a->status < 0)
        return hocket__store_ask_failed(L, a);
    if (hocket__store_unpack(&rows, &row) == 1 && row.kind == HOCKET__STORE_ROW_ITEM)
        lua_pushinteger(L, row.item.version);
    else
        lua_pushboolean(L, true);
    return 1;
}

static int ask_put(lua_State *L, struct hocket__store_ask *a, const struct hocket__store_item *item,
    const struct hocket__store_run *run)
{
    struct hocket__store_reply reply = hocket__store_ask_reply(a);
    int64_t expected = hocket__opt_int(L, 1, "expected", HOCKET__STORE_ANY, -1, INT64_MAX);
    int rc = hocket__store_pack_files(L, 1, item->generation, &a->text);
    if (rc == 0)
        rc = hocket__store_item_put(
            a->s, item, expected, run, hocket__buf_str(&a->text), &reply, &a->call);
    hocket__buf_deinit(&a->text);
    return rc;
}

/* item_put{kind=, id=, json=, due_ms=, generation=, files=, expected=, run=} -> version, when it is on the disk, and with it its
 * files and the run that is put: {id=, target=, input=, options=, generation=, pool=, project=, due_ms=, caller=}. expected: the version that it has, 0
 * for none, -1 (the default) for any. "state": it is another, and nothing was written. */
int hocket__l_store_item_put(lua_State *L)
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
int hocket__l_store_item_del(lua_State *L)
{
    struct hocket__str kind = hocket__check_str(L, 1), id = hocket__check_str(L, 2);
    int64_t expected = luaL_optinteger(L, 3, HOCKET__STORE_ANY);
    struct hocket__store_ask *a = hocket__store_ask_push(L);
    if (!a)
        return 2;
    struct hocket__store_reply reply = hocket__store_ask_reply(a);
    int rc = hocket__store_item_del(a->s, kind, id, expected, &reply, &a->call);
    return hocket__store_ask_wait(L, a, rc, -1, give_version);
}

/* pools() -> list of {pool, what, host, pid, n, since_ms}: struct hocket__store_pool */
int hocket__l_store_pools(lua_State *L)
{
    struct hocket__store_ask *a = hocket__store_ask_push(L);
    if (!a)
        return 2;
    a->limit = SIZE_MAX;
    struct hocket__store_reply reply = hocket__store_ask_reply(a);
    int rc = hocket__store_pools(a->s, &reply, &a->call);
    return hocket__store_ask_wait(L, a, rc, -1, hocket__store_give_list);
}

/* blocked(limit) -> list of runs of pools, without input and options, that wait for somebody, or that another one has called */
int hocket__l_store_blocked(lua_State *L)
{
    int64_t limit = luaL_checkinteger(L, 1);
    luaL_argcheck(L, limit > 0, 1, "a limit");
    struct hocket__store_ask *a = hocket__store_ask_push(L);
    if (!a)
        return 2;
    a->limit = SIZE_MAX;
    struct hocket__store_reply reply = hocket__store_ask_reply(a);
    int rc = hocket__store_blocked(a->s, (size_t) limit, &reply, &a->call);
    return hocket__store_ask_wait(L, a, rc, -1, hocket__store_give_list);
}

/* process() -> the machine's name and the process's number, as owners of runs are told; where that number means something, and when
 * the process began: for has_ended */
int hocket__l_store_process(lua_State *L)
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
int hocket__l_store_has_ended(lua_State *L)
{
    struct hocket__self self = { 0 };
    struct hocket__str place = hocket__check_str(L, 1);
    hocket__self_init(&self);
    lua_pushboolean(L,
        hocket__self_knows_ended(&self, place, luaL_checkinteger(L, 2), luaL_checkinteger(L, 3)));
    return 1;
}

/* items_due(kind, ahead_ms, limit) -> list as of items, more: those that are due within so many milliseconds by the store's clock,
 * which is `now_ms` in each, `limit` at most */
int hocket__l_store_items_due(lua_State *L)
{
    struct hocket__str kind = hocket__check_str(L, 1);
    lua_Integer ahead = luaL_checkinteger(L, 2), limit = luaL_checkinteger(L, 3);
    luaL_argcheck(L, limit > 0, 3, "at least one");
    struct hocket__store_ask *a = hocket__store_ask_push(L);
    if (!a)
        return 2;
    a->limit = (size_t) limit;
    struct hocket__store_reply reply = hocket__store_ask_reply(a);
    int rc = hocket__store_items_due(a->s, kind, ahead, &reply, &a->call);
    return hocket__store_ask_wait(L, a, rc, -1, hocket__store_give_list);
}

/* items(kind, id?) -> list of {kind, id, version, due_ms, at_ms, now_ms, generation, json}, what is due first in front */
int hocket__l_store_items(lua_State *L)
{
    struct hocket__str kind = hocket__check_str(L, 1);
    struct hocket__str id = lua_isnoneornil(L, 2) ? HOCKET__STR("") : hocket__check_str(L, 2);
    struct hocket__store_ask *a = hocket__store_ask_push(L);
    if (!a)
        return 2;
    a->limit = SIZE_MAX;
    struct hocket__store_reply reply = hocket__store_ask_reply(a);
    int rc = hocket__store_items(a->s, kind, id, &reply, &a->call);
    return hocket__store_ask_wait(L, a, rc, -1, hocket__store_give_list);
}

/* The part of hocket.internal.core.store that is about items: what belongs to no run, as schedules and workers. */
#include "bind/store/store_impl.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/hash/hash.h"
#include "bind/util.h"

/* Files of the item's generation, which it keeps: each is named by the hash of what stands in it. */
static int put_file(struct hocket__store *s, struct hocket__store_file *f)
{
    uint8_t bytes[HOCKET__SHA256];
    char hash[2 * HOCKET__SHA256 + 1];
    hocket__sha256(f->text, bytes);
    for (size_t i = 0; i < sizeof(bytes); i++)
        snprintf(hash + 2 * i, 3, "%02x", bytes[i]);
    f->hash = hocket__cstr(hash);
    return hocket__store_file(s, f);
}

static int put_files(lua_State *L, struct hocket__store *s, struct hocket__str generation)
{
    int rc = 0;
    if (lua_getfield(L, 1, "files") == LUA_TTABLE)
        for (lua_pushnil(L); lua_next(L, -2); lua_pop(L, 1)) {
            struct hocket__store_file f = { .generation = generation,
                .path = hocket__check_str(L, -2),
                .text = hocket__check_str(L, -1) };
            rc = rc < 0 ? rc : put_file(s, &f);
        }
    lua_pop(L, 1);
    return rc;
}

/* The run at idx, whose texts stay where they are: one that a worker of its pool may begin. */
static void read_run(lua_State *L, int idx, struct hocket__store_run *run)
{
    struct hocket__runtime *rt = hocket__runtime(L);
    struct hocket__str id = hocket__opt_str(L, idx, "id");
    *run = (struct hocket__store_run){ .target = hocket__opt_str(L, idx, "target"),
        .input = hocket__opt_str(L, idx, "input"),
        .options = hocket__opt_str(L, idx, "options"),
        .generation = hocket__opt_str(L, idx, "generation"),
        .pool = hocket__opt_str(L, idx, "pool"),
        .project = hocket__opt_str(L, idx, "project"),
        .due_ms = hocket__opt_int(L, idx, "due_ms", 0, 0, INT64_MAX),
        .version = HOCKET__STR(HOCKET_VERSION),
        .state = HOCKET__STORE_QUEUED,
        .cost = -1,
        .tokens = -1,
        .created_ms = hocket__wall_ms() };
    luaL_argcheck(L, hocket__store_is_id(id) && run->target.n > 0 && run->pool.n > 0, 1,
        "a run has an id, a target and a pool");
    memcpy(run->id, id.p, HOCKET__STORE_ID);
    if (hocket__own_random(&rt->own, run->seed, sizeof(run->seed)) < 0)
        luaL_error(L, "the system gives no random numbers");
}

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

/* item_put{kind=, id=, json=, due_ms=, generation=, files=, expected=, run=} -> version, when it is on the disk, and with it the
 * run that is put: {id=, target=, input=, options=, generation=, pool=, project=, due_ms=}. expected: the version that it has, 0
 * for none, -1 (the default) for any. "state": it is another, and nothing was written. */
int hocket__l_store_item_put(lua_State *L)
{
    struct hocket__store_run run;
    luaL_checktype(L, 1, LUA_TTABLE);
    lua_settop(L, 1);
    struct hocket__store_item item = { .kind = hocket__opt_str(L, 1, "kind"),
        .id = hocket__opt_str(L, 1, "id"),
        .json = hocket__opt_str(L, 1, "json"),
        .due_ms = hocket__opt_int(L, 1, "due_ms", 0, 0, INT64_MAX),
        .generation = hocket__opt_str(L, 1, "generation") };
    int64_t expected = hocket__opt_int(L, 1, "expected", HOCKET__STORE_ANY, -1, INT64_MAX);
    luaL_argcheck(
        L, item.kind.n > 0 && item.id.n > 0 && item.json.n > 0, 1, "an item has kind, id and json");
    bool has_run = lua_getfield(L, 1, "run") == LUA_TTABLE;
    if (has_run)
        read_run(L, 2, &run);
    struct hocket__store_ask *a = hocket__store_ask_push(L);
    if (!a)
        return 2;
    struct hocket__store_reply reply = hocket__store_ask_reply(a);
    int rc = item.generation.n > 0 ? put_files(L, a->s, item.generation) : 0;
    if (rc == 0)
        rc = hocket__store_item_put(a->s, &item, expected, has_run ? &run : NULL, &reply, &a->call);
    return hocket__store_ask_wait(L, a, rc, -1, give_version);
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

/* blocked(limit) -> list of runs of pools that wait for somebody, or that another one has called */
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

/* process() -> the machine's name, the process's number: as owners of runs are told */
int hocket__l_store_process(lua_State *L)
{
    char host[256] = "";
    gethostname(host, sizeof(host) - 1);
    lua_pushstring(L, host);
    lua_pushinteger(L, getpid());
    return 2;
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

/* items(kind, id?) -> list of {kind, id, version, due_ms, at_ms, generation, json}, what is due first in front */
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

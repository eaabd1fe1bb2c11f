/* The part of hocket.internal.core.store that is about workers: runs that are put for them, taken by them, and ended by who
 * has none of it going on. */
#include "bind/store/store_impl.h"

#include <stdio.h>
#include <string.h>

#include "base/hash/hash.h"
#include "bind/fiber/fiber.h"
#include "bind/store/store.h"
#include "bind/util.h"
#include "core/run_id.h"

/* ---- Putting one ----------------------------------------------------------------------------- */

static int put_done(lua_State *L, int status, lua_KContext at)
{
    struct hocket__store_ask *a = lua_touserdata(L, (int) at);
    (void) status;
    if (a->status < 0)
        return hocket__store_ask_failed(L, a);
    lua_pushstring(L, a->claim.id);
    return 1;
}

/* A file is named by the hash of what stands in it. */
static int put_file(struct hocket__store *s, struct hocket__str generation, struct hocket__str path,
    struct hocket__str text)
{
    uint8_t bytes[HOCKET__SHA256];
    char hash[2 * HOCKET__SHA256 + 1];
    hocket__sha256(text, bytes);
    for (size_t i = 0; i < sizeof(bytes); i++)
        snprintf(hash + 2 * i, 3, "%02x", bytes[i]);
    struct hocket__store_file file = {
        .generation = generation, .path = path, .hash = hocket__cstr(hash), .text = text
    };
    return hocket__store_file(s, &file);
}

/* The files of `files`, by name, as those of one generation. */
static int put_files(lua_State *L, struct hocket__store_ask *a, struct hocket__str generation)
{
    int rc = 0;
    if (lua_getfield(L, 1, "files") != LUA_TTABLE) {
        lua_pop(L, 1);
        return 0;
    }
    for (lua_pushnil(L); rc == 0 && lua_next(L, -2); lua_pop(L, 1))
        rc = put_file(a->s, generation, hocket__check_str(L, -2), hocket__check_str(L, -1));
    lua_pop(L, 1);
    return rc;
}

/* Its own files first, then those that travel with it. */
static void write_generation(lua_State *L, const char *id, struct hocket__buf *names)
{
    struct hocket__str given = hocket__opt_str(L, 1, "generation"),
                       travel = hocket__opt_str(L, 1, "files_of");
    hocket__buf_addstr(names, given.n > 0 ? given : hocket__cstr(id));
    if (travel.n > 0)
        hocket__buf_addf(names, ",%.*s", (int) travel.n, travel.p);
}

static int check_id(lua_State *L, struct hocket__store_ask *a, struct hocket__store_run *run)
{
    unsigned char random[HOCKET__RUN_ID_RANDOM];
    struct hocket__str id = hocket__opt_str(L, 1, "id"), caller = hocket__opt_str(L, 1, "caller");
    if ((id.n > 0 && !hocket__store_is_id(id)) || (caller.n > 0 && !hocket__store_is_id(caller)))
        return luaL_error(L, "an id of a run has 26 characters");
    if (caller.n > 0)
        memcpy(run->caller, caller.p, HOCKET__STORE_ID);
    int rc = hocket__own_random(&a->rt->own, run->seed, sizeof(run->seed));
    if (rc == 0 && id.n > 0)
        memcpy(run->id, id.p, HOCKET__STORE_ID);
    else if (rc == 0 && (rc = hocket__own_random(&a->rt->own, random, sizeof(random))) == 0)
        hocket__run_id(hocket__wall_ms(), random, run->id);
    return rc < 0 ? hocket__error(&a->err, rc, "the system gives no random numbers") : 0;
}

/* The row, its files, and that nobody has it: one turn, so one transaction. */
static int put(lua_State *L, struct hocket__store_ask *a, struct hocket__store_run *run)
{
    struct hocket__buf names;
    struct hocket__str travel = hocket__opt_str(L, 1, "files_of");
    int rc = check_id(L, a, run);
    if (rc < 0)
        return rc;
    hocket__buf_init(&names, a->rt->alloc, 0);
    write_generation(L, run->id, &names);
    run->generation = hocket__buf_str(&names);
    rc = names.status < 0 ? names.status : hocket__store_put(a->s, run, &a->claim);
    hocket__buf_deinit(&names);
    if (rc == 0 && travel.n > 0)
        rc = put_files(L, a, travel);
    if (rc == 0)
        rc = hocket__store_release(a->s, &a->claim);
    return rc < 0 ? hocket__error(&a->err, rc, "the run cannot be put: %s", hocket_status_text(rc))
                  : 0;
}

/* submit{id=, target=, input=, options=, pool=, due_ms=, caller=, project=, generation=, files=, files_of=} -> id, when it is
 * on the disk: a run that workers of that pool may begin. `files` are those of the generation `files_of`. EEXIST. */
int hocket__l_store_submit(lua_State *L)
{
    lua_settop(L, 1);
    luaL_checktype(L, 1, LUA_TTABLE);
    struct hocket__store_run run = { .target = hocket__opt_str(L, 1, "target"),
        .input = hocket__opt_str(L, 1, "input"),
        .options = hocket__opt_str(L, 1, "options"),
        .pool = hocket__opt_str(L, 1, "pool"),
        .project = hocket__opt_str(L, 1, "project"),
        .due_ms = hocket__opt_int(L, 1, "due_ms", 0, 0, INT64_MAX),
        .version = HOCKET__STR(HOCKET_VERSION),
        .state = HOCKET__STORE_QUEUED,
        .cost = -1,
        .tokens = -1,
        .created_ms = hocket__wall_ms() };
    luaL_argcheck(L, run.target.n > 0 && run.pool.n > 0, 1, "a run has a target and a pool");
    struct hocket__store_ask *a = hocket__store_ask_push(L);
    if (!a)
        return 2;
    if (put(L, a, &run) < 0)
        return hocket__fail(L, &a->err);
    return hocket__store_ask_commit(L, a, -1, put_done);
}

/* ---- Waiting for one --------------------------------------------------------------------------- */

static int heard(lua_State *L, int status, lua_KContext ctx)
{
    (void) L;
    (void) status;
    (void) ctx;
    return 0;
}

/* changed(seconds): until something in the store is new, so long at most */
int hocket__l_store_changed(lua_State *L)
{
    struct hocket__runtime *rt = hocket__runtime(L);
    double seconds = luaL_checknumber(L, 1);
    struct hocket_error err;
    luaL_argcheck(L, seconds >= 0 && seconds < 1e6, 1, "seconds");
    if (hocket__runtime_store_hear(rt, hocket__fiber_current(L)->id, &err) < 0)
        return hocket__fail(L, &err);
    return hocket__await(L, (int64_t) (seconds * 1000), NULL, NULL, 0, heard);
}

/* ---- Taking one -------------------------------------------------------------------------------- */

/* take_next(pools) -> run, or false: none is due. It is ours: to be gone on with by its `fence`, or ended by finish. */
int hocket__l_store_take_next(lua_State *L)
{
    struct hocket__str pools = hocket__check_str(L, 1);
    struct hocket__store_ask *a = hocket__store_ask_push(L);
    if (!a)
        return 2;
    struct hocket__store_reply reply = hocket__store_ask_reply(a);
    int rc = hocket__store_take_next(a->s, pools, &reply, &a->call);
    return hocket__store_ask_wait(L, a, rc, -1, hocket__store_give_run);
}

/* take(id) -> run: it is ours. ESTATE: another one has it. */
int hocket__l_store_take(lua_State *L)
{
    struct hocket__str id = hocket__check_str(L, 1);
    struct hocket__store_ask *a = hocket__store_ask_push(L);
    if (!a)
        return 2;
    struct hocket__store_reply reply = hocket__store_ask_reply(a);
    int rc = hocket__store_take(a->s, id, &reply, &a->call);
    return hocket__store_ask_wait(L, a, rc, -1, hocket__store_give_run);
}

static int finish(lua_State *L, struct hocket__store_ask *a)
{
    struct hocket__store_run row = { .state = hocket__store_state_of(hocket__check_str(L, 3)) };
    struct hocket__str result = lua_isnoneornil(L, 4) ? HOCKET__STR("") : hocket__check_str(L, 4);
    luaL_argcheck(L, row.state != HOCKET__STORE_STATE_COUNT, 3, "no state of a run");
    char path[32];
    int rc = 0;
    snprintf(path, sizeof(path), HOCKET__STORE_RESULT, a->claim.fence);
    if (result.n > 0)
        rc = put_file(a->s, hocket__cstr(a->claim.id), hocket__cstr(path), result);
    if (rc == 0)
        rc = hocket__store_update(a->s, &a->claim, HOCKET__STORE_SET_STATE, &row);
    if (rc == 0)
        rc = hocket__store_release(a->s, &a->claim);
    return rc < 0 ? hocket__error(&a->err, rc, "%s", hocket_status_text(rc)) : 0;
}

/* finish(id, fence, state, result?) -> id, when it is on the disk: of a run that was taken, which nobody has from then on. */
int hocket__l_store_finish(lua_State *L)
{
    struct hocket__str id = hocket__check_str(L, 1);
    uint64_t fence = (uint64_t) luaL_checkinteger(L, 2);
    luaL_argcheck(L, hocket__store_is_id(id), 1, "an id of a run has 26 characters");
    lua_settop(L, 4);
    struct hocket__store_ask *a = hocket__store_ask_push(L);
    if (!a)
        return 2;
    memcpy(a->claim.id, id.p, HOCKET__STORE_ID);
    a->claim.fence = fence;
    if (finish(L, a) < 0)
        return hocket__fail(L, &a->err);
    return hocket__store_ask_commit(L, a, -1, put_done);
}

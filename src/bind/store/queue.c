/* The part of hocket.internal.core.store that is about workers: taking runs, and ending runs that no process executes. How runs are
 * handed in is in submit.c. */
#include "bind/store/store_impl.h"

#include <stdio.h>
#include <string.h>

#include "bind/fiber/fiber.h"
#include "bind/store/store.h"
#include "bind/util.h"

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

static int take_next(lua_State *L, size_t most, lua_KFunction k)
{
    struct hocket__str pools = hocket__check_str(L, 1);
    struct hocket__store_ask *a = hocket__store_ask_push(L);
    if (!a)
        return 2;
    hocket__store_ask_takes(L, a, true);
    return hocket__store_ask_wait(
        L, a, hocket__store_take_next(a->s, pools, most, &a->reply, &a->call), -1, k);
}

/* take_next(pools) -> run, or false: none is due. It is ours: to be gone on with by its `fence`, or ended by finish. */
int hocket__l_store_take_next(lua_State *L)
{
    return take_next(L, 1, hocket__store_give_run);
}

static int give_runs(lua_State *L, int status, lua_KContext at)
{
    struct hocket__store_ask *a = lua_touserdata(L, (int) at);
    int n = hocket__store_give_list(L, status, at);
    a->takes = false; /* they are the script's */
    return n;
}

/* take_several(pools, most) -> list of such runs: one that was lost is alone in it */
int hocket__l_store_take_several(lua_State *L)
{
    lua_Integer most = luaL_checkinteger(L, 2);
    luaL_argcheck(L, most >= 1 && most <= HOCKET__STORE_TAKES, 2, "from 1 to 16 at a time");
    return take_next(L, (size_t) most, give_runs);
}

/* take(id) -> run: it is ours. ESTATE: another one has it. */
int hocket__l_store_take(lua_State *L)
{
    struct hocket__str id = hocket__check_str(L, 1);
    struct hocket__store_ask *a = hocket__store_ask_push(L);
    if (!a)
        return 2;
    hocket__store_ask_takes(L, a, false);
    return hocket__store_ask_wait(
        L, a, hocket__store_take(a->s, id, &a->reply, &a->call), -1, hocket__store_give_run);
}

/* ---- Ending one -------------------------------------------------------------------------------- */

static int put_result(struct hocket__store_ask *a, struct hocket__str result)
{
    char path[32], hash[HOCKET__STORE_HASH];
    snprintf(path, sizeof(path), HOCKET__STORE_RESULT, a->claim.fence);
    struct hocket__store_file file =
        hocket__store_file_of(hocket__cstr(a->claim.id), hocket__cstr(path), result, hash);
    return hocket__store_file(a->s, &file);
}

/* Whatever becomes of the rest, the run is let go of: who asked has done with it, and nobody else would ever end it. */
static int finish(lua_State *L, struct hocket__store_ask *a)
{
    bool stays = lua_isnoneornil(L, 3);
    struct hocket__store_run row = { .state = HOCKET__STORE_STATE_COUNT };
    struct hocket__str result = hocket__text_at(L, 4);
    if (!stays)
        row.state = hocket__store_state_of(hocket__check_str(L, 3));
    luaL_argcheck(L, stays || row.state != HOCKET__STORE_STATE_COUNT, 3, "no state of a run");
    int rc = result.n > 0 ? put_result(a, result) : 0;
    if (rc == 0 && !stays)
        rc = hocket__store_update(a->s, &a->claim, HOCKET__STORE_SET_STATE, &row);
    int gone = hocket__store_release(a->s, &a->claim);
    rc = rc < 0 ? rc : gone;
    return rc < 0 ? hocket__error(&a->err, rc, "%s", hocket_status_text(rc)) : 0;
}

/* finish(id, fence, state?, result?) -> id, when it is on the disk, however long that takes: of a run that was taken, which nobody has
 * from then on. Without a state it stays in that which it has. It is said once: the run is let go of, and another time refused. */
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
    return hocket__store_ask_commit(L, a, -1, hocket__store_give_id);
}

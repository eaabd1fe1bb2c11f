/* The part of hocket.internal.core.store that hands runs in, as rows and files that workers begin with; items bring some, too. */
#include "bind/store/store_impl.h"

#include <stdio.h>
#include <string.h>

#include "base/hash/hash.h"
#include "bind/options.h"
#include "bind/util.h"
#include "core/run_id.h"

/* ---- Files ------------------------------------------------------------------------------------- */

/* A file is named by the hash of what stands in it. */
struct hocket__store_file hocket__store_file_of(struct hocket__str generation,
    struct hocket__str path, struct hocket__str text, char hash[HOCKET__STORE_HASH])
{
    uint8_t bytes[HOCKET__SHA256];
    hocket__sha256(text, bytes);
    for (size_t i = 0; i < sizeof(bytes); i++)
        snprintf(hash + 2 * i, 3, "%02x", bytes[i]);
    return (struct hocket__store_file){
        .generation = generation, .path = path, .hash = hocket__cstr(hash), .text = text
    };
}

int hocket__store_pack_files(
    lua_State *L, int idx, struct hocket__str generation, struct hocket__buf *out)
{
    if (lua_getfield(L, idx, "files") == LUA_TTABLE && generation.n > 0)
        for (lua_pushnil(L); lua_next(L, -2); lua_pop(L, 1)) {
            char hash[HOCKET__STORE_HASH];
            struct hocket__store_row row = { .kind = HOCKET__STORE_ROW_FILE };
            luaL_argcheck(L, lua_type(L, -2) == LUA_TSTRING && lua_type(L, -1) == LUA_TSTRING, idx,
                "files are texts by their names");
            row.file = hocket__store_file_of(
                generation, hocket__check_str(L, -2), hocket__check_str(L, -1), hash);
            hocket__store_pack(out, &row);
        }
    lua_pop(L, 1);
    return out->status;
}

/* ---- Runs -------------------------------------------------------------------------------------- */

static void read_id(lua_State *L, int idx, const char *name, char id[HOCKET__STORE_ID + 1])
{
    struct hocket__str given = hocket__opt_str(L, idx, name);
    if (given.n > 0 && !hocket__store_is_id(given))
        luaL_error(L, "an id of a run has 26 characters");
    if (given.n > 0)
        memcpy(id, given.p, HOCKET__STORE_ID);
}

static void make_id(lua_State *L, struct hocket__store_run *run)
{
    struct hocket__runtime *rt = hocket__runtime(L);
    unsigned char random[HOCKET__RUN_ID_RANDOM];
    if (hocket__own_random(&rt->own, run->seed, sizeof(run->seed)) < 0
        || hocket__own_random(&rt->own, random, sizeof(random)) < 0)
        luaL_error(L, "the system gives no random numbers");
    if (!run->id[0])
        hocket__run_id(hocket__wall_ms(), random, run->id);
}

void hocket__store_read_job(lua_State *L, int idx, struct hocket__store_run *run)
{
    static const struct hocket__opt rows[] = {
        { HOCKET__OPT_TEXT("target", struct hocket__store_run, target) },
        { HOCKET__OPT_TEXT("input", struct hocket__store_run, input) },
        { HOCKET__OPT_TEXT("options", struct hocket__store_run, options) },
        { HOCKET__OPT_TEXT("generation", struct hocket__store_run, generation) },
        { HOCKET__OPT_TEXT("pool", struct hocket__store_run, pool) },
        { HOCKET__OPT_TEXT("project", struct hocket__store_run, project) },
        { HOCKET__OPT_INT("due_ms", struct hocket__store_run, due_ms, 0, INT64_MAX) },
        { 0 },
    };
    *run = (struct hocket__store_run){ .version = HOCKET__STR(HOCKET_VERSION),
        .state = HOCKET__STORE_QUEUED,
        .cost = -1,
        .tokens = -1,
        .created_ms = hocket__wall_ms() };
    hocket__opt_fields(L, idx, rows, run);
    luaL_argcheck(L, run->target.n > 0 && run->pool.n > 0, 1, "a run has a target and a pool");
    read_id(L, idx, "id", run->id);
    read_id(L, idx, "caller", run->caller);
    make_id(L, run);
}

/* Its own files first, then the bundled ones. Pushed. */
static struct hocket__str push_generation(
    lua_State *L, const struct hocket__store_run *run, struct hocket__str travel)
{
    hocket__push_str(L, run->generation.n > 0 ? run->generation : hocket__cstr(run->id));
    if (travel.n > 0) {
        lua_pushliteral(L, ",");
        hocket__push_str(L, travel);
        lua_concat(L, 3);
    }
    return hocket__check_str(L, -1);
}

/* Behind the argument stands the id. */
static int submitted(lua_State *L, int status, lua_KContext at)
{
    struct hocket__store_ask *a = lua_touserdata(L, (int) at);
    (void) status;
    if (a->status < 0)
        return hocket__store_ask_failed(L, a);
    lua_pushvalue(L, 2);
    return 1;
}

static int ask(lua_State *L, struct hocket__store_ask *a, const struct hocket__store_run *run,
    struct hocket__str travel)
{
    int rc = hocket__store_pack_files(L, 1, travel, &a->text);
    if (rc == 0)
        rc = hocket__store_submit(a->s, run, hocket__buf_str(&a->text), &a->reply, &a->call);
    hocket__buf_deinit(&a->text);
    return rc < 0 ? hocket__error(&a->err, rc, "the run cannot be put: %s", hocket_status_text(rc))
                  : 0;
}

/* submit{id=, target=, input=, options=, pool=, due_ms=, caller=, project=, generation=, files=, files_of=} -> id, when it is
 * on the disk: a run that workers of that pool may begin. `files` are those of the generation `files_of`. EEXIST. */
int hocket__l_store_submit(lua_State *L)
{
    struct hocket__store_run run;
    lua_settop(L, 1);
    luaL_checktype(L, 1, LUA_TTABLE);
    hocket__store_read_job(L, 1, &run);
    struct hocket__str travel = hocket__opt_str(L, 1, "files_of");
    lua_pushstring(L, run.id);
    run.generation = push_generation(L, &run, travel);
    struct hocket__store_ask *a = hocket__store_ask_push(L);
    if (!a)
        return 2;
    if (ask(L, a, &run, travel) < 0)
        return hocket__fail(L, &a->err);
    return hocket__store_ask_wait(L, a, 0, -1, submitted);
}

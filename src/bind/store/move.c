/* Runs as files, from files, and forks of them. */
#include "bind/store/store_impl.h"

#include <stdlib.h>
#include <string.h>

#include "bind/fiber/fiber.h"
#include "bind/util.h"
#include "core/run_id.h"
#include "os/target.h"
#include "store/export.h"

/* ---- export ---------------------------------------------------------------------------------------- */

/* The store writes until somebody says that it is not wanted any more, so it may outlive its fiber. */
struct export
{
    struct hocket__runtime *rt;
    struct hocket__target to;
    struct hocket__buf bytes;
    uint64_t fiber;
    bool owned, under_way; /* by the fiber; by the store */
    int status;
    struct hocket_error err;
};

static const char EXPORT[] = "hocket.store.export";

static void free_export(struct export *x)
{
    hocket__target_close(&x->to);
    hocket__buf_deinit(&x->bytes);
    hocket__free(x->rt->alloc, x, sizeof(*x));
}

static void drop_export(void *ud)
{
    struct export *x = ud;
    x->owned = false;
    if (!x->under_way)
        free_export(x);
}

static int on_write(void *ud, struct hocket__str bytes)
{
    struct export *x = ud;
    if (!x->owned)
        return HOCKET_ECANCELLED;
    if (x->to.fd < 0)
        return hocket__buf_addstr(&x->bytes, bytes);
    return hocket__target_write(&x->to, bytes, &x->err);
}

/* Either side may come first: the fiber that gives up, or the store that is done. The second of
 * them frees. */
static void on_end(void *ud, int status, const struct hocket_error *err)
{
    struct export *x = ud;
    x->under_way = false;
    if (!x->owned) {
        free_export(x);
        return;
    }
    x->status = status < 0 ? status : hocket__target_finish(&x->to, &x->err);
    if (status < 0 && !x->err.message[0] && err)
        x->err = *err;
    else if (status < 0 && !x->err.message[0])
        hocket__error(&x->err, status, "%s", hocket_status_text(status));
    hocket__fiber_wake(x->rt, x->fiber);
}

static int holder_gc(lua_State *L)
{
    struct export **holder = hocket__gc_userdata(L, holder_gc);
    if (holder && *holder) {
        drop_export(*holder);
        *holder = NULL;
    }
    return 0;
}

static int exported(lua_State *L, int status, lua_KContext at)
{
    struct export **holder = lua_touserdata(L, (int) at), *x = *holder;
    (void) status;
    if (x->under_way)
        return hocket__await_outside(L, -1, at, exported);
    if (x->status < 0)
        return hocket__fail(L, &x->err);
    if (x->to.fd < 0)
        hocket__push_str(L, hocket__buf_str(&x->bytes));
    else
        lua_pushboolean(L, true);
    *holder = NULL;
    drop_export(x);
    return 1;
}

/* Behind a pointer, as it may have to outlive the userdata. */
static struct export *new_export(lua_State *L, struct hocket__store_ask *a)
{
    struct export **holder = lua_newuserdatauv(L, sizeof(struct export *), 0);
    *holder = NULL;
    if (luaL_newmetatable(L, EXPORT)) {
        lua_pushcfunction(L, holder_gc);
        lua_setfield(L, -2, "__gc");
    }
    lua_setmetatable(L, -2);
    struct export *x = hocket__zero(a->rt->alloc, sizeof(*x));
    if (!x)
        hocket__raise_nomem(L);
    *x = (struct export){ .rt = a->rt, .fiber = a->fiber, .owned = true, .to = { .fd = -1 } };
    hocket__buf_init(&x->bytes, a->rt->alloc, 0);
    return *holder = x;
}

/* Where to: a path, a descriptor, or nil. */
static int open_target(lua_State *L, struct export *x)
{
    if (lua_isnoneornil(L, 2))
        return 0;
    if (lua_isinteger(L, 2)) {
        x->to.fd = (int) lua_tointeger(L, 2);
        x->to.lent = true;
        return 0;
    }
    x->to.path = strdup(luaL_checkstring(L, 2));
    return x->to.path ? hocket__target_open(&x->to, &x->err) : hocket__error_nomem(&x->err);
}

/* export(id) -> bytes; export(id, path or descriptor) -> true: streamed to it */
int hocket__l_store_export(lua_State *L)
{
    struct hocket__str id = hocket__check_str(L, 1);
    lua_settop(L, 2);
    struct hocket__store_ask *a = hocket__store_ask_push(L);
    if (!a)
        return 2;
    struct export *x = new_export(L, a);
    if (open_target(L, x) < 0)
        return hocket__fail(L, &x->err);
    struct hocket__store_sink sink = { .write = on_write, .done = on_end, .ud = x };
    int rc = hocket__store_export(a->s, id, &sink);
    x->under_way = rc == 0;
    if (rc < 0) {
        hocket__error(&x->err, rc, "the run cannot be written: %s", hocket_status_text(rc));
        return hocket__fail(L, &x->err);
    }
    return exported(L, LUA_OK, lua_absindex(L, -1));
}

/* ---- Putting a run ---------------------------------------------------------------------------------- */

/* In the turn in which it was put: whoever waits for that may be cancelled, and it would be ours as long as we live. */
static int let_go(lua_State *L, struct hocket__store_ask *a, lua_KContext at)
{
    hocket__store_release(a->s, &a->claim);
    a->wait.no_pause = true; /* somebody waits who is to hear that a disk is full */
    return hocket__store_ask_commit(L, a, (int) at, hocket__store_give_id);
}

/* It is asked for first: a refusal would end the claim of one that this very process works on. */
static int import_unless_there(lua_State *L, int status, lua_KContext at)
{
    struct hocket__store_ask *a = lua_touserdata(L, (int) at);
    (void) status;
    if (a->status == 0)
        hocket__error(&a->err, HOCKET_EEXIST, "there is a run %s already", a->claim.id);
    if (a->status != HOCKET_ENOTFOUND
        || hocket__store_import(a->s, hocket__check_str(L, 1), a->claim.id, &a->claim, &a->err) < 0)
        return hocket__fail(L, &a->err);
    return let_go(L, a, at);
}

/* import(bytes, id?) -> id. EEXIST. */
int hocket__l_store_import(lua_State *L)
{
    struct hocket__str bytes = hocket__check_str(L, 1);
    struct hocket__str id = hocket__text_at(L, 2);
    struct hocket__store_run run;
    lua_settop(L, 2);
    struct hocket__store_ask *a = hocket__store_ask_push(L);
    if (!a)
        return 2;
    int rc = hocket__store_export_read(&bytes, &run, &a->err);
    id = rc < 0 || id.n > 0 ? id : hocket__cstr(run.id);
    if (rc == 0 && !hocket__store_is_id(id))
        rc = hocket__error(
            &a->err, HOCKET_EINVAL, "%.*s is no id of a run", (int) (id.n & 63), id.p);
    if (rc < 0)
        return hocket__fail(L, &a->err);
    memcpy(a->claim.id, id.p, id.n);
    rc = hocket__store_find(a->s, id, &a->reply, &a->call);
    return hocket__store_ask_wait(L, a, rc, -1, import_unless_there);
}

/* export_end(bytes, from) -> where the run that begins there ends; EPARSE */
int hocket__l_store_export_end(lua_State *L)
{
    struct hocket__str all = hocket__check_str(L, 1), rest;
    lua_Integer from = luaL_checkinteger(L, 2);
    struct hocket_error err;
    luaL_argcheck(L, from >= 1 && (size_t) from <= all.n, 2, "within the bytes");
    rest = hocket__str(all.p + from - 1, all.n - (size_t) from + 1);
    if (hocket__store_export_read(&rest, NULL, &err) < 0)
        return hocket__fail(L, &err);
    lua_pushinteger(L, (lua_Integer) (all.n - rest.n) + 1);
    return 1;
}

/* The files that the fork continues with: what its parent and its ancestors have read. A fork from the beginning
 * reads its own. */
static void write_generation(
    lua_State *L, const struct hocket__store_run *parent, const char *id, struct hocket__buf *names)
{
    struct hocket__str rest = parent->generation, name;
    if (lua_getfield(L, 4, "anew") && lua_toboolean(L, -1)) {
        hocket__buf_adds(names, id);
        return;
    }
    hocket__buf_adds(names, parent->id);
    while (hocket__store_next_generation(&rest, &name))
        if (!hocket__str_is(name, parent->id))
            hocket__buf_addf(names, ",%.*s", (int) name.n, name.p);
}

static int put_run(struct hocket__store_ask *a, const struct hocket__store_run *run)
{
    int rc = run->generation.n > 0 ? hocket__store_put(a->s, run, &a->claim) : HOCKET_ENOMEM;
    return rc < 0 ? hocket__error(&a->err, rc, "the fork cannot be put: %s", hocket_status_text(rc))
                  : 0;
}

static int name_fork(
    struct hocket__store_ask *a, struct hocket__str given, char id[HOCKET__STORE_ID + 1])
{
    unsigned char random[HOCKET__RUN_ID_RANDOM];
    if (given.p && !hocket__store_is_id(given))
        return hocket__error(&a->err, HOCKET_EINVAL, "this is no id of a run");
    if (given.p) {
        memcpy(id, given.p, HOCKET__STORE_ID);
        return 0;
    }
    int rc = hocket__own_random(&a->rt->own, random, sizeof(random));
    if (rc < 0)
        return hocket__error(&a->err, rc, "the system gives no random numbers");
    hocket__run_id(hocket__wall_ms(), random, id);
    return 0;
}

/* Replays what it has of its parent's log, with the same chance as that: so the seed is the parent's. */
static int put_fork(lua_State *L, struct hocket__store_ask *a, struct hocket__store_run *run)
{
    struct hocket__str input = hocket__opt_str(L, 4, "input"),
                       options = hocket__opt_str(L, 4, "options"),
                       target = hocket__opt_str(L, 4, "target");
    char id[HOCKET__STORE_ID + 1] = "";
    int rc = name_fork(a, hocket__opt_str(L, 4, "id"), id);
    if (rc < 0)
        return rc;
    struct hocket__buf names = hocket__buf(a->rt->alloc, 0);
    write_generation(L, run, id, &names);
    memcpy(run->parent, run->id, sizeof(run->id));
    memcpy(run->id, id, sizeof(run->id));
    run->generation = hocket__buf_str(&names);
    run->at_n = (uint64_t) luaL_checkinteger(L, 2);
    run->at_seq = (uint64_t) luaL_checkinteger(L, 3);
    run->input = input.p ? input : run->input;
    run->options = options.p ? options : run->options;
    run->target = target.p ? target : run->target;
    run->waiting_for = HOCKET__STR("");
    hocket__store_leave_queue(run);
    run->state = HOCKET__STORE_RUNNING;
    run->cost = run->tokens = -1;
    run->created_ms = hocket__wall_ms();
    rc = put_run(a, run);
    hocket__buf_deinit(&names);
    return rc;
}

static int fork_found(lua_State *L, int status, lua_KContext at)
{
    struct hocket__store_ask *a = lua_touserdata(L, (int) at);
    struct hocket__str rows = hocket__buf_str(&a->rows);
    struct hocket__store_row row;
    (void) status;
    if (a->status < 0)
        return hocket__store_ask_failed(L, a);
    if (hocket__store_unpack(&rows, &row) != 1 || row.kind != HOCKET__STORE_ROW_RUN)
        return luaL_error(L, "the store gave no run");
    if ((uint64_t) luaL_checkinteger(L, 2) > row.run.last_n) {
        hocket__error(&a->err, HOCKET_EINVAL, "the log of %s has %llu entries, not %lld",
            row.run.id, (unsigned long long) row.run.last_n, (long long) lua_tointeger(L, 2));
        return hocket__fail(L, &a->err);
    }
    if (put_fork(L, a, &row.run) < 0)
        return hocket__fail(L, &a->err);
    return let_go(L, a, at);
}

/* fork(id, at_n, at_seq, {id=, input=, options=, target=, anew=}?) -> id: the first at_n entries of its log, and at_seq records,
 * are those of its parent; nobody has it, and no worker takes it. anew: it reads its files anew */
int hocket__l_store_fork(lua_State *L)
{
    struct hocket__str id = hocket__check_str(L, 1);
    luaL_argcheck(L, luaL_checkinteger(L, 2) >= 0, 2, "not negative");
    luaL_argcheck(L, luaL_checkinteger(L, 3) >= 0, 3, "not negative");
    lua_settop(L, 4);
    if (lua_isnil(L, 4)) {
        lua_newtable(L);
        lua_replace(L, 4);
    }
    struct hocket__store_ask *a = hocket__store_ask_push(L);
    if (!a)
        return 2;
    return hocket__store_ask_wait(
        L, a, hocket__store_find(a->s, id, &a->reply, &a->call), -1, fork_found);
}

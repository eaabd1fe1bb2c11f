/* A question that a fiber puts to the store, and its wait for the answer. It is a userdata on the
 * fiber's stack: while it stands there the question lives, and when it is collected, or the fiber is cancelled, the
 * store forgets it.
 *
 * The store answers in the loop, outside of any Lua. So rows are packed into a buffer as they come,
 * and are made values of Lua only when the fiber runs again. */

#include "bind/store/store_impl.h"

#include "bind/fiber/fiber.h"
#include "bind/store/store.h"
#include "bind/util.h"

static const char ASK[] = "hocket.store.ask";

/* ---- What the store says ------------------------------------------------------------------- */

/* Checks for room before it takes a row: the row that is one too many says that there are more. */
static int on_row(void *ud, const struct hocket__store_row *row)
{
    struct hocket__store_ask *a = ud;
    bool paged = a->limit < SIZE_MAX;
    if (a->count == a->limit || (paged && a->rows.len >= HOCKET__STORE_PAGE_BYTES))
        return 1; /* more than was asked for is left */
    a->count++;
    return hocket__store_pack(&a->rows, row);
}

static void finish(struct hocket__store_ask *a, int status, const struct hocket_error *err)
{
    a->call = NULL;
    a->done = true;
    a->status = status;
    if (status >= 0 || (err && !err->retryable))
        hocket__runtime_store_spoke(a->rt);
    if (status < 0 && err)
        a->err = *err;
    else if (status < 0)
        hocket__error(&a->err, status, "the store did not answer: %s", hocket_status_text(status));
    hocket__fiber_wake(a->rt, a->fiber);
}

void hocket__store_ask_done(void *ud, int status, const struct hocket_error *err)
{
    finish(ud, status, err);
}

static void on_kept(struct hocket__store_wait *w, int status, const struct hocket_error *err)
{
    finish(hocket__container_of(w, struct hocket__store_ask, wait), status, err);
}

/* Runs that are ours, and of which the fiber has not heard. A store that closes lets go of all by itself. */
static void give_back(struct hocket__store_ask *a)
{
    struct hocket__str rows = hocket__buf_str(&a->rows);
    struct hocket__store_row row;
    bool has_it = a->takes && a->done && a->status == 0 && a->rt->life == HOCKET__RUNTIME_OPEN;
    a->takes = false;
    while (has_it && hocket__store_unpack(&rows, &row) == 1)
        hocket__store_give_back(a->s, &row.run, a->takes_next);
}

/* Both kinds of wait: for an answer, and for what was written to be on the disk. */
static void let_go(void *ud)
{
    struct hocket__store_ask *a = ud;
    if (a->call)
        hocket__store_cancel(a->s, a->call);
    a->call = NULL;
    hocket__store_forget(&a->wait);
    give_back(a);
}

/* Between the answer and its fiber's turn that may be cancelled, and is not asked any more: the error that it raises there comes
 * past here. */
static int ask_close(lua_State *L)
{
    let_go(luaL_checkudata(L, 1, ASK));
    return 0;
}

static int ask_gc(lua_State *L)
{
    struct hocket__store_ask *a = hocket__gc_userdata(L, ask_gc);
    if (!a)
        return 0;
    let_go(a);
    hocket__buf_deinit(&a->rows);
    hocket__buf_deinit(&a->text);
    return 0;
}

/* ---- Asking, waiting ------------------------------------------------------------------------- */

/* Both buffers and the wait are in order before the metatable is set, so the collector may come at
 * any time after it. NULL: the error is on the stack already. */
struct hocket__store_ask *hocket__store_ask_push(lua_State *L)
{
    struct hocket__runtime *rt = hocket__runtime(L);
    uint64_t fiber = hocket__fiber_current(L)->id;
    struct hocket_error err;
    struct hocket__store *s = hocket__runtime_store(rt, &err);
    if (!s) {
        hocket__fail(L, &err);
        return NULL;
    }
    struct hocket__store_ask *a = lua_newuserdatauv(L, sizeof(*a), 0);
    *a =
        (struct hocket__store_ask){ .rt = rt, .s = s, .fiber = fiber, .limit = HOCKET__STORE_PAGE };
    a->reply = (struct hocket__store_reply){ on_row, hocket__store_ask_done, a };
    a->wait.done = on_kept;
    hocket__buf_init(&a->rows, rt->alloc, 0);
    hocket__buf_init(&a->text, rt->alloc, 0);
    if (luaL_newmetatable(L, ASK)) {
        lua_pushcfunction(L, ask_gc);
        lua_setfield(L, -2, "__gc");
        lua_pushcfunction(L, ask_close);
        lua_setfield(L, -2, "__close");
    }
    lua_setmetatable(L, -2);
    return a;
}

void hocket__store_ask_takes(lua_State *L, struct hocket__store_ask *a, bool next)
{
    lua_toclose(L, -1);
    a->takes = true;
    a->takes_next = next;
    a->limit = SIZE_MAX; /* what would be left of a page would be lost */
}

/* Its fiber has waited long enough. */
static void give_up(struct hocket__store_ask *a)
{
    struct hocket_error err;
    if (a->call)
        hocket__store_give_up(a->s, a->call);
    let_go(a);
    hocket__runtime_store_silent(a->rt);
    hocket__error(&err, HOCKET_EIO, "the store does not answer: it is away, or has too much to do");
    err.retryable = true;
    finish(a, HOCKET_EIO, &err);
}

/* A wake is a hint: whoever was woken looks again. */
static int again(lua_State *L, int status, lua_KContext ctx)
{
    (void) status;
    struct hocket__store_ask *a = lua_touserdata(L, (int) ctx);
    uint64_t now = a->until && !a->done ? hocket__deadlines_now() : 0;
    if (a->until && now >= a->until)
        give_up(a);
    if (!a->done)
        return hocket__await(L, a->until ? (int64_t) (a->until - now) : -1, let_go, a, ctx, again);
    return a->next(L, LUA_YIELD, ctx);
}

static void set_patience(struct hocket__store_ask *a, const struct hocket__fiber *f)
{
    if (f->patience_ms > 0)
        a->until = hocket__deadlines_now()
                   + (uint64_t) hocket__runtime_store_patience(a->rt, f->patience_ms);
}

/* An `rc` below 0 is a question that was not even put; its fiber goes through the same end as all
 * the others, without a wait. */
int hocket__store_ask_wait(
    lua_State *L, struct hocket__store_ask *a, int rc, int at, lua_KFunction k)
{
    at = lua_absindex(L, at);
    a->next = k;
    set_patience(a, hocket__fiber_current(L));
    if (rc < 0)
        finish(a, rc, NULL);
    return again(L, LUA_OK, at);
}

int hocket__store_ask_commit(lua_State *L, struct hocket__store_ask *a, int at, lua_KFunction k)
{
    a->done = false;
    hocket__store_commit(a->s, &a->claim, HOCKET__STORE_SYNCED, &a->wait);
    return hocket__store_ask_wait(L, a, 0, at, k);
}

int hocket__store_ask_failed(lua_State *L, const struct hocket__store_ask *a)
{
    return a->status < 0 ? hocket__fail(L, &a->err) : 0;
}

/* ---- In a hurry ------------------------------------------------------------------------------ */

/* hurry(seconds): how long the running fiber, and fibers that it spawns from now on, wait for an answer before the error "the store is
 * away". They wait less when others have waited in vain a moment ago. 0: no limit */
int hocket__l_store_hurry(lua_State *L)
{
    double seconds = luaL_checknumber(L, 1);
    luaL_argcheck(L, seconds >= 0 && seconds < 1e6, 1, "seconds");
    hocket__fiber_current(L)->patience_ms = (int64_t) (seconds * 1000);
    return 0;
}

/* is_away() -> whether somebody in a hurry has waited in vain a moment ago, and nobody was answered since */
int hocket__l_store_is_away(lua_State *L)
{
    lua_pushboolean(L, hocket__runtime_store_is_away(hocket__runtime(L)));
    return 1;
}

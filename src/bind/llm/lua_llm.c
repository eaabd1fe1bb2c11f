/* hocket.internal.core.llm: model calls that look synchronous. A call is one attempt (attempt.h):
 *
 *   start ──> queued ──> begun ──> done
 *     └─ next() for deltas, wait() for the reply, retry() for a failure ─┘
 *
 * Providers are in lua_provider.c, requests in lua_request.c, the conversation is in
 * lua_history.c, the reply in lua_answer.c. All that touches Lua happens in the fiber that waits. */

#include "bind/llm/attempt.h"

#include <string.h>
#include "bind/fiber/fiber.h"
#include "bind/options.h"
#include "bind/transport.h"
#include "bind/util.h"
#include "net/protocol/protocol.h"

/* ---- Calls -------------------------------------------------------------------------- */

/* User values: provider, history, request, model: its arguments; the cassette, accounts, price; and
 * the results of its tool calls. */
#define ANCHORS 4
enum { CASSETTE = ANCHORS + 1, ACCOUNTS, PRICE };

/* Whether the value at `arg` has the provider for its user value `i`; it has from now on. */
static bool is_tied(lua_State *L, int arg, int i)
{
    lua_getiuservalue(L, arg, i);
    bool tied = lua_rawequal(L, -1, 1);
    lua_pop(L, 1);
    if (!tied) {
        lua_pushvalue(L, 1);
        lua_setiuservalue(L, arg, i);
    }
    return tied;
}

/* The wire form of a history and the beginning that is kept with a request were made for a
 * provider, and point into it: they keep it alive, and begin anew with another. */
static void tie_provider(lua_State *L, struct hocket__history *h, struct hocket__lua_request *q)
{
    if (!is_tied(L, 2, 1))
        hocket__history_unwire(h);
    if (!is_tied(L, 3, 2))
        hocket__prepared_reset(&q->prepared);
}

/* Who pays for it: accounts, the account in them, the price. */
static void read_account(lua_State *L, struct hocket__answer *a, struct hocket__tally *t)
{
    *t = (struct hocket__tally){ 0 };
    a->price = hocket__opt_price(L, 10);
    if (lua_isnoneornil(L, 8) || lua_isboolean(L, 8))
        return;
    t->accounts = hocket__check_accounts(L, 8);
    t->id = (uint64_t) luaL_checkinteger(L, 9);
    t->free = a->price && hocket__price_is_free(a->price);
}

/* The call on top keeps the value at `idx` alive. */
static void anchor(lua_State *L, int idx, int i)
{
    if (lua_isnil(L, idx))
        return;
    lua_pushvalue(L, idx);
    lua_setiuservalue(L, -2, i);
}

static struct hocket__attempt *new_call(lua_State *L, struct hocket__runtime *rt)
{
    struct hocket__lua_provider *p = hocket__check_provider(L, 1);
    struct hocket__history *h = hocket__check_history(L, 2);
    struct hocket__lua_request *q = hocket__check_request(L, 3);
    const char *model = luaL_checkstring(L, 4);
    tie_provider(L, h, q);
    struct hocket__transport *transport = hocket__transport_push(L, rt);
    struct hocket__attempt **p_call =
        hocket__new_object(L, sizeof(*p_call), HOCKET__CALL_RESULTS, hocket__call_name);
    /* In this order: with the metatable set and NULL in it, whatever raises next is collected
     * cleanly. */
    *p_call = NULL;
    luaL_setmetatable(L, hocket__call_name);
    struct hocket__attempt *a = *p_call = hocket__attempt_new(rt);
    if (!a)
        hocket__raise_nomem(L);
    a->provider = p;
    a->transport = transport;
    /* What is replayed is held back by what was recorded alone. */
    a->lane = transport->offline ? NULL : p->lane;
    a->history = a->answer.history = h;
    a->request = q;
    a->model = model;
    for (int i = 1; i <= ANCHORS; i++)
        anchor(L, i, i);
    anchor(L, lua_gettop(L) - 1, CASSETTE);
    anchor(L, 8, ACCOUNTS);
    anchor(L, 10, PRICE);
    return a;
}

/* start(provider, history, request, model, run?, timeout?, again?, accounts?, account?, price?, trace?, guess?)
 *   -> call | nil, error
 * `run` is the number of the run whose turn at the rate limit it takes; `again` says that it was
 * turned away before. The reply is counted on the account when it comes, also one that comes too
 * late to be used; `accounts = true`: apart from any, see call:counted(). `trace`: further header lines, each ended by a NUL. `guess`: tokens of the request, where a limit binds that has to hold for a
 * server that tells no usage, too. */
static int l_start(lua_State *L)
{
    struct hocket__runtime *rt = hocket__runtime(L);
    struct hocket_error err;
    uint64_t run = (uint64_t) luaL_optinteger(L, 5, 0);
    int total_ms = hocket__seconds_to_ms(luaL_optnumber(L, 6, 0));
    bool again = lua_toboolean(L, 7);
    struct hocket__tally tally;
    struct hocket__str trace = lua_isnoneornil(L, 11) ? HOCKET__STR("") : hocket__check_str(L, 11);
    int64_t guess = luaL_optinteger(L, 12, 0);
    lua_settop(L, 11);
    struct hocket__attempt *a = new_call(L, rt);
    a->answer.guess = guess;
    if (trace.n > 0 && hocket__buf_addstr(&a->trace, trace) < 0)
        return hocket__raise_nomem(L);
    read_account(L, &a->answer, &tally);
    a->asked_ms = hocket__deadlines_now();
    a->due_ms = total_ms ? a->asked_ms + (uint64_t) total_ms : 0;
    if (hocket__attempt_start(a, run, again, &err) < 0)
        return hocket__fail(L, &err);
    /* Counted from here on: a call that could not be started was none. */
    if (lua_toboolean(L, 8) && !tally.accounts)
        hocket__tally_begin_apart(&a->answer.tally, &a->counted,
            a->answer.price && hocket__price_is_free(a->answer.price));
    if (tally.accounts)
        hocket__tally_begin(&a->answer.tally, tally.accounts, tally.id, tally.free);
    return 1;
}

/* ---- Waiting ---------------------------------------------------------------------------- */

/* Another fiber may have released it. */
static void unwait(void *ud)
{
    struct hocket__attempt **p = ud;
    if (*p)
        hocket__attempt_abandon(*p);
}

/* The call is the first argument, so that it stays while the fiber waits. */
static int wait_more(lua_State *L, struct hocket__attempt *a, lua_KFunction k)
{
    a->fiber = hocket__fiber_current(L)->id;
    return hocket__await(L, !a->llm && a->due_ms ? hocket__attempt_left_ms(a) : -1, unwait,
        lua_touserdata(L, 1), 0, k);
}

static int wait_done(lua_State *L, int status, lua_KContext ctx)
{
    (void) status;
    (void) ctx;
    struct hocket__attempt *a = hocket__check_call(L, 1);
    /* a wake may mean its turn at the lane, its end, or nothing */
    hocket__attempt_advance(a);
    if (!a->done)
        return wait_more(L, a, wait_done);
    if (!a->failed
        && hocket__reply_name_calls((struct hocket__reply *) hocket__llm_reply(a->llm),
               hocket__buf_str(&a->history->messages), &a->history->next_call)
               < 0) {
        hocket__error_nomem(&a->err);
        a->failed = true;
    }
    if (a->failed)
        return hocket__fail(L, &a->err);
    a->answer.waited_ms = a->begun_ms - a->asked_ms;
    lua_pushboolean(L, true);
    return 1;
}

/* call:wait() -> true | nil, error: until it has its reply, see lua_answer.c */
static int l_wait(lua_State *L)
{
    hocket__runtime(L);
    return wait_done(L, LUA_OK, 0);
}

/* What may be handed out: no end that may be the beginning of a secret, while more comes. */
static size_t ready(const struct hocket__attempt *a, const struct hocket__buf *b)
{
    const struct hocket__secrets *s = &a->provider->net.secrets;
    return a->done || s->longest == 0 ? b->len
                                      : b->len - hocket__secrets_begun(s, hocket__buf_str(b));
}

static int hand_out(
    lua_State *L, struct hocket__attempt *a, struct hocket__buf *b, size_t n, const char *kind)
{
    a->handed_out = true;
    lua_pushstring(L, kind);
    hocket__push_str(L, hocket__str(b->data, n));
    memmove(b->data, b->data + n, b->len - n);
    hocket__buf_cut(b, b->len - n);
    return 2;
}

static int next_delta(lua_State *L, int status, lua_KContext ctx)
{
    (void) status;
    (void) ctx;
    struct hocket__attempt *a = hocket__check_call(L, 1);
    hocket__attempt_advance(a);
    size_t thoughts = ready(a, &a->reasoning), words = ready(a, &a->text);
    if (thoughts > 0)
        return hand_out(L, a, &a->reasoning, thoughts, "reasoning");
    if (words > 0)
        return hand_out(L, a, &a->text, words, "text");
    return a->done ? 0 : wait_more(L, a, next_delta);
}

/* call:next() -> "text" | "reasoning", delta; nothing at the end */
static int l_next(lua_State *L)
{
    hocket__runtime(L);
    return next_delta(L, LUA_OK, 0);
}

/* call:retry(made, retries, left?) -> seconds, reason | nil, reason: whether a call that failed
 * after `made` retries is worth another, in how many seconds, and why (not). `left`: seconds
 * to the deadline. */
static int l_retry(lua_State *L)
{
    struct hocket__attempt *a = hocket__check_call(L, 1);
    luaL_argcheck(L, a->failed, 1, "this call has not failed");
    struct hocket__retry_verdict v = hocket__attempt_retry(
        a, (int) luaL_checkinteger(L, 2), (int) luaL_checkinteger(L, 3), hocket__opt_seconds(L, 4));
    if (v.again)
        lua_pushnumber(L, (double) v.delay_ms / 1000);
    else
        lua_pushnil(L);
    lua_pushstring(L, v.reason);
    return 2;
}

/* call:settle(again): a call that failed is made again, or was the last one: then it counts as one,
 * also where it has used nothing */
static int l_settle(lua_State *L)
{
    struct hocket__attempt *a = hocket__check_call(L, 1);
    luaL_argcheck(L, a->failed, 1, "this call has not failed");
    hocket__attempt_settle(a, lua_toboolean(L, 2));
    return 0;
}

/* call:partial() -> the text that came before a failure */
static int l_partial(lua_State *L)
{
    struct hocket__attempt *a = hocket__check_call(L, 1);
    hocket__push_str(
        L, a->llm ? hocket__buf_str(&hocket__llm_reply(a->llm)->text) : hocket__str("", 0));
    return 1;
}

static void drop(struct hocket__attempt **p)
{
    struct hocket__attempt *a = *p;
    *p = NULL;
    if (a)
        hocket__attempt_free(a);
}

/* call:release(): nothing of the reply is needed any more. Its memory goes to the next call, and does
 * not wait for the collector, which sees little of it. */
static int l_release(lua_State *L)
{
    struct hocket__attempt **p = hocket__check_object(L, 1, hocket__call_name);
    luaL_argcheck(L, !*p || (*p)->done, 1, "this call is under way");
    drop(p);
    return 0;
}

static int l_cancel(lua_State *L)
{
    struct hocket__attempt *a = hocket__check_call(L, 1);
    uint64_t fiber = a->fiber;
    hocket__attempt_abandon(a);
    hocket__fiber_wake(hocket__runtime(L), fiber);
    return 0;
}

static int call_gc(lua_State *L)
{
    struct hocket__attempt **p = hocket__gc_userdata(L, call_gc);
    if (p)
        drop(p);
    return 0;
}

/* ---- The module ----------------------------------------------------------------------------- */

/* recall(provider, history, request, model, nil, nil, nil, nil, nil, price, packed) -> call | nil, error: a call
 * that has its reply, which call:pack() wrote. Arguments as those of start. */
static int l_recall(lua_State *L)
{
    struct hocket__runtime *rt = hocket__runtime(L);
    struct hocket__str packed = hocket__check_str(L, 11);
    struct hocket_error err;
    lua_settop(L, 11);
    struct hocket__attempt *a = new_call(L, rt);
    a->answer.price = hocket__opt_price(L, 10);
    if (hocket__attempt_recall(a, packed, &err) < 0)
        return hocket__fail(L, &err);
    return 1;
}

static const luaL_Reg functions[] = { { "start", l_start }, { "recall", l_recall },
    { NULL, NULL } };
static const luaL_Reg call_methods[] = {
    { "wait", l_wait },
    { "next", l_next },
    { "retry", l_retry },
    { "settle", l_settle },
    { "partial", l_partial },
    { "release", l_release },
    { "cancel", l_cancel },
    { "__gc", call_gc },
    { NULL, NULL },
};

int hocket__open_llm(lua_State *L)
{
    hocket__newmeta(L, hocket__call_name, call_methods);
    hocket__open_answer(L);
    hocket__open_recall(L);
    lua_pop(L, 1);
    lua_newtable(L);
    hocket__setfuncs(L, functions);
    hocket__open_provider(L);
    hocket__open_history(L);
    hocket__open_request(L);
    hocket__open_text_calls(L);
    return 1;
}

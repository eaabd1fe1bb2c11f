/* hocket.core.llm: model calls that look synchronous. A call is one attempt:
 *
 *   start ──> queued (the lane is full) ──> begun ──> done
 *               └─ next() for deltas, wait() for the reply, retry() for a failure ─┘
 *
 * Providers are in lua_provider.c, requests in lua_request.c, the conversation is in
 * lua_history.c. The callbacks of
 * transport and lane only note and wake; everything that touches Lua happens in the fiber
 * that waits. */

#include "bind/llm.h"

#include <string.h>
#include <sys/random.h>

#include "bind/await.h"
#include "bind/cassette.h"
#include "bind/util.h"
#include "net/history.h"

static const char CALL[] = "hocket.llm_call";
#define OUTPUT_GUESS 500 /* tokens of an answer whose length nobody limited */

/* ---- Calls -------------------------------------------------------------------------- */

/* User values: provider, history, request, model: its arguments; the cassette, accounts, price; and
 * the results of its tool calls. */
#define ANCHORS 4
enum { CASSETTE = ANCHORS + 1, ACCOUNTS, PRICE };

struct call {
    struct hocket__answer answer;
    struct hocket__runtime *rt;
    struct hocket__lua_provider *provider;
    const struct hocket__lua_request *request;
    const char *model;
    struct hocket__cassette *cassette; /* NULL: neither recorded nor replayed */
    struct hocket__lane *lane;         /* the provider's; NULL: nothing holds the call back */
    struct hocket__llm_call *llm;      /* NULL until it has begun */
    struct hocket__history *history;
    struct hocket__lane_wait turn;
    uint64_t fiber;                      /* who waits; 0: nobody */
    uint64_t asked_ms, begun_ms, due_ms; /* see hocket__deadlines_now; due 0: no limit */
    bool done, failed;
    bool handed_out; /* a delta was */
    struct hocket_error err;
    struct hocket__buf text, reasoning; /* deltas not handed out yet */
};

/* The userdata has but a pointer, NULL once the call was released: calls come and go faster than the
 * collector, so that each is made where the last one was. */
static struct call *check_call(lua_State *L, int arg)
{
    struct call **p = hocket__check_object(L, arg, CALL);
    luaL_argcheck(L, *p, arg, "this call has no reply, or no longer");
    return *p;
}

struct hocket__answer *hocket__check_answer(lua_State *L, int arg)
{
    struct call *c = check_call(L, arg);
    luaL_argcheck(L, c->answer.llm, arg, "this call has no reply, or no longer");
    return &c->answer;
}

static void on_delta(void *ud, enum hocket__delta_kind kind, size_t index, struct hocket__str text)
{
    struct call *c = ud;
    (void) index;
    if (kind == HOCKET__DELTA_CALL)
        return;
    hocket__buf_addstr(kind == HOCKET__DELTA_TEXT ? &c->text : &c->reasoning, text);
    hocket__fiber_wake(c->rt, c->fiber);
}

/* What broke off in the middle has used something, and nobody says how much. */
static void finish(struct call *c, const struct hocket_error *err)
{
    c->done = true;
    c->failed = err != NULL;
    if (err)
        c->err = *err;
    if (err && err->status == HOCKET_ETRUNCATED)
        hocket__tally_lost(&c->answer.tally);
    else if (err)
        hocket__tally_drop(&c->answer.tally);
    hocket__fiber_wake(c->rt, c->fiber);
}

static void on_turn(struct hocket__lane_wait *w)
{
    struct call *c = hocket__container_of(w, struct call, turn);
    hocket__fiber_wake(c->rt, c->fiber);
}

static void on_head(void *ud, int status, const struct hocket__advice *advice)
{
    struct call *c = ud;
    if (c->lane)
        hocket__lane_answer(c->lane, &c->turn, status, advice, hocket__llm_multiplexed(c->llm));
}

/* What only the end tells the lane: a wait that stood in the body, and the tokens. */
static void settle(struct call *c, const struct hocket_error *err)
{
    struct hocket__lane *lane = c->lane;
    const struct hocket__usage *u = &hocket__llm_reply(c->llm)->usage;
    hocket__lane_leave(lane, &c->turn);
    if (err && err->retryable && err->retry_after_ms > 0)
        hocket__lane_block(lane, err->retry_after_ms);
    else if (!err && u->input >= 0 && u->output >= 0)
        hocket__lane_used(lane, &c->turn, u->input + u->output);
}

static void on_done(void *ud, const struct hocket_error *err)
{
    struct call *c = ud;
    if (c->lane)
        settle(c, err);
    if (!err) {
        c->answer.llm = c->llm;
        hocket__answer_count(&c->answer);
    }
    finish(c, err);
}

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
    a->cost = -1;
    if (lua_isnoneornil(L, 8))
        return;
    t->accounts = hocket__check_accounts(L, 8);
    t->id = (uint64_t) luaL_checkinteger(L, 9);
    t->free = a->price && hocket__price_is_free(a->price);
}

static struct call *new_call(lua_State *L, struct hocket__runtime *rt)
{
    struct hocket__lua_provider *p = hocket__check_provider(L, 1);
    struct hocket__history *h = hocket__check_history(L, 2);
    struct hocket__lua_request *q = hocket__check_request(L, 3);
    const char *model = luaL_checkstring(L, 4);
    tie_provider(L, h, q);
    struct hocket__cassette *cassette = hocket__cassette_push(L);
    struct call **p_call = hocket__new_object(L, sizeof(*p_call), HOCKET__CALL_RESULTS, CALL);
    *p_call = NULL;
    luaL_setmetatable(L, CALL);
    struct call *c = *p_call = hocket__zero(rt->alloc, sizeof(*c));
    if (!c)
        luaL_error(L, "out of memory");
    c->rt = rt;
    c->provider = p;
    c->cassette = cassette;
    /* What is replayed is held back by what was recorded alone. */
    c->lane = cassette && hocket__cassette_replays(cassette) ? NULL : p->lane;
    c->history = h;
    c->request = q;
    c->model = model;
    c->answer.rt = rt;
    c->answer.history = h;
    c->turn.on_turn = on_turn;
    hocket__buf_init(&c->text, rt->alloc, rt->max_message);
    hocket__buf_init(&c->reasoning, rt->alloc, rt->max_message);
    for (int i = 1; i <= ANCHORS; i++) {
        lua_pushvalue(L, i);
        lua_setiuservalue(L, -2, i);
    }
    lua_pushvalue(L, -2);
    lua_setiuservalue(L, -2, CASSETTE);
    if (!lua_isnoneornil(L, 8)) {
        lua_pushvalue(L, 8);
        lua_setiuservalue(L, -2, ACCOUNTS);
    }
    if (!lua_isnoneornil(L, 10)) {
        lua_pushvalue(L, 10);
        lua_setiuservalue(L, -2, PRICE);
    }
    return c;
}

static int left_ms(const struct call *c)
{
    uint64_t now = hocket__deadlines_now();
    return c->due_ms == 0 ? 0 : c->due_ms > now ? (int) (c->due_ms - now) : 1;
}

static int begin(struct call *c, struct hocket_error *err)
{
    struct hocket__llm_request q = c->request->net;
    q.model = c->model;
    q.history = c->history;
    q.traits = &c->provider->net.traits;
    struct hocket__llm_spec spec = {
        .provider = &c->provider->net,
        .request = &q,
        .connect_ms = c->request->connect_ms,
        .first_ms = c->request->first_ms,
        .idle_ms = c->request->idle_ms,
        .total_ms = left_ms(c),
        .cassette = c->cassette,
        .max_message = c->rt->max_message,
        .on_delta = c->request->deltas ? on_delta : NULL,
        .on_head = c->lane ? on_head : NULL,
        .on_done = on_done,
        .ud = c,
    };
    /* What is recorded or replayed stays on this thread. */
    bool replays = c->cassette && hocket__cassette_replays(c->cassette);
    bool threaded = c->rt->threaded && !c->cassette;
    struct hocket__http *http = threaded || replays ? NULL : hocket__runtime_http(c->rt, err);
    spec.relay = threaded ? hocket__runtime_relay(c->rt, err) : NULL;
    c->begun_ms = hocket__deadlines_now();
    if (!http && !spec.relay && !replays)
        return err->status;
    return hocket__llm_start(http, c->rt->alloc, &spec, &c->llm, err);
}

static int64_t guess_tokens(const struct call *c)
{
    const struct hocket__llm_request *q = &c->request->net;
    size_t bytes = c->history->messages.len + q->system.n + q->tools.n;
    return (int64_t) (bytes / 4) + (q->max_tokens > 0 ? q->max_tokens : OUTPUT_GUESS);
}

/* 1: the call may begin; 0: the lane will say when. */
static int ask_lane(struct call *c, uint64_t run, bool again, struct hocket_error *err)
{
    struct hocket__lane *lane = c->lane;
    if (!lane)
        return 1;
    struct hocket__limiter_ask ask = {
        .run = run,
        .tokens = guess_tokens(c),
        .again = again,
        .patience_ms = c->request->max_wait_ms,
    };
    if (c->due_ms && ask.patience_ms > left_ms(c))
        ask.patience_ms = left_ms(c);
    if (!again)
        hocket__retry_budget_call(&lane->budget);
    return hocket__lane_ask(lane, &c->turn, &ask, err);
}

static int check_online(const struct call *c, struct hocket_error *err)
{
    bool replays = c->cassette && hocket__cassette_replays(c->cassette);
    if (c->provider->simulated || replays || !hocket__runtime_getenv(c->rt, "HOCKET_OFFLINE"))
        return 0;
    return hocket__error(err, HOCKET_EOFFLINE, "HOCKET_OFFLINE is set: no call is made to %s",
        c->provider->net.base.data);
}

/* start(provider, history, request, model, run?, timeout?, again?, accounts?, account?, price?)
 *   -> call | nil, error
 * `run` is the number of the run whose turn at the rate limit it takes; `again` says that it was
 * turned away before. The reply is counted on the account when it comes, also one that comes too
 * late to be used. */
static int l_start(lua_State *L)
{
    struct hocket__runtime *rt = hocket__runtime(L);
    struct hocket_error err;
    uint64_t run = (uint64_t) luaL_optinteger(L, 5, 0);
    int total_ms = hocket__seconds_to_ms(luaL_optnumber(L, 6, 0));
    bool again = lua_toboolean(L, 7);
    struct hocket__tally tally;
    lua_settop(L, 10);
    struct call *c = new_call(L, rt);
    read_account(L, &c->answer, &tally);
    c->asked_ms = hocket__deadlines_now();
    c->due_ms = total_ms ? c->asked_ms + (uint64_t) total_ms : 0;
    int rc = check_online(c, &err);
    if (rc == 0 && (rc = ask_lane(c, run, again, &err)) == 1)
        rc = begin(c, &err);
    if (rc < 0) {
        if (c->lane)
            hocket__lane_leave(c->lane, &c->turn);
        return hocket__fail(L, &err);
    }
    if (tally.accounts)
        hocket__tally_begin(&c->answer.tally, tally.accounts, tally.id, tally.free);
    return 1;
}

/* A call whose turn has come is begun by the fiber that waits for it. */
static void begin_late(struct call *c)
{
    struct hocket_error err;
    if (begin(c, &err) < 0) {
        hocket__lane_leave(c->lane, &c->turn);
        finish(c, &err);
    }
}

static void too_late(struct call *c)
{
    struct hocket_error err;
    hocket__lane_leave(c->lane, &c->turn);
    hocket__error(&err, HOCKET_ETIMEOUT,
        "not done within %llu ms: the rate limit of %s held the call back",
        (unsigned long long) (c->due_ms - c->asked_ms), c->provider->net.base.data);
    finish(c, &err);
}

/* Whatever has to be done for a queued call before anybody waits (on). */
static void advance(struct call *c)
{
    if (c->done || c->llm || c->turn.state == HOCKET__LANE_OUT)
        return;
    if (c->turn.state == HOCKET__LANE_GOING)
        begin_late(c);
    else if (c->due_ms && hocket__deadlines_now() >= c->due_ms)
        too_late(c);
}

static void abandon(struct call *c)
{
    if (c->llm)
        hocket__llm_cancel(c->llm);
    if (c->lane)
        hocket__lane_leave(c->lane, &c->turn);
    c->fiber = 0;
    if (!c->done)
        hocket__error(&c->err, HOCKET_ECANCELLED, "the model call was cancelled");
    hocket__tally_lost(&c->answer.tally); /* unless it was counted */
    c->failed |= !c->done;
    c->done = true;
}

/* ---- Waiting ---------------------------------------------------------------------------- */

/* Another fiber may have released it. */
static void unwait(void *ud)
{
    struct call **p = ud;
    if (*p)
        abandon(*p);
}

/* The call is the first argument, so that it stays while the fiber waits. */
static int wait_more(lua_State *L, struct call *c, lua_KFunction k)
{
    c->fiber = hocket__fiber_current(L)->id;
    return hocket__await(
        L, !c->llm && c->due_ms ? left_ms(c) : -1, unwait, lua_touserdata(L, 1), 0, k);
}

static int wait_done(lua_State *L, int status, lua_KContext ctx)
{
    (void) status;
    (void) ctx;
    struct call *c = check_call(L, 1);
    advance(c);
    if (!c->done)
        return wait_more(L, c, wait_done);
    if (!c->failed
        && hocket__reply_name_calls(
               (struct hocket__reply *) hocket__llm_reply(c->llm), &c->history->next_call)
               < 0) {
        hocket__error_nomem(&c->err);
        c->failed = true;
    }
    if (c->failed)
        return hocket__fail(L, &c->err);
    c->answer.waited_ms = c->begun_ms - c->asked_ms;
    lua_pushboolean(L, true);
    return 1;
}

/* call:wait() -> true | nil, error: until it has its reply, see lua_answer.c */
static int l_wait(lua_State *L)
{
    hocket__runtime(L);
    return wait_done(L, LUA_OK, 0);
}

static int hand_out(lua_State *L, struct call *c, struct hocket__buf *b, const char *kind)
{
    c->handed_out = true;
    lua_pushstring(L, kind);
    hocket__push_str(L, hocket__buf_str(b));
    hocket__buf_cut(b, 0);
    return 2;
}

static int next_delta(lua_State *L, int status, lua_KContext ctx)
{
    (void) status;
    (void) ctx;
    struct call *c = check_call(L, 1);
    advance(c);
    if (c->reasoning.len > 0)
        return hand_out(L, c, &c->reasoning, "reasoning");
    if (c->text.len > 0)
        return hand_out(L, c, &c->text, "text");
    return c->done ? 0 : wait_more(L, c, next_delta);
}

/* call:next() -> "text" | "reasoning", delta; nothing at the end */
static int l_next(lua_State *L)
{
    hocket__runtime(L);
    return next_delta(L, LUA_OK, 0);
}

static double chance(void)
{
    uint64_t v = 0;
    if (getrandom(&v, sizeof(v), GRND_NONBLOCK) != (ssize_t) sizeof(v))
        v = uv_hrtime() * 0x9E3779B97F4A7C15u;
    return (double) (v >> 11) / 9007199254740992.0;
}

/* A replay tries again what was tried again, and at once. */
static struct hocket__retry_verdict as_recorded(
    const struct call *c, struct hocket__retry_verdict v)
{
    if (!c->cassette || !hocket__cassette_replays(c->cassette) || !v.again)
        return v;
    if (!c->llm || !hocket__llm_recorded_again(c->llm))
        return (struct hocket__retry_verdict){ false, 0, "recorded" };
    v.delay_ms = 0;
    return v;
}

/* call:retry(made, retries, left?) -> seconds, reason | nil, reason: whether a call that failed
 * after `made` retries is worth another, in how many seconds, and why (not). `left`: seconds
 * to the deadline. */
static int l_retry(lua_State *L)
{
    struct call *c = check_call(L, 1);
    struct hocket__retry_policy policy = hocket__retry_default;
    luaL_argcheck(L, c->failed, 1, "this call has not failed");
    policy.retries = (int) luaL_checkinteger(L, 3);
    policy.max_wait_ms = c->request->max_wait_ms;
    struct hocket__retry_case what = { .err = &c->err,
        .made = (int) luaL_checkinteger(L, 2),
        .advice = c->llm ? hocket__llm_advice(c->llm) : NULL,
        .handed_out = c->handed_out,
        .left_ms = hocket__opt_seconds(L, 4),
        .chance = chance() };
    struct hocket__retry_budget *budget = c->provider->lane ? &c->provider->lane->budget : NULL;
    struct hocket__retry_verdict v = as_recorded(c, hocket__retry_decide(&policy, &what, budget));
    if (v.again)
        lua_pushnumber(L, (double) v.delay_ms / 1000);
    else
        lua_pushnil(L);
    lua_pushstring(L, v.reason);
    return 2;
}

/* call:partial() -> the text that came before a failure */
static int l_partial(lua_State *L)
{
    struct call *c = check_call(L, 1);
    hocket__push_str(
        L, c->llm ? hocket__buf_str(&hocket__llm_reply(c->llm)->text) : hocket__str("", 0));
    return 1;
}

static void drop(struct call **p)
{
    struct call *c = *p;
    *p = NULL;
    if (c->llm && c->rt->closing)
        hocket__llm_orphan(c->llm);
    if (c->lane && !c->rt->closing) /* its timers are gone otherwise */
        hocket__lane_leave(c->lane, &c->turn);
    hocket__tally_lost(&c->answer.tally);
    hocket__llm_free(c->llm);
    hocket__buf_deinit(&c->text);
    hocket__buf_deinit(&c->reasoning);
    hocket__free(c->rt->alloc, c, sizeof(*c));
}

/* call:release(): nothing of the reply is needed any more. Its memory goes to the next call, and does
 * not wait for the collector, which sees little of it. */
static int l_release(lua_State *L)
{
    struct call **p = hocket__check_object(L, 1, CALL);
    luaL_argcheck(L, !*p || (*p)->done, 1, "this call is under way");
    if (*p)
        drop(p);
    return 0;
}

static int l_cancel(lua_State *L)
{
    struct call *c = check_call(L, 1);
    uint64_t fiber = c->fiber;
    abandon(c);
    hocket__fiber_wake(hocket__runtime(L), fiber);
    return 0;
}

static int call_gc(lua_State *L)
{
    struct call **p = hocket__gc_userdata(L, call_gc);
    if (p && *p)
        drop(p);
    return 0;
}

/* ---- The module ----------------------------------------------------------------------------- */

static const luaL_Reg functions[] = { { "start", l_start }, { NULL, NULL } };
static const luaL_Reg call_methods[] = {
    { "wait", l_wait },
    { "next", l_next },
    { "retry", l_retry },
    { "partial", l_partial },
    { "release", l_release },
    { "cancel", l_cancel },
    { "__gc", call_gc },
    { NULL, NULL },
};

int hocket__open_llm(lua_State *L)
{
    hocket__newmeta(L, CALL, call_methods);
    hocket__open_answer(L);
    lua_pop(L, 1);
    lua_newtable(L);
    hocket__setfuncs(L, functions);
    hocket__open_provider(L);
    hocket__open_history(L);
    hocket__open_request(L);
    return 1;
}

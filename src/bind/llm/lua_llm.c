/* hocket.internal.core.llm: model calls that look synchronous. A call is one attempt (attempt.h):
 *
 *   start ──> queued ──> begun ──> done
 *     └─ next() for deltas, wait() for the reply, retry() for a failure ─┘
 *
 * Providers are in lua_provider.c, requests in lua_request.c, the conversation is in
 * lua_history.c, the reply in lua_answer.c. Everything that touches Lua happens in the fiber that waits. */
#include "bind/llm/attempt.h"

#include <string.h>

#include "bind/fiber/fiber.h"
#include "bind/options.h"
#include "bind/transport.h"
#include "bind/util.h"
#include "net/protocol/protocol.h"
#include "net/transport.h"
#include "os/own.h"

/* An attempt from the side of the host: its place in the lane (how fast may this provider be
 * asked), the call itself, whose account it goes to, and whether another is worth it.
 *
 * Callbacks come from the loop, when no Lua runs. They note what came and wake the fiber by
 * its id: the fiber may be gone, and the attempt is freed by its userdata, never by a
 * callback. */

#define OUTPUT_GUESS 500 /* tokens of an answer whose length nobody limited */

/* ---- What comes ------------------------------------------------------------------------- */

static void on_delta(void *ud, enum hocket__delta_kind kind, size_t index, struct hocket__str text)
{
    struct hocket__attempt *a = ud;
    (void) index;
    if (kind == HOCKET__DELTA_CALL)
        return;
    struct hocket__buf *b = kind == HOCKET__DELTA_TEXT ? &a->text : &a->reasoning;
    const struct hocket__secrets *s = &a->provider->net.secrets;
    /* Deltas are masked as they come. The network may cut a secret in two, so the check includes as much of the
     * text before as a secret may have begun in. */
    size_t reach = text.n + s->longest; /* one may have begun before */
    hocket__buf_addstr(b, text);
    if (s->longest > 0 && b->len > 0)
        hocket__secrets_mask(
            s, b->data + (b->len > reach ? b->len - reach : 0), b->len > reach ? reach : b->len);
    hocket__fiber_wake(a->rt, a->fiber);
}

/* The first sign of the answer, for whoever waits for the provider's cache. */
static void on_any_delta(
    void *ud, enum hocket__delta_kind kind, size_t index, struct hocket__str text)
{
    struct hocket__attempt *a = ud;
    if (!a->began) {
        a->began = true;
        hocket__fiber_wake(a->rt, a->fiber);
    }
    if (a->request->deltas)
        on_delta(ud, kind, index, text);
}

/* A request that was refused, or that no connection took, has used nothing. Whether it is a call of
 * its own is known when it is known whether it is made again (attempt_settle). */
static bool used_nothing(const struct hocket__attempt *a, const struct hocket_error *err)
{
    /* a status that is an error has cost nothing with any provider */
    return err->http_status >= 300 || !hocket__llm_timing(a->llm).sent;
}

static void finish(struct hocket__attempt *a, const struct hocket_error *err)
{
    a->done = true;
    a->failed = err != NULL;
    if (err) {
        a->err = *err;
        hocket__secrets_mask(&a->provider->net.secrets, a->err.message, strlen(a->err.message));
    }
    /* it never began: there is nothing to count */
    if (err && !a->llm)
        hocket__tally_drop(&a->answer.tally);
    else if (err && used_nothing(a, err))
        a->answer.tally.free = true;
    else if (err)
        hocket__answer_count_failed(&a->answer, a->llm);
    hocket__fiber_wake(a->rt, a->fiber);
}

/* Counts an attempt that has failed, unless it is made again and has used nothing; once. */
static void attempt_settle(struct hocket__attempt *a, bool again)
{
    if (again)
        hocket__tally_drop(&a->answer.tally);
    else
        hocket__tally_lost(&a->answer.tally);
}

static void on_turn(struct hocket__lane_wait *w)
{
    struct hocket__attempt *a = hocket__container_of(w, struct hocket__attempt, turn);
    hocket__fiber_wake(a->rt, a->fiber);
}

static void on_head(void *ud, int status, const struct hocket__advice *advice)
{
    struct hocket__attempt *a = ud;
    if (a->lane)
        hocket__lane_answer(a->lane, &a->turn, status, advice, hocket__llm_multiplexed(a->llm));
}

static bool is_limited(const struct hocket__attempt *a)
{
    return a->llm && hocket__reply_limited(hocket__llm_reply(a->llm));
}

static bool is_broken_off(const struct hocket__attempt *a)
{
    const struct hocket__reply *r = a->llm ? hocket__llm_reply(a->llm) : NULL;
    return a->err.status == HOCKET_EPROVIDER && r && !r->error.where;
}

/* What only the end tells the lane: a rate limit, or a wait, that stood in the body, and the
 * tokens. */
static void settle(struct hocket__attempt *a, const struct hocket_error *err)
{
    struct hocket__lane *lane = a->lane;
    const struct hocket__usage *u = &hocket__llm_reply(a->llm)->usage;
    hocket__lane_leave(lane, &a->turn);
    if (err && is_limited(a))
        hocket__lane_refused(lane, err->retry_after_ms);
    else if (err && err->retryable && err->retry_after_ms > 0)
        hocket__lane_block(lane, err->retry_after_ms);
    else if (!err && u->input >= 0 && u->output >= 0)
        hocket__lane_used(lane, &a->turn, u->input + u->output);
}

static void on_done(void *ud, const struct hocket_error *err)
{
    struct hocket__attempt *a = ud;
    if (a->lane)
        settle(a, err);
    if (!err) {
        hocket__llm_mask(a->llm, &a->provider->net.secrets);
        a->answer.llm = a->llm;
        hocket__answer_count(&a->answer);
    }
    finish(a, err);
}

/* ---- Its life --------------------------------------------------------------------------- */

/* An attempt without anything in it; NULL: out of memory. */
static struct hocket__attempt *attempt_new(struct hocket__runtime *rt)
{
    struct hocket__attempt *a = hocket__zero(rt->alloc, sizeof(*a));
    if (!a)
        return NULL;
    a->rt = a->answer.rt = rt;
    a->answer.cost = -1;
    a->turn.on_turn = on_turn;
    hocket__buf_init(&a->text, rt->alloc, rt->max_message);
    hocket__buf_init(&a->reasoning, rt->alloc, rt->max_message);
    hocket__buf_init(&a->trace, rt->alloc, 0);
    return a;
}

/* Whatever state it is in. */
static void attempt_free(struct hocket__attempt *a)
{
    if (a->lane && a->rt->life == HOCKET__RUNTIME_OPEN) /* its timers are gone otherwise */
        hocket__lane_leave(a->lane, &a->turn);
    hocket__tally_lost(&a->answer.tally);
    hocket__llm_free(a->llm);
    hocket__buf_deinit(&a->text);
    hocket__buf_deinit(&a->reasoning);
    hocket__buf_deinit(&a->trace);
    hocket__free(a->rt->alloc, a, sizeof(*a));
}

/* Milliseconds until its time is over, at least 1; 0: it has no limit. */
static int attempt_left_ms(const struct hocket__attempt *a)
{
    uint64_t now = hocket__deadlines_now();
    return a->due_ms == 0 ? 0 : a->due_ms > now ? (int) (a->due_ms - now) : 1;
}

static int fit_request(
    struct hocket__lua_request *r, unsigned rules, const struct hocket__llm_request *q)
{
    hocket__buf_reset(&r->fitted);
    hocket__buf_reset(&r->fitted_schema);
    r->fitted_by = 0;
    int rc = q->tools.n > 0 ? hocket__fit_tools(rules, q->tools, &r->fitted) : 0;
    if (rc == 0 && (rules & HOCKET__FIT_SCHEMA))
        rc = hocket__fit_schema(rules, q->schema, &r->fitted_schema);
    if (rc == 0)
        r->fitted_by = rules;
    return rc;
}

/* Tools and schema as the server takes them: made once for all calls with the same request. */
static int fit(struct hocket__attempt *a, struct hocket__llm_request *q, struct hocket_error *err)
{
    struct hocket__lua_request *r = a->request;
    unsigned rules = hocket__fit_rules(a->provider->net.proto, q->traits);
    if (r->fitted_by != rules && fit_request(r, rules, q) < 0)
        return hocket__error_nomem(err);
    if (r->fitted.len > 0)
        q->tools = hocket__buf_str(&r->fitted);
    if (r->fitted_schema.len > 0)
        q->schema = hocket__buf_str(&r->fitted_schema);
    return 0;
}

static int begin(struct hocket__attempt *a, struct hocket_error *err)
{
    struct hocket__llm_request q = a->request->net;
    q.model = a->model;
    q.history = a->history;
    q.traits = &a->provider->net.traits;
    hocket__llm_request_restrict(&q);
    if (fit(a, &q, err) < 0)
        return err->status;
    struct hocket__llm_spec spec = {
        .provider = &a->provider->net,
        .request = &q,
        .trace = hocket__buf_str(&a->trace),
        .connect_ms = a->request->connect_ms,
        .first_ms = a->request->first_ms,
        .idle_ms = a->request->idle_ms,
        .total_ms = attempt_left_ms(a),
        .max_message = a->rt->max_message,
        .on_delta = a->request->first    ? on_any_delta
                    : a->request->deltas ? on_delta
                                         : NULL,
        .on_head = a->lane ? on_head : NULL,
        .on_done = on_done,
        .ud = a,
    };
    /* What has something between (a recording) stays on this thread. */
    bool threaded = a->rt->threaded && a->transport == &a->rt->direct;
    spec.relay = threaded ? hocket__runtime_relay(a->rt, err) : NULL;
    a->begun_ms = hocket__deadlines_now();
    if (threaded && !spec.relay)
        return err->status;
    return hocket__llm_start(a->transport, a->rt->alloc, &spec, &a->llm, err);
}

static int64_t guess_tokens(const struct hocket__attempt *a)
{
    const struct hocket__llm_request *q = &a->request->net;
    size_t bytes = a->history->messages.len + q->system.n + q->tools.n;
    return (int64_t) (bytes / 4) + (q->max_tokens > 0 ? q->max_tokens : OUTPUT_GUESS);
}

/* 1: the call may begin; 0: the lane will say when. */
static int ask_lane(struct hocket__attempt *a, uint64_t run, bool again, struct hocket_error *err)
{
    struct hocket__lane *lane = a->lane;
    if (!lane)
        return 1;
    struct hocket__limiter_ask ask = {
        .run = run,
        .tokens = guess_tokens(a),
        .again = again,
        .patience_ms = a->request->max_wait_ms,
    };
    if (a->due_ms && ask.patience_ms > attempt_left_ms(a))
        ask.patience_ms = attempt_left_ms(a);
    if (!again)
        hocket__retry_budget_call(&lane->budget);
    return hocket__lane_ask(lane, &a->turn, &ask, err);
}

static int check_online(const struct hocket__attempt *a, struct hocket_error *err)
{
    if (a->provider->simulated || a->transport->offline
        || !hocket__runtime_getenv(a->rt, "HOCKET_OFFLINE"))
        return 0;
    return hocket__error(err, HOCKET_EOFFLINE, "HOCKET_OFFLINE is set: no call is made to %s",
        a->provider->net.base.data);
}

/* Begins it, or queues it when the lane is full. `run`: whose turn it takes there; `again`: it was
 * turned away before. 0, or what forbids it: the free must follow. */
static int attempt_start(
    struct hocket__attempt *a, uint64_t run, bool again, struct hocket_error *err)
{
    int rc = check_online(a, err);
    if (rc == 0 && (rc = ask_lane(a, run, again, err)) == 1)
        rc = begin(a, err);
    if (rc < 0 && a->lane)
        hocket__lane_leave(a->lane, &a->turn);
    return rc < 0 ? rc : 0;
}

/* A call whose turn has come is begun by the fiber that waits for it. */
static void begin_late(struct hocket__attempt *a)
{
    struct hocket_error err;
    if (begin(a, &err) < 0) {
        hocket__lane_leave(a->lane, &a->turn);
        finish(a, &err);
    }
}

static void too_late(struct hocket__attempt *a)
{
    struct hocket_error err;
    hocket__lane_leave(a->lane, &a->turn);
    hocket__error(&err, HOCKET_ETIMEOUT,
        "not done within %llu ms: the rate limit of %s held the call back",
        (unsigned long long) (a->due_ms - a->asked_ms), a->provider->net.base.data);
    finish(a, &err);
}

/* Whatever has to be done for a queued attempt before anybody waits (on): begins it when its turn has
 * come, ends it when its time is over. */
static void attempt_advance(struct hocket__attempt *a)
{
    if (a->done || a->llm || a->turn.state == HOCKET__LANE_OUT)
        return;
    if (a->turn.state == HOCKET__LANE_GOING)
        begin_late(a);
    else if (a->due_ms && hocket__deadlines_now() >= a->due_ms)
        too_late(a);
}

/* Ends it as cancelled, down to the socket. */
static void attempt_abandon(struct hocket__attempt *a)
{
    if (a->llm)
        hocket__llm_cancel(a->llm);
    if (a->lane)
        hocket__lane_leave(a->lane, &a->turn);
    a->fiber = 0;
    if (!a->done)
        hocket__error(&a->err, HOCKET_ECANCELLED, "the model call was cancelled");
    hocket__tally_lost(&a->answer.tally); /* unless it was counted */
    a->failed |= !a->done;
    a->done = true;
}

/* ---- Again? ----------------------------------------------------------------------------- */

static double chance(void)
{
    uint64_t v = 0;
    if (hocket__random(&v, sizeof(v)) < 0)
        v = uv_hrtime() * 0x9E3779B97F4A7C15u;
    return (double) (v >> 11) / 9007199254740992.0;
}

/* A replay tries again what was tried again, and at once. */
static struct hocket__retry_verdict as_recorded(
    const struct hocket__attempt *a, struct hocket__retry_verdict v)
{
    if (!a->transport->offline || !v.again)
        return v;
    if (!a->llm || !hocket__llm_has_another_recording(a->llm))
        return (struct hocket__retry_verdict){ false, 0, "recorded" };
    v.delay_ms = 0;
    return v;
}

/* Whether it is worth another one, after it has failed: `made` and `retries` count those after the
 * first; left_ms as in net/limit/retry.h. A replay tries again what was tried again, and at once. */
static struct hocket__retry_verdict attempt_retry(
    const struct hocket__attempt *a, int made, int retries, int64_t left_ms)
{
    struct hocket__retry_policy policy = hocket__retry_default;
    policy.retries = retries;
    /* a user who would wait for an hour is asked for it by this, and nobody else is made to */
    policy.max_wait_ms = a->request->max_wait_ms;
    struct hocket__retry_case what = { .err = &a->err,
        .made = made,
        .advice = a->llm ? hocket__llm_advice(a->llm) : NULL,
        .handed_out = a->handed_out,
        .limited = is_limited(a),
        .broken_off = is_broken_off(a),
        .none = a->llm && hocket__reply_is_none(hocket__llm_reply(a->llm)),
        .left_ms = left_ms,
        .chance = chance() };
    struct hocket__retry_budget *budget = a->provider->lane ? &a->provider->lane->budget : NULL;
    return as_recorded(a, hocket__retry_decide(&policy, &what, budget));
}

/* Model calls of runs that are kept: a reply as bytes, and a call that is made of them; and what a call has
 * used, for whoever counts it at a time of his own.
 *
 * The log has the reply of each effect. The usage is counted when the waiting fiber continues, which in a replay is at the
 * same step: so budgets stop a run again where they did. */

/* What stands before the reply: when it came, what it was, each in 8 bytes. */
enum { FIRST_US, TOTAL_US, WAITED_MS, COST, NEXT_CALL, NUMBERS };

static void put_number(struct hocket__buf *out, int64_t v)
{
    char bytes[8];
    for (int i = 0; i < 8; i++)
        bytes[i] = (char) ((uint64_t) v >> 8 * i);
    hocket__buf_add(out, bytes, sizeof(bytes));
}

static int64_t number_at(struct hocket__str from, int i)
{
    uint64_t v = 0;
    for (int j = 7; j >= 0; j--)
        v = v << 8 | (unsigned char) from.p[8 * i + j];
    return (int64_t) v;
}

/* Appends the reply of one that has ended well. */
static void pack_attempt(const struct hocket__attempt *a, struct hocket__buf *out)
{
    struct hocket__llm_timing t = hocket__llm_timing(a->llm);
    const int64_t numbers[NUMBERS] = { (int64_t) t.first_us, (int64_t) t.total_us,
        (int64_t) a->answer.waited_ms, a->answer.cost, (int64_t) a->history->next_call };
    for (int i = 0; i < NUMBERS; i++)
        put_number(out, numbers[i]);
    hocket__reply_pack(hocket__llm_reply(a->llm), out);
}

/* Ends it, which has not begun, with a reply as a log has it: 0, or EPARSE, ENOMEM, ELIMIT. */
static int attempt_recall(
    struct hocket__attempt *a, struct hocket__str packed, struct hocket_error *err)
{
    if (packed.n < 8 * NUMBERS)
        return hocket__error(err, HOCKET_EPARSE, "the reply that was kept cannot be read");
    struct hocket__str reply = hocket__str(packed.p + 8 * NUMBERS, packed.n - 8 * NUMBERS);
    struct hocket__llm_timing t = { .first_us = (uint64_t) number_at(packed, FIRST_US),
        .total_us = (uint64_t) number_at(packed, TOTAL_US),
        .sent = true };
    int rc = hocket__llm_from_packed(
        a->rt->alloc, &a->provider->net, a->rt->max_message, t, reply, &a->llm, err);
    if (rc < 0)
        return rc;
    a->answer.llm = a->llm;
    a->answer.waited_ms = (uint64_t) number_at(packed, WAITED_MS);
    a->answer.cost = number_at(packed, COST);
    a->history->next_call = (uint64_t) number_at(packed, NEXT_CALL);
    a->done = true;
    return 0;
}

/* call:pack() -> the reply as a text, for recall */
static int l_pack(lua_State *L)
{
    const struct hocket__attempt *a = hocket__check_call(L, 1);
    luaL_argcheck(L, a->answer.llm && !a->failed, 1, "this call has no reply");
    struct hocket__buf *out = &a->rt->scratch;
    hocket__buf_reset(out);
    pack_attempt(a, out);
    if (out->status < 0)
        return hocket__raise_nomem(L);
    hocket__push_str(L, hocket__buf_str(out));
    return 1;
}

/* ---- What it has used ------------------------------------------------------------------------- */

/* call:counted() -> a text for accounts:count, of what it has used so far; and whether it may still use something,
 * or be given up without having used anything (call:settle says which) */
static int l_counted(lua_State *L)
{
    const struct hocket__attempt *a = hocket__check_call(L, 1);
    lua_pushlstring(L, (const char *) &a->counted, sizeof(a->counted));
    lua_pushboolean(L, hocket__tally_is_open(&a->answer.tally));
    return 2;
}

/* Adds the methods of calls that are kept. */
static void open_recall(lua_State *L)
{
    static const luaL_Reg methods[] = { { "pack", l_pack }, { "counted", l_counted },
        { NULL, NULL } };
    hocket__setfuncs(L, methods);
}

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
    struct hocket__attempt *a = *p_call = attempt_new(rt);
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
    struct hocket__str trace = hocket__text_at(L, 11);
    int64_t guess = luaL_optinteger(L, 12, 0);
    lua_settop(L, 11);
    struct hocket__attempt *a = new_call(L, rt);
    a->answer.guess = guess;
    if (trace.n > 0 && hocket__buf_addstr(&a->trace, trace) < 0)
        return hocket__raise_nomem(L);
    read_account(L, &a->answer, &tally);
    a->asked_ms = hocket__deadlines_now();
    a->due_ms = total_ms ? a->asked_ms + (uint64_t) total_ms : 0;
    if (attempt_start(a, run, again, &err) < 0)
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
        attempt_abandon(*p);
}

/* The call is the first argument, so that it stays while the fiber waits. */
static int wait_more(lua_State *L, struct hocket__attempt *a, lua_KFunction k)
{
    a->fiber = hocket__fiber_current(L)->id;
    return hocket__await(
        L, !a->llm && a->due_ms ? attempt_left_ms(a) : -1, unwait, lua_touserdata(L, 1), 0, k);
}

static int wait_done(lua_State *L, int status, lua_KContext ctx)
{
    (void) status;
    (void) ctx;
    struct hocket__attempt *a = hocket__check_call(L, 1);
    /* a wake may mean its turn at the lane, its end, or nothing */
    attempt_advance(a);
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

static int wait_first(lua_State *L, int status, lua_KContext ctx)
{
    (void) status;
    (void) ctx;
    struct hocket__attempt *a = hocket__check_call(L, 1);
    attempt_advance(a);
    if (!a->began && !a->done)
        return wait_more(L, a, wait_first);
    lua_pushboolean(L, a->began || !a->failed);
    return 1;
}

/* call:first() -> whether an answer has begun, or come whole: waits until then, or until it has failed. For requests
 * with `warm_cache`. */
static int l_first(lua_State *L)
{
    hocket__runtime(L);
    return wait_first(L, LUA_OK, 0);
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
    attempt_advance(a);
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
    struct hocket__retry_verdict v = attempt_retry(
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
    attempt_settle(a, lua_toboolean(L, 2));
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
        attempt_free(a);
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
    attempt_abandon(a);
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
    if (attempt_recall(a, packed, &err) < 0)
        return hocket__fail(L, &err);
    return 1;
}

/* Appends an empty reply, as call:pack() writes one. */
static void pack_nothing(const struct hocket__attempt *a, struct hocket__buf *out)
{
    struct hocket__reply none;
    for (int i = 0; i < NEXT_CALL; i++)
        put_number(out, 0);
    put_number(out, (int64_t) a->history->next_call);
    hocket__reply_init(&none, a->rt->alloc, 0);
    none.finish = HOCKET__FINISH_STOP;
    none.complete = true;
    hocket__reply_pack(&none, out);
    hocket__reply_deinit(&none);
}

/* answered(provider, history, request, model) -> call | nil, error: a call that nobody was asked for, with an empty reply: its text
 * is call:replace's. Arguments as those of start. */
static int l_answered(lua_State *L)
{
    struct hocket__runtime *rt = hocket__runtime(L);
    struct hocket_error err;
    lua_settop(L, 10);
    struct hocket__attempt *a = new_call(L, rt);
    hocket__buf_reset(&rt->scratch);
    pack_nothing(a, &rt->scratch);
    if (rt->scratch.status < 0)
        return hocket__raise_nomem(L);
    if (attempt_recall(a, hocket__buf_str(&rt->scratch), &err) < 0)
        return hocket__fail(L, &err);
    return 1;
}

static const luaL_Reg functions[] = { { "start", l_start }, { "recall", l_recall },
    { "answered", l_answered }, { NULL, NULL } };
static const luaL_Reg call_methods[] = {
    { "first", l_first },
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
    open_recall(L);
    lua_pop(L, 1);
    lua_newtable(L);
    hocket__setfuncs(L, functions);
    hocket__open_provider(L);
    hocket__open_history(L);
    hocket__open_request(L);
    hocket__open_text_calls(L);
    return 1;
}

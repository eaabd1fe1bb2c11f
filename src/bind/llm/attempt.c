/* An attempt from the side of the host: its place in the lane (how fast may this provider be
 * asked), the call itself, whose account it goes to, and whether another is worth it.
 *
 * Callbacks come from the loop, when no Lua runs. They note what came and wake the fiber by
 * its id: the fiber may be gone, and the attempt is freed by its userdata, never by a
 * callback. */
#include "bind/llm/attempt.h"

#include "bind/fiber/fiber.h"
#include "net/protocol/protocol.h"
#include "net/transport.h"
#include "os/own.h"

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
    /* Deltas are masked as they come. A secret may be cut in two by the network, so as much of
     * the text before is looked at again as one may have begun in. */
    size_t reach = text.n + s->longest; /* one may have begun before */
    hocket__buf_addstr(b, text);
    if (s->longest > 0 && b->len > 0)
        hocket__secrets_mask(
            s, b->data + (b->len > reach ? b->len - reach : 0), b->len > reach ? reach : b->len);
    hocket__fiber_wake(a->rt, a->fiber);
}

/* A request that was refused, or that no connection took, has used nothing. Whether it is a call of
 * its own is known when it is known whether it is made again (hocket__attempt_settle). */
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

void hocket__attempt_settle(struct hocket__attempt *a, bool again)
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

struct hocket__attempt *hocket__attempt_new(struct hocket__runtime *rt)
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

void hocket__attempt_free(struct hocket__attempt *a)
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

int hocket__attempt_left_ms(const struct hocket__attempt *a)
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
        .total_ms = hocket__attempt_left_ms(a),
        .max_message = a->rt->max_message,
        .on_delta = a->request->deltas ? on_delta : NULL,
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
    if (a->due_ms && ask.patience_ms > hocket__attempt_left_ms(a))
        ask.patience_ms = hocket__attempt_left_ms(a);
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

int hocket__attempt_start(
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

void hocket__attempt_advance(struct hocket__attempt *a)
{
    if (a->done || a->llm || a->turn.state == HOCKET__LANE_OUT)
        return;
    if (a->turn.state == HOCKET__LANE_GOING)
        begin_late(a);
    else if (a->due_ms && hocket__deadlines_now() >= a->due_ms)
        too_late(a);
}

void hocket__attempt_abandon(struct hocket__attempt *a)
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

struct hocket__retry_verdict hocket__attempt_retry(
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

/* The verdict on a failed attempt. The order of the questions is the order of their weight.
 * What was handed out cannot be taken back, however good another attempt would be. The server's word
 * on retrying goes before our view of its status. The budget is asked last, since asking takes from
 * it. */
#include "net/limit/retry.h"

#include <string.h>

#define BUDGET_START    10.0 /* retries that are always in: teams make few calls */
#define BUDGET_MAX      50.0
#define BUDGET_PER_CALL 0.2
#define EXTRA_MS        1000 /* at most so much later than the server asked for */
#define LOADING_TRIES   400  /* of a server that loads its model, every 1 to 2 s */
#define LOADING_MS      1000

const struct hocket__retry_policy hocket__retry_default = { 2, 500, 8000, 120000 };

/* ---- The budget ------------------------------------------------------------------- */

void hocket__retry_budget_init(struct hocket__retry_budget *b)
{
    b->tokens = BUDGET_START;
}

void hocket__retry_budget_call(struct hocket__retry_budget *b)
{
    b->tokens += BUDGET_PER_CALL;
    if (b->tokens > BUDGET_MAX)
        b->tokens = BUDGET_MAX;
}

static bool pay(struct hocket__retry_budget *b)
{
    if (!b)
        return true;
    if (b->tokens < 1.0)
        return false;
    b->tokens -= 1.0;
    return true;
}

/* ---- The delay ------------------------------------------------------------------------ */

/* "0" is no time: it is sent by servers that do not know one. */
static int64_t asked_ms(const struct hocket__retry_case *c)
{
    int64_t header = c->advice ? c->advice->after_ms : -1, body = c->err->retry_after_ms;
    int64_t ms = header > body ? header : body;
    return ms > 0 ? ms : -1;
}

static int64_t backoff(const struct hocket__retry_policy *p, int made, double chance)
{
    int64_t top = p->base_ms;
    /* a loop and no shift: a policy may have any number of retries */
    for (int i = 0; i < made && top < p->cap_ms; i++)
        top *= 2;
    if (top > p->cap_ms)
        top = p->cap_ms;
    return (int64_t) ((double) top * chance);
}

/* Never before the time that was asked for; spread a little behind it, since others
 * were told the same. */
static int64_t later(int64_t asked, double chance)
{
    int64_t spread = asked / 10 < EXTRA_MS ? asked / 10 : EXTRA_MS;
    return asked + (int64_t) ((double) spread * chance);
}

/* ---- The verdict ------------------------------------------------------------------------ */

static bool is_limited(const struct hocket__retry_case *c)
{
    return c->limited || c->err->http_status == 429;
}

/* llama.cpp says so until its model is in memory, which takes minutes: it is no failure. */
static bool is_loading(const struct hocket__retry_case *c)
{
    return c->err->http_status == 503 && strstr(c->err->message, "Loading model");
}

static const char *reason_of(const struct hocket__retry_case *c)
{
    const struct hocket_error *e = c->err;
    if (is_loading(c))
        return "loading";
    if (is_limited(c))
        return "rate_limit";
    if (e->status == HOCKET_EMODEL)
        return "malformed";
    if (c->broken_off)
        return "broken_off";
    if (e->http_status == 529 || e->http_status == 503
        || (e->status == HOCKET_EPROVIDER && e->retryable))
        return "overloaded";
    if (e->http_status >= 500)
        return "server";
    switch (e->status) {
    case HOCKET_ETIMEOUT: return "timeout";
    case HOCKET_ETRUNCATED: return "truncated";
    case HOCKET_EPROTOCOL: return "protocol";
    default: return e->http_status ? "asked" : "connect";
    }
}

/* A broken answer is worth another attempt as a cut one is: gateways mangle streams. And a
 * payment that is due is not, unless the server says when to come again. */
static bool is_retryable(const struct hocket__retry_case *c)
{
    const struct hocket_error *e = c->err;
    if (c->advice && c->advice->should_retry >= 0)
        return c->advice->should_retry == 1;
    if (e->http_status == 402)
        return asked_ms(c) >= 0;
    return e->retryable || (e->status == HOCKET_EPROTOCOL && e->http_status < 400);
}

static struct hocket__retry_verdict no(const char *reason)
{
    return (struct hocket__retry_verdict){ .reason = reason };
}

struct hocket__retry_verdict hocket__retry_decide(const struct hocket__retry_policy *p,
    const struct hocket__retry_case *c, struct hocket__retry_budget *budget)
{
    int64_t asked = asked_ms(c);
    bool loading = p->retries > 0 && is_loading(c);
    if (c->handed_out)
        return no("output");
    if (!is_retryable(c))
        return no(c->advice && c->advice->should_retry == 0 ? "refused" : "final");
    if (c->made >= (loading ? LOADING_TRIES : p->retries) || (c->none && c->made > 0))
        return no("attempts");
    if (asked > p->max_wait_ms)
        return no("too_long");
    int64_t delay = asked >= 0 ? later(asked, c->chance)
                    : loading  ? LOADING_MS + (int64_t) (LOADING_MS * c->chance)
                               : backoff(p, c->made, c->chance);
    if (c->left_ms >= 0 && delay >= c->left_ms)
        return no("deadline");
    if (!is_limited(c) && !loading && !pay(budget))
        return no("budget");
    return (struct hocket__retry_verdict){ true, delay, reason_of(c) };
}

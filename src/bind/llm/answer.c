/* What a reply has cost, and whose account it goes to. No Lua. */
#include "bind/llm/llm.h"

#include <string.h>

static int64_t plus(int64_t a, int64_t b)
{
    return b > 0 && a <= INT64_MAX - b ? a + b : a;
}

struct hocket__usage hocket__usage_of(const struct hocket__llm_call *call)
{
    struct hocket__usage u = hocket__llm_reply(call)->usage;
    const char *protocol = hocket__llm_protocol(call);
    if (u.input >= 0 && (strcmp(protocol, "anthropic") == 0 || strcmp(protocol, "bedrock") == 0))
        u.input = plus(plus(u.input, u.cached), u.cache_write);
    else if (u.output >= 0 && strcmp(protocol, "gemini") == 0)
        u.output = plus(u.output, u.reasoning);
    return u;
}

/* "No usage" and zeros are the same: no request is empty. */
static bool is_metered(const struct hocket__usage *u)
{
    return u->input > 0 && u->output >= 0;
}

bool hocket__answer_is_metered(const struct hocket__answer *a)
{
    struct hocket__usage u = hocket__usage_of(a->llm);
    return is_metered(&u);
}

#define BYTES_A_TOKEN 4

static int64_t guess_of(const struct hocket__reply *r)
{
    size_t bytes = r->text.len + r->reasoning.len + r->refusal.len;
    for (size_t i = 0; i < r->n_calls; i++)
        bytes += r->calls[i].name.len + r->calls[i].arguments.len;
    return (int64_t) (bytes / BYTES_A_TOKEN + 1);
}

/* Limits hold for servers that tell nothing, too: what the request was guessed to take, and the text of the answer. */
static bool estimate(
    const struct hocket__answer *a, const struct hocket__reply *r, struct hocket__usage *u)
{
    if (a->guess <= 0 || is_metered(u))
        return false;
    if (u->input <= 0)
        u->input = a->guess;
    if (u->output <= 0)
        u->output = guess_of(r);
    return true;
}

static int64_t cost_of(const struct hocket__answer *a, const struct hocket__usage *u)
{
    return hocket__price_cost(a->price, u->input, u->output, u->cached, u->cache_write);
}

/* `whole`: its counts are those of the end. */
static void count(struct hocket__answer *a, const struct hocket__llm_call *llm, bool whole)
{
    struct hocket__usage u = hocket__usage_of(llm);
    int64_t cost = -1;
    if (a->price && (whole || hocket__price_is_free(a->price)))
        a->cost = cost = cost_of(a, &u);
    if (whole && estimate(a, hocket__llm_reply(llm), &u) && a->price)
        cost =
            cost_of(a, &u); /* for limits alone: the event has the cost as the provider gave it */
    struct hocket__usage_sum used = { .input = u.input,
        .output = u.output,
        .cached = u.cached,
        .cache_write = u.cache_write,
        .reasoning = u.reasoning,
        .calls = 1,
        .cost = cost,
        .unpriced = a->cost < 0,
        .ms = (int64_t) (hocket__llm_timing(llm).total_us + 500) / 1000 };
    hocket__tally_end(&a->tally, &used);
}

void hocket__answer_count(struct hocket__answer *a)
{
    count(a, a->llm, true);
}

void hocket__answer_count_failed(struct hocket__answer *a, const struct hocket__llm_call *llm)
{
    count(a, llm, hocket__llm_reply(llm)->complete);
}

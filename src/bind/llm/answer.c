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

/* `whole`: its counts are those of the end. */
static void count(struct hocket__answer *a, const struct hocket__llm_call *llm, bool whole)
{
    struct hocket__usage u = hocket__usage_of(llm);
    if (a->price && (whole || hocket__price_is_free(a->price)))
        a->cost = hocket__price_cost(a->price, u.input, u.output, u.cached, u.cache_write);
    struct hocket__usage_sum used = { .input = u.input,
        .output = u.output,
        .cached = u.cached,
        .cache_write = u.cache_write,
        .reasoning = u.reasoning,
        .calls = 1,
        .cost = a->cost,
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

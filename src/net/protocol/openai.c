#include "net/protocol/openai.h"

void hocket__openai_limits(
    const struct hocket__llm_request *q, const char *max_tokens, struct hocket__buf *b)
{
    const struct hocket__proto_traits *t = hocket__proto_traits_of(q);
    if (q->max_tokens >= 0
        && hocket__proto_key(q, b, t->max_tokens_field ? t->max_tokens_field : max_tokens))
        hocket__jw_int(b, q->max_tokens);
    if (hocket__proto_is_set(q->temperature) && hocket__proto_key(q, b, "temperature"))
        hocket__jw_double(b, q->temperature);
    if (hocket__proto_is_set(q->top_p) && hocket__proto_key(q, b, "top_p"))
        hocket__jw_double(b, q->top_p);
    if (q->top_k >= 0 && t->top_k && hocket__proto_key(q, b, "top_k"))
        hocket__jw_int(b, q->top_k);
}

static void put_choice(const char *choice, bool nested, struct hocket__buf *b)
{
    if (hocket__proto_is_choice_word(choice)) {
        hocket__jw_cstring(b, choice);
        return;
    }
    hocket__buf_adds(b, "{\"type\":\"function\"");
    hocket__buf_adds(b, nested ? ",\"function\":{" : "");
    hocket__jw_key_cstring(b, "name", choice);
    hocket__buf_adds(b, nested ? "}}" : "}");
}

void hocket__openai_choice(const struct hocket__llm_request *q, bool nested, struct hocket__buf *b)
{
    if (q->tool_choice && hocket__proto_key(q, b, "tool_choice"))
        put_choice(q->tool_choice, nested, b);
    if (q->no_parallel_calls && !hocket__proto_traits_of(q)->no_parallel_field
        && hocket__proto_key(q, b, "parallel_tool_calls"))
        hocket__jw_bool(b, false);
}

void hocket__openai_usage_details(struct hocket__json *j, struct hocket__usage *u)
{
    if (hocket__json_next(j) != HOCKET__JSON_OBJECT) {
        hocket__json_pass(j);
        return;
    }
    while (hocket__json_key(j)) {
        if (hocket__key_is(j, "cached_tokens"))
            u->cached = hocket__json_count(j);
        else if (hocket__key_is(j, "cache_write_tokens"))
            u->cache_write = hocket__json_count(j);
        else if (hocket__key_is(j, "reasoning_tokens"))
            u->reasoning = hocket__json_count(j);
    }
}

void hocket__openai_read_once(struct hocket__json *j, struct hocket__buf *b)
{
    struct hocket__piece p = { 0 };
    hocket__piece_read(j, &p);
    if (b->len == 0)
        hocket__piece_set(&p, b);
}

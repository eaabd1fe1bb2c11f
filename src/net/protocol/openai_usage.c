/* What both of OpenAI's protocols tell of usage in the same form. */
#include "net/protocol/protocol_impl.h"

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

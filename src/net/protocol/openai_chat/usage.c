/* Usage as chat servers tell it: with the details where OpenAI has them, or flat beside the counts. */
#include "net/protocol/openai_chat/openai_chat.h"

void hocket__chat_usage(struct hocket__reply *reply, struct hocket__json *j)
{
    struct hocket__usage u = { -1, -1, -1, -1, -1 };
    struct hocket__usage flat = u; /* the same counts without the details around them */
    const char *from = j->p - 1;
    while (hocket__json_key(j)) {
        if (hocket__key_is(j, "prompt_tokens"))
            u.input = hocket__json_count(j);
        else if (hocket__key_is(j, "completion_tokens"))
            u.output = hocket__json_count(j);
        else if (hocket__key_is(j, "prompt_tokens_details")
                 || hocket__key_is(j, "completion_tokens_details"))
            hocket__openai_usage_details(j, &u);
        else if (hocket__key_is(j, "prompt_cache_hit_tokens") || hocket__key_is(j, "cached_tokens"))
            flat.cached = hocket__json_count(j);
        else if (hocket__key_is(j, "reasoning_tokens"))
            flat.reasoning = hocket__json_count(j);
    }
    if (j->error)
        return;
    u.cached = u.cached < 0 ? flat.cached : u.cached;
    u.reasoning = u.reasoning < 0 ? flat.reasoning : u.reasoning;
    reply->usage = u;
    hocket__reply_set(&reply->usage_raw, hocket__str(from, (size_t) (j->p - from)));
}

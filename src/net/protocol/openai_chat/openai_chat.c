/* The row of the protocol table for OpenAI's chat completions, which most servers speak. */
#include "net/protocol/openai_chat/openai_chat.h"

static int url(const struct hocket__llm_request *q, const char *base, struct hocket__buf *out)
{
    hocket__buf_adds(out, base);
    return hocket__buf_adds(out, "/chat/completions");
}

const struct hocket__proto hocket__proto_openai_chat = {
    .name = "openai_chat",
    .framing = HOCKET__FRAMING_SSE,
    .url = url,
    .key_header = "Authorization",
    .key_prefix = "Bearer ",
    .headers = (const char *const[]){ NULL },
    .write = hocket__openai_chat_write,
    .message = hocket__openai_chat_message,
    .event = hocket__openai_chat_event,
    .body = hocket__openai_chat_body,
    .end = hocket__openai_chat_end,
};

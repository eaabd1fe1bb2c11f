/* The row of the protocol table for OpenAI's Responses; how it is spoken stands in
 * openai_responses.h. */
#include "net/protocol/openai_responses/openai_responses.h"

static int url(const struct hocket__llm_request *q, const char *base, struct hocket__buf *out)
{
    hocket__buf_adds(out, base);
    return hocket__buf_adds(out, "/responses");
}

const struct hocket__proto hocket__proto_openai_responses = {
    .name = "openai_responses",
    .framing = HOCKET__FRAMING_SSE,
    .url = url,
    .key_header = "Authorization",
    .key_prefix = "Bearer ",
    .headers = (const char *const[]){ NULL },
    .write = hocket__openai_responses_write,
    .message = hocket__openai_responses_message,
    .event = hocket__openai_responses_event,
    .body = hocket__openai_responses_body,
    .end = hocket__openai_responses_end,
};

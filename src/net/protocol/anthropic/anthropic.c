/* The row of the protocol table for Anthropic, and its address; the decisions stand in anthropic.h. */
#include "net/protocol/anthropic/anthropic.h"

/* The variable ANTHROPIC_BASE_URL has no version by custom; both are taken. */
static int url(const struct hocket__llm_request *q, const char *base, struct hocket__buf *out)
{
    if (hocket__proto_traits_of(q)->vertex) { /* the model stands in the path there */
        hocket__buf_addf(out, "%s/models/", base);
        hocket__path_write(out, q->model, "@");
        return hocket__buf_adds(out, q->stream ? ":streamRawPredict" : ":rawPredict");
    }
    hocket__buf_adds(out, base);
    return hocket__buf_adds(out, hocket__base_has_version(base) ? "/messages" : "/v1/messages");
}

const struct hocket__proto hocket__proto_anthropic = {
    .name = "anthropic",
    .framing = HOCKET__FRAMING_SSE,
    .url = url,
    .key_header = "x-api-key",
    .key_prefix = "",
    .headers = (const char *const[]){ "anthropic-version: 2023-06-01", NULL },
    .write = hocket__anthropic_write,
    .message = hocket__anthropic_message,
    .event = hocket__anthropic_event,
    .body = hocket__anthropic_body,
    .end = hocket__anthropic_end,
};

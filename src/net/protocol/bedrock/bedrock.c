/* The row of the protocol table for Bedrock, and its address: the model's id stands in the path, escaped whole (an
 * ARN has slashes). */
#include "net/protocol/bedrock/bedrock.h"

static int url(const struct hocket__llm_request *q, const char *base, struct hocket__buf *out)
{
    hocket__buf_addf(out, "%s/model/", base);
    hocket__path_write(out, q->model, "");
    return hocket__buf_adds(out, q->stream ? "/converse-stream" : "/converse");
}

const struct hocket__proto hocket__proto_bedrock = {
    .name = "bedrock",
    .framing = HOCKET__FRAMING_EVENTSTREAM,
    .url = url,
    .key_header = "authorization",
    .key_prefix = "Bearer ",
    .headers = (const char *const[]){ NULL },
    .write = hocket__bedrock_write,
    .message = hocket__bedrock_message,
    .event = hocket__bedrock_event,
    .body = hocket__bedrock_body,
    .end = hocket__bedrock_end,
};

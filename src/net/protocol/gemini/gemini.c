/* The row of the protocol table for Gemini, and its address: the model stands in the path there,
 * and so has to be written as a part of one. */
#include "net/protocol/gemini/gemini.h"

/* "gemini-2.5-pro", "models/gemini-2.5-pro" or "tunedModels/x". */
static void put_model(const char *model, struct hocket__buf *out)
{
    if (!strchr(model, '/'))
        hocket__buf_adds(out, "models/");
    hocket__path_write(out, model, "/");
}

static int url(const struct hocket__llm_request *q, const char *base, struct hocket__buf *out)
{
    hocket__buf_adds(out, base);
    hocket__buf_adds(out, hocket__base_has_version(base) ? "/" : "/v1beta/");
    put_model(q->model, out);
    return hocket__buf_adds(out, q->stream ? ":streamGenerateContent?alt=sse" : ":generateContent");
}

const struct hocket__proto hocket__proto_gemini = {
    .name = "gemini",
    .framing = HOCKET__FRAMING_SSE,
    .url = url,
    .key_header = "x-goog-api-key",
    .key_prefix = "",
    .headers = (const char *const[]){ NULL },
    .write = hocket__gemini_write,
    .message = hocket__gemini_message,
    .event = hocket__gemini_event,
    .body = hocket__gemini_body,
    .end = hocket__gemini_end,
};

/* The row of the protocol table for Ollama's own protocol; the decisions stand in ollama.h. */
#include "net/protocol/ollama/ollama.h"

static int url(const struct hocket__llm_request *q, const char *base, struct hocket__buf *out)
{
    size_t n = strlen(base);
    hocket__buf_adds(out, base);
    return hocket__buf_adds(
        out, n > 4 && strcmp(base + n - 4, "/api") == 0 ? "/chat" : "/api/chat");
}

const struct hocket__proto hocket__proto_ollama = {
    .name = "ollama",
    .framing = HOCKET__FRAMING_NDJSON,
    .url = url,
    .key_header = "Authorization",
    .key_prefix = "Bearer ",
    .headers = (const char *const[]){ NULL },
    .write = hocket__ollama_write,
    .message = hocket__ollama_message,
    .event = hocket__ollama_event,
    .body = hocket__ollama_body,
    .end = hocket__ollama_end,
};

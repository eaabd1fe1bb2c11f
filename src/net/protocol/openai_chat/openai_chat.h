/* OpenAI chat completions, and the many servers that speak it: the two halves of the
 * protocol's table. Writing is exact; reading is tolerant: members in any order, calls
 * with or without index, id or end, reasoning under either name. */
#pragma once

#include "net/protocol/openai.h"

int hocket__openai_chat_write(
    const struct hocket__llm_request *q, struct hocket__buf *body, struct hocket_error *err);
int hocket__openai_chat_message(const struct hocket__neutral *m,
    const struct hocket__proto_traits *t, struct hocket__buf *wire, struct hocket_error *err);

enum hocket__chat_flags {
    HOCKET__CHAT_BODY = 1,   /* a whole body is read, no stream */
    HOCKET__CHAT_CHOICE = 2, /* there was a choice */
    HOCKET__CHAT_DELTA = 4,  /* deltas came: a whole message beside them says it all again */
    HOCKET__CHAT_FINISH = 8, /* a finish_reason came: without [DONE] that is an end, too */
    HOCKET__CHAT_KNOWN = 16, /* this chunk has something of the protocol's */
};

/* At the end: makes reply->replay of reasoning_details (chunks of it in r->state) and of the
 * extra_content of the message (in reply->replay) and of the calls. */
int hocket__chat_replay(struct hocket__reader *r, struct hocket_error *err);

/* OpenAI Responses: the halves of the protocol's table.
 *
 * Requests are stateless (store: false): the encrypted reasoning comes back with an answer and goes
 * out again with the history, unchanged and beside the call it led to. An answer is
 * a list of items. While it streams, its deltas are put together; the response
 * that ends the stream is the authority and what it says replaces them. */
#pragma once

#include "net/protocol/openai.h"

int hocket__openai_responses_write(
    const struct hocket__llm_request *q, struct hocket__buf *body, struct hocket_error *err);
int hocket__openai_responses_message(const struct hocket__neutral *m,
    const struct hocket__proto_traits *t, struct hocket__buf *wire, struct hocket_error *err);

enum hocket__item_kind {
    HOCKET__ITEM_MESSAGE,
    HOCKET__ITEM_REASONING,
    HOCKET__ITEM_CALL,
    HOCKET__ITEM_CUSTOM_CALL, /* free-form input in place of arguments */
    HOCKET__ITEM_OTHER,       /* run by the provider, or not known yet */
};

/* One output item; everything points into its text. */
struct hocket__item {
    enum hocket__item_kind kind;
    struct hocket__piece type, call_id, name, arguments;
    struct hocket__str content, summary, encrypted; /* JSON values, or empty */
    struct hocket__str raw;
};
/* Reads the object whose begin was read last. */
void hocket__item_read(struct hocket__json *j, struct hocket__item *item);

/* OpenAI Responses: the halves of the protocol's table.
 *
 * Requests are stateless (store: false): the encrypted reasoning comes back with an answer and goes
 * out again with the history, unchanged and beside the call it led to. An answer is
 * a list of items. While it streams, its deltas are put together; the response
 * that ends the stream is the authority and what it says replaces them. */
#pragma once

#include "net/protocol/protocol_impl.h"

int hocket__openai_responses_write(
    const struct hocket__llm_request *q, struct hocket__buf *body, struct hocket_error *err);
int hocket__openai_responses_message(const struct hocket__neutral *m,
    const struct hocket__proto_traits *t, struct hocket__buf *wire, struct hocket_error *err);

int hocket__openai_responses_event(struct hocket__reader *r, struct hocket__str type,
    struct hocket__str data, struct hocket_error *err);
int hocket__openai_responses_body(
    struct hocket__reader *r, int http_status, struct hocket__str body, struct hocket_error *err);
int hocket__openai_responses_end(struct hocket__reader *r, struct hocket_error *err);

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
/* Appends the texts of a message or reasoning item to the buffers that are its kind's. */
void hocket__item_texts(const struct hocket__item *item, struct hocket__buf *text,
    struct hocket__buf *reasoning, struct hocket__buf *refusal);

/* Takes the list of items that ends an answer as the authority: texts, calls, server
 * items and what has to be replayed. */
int hocket__responses_output(
    struct hocket__reader *r, struct hocket__str list, struct hocket_error *err);
/* Finds the call of an item by its index (-1: none), else by call_id; n_calls when there is none.
 * Two items may have one call_id. */
size_t hocket__responses_find(
    const struct hocket__reply *reply, const struct hocket__item *item, int64_t index);
/* Fills calls[pos], or a new call when pos is n_calls. */
int hocket__responses_call(struct hocket__reader *r, const struct hocket__item *item, size_t pos,
    int64_t index, struct hocket_error *err);

/* Amazon Bedrock's Converse: POST /model/M/converse and /converse-stream, one form for the models of all makers.
 *
 * Decided here, where the protocol leaves a choice:
 * - A stream is whole with messageStop; metadata (the counts) follows, and is waited for.
 * - Tools stay in the request when none may be called, and where there are none one that is not to be called stands
 *   there: with calls among the messages it is refused without.
 * - Reasoning has a form for Claude alone, in the members that go to the model as they are.
 * - Its thoughts go back with their signatures, in front of the text and the calls of their turn.
 * - Prompt caching is asked for with Claude, at the places where anthropic.h has it. `body: {cachePoint: null}`
 *   switches it off.
 * - Without an answer's schema in the model's reach (`json_schema: false`) it is said in words. */
#pragma once

#include "net/protocol/blocks.h"

int hocket__bedrock_write(
    const struct hocket__llm_request *q, struct hocket__buf *body, struct hocket_error *err);
int hocket__bedrock_message(const struct hocket__neutral *m, const struct hocket__proto_traits *t,
    struct hocket__buf *wire, struct hocket_error *err);

int hocket__bedrock_event(struct hocket__reader *r, struct hocket__str type,
    struct hocket__str data, struct hocket_error *err);
int hocket__bedrock_body(
    struct hocket__reader *r, int http_status, struct hocket__str body, struct hocket_error *err);
int hocket__bedrock_end(struct hocket__reader *r, struct hocket_error *err);

#define HOCKET__BEDROCK_TAIL "],\"role\":\"user\"}"

/* Google's Gemini API: POST /v1beta/models/M:generateContent and :streamGenerateContent,
 * also as Vertex AI has it (a base URL that ends with …/publishers/google).
 *
 * Decided here, where the protocol leaves a choice:
 * - A stream has no end mark: it is whole when a finishReason (or a blocked prompt) was seen and its
 *   connection ends, or says nothing for as long as may be between two events. Waiting less was
 *   rejected: models and gateways there are that put a finishReason into every chunk.
 * - An answer with a call, a signature or a part that the server made goes back as it
 *   came, part for part; summaries of thoughts without a signature do not go back.
 * - Results of one step are one user turn. They are paired by name and order; an id is sent
 *   when the calls before it had one.
 * - Calls of another provider's model have no signature, which Gemini 3 wants on the first call
 *   of a step: the value that Google names for this is sent.
 * - Arguments that come in pieces (Vertex AI) are put together as text; they come in the order
 *   of the text, and a path that goes back is an error.
 * - Reasoning: words are levels for Gemini 3 and later, and budgets for Gemini 2; numbers
 *   are budgets. Thoughts are asked for with it. */
#pragma once

#include "net/protocol/blocks.h"

int hocket__gemini_write(
    const struct hocket__llm_request *q, struct hocket__buf *body, struct hocket_error *err);
int hocket__gemini_message(const struct hocket__neutral *m, const struct hocket__proto_traits *t,
    struct hocket__buf *wire, struct hocket_error *err);

/* Ollama's own chat API: POST /api/chat, one JSON object a line.
 *
 * Decided here, where the protocol leaves a choice:
 * - Calls and results carry ids (tool_calls[].id, tool_call_id) beside tool_name: newer servers
 * pair by them, older ones pass over what they do not know.
 * - tool_choice is not known there: "none" sends no tools, a name sends that tool alone.
 * - Thinking goes back with a message that has calls, or always with the trait reasoning_back.
 * - `think` is a switch; only gpt-oss takes levels.
 * - An image by address cannot be sent; the address stands in the text.
 * - Members of `options` in `extra` (num_ctx …) are added to ours, one by one, and win. */
#pragma once

#include "net/protocol/blocks.h"

int hocket__ollama_write(
    const struct hocket__llm_request *q, struct hocket__buf *body, struct hocket_error *err);
int hocket__ollama_message(const struct hocket__neutral *m, const struct hocket__proto_traits *t,
    struct hocket__buf *wire, struct hocket_error *err);

int hocket__ollama_event(struct hocket__reader *r, struct hocket__str type, struct hocket__str data,
    struct hocket_error *err);
int hocket__ollama_body(
    struct hocket__reader *r, int http_status, struct hocket__str body, struct hocket_error *err);
int hocket__ollama_end(struct hocket__reader *r, struct hocket_error *err);

/* Anthropic's Messages API: POST /v1/messages.
 *
 * Decided here, where the protocol leaves a choice:
 * - max_tokens is required there: 8192 when the request sets none, and raised above the
 *   tokens for thinking, which count towards it.
 * - Prompt caching is asked for at up to four places, all put in when a body is written, so that
 *   the history's own bytes never change: the last tool, the last system block, and
 *   in a conversation that will go on (it has tools, or an answer already) the last block of the
 *   two last user turns. The marks are no part of what is cached: the next request reads what the
 *   place before the last has kept, which lies within the 20 blocks that are looked back.
 *   A member cache_control in `extra` switches ours off.
 * - Everything between two answers is one user turn: results first, as they come first.
 * - Leading system messages go into `system`; a later one stands where it came, in a
 *   <system> element of the user's turn.
 * - Reasoning: models up to 4.5 know only budgets, later ones effort with adaptive thinking. With
 *   thinking, temperature and top_k are left out, because the server refuses them.
 * - An answer's schema is sent as one to models from 4.5 on (and Opus 4.1), when it is within
 *   what they take; otherwise it is said in words, before the system's own.
 * - Blocks that text and calls do not say (thinking and its signature, server tools,
 *   citations) are kept as they came and go back unchanged. */
#pragma once

#include "net/protocol/blocks.h"

int hocket__anthropic_write(
    const struct hocket__llm_request *q, struct hocket__buf *body, struct hocket_error *err);
int hocket__anthropic_message(const struct hocket__neutral *m, const struct hocket__proto_traits *t,
    struct hocket__buf *wire, struct hocket_error *err);

#define HOCKET__ANTHROPIC_TAIL "],\"role\":\"user\"}"

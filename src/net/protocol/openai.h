/* What both of OpenAI's protocols write and read in the same way. */
#pragma once

#include "net/protocol/protocol_impl.h"

/* The limit of tokens, under this name unless the traits have another one; temperature, top_p, top_k. */
void hocket__openai_limits(
    const struct hocket__llm_request *q, const char *max_tokens, struct hocket__buf *b);
/* Which tool is to be called, and whether several may be. A tool's name stands in an object "function" of its own where it
 * is `nested`. */
void hocket__openai_choice(const struct hocket__llm_request *q, bool nested, struct hocket__buf *b);
/* Ids and models come with every chunk or event, and some servers send another, or none, with the last: the first is kept. */
void hocket__openai_read_once(struct hocket__json *j, struct hocket__buf *b);
/* The details beside the counts of usage; their value is next. */
void hocket__openai_usage_details(struct hocket__json *j, struct hocket__usage *u);

/* What Claude's servers share, Anthropic's and Bedrock's: the schemas that they take, and how a model is asked to think. */
#pragma once

#include "net/protocol/protocol_impl.h"

/* Appends the schema of an answer in the subset of JSON Schema that the servers accept. False, with nothing appended, when
 * the schema needs more than that. */
bool hocket__claude_schema(struct hocket__str schema, struct hocket__buf *out);
/* Whether the model only knows a thinking budget in tokens, no effort. */
bool hocket__claude_only_budgets(const char *model);
/* Whether the request forces a tool call; the model does not think beside one. */
bool hocket__claude_forced(const struct hocket__llm_request *q);
/* q->reasoning as a budget in tokens, and as an effort. */
int64_t hocket__claude_budget(const struct hocket__llm_request *q);
/* The limit of an answer that is asked for n tokens and thinks with this budget, which counts thinking as well: a limit that
 * the budget would use up is raised by it. */
int64_t hocket__claude_max_tokens(const struct hocket__llm_request *q, int64_t n);
const char *hocket__claude_effort(const struct hocket__llm_request *q);

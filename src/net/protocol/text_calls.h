/* Tool calls that a model writes into its text, as the models of local servers do whose template or parser does not know the form:
 *
 *     <tool_call>{"name": "look", "arguments": {"at": "tree"}}</tool_call>      Hermes, Qwen
 *     {"name": "look", "arguments": {"at": "tree"}}                             bare, in a list, or in a fence
 *     <|python_tag|>{"name": "look", "parameters": {"at": "tree"}}              Llama; <function=look>{"at": "tree"}</function>
 *     [TOOL_CALLS][{"name": "look", "arguments": {"at": "tree"}}]               Mistral; [TOOL_CALLS]look[ARGS]{"at": "tree"}
 *
 * Text is calls only where all of it is: what stands beside them, a word or a member that no call has, makes it an ordinary
 * answer. Which tools there are, and whether the arguments fit, is not known here. The text is hostile: the work is linear. */
#pragma once

#include "net/protocol/reply/reply.h"

/* Adds the calls that a text is made of to `r`, which has none: how many; 0, and nothing is added, when it is something else;
 * ENOMEM. Those beyond HOCKET__REPLY_MAX_CALLS are surplus. */
int hocket__text_calls(struct hocket__str text, struct hocket__reply *r);

enum hocket__text_calls_begin {
    HOCKET__TEXT_CALLS_NO,
    HOCKET__TEXT_CALLS_SHORT,
    HOCKET__TEXT_CALLS_YES
};
/* Whether a text begins as calls do; SHORT: it has to be longer for that to be known. Only text of which no beginning gives NO is
 * ever calls. It looks at the first word that matters and no further. */
enum hocket__text_calls_begin hocket__text_calls_begin(struct hocket__str text);

/* Whose text a person hears while it comes: one agent at a time, the first that begins, until its answer is over. Agents that others
 * have sent are muted, since their text is for whoever sent them. A fold over events: no clock, no terminal. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include <hocket/hocket.h>

#include "cli/buf.h"

struct cli_voice {
    char op[24];          /* whose text is shown; "": nobody's yet */
    bool speaks;          /* and its answer is not over */
    struct cli_buf text;  /* of this answer, so far */
    struct cli_buf muted; /* operations that do not speak to the person: " o3  o4 " */
    size_t sent;          /* of them, those at work */
};

enum cli_heard {
    CLI_HEARD_NOTHING,
    CLI_HEARD_MORE,
    CLI_HEARD_NEW /* of another answer than before */
};

/* A voice begins as zeros. Each takes the event of its name. */
void cli_voice_agent_started(struct cli_voice *v, const hocket_json *event);
void cli_voice_agent_finished(struct cli_voice *v, const hocket_json *event);
/* True when the answer that was heard is over, and the same agent is asked anew. */
bool cli_voice_model_request(struct cli_voice *v, const hocket_json *event);
/* True when it is the one that was heard. */
bool cli_voice_model_reply(struct cli_voice *v, const hocket_json *event);
enum cli_heard cli_voice_model_delta(struct cli_voice *v, const hocket_json *event);

bool cli_voice_is_muted(const struct cli_voice *v, const char *op);
/* The answer is said: nothing of it was heard any more. */
void cli_voice_forget(struct cli_voice *v);
/* Agents in the background, and agents that they send, continue beyond a turn. Without any, nobody is muted any
 * more. */
void cli_voice_rest(struct cli_voice *v);
void cli_voice_free(struct cli_voice *v);

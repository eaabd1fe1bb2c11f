/* The answer that comes: its text for the rows of the live view, and how fast it comes. A fold over events; a model's text comes as
 * model_delta, which is no record. */
#pragma once

#include "cli/view/voice.h"

struct cli_speech {
    struct cli_voice voice;
    char asked_op[24];   /* whose model was asked last, of the agents that are shown */
    double asked, first; /* when, and when its first token came; 0: not yet */
    size_t bytes;        /* of it so far, also what it thinks */
    double wait,
        rate; /* of the answer that is shown, or was last: seconds to its first token, tokens a second; 0: not known */
};

/* "first token after 0.4 s, 31 tokens/s", as far as that is known; `comma` stands before each. */
void cli_speech_pace(const struct cli_speech *s, const char *comma, struct cli_buf *out);

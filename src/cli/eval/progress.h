/* How far an evaluation is, on stderr: a line for each run that is not as expected, and on a terminal a row below. */
#pragma once

#include <stdbool.h>

#include <hocket/hocket.h>

#include "cli/screen.h"

struct cli_eval_progress {
    struct cli_screen screen;
    bool verbose; /* a line for each run */
    bool quiet;   /* only what is not as expected */
};

/* Hears of an event of the operation "eval"; others are passed over. */
void cli_eval_on_event(struct cli_eval_progress *p, const struct hocket_event *e);

/* A conversation from its beginning, or from where it was left; for `chat` and `resume`. */
#pragma once

#include "cli/run_args/run_args.h"

/* Returns the exit code. What args has is freed by the caller. */
int cli_chat_go(const struct cli_run_args *args);

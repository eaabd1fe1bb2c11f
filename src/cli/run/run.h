/* A run from its beginning, or from where it was left, to its end; for `run` and `resume`. */
#pragma once

#include "cli/run_args/run_args.h"

/* Returns the exit code. What args has is freed by the caller. */
int cli_run_go(const struct cli_run_args *args);

/* Puts it into the store for a worker, and its id on stdout. Returns the exit code. */
int cli_run_detach(const struct cli_run_args *args);

/* Shared by run_args.c, the table of options, values.c, what they are set to, read.c, the arguments around them,
 * and json.c. */
#pragma once

#include "cli/run_args/run_args.h"

/* Each is 0, or the exit code: then the mistake was told. */
int cli_set_model(struct cli_run_args *a, const char *value);
int cli_set_variable(struct cli_run_args *a, const char *value);
int cli_set_approve(struct cli_run_args *a, const char *value);
int cli_set_max_turns(struct cli_run_args *a, const char *value);
int cli_set_max_tokens(struct cli_run_args *a, const char *value);
int cli_set_project(struct cli_run_args *a, const char *value);
int cli_set_max_cost(struct cli_run_args *a, const char *value);
int cli_set_price(struct cli_run_args *a, const char *value);
int cli_set_context(struct cli_run_args *a, const char *value);
int cli_set_timeout(struct cli_run_args *a, const char *value);
int cli_set_sandbox(struct cli_run_args *a, const char *value);
int cli_set_jobs(struct cli_run_args *a, const char *value);
int cli_set_port(struct cli_run_args *a, const char *value);
int cli_add_file(struct cli_run_args *a, const char *value); /* two of a name are one */

void cli_pairs_free(struct cli_pairs *p);

/* Reads "2,8" or "2,8,0.2"; how many, 0 when one is no amount. */
size_t cli_read_amounts(const char *text, double amounts[3]);

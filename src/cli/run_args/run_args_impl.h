/* Shared by run_args.c, the table of options, values.c, which reads values that are more than a word or a
 * number, read.c, the arguments around them, and json.c. */
#pragma once

#include "cli/run_args/run_args.h"

cli_read_fn cli_read_variable, cli_read_label, cli_read_approve, cli_read_project, cli_read_mode,
    cli_read_price, cli_read_context, cli_read_sandbox,
    cli_read_file; /* two files of a name are one */

void cli_pairs_free(struct cli_pairs *p);

/* Reads "2,8" or "2,8,0.2"; how many, 0 when one is no amount. */
size_t cli_read_amounts(const char *text, double amounts[3]);

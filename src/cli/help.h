/* Help that teaches: printed from the tables of the commands. */
#pragma once

#include "cli/option.h"

/* Of the program, with all its commands up to a NULL: on stdout; returns the exit code. */
int cli_help(const struct cli_command *const *commands);
/* Of one command. */
int cli_help_command(const struct cli_command *c);

/* Help that teaches: printed from the tables of the commands. */
#pragma once

#include "cli/args.h"

/* All commands; the list ends with NULL. */
extern const struct cli_command *const cli_commands[];

int cli_help(void);                                /* on stdout; returns the exit code */
int cli_help_command(const struct cli_command *c); /* the same */

/* Arguments: each command declares its options in a table; this reads an argument list by it.
 *
 * Options may stand anywhere; `--` ends them; `-` alone is a word. Long options take their value
 * as `--name value` or `--name=value`, short ones as `-n value`; short flags can be joined. An
 * unknown option is an error that names the nearest known one. */
#pragma once

#include "cli/option.h"

#include <stdint.h>

struct cli_args {
    void *ud; /* for `set` */
    char **words;
    int count; /* what is left when options are taken out; the words are moved to the front */
};

#define CLI_GO_ON (-1)

/* Returns CLI_GO_ON, or the exit code to end with: 0 after --help, 2 after a mistake. */
int cli_args_read(const struct cli_command *command, int argc, char **argv, struct cli_args *out);

/* "hocket run: …" and where help is, on stderr. Returns the exit code for wrong usage. */
int cli_usage(const char *command, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

bool cli_parse_int(const char *text, int64_t low, int64_t high, int64_t *out);
bool cli_parse_seconds(const char *text, double *out); /* not negative, finite */

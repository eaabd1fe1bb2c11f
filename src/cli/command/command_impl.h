/* What commands about kept runs share. */
#pragma once

#include "cli/host/host.h"

/* Calls an operation in a host with the store that `store` (the option, or NULL) names. Where nothing is kept says so and
 * gives CLI_EXIT_FAILED; what went wrong is said, too. CLI_EXIT_DONE: *out is to be freed. */
int cli_stored_call(const char *command, const char *operation, const char *args_json,
    const char *store, struct cli_result *out);

/* The same for what makes a store where there is none. */
int cli_stored_call_new(const char *command, const char *operation, const char *args_json,
    const char *store, struct cli_result *out);

/* For a command that shows what an operation of that name gives: as JSON, or by `print`. Returns the exit code. */
int cli_stored_show(const char *name, const char *args_json, const char *store, bool json,
    void (*print)(const struct cli_result *result, const void *ud), const void *ud);

/* Appends `"name":"text"`, with a comma where it is not the first; nothing for NULL. */
void cli_stored_arg(struct cli_buf *args, const char *name, const char *text);

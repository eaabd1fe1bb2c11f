/* What commands share. */
#pragma once

#include "cli/args/args.h"
#include "cli/host/host.h"

/* What the shortest commands take beside their words. */
struct cli_simple {
    bool json, trust;
};
extern const struct cli_option cli_simple_options[]; /* --json */

/* The main of a command that calls the host's operation of its own name and prints the answer. It reads at most
 * `most` words, else it says what it `expected`. `add` (or NULL) appends the members of the operation's arguments. */
int cli_simple_main(const struct cli_command *self, int argc, char **argv, int most,
    const char *expected, void (*add)(const struct cli_args *args, struct cli_buf *out));

/* ---- Commands about kept runs ---------------------------------------------------------- */

/* Calls an operation in a host with the store that `store` (the option, or NULL) names. Where nothing is kept says so and
 * gives CLI_EXIT_FAILED; what went wrong is said, too. CLI_EXIT_DONE: *out is to be freed. */
int cli_stored_call(const char *command, const char *operation, const char *args_json,
    const char *store, struct cli_result *out);

/* The same for what makes a store where there is none. */
int cli_stored_call_new(const char *command, const char *operation, const char *args_json,
    const char *store, struct cli_result *out);

/* For a command that shows what an operation gives: as JSON, or by `print`. Returns the exit code. */
int cli_stored_show(const char *command, const char *operation, const char *args_json,
    const char *store, bool json, void (*print)(const struct cli_result *result, const void *ud),
    const void *ud);

/* Prints the text of a result, or the whole as JSON. What models and strangers wrote is shown, never obeyed. */
void cli_stored_print(const struct cli_result *result, bool json);

/* For a command that is one operation of its name: calls it, in a store that is made where there is none if it `makes` one,
 * and prints the result. Frees the arguments. Returns the exit code. */
int cli_stored_answer(
    const char *name, struct cli_buf *args_json, const char *store, bool makes, bool json);

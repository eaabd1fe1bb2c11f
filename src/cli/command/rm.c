/* `hocket rm`: runs that are not wanted any more. */
#include <string.h>

#include "cli/command/command.h"
#include "cli/command/command_impl.h"
#include "cli/exit.h"
#include "cli/store.h"

struct wish {
    const char *store;
};

static const struct cli_option options[] = {
    { CLI_TEXT(0, "store", "FILE", struct wish, store, CLI_STORE_HELP) },
    { 0 },
};

static int main_rm(const struct cli_command *self, int argc, char **argv)
{
    struct wish wish = { 0 };
    struct cli_args args = { .ud = &wish };
    struct cli_buf json = { 0 };
    struct cli_result result;
    int rc = cli_args_read(self, argc, argv, &args);
    if (rc != CLI_GO_ON)
        return rc;
    if (args.count == 0)
        return cli_usage("rm", "expected ids of runs: hocket runs lists them");
    cli_buf_adds(&json, "{\"ids\":[");
    cli_add_words(&json, &args);
    cli_buf_adds(&json, "]}");
    rc = cli_stored_call("rm", "remove", json.p, wish.store, &result);
    cli_buf_free(&json);
    if (rc == CLI_EXIT_DONE)
        cli_result_free(&result);
    return rc;
}

const struct cli_command cli_rm = {
    .name = "rm",
    .usage = "ID…",
    .summary = "remove stored runs",
    .about = "If one of the ids is unknown or ambiguous, none is removed. A running run is not "
             "removed.\n"
             "Forks of a run keep their part of it.",
    .examples = "  hocket rm 01KANC3V0Q\n"
                "  hocket runs --state failed --limit 0 --json | jq -r '.runs[].id' | xargs hocket "
                "rm\n",
    .options = options,
    .main = main_rm,
};

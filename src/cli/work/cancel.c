/* `hocket cancel`: ends runs for good, whoever has them. */
#include <stdio.h>
#include <string.h>

#include "cli/command/command.h"
#include "cli/exit.h"
#include "cli/host/host.h"
#include "cli/progress.h"
#include "cli/store.h"
#include "cli/text.h"

struct wish {
    const char *store;
};

static const struct cli_option options[] = {
    { CLI_TEXT(0, "store", "FILE", struct wish, store, CLI_STORE_HELP) },
    { 0 },
};

static void say(const struct cli_result *result)
{
    hocket_json *found = hocket_json_parse(cli_buf_text(&result->json), result->json.n, NULL);
    const char *id = cli_member(found, "id");
    if (result->status < 0) {
        cli_result_complain(result, "cancel");
    } else if (cli_is(found, "told")) {
        fprintf(stderr, "hocket cancel: %s was asked to end, and is still %s\n", id,
            cli_member(found, "state"));
    } else {
        fprintf(stderr, "hocket cancel: %s is %s\n", id, cli_member(found, "state"));
    }
    hocket_json_free(found);
}

static int cancel(const struct hocket_options *store, const char *id)
{
    struct cli_result result = { 0 };
    struct cli_buf args = { 0 };
    cli_buf_adds(&args, "{");
    cli_buf_member(&args, "id", id);
    cli_buf_adds(&args, "}");
    int status = cli_host_call_store("cancel", args.p, store, &result);
    say(&result);
    cli_result_free(&result);
    cli_buf_free(&args);
    return cli_exit_of(status);
}

static int main_cancel(const struct cli_command *self, int argc, char **argv)
{
    struct wish wish = { 0 };
    struct cli_args args = { .ud = &wish };
    struct hocket_options store = { 0 };
    int code = CLI_EXIT_DONE, rc = cli_args_read(self, argc, argv, &args);
    if (rc != CLI_GO_ON)
        return rc;
    if (args.count == 0)
        return cli_usage("cancel", "expected ids of runs: hocket runs lists them");
    if (!cli_store_look(&store, "cancel", wish.store))
        return CLI_EXIT_FAILED;
    for (int i = 0; i < args.count; i++) {
        rc = cancel(&store, args.words[i]);
        code = code ? code : rc;
    }
    return code;
}

const struct cli_command cli_cancel = {
    .name = "cancel",
    .usage = "ID…",
    .summary = "cancel runs permanently, wherever they execute",
    .about = "A running process reacts within a second and ends its work. A run without a process "
             "ends at\n"
             "once. Runs that it submitted (hocket.submit) are cancelled too. A cancelled run "
             "cannot be\n"
             "resumed; the store keeps its records.",
    .examples = "  hocket cancel 01KANC3V0Q\n"
                "  hocket runs --state queued --json | jq -r '.runs[].id' | xargs hocket cancel\n",
    .options = options,
    .main = main_cancel,
};

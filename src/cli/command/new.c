/* `hocket new`: a small project that runs at once. */
#include <string.h>

#include "cli/command/command.h"
#include "cli/host/host.h"
#include "cli/text.h"

static const struct cli_option options[] = { { 0 } };

static int main_new(const struct cli_command *self, int argc, char **argv)
{
    struct cli_args args = { 0 };
    struct cli_buf json = { 0 };
    int rc = cli_args_read(self, argc, argv, &args);
    if (rc != CLI_GO_ON)
        return rc;
    if (args.count != 1)
        return cli_usage("new", "expected one directory, which is made");
    cli_buf_adds(&json, "{\"dir\":");
    cli_buf_json(&json, args.words[0], strlen(args.words[0]));
    cli_buf_adds(&json, "}");
    rc = cli_host_answer("new", json.p, false);
    cli_buf_free(&json);
    return rc;
}

const struct cli_command cli_new = {
    .name = "new",
    .usage = "DIR",
    .summary = "make a small project to begin with",
    .about =
        "Makes DIR with a team of three agents, a script that runs it, a scripted model that lets\n"
        "it run without a key, and a README that explains them. DIR must be new or empty.",
    .examples =
        "  hocket new briefing && hocket run briefing \"Should we move to a four-day week?\"\n",
    .options = options,
    .main = main_new,
};

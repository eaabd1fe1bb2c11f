/* `hocket acp`: an agent or a team for an editor, by the Agent Client Protocol over standard input and output, until the input
 * ends. The operation "acp" does the work; here nothing is printed on stdout. */
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/command/command.h"
#include "cli/exit.h"
#include "cli/host/host.h"
#include "cli/run_args/run_args.h"
#include "cli/signals.h"
#include "cli/store.h"
#include "cli/text.h"

/* Targets are looked up from the current folder, wherever the sessions will work: an existing path becomes absolute. */
static void add_args(const struct cli_run_args *run, const char *target, struct cli_buf *out)
{
    cli_buf_adds(out, "{");
    if (target) {
        char *path = realpath(target, NULL);
        cli_buf_adds(out, "\"target\":");
        cli_buf_json(out, path ? path : target, strlen(path ? path : target));
        cli_buf_adds(out, ",");
        free(path);
    }
    cli_buf_adds(out, "\"options\":");
    cli_run_args_json(run, out);
    cli_buf_adds(out, "}");
}

static int start(const struct cli_run_args *run, const char *target)
{
    struct cli_served served = { .command = "acp", .operation = "acp", .offer = run->offer };
    cli_store_for_runs(&served.store, run->store, run->durability);
    add_args(run, target, &served.args);
    int rc = cli_host_serve_stdin(&served);
    cli_buf_free(&served.args);
    return rc;
}

static int check_words(const struct cli_args *args)
{
    if (args->count > 1)
        return cli_usage("acp", "one TARGET at most: an agent.md, a directory, or a script.lua");
    return 0;
}

static int main_acp(const struct cli_command *self, int argc, char **argv)
{
    static struct cli_run_args run;
    struct cli_args args = { .ud = &run };
    run.command = "acp";
    run.input_from_stdin = true; /* what comes from there is the protocol's */
    int rc = cli_args_read(self, argc, argv, &args);
    if (rc == CLI_GO_ON && (rc = check_words(&args)) == 0)
        rc = start(&run, args.count == 1 ? args.words[0] : NULL);
    cli_run_args_free(&run);
    return rc;
}

const struct cli_command cli_acp = {
    .name = "acp",
    .usage = "[TARGET]",
    .summary = "work as the agent of an editor (Agent Client Protocol)",
    .about =
        "Speaks the Agent Client Protocol over standard input and output, until the input ends or "
        "a\n"
        "signal arrives, for editors that start it as their agent (Zed, Neovim, Emacs, "
        "JetBrains).\n"
        "A TARGET is an agent.md, a folder with agents, or a script.lua; the default is the "
        "folder\n"
        "agents of the editor's project. Each session is a conversation, whose tools work in that\n"
        "project's folder.\n",
    .examples = "  hocket acp --trust ~/agents/coder.md\n"
                "  hocket acp --max-cost 2 --model anthropic/claude-sonnet-5 team\n",
    .shared = cli_run_options,
    .bit = CLI_FOR_ACP,
    .main = main_acp,
};

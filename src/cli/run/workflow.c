/* hocket workflow: the built-in agent `workflow` writes one from words, a person approves it with its bound, and it runs. */
#include <string.h>

#include "cli/command/command.h"
#include "cli/exit.h"
#include "cli/run/run.h"
#include "cli/run_args/run_args.h"

static const struct cli_option own[] = {
    { CLI_OWN(0, "save", "NAME", cli_read_save,
        "save the workflow as workflows/NAME.lua when it is done; hocket run NAME runs it again") },
    { 0 },
};

static int main_workflow(const struct cli_command *self, int argc, char **argv)
{
    struct cli_run_args args = { .command = "workflow", .agent = "workflow", .consent = true };
    int rc = cli_run_args_read(self, argc, argv, &args);
    if (rc == CLI_GO_ON)
        rc = cli_run_go(&args);
    cli_run_args_free(&args);
    return rc;
}

const struct cli_command cli_workflow = {
    .name = "workflow",
    .usage = "REQUEST…",
    .summary = "let a model write a workflow, approve it with its worst case, run it",
    .about =
        "Gives a request in words to the built-in agent workflow. It looks into the folder, and "
        "writes a\n"
        "workflow: a Lua script that lets many agents work. You see the script and its worst case "
        "(agents,\n"
        "model calls, tokens, cost), and approve both together, refuse, or say what to change. "
        "Then it\n"
        "runs. The worst case is its budget. 'hocket help guides/workflows' explains workflows.",
    .examples = "  hocket workflow \"Audit the files in src for missing error checks\"\n"
                "  hocket workflow --save audit --max-cost 2 \"Audit the files in src\"\n",
    .options = own,
    .shared = cli_run_options,
    .bit = CLI_FOR_RUN,
    .exit_codes = true,
    .main = main_workflow,
};

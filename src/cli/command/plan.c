/* `hocket plan`: the plan of a run, as a file that can be edited and run again. */
#include "cli/command/command.h"
#include "cli/command/command_impl.h"
#include "cli/exit.h"
#include "cli/store.h"

struct plan {
    bool json, yaml;
    const char *store, *save;
};

static const struct cli_option options[] = {
    { CLI_FLAG('y', "yaml", struct plan, yaml, "as YAML; default: Markdown") },
    { CLI_TEXT(0, "save", "NAME", struct plan, save,
        "write the plan of a run whose steps are all done to plans/NAME.md") },
    { CLI_FLAG('j', "json", struct plan, json, "print one JSON object") },
    { CLI_TEXT(0, "store", "FILE", struct plan, store, CLI_STORE_HELP) },
    { 0 },
};

static int main_plan(const struct cli_command *self, int argc, char **argv)
{
    struct plan p = { 0 };
    struct cli_args args = { .ud = &p };
    struct cli_buf json = { 0 };
    int rc = cli_args_read(self, argc, argv, &args);
    if (rc != CLI_GO_ON)
        return rc;
    if (args.count > 1)
        return cli_usage("plan", "expected the id of one run, or nothing");
    if (args.count == 0 && (p.yaml || p.save))
        return cli_usage("plan", "--yaml and --save are about the plan of a run: name one");
    cli_buf_adds(&json, "{");
    cli_buf_member(&json, "id", args.count > 0 ? args.words[0] : NULL);
    cli_buf_member(&json, "save", p.save);
    if (p.yaml)
        cli_buf_adds(&json, ",\"yaml\":true");
    cli_buf_adds(&json, "}");
    if (args.count == 0) {
        rc = cli_host_answer("plan", json.p, p.json);
        cli_buf_free(&json);
        return rc;
    }
    return cli_stored_answer("plan", &json, p.store, false, p.json);
}

const struct cli_command cli_plan = {
    .name = "plan",
    .usage = "[ID]",
    .summary = "print a run's plan as a file to edit and run again",
    .about =
        "Prints the plan that a run has carried out. Edit it, check it and run it with --plan.\n"
        "Without an ID it lists the plans in the folder plans.",
    .examples = "  hocket plan last >plan.md\n"
                "  hocket run --plan plan.md\n"
                "  hocket plan last --save garden\n",
    .options = options,
    .main = main_plan,
};

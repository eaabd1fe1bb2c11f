/* `hocket doctor`: what this machine offers. */
#include <string.h>

#include "cli/command/command.h"
#include "cli/host/host.h"
#include "cli/policy/policy.h"
#include "cli/store.h"
#include "cli/text.h"

struct wish {
    bool json;
};

static const struct cli_option options[] = {
    { CLI_FLAG('j', "json", struct wish, json, "print one JSON object") },
    { 0 },
};

static int main_doctor(const struct cli_command *self, int argc, char **argv)
{
    struct wish wish = { 0 };
    struct cli_args args = { .ud = &wish };
    int rc = cli_args_read(self, argc, argv, &args);
    if (rc != CLI_GO_ON)
        return rc;
    if (args.count > 0)
        return cli_usage("doctor", "expected no arguments");
    cli_policy_tolerate();
    struct cli_buf told = { 0 };
    struct hocket_options o = { 0 };
    cli_store_options(&o, NULL, NULL);
    cli_buf_adds(&told, "{");
    if (o.store && cli_text_is_utf8(o.store, strlen(o.store))) {
        struct cli_buf shown = { 0 };
        cli_store_show(&shown, o.store);
        cli_buf_key(&told, "store");
        cli_buf_json(&told, cli_buf_text(&shown), shown.n);
        cli_buf_free(&shown);
    }
    cli_buf_adds(&told, "}");
    rc = cli_host_answer("doctor", told.p, wish.json);
    cli_buf_free(&told);
    return rc;
}

const struct cli_command cli_doctor = {
    .name = "doctor",
    .usage = "",
    .summary = "say what this machine offers: providers, keys, sandbox, store",
    .about =
        "Lists the providers, whether their keys are in the environment (never the keys), the "
        "model\n"
        "that is used when none is named, the walls that programs of tools can be put behind, and\n"
        "where runs are kept.",
    .examples = "  hocket doctor\n"
                "  hocket doctor --json | jq -r .default_model\n",
    .options = options,
    .main = main_doctor,
};

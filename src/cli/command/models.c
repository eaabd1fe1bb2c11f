/* `hocket models`: what a provider's server offers. The operation is Lua (internal/commands/models.lua). */
#include <string.h>

#include "cli/command/command.h"
#include "cli/host/host.h"
#include "cli/text.h"

struct wish {
    bool json, trust;
};

static const struct cli_option options[] = {
    { CLI_FLAG('j', "json", struct wish, json, "print one JSON object: models, asked, note") },
    { CLI_FLAG(0, "trust", struct wish, trust, "the providers.yaml here may be used") },
    { 0 },
};

static int main_models(const struct cli_command *self, int argc, char **argv)
{
    struct wish wish = { 0 };
    struct cli_args args = { .ud = &wish };
    int rc = cli_args_read(self, argc, argv, &args);
    if (rc != CLI_GO_ON)
        return rc;
    if (args.count > 1)
        return cli_usage("models", "expected one provider at most");
    struct cli_buf told = { 0 };
    cli_buf_addf(&told, "{\"trust\":%s", wish.trust ? "true" : "false");
    if (args.count == 1) {
        cli_buf_key(&told, "provider");
        cli_buf_json(&told, args.words[0], strlen(args.words[0]));
    }
    cli_buf_adds(&told, "}");
    rc = cli_host_answer("models", told.p, wish.json);
    cli_buf_free(&told);
    return rc;
}

const struct cli_command cli_models = {
    .name = "models",
    .usage = "[PROVIDER]",
    .summary = "list the models that a provider offers, with window and price",
    .about = "Asks the provider's server which models it has. How many tokens they take and answer "
             "with, and\n"
             "what they cost, is what the server says, else what the tables of hocket know; ? is "
             "not known.\n"
             "Without a key, and without PROVIDER, nobody is asked: the table is printed.",
    .examples = "  hocket models\n"
                "  hocket models anthropic\n"
                "  hocket models ollama --json | jq -r '.models[].id'\n",
    .options = options,
    .main = main_models,
};

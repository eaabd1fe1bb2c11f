/* The shortest commands, which are one operation of the host: `hocket agents`, `tools` and `models`. */
#include "cli/command/command_impl.h"

#include "cli/command/command.h"
#include "cli/text.h"

const struct cli_option cli_simple_options[] = {
    { CLI_FLAG('j', "json", struct cli_simple, json, "print one JSON object") },
    { 0 },
};

int cli_simple_main(const struct cli_command *self, int argc, char **argv, int most,
    const char *expected, void (*add)(const struct cli_args *args, struct cli_buf *out))
{
    struct cli_simple simple = { 0 };
    struct cli_args args = { .ud = &simple };
    struct cli_buf json = { 0 };
    int rc = cli_args_read(self, argc, argv, &args);
    if (rc != CLI_GO_ON)
        return rc;
    if (args.count > most)
        return cli_usage(self->name, "expected %s", expected);
    cli_buf_adds(&json, "{");
    if (add)
        add(&args, &json);
    cli_buf_adds(&json, "}");
    rc = cli_host_answer(self->name, json.p, simple.json);
    cli_buf_free(&json);
    return rc;
}

static void add_path(const struct cli_args *args, struct cli_buf *out)
{
    if (args->count == 1)
        cli_buf_member(out, "path", args->words[0]);
}

static int main_agents(const struct cli_command *self, int argc, char **argv)
{
    return cli_simple_main(self, argc, argv, 1, "one directory at most", add_path);
}

static int main_tools(const struct cli_command *self, int argc, char **argv)
{
    return cli_simple_main(self, argc, argv, 0, "no arguments", NULL);
}

const struct cli_command cli_agents = {
    .name = "agents",
    .usage = "[DIR]",
    .summary = "list agents with their purpose, tools and worst-case cost",
    .about = "Lists the agents of the teams in DIR and the built-in ones: purpose, tools, called "
             "agents,\n"
             "and the worst-case number of model calls for one request.",
    .examples = "  hocket agents\n"
                "  hocket agents examples/travel\n",
    .options = cli_simple_options,
    .main = main_agents,
};

const struct cli_command cli_tools = {
    .name = "tools",
    .usage = "",
    .summary = "list the tools that an agent's file can name",
    .about = "Lists the built-in tools: their purpose, and which need approval.",
    .examples = "  hocket tools\n"
                "  hocket tools --json\n",
    .options = cli_simple_options,
    .main = main_tools,
};

/* ---- models ---------------------------------------------------------------------------- */

static const struct cli_option models_options[] = {
    { CLI_FLAG(
        'j', "json", struct cli_simple, json, "print one JSON object: models, asked, note") },
    { CLI_FLAG(0, "trust", struct cli_simple, trust, "use the providers.yaml of this folder") },
    { 0 },
};

static void add_provider(const struct cli_args *args, struct cli_buf *out)
{
    const struct cli_simple *simple = args->ud;
    cli_buf_addf(out, "\"trust\":%s", simple->trust ? "true" : "false");
    if (args->count == 1)
        cli_buf_member(out, "provider", args->words[0]);
}

static int main_models(const struct cli_command *self, int argc, char **argv)
{
    return cli_simple_main(self, argc, argv, 1, "one provider at most", add_provider);
}

const struct cli_command cli_models = {
    .name = "models",
    .usage = "[PROVIDER]",
    .summary = "list a provider's models, with context window and price",
    .about =
        "Asks the provider's server which models it has. Token limits and prices come from the\n"
        "server, or else from hocket's tables; ? means unknown. Without a key, or without "
        "PROVIDER,\n"
        "it asks nobody and prints the tables.",
    .examples = "  hocket models\n"
                "  hocket models anthropic\n"
                "  hocket models ollama --json | jq -r '.models[].id'\n",
    .options = models_options,
    .main = main_models,
};

/* `hocket agents` and `hocket tools`: what there is. */
#include <string.h>

#include "cli/command/command.h"
#include "cli/host/host.h"

struct wish {
    bool json;
};

static const struct cli_option options[] = {
    { CLI_FLAG('j', "json", struct wish, json, "print one JSON object") },
    { 0 },
};

static int main_agents(const struct cli_command *self, int argc, char **argv)
{
    struct wish wish = { 0 };
    struct cli_args args = { .ud = &wish };
    struct cli_buf json = { 0 };
    int rc = cli_args_read(self, argc, argv, &args);
    if (rc != CLI_GO_ON)
        return rc;
    if (args.count > 1)
        return cli_usage("agents", "expected one directory at most");
    cli_buf_adds(&json, "{");
    if (args.count == 1) {
        cli_buf_adds(&json, "\"path\":");
        cli_buf_json(&json, args.words[0], strlen(args.words[0]));
    }
    cli_buf_adds(&json, "}");
    rc = cli_host_answer("agents", json.p, wish.json);
    cli_buf_free(&json);
    return rc;
}

static int main_tools(const struct cli_command *self, int argc, char **argv)
{
    struct wish wish = { 0 };
    struct cli_args args = { .ud = &wish };
    int rc = cli_args_read(self, argc, argv, &args);
    if (rc != CLI_GO_ON)
        return rc;
    if (args.count > 0)
        return cli_usage("tools", "expected no arguments");
    return cli_host_answer("tools", "{}", wish.json);
}

const struct cli_command cli_agents = {
    .name = "agents",
    .usage = "[DIR]",
    .summary = "list agents: what each is for, its tools, what it can cost",
    .about =
        "Lists the agents that come with hocket, and those of the teams in DIR: what each is for, "
        "its\n"
        "tools, whom it calls, and how many model calls one request can take in the worst case.",
    .examples = "  hocket agents\n"
                "  hocket agents examples/travel\n",
    .options = options,
    .main = main_agents,
};

const struct cli_command cli_tools = {
    .name = "tools",
    .usage = "",
    .summary = "list the tools that an agent's file can name",
    .about = "Lists the tools that come with hocket: what each is for, and which need approval.",
    .examples = "  hocket tools\n"
                "  hocket tools --json\n",
    .options = options,
    .main = main_tools,
};

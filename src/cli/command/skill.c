/* `hocket skill install`: a skill for coding agents of other programs. */
#include <string.h>

#include "cli/command/command.h"
#include "cli/host/host.h"

static int main_skill(const struct cli_command *self, int argc, char **argv)
{
    struct cli_args args = { 0 };
    struct cli_buf json = { 0 };
    int rc = cli_args_read(self, argc, argv, &args);
    if (rc != CLI_GO_ON)
        return rc;
    if (args.count < 1 || args.count > 2 || strcmp(args.words[0], "install") != 0)
        return cli_usage("skill", "expected 'install', and a program or none");
    cli_buf_adds(&json, "{");
    if (args.count > 1)
        cli_buf_member(&json, "program", args.words[1]);
    cli_buf_adds(&json, "}");
    rc = cli_host_answer("skill", json.p, false);
    cli_buf_free(&json);
    return rc;
}

static const struct cli_option options[] = { { 0 } };

const struct cli_command cli_skill = {
    .name = "skill",
    .usage = "install [claude|codex|opencode]",
    .summary = "write a skill, so that a coding agent can write hocket projects",
    .about =
        "Writes SKILL.md with the keys of agent files, the Lua modules and the loop of check and "
        "run\n"
        "into this folder: .claude/skills/hocket, .agents/skills/hocket (codex, and without a\n"
        "word) or .opencode/skills/hocket. An earlier one that it wrote is replaced.",
    .examples = "  hocket skill install claude\n",
    .options = options,
    .main = main_skill,
};

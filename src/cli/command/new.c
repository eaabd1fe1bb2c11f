/* `hocket new`: a small project that runs at once. */
#include <string.h>

#include "cli/command/command.h"
#include "cli/host/host.h"
#include "cli/text.h"

struct wish {
    const char *pattern, *from;
};

static const struct cli_option options[] = {
    { CLI_WORD(0, "pattern", "NAME", struct wish, pattern,
        "copy a built-in pattern into DIR/patterns, for example facilitator") },
    { CLI_WORD(0, "from", "FILE", struct wish, from,
        "make the project of agents of another program: a file, or a folder such as "
        ".claude/agents") },
    { 0 },
};

static int main_new(const struct cli_command *self, int argc, char **argv)
{
    struct wish wish = { 0 };
    struct cli_args args = { .ud = &wish };
    struct cli_buf json = { 0 };
    int rc = cli_args_read(self, argc, argv, &args);
    if (rc != CLI_GO_ON)
        return rc;
    if (args.count > 1 || (args.count == 0 && !wish.pattern))
        return cli_usage("new", "expected one directory, which is made");
    const char *dir = args.count > 0 ? args.words[0] : ".";
    cli_buf_adds(&json, "{");
    cli_buf_member(&json, "dir", dir);
    cli_buf_member(&json, "pattern", wish.pattern);
    cli_buf_member(&json, "from", wish.from);
    cli_buf_adds(&json, "}");
    rc = cli_host_answer("new", json.p, false);
    cli_buf_free(&json);
    return rc;
}

const struct cli_command cli_new = {
    .name = "new",
    .usage = "[DIR]",
    .summary = "create a small project",
    .about =
        "Creates DIR with a team of three agents, a script that runs it, a scripted model so that\n"
        "it runs without a key, and a README that explains them. DIR must be new or empty.\n"
        "\n"
        "With --pattern it copies a built-in pattern into a project, which may have other files,\n"
        "and prints how a script uses the copy. DIR then defaults to the current folder.\n"
        "\n"
        "With --from it writes agents of another program as agents of hocket. Comments in them "
        "say\n"
        "what was left out.",
    .examples =
        "  hocket new briefing && hocket run briefing \"Should we move to a four-day week?\"\n"
        "  hocket new --pattern router briefing\n"
        "  hocket new --from .claude/agents my-team\n",
    .options = options,
    .main = main_new,
};

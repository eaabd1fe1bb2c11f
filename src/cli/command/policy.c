/* `hocket policy`: what the machine's owner and the user let hocket do. */
#include <string.h>

#include "cli/command/command.h"
#include "cli/exit.h"
#include "cli/host/host.h"
#include "cli/policy/policy.h"
#include "cli/text.h"

struct wish {
    bool json;
};

static const struct cli_option options[] = {
    { CLI_FLAG('j', "json", struct wish, json, "print one JSON object") },
    { 0 },
};

static void add_text(struct cli_buf *out, const char *name, const struct cli_buf *text)
{
    if (text->n == 0)
        return;
    cli_buf_key(out, name);
    cli_buf_json(out, text->p, text->n);
}

static void add_args(const struct cli_args *args, struct cli_buf *out)
{
    struct cli_policy p;
    cli_policy_read(&p);
    cli_buf_adds(out, "{\"targets\":[");
    cli_add_words(out, args);
    cli_buf_adds(out, "],\"files\":[");
    for (size_t i = 0; i < CLI_POLICY_FILES; i++) {
        cli_buf_addf(out, "%s{\"there\":%s", i > 0 ? "," : "", p.files[i].there ? "true" : "false");
        add_text(out, "path", &p.files[i].path);
        add_text(out, "problem", &p.files[i].problem);
        if (p.files[i].problem.n == 0)
            add_text(out, "source", &p.files[i].text);
        cli_buf_adds(out, "}");
    }
    cli_buf_adds(out, "]}");
    cli_policy_free(&p);
}

static int main_policy(const struct cli_command *self, int argc, char **argv)
{
    struct wish wish = { 0 };
    struct cli_args args = { .ud = &wish };
    struct cli_buf json = { 0 };
    int rc = cli_args_read(self, argc, argv, &args);
    if (rc != CLI_GO_ON)
        return rc;
    if (args.count > 1)
        return cli_usage("policy", "expected one target, or none");
    cli_policy_tolerate();
    add_args(&args, &json);
    rc = cli_host_answer("policy", json.p, wish.json);
    cli_buf_free(&json);
    return rc;
}

const struct cli_command cli_policy_command = {
    .name = "policy",
    .usage = "[TARGET]",
    .summary = "say what the policies of this machine and user allow, and where that stands",
    .about =
        "Policies are /etc/hocket/policy.yaml, of the machine's owner, and\n"
        "~/.config/hocket/policy.yaml, of the user, who can only narrow it. No option, variable,\n"
        "client or agent exceeds them. With a TARGET also which models of its agents may be "
        "asked.\n"
        "A policy that cannot be read stops every command but this one, doctor and --help, with\n"
        "exit code 3.",
    .examples = "  hocket policy\n"
                "  hocket policy agents --json\n",
    .options = options,
    .main = main_policy,
};

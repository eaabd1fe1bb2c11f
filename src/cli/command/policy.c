/* `hocket policy`: what the machine's owner and the user let hocket do. */
#include "cli/command/command_impl.h"

#include "cli/command/command.h"
#include "cli/policy/policy.h"
#include "cli/text.h"

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
    cli_policy_tolerate();
    cli_policy_read(&p);
    cli_buf_adds(out, "\"targets\":[");
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
    cli_buf_adds(out, "]");
    cli_policy_free(&p);
}

static int main_policy(const struct cli_command *self, int argc, char **argv)
{
    return cli_simple_main(self, argc, argv, 1, "one target, or none", add_args);
}

const struct cli_command cli_policy_command = {
    .name = "policy",
    .usage = "[TARGET]",
    .summary = "show the policies of this machine and user",
    .about =
        "Policies are /etc/hocket/policy.yaml of the machine, and ~/.config/hocket/policy.yaml of "
        "the\n"
        "user, who can only narrow it. No option, variable, client or agent exceeds them. With a\n"
        "TARGET it also shows which models of its agents are permitted. A policy that cannot be\n"
        "read stops every command except this one, doctor and --help, with exit code 3.",
    .examples = "  hocket policy\n"
                "  hocket policy agents --json\n",
    .options = cli_simple_options,
    .main = main_policy,
};

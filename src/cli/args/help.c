/* Help is printed from the tables that arguments are read by: it cannot name an option that
 * there is not.
 *
 * The pages of docs/commands.md are written by hand and compared with this output by a test. */
#include "cli/args/args.h"

#include <stdio.h>
#include <string.h>

#include "cli/buf.h"
#include "cli/exit.h"
#include "cli/out.h"

/* Options in two columns; help text that has several lines goes on below its first. */
#define COLUMN 26

static void add_option(struct cli_buf *b, const struct cli_option *o)
{
    struct cli_buf left = { 0 };
    if (o->letter)
        cli_buf_addf(&left, "  -%c, ", o->letter);
    else
        cli_buf_adds(&left, "      ");
    cli_buf_addf(&left, "--%s", o->name);
    if (o->value)
        cli_buf_addf(&left, " %s", o->value);
    cli_buf_addf(b, "%-*s", COLUMN, left.p);
    if (left.n >= COLUMN)
        cli_buf_addf(b, "\n%*s", COLUMN, "");
    for (const char *line = o->help, *end; *line; line = *end ? end + 1 : end) {
        end = line + strcspn(line, "\n");
        cli_buf_addf(b, "%*s%.*s\n", line == o->help ? 0 : COLUMN, "", (int) (end - line), line);
    }
    cli_buf_free(&left);
}

static int print(struct cli_buf *b)
{
    cli_out_text(b->p, b->n);
    cli_buf_free(b);
    return cli_out_end();
}

int cli_help_command(const struct cli_command *c)
{
    static const struct cli_option help = { .letter = 'h', .name = "help", .help = "this text" };
    struct cli_buf b = { 0 };
    cli_buf_addf(&b, "usage: hocket %s [OPTION…] %s\n\n", c->name, c->usage);
    cli_buf_addf(&b, "%s\n\noptions:\n", c->about);
    for (const struct cli_option *o = NULL; (o = cli_next_option(c, o));)
        add_option(&b, o);
    add_option(&b, &help);
    cli_buf_addf(&b, "\nexamples:\n%s", c->examples);
    if (c->exit_codes) {
        cli_buf_adds(&b, "\nexit codes:\n");
        cli_exit_explain(&b);
    }
    if (c->more_help) {
        cli_out_text(b.p, b.n);
        cli_buf_reset(&b);
        c->more_help();
    }
    return print(&b);
}

int cli_help(const struct cli_command *const *commands)
{
    struct cli_buf b = { 0 };
    cli_buf_adds(&b, "hocket runs teams of LLM agents.\n"
                     "\n"
                     "usage: hocket COMMAND [OPTION…] [ARGUMENT…]\n"
                     "\n"
                     "commands:\n");
    for (const struct cli_command *const *c = commands; *c; c++)
        cli_buf_addf(&b, "  %-8s %s\n", (*c)->name, (*c)->summary);
    cli_buf_adds(&b,
        "\n"
        "`hocket COMMAND --help` says more; `hocket --version` prints the version.\n"
        "\n"
        "to begin with:\n"
        "  hocket new trip                      make a small team in ./trip\n"
        "  hocket run trip \"Plan a picnic\"      let it answer: no key is needed to try\n"
        "  export OPENAI_API_KEY=…              or ANTHROPIC_API_KEY …: now it is a real model\n"
        "\n"
        "exit codes:\n");
    cli_exit_explain(&b);
    return print(&b);
}

/* Help is printed from the tables that arguments are read by: it cannot name an option that
 * there is not.
 *
 * The pages of docs/reference/commands.md are written by hand and compared with this output by a test. */
#include "cli/args/args.h"

#include <stdio.h>
#include <string.h>

#include <hocket/hocket.h>

#include "cli/buf.h"
#include "cli/exit.h"
#include "cli/out.h"
#include "cli/text.h"

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

/* Text for people: in ASCII where the locale can show nothing else. */
static int print_text(struct cli_buf *b)
{
    struct cli_buf plain = { 0 };
    if (cli_text_shows_unicode())
        return print(b);
    cli_text_ascii(&plain, b->p, b->n);
    cli_buf_free(b);
    return print(&plain);
}

static const struct cli_option help = { .letter = 'h', .name = "help", .help = "this text" };

int cli_help_command(const struct cli_command *c)
{
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
    if (c->more_help)
        c->more_help(&b);
    cli_buf_adds(&b, b.p[b.n - 1] == '\n' ? "" : "\n");
    return print_text(&b);
}

static const char about[] = "hocket runs teams of LLM agents.";
static const char begin[] =
    "  hocket new my-team                   create a small team in ./my-team\n"
    "  hocket run my-team                   run it: no key is needed to try\n"
    "  export OPENAI_API_KEY=…              or ANTHROPIC_API_KEY …: from now on a real model\n";

/* The groups of the list, by the first command of each. */
static const struct group {
    const char *first, *title;
} groups[] = {
    { "run", "write and run agents" },
    { "runs", "look at runs" },
    { "answer", "answer and control runs" },
    { "replay", "repeat, copy and move runs" },
    { "eval", "test" },
    { "schedule", "run unattended" },
    { "serve", "connect other programs" },
    { "store", "administer" },
};

static void add_command(struct cli_buf *b, const struct cli_command *c)
{
    for (size_t i = 0; i < sizeof(groups) / sizeof(groups[0]); i++)
        if (strcmp(groups[i].first, c->name) == 0)
            cli_buf_addf(b, " %s:\n", groups[i].title);
    cli_buf_addf(b, "  %-8s %s\n", c->name, c->summary);
}

int cli_help(const struct cli_command *const *commands)
{
    struct cli_buf b = { 0 };
    cli_buf_addf(&b, "%s\n\nusage: hocket COMMAND [OPTION…] [ARGUMENT…]\n\ncommands:\n", about);
    for (const struct cli_command *const *c = commands; *c; c++)
        add_command(&b, *c);
    cli_buf_addf(&b,
        "\n"
        "`hocket COMMAND --help` shows a command's options; `hocket --version` prints the "
        "version.\n"
        "`hocket help topics` lists the pages of the documentation, `hocket help WORD` shows one.\n"
        "\n"
        "quick start:\n%s"
        "\n"
        "exit codes:\n",
        begin);
    cli_exit_explain(&b);
    return print_text(&b);
}

/* ---- As JSON ------------------------------------------------------------- */

static void add_option_json(struct cli_buf *b, const struct cli_option *o)
{
    char letter[2] = { o->letter, 0 };
    cli_buf_adds(b, "{");
    cli_buf_member(b, "name", o->name);
    cli_buf_member(b, "letter", o->letter ? letter : NULL);
    cli_buf_member(b, "value", o->value);
    cli_buf_member(b, "help", o->help);
    cli_buf_adds(b, "}");
}

static void add_command_json(struct cli_buf *b, const struct cli_command *c)
{
    struct cli_buf more = { 0 };
    if (c->more_help)
        c->more_help(&more);
    cli_buf_adds(b, "{");
    cli_buf_member(b, "name", c->name);
    cli_buf_member(b, "usage", c->usage);
    cli_buf_member(b, "summary", c->summary);
    cli_buf_member(b, "about", c->about);
    cli_buf_member(b, "examples", c->examples);
    cli_buf_member(b, "more", more.p);
    cli_buf_free(&more);
    cli_buf_addf(b, ",\"exit_codes\":%s,\"options\":[", c->exit_codes ? "true" : "false");
    for (const struct cli_option *o = NULL; (o = cli_next_option(c, o));) {
        add_option_json(b, o);
        cli_buf_adds(b, ",");
    }
    add_option_json(b, &help);
    cli_buf_adds(b, "]}");
}

int cli_help_json(const struct cli_command *const *commands)
{
    struct cli_buf b = { 0 }, codes = { 0 };
    cli_exit_explain(&codes);
    cli_buf_adds(&b, "{");
    cli_buf_member(&b, "version", hocket_version());
    cli_buf_member(&b, "about", about);
    cli_buf_member(&b, "examples", begin);
    cli_buf_member(&b, "exit_codes", codes.p);
    cli_buf_free(&codes);
    cli_buf_key(&b, "commands");
    for (const struct cli_command *const *c = commands; *c; c++) {
        cli_buf_adds(&b, c == commands ? "[" : ",");
        add_command_json(&b, *c);
        if ((*c)->below) {
            cli_buf_adds(&b, ",");
            add_command_json(&b, (*c)->below);
        }
    }
    cli_buf_adds(&b, "]}\n");
    return print(&b);
}

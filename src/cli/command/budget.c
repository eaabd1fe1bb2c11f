/* `hocket budget`: what projects may use in a day. */
#include <string.h>

#include "cli/command/command.h"
#include "cli/command/command_impl.h"
#include "cli/store.h"

/* As it was given; NULL: not named. */
struct budget {
    const char *cost, *tokens, *calls, *tz, *store;
    bool json;
};

/* As people write amounts of money: digits, and a point. */
static bool is_money(const char *value)
{
    size_t n = strspn(value, "0123456789"), rest = n;
    if (value[n] == '.')
        rest = n + 1 + strspn(value + n + 1, "0123456789");
    return n > 0 && rest <= 18 && value[rest] == 0 && (rest == n || rest > n + 1);
}

static int read_limit(void *args, const char *command, const char *name, const char *value)
{
    struct budget *b = args;
    int64_t n;
    bool cost = strcmp(name, "cost") == 0, none = strcmp(value, "none") == 0;
    *(cost ? &b->cost : strcmp(name, "calls") == 0 ? &b->calls : &b->tokens) = value;
    if (none || (cost ? is_money(value) : cli_parse_int(value, 0, INT64_C(1) << 42, &n)))
        return 0;
    return cli_wrong_value(command, name, value, "an amount of at least 0, or none");
}

static const struct cli_option options[] = {
    { CLI_OWN(0, "cost", "USD", read_limit, "set: the daily cost limit of model calls, or none") },
    { CLI_OWN(
        0, "tokens", "N", read_limit, "set: the daily limit of input and output tokens, or none") },
    { CLI_OWN(0, "calls", "N", read_limit, "set: the daily limit of model calls, or none") },
    { CLI_TEXT(0, "tz", "ZONE", struct budget, tz,
        "set: the time zone of the day, for example Europe/Berlin (UTC)") },
    { CLI_FLAG('j', "json", struct budget, json, "print one JSON object") },
    { CLI_TEXT(0, "store", "FILE", struct budget, store, CLI_STORE_HELP) },
    { 0 },
};

/* Numbers as they were written, which is as JSON has them but for zeros in front. */
static void add_limit(
    struct cli_buf *out, const char *name, const char *value, struct cli_buf *none)
{
    if (!value)
        return;
    bool gone = strcmp(value, "none") == 0;
    while (value[0] == '0' && value[1] >= '0' && value[1] <= '9')
        value++;
    cli_buf_addf(gone ? none : out, ",\"%s\":%s", name, gone ? "true" : value);
}

static int add_args(const struct budget *b, const struct cli_args *args, struct cli_buf *out)
{
    static const char *const words[] = { "set", "show", "rm", "list" };
    const char *word = args->count > 0 ? args->words[0] : "";
    size_t i = 0;
    while (i < 4 && strcmp(words[i], word) != 0)
        i++;
    if (i == 4)
        return cli_usage("budget", "expected set, list, show or rm");
    if (args->count != (i == 3 ? 1 : 2))
        return cli_usage(
            "budget", "%s: expected %s", word, i == 3 ? "no words" : "the name of a project");
    if (i != 0 && (b->cost || b->tokens || b->calls || b->tz))
        return cli_usage("budget", "%s takes no options but --json and --store", word);
    struct cli_buf none = { 0 };
    cli_buf_adds(out, "{");
    cli_buf_member(out, "word", word);
    if (i != 3)
        cli_buf_member(out, "project", args->words[1]);
    cli_buf_member(out, "tz", b->tz);
    add_limit(out, "cost", b->cost, &none);
    add_limit(out, "tokens", b->tokens, &none);
    add_limit(out, "calls", b->calls, &none);
    if (none.n > 0)
        cli_buf_addf(out, ",\"none\":{%s}", none.p + 1);
    cli_buf_adds(out, "}");
    cli_buf_free(&none);
    return 0;
}

static int main_budget(const struct cli_command *self, int argc, char **argv)
{
    struct budget b = { 0 };
    struct cli_args args = { .ud = &b };
    struct cli_buf json = { 0 };
    int rc = cli_args_read(self, argc, argv, &args);
    if (rc != CLI_GO_ON || (rc = add_args(&b, &args, &json)) != 0)
        return rc;
    bool sets = strcmp(args.words[0], "set") == 0;
    return cli_stored_answer("budget", &json, b.store, sets, b.json);
}

const struct cli_command cli_budget = {
    .name = "budget",
    .usage = "set NAME | list | show NAME | rm NAME",
    .summary = "manage daily budgets of projects",
    .about = "A run belongs to a project by --project NAME. All its runs share the project's "
             "budget of the\n"
             "day, whoever executes them. When it is used up, a run without a person waits until "
             "the next\n"
             "day; other runs are refused (exit code 5). What set does not name stays unchanged. "
             "hocket\n"
             "help unattended has the details.",
    .examples = "  hocket budget set travel --cost 5 --tokens 2000000 --tz Europe/Berlin\n"
                "  hocket run --project travel agents 'Two days in Rome'\n"
                "  hocket budget list\n",
    .options = options,
    .main = main_budget,
};

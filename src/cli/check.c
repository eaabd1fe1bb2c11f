/* `hocket check`: problems as file:line:column on stdout, as compilers do. */
#include <stdio.h>
#include <string.h>

#include "cli/commands.h"
#include "cli/exit.h"
#include "cli/host.h"
#include "cli/out.h"
#include "cli/progress.h"
#include "cli/text.h"

enum { JSON = 1 };

static const struct cli_option options[] = {
    { JSON, 'j', "json", NULL, "print one JSON object: agents scripts problems" },
    { 0 },
};

static int set(void *ud, int id, const char *value)
{
    (void) id;
    (void) value;
    *(bool *) ud = true;
    return 0;
}

static void print_problem(const hocket_json *problem)
{
    struct cli_buf line = { 0 };
    cli_buf_addf(&line, "%s:%lld:%lld: %s", cli_member(problem, "file"),
        (long long) hocket_json_int(hocket_json_get(problem, "line"), 1),
        (long long) hocket_json_int(hocket_json_get(problem, "column"), 1),
        cli_member(problem, "message"));
    cli_out_line(line.p, line.n);
    cli_buf_free(&line);
}

static void print(const struct cli_result *result)
{
    hocket_json *json = hocket_json_parse(cli_buf_text(&result->json), result->json.n, NULL);
    const hocket_json *problems = hocket_json_get(json, "problems");
    size_t n = hocket_json_count(problems);
    for (size_t i = 0; i < n; i++)
        print_problem(hocket_json_at(problems, i));
    if (result->status >= 0)
        cli_out_line(cli_buf_text(&result->text), result->text.n);
    else if (n > 0)
        fprintf(stderr, "%zu problem%s\n", n, n == 1 ? "" : "s");
    else
        fprintf(stderr, "hocket check: %s\n", cli_buf_text(&result->message));
    hocket_json_free(json);
}

static int check(char **paths, int count, bool json)
{
    struct cli_buf args = { 0 };
    struct cli_result result;
    cli_buf_adds(&args, "{\"paths\":[");
    for (int i = 0; i < count; i++) {
        cli_buf_adds(&args, i ? "," : "");
        cli_buf_json(&args, paths[i], strlen(paths[i]));
    }
    cli_buf_adds(&args, "]}");
    int code = cli_exit_of(cli_host_call("check", args.p, &result));
    if (json)
        cli_out_line(cli_buf_text(&result.json), result.json.n);
    else
        print(&result);
    cli_buf_free(&args);
    cli_result_free(&result);
    int out = cli_out_end();
    return code ? code : out;
}

static int main_check(const struct cli_command *self, int argc, char **argv)
{
    bool json = false;
    struct cli_args args = { .ud = &json };
    int rc = cli_args_read(self, argc, argv, &args);
    if (rc != CLI_GO_ON)
        return rc;
    if (args.count == 0)
        return cli_usage("check", "what is to be checked? Agents, scripts, or directories");
    for (int i = 0; i < args.count; i++)
        if (!cli_text_is_utf8(args.words[i], strlen(args.words[i])))
            return cli_usage("check", "a path is not valid UTF-8");
    return check(args.words, args.count, json);
}

/* The keys that an agent's head may have, from the reader of heads itself. */
static void list_keys(void)
{
    struct cli_result result;
    struct cli_buf text = { 0 };
    if (cli_host_call("keys", "{}", &result) == 0) {
        cli_buf_adds(&text, "\nkeys of an agent's head, between two lines '---':\n");
        cli_buf_adds(&text, cli_buf_text(&result.text));
        cli_out_line(text.p, text.n);
    }
    cli_buf_free(&text);
    cli_result_free(&result);
}

const struct cli_command cli_check = {
    .name = "check",
    .usage = "PATH…",
    .summary = "find mistakes in agents and scripts, without a model",
    .about =
        "Reads agents (.md), scripts (.lua) and all below directories, and prints each mistake\n"
        "as file:line:column: unknown keys, wrong values, unknown agents and tools, syntax.\n"
        "Nothing is run and no model is asked. Exit code 3 when something is wrong.",
    .examples =
        "  hocket check .\n"
        "  hocket check agents/food.md team.lua\n"
        "  hocket check --json agents\n",
    .options = options,
    .set = set,
    .main = main_check,
    .more_help = list_keys,
};

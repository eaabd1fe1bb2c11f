/* `hocket check`: problems as file:line:column on stdout, as compilers do.
 *
 * The operation itself is Lua (internal/commands/check.lua) and answers with problems as JSON: here
 * they are printed, to stderr beside a picture, and counted for the exit code. */
#include <stdio.h>
#include <string.h>

#include "cli/command/command.h"
#include "cli/exit.h"
#include "cli/host/host.h"
#include "cli/out.h"
#include "cli/progress.h"
#include "cli/run_args/run_args.h"
#include "cli/text.h"

struct wish {
    bool json, graph, verbose, explain;
    const char *schema, *format;
};

static const struct cli_option options[] = {
    { CLI_FLAG(
        'j', "json", struct wish, json, "print one JSON object: agents scripts teams problems") },
    { CLI_FLAG('g', "graph", struct wish, graph,
        "print which agent calls which, as a Mermaid flowchart") },
    { CLI_FLAG('v', "verbose", struct wish, verbose,
        "print for every agent which agents it can reach, and its bounds") },
    { CLI_FLAG('e', "explain", struct wish, explain,
        "say of each key of a file how it was read, also of agents of other programs") },
    { CLI_TEXT(0, "format", CLI_FORMATS, struct wish, format,
        "the format of these agents, where place and keys do not tell it") },
    { CLI_TEXT(0, "schema", "agent|providers|eval|policy", struct wish, schema,
        "print the JSON Schema of such a file, for editors, and check nothing") },
    { 0 },
};

static bool is_error(const hocket_json *problem)
{
    return strcmp(cli_member(problem, "severity"), "warning") != 0;
}

/* Beside a picture problems go to stderr, so that the picture can be passed on. */
static void print_problem(const hocket_json *problem, bool beside)
{
    struct cli_buf line = { 0 };
    cli_buf_addf(&line, "%s:%lld:%lld: %s%s", cli_member(problem, "file"),
        (long long) hocket_json_int(hocket_json_get(problem, "line"), 1),
        (long long) hocket_json_int(hocket_json_get(problem, "column"), 1),
        is_error(problem) ? "" : "warning: ", cli_member(problem, "message"));
    if (beside) {
        struct cli_buf shown = { 0 };
        cli_text_show(&shown, cli_buf_text(&line), line.n, true);
        fprintf(stderr, "%s\n", cli_buf_text(&shown));
        cli_buf_free(&shown);
    } else
        cli_out_shown(line.p, line.n);
    cli_buf_free(&line);
}

static void print(const struct cli_result *result, bool graph, bool explain)
{
    hocket_json *json = hocket_json_parse(cli_buf_text(&result->json), result->json.n, NULL);
    const hocket_json *problems = hocket_json_get(json, "problems");
    size_t n = hocket_json_count(problems);
    for (size_t i = 0; i < n; i++)
        print_problem(hocket_json_at(problems, i), graph);
    if (result->status >= 0 || (explain && result->text.n > 0))
        cli_out_shown(cli_buf_text(&result->text), result->text.n);
    else if (n > 0)
        fprintf(stderr, "%zu problem%s\n", n, n == 1 ? "" : "s");
    else
        cli_result_complain(result, "check");
    hocket_json_free(json);
}

static int check(char **paths, int count, const struct wish *wish)
{
    struct cli_buf args = { 0 };
    struct cli_result result;
    cli_buf_adds(&args, "{");
    cli_buf_member(&args, "schema", wish->schema);
    cli_buf_member(&args, "format", wish->format);
    cli_buf_key(&args, "paths");
    cli_buf_adds(&args, "[");
    for (int i = 0; i < count; i++) {
        cli_buf_adds(&args, i ? "," : "");
        cli_buf_json(&args, paths[i], strlen(paths[i]));
    }
    cli_buf_addf(&args, "],\"graph\":%s,\"verbose\":%s,\"explain\":%s,\"json\":%s}",
        wish->graph ? "true" : "false", wish->verbose ? "true" : "false",
        wish->explain ? "true" : "false", wish->json ? "true" : "false");
    int code = cli_exit_of(cli_host_call("check", args.p, &result));
    if (wish->json)
        cli_out_json(cli_buf_text(&result.json), result.json.n);
    else
        print(&result, wish->graph, wish->explain);
    cli_buf_free(&args);
    cli_result_free(&result);
    int out = cli_out_end();
    return code ? code : out;
}

static int main_check(const struct cli_command *self, int argc, char **argv)
{
    struct wish wish = { 0 };
    struct cli_args args = { .ud = &wish };
    int rc = cli_args_read(self, argc, argv, &args);
    if (rc != CLI_GO_ON)
        return rc;
    if (args.count == 0 && !wish.schema)
        return cli_usage("check", "what is to be checked? Agents, scripts, or directories");
    return check(args.words, args.count, &wish);
}

/* The keys that an agent's head may have, from the reader of heads itself. */
static void list_keys(struct cli_buf *out)
{
    struct cli_result result;
    if (cli_host_call("keys", "{}", &result) == 0)
        cli_buf_addf(out, "\nkeys of an agent's head, between two lines '---':\n%s",
            cli_buf_text(&result.text));
    cli_result_free(&result);
}

const struct cli_command cli_check = {
    .name = "check",
    .usage = "PATH…",
    .summary = "find mistakes in agents and scripts, without a model",
    .about =
        "Reads agents (.md), scripts (.lua) and everything below folders, and prints each mistake\n"
        "as file:line:column: unknown keys, wrong values, unknown agents and tools, circles,\n"
        "syntax. A team is a folder with agents, or one called 'agents', with everything below "
        "it.\n"
        "Nothing is run and no model is asked. The exit code is 3 if there are mistakes.",
    .examples = "  hocket check .\n"
                "  hocket check agents/food.md team.lua\n"
                "  hocket check --graph agents >team.mmd\n"
                "  hocket check --explain .claude/agents/reviewer.md\n"
                "  hocket check --json agents\n"
                "  hocket check --schema agent >agent.schema.json\n",
    .options = options,
    .main = main_check,
    .more_help = list_keys,
};

/* `hocket mcp serve`: agents and teams as tools of an MCP server, over standard input and output, until the input ends. The
 * operation "mcp_serve" does the work; here nothing is printed on stdout. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/command/command.h"
#include "cli/exit.h"
#include "cli/host/host.h"
#include "cli/run_args/run_args.h"
#include "cli/signals.h"
#include "cli/store.h"
#include "cli/text.h"

static void say_parked(const struct cli_run_args *run, const hocket_json *event)
{
    struct cli_buf line = { 0 };
    const char *id = cli_member(event, "parked");
    cli_buf_addf(&line, "a client is gone: the run %s is parked: hocket resume %s", id, id);
    cli_store_hint(&line, run->store);
    fprintf(stderr, "%s\n", cli_buf_text(&line));
    cli_buf_free(&line);
}

/* Over HTTP somebody has to know where, and by which token. */
static void say_serving(const hocket_json *event)
{
    const char *token = hocket_json_text(hocket_json_get(event, "token"), NULL, NULL);
    fprintf(stderr, "serving %s\n", cli_member(event, "url"));
    if (token)
        fprintf(stderr, "token: %s (Authorization: Bearer …)\n", token);
}

static void on_event(hocket_host *host, uint64_t run, const struct hocket_event *e, void *ud)
{
    (void) host;
    (void) run;
    hocket_json *event = hocket_json_parse(e->json, e->json_len, NULL);
    if (strcmp(e->type, "serving") == 0)
        say_serving(event);
    else if (strcmp(e->type, "mcp_parked") == 0)
        say_parked(ud, event);
    hocket_json_free(event);
}

static void add_args(
    const struct cli_run_args *run, const struct cli_args *args, struct cli_buf *out)
{
    cli_buf_adds(out, "{\"targets\":[");
    cli_add_words(out, args);
    cli_buf_addf(out, "],\"all\":%s,", (run->flags & CLI_ALL_AGENTS) ? "true" : "false");
    if (run->port >= 0)
        cli_buf_addf(out, "\"port\":%lld,\"no_token\":%s,", (long long) run->port,
            (run->flags & CLI_NO_TOKEN) ? "true" : "false");
    cli_buf_adds(out, "\"options\":");
    cli_run_args_json(run, out);
    cli_buf_adds(out, "}");
}

static int check_words(const struct cli_args *args)
{
    if (args->count == 0)
        return cli_usage("mcp serve", "what is to be served? An agent.md, a directory with agents, "
                                      "or a script.lua");
    return 0;
}

static int start(struct cli_run_args *run, const struct cli_args *args, struct cli_served *served)
{
    served->offer = run->offer;
    served->ud = run;
    add_args(run, args, &served->args);
    int rc = cli_host_serve_stdin(served);
    cli_buf_free(&served->args);
    return rc;
}

static int main_serve(const struct cli_command *self, int argc, char **argv)
{
    static struct cli_run_args run;
    struct cli_args args = { .ud = &run };
    struct cli_served served = {
        .command = "mcp serve", .operation = "mcp_serve", .on_event = on_event
    };
    run.command = "mcp serve";
    run.input_from_stdin = true; /* what comes from there is nobody's typing */
    int rc = cli_args_read(self, argc, argv, &args);
    cli_store_for_runs(&served.store, run.store, run.durability); /* before the folder changes */
    if (rc == CLI_GO_ON && (rc = check_words(&args)) == 0
        && (rc = cli_run_args_enter(&run, &args)) == 0)
        rc = start(&run, &args, &served);
    cli_run_args_free(&run);
    return rc;
}

const struct cli_command cli_mcp_serve = {
    .name = "mcp serve",
    .usage = "TARGET…",
    .summary = "offer agents and teams to MCP clients, as tools",
    .about =
        "Speaks MCP over standard input and output, until the input ends or a signal arrives, for\n"
        "programs that start it as a server. With --port it is an HTTP server on this machine. A\n"
        "TARGET is a script.lua, an agent.md, or a folder with agents. Each agent that no other\n"
        "agent names becomes a tool. Later calls use changed files. Input from clients is a\n"
        "stranger's text: clients get no more trust, permissions or budget than the options here,\n"
        "the agents' files and the client's person give.\n",
    .examples =
        "  hocket mcp serve agents\n"
        "  hocket mcp serve --max-cost 0.50 --model openai/gpt-6.1-terra travel report.lua\n",
    .shared = cli_run_options,
    .bit = CLI_FOR_MCP,
    .main = main_serve,
};

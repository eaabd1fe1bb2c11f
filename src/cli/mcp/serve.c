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

struct serve {
    struct cli_run_args run;
    struct hocket_options store; /* calls are kept as other runs are */
    struct cli_result result;
};

static void say_parked(const struct serve *s, const hocket_json *event)
{
    struct cli_buf line = { 0 };
    const char *id = hocket_json_text(hocket_json_get(event, "parked"), "", NULL);
    cli_buf_addf(&line, "a client is gone: the run %s is parked: hocket resume %s", id, id);
    cli_store_hint(&line, s->run.store);
    fprintf(stderr, "%s\n", cli_buf_text(&line));
    cli_buf_free(&line);
}

/* Over HTTP somebody has to know where, and by which token. */
static void say_serving(const hocket_json *event)
{
    const char *token = hocket_json_text(hocket_json_get(event, "token"), NULL, NULL);
    fprintf(stderr, "serving %s\n", hocket_json_text(hocket_json_get(event, "url"), "", NULL));
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

static void add_args(const struct serve *s, const struct cli_args *args, struct cli_buf *out)
{
    cli_buf_adds(out, "{\"targets\":[");
    cli_add_words(out, args);
    cli_buf_addf(out, "],\"all\":%s,", (s->run.flags & CLI_ALL_AGENTS) ? "true" : "false");
    if (s->run.port >= 0)
        cli_buf_addf(out, "\"port\":%lld,\"no_token\":%s,", (long long) s->run.port,
            (s->run.flags & CLI_NO_TOKEN) ? "true" : "false");
    cli_buf_adds(out, "\"options\":");
    cli_run_args_json(&s->run, out);
    cli_buf_adds(out, "}");
}

/* Being stopped by a signal is a way to end well. */
static int serve(struct serve *s, hocket_host *host, const char *args)
{
    cli_host_serve(host, "mcp_serve", args, on_event, s, &s->result);
    if (s->result.status == 0 || (cli_signal_taken() && s->result.status == HOCKET_ECANCELLED))
        return CLI_EXIT_DONE;
    cli_result_complain(&s->result, "mcp serve");
    return cli_exit_of(s->result.status);
}

static int check_words(const struct cli_args *args)
{
    if (args->count == 0)
        return cli_usage("mcp serve", "what is to be served? An agent.md, a directory with agents, "
                                      "or a script.lua");
    return 0;
}

static int start(struct serve *s, const struct cli_args *args)
{
    struct cli_buf json = { 0 };
    int rc = CLI_EXIT_DONE;
    hocket_host *host = cli_host_open_store(NULL, &s->store, &rc);
    if (!host)
        return rc;
    cli_signals_start(host);
    cli_host_telemetry(host, NULL);
    add_args(s, args, &json);
    rc = cli_host_offer(host, "mcp serve", s->run.offer);
    if (rc == CLI_EXIT_DONE)
        rc = serve(s, host, json.p);
    cli_signals_end();
    cli_host_close(host);
    cli_buf_free(&json);
    return rc;
}

static int main_serve(const struct cli_command *self, int argc, char **argv)
{
    static struct serve s;
    struct cli_args args = { .ud = &s };
    s.run.command = "mcp serve";
    s.run.input_from_stdin = true; /* what comes from there is nobody's typing */
    int rc = cli_args_read(self, argc, argv, &args);
    cli_store_for_runs(&s.store, s.run.store, s.run.durability); /* from here, wherever runs work */
    if (rc == CLI_GO_ON && (rc = check_words(&args)) == 0
        && (rc = cli_run_args_enter(&s.run, &args)) == 0)
        rc = start(&s, &args);
    cli_run_args_free(&s.run);
    cli_result_free(&s.result);
    return rc;
}

const struct cli_command cli_mcp_serve = {
    .name = "mcp serve",
    .usage = "TARGET…",
    .summary = "offer agents and teams to MCP clients, as tools",
    .about =
        "Speaks MCP over standard input and output, until the input ends or a signal comes: for\n"
        "programs that start it as a server. With --port it is an HTTP server on this machine. A "
        "TARGET is a script.lua, an agent.md, or a "
        "directory\n"
        "with agents; each agent that no other names becomes a tool. Files that change are taken\n"
        "for the calls that come after. What a client sends is a stranger's text: nothing is\n"
        "trusted, allowed or paid for that the options here, the agents' files or the client's\n"
        "person do not say.\n",
    .examples =
        "  hocket mcp serve agents\n"
        "  hocket mcp serve --max-cost 0.50 --model openai/gpt-6.1-terra travel report.lua\n",
    .shared = cli_run_options,
    .bit = CLI_FOR_MCP,
    .shared_at = offsetof(struct serve, run),
    .main = main_serve,
};

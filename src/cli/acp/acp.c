/* `hocket acp`: an agent or a team for an editor, by the Agent Client Protocol over standard input and output, until the input
 * ends. The operation "acp" does the work; here nothing is printed on stdout. */
#include <errno.h>
#include <limits.h>
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

struct acp {
    struct cli_run_args run;
    struct cli_result result;
};

static void on_done(hocket_host *host, uint64_t run, const struct hocket_result *result, void *ud)
{
    (void) host;
    (void) run;
    cli_result_set(&((struct acp *) ud)->result, result);
}

/* A target is looked up from here, wherever the sessions will work: a path that is there becomes absolute. */
static void add_args(const struct acp *s, const char *target, struct cli_buf *out)
{
    cli_buf_adds(out, "{");
    if (target) {
        char *path = realpath(target, NULL);
        cli_buf_adds(out, "\"target\":");
        cli_buf_json(out, path ? path : target, strlen(path ? path : target));
        cli_buf_adds(out, ",");
        free(path);
    }
    cli_buf_adds(out, "\"options\":");
    cli_run_args_json(&s->run, out);
    cli_buf_adds(out, "}");
}

/* Being stopped by a signal is a way to end well. */
static int serve(struct acp *s, hocket_host *host, const char *args)
{
    struct hocket_error err;
    uint64_t id = 0;
    if (hocket_call_start(host, "acp", args, &id, NULL, on_done, s, &err) < 0)
        cli_result_fail(&s->result, &err);
    for (bool stopped = false; !s->result.done;) {
        if (cli_signal_taken() && !stopped) {
            stopped = true;
            hocket_run_cancel(host, id);
        }
        hocket_wait(host, -1);
    }
    if (s->result.status == 0 || (cli_signal_taken() && s->result.status == HOCKET_ECANCELLED))
        return CLI_EXIT_DONE;
    cli_result_complain(&s->result, "acp");
    return cli_exit_of(s->result.status);
}

static int start(struct acp *s, const char *target)
{
    struct cli_buf json = { 0 };
    int rc = CLI_EXIT_DONE;
    struct hocket_options store = { 0 };
    cli_store_for_runs(&store, s->run.store, s->run.durability);
    hocket_host *host = cli_host_open_store(NULL, &store, &rc);
    if (!host)
        return rc;
    cli_signals_start(host);
    cli_host_telemetry(host, NULL);
    add_args(s, target, &json);
    rc = cli_host_offer(host, "acp", s->run.offer);
    if (rc == CLI_EXIT_DONE)
        rc = serve(s, host, json.p);
    cli_signals_end();
    cli_host_close(host);
    cli_buf_free(&json);
    return rc;
}

static int check_words(const struct cli_args *args)
{
    if (args->count > 1)
        return cli_usage("acp", "one TARGET at most: an agent.md, a directory, or a script.lua");
    return 0;
}

static int main_acp(const struct cli_command *self, int argc, char **argv)
{
    static struct acp s;
    struct cli_args args = { .ud = &s };
    s.run.command = "acp";
    s.run.input_from_stdin = true; /* what comes from there is the protocol's */
    int rc = cli_args_read(self, argc, argv, &args);
    if (rc == CLI_GO_ON && (rc = check_words(&args)) == 0)
        rc = start(&s, args.count == 1 ? args.words[0] : NULL);
    cli_run_args_free(&s.run);
    cli_result_free(&s.result);
    return rc;
}

const struct cli_command cli_acp = {
    .name = "acp",
    .usage = "[TARGET]",
    .summary = "be the agent of an editor (Agent Client Protocol)",
    .about = "Speaks the Agent Client Protocol over standard input and output, until the input "
             "ends or a\n"
             "signal comes: for editors that start it as their agent (Zed, Neovim, Emacs, "
             "JetBrains). A\n"
             "TARGET is an agent.md, a directory with agents, or a script.lua; without one it is "
             "the folder\n"
             "agents of the project that the editor has open. Each session is a conversation, "
             "whose tools\n"
             "work in that project's folder.\n",
    .examples = "  hocket acp --trust ~/agents/coder.md\n"
                "  hocket acp --max-cost 2 --model anthropic/claude-sonnet-5 team\n",
    .shared = cli_run_options,
    .bit = CLI_FOR_ACP,
    .shared_at = offsetof(struct acp, run),
    .main = main_acp,
};

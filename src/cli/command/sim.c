/* `hocket sim`: serves a scripted model until it is stopped.
 *
 * The only command that serves. It ends by a signal, and says its address first, on a line of its
 * own that scripts can read. */
#include <stdio.h>
#include <string.h>

#include "cli/command/command.h"
#include "cli/exit.h"
#include "cli/host/host.h"
#include "cli/out.h"
#include "cli/signals.h"
#include "cli/text.h"

struct sim {
    int64_t port, seed;
    double latency, fault_rate, retry_after;
    const char *fault, *strict;
    struct cli_result result;
};

static const struct cli_option options[] = {
    { CLI_COUNT('p', "port", "N", struct sim, port, 0, 65535, 0,
        "the port on 127.0.0.1; default: any free one") },
    { CLI_NUMBER('l', "latency", "SECONDS", struct sim, latency, 0, CLI_MOST_SECONDS, 0,
        "seconds, as in 0.5", "the delay before the first byte of each answer") },
    { CLI_TEXT('f', "fault", "NAME[,NAME…]", struct sim, fault,
        "what goes wrong: one of these faults with each answer (see below)") },
    { CLI_NUMBER('r', "fault-rate", "P", struct sim, fault_rate, 0, 1, 1, "a number from 0 to 1",
        "the part of the answers with a fault, from 0 to 1; default 1") },
    { CLI_COUNT('s', "seed", "N", struct sim, seed, 0, INT64_MAX, -1,
        "make faults, ids and bytes reproducible") },
    { CLI_NUMBER(0, "retry-after", "SECONDS", struct sim, retry_after, 0, CLI_MOST_SECONDS, 1,
        "seconds, as in 2", "the Retry-After of a 429 or 503; default 1") },
    { CLI_TEXT(0, "strict", "API", struct sim, strict,
        "refuse what an API refuses: openai, anthropic, gemini, mistral, llamacpp or vllm") },
    { 0 },
};

static void on_event(hocket_host *host, uint64_t run, const struct hocket_event *e, void *ud)
{
    struct cli_buf line = { 0 };
    hocket_json *event = hocket_json_parse(e->json, e->json_len, NULL);
    const char *base = cli_member(event, "base");
    const char *root = cli_member(event, "root");
    (void) host;
    (void) run;
    (void) ud;
    if (strcmp(e->type, "serving") == 0) {
        cli_buf_addf(&line, "serving %s (OpenAI, Anthropic, Gemini, Ollama)", base);
        cli_out_line(line.p, line.n);
        fprintf(stderr,
            "\n"
            "try it:   curl %s/chat/completions -H 'content-type: application/json' \\\n"
            "            -d '{\"messages\":[{\"role\":\"user\",\"content\":\"Hello\"}]}'\n"
            "use it:   OPENAI_BASE_URL=%s hocket run TARGET --model openai/default \"…\"\n"
            "          ANTHROPIC_BASE_URL=%s ANTHROPIC_API_KEY=any … --model anthropic/default\n"
            "stop it:  Ctrl-C\n",
            base, base, root);
    }
    hocket_json_free(event);
    cli_buf_free(&line);
}

static void add_args(const struct sim *s, const char *script, struct cli_buf *out)
{
    cli_buf_addf(out, "{\"port\":%lld,\"latency\":%.9g,\"fault_rate\":%.9g,\"retry_after\":%.9g",
        (long long) s->port, s->latency, s->fault_rate, s->retry_after);
    if (s->seed >= 0)
        cli_buf_addf(out, ",\"seed\":%lld", (long long) s->seed);
    cli_buf_member(out, "script", script);
    cli_buf_member(out, "fault", s->fault);
    cli_buf_member(out, "strict", s->strict);
    cli_buf_adds(out, "}");
}

/* Being stopped by a signal is how this ends well. */
static int serve(struct sim *s, hocket_host *host, const char *args)
{
    cli_host_serve(host, "sim", args, on_event, s, &s->result);
    if (cli_signal_taken() && s->result.status == HOCKET_ECANCELLED)
        return cli_out_end();
    cli_result_complain(&s->result, "sim");
    int code = cli_exit_of(s->result.status);
    return code ? code : CLI_EXIT_FAILED;
}

static int main_sim(const struct cli_command *self, int argc, char **argv)
{
    struct sim s = { 0 };
    struct cli_args args = { .ud = &s };
    struct cli_buf json = { 0 };
    int rc = cli_args_read(self, argc, argv, &args);
    if (rc != CLI_GO_ON)
        return rc;
    const char *script = args.count > 0 ? args.words[0] : NULL;
    if (args.count > 1)
        return cli_usage("sim", "expected one script at most");
    hocket_host *host = cli_host_open(NULL, &rc);
    if (!host)
        return rc;
    cli_signals_start(host);
    add_args(&s, script, &json);
    rc = serve(&s, host, json.p);
    cli_signals_end();
    cli_host_close(host);
    cli_buf_free(&json);
    cli_result_free(&s.result);
    return rc;
}

/* The faults, from the scripted model itself. */
static void list_faults(struct cli_buf *out)
{
    struct cli_result result;
    if (cli_host_call("faults", "{}", &result) == 0)
        cli_buf_addf(out,
            "\nfaults (by kind: status, model, stream, connection; all; or status:N):\n%s",
            cli_buf_text(&result.text));
    cli_result_free(&result);
}

const struct cli_command cli_sim = {
    .name = "sim",
    .usage = "[SCRIPT.lua]",
    .summary = "serve a scripted model over HTTP on this machine",
    .about =
        "Serves a scripted model on 127.0.0.1, for any client, until it is stopped by Ctrl-C or\n"
        "SIGTERM (exit code 0), in the wire formats of OpenAI's chat completions and Responses,\n"
        "Anthropic, Gemini and Ollama. SCRIPT returns a Lua function from request to reply\n"
        "(of a directory, its sim.lua does);\n"
        "without one a general script plays a team.",
    .examples =
        "  hocket sim --port 8123\n"
        "  hocket sim examples/travel/sim.lua --latency 0.3\n"
        "  hocket sim --fault cut              what does a client do when the stream breaks?\n"
        "  hocket sim --fault all --fault-rate 0.1 --seed 7\n",
    .options = options,
    .main = main_sim,
    .more_help = list_faults,
};

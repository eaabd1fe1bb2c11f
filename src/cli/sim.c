/* `hocket sim`: serves a scripted model until it is stopped. */
#include <stdio.h>
#include <string.h>

#include "cli/commands.h"
#include "cli/exit.h"
#include "cli/host.h"
#include "cli/out.h"
#include "cli/signals.h"
#include "cli/text.h"

enum { PORT = 1, LATENCY, FAULT };

static const struct cli_option options[] = {
    { PORT, 'p', "port", "N", "where to listen on 127.0.0.1; a free port when it is left out" },
    { LATENCY, 'l', "latency", "SECONDS", "before the first byte of each answer" },
    { FAULT, 'f', "fault", "F",
        "cut: end the stream in the middle; reset, eof: end the connection;\n"
        "malformed: break an event; silent: never answer" },
    { 0 },
};

struct sim {
    int64_t port;
    double latency;
    const char *fault;
    struct cli_result result;
};

static int set_fault(struct sim *s, const char *value)
{
    static const char *const known[] = { "cut", "reset", "eof", "malformed", "silent" };
    for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++)
        if (strcmp(known[i], value) == 0)
            return s->fault = value, 0;
    return cli_usage("sim", "'--fault %s': expected cut, reset, eof, malformed or silent", value);
}

static int set(void *ud, int id, const char *value)
{
    struct sim *s = ud;
    if (id == PORT)
        return cli_parse_int(value, 0, 65535, &s->port)
            ? 0 : cli_usage("sim", "'--port %s': expected a number up to 65535", value);
    if (id == LATENCY)
        return cli_parse_seconds(value, &s->latency)
            ? 0 : cli_usage("sim", "'--latency %s': expected seconds, as in 0.5", value);
    return set_fault(s, value);
}

static void on_event(hocket_host *host, uint64_t run, const struct hocket_event *e, void *ud)
{
    struct cli_buf line = { 0 };
    hocket_json *event = hocket_json_parse(e->json, e->json_len, NULL);
    const char *base = hocket_json_text(hocket_json_get(event, "base"), "", NULL);
    (void) host;
    (void) run;
    (void) ud;
    if (strcmp(e->type, "serving") == 0) {
        cli_buf_addf(&line, "serving %s (OpenAI chat completions)", base);
        cli_out_line(line.p, line.n);
        fprintf(stderr,
            "\n"
            "try it:   curl %s/chat/completions -H 'content-type: application/json' \\\n"
            "            -d '{\"messages\":[{\"role\":\"user\",\"content\":\"Hello\"}]}'\n"
            "use it:   OPENAI_BASE_URL=%s hocket run TARGET --model openai/default \"…\"\n"
            "stop it:  Ctrl-C\n",
            base, base);
    }
    hocket_json_free(event);
    cli_buf_free(&line);
}

static void on_done(hocket_host *host, uint64_t run, const struct hocket_result *result, void *ud)
{
    struct sim *s = ud;
    (void) host;
    (void) run;
    cli_result_set(&s->result, result);
}

static void add_args(const struct sim *s, const char *script, struct cli_buf *out)
{
    cli_buf_addf(out, "{\"port\":%lld,\"latency\":%.9g", (long long) s->port, s->latency);
    if (script) {
        cli_buf_key(out, "script");
        cli_buf_json(out, script, strlen(script));
    }
    if (s->fault) {
        cli_buf_key(out, "fault");
        cli_buf_json(out, s->fault, strlen(s->fault));
    }
    cli_buf_adds(out, "}");
}

/* Being stopped by a signal is how this ends well. */
static int serve(struct sim *s, hocket_host *host, const char *args)
{
    struct hocket_error err;
    uint64_t id = 0;
    if (hocket_call_start(host, "sim", args, &id, on_event, on_done, s, &err) < 0)
        cli_result_fail(&s->result, &err);
    for (bool stopped = false; !s->result.done;) {
        if (cli_signal_taken() && !stopped) {
            stopped = true;
            hocket_run_cancel(host, id);
        }
        hocket_wait(host, -1);
    }
    if (cli_signal_taken() && s->result.status == HOCKET_ECANCELLED)
        return cli_out_end();
    fprintf(stderr, "hocket sim: %s\n", cli_buf_text(&s->result.message));
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
    if (args.count > 1 || (script && !cli_text_is_utf8(script, strlen(script))))
        return cli_usage("sim", "expected one script at most");
    hocket_host *host = cli_host_open(NULL);
    if (!host)
        return CLI_EXIT_AGENT;
    cli_signals_start(host);
    add_args(&s, script, &json);
    rc = serve(&s, host, json.p);
    cli_signals_end();
    hocket_close(host, NULL, NULL);
    cli_buf_free(&json);
    cli_result_free(&s.result);
    return rc;
}

const struct cli_command cli_sim = {
    .name = "sim",
    .usage = "[SCRIPT.lua]",
    .summary = "serve a scripted model over HTTP on this machine",
    .about =
        "Serves a scripted model on 127.0.0.1 in the wire format of OpenAI's chat completions,\n"
        "for any client, until it is stopped by Ctrl-C or SIGTERM (exit code 0). SCRIPT returns\n"
        "a Lua function from request to reply; without one a general script plays a team.",
    .examples =
        "  hocket sim --port 8123\n"
        "  hocket sim examples/travel/sim.lua --latency 0.3\n"
        "  hocket sim --fault cut              what does a client do when the stream breaks?\n",
    .options = options,
    .set = set,
    .main = main_sim,
};

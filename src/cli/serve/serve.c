/* `hocket serve`: the agents of a project, and the runs of the store, for programs that speak HTTP. The operation "serve" does
 * the work; this file has the options, the signals, and the messages to systemd.
 *
 *   serving ──> where it listens, on stderr; READY=1         SIGTERM ──> the answer "shutdown": what is at work may end,
 *   request ──> a line of the access log                                 the rest is parked; a second one: at once */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/command/command.h"
#include "cli/exit.h"
#include "cli/host/host.h"
#include "cli/log/log.h"
#include "cli/page/page.h"
#include "cli/run_args/run_args.h"
#include "cli/service/service.h"
#include "cli/signals.h"
#include "cli/store.h"
#include "cli/text.h"

#define PORT 7333

struct serve {
    struct cli_run_args run;
    struct cli_service service;
    struct cli_buf address, tls_cert, tls_key;
    int64_t port, max_runs, max_queue;
    const char *token_file, *access_log, *answer_url;
    bool no_token, behind_proxy, all, all_runs;
    struct cli_buf names, origins, webhooks; /* JSON, without the brackets */
    FILE *log;
};

/* ---- Options -------------------------------------------------------------------- */

/* "7333", "127.0.0.1:7333", "[::1]:0". */
static int read_listen(void *args, const char *command, const char *name, const char *value)
{
    struct serve *s = args;
    const char *colon = strrchr(value, ':'), *port = colon ? colon + 1 : value;
    size_t n = colon ? (size_t) (colon - value) : 0;
    bool in_brackets = n > 2 && value[0] == '[' && value[n - 1] == ']';
    if (!cli_parse_int(port, 0, 65535, &s->port)
        || (colon && (n == 0 || (memchr(value, ':', n) && !in_brackets))))
        return cli_wrong_value(
            command, name, value, "ADDRESS:PORT, as in 127.0.0.1:7333 or [::1]:7333");
    cli_buf_reset(&s->address);
    if (colon)
        cli_buf_add(&s->address, value + in_brackets, n - 2 * (size_t) in_brackets);
    return 0;
}

static int read_name(void *args, const char *command, const char *name, const char *value)
{
    if (!*value || strpbrk(value, "/: "))
        return cli_wrong_value(command, name, value, "a host's name without a port");
    cli_add_word(&((struct serve *) args)->names, value);
    return 0;
}

static int read_origin(void *args, const char *command, const char *name, const char *value)
{
    const char *slashes = strstr(value, "://");
    if (!slashes || !slashes[3] || strchr(slashes + 3, '/'))
        return cli_wrong_value(command, name, value, "an origin, as in https://chat.example.org");
    cli_add_word(&((struct serve *) args)->origins, value);
    return 0;
}

/* Of what pages come from: without a path, and with http or https. */
static int read_answer_url(void *args, const char *command, const char *name, const char *value)
{
    return cli_read_address(&((struct serve *) args)->answer_url, command, name, value);
}

static int read_webhook(void *args, const char *command, const char *name, const char *value)
{
    if (strncmp(value, "https://", 8) != 0 && strncmp(value, "http://", 7) != 0)
        return cli_wrong_value(command, name, value, "an http or https address");
    cli_add_word(&((struct serve *) args)->webhooks, value);
    return 0;
}

/* As it is seen from here: the directory changes. */
static int read_file(void *args, const char *command, const char *name, const char *value)
{
    struct serve *s = args;
    if (!*value)
        return cli_wrong_value(command, name, value, "a file's name");
    cli_reach_path(strcmp(name, "tls-key") == 0 ? &s->tls_key : &s->tls_cert, value);
    return 0;
}

static const struct cli_option own[] = {
    { CLI_OWN('l', "listen", "ADDRESS:PORT", read_listen,
        "the address, default 127.0.0.1:7333; port 0: any free one. An address beyond this\n"
        "machine needs --tls-cert or --behind-proxy") },
    { CLI_WORD(0, "token-file", "FILE", struct serve, token_file,
        "the token for clients (Authorization: Bearer …); default: HOCKET_SERVE_TOKEN, then\n"
        "serve-token in the state directory; created if it is missing") },
    { CLI_FLAG(0, "no-token", struct serve, no_token, "accept every program of this machine") },
    { CLI_FLAG(0, "all-runs", struct serve, all_runs,
        "let clients' tokens with the scope run continue all runs, not only their own") },
    { CLI_OWN(0, "tls-cert", "FILE", read_file,
        "serve with TLS (https): the certificate and its chain, in PEM; reloaded when it\n"
        "changes. Clients may use its names") },
    { CLI_OWN(0, "tls-key", "FILE", read_file,
        "the certificate's private key, which nobody else may read") },
    { CLI_FLAG(0, "behind-proxy", struct serve, behind_proxy,
        "a proxy, which alone can reach ADDRESS, ends TLS") },
    { CLI_OWN(0, "name", "HOST", read_name,
        "another host name for clients, beside localhost: the proxy's; repeatable") },
    { CLI_OWN(0, "origin", "URL", read_origin,
        "accept web pages of another origin, for example https://chat.example.org; repeatable") },
    { CLI_COUNT(0, "max-runs", "N", struct serve, max_runs, 1, 1000000, 64,
        "the most runs at work (64); runs that wait for a person do not count") },
    { CLI_COUNT(0, "max-queue", "N", struct serve, max_queue, 0, 1000000, 256,
        "the most runs in the queue (256); more are refused (429)") },
    { CLI_NUMBER(0, "grace", "SECONDS", struct serve, service.grace, 0, CLI_MOST_SECONDS, 30,
        "seconds, as in 30",
        "how long active runs may continue after SIGTERM (30); then they are parked") },
    { CLI_TEXT(0, "access-log", "FILE", struct serve, access_log,
        "write each request as a line of JSON, without bodies, queries and tokens; '-' is\n"
        "stderr") },
    { CLI_OWN(0, "webhook", "URL", read_webhook,
        "post ends and questions of runs there, signed with HOCKET_WEBHOOK_SECRET, or with\n"
        "webhook-secret in the state directory; repeatable") },
    { CLI_OWN(0, "answer-url", "URL", read_answer_url,
        "add a link below this address of the server to a webhook's questions; it answers\n"
        "that one question, once, within a day") },
    { CLI_FLAG(
        0, "all", struct serve, all, "also offer the agents of a folder that other agents name") },
    { 0 },
};

/* Others can reach it: they have to bring the token, over what nobody can read. */
static int check_reach(const struct serve *s)
{
    bool is_private = s->tls_cert.n > 0 || s->behind_proxy;
    if (!is_private)
        return cli_usage("serve",
            "others can reach %s, and what goes there is not encrypted: give it a certificate "
            "(--tls-cert, --tls-key), or put a proxy with TLS in front, and say --behind-proxy "
            "(docs/guides/serve.md has one for nginx and one for Caddy)",
            s->address.n > 0 ? s->address.p : "the socket that was handed over");
    if (s->no_token)
        return cli_usage("serve", "--no-token is for programs of this machine alone");
    return 0;
}

/* What may not be asked for together. */
static int check(const struct serve *s, const struct cli_args *args, int fd)
{
    if ((s->tls_cert.n > 0) != (s->tls_key.n > 0))
        return cli_usage("serve", "--tls-cert and --tls-key go together");
    if (s->no_token && (s->behind_proxy || s->names.n > 0 || s->origins.n > 0))
        return cli_usage("serve", "--no-token is for programs of this machine alone");
    if (s->no_token && s->token_file)
        return cli_usage("serve", "--no-token and --token-file exclude each other");
    if (s->answer_url && s->webhooks.n == 0)
        return cli_usage("serve", "--answer-url is for the questions of a --webhook");
    return cli_reach_is_local(cli_buf_text(&s->address), fd) ? 0 : check_reach(s);
}

/* ---- What it tells ---------------------------------------------------------------- */

/* The token as it stands in its file, else in its variable; "" where that cannot be said. */
static void read_token(const char *file, char *out, size_t size)
{
    const char *given = getenv("HOCKET_SERVE_TOKEN");
    FILE *f = file ? fopen(file, "re") : NULL;
    out[0] = 0;
    if (f && !fgets(out, (int) size, f))
        out[0] = 0;
    else if (!file && given)
        snprintf(out, size, "%s", given);
    out[strcspn(out, " \t\r\n")] = 0;
    if (f)
        fclose(f);
}

/* The address of the page. With the token only where a person reads it, and no log: it stands behind '#',
 * which browsers send to nobody. */
static void tell_page(const struct serve *s, const char *url, const char *file)
{
    char token[512] = "";
    if (!s->no_token && isatty(STDERR_FILENO) && !cli_log_is_on())
        read_token(file, token, sizeof(token));
    cli_logf(CLI_LOG_INFO, "page: %s/%s%s", url, token[0] ? "#token=" : "", token);
}

static void on_serving(const struct serve *s, const hocket_json *event)
{
    const char *file = hocket_json_text(hocket_json_get(event, "token_file"), NULL, NULL);
    const char *url = cli_member(event, "url");
    cli_logf(CLI_LOG_INFO, "serving %s", url);
    if (file)
        cli_logf(CLI_LOG_INFO, "token: in %s (Authorization: Bearer …)", file);
    tell_page(s, url, file);
    cli_notify("READY=1", true);
}

/* One that goes to stderr is a record among the others there. */
static void log_request(const struct serve *s, const struct hocket_event *e)
{
    struct cli_buf line = { 0 };
    cli_text_json(&line, e->json, e->json_len);
    if (strcmp(s->access_log, "-") == 0 && cli_log_is_on())
        cli_logf(CLI_LOG_INFO, "request %s", cli_buf_text(&line));
    else
        fprintf(s->log, "%s\n", cli_buf_text(&line));
    cli_buf_free(&line);
    fflush(s->log);
}

static void on_event(hocket_host *host, uint64_t run, const struct hocket_event *e, void *ud)
{
    struct serve *s = ud;
    (void) host;
    (void) run;
    if (strcmp(e->type, "request") == 0 && s->log) {
        log_request(s, e);
    } else if (strcmp(e->type, "serving") == 0) {
        hocket_json *event = hocket_json_parse(e->json, e->json_len, NULL);
        on_serving(s, event);
        hocket_json_free(event);
    }
}

/* ---- Serving ----------------------------------------------------------------------- */

static void add_args(const struct serve *s, const struct cli_args *args, int fd,
    const struct hocket_options *store, struct cli_buf *out)
{
    cli_buf_adds(out, "{\"targets\":[");
    cli_add_words(out, args);
    cli_buf_addf(out, "],\"all\":%s,\"port\":%lld,\"max_runs\":%lld,\"max_queue\":%lld",
        s->all ? "true" : "false", (long long) s->port, (long long) s->max_runs,
        (long long) s->max_queue);
    cli_buf_addf(out, ",\"behind_proxy\":%s,\"all_runs\":%s", s->behind_proxy ? "true" : "false",
        s->all_runs ? "true" : "false");
    cli_buf_addf(out, ",\"no_token\":%s,\"access_log\":%s,\"kept\":%s,\"store_needed\":%s",
        s->no_token ? "true" : "false", s->access_log ? "true" : "false",
        store->store ? "true" : "false", store->store && !store->store_optional ? "true" : "false");
    cli_buf_addf(out, ",\"hosts\":[%s],\"origins\":[%s],\"webhooks\":[%s]", cli_buf_text(&s->names),
        cli_buf_text(&s->origins), cli_buf_text(&s->webhooks));
    if (fd >= 0)
        cli_buf_addf(out, ",\"fd\":%d", fd);
    if (s->address.n > 0)
        cli_buf_member(out, "address", s->address.p);
    if (s->token_file)
        cli_buf_member(out, "token_file", s->token_file);
    if (s->answer_url)
        cli_buf_member(out, "answer_url", s->answer_url);
    if (s->tls_cert.n > 0) {
        cli_buf_member(out, "tls_cert", s->tls_cert.p);
        cli_buf_member(out, "tls_key", s->tls_key.p);
    }
    cli_buf_adds(out, ",\"page\":");
    cli_page_json(out);
    cli_buf_adds(out, ",\"options\":");
    cli_run_args_json(&s->run, out);
    cli_buf_adds(out, "}");
}

/* Before the directory changes, and so that lines of several processes stay whole. */
static int open_log(struct serve *s)
{
    if (!s->access_log)
        return 0;
    int fd = strcmp(s->access_log, "-") == 0
                 ? dup(STDERR_FILENO)
                 : open(s->access_log, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
    s->log = fd >= 0 ? fdopen(fd, "a") : NULL;
    if (s->log)
        return 0;
    return cli_usage("serve", "'--access-log %s': %s", s->access_log, strerror(errno));
}

static int start(struct serve *s, struct cli_args *args, int fd)
{
    struct cli_buf json = { 0 };
    struct hocket_options store = { 0 };
    cli_store_for_runs(&store, s->run.store, s->run.durability);
    int rc = cli_run_args_enter(&s->run, args);
    if (rc != 0)
        return rc;
    hocket_host *host = cli_host_open_store(NULL, &store, &rc);
    if (!host)
        return rc;
    cli_signals_start(host);
    cli_host_telemetry(host, NULL);
    cli_signals_patient();
    if (!cli_reach_has_terminal())
        cli_signals_reload();
    add_args(s, args, fd, &store, &json);
    rc = cli_host_offer(host, "serve", s->run.offer);
    s->service.args = json.p;
    if (rc == CLI_EXIT_DONE)
        rc = cli_service_run(&s->service, host);
    cli_signals_end();
    cli_host_close(host);
    cli_buf_free(&json);
    return rc;
}

static int main_serve(const struct cli_command *self, int argc, char **argv)
{
    if (argc > 0 && strcmp(argv[0], "token") == 0)
        return self->below->main(self->below, argc - 1, argv + 1);
    static struct serve s = { .port = PORT };
    struct cli_args args = { .ud = &s };
    int fd = cli_notify_socket();
    s.service = (struct cli_service){ .command = "serve",
        .operation = "serve",
        .on_hup = "refresh",
        .on_event = on_event,
        .ud = &s };
    s.run.command = "serve";
    s.run.input_from_stdin = true; /* what comes in is nobody's typing */
    int rc = cli_args_read(self, argc, argv, &args);
    if (rc == CLI_GO_ON && (rc = check(&s, &args, fd)) == 0 && (rc = open_log(&s)) == 0)
        rc = fd == -2 ? CLI_EXIT_USAGE : start(&s, &args, fd);
    if (s.log)
        fclose(s.log);
    cli_run_args_free(&s.run);
    cli_result_free(&s.service.result);
    cli_buf_free(&s.address);
    cli_buf_free(&s.tls_cert);
    cli_buf_free(&s.tls_key);
    cli_buf_free(&s.names);
    cli_buf_free(&s.origins);
    cli_buf_free(&s.webhooks);
    return rc;
}

const struct cli_command cli_serve = {
    .name = "serve",
    .usage = "[TARGET…]",
    .summary = "serve agents and runs over HTTP",
    .about =
        "Runs an HTTP server on this machine until a signal arrives. A TARGET is a script.lua, an\n"
        "agent.md, or a folder with agents. Each agent that no other agent names is served under "
        "its\n"
        "name. All runs of the store can be read and continued. New runs use changed files. Input\n"
        "from clients is a stranger's text: clients get no more trust, permissions or budget than\n"
        "the options here and the agents' files give.\n",
    .examples = "  hocket serve agents\n"
                "  hocket serve token create --name chat --agent travel\n"
                "  hocket serve --max-cost 0.50 --max-runs 8 travel report.lua\n"
                "  curl -H \"Authorization: Bearer $(cat ~/.local/state/hocket/serve-token)\" "
                "http://127.0.0.1:7333/api/runs\n",
    .options = own,
    .shared = cli_run_options,
    .bit = CLI_FOR_SERVE,
    .shared_at = offsetof(struct serve, run),
    .main = main_serve,
    .below = &cli_serve_token,
};

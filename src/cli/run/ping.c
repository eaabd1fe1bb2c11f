#include "cli/run/ping.h"

#include <string.h>

#include "cli/exit.h"
#include "cli/view/view.h"

/* Longer than the operation tries. */
#define WAIT_S 25.0

static void on_done(hocket_host *host, uint64_t run, const struct hocket_result *result, void *ud)
{
    struct cli_ping *p = ud;
    struct cli_buf line = { 0 };
    (void) host;
    (void) run;
    p->open--;
    if (!result->error || result->status == HOCKET_ECANCELLED)
        return;
    cli_buf_addf(&line, "warning: %s", result->error->message);
    cli_screen_say(p->screen, CLI_WARN, line.p);
    cli_buf_free(&line);
}

static void send(struct cli_ping *p, const char *state, const char *run, int exit_code)
{
    struct cli_buf args = { 0 };
    struct hocket_error err;
    cli_buf_adds(&args, "{");
    cli_buf_member(&args, "url", p->url);
    cli_buf_member(&args, "state", state);
    if (*run)
        cli_buf_member(&args, "run", run);
    if (exit_code >= 0)
        cli_buf_addf(&args, ",\"exit\":%d", exit_code);
    cli_buf_adds(&args, "}");
    p->open++;
    if (hocket_call_start(p->host, "ping", args.p, NULL, NULL, on_done, p, &err) < 0) {
        p->open--;
        cli_screen_say(p->screen, CLI_WARN, err.message);
    }
    cli_buf_free(&args);
}

void cli_ping_start(struct cli_ping *p)
{
    if (p->url)
        send(p, "start", "", -1);
}

void cli_ping_end(struct cli_ping *p, const char *run, int exit_code, bool waits)
{
    double due = cli_now() + WAIT_S;
    if (!p->url)
        return;
    if (!waits)
        send(p, exit_code == CLI_EXIT_DONE ? "done" : "failed", run, exit_code);
    for (double left; p->open > 0 && (left = due - cli_now()) > 0;)
        hocket_wait(p->host, (int) (left * 1000) + 1);
}

/* The operation "admit_run" looks at the run's code, and asks where it is not known; what was said yes to is remembered. */
#include "cli/admit.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "cli/args/args.h"
#include "cli/ask/ask.h"
#include "cli/exit.h"
#include "cli/host/host.h"
#include "cli/signals.h"
#include "cli/store.h"
#include "cli/text.h"

struct admission {
    hocket_host *host;
    struct cli_screen screen;
    struct cli_reader reader;
    struct cli_asker asker;
    struct cli_result result;
};

static void on_event(hocket_host *host, uint64_t run, const struct hocket_event *e, void *ud)
{
    (void) host;
    cli_asker_event(&((struct admission *) ud)->asker, run, e);
}

static void on_done(hocket_host *host, uint64_t run, const struct hocket_result *result, void *ud)
{
    (void) host;
    (void) run;
    cli_result_set(&((struct admission *) ud)->result, result);
}

static bool goes_on(void *ud)
{
    struct admission *a = ud;
    return !a->result.done && !cli_signal_taken() && cli_asker_wanted(&a->asker);
}

static void work(struct admission *a, uint64_t run)
{
    for (bool cancelled = false; !a->result.done;) {
        if (cli_signal_taken() && !cancelled) {
            hocket_run_cancel(a->host, run);
            cancelled = true;
        }
        if (!cancelled && cli_asker_open(&a->asker) > 0)
            cli_asker_ask(&a->asker);
        else
            hocket_wait(a->host, -1);
    }
}

static void call(struct admission *a, const char *args)
{
    struct hocket_error err;
    uint64_t run = 0;
    cli_signals_start(a->host);
    cli_reader_start(&a->reader, a->host, true, goes_on, a);
    cli_asker_start(&a->asker, a->host, &a->screen, &a->reader);
    if (hocket_call_start(a->host, "admit_run", args, &run, on_event, on_done, a, &err) < 0)
        cli_result_fail(&a->result, &err);
    work(a, run);
    cli_asker_end(&a->asker);
    cli_reader_end(&a->reader);
    cli_signals_end();
}

static int admit(struct admission *a, const char *command, const char *store, const char *args)
{
    struct hocket_options options = { 0 };
    int rc = CLI_EXIT_FAILED;
    if (!cli_store_look(&options, command, store))
        return rc;
    cli_screen_start(&a->screen, false, true);
    a->host = cli_host_open_store(&a->screen, &options, &rc);
    if (!a->host)
        return rc;
    call(a, args);
    cli_host_close(a->host);
    cli_screen_end(&a->screen);
    if (a->result.status >= 0)
        return CLI_GO_ON;
    struct cli_buf shown = { 0 };
    cli_text_show(&shown, cli_buf_text(&a->result.message), a->result.message.n, true);
    fprintf(stderr, "hocket %s: %s\n", command, cli_buf_text(&shown));
    cli_buf_free(&shown);
    return cli_exit_of(a->result.status);
}

int cli_admit(const char *command, const char *store, const char *id, bool trust)
{
    struct admission a = { 0 };
    struct cli_buf args = { 0 };
    if (trust || !isatty(STDIN_FILENO) || !isatty(STDERR_FILENO))
        return CLI_GO_ON;
    cli_buf_adds(&args, "{");
    cli_buf_key(&args, "id");
    cli_buf_json(&args, id, strlen(id));
    cli_buf_adds(&args, "}");
    int rc = admit(&a, command, store, args.p);
    cli_result_free(&a.result);
    cli_buf_free(&args);
    return rc;
}

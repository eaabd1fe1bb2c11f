/* An operation of the host whose questions a person answers. */
#include "cli/ask/ask.h"
#include "cli/host/host.h"
#include "cli/signals.h"

struct call {
    hocket_host *host;
    struct cli_reader reader;
    struct cli_asker asker;
    struct cli_result *result;
};

static void on_event(hocket_host *host, uint64_t run, const struct hocket_event *e, void *ud)
{
    (void) host;
    cli_asker_event(&((struct call *) ud)->asker, run, e);
}

static void on_done(hocket_host *host, uint64_t run, const struct hocket_result *result, void *ud)
{
    (void) host;
    (void) run;
    cli_result_set(((struct call *) ud)->result, result);
}

/* While somebody types: whether the question still stands. */
static bool goes_on(void *ud)
{
    const struct call *c = ud;
    return !c->result->done && !cli_signal_taken() && cli_asker_wanted(&c->asker);
}

static void work(struct call *c, uint64_t run)
{
    for (bool cancelled = false; !c->result->done;) {
        if (cli_signal_taken() && !cancelled) {
            hocket_run_cancel(c->host, run);
            cancelled = true;
        }
        if (!cancelled && cli_asker_open(&c->asker) > 0)
            cli_asker_ask(&c->asker);
        else
            hocket_wait(c->host, -1);
    }
}

void cli_ask_call(hocket_host *host, struct cli_screen *screen, bool person, const char *operation,
    const char *args, struct cli_result *result)
{
    struct call c = { .host = host, .result = result };
    struct hocket_error err;
    uint64_t run = 0;
    cli_signals_start(host);
    cli_reader_start(&c.reader, host, true, goes_on, &c);
    cli_asker_start(&c.asker, host, screen, &c.reader);
    if (hocket_call_start(host, operation, args, &run, person ? on_event : NULL, on_done, &c, &err)
        < 0)
        cli_result_fail(result, &err);
    work(&c, run);
    cli_asker_end(&c.asker);
    cli_reader_end(&c.reader);
    cli_signals_end();
}

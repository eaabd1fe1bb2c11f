#include "cli/service/service.h"

#include <stdio.h>
#include <time.h>

#include "cli/exit.h"
#include "cli/signals.h"

static void on_done(hocket_host *host, uint64_t run, const struct hocket_result *result, void *ud)
{
    (void) host;
    (void) run;
    cli_result_set(&((struct cli_service *) ud)->result, result);
}

static void on_event(hocket_host *host, uint64_t run, const struct hocket_event *e, void *ud)
{
    const struct cli_service *s = ud;
    s->on_event(host, run, e, s->ud);
}

static void shut_down(const struct cli_service *s, hocket_host *host, uint64_t id)
{
    char seconds[32];
    snprintf(seconds, sizeof(seconds), "%.9g", s->grace);
    cli_notify(s->reload ? "RELOADING=1" : "STOPPING=1", true);
    if (hocket_run_answer(host, id, "shutdown", seconds, 0, NULL) < 0)
        hocket_run_cancel(host, id); /* it has not begun */
}

static void hear_hup(struct cli_service *s, hocket_host *host, uint64_t id)
{
    if (!cli_signal_reload())
        return;
    if (s->on_hup)
        cli_host_policy_again(host);
    if (s->on_hup)
        hocket_run_answer(host, id, s->on_hup, "", 0, NULL);
    else
        s->reload = true;
}

/* Twice in the time that it is given, however often the loop turns: who listens keeps few words that it has not read. */
static void tell_watchdog(int64_t ms, int64_t *next)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    int64_t now = t.tv_sec * 1000 + t.tv_nsec / 1000000;
    if (ms <= 0 || now < *next)
        return;
    *next = now + ms / 2;
    cli_notify("WATCHDOG=1", false);
}

int cli_service_run(struct cli_service *s, hocket_host *host)
{
    struct hocket_error err;
    int64_t next = 0, watchdog = cli_notify_watchdog();
    uint64_t id = 0;
    if (hocket_call_start(host, s->operation, s->args, &id, on_event, on_done, s, &err) < 0)
        cli_result_fail(&s->result, &err);
    for (bool stopped = false; !s->result.done;) {
        hear_hup(s, host, id);
        if ((cli_signal_taken() || s->reload) && !stopped) {
            stopped = true;
            shut_down(s, host, id);
        }
        hocket_wait(host, watchdog > 0 ? (int) (watchdog / 4) + 1 : -1);
        cli_signals_turned();
        tell_watchdog(watchdog, &next);
    }
    bool asked = cli_signal_taken() || s->reload; /* it may not have begun */
    if (s->result.status == 0 || (asked && s->result.status == HOCKET_ECANCELLED))
        return CLI_EXIT_DONE;
    cli_result_complain(&s->result, s->command);
    return cli_exit_of(s->result.status);
}

/* `hocket work`: does the runs that were submitted to a store, until a signal comes. The operation "work" does it;
 * this file has the options, the signals, the lines that it prints and the messages to systemd.
 *
 *   working ──> READY=1 (and while it waits for the store in the beginning)
 *                              SIGTERM, SIGINT ──> the answer "shutdown": open calls end, each run is given back
 *   a run's end ──> a line     a second one ──> at once          SIGHUP ──> the same, and then the program restarts */
#include "cli/work/work.h"

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
#include "cli/out.h"
#include "cli/progress.h"
#include "cli/service/service.h"
#include "cli/signals.h"
#include "cli/store.h"
#include "cli/text.h"

/* Code that blocks everything else for so long is interrupted. */
#define STUCK 30

struct work {
    struct cli_service service;
    struct cli_buf pools; /* JSON, without the brackets */
    const char *store, *durability, *workdir;
    int64_t runs, processes;
    int began_in; /* the folder that names are meant from */
    bool trust, json, quiet, verbose;
};

/* ---- Options -------------------------------------------------------------------- */

static int read_pool(void *args, const char *command, const char *name, const char *value)
{
    struct work *w = args;
    if (!cli_is_label(value))
        return cli_wrong_value(command, name, value, CLI_LABEL_EXPECTED);
    cli_add_word(&w->pools, value);
    return 0;
}

static const struct cli_option options[] = {
    { CLI_OWN('p', "pool", "NAME", read_pool, "take runs of this pool (default); repeatable") },
    { CLI_COUNT('n', "runs", "N", struct work, runs, 1, 10000, 8,
        "the most runs at once in each process (8)") },
    { CLI_COUNT(0, "processes", "N", struct work, processes, 0, 1024, 1,
        "the number of processes (1), each with its own --runs; 0: one for each core") },
    { CLI_NUMBER(0, "grace", "SECONDS", struct work, service.grace, 0, CLI_MOST_SECONDS, 60,
        "seconds, as in 60",
        "how long active calls may take after SIGTERM (60); unfinished ones are made again by\n"
        "the next worker") },
    { CLI_TEXT('C', "workdir", "DIR", struct work, workdir,
        "the folder for tools; default: the current one") },
    { CLI_TEXT(0, "store", "FILE", struct work, store, CLI_STORE_HELP) },
    { CLI_TEXT(0, "durability", "normal|full", struct work, durability,
        "normal (the default): stored data survives the end of the process; full: also a loss\n"
        "of power, before a tool changes anything") },
    { CLI_FLAG(0, "trust", struct work, trust,
        "runs of other users or machines may bring their own code (scripts, providers.yaml,\n"
        "MCP servers); without it only code that you have trusted runs") },
    { CLI_FLAG('j', "json", struct work, json, "each event as a line of JSON on stdout") },
    { CLI_OWN(0, "log-format", "text|json", cli_read_log_format, CLI_LOG_FORMAT_HELP) },
    { CLI_FLAG('q', "quiet", struct work, quiet, "no line for each run") },
    { CLI_FLAG('v', "verbose", struct work, verbose,
        "a line for each run, also if stderr is no terminal") },
    { 0 },
};

/* ---- What it tells ---------------------------------------------------------------- */

static void add_shown(struct cli_buf *out, const char *text, size_t columns)
{
    struct cli_buf shown = { 0 };
    cli_text_show(&shown, text, strlen(text), false);
    cli_text_cut(out, cli_buf_text(&shown), shown.n, columns);
    cli_buf_free(&shown);
}

static void add_end(struct cli_buf *line, const hocket_json *event)
{
    const char *outcome = cli_member(event, "outcome");
    const char *code = cli_member(event, "code"), *message = cli_member(event, "message");
    if (strcmp(code, "ok") == 0)
        cli_buf_adds(line, "done after ");
    else if (strcmp(outcome, "given_back") == 0)
        cli_buf_adds(line, "given back after ");
    else if (strcmp(outcome, "parked") == 0)
        cli_buf_adds(line, "waits for an answer after ");
    else if (strcmp(code, "parked") == 0)
        cli_buf_adds(line, "put away after ");
    else if (strcmp(code, "cancelled") == 0)
        cli_buf_adds(line, "cancelled after ");
    else if (strcmp(outcome, "put_off") == 0)
        cli_buf_adds(line, "given back, for another worker, after ");
    else if (strcmp(outcome, "lost") == 0)
        cli_buf_adds(line, "lost after ");
    else
        cli_buf_adds(line, "failed after ");
    cli_text_seconds(line, cli_number(event, "seconds"));
    if (strcmp(code, "ok") == 0 || strcmp(code, "cancelled") == 0 || strcmp(code, "parked") == 0
        || !*message)
        return;
    cli_buf_adds(line, ": ");
    add_shown(line, message, 200);
}

static void add_taken(struct cli_buf *line, const hocket_json *event)
{
    int64_t attempt = cli_int(event, "attempt");
    bool again = cli_is(event, "again");
    cli_buf_adds(line, again ? "goes on: " : "begins: ");
    add_shown(line, cli_member(event, "target"), 60);
    if (attempt > 0 && cli_is(event, "put_off"))
        cli_buf_addf(line, " (tried before: %lld)", (long long) attempt);
    else if (attempt > 0)
        cli_buf_addf(line, " (workers in a row that were lost with it: %lld)", (long long) attempt);
}

/* Whoever is to do something, now or in the morning, finds it by the level. */
static enum cli_log_level level_of(const hocket_json *event)
{
    const char *outcome = cli_member(event, "outcome"), *code = cli_member(event, "code");
    if (strcmp(outcome, "failed") == 0)
        return CLI_LOG_ERROR;
    bool good = !*code || strcmp(code, "ok") == 0 || strcmp(outcome, "given_back") == 0
                || strcmp(outcome, "waiting") == 0 || strcmp(code, "cancelled") == 0;
    return good ? CLI_LOG_INFO : CLI_LOG_WARNING;
}

static void say_run(const char *type, const hocket_json *event)
{
    struct cli_buf line = { 0 };
    const char *id = cli_member(event, "id");
    if (!cli_log_is_on())
        cli_buf_addf(&line, "%s  ", id);
    if (strcmp(type, "run_taken") == 0)
        add_taken(&line, event);
    else
        add_end(&line, event);
    cli_log(level_of(event), id, NULL, line.p);
    cli_buf_free(&line);
}

static void say_unlimited(const hocket_json *event)
{
    struct cli_buf line = { 0 };
    const char *id = cli_member(event, "id");
    if (!cli_log_is_on())
        cli_buf_addf(&line, "%s  ", id);
    add_shown(&line, cli_member(event, "message"), 400);
    cli_log(CLI_LOG_WARNING, id, NULL, line.p);
    cli_buf_free(&line);
}

static void say_store(const char *type, const hocket_json *event)
{
    struct cli_buf line = { 0 };
    if (strcmp(type, "store_back") == 0) {
        cli_log(CLI_LOG_INFO, NULL, NULL, "hocket work: the store is there again");
        return;
    }
    add_shown(&line, cli_member(event, "message"), 400);
    cli_logf(CLI_LOG_WARNING, "hocket work: no work can be looked for, and it is tried again: %s",
        cli_buf_text(&line));
    cli_buf_free(&line);
}

static void say_working(const hocket_json *event)
{
    const hocket_json *pools = hocket_json_get(event, "pools");
    struct cli_buf line = { 0 };
    for (size_t i = 0; i < hocket_json_count(pools); i++)
        cli_buf_addf(
            &line, "%s%s", i > 0 ? ", " : "", hocket_json_text(hocket_json_at(pools, i), "", NULL));
    cli_logf(CLI_LOG_INFO, "working: pool %s, %lld runs at once", cli_buf_text(&line),
        cli_int(event, "runs"));
    cli_log(CLI_LOG_INFO, NULL, NULL,
        "Whoever may write into the store may run Lua on its workers, with their rights.");
    cli_buf_free(&line);
}

static void say(const struct work *w, const char *type, const hocket_json *event)
{
    bool is_run = strcmp(type, "run_taken") == 0 || strcmp(type, "run_ended") == 0;
    if (strcmp(type, "store_away") == 0 || strcmp(type, "store_back") == 0)
        say_store(type, event);
    else if (strcmp(type, "working") == 0 && !w->quiet)
        say_working(event);
    else if (strcmp(type, "run_unlimited") == 0 && !w->quiet)
        say_unlimited(event);
    else if (is_run && !w->quiet && (w->verbose || cli_log_is_on() || isatty(STDERR_FILENO)))
        say_run(type, event);
}

static void on_event(hocket_host *host, uint64_t run, const struct hocket_event *e, void *ud)
{
    struct work *w = ud;
    (void) host;
    (void) run;
    if (w->json)
        cli_out_json(e->json, e->json_len);
    hocket_json *event = hocket_json_parse(e->json, e->json_len, NULL);
    if (!w->json || cli_log_is_on())
        say(w, e->type, event);
    if (strcmp(e->type, "working") == 0 || strcmp(e->type, "store_awaited") == 0)
        cli_notify("READY=1", true);
    hocket_json_free(event);
}

/* ---- Working ----------------------------------------------------------------------- */

static int work(struct work *w, hocket_host *host)
{
    struct cli_buf args = { 0 };
    cli_buf_addf(&args, "{\"pools\":[%s],\"runs\":%lld,\"trust\":%s}", cli_buf_text(&w->pools),
        (long long) w->runs, w->trust ? "true" : "false");
    w->service.args = args.p;
    int rc = cli_service_run(&w->service, host);
    cli_buf_free(&args);
    return rc;
}

static int start(struct work *w)
{
    struct hocket_options store = { 0 };
    int rc = CLI_EXIT_FAILED;
    const char *wrong = cli_store_for_others(&store, w->store, w->durability);
    if (wrong)
        return cli_usage("work", "%s", wrong);
    w->began_in = open(".", O_PATH | O_DIRECTORY | O_CLOEXEC);
    if (w->workdir && chdir(w->workdir) < 0)
        return cli_usage("work", "cannot work in '%s': %s", w->workdir, strerror(errno));
    if (w->json)
        cli_out_claim();
    hocket_host *host = cli_host_open_store(NULL, &store, &rc);
    if (!host)
        return rc;
    cli_signals_start(host);
    cli_host_telemetry(host, NULL);
    cli_signals_patient();
    cli_signals_watch(STUCK);
    if (!cli_reach_has_terminal())
        cli_signals_reload();
    cli_signals_release();
    rc = work(w, host);
    cli_signals_end();
    cli_host_close(host);
    return rc;
}

/* Restarts the program file as it is now, with everything that it reads, from the folder where this one began. Not after a
 * request to end: later signals are for the next program. */
static int begin_anew(const struct work *w, char **argv)
{
    cli_signals_hold();
    cli_out_release();
    if (cli_signal_taken())
        return CLI_EXIT_DONE;
    if (w->began_in < 0 || fchdir(w->began_in) == 0)
        return cli_work_begin(argv);
    cli_logf(CLI_LOG_ERROR, "hocket work: cannot begin anew where it began: %s", strerror(errno));
    return CLI_EXIT_FAILED;
}

static int main_work(const struct cli_command *self, int argc, char **argv)
{
    static struct work w = { .began_in = -1 };
    struct cli_args args = { .ud = &w };
    w.service = (struct cli_service){
        .command = "work", .operation = "work", .on_event = on_event, .ud = &w
    };
    int rc = cli_args_read(self, argc, argv, &args);
    if (rc == CLI_GO_ON && args.count > 0)
        rc = cli_usage("work", "'%s' is too much: runs come from the store", args.words[0]);
    if (rc == CLI_GO_ON && w.processes != 1)
        rc = cli_work_processes(w.processes, argv - 2);
    else if (rc == CLI_GO_ON)
        rc = start(&w);
    if (rc == CLI_EXIT_DONE && w.service.reload)
        rc = begin_anew(&w, argv - 2);
    cli_result_free(&w.service.result);
    cli_buf_free(&w.pools);
    return rc;
}

const struct cli_command cli_work = {
    .name = "work",
    .usage = "[--pool NAME…]",
    .summary = "execute runs that were submitted to a store",
    .about =
        "Takes runs from 'hocket run --detach' and hocket.submit out of the store, several at "
        "once,\n"
        "until a signal arrives. There may be any number of workers: on one machine with a file, "
        "on\n"
        "several with PostgreSQL. A run brings its agents and scripts along; keys, programs, and "
        "the\n"
        "files for tools are the worker's own. A worker takes over runs that others lost, and\n"
        "continues them from their logs.\n"
        "\n"
        "After SIGTERM or Ctrl-C it takes no more runs, lets active calls finish, and gives each "
        "run\n"
        "back. A second signal ends it at once. SIGHUP does the same, and then restarts it.\n"
        "A worker runs what is in its store, with its own rights: whoever may write there may run\n"
        "Lua here.",
    .examples = "  hocket work\n"
                "  hocket work --pool gpu --runs 32 --store postgres://hocket@db.example/app\n"
                "  hocket work --processes 0 --json >> work.log\n",
    .options = options,
    .main = main_work,
};

/* `hocket work`: does the runs that were submitted to a store, until a signal comes. The operation "work" does it; here are the
 * options, the signals, what is told and what systemd hears.
 *
 *   working ──> READY=1 (and while the store is waited for in the beginning)
 *                              SIGTERM, SIGINT ──> the answer "shutdown": what is under way ends, each run is given back
 *   a run's end ──> a line     a second one ──> at once          SIGHUP ──> the same, and then the program begins anew */
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
#include "cli/out.h"
#include "cli/progress.h"
#include "cli/service/service.h"
#include "cli/signals.h"
#include "cli/store.h"
#include "cli/text.h"

/* Code that lets nothing else go on for so long is broken into. */
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
    { CLI_OWN('p', "pool", "NAME", read_pool,
        "take runs of this pool (default); can be given several times") },
    { CLI_COUNT('n', "runs", "N", struct work, runs, 1, 10000, 8,
        "runs at once in each process, at most (8)") },
    { CLI_COUNT(0, "processes", "N", struct work, processes, 0, 1024, 1,
        "so many processes (1), each with --runs of its own; 0: one for each core") },
    { CLI_NUMBER(0, "grace", "SECONDS", struct work, service.grace, 0, CLI_MOST_SECONDS, 60,
        "seconds, as in 60",
        "how long calls that are under way may take after SIGTERM (60); what is not done by\n"
        "then is made again by whoever goes on") },
    { CLI_TEXT(
        'C', "workdir", "DIR", struct work, workdir, "where the tools of runs work, else here") },
    { CLI_TEXT(0, "store", "FILE", struct work, store, CLI_STORE_HELP) },
    { CLI_TEXT(0, "durability", "normal|full", struct work, durability,
        "normal: what is kept survives the end of the process (the default); full: a loss of\n"
        "power, too, before a tool changes anything") },
    { CLI_FLAG(0, "trust", struct work, trust,
        "runs that were begun elsewhere, or by others, may bring their own code (scripts,\n"
        "providers.yaml, MCP servers); without it only code that you have trusted runs") },
    { CLI_FLAG('j', "json", struct work, json, "each event as a line of JSON on stdout") },
    { CLI_FLAG('q', "quiet", struct work, quiet, "no line for each run") },
    { CLI_FLAG('v', "verbose", struct work, verbose,
        "a line for each run, also where stderr is no terminal") },
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
    cli_text_seconds(line, hocket_json_number(hocket_json_get(event, "seconds"), 0));
    if (strcmp(code, "ok") == 0 || strcmp(code, "cancelled") == 0 || strcmp(code, "parked") == 0
        || !*message)
        return;
    cli_buf_adds(line, ": ");
    add_shown(line, message, 200);
}

static void add_taken(struct cli_buf *line, const hocket_json *event)
{
    int64_t attempt = hocket_json_int(hocket_json_get(event, "attempt"), 0);
    bool again = hocket_json_bool(hocket_json_get(event, "again"), false);
    cli_buf_adds(line, again ? "goes on: " : "begins: ");
    add_shown(line, cli_member(event, "target"), 60);
    if (attempt > 0 && hocket_json_bool(hocket_json_get(event, "put_off"), false))
        cli_buf_addf(line, " (tried before: %lld)", (long long) attempt);
    else if (attempt > 0)
        cli_buf_addf(line, " (workers in a row that were lost with it: %lld)", (long long) attempt);
}

static void say_run(const char *type, const hocket_json *event)
{
    struct cli_buf line = { 0 };
    cli_buf_addf(&line, "%s  ", cli_member(event, "id"));
    if (strcmp(type, "run_taken") == 0)
        add_taken(&line, event);
    else
        add_end(&line, event);
    fprintf(stderr, "%s\n", line.p);
    cli_buf_free(&line);
}

static void say_store(const char *type, const hocket_json *event)
{
    struct cli_buf line = { 0 };
    if (strcmp(type, "store_back") == 0) {
        fprintf(stderr, "hocket work: the store is there again\n");
        return;
    }
    add_shown(&line, cli_member(event, "message"), 400);
    fprintf(stderr, "hocket work: no work can be looked for, and it is tried again: %s\n",
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
    fprintf(stderr, "working: pool %s, %lld runs at once\n", cli_buf_text(&line),
        (long long) hocket_json_int(hocket_json_get(event, "runs"), 0));
    fprintf(stderr,
        "Whoever may write into the store may run Lua on its workers, with their rights.\n");
    cli_buf_free(&line);
}

static void say(const struct work *w, const char *type, const hocket_json *event)
{
    bool is_run = strcmp(type, "run_taken") == 0 || strcmp(type, "run_ended") == 0;
    if (strcmp(type, "store_away") == 0 || strcmp(type, "store_back") == 0)
        say_store(type, event);
    else if (strcmp(type, "working") == 0 && !w->quiet)
        say_working(event);
    else if (is_run && !w->quiet && (w->verbose || isatty(STDERR_FILENO)))
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
    if (!w->json)
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

/* The program that is there now, with all that it reads, from the folder where this one began. Unless the end is asked for: what
 * comes from here on the next one hears. */
static int begin_anew(const struct work *w, char **argv)
{
    cli_signals_hold();
    cli_out_release();
    if (cli_signal_taken())
        return CLI_EXIT_DONE;
    if (w->began_in < 0 || fchdir(w->began_in) == 0)
        return cli_work_begin(argv);
    fprintf(stderr, "hocket work: cannot begin anew where it began: %s\n", strerror(errno));
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
    .summary = "do the runs that were submitted to a store",
    .about =
        "Takes runs that 'hocket run --detach' and hocket.submit have put into the store, several "
        "at once, until\n"
        "a signal comes; any number of workers may do so, on one machine with a file, on several "
        "with\n"
        "PostgreSQL. A run brings its agents and scripts along; keys, programs, and the files that "
        "tools work\n"
        "on are the worker's. What another worker has lost is taken over and goes on from its "
        "log.\n"
        "\n"
        "SIGTERM and Ctrl-C: nothing more is taken, calls that are under way end, and each run is "
        "given back.\n"
        "A second one ends at once. SIGHUP: the same, and then it begins anew.\n"
        "A worker does what stands in its store, with its rights: whoever may write there may run "
        "Lua here.",
    .examples = "  hocket work\n"
                "  hocket work --pool gpu --runs 32 --store postgres://hocket@db.example/app\n"
                "  hocket work --processes 0 --json >> work.log\n",
    .options = options,
    .main = main_work,
};

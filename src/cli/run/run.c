/* `hocket run`: the answer on stdout, everything else on stderr.
 *
 *     arguments ─▶ event file ─▶ host ─▶ run ──events──▶ event file, lines, live view
 *                                         │
 *                                         └─▶ the answer, the event file's rest, the exit code
 *
 * The event file is opened first and closed last, so that no failure of anything else loses an
 * event. */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/markdown/markdown.h"
#include "cli/ask/ask.h"
#include "cli/command/command.h"
#include "cli/exit.h"
#include "cli/view/view.h"
#include "cli/host/host.h"
#include "cli/out.h"
#include "cli/run_args/run_args.h"
#include "cli/signals.h"
#include "cli/sink.h"
#include "cli/kept/kept.h"
#include "cli/log/log.h"
#include "cli/run/ping.h"
#include "cli/run/run.h"
#include "cli/run/watcher.h"
#include "cli/run/tree.h"
#include "cli/store.h"
#include "cli/text.h"

/* Failures that the line on a partial answer names. */
#define PARTIAL_SHOWN 4

struct job {
    struct cli_run_args args;
    struct cli_screen screen;
    struct cli_feed feed;
    struct cli_reader reader;
    struct cli_asker asker;
    struct cli_watcher watcher;
    struct cli_sink *sink;
    struct cli_result result;
    hocket_host *host;
    uint64_t run;
    struct cli_parked parked;
    struct cli_ping ping;
    bool events_on_stdout, cancelled, partial, is_kept;
    bool free_stdout; /* scripts write to it directly, before the event comes */
};

/* ---- Events ------------------------------------------------------------ */

/* What a script prints: part of the answer, unless stdout has another use. */
static void print_output(struct job *j, const struct hocket_event *e)
{
    hocket_json *event = hocket_json_parse(e->json, e->json_len, NULL);
    size_t n = 0;
    const char *text = hocket_json_text(hocket_json_get(event, "text"), "", &n);
    cli_feed_flush(&j->feed);
    if (j->args.flags & CLI_JSON) {
        cli_screen_say(&j->screen, CLI_PLAIN, text);
    } else if (j->screen.held && cli_out_is_terminal()) {
        cli_screen_line(&j->screen, CLI_PLAIN, NULL, text);
    } else if (!j->events_on_stdout) {
        cli_screen_erase(&j->screen);
        cli_out_text(text, n);
        cli_out_text("\n", 1);
    }
    hocket_json_free(event);
}

static void on_event(hocket_host *host, uint64_t run, const struct hocket_event *e, void *ud)
{
    struct job *j = ud;
    (void) host;
    if (strcmp(e->type, "model_delta") == 0) { /* no record */
        cli_feed_event(&j->feed, e);
        return;
    }
    if (j->args.interactive)
        cli_asker_event(&j->asker, run, e);
    bool first = !j->parked.run[0];
    cli_parked_event(&j->parked, e); /* the person who could answer may leave, too */
    if (first)
        cli_log_set_run(j->parked.run);
    if (j->sink)
        cli_sink_add(j->sink, e->json, e->json_len, strcmp(e->type, "workflow_finished") == 0);
    if (strcmp(e->type, "output") != 0)
        cli_feed_event(&j->feed, e);
    else if (j->free_stdout)
        cli_out_flush();
    else
        print_output(j, e);
}

static void on_done(hocket_host *host, uint64_t run, const struct hocket_result *result, void *ud)
{
    struct job *j = ud;
    (void) host;
    (void) run;
    cli_result_set(&j->result, result);
}

/* ---- Beginning --------------------------------------------------------- */

static void on_output(const char *text, size_t n, void *ud)
{
    (void) ud;
    cli_out_script(text, n);
}

/* Whose stdout is: JSON has it for itself. Below a live view on the same terminal what scripts print waits for its event.
 * Otherwise it is the scripts', and print keeps its order with io.write. */
static void give_stdout(struct job *j, struct hocket_options *o)
{
    bool seen = !(j->args.flags & CLI_QUIET) && isatty(STDERR_FILENO) && cli_out_is_terminal();
    if ((j->args.flags & CLI_JSON) || (j->args.events && strcmp(j->args.events, "-") == 0))
        cli_out_claim();
    else if (!seen)
        o->output_cb = on_output;
    j->free_stdout = o->output_cb != NULL;
    if (j->free_stdout)
        cli_out_give();
}

static int open_sink(struct job *j)
{
    int error;
    if (!j->args.events)
        return CLI_GO_ON;
    j->events_on_stdout = strcmp(j->args.events, "-") == 0;
    j->sink = cli_sink_open(j->args.events, &error);
    if (j->sink)
        return CLI_GO_ON;
    return cli_usage(
        "run", "cannot write events to '%s': %s", j->args.events, cli_sink_error(error));
}

/* The target is looked up from the current folder; the run works in DIR. */
static int change_directory(struct job *j, char **target)
{
    if (!j->args.workdir)
        return CLI_GO_ON;
    *target = realpath(j->args.target, NULL);
    if (*target)
        j->args.target = *target;
    if (chdir(j->args.workdir) == 0)
        return CLI_GO_ON;
    return cli_usage("run", "cannot work in '%s': %s", j->args.workdir, strerror(errno));
}

/* The person who is here now is asked, whoever began the run. */
static void go_on(struct job *j)
{
    struct cli_buf options = { 0 };
    struct hocket_error err;
    cli_run_args_resume_json(&j->args, &options);
    if (hocket_run_resume(j->host, j->args.resume, options.p, &j->run, on_event, on_done, j, &err)
        < 0)
        cli_result_fail(&j->result, &err);
    cli_buf_free(&options);
}

static void start(struct job *j)
{
    struct cli_buf options = { 0 };
    struct hocket_error err;
    if (j->args.resume) {
        go_on(j);
        return;
    }
    j->args.traced = true;
    j->args.unattended = !j->args.interactive;
    cli_run_args_json(&j->args, &options);
    struct hocket_run_spec spec = {
        .size = sizeof(spec),
        .target = j->args.target,
        .input = j->args.has_input ? cli_buf_text(&j->args.input) : NULL,
        .input_len = j->args.input.n,
        .options = options.p,
    };
    if (hocket_run_start(j->host, &spec, &j->run, on_event, on_done, j, &err) < 0)
        cli_result_fail(&j->result, &err);
    cli_buf_free(&options);
}

/* ---- Going on ---------------------------------------------------------- */

static void check_signals(struct job *j)
{
    if (!cli_signal_taken() || j->cancelled)
        return;
    j->cancelled = true;
    if (hocket_run_park(j->host, j->run) < 0) /* a kept run can continue another time */
        hocket_run_cancel(j->host, j->run);
}

/* While somebody types: whether the question is still open. */
static bool go_on_asking(void *ud)
{
    struct job *j = ud;
    check_signals(j);
    cli_feed_turn(&j->feed);
    return !j->result.done && !j->cancelled && cli_asker_wanted(&j->asker);
}

static void work(struct job *j)
{
    while (!j->result.done) {
        check_signals(j);
        bool asked = cli_asker_open(&j->asker) > 0;
        if (cli_asker_due(&j->asker) && !j->cancelled) {
            cli_feed_flush(&j->feed);
            cli_asker_ask(&j->asker);
        } else
            hocket_wait(j->host, cli_feed_wait_ms(&j->feed, asked));
        cli_feed_turn(&j->feed);
    }
    check_signals(j); /* a cancel that had to interrupt code which never waits has arrived by now */
}

/* Somebody can be asked where questions are seen and answers are typed. */
static void start_asking(struct job *j)
{
    j->args.interactive = isatty(STDIN_FILENO) && isatty(STDERR_FILENO) && !j->args.input_from_stdin
                          && !cli_log_is_on();
    j->args.on_terminal = j->args.interactive;
    cli_reader_start(&j->reader, j->host, true, go_on_asking, j);
    cli_asker_start(&j->asker, j->host, &j->screen, &j->reader);
    j->asker.grace = j->args.resume ? CLI_ASK_GRACE : 0;
}

/* ---- The end ----------------------------------------------------------- */

/* The result object for a run that has none of its own. */
static void make_result(const struct job *j, struct cli_buf *out)
{
    const char *code = hocket_status_word(j->result.status);
    cli_buf_adds(out, "{\"run\":null,\"ok\":false,\"text\":\"\",\"error\":{\"code\":");
    cli_buf_json(out, code, strlen(code));
    cli_buf_adds(out, ",\"message\":");
    cli_buf_json(out, cli_buf_text(&j->result.message), j->result.message.n);
    cli_buf_adds(out,
        "},\"finish\":\"error\",\"usage\":{\"input\":0,\"output\":0,\"cached\":0,"
        "\"reasoning\":0,\"calls\":0,\"cost\":null},\"simulated\":false,\"models\":[],"
        "\"partial\":null,\"tasks\":[],\"document\":null,\"seconds\":");
    cli_buf_addf(out, "%.3f}", cli_now() - j->feed.began);
}

static void print_json(struct job *j)
{
    struct cli_buf made = { 0 };
    if (j->result.json.n > 2) {
        cli_out_json(j->result.json.p, j->result.json.n);
        return;
    }
    make_result(j, &made);
    cli_out_json(made.p, made.n);
    cli_buf_free(&made);
}

/* On a terminal that shows both streams, a blank line sets the answer off. */
static void print_answer(struct job *j, bool spaced)
{
    if (j->args.flags & CLI_JSON) {
        print_json(j);
    } else if (j->result.text.n > 0 && !j->events_on_stdout) {
        cli_out_text("\n", spaced);
        cli_answer(&j->screen, j->result.text.p, j->result.text.n);
        cli_out_text("\n", spaced);
    }
}

/* One agent's own limits are in its file, and its message says so. */
static bool is_budget_of_run(const struct job *j)
{
    return j->result.status == HOCKET_EBUDGET
           && strncmp(cli_buf_text(&j->result.message), "the budget of the run ", 22) == 0;
}

static void say_error(struct job *j)
{
    struct cli_buf line = { 0 };
    if (j->result.status >= 0)
        return;
    if (cli_signal_taken()
        && (j->result.status == HOCKET_ECANCELLED || j->result.status == HOCKET_EPARKED))
        cli_buf_adds(&line, cli_signal_taken() == SIGINT ? "interrupted" : "terminated");
    else
        cli_buf_addf(&line, "error: %s%s", cli_buf_text(&j->result.message),
            is_budget_of_run(j) ? " (--max-cost and --max-tokens limit it)" : "");
    if (j->result.status != HOCKET_EPARKED || cli_signal_taken())
        cli_screen_say(&j->screen, CLI_BAD, line.p);
    if (j->result.status == HOCKET_EPARKED)
        cli_parked_say(&j->parked, &j->screen, j->args.store,
            cli_signal_taken() ? NULL : cli_buf_text(&j->result.message));
    cli_buf_free(&line);
}

/* "food: the model is gone": who failed, and the first line of why. */
static void add_missing(struct cli_buf *line, const hocket_json *one)
{
    size_t n = 0;
    const char *why = hocket_json_text(hocket_json_get(one, "error"), "?", &n);
    size_t first = strcspn(why, "\n");
    cli_buf_addf(line, "%s: ", hocket_json_text(hocket_json_get(one, "agent"), "?", NULL));
    cli_buf_add(line, why, first < n ? first : n);
}

/* Prints what the answer was made without, also with -q. Returns whether there is any. */
static bool say_partial(struct job *j)
{
    hocket_json *result = hocket_json_parse(cli_buf_text(&j->result.json), j->result.json.n, NULL);
    const hocket_json *list = hocket_json_get(result, "partial");
    size_t count = hocket_json_count(list), shown = count < PARTIAL_SHOWN ? count : PARTIAL_SHOWN;
    if (count > 0 && j->result.status >= 0) {
        struct cli_buf line = { 0 };
        cli_buf_adds(&line, "partial: the answer was made without all: ");
        for (size_t i = 0; i < shown; i++) {
            cli_buf_adds(&line, i ? "; " : "");
            add_missing(&line, hocket_json_at(list, i));
        }
        if (count > shown)
            cli_buf_addf(&line, "; and %zu more", count - shown);
        cli_screen_say(&j->screen, CLI_WARN, line.p);
        cli_buf_free(&line);
    }
    hocket_json_free(result);
    return count > 0;
}

static void say_usage(struct job *j)
{
    if (j->args.flags & CLI_QUIET)
        return;
    hocket_json *result = hocket_json_parse(cli_buf_text(&j->result.json), j->result.json.n, NULL);
    if (j->args.flags & CLI_VERBOSE)
        cli_tree_say(&j->screen, hocket_json_get(result, "tree"));
    const char *name = cli_member(result, "run");
    bool is_kept = j->is_kept && cli_store_outlives(j->args.store);
    cli_feed_summary(&j->feed, hocket_json_get(result, "usage"), is_kept ? name : "");
    hocket_json_free(result);
}

/* What a run came to. */
static void show(struct job *j)
{
    bool spaced = j->screen.terminal && !(j->args.flags & CLI_QUIET) && cli_out_is_terminal();
    cli_feed_flush(&j->feed);
    if (j->result.text.n == 0)
        cli_feed_keep(&j->feed);
    cli_screen_end(&j->screen);
    cli_out_flush();
    print_answer(j, spaced);
    say_error(j);
    j->partial = say_partial(j);
    if (cli_out_failure()) {
        struct cli_buf line = { 0 };
        cli_buf_addf(&line, "error: cannot write to stdout: %s", strerror(cli_out_failure()));
        cli_screen_say(&j->screen, CLI_BAD, line.p);
        cli_buf_free(&line);
    }
    say_usage(j);
}

/* Whether it can be resumed once this process has ended. */
static bool waits(const struct job *j)
{
    return j->result.status == HOCKET_EPARKED && cli_store_outlives(j->args.store);
}

static int exit_code(const struct job *j)
{
    bool ended = j->result.status == HOCKET_ECANCELLED || j->result.status == HOCKET_EPARKED;
    if (ended && cli_signal_taken())
        return cli_exit_of_signal(cli_signal_taken());
    int code = cli_exit_of(j->result.status);
    if (code == CLI_EXIT_PARKED && !waits(j))
        code = CLI_EXIT_FAILED;
    bool failed = cli_out_failure() || (j->partial && (j->args.flags & CLI_STRICT));
    return code == 0 && failed ? CLI_EXIT_FAILED : code;
}

static int finish(struct job *j)
{
    cli_sink_close(j->sink, j->cancelled, &j->screen);
    cli_signals_end();
    cli_host_close(j->host);
    return exit_code(j);
}

static void run_once(struct job *j)
{
    cli_screen_start(&j->screen, !(j->args.flags & CLI_QUIET), !(j->args.flags & CLI_NO_COLOR));
    cli_feed_start(
        &j->feed, &j->screen, (j->args.flags & CLI_QUIET), (j->args.flags & CLI_VERBOSE));
    if (j->args.asks)
        cli_screen_say(&j->screen, CLI_DIM,
            "no target was named, so the assistant answers (hocket run assistant \"…\")");
    j->args.live = j->screen.live;
    cli_signals_limit(j->args.timeout);
    if (!j->args.resume)
        cli_ping_start(&j->ping);
    start(j);
    work(j);
    cli_signals_limit(0);
    show(j);
    cli_ping_end(&j->ping, j->parked.run, exit_code(j), waits(j));
    cli_feed_end(&j->feed);
}

/* Again and again, each time something changes; the exit code is that of the last run. */
static void run_on_changes(struct job *j)
{
    while (cli_watcher_wait(&j->watcher) && !cli_out_failure()) {
        cli_result_free(&j->result);
        j->result = (struct cli_result){ 0 };
        run_once(j);
    }
}

static int run(struct job *j)
{
    char *target = NULL;
    struct hocket_options store = { 0 };
    cli_store_for_runs(&store, j->args.store, j->args.durability);
    store.store_optional &= !j->args.resume;
    give_stdout(j, &store);
    int rc = open_sink(j);
    if (rc == CLI_GO_ON)
        rc = change_directory(j, &target);
    if (cli_run_args_missing(&j->args))
        store.store = NULL;
    j->is_kept = store.store && !j->args.record && !j->args.replay;
    /* An agent asks a model at once; a script may ask none, and loads libcurl with its first request. */
    bool is_script = j->args.target && cli_text_ends(j->args.target, ".lua");
    if (rc == CLI_GO_ON && !j->args.replay && !is_script)
        cli_host_early_http();
    j->host = rc == CLI_GO_ON ? cli_host_open_store(&j->screen, &store, &rc) : NULL;
    if (!j->host) {
        cli_sink_close(j->sink, j->cancelled, &j->screen);
        free(target);
        return rc;
    }
    rc = cli_host_offer(j->host, "run", j->args.offer);
    if (rc != CLI_EXIT_DONE) {
        cli_host_close(j->host);
        cli_sink_close(j->sink, j->cancelled, &j->screen);
        free(target);
        return rc;
    }
    j->parked.ping = j->args.ping;
    j->ping = (struct cli_ping){ .url = j->args.ping, .screen = &j->screen, .host = j->host };
    cli_signals_start(j->host);
    cli_host_telemetry(j->host, &j->screen);
    if (j->args.flags & CLI_WATCH)
        cli_watcher_start(&j->watcher, j->host, &j->screen, &j->args);
    start_asking(j);
    j->args.park = store.store && !j->args.interactive && !j->args.record && !j->args.replay;
    run_once(j);
    run_on_changes(j);
    rc = finish(j);
    cli_watcher_end(&j->watcher);
    cli_asker_end(&j->asker);
    cli_reader_end(&j->reader);
    cli_parked_free(&j->parked);
    free(target);
    return rc;
}

int cli_run_go(const struct cli_run_args *args)
{
    struct job j = { .args = *args };
    int rc = run(&j);
    cli_result_free(&j.result);
    return rc;
}

static const struct cli_option own[] = {
    { CLI_BIT('d', "detach", struct cli_run_args, flags, CLI_DETACH,
        "put the run with its files into the store for a worker (hocket work) instead of\n"
        "running it here, and print its id; hocket wait ID prints its answer") },
    { CLI_TEXT(0, "pool", "NAME", struct cli_run_args, pool,
        "the pool of a detached run, whose workers may take it (default)") },
    { 0 },
};

static int main_run(const struct cli_command *self, int argc, char **argv)
{
    struct cli_run_args args = { .command = "run", .consent = true };
    int rc = cli_run_args_read(self, argc, argv, &args);
    if (rc == CLI_GO_ON && args.pool && !(args.flags & CLI_DETACH))
        rc = cli_usage("run", "--pool is for a run that a worker does (--detach)");
    if (rc == CLI_GO_ON && args.format && (args.flags & CLI_WATCH))
        rc = cli_usage("run", "--format is not for a target that is watched (--watch)");
    if (rc == CLI_GO_ON)
        rc = (args.flags & CLI_DETACH) ? cli_run_detach(&args) : cli_run_go(&args);
    cli_run_args_free(&args);
    return rc;
}

const struct cli_command cli_run = {
    .name = "run",
    .usage = "TARGET [INPUT…]",
    .summary = "run a script, an agent or a team, and print its answer",
    .about =
        "Runs TARGET with an input and prints its answer on stdout. Everything else goes to "
        "stderr.\n"
        "\n"
        "TARGET  a script.lua, an agent.md, or a folder with agents (its main.lua, or the\n"
        "        agent that no other agent names)\n"
        "INPUT   the rest of the words, joined by spaces; '-' reads it from stdin\n"
        "\n"
        "On a terminal you may ask a question instead: hocket run \"how do I ...\" asks the "
        "built-in\n"
        "agent assistant. hocket agents lists all agents.\n"
        "\n"
        "The model is the first of these that is set: --model, the agent's file, HOCKET_MODEL, "
        "the\n"
        "first key in the environment (ANTHROPIC_API_KEY, OPENAI_API_KEY ...), a local server "
        "that\n"
        "answers. Without any of them the simulated model answers on a terminal, and says so;\n"
        "without a terminal that is an error, unless you chose it (--model sim).\n"
        "\n"
        "On a terminal the run may ask you: a question, a plan, approval of a tool call. Ctrl-D\n"
        "gives no answer. Without a terminal the run waits in the store (exit code 75) and prints\n"
        "the commands that answer and resume it. With --store off a question ends the run, and\n"
        "calls that need approval are denied.\n"
        "\n"
        "Ctrl-C cancels the run in order; a second one ends it at once.\n"
        "\n"
        "With --watch it runs again each time one of TARGET's files changes. A file with a "
        "mistake\n"
        "is reported, and hocket waits for the next change.",
    .examples = "  hocket run travel.lua \"Three days in Lisbon, with children\"\n"
                "  hocket run agents/food.md --model ollama/llama3.2 \"A picnic for six\"\n"
                "  hocket run team --model openai/gpt-6.1-terra --model "
                "critic=anthropic/claude-sonnet-5 …\n"
                "  hocket run team --events run.jsonl --timeout 120 - < request.txt > answer.md\n"
                "  hocket run team --json \"…\" | jq -r .text\n",
    .options = own,
    .shared = cli_run_options,
    .bit = CLI_FOR_RUN,
    .exit_codes = true,
    .main = main_run,
};

/* `hocket eval`: cases, run so many times with each model. The operation "eval" does the work; here are the options, the folder for
 * the runs, the signals and what is printed.
 *
 *     eval_run ──> a line or a row on stderr        SIGINT ──> the answer "stop": what is done is reported; a second one: at once */
#include <errno.h>
#include <hocket/hocket.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/command/command.h"
#include "cli/exit.h"
#include "cli/host/host.h"
#include "cli/out.h"
#include "cli/progress.h"
#include "cli/run_args/run_args.h"
#include "cli/screen.h"
#include "cli/signals.h"
#include "cli/store.h"
#include "cli/text.h"

/* How far an evaluation is, on stderr: a line for each run that is not as expected, and on a terminal a row below.
 *
 *     ✗ three days in Porto      contains (openai/gpt-6.1-terra, run 2)
 *     31/120 · 29 passed · 1 failed · 1 not measured · 0.0412 USD */

struct cli_eval_progress {
    struct cli_screen screen;
    bool verbose; /* a line for each run */
    bool quiet;   /* only what is not as expected */
};

static enum cli_tone tone_of(const char *state)
{
    return strcmp(state, "passed") == 0   ? CLI_GOOD
           : strcmp(state, "failed") == 0 ? CLI_BAD
                                          : CLI_WARN;
}

static void say(struct cli_eval_progress *p, const hocket_json *event)
{
    const char *state = cli_member(event, "state"), *what = cli_member(event, "failed_at");
    struct cli_buf line = { 0 }, shown = { 0 }, who = { 0 };
    what = *what ? what : *cli_member(event, "reason") ? cli_member(event, "reason") : state;
    cli_buf_addf(&line, "%s%s (%s, run %lld)", *cli_member(event, "failed_at") ? "failed: " : "",
        what, cli_member(event, "model"), cli_int(event, "turn"));
    cli_text_show(&shown, cli_buf_text(&line), line.n, false);
    cli_text_show(&who, cli_member(event, "case"), strlen(cli_member(event, "case")), false);
    cli_screen_line(&p->screen, tone_of(state), cli_buf_text(&who), cli_buf_text(&shown));
    cli_buf_free(&line);
    cli_buf_free(&shown);
    cli_buf_free(&who);
}

static void draw(struct cli_eval_progress *p, const hocket_json *event)
{
    struct cli_rows rows = { .count = 1 };
    struct cli_buf row = { 0 };
    cli_buf_addf(&row, "%lld/%lld · %lld passed", cli_int(event, "done"), cli_int(event, "total"),
        cli_int(event, "passed"));
    if (cli_int(event, "failed") > 0)
        cli_buf_addf(&row, " · %lld failed", cli_int(event, "failed"));
    if (cli_int(event, "unmeasured") > 0)
        cli_buf_addf(&row, " · %lld not measured", cli_int(event, "unmeasured"));
    cli_buf_addf(&row, " · %.4f USD", cli_number(event, "cost"));
    cli_text_cut(&rows.text, row.p, row.n, p->screen.columns > 2 ? p->screen.columns - 1 : 1);
    rows.width[0] = cli_text_width(rows.text.p, rows.text.n);
    cli_screen_draw(&p->screen, &rows);
    cli_buf_free(&row);
}

/* Whoever is killed leaves the folder: so it is said where it is. */
static void begin(struct cli_eval_progress *p, const hocket_json *event)
{
    const char *folder = cli_member(event, "folder");
    struct cli_buf line = { 0 };
    if (p->quiet)
        return;
    cli_buf_addf(&line, "%lld runs, which work in ", cli_int(event, "total"));
    cli_text_show(&line, folder, strlen(folder), false);
    cli_screen_line(&p->screen, CLI_DIM, NULL, line.p);
    cli_buf_free(&line);
}

static void go_on(struct cli_eval_progress *p, const hocket_json *event)
{
    const char *state = cli_member(event, "state");
    bool is_fine = strcmp(state, "passed") == 0 || strcmp(state, "interrupted") == 0;
    if (p->verbose || !is_fine)
        say(p, event);
    if (p->screen.live)
        draw(p, event);
}

/* Takes an event of the operation "eval"; ignores others. */
static void eval_on_event(struct cli_eval_progress *p, const struct hocket_event *e)
{
    bool begins = strcmp(e->type, "eval_started") == 0;
    if (!begins && strcmp(e->type, "eval_run") != 0)
        return;
    hocket_json *event = hocket_json_parse(e->json, e->json_len, NULL);
    (begins ? begin : go_on)(p, event);
    hocket_json_free(event);
}

#define STUCK 10 /* seconds of a script that never waits */

struct eval {
    struct cli_run_args run;
    struct cli_eval_progress progress;
    struct cli_result result;
    struct cli_buf models, only, tags; /* JSON, without the brackets */
    const char *target, *baseline, *save, *json, *junit, *judge_model, *from;
    int64_t times, jobs, seed;
    double max_cost, alpha;
    bool keep;
    char folder[4096];
};

/* ---- Options ------------------------------------------------------------------------- */

/* Several models are variants; AGENT=P/M holds in all of them. */
static int read_model(void *args, const char *command, const char *name, const char *value)
{
    struct eval *v = args;
    v->run.model = NULL;
    int rc = cli_read_model(&v->run, command, name, value);
    if (rc == 0 && v->run.model)
        cli_add_word(&v->models, value);
    v->run.model = NULL;
    return rc;
}

static const struct cli_option own[] = {
    { CLI_WORD(0, "target", "TARGET", struct eval, target,
        "evaluate this target instead of the ones in the cases") },
    { CLI_OWN('m', "model", "P/M", read_model,
        "the model of all agents; several are compared side by side; AGENT=P/M for one agent\n"
        "in all comparisons") },
    { CLI_COUNT('n', "repeat", "N", struct eval, times, 1, 1000, 0,
        "runs of each case with each model, instead of the case's own number (1)") },
    { CLI_COUNT(0, "jobs", "N", struct eval, jobs, 1, 256, 0, "the most runs at once (4)") },
    { CLI_LIST(0, "only", "NAME", struct eval, only, "only this case; repeatable") },
    { CLI_LIST(0, "tag", "TAG", struct eval, tags, "only cases with this tag; repeatable") },
    { CLI_WORD(0, "baseline", "FILE", struct eval, baseline,
        "compare with counts from --save: exit code 1 if something became worse, not for\n"
        "earlier failures") },
    { CLI_WORD(0, "save", "FILE", struct eval, save, "save the counts for --baseline") },
    { CLI_WORD('j', "json", "FILE", struct eval, json,
        "write the whole report, with each run; '-' is stdout") },
    { CLI_WORD(0, "junit", "FILE", struct eval, junit, "write it as JUnit XML") },
    { CLI_NUMBER(0, "max-cost", "USD", struct eval, max_cost, 0, CLI_MOST_SECONDS, -1,
        "dollars, as in 0.50",
        "the cost limit of all runs together; at the limit it ends early (exit code 5)") },
    { CLI_WORD(
        0, "judge-model", "P/M", struct eval, judge_model, "the model of judges that name none") },
    { CLI_COUNT(0, "seed", "N", struct eval, seed, 0, INT32_MAX, -1,
        "the seed of random numbers, also for models that support seeds") },
    { CLI_NUMBER(0, "alpha", "P", struct eval, alpha, CLI_SOME_SECONDS, 1 - CLI_SOME_SECONDS, -1,
        "a number between 0 and 1, as in 0.05",
        "the largest p of a worse result that counts as a regression (0.05)") },
    { CLI_FLAG(0, "keep", struct eval, keep,
        "keep the folders of failed runs, and print where they are") },
    { CLI_WORD(0, "from", "RUN|PATH", struct eval, from,
        "print a case made from a run, a recording, or all recordings of a folder, for\n"
        "editing") },
    { 0 },
};

static int check(const struct eval *v, const struct cli_args *args)
{
    if (v->from && args->count > 0)
        return cli_usage("eval", "--from makes a case: it goes without files of cases");
    if (!v->from && args->count == 0)
        return cli_usage("eval", "which cases? A file of them, or a directory with NAME.eval.yaml");
    return 0;
}

/* ---- The operation --------------------------------------------------------------------- */

static void add_list(struct cli_buf *out, const char *name, const struct cli_buf *words)
{
    cli_buf_key(out, name);
    cli_buf_addf(out, "[%s]", cli_buf_text(words));
}

static void add_count(struct cli_buf *out, const char *name, int64_t n)
{
    cli_buf_key(out, name);
    cli_buf_addf(out, "%lld", (long long) n);
}

static void add_number(struct cli_buf *out, const char *name, double n)
{
    cli_buf_key(out, name);
    cli_buf_addf(out, "%.12g", n);
}

static void add_numbers(const struct eval *v, struct cli_buf *out)
{
    if (v->times > 0)
        add_count(out, "times", v->times);
    if (v->jobs > 0)
        add_count(out, "jobs", v->jobs);
    if (v->seed >= 0)
        add_count(out, "seed", v->seed);
    if (v->max_cost >= 0)
        add_number(out, "max_cost", v->max_cost);
    if (v->alpha >= 0)
        add_number(out, "alpha", v->alpha);
    if (v->keep) {
        cli_buf_key(out, "keep");
        cli_buf_adds(out, "true");
    }
}

static void add_args(const struct eval *v, const struct cli_args *args, struct cli_buf *out)
{
    struct cli_buf paths = { 0 };
    for (int i = 0; i < args->count; i++)
        cli_add_word(&paths, args->words[i]);
    cli_buf_adds(out, "{");
    add_list(out, "paths", &paths);
    add_list(out, "models", &v->models);
    add_list(out, "only", &v->only);
    add_list(out, "tags", &v->tags);
    cli_buf_member(out, "folder", v->folder);
    cli_buf_member(out, "target", v->target);
    cli_buf_member(out, "baseline", v->baseline);
    cli_buf_member(out, "save", v->save);
    cli_buf_member(out, "report", v->json);
    cli_buf_member(out, "junit", v->junit);
    cli_buf_member(out, "judge_model", v->judge_model);
    cli_buf_member(out, "store", v->run.store);
    cli_buf_member(out, "from", v->from);
    add_numbers(v, out);
    cli_buf_key(out, "options");
    cli_run_args_json(&v->run, out);
    cli_buf_adds(out, "}");
    cli_buf_free(&paths);
}

static void on_event(hocket_host *host, uint64_t run, const struct hocket_event *e, void *ud)
{
    (void) host;
    (void) run;
    eval_on_event(&((struct eval *) ud)->progress, e);
}

static void on_done(hocket_host *host, uint64_t run, const struct hocket_result *result, void *ud)
{
    (void) host;
    (void) run;
    cli_result_set(&((struct eval *) ud)->result, result);
}

static void work(struct eval *v, hocket_host *host, const char *args)
{
    struct hocket_error err;
    uint64_t id = 0;
    if (hocket_call_start(host, "eval", args, &id, on_event, on_done, v, &err) < 0)
        cli_result_fail(&v->result, &err);
    for (bool stopped = false; !v->result.done;) {
        if (cli_signal_taken() && !stopped) {
            stopped = true;
            if (hocket_run_answer(host, id, "stop", "stop", 4, NULL) < 0)
                hocket_run_cancel(host, id); /* nothing runs yet */
        }
        hocket_wait(host, 1000);
        cli_signals_turned();
    }
}

/* ---- What is printed ----------------------------------------------------------------------- */

static void print(const struct eval *v)
{
    const struct cli_buf *text = &v->result.text, *json = &v->result.json;
    bool as_json = v->json && strcmp(v->json, "-") == 0;
    if (as_json)
        cli_out_json(cli_buf_text(json), json->n);
    else
        cli_out_shown(cli_buf_text(text), text->n);
}

/* What the report says, unless it could not be written, or somebody ended it. */
static int code_of(const struct eval *v)
{
    hocket_json *report = hocket_json_parse(cli_buf_text(&v->result.json), v->result.json.n, NULL);
    const char *unwritten = hocket_json_text(hocket_json_get(report, "unwritten"), NULL, NULL);
    int code = (int) hocket_json_int(hocket_json_get(report, "exit"), CLI_EXIT_DONE);
    if (unwritten)
        fprintf(stderr, "hocket eval: %s\n", unwritten);
    hocket_json_free(report);
    int out = cli_out_end();
    return cli_signal_taken() ? cli_exit_of_signal(cli_signal_taken()) : code ? code : out;
}

static int finish(const struct eval *v)
{
    if (v->result.status == 0) {
        print(v);
        return code_of(v);
    }
    cli_result_complain(&v->result, "eval");
    return cli_signal_taken() ? cli_exit_of_signal(cli_signal_taken())
                              : cli_exit_of(v->result.status);
}

/* ---- The folder of the runs ------------------------------------------------------------------ */

static int make_folder(struct eval *v)
{
    const char *tmp = getenv("TMPDIR");
    tmp = tmp && *tmp == '/' ? tmp : "/tmp";
    int n = snprintf(v->folder, sizeof(v->folder), "%s/hocket-eval-XXXXXX", tmp);
    if (n > 0 && (size_t) n < sizeof(v->folder) && cli_text_is_utf8(v->folder, (size_t) n)
        && mkdtemp(v->folder))
        return CLI_EXIT_DONE;
    fprintf(stderr, "hocket eval: no folder for the runs can be made in %s: %s\n", tmp,
        strerror(errno));
    return CLI_EXIT_FAILED;
}

static void leave_folder(const struct eval *v)
{
    if (rmdir(v->folder) < 0 && !v->keep)
        fprintf(stderr, "hocket eval: left behind: %s\n", v->folder);
}

/* ---- All ------------------------------------------------------------------------------------- */

static int start(struct eval *v, const struct cli_args *args)
{
    struct cli_buf json = { 0 };
    struct hocket_options store = { 0 };
    int rc = v->from ? CLI_EXIT_DONE : make_folder(v);
    if (rc != CLI_EXIT_DONE)
        return rc;
    cli_store_for_runs(&store, v->run.store, v->run.durability);
    cli_screen_start(&v->progress.screen, !(v->run.flags & CLI_QUIET) && !v->from,
        !(v->run.flags & CLI_NO_COLOR));
    v->progress.verbose = (v->run.flags & CLI_VERBOSE);
    v->progress.quiet = (v->run.flags & CLI_QUIET);
    hocket_host *host = cli_host_open_store(&v->progress.screen, &store, &rc);
    if (host) {
        cli_signals_start(host);
        cli_signals_patient();
        cli_signals_watch(STUCK);
        add_args(v, args, &json);
        work(v, host, json.p);
        cli_signals_end();
        cli_host_close(host);
    }
    cli_screen_end(&v->progress.screen);
    if (!v->from)
        leave_folder(v);
    cli_buf_free(&json);
    return host ? finish(v) : rc;
}

static int main_eval(const struct cli_command *self, int argc, char **argv)
{
    static struct eval v;
    struct cli_args args = { .ud = &v };
    v.run.command = "eval";
    v.run.input_from_stdin = true; /* what stands in files is nobody's typing */
    int rc = cli_args_read(self, argc, argv, &args);
    cli_out_claim(); /* for the report */
    if (rc == CLI_GO_ON && (rc = check(&v, &args)) == 0)
        rc = start(&v, &args);
    cli_run_args_free(&v.run);
    cli_result_free(&v.result);
    cli_buf_free(&v.models);
    cli_buf_free(&v.only);
    cli_buf_free(&v.tags);
    return rc;
}

const struct cli_command cli_eval = {
    .name = "eval",
    .usage = "FILE|DIR…",
    .summary = "run test cases several times and count the passes",
    .about =
        "A file of cases has inputs, and expectations for answers, tool calls, files and costs.\n"
        "Each case runs N times with each model, in its own folder. In a DIR it takes all files\n"
        "NAME.eval.yaml and NAME.eval.jsonl. A small one:\n"
        "\n"
        "  defaults:\n"
        "    target: travel.lua            # beside this file: a script, an agent, a folder\n"
        "  cases:\n"
        "    - name: two days in Rome\n"
        "      input: Two days in Rome, with a child\n"
        "      expect:\n"
        "        contains: [Day 1, Day 2]\n"
        "        not: Day 3\n"
        "        calls: [create_tasks, {never: execute_command}]\n"
        "        limits: {turns: 40, cost: 0.20}\n"
        "        judge: Each day has a plan that suits a child.\n"
        "\n"
        "Expectations: text, contains, not, pattern, not_pattern, schema, json, calls, files,\n"
        "limits, error, lua, judge. A run that fails because of its provider is not measured: it\n"
        "neither passes nor fails. hocket help guides/evaluation has all the details.",
    .examples = "  hocket eval travel.eval.yaml\n"
                "  hocket eval evals --repeat 10 --model openai/gpt-6.1-terra --model "
                "anthropic/claude-sonnet-5\n"
                "  hocket eval evals --repeat 10 --save main.json      # then, after a change:\n"
                "  hocket eval evals --repeat 10 --baseline main.json --junit eval.xml\n"
                "  hocket eval --from 01KANC >case.eval.yaml\n"
                "  hocket eval --from recordings >recordings/all.eval.yaml\n",
    .options = own,
    .shared = cli_run_options,
    .bit = CLI_FOR_EVAL,
    .shared_at = offsetof(struct eval, run),
    .exit_codes = true,
    .main = main_eval,
};

/* `hocket eval`: cases, run so many times with each model. The operation "eval" does the work; here are the options, the folder for
 * the runs, the signals and what is printed.
 *
 *     eval_run ──> a line or a row on stderr        SIGINT ──> the answer "stop": what is done is reported; a second one: at once */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/command/command.h"
#include "cli/eval/progress.h"
#include "cli/exit.h"
#include "cli/host/host.h"
#include "cli/out.h"
#include "cli/run_args/run_args.h"
#include "cli/signals.h"
#include "cli/store.h"
#include "cli/text.h"

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
        "who is evaluated, in place of those that the cases name") },
    { CLI_OWN('m', "model", "P/M", read_model,
        "the model for all agents; several stand side by side; AGENT=P/M for one agent\n"
        "of each") },
    { CLI_COUNT('n', "repeat", "N", struct eval, times, 1, 1000, 0,
        "runs of each case with each model, in place of what the cases say (1)") },
    { CLI_COUNT(0, "jobs", "N", struct eval, jobs, 1, 256, 0, "runs at once, at most (4)") },
    { CLI_LIST(
        0, "only", "NAME", struct eval, only, "this case alone; can be given several times") },
    { CLI_LIST(0, "tag", "TAG", struct eval, tags,
        "the cases that have this tag alone; can be given several times") },
    { CLI_WORD(0, "baseline", "FILE", struct eval, baseline,
        "compare with what --save has kept: exit code 1 for what has become worse, and not\n"
        "for what failed then as well") },
    { CLI_WORD(0, "save", "FILE", struct eval, save, "keep the counts for --baseline") },
    { CLI_WORD('j', "json", "FILE", struct eval, json,
        "write the whole report, with each run; '-' is stdout") },
    { CLI_WORD(0, "junit", "FILE", struct eval, junit, "write it as JUnit XML") },
    { CLI_NUMBER(0, "max-cost", "USD", struct eval, max_cost, 0, CLI_MOST_SECONDS, -1,
        "dollars, as in 0.50",
        "what all runs may cost together; it then ends early (exit code 5)") },
    { CLI_WORD(
        0, "judge-model", "P/M", struct eval, judge_model, "the model of judges that name none") },
    { CLI_COUNT(0, "seed", "N", struct eval, seed, 0, INT32_MAX, -1,
        "where what is left to chance begins, also given to models that take a seed") },
    { CLI_NUMBER(0, "alpha", "P", struct eval, alpha, CLI_SOME_SECONDS, 1 - CLI_SOME_SECONDS, -1,
        "a number between 0 and 1, as in 0.05",
        "what p a worse result has at most to be a regression (0.05)") },
    { CLI_FLAG(0, "keep", struct eval, keep,
        "leave the folders of runs that failed, and say where they are") },
    { CLI_WORD(0, "from", "RUN|PATH", struct eval, from,
        "print a case made of a run that was kept, of a recording, or of all those of a folder, "
        "to\n"
        "be edited") },
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

static void add_text(struct cli_buf *out, const char *name, const char *value)
{
    if (!value)
        return;
    cli_buf_key(out, name);
    cli_buf_json(out, value, strlen(value));
}

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
    add_text(out, "folder", v->folder);
    add_text(out, "target", v->target);
    add_text(out, "baseline", v->baseline);
    add_text(out, "save", v->save);
    add_text(out, "report", v->json);
    add_text(out, "junit", v->junit);
    add_text(out, "judge_model", v->judge_model);
    add_text(out, "store", v->run.store);
    add_text(out, "from", v->from);
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
    cli_eval_on_event(&((struct eval *) ud)->progress, e);
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
        cli_out_line(cli_buf_text(text), text->n);
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
    .summary = "run cases many times and count what is as expected",
    .about =
        "A file of cases says what is asked and what is expected of the answer, the calls of "
        "tools,\n"
        "files, costs; each case runs N times with each model, in a folder of its own. Of a DIR "
        "all\n"
        "files NAME.eval.yaml and NAME.eval.jsonl are taken. A small one:\n"
        "\n"
        "  defaults:\n"
        "    target: travel.lua            # beside this file: a script, an agent, a directory\n"
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
        "Expected can be: text, contains, not, pattern, not_pattern, schema, json, calls, files,\n"
        "limits, error, lua, judge. What fails because of a provider is not measured, and neither\n"
        "passed nor failed. docs/eval.md has it all.",
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

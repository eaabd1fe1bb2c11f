/* `hocket runs`: what is kept.
 *
 *     01KANC3V0QZJ   3 min  done          0.0123  team.lua  Three days in Lisbon */
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "cli/command/command.h"
#include "cli/command/command_impl.h"
#include "cli/exit.h"
#include "cli/out.h"
#include "cli/paper.h"
#include "cli/progress.h"
#include "cli/store.h"
#include "cli/story/story.h"
#include "cli/text.h"

#define ID    26
#define SHORT 12 /* letters of an id, on a terminal, where that is enough */

struct runs {
    bool json, eval, summary, stats;
    const char *store, *target, *since, *older, *webhook;
    int64_t limit;
    struct cli_buf states, labels;
};

static const struct cli_option options[] = {
    { CLI_LIST('s', "state", "queued|running|waiting|parked|done|failed|cancelled|cut-off|forked",
        struct runs, states,
        "only this state: queued (for a worker), running, waiting (for an input, a signal, a\n"
        "time), parked (for a person's answer), done, failed, cancelled, cut-off (its process\n"
        "has ended), forked; repeatable") },
    { CLI_TEXT('t', "target", "TARGET", struct runs, target,
        "only this target: as typed, or the name of its file or folder") },
    { CLI_LIST(0, "label", "KEY=VALUE", struct runs, labels,
        "only runs with this label (hocket run --label); repeatable") },
    { CLI_TEXT(0, "since", "AGE", struct runs, since,
        "only runs that began since then, for example 90s, 30m, 24h, 7d, 2w") },
    { CLI_TEXT(0, "older", "AGE", struct runs, older, "only runs that began before that") },
    { CLI_FLAG(0, "summary", struct runs, summary,
        "at most 20 lines instead of the list: failed, waiting, missed and finished runs, the\n"
        "cost, and the next commands") },
    { CLI_TEXT(0, "webhook", "URL", struct runs, webhook,
        "also post the result of --summary there, signed with HOCKET_WEBHOOK_SECRET, or with\n"
        "webhook-secret in the state directory") },
    { CLI_FLAG(0, "stats", struct runs, stats,
        "calls, failures, tokens, cost and time of each agent, instead of the list") },
    { CLI_COUNT('n', "limit", "N", struct runs, limit, 0, INT64_C(1) << 40, 50,
        "the most runs; default 50; 0: all") },
    { CLI_FLAG(0, "eval", struct runs, eval,
        "only runs of evaluations (hocket eval), which are omitted otherwise") },
    { CLI_FLAG('j', "json", struct runs, json,
        "print one JSON object: runs, more; or the summary, or the agents") },
    { CLI_TEXT(0, "store", "FILE", struct runs, store, CLI_STORE_HELP) },
    { 0 },
};

/* ---- A row --------------------------------------------------------------------------------------- */

static size_t common(const char *a, const char *b)
{
    size_t n = 0;
    while (a[n] && a[n] == b[n])
        n++;
    return n;
}

/* As long as its neighbours, which are sorted, make it: what a person types has to be one run. */
static size_t id_length(const hocket_json *before, const hocket_json *run)
{
    const hocket_json *after = hocket_json_next(run);
    size_t n = SHORT - 1, a = before ? common(cli_member(before, "id"), cli_member(run, "id")) : 0,
           b = after ? common(cli_member(after, "id"), cli_member(run, "id")) : 0;
    n = a > n ? a : n;
    return (b > n ? b : n) + 1;
}

static void add_age(struct cli_paper *p, const hocket_json *run)
{
    struct cli_buf age = { 0 };
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    int64_t ms = cli_int(run, "created_ms");
    cli_story_age(&age, (double) now.tv_sec - (double) ms / 1000);
    cli_paper_addf(p, CLI_PLAIN, "%8s  ", age.p);
    cli_buf_free(&age);
}

/* What is not known is a question mark, not nothing. */
static void add_cost(struct cli_paper *p, const hocket_json *run)
{
    double cost = hocket_json_number(hocket_json_get(run, "cost"), -1);
    if (cost < 0)
        cli_paper_addf(p, CLI_DIM, "%10s", "?");
    else
        cli_paper_addf(p, CLI_PLAIN, "%10.4f", cost);
    cli_paper_add(p, CLI_PLAIN, "  ");
}

static void add_budget(struct cli_paper *p, const hocket_json *open)
{
    const char *project = cli_member(open, "project"), *until = cli_member(open, "until");
    cli_paper_add(p, CLI_WARN, "(the budget of ");
    cli_paper_shown(p, CLI_WARN, project, strlen(project), 64);
    cli_paper_add(p, CLI_WARN, " is used up until ");
    cli_paper_shown(p, CLI_WARN, until, strlen(until), 64);
    cli_paper_add(p, CLI_WARN, ")  ");
}

/* One that waits for its project's budget, whatever else it waits for. */
static void add_open(struct cli_paper *p, const hocket_json *run)
{
    const hocket_json *one = hocket_json_first(hocket_json_get(run, "waiting_for"));
    while (one && strcmp(cli_member(one, "kind"), "budget") != 0)
        one = hocket_json_next(one);
    if (one)
        add_budget(p, one);
}

/* What one waits for that nobody does: workers of its pool, a time, or another worker than had it. */
static void add_wait(struct cli_paper *p, const hocket_json *run)
{
    const char *pool = cli_member(run, "pool"), *why = cli_member(run, "put_off");
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    double due = cli_number(run, "due_ms") / 1000 - (double) now.tv_sec;
    if (strcmp(cli_member(run, "state"), "queued") != 0)
        return;
    if (*pool && strcmp(pool, "default") != 0) {
        cli_paper_add(p, CLI_DIM, "(for pool ");
        cli_paper_shown(p, CLI_DIM, pool, strlen(pool), 0);
        cli_paper_add(p, CLI_DIM, ")  ");
    }
    if (*why) {
        cli_paper_add(p, CLI_WARN, "(no worker could go on: ");
        cli_paper_shown(p, CLI_WARN, why, strlen(why), 200);
        cli_paper_add(p, CLI_WARN, ")  ");
    } else if (due > 0) {
        struct cli_buf left = { 0 };
        cli_story_age(&left, due);
        cli_paper_addf(p, CLI_DIM, "(in %s)  ", left.p);
        cli_buf_free(&left);
    }
}

/* `ids`: the column's width. */
static void say(struct cli_paper *p, const hocket_json *run, size_t id_len, size_t ids)
{
    size_t n;
    const char *input = hocket_json_text(hocket_json_get(run, "input"), "", &n);
    const char *id = cli_member(run, "id"), *target = cli_member(run, "target");
    cli_paper_shown(p, CLI_PLAIN, id, strnlen(id, id_len), 0);
    cli_paper_to(p, ids);
    add_age(p, run);
    cli_story_state(p, cli_member(run, "state"));
    cli_paper_to(p, ids + 20);
    add_cost(p, run);
    cli_paper_shown(p, CLI_PLAIN, target, strlen(target), p->terminal ? cli_paper_left(p) / 2 : 0);
    cli_paper_add(p, CLI_PLAIN, "  ");
    add_open(p, run);
    add_wait(p, run);
    cli_paper_shown(p, CLI_DIM, input, n, cli_paper_left(p));
    cli_paper_line(p);
}

static void head(struct cli_paper *p, size_t ids)
{
    cli_paper_add(p, CLI_DIM, "run");
    cli_paper_to(p, ids);
    cli_paper_addf(p, CLI_DIM, "%8s  %-10s%10s  target, input", "age", "state", "USD");
    cli_paper_line(p);
}

/* Whole ids for programs; for a person as much as is needed. */
static size_t ids_of(const struct cli_paper *p, const hocket_json *runs)
{
    const hocket_json *before = NULL;
    size_t most = p->terminal ? SHORT : ID;
    for (const hocket_json *r = hocket_json_first(runs); r && most < ID; r = hocket_json_next(r)) {
        size_t n = id_length(before, r);
        most = n > most ? n : most;
        before = r;
    }
    return most < ID ? most : ID;
}

static void print(const hocket_json *answer)
{
    const hocket_json *before = NULL, *runs = hocket_json_get(answer, "runs");
    struct cli_paper p;
    cli_paper_start(&p);
    size_t ids = ids_of(&p, runs);
    if (p.terminal && hocket_json_first(runs))
        head(&p, ids);
    for (const hocket_json *r = hocket_json_first(runs); r; r = hocket_json_next(r)) {
        say(&p, r, p.terminal ? id_length(before, r) : ID, ids);
        before = r;
    }
    cli_paper_end(&p);
    bool evals = cli_is(answer, "evals_left_out");
    if (!hocket_json_first(runs))
        fprintf(stderr, "hocket runs: there are none%s\n",
            evals ? " but those of evaluations: --eval lists them" : "");
    else if (cli_is(answer, "more"))
        fprintf(stderr, "hocket runs: there are older ones: --limit 0 lists all\n");
}

/* ---- All --------------------------------------------------------------------------------------------- */

static int list(const struct runs *r)
{
    struct cli_buf args = { 0 };
    struct cli_result result;
    cli_buf_addf(
        &args, "{\"limit\":%lld,\"eval\":%s", (long long) r->limit, r->eval ? "true" : "false");
    if (r->states.n > 0)
        cli_buf_addf(&args, ",\"state\":[%s]", r->states.p);
    if (r->labels.n > 0)
        cli_buf_addf(&args, ",\"label\":[%s]", r->labels.p);
    cli_buf_member(&args, "target", r->target);
    cli_buf_member(&args, "since", r->since);
    cli_buf_member(&args, "older", r->older);
    cli_buf_member(&args, "webhook", r->webhook);
    cli_buf_addf(&args, ",\"summary\":%s,\"stats\":%s}", r->summary ? "true" : "false",
        r->stats ? "true" : "false");
    int rc = cli_stored_call("runs", "runs", args.p, r->store, &result);
    cli_buf_free(&args);
    if (rc != CLI_EXIT_DONE)
        return rc;
    if (r->json) {
        cli_out_json(result.json.p, result.json.n);
    } else if (r->summary || r->stats) {
        cli_out_shown(cli_buf_text(&result.text), result.text.n);
    } else {
        hocket_json *answer = hocket_json_parse(result.json.p, result.json.n, NULL);
        print(answer);
        hocket_json_free(answer);
    }
    cli_result_free(&result);
    return cli_out_end();
}

static int main_runs(const struct cli_command *self, int argc, char **argv)
{
    struct runs r = { 0 };
    struct hocket_options o;
    struct cli_args args = { .ud = &r };
    int rc = cli_args_read(self, argc, argv, &args);
    if (rc == CLI_GO_ON && args.count > 0)
        rc = cli_usage("runs", "expected no words: hocket show %s shows one run", args.words[0]);
    if (rc == CLI_GO_ON && !cli_store_look(&o, "runs", r.store)) { /* none is an answer, too */
        if (r.json)
            cli_out_line("{\"runs\":[],\"more\":false}", 24);
        rc = r.webhook ? CLI_EXIT_FAILED : cli_out_end(); /* it was not told */
    }
    if (rc == CLI_GO_ON)
        rc = list(&r);
    cli_buf_free(&r.states);
    cli_buf_free(&r.labels);
    return rc;
}

const struct cli_command cli_runs = {
    .name = "runs",
    .usage = "",
    .summary = "list the stored runs, newest first",
    .about =
        "Prints a line for each run: its id, age, state, cost, target and input. Wherever a "
        "command\n"
        "takes an id, you may shorten it while it is unique; last is the newest run, last:TARGET\n"
        "the newest of a target. hocket resume continues an interrupted run.",
    .examples = "  hocket runs\n"
                "  hocket runs --state parked --state cut-off\n"
                "  hocket runs --since 24h --summary\n"
                "  hocket runs --json --limit 0 | jq '[.runs[].cost // 0] | add'\n",
    .options = options,
    .main = main_runs,
};

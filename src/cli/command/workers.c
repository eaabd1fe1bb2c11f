/* `hocket workers`: who works for a store, what lies in its pools, and what waits for whom.
 *
 *     worker      state    runs   here   last seen version  pools
 *     db1 4711    working  3/8    2 h    5 s ago   0.1.0    default, gpu
 *
 *     pool        queued  for    running  later  waiting  parked  workers
 *     gpu         4       3 min  0        0      0        0       none: nobody takes what is queued */
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "cli/command/command.h"
#include "cli/command/command_impl.h"
#include "cli/exit.h"
#include "cli/out.h"
#include "cli/paper.h"
#include "cli/store.h"
#include "cli/story/story.h"
#include "cli/text.h"

#define REASONS 4  /* of one run, in its line */
#define NAME    24 /* columns of a worker's, or a pool's, name */

struct workers {
    bool json;
    const char *store;
};

static const struct cli_option options[] = {
    { CLI_FLAG('j', "json", struct workers, json,
        "print one JSON object: workers, pools, blocked, more") },
    { CLI_TEXT(0, "store", "FILE", struct workers, store, CLI_STORE_HELP) },
    { 0 },
};

/* ---- Pieces of a line --------------------------------------------------------------------------- */

static const char *text(const hocket_json *one, const char *name, size_t *n)
{
    return hocket_json_text(hocket_json_get(one, name), "", n);
}

static void add_text(struct cli_paper *p, const hocket_json *one, const char *name, size_t columns)
{
    size_t n;
    const char *value = text(one, name, &n);
    cli_paper_shown(p, CLI_PLAIN, value, n, columns);
}

/* How long ago a time is; nothing where it is not known. */
static void add_age(
    struct cli_paper *p, const hocket_json *one, const char *name, const char *after)
{
    struct cli_buf age = { 0 };
    struct timespec now;
    int64_t ms = hocket_json_int(hocket_json_get(one, name), -1);
    clock_gettime(CLOCK_REALTIME, &now);
    cli_story_age(&age, (double) now.tv_sec - (double) ms / 1000);
    cli_paper_addf(p, CLI_PLAIN, "%s%s", ms < 0 ? "-" : age.p, ms < 0 ? "" : after);
    cli_buf_free(&age);
}

static void head(struct cli_paper *p, const char *first, const char *rest)
{
    cli_paper_add(p, CLI_DIM, first);
    cli_paper_to(p, NAME);
    cli_paper_add(p, CLI_DIM, rest);
    cli_paper_line(p);
}

/* ---- Workers -------------------------------------------------------------------------------------- */

static void add_runs(struct cli_paper *p, const hocket_json *w)
{
    const hocket_json *max = hocket_json_get(w, "max_runs");
    cli_paper_addf(
        p, CLI_PLAIN, "%lld/%lld", cli_int(w, "runs"), (long long) hocket_json_int(max, 0));
}

static void add_pools(struct cli_paper *p, const hocket_json *w)
{
    const char *between = "";
    size_t n;
    for (const hocket_json *one = hocket_json_first(hocket_json_get(w, "pools")); one;
         one = hocket_json_next(one)) {
        const char *name = hocket_json_text(one, "", &n);
        cli_paper_add(p, CLI_PLAIN, between);
        cli_paper_shown(p, CLI_PLAIN, name, n, 0);
        between = ", ";
    }
}

static void say_worker(struct cli_paper *p, const hocket_json *w)
{
    const char *state = text(w, "state", NULL);
    add_text(p, w, "host", NAME - 9);
    cli_paper_addf(p, CLI_DIM, " %lld", cli_int(w, "pid"));
    cli_paper_to(p, NAME);
    cli_paper_add(p,
        strcmp(state, "lost") == 0       ? CLI_BAD
        : strcmp(state, "draining") == 0 ? CLI_WARN
                                         : CLI_GOOD,
        state);
    cli_paper_to(p, NAME + 10);
    add_runs(p, w);
    cli_paper_to(p, NAME + 20);
    add_age(p, w, "since_ms", "");
    cli_paper_to(p, NAME + 28);
    add_age(p, w, "seen_ms", " ago");
    cli_paper_to(p, NAME + 40);
    add_text(p, w, "version", 9);
    cli_paper_to(p, NAME + 50);
    add_pools(p, w);
    cli_paper_line(p);
}

static void say_workers(struct cli_paper *p, const hocket_json *list)
{
    head(p, "worker", "state     runs      here    last seen   version   pools");
    if (!hocket_json_first(list)) {
        cli_paper_add(p, CLI_WARN, "none: 'hocket work' starts one");
        cli_paper_line(p);
    }
    for (const hocket_json *w = hocket_json_first(list); w; w = hocket_json_next(w))
        say_worker(p, w);
}

/* ---- Pools ------------------------------------------------------------------------------------------ */

static void say_pool(struct cli_paper *p, const hocket_json *pool)
{
    static const char *const counts[] = { "running", "later", "waiting", "parked" };
    bool unserved = cli_is(pool, "unserved");
    add_text(p, pool, "name", NAME - 1);
    cli_paper_to(p, NAME);
    cli_paper_addf(p, unserved ? CLI_BAD : CLI_PLAIN, "%lld", cli_int(pool, "queued"));
    cli_paper_to(p, NAME + 10);
    add_age(p, pool, "oldest_ms", "");
    for (size_t i = 0; i < sizeof(counts) / sizeof(counts[0]); i++) {
        cli_paper_to(p, NAME + 18 + 9 * i);
        cli_paper_addf(p, CLI_PLAIN, "%lld", cli_int(pool, counts[i]));
    }
    cli_paper_to(p, NAME + 54);
    if (unserved)
        cli_paper_add(p, CLI_BAD, "none: nobody takes what is queued");
    else
        cli_paper_addf(p, CLI_PLAIN, "%lld", cli_int(pool, "workers"));
    cli_paper_line(p);
}

static void say_pools(struct cli_paper *p, const hocket_json *list)
{
    if (!hocket_json_first(list))
        return;
    cli_paper_line(p);
    head(p, "pool", "queued    for     running  later    waiting  parked   workers");
    for (const hocket_json *pool = hocket_json_first(list); pool; pool = hocket_json_next(pool))
        say_pool(p, pool);
}

/* ---- What waits for whom ----------------------------------------------------------------------------- */

/* " travel (calls) until 2026-11-24 00:00 UTC" */
static void say_budget(struct cli_paper *p, const hocket_json *one)
{
    cli_paper_add(p, CLI_PLAIN, " ");
    add_text(p, one, "project", 64);
    cli_paper_add(p, CLI_PLAIN, " (");
    add_text(p, one, "limit", 16);
    cli_paper_add(p, CLI_PLAIN, ") until ");
    add_text(p, one, "until", 64);
}

static void say_reason(struct cli_paper *p, const hocket_json *one)
{
    const char *run = text(one, "run", NULL), *kind = text(one, "kind", NULL);
    cli_paper_add(p, CLI_PLAIN, "  ");
    add_text(p, one, "kind", 0);
    if (strcmp(kind, "run") == 0)
        cli_paper_addf(p, CLI_PLAIN, " %s", run);
    else if (strcmp(kind, "budget") == 0)
        say_budget(p, one);
    else if (*text(one, "name", NULL)) {
        cli_paper_add(p, CLI_PLAIN, " ");
        add_text(p, one, "name", 40);
    }
    if (*text(one, "state", NULL)) {
        cli_paper_addf(p, CLI_DIM, " (%s in pool ", text(one, "state", NULL));
        add_text(p, one, "pool", 0);
        cli_paper_add(p, CLI_DIM, ")");
    }
}

static void say_blocked(struct cli_paper *p, const hocket_json *list)
{
    if (!hocket_json_first(list))
        return;
    cli_paper_line(p);
    head(p, "waits", "      since   for");
    for (const hocket_json *b = hocket_json_first(list); b; b = hocket_json_next(b)) {
        const hocket_json *one = hocket_json_first(hocket_json_get(b, "waits_for"));
        add_text(p, b, "run", 0);
        cli_paper_to(p, NAME + 6);
        add_age(p, b, "since_ms", "");
        cli_paper_to(p, NAME + 12);
        size_t n = 0;
        for (; one && n < REASONS; one = hocket_json_next(one), n++)
            say_reason(p, one);
        if (one)
            cli_paper_add(p, CLI_DIM, "  and others");
        cli_paper_line(p);
    }
}

/* ---- All --------------------------------------------------------------------------------------------- */

static void print(const struct cli_result *result, const void *ud)
{
    hocket_json *told = hocket_json_parse(result->json.p, result->json.n, NULL);
    struct cli_paper p;
    (void) ud;
    cli_paper_start(&p);
    say_workers(&p, hocket_json_get(told, "workers"));
    say_pools(&p, hocket_json_get(told, "pools"));
    say_blocked(&p, hocket_json_get(told, "blocked"));
    cli_paper_end(&p);
    if (cli_is(told, "more"))
        fprintf(stderr, "hocket workers: more runs wait than are shown\n");
    hocket_json_free(told);
}

static int main_workers(const struct cli_command *self, int argc, char **argv)
{
    struct workers w = { 0 };
    struct hocket_options o;
    struct cli_args args = { .ud = &w };
    int rc = cli_args_read(self, argc, argv, &args);
    if (rc == CLI_GO_ON && args.count > 0)
        rc = cli_usage("workers", "expected no words");
    if (rc == CLI_GO_ON && !cli_store_look(&o, "workers", w.store)) { /* none is an answer, too */
        static const char none[] = "{\"workers\":[],\"pools\":[],\"blocked\":[],\"more\":false}";
        if (w.json)
            cli_out_line(none, sizeof(none) - 1);
        return cli_out_end();
    }
    return rc == CLI_GO_ON
               ? cli_stored_show("workers", "workers", "{}", w.store, w.json, print, NULL)
               : rc;
}

const struct cli_command cli_workers = {
    .name = "workers",
    .usage = "",
    .summary = "list the workers of a store, its pools, and waiting runs",
    .about =
        "A worker without a sign of life for a minute is lost, and others take its runs over. For\n"
        "each pool it shows queued runs and their age, active runs, runs that are due later, runs\n"
        "that wait for an input, a signal or another run, and runs that are parked for a person.",
    .examples = "  hocket workers --store postgres://hocket@db.example/app\n"
                "  hocket workers --json | jq '.pools[] | select(.unserved).name'\n",
    .options = options,
    .main = main_workers,
};

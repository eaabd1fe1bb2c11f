/* `hocket run --watch`: waits for changes to the target and decides when to run again (watcher.h). A
 * run may write files beside its agents, which would start the next run, for ever.
 * So changes of the same files during a run, or right after it, count as its own, and a message
 * reports that. */
#include "cli/run/watcher.h"

#include <string.h>
#include <sys/stat.h>
#include <time.h>

#include "cli/out.h"
#include "cli/signals.h"
#include "cli/text.h"

#define OWN_TIMES 3    /* runs on end that change the same files: they are what it writes */
#define OWN_MS    1000 /* so soon after its end a change is still its own */

static int64_t as_ms(struct timespec t)
{
    return (int64_t) t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

static int64_t now_ms(clockid_t clock)
{
    struct timespec t;
    clock_gettime(clock, &t);
    return as_ms(t);
}

/* One of them, without what says that it is new or gone. */
static const char *name_at(const hocket_json *changed, size_t i)
{
    const char *name = hocket_json_text(hocket_json_at(changed, i), "", NULL);
    return name + strspn(name, "+-");
}

/* "food.md, wine.md" */
static void add_names(struct cli_buf *out, const hocket_json *changed)
{
    for (size_t i = 0; i < hocket_json_count(changed); i++)
        cli_buf_addf(out, "%s%s", i ? ", " : "", name_at(changed, i));
}

/* When the last of them was written; INT64_MAX: that cannot be told. */
static int64_t written_ms(const hocket_json *changed)
{
    size_t n = hocket_json_count(changed);
    int64_t last = n ? 0 : INT64_MAX;
    for (size_t i = 0; i < n; i++) {
        struct stat st;
        int64_t ms = stat(name_at(changed, i), &st) == 0 ? as_ms(st.st_ctim) : INT64_MAX;
        last = ms > last ? ms : last;
    }
    return last;
}

/* Written while it ran, or right after; of what is gone, noticed then: a busy machine notices late. */
static bool is_soon(const struct cli_watcher *w, const hocket_json *changed)
{
    return w->running || now_ms(CLOCK_MONOTONIC) - w->ended_ms < OWN_MS
           || written_ms(changed) < w->ended_at + OWN_MS;
}

/* Whether the run itself has made this change, as far as one can tell. */
static bool is_own(struct cli_watcher *w, const hocket_json *changed)
{
    struct cli_buf names = { 0 };
    bool soon = is_soon(w, changed);
    add_names(&names, changed);
    bool same = w->own.p && names.p && strcmp(w->own.p, names.p) == 0;
    w->times = !soon ? 0 : same ? w->times + 1 : 1;
    cli_buf_free(&w->own);
    w->own = names;
    return w->times >= OWN_TIMES;
}

static void say_own(struct cli_watcher *w)
{
    struct cli_buf line = { 0 };
    cli_buf_addf(
        &line, "not run again: each run changes %s itself, as it seems", w->own.p ? w->own.p : "");
    cli_screen_say(w->screen, CLI_WARN, line.p);
    cli_buf_free(&line);
}

/* "changed: food.md, +wine.md (generation 3)"; or, when a change that was not taken has been undone,
 * "as before (generation 2)" */
static void say_changed(struct cli_watcher *w, const hocket_json *event)
{
    struct cli_buf line = { 0 };
    const hocket_json *changed = hocket_json_get(event, "changed");
    if (hocket_json_count(changed) == 0)
        cli_buf_addf(&line, "as before");
    for (size_t i = 0; i < hocket_json_count(changed); i++)
        cli_buf_addf(&line, "%s%s",
            i ? ", " : "changed: ", hocket_json_text(hocket_json_at(changed, i), "", NULL));
    cli_buf_addf(&line, " (generation %lld)", cli_int(event, "generation"));
    cli_screen_say(w->screen, CLI_GOOD, line.p);
    cli_buf_free(&line);
}

static void say_wrong(struct cli_watcher *w, const char *what, const hocket_json *event)
{
    struct cli_buf line = { 0 };
    cli_buf_addf(&line, "%s: %s", what, cli_member(event, "message"));
    cli_screen_say(w->screen, CLI_WARN, line.p);
    cli_buf_free(&line);
}

static void on_event(hocket_host *host, uint64_t call, const struct hocket_event *e, void *ud)
{
    struct cli_watcher *w = ud;
    hocket_json *event = hocket_json_parse(e->json, e->json_len, NULL);
    (void) host;
    (void) call;
    if (strcmp(e->type, "agent_watch") == 0) {
        w->watching = true;
    } else if (strcmp(e->type, "agent_reloaded") == 0) {
        say_changed(w, event);
        if (is_own(w, hocket_json_get(event, "changed")))
            say_own(w);
        else if (hocket_json_count(hocket_json_get(event, "changed")) > 0)
            w->changed = true;
    } else if (strcmp(e->type, "agent_reload_failed") == 0) {
        say_wrong(w, "not taken", event);
    } else if (strcmp(e->type, "warning") == 0) {
        say_wrong(w, "warning", event);
    }
    hocket_json_free(event);
}

static void on_done(hocket_host *host, uint64_t call, const struct hocket_result *result, void *ud)
{
    struct cli_watcher *w = ud;
    struct cli_buf line = { 0 };
    (void) host;
    (void) call;
    w->call = 0;
    if (result->status == HOCKET_OK || result->status == HOCKET_ECANCELLED)
        return;
    cli_buf_addf(
        &line, "warning: it is not watched: %s", result->error ? result->error->message : "");
    cli_screen_say(w->screen, CLI_WARN, line.p);
    cli_buf_free(&line);
}

void cli_watcher_start(struct cli_watcher *w, hocket_host *host, struct cli_screen *screen,
    const struct cli_run_args *run)
{
    struct cli_buf args = { 0 };
    *w = (struct cli_watcher){ .host = host, .screen = screen, .running = true };
    cli_buf_adds(&args, "{");
    cli_buf_member(&args, "path", run->target);
    cli_buf_adds(&args, ",\"options\":");
    cli_run_args_json(run, &args);
    cli_buf_adds(&args, "}");
    if (hocket_call_start(host, "watch", args.p, &w->call, on_event, on_done, w, NULL) < 0)
        w->call = 0;
    cli_buf_free(&args);
    while (w->call && !w->watching && !cli_signal_taken())
        hocket_wait(w->host, -1);
}

void cli_watcher_end(struct cli_watcher *w)
{
    cli_buf_free(&w->own);
}

bool cli_watcher_wait(struct cli_watcher *w)
{
    w->running = false;
    w->ended_ms = now_ms(CLOCK_MONOTONIC);
    w->ended_at = now_ms(CLOCK_REALTIME);
    if (w->call && !w->changed)
        cli_screen_say(w->screen, CLI_DIM, "waiting for changes; Ctrl-C ends");
    while (w->call && !w->changed && !cli_signal_taken())
        hocket_wait(w->host, -1);
    bool changed = w->changed;
    w->changed = false;
    w->running = true;
    return changed && !cli_signal_taken();
}

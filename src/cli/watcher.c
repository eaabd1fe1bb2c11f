#include "cli/watcher.h"

#include <string.h>

#include "cli/out.h"
#include "cli/signals.h"
#include "cli/text.h"

/* "changed: food.md, +wine.md (generation 3)" */
static void say_changed(struct cli_watcher *w, const hocket_json *event)
{
    struct cli_buf line = { 0 };
    const hocket_json *changed = hocket_json_get(event, "changed");
    for (size_t i = 0; i < hocket_json_count(changed); i++)
        cli_buf_addf(&line, "%s%s", i ? ", " : "changed: ", hocket_json_text(hocket_json_at(changed, i), "", NULL));
    cli_buf_addf(&line, " (generation %lld)", (long long) hocket_json_int(hocket_json_get(event, "generation"), 0));
    cli_screen_say(w->screen, CLI_GOOD, line.p);
    cli_buf_free(&line);
}

static void say_failed(struct cli_watcher *w, const hocket_json *event)
{
    struct cli_buf line = { 0 };
    cli_buf_addf(&line, "not taken: %s", hocket_json_text(hocket_json_get(event, "message"), "", NULL));
    cli_screen_say(w->screen, CLI_WARN, line.p);
    cli_buf_free(&line);
}

static void on_event(hocket_host *host, uint64_t call, const struct hocket_event *e, void *ud)
{
    struct cli_watcher *w = ud;
    hocket_json *event = hocket_json_parse(e->json, e->json_len, NULL);
    (void) host;
    (void) call;
    if (strcmp(e->type, "agent_reloaded") == 0) {
        w->changed = true;
        say_changed(w, event);
    } else if (strcmp(e->type, "agent_reload_failed") == 0) {
        say_failed(w, event);
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
    cli_buf_addf(&line, "warning: it is not watched: %s", result->error ? result->error->message : "");
    cli_screen_say(w->screen, CLI_WARN, line.p);
    cli_buf_free(&line);
}

void cli_watcher_start(
    struct cli_watcher *w, hocket_host *host, struct cli_screen *screen, const char *target)
{
    struct cli_buf args = { 0 };
    *w = (struct cli_watcher) { .host = host, .screen = screen };
    cli_buf_adds(&args, "{\"path\":");
    cli_buf_json(&args, target, strlen(target));
    cli_buf_adds(&args, "}");
    if (hocket_call_start(host, "watch", args.p, &w->call, on_event, on_done, w, NULL) < 0)
        w->call = 0;
    cli_buf_free(&args);
}

bool cli_watcher_wait(struct cli_watcher *w)
{
    if (w->call && !w->changed)
        cli_screen_say(w->screen, CLI_DIM, "waiting for changes; Ctrl-C ends");
    while (w->call && !w->changed && !cli_signal_taken())
        hocket_wait(w->host, -1);
    bool changed = w->changed;
    w->changed = false;
    return changed && !cli_signal_taken();
}

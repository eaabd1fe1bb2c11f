/* See progress.h.
 *
 *     ✗ three days in Porto      contains (openai/gpt-6.1-terra, run 2)
 *     31/120 · 29 passed · 1 failed · 1 not measured · 0.0412 USD */
#include "cli/eval/progress.h"

#include <string.h>

#include "cli/text.h"

static const char *text(const hocket_json *event, const char *name)
{
    return hocket_json_text(hocket_json_get(event, name), "", NULL);
}

static long long count(const hocket_json *event, const char *name)
{
    return (long long) hocket_json_int(hocket_json_get(event, name), 0);
}

static enum cli_tone tone_of(const char *state)
{
    return strcmp(state, "passed") == 0   ? CLI_GOOD
           : strcmp(state, "failed") == 0 ? CLI_BAD
                                          : CLI_WARN;
}

static void say(struct cli_eval_progress *p, const hocket_json *event)
{
    const char *state = text(event, "state"), *what = text(event, "failed_at");
    struct cli_buf line = { 0 }, shown = { 0 }, who = { 0 };
    what = *what ? what : *text(event, "reason") ? text(event, "reason") : state;
    cli_buf_addf(&line, "%s%s (%s, run %lld)", *text(event, "failed_at") ? "failed: " : "", what,
        text(event, "model"), count(event, "turn"));
    cli_text_show(&shown, cli_buf_text(&line), line.n, false);
    cli_text_show(&who, text(event, "case"), strlen(text(event, "case")), false);
    cli_screen_line(&p->screen, tone_of(state), cli_buf_text(&who), cli_buf_text(&shown));
    cli_buf_free(&line);
    cli_buf_free(&shown);
    cli_buf_free(&who);
}

static void draw(struct cli_eval_progress *p, const hocket_json *event)
{
    struct cli_rows rows = { .count = 1 };
    struct cli_buf row = { 0 };
    cli_buf_addf(&row, "%lld/%lld · %lld passed", count(event, "done"), count(event, "total"),
        count(event, "passed"));
    if (count(event, "failed") > 0)
        cli_buf_addf(&row, " · %lld failed", count(event, "failed"));
    if (count(event, "unmeasured") > 0)
        cli_buf_addf(&row, " · %lld not measured", count(event, "unmeasured"));
    cli_buf_addf(&row, " · %.4f USD", hocket_json_number(hocket_json_get(event, "cost"), 0));
    cli_text_cut(&rows.text, row.p, row.n, p->screen.columns > 2 ? p->screen.columns - 1 : 1);
    rows.width[0] = cli_text_width(rows.text.p, rows.text.n);
    cli_screen_draw(&p->screen, &rows);
    cli_buf_free(&row);
}

/* Whoever is killed leaves the folder: so it is said where it is. */
static void begin(struct cli_eval_progress *p, const hocket_json *event)
{
    const char *folder = text(event, "folder");
    struct cli_buf line = { 0 };
    if (p->quiet)
        return;
    cli_buf_addf(&line, "%lld runs, which work in ", count(event, "total"));
    cli_text_show(&line, folder, strlen(folder), false);
    cli_screen_line(&p->screen, CLI_DIM, NULL, line.p);
    cli_buf_free(&line);
}

static void go_on(struct cli_eval_progress *p, const hocket_json *event)
{
    const char *state = text(event, "state");
    bool is_fine = strcmp(state, "passed") == 0 || strcmp(state, "interrupted") == 0;
    if (p->verbose || !is_fine)
        say(p, event);
    if (p->screen.live)
        draw(p, event);
}

void cli_eval_on_event(struct cli_eval_progress *p, const struct hocket_event *e)
{
    bool begins = strcmp(e->type, "eval_started") == 0;
    if (!begins && strcmp(e->type, "eval_run") != 0)
        return;
    hocket_json *event = hocket_json_parse(e->json, e->json_len, NULL);
    (begins ? begin : go_on)(p, event);
    hocket_json_free(event);
}

/* Shows a run's events to a person on stderr: permanent lines, and rows for current work. Warnings are held back
 * until it is clear that no error follows which repeats them. */
#include "cli/view/view.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

#include "cli/lines.h"
#include "cli/progress.h"
#include "cli/signals.h"
#include "cli/text.h"
#include "cli/view/frame.h"
#include "cli/view/speech.h"

#define BYTES_A_TOKEN 4.0  /* until the reply says how many there were */
#define SHORTEST      0.05 /* seconds in which a pace can be seen */

static void on_request(struct cli_speech *s, const hocket_json *event, double now)
{
    const char *op = cli_member(event, "op");
    cli_voice_model_request(&s->voice, event);
    if (s->voice.speaks || cli_voice_is_muted(&s->voice, op))
        return;
    snprintf(s->asked_op, sizeof(s->asked_op), "%s", op);
    s->asked = now;
    s->first = s->wait = s->rate = 0;
    s->bytes = 0;
}

static bool is_asked(const struct cli_speech *s, const hocket_json *event)
{
    return s->asked > 0 && strcmp(cli_member(event, "op"), s->asked_op) == 0;
}

static void set_rate(struct cli_speech *s, double tokens, double seconds)
{
    if (tokens > 0 && seconds >= SHORTEST)
        s->rate = tokens / seconds;
}

static void on_delta(struct cli_speech *s, const hocket_json *event, double now)
{
    size_t n = 0;
    hocket_json_text(hocket_json_get(event, "text"), "", &n);
    cli_voice_model_delta(&s->voice, event);
    if (!is_asked(s, event) || n == 0)
        return;
    if (s->first == 0) {
        s->first = now;
        s->wait = now - s->asked;
    }
    s->bytes += n;
    set_rate(s, (double) s->bytes / BYTES_A_TOKEN, now - s->first);
}

static void on_reply(struct cli_speech *s, const hocket_json *event, double now)
{
    cli_voice_model_reply(&s->voice, event);
    if (!is_asked(s, event) || s->first == 0)
        return;
    set_rate(s, cli_number(hocket_json_get(event, "usage"), "output"), now - s->first);
    s->asked = 0;
}

static void on_said(struct cli_speech *s, const hocket_json *event)
{
    if (strcmp(cli_member(event, "op"), s->voice.op) == 0)
        cli_voice_forget(&s->voice);
}

/* A speech begins as zeros. `now` is a clock of seconds that is never 0. */
static void speech_take(
    struct cli_speech *s, const char *type, const hocket_json *event, double now)
{
    if (strcmp(type, "model_delta") == 0)
        on_delta(s, event, now);
    else if (strcmp(type, "model_request") == 0)
        on_request(s, event, now);
    else if (strcmp(type, "model_reply") == 0)
        on_reply(s, event, now);
    else if (strcmp(type, "agent_started") == 0)
        cli_voice_agent_started(&s->voice, event);
    else if (strcmp(type, "agent_finished") == 0)
        cli_voice_agent_finished(&s->voice, event);
    else if (strcmp(type, "facilitator_message") == 0) /* a line that stays says it */
        on_said(s, event);
}

void cli_speech_pace(const struct cli_speech *s, const char *comma, struct cli_buf *out)
{
    if (s->wait > 0) {
        cli_buf_addf(out, "%sfirst token after ", comma);
        cli_text_seconds(out, s->wait);
    }
    if (s->rate > 0)
        cli_buf_addf(out, "%s%.*f tokens/s", comma, s->rate < 10 ? 1 : 0, s->rate);
}

static void speech_free(struct cli_speech *s)
{
    cli_voice_free(&s->voice);
    *s = (struct cli_speech){ 0 };
}

#define REDRAW_SECONDS 0.1
/* A busy machine may need so long from a warning to the error that says the same. */
#define HELD_SECONDS 0.05
#define TURN_MS      50

void cli_feed_start(struct cli_feed *f, struct cli_screen *screen, bool quiet, bool verbose)
{
    *f = (struct cli_feed){
        .screen = screen, .quiet = quiet, .verbose = verbose, .noted_sim = f->noted_sim
    };
    f->began = screen->drawn_at = cli_now(); /* a short run draws nothing */
}

void cli_feed_end(struct cli_feed *f)
{
    cli_feed_flush(f);
    cli_progress_free(&f->progress);
    speech_free(&f->speech);
    cli_buf_free(&f->warning);
    cli_buf_free(&f->reason);
}

static void note_simulated(struct cli_feed *f, const hocket_json *event)
{
    if (!cli_is(event, "simulated"))
        return;
    f->noted_sim = true;
    cli_screen_say(f->screen, CLI_WARN,
        "note: answers come from the simulated model (sim): set OPENAI_API_KEY, "
        "ANTHROPIC_API_KEY … or --model to use a real one");
}

void cli_feed_flush(struct cli_feed *f)
{
    if (f->warning.n > 0)
        cli_screen_line(f->screen, CLI_WARN, NULL, f->warning.p);
    cli_buf_reset(&f->warning);
}

/* The error of a run or a turn is printed at its end; the warning of the agent that caused it is not repeated. The
 * one says "poet failed: why", the other "poet: why", or why alone. */
static void drop_warning(struct cli_feed *f, const hocket_json *error)
{
    static const char mark[] = " failed: ";
    struct cli_buf shown = { 0 };
    const char *message = cli_member(error, "message"), *held = cli_buf_text(&f->warning);
    const char *why = strstr(held, mark);
    cli_text_show(&shown, message, strlen(message), false);
    if ((shown.n > 0 && cli_text_ends(held, cli_buf_text(&shown)))
        || (why && why[strlen(mark)] && cli_text_ends(cli_buf_text(&shown), why + strlen(mark))))
        cli_buf_reset(&f->warning);
    cli_buf_free(&shown);
}

/* Where in a script's Lua an error was raised: for who asks for details. */
static void tell_traceback(struct cli_feed *f, const hocket_json *error)
{
    struct cli_buf shown = { 0 };
    const char *traceback = cli_member(error, "traceback");
    if (!f->verbose || !*traceback)
        return;
    cli_text_show(&shown, traceback, strlen(traceback), true);
    cli_screen_say(f->screen, CLI_DIM, shown.p);
    cli_buf_free(&shown);
}

/* "critic failed: why": the reason is printed once, for the first of the agents that fail with it. */
static void name_reason_once(struct cli_feed *f, struct cli_buf *text)
{
    char *why = strstr(text->p, " failed: ");
    if (!why)
        return;
    if (f->reason.n > 0 && strcmp(f->reason.p, why) == 0) {
        *why = 0;
        text->n = (size_t) (why - text->p);
        cli_buf_adds(text, " failed for the same reason");
    } else {
        cli_buf_reset(&f->reason);
        cli_buf_adds(&f->reason, why);
    }
}

static void report(struct cli_feed *f, const char *type, const hocket_json *event, double now)
{
    struct cli_line line;
    cli_line_of(&line, &f->progress, type, event, now);
    if (strcmp(type, "error") == 0) {
        drop_warning(f, event);
        cli_feed_flush(f);
        tell_traceback(f, event);
    } else if (strcmp(type, "turn_finished") == 0) {
        drop_warning(f, hocket_json_get(event, "error"));
        cli_feed_flush(f);
    }
    bool told = line.details || (line.live && f->screen->live);
    bool wanted = line.text.n > 0 && (f->verbose || !told);
    if (wanted)
        cli_feed_flush(f);
    if (wanted && strcmp(type, "warning") == 0)
        name_reason_once(f, &line.text);
    if (wanted && strcmp(type, "warning") == 0) {
        cli_buf_add(&f->warning, line.text.p, line.text.n);
        f->warned_at = cli_now();
    } else if (wanted)
        cli_screen_line(f->screen, line.tone, line.who[0] ? line.who : NULL, line.text.p);
    cli_buf_free(&line.text);
}

/* A recording that was asked for and is not complete. */
static void tell_missing(struct cli_feed *f, const hocket_json *event)
{
    struct cli_buf line = { 0 };
    if (!*cli_member(event, "recording"))
        return;
    cli_buf_addf(&line, "warning: %s", cli_member(event, "message"));
    cli_screen_say(f->screen, CLI_WARN, line.p);
    cli_buf_free(&line);
}

/* Most events of a quiet run need no reading: this stands before the last member, which is a number. */
static bool is_simulated(const struct hocket_event *e)
{
    static const char mark[] = "\"simulated\":true,\"turn\":";
    const size_t n = sizeof(mark) - 1;
    size_t from = e->json_len < 64 ? 0 : e->json_len - 64;
    if (strcmp(e->type, "model_request") != 0)
        return false;
    for (; from + n <= e->json_len; from++)
        if (memcmp(e->json + from, mark, n) == 0)
            return true;
    return false;
}

void cli_feed_event_at(struct cli_feed *f, const struct hocket_event *e, double now)
{
    bool simulated = !f->noted_sim && is_simulated(e);
    bool warning = f->quiet && strcmp(e->type, "warning") == 0;
    if (f->quiet && !simulated && !warning)
        return;
    hocket_json *event = hocket_json_parse(e->json, e->json_len, NULL);
    if (simulated)
        note_simulated(f, event);
    if (warning)
        tell_missing(f, event);
    if (!f->quiet) {
        speech_take(&f->speech, e->type, event, now);
        if (!e->again)
            report(f, e->type, event, now);
        cli_progress_take(&f->progress, e->type, event, now);
    }
    hocket_json_free(event);
}

void cli_feed_event(struct cli_feed *f, const struct hocket_event *e)
{
    cli_feed_event_at(f, e, cli_now());
}

void cli_feed_keep(struct cli_feed *f)
{
    const struct cli_buf *text = &f->speech.voice.text;
    if (f->screen->live && text->n > 0)
        cli_screen_say(f->screen, CLI_PLAIN, cli_buf_text(text));
    cli_voice_forget(&f->speech.voice);
}

void cli_feed_turn(struct cli_feed *f)
{
    double now = cli_now();
    if (now - f->warned_at >= HELD_SECONDS)
        cli_feed_flush(f);
    if (!f->screen->live || f->screen->held || f->screen->mid_line || f->screen->in_text)
        return;
    bool resized = cli_signal_resized();
    if (resized)
        cli_screen_measure(f->screen);
    if (cli_signal_resumed())
        f->screen->shown.count = 0; /* what stands there is no longer where it was */
    if (!resized && now - f->screen->drawn_at < REDRAW_SECONDS)
        return;
    struct cli_rows rows;
    cli_view_compose(f->screen, &f->progress, &f->speech, now, f->began, &rows);
    cli_screen_draw(f->screen, &rows);
    f->screen->drawn_at = now;
}

int cli_feed_wait_ms(const struct cli_feed *f, bool asked)
{
    return asked || f->screen->live || f->warning.n > 0 ? TURN_MS : -1;
}

/* The run's name stands by itself where there is nothing to count; "": it is not kept. */
static void say_totals(struct cli_feed *f, long long calls, long long input, long long cached,
    long long output, double seconds, const char *run)
{
    struct cli_buf b = { 0 };
    cli_feed_flush(f);
    if (f->quiet || (calls == 0 && !*run))
        return;
    if (calls == 0) {
        cli_buf_addf(&b, "run %s", run);
        cli_screen_say(f->screen, CLI_DIM, b.p);
        cli_buf_free(&b);
        return;
    }
    cli_text_plural(&b, (long long) f->progress.n_names, "agent");
    cli_buf_adds(&b, ", ");
    cli_text_plural(&b, calls, "model call");
    cli_buf_adds(&b, ", ");
    cli_text_count(&b, input);
    cli_buf_adds(&b, " tokens in");
    cli_text_cached(&b, cached);
    cli_buf_adds(&b, ", ");
    cli_text_count(&b, output);
    cli_buf_adds(&b, " out, ");
    cli_text_seconds(&b, seconds);
    cli_speech_pace(&f->speech, ", ", &b);
    if (*run)
        cli_buf_addf(&b, ", run %s", run);
    cli_screen_say(f->screen, CLI_DIM, b.p);
    cli_buf_free(&b);
}

void cli_feed_summary(struct cli_feed *f, const hocket_json *usage, const char *run)
{
    say_totals(f, cli_int(usage, "calls"), cli_int(usage, "input"), cli_int(usage, "cached"),
        cli_int(usage, "output"), cli_now() - f->began, run);
}

void cli_feed_counted(struct cli_feed *f, double seconds)
{
    say_totals(f, f->progress.calls, f->progress.input, 0, f->progress.output, seconds, "");
}

/* What each agent said and did, record by record:
 *
 *     food, called by lead (dispatch)
 *        11    0.9 s  Please work on tasks 3, 4.
 *        29    2.0 s  write_section {"day":1, …
 *                     written (version 1)
 *
 * The number is what --at takes, the time is since the run began. */
#include "cli/story/story_impl.h"

#include <stdio.h>
#include <string.h>

#include "cli/text.h"
#include "cli/lines.h"

#define TEXTS 22 /* the column in which they begin */

/* Milliseconds of "2026-11-21T09:00:00.000Z" within its month: enough for a difference of days. */
static bool read_time(const char *text, int64_t *ms)
{
    int year, month, day, hour, minute, second, milli = 0;
    if (sscanf(text, "%4d-%2d-%2dT%2d:%2d:%2d.%3d", &year, &month, &day, &hour, &minute, &second,
            &milli)
        < 6)
        return false;
    int y = month < 3 ? year - 1 : year, m = month < 3 ? month + 12 : month;
    int64_t days = 365LL * y + y / 4 - y / 100 + y / 400 + (153 * (m - 3) + 2) / 5 + day;
    *ms = (((days * 24 + hour) * 60 + minute) * 60 + second) * 1000 + milli;
    return true;
}

struct teller {
    struct cli_paper *paper;
    struct cli_progress none; /* each event is printed by itself */
    int64_t began;
    bool has_began;
};

static void add_place(struct teller *t, const hocket_json *event)
{
    struct cli_buf time = { 0 };
    int64_t at;
    cli_paper_addf(t->paper, CLI_DIM, "%6lld", cli_int(event, "seq"));
    if (t->has_began && read_time(cli_story_text(event, "time", NULL), &at) && at >= t->began)
        cli_text_seconds(&time, (double) (at - t->began) / 1000);
    cli_paper_to(t->paper, TEXTS - 2 - (time.n < 12 ? time.n : 12));
    cli_paper_add(t->paper, CLI_DIM, cli_buf_text(&time));
    cli_paper_to(t->paper, TEXTS);
    cli_buf_free(&time);
}

/* ---- Kinds of events ---------------------------------------------------------------------------------- */

static void say_content(struct teller *t, const hocket_json *event)
{
    cli_story_paragraphs(t->paper, CLI_PLAIN, event, "content", TEXTS);
}

static void say_reasoning(struct teller *t, const hocket_json *event)
{
    cli_story_paragraphs(t->paper, CLI_DIM, event, "content", TEXTS);
}

static void say_tool(struct teller *t, const hocket_json *event)
{
    bool failed = cli_is(event, "error");
    struct cli_paper *p = t->paper;
    cli_story_add(p, CLI_ASK, event, "tool", 64);
    cli_paper_add(p, CLI_PLAIN, " ");
    cli_story_add(p, CLI_PLAIN, event, "arguments", cli_paper_left(p));
    cli_paper_line(p);
    cli_story_paragraphs(p, failed ? CLI_BAD : CLI_DIM, event, "result", TEXTS);
}

/* What a turn of the model took. */
static void say_reply(struct teller *t, const hocket_json *event)
{
    const hocket_json *usage = hocket_json_get(event, "usage");
    struct cli_buf b = { 0 };
    cli_buf_adds(&b, ": ");
    cli_text_plural(&b, cli_int(event, "calls"), "tool call");
    cli_buf_addf(&b, ", %lld in", cli_int(usage, "input"));
    cli_text_cached(&b, cli_int(usage, "cached"));
    cli_buf_addf(&b, ", %lld out, ", cli_int(usage, "output"));
    cli_text_seconds(&b, cli_number(event, "seconds"));
    cli_story_add(t->paper, CLI_DIM, event, "model", 64);
    cli_paper_add(t->paper, CLI_DIM, b.p);
    cli_paper_line(t->paper);
    cli_buf_free(&b);
}

static void say_message(struct teller *t, const hocket_json *event)
{
    cli_story_paragraphs(t->paper, CLI_DIM, event, "message", TEXTS);
}

/* "name: " and a text. */
static void say_said(struct teller *t, const char *who, const hocket_json *event, const char *name)
{
    cli_paper_add(t->paper, CLI_GOOD, who);
    cli_paper_add(t->paper, CLI_PLAIN, " ");
    cli_story_paragraphs(t->paper, CLI_PLAIN, event, name, TEXTS);
}

static void say_input(struct teller *t, const hocket_json *event)
{
    say_said(t, ">", event, "text");
}

static void say_question(struct teller *t, const hocket_json *event)
{
    const hocket_json *questions = hocket_json_get(event, "questions");
    cli_story_add(t->paper, CLI_ASK, event, "id", 16);
    cli_paper_add(t->paper, CLI_ASK, " asks: ");
    for (const hocket_json *q = hocket_json_first(questions); q; q = hocket_json_next(q)) {
        size_t n;
        const char *text = hocket_json_text(q, "", &n);
        cli_paper_text(t->paper, CLI_PLAIN, text, n, TEXTS);
    }
    if (!hocket_json_first(questions))
        cli_paper_line(t->paper);
}

static void say_request(struct teller *t, const hocket_json *event)
{
    struct cli_paper *p = t->paper;
    cli_story_add(p, CLI_ASK, event, "id", 16);
    cli_paper_add(p, CLI_ASK, " may it call ");
    cli_story_add(p, CLI_ASK, event, "tool", 64);
    cli_paper_add(p, CLI_PLAIN, " ");
    cli_story_add(p, CLI_PLAIN, event, "arguments", cli_paper_left(p));
    cli_paper_line(p);
}

static void say_answered(struct teller *t, const hocket_json *event)
{
    cli_story_add(t->paper, CLI_DIM, event, "id", 16);
    cli_paper_add(t->paper, CLI_DIM, " answered: ");
    if (*cli_story_text(event, "decision", NULL)) {
        cli_story_add(t->paper, CLI_PLAIN, event, "decision", 16);
        cli_paper_add(t->paper, CLI_PLAIN, " ");
    }
    cli_story_paragraphs(t->paper, CLI_PLAIN, event,
        *cli_story_text(event, "text", NULL) ? "text" : "reason", TEXTS);
    if (*cli_story_text(event, "arguments", NULL))
        cli_story_paragraphs(t->paper, CLI_PLAIN, event, "arguments", TEXTS);
}

static void say_output(struct teller *t, const hocket_json *event)
{
    cli_story_paragraphs(t->paper, CLI_PLAIN, event, "text", TEXTS);
}

static void say_turn(struct teller *t, const hocket_json *event)
{
    const char *name = *cli_story_text(event, "content", NULL) ? "content" : "error";
    cli_story_paragraphs(t->paper, *name == 'e' ? CLI_BAD : CLI_PLAIN, event, name, TEXTS);
}

/* What nobody has words for, a script's own too: its name, and what of it says most. */
static void say_unknown(struct teller *t, const char *type, const hocket_json *event)
{
    static const char *const telling[] = { "message", "content", "text", "reason", "name" };
    cli_paper_shown(t->paper, CLI_DIM, type, strlen(type), 64);
    for (size_t i = 0; i < sizeof(telling) / sizeof(telling[0]); i++)
        if (*cli_story_text(event, telling[i], NULL)) {
            cli_paper_add(t->paper, CLI_DIM, ": ");
            cli_story_paragraphs(t->paper, CLI_PLAIN, event, telling[i], TEXTS);
            return;
        }
    cli_paper_line(t->paper);
}

/* As the live view would: one line. */
static void say_line(struct teller *t, const hocket_json *event)
{
    struct cli_line line;
    const char *type = cli_story_text(event, "type", NULL);
    cli_line_of(&line, &t->none, type, event, 0);
    if (line.text.n > 0)
        cli_paper_text(t->paper, line.tone, line.text.p, line.text.n, TEXTS);
    else
        say_unknown(t, type, event);
    cli_buf_free(&line.text);
}

static void say_event(struct teller *t, const hocket_json *event)
{
    static const struct {
        const char *type;
        void (*say)(struct teller *t, const hocket_json *event);
    } table[] = {
        { "agent_started", say_message },
        { "agent_message", say_content },
        { "agent_reasoning", say_reasoning },
        { "facilitator_message", say_content },
        { "team_message", say_content },
        { "tool_call", say_tool },
        { "model_reply", say_reply },
        { "question_asked", say_question },
        { "approval_requested", say_request },
        { "question_answered", say_answered },
        { "approval_answered", say_answered },
        { "input_received", say_input },
        { "turn_finished", say_turn },
        { "output", say_output },
    };
    const char *type = cli_story_text(event, "type", NULL);
    add_place(t, event);
    for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++)
        if (strcmp(table[i].type, type) == 0) {
            table[i].say(t, event);
            return;
        }
    say_line(t, event);
}

/* ---- All ------------------------------------------------------------------------------------------------ */

static const hocket_json *caller_of(const hocket_json *story, const hocket_json *agent)
{
    const char *op = cli_story_text(agent, "caller", NULL);
    const hocket_json *agents = hocket_json_get(story, "agents");
    for (const hocket_json *a = hocket_json_first(agents); *op && a; a = hocket_json_next(a))
        if (strcmp(cli_story_text(a, "op", NULL), op) == 0)
            return a;
    return NULL;
}

static void say_name(struct cli_paper *p, const hocket_json *story, const hocket_json *agent)
{
    const hocket_json *caller = caller_of(story, agent);
    cli_paper_line(p);
    cli_story_add(p, CLI_ASK, agent, "agent", 64);
    if (caller) {
        cli_paper_add(p, CLI_DIM, ", called by ");
        cli_story_add(p, CLI_DIM, caller, "agent", 64);
    }
    if (*cli_story_text(agent, "model", NULL)) {
        cli_paper_add(p, CLI_DIM, "  ");
        cli_story_add(p, CLI_DIM, agent, "model", 64);
    }
    if (*cli_story_text(agent, "run", NULL)) { /* the transcript of that run has what it did */
        cli_paper_add(p, CLI_DIM, "  in the run ");
        cli_story_add(p, CLI_DIM, agent, "run", 64);
    }
    cli_paper_line(p);
}

static void say_agent(struct teller *t, const hocket_json *story, const hocket_json *agent)
{
    const hocket_json *events = hocket_json_get(agent, "events");
    bool failed = *cli_story_text(agent, "error", NULL);
    if (!hocket_json_first(events) && !failed && !*cli_story_text(agent, "run", NULL))
        return;
    say_name(t->paper, story, agent);
    for (const hocket_json *e = hocket_json_first(events); e; e = hocket_json_next(e))
        say_event(t, e);
    if (!failed)
        return;
    cli_paper_to(t->paper, TEXTS);
    cli_story_paragraphs(t->paper, CLI_BAD, agent, "error", TEXTS);
}

void cli_story_transcripts(struct cli_paper *p, const hocket_json *story)
{
    struct teller t = { .paper = p };
    const hocket_json *events = hocket_json_get(story, "events"),
                      *agents = hocket_json_get(story, "agents");
    int64_t left_out = cli_int(story, "left_out");
    t.has_began = read_time(cli_story_text(story, "began", NULL), &t.began);
    if (hocket_json_first(events))
        cli_story_heading(p, "run");
    for (const hocket_json *e = hocket_json_first(events); e; e = hocket_json_next(e))
        say_event(&t, e);
    for (const hocket_json *a = hocket_json_first(agents); a; a = hocket_json_next(a))
        say_agent(&t, story, a);
    if (left_out > 0) {
        cli_paper_addf(p, CLI_WARN, "%lld more events are left out: --agent NAME shows one agent's",
            (long long) left_out);
        cli_paper_line(p);
    }
    cli_progress_free(&t.none);
}

/* Questions that a run asks a person: a queue that events fill and empty, and how each kind is said
 * and answered (ask.h). Whatever came from a model or a tool is shown with its control characters
 * made visible; what a person reads before saying yes has to be what is going to happen.
 *
 * While a person types, a question may be answered elsewhere, or its run may end. Then it is marked as gone, the typed
 * line is dropped, and its place in the queue is freed outside of the callback. */
#include "cli/ask/ask.h"

#include <hocket/hocket.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "cli/progress.h"
#include "cli/screen.h"
#include "cli/text.h"

/* What a call would do to a file, before somebody says yes to it: the path, then a unified diff of what would
 * change there, in colours. Long ones are folded. */

/* Shows what a call would do to a file before somebody allows it: the path, how many lines come and
 * go, and the diff, long ones folded until they are asked for. The diff was made by the tool from
 * the file as it is now. */

/* Rows of the terminal that the question itself takes, and lines that are shown of a diff at least. */
#define AROUND 10
#define LEAST  12
/* Columns of one line, while it is folded. */
#define LINE_BRIEF 400

/* ---- The title ------------------------------------------------------------ */

/* Whether there is a diff that can be shown. */
static bool change_has_diff(const hocket_json *change)
{
    return hocket_json_get(change, "diff") != NULL;
}

static void add_counts(struct cli_buf *out, const hocket_json *change)
{
    int64_t added = cli_int(change, "added"), removed = cli_int(change, "removed");
    if (added > 0)
        cli_buf_addf(out, "%s +%lld", ",", (long long) added);
    if (removed > 0)
        cli_buf_addf(out, "%s -%lld", added > 0 ? "" : ",", (long long) removed);
    if (added + removed == 0 && change_has_diff(change))
        cli_buf_adds(out, strcmp(cli_member(change, "kind"), "create") == 0
                              ? ", an empty one"
                              : ", and nothing in it would change");
}

/* The question in one line, path first: "notes.md: writer wants to change it with edit_file, +2 -1". `event` is an
 * approval_requested with a `change`. */
static void change_title(struct cli_buf *out, const hocket_json *event)
{
    const hocket_json *change = hocket_json_get(event, "change");
    const char *kind = cli_member(change, "kind");
    cli_buf_addf(out, "%s: %s wants to ", cli_member(change, "path"), cli_member(event, "agent"));
    if (strcmp(kind, "create") == 0)
        cli_buf_adds(out, "make this new file");
    else if (strcmp(kind, "move") == 0)
        cli_buf_addf(out, "move %s here", cli_member(change, "from"));
    else
        cli_buf_adds(out, "change it");
    cli_buf_addf(out, " with %s", cli_member(event, "tool"));
    add_counts(out, change);
}

/* ---- The diff ---------------------------------------------------------------- */

static enum cli_tone tone_of(char sign)
{
    return sign == '+'                   ? CLI_GOOD
           : sign == '-'                 ? CLI_BAD
           : sign == '@' || sign == '\\' ? CLI_DIM
                                         : CLI_PLAIN;
}

/* A tab is to be told from blanks. */
static void add_shown(const struct cli_screen *s, struct cli_buf *out, const char *line, size_t n)
{
    struct cli_buf shown = { 0 };
    cli_text_show(&shown, line, n, true);
    for (const char *p = cli_buf_text(&shown); *p; p++)
        if (*p == '\t')
            cli_buf_adds(out, s->unicode ? "→   " : ">   ");
        else
            cli_buf_add(out, p, 1);
    cli_buf_free(&shown);
}

/* A line in as many rows as it takes, no blank left out; no row begins where the program's own begin. */
static void add_rows(
    const struct cli_screen *s, struct cli_buf *out, const char *text, size_t n, char sign)
{
    enum cli_tone tone = tone_of(sign);
    size_t at = 2;
    do {
        size_t room = s->columns > at + 8 ? s->columns - at - 1 : 8;
        size_t taken = cli_text_fit(text, n, room);
        cli_buf_addf(out, "%*s%s", (int) at, "", cli_screen_tone(s, tone));
        cli_buf_add(out, text, taken);
        cli_buf_addf(out, "%s\n", tone == CLI_PLAIN ? "" : cli_screen_plain(s));
        text += taken;
        n -= taken;
        at = 4;
    } while (n > 0);
}

/* Whether all of the line is to be seen. */
static bool add_line(
    const struct cli_screen *s, struct cli_buf *out, const char *line, size_t n, bool whole)
{
    struct cli_buf shown = { 0 }, brief = { 0 };
    add_shown(s, &shown, line, n);
    bool all = whole || cli_text_width(cli_buf_text(&shown), shown.n) <= LINE_BRIEF;
    cli_text_cut(&brief, cli_buf_text(&shown), shown.n, all ? shown.n + 1 : LINE_BRIEF);
    add_rows(s, out, cli_buf_text(&brief), brief.n, n > 0 ? *line : ' ');
    cli_buf_free(&brief);
    cli_buf_free(&shown);
    return all;
}

static size_t count_lines(const char *text)
{
    size_t n = 0;
    for (; (text = strchr(text, '\n')) != NULL; text++)
        n++;
    return n;
}

/* As many lines of the diff as there is room for; whether all of it is to be seen. */
static bool add_diff(const struct cli_screen *s, struct cli_buf *out, const char *text, bool whole)
{
    size_t lines = count_lines(text), room = s->lines > AROUND + LEAST ? s->lines - AROUND : LEAST;
    size_t shown = whole || lines <= room ? lines : room - 1;
    bool all = shown == lines;
    for (size_t i = 0; i < shown; i++) {
        size_t n = strcspn(text, "\n");
        all &= add_line(s, out, text, n, whole);
        text += n + 1;
    }
    if (shown < lines)
        cli_buf_addf(out, "  %s[%zu more lines: d shows them]%s\n", cli_screen_tone(s, CLI_DIM),
            lines - shown, cli_screen_plain(s));
    return all;
}

static void say_note(struct cli_screen *s, const char *before, const char *text)
{
    struct cli_buf b = { 0 };
    if (!*text)
        return;
    cli_buf_addf(&b, "  %s%s", before, text);
    cli_screen_say(s, CLI_WARN, b.p);
    cli_buf_free(&b);
}

/* Shows it, folded unless `whole`. Returns whether everything that the call would do was visible. */
static bool change_say(struct cli_screen *s, const hocket_json *change, bool whole)
{
    struct cli_buf out = { 0 };
    bool all = strcmp(cli_member(change, "kind"), "move") == 0;
    say_note(s, "", cli_member(change, "note"));
    say_note(s, "the call would fail, and change nothing: ", cli_member(change, "refused"));
    if (change_has_diff(change))
        all = add_diff(s, &out, cli_member(change, "diff"), whole);
    if (whole && cli_int(change, "left_out") > 0)
        cli_buf_addf(
            &out, "  [%lld more lines: they are in the call]\n", cli_int(change, "left_out"));
    if (out.n > 0)
        cli_screen_put(s, &out);
    cli_buf_free(&out);
    return all && !cli_is(change, "cut") && !*cli_member(change, "refused");
}

/* Columns of a call's arguments before somebody wants to see all of them. */
/* Of one text in a call's arguments, in bytes: longer ones are shown by their ends. */
#define BRIEF 240
#define HEAD  160
#define TAIL  60
/* Of all of them, in columns. */
#define BRIEF_ALL 2000

struct cli_question {
    struct cli_question *next;
    hocket_json *event;
    bool approval; /* of a call: yes, no, always */
    bool gone;     /* answered otherwise, or its run is over */
    double since;
};

void cli_asker_start(
    struct cli_asker *a, hocket_host *host, struct cli_screen *screen, struct cli_reader *reader)
{
    *a = (struct cli_asker){ .host = host, .screen = screen, .reader = reader };
}

static void drop_first(struct cli_asker *a)
{
    struct cli_question *q = a->first;
    a->first = q->next;
    hocket_json_free(q->event);
    free(q);
}

void cli_asker_end(struct cli_asker *a)
{
    while (a->first)
        drop_first(a);
}

static const char *id_of(const struct cli_question *q)
{
    return cli_member(q->event, "id");
}

/* ---- The queue --------------------------------------------------------- */

static void add(struct cli_asker *a, hocket_json *event, bool approval)
{
    struct cli_question *q = calloc(1, sizeof(*q)), **end = &a->first;
    if (!q)
        cli_nomem();
    *q = (struct cli_question){ .event = event, .approval = approval, .since = cli_now() };
    while (*end)
        end = &(*end)->next;
    *end = q;
}

/* The first one may stand on the screen just now: it is only marked. */
static void mark_gone(struct cli_asker *a, const char *id)
{
    for (struct cli_question *q = a->first; q; q = q->next)
        if (!id || strcmp(id_of(q), id) == 0)
            q->gone = true;
}

void cli_asker_event(struct cli_asker *a, uint64_t run, const struct hocket_event *e)
{
    bool asked = strcmp(e->type, "question_asked") == 0,
         approval = strcmp(e->type, "approval_requested") == 0;
    bool answered = strcmp(e->type, "question_answered") == 0
                    || strcmp(e->type, "approval_answered") == 0
                    || strcmp(e->type, "question_withdrawn") == 0;
    a->run = run;
    if (strcmp(e->type, "workflow_finished") == 0)
        mark_gone(a, NULL);
    if (!asked && !approval && !answered)
        return;
    hocket_json *event = hocket_json_parse(e->json, e->json_len, NULL);
    if (answered)
        mark_gone(a, cli_member(event, "id"));
    if (!answered && event)
        add(a, event, approval);
    else
        hocket_json_free(event);
}

static void drop_gone(struct cli_asker *a)
{
    while (a->first && a->first->gone)
        drop_first(a);
}

size_t cli_asker_open(const struct cli_asker *a)
{
    size_t n = 0;
    for (const struct cli_question *q = a->first; q; q = q->next)
        n += !q->gone;
    return n;
}

bool cli_asker_due(const struct cli_asker *a)
{
    const struct cli_question *q = a->first;
    while (q && q->gone)
        q = q->next;
    return q && cli_now() - q->since >= a->grace;
}

bool cli_asker_wanted(const struct cli_asker *a)
{
    return a->first && !a->first->gone;
}

/* ---- Asking ------------------------------------------------------------ */

/* Reads one answer. False: there is none, or it is not wanted any more. */
static bool read_answer(struct cli_asker *a, struct cli_buf *out)
{
    cli_buf_reset(out);
    return cli_reader_line(a->reader, "> ", out) == CLI_READ_LINE;
}

static void answer(struct cli_asker *a, const char *text)
{
    struct hocket_error err;
    struct cli_buf b = { 0 };
    if (!cli_asker_wanted(a))
        return;
    int rc = hocket_run_answer(a->host, a->run, id_of(a->first), text, 0, &err);
    if (rc < 0 && rc != HOCKET_ENOTFOUND) {
        cli_buf_addf(&b, "warning: the answer was not taken: %s", err.message);
        cli_screen_say(a->screen, CLI_WARN, b.p);
    }
    cli_buf_free(&b);
}

static void nobody_answers(struct cli_asker *a)
{
    if (!a->left || !a->reader->ended || !a->left(a->ud))
        answer(a, "");
}

/* ---- A question in words ------------------------------------------------ */

static void say_question(
    struct cli_asker *a, const char *agent, const hocket_json *questions, size_t i, size_t n)
{
    struct cli_buf b = { 0 };
    const char *text = hocket_json_text(hocket_json_at(questions, i), "", NULL);
    cli_buf_addf(&b, "? %s%s", agent, *agent ? ": " : "");
    if (n > 1)
        cli_buf_addf(&b, "(%zu of %zu) ", i + 1, n);
    cli_buf_adds(&b, text);
    cli_screen_say(a->screen, CLI_ASK, b.p);
    cli_buf_free(&b);
}

/* Several questions of one event are put one by one; the answer has them with it. */
static void ask_each(struct cli_asker *a, const hocket_json *questions, size_t n)
{
    struct cli_buf line = { 0 }, all = { 0 };
    const char *agent = cli_member(a->first->event, "agent");
    bool told = true;
    for (size_t i = 0; told && i < n; i++) {
        say_question(a, agent, questions, i, n);
        do
            told = read_answer(a, &line);
        while (told && line.n == 0);
        if (n > 1 && told)
            cli_buf_addf(&all, "%s%s\n%s", i ? "\n\n" : "",
                hocket_json_text(hocket_json_at(questions, i), "", NULL), cli_buf_text(&line));
        else if (told)
            cli_buf_adds(&all, cli_buf_text(&line));
    }
    if (told)
        answer(a, cli_buf_text(&all));
    else
        nobody_answers(a);
    cli_buf_free(&line);
    cli_buf_free(&all);
}

/* A plan: shown whole, answered once. */
static void ask_together(struct cli_asker *a, const hocket_json *questions, size_t n)
{
    struct cli_buf line = { 0 };
    bool told;
    for (size_t i = 0; i < n; i++)
        cli_screen_say(a->screen, i + 1 < n ? CLI_PLAIN : CLI_ASK,
            hocket_json_text(hocket_json_at(questions, i), "", NULL));
    do
        told = read_answer(a, &line);
    while (told && line.n == 0);
    if (told)
        answer(a, cli_buf_text(&line));
    else
        nobody_answers(a);
    cli_buf_free(&line);
}

/* ---- Permission to call a tool ------------------------------------------------ */

/* Bytes of the escape or character that begins here. */
static size_t unit(const char *p)
{
    size_t n = *p == '\\' ? (p[1] == 'u' ? 6 : 2) : 1;
    if (n == 1)
        while (((unsigned char) p[n] & 0xC0) == 0x80)
            n++;
    return strnlen(p, n);
}

/* A JSON text from its opening quote on, a long one without its middle. Returns what comes after.
 */
static const char *add_text(struct cli_buf *out, const char *p)
{
    const char *end = p + 1, *head = p + 1, *tail;
    while (*end && *end != '"')
        end += unit(end);
    if (end - p > BRIEF) {
        while (head - p < HEAD)
            head += unit(head);
        for (tail = head; end - tail > TAIL;)
            tail += unit(tail);
        cli_buf_add(out, p, (size_t) (head - p));
        cli_buf_addf(out, " [… %zu bytes …] ", (size_t) (tail - head));
        p = tail;
    }
    end += *end == '"';
    cli_buf_add(out, p, (size_t) (end - p));
    return end;
}

/* Each argument is to be seen: where a file is written must not disappear behind what is written.
 */
static void shorten(struct cli_buf *out, const char *p)
{
    while (*p)
        if (*p == '"')
            p = add_text(out, p);
        else
            cli_buf_add(out, p++, 1);
}

/* What it would do to a file; NULL: nothing that is known. */
static const hocket_json *change_of(const struct cli_asker *a)
{
    return hocket_json_get(a->first->event, "change");
}

/* Returns whether all of them were shown. */
static bool say_arguments(struct cli_asker *a, bool whole)
{
    struct cli_buf brief = { 0 }, shown = { 0 }, b = { 0 };
    const char *text = cli_member(a->first->event, "arguments");
    shorten(&brief, text);
    if (!whole)
        text = cli_buf_text(&brief);
    cli_text_show(&shown, text, strlen(text), true);
    cli_buf_adds(&b, "  ");
    cli_text_cut(&b, cli_buf_text(&shown), shown.n, whole ? shown.n + 1 : BRIEF_ALL);
    cli_screen_say(a->screen, CLI_PLAIN, b.p);
    bool all =
        whole
        || (brief.n == strlen(cli_member(a->first->event, "arguments")) && b.n == shown.n + 2);
    cli_buf_free(&brief);
    cli_buf_free(&shown);
    cli_buf_free(&b);
    return all;
}

/* What each key does. With the title and the arguments that makes four lines. */
static void say_choices(struct cli_asker *a)
{
    struct cli_buf b = { 0 };
    const char *always = cli_member(a->first->event, "always");
    bool folds = change_has_diff(change_of(a));
    cli_buf_addf(&b, "  y  allow once   n  deny (a reason may follow)   %s",
        folds ? "d  the whole diff   ?  the whole call" : "?  show all");
    if (*always)
        cli_buf_addf(&b, "\n  a  allow %s", always);
    cli_screen_say(a->screen, CLI_DIM, b.p);
    cli_buf_free(&b);
}

static void say_title(struct cli_asker *a)
{
    struct cli_buf b = { 0 };
    const hocket_json *event = a->first->event;
    const char *reason = cli_member(event, "reason");
    cli_buf_adds(&b, "? ");
    if (change_of(a))
        change_title(&b, event);
    else
        cli_buf_addf(
            &b, "%s wants to call %s", cli_member(event, "agent"), cli_member(event, "tool"));
    if (*reason)
        cli_buf_addf(&b, " (%s)", reason);
    cli_screen_say(a->screen, CLI_ASK, b.p);
    cli_buf_free(&b);
}

/* Shows what it would do to a file, or its arguments where that does not say all; whether all was shown. */
static bool say_call(struct cli_asker *a, bool whole)
{
    const hocket_json *change = change_of(a);
    bool all = change && change_say(a->screen, change, whole);
    return all || (change && change_has_diff(change)) ? all : say_arguments(a, whole);
}

static bool say_approval(struct cli_asker *a)
{
    say_title(a);
    bool whole = say_call(a, !a->reader->terminal); /* nobody asks for more in a pipe */
    say_choices(a);
    return whole;
}

/* Somebody wants to see the whole call, or only what it would change where nothing else is folded. */
static bool say_all(struct cli_asker *a, bool of_call)
{
    return (!of_call && say_call(a, true)) || say_arguments(a, true);
}

/* Whether the answer can be nothing but a no: of what was not seen whole, all else waits. */
static bool is_no(const struct cli_buf *line)
{
    return line->n > 0 && strchr("nNdD", line->p[0]) != NULL;
}

/* Hands an answer over. False: it is none. */
static bool settle(struct cli_asker *a, const struct cli_buf *line)
{
    struct hocket_error err;
    return line->n > 0
           && hocket_run_answer(a->host, a->run, id_of(a->first), line->p, line->n, &err)
                  != HOCKET_EINVAL;
}

static const char *expected(const struct cli_asker *a)
{
    return *cli_member(a->first->event, "always")
               ? "  y, n, a or ? is expected; n may have a reason behind it"
               : "  y, n or ? is expected; n may have a reason behind it (this is asked each time)";
}

/* y, n and a are words of the interface as they are; all else it judges itself. Nobody says yes to what
 * was not shown. */
static void ask_approval(struct cli_asker *a)
{
    struct cli_buf line = { 0 };
    bool whole = say_approval(a);
    while (cli_asker_wanted(a)) {
        if (!read_answer(a, &line)) {
            nobody_answers(a);
            break;
        }
        bool wants_call = strcmp(cli_buf_text(&line), "?") == 0,
             wants_diff = strcmp(cli_buf_text(&line), "d") == 0 && change_has_diff(change_of(a)),
             wants_all = wants_call || wants_diff;
        if (wants_all || (!whole && line.n > 0 && !is_no(&line))) {
            whole = say_all(a, wants_call);
            if (!wants_all)
                cli_screen_say(
                    a->screen, CLI_DIM, "  not all of it was shown: here it is; once more, please");
            cli_reader_forget(a->reader);
        } else if (settle(a, &line)) {
            break;
        } else {
            cli_screen_say(a->screen, CLI_DIM, expected(a));
        }
    }
    cli_buf_free(&line);
}

void cli_asker_ask(struct cli_asker *a)
{
    drop_gone(a);
    if (!a->first)
        return;
    const hocket_json *questions = hocket_json_get(a->first->event, "questions");
    size_t n = hocket_json_count(questions);
    cli_screen_hold(a->screen);
    cli_reader_forget(a->reader); /* keys that were meant for something else answer nothing */
    if (a->first->approval)
        ask_approval(a);
    else if (strcmp(cli_member(a->first->event, "kind"), "approval") == 0)
        ask_together(a, questions, n);
    else
        ask_each(a, questions, n);
    a->first->gone = true;
    drop_gone(a);
    cli_screen_release(a->screen);
}

/* What is printed about a run that ends parked: its open questions, and the two commands that answer and resume.
 * Questions are gathered from the events as they come and taken away when they are answered, so nothing has to be
 * asked of a run that has ended. */

#include "cli/kept/kept.h"

#include <stdlib.h>
#include <string.h>

#include "cli/exit.h"
#include "cli/progress.h"
#include "cli/store.h"
#include "cli/story/story.h"
#include "cli/text.h"

/* Columns of a question, and the beginning of each of its further lines. */
#define BRIEF 200
#define BELOW "\n      "

static void show(struct cli_buf *line, const char *text, size_t n)
{
    struct cli_buf shown = { 0 };
    cli_text_show(&shown, text, n, false);
    cli_text_cut(line, cli_buf_text(&shown), shown.n, BRIEF);
    cli_buf_free(&shown);
}

/* A plan keeps its lines and their indentation: its tasks are a list, and a task's text cannot look like one. */
static void show_lines(struct cli_buf *line, const char *text, size_t n)
{
    for (const char *end = text + n, *next; text < end; text = next) {
        struct cli_buf shown = { 0 };
        const char *stop = memchr(text, '\n', (size_t) (end - text));
        next = stop ? stop + 1 : end;
        cli_text_show(&shown, text, (size_t) ((stop ? stop : end) - text), true);
        cli_text_cut(line, cli_buf_text(&shown), shown.n, BRIEF);
        cli_buf_adds(line, next < end ? BELOW : "");
        cli_buf_free(&shown);
    }
}

/* "  q1  guide asks: Which city?" */
static void describe(struct cli_buf *line, const char *type, const hocket_json *event)
{
    const char *agent = cli_member(event, "agent");
    cli_buf_addf(line, "  %s  ", cli_member(event, "id"));
    if (strcmp(type, "signal_requested") == 0) {
        const char *name = cli_member(event, "name");
        cli_buf_adds(line, "waits for the signal ");
        show(line, name, strlen(name));
        return;
    }
    if (*agent)
        cli_buf_addf(line, "%s: ", agent);
    if (strcmp(type, "approval_requested") == 0) {
        cli_buf_addf(line, "may it call %s ", cli_member(event, "tool"));
        const char *arguments = cli_member(event, "arguments");
        show(line, arguments, strlen(arguments));
        return;
    }
    const bool is_plan = strcmp(cli_member(event, "kind"), "approval") == 0;
    const hocket_json *questions = hocket_json_get(event, "questions");
    for (size_t i = 0; i < hocket_json_count(questions); i++) {
        size_t n = 0;
        const char *text = hocket_json_text(hocket_json_at(questions, i), "", &n);
        cli_buf_adds(line, i == 0 ? "" : is_plan ? BELOW : " ");
        (is_plan ? show_lines : show)(line, text, n);
    }
}

static void add(struct cli_parked *p, const char *type, const hocket_json *event)
{
    if (p->count == p->cap) {
        p->cap = p->cap ? 2 * p->cap : 8;
        p->list = realloc(p->list, p->cap * sizeof(*p->list));
        if (!p->list)
            cli_nomem();
    }
    struct cli_parked_one *one = &p->list[p->count++];
    *one = (struct cli_parked_one){ 0 };
    const char *id = cli_member(event, "id");
    size_t n = strnlen(id, sizeof(one->id) - 1);
    memcpy(one->id, id, n);
    const char *name = cli_member(event, "name");
    if (strcmp(type, "signal_requested") == 0)
        cli_text_word(&one->signal, name, strlen(name));
    one->leave = strcmp(type, "approval_requested") == 0;
    one->plan = strcmp(cli_member(event, "kind"), "approval") == 0;
    one->always = *cli_member(event, "always") != 0;
    describe(&one->line, type, event);
}

static void drop(struct cli_parked *p, const char *id)
{
    for (size_t i = 0; i < p->count; i++) {
        if (strcmp(p->list[i].id, id) != 0)
            continue;
        cli_buf_free(&p->list[i].line);
        cli_buf_free(&p->list[i].signal);
        memmove(&p->list[i], &p->list[i + 1], (--p->count - i) * sizeof(*p->list));
        return;
    }
}

/* Takes events about agents with a pool; true: it was such an event. */
static bool count_calls(struct cli_parked *p, const char *type)
{
    if (strcmp(type, "run_awaited") == 0)
        p->calls++;
    else if (strcmp(type, "run_returned") == 0)
        p->calls -= p->calls > 0;
    else
        return false;
    return true;
}

/* The first event of all is read in any case: it has the run's id. */
void cli_parked_event(struct cli_parked *p, const struct hocket_event *e)
{
    static const char *const opening[] = { "question_asked", "approval_requested",
        "signal_requested", NULL };
    static const char *const closing[] = { "question_answered", "question_withdrawn",
        "approval_answered", "signal_received", NULL };
    bool opens = cli_is_one_of(e->type, opening), closes = cli_is_one_of(e->type, closing);
    if (p->run[0] && (count_calls(p, e->type) || (!opens && !closes)))
        return;
    hocket_json *event = hocket_json_parse(e->json, e->json_len, NULL);
    if (!p->run[0])
        strncpy(p->run, cli_member(event, "run"), sizeof(p->run) - 1);
    if (opens)
        add(p, e->type, event);
    else if (closes)
        drop(p, cli_member(event, "id"));
    hocket_json_free(event);
}

/* "allow:   hocket answer 01K… a1 --allow", a command to copy in each line. */
static void say_command(void *ud, const char *what, const char *command)
{
    struct cli_screen *screen = ud;
    struct cli_buf line = { 0 };
    cli_buf_addf(&line, "%-8s %s", what, command);
    cli_screen_say(screen, CLI_DIM, line.p);
    cli_buf_free(&line);
}

/* A store in memory ends with this process, so that no answer can come. */
static void say_gone(struct cli_screen *screen)
{
    cli_screen_say(screen, CLI_BAD,
        "error: nobody is there to answer, and the run ends with this process, as its store is in "
        "memory: --store FILE keeps it");
}

/* "hocket resume 01K… --store FILE --ping URL". Pings are not stored with a run: a copied or imported run calls nobody's URL. */
static void add_resume(struct cli_buf *out, const struct cli_parked *p, const char *where)
{
    cli_buf_addf(out, "hocket resume %s%s", p->run, where);
    if (!p->ping)
        return;
    cli_buf_adds(out, " --ping ");
    cli_text_word(out, p->ping, strlen(p->ping));
}

/* The commands that let the run go on: those for the first thing that it waits for, then the one that resumes it. */
static void say_how(const struct cli_parked *p, struct cli_screen *screen, const char *where)
{
    const struct cli_parked_one *one = &p->list[0];
    struct cli_buf resume = { 0 };
    const struct cli_how how = { .run = p->run,
        .id = one->id,
        .where = where,
        .signal = one->signal.n > 0 ? cli_buf_text(&one->signal) : NULL,
        .leave = one->leave,
        .plan = one->plan,
        .always = one->always };
    cli_how_to_answer(&how, say_command, screen);
    add_resume(&resume, p, where);
    say_command(screen, "resume:", cli_buf_text(&resume));
    cli_buf_free(&resume);
}

/* "run 01K… waits for an answer:" */
static void say_what(const struct cli_parked *p, struct cli_screen *screen)
{
    struct cli_buf line = { 0 };
    cli_buf_addf(
        &line, "run %s waits for %s:", p->run, p->list[0].signal.n > 0 ? "a signal" : "an answer");
    cli_screen_say(screen, CLI_WARN, line.p);
    cli_buf_free(&line);
}

/* Workers do not end with it. */
static void say_calls(const struct cli_parked *p, struct cli_screen *screen, const char *where)
{
    struct cli_buf line = { 0 };
    cli_buf_addf(&line,
        "%zu of its agents %s by workers; to end the run and them: hocket cancel %s%s", p->calls,
        p->calls == 1 ? "works on, in a run of its own" : "work on, in runs of their own", p->run,
        where);
    cli_screen_say(screen, CLI_WARN, line.p);
    cli_buf_free(&line);
}

void cli_parked_say(
    struct cli_parked *p, struct cli_screen *screen, const char *store, const char *why)
{
    struct cli_buf line = { 0 }, where = { 0 };
    bool lasts = cli_store_outlives(store);
    cli_store_hint(&where, store);
    if (lasts && p->count > 0)
        say_what(p, screen);
    else if (lasts && why)
        cli_screen_say(screen, CLI_WARN, why);
    for (size_t i = 0; i < p->count; i++)
        cli_screen_say(screen, CLI_PLAIN, cli_buf_text(&p->list[i].line));
    if (!lasts)
        say_gone(screen);
    else if (p->count > 0)
        say_how(p, screen, cli_buf_text(&where));
    else if (p->run[0]) {
        cli_buf_adds(&line, "the run is stored; next: ");
        add_resume(&line, p, cli_buf_text(&where));
    } else {
        cli_buf_addf(&line, "the run is kept; hocket runs%s lists it", cli_buf_text(&where));
    }
    if (line.n > 0)
        cli_screen_say(screen, CLI_DIM, line.p);
    if (lasts && p->calls > 0)
        say_calls(p, screen, cli_buf_text(&where));
    cli_buf_free(&line);
    cli_buf_free(&where);
}

void cli_parked_free(struct cli_parked *p)
{
    for (size_t i = 0; i < p->count; i++) {
        cli_buf_free(&p->list[i].line);
        cli_buf_free(&p->list[i].signal);
    }
    free(p->list);
    *p = (struct cli_parked){ 0 };
}

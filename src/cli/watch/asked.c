/* Questions, approvals, inputs and signals by their ids. What a store says of them may be a stranger's: texts are shown, and
 * of a list that grows without end the first are known. */
#include "cli/watch/asked.h"

#include <stdlib.h>
#include <string.h>

#include "cli/paper.h"
#include "cli/progress.h"
#include "cli/story/story.h"
#include "cli/text.h"

/* Open at once; columns of a question in one line. */
#define MAX_OPEN 1024
#define BRIEF    200

static void add_shown(struct cli_buf *out, const hocket_json *value)
{
    struct cli_buf shown = { 0 };
    size_t n;
    const char *text = hocket_json_text(value, "", &n);
    cli_text_show(&shown, text, n, false);
    cli_text_cut(out, cli_buf_text(&shown), shown.n, BRIEF);
    cli_buf_free(&shown);
}

static void add_member(struct cli_buf *out, const hocket_json *event, const char *name)
{
    add_shown(out, hocket_json_get(event, name));
}

/* "q1: Which city?", "a2: may it call write_file {…}" */
static void describe(struct cli_buf *out, const hocket_json *event)
{
    const hocket_json *questions = hocket_json_get(event, "questions");
    add_member(out, event, "id");
    cli_buf_adds(out, ":");
    for (const hocket_json *q = hocket_json_first(questions); q; q = hocket_json_next(q)) {
        cli_buf_adds(out, " ");
        add_shown(out, q);
    }
    if (!*cli_member(event, "tool"))
        return;
    cli_buf_adds(out, " may it call ");
    add_member(out, event, "tool");
    cli_buf_adds(out, " ");
    add_member(out, event, "arguments");
}

static struct cli_asked_one *find(const struct cli_asked *a, const char *id)
{
    for (size_t i = 0; i < a->count; i++)
        if (strcmp(a->list[i].id, id) == 0)
            return &a->list[i];
    return NULL;
}

static void add(struct cli_asked *a, const hocket_json *event)
{
    const char *id = cli_member(event, "id");
    size_t n = strlen(id);
    if (n == 0 || n >= sizeof(a->list->id) || a->count == MAX_OPEN || find(a, id))
        return;
    if (a->count == a->cap) {
        a->cap = a->cap ? 2 * a->cap : 8;
        a->list = realloc(a->list, a->cap * sizeof(*a->list));
        if (!a->list)
            cli_nomem();
    }
    struct cli_asked_one *one = &a->list[a->count++];
    *one = (struct cli_asked_one){ 0 };
    memcpy(one->id, id, n);
    add_member(&one->who, event, "agent");
    describe(&one->text, event);
}

static void drop(struct cli_asked *a, struct cli_asked_one *one)
{
    size_t i = (size_t) (one - a->list);
    cli_buf_free(&one->who);
    cli_buf_free(&one->text);
    memmove(one, one + 1, (--a->count - i) * sizeof(*one));
}

/* "q1 was answered: Lisbon", "a2 was answered: deny (not today)", "q3 is asked no more" */
static void describe_end(struct cli_buf *out, const char *type, const hocket_json *event)
{
    bool approval = strcmp(type, "approval_answered") == 0;
    add_member(out, event, "id");
    if (strcmp(type, "question_withdrawn") == 0) {
        cli_buf_adds(out, " is asked no more");
        return;
    }
    cli_buf_adds(out, " was answered: ");
    add_member(out, event, approval ? "decision" : "text");
    if (!approval || !*cli_member(event, "reason"))
        return;
    cli_buf_adds(out, " (");
    add_member(out, event, "reason");
    cli_buf_adds(out, ")");
}

static void answered(struct cli_asked *a, struct cli_screen *screen, const char *type,
    const hocket_json *event, bool again)
{
    struct cli_asked_one *one = find(a, cli_member(event, "id"));
    struct cli_buf line = { 0 };
    if (!one)
        return;
    if (!again) {
        const char *who = one->who.n > 0 ? one->who.p : NULL;
        if (!one->told)
            cli_screen_line(screen, CLI_ASK, who, cli_buf_text(&one->text));
        describe_end(&line, type, event);
        cli_screen_line(screen, CLI_PLAIN, who, cli_buf_text(&line));
        cli_buf_free(&line);
    }
    drop(a, one);
}

/* An input is told by whoever tells the conversation, and a signal is nobody's words. */
static void taken(struct cli_asked *a, const hocket_json *event)
{
    struct cli_asked_one *one = find(a, cli_member(event, "id"));
    if (one)
        drop(a, one);
}

static bool is_one_of(const char *type, const char *const *list)
{
    while (*list && strcmp(*list, type) != 0)
        list++;
    return *list != NULL;
}

void cli_asked_take(struct cli_asked *a, struct cli_screen *screen, const char *type,
    const hocket_json *event, bool again)
{
    static const char *const opening[] = { "question_asked", "approval_requested",
        "input_requested", "signal_requested", NULL };
    static const char *const answering[] = { "question_answered", "approval_answered",
        "question_withdrawn", NULL };
    static const char *const taking[] = { "input_received", "signal_received", NULL };
    if (is_one_of(type, opening))
        add(a, event);
    else if (is_one_of(type, answering))
        answered(a, screen, type, event, again);
    else if (is_one_of(type, taking))
        taken(a, event);
}

bool cli_asked_untold(const struct cli_asked *a)
{
    for (size_t i = 0; i < a->count; i++)
        if (!a->list[i].told)
            return true;
    return false;
}

void cli_asked_tell(
    struct cli_asked *a, struct cli_screen *screen, const hocket_json *open, const char *id)
{
    struct cli_paper p;
    cli_paper_start_on(&p, screen);
    for (const hocket_json *q = hocket_json_first(open); q; q = hocket_json_next(q)) {
        struct cli_asked_one *one = find(a, cli_member(q, "id"));
        if (one && !one->told)
            cli_story_open_one(&p, q, id);
    }
    cli_paper_end(&p);
    for (size_t i = 0; i < a->count; i++)
        a->list[i].told = true; /* what is not in the list was answered meanwhile */
}

void cli_asked_forget(struct cli_asked *a)
{
    for (size_t i = 0; i < a->count; i++)
        a->list[i].told = false;
}

void cli_asked_free(struct cli_asked *a)
{
    while (a->count > 0)
        drop(a, &a->list[a->count - 1]);
    free(a->list);
}

/* The parts of a kept run's report, in the order in which a person asks: what was it, who worked,
 * what came of it, what is it waiting for. Each part is silent where there is nothing to say. What
 * each agent said and did is in transcript.c. */
#include "cli/story/story_impl.h"

#include <string.h>
#include <time.h>

#include "cli/store.h"
#include "cli/story/story.h"
#include "cli/text.h"

/* The head of a report: which run it was, what was asked, when, what it has used, whose it is. */

static void label(struct cli_paper *p, const char *word)
{
    cli_paper_to(p, INDENT);
    cli_paper_add(p, CLI_DIM, word);
    cli_paper_to(p, INDENT + 9);
}

/* The parts of a line that both the head and the table of agents have. */
static void add_seconds(struct cli_paper *p, double seconds)
{
    struct cli_buf text = { 0 };
    cli_text_seconds(&text, seconds);
    cli_paper_add(p, CLI_PLAIN, cli_buf_text(&text));
    cli_buf_free(&text);
}

static void add_moment(struct cli_paper *p, int64_t ms)
{
    time_t t = (time_t) (ms / 1000);
    struct tm tm;
    char text[40] = "";
    if (cli_text_moment(t, &tm))
        strftime(text, sizeof(text), "%Y-%m-%d %H:%M:%S", &tm);
    cli_paper_add(p, CLI_PLAIN, text);
}

static double real(const hocket_json *object, const char *name, double otherwise)
{
    return hocket_json_number(hocket_json_get(object, name), otherwise);
}

static bool is_text(const hocket_json *object, const char *name)
{
    size_t n;
    cli_story_text(object, name, &n);
    return n > 0;
}

static void say_time(struct cli_paper *p, const hocket_json *story)
{
    const hocket_json *run = hocket_json_get(story, "run");
    double seconds = real(story, "seconds", -1);
    int64_t until = cli_int(run, "until_ms");
    label(p, "began");
    add_moment(p, cli_int(run, "created_ms"));
    if (seconds >= 0) {
        cli_paper_add(p, CLI_PLAIN, is_text(story, "ended") ? ", took " : ", so far ");
        add_seconds(p, seconds);
    }
    cli_paper_line(p);
    if (until) {
        label(p, "until");
        add_moment(p, until);
        cli_paper_line(p);
    }
}

static void add_counts(struct cli_paper *p, const hocket_json *usage)
{
    struct cli_buf b = { 0 };
    cli_text_plural(&b, cli_int(usage, "calls"), "model call");
    cli_buf_adds(&b, ", ");
    cli_text_plural(&b, cli_int(usage, "tool_calls"), "tool call");
    cli_buf_adds(&b, ", ");
    cli_text_count(&b, cli_int(usage, "input"));
    cli_buf_adds(&b, " in");
    cli_text_cached(&b, cli_int(usage, "cached"));
    cli_buf_adds(&b, ", ");
    cli_text_count(&b, cli_int(usage, "output"));
    cli_buf_adds(&b, " out");
    cli_paper_add(p, CLI_PLAIN, cli_buf_text(&b));
    cli_buf_free(&b);
}

/* Something known is not all, and nothing known is not 0. */
static void add_cost(struct cli_paper *p, const hocket_json *usage)
{
    int64_t unpriced = cli_int(usage, "unpriced");
    if (unpriced > 0 && unpriced == cli_int(usage, "calls"))
        cli_paper_add(p, CLI_PLAIN, "?");
    else
        cli_paper_addf(
            p, CLI_PLAIN, "%s%.6f", unpriced > 0 ? "\u2265 " : "", real(usage, "cost_known", 0));
}

static void say_usage(struct cli_paper *p, const hocket_json *story)
{
    const hocket_json *usage = hocket_json_get(story, "usage");
    if (cli_int(usage, "calls") + cli_int(usage, "tool_calls") == 0)
        return;
    label(p, "used");
    add_counts(p, usage);
    cli_paper_add(p, CLI_PLAIN, ", ");
    add_cost(p, usage);
    cli_paper_add(p, CLI_PLAIN, " USD");
    cli_paper_line(p);
}

static void say_parent(struct cli_paper *p, const hocket_json *run)
{
    if (!is_text(run, "parent"))
        return;
    label(p, "fork");
    cli_paper_add(p, CLI_PLAIN, "of ");
    cli_story_add(p, CLI_PLAIN, run, "parent", 0);
    cli_paper_addf(p, CLI_PLAIN, " at record %lld", cli_int(run, "at_seq"));
    cli_paper_line(p);
}

static void say_owner(struct cli_paper *p, const hocket_json *run)
{
    const hocket_json *owner = hocket_json_get(run, "owner");
    if (!owner)
        return;
    label(p, "has it");
    cli_paper_addf(p, CLI_PLAIN, "process %lld on ", cli_int(owner, "pid"));
    cli_story_add(p, CLI_PLAIN, owner, "host", 64);
    cli_paper_line(p);
}

/* The options that it carries, which are no consent of whoever continues it. */
static void say_options(struct cli_paper *p, const hocket_json *story)
{
    if (!is_text(story, "options"))
        return;
    label(p, "options");
    cli_story_paragraphs(p, CLI_PLAIN, story, "options", INDENT + 9);
}

/* A report may be of an earlier moment (show --at). */
static void say_records(struct cli_paper *p, const hocket_json *story)
{
    int64_t at = cli_int(story, "at"), all = cli_int(story, "records"),
            broken = cli_int(story, "broken");
    label(p, "records");
    if (at < all)
        cli_paper_addf(p, CLI_WARN, "as it stood at %lld of %lld", (long long) at, (long long) all);
    else
        cli_paper_addf(p, CLI_PLAIN, "%lld", (long long) all);
    if (broken > 0)
        cli_paper_addf(p, CLI_WARN, ", of which %lld cannot be read", (long long) broken);
    cli_paper_line(p);
}

static void story_head(struct cli_paper *p, const hocket_json *story)
{
    const hocket_json *run = hocket_json_get(story, "run");
    cli_story_add(p, CLI_PLAIN, run, "id", 0);
    cli_paper_add(p, CLI_PLAIN, "  ");
    cli_story_state(p, cli_story_text(run, "state", NULL));
    if (cli_is(story, "simulated"))
        cli_paper_add(p, CLI_WARN, " (simulated)");
    cli_paper_add(p, CLI_PLAIN, "  ");
    cli_story_add(p, CLI_PLAIN, run, "target", cli_paper_left(p));
    cli_paper_line(p);
    if (is_text(run, "input")) {
        label(p, "asked");
        cli_story_paragraphs(p, CLI_PLAIN, run, "input", INDENT + 9);
    }
    say_time(p, story);
    say_usage(p, story);
    say_options(p, story);
    say_parent(p, run);
    say_owner(p, run);
    say_records(p, story);
}

/* Columns of names in the table of agents; of what stands behind them. */
#define NAMES_LEAST 24
#define NAMES_MOST  48
#define FIGURES     50

const char *cli_story_text(const hocket_json *object, const char *name, size_t *n)
{
    size_t len;
    const char *text = hocket_json_text(hocket_json_get(object, name), "", &len);
    if (n)
        *n = len;
    return text;
}

void cli_story_add(struct cli_paper *p, enum cli_tone tone, const hocket_json *object,
    const char *name, size_t columns)
{
    size_t n;
    const char *text = cli_story_text(object, name, &n);
    cli_paper_shown(p, tone, text, n, columns);
}

void cli_story_paragraphs(struct cli_paper *p, enum cli_tone tone, const hocket_json *object,
    const char *name, size_t indent)
{
    size_t n;
    const char *text = cli_story_text(object, name, &n);
    cli_paper_text(p, tone, text, n, indent);
}

void cli_story_heading(struct cli_paper *p, const char *text)
{
    cli_paper_line(p);
    cli_paper_add(p, CLI_ASK, text);
    cli_paper_line(p);
}

/* The largest unit of which there are two: "90 min" says more than "1 h". */
void cli_story_age(struct cli_buf *out, double seconds)
{
    static const struct {
        double from, unit;
        const char *word;
    } units[] = { { 2 * 86400, 86400, "d" }, { 2 * 3600, 3600, "h" }, { 120, 60, "min" } };
    for (size_t i = 0; i < sizeof(units) / sizeof(units[0]); i++)
        if (seconds >= units[i].from) {
            cli_buf_addf(
                out, "%.0f %s", (double) (long long) (seconds / units[i].unit), units[i].word);
            return;
        }
    cli_buf_addf(out, "%.0f s", seconds > 0 ? (double) (long long) seconds : 0.0);
}

void cli_story_state(struct cli_paper *p, const char *state)
{
    static const struct {
        const char *state, *shown;
        enum cli_tone tone;
    } words[] = { { "queued", "queued", CLI_ASK }, { "running", "running", CLI_ASK },
        { "waiting", "waiting", CLI_ASK }, { "parked", "parked", CLI_ASK },
        { "done", "done", CLI_GOOD }, { "failed", "failed", CLI_BAD },
        { "cancelled", "cancelled", CLI_WARN }, { "cut_off", "cut off", CLI_WARN },
        { "forked", "forked", CLI_ASK }, { "damaged", "damaged", CLI_BAD } };
    for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
        if (strcmp(words[i].state, state) == 0)
            cli_paper_add(p, words[i].tone, words[i].shown);
}

/* How a task, or an agent, stands. */
static void add_mark(struct cli_paper *p, const char *status)
{
    static const struct {
        const char *status, *fine, *plain;
        enum cli_tone tone;
    } marks[] = { { "done", "\u2713", "+", CLI_GOOD }, { "finished", "\u2713", "+", CLI_GOOD },
        { "working", "\u25B8", ">", CLI_ASK }, { "failed", "\u2717", "x", CLI_BAD },
        { "running", "\u25B8", ">", CLI_ASK }, { "skipped", "\u2013", "-", CLI_WARN },
        { "cancelled", "\u2013", "-", CLI_WARN } };
    for (size_t i = 0; i < sizeof(marks) / sizeof(marks[0]); i++)
        if (strcmp(marks[i].status, status) == 0) {
            cli_paper_add(p, marks[i].tone, p->screen.unicode ? marks[i].fine : marks[i].plain);
            return;
        }
    cli_paper_add(p, CLI_DIM, p->screen.unicode ? "\u00B7" : ".");
}

/* ---- Agents --------------------------------------------------------------------------------------- */

static const hocket_json *first_of(const hocket_json *object, const char *name)
{
    return hocket_json_first(hocket_json_get(object, name));
}

static void name_of(struct cli_buf *out, const hocket_json *agent)
{
    size_t n, depth = (size_t) cli_int(agent, "depth");
    cli_buf_addf(out, "%*s", (int) (depth > 12 ? 24 : depth * 2), "");
    const char *text = cli_story_text(agent, "agent", &n);
    cli_text_show(out, text, n, false);
    if (!is_text(agent, "trigger"))
        return;
    cli_buf_adds(out, " (");
    text = cli_story_text(agent, "trigger", &n);
    cli_text_show(out, text, n, false);
    cli_buf_adds(out, ")");
}

/* As wide as the widest name, as long as the figures behind it stay on the line. */
static size_t names_of(const struct cli_paper *p, const hocket_json *story)
{
    size_t widest = NAMES_LEAST, room = p->screen.columns > FIGURES + NAMES_LEAST
                                            ? p->screen.columns - FIGURES
                                            : NAMES_LEAST;
    for (const hocket_json *a = first_of(story, "agents"); a; a = hocket_json_next(a)) {
        struct cli_buf name = { 0 };
        name_of(&name, a);
        size_t width = cli_text_width(name.p, name.n) + 5;
        widest = width > widest ? width : widest;
        cli_buf_free(&name);
    }
    room = room < NAMES_MOST ? room : NAMES_MOST;
    return widest < room ? widest : room;
}

static void add_name(struct cli_paper *p, const hocket_json *agent, size_t columns)
{
    struct cli_buf name = { 0 }, cut = { 0 };
    name_of(&name, agent);
    cli_text_cut(&cut, name.p, name.n, columns);
    cli_paper_add(p, CLI_PLAIN, cli_buf_text(&cut));
    cli_buf_free(&cut);
    cli_buf_free(&name);
}

static void say_agent(struct cli_paper *p, const hocket_json *agent, size_t names)
{
    const hocket_json *usage = hocket_json_get(agent, "usage");
    double seconds = real(agent, "seconds", -1);
    cli_paper_to(p, INDENT);
    add_mark(p, cli_story_text(agent, "state", NULL));
    cli_paper_add(p, CLI_PLAIN, " ");
    add_name(p, agent, names - 3);
    cli_paper_to(p, INDENT + names);
    cli_paper_addf(p, CLI_PLAIN, "%5lld%6lld%8lld%8lld  ", cli_int(usage, "calls"),
        cli_int(usage, "tool_calls"), cli_int(usage, "input"), cli_int(usage, "output"));
    add_cost(p, usage);
    cli_paper_to(p, INDENT + names + 41);
    if (seconds >= 0)
        add_seconds(p, seconds);
    cli_paper_line(p);
}

static void say_agents(struct cli_paper *p, const hocket_json *story)
{
    size_t names = names_of(p, story);
    if (!first_of(story, "agents"))
        return;
    cli_paper_line(p);
    cli_paper_add(p, CLI_ASK, "agents");
    cli_paper_to(p, INDENT + names);
    cli_paper_addf(
        p, CLI_DIM, "%5s%6s%8s%8s  %-12s%s", "calls", "tools", "in", "out", "USD", "time");
    cli_paper_line(p);
    for (const hocket_json *a = first_of(story, "agents"); a; a = hocket_json_next(a))
        say_agent(p, a, names);
}

/* ---- Boards, documents ---------------------------------------------------------------------------- */

/* "mason > engineer": who had it, one after the other; else its agent. */
static void add_path(struct cli_paper *p, const hocket_json *task)
{
    const hocket_json *path = hocket_json_get(task, "path");
    if (hocket_json_count(path) < 2) {
        cli_story_add(p, CLI_DIM, task, "agent", cli_paper_left(p));
        return;
    }
    for (const hocket_json *name = hocket_json_first(path); name; name = hocket_json_next(name)) {
        size_t n;
        const char *text = hocket_json_text(name, "", &n);
        if (name != hocket_json_first(path))
            cli_paper_add(p, CLI_DIM, " > ");
        cli_paper_shown(p, CLI_DIM, text, n, cli_paper_left(p));
    }
}

/* Below it, further in: why it failed, or what it waits for. */
static void add_below(struct cli_paper *p, const hocket_json *task, size_t indent)
{
    bool waits = hocket_json_get(task, "blocked") != NULL;
    const char *status = cli_story_text(task, "status", NULL);
    if (!waits && (!is_text(task, "error") || strcmp(status, "running") == 0))
        return;
    cli_paper_to(p, indent);
    if (waits)
        cli_paper_add(p, CLI_WARN, "is blocked: ");
    cli_story_add(
        p, waits ? CLI_WARN : CLI_BAD, task, waits ? "blocked" : "error", cli_paper_left(p));
    cli_paper_line(p);
}

/* As a tree: parts, and what a blocked task waits for, stand below it. */
static void say_task(struct cli_paper *p, const hocket_json *task)
{
    size_t depth = (size_t) cli_int(task, "depth"), indent = INDENT + 2 * (depth > 12 ? 12 : depth);
    int64_t unblocks = cli_int(task, "unblocks");
    cli_paper_to(p, indent);
    add_mark(p, cli_story_text(task, "status", NULL));
    cli_paper_addf(p, CLI_DIM, " %lld  ", cli_int(task, "number"));
    size_t left = cli_paper_left(p);
    cli_story_add(p, CLI_PLAIN, task, "text", left > 24 ? left - 20 : left);
    cli_paper_add(p, CLI_PLAIN, "  ");
    add_path(p, task);
    if (unblocks > 0)
        cli_paper_addf(p, CLI_DIM, "  for task %lld", (long long) unblocks);
    cli_paper_line(p);
    add_below(p, task, indent + 4);
}

static void say_boards(struct cli_paper *p, const hocket_json *story)
{
    const hocket_json *boards = hocket_json_get(story, "boards");
    for (const hocket_json *b = hocket_json_first(boards); b; b = hocket_json_next(b)) {
        struct cli_buf head = { 0 };
        size_t done = 0;
        for (const hocket_json *t = first_of(b, "tasks"); t; t = hocket_json_next(t))
            done += strcmp(cli_story_text(t, "status", NULL), "done") == 0;
        cli_buf_adds(&head, "board");
        if (hocket_json_count(boards) > 1)
            cli_buf_addf(&head, " %lld", cli_int(b, "number"));
        cli_buf_addf(
            &head, ": %zu of %zu done", done, hocket_json_count(hocket_json_get(b, "tasks")));
        cli_story_heading(p, cli_buf_text(&head));
        cli_buf_free(&head);
        for (const hocket_json *t = first_of(b, "tasks"); t; t = hocket_json_next(t))
            say_task(p, t);
    }
}

static void say_slot(struct cli_paper *p, const hocket_json *slot)
{
    cli_paper_to(p, INDENT);
    cli_story_add(p, CLI_DIM, slot, "heading", cli_paper_left(p));
    cli_paper_line(p);
    for (const hocket_json *e = first_of(slot, "entries"); e; e = hocket_json_next(e))
        cli_story_paragraphs(p, CLI_PLAIN, e, "content", INDENT + 2);
}

static void say_documents(struct cli_paper *p, const hocket_json *story)
{
    const hocket_json *documents = hocket_json_get(story, "documents");
    for (const hocket_json *d = hocket_json_first(documents); d; d = hocket_json_next(d)) {
        struct cli_buf head = { 0 };
        cli_buf_adds(&head, "document");
        if (hocket_json_count(documents) > 1)
            cli_buf_addf(&head, " %lld", cli_int(d, "number"));
        cli_buf_addf(&head, ": version %lld", cli_int(d, "version"));
        cli_story_heading(p, cli_buf_text(&head));
        cli_buf_free(&head);
        for (const hocket_json *s = first_of(d, "slots"); s; s = hocket_json_next(s))
            say_slot(p, s);
    }
}

/* ---- What is open, and the end ------------------------------------------------------------------------ */

static bool is_kind(const hocket_json *one, const char *kind)
{
    return strcmp(cli_story_text(one, "kind", NULL), kind) == 0;
}

/* Nobody has to answer it. */
static bool is_run(const hocket_json *one)
{
    return is_kind(one, "run") || is_kind(one, "caller");
}

static void say_who(struct cli_paper *p, const hocket_json *one)
{
    cli_paper_to(p, INDENT);
    cli_story_add(p, CLI_ASK, one, "id", 16);
    cli_paper_add(p, CLI_PLAIN, "  ");
    if (is_kind(one, "signal")) {
        cli_paper_add(p, CLI_DIM, "waits for the signal ");
        cli_story_add(p, CLI_PLAIN, one, "name", 64);
    } else if (is_run(one)) {
        cli_paper_add(
            p, CLI_DIM, is_kind(one, "run") ? "waits for the run " : "waits for its caller, ");
        cli_story_add(p, CLI_PLAIN, one, is_kind(one, "run") ? "child" : "caller", 64);
    } else if (is_kind(one, "budget")) {
        cli_paper_add(p, CLI_DIM, "waits for the budget of ");
        cli_story_add(p, CLI_PLAIN, one, "project", 64);
        cli_paper_add(p, CLI_DIM, " (");
        cli_story_add(p, CLI_DIM, one, "limit", 16);
        cli_paper_add(p, CLI_DIM, "), used up until ");
        cli_story_add(p, CLI_PLAIN, one, "until", 64);
    } else if (is_kind(one, "input")) {
        cli_paper_add(p, CLI_DIM, "waits for its next input");
    } else {
        if (is_text(one, "agent")) {
            cli_story_add(p, CLI_DIM, one, "agent", 32);
            cli_paper_add(p, CLI_DIM, " ");
        }
        cli_paper_add(p, CLI_DIM, is_text(one, "tool") ? "wants to call " : "asks:");
        cli_story_add(p, CLI_PLAIN, one, "tool", 64);
        if (is_text(one, "tool") && is_text(one, "reason")) {
            cli_paper_add(p, CLI_DIM, ": ");
            cli_story_add(p, CLI_DIM, one, "reason", cli_paper_left(p));
        }
    }
    cli_paper_line(p);
}

static void say_what(struct cli_paper *p, const hocket_json *one)
{
    for (const hocket_json *t = first_of(one, "questions"); t; t = hocket_json_next(t)) {
        size_t n;
        const char *text = hocket_json_text(t, "", &n);
        cli_paper_text(p, CLI_PLAIN, text, n, INDENT + 4);
    }
    if (is_text(one, "arguments"))
        cli_story_paragraphs(p, CLI_PLAIN, one, "arguments", INDENT + 4);
    if (is_text(one, "reason") && !is_text(one, "tool"))
        cli_story_paragraphs(p, CLI_DIM, one, "reason", INDENT + 4);
}

/* Of a command that somebody copies. */
static void add_word(struct cli_paper *p, const hocket_json *one, const char *name)
{
    size_t n;
    const char *text = cli_story_text(one, name, &n);
    struct cli_buf word = { 0 };
    cli_text_word(&word, text, n);
    cli_paper_add(p, CLI_DIM, cli_buf_text(&word));
    cli_buf_free(&word);
}

static void say_command(void *ud, const char *what, const char *command)
{
    struct cli_paper *p = ud;
    (void) what;
    cli_paper_to(p, INDENT + 4);
    cli_paper_add(p, CLI_DIM, command);
    cli_paper_line(p);
}

/* The commands that answer. */
static void say_answers(struct cli_paper *p, const hocket_json *one, const char *id)
{
    size_t n;
    bool is_signal = is_kind(one, "signal");
    const char *text = cli_story_text(one, is_signal ? "name" : "id", &n);
    struct cli_buf word = { 0 };
    cli_text_word(&word, text, n);
    const struct cli_how how = { .run = id,
        .id = cli_buf_text(&word),
        .where = "",
        .signal = is_signal ? cli_buf_text(&word) : NULL,
        .leave = is_text(one, "tool"),
        .plan = hocket_json_get(one, "plan") != NULL,
        .always = is_text(one, "always") };
    cli_how_to_answer(&how, say_command, p);
    cli_buf_free(&word);
}

/* What somebody has to do. */
static void say_how(struct cli_paper *p, const hocket_json *one, const char *id)
{
    cli_paper_to(p, INDENT + 4);
    if (is_text(one, "answered")) {
        cli_paper_add(p, CLI_GOOD, "answered, and not taken yet: ");
        cli_story_add(p, CLI_PLAIN, one, "answered", cli_paper_left(p));
        cli_paper_line(p);
        return;
    }
    if (is_run(one)) {
        cli_paper_add(p, CLI_DIM, "hocket show ");
        cli_story_add(p, CLI_DIM, one, is_kind(one, "run") ? "child" : "caller", 64);
        cli_paper_line(p);
        return;
    }
    if (is_kind(one, "budget")) {
        cli_paper_add(p, CLI_DIM, "hocket budget set ");
        add_word(p, one, "project");
        cli_paper_line(p);
        return;
    }
    if (is_kind(one, "input")) {
        cli_paper_addf(p, CLI_DIM, "hocket chat --resume %s", id);
        cli_paper_line(p);
    }
    say_answers(p, one, id);
}

void cli_story_open_one(struct cli_paper *p, const hocket_json *one, const char *id)
{
    say_who(p, one);
    say_what(p, one);
    say_how(p, one, id);
}

bool cli_story_open(struct cli_paper *p, const hocket_json *open, const char *id)
{
    if (!hocket_json_first(open))
        return false;
    for (const hocket_json *q = hocket_json_first(open); q; q = hocket_json_next(q))
        cli_story_open_one(p, q, id);
    return true;
}

/* That a run has ended may be no record of its own. */
static bool is_over(const hocket_json *story, const char *state, bool is_now)
{
    return is_text(story, "ended")
           || (is_now
               && (strcmp(state, "done") == 0 || strcmp(state, "failed") == 0
                   || strcmp(state, "cancelled") == 0));
}

static void say_given_back(struct cli_paper *p, const hocket_json *run)
{
    struct cli_buf line = { 0 };
    size_t n;
    const char *why = cli_story_text(run, "put_off", &n);
    if (n == 0)
        return;
    cli_story_heading(p, "given back");
    cli_buf_adds(&line, "A worker could not go on with it: ");
    cli_buf_add(&line, why, n);
    cli_paper_text(p, CLI_WARN, line.p, line.n, INDENT);
    cli_buf_free(&line);
}

/* What was open when a run ended is nobody's question any more. */
static void say_end(struct cli_paper *p, const hocket_json *story, const char *store)
{
    const hocket_json *error = hocket_json_get(story, "error");
    const hocket_json *run = hocket_json_get(story, "run");
    const char *state = cli_story_text(run, "state", NULL);
    struct cli_buf id = { 0 };
    cli_buf_adds(&id, cli_story_text(run, "id", NULL));
    cli_store_hint(&id, store);
    bool is_now = cli_int(story, "at") == cli_int(story, "records");
    if (!is_over(story, state, is_now) && hocket_json_first(hocket_json_get(story, "open"))) {
        cli_story_heading(p, "waits for");
        cli_story_open(p, hocket_json_get(story, "open"), id.p);
    }
    if (is_text(story, "answer")) {
        cli_story_heading(p, "answer");
        cli_story_paragraphs(p, CLI_PLAIN, story, "answer", INDENT);
    }
    if (is_text(error, "message")) {
        cli_story_heading(p, "error");
        cli_story_paragraphs(p, CLI_BAD, error, "message", INDENT);
    }
    if (is_now && strcmp(state, "queued") == 0)
        say_given_back(p, run);
    bool is_new = strcmp(state, "forked") == 0;
    if (is_now && (is_new || strcmp(state, "cut_off") == 0)) {
        cli_paper_line(p);
        cli_paper_addf(p, CLI_WARN, "It %s. Next: hocket resume %s",
            is_new ? "has only been forked" : "was cut off", id.p);
        cli_paper_line(p);
    }
    cli_buf_free(&id);
}

void cli_story_print(struct cli_paper *p, const hocket_json *story, const char *store)
{
    story_head(p, story);
    say_agents(p, story);
    say_boards(p, story);
    say_documents(p, story);
    cli_story_transcripts(p, story);
    say_end(p, story, store);
}

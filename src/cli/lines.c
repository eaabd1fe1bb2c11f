/* A sentence or a function for each type of event that is worth a line, in a table by type: who, what, in which
 * tone. Values are shown short and with control characters made visible. An event that is not in
 * the table has no line. */
#include "cli/lines.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/text.h"

/* Columns of what somebody said, of arguments and of results. */
#define SAID   300
#define DETAIL 120

struct about {
    struct cli_line *line;
    const struct cli_progress *progress;
    const hocket_json *event;
    double now;
};

static struct cli_buf *text_of(const struct about *a)
{
    return &a->line->text;
}

static int64_t number(const struct about *a, const char *name)
{
    return cli_int(a->event, name);
}

/* A text from outside, on one line and cut. */
static void add_shown(struct cli_buf *out, const hocket_json *value, size_t columns)
{
    struct cli_buf shown = { 0 };
    size_t n = 0;
    const char *text = hocket_json_text(value, "", &n);
    cli_text_show(&shown, text, n, false);
    while (shown.n > 0 && shown.p[shown.n - 1] == ' ')
        shown.n--;
    cli_text_cut(out, cli_buf_text(&shown), shown.n, columns);
    cli_buf_free(&shown);
}

static void add_member(const struct about *a, const char *name, size_t columns)
{
    add_shown(text_of(a), hocket_json_get(a->event, name), columns);
}

/* ---- Sentences --------------------------------------------------------- */

/* What stands in braces behind `at`; the rest of the sentence. */
static const char *add_place(const struct about *a, const char *at)
{
    char name[32], unit[16];
    const char *end = at + strcspn(at, "}"), *kind = at + strcspn(at, ":#=+}");
    snprintf(name, sizeof(name), "%.*s", (int) (kind - at), at);
    snprintf(unit, sizeof(unit), "%.*s", end > kind ? (int) (end - kind - 1) : 0, kind + 1);
    switch (*kind) {
    case '#': cli_text_count(text_of(a), number(a, name)); break;
    case '=': cli_buf_addf(text_of(a), "%lld", (long long) number(a, name)); break;
    case '+': cli_text_plural(text_of(a), number(a, name), unit); break;
    case ':': add_member(a, name, strtoul(kind + 1, NULL, 10)); break;
    default: add_member(a, name, DETAIL); break;
    }
    return end + 1;
}

/* Whether what stands in brackets at p has nothing to tell: its first member is an empty text, or no number above 0. */
static bool is_empty(const struct about *a, const char *p)
{
    char name[32];
    const char *at = p + strcspn(p, "{") + 1, *kind = at + strcspn(at, ":#=+}");
    snprintf(name, sizeof(name), "%.*s", (int) (kind - at), at);
    return strchr("#=+", *kind) ? number(a, name) <= 0 : !*cli_member(a->event, name);
}

/* {name} is a member's text, cut at DETAIL columns; {name:64} at 64. {name#} is a count, {name=} a number as it is, {name+task}
 * "3 tasks". [ and {name}] is left out where the event does not have it. */
static void add_sentence(const struct about *a, const char *p)
{
    while (*p) {
        size_t n = strcspn(p, "{[]");
        cli_buf_add(text_of(a), p, n);
        p += n;
        if (*p == '{')
            p = add_place(a, p + 1);
        else if (*p == '[' && is_empty(a, p))
            p += strcspn(p, "]") + 1;
        else if (*p)
            p++;
    }
}

/* ---- Tasks ------------------------------------------------------------- */

/* How many of the tasks are this agent's, and whether the first of them is tasks[i]. */
static size_t tasks_of(const hocket_json *tasks, const char *agent, size_t i, bool *first)
{
    size_t count = 0;
    *first = true;
    for (size_t j = 0; j < hocket_json_count(tasks); j++) {
        bool same = strcmp(cli_member(hocket_json_at(tasks, j), "assigned_to"), agent) == 0;
        count += same;
        *first = *first && !(same && j < i);
    }
    return count;
}

static void on_tasks(const struct about *a)
{
    const hocket_json *tasks = hocket_json_get(a->event, "tasks");
    size_t n = hocket_json_count(tasks);
    const char *between = ": ";
    int64_t unblocks = cli_int(hocket_json_at(tasks, 0), "unblocks");
    if (hocket_json_get(hocket_json_at(tasks, 0), "parent"))
        return; /* the split names its parts */
    cli_buf_adds(text_of(a), "planned ");
    cli_text_plural(text_of(a), (long long) n, "task");
    for (size_t i = 0; i < n && i < 64; i++) {
        const hocket_json *agent = hocket_json_get(hocket_json_at(tasks, i), "assigned_to");
        bool first;
        size_t count = tasks_of(tasks, hocket_json_text(agent, "", NULL), i, &first);
        if (!first)
            continue;
        cli_buf_adds(text_of(a), between);
        add_shown(text_of(a), agent, 64);
        cli_buf_addf(text_of(a), " %zu", count);
        between = ", ";
    }
    if (unblocks > 0)
        cli_buf_addf(text_of(a), ", before task %lld", (long long) unblocks);
}

static void on_task(const struct about *a)
{
    const char *status = cli_member(a->event, "status"), *failed = "failed", *skipped = "skipped";
    if (strcmp(status, failed) != 0 && strcmp(status, skipped) != 0)
        return;
    a->line->tone = CLI_WARN;
    a->line->who[0] = 0;
    add_sentence(a, "task {id=} ");
    if (a->progress->several_boards) /* each has a task of this number */
        add_sentence(a, "of {assigned_to:64} ");
    cli_buf_adds(text_of(a), status);
    bool told = strcmp(a->progress->last_failed, cli_member(a->event, "assigned_to")) == 0;
    if (told || !*cli_member(a->event, "error")) /* its agent's warning has just said why */
        return;
    cli_buf_adds(text_of(a), ": ");
    add_member(a, "error", SAID);
}

/* ---- Agents ------------------------------------------------------------ */

static void on_started(const struct about *a)
{
    const hocket_json *ids = hocket_json_get(a->event, "task_ids");
    size_t n = hocket_json_count(ids);
    a->line->live = true;
    cli_buf_adds(text_of(a), n == 0 ? "started" : n == 1 ? "started: task " : "started: tasks ");
    for (size_t i = 0; i < n; i++)
        cli_buf_addf(text_of(a), "%s%lld", i ? ", " : "",
            (long long) hocket_json_int(hocket_json_at(ids, i), 0));
}

/* One that failed has its warning. */
static void on_finished(const struct about *a)
{
    const struct cli_agent *agent = cli_progress_agent(a->progress, cli_member(a->event, "op"));
    if (!agent || agent->failed)
        return;
    a->line->tone = agent->cancelled ? CLI_PLAIN : CLI_GOOD;
    cli_buf_adds(text_of(a), agent->cancelled ? "cancelled" : "finished");
    if (agent->tasks > 0 && !agent->cancelled) {
        cli_buf_adds(text_of(a), " ");
        cli_text_plural(text_of(a), agent->tasks, "task");
    }
    cli_buf_adds(text_of(a), agent->cancelled ? " after " : " in ");
    cli_text_seconds(text_of(a), a->now - agent->since);
}

/* Most warnings begin with the agent's name; the others get it. */
static void on_warning(const struct about *a)
{
    const char *who = cli_member(a->event, "agent"), *message = cli_member(a->event, "message");
    a->line->tone = CLI_WARN;
    a->line->who[0] = 0;
    if (*who && strncmp(message, who, strlen(who)) != 0) {
        add_shown(text_of(a), hocket_json_get(a->event, "agent"), 64);
        cli_buf_adds(text_of(a), ": ");
    }
    add_member(a, "message", 2000);
}

/* A call that nobody could be asked about: whoever looks at the answer has to know. */
static void on_approval(const struct about *a)
{
    if (*cli_member(a->event, "id") || strcmp(cli_member(a->event, "decision"), "deny") != 0)
        return;
    a->line->tone = CLI_WARN;
    add_sentence(a, "{tool:64} was not allowed: {reason:300}");
}

/* Without a summary what was said before is lost to the agent: that is a warning, all else a detail. */
static void on_compaction(const struct about *a)
{
    a->line->tone = *cli_member(a->event, "note") ? CLI_WARN : CLI_DIM;
    add_sentence(a, "its conversation was made shorter: {tokens_before#} tokens, now "
                    "{tokens_after#}[; {note:300}]");
}

/* What the provider's own tools did, and where the first of what they found is. */
static void on_server_tools(const struct about *a)
{
    const hocket_json *tools = hocket_json_get(a->event, "tools"),
                      *sources = hocket_json_get(a->event, "sources");
    size_t n = hocket_json_count(sources);
    a->line->tone = CLI_DIM;
    cli_buf_adds(text_of(a), "the provider's own tools:");
    for (size_t i = 0; i < hocket_json_count(tools); i++)
        cli_buf_addf(text_of(a), "%s %s %lld", i ? "," : "",
            cli_member(hocket_json_at(tools, i), "name"),
            cli_int(hocket_json_at(tools, i), "uses"));
    for (size_t i = 0; i < n && i < 5; i++) {
        cli_buf_adds(text_of(a), i ? ", " : "; sources: ");
        cli_buf_adds(text_of(a), cli_member(hocket_json_at(sources, i), "url"));
    }
    if (n > 5)
        cli_buf_addf(text_of(a), " and %zu more", n - 5);
}

/* What a model has made is in a file. */
static void on_made(const struct about *a)
{
    cli_buf_adds(text_of(a), "made ");
    cli_buf_adds(text_of(a), cli_member(a->event, "path"));
    cli_buf_addf(text_of(a), " (%s, ", cli_member(a->event, "mime"));
    cli_text_count(text_of(a), number(a, "bytes"));
    cli_buf_adds(text_of(a), " bytes)");
}

/* "; the first that differs: model of food (messages, tools)" */
static void say_first(const struct about *a, const hocket_json *first)
{
    const hocket_json *differs = hocket_json_get(first, "differs");
    if (!first)
        return;
    cli_buf_addf(text_of(a), "; the first that %s: %s", differs ? "differs" : "is new",
        cli_member(first, "kind"));
    if (hocket_json_get(first, "agent"))
        cli_buf_addf(text_of(a), " of %s", cli_member(first, "agent"));
    const char *sign = " (";
    for (const hocket_json *d = hocket_json_first(differs); d; d = hocket_json_next(d)) {
        cli_buf_addf(text_of(a), "%s%s", sign, hocket_json_text(d, "?", NULL));
        sign = ", ";
    }
    if (hocket_json_count(differs) > 0)
        cli_buf_adds(text_of(a), ")");
}

/* What a fork that remembers its parent did not have to do again. */
static void on_reused(const struct about *a)
{
    const hocket_json *saved = hocket_json_get(a->event, "saved"),
                      *cost = hocket_json_get(saved, "cost");
    a->line->tone = CLI_DIM;
    cli_buf_addf(text_of(a), "%lld replayed, %lld done anew; saved ",
        (long long) number(a, "replayed"), (long long) number(a, "run_anew"));
    cli_text_count(text_of(a), cli_int(saved, "input") + cli_int(saved, "output"));
    cli_buf_adds(text_of(a), " tokens");
    if (cost)
        cli_buf_addf(text_of(a), ", %.4f USD", hocket_json_number(cost, 0));
    say_first(a, hocket_json_get(a->event, "first"));
}

/* A wait that a person would take for a standstill is printed in any case. */
static void on_retry(const struct about *a)
{
    double delay = cli_number(a->event, "delay");
    a->line->details = delay < 1;
    a->line->tone = CLI_WARN;
    cli_buf_adds(text_of(a), "asks ");
    add_member(a, "model", 64);
    cli_buf_addf(text_of(a), " again in %.1f s: ", delay);
    add_member(a, "error", SAID);
}

/* ---- Details ----------------------------------------------------------- */

static void on_reply(const struct about *a)
{
    const hocket_json *usage = hocket_json_get(a->event, "usage");
    const hocket_json *first = hocket_json_get(a->event, "first_seconds");
    a->line->details = true;
    a->line->tone = CLI_DIM;
    add_member(a, "model", 64);
    cli_buf_adds(text_of(a), " replied: ");
    cli_text_plural(text_of(a), number(a, "calls"), "tool call");
    cli_buf_addf(text_of(a), ", %lld tokens in", cli_int(usage, "input"));
    cli_text_cached(text_of(a), cli_int(usage, "cached"));
    cli_buf_addf(text_of(a), ", %lld out, %.2f s", cli_int(usage, "output"),
        cli_number(a->event, "seconds"));
    if (first)
        cli_buf_addf(text_of(a), ", first after %.2f s", hocket_json_number(first, 0));
}

static void on_tool(const struct about *a)
{
    bool failed = cli_is(a->event, "error");
    a->line->details = true;
    a->line->tone = CLI_DIM;
    add_sentence(
        a, failed ? "{tool:64} {arguments} failed: {result}" : "{tool:64} {arguments}: {result}");
}

static void on_server_log(const struct about *a)
{
    const char *level = cli_member(a->event, "level");
    a->line->details = strcmp(level, "debug") == 0 || strcmp(level, "info") == 0;
    a->line->tone = CLI_DIM;
    add_member(a, "server", 64);
    cli_buf_addf(text_of(a), " logs (%s): ", level);
    add_member(a, "text", DETAIL);
}

static void add_names(const struct about *a, const char *member, const char *sign)
{
    const hocket_json *names = hocket_json_get(a->event, member);
    for (size_t i = 0; i < hocket_json_count(names); i++)
        cli_buf_addf(
            text_of(a), " %s%s", sign, hocket_json_text(hocket_json_at(names, i), "", NULL));
}

static void on_tools(const struct about *a)
{
    a->line->tone = CLI_DIM;
    cli_buf_adds(text_of(a), "its tools have changed:");
    add_names(a, "added", "+");
    add_names(a, "removed", "-");
    add_names(a, "changed", "~");
}

/* ---- Patterns: who goes on, and how a discussion stands ------------------ */

/* ": house.bricks (mason), house.roof (mason)" */
static void add_tasks(const struct about *a)
{
    const hocket_json *tasks = hocket_json_get(a->event, "tasks");
    size_t n = hocket_json_count(tasks);
    for (size_t i = 0; i < n && i < 20; i++) {
        const hocket_json *one = hocket_json_at(tasks, i);
        cli_buf_adds(text_of(a), i ? ", " : ": ");
        add_shown(text_of(a), hocket_json_get(one, "id"), 64);
        cli_buf_adds(text_of(a), " (");
        add_shown(text_of(a), hocket_json_get(one, "specialist"), 64);
        cli_buf_adds(text_of(a), ")");
    }
    if (n > 20)
        cli_buf_addf(text_of(a), " and %zu more", n - 20);
}

/* "splits house into 2 parts: house.bricks (mason), house.roof (mason)" */
static void on_split(const struct about *a)
{
    a->line->tone = CLI_DIM;
    add_sentence(a, "splits {id} into ");
    cli_text_plural(
        text_of(a), (long long) hocket_json_count(hocket_json_get(a->event, "tasks")), "part");
    add_tasks(a);
}

/* "carries out a plan, one task after the other: sights (guide), roof (guide)" */
static void on_plan(const struct about *a)
{
    int64_t parent = number(a, "parent");
    a->line->details = true; /* the tasks were shown when they were planned */
    a->line->tone = CLI_DIM;
    if (parent > 0)
        cli_buf_addf(text_of(a), "carries out the parts of task %lld", (long long) parent);
    else
        cli_buf_adds(
            text_of(a), number(a, "replan") > 0 ? "carries out a new plan" : "carries out a plan");
    if (strcmp(cli_member(a->event, "execution_mode"), "sequential") == 0)
        cli_buf_adds(text_of(a), ", one task after the other");
    add_tasks(a);
}

/* One that holds is a detail: it shows in its task's end, too. */
static void on_checked(const struct about *a)
{
    bool ok = cli_is(a->event, "ok"), of_task = *cli_member(a->event, "task") != 0;
    a->line->details = ok;
    a->line->tone = ok ? CLI_DIM : CLI_WARN;
    add_sentence(a, !ok       ? "fails the check: {reason}"
                    : of_task ? "passes the check of {task} ({check})"
                              : "passes its check ({check})");
}

/* "has read text that is labelled web, private (web_fetch)" */
static void on_labels(const struct about *a)
{
    const hocket_json *labels = hocket_json_get(a->event, "labels");
    a->line->details = true;
    a->line->tone = CLI_DIM;
    cli_buf_adds(text_of(a), "has read text that is labelled ");
    for (size_t i = 0; i < hocket_json_count(labels) && i < 20; i++) {
        cli_buf_adds(text_of(a), i ? ", " : "");
        add_shown(text_of(a), hocket_json_at(labels, i), 64);
    }
    add_sentence(a, " ({tool})");
}

static void on_draft(const struct about *a)
{
    bool same = cli_is(a->event, "same");
    a->line->tone = CLI_DIM;
    add_sentence(a, same ? "takes the saved plan {name} ({path}) as a draft"
                         : "reads the saved plan {name} ({path}) beside the request");
}

/* "assumes from earlier answers: Which place? Lisbon" */
static void on_remembered(const struct about *a)
{
    const hocket_json *answers = hocket_json_get(a->event, "answers");
    a->line->tone = CLI_DIM;
    cli_buf_adds(text_of(a), "assumes from earlier answers");
    for (size_t i = 0; i < hocket_json_count(answers) && i < 5; i++) {
        const hocket_json *one = hocket_json_at(answers, i);
        cli_buf_adds(text_of(a), i ? "; " : ": ");
        add_shown(text_of(a), hocket_json_get(one, "question"), DETAIL);
        cli_buf_adds(text_of(a), " ");
        add_shown(text_of(a), hocket_json_get(one, "answer"), DETAIL);
    }
}

/* What was denied shows with the call as well. */
static void on_hook(const struct about *a)
{
    a->line->tone = strcmp(cli_member(a->event, "decision"), "deny") == 0 ? CLI_WARN : CLI_DIM;
    add_sentence(a, "a hook ({point}) of {of}: {decision}[: {value}]");
}

static void on_unblocked(const struct about *a)
{
    bool failed = *cli_member(a->event, "error") != 0;
    a->line->tone = failed ? CLI_WARN : CLI_DIM;
    cli_buf_adds(text_of(a), failed ? "stays blocked in " : "goes on with ");
    if (hocket_json_kind(hocket_json_get(a->event, "id")) == HOCKET_JSON_NUMBER)
        cli_buf_addf(text_of(a), "task %lld", (long long) number(a, "id"));
    else
        add_member(a, "id", DETAIL);
    add_sentence(a, failed ? "[: {error}]" : "[, and is refused what it needs: {refused}]");
}

/* " after mason, engineer": the agents that had failed before. The last one of the path failed just now. */
static void add_before(const struct about *a)
{
    const hocket_json *path = hocket_json_get(a->event, "path");
    for (size_t i = 0; i + 1 < hocket_json_count(path) && i < 20; i++) {
        cli_buf_adds(text_of(a), i ? ", " : " after ");
        add_shown(text_of(a), hocket_json_at(path, i), 64);
    }
}

static void on_reassigned(const struct about *a)
{
    a->line->tone = CLI_DIM;
    snprintf(a->line->who, sizeof(a->line->who), "%s", cli_member(a->event, "from"));
    cli_buf_adds(text_of(a), "has failed");
    add_before(a);
    add_sentence(a, ", and gives up to {to}: {error}");
}

static void add_bound(const struct about *a, const char *name)
{
    const char *limit = cli_member(a->event, "limit");
    if (strcmp(limit, "cost") == 0) {
        cli_buf_addf(text_of(a), "%.4f USD", cli_number(a->event, name));
    } else if (strcmp(limit, "tokens") == 0) {
        cli_text_count(text_of(a), number(a, name));
        cli_buf_adds(text_of(a), " tokens");
    } else {
        cli_text_plural(text_of(a), number(a, name),
            strcmp(limit, "tool_calls") == 0 ? "tool call" : "model call");
    }
}

/* A person allowed a workflow more than the bound that was approved. */
static void on_bound(const struct about *a)
{
    a->line->tone = CLI_WARN;
    cli_buf_adds(text_of(a), "allowed beyond the workflow's bound: ");
    add_bound(a, "by");
    cli_buf_adds(text_of(a), " more, ");
    add_bound(a, "to");
    cli_buf_adds(text_of(a), " in all");
}

static void on_handoff(const struct about *a)
{
    a->line->tone = CLI_DIM;
    snprintf(a->line->who, sizeof(a->line->who), "%s", cli_member(a->event, "from"));
    add_sentence(a, "hands on to {to}[: {reason}]");
}

/* Once more over all of it: in a store that somebody else has written names may be anything, too. */
static void show_line(struct cli_line *line)
{
    struct cli_buf who = { 0 }, text = { 0 };
    cli_text_show(&who, line->who, strlen(line->who), false);
    cli_text_show(&text, cli_buf_text(&line->text), line->text.n, false);
    snprintf(line->who, sizeof(line->who), "%s", cli_buf_text(&who));
    cli_buf_free(&who);
    cli_buf_free(&line->text);
    line->text = text;
}

/* Events that a sentence describes. */
static const struct {
    const char *type;
    enum cli_tone tone;
    bool details; /* only for -v */
    const char *sentence;
} sentences[] = {
    { "facilitator_message", CLI_PLAIN, false, "{content:300}" },
    { "agent_message", CLI_PLAIN, true, "{content:300}" },
    { "agent_reasoning", CLI_DIM, true, "{content:300}" },
    { "agent_cut", CLI_WARN, false, "gives a last answer: {message:300}" },
    /* What a person said to an agent at work: the run's own terminal shows it as well. */
    { "user_message_received", CLI_ASK, false, "hears: {text:300}" },
    { "user_message_dropped", CLI_WARN, false, "not told: {reason:300}" },
    { "model_fallback", CLI_WARN, false, "falls back from {from:64} on {to:64}: {message:300}" },
    { "conversation_forked", CLI_DIM, false,
        "begins with the conversation of {caller:64} ({messages+message})" },
    { "file_attached", CLI_DIM, false, "given: {name:300}, {mime:300}, {bytes#} bytes" },
    { "host_refused", CLI_WARN, false, "a command did not reach {host:255}:{port=}: {reason:300}" },
    { "model_request", CLI_DIM, true, "asks {model:64} (turn {turn=}, {messages+message})" },
    { "document_updated", CLI_DIM, true, "document: {change_description} (version {version=})" },
    { "routed", CLI_DIM, false, "routes to {to}[: {reason}]" },
    { "task_blocked", CLI_DIM, false, "is blocked: {what} (it needs: {needs})" },
    { "guard_tripped", CLI_WARN, false, "is stopped by the guard {guard} of its {side}: {reason}" },
    { "finding_reused", CLI_DIM, false, "has what {by} read: {tool} {arguments}" },
    { "finding_left_out", CLI_DIM, false,
        "does not get what was read ({reason}): {tool} {arguments}" },
    { "run_awaited", CLI_DIM, false, "works in the pool {pool}, as run {child}" },
    { "round_started", CLI_DIM, false, "round {round=}: {members+member}" },
    { "phase_started", CLI_PLAIN, false, "phase: {name}[, {planned+agent}]" },
    { "workflow_report", CLI_PLAIN, false, "{content:300}" },
    { "team_finished", CLI_DIM, false, "the team is done after {rounds+round}: {reason}" },
};

/* Events that a function describes. */
static const struct {
    const char *type;
    void (*describe)(const struct about *a);
} table[] = {
    { "tasks_created", on_tasks },
    { "task_updated", on_task },
    { "agent_started", on_started },
    { "agent_finished", on_finished },
    { "compaction_finished", on_compaction },
    { "run_reused", on_reused },
    { "file_made", on_made },
    { "server_tools_used", on_server_tools },
    { "model_retry", on_retry },
    { "warning", on_warning },
    { "approval_answered", on_approval },
    { "model_reply", on_reply },
    { "tool_call", on_tool },
    { "server_log", on_server_log },
    { "tools_changed", on_tools },
    { "task_split", on_split },
    { "task_unblocked", on_unblocked },
    { "plan_started", on_plan },
    { "checked", on_checked },
    { "labels_added", on_labels },
    { "draft_found", on_draft },
    { "answers_remembered", on_remembered },
    { "hook_decided", on_hook },
    { "reassigned", on_reassigned },
    { "handoff", on_handoff },
    { "bound_raised", on_bound },
};

static void describe(const struct about *a, const char *type)
{
    for (size_t i = 0; i < sizeof(sentences) / sizeof(sentences[0]); i++)
        if (strcmp(sentences[i].type, type) == 0) {
            a->line->tone = sentences[i].tone;
            a->line->details = sentences[i].details;
            add_sentence(a, sentences[i].sentence);
        }
    for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++)
        if (strcmp(table[i].type, type) == 0)
            table[i].describe(a);
}

void cli_line_of(struct cli_line *out, const struct cli_progress *p, const char *type,
    const hocket_json *event, double now)
{
    struct about a = { out, p, event, now };
    *out = (struct cli_line){ .tone = CLI_PLAIN };
    snprintf(out->who, sizeof(out->who), "%s", cli_member(event, "agent"));
    describe(&a, type);
    show_line(out);
}

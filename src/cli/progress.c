/* A fold over a run's events: who is at work, how the tasks stand, what was used. Nothing here
 * prints.
 *
 * Both the live view and the lines ask it, and so does the summary at the end. Texts are cut to
 * what a terminal can show; numbers of agents and tasks are bounded by what a run may have. */
#include "cli/progress.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Further agents are at work, but nobody reads a list of so many. */
#define MAX_AGENTS 4096

static void *grown(void *list, size_t count, size_t *cap, size_t size)
{
    if (count < *cap)
        return list;
    *cap = *cap ? *cap * 2 : 16;
    void *p = realloc(list, *cap * size);
    if (!p)
        cli_nomem();
    return p;
}

static char *copied(const char *text)
{
    char *p = strdup(text);
    if (!p)
        cli_nomem();
    return p;
}

/* ---- Agents ------------------------------------------------------------ */

/* From the end: most events are about the agents that began last. */
struct cli_agent *cli_progress_agent(const struct cli_progress *p, const char *op)
{
    for (size_t i = p->n_agents; i-- > 0;)
        if (strcmp(p->agents[i].op, op) == 0)
            return &p->agents[i];
    return NULL;
}

static void add_name(struct cli_progress *p, const char *name)
{
    for (size_t i = 0; i < p->n_names; i++)
        if (strcmp(p->names[i], name) == 0)
            return;
    p->names = grown(p->names, p->n_names, &p->cap_names, sizeof(*p->names));
    p->names[p->n_names++] = copied(name);
}

/* The agent of an event; NULL when the event is nobody's. */
static struct cli_agent *agent_of(struct cli_progress *p, const hocket_json *event, double now)
{
    const char *op = cli_member(event, "op"), *name = cli_member(event, "agent");
    struct cli_agent *found = cli_progress_agent(p, op);
    if (found || !*op || !*name || p->n_agents >= MAX_AGENTS)
        return found;
    add_name(p, name);
    p->agents = grown(p->agents, p->n_agents, &p->cap_agents, sizeof(*p->agents));
    found = &p->agents[p->n_agents++];
    *found = (struct cli_agent){ .since = now };
    snprintf(found->op, sizeof(found->op), "%s", op);
    snprintf(found->name, sizeof(found->name), "%s", name);
    return found;
}

static void remove_agent(struct cli_progress *p, const struct cli_agent *agent)
{
    size_t i = (size_t) (agent - p->agents);
    memmove(&p->agents[i], &p->agents[i + 1], (p->n_agents - i - 1) * sizeof(*p->agents));
    p->n_agents--;
}

/* ---- Tasks ------------------------------------------------------------- */

static void add_task(struct cli_progress *p, int64_t board, const hocket_json *task)
{
    const char *doing = cli_member(task, "active_form");
    if (p->n_tasks > 0 && p->tasks[0].board != board)
        p->several_boards = true;
    p->tasks = grown(p->tasks, p->n_tasks, &p->cap_tasks, sizeof(*p->tasks));
    p->tasks[p->n_tasks++] = (struct cli_task){
        .board = board,
        .id = cli_int(task, "id"),
        .agent = copied(cli_member(task, "assigned_to")),
        .doing = copied(*doing ? doing : cli_member(task, "text")),
    };
}

/* Each board counts its tasks from 1, so a number alone names none. */
static struct cli_task *find_task(struct cli_progress *p, int64_t board, int64_t id)
{
    for (size_t i = p->n_tasks; i-- > 0;)
        if (p->tasks[i].id == id && p->tasks[i].board == board)
            return &p->tasks[i];
    return NULL;
}

static int state_of(const char *status)
{
    static const char *const names[] = { "pending", "running", "done" };
    static const int states[] = { CLI_TASK_OPEN, CLI_TASK_RUNNING, CLI_TASK_DONE };
    for (size_t i = 0; i < 3; i++)
        if (strcmp(status, names[i]) == 0)
            return states[i];
    return CLI_TASK_UNDONE;
}

static void update_task(struct cli_progress *p, const hocket_json *event)
{
    struct cli_task *task = find_task(p, cli_int(event, "board"), cli_int(event, "id"));
    if (!task)
        return;
    p->done_tasks -= task->state == CLI_TASK_DONE;
    p->undone_tasks -= task->state == CLI_TASK_UNDONE;
    task->state = state_of(cli_member(event, "status"));
    p->done_tasks += task->state == CLI_TASK_DONE;
    p->undone_tasks += task->state == CLI_TASK_UNDONE;
}

/* ---- Events ------------------------------------------------------------ */

static void on_request(struct cli_progress *p, const hocket_json *event, double now)
{
    struct cli_agent *agent = agent_of(p, event, now);
    if (!agent)
        return;
    agent->asking = true;
    agent->progress[0] = 0;
    agent->turn = cli_int(event, "turn");
}

/* An agent that nobody dispatched has no event for its end: an answer without calls is it. */
static void on_reply(struct cli_progress *p, const hocket_json *event, double now)
{
    const hocket_json *usage = hocket_json_get(event, "usage");
    struct cli_agent *agent = agent_of(p, event, now);
    p->calls++;
    p->input += cli_int(usage, "input");
    p->output += cli_int(usage, "output");
    if (!agent)
        return;
    agent->asking = false;
    if (!agent->dispatched && cli_int(event, "calls") == 0)
        remove_agent(p, agent);
}

/* It works in a run of its own, whose usage is reported when it ends. */
static void on_awaited(struct cli_progress *p, const hocket_json *event, double now)
{
    struct cli_agent *agent = agent_of(p, event, now);
    if (agent)
        agent->asking = true;
}

static void on_returned(struct cli_progress *p, const hocket_json *event, double now)
{
    const hocket_json *usage = hocket_json_get(event, "usage");
    struct cli_agent *agent = agent_of(p, event, now);
    p->calls += cli_int(usage, "calls");
    p->input += cli_int(usage, "input");
    p->output += cli_int(usage, "output");
    if (!agent)
        return;
    agent->asking = false;
    if (!agent->dispatched)
        remove_agent(p, agent);
}

static void on_started(struct cli_progress *p, const hocket_json *event, double now)
{
    struct cli_agent *agent = agent_of(p, event, now);
    if (!agent)
        return;
    agent->dispatched = true;
    const hocket_json *ids = hocket_json_get(event, "task_ids");
    agent->tasks = (int64_t) hocket_json_count(ids);
    for (size_t i = 0; i < (size_t) agent->tasks; i++) {
        struct cli_task *task =
            find_task(p, cli_int(event, "board"), hocket_json_int(hocket_json_at(ids, i), 0));
        if (task)
            snprintf(task->op, sizeof(task->op), "%s", agent->op);
    }
}

static void on_finished(struct cli_progress *p, const hocket_json *event, double now)
{
    struct cli_agent *agent = cli_progress_agent(p, cli_member(event, "op"));
    (void) now;
    if (agent)
        remove_agent(p, agent);
}

static void on_cancelled(struct cli_progress *p, const hocket_json *event, double now)
{
    struct cli_agent *agent = cli_progress_agent(p, cli_member(event, "op"));
    (void) now;
    if (agent)
        agent->cancelled = true;
}

static void on_tool(struct cli_progress *p, const hocket_json *event, double now)
{
    struct cli_agent *agent = agent_of(p, event, now);
    if (!agent)
        return;
    snprintf(agent->tool, sizeof(agent->tool), "%s", cli_member(event, "tool"));
    agent->progress[0] = 0;
}

/* A call that takes its time says how far it is. */
static void on_progress(struct cli_progress *p, const hocket_json *event, double now)
{
    struct cli_agent *agent = agent_of(p, event, now);
    struct cli_buf text = { 0 };
    if (!agent)
        return;
    cli_buf_addf(&text, "%g", cli_number(event, "progress"));
    if (hocket_json_get(event, "total"))
        cli_buf_addf(&text, " of %g", cli_number(event, "total"));
    if (*cli_member(event, "message"))
        cli_buf_addf(&text, ", %s", cli_member(event, "message"));
    snprintf(agent->tool, sizeof(agent->tool), "%s", cli_member(event, "tool"));
    snprintf(agent->progress, sizeof(agent->progress), "%s", cli_buf_text(&text));
    cli_buf_free(&text);
}

static void on_tasks(struct cli_progress *p, const hocket_json *event, double now)
{
    const hocket_json *tasks = hocket_json_get(event, "tasks");
    (void) now;
    for (size_t i = 0; i < hocket_json_count(tasks); i++)
        add_task(p, cli_int(event, "board"), hocket_json_at(tasks, i));
}

static void on_task(struct cli_progress *p, const hocket_json *event, double now)
{
    (void) now;
    update_task(p, event);
}

/* A warning with a code says that the agent failed; but for one whose run waits for a worker of its pool. */
static void on_warning(struct cli_progress *p, const hocket_json *event, double now)
{
    struct cli_agent *agent = cli_progress_agent(p, cli_member(event, "op"));
    (void) now;
    const char *code = cli_member(event, "code");
    if (!agent || !*code || strcmp(code, "queued") == 0)
        return;
    agent->failed = true;
    snprintf(p->last_failed, sizeof(p->last_failed), "%s", agent->name);
    if (!agent->dispatched)
        remove_agent(p, agent);
}

/* Of a conversation: the agent that answered has ended, or was stopped. Agents that others sent have events of
 * their own, and may continue between two turns. */
static void on_turn(struct cli_progress *p, const hocket_json *event, double now)
{
    (void) event;
    (void) now;
    for (size_t i = p->n_agents; i-- > 0;)
        if (!p->agents[i].dispatched)
            remove_agent(p, &p->agents[i]);
}

void cli_progress_take(
    struct cli_progress *p, const char *type, const hocket_json *event, double now)
{
    static const struct {
        const char *type;
        void (*take)(struct cli_progress *p, const hocket_json *event, double now);
    } table[] = {
        { "model_request", on_request },
        { "model_reply", on_reply },
        { "run_awaited", on_awaited },
        { "run_returned", on_returned },
        { "agent_started", on_started },
        { "agent_finished", on_finished },
        { "task_cancelled", on_cancelled },
        { "tool_call", on_tool },
        { "tool_progress", on_progress },
        { "tasks_created", on_tasks },
        { "task_updated", on_task },
        { "warning", on_warning },
        { "turn_finished", on_turn },
    };
    for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++)
        if (strcmp(table[i].type, type) == 0)
            table[i].take(p, event, now);
}

void cli_progress_free(struct cli_progress *p)
{
    for (size_t i = 0; i < p->n_tasks; i++) {
        free(p->tasks[i].agent);
        free(p->tasks[i].doing);
    }
    for (size_t i = 0; i < p->n_names; i++)
        free(p->names[i]);
    free(p->tasks);
    free(p->names);
    free(p->agents);
}

/* ---- Words ------------------------------------------------------------- */

static bool add_running_task(
    const struct cli_progress *p, const struct cli_agent *agent, struct cli_buf *out)
{
    for (size_t i = 0; agent->dispatched && i < p->n_tasks; i++)
        if (p->tasks[i].state == CLI_TASK_RUNNING && strcmp(p->tasks[i].op, agent->op) == 0) {
            cli_buf_adds(out, p->tasks[i].doing);
            return true;
        }
    return false;
}

static bool add_waited_for(
    const struct cli_progress *p, const struct cli_agent *agent, struct cli_buf *out)
{
    bool any = false;
    for (size_t i = 0; i < p->n_agents; i++) {
        const struct cli_agent *other = &p->agents[i];
        if (!other->dispatched || other <= agent)
            continue;
        cli_buf_addf(out, "%s%s", any ? ", " : "waiting for ", other->name);
        any = true;
    }
    return any;
}

/* A tool's name as words: create_tasks, create tasks. */
static void add_tool(const struct cli_agent *agent, struct cli_buf *out)
{
    size_t from = out->n;
    cli_buf_adds(out, agent->tool);
    for (size_t i = from; i < out->n; i++)
        if (out->p[i] == '_')
            out->p[i] = ' ';
    if (agent->progress[0])
        cli_buf_addf(out, ": %s", agent->progress);
}

void cli_progress_activity(
    const struct cli_progress *p, const struct cli_agent *agent, struct cli_buf *out)
{
    if (add_running_task(p, agent, out))
        return;
    if (agent->asking)
        cli_buf_adds(out, agent->turn > 1 ? "thinking" : "reading the request");
    else if (add_waited_for(p, agent, out))
        return;
    else if (agent->tool[0])
        add_tool(agent, out);
    else
        cli_buf_adds(out, "at work");
}

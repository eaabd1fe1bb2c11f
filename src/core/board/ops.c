/* The operations of the board: who may do what, and the message for a model that may not. board.c has what they
 * do. */
#include "core/board/board.h"

#include <inttypes.h>
#include <stdio.h>

#include "core/board/board_impl.h"
#include "core/text.h"

/* ---- Creating ------------------------------------------------------------ */

static int check_room(const struct hocket__board *b, size_t count, struct hocket_error *err)
{
    size_t left = b->count < b->max_tasks ? b->max_tasks - b->count : 0;
    if (count == 0)
        return hocket__error(err, HOCKET_EINVAL, "no task was given; give at least one");
    if (count > left)
        return hocket__error(err, HOCKET_ELIMIT,
            "too many tasks: %zu exist and %zu were asked for, but a plan has at most %zu; "
            "%zu more can be created, so merge the work into fewer and larger tasks",
            b->count, count, b->max_tasks, left);
    return 0;
}

static bool is_known(const struct hocket__board *b, struct hocket__str agent)
{
    for (size_t i = 0; i < b->agent_count; i++)
        if (hocket__str_eq(b->agents[i], agent))
            return true;
    return b->any_agent;
}

static int check_assignee(const struct hocket__board *b, struct hocket__str agent, const char *what,
    struct hocket_error *err)
{
    int status = hocket__text_name(agent, what, err);
    if (status < 0 || is_known(b, agent))
        return status;
    struct hocket__said known = { 0 };
    for (size_t i = 0; i < b->agent_count; i++)
        hocket__said_add(&known, b->agents[i]);
    return hocket__error(err, HOCKET_EINVAL,
        "%s: there is no agent \"%.*s\"; it has to be one of: %s", what, HOCKET__SHOWN(agent),
        hocket__said(&known));
}

static int check_spec(const struct hocket__board *b, const struct hocket__task_spec *spec,
    size_t place, size_t count, struct hocket_error *err)
{
    char what[64];
    snprintf(what, sizeof(what), "task %zu of %zu", place, count);
    if (hocket__text_trim(spec->text).n == 0)
        return hocket__error(err, HOCKET_EINVAL, "%s: the text is empty", what);
    if (spec->text.n > b->max_text || spec->active_form.n > b->max_text)
        return hocket__error(
            err, HOCKET_ELIMIT, "%s: the text is longer than %zu bytes", what, b->max_text);
    return check_assignee(b, spec->assigned_to, what, err);
}

/* Everything is checked before the first task is made, so a plan of a model's is taken whole or not
 * at all: half a plan would be carried out as if it were all. */
int hocket__board_create(struct hocket__board *b, struct hocket__str agent,
    const struct hocket__task_spec *specs, size_t count, int64_t *first, struct hocket_error *err)
{
    int status = hocket__emitter_check(&b->emitter, err);
    if (status == 0)
        status = check_room(b, count, err);
    for (size_t i = 0; i < count && status == 0; i++)
        status = check_spec(b, &specs[i], i + 1, count, err);
    if (status == 0)
        status = hocket__board_add_tasks(b, agent, specs, count, true, err);
    if (status == 0 && first)
        *first = (int64_t) (b->count - count + 1);
    return status;
}

/* ---- One task ------------------------------------------------------------ */

static int no_task(const struct hocket__board *b, int64_t id, struct hocket_error *err)
{
    if (b->count == 0)
        return hocket__error(
            err, HOCKET_ENOTFOUND, "there is no task %" PRId64 ": no tasks were created yet", id);
    return hocket__error(err, HOCKET_ENOTFOUND,
        "there is no task %" PRId64 "; the tasks are 1 to %zu", id, b->count);
}

/* Leaves the task alone with the reason why it cannot go to `to`.
 * A model that hears why a task failed stops trying to complete it; the bare refusal was tried
 * again and again. */
static int bad_step(
    const struct hocket__task *task, enum hocket__task_status to, struct hocket_error *err)
{
    const char *from = hocket__task_word(task->status);
    if (task->error.n > 0)
        return hocket__error(err, HOCKET_ESTATE,
            "task %" PRId64 " is %s (%.*s) and cannot become %s", task->id, from,
            HOCKET__SHOWN(task->error), hocket__task_word(to));
    return hocket__error(err, HOCKET_ESTATE, "task %" PRId64 " is %s and cannot become %s",
        task->id, from, hocket__task_word(to));
}

static int step(struct hocket__board *b, struct hocket__str agent,
    const struct hocket__task_update *u, struct hocket_error *err)
{
    int status = hocket__emitter_check(&b->emitter, err);
    if (status < 0)
        return status;
    const struct hocket__task *task = hocket__board_get(b, u->id);
    if (!task)
        return no_task(b, u->id, err);
    if (task->status == HOCKET__TASK_DONE || !hocket__task_can(task, u))
        return bad_step(task, u->status, err);
    return hocket__board_update_task(b, agent, u, true, err);
}

static int close_with(struct hocket__board *b, struct hocket__str agent, int64_t id,
    enum hocket__task_status to, struct hocket__str error, struct hocket_error *err)
{
    struct hocket__task_update u = { .id = id, .status = to, .error = error };
    return step(b, agent, &u, err);
}

int hocket__board_fail(struct hocket__board *b, struct hocket__str agent, int64_t id,
    struct hocket__str error, struct hocket_error *err)
{
    return close_with(b, agent, id, HOCKET__TASK_FAILED, error, err);
}

int hocket__board_skip(struct hocket__board *b, struct hocket__str agent, int64_t id,
    struct hocket__str cause, struct hocket_error *err)
{
    return close_with(b, agent, id, HOCKET__TASK_SKIPPED, cause, err);
}

int hocket__board_cancel(struct hocket__board *b, struct hocket__str agent, int64_t id,
    struct hocket__str cause, struct hocket_error *err)
{
    return close_with(b, agent, id, HOCKET__TASK_CANCELLED, cause, err);
}

int hocket__board_reassign(struct hocket__board *b, struct hocket__str agent, int64_t id,
    struct hocket__str to, struct hocket__str error, struct hocket_error *err)
{
    const struct hocket__task *task = hocket__board_get(b, id);
    if (to.n == 0)
        return hocket__error(err, HOCKET_EINVAL, "the task goes to nobody: name an agent");
    if (task && task->status == HOCKET__TASK_RUNNING
        && task->reassigned_n >= HOCKET__REASSIGNED_MAX)
        return hocket__error(err, HOCKET_ELIMIT, "task %" PRId64 " went to another agent %d times",
            id, HOCKET__REASSIGNED_MAX);
    struct hocket__task_update u = {
        .id = id, .status = HOCKET__TASK_RUNNING, .error = error, .reassigned_to = to
    };
    return step(b, agent, &u, err);
}

/* ---- Starting -------------------------------------------------------------- */

static int check_start(
    const struct hocket__board *b, struct hocket__str agent, int64_t id, struct hocket_error *err)
{
    const struct hocket__task *task = hocket__board_get(b, id);
    if (!task)
        return no_task(b, id, err);
    if (!hocket__str_eq(task->assigned_to, agent))
        return hocket__error(err, HOCKET_EDENIED,
            "task %" PRId64 " is assigned to \"%.*s\", not to \"%.*s\"", id,
            HOCKET__SHOWN(task->assigned_to), HOCKET__SHOWN(agent));
    if (task->status == HOCKET__TASK_DONE)
        return hocket__error(err, HOCKET_ESTATE,
            "task %" PRId64 " is done already; create a new task for further work", id);
    if (task->status == HOCKET__TASK_RUNNING || task->waits)
        return hocket__error(err, HOCKET_ESTATE, "task %" PRId64 " is being worked on already", id);
    struct hocket__task_update u = { .id = id, .status = HOCKET__TASK_RUNNING };
    if (!hocket__task_can(task, &u))
        return bad_step(task, HOCKET__TASK_RUNNING, err);
    return 0;
}

static int run_task(
    struct hocket__board *b, struct hocket__str agent, int64_t id, struct hocket_error *err)
{
    struct hocket__task_update u = { .id = id, .status = HOCKET__TASK_RUNNING };
    return step(b, agent, &u, err);
}

int hocket__board_start(struct hocket__board *b, struct hocket__str agent, struct hocket__ids ids,
    enum hocket__board_pace pace, struct hocket_error *err)
{
    int status = hocket__emitter_check(&b->emitter, err);
    for (size_t i = 0; i < ids.n && status == 0; i++)
        status = check_start(b, agent, ids.v[i], err);
    /* All were checked before the first was started: a list with one bad id starts none. */
    for (size_t i = 0; i < ids.n && status == 0; i++) {
        struct hocket__task *task = &b->tasks[ids.v[i] - 1];
        if (task->status == HOCKET__TASK_RUNNING) /* an id that was given twice */
            continue;
        if (i > 0 && pace == HOCKET__ONE_BY_ONE)
            task->waits = true;
        else
            status = run_task(b, agent, task->id, err);
    }
    return status;
}

/* What its agent completes, or has done for it, may be a task that waits and that failed before. */
static int end_wait(struct hocket__board *b, struct hocket__str agent,
    const struct hocket__task *task, struct hocket_error *err)
{
    if (!task->waits || task->status == HOCKET__TASK_PENDING)
        return 0;
    return run_task(b, agent, task->id, err);
}

/* ---- Completing ------------------------------------------------------------ */

/* The task, when it is one of the agent's own. */
static const struct hocket__task *own_task(
    const struct hocket__board *b, struct hocket__str agent, struct hocket__ids own, int64_t id)
{
    const struct hocket__task *task = hocket__board_get(b, id);
    if (!task || !hocket__ids_has(own, id) || !hocket__str_eq(task->assigned_to, agent))
        return NULL;
    return task;
}

static const struct hocket__task *own_open(
    const struct hocket__board *b, struct hocket__str agent, struct hocket__ids own, int64_t id)
{
    const struct hocket__task *task = own_task(b, agent, own, id);
    return task && (hocket__task_open(task->status) || task->waits) ? task : NULL;
}

/* Where an id stands first in the list: a list from a model may name a task twice, which is one
 * open task and not two. */
static size_t first_place(struct hocket__ids ids, size_t i)
{
    size_t k = 0;
    while (ids.v[k] != ids.v[i])
        k++;
    return k;
}

/* How many of the agent's own are open; *only is the last of them. */
static size_t count_open(const struct hocket__board *b, struct hocket__str agent,
    struct hocket__ids own, struct hocket__said *list, int64_t *only)
{
    size_t n = 0;
    for (size_t i = 0; i < own.n; i++) {
        if (first_place(own, i) != i || !own_open(b, agent, own, own.v[i]))
            continue;
        n++;
        *only = own.v[i];
        hocket__said_add_int(list, own.v[i]);
    }
    return n;
}

static int not_yours(int64_t id, size_t open, struct hocket__said *list, struct hocket_error *err)
{
    if (open == 0)
        return hocket__error(err, HOCKET_EINVAL,
            "task %" PRId64 " is not one of your tasks, and none of yours is open", id);
    return hocket__error(err, HOCKET_EINVAL,
        "task %" PRId64 " is not one of your tasks; your open tasks are: %s", id,
        hocket__said(list));
}

static int already_closed(const struct hocket__task *task, size_t open, struct hocket__said *list,
    struct hocket_error *err)
{
    return hocket__error(err, HOCKET_ESTATE,
        "task %" PRId64 " is %s%s%.*s and cannot be completed; your open tasks are: %s", task->id,
        hocket__task_word(task->status), task->error.n > 0 ? ", because: " : "",
        HOCKET__SHOWN(task->error), open > 0 ? hocket__said(list) : "none");
}

/* Which task is meant: fills *out, or says why none is. */
static int resolve(const struct hocket__board *b, struct hocket__str agent, struct hocket__ids own,
    int64_t id, struct hocket__completion *out, struct hocket_error *err)
{
    struct hocket__said list = { 0 };
    int64_t only = 0;
    const struct hocket__task *task = own_task(b, agent, own, id);
    size_t open = count_open(b, agent, own, &list, &only);
    *out = (struct hocket__completion){ .id = id };
    /* A wrong id is a slip where only one can be meant. With two or more open, guessing would
     * mark the wrong task done. */
    if (!task && open != 1)
        return not_yours(id, open, &list, err);
    if (!task) {
        out->id = only;
        out->corrected = true;
    } else if (task->status == HOCKET__TASK_DONE) {
        out->already = true;
    } else if (!hocket__task_open(task->status) && !task->waits) {
        return already_closed(task, open, &list, err);
    }
    return 0;
}

/* Lets the next of the agent's own begin that waits, unless another one is running. */
static int go_on(struct hocket__board *b, struct hocket__str agent, struct hocket__ids own,
    struct hocket_error *err)
{
    int64_t next = 0;
    for (size_t i = own.n; i-- > 0;) {
        const struct hocket__task *task = own_task(b, agent, own, own.v[i]);
        if (task && task->status == HOCKET__TASK_RUNNING)
            return 0;
        if (task && task->waits)
            next = task->id;
    }
    return next > 0 ? run_task(b, agent, next, err) : 0;
}

int hocket__board_complete(struct hocket__board *b, struct hocket__str agent, struct hocket__str by,
    struct hocket__ids own, int64_t id, struct hocket__str result, struct hocket__completion *out,
    struct hocket_error *err)
{
    struct hocket__str worker = by.n > 0 ? by : agent;
    int status = resolve(b, agent, own, id, out, err);
    if (status < 0 || out->already)
        return status;
    status = end_wait(b, agent, &b->tasks[out->id - 1], err);
    if (status < 0)
        return status;
    struct hocket__task_update u = { .id = out->id,
        .status = HOCKET__TASK_DONE,
        .completed_by = worker,
        .result = result,
        .corrected = out->corrected,
        .corrected_from = id };
    status = step(b, worker, &u, err);
    return status < 0 ? status : go_on(b, agent, own, err);
}

/* What the agent completed before it failed: who was cut off in its report may have said so too early. */
static int fail_done(struct hocket__board *b, struct hocket__str agent,
    const struct hocket__task *task, struct hocket__str error, struct hocket_error *err)
{
    struct hocket__task_update u = { .id = task->id,
        .status = HOCKET__TASK_FAILED,
        .completed_by = task->completed_by,
        .error = error,
        .result = task->result };
    return hocket__board_update_task(b, agent, &u, true, err);
}

/* 1 when the task was changed, 0 when it stays as it is. */
static int settle_one(struct hocket__board *b, struct hocket__str agent,
    const struct hocket__task *task, bool success, struct hocket__str error,
    struct hocket_error *err)
{
    int status = success ? end_wait(b, agent, task, err) : 0;
    if (status < 0)
        return status;
    if (hocket__task_open(task->status) && success) {
        struct hocket__task_update u = { .id = task->id,
            .status = HOCKET__TASK_DONE,
            .completed_by = hocket__cstr(HOCKET__BY_AUTO) };
        status = step(b, agent, &u, err);
    } else if (hocket__task_open(task->status)) {
        status = close_with(b, agent, task->id, HOCKET__TASK_FAILED, error, err);
    } else if (task->status == HOCKET__TASK_DONE && !success) {
        status = fail_done(b, agent, task, error, err);
    } else {
        b->tasks[task->id - 1].waits = false;
        return 0;
    }
    return status < 0 ? status : 1;
}

/* A record that cannot be told ends the loop, and what was settled before stays so, as its records are
 * out. */
int hocket__board_settle(struct hocket__board *b, struct hocket__str agent, struct hocket__ids own,
    bool success, struct hocket__str error, int64_t *settled, struct hocket_error *err)
{
    int n = 0, status = hocket__emitter_check(&b->emitter, err);
    for (size_t i = 0; i < own.n && status >= 0; i++) {
        const struct hocket__task *task = own_task(b, agent, own, own.v[i]);
        status = task ? settle_one(b, agent, task, success, error, err) : 0;
        if (status > 0 && settled)
            settled[n] = own.v[i];
        n += status > 0;
    }
    return status < 0 ? status : n;
}

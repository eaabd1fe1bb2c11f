/* The tasks, and the two changes that exist: tasks are added, a task is updated. Both are used
 * by operations (which record them) and by replay (which reads them from records), so a board
 * that was rebuilt cannot differ from the one that was there.
 *
 * A task's id is its place, from 1: tasks are never taken out. Texts are the board's own
 * copies; an update makes its copies before it is recorded, since nothing may fail afterwards. */
#include "core/board/board.h"

#include <inttypes.h>
#include <stdint.h>

#include "core/board/board_impl.h"
#include "core/text.h"

static const struct {
    const char *word;
    bool open;
} states[] = {
#define ROW(name, word, open) { word, open },
    HOCKET__TASK_MAP(ROW)
#undef ROW
};

#define TO(name) (1u << HOCKET__TASK_##name)

/* Where each state may lead. A task that failed or was skipped becomes running
 * again before it can be done: nothing turns from failed to done in one step. What is done fails only
 * with its agent (hocket__board_settle). */
static const unsigned transitions[HOCKET__TASK_STATUSES] = {
    [HOCKET__TASK_PENDING] = TO(RUNNING) | TO(DONE) | TO(FAILED) | TO(SKIPPED) | TO(CANCELLED),
    [HOCKET__TASK_RUNNING] = TO(DONE) | TO(FAILED) | TO(CANCELLED),
    [HOCKET__TASK_DONE] = TO(FAILED),
    [HOCKET__TASK_FAILED] = TO(RUNNING),
    [HOCKET__TASK_SKIPPED] = TO(RUNNING),
};

const char *hocket__task_word(enum hocket__task_status status)
{
    return states[status].word;
}

bool hocket__task_open(enum hocket__task_status status)
{
    return states[status].open;
}

bool hocket__task_can(const struct hocket__task *task, const struct hocket__task_update *u)
{
    if (u->reassigned_to.n > 0)
        return task->status == HOCKET__TASK_RUNNING && u->status == HOCKET__TASK_RUNNING
               && task->reassigned_n < HOCKET__REASSIGNED_MAX;
    return (transitions[task->status] >> u->status & 1) != 0;
}

struct hocket__board_options hocket__board_options_default(void)
{
    return (struct hocket__board_options){ .max_tasks = 20, .max_text = 16 << 10 };
}

/* NULL and an empty list differ: any agent, and none at all. */
static int copy_agents(
    struct hocket__board *b, const struct hocket__board_options *o, struct hocket_error *err)
{
    b->any_agent = !o->agents;
    if (!o->agents || o->agent_count == 0)
        return 0;
    b->agents = hocket__zero(b->a, o->agent_count * sizeof(*b->agents));
    if (!b->agents)
        return hocket__error_nomem(err);
    b->agent_count = o->agent_count;
    for (size_t i = 0; i < o->agent_count; i++) {
        int status = hocket__text_name(o->agents[i], "agents of the board", err);
        if (status < 0)
            return status;
        if (hocket__text_copy(b->a, o->agents[i], &b->agents[i]) < 0)
            return hocket__error_nomem(err);
    }
    return 0;
}

int hocket__board_new(const struct hocket_allocator *a, const struct hocket__board_options *options,
    struct hocket__board **out, struct hocket_error *err)
{
    struct hocket__board *b = hocket__zero(a, sizeof(*b));
    if (!b)
        return hocket__error_nomem(err);
    b->a = a;
    b->max_tasks = options->max_tasks < HOCKET__ID_MAX ? options->max_tasks : HOCKET__ID_MAX;
    b->max_text = options->max_text;
    b->emitter = (struct hocket__emitter){ .cb = options->emit, .ud = options->ud };
    int status = copy_agents(b, options, err);
    if (status < 0) {
        hocket__board_free(b);
        return status;
    }
    *out = b;
    return 0;
}

static void task_deinit(struct hocket__board *b, struct hocket__task *task)
{
    hocket__text_free(b->a, &task->text);
    hocket__text_free(b->a, &task->active_form);
    hocket__text_free(b->a, &task->assigned_to);
    hocket__text_free(b->a, &task->completed_by);
    hocket__text_free(b->a, &task->error);
    hocket__text_free(b->a, &task->result);
    for (size_t i = 0; i < task->reassigned_n; i++)
        hocket__text_free(b->a, &task->reassigned[i]);
    hocket__free(b->a, task->reassigned, task->reassigned_cap * sizeof(*task->reassigned));
}

void hocket__board_free(struct hocket__board *b)
{
    if (!b)
        return;
    for (size_t i = 0; i < b->count; i++)
        task_deinit(b, &b->tasks[i]);
    for (size_t i = 0; i < b->agent_count; i++)
        hocket__text_free(b->a, &b->agents[i]);
    hocket__free(b->a, b->tasks, b->cap * sizeof(*b->tasks));
    hocket__free(b->a, b->agents, b->agent_count * sizeof(*b->agents));
    hocket__free(b->a, b, sizeof(*b));
}

void hocket__board_allow(struct hocket__board *b, size_t n)
{
    size_t most = b->count + n;
    b->max_tasks = most < HOCKET__ID_MAX ? most : HOCKET__ID_MAX;
}

void hocket__board_set_number(struct hocket__board *b, int64_t number)
{
    b->emitter.number = number;
}

int64_t hocket__board_number(const struct hocket__board *b)
{
    return b->emitter.number;
}

size_t hocket__board_count(const struct hocket__board *b)
{
    return b->count;
}

const struct hocket__task *hocket__board_get(const struct hocket__board *b, int64_t id)
{
    return id >= 1 && (uint64_t) id <= b->count ? &b->tasks[id - 1] : NULL;
}

size_t hocket__board_in(const struct hocket__board *b, enum hocket__task_status status)
{
    return b->in[status];
}

/* ---- Applying ------------------------------------------------------------ */

/* What is half made is freed by the caller, who counts it as made: task_deinit takes empty texts. */
static int task_init(
    struct hocket__board *b, struct hocket__task *task, const struct hocket__task_spec *spec)
{
    if (hocket__text_repaired_copy(b->a, spec->text, SIZE_MAX, &task->text) < 0
        || hocket__text_repaired_copy(b->a, spec->active_form, SIZE_MAX, &task->active_form) < 0
        || hocket__text_repaired_copy(b->a, spec->assigned_to, SIZE_MAX, &task->assigned_to) < 0)
        return HOCKET_ENOMEM;
    task->parent = spec->parent;
    task->unblocks = spec->unblocks;
    return 0;
}

/* Other tasks are named that are there already: so there are no circles. */
static int check_links(const struct hocket__board *b, const struct hocket__task_spec *specs,
    size_t count, struct hocket_error *err)
{
    for (size_t i = 0; i < count; i++) {
        int64_t links[] = { specs[i].parent, specs[i].unblocks };
        for (size_t k = 0; k < 2; k++)
            if (links[k] != 0 && !hocket__board_get(b, links[k]))
                return hocket__error(err, HOCKET_EINVAL,
                    "task %zu of %zu: there is no task %" PRId64 " that it could be %s", i + 1,
                    count, links[k], k == 0 ? "a part of" : "for");
    }
    return 0;
}

static int record_tasks(struct hocket__board *b, struct hocket__str agent,
    const struct hocket__task *tasks, size_t count, struct hocket_error *err)
{
    struct hocket__buf payload = hocket__buf(b->a, 0);
    hocket__board_write_tasks(b, &payload, tasks, count);
    int status = hocket__emitter_send(&b->emitter, "tasks_created", agent, &payload, err);
    hocket__buf_deinit(&payload);
    return status;
}

/* The new tasks are built behind the last one and count only when the record is out. */
int hocket__board_add_tasks(struct hocket__board *b, struct hocket__str agent,
    const struct hocket__task_spec *specs, size_t count, bool record, struct hocket_error *err)
{
    int status = check_links(b, specs, count, err);
    if (status < 0)
        return status;
    if (hocket__grow(b->a, &b->tasks, &b->cap, b->count + count, sizeof(*b->tasks)) < 0)
        return hocket__error_nomem(err);
    struct hocket__task *tasks = b->tasks + b->count;
    size_t made = 0;
    memset(tasks, 0, count * sizeof(*tasks));
    while (made < count && status == 0) {
        tasks[made].id = (int64_t) (b->count + made + 1);
        status = task_init(b, &tasks[made], &specs[made]);
        made++;
    }
    if (status < 0)
        hocket__error_nomem(err);
    else if (record)
        status = record_tasks(b, agent, tasks, count, err);
    if (status < 0) {
        while (made > 0)
            task_deinit(b, &tasks[--made]);
        return status;
    }
    b->count += count;
    b->in[HOCKET__TASK_PENDING] += count;
    return 0;
}

/* Copies the texts of an update before any record is written: a written record must find its copies. */
struct texts {
    struct hocket__str completed_by, error, result, reassigned_to;
};

static void texts_deinit(struct hocket__board *b, struct texts *t)
{
    hocket__text_free(b->a, &t->completed_by);
    hocket__text_free(b->a, &t->error);
    hocket__text_free(b->a, &t->result);
    hocket__text_free(b->a, &t->reassigned_to);
}

/* All or none: a caller that gets an error has nothing to free. */
static int texts_init(
    struct hocket__board *b, struct texts *t, const struct hocket__task_update *u, size_t max)
{
    size_t name = max < HOCKET__NAME_MAX ? max : HOCKET__NAME_MAX;
    *t = (struct texts){ { "", 0 }, { "", 0 }, { "", 0 }, { "", 0 } };
    if (hocket__text_repaired_copy(b->a, u->completed_by, max, &t->completed_by) == 0
        && hocket__text_repaired_copy(b->a, u->error, max, &t->error) == 0
        && hocket__text_repaired_copy(b->a, u->result, max, &t->result) == 0
        && hocket__text_repaired_copy(b->a, u->reassigned_to, name, &t->reassigned_to) == 0)
        return 0;
    texts_deinit(b, t);
    return HOCKET_ENOMEM;
}

/* What is recorded are the copies, cut and repaired, and not what the caller gave: a replay gets
 * the same bytes. */
static int record_update(struct hocket__board *b, struct hocket__str agent,
    const struct hocket__task_update *u, const struct texts *t, struct hocket_error *err)
{
    struct hocket__task_update kept = { .id = u->id,
        .status = u->status,
        .completed_by = t->completed_by,
        .error = t->error,
        .result = t->result,
        .corrected = u->corrected,
        .corrected_from = u->corrected_from,
        .reassigned_to = t->reassigned_to };
    struct hocket__buf payload = hocket__buf(b->a, 0);
    hocket__board_write_update(b, &payload, &b->tasks[u->id - 1], &kept);
    int status = hocket__emitter_send(&b->emitter, "task_updated", agent, &payload, err);
    hocket__buf_deinit(&payload);
    return status;
}

static void apply_update(struct hocket__board *b, struct hocket__task *task,
    enum hocket__task_status to, const struct texts *t)
{
    /* The update's copies take the place of the old texts: what a state does not have is empty. */
    struct texts old = { task->completed_by, task->error, task->result, { "", 0 } };
    b->in[task->status]--;
    b->in[to]++;
    task->status = to;
    task->waits = false;
    task->completed_by = t->completed_by;
    task->error = t->error;
    task->result = t->result;
    if (t->reassigned_to.n > 0)
        task->reassigned[task->reassigned_n++] = t->reassigned_to;
    texts_deinit(b, &old);
}

int hocket__board_update_task(struct hocket__board *b, struct hocket__str agent,
    const struct hocket__task_update *u, bool record, struct hocket_error *err)
{
    struct texts t;
    struct hocket__task *task = &b->tasks[u->id - 1];
    if (u->reassigned_to.n > 0
        && hocket__grow(b->a, &task->reassigned, &task->reassigned_cap, task->reassigned_n + 1,
               sizeof(*task->reassigned))
               < 0)
        return hocket__error_nomem(err);
    if (texts_init(b, &t, u, record ? b->max_text : SIZE_MAX) < 0)
        return hocket__error_nomem(err);
    int status = record ? record_update(b, agent, u, &t, err) : 0;
    if (status < 0) {
        texts_deinit(b, &t);
        return status;
    }
    apply_update(b, task, u->status, &t);
    return 0;
}

/* The board as text for models, and as JSON for everybody else. */
#include "core/board/board.h"

#include <inttypes.h>

#include "base/json/json.h"
#include "core/board/board_impl.h"
#include "core/text.h"

/* ", task 4 failed" or ", tasks 5, 6 pending".
 * The counts by state say when the last one was found, so that most groups end long before the last
 * task. */
static void add_group(
    const struct hocket__board *b, enum hocket__task_status status, struct hocket__buf *out)
{
    size_t left = hocket__board_in(b, status);
    if (left == 0)
        return;
    hocket__buf_adds(out, left == 1 ? ", task " : ", tasks ");
    for (int64_t id = 1; left > 0; id++) {
        if (hocket__board_get(b, id)->status == status)
            hocket__buf_addf(out, "%" PRId64 "%s", id, --left > 0 ? ", " : " ");
    }
    hocket__buf_adds(out, hocket__task_word(status));
}

int hocket__board_status(const struct hocket__board *b, struct hocket__buf *out)
{
    static const enum hocket__task_status groups[] = { HOCKET__TASK_RUNNING, HOCKET__TASK_PENDING,
        HOCKET__TASK_FAILED, HOCKET__TASK_SKIPPED, HOCKET__TASK_CANCELLED };
    size_t count = hocket__board_count(b);
    if (count == 0)
        return hocket__buf_adds(out, "no tasks yet");
    hocket__buf_addf(out, "%zu/%zu done", hocket__board_in(b, HOCKET__TASK_DONE), count);
    for (size_t i = 0; i < sizeof(groups) / sizeof(groups[0]); i++)
        add_group(b, groups[i], out);
    return out->status;
}

static void add_member(struct hocket__buf *out, const char *name, struct hocket__str text)
{
    if (text.n > 0)
        hocket__jw_key_string(out, name, text);
}

/* The tasks that it belongs to, and who got it after whom it was planned for. */
static void add_links(const struct hocket__task *task, struct hocket__buf *out)
{
    if (task->parent > 0)
        hocket__jw_key_int(out, "parent", task->parent);
    if (task->unblocks > 0)
        hocket__jw_key_int(out, "unblocks", task->unblocks);
    if (task->reassigned_n == 0)
        return;
    hocket__jw_key_open(out, "reassigned_to", '[');
    for (size_t i = 0; i < task->reassigned_n; i++)
        hocket__jw_string(out, task->reassigned[i]);
    hocket__jw_close(out, ']');
}

static void print_task(
    const struct hocket__board *b, const struct hocket__task *task, struct hocket__buf *out)
{
    hocket__jw_open(out, '{');
    hocket__jw_key_int(out, "id", task->id);
    add_member(out, "text", task->text);
    add_member(out, "active_form", task->active_form);
    add_member(out, "assigned_to", task->assigned_to);
    add_member(out, "status", hocket__cstr(hocket__task_word(task->status)));
    hocket__jw_key_bool(out, "finished", task->status == HOCKET__TASK_DONE);
    add_member(out, "completed_by", task->completed_by);
    add_member(out, "error", task->error);
    add_member(out, "result", task->result);
    add_links(task, out);
    hocket__board_write_number(b, out);
    hocket__jw_close(out, '}');
}

/* Names all unknown tasks at once: after an error about one a model would ask again with the next wrong one. */
static int check_ids(
    const struct hocket__board *b, struct hocket__ids ids, struct hocket_error *err)
{
    struct hocket__said unknown = { 0 };
    bool all = true;
    for (size_t i = 0; i < ids.n; i++)
        if (!hocket__board_get(b, ids.v[i])) {
            hocket__said_add_int(&unknown, ids.v[i]);
            all = false;
        }
    if (all)
        return 0;
    if (hocket__board_count(b) == 0)
        return hocket__error(err, HOCKET_ENOTFOUND, "no such task: %s; no tasks were created yet",
            hocket__said(&unknown));
    return hocket__error(err, HOCKET_ENOTFOUND, "no such task: %s; the tasks are 1 to %zu",
        hocket__said(&unknown), hocket__board_count(b));
}

int hocket__board_read(const struct hocket__board *b, const struct hocket__ids *ids,
    struct hocket__buf *out, struct hocket_error *err)
{
    size_t n = ids ? ids->n : hocket__board_count(b);
    int status = ids ? check_ids(b, *ids, err) : 0;
    if (status < 0)
        return status;
    hocket__jw_open(out, '[');
    for (size_t i = 0; i < n; i++)
        print_task(b, hocket__board_get(b, ids ? ids->v[i] : (int64_t) i + 1), out);
    hocket__jw_close(out, ']');
    return out->status;
}

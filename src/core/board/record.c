/* The board's records: writing them, and reading them back.
 *
 * The members of a record are the board's file format, and journals of earlier runs have them. So a
 * name is added and never changed, and a reader passes over names that it does not know. */
#include "core/board/board.h"

#include <inttypes.h>

#include "base/json/json.h"
#include "core/board/board_impl.h"
#include "core/replay.h"
#include "core/text.h"

void hocket__board_write_number(const struct hocket__board *b, struct hocket__buf *out)
{
    if (b->emitter.number > 0)
        hocket__jw_key_int(out, "board", b->emitter.number);
}

static void write_text(struct hocket__buf *out, const char *name, struct hocket__str text)
{
    if (text.n > 0)
        hocket__jw_key_string(out, name, text);
}

static void write_id(struct hocket__buf *out, const char *name, int64_t id)
{
    if (id > 0)
        hocket__jw_key_int(out, name, id);
}

static void write_task(struct hocket__buf *out, const struct hocket__task *task)
{
    hocket__jw_key_int(out, "id", task->id);
    write_text(out, "text", task->text);
    write_text(out, "assigned_to", task->assigned_to);
}

void hocket__board_write_tasks(const struct hocket__board *b, struct hocket__buf *out,
    const struct hocket__task *tasks, size_t count)
{
    hocket__jw_open(out, '{');
    hocket__board_write_number(b, out);
    hocket__jw_key_open(out, "tasks", '[');
    for (size_t i = 0; i < count; i++) {
        hocket__jw_open(out, '{');
        write_task(out, &tasks[i]);
        write_text(out, "active_form", tasks[i].active_form);
        write_id(out, "parent", tasks[i].parent);
        write_id(out, "unblocks", tasks[i].unblocks);
        hocket__jw_close(out, '}');
    }
    hocket__jw_close(out, ']');
    hocket__jw_close(out, '}');
}

/* The task's text and assignee stand in each update though they are known: a reader that follows
 * the events and came late can show the line. */
void hocket__board_write_update(const struct hocket__board *b, struct hocket__buf *out,
    const struct hocket__task *task, const struct hocket__task_update *u)
{
    hocket__jw_open(out, '{');
    hocket__board_write_number(b, out);
    write_task(out, task);
    hocket__jw_key_bool(out, "finished", u->status == HOCKET__TASK_DONE);
    write_text(out, "status", hocket__cstr(hocket__task_word(u->status)));
    write_text(out, "completed_by", u->completed_by);
    write_text(out, "error", u->error);
    write_text(out, "result", u->result);
    write_text(out, "reassigned_to", u->reassigned_to);
    if (u->corrected)
        hocket__jw_key_int(out, "corrected_from", u->corrected_from);
    hocket__jw_close(out, '}');
}

/* ---- Reading back -------------------------------------------------------- */

/* The texts of specs point into the replay's arena; the array is freed by who reads, whatever
 * became of it. */
struct specs {
    const struct hocket_allocator *a;
    struct hocket__task_spec *v;
    size_t n, cap;
};

static void read_spec(struct hocket__replay *p, struct hocket__task_spec *spec, int64_t *id)
{
    if (p->r.token != HOCKET__JSON_OBJECT)
        hocket__replay_bad(p);
    while (hocket__replay_key(p)) {
        if (hocket__replay_at(p, "id"))
            *id = hocket__replay_int(p);
        else if (hocket__replay_at(p, "text"))
            spec->text = hocket__replay_string(p);
        else if (hocket__replay_at(p, "assigned_to"))
            spec->assigned_to = hocket__replay_string(p);
        else if (hocket__replay_at(p, "active_form"))
            spec->active_form = hocket__replay_string(p);
        else if (hocket__replay_at(p, "parent"))
            spec->parent = hocket__replay_int(p);
        else if (hocket__replay_at(p, "unblocks"))
            spec->unblocks = hocket__replay_int(p);
        else
            hocket__replay_raw(p);
    }
    /* Records come from disk: what our own writers would never have written is malformed, not
     * repaired. */
    if (spec->text.n == 0 || hocket__text_name(spec->assigned_to, "", NULL) < 0)
        hocket__replay_bad(p);
}

static void read_specs(struct hocket__replay *p, struct specs *s, int64_t *first)
{
    hocket__replay_array(p);
    while (hocket__replay_element(p)) {
        struct hocket__task_spec spec = {
            .text = { "", 0 }, .assigned_to = { "", 0 }, .active_form = { "", 0 }
        };
        int64_t id = 0;
        read_spec(p, &spec, &id);
        if (s->n == 0)
            *first = id;
        /* the ids of one record follow each other: they are not told one by one when it is
         * applied */
        else if (id != *first + (int64_t) s->n)
            hocket__replay_bad(p);
        if (p->status == 0 && hocket__grow(s->a, &s->v, &s->cap, s->n + 1, sizeof(*s->v)) < 0)
            p->status = HOCKET_ENOMEM;
        if (p->status == 0)
            s->v[s->n++] = spec;
    }
}

static int out_of_order(const char *what, int64_t id, struct hocket_error *err)
{
    return hocket__error(err, HOCKET_ESTATE,
        "the journal's record %s task %" PRId64 ", which does not follow from those before it",
        what, id);
}

/* A board without a number is from now on the one whose record it was. */
static int applied(struct hocket__board *b, int64_t number)
{
    if (number > 0)
        b->emitter.number = number;
    return 1;
}

static int replay_tasks(struct hocket__board *b, struct hocket__replay *p, struct hocket_error *err)
{
    struct specs s = { .a = b->a };
    int64_t first = 0, number = 0;
    while (hocket__replay_key(p)) {
        if (hocket__replay_at(p, "tasks") && s.n == 0)
            read_specs(p, &s, &first);
        else if (hocket__replay_at(p, "board"))
            number = hocket__replay_int(p);
        else
            hocket__replay_raw(p);
    }
    int status = hocket__replay_end(p, err);
    bool own = hocket__emitter_is_about(&b->emitter, number);
    if (status == 0 && own && (s.n == 0 || first != (int64_t) b->count + 1))
        status = out_of_order("creates", first, err);
    if (status == 0 && own)
        status = hocket__board_add_tasks(b, hocket__str("", 0), s.v, s.n, false, err);
    if (status == 0 && own)
        status = applied(b, number);
    hocket__free(b->a, s.v, s.cap * sizeof(*s.v));
    return status;
}

/* The value returned for a bad word is never used: the replay's status ends the record. */
static enum hocket__task_status read_status(struct hocket__replay *p)
{
    struct hocket__str word = hocket__replay_string(p);
    for (int i = 0; i < HOCKET__TASK_STATUSES; i++)
        if (hocket__str_is(word, hocket__task_word((enum hocket__task_status) i)))
            return (enum hocket__task_status) i;
    hocket__replay_bad(p);
    return HOCKET__TASK_PENDING;
}

static void read_update(struct hocket__replay *p, struct hocket__task_update *u, int64_t *number)
{
    while (hocket__replay_key(p)) {
        if (hocket__replay_at(p, "id"))
            u->id = hocket__replay_int(p);
        else if (hocket__replay_at(p, "board"))
            *number = hocket__replay_int(p);
        else if (hocket__replay_at(p, "status"))
            u->status = read_status(p);
        else if (hocket__replay_at(p, "completed_by"))
            u->completed_by = hocket__replay_string(p);
        else if (hocket__replay_at(p, "error"))
            u->error = hocket__replay_string(p);
        else if (hocket__replay_at(p, "result"))
            u->result = hocket__replay_string(p);
        else if (hocket__replay_at(p, "reassigned_to"))
            u->reassigned_to = hocket__replay_string(p);
        else
            hocket__replay_raw(p);
    }
}

static int replay_update(
    struct hocket__board *b, struct hocket__replay *p, struct hocket_error *err)
{
    struct hocket__task_update u = { .status = HOCKET__TASK_PENDING };
    int64_t number = 0;
    read_update(p, &u, &number);
    int status = hocket__replay_end(p, err);
    if (status < 0 || !hocket__emitter_is_about(&b->emitter, number))
        return status;
    const struct hocket__task *task = hocket__board_get(b, u.id);
    if (!task || !hocket__task_can(task, &u))
        return out_of_order("updates", u.id, err);
    status = hocket__board_update_task(b, hocket__str("", 0), &u, false, err);
    return status < 0 ? status : applied(b, number);
}

int hocket__board_replay(
    struct hocket__board *b, struct hocket__str record, struct hocket_error *err)
{
    bool creates = hocket__replay_is(record, "tasks_created");
    if (!creates && !hocket__replay_is(record, "task_updated"))
        return 0;
    int status = hocket__emitter_check(&b->emitter, err);
    if (status < 0)
        return status;
    struct hocket__replay p;
    hocket__replay_init(&p, b->a, record);
    status = creates ? replay_tasks(b, &p, err) : replay_update(b, &p, err);
    hocket__replay_deinit(&p);
    return status;
}

/* What is handed over, done to the memory store: command by command. One that does not fit refuses its run,
 * and nothing more of that is taken. */
#include "store/memory/memory_impl.h"

/* ---- Commands ----------------------------------------------------------------------------------
 * 0, ENOMEM, or what is wrong with them: then the run is refused. */

static int put(struct hocket__memory *m, const struct hocket__store_command *c)
{
    struct hocket__str id = hocket__cstr(c->id);
    if (hocket__memory_find_run(m, id))
        return HOCKET_EEXIST;
    if (c->row.run.parent[0] && !hocket__memory_find_run(m, hocket__cstr(c->row.run.parent)))
        return HOCKET_ENOTFOUND;
    struct hocket__memory_run *r = hocket__zero(m->a, sizeof(*r));
    if (!r)
        return HOCKET_ENOMEM;
    if (!(r->row = hocket__memory_pack(m, &c->row, 0))
        || hocket__grow(m->a, &m->runs, &m->cap, m->n_runs + 1, sizeof(*m->runs)) < 0) {
        hocket__memory_free_block(m, r->row);
        hocket__free(m->a, r, sizeof(*r));
        return HOCKET_ENOMEM;
    }
    memcpy(r->id, c->id, sizeof(r->id));
    memcpy(r->parent, c->row.run.parent, sizeof(r->parent));
    r->at_n = c->row.run.parent[0] ? c->row.run.at_n : 0;
    r->at_seq = c->row.run.parent[0] ? c->row.run.at_seq : 0;
    memcpy(r->caller, c->row.run.caller, sizeof(r->caller));
    r->state = c->row.run.state;
    r->due_ms = c->row.run.due_ms;
    m->hint |= r->pooled = c->row.run.pool.n > 0;
    size_t i = hocket__memory_place(m, id);
    memmove(m->runs + i + 1, m->runs + i, (m->n_runs - i) * sizeof(*m->runs));
    m->runs[i] = r;
    m->n_runs++;
    hocket__memory_own(m, r);
    r->updated_ms = r->since_ms;
    return 0;
}

/* Its caller receives a message about its end. */
static int tell_caller(struct hocket__memory *m, const struct hocket__memory_run *r)
{
    char texts[HOCKET__STORE_ENDED];
    if (!r->caller[0] || !hocket__store_has_ended(r->state))
        return 0;
    struct hocket__memory_run *caller = hocket__memory_find_run(m, hocket__cstr(r->caller));
    if (!caller || caller->removed || hocket__store_has_ended(caller->state))
        return 0;
    struct hocket__store_message said =
        hocket__store_ended(r->id, r->state, hocket__store_wall_ms(&m->base.store->o), texts);
    return hocket__memory_message(caller, said.id) == SIZE_MAX
               ? hocket__memory_say(m, caller, &said)
               : 0;
}

static int update(
    struct hocket__memory *m, struct hocket__memory_run *r, const struct hocket__store_command *c)
{
    struct hocket__store_row row;
    const struct hocket__store_run *from = &c->row.run;
    hocket__memory_unpack(r->row, &row);
    hocket__store_merge(&row.run, c->set, from);
    if (c->set & HOCKET__STORE_SET_STATE)
        m->hint |= (r->state = from->state) == HOCKET__STORE_QUEUED;
    if (c->set & HOCKET__STORE_SET_QUEUE) {
        r->due_ms = from->due_ms;
        r->pooled = from->pool.n > 0;
    }
    struct hocket__block *packed = hocket__memory_pack(m, &row, 0);
    if (!packed)
        return HOCKET_ENOMEM;
    hocket__memory_free_block(m, r->row);
    r->row = packed;
    return c->set & HOCKET__STORE_SET_STATE ? tell_caller(m, r) : 0;
}

/* Records may come again, after a replay: existing ones are ignored. */
static int record(
    struct hocket__memory *m, struct hocket__memory_run *r, const struct hocket__store_row *row)
{
    struct hocket__blocks *b = &r->records;
    return row->record.seq > hocket__memory_last_seq(r)
               ? hocket__memory_insert(m, b, b->count, row, row->record.seq)
               : 0;
}

/* Entries have no gap: one that does not follow was written by somebody who had lost the run. */
static int append(
    struct hocket__memory *m, struct hocket__memory_run *r, const struct hocket__store_row *row)
{
    if (row->entry.n != hocket__memory_last_n(r) + 1)
        return HOCKET_EINVAL;
    return hocket__memory_insert(m, &r->entries, r->entries.count, row, row->entry.n);
}

static int compare_files(const struct hocket__store_file *a, const struct hocket__store_file *b)
{
    int rc = hocket__memory_compare(a->generation, b->generation);
    return rc != 0 ? rc : hocket__memory_compare(a->path, b->path);
}

size_t hocket__memory_file(
    const struct hocket__memory *m, const struct hocket__store_file *file, bool *found)
{
    size_t low = 0, high = m->files.count;
    bool unused;
    found = found ? found : &unused;
    *found = false;
    while (low < high) {
        size_t mid = low + (high - low) / 2;
        struct hocket__store_row row;
        hocket__memory_unpack(m->files.at[mid], &row);
        int rc = compare_files(&row.file, file);
        *found |= rc == 0;
        if (rc < 0)
            low = mid + 1;
        else
            high = mid;
    }
    return low;
}

/* Files of a generation with the same name are equal, so a name is stored only once. */
static int put_file(struct hocket__memory *m, const struct hocket__store_row *row)
{
    bool found;
    size_t i = hocket__memory_file(m, &row->file, &found);
    return found ? 0 : hocket__memory_insert(m, &m->files, i, row, 0);
}

size_t hocket__memory_message(const struct hocket__memory_run *r, struct hocket__str id)
{
    for (size_t i = 0; i < r->messages.count; i++) {
        struct hocket__store_row row;
        hocket__memory_unpack(r->messages.at[i], &row);
        if (hocket__str_eq(row.message.id, id))
            return i;
    }
    return SIZE_MAX;
}

/* Its id stays, so that it is not put again. */
static int message_del(
    struct hocket__memory *m, struct hocket__memory_run *r, struct hocket__str id)
{
    size_t i = hocket__memory_message(r, id);
    if (i == SIZE_MAX)
        return 0;
    struct hocket__store_row row = { .kind = HOCKET__STORE_ROW_MESSAGE };
    row.message.id = id;
    struct hocket__block *b = hocket__memory_pack(m, &row, 1);
    if (!b)
        return HOCKET_ENOMEM;
    hocket__memory_free_block(m, r->messages.at[i]);
    r->messages.at[i] = b;
    return 0;
}

int hocket__memory_say(struct hocket__memory *m, struct hocket__memory_run *r,
    const struct hocket__store_message *message)
{
    struct hocket__store_row row = { .kind = HOCKET__STORE_ROW_MESSAGE, .message = *message };
    int rc = hocket__memory_insert(m, &r->messages, r->messages.count, &row, 0);
    if (rc < 0)
        return rc;
    m->hint = r->spoken = true;
    if (!r->owned)
        hocket__memory_let_go(r);
    return 0;
}

static int message_put(
    struct hocket__memory *m, struct hocket__memory_run *r, const struct hocket__store_row *row)
{
    if (hocket__memory_message(r, row->message.id) != SIZE_MAX)
        return 0;
    r->spoken = true;
    return hocket__memory_insert(m, &r->messages, r->messages.count, row, 0);
}

/* What a claim may do. Whether it is still the claim of that run is asked by hocket__memory_apply. */
static int apply_to(
    struct hocket__memory *m, struct hocket__memory_run *r, const struct hocket__store_command *c)
{
    switch (c->kind) {
    case HOCKET__STORE_UPDATE: return update(m, r, c);
    case HOCKET__STORE_APPEND: return append(m, r, &c->row);
    case HOCKET__STORE_RECORD: return record(m, r, &c->row);
    case HOCKET__STORE_MESSAGE_PUT: return message_put(m, r, &c->row);
    case HOCKET__STORE_MESSAGE_DEL: return message_del(m, r, c->message_id);
    case HOCKET__STORE_RELEASE: hocket__memory_let_go(r); return 0;
    default: return HOCKET_EINVAL;
    }
}

int hocket__memory_apply(struct hocket__memory *m, const struct hocket__store_command *c)
{
    if (c->kind == HOCKET__STORE_FILE)
        return put_file(m, &c->row);
    if (c->kind == HOCKET__STORE_PUT)
        return put(m, c);
    struct hocket__memory_run *r = hocket__memory_find_run(m, hocket__cstr(c->id));
    if (!r || r->removed)
        return HOCKET_ENOTFOUND;
    if (r->refused)
        return 0; /* told already */
    if (!r->owned || r->fence != c->fence)
        return HOCKET_ESTATE;
    int rc = apply_to(m, r, c);
    r->refused = rc < 0 && rc != HOCKET_ENOMEM;
    if (rc == 0)
        r->updated_ms = hocket__store_wall_ms(&m->base.store->o);
    return rc;
}

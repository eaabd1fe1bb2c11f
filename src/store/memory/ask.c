/* Questions to the memory store. Each is answered before the one who asks goes on; where an answer is long
 * it comes in pieces, and `from` says where the next one begins. */
#include "store/memory/memory_impl.h"

/* ---- Questions ------------------------------------------------------------------------------- */

static struct hocket__memory_run *named(
    struct hocket__memory *m, struct hocket__store_call *c, struct hocket__str id)
{
    struct hocket__memory_run *r = hocket__memory_find_run(m, id);
    if (r && !r->removed)
        return r;
    c->status = hocket__store_not_found(c, id);
    return NULL;
}

static void give_run(
    struct hocket__memory *m, struct hocket__store_call *c, const struct hocket__memory_run *r)
{
    struct hocket__store_row row;
    hocket__memory_row(m, r, &row);
    hocket__store_pack(&c->rows, &row);
}

static void find(struct hocket__memory *m, struct hocket__store_call *c)
{
    struct hocket__str prefix = c->q.find.prefix;
    struct hocket__memory_run *found = NULL;
    for (size_t i = hocket__memory_place(m, prefix); i < m->n_runs; i++) {
        struct hocket__memory_run *r = m->runs[i];
        if (memcmp(r->id, prefix.p, prefix.n) != 0)
            break;
        if (r->removed)
            continue;
        if (found) {
            c->status = hocket__store_ambiguous(c, found->id, r->id);
            return;
        }
        found = r;
    }
    if (found)
        give_run(m, c, found);
    else
        c->status = hocket__store_not_found(c, prefix);
}

static void take(struct hocket__memory *m, struct hocket__store_call *c)
{
    struct hocket__memory_run *r = named(m, c, c->q.run.id);
    if (!r)
        return;
    bool was_owned = r->owned;
    if (!was_owned)
        hocket__memory_own(m, r);
    give_run(m, c, r);
    r->owned = was_owned || c->rows.status == 0; /* or nobody will hear of it */
    if (was_owned) {
        struct hocket__store_row row;
        hocket__memory_row(m, r, &row);
        c->status = hocket__store_already_claimed(c, &row.run.owner);
    }
}

/* What stands in the packed row alone. */
static bool is_of(const struct hocket__store_filter *f, const struct hocket__memory_run *r)
{
    struct hocket__store_row row;
    if (f->pool.n == 0 && f->project.n == 0)
        return true;
    hocket__memory_unpack(r->row, &row);
    return (f->pool.n == 0 || hocket__str_eq(row.run.pool, f->pool))
           && (f->project.n == 0 || hocket__str_eq(row.run.project, f->project));
}

static bool passes(const struct hocket__store_filter *f, const struct hocket__memory_run *r)
{
    return !r->removed && (f->states == 0 || (f->states >> r->state & 1))
           && (f->updated_before_ms == 0 || r->updated_ms < f->updated_before_ms)
           && (f->parent.n == 0 || memcmp(r->parent, f->parent.p, f->parent.n) == 0)
           && (f->caller.n == 0 || memcmp(r->caller, f->caller.p, f->caller.n) == 0) && is_of(f, r);
}

static void list_runs(struct hocket__memory *m, struct hocket__store_call *c)
{
    size_t i =
        c->place.before[0] ? hocket__memory_place(m, hocket__cstr(c->place.before)) : m->n_runs;
    while (i-- > 0) {
        struct hocket__memory_run *r = m->runs[i];
        if (!passes(&c->q.runs, r))
            continue;
        if ((c->more = c->rows.len >= HOCKET__STORE_PIECE))
            return;
        give_run(m, c, r);
        memcpy(c->place.before, r->id, sizeof(c->place.before));
        if (c->place.left > 0 && --c->place.left == 0)
            return;
    }
}

/* What of this run's and its parents' has the key `from`: whose it is, and how far it goes there.
 * A fork has its parent's entries up to the place where it left it, and the parent may be a fork as
 * well: none of them is copied. `last` is the last one that counts on the way down. */
static struct hocket__memory_run *holder(const struct hocket__memory *m,
    struct hocket__memory_run *r, bool entries, uint64_t from, uint64_t *last)
{
    *last = UINT64_MAX;
    for (;;) {
        uint64_t at = entries ? r->at_n : r->at_seq;
        if (!r->parent[0] || from > at)
            return r;
        if (at < *last)
            *last = at;
        r = hocket__memory_find_run(m, hocket__cstr(r->parent));
    }
}

/* From the first that has not been given; the end of a piece is between two rows, never within one. */
static void give_blocks(struct hocket__store_call *c, const struct hocket__blocks *b, uint64_t last)
{
    size_t i = 0, high = b->count;
    while (i < high) {
        size_t mid = i + (high - i) / 2;
        if (b->at[mid]->key < c->place.from)
            i = mid + 1;
        else
            high = mid;
    }
    for (; i < b->count && b->at[i]->key <= last; i++) {
        if (c->rows.len >= HOCKET__STORE_PIECE)
            break;
        hocket__buf_add(&c->rows, b->at[i]->bytes, b->at[i]->n);
        c->place.from = b->at[i]->key + 1;
    }
    if (i < b->count && b->at[i]->key <= last) {
        c->more = true;
    } else if (last < UINT64_MAX) { /* on with the child that left it there */
        c->place.from = last + 1;
        c->more = true;
    }
}

static void list_blocks(struct hocket__memory *m, struct hocket__store_call *c)
{
    bool entries = c->q.kind == HOCKET__STORE_ENTRIES;
    struct hocket__memory_run *r = named(m, c, c->q.log.id);
    uint64_t last;
    if (r && c->q.log.of_parent) {
        r = r->parent[0] ? hocket__memory_find_run(m, hocket__cstr(r->parent)) : NULL;
        if (!r)
            c->status = hocket__store_no_parent(c);
    }
    if (!r)
        return;
    r = holder(m, r, entries, c->place.from, &last);
    give_blocks(c, entries ? &r->entries : &r->records, last);
}

/* Each run may have a generation of its own: they stand in order, and are not gone through. */
static void list_files(struct hocket__memory *m, struct hocket__store_call *c)
{
    struct hocket__store_file first = { .generation = c->q.files.generation,
        .path = HOCKET__STR("") };
    for (size_t i = hocket__memory_file(m, &first, NULL); i < m->files.count; i++) {
        struct hocket__store_row row;
        hocket__memory_unpack(m->files.at[i], &row);
        if (!hocket__str_eq(row.file.generation, c->q.files.generation))
            return;
        hocket__buf_add(&c->rows, m->files.at[i]->bytes, m->files.at[i]->n);
    }
}

static void list_messages(struct hocket__memory *m, struct hocket__store_call *c)
{
    struct hocket__memory_run *r = named(m, c, c->q.run.id);
    for (size_t i = 0; r && i < r->messages.count; i++)
        if (r->messages.at[i]->key == 0)
            hocket__buf_add(&c->rows, r->messages.at[i]->bytes, r->messages.at[i]->n);
}

static void put_message(struct hocket__memory *m, struct hocket__store_call *c)
{
    struct hocket__memory_run *r = named(m, c, c->q.message.run);
    if (!r)
        return;
    if (hocket__memory_message(r, c->q.message.said.id) != SIZE_MAX)
        c->status = hocket__store_has_message(c);
    else if (hocket__memory_say(m, r, &c->q.message.said) < 0)
        c->status = hocket__error_nomem(&c->error);
}

/* Linear, and asked on removal only: a memory store has the runs of one process. */
static bool has_forks(const struct hocket__memory *m, const struct hocket__memory_run *r)
{
    for (size_t i = 0; i < m->n_runs; i++)
        if (m->runs[i]->parent[0] && memcmp(m->runs[i]->parent, r->id, HOCKET__STORE_ID) == 0)
            return true;
    return false;
}

/* What it had forked from may have been waiting for that. */
static void remove_run(struct hocket__memory *m, struct hocket__memory_run *r)
{
    r->removed = true;
    while (r && r->removed && !has_forks(m, r)) {
        struct hocket__memory_run *parent =
            r->parent[0] ? hocket__memory_find_run(m, hocket__cstr(r->parent)) : NULL;
        hocket__memory_free_run(m, r);
        r = parent;
    }
}

static bool has_generation(const struct hocket__memory_run *r, struct hocket__str generation)
{
    struct hocket__store_row row;
    struct hocket__str name;
    hocket__memory_unpack(r->row, &row);
    while (hocket__store_next_generation(&row.run.generation, &name))
        if (hocket__str_eq(name, generation))
            return true;
    return hocket__str_is(generation, r->id);
}

static bool is_used(const struct hocket__memory *m, struct hocket__str generation)
{
    for (size_t i = 0; i < m->n_runs; i++)
        if (!m->runs[i]->removed && has_generation(m->runs[i], generation))
            return true;
    return hocket__memory_item_has(m, generation);
}

static void drop_generation(struct hocket__memory *m, struct hocket__str generation)
{
    size_t kept = 0;
    for (size_t i = 0; i < m->files.count; i++) {
        struct hocket__store_row row;
        hocket__memory_unpack(m->files.at[i], &row);
        if (hocket__str_eq(row.file.generation, generation))
            hocket__memory_free_block(m, m->files.at[i]);
        else
            m->files.at[kept++] = m->files.at[i];
    }
    m->files.count = kept;
}

void hocket__memory_drop_files(struct hocket__memory *m, struct hocket__str generations)
{
    struct hocket__str name;
    while (hocket__store_next_generation(&generations, &name))
        if (!is_used(m, name))
            drop_generation(m, name);
}

static bool is_open(const struct hocket__memory_run *r)
{
    return r && !r->removed && !hocket__store_has_ended(r->state);
}

/* One that has not ended. */
static const struct hocket__memory_run *called_by(
    const struct hocket__memory *m, const struct hocket__memory_run *r)
{
    for (size_t i = 0; i < m->n_runs; i++)
        if (is_open(m->runs[i]) && strcmp(m->runs[i]->caller, r->id) == 0)
            return m->runs[i];
    return NULL;
}

static int check_calls(
    struct hocket__memory *m, const struct hocket__memory_run *r, struct hocket__store_call *c)
{
    const struct hocket__memory_run *caller =
        r->caller[0] ? hocket__memory_find_run(m, hocket__cstr(r->caller)) : NULL;
    const struct hocket__memory_run *called = is_open(r) ? called_by(m, r) : NULL;
    return hocket__store_has_calls(
        c, hocket__cstr(is_open(caller) ? caller->id : ""), hocket__cstr(called ? called->id : ""));
}

static void remove_named(struct hocket__memory *m, struct hocket__store_call *c)
{
    struct hocket__memory_run *r = named(m, c, c->q.run.id);
    struct hocket__store_row row;
    if (!r)
        return;
    hocket__memory_row(m, r, &row);
    if (r->owned) {
        c->status = hocket__store_already_claimed(c, &row.run.owner);
        return;
    }
    c->status = check_calls(m, r, c);
    if (c->status < 0)
        return;
    struct hocket__buf names;
    hocket__buf_init(&names, m->a, 0);
    hocket__buf_addf(&names, "%s,", r->id);
    hocket__buf_addstr(&names, row.run.generation);
    remove_run(m, r);
    hocket__memory_drop_files(m, hocket__buf_str(&names));
    hocket__buf_deinit(&names);
}

static void stats(struct hocket__memory *m, struct hocket__store_call *c)
{
    struct hocket__store *s = m->base.store;
    struct hocket__store_row row = { .kind = HOCKET__STORE_ROW_STATS };
    row.stats.commits = m->commits;
    row.stats.pending = s->handed - s->written;
    for (size_t i = 0; i < m->n_runs; i++) {
        struct hocket__memory_run *r = m->runs[i];
        row.stats.runs += !r->removed;
        row.stats.bytes += r->row->n;
        for (size_t j = 0; j < r->entries.count; j++)
            row.stats.bytes += r->entries.at[j]->n;
    }
    hocket__store_pack(&c->rows, &row);
}

static void maintain(struct hocket__memory *m, struct hocket__store_call *c)
{
    (void) m;
    if (c->q.maintenance.what == HOCKET__STORE_INFO)
        hocket__store_add_row(c, "kind", "memory");
    else
        c->status = hocket__store_unsupported(
            c, "runs are kept in memory, for as long as this process lives");
}

void hocket__memory_answer(struct hocket__memory *m, struct hocket__store_call *c)
{
    static void (*const answers[])(struct hocket__memory * m, struct hocket__store_call * c) = {
        [HOCKET__STORE_FIND] = find,
        [HOCKET__STORE_TAKE] = take,
        [HOCKET__STORE_TAKE_NEXT] = hocket__memory_take_next,
        [HOCKET__STORE_SPOKEN] = hocket__memory_spoken,
        [HOCKET__STORE_POOLS] = hocket__memory_pools,
        [HOCKET__STORE_BLOCKED] = hocket__memory_blocked,
        [HOCKET__STORE_RUNS] = list_runs,
        [HOCKET__STORE_ENTRIES] = list_blocks,
        [HOCKET__STORE_RECORDS] = list_blocks,
        [HOCKET__STORE_FILES] = list_files,
        [HOCKET__STORE_MESSAGES] = list_messages,
        [HOCKET__STORE_MESSAGE] = put_message,
        [HOCKET__STORE_SUBMIT] = hocket__memory_submit,
        [HOCKET__STORE_REMOVE] = remove_named,
        [HOCKET__STORE_STATS] = stats,
        [HOCKET__STORE_ITEM_PUT] = hocket__memory_item_put,
        [HOCKET__STORE_ITEM_DEL] = hocket__memory_item_del,
        [HOCKET__STORE_ITEMS] = hocket__memory_items,
        [HOCKET__STORE_MAINTAIN] = maintain,
        [HOCKET__STORE_NOTE_PUT] = hocket__memory_note_put,
        [HOCKET__STORE_NOTE_DEL] = hocket__memory_note_del,
        [HOCKET__STORE_NOTES] = hocket__memory_notes,
        [HOCKET__STORE_DRAW] = hocket__memory_draw,
    };
    if (!c->rows.a)
        hocket__buf_init(&c->rows, m->a, 0);
    answers[c->q.kind](m, c);
    if (c->rows.status < 0 && c->status == 0)
        c->status = hocket__error_nomem(&c->error);
}

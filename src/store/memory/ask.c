/* Questions to the memory store. Each is answered before the one who asks goes on; where an answer is long
 * it comes in pieces, and `from` says where the next one begins. */
#include "store/memory/memory_impl.h"

#include <string.h>
#include <strings.h>

#include <uv.h>

/* Items of the memory store: gone through one by one, as one process has few. */

static struct hocket__store_item item_at(const struct hocket__memory *m, size_t i)
{
    struct hocket__store_row row;
    hocket__memory_unpack(m->items.at[i], &row);
    return row.item;
}

/* Of the row with this name, in a kind of items or in a memory; all->count: it is not there. */
static size_t place_of(
    const struct hocket__blocks *all, struct hocket__str group, struct hocket__str id)
{
    size_t i = 0;
    for (; i < all->count; i++) {
        struct hocket__store_row row;
        hocket__memory_unpack(all->at[i], &row);
        bool note = row.kind == HOCKET__STORE_ROW_NOTE;
        if (hocket__str_eq(note ? row.note.memory : row.item.kind, group)
            && hocket__str_eq(note ? row.note.id : row.item.id, id))
            break;
    }
    return i;
}

static int compare(const struct hocket__store_item *a, const struct hocket__store_item *b)
{
    int rc = hocket__memory_compare(a->kind, b->kind);
    if (rc == 0)
        rc = a->due_ms < b->due_ms ? -1 : a->due_ms > b->due_ms;
    return rc != 0 ? rc : hocket__memory_compare(a->id, b->id);
}

/* There is room for it. */
static void insert(
    struct hocket__memory *m, struct hocket__block *b, const struct hocket__store_item *item)
{
    size_t i = 0;
    for (; i < m->items.count; i++) {
        struct hocket__store_item one = item_at(m, i);
        if (compare(&one, item) >= 0)
            break;
    }
    memmove(m->items.at + i + 1, m->items.at + i, (m->items.count - i) * sizeof(*m->items.at));
    m->items.at[i] = b;
    m->items.count++;
}

/* The one that was, and files that nobody has without it. */
static void forget(struct hocket__memory *m, struct hocket__block *b)
{
    struct hocket__store_row row;
    if (!b)
        return;
    hocket__memory_unpack(b, &row);
    hocket__memory_drop_files(m, row.item.generation);
    hocket__memory_free_block(m, b);
}

static void fail(struct hocket__store_call *c, int rc)
{
    c->status =
        rc == HOCKET_ENOMEM ? hocket__error_nomem(&c->error) : hocket__store_item_refuse(c, rc);
}

/* What may fail comes first: the old one goes when the new one has its place, and the run is there. */
static void item_put(struct hocket__memory *m, struct hocket__store_call *c)
{
    struct hocket__store_row row = { .kind = HOCKET__STORE_ROW_ITEM };
    struct hocket__blocks *all = &m->items;
    size_t i = place_of(&m->items, c->q.item.item.kind, c->q.item.item.id);
    int64_t before = i < all->count ? item_at(m, i).version : 0;
    int64_t now = hocket__store_wall_ms(&m->base.store->o);
    if ((c->status = hocket__store_item_check(c, before)) < 0)
        return;
    row.item = hocket__store_item_of(c, hocket__store_item_version(before, now), now);
    struct hocket__block *b = hocket__memory_pack(m, &row, 0);
    int rc = b ? hocket__grow(m->a, &all->at, &all->cap, all->count + 1, sizeof(*all->at))
               : HOCKET_ENOMEM;
    if (rc == 0)
        rc = hocket__memory_put_along(m, c);
    if (rc < 0) {
        hocket__memory_free_block(m, b);
        fail(c, rc);
        return;
    }
    struct hocket__block *old = before ? hocket__memory_take_out(&m->items, i) : NULL;
    insert(m, b, &row.item);
    forget(m, old);
    hocket__store_item_answer(c, row.item.version);
}

static void item_del(struct hocket__memory *m, struct hocket__store_call *c)
{
    size_t i = place_of(&m->items, c->q.item.item.kind, c->q.item.item.id);
    bool there = i < m->items.count;
    c->status = hocket__store_item_check(c, there ? item_at(m, i).version : 0);
    if (c->status == 0)
        forget(m, hocket__memory_take_out(&m->items, i));
}

static void memory_items(struct hocket__memory *m, struct hocket__store_call *c)
{
    int64_t now = hocket__store_wall_ms(&m->base.store->o),
            until = hocket__store_items_until(c, now);
    for (size_t i = 0; i < m->items.count; i++) {
        struct hocket__store_row row = { .kind = HOCKET__STORE_ROW_ITEM, .item = item_at(m, i) };
        if (!hocket__str_eq(row.item.kind, c->q.items.kind)
            || (c->q.items.id.n > 0 && !hocket__str_eq(row.item.id, c->q.items.id))
            || row.item.due_ms < (int64_t) c->place.from || row.item.due_ms > until)
            continue;
        row.item.now_ms = now;
        hocket__store_pack(&c->rows, &row);
    }
}

static bool item_has(const struct hocket__memory *m, struct hocket__str generation)
{
    for (size_t i = 0; i < m->items.count; i++) {
        struct hocket__str names = item_at(m, i).generation, name;
        while (hocket__store_next_generation(&names, &name))
            if (hocket__str_eq(name, generation))
                return true;
    }
    return false;
}

/* Notes of the memory store. They are gone through one by one: a memory store has the notes of one
 * process. */

static struct hocket__store_note note_at(const struct hocket__memory *m, size_t i)
{
    struct hocket__store_row row;
    hocket__memory_unpack(m->notes.at[i], &row);
    return row.note;
}

static void drop(struct hocket__memory *m, size_t i)
{
    hocket__memory_free_block(m, hocket__memory_take_out(&m->notes, i));
}

static void count(const struct hocket__memory *m, struct hocket__str memory, size_t without,
    struct hocket__store_note *sum)
{
    for (size_t i = 0; i < m->notes.count; i++) {
        struct hocket__store_note n = note_at(m, i);
        if (i == without || !hocket__str_eq(n.memory, memory))
            continue;
        sum->notes++;
        sum->bytes += n.text.n + n.meta.n;
        sum->updated_ms = n.updated_ms > sum->updated_ms ? n.updated_ms : sum->updated_ms;
    }
}

static void memory_note_put(struct hocket__memory *m, struct hocket__store_call *c)
{
    struct hocket__store_row row = { .kind = HOCKET__STORE_ROW_NOTE, .note = c->q.note_put.note };
    size_t at = place_of(&m->notes, row.note.memory, row.note.id);
    struct hocket__store_note sum = { 0 };
    count(m, row.note.memory, at, &sum);
    c->status = hocket__store_note_room(c, sum.notes, sum.bytes);
    if (c->status < 0)
        return;
    row.note.created_ms = at < m->notes.count ? note_at(m, at).created_ms : row.note.updated_ms;
    row.note.notes = row.note.bytes = 0;
    if (hocket__memory_insert(m, &m->notes, m->notes.count, &row, 0) < 0)
        c->status = hocket__error_nomem(&c->error);
    else if (at < m->notes.count - 1)
        drop(m, at);
}

static void note_del(struct hocket__memory *m, struct hocket__store_call *c)
{
    size_t at = place_of(&m->notes, c->q.notes.memory, c->q.notes.id);
    if (at == m->notes.count)
        c->status = hocket__store_note_missing(c);
    else
        drop(m, at);
}

/* ---- Reading --------------------------------------------------------------------------------- */

static bool has(struct hocket__str text, struct hocket__str word)
{
    for (size_t i = 0; i + word.n <= text.n; i++)
        if (strncasecmp(text.p + i, word.p, word.n) == 0)
            return true;
    return false;
}

/* How many of the query's words it has. */
static size_t score(struct hocket__str text, struct hocket__str query)
{
    size_t n = 0;
    for (int i = 0; i < HOCKET__STORE_NOTE_WORDS; i++) {
        struct hocket__str word = hocket__store_note_word(&query);
        if (word.n == 0)
            break;
        n += has(text, word);
    }
    return n;
}

static void give(struct hocket__store_call *c, size_t *left, const struct hocket__store_note *n)
{
    struct hocket__store_row row = { .kind = HOCKET__STORE_ROW_NOTE, .note = *n };
    if (c->place.from > 0) {
        c->place.from--;
        return;
    }
    if (*left > 0)
        hocket__store_pack(&c->rows, &row);
    *left -= *left > 0;
}

static void list_memories(struct hocket__memory *m, struct hocket__store_call *c, size_t left)
{
    struct hocket__str last = HOCKET__STR("");
    for (;;) {
        struct hocket__store_note next = { 0 };
        for (size_t i = 0; i < m->notes.count; i++) {
            struct hocket__str name = note_at(m, i).memory;
            if (hocket__memory_compare(name, last) > 0
                && (!next.memory.n || hocket__memory_compare(name, next.memory) < 0))
                next.memory = name;
        }
        if (!next.memory.n)
            return;
        count(m, next.memory, SIZE_MAX, &next);
        give(c, &left, &next);
        last = next.memory;
    }
}

/* From notes that have all words down to notes that have one; the newest first. */
static void list(struct hocket__memory *m, struct hocket__store_call *c, size_t left)
{
    size_t wanted = c->q.notes.query.n ? HOCKET__STORE_NOTE_WORDS : 0;
    for (;; wanted--) {
        for (size_t i = m->notes.count; i-- > 0;) {
            struct hocket__store_note n = note_at(m, i);
            if (hocket__str_eq(n.memory, c->q.notes.memory)
                && (!c->q.notes.id.n || hocket__str_eq(n.id, c->q.notes.id))
                && (!c->q.notes.query.n || score(n.text, c->q.notes.query) == wanted))
                give(c, &left, &n);
        }
        if (wanted <= 1)
            return;
    }
}

static void list_near(struct hocket__memory *m, struct hocket__store_call *c, size_t left)
{
    struct hocket__store_near nearest = { .n = 0 };
    for (size_t i = m->notes.count; i-- > 0;) {
        struct hocket__store_note n = note_at(m, i);
        if (hocket__str_eq(n.memory, c->q.notes.memory))
            hocket__store_compare(&nearest, n.vector, c->q.notes.vector, (int64_t) i);
    }
    for (size_t i = 0; i < nearest.n; i++) {
        struct hocket__store_note n = note_at(m, (size_t) nearest.best[i].what);
        give(c, &left, &n);
    }
}

static void memory_notes(struct hocket__memory *m, struct hocket__store_call *c)
{
    size_t left = c->place.left ? c->place.left : SIZE_MAX;
    if (c->q.notes.memory.n == 0)
        list_memories(m, c, left);
    else if (c->q.notes.vector.n > 0)
        list_near(m, c, left);
    else
        list(m, c, left);
}

/* What lies in pools, and who waits for whom: as in a database (writer/writer.h), of the runs of one process. */

static bool has_ended(const struct hocket__memory_run *r)
{
    return r->state == HOCKET__STORE_DONE || r->state == HOCKET__STORE_FAILED
           || r->state == HOCKET__STORE_CANCELLED;
}

/* Waits for somebody, and for no time. */
static bool sleeps(const struct hocket__memory_run *r)
{
    return !r->owned && r->due_ms == 0
           && (r->state == HOCKET__STORE_WAITING || r->state == HOCKET__STORE_PARKED);
}

/* The same until a time at most. */
static bool is_limited(const struct hocket__memory_run *r, const struct hocket__store_run *row)
{
    struct hocket__str open = row->waiting_for, time = HOCKET__STR(HOCKET__STORE_WAITS_FOR_TIME);
    bool for_somebody = open.n > 0 && (open.n < time.n || memcmp(open.p, time.p, time.n) != 0);
    return !r->owned && r->due_ms > 0 && for_somebody
           && (r->state == HOCKET__STORE_WAITING || r->state == HOCKET__STORE_PARKED);
}

static struct hocket__store_pool pool_of(
    const struct hocket__memory *m, const struct hocket__memory_run *r)
{
    struct hocket__store_row row;
    int64_t now = hocket__store_wall_ms(&m->base.store->o);
    hocket__memory_unpack(r->row, &row);
    struct hocket__store_pool p = { .pool = row.run.pool, .n = 1 };
    if (r->owned) {
        p.what = hocket__cstr("running");
        p.host = hocket__cstr(m->host);
        p.pid = uv_os_getpid();
        p.since_ms = r->since_ms;
        return p;
    }
    bool is_due = !sleeps(r) && r->due_ms <= now, waits = sleeps(r) || is_limited(r, &row.run);
    p.what = hocket__cstr(is_due ? "queued" : waits ? hocket__store_state_word(r->state) : "later");
    p.since_ms = r->due_ms > 0 && (is_due || !waits) ? r->due_ms : r->updated_ms;
    return p;
}

/* Counts it where its like is, or before the first that comes after it; the groups are few. */
static int count_pool(struct hocket__buf *groups, const struct hocket__store_pool *p)
{
    struct hocket__store_pool *at = (struct hocket__store_pool *) groups->data;
    size_t n = groups->len / sizeof(*at), i = 0;
    int by = 1;
    while (i < n && (by = hocket__memory_compare(at[i].pool, p->pool)) <= 0
           && (by != 0 || (by = hocket__memory_compare(at[i].what, p->what)) < 0))
        i++;
    if (i < n && by == 0) {
        at[i].n++;
        at[i].since_ms = p->since_ms < at[i].since_ms ? p->since_ms : at[i].since_ms;
        return 0;
    }
    int rc = hocket__buf_add(groups, (const char *) p, sizeof(*p));
    if (rc < 0)
        return rc;
    at = (struct hocket__store_pool *) groups->data;
    memmove(at + i + 1, at + i, (n - i) * sizeof(*at));
    at[i] = *p;
    return 0;
}

static void pools(struct hocket__memory *m, struct hocket__store_call *c)
{
    struct hocket__buf groups = hocket__buf(m->a, 0);
    for (size_t i = 0; i < m->n_runs; i++) {
        if (m->runs[i]->removed || !m->runs[i]->pooled || has_ended(m->runs[i]))
            continue;
        struct hocket__store_pool p = pool_of(m, m->runs[i]);
        count_pool(&groups, &p);
    }
    for (size_t i = 0; i < groups.len; i += sizeof(struct hocket__store_pool)) {
        struct hocket__store_row row = { .kind = HOCKET__STORE_ROW_POOL };
        memcpy(&row.pool, groups.data + i, sizeof(row.pool));
        hocket__store_pack(&c->rows, &row);
    }
    if (groups.status < 0)
        c->status = groups.status;
    hocket__buf_deinit(&groups);
}

static void memory_blocked(struct hocket__memory *m, struct hocket__store_call *c)
{
    size_t left = c->q.blocked.limit;
    for (size_t i = 0; i < m->n_runs && left > 0; i++) {
        struct hocket__memory_run *r = m->runs[i];
        struct hocket__store_row row;
        if (r->removed || !r->pooled || has_ended(r))
            continue;
        hocket__memory_row(m, r, &row);
        if (!sleeps(r) && !r->caller[0] && !is_limited(r, &row.run))
            continue;
        row.run.input = row.run.options = HOCKET__STR("");
        hocket__store_pack(&c->rows, &row);
        left--;
    }
}

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
    return item_has(m, generation);
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
    struct hocket__buf names = hocket__buf(m->a, 0);
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
        [HOCKET__STORE_POOLS] = pools,
        [HOCKET__STORE_BLOCKED] = memory_blocked,
        [HOCKET__STORE_RUNS] = list_runs,
        [HOCKET__STORE_ENTRIES] = list_blocks,
        [HOCKET__STORE_RECORDS] = list_blocks,
        [HOCKET__STORE_FILES] = list_files,
        [HOCKET__STORE_MESSAGES] = list_messages,
        [HOCKET__STORE_MESSAGE] = put_message,
        [HOCKET__STORE_SUBMIT] = hocket__memory_submit,
        [HOCKET__STORE_REMOVE] = remove_named,
        [HOCKET__STORE_STATS] = stats,
        [HOCKET__STORE_ITEM_PUT] = item_put,
        [HOCKET__STORE_ITEM_DEL] = item_del,
        [HOCKET__STORE_ITEMS] = memory_items,
        [HOCKET__STORE_MAINTAIN] = maintain,
        [HOCKET__STORE_NOTE_PUT] = memory_note_put,
        [HOCKET__STORE_NOTE_DEL] = note_del,
        [HOCKET__STORE_NOTES] = memory_notes,
        [HOCKET__STORE_DRAW] = hocket__memory_draw,
    };
    if (!c->rows.a)
        hocket__buf_init(&c->rows, m->a, 0);
    answers[c->q.kind](m, c);
    if (c->rows.status < 0 && c->status == 0)
        c->status = hocket__error_nomem(&c->error);
}

/* The memory store: rows as the bytes that were handed over, in order. It takes a batch at once, so
 * what was handed over is kept at the end of the turn. Out of memory it breaks: what it would have to
 * hold on to has no place. */
#include "store/store_impl.h"

#include <unistd.h>

struct block {
    uint64_t key; /* of an entry its n, of a record its seq */
    size_t n;
    char bytes[];
};

struct blocks {
    struct block **at;
    size_t count, cap;
};

struct run {
    char id[HOCKET__STORE_ID + 1], parent[HOCKET__STORE_ID + 1];
    uint64_t at_n, at_seq, fence;
    enum hocket__store_state state;
    int64_t updated_ms;
    bool owned, removed, refused;
    int64_t since_ms;
    struct block *row;
    struct blocks entries, records, messages;
};

struct memory {
    struct hocket__store_backend base;
    const struct hocket_allocator *a;
    struct run **runs; /* by id */
    size_t n_runs, cap;
    struct blocks files; /* by generation and path */
    uint64_t commits;
    char host[256];
};

static struct memory *of(struct hocket__store_backend *b)
{
    return hocket__container_of(b, struct memory, base);
}

/* ---- Blocks -------------------------------------------------------------------------------- */

static void free_block(struct memory *m, struct block *b)
{
    if (b)
        hocket__free(m->a, b, sizeof(*b) + b->n);
}

static void free_blocks(struct memory *m, struct blocks *b)
{
    for (size_t i = 0; i < b->count; i++)
        free_block(m, b->at[i]);
    hocket__free(m->a, b->at, b->cap * sizeof(*b->at));
    *b = (struct blocks){ 0 };
}

static struct block *pack(struct memory *m, const struct hocket__store_row *row, uint64_t key)
{
    struct hocket__buf buf;
    struct block *b = NULL;
    hocket__buf_init(&buf, m->a, 0);
    if (hocket__store_pack(&buf, row) == 0 && (b = hocket__new(m->a, sizeof(*b) + buf.len))) {
        b->key = key;
        b->n = buf.len;
        memcpy(b->bytes, buf.data, buf.len);
    }
    hocket__buf_deinit(&buf);
    return b;
}

static void unpack(const struct block *b, struct hocket__store_row *row)
{
    struct hocket__str in = hocket__str(b->bytes, b->n);
    hocket__store_unpack(&in, row);
}

static int insert(struct memory *m, struct blocks *to, size_t i,
    const struct hocket__store_row *row, uint64_t key)
{
    struct block *b;
    if (hocket__grow(m->a, &to->at, &to->cap, to->count + 1, sizeof(*to->at)) < 0
        || !(b = pack(m, row, key)))
        return HOCKET_ENOMEM;
    memmove(to->at + i + 1, to->at + i, (to->count - i) * sizeof(*to->at));
    to->at[i] = b;
    to->count++;
    return 0;
}

/* ---- Runs ------------------------------------------------------------------------------------ */

/* Where an id is, or would be; a prefix counts as the first that begins so. */
static size_t place(const struct memory *m, struct hocket__str id)
{
    size_t low = 0, high = m->n_runs;
    while (low < high) {
        size_t mid = low + (high - low) / 2;
        if (memcmp(m->runs[mid]->id, id.p, id.n) < 0)
            low = mid + 1;
        else
            high = mid;
    }
    return low;
}

static struct run *run_of(const struct memory *m, struct hocket__str id)
{
    size_t i = place(m, id);
    return i < m->n_runs && memcmp(m->runs[i]->id, id.p, id.n) == 0 ? m->runs[i] : NULL;
}

static void free_run(struct memory *m, struct run *r)
{
    size_t i = place(m, hocket__cstr(r->id));
    memmove(m->runs + i, m->runs + i + 1, (m->n_runs - i - 1) * sizeof(*m->runs));
    m->n_runs--;
    free_block(m, r->row);
    free_blocks(m, &r->entries);
    free_blocks(m, &r->records);
    free_blocks(m, &r->messages);
    hocket__free(m->a, r, sizeof(*r));
}

static uint64_t last_n(const struct run *r)
{
    return r->at_n + r->entries.count;
}

/* The row as it was put, with the fields that the store knows. */
static void row_of(const struct memory *m, const struct run *r, struct hocket__store_row *row)
{
    unpack(r->row, row);
    row->run.updated_ms = r->updated_ms;
    row->run.last_n = last_n(r);
    row->run.fence = r->fence;
    if (r->owned)
        row->run.owner = (struct hocket__store_owner){ .pid = getpid(),
            .host = hocket__cstr(m->host),
            .since_ms = r->since_ms,
            .lease_ms = INT64_MAX };
}

static void own(struct memory *m, struct run *r)
{
    r->owned = true;
    r->refused = false;
    r->fence++;
    r->since_ms = hocket__store_wall_ms(&m->base.store->o);
}

/* ---- Commands ----------------------------------------------------------------------------------
 * 0, ENOMEM, or what is wrong with them: then the run is refused. */

static int put(struct memory *m, const struct hocket__store_command *c)
{
    struct hocket__str id = hocket__cstr(c->id);
    if (run_of(m, id))
        return HOCKET_EEXIST;
    if (c->row.run.parent[0] && !run_of(m, hocket__cstr(c->row.run.parent)))
        return HOCKET_ENOTFOUND;
    struct run *r = hocket__zero(m->a, sizeof(*r));
    if (!r)
        return HOCKET_ENOMEM;
    if (!(r->row = pack(m, &c->row, 0))
        || hocket__grow(m->a, &m->runs, &m->cap, m->n_runs + 1, sizeof(*m->runs)) < 0) {
        free_block(m, r->row);
        hocket__free(m->a, r, sizeof(*r));
        return HOCKET_ENOMEM;
    }
    memcpy(r->id, c->id, sizeof(r->id));
    memcpy(r->parent, c->row.run.parent, sizeof(r->parent));
    r->at_n = c->row.run.parent[0] ? c->row.run.at_n : 0;
    r->at_seq = c->row.run.parent[0] ? c->row.run.at_seq : 0;
    r->state = c->row.run.state;
    size_t i = place(m, id);
    memmove(m->runs + i + 1, m->runs + i, (m->n_runs - i) * sizeof(*m->runs));
    m->runs[i] = r;
    m->n_runs++;
    own(m, r);
    r->updated_ms = r->since_ms;
    return 0;
}

static int update(struct memory *m, struct run *r, const struct hocket__store_command *c)
{
    struct hocket__store_row row;
    const struct hocket__store_run *from = &c->row.run;
    unpack(r->row, &row);
    if (c->set & HOCKET__STORE_SET_STATE)
        r->state = row.run.state = from->state;
    if (c->set & HOCKET__STORE_SET_WAITING_FOR)
        row.run.waiting_for = from->waiting_for;
    if (c->set & HOCKET__STORE_SET_GENERATION)
        row.run.generation = from->generation;
    if (c->set & HOCKET__STORE_SET_OPTIONS)
        row.run.options = from->options;
    if (c->set & HOCKET__STORE_SET_USAGE) {
        row.run.cost = from->cost;
        row.run.tokens = from->tokens;
    }
    struct block *packed = pack(m, &row, 0);
    if (!packed)
        return HOCKET_ENOMEM;
    free_block(m, r->row);
    r->row = packed;
    return 0;
}

static int record(struct memory *m, struct run *r, const struct hocket__store_row *row)
{
    struct blocks *b = &r->records;
    uint64_t last = b->count > 0 ? b->at[b->count - 1]->key : r->at_seq;
    return row->record.seq > last ? insert(m, b, b->count, row, row->record.seq) : 0;
}

static int append(struct memory *m, struct run *r, const struct hocket__store_row *row)
{
    if (row->entry.n != last_n(r) + 1)
        return HOCKET_EINVAL;
    return insert(m, &r->entries, r->entries.count, row, row->entry.n);
}

static int compare(struct hocket__str a, struct hocket__str b)
{
    int rc = memcmp(a.p, b.p, a.n < b.n ? a.n : b.n);
    return rc != 0 ? rc : a.n < b.n ? -1 : a.n > b.n;
}

static int compare_files(const struct hocket__store_file *a, const struct hocket__store_file *b)
{
    int rc = compare(a->generation, b->generation);
    return rc != 0 ? rc : compare(a->path, b->path);
}

static size_t file_place(const struct memory *m, const struct hocket__store_file *file, bool *found)
{
    size_t low = 0, high = m->files.count;
    *found = false;
    while (low < high) {
        size_t mid = low + (high - low) / 2;
        struct hocket__store_row row;
        unpack(m->files.at[mid], &row);
        int rc = compare_files(&row.file, file);
        *found |= rc == 0;
        if (rc < 0)
            low = mid + 1;
        else
            high = mid;
    }
    return low;
}

static int put_file(struct memory *m, const struct hocket__store_row *row)
{
    bool found;
    size_t i = file_place(m, &row->file, &found);
    return found ? 0 : insert(m, &m->files, i, row, 0);
}

static size_t message_place(const struct run *r, struct hocket__str id)
{
    for (size_t i = 0; i < r->messages.count; i++) {
        struct hocket__store_row row;
        unpack(r->messages.at[i], &row);
        if (hocket__str_eq(row.message.id, id))
            return i;
    }
    return SIZE_MAX;
}

/* Its id stays, so that it is not put again. */
static int message_del(struct memory *m, struct run *r, struct hocket__str id)
{
    size_t i = message_place(r, id);
    if (i == SIZE_MAX)
        return 0;
    struct hocket__store_row row = { .kind = HOCKET__STORE_ROW_MESSAGE };
    row.message.id = id;
    struct block *b = pack(m, &row, 1);
    if (!b)
        return HOCKET_ENOMEM;
    free_block(m, r->messages.at[i]);
    r->messages.at[i] = b;
    return 0;
}

static int message_put(struct memory *m, struct run *r, const struct hocket__store_row *row)
{
    if (message_place(r, row->message.id) != SIZE_MAX)
        return 0;
    return insert(m, &r->messages, r->messages.count, row, 0);
}

static int apply_to(struct memory *m, struct run *r, const struct hocket__store_command *c)
{
    switch (c->kind) {
    case HOCKET__STORE_UPDATE: return update(m, r, c);
    case HOCKET__STORE_APPEND: return append(m, r, &c->row);
    case HOCKET__STORE_RECORD: return record(m, r, &c->row);
    case HOCKET__STORE_MESSAGE_PUT: return message_put(m, r, &c->row);
    case HOCKET__STORE_MESSAGE_DEL: return message_del(m, r, c->message_id);
    case HOCKET__STORE_RELEASE: r->owned = false; return 0;
    default: return HOCKET_EINVAL;
    }
}

static int apply(struct memory *m, const struct hocket__store_command *c)
{
    if (c->kind == HOCKET__STORE_FILE)
        return put_file(m, &c->row);
    if (c->kind == HOCKET__STORE_PUT)
        return put(m, c);
    struct run *r = run_of(m, hocket__cstr(c->id));
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

static void memory_submit(struct hocket__store_backend *b, struct hocket__buf *batch, uint64_t seq)
{
    struct memory *m = of(b);
    struct hocket__str in = hocket__buf_str(batch);
    struct hocket__store_command c;
    struct hocket_error e;
    while (hocket__store_command_next(&in, &c)) {
        int rc = apply(m, &c);
        if (rc == HOCKET_ENOMEM) {
            hocket__error_nomem(&e);
            hocket__store_tell(b->store, HOCKET__STORE_BROKEN, NULL, &e);
            return;
        }
        if (rc < 0) {
            hocket__store_refusal(c.kind, c.id, rc, &e);
            hocket__store_tell(b->store, HOCKET__STORE_REFUSED, c.id, &e);
        }
    }
    m->commits++;
    hocket__store_kept(b->store, seq, seq);
}

/* ---- Questions ------------------------------------------------------------------------------- */

static struct run *named(struct memory *m, struct hocket__store_call *c)
{
    struct run *r = run_of(m, c->key);
    if (r && !r->removed)
        return r;
    c->status = hocket__store_not_found(c);
    return NULL;
}

static void give_run(struct memory *m, struct hocket__store_call *c, const struct run *r)
{
    struct hocket__store_row row;
    row_of(m, r, &row);
    hocket__store_pack(&c->rows, &row);
}

static void find(struct memory *m, struct hocket__store_call *c)
{
    struct run *found = NULL;
    for (size_t i = place(m, c->key); i < m->n_runs; i++) {
        struct run *r = m->runs[i];
        if (memcmp(r->id, c->key.p, c->key.n) != 0)
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
        c->status = hocket__store_not_found(c);
}

static void take(struct memory *m, struct hocket__store_call *c)
{
    struct run *r = named(m, c);
    if (!r)
        return;
    bool was_owned = r->owned;
    if (!was_owned)
        own(m, r);
    give_run(m, c, r);
    if (was_owned) {
        struct hocket__store_row row;
        row_of(m, r, &row);
        c->status = hocket__store_has_it(c, &row.run.owner);
    }
}

static bool passes(const struct hocket__store_call *c, const struct run *r)
{
    return !r->removed && (c->states == 0 || (c->states >> r->state & 1))
           && (c->updated_before_ms == 0 || r->updated_ms < c->updated_before_ms)
           && (c->parent.n == 0 || memcmp(r->parent, c->parent.p, c->parent.n) == 0);
}

static void list_runs(struct memory *m, struct hocket__store_call *c)
{
    size_t i = c->before[0] ? place(m, hocket__cstr(c->before)) : m->n_runs;
    while (i-- > 0) {
        struct run *r = m->runs[i];
        if (!passes(c, r))
            continue;
        if ((c->more = c->rows.len >= HOCKET__STORE_PIECE))
            return;
        give_run(m, c, r);
        memcpy(c->before, r->id, sizeof(c->before));
        if (c->limit > 0 && --c->limit == 0)
            return;
    }
}

/* What of this run's and its parents' has the key `from`: whose it is, and how far it goes there. */
static struct run *holder(
    const struct memory *m, struct run *r, bool entries, uint64_t from, uint64_t *last)
{
    *last = UINT64_MAX;
    for (;;) {
        uint64_t at = entries ? r->at_n : r->at_seq;
        if (!r->parent[0] || from > at)
            return r;
        if (at < *last)
            *last = at;
        r = run_of(m, hocket__cstr(r->parent));
    }
}

static void give_blocks(struct hocket__store_call *c, const struct blocks *b, uint64_t last)
{
    size_t i = 0, high = b->count;
    while (i < high) {
        size_t mid = i + (high - i) / 2;
        if (b->at[mid]->key < c->from)
            i = mid + 1;
        else
            high = mid;
    }
    for (; i < b->count && b->at[i]->key <= last; i++) {
        if (c->rows.len >= HOCKET__STORE_PIECE)
            break;
        hocket__buf_add(&c->rows, b->at[i]->bytes, b->at[i]->n);
        c->from = b->at[i]->key + 1;
    }
    if (i < b->count && b->at[i]->key <= last) {
        c->more = true;
    } else if (last < UINT64_MAX) { /* on with the child that left it there */
        c->from = last + 1;
        c->more = true;
    }
}

static void list_blocks(struct memory *m, struct hocket__store_call *c)
{
    bool entries = c->kind == HOCKET__STORE_ENTRIES;
    struct run *r = named(m, c);
    uint64_t last;
    if (!r)
        return;
    r = holder(m, r, entries, c->from, &last);
    give_blocks(c, entries ? &r->entries : &r->records, last);
}

static void list_files(struct memory *m, struct hocket__store_call *c)
{
    for (size_t i = 0; i < m->files.count; i++) {
        struct hocket__store_row row;
        unpack(m->files.at[i], &row);
        if (hocket__str_eq(row.file.generation, c->key))
            hocket__buf_add(&c->rows, m->files.at[i]->bytes, m->files.at[i]->n);
    }
}

static void list_messages(struct memory *m, struct hocket__store_call *c)
{
    struct run *r = named(m, c);
    for (size_t i = 0; r && i < r->messages.count; i++)
        if (r->messages.at[i]->key == 0)
            hocket__buf_add(&c->rows, r->messages.at[i]->bytes, r->messages.at[i]->n);
}

static void put_message(struct memory *m, struct hocket__store_call *c)
{
    struct run *r = named(m, c);
    if (!r)
        return;
    struct hocket__store_row row = { .kind = HOCKET__STORE_ROW_MESSAGE };
    row.message = (struct hocket__store_message){ c->message_id, c->at_ms, c->json };
    if (message_place(r, c->message_id) != SIZE_MAX)
        c->status = hocket__store_has_message(c);
    else if (insert(m, &r->messages, r->messages.count, &row, 0) < 0)
        c->status = hocket__error_nomem(&c->error);
}

static bool has_forks(const struct memory *m, const struct run *r)
{
    for (size_t i = 0; i < m->n_runs; i++)
        if (m->runs[i]->parent[0] && memcmp(m->runs[i]->parent, r->id, HOCKET__STORE_ID) == 0)
            return true;
    return false;
}

/* What it had forked from may have been waiting for that. */
static void remove_run(struct memory *m, struct run *r)
{
    r->removed = true;
    while (r && r->removed && !has_forks(m, r)) {
        struct run *parent = r->parent[0] ? run_of(m, hocket__cstr(r->parent)) : NULL;
        free_run(m, r);
        r = parent;
    }
}

static bool is_used(const struct memory *m, struct hocket__str generation)
{
    for (size_t i = 0; i < m->n_runs; i++) {
        struct hocket__store_row row;
        unpack(m->runs[i]->row, &row);
        if (hocket__str_eq(row.run.generation, generation))
            return true;
    }
    return false;
}

static void drop_generation(struct memory *m, struct hocket__str generation)
{
    size_t kept = 0;
    for (size_t i = 0; i < m->files.count; i++) {
        struct hocket__store_row row;
        unpack(m->files.at[i], &row);
        if (hocket__str_eq(row.file.generation, generation))
            free_block(m, m->files.at[i]);
        else
            m->files.at[kept++] = m->files.at[i];
    }
    m->files.count = kept;
}

static void remove_named(struct memory *m, struct hocket__store_call *c)
{
    struct run *r = named(m, c);
    struct hocket__store_row row;
    if (!r)
        return;
    row_of(m, r, &row);
    if (r->owned) {
        c->status = hocket__store_has_it(c, &row.run.owner);
        return;
    }
    struct hocket__buf generation;
    hocket__buf_init(&generation, m->a, 0);
    hocket__buf_addstr(&generation, row.run.generation);
    remove_run(m, r);
    if (generation.len > 0 && !is_used(m, hocket__buf_str(&generation)))
        drop_generation(m, hocket__buf_str(&generation));
    hocket__buf_deinit(&generation);
}

static void stats(struct memory *m, struct hocket__store_call *c)
{
    struct hocket__store *s = m->base.store;
    struct hocket__store_row row = { .kind = HOCKET__STORE_ROW_STATS };
    row.stats.commits = m->commits;
    row.stats.pending = s->handed - s->written;
    for (size_t i = 0; i < m->n_runs; i++) {
        struct run *r = m->runs[i];
        row.stats.runs += !r->removed;
        row.stats.bytes += r->row->n;
        for (size_t j = 0; j < r->entries.count; j++)
            row.stats.bytes += r->entries.at[j]->n;
    }
    hocket__store_pack(&c->rows, &row);
}

static void memory_ask(struct hocket__store_backend *b, struct hocket__store_call *c)
{
    static void (*const answers[])(struct memory * m, struct hocket__store_call * c) = {
        [HOCKET__STORE_FIND] = find,
        [HOCKET__STORE_TAKE] = take,
        [HOCKET__STORE_RUNS] = list_runs,
        [HOCKET__STORE_ENTRIES] = list_blocks,
        [HOCKET__STORE_RECORDS] = list_blocks,
        [HOCKET__STORE_FILES] = list_files,
        [HOCKET__STORE_MESSAGES] = list_messages,
        [HOCKET__STORE_MESSAGE] = put_message,
        [HOCKET__STORE_REMOVE] = remove_named,
        [HOCKET__STORE_STATS] = stats,
    };
    struct memory *m = of(b);
    if (!c->rows.a)
        hocket__buf_init(&c->rows, m->a, 0);
    answers[c->kind](m, c);
    if (c->rows.status < 0 && c->status == 0)
        c->status = hocket__error_nomem(&c->error);
    hocket__store_answer(b->store, c);
}

/* ---- Life -------------------------------------------------------------------------------------- */

/* Nobody waits for longer than a turn. */
static void memory_want(struct hocket__store_backend *b, uint64_t seq, enum hocket__store_kept kept)
{
    (void) b, (void) seq, (void) kept;
}

static void memory_switch(struct hocket__store_backend *b, bool on)
{
    (void) b, (void) on;
}

static void memory_close(struct hocket__store_backend *b)
{
    struct memory *m = of(b);
    struct hocket__store *s = b->store;
    while (m->n_runs > 0)
        free_run(m, m->runs[m->n_runs - 1]);
    hocket__free(m->a, m->runs, m->cap * sizeof(*m->runs));
    free_blocks(m, &m->files);
    hocket__free(m->a, m, sizeof(*m));
    hocket__store_closed(s);
}

static const struct hocket__store_backend_ops memory_ops = {
    .name = "memory",
    .submit = memory_submit,
    .want = memory_want,
    .ask = memory_ask,
    .hold = memory_switch,
    .watch = memory_switch,
    .close = memory_close,
};

int hocket__store_memory_open(
    const struct hocket__store_options *o, struct hocket__store **out, struct hocket_error *err)
{
    struct memory *m = hocket__zero(o->alloc, sizeof(*m));
    if (!m)
        return hocket__error_nomem(err);
    int rc = hocket__store_new(o, out, err);
    if (rc < 0) {
        hocket__free(o->alloc, m, sizeof(*m));
        return rc;
    }
    m->base = (struct hocket__store_backend){ &memory_ops, *out };
    m->a = o->alloc;
    gethostname(m->host, sizeof(m->host) - 1);
    (*out)->backend = &m->base;
    hocket__store_opened(*out);
    return 0;
}

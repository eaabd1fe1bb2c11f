/* Questions: rows of the file, packed.
 *
 * An answer has as many rows as fit into a piece; the question remembers where the next one begins
 * (from, before), so no cursor of SQLite stays open between two pieces and keeps the log from being
 * carried over. */
#include "store/sqlite/sqlite_impl.h"

/* ---- Runs -------------------------------------------------------------------------------------- */

static void copy_id(struct hocket__str from, char to[HOCKET__STORE_ID + 1])
{
    if (from.n == HOCKET__STORE_ID)
        memcpy(to, from.p, from.n);
}

/* One that was removed still says what it was called. */
static void copy_parent(struct hocket__str from, char to[HOCKET__STORE_ID + 1])
{
    size_t skip = sizeof(HOCKET__REMOVED) - 1;
    if (from.n > skip + HOCKET__STORE_ID && memcmp(from.p, HOCKET__REMOVED, skip) == 0)
        from = hocket__str(from.p + skip, HOCKET__STORE_ID);
    copy_id(from, to);
}

static struct hocket__store_owner owner(struct hocket__db *d, sqlite3_stmt *st)
{
    struct hocket__store_owner o = { .pid = hocket__db_int(d, st, HOCKET__RUN_OWNER) };
    if (o.pid == 0)
        return o;
    o.host = hocket__db_str(d, st, 20);
    o.since_ms = hocket__db_int(d, st, 21);
    o.lease_ms = hocket__db_int(d, st, 22);
    return o;
}

void hocket__row_run(struct hocket__db *d, sqlite3_stmt *st, struct hocket__store_run *r)
{
    copy_id(hocket__db_str(d, st, 0), r->id);
    copy_parent(hocket__db_str(d, st, 1), r->parent);
    r->at_n = (uint64_t) hocket__db_int(d, st, 2);
    r->at_seq = (uint64_t) hocket__db_int(d, st, 3);
    r->target = hocket__db_str(d, st, 4);
    r->input = hocket__db_str(d, st, 5);
    r->options = hocket__db_str(d, st, 6);
    r->generation = hocket__db_str(d, st, 7);
    r->waiting_for = hocket__db_str(d, st, 8);
    r->version = hocket__db_str(d, st, 9);
    struct hocket__str seed = hocket__db_str(d, st, 10);
    if (seed.n == sizeof(r->seed))
        memcpy(r->seed, seed.p, seed.n);
    r->state = hocket__store_state_of(hocket__db_str(d, st, 11));
    if (r->state == HOCKET__STORE_STATE_COUNT)
        r->state = HOCKET__STORE_FAILED;
    r->simulated = hocket__db_int(d, st, 12) != 0;
    r->cost = hocket__db_count(d, st, 13);
    r->tokens = hocket__db_count(d, st, 14);
    r->created_ms = hocket__db_int(d, st, 15);
    r->updated_ms = hocket__db_int(d, st, 16);
    r->last_n = (uint64_t) hocket__db_int(d, st, 17);
    r->fence = (uint64_t) hocket__db_int(d, st, 18);
    r->last_seq = (uint64_t) hocket__db_int(d, st, HOCKET__RUN_LAST_SEQ);
    r->pool = hocket__db_str(d, st, HOCKET__RUN_POOL);
    r->due_ms = hocket__db_int(d, st, HOCKET__RUN_POOL + 1);
    copy_id(hocket__db_str(d, st, HOCKET__RUN_POOL + 2), r->caller);
    r->project = hocket__db_str(d, st, HOCKET__RUN_POOL + 3);
    r->attempts = (uint32_t) hocket__db_int(d, st, HOCKET__RUN_POOL + 4);
    r->owner = owner(d, st);
}

/* Who had it and has ended has it no more, whatever the row says. */
static void give_run(
    struct hocket__sqlite_keeper *k, sqlite3_stmt *st, struct hocket__store_call *c)
{
    struct hocket__store_row row = { .kind = HOCKET__STORE_ROW_RUN };
    hocket__row_run(&k->db, st, &row.run);
    if (row.run.owner.pid != 0 && !hocket__sqlite_is_held(k, st))
        row.run.owner = (struct hocket__store_owner){ 0 };
    hocket__store_pack(&c->rows, &row);
    copy_id(hocket__cstr(row.run.id), c->before);
}

/* Ids are of digits and capitals: what begins with a prefix lies before the prefix and a tilde. */
static int find(struct hocket__sqlite_keeper *k, struct hocket__store_call *c)
{
    struct hocket__db *d = &k->db;
    sqlite3_stmt *st = hocket__db_stmt(d, ST_FIND,
        "SELECT " HOCKET__RUN_COLUMNS HOCKET__RUN_FROM
        " WHERE r.id >= ?1 AND r.id < ?1 || '~' AND r.removed = 0 ORDER BY r.id LIMIT 2");
    if (!st)
        return d->error.status;
    hocket__db_bind_text(d, st, 1, c->key);
    int rc = hocket__db_step(d, st);
    if (rc == 1) {
        char first[HOCKET__STORE_ID + 1] = "", other[HOCKET__STORE_ID + 1] = "";
        give_run(k, st, c);
        copy_id(hocket__db_str(d, st, 0), first);
        if ((rc = hocket__db_step(d, st)) == 1) {
            copy_id(hocket__db_str(d, st, 0), other);
            hocket__buf_reset(&c->rows);
            c->status = hocket__store_ambiguous(c, first, other);
        }
    } else if (rc == 0) {
        c->status = hocket__store_not_found(c);
    }
    hocket__db_reset(d, st);
    return rc < 0 ? rc : 0;
}

/* The states as a text that instr finds the words of. */
static void bind_states(struct hocket__db *d, sqlite3_stmt *st, int i, unsigned states, char *words)
{
    words[0] = 0;
    for (int s = 0; s < HOCKET__STORE_STATE_COUNT; s++)
        if (states == 0 || (states >> s & 1))
            strcat(strcat(words, " "), hocket__store_state_word((enum hocket__store_state) s));
    strcat(words, " ");
    hocket__db_bind_text(d, st, i, hocket__cstr(words));
}

static int list_runs(struct hocket__sqlite_keeper *k, struct hocket__store_call *c)
{
    struct hocket__db *d = &k->db;
    char words[128];
    sqlite3_stmt *st = hocket__db_stmt(d, ST_RUNS,
        "SELECT " HOCKET__RUN_COLUMNS HOCKET__RUN_FROM
        " WHERE r.id < ?1 AND r.removed = 0 AND instr(?2, ' ' || r.state || ' ')"
        " AND (?3 = 0 OR r.updated_ms < ?3) AND (?4 = '' OR p.id = ?4)"
        " AND (?5 = '' OR r.caller = ?5) AND (?6 = '' OR r.pool = ?6)"
        " AND (?7 = '' OR r.project = ?7) ORDER BY r.id DESC");
    if (!st)
        return d->error.status;
    hocket__db_bind_text(d, st, 1, c->before[0] ? hocket__cstr(c->before) : HOCKET__STR("~"));
    bind_states(d, st, 2, c->states, words);
    hocket__db_bind_int(d, st, 3, c->updated_before_ms);
    hocket__db_bind_text(d, st, 4, c->parent);
    hocket__db_bind_text(d, st, 5, c->key);
    hocket__db_bind_text(d, st, 6, c->message_id);
    hocket__db_bind_text(d, st, 7, c->json);
    int rc;
    while ((rc = hocket__db_step(d, st)) == 1) {
        give_run(k, st, c);
        if (c->limit > 0 && --c->limit == 0)
            break;
        if ((c->more = c->rows.len >= HOCKET__STORE_PIECE))
            break;
    }
    hocket__db_reset(d, st);
    return rc < 0 ? rc : 0;
}

/* ---- Entries and records --------------------------------------------------------------------------- */

struct part {
    int64_t run;
    uint64_t last; /* how far it goes there */
};

#define CHAIN "SELECT ifnull(parent, 0), at_n, at_seq FROM runs WHERE no = ?"

/* Whose entry (or record) `from` is: the run's own, or that of the parent in which it was not yet. */
static int holder(
    struct hocket__sqlite_keeper *k, struct hocket__store_call *c, bool entries, struct part *part)
{
    struct hocket__db *d = &k->db;
    sqlite3_stmt *st = hocket__db_stmt(d, ST_CHAIN, CHAIN);
    if (!st)
        return d->error.status;
    for (;;) {
        hocket__db_bind_int(d, st, 1, part->run);
        int rc = hocket__db_step(d, st);
        if (rc < 0)
            return rc;
        int64_t parent = rc == 1 ? hocket__db_int(d, st, 0) : 0;
        uint64_t at = rc == 1 ? (uint64_t) hocket__db_int(d, st, entries ? 1 : 2) : 0;
        hocket__db_reset(d, st);
        if (!parent || c->from > at)
            return 0;
        if (at < part->last)
            part->last = at;
        part->run = parent;
    }
}

static void entry_of(struct hocket__db *d, sqlite3_stmt *st, struct hocket__store_row *row)
{
    struct hocket__store_entry *e = &row->entry;
    row->kind = HOCKET__STORE_ROW_ENTRY;
    e->n = (uint64_t) hocket__db_int(d, st, 0);
    e->tick = (uint64_t) hocket__db_int(d, st, 1);
    e->at_ms = hocket__db_int(d, st, 2);
    e->kind = (uint8_t) hocket__db_int(d, st, 3);
    e->path = (uint64_t) hocket__db_int(d, st, 4);
    e->ord = (uint32_t) hocket__db_int(d, st, 5);
    e->name = hocket__db_str(d, st, 6);
    e->digest = hocket__db_str(d, st, 7);
    e->value = hocket__db_str(d, st, 8);
}

static void record_of(struct hocket__db *d, sqlite3_stmt *st, struct hocket__store_row *row)
{
    row->kind = HOCKET__STORE_ROW_RECORD;
    row->record.seq = (uint64_t) hocket__db_int(d, st, 0);
    row->record.json = hocket__db_str(d, st, 1);
}

static sqlite3_stmt *rows_of(struct hocket__db *d, bool entries)
{
    return entries ? hocket__db_stmt(d, ST_ENTRIES,
               "SELECT n, tick, at_ms, kind, path, ord, name, digest,"
               " ifnull(value, (SELECT t.text FROM texts t WHERE t.no = entries.text)) FROM entries"
               " WHERE key BETWEEN (?1 << 32) + ?2 AND (?1 << 32) + ?3 ORDER BY key")
                   : hocket__db_stmt(d, ST_RECORDS,
                       "SELECT seq, json FROM records"
                       " WHERE key BETWEEN (?1 << 32) + ?2 AND (?1 << 32) + ?3 ORDER BY key");
}

static int give_part(
    struct hocket__db *d, struct hocket__store_call *c, bool entries, struct part part)
{
    sqlite3_stmt *st = rows_of(d, entries);
    if (!st)
        return d->error.status;
    uint64_t end = part.last < UINT32_MAX ? part.last : UINT32_MAX;
    hocket__db_bind_int(d, st, 1, part.run);
    hocket__db_bind_int(d, st, 2, (int64_t) c->from);
    hocket__db_bind_int(d, st, 3, (int64_t) end);
    int rc;
    while ((rc = hocket__db_step(d, st)) == 1) {
        struct hocket__store_row row;
        (entries ? entry_of : record_of)(d, st, &row);
        c->from = (entries ? row.entry.n : row.record.seq) + 1;
        hocket__store_pack(&c->rows, &row);
        if ((c->more = c->rows.len >= HOCKET__STORE_PIECE))
            break;
    }
    hocket__db_reset(d, st);
    if (rc == 0 && part.last != UINT64_MAX) { /* on with the child that left it there */
        c->from = part.last + 1;
        c->more = true;
    }
    return rc < 0 ? rc : 0;
}

static int64_t parent_of(struct hocket__sqlite_keeper *k, int64_t run, int *rc)
{
    sqlite3_stmt *st = hocket__db_stmt(&k->db, ST_CHAIN, CHAIN);
    if (!st) {
        *rc = k->db.error.status;
        return 0;
    }
    hocket__db_bind_int(&k->db, st, 1, run);
    *rc = hocket__db_step(&k->db, st);
    int64_t no = *rc == 1 ? hocket__db_int(&k->db, st, 0) : 0;
    hocket__db_reset(&k->db, st);
    *rc = *rc < 0 ? *rc : 0;
    return no;
}

static int list_rows(struct hocket__sqlite_keeper *k, struct hocket__store_call *c)
{
    bool entries = c->kind == HOCKET__STORE_ENTRIES;
    int rc;
    struct part part = { hocket__run_no(k, c->key, &rc), UINT64_MAX };
    if (rc == 0 && !part.run)
        c->status = hocket__store_not_found(c);
    if (part.run && c->of_parent && (part.run = parent_of(k, part.run, &rc)) == 0 && rc == 0)
        c->status = hocket__store_no_parent(c);
    if (rc < 0 || c->status < 0 || c->from > UINT32_MAX)
        return rc;
    rc = holder(k, c, entries, &part);
    return rc < 0 ? rc : give_part(&k->db, c, entries, part);
}

/* ---- Files, messages ---------------------------------------------------------------------------------- */

/* Goes on behind `after`, the last one of the piece before. */
static int remember(struct hocket__store_call *c, struct hocket__str last)
{
    if (!c->after.a)
        hocket__buf_init(&c->after, &hocket__malloc, 0);
    hocket__buf_reset(&c->after);
    return hocket__buf_addstr(&c->after, last);
}

static int list_files(struct hocket__sqlite_keeper *k, struct hocket__store_call *c)
{
    struct hocket__db *d = &k->db;
    sqlite3_stmt *st = hocket__db_stmt(d, ST_FILES,
        "SELECT f.path, f.hash, t.text FROM files f JOIN texts t ON t.no = f.text"
        " WHERE f.generation = ?1 AND f.path > ?2 ORDER BY f.path");
    if (!st)
        return d->error.status;
    hocket__db_bind_text(d, st, 1, c->key);
    hocket__db_bind_text(d, st, 2, hocket__buf_str(&c->after));
    int rc;
    bool full = false;
    while (!full && (rc = hocket__db_step(d, st)) == 1) {
        struct hocket__store_row row = { .kind = HOCKET__STORE_ROW_FILE };
        row.file = (struct hocket__store_file){ c->key, hocket__db_str(d, st, 0),
            hocket__db_str(d, st, 1), hocket__db_str(d, st, 2) };
        hocket__store_pack(&c->rows, &row);
        full = c->rows.len >= HOCKET__STORE_PIECE;
        if (full)
            c->rows.status |= remember(c, row.file.path);
    }
    c->more = full;
    hocket__db_reset(d, st);
    return rc < 0 ? rc : 0;
}

static int list_messages(struct hocket__sqlite_keeper *k, struct hocket__store_call *c)
{
    struct hocket__db *d = &k->db;
    int rc;
    int64_t run = hocket__run_no(k, c->key, &rc);
    if (rc == 0 && !run)
        c->status = hocket__store_not_found(c);
    sqlite3_stmt *st = hocket__db_stmt(d, ST_MESSAGES,
        "SELECT no, id, at_ms, json FROM messages WHERE run = ? AND json IS NOT NULL AND no > ?"
        " ORDER BY no");
    if (rc < 0 || !run || !st)
        return st ? rc : d->error.status;
    hocket__db_bind_int(d, st, 1, run);
    hocket__db_bind_int(d, st, 2, (int64_t) c->from);
    while (!c->more && (rc = hocket__db_step(d, st)) == 1) {
        struct hocket__store_row row = { .kind = HOCKET__STORE_ROW_MESSAGE };
        row.message = (struct hocket__store_message){ hocket__db_str(d, st, 1),
            hocket__db_int(d, st, 2), hocket__db_str(d, st, 3) };
        c->from = (uint64_t) hocket__db_int(d, st, 0);
        hocket__store_pack(&c->rows, &row);
        c->more = c->rows.len >= HOCKET__STORE_PIECE;
    }
    hocket__db_reset(d, st);
    return rc < 0 ? rc : 0;
}

static int insert_message(struct hocket__sqlite_keeper *k, struct hocket__store_call *c)
{
    struct hocket__db *d = &k->db;
    int rc;
    int64_t run = hocket__run_no(k, c->key, &rc);
    if (rc == 0 && !run)
        c->status = hocket__store_not_found(c);
    if (rc < 0 || !run)
        return rc;
    struct hocket__store_message m = { c->message_id, c->at_ms, c->json };
    rc = hocket__message_put(k, run, &m);
    if (rc < 0 || d->lib->changes(d->db) > 0)
        return rc < 0 ? rc : hocket__message_heard(k, run);
    c->status = hocket__store_has_message(c);
    return 0;
}

/* Acknowledged to a person: so it is on the disk. */
static int put_message(struct hocket__sqlite_keeper *k, struct hocket__store_call *c)
{
    int rc = hocket__sqlite_begin(k);
    if (rc == 0)
        rc = insert_message(k, c);
    rc = hocket__sqlite_end(k, rc);
    k->base.hint |= rc == 0 && c->status == 0;
    return rc < 0 ? rc : hocket__sqlite_write(k, HOCKET__STR(""), true);
}

/* ---- Removing, counting ------------------------------------------------------------------------------- */

static int remove_run(struct hocket__sqlite_keeper *k, struct hocket__store_call *c)
{
    struct hocket__db *d = &k->db;
    sqlite3_stmt *st = hocket__db_stmt(
        d, ST_TAKE_FIND, "SELECT " HOCKET__RUN_COLUMNS HOCKET__RUN_FROM " WHERE r.id = ?");
    if (!st)
        return d->error.status;
    hocket__db_bind_text(d, st, 1, c->key);
    int rc = hocket__db_step(d, st);
    int64_t no = rc == 1 ? hocket__db_int(d, st, HOCKET__RUN_NO) : 0;
    if (rc == 0)
        c->status = hocket__store_not_found(c);
    if (rc == 1 && hocket__sqlite_is_held(k, st)) {
        struct hocket__store_owner o = owner(d, st);
        c->status = hocket__store_has_it(c, &o);
    }
    hocket__db_reset(d, st);
    return rc < 0 || c->status < 0 ? (rc < 0 ? rc : 0) : hocket__sweep_remove(k, no);
}

static int remove_named(struct hocket__sqlite_keeper *k, struct hocket__store_call *c)
{
    int rc = hocket__sqlite_begin(k);
    if (rc == 0)
        rc = remove_run(k, c);
    return hocket__sqlite_end(k, rc);
}

static int stats(struct hocket__sqlite_keeper *k, struct hocket__store_call *c)
{
    struct hocket__db *d = &k->db;
    struct hocket__store_row row = { .kind = HOCKET__STORE_ROW_STATS };
    int rc;
    int64_t runs = hocket__db_ask(d, "SELECT count(*) FROM runs WHERE removed = 0", &rc);
    int64_t bytes = rc == 0 ? hocket__db_ask(d,
                        "SELECT (page_count - freelist_count) * page_size FROM pragma_page_count,"
                        " pragma_freelist_count, pragma_page_size",
                        &rc)
                            : 0;
    row.stats = (struct hocket__store_stats){ (uint64_t) runs, (uint64_t) bytes, k->base.commits,
        k->base.syncs, k->base.pending };
    hocket__store_pack(&c->rows, &row);
    return rc;
}

int hocket__sqlite_answer(struct hocket__keeper *base, struct hocket__store_call *call)
{
    static int (*const answers[])(
        struct hocket__sqlite_keeper * k, struct hocket__store_call * c) = {
        [HOCKET__STORE_FIND] = find,
        [HOCKET__STORE_TAKE] = hocket__sqlite_take,
        [HOCKET__STORE_TAKE_NEXT] = hocket__sqlite_take_next,
        [HOCKET__STORE_SPOKEN] = hocket__sqlite_spoken,
        [HOCKET__STORE_POOLS] = hocket__sqlite_pools,
        [HOCKET__STORE_BLOCKED] = hocket__sqlite_blocked,
        [HOCKET__STORE_RUNS] = list_runs,
        [HOCKET__STORE_ENTRIES] = list_rows,
        [HOCKET__STORE_RECORDS] = list_rows,
        [HOCKET__STORE_FILES] = list_files,
        [HOCKET__STORE_MESSAGES] = list_messages,
        [HOCKET__STORE_MESSAGE] = put_message,
        [HOCKET__STORE_REMOVE] = remove_named,
        [HOCKET__STORE_STATS] = stats,
        [HOCKET__STORE_ITEM_PUT] = hocket__sqlite_item_put,
        [HOCKET__STORE_ITEM_DEL] = hocket__sqlite_item_del,
        [HOCKET__STORE_ITEMS] = hocket__sqlite_items,
        [HOCKET__STORE_CARE] = hocket__sqlite_care,
        [HOCKET__STORE_NOTE_PUT] = hocket__sqlite_note_put,
        [HOCKET__STORE_NOTE_DEL] = hocket__sqlite_note_del,
        [HOCKET__STORE_NOTES] = hocket__sqlite_notes,
        [HOCKET__STORE_DRAW] = hocket__sqlite_draw,
    };
    return answers[call->kind](hocket__sqlite_of(base), call);
}

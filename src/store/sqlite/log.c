/* The log of a run and its records, and files of generations. An answer has as many rows as fit into a piece, and the question
 * remembers where the next one begins, so that no cursor of SQLite stays open between two pieces and keeps the log from being carried
 * over. */
#include "store/sqlite/sqlite_impl.h"

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

int hocket__sqlite_log(struct hocket__sqlite_keeper *k, struct hocket__store_call *c)
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

/* ---- Files ----------------------------------------------------------------------------------------------- */

int hocket__sqlite_files(struct hocket__sqlite_keeper *k, struct hocket__store_call *c)
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
            c->rows.status |= hocket__store_go_on_behind(c, row.file.path);
    }
    c->more = full;
    hocket__db_reset(d, st);
    return rc < 0 ? rc : 0;
}

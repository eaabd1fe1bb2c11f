/* What belongs to runs: entries of their logs, records, files, messages. */
#include "store/sqlite/sqlite_impl.h"

#include "base/hash/hash.h"

#define OWN_TEXT (16 * 1024) /* bytes; longer values stand in texts, once */

/* Both halves of a key fit: numbers of entries and records are checked against HOCKET__SQLITE_LAST_KEY before. */
static int64_t key_of(int64_t run, uint64_t n)
{
    return run * ((int64_t) 1 << 32) + (int64_t) n;
}

/* ---- Texts ----------------------------------------------------------------------------------- */

static int64_t text_of_hash(struct hocket__db *d, struct hocket__str hash, int *rc)
{
    sqlite3_stmt *st = hocket__db_stmt(d, ST_TEXT_FIND, "SELECT no FROM texts WHERE hash = ?");
    if (!st) {
        *rc = d->error.status;
        return 0;
    }
    hocket__db_bind_blob(d, st, 1, hash);
    *rc = hocket__db_step(d, st);
    int64_t no = *rc == 1 ? hocket__db_int(d, st, 0) : 0;
    hocket__db_reset(d, st);
    return no;
}

/* The number of the text, which has one reader more.
 * Prompts and files come again and again, in thousands of runs: each text once, with a count of
 * those that have it. The count goes down by triggers (schema.c), whoever deletes. */
static int64_t refer(struct hocket__db *d, struct hocket__str text, int *rc)
{
    uint8_t digest[HOCKET__SHA256];
    hocket__sha256(text, digest);
    struct hocket__str hash = hocket__str((const char *) digest, sizeof(digest));
    int64_t no = text_of_hash(d, hash, rc);
    if (*rc < 0)
        return 0;
    sqlite3_stmt *st =
        no ? hocket__db_stmt(d, ST_TEXT_REF, "UPDATE texts SET refs = refs + 1 WHERE no = ?")
           : hocket__db_stmt(d, ST_TEXT, "INSERT INTO texts(hash, refs, text) VALUES(?, 1, ?)");
    if (st && no)
        hocket__db_bind_int(d, st, 1, no);
    if (st && !no) {
        hocket__db_bind_blob(d, st, 1, hash);
        hocket__db_bind_blob(d, st, 2, text);
    }
    *rc = hocket__db_run(d, st);
    return no ? no : d->lib->last_insert_rowid(d->db);
}

/* ---- Rows ------------------------------------------------------------------------------------- */

/* A gap means that entries of this run were lost on the way, or that another process has written
 * meanwhile. Both end the claim: a log with a hole would be replayed as another run. */
int hocket__sqlite_append(
    struct hocket__sqlite_keeper *k, struct hocket__claimed *c, const struct hocket__store_entry *e)
{
    struct hocket__db *d = &k->db;
    int rc = 0;
    if (e->n != c->last_n + 1 || e->n > HOCKET__SQLITE_LAST_KEY)
        return hocket__sqlite_refuse(k, c, HOCKET__STORE_APPEND,
            e->n > HOCKET__SQLITE_LAST_KEY ? HOCKET_ELIMIT : HOCKET_EINVAL);
    int64_t text = e->value.n >= OWN_TEXT ? refer(d, e->value, &rc) : 0;
    sqlite3_stmt *st = hocket__db_stmt(d, ST_APPEND,
        "INSERT INTO entries(key, tick, at_ms, kind, path, ord, name, digest, value, text)"
        " VALUES(?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10)");
    if (rc < 0 || !st)
        return d->error.status;
    hocket__db_bind_int(d, st, 1, key_of(c->no, e->n));
    hocket__db_bind_int(d, st, 2, (int64_t) e->tick);
    hocket__db_bind_int(d, st, 3, e->at_ms);
    hocket__db_bind_int(d, st, 4, e->kind);
    hocket__db_bind_int(d, st, 5, (int64_t) e->path);
    hocket__db_bind_int(d, st, 6, e->ord);
    hocket__db_bind_text(d, st, 7, e->name);
    hocket__db_bind_blob(d, st, 8, e->digest);
    if (text) {
        d->lib->bind_null(st, 9);
        hocket__db_bind_int(d, st, 10, text);
    } else {
        hocket__db_bind_text(d, st, 9, e->value);
        d->lib->bind_null(st, 10);
    }
    c->last_n = e->n;
    return hocket__db_run(d, st);
}

/* Records of a run that was resumed are told again by its replay; those that the file has are
 * passed over. */
int hocket__sqlite_record(struct hocket__sqlite_keeper *k, struct hocket__claimed *c,
    const struct hocket__store_record *r)
{
    struct hocket__db *d = &k->db;
    if (r->seq <= c->last_seq)
        return 0;
    if (r->seq > HOCKET__SQLITE_LAST_KEY)
        return hocket__sqlite_refuse(k, c, HOCKET__STORE_RECORD, HOCKET_ELIMIT);
    sqlite3_stmt *st = hocket__db_stmt(d, ST_RECORD, "INSERT INTO records(key, json) VALUES(?, ?)");
    if (!st)
        return d->error.status;
    hocket__db_bind_int(d, st, 1, key_of(c->no, r->seq));
    hocket__db_bind_text(d, st, 2, r->json);
    c->last_seq = r->seq;
    return hocket__db_run(d, st);
}

/* Files are named by the hash of their generation: what is there is the same. */
int hocket__sqlite_put_file(struct hocket__sqlite_keeper *k, const struct hocket__store_file *f)
{
    struct hocket__db *d = &k->db;
    sqlite3_stmt *st =
        hocket__db_stmt(d, ST_FILE_FIND, "SELECT 1 FROM files WHERE generation = ? AND path = ?");
    if (!st)
        return d->error.status;
    hocket__db_bind_text(d, st, 1, f->generation);
    hocket__db_bind_text(d, st, 2, f->path);
    int rc = hocket__db_step(d, st);
    hocket__db_reset(d, st);
    if (rc != 0)
        return rc < 0 ? rc : 0;
    int64_t text = refer(d, f->text, &rc);
    st = hocket__db_stmt(
        d, ST_FILE, "INSERT INTO files(generation, path, hash, text) VALUES(?, ?, ?, ?)");
    if (rc < 0 || !st)
        return d->error.status;
    hocket__db_bind_text(d, st, 1, f->generation);
    hocket__db_bind_text(d, st, 2, f->path);
    hocket__db_bind_text(d, st, 3, f->hash);
    hocket__db_bind_int(d, st, 4, text);
    return hocket__db_run(d, st);
}

int hocket__message_put(
    struct hocket__sqlite_keeper *k, int64_t run, const struct hocket__store_message *m)
{
    struct hocket__db *d = &k->db;
    sqlite3_stmt *st = hocket__db_stmt(d, ST_MESSAGE,
        "INSERT INTO messages(run, id, at_ms, json) VALUES(?, ?, ?, ?) ON CONFLICT DO NOTHING");
    if (!st)
        return d->error.status;
    hocket__db_bind_int(d, st, 1, run);
    hocket__db_bind_text(d, st, 2, m->id);
    hocket__db_bind_int(d, st, 3, m->at_ms);
    hocket__db_bind_text(d, st, 4, m->json);
    return hocket__db_run(d, st);
}

/* Its id stays, so that it is not put again. */
int hocket__sqlite_message_del(
    struct hocket__sqlite_keeper *k, const struct hocket__claimed *c, struct hocket__str id)
{
    sqlite3_stmt *st = hocket__db_stmt(
        &k->db, ST_MESSAGE_DEL, "UPDATE messages SET json = NULL WHERE run = ? AND id = ?");
    if (!st)
        return k->db.error.status;
    hocket__db_bind_int(&k->db, st, 1, c->no);
    hocket__db_bind_text(&k->db, st, 2, id);
    return hocket__db_run(&k->db, st);
}

/* Notes that outlive runs. Their tables are made by the first that is written: a file without any is as it was, and whoever
 * has an SQLite without FTS5 keeps runs all the same.
 *
 * What is searched for comes from models. It is taken apart into words, and each is quoted, so that
 * nothing of it is an operator of FTS5. */
#include "store/sqlite/sqlite_impl.h"

static const char tables[] =
    "CREATE TABLE IF NOT EXISTS notes("
    " no INTEGER PRIMARY KEY,"
    " memory TEXT NOT NULL,"
    " id TEXT NOT NULL,"
    " text TEXT NOT NULL,"
    " meta TEXT NOT NULL," /* JSON */
    " labels INTEGER NOT NULL,"
    " created_ms INTEGER NOT NULL,"
    " updated_ms INTEGER NOT NULL,"
    " bytes INTEGER NOT NULL,"
    " UNIQUE(memory, id));"
    "CREATE INDEX IF NOT EXISTS notes_updated ON notes(memory, updated_ms, bytes);"
    "CREATE TABLE IF NOT EXISTS notes_vectors("
    " no INTEGER PRIMARY KEY," /* the note's */
    " memory TEXT NOT NULL,"
    " vector BLOB NOT NULL);"
    "CREATE INDEX IF NOT EXISTS notes_vectors_memory ON notes_vectors(memory);"
    "CREATE VIRTUAL TABLE IF NOT EXISTS notes_text"
    " USING fts5(text, tokenize = 'unicode61 remove_diacritics 2');";

#define COLUMNS "n.memory, n.id, n.text, n.meta, n.labels, n.created_ms, n.updated_ms, 0, 0"

/* 1: they are there. Another process may have made them, or a transaction that failed taken them
 * back. */
static int look(struct hocket__sqlite_keeper *k)
{
    int rc = 0;
    if (!k->has_notes)
        k->has_notes = hocket__db_ask(&k->db,
                           "SELECT count(*) FROM sqlite_schema WHERE name IN ('notes', "
                           "'notes_text', 'notes_vectors')",
                           &rc)
                       == 3;
    return rc < 0 ? rc : k->has_notes;
}

/* ---- Writing ------------------------------------------------------------------------------- */

/* What the memory has beside this note. */
static int check_room(struct hocket__sqlite_keeper *k, struct hocket__store_call *c)
{
    struct hocket__db *d = &k->db;
    sqlite3_stmt *st = hocket__db_stmt(d, ST_NOTE_SUM,
        "SELECT count(*), ifnull(sum(bytes), 0) FROM notes WHERE memory = ?1 AND id <> ?2");
    if (!st)
        return d->error.status;
    hocket__db_bind_text(d, st, 1, c->key);
    hocket__db_bind_text(d, st, 2, c->message_id);
    int rc = hocket__db_step(d, st);
    if (rc == 1)
        c->status = hocket__store_note_room(
            c, (uint64_t) hocket__db_int(d, st, 0), (uint64_t) hocket__db_int(d, st, 1));
    hocket__db_reset(d, st);
    return rc < 0 ? rc : 0;
}

/* Its number; 0: it is not there, or *rc says why nobody knows. */
static int64_t number_of(struct hocket__sqlite_keeper *k, struct hocket__store_call *c, int *rc)
{
    struct hocket__db *d = &k->db;
    int64_t no = 0;
    sqlite3_stmt *st =
        hocket__db_stmt(d, ST_NOTE_FIND, "SELECT no FROM notes WHERE memory = ? AND id = ?");
    *rc = st ? 0 : d->error.status;
    if (!st)
        return 0;
    hocket__db_bind_text(d, st, 1, c->key);
    hocket__db_bind_text(d, st, 2, c->message_id);
    *rc = hocket__db_step(d, st);
    if (*rc == 1)
        no = hocket__db_int(d, st, 0);
    hocket__db_reset(d, st);
    *rc = *rc < 0 ? *rc : 0;
    return no;
}

static int put_row(struct hocket__sqlite_keeper *k, struct hocket__store_call *c)
{
    struct hocket__db *d = &k->db;
    sqlite3_stmt *st = hocket__db_stmt(d, ST_NOTE_PUT,
        "INSERT INTO notes(memory, id, text, meta, labels, created_ms, updated_ms, bytes)"
        " VALUES(?1, ?2, ?3, ?4, ?5, ?6, ?6, ?7) ON CONFLICT(memory, id) DO UPDATE SET"
        " text = ?3, meta = ?4, labels = ?5, updated_ms = ?6, bytes = ?7");
    if (!st)
        return d->error.status;
    hocket__db_bind_text(d, st, 1, c->key);
    hocket__db_bind_text(d, st, 2, c->message_id);
    hocket__db_bind_text(d, st, 3, c->parent);
    hocket__db_bind_text(d, st, 4, c->json);
    hocket__db_bind_int(d, st, 5, c->states);
    hocket__db_bind_int(d, st, 6, c->at_ms);
    hocket__db_bind_int(d, st, 7, (int64_t) (c->parent.n + c->json.n));
    return hocket__db_run(d, st);
}

static int drop_text(struct hocket__sqlite_keeper *k, int64_t no)
{
    sqlite3_stmt *st =
        hocket__db_stmt(&k->db, ST_NOTE_NO_TEXT, "DELETE FROM notes_text WHERE rowid = ?");
    if (st)
        hocket__db_bind_int(&k->db, st, 1, no);
    return hocket__db_run(&k->db, st);
}

static int put_text(struct hocket__sqlite_keeper *k, struct hocket__store_call *c, int64_t no)
{
    struct hocket__db *d = &k->db;
    sqlite3_stmt *st =
        hocket__db_stmt(d, ST_NOTE_TEXT, "INSERT INTO notes_text(rowid, text) VALUES(?, ?)");
    if (!st)
        return d->error.status;
    hocket__db_bind_int(d, st, 1, no);
    hocket__db_bind_text(d, st, 2, c->parent);
    return hocket__db_run(d, st);
}

/* In place of the one that there was. */
static int put_vector(struct hocket__sqlite_keeper *k, struct hocket__store_call *c, int64_t no)
{
    struct hocket__db *d = &k->db;
    sqlite3_stmt *st =
        hocket__db_stmt(d, ST_NOTE_NO_VECTOR, "DELETE FROM notes_vectors WHERE no = ?");
    if (st)
        hocket__db_bind_int(d, st, 1, no);
    int rc = hocket__db_run(d, st);
    if (rc < 0 || c->vector.n == 0)
        return rc;
    st = hocket__db_stmt(
        d, ST_NOTE_VECTOR, "INSERT INTO notes_vectors(no, memory, vector) VALUES(?, ?, ?)");
    if (!st)
        return d->error.status;
    hocket__db_bind_int(d, st, 1, no);
    hocket__db_bind_text(d, st, 2, c->key);
    hocket__db_bind_blob(d, st, 3, c->vector);
    return hocket__db_run(d, st);
}

static int put(struct hocket__sqlite_keeper *k, struct hocket__store_call *c)
{
    int rc = look(k);
    if (rc == 0)
        rc = hocket__db_exec(&k->db, tables);
    if (rc >= 0)
        rc = check_room(k, c);
    if (rc == 0 && c->status == 0)
        rc = put_row(k, c);
    if (rc < 0 || c->status < 0)
        return rc;
    int64_t no = number_of(k, c, &rc);
    if (rc == 0)
        rc = drop_text(k, no);
    if (rc == 0)
        rc = put_text(k, c, no);
    return rc == 0 ? put_vector(k, c, no) : rc;
}

static int del(struct hocket__sqlite_keeper *k, struct hocket__store_call *c)
{
    int rc = look(k);
    int64_t no = rc == 1 ? number_of(k, c, &rc) : 0;
    if (rc >= 0 && no == 0)
        c->status = hocket__store_note_missing(c);
    if (rc < 0 || no == 0)
        return rc < 0 ? rc : 0;
    sqlite3_stmt *st = hocket__db_stmt(&k->db, ST_NOTE_DEL, "DELETE FROM notes WHERE no = ?");
    if (st)
        hocket__db_bind_int(&k->db, st, 1, no);
    rc = hocket__db_run(&k->db, st);
    if (rc == 0)
        rc = put_vector(k, c, no);
    return rc == 0 ? drop_text(k, no) : rc;
}

static int written(struct hocket__sqlite_keeper *k, struct hocket__store_call *c,
    int (*body)(struct hocket__sqlite_keeper *k, struct hocket__store_call *c))
{
    int rc = hocket__sqlite_change(k, c, body);
    if (rc < 0)
        k->has_notes = false;
    return rc;
}

int hocket__sqlite_note_put(struct hocket__sqlite_keeper *k, struct hocket__store_call *c)
{
    return written(k, c, put);
}

int hocket__sqlite_note_del(struct hocket__sqlite_keeper *k, struct hocket__store_call *c)
{
    return written(k, c, del);
}

/* ---- Reading ----------------------------------------------------------------------------------- */

static void give(struct hocket__db *d, sqlite3_stmt *st, struct hocket__store_call *c)
{
    struct hocket__store_row row = { .kind = HOCKET__STORE_ROW_NOTE };
    row.note = (struct hocket__store_note){ .memory = hocket__db_str(d, st, 0),
        .id = hocket__db_str(d, st, 1),
        .text = hocket__db_str(d, st, 2),
        .meta = hocket__db_str(d, st, 3),
        .labels = (uint64_t) hocket__db_int(d, st, 4),
        .created_ms = hocket__db_int(d, st, 5),
        .updated_ms = hocket__db_int(d, st, 6),
        .notes = (uint64_t) hocket__db_int(d, st, 7),
        .bytes = (uint64_t) hocket__db_int(d, st, 8) };
    hocket__store_pack(&c->rows, &row);
}

/* The rows of a statement whose texts are bound; ?8 and ?9 say which part of them. */
static int give_all(struct hocket__sqlite_keeper *k, struct hocket__store_call *c, sqlite3_stmt *st)
{
    struct hocket__db *d = &k->db;
    int rc;
    hocket__db_bind_int(d, st, 8, c->limit ? (int64_t) c->limit : -1);
    hocket__db_bind_int(d, st, 9, (int64_t) c->from);
    while ((rc = hocket__db_step(d, st)) == 1) {
        give(d, st, c);
        c->from++;
        if (c->limit > 0 && --c->limit == 0)
            break;
        if ((c->more = c->rows.len >= HOCKET__STORE_PIECE))
            break;
    }
    hocket__db_reset(d, st);
    return rc < 0 ? rc : 0;
}

static int give_matching(struct hocket__sqlite_keeper *k, struct hocket__store_call *c,
    unsigned slot, const char *sql, struct hocket__str second)
{
    sqlite3_stmt *st = hocket__db_stmt(&k->db, slot, sql);
    if (!st)
        return k->db.error.status;
    if (c->key.n > 0)
        hocket__db_bind_text(&k->db, st, 1, c->key);
    if (second.n > 0)
        hocket__db_bind_text(&k->db, st, 2, second);
    return give_all(k, c, st);
}

/* "one"* OR "two"*: short words are meant whole. */
static void add_words(struct hocket__buf *out, struct hocket__str query)
{
    for (int i = 0; i < HOCKET__STORE_NOTE_WORDS; i++) {
        struct hocket__str word = hocket__store_note_word(&query);
        if (word.n == 0)
            return;
        hocket__buf_lit(out, "\"");
        hocket__buf_addstr(out, word);
        hocket__buf_addstr(out, word.n > 2 ? HOCKET__STR("\"* OR ") : HOCKET__STR("\" OR "));
    }
}

/* Where no word is found the text may be in the middle of one: of languages that do not part
 * them. */
static int search(struct hocket__sqlite_keeper *k, struct hocket__store_call *c)
{
    struct hocket__buf match;
    hocket__buf_init(&match, &hocket__malloc, 0);
    add_words(&match, c->parent);
    int rc = match.status;
    struct hocket__str words = hocket__str(match.data, match.len > 4 ? match.len - 4 : 0);
    if (rc == 0 && words.n > 0 && !c->states)
        rc = give_matching(k, c, ST_NOTE_SEARCH,
            "SELECT " COLUMNS " FROM notes_text t JOIN notes n ON n.no = t.rowid"
            " WHERE notes_text MATCH ?2 AND n.memory = ?1"
            " ORDER BY bm25(notes_text), n.updated_ms DESC, n.no DESC LIMIT ?8 OFFSET ?9",
            words);
    c->states |= rc == 0 && c->rows.len == 0 && c->from == 0; /* also for the pieces to come */
    if (rc == 0 && c->states)
        rc = give_matching(k, c, ST_NOTE_PART,
            "SELECT " COLUMNS " FROM notes n WHERE memory = ?1"
            " AND instr(lower(text), lower(?2))"
            " ORDER BY updated_ms DESC, no DESC LIMIT ?8 OFFSET ?9",
            c->parent);
    hocket__buf_deinit(&match);
    return rc;
}

static int compare_all(struct hocket__sqlite_keeper *k, struct hocket__store_call *c,
    struct hocket__store_near *nearest)
{
    struct hocket__db *d = &k->db;
    sqlite3_stmt *st = hocket__db_stmt(d, ST_NOTE_VECTORS,
        "SELECT no, vector FROM notes_vectors WHERE memory = ? ORDER BY no DESC");
    int rc;
    if (!st)
        return d->error.status;
    hocket__db_bind_text(d, st, 1, c->key);
    while ((rc = hocket__db_step(d, st)) == 1)
        hocket__store_compare(
            nearest, hocket__db_str(d, st, 1), c->vector, hocket__db_int(d, st, 0));
    return rc;
}

/* All in one piece: there are few. */
static int list_near(struct hocket__sqlite_keeper *k, struct hocket__store_call *c)
{
    struct hocket__db *d = &k->db;
    struct hocket__store_near nearest = { .n = 0 };
    int rc = compare_all(k, c, &nearest);
    sqlite3_stmt *st =
        hocket__db_stmt(d, ST_NOTE_NO, "SELECT " COLUMNS " FROM notes n WHERE no = ?");
    if (rc < 0 || !st)
        return rc < 0 ? rc : d->error.status;
    for (size_t i = c->from; i < nearest.n && (c->limit == 0 || i < c->from + c->limit); i++) {
        hocket__db_bind_int(d, st, 1, nearest.best[i].what);
        if ((rc = hocket__db_step(d, st)) == 1)
            give(d, st, c);
        if (rc < 0)
            return rc;
        hocket__db_reset(d, st);
    }
    return 0;
}

int hocket__sqlite_notes(struct hocket__sqlite_keeper *k, struct hocket__store_call *c)
{
    int rc = look(k);
    if (rc <= 0)
        return rc;
    if (c->key.n == 0)
        return give_matching(k, c, ST_NOTE_MEMORIES,
            "SELECT memory, '', '', '', 0, 0, max(updated_ms), count(*), sum(bytes) FROM notes"
            " GROUP BY memory ORDER BY memory LIMIT ?8 OFFSET ?9",
            HOCKET__STR(""));
    if (c->message_id.n > 0)
        return give_matching(k, c, ST_NOTE_GET,
            "SELECT " COLUMNS " FROM notes n WHERE memory = ?1 AND id = ?2 LIMIT ?8 OFFSET ?9",
            c->message_id);
    if (c->vector.n > 0)
        return list_near(k, c);
    if (c->parent.n > 0)
        return search(k, c);
    return give_matching(k, c, ST_NOTE_LIST,
        "SELECT " COLUMNS " FROM notes n WHERE memory = ?1"
        " ORDER BY updated_ms DESC, no DESC LIMIT ?8 OFFSET ?9",
        HOCKET__STR(""));
}

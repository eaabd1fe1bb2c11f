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

/* 1: they are there. Another process may have made them, or a transaction that failed taken them
 * back. */
int hocket__sqlite_has_notes(struct hocket__keeper *base)
{
    struct hocket__sqlite_keeper *k = hocket__sqlite_of(base);
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

/* Its number; 0: it is not there, or *rc says why nobody knows. */
static int64_t number_of(
    struct hocket__keeper *k, struct hocket__str memory, struct hocket__str id, int *rc)
{
    hocket__sql_new(k, ST_NOTE_FIND);
    hocket__sql_text(k, memory);
    hocket__sql_text(k, id);
    return hocket__sql_number(k, rc);
}

static int put_row(struct hocket__keeper *k, const struct hocket__store_note *n)
{
    hocket__sql_new(k, ST_NOTE_PUT);
    hocket__sql_note(k, n);
    return hocket__sql_run(k);
}

static int drop_text(struct hocket__keeper *k, int64_t no)
{
    hocket__sql_new(k, ST_NOTE_NO_TEXT);
    hocket__sql_int(k, no);
    return hocket__sql_run(k);
}

static int put_text(struct hocket__keeper *k, const struct hocket__store_note *n, int64_t no)
{
    hocket__sql_new(k, ST_NOTE_TEXT);
    hocket__sql_int(k, no);
    hocket__sql_text(k, n->text);
    return hocket__sql_run(k);
}

static int drop_vector(struct hocket__keeper *k, int64_t no)
{
    hocket__sql_new(k, ST_NOTE_NO_VECTOR);
    hocket__sql_int(k, no);
    return hocket__sql_run(k);
}

/* In place of the one that there was. */
static int put_vector(struct hocket__keeper *k, const struct hocket__store_note *n, int64_t no)
{
    int rc = drop_vector(k, no);
    if (rc < 0 || n->vector.n == 0)
        return rc;
    hocket__sql_new(k, ST_NOTE_VECTOR);
    hocket__sql_int(k, no);
    hocket__sql_text(k, n->memory);
    hocket__sql_bytes(k, n->vector);
    return hocket__sql_run(k);
}

static int put(struct hocket__keeper *k, struct hocket__store_call *c)
{
    const struct hocket__store_note *n = &c->q.note_put.note;
    int rc = hocket__sqlite_has_notes(k);
    if (rc == 0)
        rc = hocket__db_exec(&hocket__sqlite_of(k)->db, tables);
    if (rc >= 0)
        rc = hocket__sql_note_room(k, c);
    if (rc == 0 && c->status == 0)
        rc = put_row(k, n);
    if (rc < 0 || c->status < 0)
        return rc;
    int64_t no = number_of(k, n->memory, n->id, &rc);
    if (rc == 0)
        rc = drop_text(k, no);
    if (rc == 0)
        rc = put_text(k, n, no);
    return rc == 0 ? put_vector(k, n, no) : rc;
}

static int del(struct hocket__keeper *k, struct hocket__store_call *c)
{
    int rc = hocket__sqlite_has_notes(k);
    int64_t no = rc == 1 ? number_of(k, c->q.notes.memory, c->q.notes.id, &rc) : 0;
    if (rc >= 0 && no == 0)
        c->status = hocket__store_note_missing(c);
    if (rc < 0 || no == 0)
        return rc < 0 ? rc : 0;
    hocket__sql_new(k, ST_NOTE_DEL);
    hocket__sql_int(k, no);
    rc = hocket__sql_run(k);
    if (rc == 0)
        rc = drop_vector(k, no);
    return rc == 0 ? drop_text(k, no) : rc;
}

static int written(
    struct hocket__keeper *k, struct hocket__store_call *c, hocket__sql_answer_cb body)
{
    int rc = hocket__sqlite_change(k, c, body);
    if (rc < 0)
        hocket__sqlite_of(k)->has_notes = false;
    return rc;
}

int hocket__sqlite_note_put(struct hocket__keeper *k, struct hocket__store_call *c)
{
    return written(k, c, put);
}

int hocket__sqlite_note_del(struct hocket__keeper *k, struct hocket__store_call *c)
{
    return written(k, c, del);
}

/* "one"* OR "two"*: short words are meant whole. */
void hocket__sqlite_add_query(struct hocket__buf *out, struct hocket__str query)
{
    struct hocket__str word;
    for (int i = 0; i < HOCKET__STORE_NOTE_WORDS; i++) {
        if ((word = hocket__store_note_word(&query)).n == 0)
            return;
        hocket__buf_adds(out, out->len > 0 ? " OR \"" : "\"");
        hocket__buf_addstr(out, word);
        hocket__buf_addstr(out, word.n > 2 ? HOCKET__STR("\"*") : HOCKET__STR("\""));
    }
}

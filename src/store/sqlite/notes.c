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
int hocket__sqlite_has_notes(struct hocket__writer *base)
{
    struct hocket__sqlite_writer *w = hocket__sqlite_of(base);
    int rc = 0;
    if (!w->has_notes)
        w->has_notes = hocket__db_ask(&w->db,
                           "SELECT count(*) FROM sqlite_schema WHERE name IN ('notes', "
                           "'notes_text', 'notes_vectors')",
                           &rc)
                       == 3;
    return rc < 0 ? rc : w->has_notes;
}

/* ---- Writing ------------------------------------------------------------------------------- */

/* Its number; 0: it is not there, or *rc says why nobody knows. */
static int64_t number_of(
    struct hocket__writer *w, struct hocket__str memory, struct hocket__str id, int *rc)
{
    hocket__sql_new(w, ST_NOTE_FIND);
    hocket__sql_text(w, memory);
    hocket__sql_text(w, id);
    return hocket__sql_number(w, rc);
}

static int put_row(struct hocket__writer *w, const struct hocket__store_note *n)
{
    hocket__sql_new(w, ST_NOTE_PUT);
    hocket__sql_note(w, n);
    return hocket__sql_run(w);
}

static int drop_text(struct hocket__writer *w, int64_t no)
{
    hocket__sql_new(w, ST_NOTE_NO_TEXT);
    hocket__sql_int(w, no);
    return hocket__sql_run(w);
}

static int put_text(struct hocket__writer *w, const struct hocket__store_note *n, int64_t no)
{
    hocket__sql_new(w, ST_NOTE_TEXT);
    hocket__sql_int(w, no);
    hocket__sql_text(w, n->text);
    return hocket__sql_run(w);
}

static int drop_vector(struct hocket__writer *w, int64_t no)
{
    hocket__sql_new(w, ST_NOTE_NO_VECTOR);
    hocket__sql_int(w, no);
    return hocket__sql_run(w);
}

/* In place of the one that there was. */
static int put_vector(struct hocket__writer *w, const struct hocket__store_note *n, int64_t no)
{
    int rc = drop_vector(w, no);
    if (rc < 0 || n->vector.n == 0)
        return rc;
    hocket__sql_new(w, ST_NOTE_VECTOR);
    hocket__sql_int(w, no);
    hocket__sql_text(w, n->memory);
    hocket__sql_bytes(w, n->vector);
    return hocket__sql_run(w);
}

static int put(struct hocket__writer *w, struct hocket__store_call *c)
{
    const struct hocket__store_note *n = &c->q.note_put.note;
    int rc = hocket__sqlite_has_notes(w);
    if (rc == 0)
        rc = hocket__db_exec(&hocket__sqlite_of(w)->db, tables);
    if (rc >= 0)
        rc = hocket__sql_note_room(w, c);
    if (rc == 0 && c->status == 0)
        rc = put_row(w, n);
    if (rc < 0 || c->status < 0)
        return rc;
    int64_t no = number_of(w, n->memory, n->id, &rc);
    if (rc == 0)
        rc = drop_text(w, no);
    if (rc == 0)
        rc = put_text(w, n, no);
    return rc == 0 ? put_vector(w, n, no) : rc;
}

static int del(struct hocket__writer *w, struct hocket__store_call *c)
{
    int rc = hocket__sqlite_has_notes(w);
    int64_t no = rc == 1 ? number_of(w, c->q.notes.memory, c->q.notes.id, &rc) : 0;
    if (rc >= 0 && no == 0)
        c->status = hocket__store_note_missing(c);
    if (rc < 0 || no == 0)
        return rc < 0 ? rc : 0;
    hocket__sql_new(w, ST_NOTE_DEL);
    hocket__sql_int(w, no);
    rc = hocket__sql_run(w);
    if (rc == 0)
        rc = drop_vector(w, no);
    return rc == 0 ? drop_text(w, no) : rc;
}

static int written(
    struct hocket__writer *w, struct hocket__store_call *c, hocket__sql_answer_cb body)
{
    int rc = hocket__sqlite_change(w, c, body);
    if (rc < 0)
        hocket__sqlite_of(w)->has_notes = false;
    return rc;
}

int hocket__sqlite_note_put(struct hocket__writer *w, struct hocket__store_call *c)
{
    return written(w, c, put);
}

int hocket__sqlite_note_del(struct hocket__writer *w, struct hocket__store_call *c)
{
    return written(w, c, del);
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

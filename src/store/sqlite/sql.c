/* SQLite as the statements that are shared see it (sql/sql.h): prepared once, and done when they are stepped. */
#include "store/sqlite/sqlite_impl.h"

static struct hocket__db *db_of(struct hocket__writer *w)
{
    return &hocket__sqlite_of(w)->db;
}

static void new_statement(struct hocket__writer *w, unsigned statement)
{
    hocket__db_new(db_of(w), statement);
}

/* Binding fails out of memory alone, or for a text past SQLite's limit; a parameter that is not bound is
 * NULL, which the schema refuses where it matters. */
static void put_int(struct hocket__writer *w, int64_t v)
{
    struct hocket__db *d = db_of(w);
    if (d->st)
        d->lib->bind_int64(d->st, ++d->bound, v);
}

static void put_null(struct hocket__writer *w, bool is_number)
{
    struct hocket__db *d = db_of(w);
    (void) is_number;
    if (d->st)
        d->lib->bind_null(d->st, ++d->bound);
}

static void put_text(struct hocket__writer *w, struct hocket__str s)
{
    struct hocket__db *d = db_of(w);
    if (d->st)
        d->lib->bind_text64(d->st, ++d->bound, s.n > 0 ? s.p : "", s.n, SQLITE_STATIC, SQLITE_UTF8);
}

static void put_bytes(struct hocket__writer *w, struct hocket__str s)
{
    struct hocket__db *d = db_of(w);
    if (d->st)
        d->lib->bind_blob64(d->st, ++d->bound, s.n > 0 ? s.p : "", s.n, SQLITE_STATIC);
}

static int step(struct hocket__writer *w)
{
    return hocket__db_step(db_of(w));
}

static void done(struct hocket__writer *w)
{
    struct hocket__db *d = db_of(w);
    d->lib->reset(d->st);
}

static int flush(struct hocket__writer *w)
{
    (void) w;
    return 0;
}

static int64_t changed(struct hocket__writer *w)
{
    return db_of(w)->lib->changes(db_of(w)->db);
}

static bool is_null(struct hocket__writer *w, int column)
{
    return db_of(w)->lib->column_type(db_of(w)->st, column) == SQLITE_NULL;
}

static int64_t int_of(struct hocket__writer *w, int column)
{
    return db_of(w)->lib->column_int64(db_of(w)->st, column);
}

static struct hocket__str bytes_of(struct hocket__writer *w, int column)
{
    struct hocket__db *d = db_of(w);
    const char *p = d->lib->column_blob(d->st, column);
    return hocket__str(p ? p : "", p ? (size_t) d->lib->column_bytes(d->st, column) : 0);
}

static int begin(struct hocket__writer *w)
{
    return hocket__sqlite_begin(hocket__sqlite_of(w));
}

static int end(struct hocket__writer *w, int status)
{
    return hocket__sqlite_end(hocket__sqlite_of(w), status);
}

/* ---- What is special -------------------------------------------------------------------------- */

static int number(struct hocket__writer *w, struct hocket__claimed *c,
    const struct hocket__store_run *r, bool alone, int64_t *parent)
{
    int rc;
    (void) alone;
    c->no = hocket__sql_run_no(w, hocket__cstr(r->id), &rc);
    if (rc == 0 && r->parent[0])
        *parent = hocket__sql_run_no(w, hocket__cstr(r->parent), &rc);
    return rc;
}

static int64_t inserted(struct hocket__writer *w, const struct hocket__claimed *c)
{
    (void) c;
    return db_of(w)->lib->last_insert_rowid(db_of(w)->db);
}

/* A text that the file has would be counted once more. */
static int begin_file(struct hocket__writer *w, const struct hocket__store_file *f)
{
    int rc;
    hocket__sql_new(w, ST_FILE_FIND);
    hocket__sql_text(w, f->generation);
    hocket__sql_text(w, f->path);
    int64_t there = hocket__sql_number(w, &rc);
    return rc < 0 ? rc : there != 0;
}

static int begin_drop(struct hocket__writer *w, struct hocket__str generation)
{
    (void) w, (void) generation;
    return 0;
}

static int read_limit(struct hocket__writer *w, const struct hocket__store_draw *draw,
    int64_t now_ms, struct hocket__store_level *level, struct hocket__store_others *others)
{
    hocket__sql_new(w, ST_LIMIT_FIND);
    hocket__sql_text(w, draw->name);
    int rc = hocket__sql_step(w);
    if (rc == 1)
        hocket__sql_read_level(w, level);
    hocket__sql_done(w);
    if (rc < 0 || (draw->holder.n == 0 && !hocket__store_draw_looks(draw)))
        return rc < 0 ? rc : 0;
    hocket__sql_ask_others(w, draw, now_ms);
    rc = hocket__sql_step(w);
    if (rc == 1)
        hocket__sql_read_others(w, others);
    hocket__sql_done(w);
    return rc < 0 ? rc : 0;
}

static int recover(struct hocket__writer *w, const char *id)
{
    struct hocket__wal_of of;
    int rc = hocket__sqlite_owner(hocket__sqlite_of(w), id, &of);
    return rc == 1 ? hocket__wal_recover_run(hocket__sqlite_of(w), &of, id, NULL) : rc;
}

static int is_put(struct hocket__writer *w, const struct hocket__store_run *r)
{
    (void) w, (void) r; /* no answer is lost */
    return 0;
}

static const hocket__sql_answer_cb answers[HOCKET__STORE_CALLS] = {
    [HOCKET__STORE_TAKE_NEXT] = hocket__sqlite_take_next,
    [HOCKET__STORE_SPOKEN] = hocket__sqlite_spoken,
    [HOCKET__STORE_MAINTAIN] = hocket__sqlite_maintain,
    [HOCKET__STORE_NOTE_PUT] = hocket__sqlite_note_put,
    [HOCKET__STORE_NOTE_DEL] = hocket__sqlite_note_del,
};

const struct hocket__sql_ops hocket__sqlite_sql = {
    .streams = true,
    .new_statement = new_statement,
    .put_int = put_int,
    .put_null = put_null,
    .put_text = put_text,
    .put_bytes = put_bytes,
    .step = step,
    .done = done,
    .send = hocket__sql_run,
    .flush = flush,
    .changed = changed,
    .is_null = is_null,
    .int_of = int_of,
    .text_of = bytes_of,
    .bytes_of = bytes_of,
    .change = hocket__sqlite_change,
    .begin = begin,
    .end = end,
    .number = number,
    .inserted = inserted,
    .begin_file = begin_file,
    .begin_draw = begin,
    .read_limit = read_limit,
    .begin_drop = begin_drop,
    .recover = recover,
    .is_put = is_put,
    .has_notes = hocket__sqlite_has_notes,
    .add_query = hocket__sqlite_add_query,
    .answers = answers,
};

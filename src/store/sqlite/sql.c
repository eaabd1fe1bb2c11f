/* SQLite as the statements that are shared see it (sql/sql.h): prepared once, and done when they are stepped. */
#include "store/sqlite/sqlite_impl.h"

#include "store/queue.h"
#include "store/sqlite/schema.h"
#include "store/sum.h"

/* Notes that outlive runs. Their tables are made by the first that is written: a file without any is as it was, and whoever
 * has an SQLite without FTS5 keeps runs all the same.
 *
 * What is searched for comes from models. It is taken apart into words, and each is quoted, so that
 * nothing of it is an operator of FTS5. */

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
static int sqlite_has_notes(struct hocket__writer *base)
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

static int put_note_text(struct hocket__writer *w, const struct hocket__store_note *n, int64_t no)
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
    int rc = sqlite_has_notes(w);
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
        rc = put_note_text(w, n, no);
    return rc == 0 ? put_vector(w, n, no) : rc;
}

static int del(struct hocket__writer *w, struct hocket__store_call *c)
{
    int rc = sqlite_has_notes(w);
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

static int sqlite_note_put(struct hocket__writer *w, struct hocket__store_call *c)
{
    return written(w, c, put);
}

static int note_del(struct hocket__writer *w, struct hocket__store_call *c)
{
    return written(w, c, del);
}

/* "one"* OR "two"*: short words are meant whole. */
static void sqlite_add_query(struct hocket__buf *out, struct hocket__str query)
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

/* What people do with a file as a whole: look at it, check it, make it smaller. */

static int check(struct hocket__writer *w, struct hocket__store_call *c)
{
    static const unsigned rules[] = { ST_CHECK_PAGES, HOCKET__SQL_CHECK_ENDS,
        HOCKET__SQL_CHECK_GAPS, HOCKET__SQL_CHECK_STRAY, ST_CHECK_LONG, ST_CHECK_FILES,
        ST_CHECK_COUNTS };
    int rc = 0;
    for (size_t i = 0; rc == 0 && i < sizeof(rules) / sizeof(rules[0]); i++)
        rc = hocket__sql_check(w, c, "problem", rules[i]);
    return rc == 0 ? hocket__sql_check_sums(w, c) : rc;
}

static int vacuum(struct hocket__sqlite_writer *w, struct hocket__store_call *c)
{
    struct hocket__store_options before = w->base.o;
    int rc;
    if (w->looks)
        return hocket__sqlite_deny(w);
    int64_t runs = hocket__sql_count_runs(&w->base, &rc);
    w->base.o.max_age_ms = c->q.maintenance.max_age_ms;
    do
        rc = rc == 0 ? hocket__sweep_step(&w->base) : rc;
    while (rc == 0 && w->base.more_to_sweep);
    w->base.o = before;
    if (rc == 0)
        rc = hocket__db_exec(
            &w->db, "PRAGMA incremental_vacuum; PRAGMA optimize; PRAGMA wal_checkpoint(TRUNCATE)");
    int64_t left = rc == 0 ? hocket__sql_count_runs(&w->base, &rc) : 0;
    if (rc == 0)
        hocket__store_add_row(c, "removed", "%lld", (long long) (runs - left));
    return rc;
}

static int info(struct hocket__sqlite_writer *w, struct hocket__store_call *c)
{
    int rc;
    int64_t runs = hocket__sql_count_runs(&w->base, &rc);
    hocket__store_add_row(c, "kind", "sqlite");
    hocket__store_add_row(c, "place", "%s", w->path.data);
    hocket__store_add_row(c, "version", "%d", HOCKET__STORE_VERSION);
    hocket__store_add_row(c, "runs", "%lld", (long long) runs);
    return rc;
}

static int maintain(struct hocket__writer *base, struct hocket__store_call *c)
{
    struct hocket__sqlite_writer *w = hocket__sqlite_of(base);
    switch (c->q.maintenance.what) {
    case HOCKET__STORE_INFO: return info(w, c);
    case HOCKET__STORE_CHECK: return check(base, c);
    case HOCKET__STORE_VACUUM: return vacuum(w, c);
    case HOCKET__STORE_MEASURE: return hocket__sql_measure(base, c);
    case HOCKET__STORE_GRANT: break;
    }
    c->status =
        hocket__store_unsupported(c, "a file has no roles: it belongs to the user who made it");
    return 0;
}

/* Runs for workers: which is the next, and who is gone with one. What this store has itself is not the next, whatever its
 * lease says: nor is what others have whose leases are not believed (writer/leases.c).
 *
 * Most polls find nothing, so the file is read before it is locked, and once more under the lock. */

/* The number of the next run that is due, or 0. */
struct next {
    int64_t no, at_ms;
    bool owned; /* by a process that is gone */
    bool lost;  /* was at work: its process is gone, or released it without a reason */
    char id[HOCKET__STORE_ID + 1];
};

/* The search's arguments. */
struct look {
    struct hocket__str pools;
    struct hocket__buf ours; /* ids, with commas */
};

static int begin_look(struct hocket__sqlite_writer *w, struct hocket__str pools, struct look *look)
{
    look->pools = pools;
    hocket__buf_init(&look->ours, &hocket__malloc, 0);
    return hocket__claims_ids(&w->base, &look->ours);
}

static int next_of_pool(struct hocket__sqlite_writer *w, const struct look *look,
    struct hocket__str pool, int64_t from_ms, int64_t until_ms, struct next *first)
{
    hocket__sql_new(&w->base, ST_NEXT);
    hocket__sql_text(&w->base, pool);
    hocket__sql_int(&w->base, from_ms);
    hocket__sql_int(&w->base, until_ms);
    hocket__sql_int(&w->base, hocket__leases_expired_before(&w->base));
    hocket__sql_text(&w->base, hocket__buf_str(&look->ours));
    int rc = hocket__sql_step(&w->base);
    int64_t at_ms = rc == 1 ? hocket__sql_int_of(&w->base, 1) : 0;
    struct hocket__str id = rc == 1 ? hocket__sql_text_of(&w->base, 2) : HOCKET__STR("");
    if (id.n == HOCKET__STORE_ID
        && (!first->no || at_ms < first->at_ms
            || (at_ms == first->at_ms && memcmp(id.p, first->id, id.n) < 0))) {
        *first = (struct next){ .no = hocket__sql_int_of(&w->base, 0), .at_ms = at_ms };
        first->owned = hocket__sql_int_of(&w->base, 3) != 0;
        first->lost = first->owned || hocket__sql_int_of(&w->base, 4) != 0;
        memcpy(first->id, id.p, id.n);
    }
    hocket__sql_done(&w->base);
    return rc < 0 ? rc : 0;
}

static int next_of_pools(struct hocket__sqlite_writer *w, const struct look *look, int64_t from_ms,
    int64_t until_ms, struct next *first)
{
    struct hocket__str pools = look->pools;
    int rc = 0;
    for (struct hocket__str pool; rc == 0 && (pool = hocket__store_next_pool(&pools)).n > 0;)
        rc = next_of_pool(w, look, pool, from_ms, until_ms, first);
    return rc;
}

/* What was lost and what had a time first (HOCKET__QUEUE_AT). */
static int find_next(struct hocket__sqlite_writer *w, const struct look *look, struct next *first)
{
    *first = (struct next){ 0 };
    int rc = next_of_pools(w, look, 1, hocket__sqlite_now(w), first);
    return rc == 0 && !first->no ? next_of_pools(w, look, 0, 0, first) : rc;
}

/* ---- Owners that are gone ------------------------------------------------------------------------ */

enum { MOST_OWNERS = 32 };

struct owner {
    int64_t pid, start;
};

/* Those of this machine that have ended, and whose leases have not. */
static int gone_of_pool(struct hocket__sqlite_writer *w, struct hocket__str pool, int64_t ahead_ms,
    struct owner *gone, int *n)
{
    struct hocket__str place = hocket__cstr(w->base.self.place);
    int64_t now = hocket__sqlite_now(w);
    hocket__sql_new(&w->base, ST_OWNERS);
    hocket__sql_text(&w->base, pool);
    hocket__sql_int(&w->base, now);
    hocket__sql_int(&w->base, now + ahead_ms);
    hocket__sql_text(&w->base, place);
    int rc;
    while ((rc = hocket__sql_step(&w->base)) == 1 && *n < MOST_OWNERS) {
        struct owner o = { hocket__sql_int_of(&w->base, 0), hocket__sql_int_of(&w->base, 1) };
        if (hocket__self_knows_ended(&w->base.self, place, o.pid, o.start))
            gone[(*n)++] = o;
    }
    hocket__sql_done(&w->base);
    return rc < 0 ? rc : 0;
}

/* Its leases are over. */
static int bury(struct hocket__sqlite_writer *w, const struct owner *o)
{
    hocket__sql_new(&w->base, ST_BURY);
    hocket__sql_int(&w->base, o->pid);
    hocket__sql_int(&w->base, o->start);
    hocket__sql_text(&w->base, hocket__cstr(w->base.self.place));
    hocket__sql_int(&w->base, HOCKET__QUEUE_BURIED);
    return hocket__sql_run(&w->base);
}

/* Whether there were any: 1, 0. */
static int bury_all(struct hocket__sqlite_writer *w, struct hocket__str pools)
{
    struct owner gone[MOST_OWNERS];
    int64_t ahead_ms = hocket__leases_horizon(&w->base);
    int n = 0, rc = 0;
    for (struct hocket__str pool; rc == 0 && (pool = hocket__store_next_pool(&pools)).n > 0;)
        rc = gone_of_pool(w, pool, ahead_ms, gone, &n);
    if (rc < 0 || n == 0)
        return rc;
    rc = hocket__sqlite_begin(w);
    for (int i = 0; rc == 0 && i < n; i++)
        rc = bury(w, &gone[i]);
    rc = hocket__sqlite_end(w, rc);
    return rc < 0 ? rc : 1;
}

/* ---- Taking ---------------------------------------------------------------------------------------- */

static int claim(struct hocket__sqlite_writer *w, int64_t no)
{
    hocket__sql_new(&w->base, ST_TAKE_NEXT);
    hocket__sql_int(&w->base, no);
    hocket__sql_owner(&w->base);
    return hocket__sql_run(&w->base);
}

/* What one transaction takes: nothing of it is known before that is there. */
struct taken {
    struct hocket__claimed *claims[HOCKET__STORE_TAKES];
    uint64_t fences[HOCKET__STORE_TAKES];
    size_t n;
};

static int give(
    struct hocket__sqlite_writer *w, struct hocket__store_call *call, int64_t no, uint64_t *fence)
{
    struct hocket__store_row row = { .kind = HOCKET__STORE_ROW_RUN };
    hocket__sql_new(&w->base, HOCKET__SQL_TAKEN);
    hocket__sql_int(&w->base, no);
    int rc = hocket__sql_step(&w->base);
    if (rc == 1) {
        hocket__sql_read_run(&w->base, &row.run);
        *fence = row.run.fence;
        if (hocket__store_pack(&call->rows, &row) < 0)
            rc = hocket__error_nomem(w->base.error);
    }
    hocket__sql_done(&w->base);
    return rc < 0 ? rc : 0;
}

/* ---- What its owner left --------------------------------------------------------------------------- */

/* For about as long as nobody buries an owner (hocket__leases_horizon): the others go on meanwhile. Why stands in its row, where no question does. */
static int put_off(struct hocket__sqlite_writer *w, int64_t no, const struct hocket_error *why)
{
    struct hocket__buf words;
    hocket__leases_limit_horizon(&w->base);
    hocket__sql_new(&w->base, ST_PUT_OFF);
    hocket__buf_init(&words, &hocket__malloc, 0);
    hocket__store_write_why(&words, why);
    hocket__sql_int(&w->base, no);
    hocket__sql_int(&w->base, hocket__sqlite_now(w) + 2 * w->base.o.lease_ms);
    hocket__sql_text_or_null(&w->base, hocket__buf_str(&words));
    struct hocket__store_run row = { .waiting_for = hocket__buf_str(&words) };
    int64_t mask, sum = hocket__store_sum_set(&row, HOCKET__STORE_SET_WAITING_FOR, &mask);
    hocket__sql_int(&w->base, mask);
    hocket__sql_int(&w->base, sum);
    int rc = hocket__sql_run(&w->base);
    hocket__buf_deinit(&words);
    return rc;
}

/* One that had ended by what was written now has nobody any more, or it would be written again by the next who looks. */
static int settle(struct hocket__sqlite_writer *w, int64_t no)
{
    hocket__sql_new(&w->base, ST_SETTLE);
    hocket__sql_int(&w->base, no);
    return hocket__sql_run(&w->base);
}

/* Whether it will fail again though the database itself works: the file is missing, or its contents are bad. */
static bool is_its_own(const struct hocket__sqlite_writer *w, int rc, bool unreadable)
{
    return rc < 0 && (unreadable || (!w->db.error.retryable && rc != HOCKET_EPARSE));
}

/* One of which what is left cannot be read or written is put off, or none behind it would ever be taken. */
static int recover_taken(
    struct hocket__sqlite_writer *w, const struct next *next, struct hocket__store_call *call)
{
    struct hocket__wal_of of;
    bool unreadable = false;
    int rc = hocket__db_exec(&w->db, "SAVEPOINT recovery");
    if (rc == 0)
        rc = hocket__sqlite_owner(w, next->id, &of);
    if (rc == 1)
        rc = hocket__wal_recover_run(w, &of, next->id, &unreadable);
    if (is_its_own(w, rc, unreadable)) {
        call->error = w->db.error;
        rc = hocket__db_exec(&w->db, "ROLLBACK TO recovery; RELEASE recovery");
        return rc < 0 ? rc : put_off(w, next->no, &call->error);
    }
    if (rc >= 0)
        rc = hocket__db_exec(&w->db, "RELEASE recovery");
    return rc < 0 ? rc : settle(w, next->no);
}

/* What its owner had handed over is written first: after that it may have ended, or wait for something, and another is the next. */
static int find_whole(struct hocket__sqlite_writer *w, const struct look *look,
    struct hocket__store_call *call, struct next *next)
{
    int64_t whole = 0;
    for (;;) {
        int rc = find_next(w, look, next);
        if (rc < 0 || !next->no || !next->owned || next->no == whole)
            return rc;
        whole = next->no;
        rc = recover_taken(w, next, call);
        if (rc < 0)
            return rc;
    }
}

static int take_one(struct hocket__sqlite_writer *w, const struct next *next,
    struct hocket__store_call *call, struct taken *taken)
{
    struct hocket__claimed *c = hocket__claims_need(&w->base, next->id);
    if (!c)
        return hocket__error_nomem(&w->db.error);
    size_t i = taken->n++;
    taken->claims[i] = c;
    int rc = claim(w, next->no);
    return rc < 0 ? rc : give(w, call, next->no, &taken->fences[i]);
}

/* Whether its row is not what was written: 1, with why; 0. No worker acts on such a one. */
static int is_altered(struct hocket__sqlite_writer *w, int64_t no, struct hocket__store_call *call)
{
    struct hocket__store_run run = { .seed = { 0 } };
    hocket__sql_new(&w->base, HOCKET__SQL_TAKEN);
    hocket__sql_int(&w->base, no);
    int rc = hocket__sql_step(&w->base);
    if (rc == 1) {
        hocket__sql_read_run(&w->base, &run);
        rc = hocket__sql_is_altered_run(&w->base, &run);
    }
    if (rc == 1)
        hocket__store_altered(call, NULL, 0, hocket__cstr(run.id));
    hocket__sql_done(&w->base);
    return rc;
}

/* An altered run is postponed. Otherwise no run behind it would ever be taken. */
static int find_sound(struct hocket__sqlite_writer *w, const struct look *look,
    struct hocket__store_call *call, struct next *next)
{
    int rc;
    call->error.status = 0;
    while ((rc = find_whole(w, look, call, next)) == 0 && next->no) {
        rc = is_altered(w, next->no, call);
        if (rc <= 0 || (rc = put_off(w, next->no, &call->error)) < 0)
            return rc;
    }
    return rc;
}

/* Another process may have taken it since it was seen: then there may be another one, or none. */
static int take(struct hocket__sqlite_writer *w, const struct look *look,
    struct hocket__store_call *call, struct taken *taken)
{
    struct next next;
    int rc = find_sound(w, look, call, &next);
    if (rc == 0 && !next.no)
        call->status = call->error.status;
    while (rc == 0 && next.no) {
        rc = take_one(w, &next, call, taken);
        if (rc < 0 || next.lost || taken->n == call->q.take_next.most)
            return rc;
        rc = find_next(w, look, &next);
        if (next.lost) /* it comes alone, the next time */
            return rc;
        if (rc == 0 && next.no)
            rc = is_altered(w, next.no, call); /* the next time it is put off */
    }
    return rc < 0 ? rc : 0;
}

static int look_and_take(
    struct hocket__sqlite_writer *w, const struct look *look, struct hocket__store_call *call)
{
    struct taken taken = { .n = 0 };
    struct next next;
    int rc = find_next(w, look, &next);
    if (rc == 0 && !next.no && (rc = bury_all(w, look->pools)) == 1)
        rc = find_next(w, look, &next);
    if (rc < 0 || !next.no)
        return rc;
    rc = hocket__sqlite_begin(w);
    if (rc == 0)
        rc = take(w, look, call, &taken);
    rc = hocket__sqlite_end(w, rc);
    for (size_t i = 0; i < taken.n; i++)
        hocket__claims_taken(&w->base, taken.claims[i], rc < 0 ? 0 : taken.fences[i]);
    return rc;
}

/* These answer TAKE_NEXT and SPOKEN. */
static int sqlite_take_next(struct hocket__writer *base, struct hocket__store_call *call)
{
    struct hocket__sqlite_writer *w = hocket__sqlite_of(base);
    struct look look;
    int rc = w->looks ? hocket__sqlite_deny(w) : hocket__leases_renew(&w->base);
    if (rc < 0) /* a worker hears also where nothing is due */
        return rc;
    rc = begin_look(w, call->q.take_next.pools, &look);
    if (rc == 0)
        rc = look_and_take(w, &look, call);
    hocket__buf_deinit(&look.ours);
    return rc;
}

/* ---- Who was spoken to ------------------------------------------------------------------------------ */

static int give_spoken(
    struct hocket__writer *w, struct hocket__store_call *call, const struct hocket__claimed *c)
{
    struct hocket__store_row row = { .kind = HOCKET__STORE_ROW_RUN };
    int rc;
    hocket__sql_new(w, ST_SPOKEN);
    hocket__sql_text(w, hocket__cstr(c->id));
    row.run.fence = (uint64_t) hocket__sql_number(w, &rc);
    if (rc < 0 || row.run.fence != c->fence)
        return rc;
    memcpy(row.run.id, c->id, sizeof(c->id));
    hocket__store_pack(&call->rows, &row);
    return 0;
}

static int spoken(struct hocket__writer *w, struct hocket__store_call *call)
{
    int rc = 0;
    for (struct hocket__list *l = w->claims.next; rc == 0 && l != &w->claims; l = l->next) {
        struct hocket__claimed *c = hocket__container_of(l, struct hocket__claimed, link);
        if (hocket__claims_is_ours(c))
            rc = give_spoken(w, call, c);
    }
    return rc;
}

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
    [HOCKET__STORE_TAKE_NEXT] = sqlite_take_next,
    [HOCKET__STORE_SPOKEN] = spoken,
    [HOCKET__STORE_MAINTAIN] = maintain,
    [HOCKET__STORE_NOTE_PUT] = sqlite_note_put,
    [HOCKET__STORE_NOTE_DEL] = note_del,
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
    .has_notes = sqlite_has_notes,
    .add_query = sqlite_add_query,
    .answers = answers,
};

/* What is too old, or too much, goes: a run at a time, and its rows in small steps, between which the
 * thread does what is more urgent (sql/sweep.c). */
#include "store/sqlite/sqlite_impl.h"

#define STEP_PAGES  "256"
#define LOOSE_PAGES 64 /* free pages that are not worth giving back: they are used again */

static bool is_too_large(struct hocket__sqlite_writer *w, int *rc)
{
    if (w->base.o.max_bytes == 0)
        return false;
    hocket__sql_new(&w->base, HOCKET__SQL_BYTES);
    int64_t bytes = hocket__sql_number(&w->base, rc);
    return *rc == 0 && (uint64_t) bytes > w->base.o.max_bytes;
}

/* What may go, as bits. Runs that wait for a person, a signal, a time or a worker are no rubbish, however old. */
enum {
    ENDED = 1,
    LEFT = 2,   /* a conversation at its prompt: nobody may ever come back */
    CUT_OFF = 4 /* it may be gone on with: not before it has lain for a day */
};

static int64_t oldest(struct hocket__sqlite_writer *w, int kinds, int64_t before_ms, int *rc)
{
    hocket__sql_new(&w->base, ST_OLDEST);
    hocket__sql_int(&w->base, hocket__sqlite_now(w) - HOCKET__SLEEP_MS);
    hocket__sql_int(&w->base, before_ms);
    hocket__sql_int(&w->base, kinds);
    return hocket__sql_number(&w->base, rc);
}

/* Its time is over, or room is needed. */
static int64_t old_run(struct hocket__sqlite_writer *w, int *rc)
{
    int64_t no = 0, now = hocket__sqlite_now(w);
    *rc = 0;
    if (w->base.o.max_age_ms > 0)
        no = oldest(w, ENDED | LEFT | CUT_OFF, now - w->base.o.max_age_ms, rc);
    if (no || *rc < 0 || !is_too_large(w, rc))
        return no;
    for (int kind = ENDED; !no && *rc == 0 && kind <= CUT_OFF; kind *= 2)
        no = oldest(w, kind, now + 1, rc);
    return no;
}

/* Pages are given back to the file system in pieces, and only when there are many: a file that
 * shrinks and grows costs more than it saves. */
static int vacuum(struct hocket__sqlite_writer *w)
{
    int rc;
    int64_t before = hocket__db_ask(&w->db, "PRAGMA freelist_count", &rc), after = before;
    if (rc == 0 && before > LOOSE_PAGES)
        rc = hocket__db_exec(&w->db, "PRAGMA incremental_vacuum(" STEP_PAGES ")");
    if (rc == 0 && before > LOOSE_PAGES)
        after = hocket__db_ask(&w->db, "PRAGMA freelist_count", &rc);
    w->base.more_to_sweep = after > LOOSE_PAGES && after < before;
    return rc;
}

int hocket__sweep_step(struct hocket__writer *base)
{
    struct hocket__sqlite_writer *w = hocket__sqlite_of(base);
    int rc = w->looks ? 0 : hocket__sqlite_begin(w);
    if (rc < 0 || w->looks)
        return rc;
    int64_t removed = hocket__sql_removed(base, &rc),
            old = rc == 0 && !removed ? old_run(w, &rc) : 0;
    if (rc == 0 && removed)
        rc = hocket__sql_purge(base, removed);
    else if (rc == 0 && old)
        rc = hocket__sql_remove_run(base, old, true);
    rc = hocket__sqlite_end(w, rc);
    w->base.more_to_sweep = true;
    if (rc < 0 || removed || old)
        return rc;
    if (w->is_tidy)
        hocket__wal_recover(w); /* nobody may open the store for a long time */
    else
        hocket__wal_tidy(w);
    w->is_tidy = true;
    return vacuum(w);
}

/* Transactions, and what they take to be on the disk. */
#include "store/sqlite/sqlite_impl.h"

int64_t hocket__sqlite_now(const struct hocket__sqlite_writer *w)
{
    return hocket__store_wall_ms(&w->base.o);
}

/* ---- Transactions -------------------------------------------------------------------------- */

int hocket__sqlite_deny(struct hocket__sqlite_writer *w)
{
    hocket__error(&w->db.error, HOCKET_EDENIED,
        "%s may only be read, or its folder: let both be written to (chmod u+w), give another file "
        "to "
        "keep runs in, or keep none",
        w->path.data);
    w->db.error.retryable = false;
    w->db.code = SQLITE_READONLY;
    return HOCKET_EDENIED;
}

int hocket__sqlite_begin(struct hocket__sqlite_writer *w)
{
    if (w->looks)
        return hocket__sqlite_deny(w);
    hocket__sql_new(&w->base, ST_BEGIN);
    return hocket__sql_run(&w->base);
}

/* The first error is the one to tell: the ROLLBACK may bring one of its own. */
int hocket__sqlite_end(struct hocket__sqlite_writer *w, int status)
{
    if (status == 0) {
        hocket__sql_new(&w->base, ST_COMMIT);
        status = hocket__sql_run(&w->base);
    }
    if (status == 0) {
        w->base.commits++;
        w->unsynced++;
    } else if (!hocket__db_is_idle(&w->db)) {
        struct hocket_error error = w->db.error;
        int code = w->db.code;
        hocket__db_exec(&w->db, "ROLLBACK");
        w->db.error = error;
        w->db.code = code;
    }
    return status;
}

/* ---- Syncing ----------------------------------------------------------------------------------- */

/* A PRAGMA of its own costs as much as a small write: it is said when it changes. */
static int set_sync(struct hocket__sqlite_writer *w, bool full)
{
    if (w->sync_is_full == full)
        return 0;
    int rc =
        hocket__db_exec(&w->db, full ? "PRAGMA synchronous = FULL" : "PRAGMA synchronous = NORMAL");
    if (rc == 0)
        w->sync_is_full = full;
    return rc;
}

/* After a failed sync the system may have dropped unwritten pages, and a later sync does not report that.
 * So the whole log is written and synced again, into the file. */
static int write_anew(struct hocket__sqlite_writer *w)
{
    if (!w->sync_failed)
        return 0;
    int rc, busy = (int) hocket__db_ask(&w->db, "PRAGMA wal_checkpoint(TRUNCATE)", &rc);
    if (rc == 0 && busy) {
        rc = hocket__error(
            &w->db.error, HOCKET_EIO, "%s: another process keeps it locked", w->db.path);
        w->db.error.retryable = true;
    }
    w->sync_failed = rc < 0;
    return rc;
}

static bool is_sync_failure(int code)
{
    return code == SQLITE_IOERR_FSYNC || code == SQLITE_IOERR_DIR_FSYNC;
}

static int sync_row(struct hocket__writer *w)
{
    hocket__sql_new(w, ST_SYNC);
    return hocket__sql_run(w);
}

static int apply_all(struct hocket__sqlite_writer *w, struct hocket__str work)
{
    int rc = hocket__sqlite_apply(&w->base, work, NULL);
    return rc == 0 && w->base.wal_to ? hocket__wal_note(w) : rc;
}

static int write_once(struct hocket__sqlite_writer *w, struct hocket__str work, bool sync)
{
    int rc = write_anew(w);
    if (rc == 0)
        rc = set_sync(w, sync);
    if (rc < 0)
        return rc;
    hocket__writer_begun(&w->base);
    rc = hocket__sqlite_begin(w);
    if (rc == 0)
        rc = work.n > 0 ? apply_all(w, work) : sync_row(&w->base);
    return hocket__sqlite_end(w, rc);
}

/* Nothing to write, and nothing that was not synced: a wish for a sync has come true already. */
int hocket__sqlite_write(struct hocket__sqlite_writer *w, struct hocket__str work, bool sync)
{
    if (work.n == 0 && w->unsynced == 0)
        return 0;
    int rc = hocket__sqlite_there(w);
    if (rc == 0)
        rc = write_once(w, work, sync);
    if (rc < 0) {
        w->sync_failed |= is_sync_failure(w->db.code);
        return rc;
    }
    if (sync) {
        w->unsynced = 0;
        w->base.syncs++;
    }
    hocket__writer_settled(&w->base);
    return 0;
}

/* ---- Questions that write ---------------------------------------------------------------------- */

static int change_once(
    struct hocket__sqlite_writer *w, struct hocket__store_call *c, hocket__sql_answer_cb body)
{
    int rc = write_anew(w);
    if (rc == 0)
        rc = set_sync(w, true);
    if (rc == 0)
        rc = hocket__sqlite_begin(w);
    if (rc < 0)
        return rc;
    rc = body(&w->base, c);
    int ended = hocket__sqlite_end(w, rc == 0 ? c->status : rc);
    return rc == 0 && c->status < 0 ? 0 : ended;
}

/* One transaction, without a second synced one: that could fail alone, and finished work would be reported as failed. A
 * refused write has written nothing, and so synced nothing. */
int hocket__sqlite_change(
    struct hocket__writer *base, struct hocket__store_call *c, hocket__sql_answer_cb body)
{
    struct hocket__sqlite_writer *w = hocket__sqlite_of(base);
    int rc = change_once(w, c, body);
    if (rc < 0) {
        w->sync_failed |= is_sync_failure(w->db.code);
    } else if (c->status == 0) {
        w->unsynced = 0;
        w->base.syncs++;
    }
    return rc;
}

/* Transactions, and what they take to be on the disk. */
#include "store/sqlite/sqlite_impl.h"

int64_t hocket__sqlite_now(const struct hocket__sqlite_keeper *k)
{
    return hocket__store_wall_ms(&k->base.o);
}

/* ---- Transactions -------------------------------------------------------------------------- */

int hocket__sqlite_deny(struct hocket__sqlite_keeper *k)
{
    hocket__error(&k->db.error, HOCKET_EDENIED,
        "%s may only be read, or its folder: let both be written to (chmod u+w), give another file "
        "to "
        "keep runs in, or keep none",
        k->path.data);
    k->db.error.retryable = false;
    k->db.code = SQLITE_READONLY;
    return HOCKET_EDENIED;
}

int hocket__sqlite_begin(struct hocket__sqlite_keeper *k)
{
    if (k->looks)
        return hocket__sqlite_deny(k);
    hocket__sql_new(&k->base, ST_BEGIN);
    return hocket__sql_run(&k->base);
}

/* The first error is the one to tell: the ROLLBACK may bring one of its own. */
int hocket__sqlite_end(struct hocket__sqlite_keeper *k, int status)
{
    if (status == 0) {
        hocket__sql_new(&k->base, ST_COMMIT);
        status = hocket__sql_run(&k->base);
    }
    if (status == 0) {
        k->base.commits++;
        k->unsynced++;
    } else if (!hocket__db_is_idle(&k->db)) {
        struct hocket_error error = k->db.error;
        int code = k->db.code;
        hocket__db_exec(&k->db, "ROLLBACK");
        k->db.error = error;
        k->db.code = code;
    }
    return status;
}

/* ---- Syncing ----------------------------------------------------------------------------------- */

/* A PRAGMA of its own costs as much as a small write: it is said when it changes. */
static int set_sync(struct hocket__sqlite_keeper *k, bool full)
{
    if (k->sync_is_full == full)
        return 0;
    int rc =
        hocket__db_exec(&k->db, full ? "PRAGMA synchronous = FULL" : "PRAGMA synchronous = NORMAL");
    if (rc == 0)
        k->sync_is_full = full;
    return rc;
}

/* After a sync that failed the system may have forgotten what it did not write: a later sync says nothing
 * of that. So all that is in the log is written and synced anew, into the file. */
static int write_anew(struct hocket__sqlite_keeper *k)
{
    if (!k->sync_failed)
        return 0;
    int rc, busy = (int) hocket__db_ask(&k->db, "PRAGMA wal_checkpoint(TRUNCATE)", &rc);
    if (rc == 0 && busy) {
        rc = hocket__error(
            &k->db.error, HOCKET_EIO, "%s: another process keeps it locked", k->db.path);
        k->db.error.retryable = true;
    }
    k->sync_failed = rc < 0;
    return rc;
}

static bool is_sync_failure(int code)
{
    return code == SQLITE_IOERR_FSYNC || code == SQLITE_IOERR_DIR_FSYNC;
}

static int sync_row(struct hocket__keeper *k)
{
    hocket__sql_new(k, ST_SYNC);
    return hocket__sql_run(k);
}

static int apply_all(struct hocket__sqlite_keeper *k, struct hocket__str work)
{
    int rc = hocket__sqlite_apply(&k->base, work, NULL);
    return rc == 0 && k->base.ahead_to ? hocket__ahead_note(k) : rc;
}

static int write_once(struct hocket__sqlite_keeper *k, struct hocket__str work, bool sync)
{
    int rc = write_anew(k);
    if (rc == 0)
        rc = set_sync(k, sync);
    if (rc < 0)
        return rc;
    hocket__keeper_begun(&k->base);
    rc = hocket__sqlite_begin(k);
    if (rc == 0)
        rc = work.n > 0 ? apply_all(k, work) : sync_row(&k->base);
    return hocket__sqlite_end(k, rc);
}

/* Nothing to write, and nothing that was not synced: a wish for a sync has come true already. */
int hocket__sqlite_write(struct hocket__sqlite_keeper *k, struct hocket__str work, bool sync)
{
    if (work.n == 0 && k->unsynced == 0)
        return 0;
    int rc = hocket__sqlite_there(k);
    if (rc == 0)
        rc = write_once(k, work, sync);
    if (rc < 0) {
        k->sync_failed |= is_sync_failure(k->db.code);
        return rc;
    }
    if (sync) {
        k->unsynced = 0;
        k->base.syncs++;
    }
    hocket__keeper_settled(&k->base);
    return 0;
}

/* ---- Questions that write ---------------------------------------------------------------------- */

static int change_once(
    struct hocket__sqlite_keeper *k, struct hocket__store_call *c, hocket__sql_answer_cb body)
{
    int rc = write_anew(k);
    if (rc == 0)
        rc = set_sync(k, true);
    if (rc == 0)
        rc = hocket__sqlite_begin(k);
    if (rc < 0)
        return rc;
    rc = body(&k->base, c);
    int ended = hocket__sqlite_end(k, rc == 0 ? c->status : rc);
    return rc == 0 && c->status < 0 ? 0 : ended;
}

/* One transaction, and not a second one that is synced: that could fail by itself, and what was done would be told as failed. What was
 * refused has written nothing, and so synced nothing. */
int hocket__sqlite_change(
    struct hocket__keeper *base, struct hocket__store_call *c, hocket__sql_answer_cb body)
{
    struct hocket__sqlite_keeper *k = hocket__sqlite_of(base);
    int rc = change_once(k, c, body);
    if (rc < 0) {
        k->sync_failed |= is_sync_failure(k->db.code);
    } else if (c->status == 0) {
        k->unsynced = 0;
        k->base.syncs++;
    }
    return rc;
}

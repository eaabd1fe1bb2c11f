/* The SQLite store: what its thread does with a file. */
#include "store/sqlite/sqlite_impl.h"

#include "os/fs.h"
#include "os/store_place.h"
#include "store/sqlite/schema.h"

#include <stdio.h>

#define OPEN_TRIES  20
#define OPEN_GAP_MS 100

static bool is_busy(const struct hocket__db *d)
{
    int code = d->code & 0xff;
    return code == SQLITE_BUSY || code == SQLITE_LOCKED;
}

static int fill_sums(struct hocket__db *d)
{
    static const unsigned statements[HOCKET__SUMMED_TEXTS] = { ST_FILL_ENTRIES, ST_FILL_RECORDS,
        ST_FILL_MESSAGES, ST_FILL_RUNS };
    struct hocket__sqlite_writer *w = hocket__container_of(d, struct hocket__sqlite_writer, db);
    return hocket__sql_fill_sums(&w->base, statements);
}

/* Another process may be making the file just now. Whoever opens it to keep something hears at once that it may only be read;
 * later that is said of each run. */
static int open_database(struct hocket__sqlite_writer *w)
{
    int rc = hocket__store_place(w->base.o.path, &w->path, &w->looks, &w->db.error);
    if (rc >= 0 && w->looks && hocket__writer_has_work(&w->base))
        return hocket__sqlite_deny(w);
    for (int i = 0; rc >= 0 && i < OPEN_TRIES; i++) {
        rc = w->looks ? hocket__schema_look(&w->db, w->path.data)
                      : hocket__schema_open(&w->db, w->path.data);
        w->log_is = 0;
        if (rc == 0)
            w->data_version = hocket__db_ask(&w->db, "PRAGMA data_version", &rc);
        if (rc < 0)
            hocket__db_close(&w->db, true); /* it is opened anew */
        if (rc != HOCKET_EIO || !is_busy(&w->db))
            return rc;
        uv_sleep(OPEN_GAP_MS);
        rc = i + 1 < OPEN_TRIES ? 0 : rc;
    }
    return rc;
}

static int open_file(struct hocket__writer *base)
{
    struct hocket__sqlite_writer *w = hocket__sqlite_of(base);
    int rc = open_database(w);
    if (rc == 0 && w->looks) {
        hocket__sqlite_deny(w);
        snprintf(w->denied, sizeof(w->denied), "%s", w->db.error.message);
        w->base.denied = w->denied;
    } else if (rc == 0) {
        hocket__wal_recover(w);
    }
    return rc;
}

/* SQLite does not look at the name of its log again, which stays as it is while we have the file open. */
static bool has_lost_log(struct hocket__sqlite_writer *w)
{
    uv_stat_t st;
    if (w->looks)
        return false;
    if (w->log.len == 0 && hocket__buf_addf(&w->log, "%s-wal", w->path.data) < 0)
        return false;
    int rc = hocket__fs_lstat(w->log.data, &st);
    if (rc == 0 && w->log_is == 0)
        w->log_is = st.st_ino;
    return w->log_is != 0 && (rc == UV_ENOENT || (rc == 0 && st.st_ino != w->log_is));
}

/* What stood in the log that was removed goes into the file, while nobody else has made another. */
static void save_log(struct hocket__sqlite_writer *w)
{
    int rc;
    hocket__db_ask(&w->db, "PRAGMA wal_checkpoint(FULL)", &rc);
}

int hocket__sqlite_there(struct hocket__sqlite_writer *w)
{
    struct hocket__db *d = &w->db;
    int moved = 0;
    if (!w->base.gone) {
        d->lib->file_control(d->db, "main", SQLITE_FCNTL_HAS_MOVED, &moved);
        w->lost = moved ? "" : has_lost_log(w) ? "-wal" : NULL;
        w->base.gone = w->lost != NULL;
        if (w->base.gone && !moved)
            save_log(w);
    }
    if (!w->base.gone)
        return 0;
    return hocket__error(&d->error, HOCKET_EIO,
        "%s%s: the file was removed or moved, or another one is in its place: what goes on in it "
        "is "
        "kept no more. "
        "Begin again with the file that is to be used",
        d->path, w->lost);
}

/* data_version changes when another connection has written, which is asked without touching the
 * file's pages. */
static int look(struct hocket__writer *base)
{
    struct hocket__sqlite_writer *w = hocket__sqlite_of(base);
    int rc = hocket__sqlite_there(w);
    if (rc < 0)
        return rc;
    int64_t version = hocket__db_ask(&w->db, "PRAGMA data_version", &rc);
    if (rc < 0 || version == w->data_version)
        return rc;
    w->data_version = version;
    return 1;
}

static int write_work(struct hocket__writer *base, struct hocket__str work, bool sync)
{
    struct hocket__sqlite_writer *w = hocket__sqlite_of(base);
    return w->looks ? hocket__writer_deny(base, work) : hocket__sqlite_write(w, work, sync);
}

static int64_t now(const struct hocket__writer *base)
{
    return hocket__store_wall_ms(&base->o);
}

static int answer(struct hocket__writer *base, struct hocket__store_call *c)
{
    int rc = hocket__sqlite_there(hocket__sqlite_of(base));
    return rc < 0 ? rc : hocket__sql_answer(base, c);
}

static void close_file(struct hocket__writer *base)
{
    struct hocket__sqlite_writer *w = hocket__sqlite_of(base);
    hocket__db_close(&w->db, w->looks || w->db.error.status == HOCKET_EPARSE);
}

static void free_writer(struct hocket__writer *base)
{
    struct hocket__sqlite_writer *w = hocket__sqlite_of(base);
    hocket__buf_deinit(&w->path);
    hocket__buf_deinit(&w->wal);
    hocket__buf_deinit(&w->log);
    hocket__free(&hocket__malloc, w, sizeof(*w));
}

static const struct hocket__writer_ops ops = {
    .name = "sqlite",
    .open = open_file,
    .write = write_work,
    .answer = answer,
    .now = now,
    .renew = hocket__sqlite_renew,
    .release = hocket__sqlite_release,
    .sweep = hocket__sweep_step,
    .look = look,
    .close = close_file,
    .free = free_writer,
    .wal = hocket__wal_file,
};

int hocket__store_sqlite_open(
    const struct hocket__store_options *o, struct hocket__store **out, struct hocket_error *err)
{
    if (!o->path || !*o->path)
        return hocket__error(err, HOCKET_EINVAL, "no file to keep runs in was named");
    struct hocket__sqlite_writer *w = hocket__zero(&hocket__malloc, sizeof(*w));
    if (!w)
        return hocket__error_nomem(err);
    w->base.ops = &ops;
    w->base.sql = &hocket__sqlite_sql;
    w->base.error = &w->db.error;
    w->db.migrated = fill_sums;
    hocket__buf_init(&w->path, &hocket__malloc, 0);
    hocket__buf_init(&w->wal, &hocket__malloc, 0);
    hocket__buf_init(&w->log, &hocket__malloc, 0);
    return hocket__writer_start(&w->base, o, out, err);
}

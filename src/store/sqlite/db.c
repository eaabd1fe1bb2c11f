/* SQLite as the other files call it: prepared statements in slots, results of three kinds (a row,
 * the end, a status), and errors in words that name the file and what to do. All calls go through
 * the table of functions that lib.c has loaded; no other file names sqlite3_….
 *
 * One connection, one thread: SQLite's own mutexes are off. */
#include "store/sqlite/db.h"

#include "store/texts.h"

#include <stdio.h>
#include <string.h>

#include "os/fs.h"

#define BUSY_MS 2000
/* Bytes of a page of the shared-memory file: https://www.sqlite.org/walformat.html, 2.2. */
#define SHM_PAGE 32768

static int fail_with(struct hocket__db *d, int status, bool retryable, const char *what)
{
    hocket__error(&d->error, status, "%s: %s", d->path, what);
    d->error.retryable = retryable;
    return status;
}

/* Where the system has a word for it, that. */
static int cannot_open(struct hocket__db *d)
{
    int code = d->lib->system_errno(d->db);
    char what[160];
    snprintf(what, sizeof(what), "it cannot be opened%s%s", code ? ": " : "",
        code ? strerror(code) : "");
    return fail_with(d, HOCKET_EIO, true, what);
}

/* Not so much is left as the shared-memory file of the log grows by: then SQLite says no more than that something failed
 * (https://www.sqlite.org/rescode.html#ioerr_shmsize). */
static bool is_full(const char *path)
{
    return hocket__fs_room(path) < SHM_PAGE;
}

static int io_failed(struct hocket__db *d)
{
    return fail_with(
        d, HOCKET_EIO, true, is_full(d->path) ? "the disk is full" : d->lib->errmsg(d->db));
}

/* By SQLite's words, which say less than a person needs. */
int hocket__db_fail(struct hocket__db *d)
{
    int code = d->code = d->db ? d->lib->extended_errcode(d->db) : SQLITE_NOMEM;
    switch (code & 0xff) {
    case SQLITE_NOMEM: return fail_with(d, HOCKET_ENOMEM, true, "out of memory");
    case SQLITE_FULL: return fail_with(d, HOCKET_EIO, true, "the disk is full");
    case SQLITE_BUSY:
    case SQLITE_LOCKED: return fail_with(d, HOCKET_EIO, true, "another process keeps it locked");
    case SQLITE_CORRUPT:
        return fail_with(d, HOCKET_EPARSE, false,
            "the file is damaged. Move it away (with its -wal) and a new one is made; what can be "
            "read "
            "of it is saved by: sqlite3 FILE .recover | sqlite3 NEW");
    case SQLITE_NOTADB:
        return fail_with(d, HOCKET_EPARSE, false,
            "this is no database (or an encrypted one): give another file to keep runs in");
    case SQLITE_READONLY:
    case SQLITE_PERM:
        return fail_with(d, HOCKET_EDENIED, true,
            "it cannot be written: give another file to keep runs in, or keep none");
    case SQLITE_CANTOPEN: return cannot_open(d);
    case SQLITE_TOOBIG: return fail_with(d, HOCKET_ELIMIT, false, "a value is too large");
    case SQLITE_IOERR: return io_failed(d);
    default: return fail_with(d, HOCKET_EIO, false, d->lib->errmsg(d->db));
    }
}

static int open_as(struct hocket__db *d, const char *path, const char *name, int flags)
{
    d->path = path;
    d->lib = hocket__sqlite_load(&d->error);
    if (!d->lib)
        return HOCKET_EUNSUPPORTED;
    flags |= SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_PRIVATECACHE | SQLITE_OPEN_EXRESCODE;
#ifdef SQLITE_OPEN_NOFOLLOW
    flags |= SQLITE_OPEN_NOFOLLOW;
#endif
    if (d->lib->open_v2(name, &d->db, flags, NULL) != SQLITE_OK)
        return hocket__db_fail(d);
    /* Others may write to the same file: a store waits for them so long within SQLite, and then
     * again as a whole (thread.c). */
    d->lib->busy_timeout(d->db, BUSY_MS);
    /* A file from a stranger may hold triggers and views: none of them runs functions with effects,
     * and none changes the schema. */
    d->lib->db_config(d->db, SQLITE_DBCONFIG_DEFENSIVE, 1, NULL);
    d->lib->db_config(d->db, SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0, NULL);
    return 0;
}

int hocket__db_open(struct hocket__db *d, const char *path)
{
    return open_as(d, path, path, SQLITE_OPEN_READWRITE);
}

/* A URI carries options for SQLite that have no flags. */
int hocket__db_open_to_look(struct hocket__db *d, const char *path, bool alone)
{
    struct hocket__buf uri = hocket__buf(&hocket__malloc, 0);
    hocket__buf_adds(&uri, "file:");
    for (const char *p = path; *p; p++)
        hocket__buf_addf(&uri, strchr("%?#", *p) ? "%%%02X" : "%c", (unsigned char) *p);
    hocket__buf_adds(&uri, alone ? "?immutable=1" : "?readonly_shm=1");
    int rc = uri.status < 0 ? hocket__error_nomem(&d->error)
                            : open_as(d, path, uri.data, SQLITE_OPEN_READONLY | SQLITE_OPEN_URI);
    hocket__buf_deinit(&uri);
    return rc;
}

/* `untouched`: of a file that was refused not even the write-ahead log is carried over. */
void hocket__db_close(struct hocket__db *d, bool untouched)
{
    for (size_t i = 0; d->lib && i < sizeof(d->stmts) / sizeof(d->stmts[0]); i++) {
        d->lib->finalize(d->stmts[i]);
        d->stmts[i] = NULL;
    }
    if (d->db && untouched)
        d->lib->db_config(d->db, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1, NULL);
    if (d->db)
        d->lib->close_v2(d->db);
    d->db = NULL;
    d->st = NULL;
    hocket__buf_deinit(&d->text);
}

int hocket__db_exec(struct hocket__db *d, const char *sql)
{
    return d->lib->exec(d->db, sql, NULL, NULL, NULL) == SQLITE_OK ? 0 : hocket__db_fail(d);
}

static const char *const texts[] = {
#define S(NAME, ...) [HOCKET__SQL_##NAME] = __VA_ARGS__,
#define ONCE
#include "store/statements.h"
#undef S
#undef ONCE
#define S(NAME, ...) [ST_##NAME] = __VA_ARGS__,
#include "store/sqlite/statements.h"
#undef S
};

static sqlite3_stmt *prepare(struct hocket__db *d, unsigned statement)
{
    sqlite3_stmt *st = NULL;
    if (!d->text.a)
        hocket__buf_init(&d->text, &hocket__malloc, 0);
    hocket__buf_reset(&d->text);
    hocket__sql_write(&d->text, texts[statement], '?');
    if (d->text.status < 0)
        hocket__error_nomem(&d->error);
    else if (d->lib->prepare_v3(d->db, d->text.data, -1, SQLITE_PREPARE_PERSISTENT, &st, NULL)
             != SQLITE_OK)
        hocket__db_fail(d);
    return st;
}

/* All statements have their slot for the life of the connection. */
void hocket__db_new(struct hocket__db *d, unsigned statement)
{
    sqlite3_stmt **st = &d->stmts[statement];
    d->bound = 0;
    if (!*st)
        *st = prepare(d, statement);
    d->st = *st;
}

int hocket__db_step(struct hocket__db *d)
{
    if (!d->st)
        return d->error.status;
    int rc = d->lib->step(d->st);
    if (rc == SQLITE_ROW)
        return 1;
    int status = rc == SQLITE_DONE ? 0 : hocket__db_fail(d);
    d->lib->reset(d->st);
    return status;
}

int64_t hocket__db_ask(struct hocket__db *d, const char *sql, int *rc)
{
    int64_t value = 0;
    d->bound = 0;
    d->st = NULL;
    if (d->lib->prepare_v3(d->db, sql, -1, 0, &d->st, NULL) != SQLITE_OK) {
        *rc = hocket__db_fail(d);
        return 0;
    }
    *rc = hocket__db_step(d);
    if (*rc == 1)
        value = d->lib->column_int64(d->st, 0);
    d->lib->finalize(d->st);
    d->st = NULL;
    *rc = *rc < 0 ? *rc : 0;
    return value;
}

bool hocket__db_is_idle(const struct hocket__db *d)
{
    return d->lib->get_autocommit(d->db) != 0;
}

/* The tables of the store, how a file gets them, and which files are taken at all. A file is judged
 * before anything is written to it: empty, ours, an older version of ours, a newer one, another
 * program's, or damaged. The last three are refused in words that say what to do, since the
 * alternative is to lose somebody's data.
 *
 * Versions: PRAGMA application_id says that the file is ours, user_version which form it has. A
 * change of the tables is a new row in `migrations`; nothing that stands there is ever edited. */
#include "store/sqlite/schema.h"

#include "store/texts.h"

#include <stdio.h>

#include "os/fs.h"

/* Of version 2, with the columns from `pool` on: what workers need. */
#define QUEUE_TABLES                                                                               \
    HOCKET__QUEUE_INDEX                                                                            \
    HOCKET__QUEUE_SLEEPS_INDEX                                                                     \
    "CREATE INDEX runs_caller ON runs(caller) WHERE caller IS NOT NULL;"                           \
    "CREATE TABLE items("                                                                          \
    " kind TEXT NOT NULL,"                                                                         \
    " id TEXT NOT NULL,"                                                                           \
    " version INTEGER NOT NULL,"                                                                   \
    " due_ms INTEGER NOT NULL,"                                                                    \
    " at_ms INTEGER NOT NULL,"                                                                     \
    " generation TEXT," /* as of runs: it keeps their files */                                     \
    " json TEXT NOT NULL,"                                                                         \
    " PRIMARY KEY(kind, id)) WITHOUT ROWID;"                                                       \
    "CREATE INDEX items_generation ON items(generation) WHERE generation IS NOT NULL;"             \
    "CREATE INDEX items_due ON items(kind, due_ms, id);"                                           \
    "CREATE TABLE limits("                                                                         \
    " name TEXT PRIMARY KEY,"                                                                      \
    " used REAL NOT NULL DEFAULT 0," /* it leaks with time, from at_ms on */                       \
    " at_ms INTEGER NOT NULL DEFAULT 0,"                                                           \
    " blocked_ms INTEGER NOT NULL DEFAULT 0) WITHOUT ROWID;"                                       \
    "CREATE TABLE leases("                                                                         \
    " name TEXT NOT NULL,"                                                                         \
    " holder TEXT NOT NULL,"                                                                       \
    " n INTEGER NOT NULL,"                                                                         \
    " want INTEGER NOT NULL,"                                                                      \
    " until_ms INTEGER NOT NULL,"                                                                  \
    " PRIMARY KEY(name, holder)) WITHOUT ROWID;"

/* Numbers of runs, for what belongs to them, are short; entries and records have both parts of their
 * key in one, since a table is ordered by such a key alone, without an index beside it:
 * run << 32 | n. Columns that are made of it are for people, and take no room. */
static const char schema[] = HOCKET__RUN_TABLE
    ");"
    "CREATE INDEX runs_updated ON runs(updated_ms);"
    "CREATE INDEX runs_parent ON runs(parent) WHERE parent IS NOT NULL;"
    "CREATE INDEX runs_generation ON runs(generation) WHERE generation IS NOT NULL;"
    "CREATE INDEX runs_removed ON runs(no) WHERE removed = 1;"

    /* Texts that are long or come again and again stand here once. */
    "CREATE TABLE texts("
    " no INTEGER PRIMARY KEY,"
    " hash BLOB NOT NULL UNIQUE," /* SHA-256 */
    " refs INTEGER NOT NULL,"
    " text BLOB NOT NULL);"

    "CREATE TABLE entries("
    " key INTEGER PRIMARY KEY,"
    " tick INTEGER NOT NULL,"
    " at_ms INTEGER NOT NULL,"
    " kind INTEGER NOT NULL,"
    " path INTEGER NOT NULL,"
    " ord INTEGER NOT NULL,"
    " name TEXT NOT NULL,"
    " digest BLOB NOT NULL,"
    " value TEXT," /* NULL: in texts */
    " text INTEGER REFERENCES texts(no),"
    " run INTEGER AS (key >> 32),"
    " n INTEGER AS (key & 4294967295),"
    " sum INTEGER);"
    "CREATE TRIGGER entries_text AFTER DELETE ON entries WHEN old.text IS NOT NULL BEGIN"
    " UPDATE texts SET refs = refs - 1 WHERE no = old.text;"
    " DELETE FROM texts WHERE no = old.text AND refs = 0; END;"

    "CREATE TABLE records("
    " key INTEGER PRIMARY KEY,"
    " json TEXT NOT NULL,"
    " run INTEGER AS (key >> 32),"
    " seq INTEGER AS (key & 4294967295),"
    " sum INTEGER);"

    "CREATE TABLE files("
    " generation TEXT NOT NULL,"
    " path TEXT NOT NULL,"
    " hash TEXT NOT NULL,"
    " text INTEGER NOT NULL REFERENCES texts(no),"
    " PRIMARY KEY(generation, path)) WITHOUT ROWID;"
    "CREATE TRIGGER files_text AFTER DELETE ON files BEGIN"
    " UPDATE texts SET refs = refs - 1 WHERE no = old.text;"
    " DELETE FROM texts WHERE no = old.text AND refs = 0; END;"

    "CREATE TABLE messages("
    " no INTEGER PRIMARY KEY,"
    " run INTEGER NOT NULL REFERENCES runs(no),"
    " id TEXT NOT NULL,"
    " at_ms INTEGER NOT NULL,"
    " json TEXT," /* NULL: it was taken */
    " sum INTEGER,"
    " UNIQUE(run, id));" HOCKET__MESSAGES_INDEX

        QUEUE_TABLES

    "CREATE TABLE meta(name TEXT PRIMARY KEY, value) WITHOUT ROWID;"
    "INSERT INTO meta VALUES('syncs', 0);"; /* changed where there is nothing else to sync */

/* From version n to n + 1. Each stays as it is for ever: files of that version are still around. */
#define MIGRATION(version) HOCKET__RUN_MIGRATE(version),
static const char *const migrations[] = {
    /* 0, before the first release: no forks of records, no mark of simulated runs, and messages were
     * called inbox and went away when they were taken. */
    HOCKET__RUN_MIGRATE(
        1) "CREATE TABLE messages("
           " no INTEGER PRIMARY KEY,"
           " run INTEGER NOT NULL REFERENCES runs(no),"
           " id TEXT NOT NULL,"
           " at_ms INTEGER NOT NULL,"
           " json TEXT,"
           " UNIQUE(run, id));"
           "INSERT INTO messages(run, id, at_ms, json) SELECT run, id, 0, value FROM inbox;"
           "DROP TABLE inbox;",

    /* 1, before there were workers. */
    HOCKET__RUN_MIGRATE(2) QUEUE_TABLES,

    /* 2, before there were checksums. */
    HOCKET__RUN_MIGRATE(3) HOCKET__SUM_COLUMNS,

    HOCKET__RUN_MIGRATIONS(MIGRATION)
};
#undef MIGRATION

_Static_assert(sizeof(migrations) / sizeof(migrations[0]) == HOCKET__STORE_VERSION,
    "each version but the last has a way to the next one");

static int refuse(struct hocket__db *d, int status, const char *what)
{
    hocket__error(&d->error, status, "%s: %s", d->path, what);
    d->error.retryable = false;
    return status;
}

static int refuse_newer(struct hocket__db *d, int64_t version)
{
    hocket__error(&d->error, HOCKET_EUNSUPPORTED,
        "%s was written by a newer hocket (version %lld of the store; this one knows %d): use that "
        "one, or give another file to keep runs in",
        d->path, (long long) version, HOCKET__STORE_VERSION);
    d->error.retryable = false;
    return HOCKET_EUNSUPPORTED;
}

enum content { EMPTY, OURS, OLDER };

struct content_of {
    int64_t application, version, tables;
};

static int read_content(struct hocket__db *d, struct content_of *c)
{
    int rc;
    c->application = hocket__db_ask(d, "PRAGMA application_id", &rc);
    if (rc == 0)
        c->version = hocket__db_ask(d, "PRAGMA user_version", &rc);
    if (rc == 0)
        c->tables = hocket__db_ask(d, "SELECT count(*) FROM sqlite_schema", &rc);
    return rc;
}

/* What stands in it, or a negative status; inside of a transaction.
 * Empty means all three: a database without tables may still be another program's that has begun. */
static int judge(struct hocket__db *d, int64_t *version)
{
    struct content_of c = { 0 };
    int rc = read_content(d, &c);
    if (rc < 0)
        return rc;
    *version = c.version;
    if (c.application == 0 && c.version == 0 && c.tables == 0)
        return EMPTY;
    if (c.application != HOCKET__STORE_APPLICATION)
        return refuse(d, HOCKET_EEXIST,
            "this is another program's database: give another file to keep runs in");
    if (c.version < 0 || c.version > HOCKET__STORE_VERSION)
        return refuse_newer(d, c.version);
    return c.version == HOCKET__STORE_VERSION ? OURS : OLDER;
}

/* All of it at one moment: another process may be making the file. */
static int look(struct hocket__db *d, int64_t *version)
{
    int rc = hocket__db_exec(d, "BEGIN");
    if (rc < 0)
        return rc;
    rc = judge(d, version);
    struct hocket_error error = d->error;
    int code = d->code;
    hocket__db_exec(d, "ROLLBACK");
    d->error = error;
    d->code = code;
    return rc;
}

/* A file whose end is missing would be filled up with what is written next. */
static int check_size(struct hocket__db *d)
{
    uv_stat_t st;
    int rc;
    int64_t pages = hocket__db_ask(d, "PRAGMA page_count", &rc), size = 0;
    if (rc == 0)
        size = hocket__db_ask(d, "PRAGMA page_size", &rc);
    char wal[4096 + 8];
    snprintf(wal, sizeof(wal), "%s-wal", d->path);
    bool has_wal =
        hocket__fs_stat(wal, &st) == 0 && st.st_size > 0; /* its pages may not be in the file yet */
    if (rc < 0 || hocket__fs_stat(d->path, &st) < 0 || has_wal
        || (int64_t) st.st_size >= pages * size)
        return rc;
    return refuse(d, HOCKET_EPARSE,
        "the file is damaged: its end is missing. Move it away and a new one is made");
}

/* Checks whole pages if that takes milliseconds; damage of a larger file shows when it is read. */
static int check(struct hocket__db *d)
{
    uv_stat_t st;
    int rc = check_size(d);
    if (rc < 0 || hocket__fs_stat(d->path, &st) < 0 || st.st_size > 8 * 1024 * 1024)
        return rc;
    if (d->lib->prepare_v3(d->db, "PRAGMA quick_check(1)", -1, 0, &d->st, NULL) != SQLITE_OK)
        return hocket__db_fail(d);
    rc = hocket__db_step(d);
    const char *said = rc == 1 ? (const char *) d->lib->column_blob(d->st, 0) : NULL;
    bool ok = said && d->lib->column_bytes(d->st, 0) == 2 && memcmp(said, "ok", 2) == 0;
    d->lib->finalize(d->st);
    d->st = NULL;
    return rc < 0 ? rc
           : ok   ? 0
                  : refuse(d, HOCKET_EPARSE,
                      "the file is damaged. Move it away (with its -wal) and a new one is made; what "
                        "can be read of it "
                        "is saved by: sqlite3 FILE .recover | sqlite3 NEW");
}

static int set_up(struct hocket__db *d)
{
    return hocket__db_exec(d,
        "PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL; PRAGMA temp_store = MEMORY;"
        "PRAGMA secure_delete = FAST; PRAGMA journal_size_limit = 16777216;"
        "PRAGMA cache_size = -4096;");
}

/* Under the lock that only one has: another process may have been faster. */
static int change(struct hocket__db *d, int (*body)(struct hocket__db *d, int64_t version))
{
    int64_t version;
    int rc = hocket__db_exec(d, "BEGIN IMMEDIATE");
    if (rc < 0)
        return rc;
    rc = judge(d, &version);
    if (rc == EMPTY || rc == OLDER)
        rc = body(d, version);
    if (rc >= 0)
        rc = hocket__db_exec(d, "COMMIT");
    if (rc < 0 && !hocket__db_is_idle(d)) {
        struct hocket_error error = d->error;
        hocket__db_exec(d, "ROLLBACK");
        d->error = error;
    }
    return rc;
}

static int set_version(struct hocket__db *d, int64_t version)
{
    char sql[128];
    snprintf(sql, sizeof(sql), "PRAGMA application_id = %d; PRAGMA user_version = %d;",
        HOCKET__STORE_APPLICATION, (int) version);
    return hocket__db_exec(d, sql);
}

static int make(struct hocket__db *d, int64_t version)
{
    (void) version;
    int rc = hocket__db_exec(d, schema);
    return rc < 0 ? rc : set_version(d, HOCKET__STORE_VERSION);
}

/* All steps in one transaction, and the version with them: a kill in between leaves the old file. */
static int migrate(struct hocket__db *d, int64_t version)
{
    int rc = 0;
    for (; rc >= 0 && version < HOCKET__STORE_VERSION; version++)
        rc = hocket__db_exec(d, migrations[version]);
    if (rc >= 0 && d->migrated)
        rc = d->migrated(d);
    return rc < 0 ? rc : set_version(d, version);
}

/* Without it all goes on, more slowly: where it cannot be made now, whoever opens the file next does it. */
static void add_index(struct hocket__db *d)
{
    int rc;
    int64_t there = hocket__db_ask(
        d, "SELECT count(*) FROM sqlite_schema WHERE name = '" HOCKET__MESSAGES_OPEN "'", &rc);
    if (rc == 0 && !there)
        hocket__db_exec(d, HOCKET__MESSAGES_INDEX);
}

/* Vacuuming by steps has to be asked for before there is anything in the file.
 * The check comes before WAL is switched on, which would write to a file that is damaged. */
static int bring_up(struct hocket__db *d, int content)
{
    int rc = 0;
    if (content == EMPTY)
        rc = hocket__db_exec(d, "PRAGMA auto_vacuum = INCREMENTAL");
    else
        rc = check(d);
    if (rc >= 0)
        rc = set_up(d);
    if (rc >= 0 && content == EMPTY)
        rc = change(d, make);
    if (rc >= 0 && content == OLDER)
        rc = change(d, migrate);
    if (rc >= 0 && content != EMPTY)
        add_index(d);
    return rc;
}

int hocket__schema_open(struct hocket__db *d, const char *path)
{
    int64_t version = 0;
    int content = -1, rc = hocket__db_open(d, path);
    if (rc == 0)
        rc = content = look(d, &version);
    if (rc >= 0)
        rc = bring_up(d, content);
    if (rc >= 0) {
        chmod(path, 0600);
        return 0;
    }
    hocket__db_close(d, content < 0 || rc == HOCKET_EPARSE);
    return rc;
}

/* ---- Looking --------------------------------------------------------------------------------- */

static int64_t size_of(const struct hocket__db *d, const char *suffix)
{
    char path[4096 + 8];
    uv_stat_t st;
    snprintf(path, sizeof(path), "%s%s", d->path, suffix);
    return hocket__fs_stat(path, &st) == 0 ? (int64_t) st.st_size : -1;
}

/* SQLite needs a -shm to read a -wal, and may not make one. Without what stands in the -wal the file would be shown as it was
 * once. */
static int open_to_look(struct hocket__db *d, const char *path)
{
    d->path = path;
    bool has_shm = size_of(d, "-shm") >= 0;
    if (size_of(d, "-wal") > 0 && !has_shm)
        return refuse(d, HOCKET_EDENIED,
            "it may only be read, and what was written last stands in its -wal, which takes more "
            "than "
            "that: copy both into a folder of your own, and look at the copy");
    return hocket__db_open_to_look(d, path, !has_shm);
}

static int look_at(struct hocket__db *d)
{
    int64_t version = 0;
    int content = look(d, &version);
    if (content == EMPTY)
        return refuse(d, HOCKET_EDENIED, "there is nothing in it, and it may only be read");
    if (content == OLDER)
        return refuse(d, HOCKET_EDENIED,
            "an older hocket made it, and it may only be read: let it be written to once, and it "
            "is "
            "brought up to date");
    int rc = content < 0 ? content : check(d);
    return rc < 0 ? rc
                  : hocket__db_exec(d,
                      "PRAGMA query_only = ON; PRAGMA temp_store = MEMORY; PRAGMA cache_size = "
                      "-4096;");
}

int hocket__schema_look(struct hocket__db *d, const char *path)
{
    int rc = open_to_look(d, path);
    if (rc == 0)
        rc = look_at(d);
    if (rc < 0)
        hocket__db_close(d, true);
    return rc;
}

/* One connection to a store's file, and its statements. Used from one thread at a time. */
#pragma once

#include "base/buf.h"
#include "store/sql/sql.h"
#include "store/sqlite/lib.h"

#include <stdbool.h>

/* What may be tried again says so in `retryable`; without that the file is of no use: ENOMEM, EIO
 * (full, locked, a disk that fails), EPARSE (damaged). */

enum hocket__sqlite_statement {
    HOCKET__SQLITE_BEFORE = HOCKET__SQL_STATEMENTS - 1,
#define S(NAME, ...) ST_##NAME,
#include "store/sqlite/statements.h"
#undef S
    HOCKET__SQLITE_STATEMENTS
};

struct hocket__db {
    const struct hocket__sqlite *lib;
    sqlite3 *db;
    const char *path;
    sqlite3_stmt *stmts[HOCKET__SQLITE_STATEMENTS];
    struct hocket__buf text; /* of the statement that is prepared */
    sqlite3_stmt *st; /* the statement that is made or read; NULL: it could not be prepared */
    int bound;        /* so many of its parameters are there */
    struct hocket_error error; /* of the last call that failed … */
    int code;                  /* … and SQLite's extended code for it */
    /* NULL, or: fills new columns, in the transaction in which older tables were brought up to date. */
    int (*migrated)(struct hocket__db *d);
};

/* The connection alone: what is in the file is not looked at. */
int hocket__db_open(struct hocket__db *d, const char *path);
/* The same of one that may only be read, in which nothing is changed, nor beside it. `alone`: nobody has it open, and all of it is
 * in the file; else what stands in its -wal is read with its -shm. */
int hocket__db_open_to_look(struct hocket__db *d, const char *path, bool alone);
/* `untouched`: nothing of what stands in a -wal is put into the file. */
void hocket__db_close(struct hocket__db *d, bool untouched);

/* Statements without results; several, separated by semicolons. */
int hocket__db_exec(struct hocket__db *d, const char *sql);

/* Begins a statement, prepared at its first use; what is wrong with it the first step says. */
void hocket__db_new(struct hocket__db *d, unsigned statement);
/* 1: a row; 0: done, and reset; negative: failed, and reset. */
int hocket__db_step(struct hocket__db *d);
/* The one number that a text of SQL gives, such as a pragma; negative status in *rc. */
int64_t hocket__db_ask(struct hocket__db *d, const char *sql, int *rc);

/* Fills d->error by SQLite's last failure and gives the status. */
int hocket__db_fail(struct hocket__db *d);
/* Whether no transaction is open. */
bool hocket__db_is_idle(const struct hocket__db *d);

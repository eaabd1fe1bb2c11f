/* One connection to a store's file, and its statements. Used from one thread at a time. */
#pragma once

#include "base/buf.h"
#include "store/sqlite/lib.h"

#include <stdbool.h>

/* What may be tried again says so in `retryable`; without that the file is of no use: ENOMEM, EIO
 * (full, locked, a disk that fails), EPARSE (damaged). */

struct hocket__db {
    const struct hocket__sqlite *lib;
    sqlite3 *db;
    const char *path;
    sqlite3_stmt *stmts[96];
    struct hocket_error error; /* of the last call that failed … */
    int code;                  /* … and SQLite's extended code for it */
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

/* A prepared statement, made at its first use and reset; NULL: see d->error. `slot` is the caller's
 * number for this text. */
sqlite3_stmt *hocket__db_stmt(struct hocket__db *d, unsigned slot, const char *sql);

void hocket__db_bind_int(struct hocket__db *d, sqlite3_stmt *st, int i, int64_t v);
void hocket__db_bind_text(struct hocket__db *d, sqlite3_stmt *st, int i, struct hocket__str s);
void hocket__db_bind_blob(struct hocket__db *d, sqlite3_stmt *st, int i, struct hocket__str s);
/* An empty text, or a number below 0, as NULL. */
void hocket__db_bind_text_or_null(
    struct hocket__db *d, sqlite3_stmt *st, int i, struct hocket__str s);
void hocket__db_bind_count(struct hocket__db *d, sqlite3_stmt *st, int i, int64_t v);

/* 1: a row; 0: done, and reset; negative: failed, and reset. */
int hocket__db_step(struct hocket__db *d, sqlite3_stmt *st);
/* Steps to the end: 0, or negative. */
int hocket__db_run(struct hocket__db *d, sqlite3_stmt *st);
/* Ends a statement that had rows left. */
void hocket__db_reset(struct hocket__db *d, sqlite3_stmt *st);
int64_t hocket__db_int(struct hocket__db *d, sqlite3_stmt *st, int column);
/* -1 for NULL. */
int64_t hocket__db_count(struct hocket__db *d, sqlite3_stmt *st, int column);
/* Valid until the next step. */
struct hocket__str hocket__db_str(struct hocket__db *d, sqlite3_stmt *st, int column);
/* The one number that a text of SQL gives, such as a pragma; negative status in *rc. */
int64_t hocket__db_ask(struct hocket__db *d, const char *sql, int *rc);

/* Fills d->error by SQLite's last failure and gives the status. */
int hocket__db_fail(struct hocket__db *d);
/* Whether no transaction is open. */
bool hocket__db_is_idle(const struct hocket__db *d);

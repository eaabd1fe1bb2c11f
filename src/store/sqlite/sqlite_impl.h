/* What the parts of the SQLite store share; what it is a part of stands in writer/writer.h. */
#pragma once

#include "store/writer/writer.h"
#include "store/sqlite/db.h"
#include "store/sqlite/sqlite.h"

/* The thread's alone. */
struct hocket__sqlite_writer {
    struct hocket__writer base;
    struct hocket__db db;
    struct hocket__buf path; /* where the file really is */
    struct hocket__buf wal; /* of its write-ahead file (writer/wal.h); the loop's when it is open */
    uint64_t unsynced;      /* transactions since the last that was synced */
    bool sync_is_full;      /* how the connection stands */
    bool sync_failed;       /* what was written before may not be what the disk has */
    int64_t data_version;
    struct hocket__buf log; /* the name of the -wal of SQLite … */
    uint64_t log_is;        /* … and which file that was; 0: none was seen yet */
    const char *lost;       /* which of both was removed: "" or "-wal" */
    bool looks;             /* the file may only be read … */
    char denied[sizeof(((struct hocket_error *) 0)->message)]; /* … which is said so */
    bool has_notes;                                            /* their tables are there */
    bool has_noted;                                            /* it knows of write-ahead files */
    bool is_tidy;
};

static inline struct hocket__sqlite_writer *hocket__sqlite_of(struct hocket__writer *base)
{
    return hocket__container_of(base, struct hocket__sqlite_writer, base);
}

int64_t hocket__sqlite_now(const struct hocket__sqlite_writer *w);

/* Whether the file is still the one that its name stands for, and its -wal: what is written into one that was removed nobody ever
 * reads, and beside another one it would spoil that. 0; or EIO, and it is gone for good. */
int hocket__sqlite_there(struct hocket__sqlite_writer *w);

extern const struct hocket__sql_ops hocket__sqlite_sql;

/* ---- write.c ---- */

/* Writes the commands as one transaction, to the disk when `sync`: 0, or the database's status, and
 * nothing was written; then `work` is to be given again. */
int hocket__sqlite_write(struct hocket__sqlite_writer *w, struct hocket__str work, bool sync);

/* The file may only be read: what is said of that. */
int hocket__sqlite_deny(struct hocket__sqlite_writer *w);
/* BEGIN IMMEDIATE; with a status of 0 COMMIT, else ROLLBACK. */
int hocket__sqlite_begin(struct hocket__sqlite_writer *w);
int hocket__sqlite_end(struct hocket__sqlite_writer *w, int status);

/* Does what a question says, as a transaction that is on the disk when it is there: who hears that it is done may lose power then.
 * What fails, or is refused, is not there. */
int hocket__sqlite_change(
    struct hocket__writer *base, struct hocket__store_call *c, hocket__sql_answer_cb body);

/* ---- apply.c ---- */

/* Commands, as a part of a transaction; `only`: what is of this run, or of none. */
int hocket__sqlite_apply(struct hocket__writer *w, struct hocket__str work, const char *only);

/* ---- claims.c ---- */

int hocket__sqlite_renew(struct hocket__writer *base);
int hocket__sqlite_release(struct hocket__writer *base);

/* Who has the run: 1; 0: nobody. */
struct hocket__wal_of;
int hocket__sqlite_owner(
    struct hocket__sqlite_writer *w, const char *id, struct hocket__wal_of *of);

/* ---- wal.c ---- */

/* A store whose file may hold what the database has not. */
struct hocket__wal_of {
    int64_t store, pid, start;
    int64_t at_ms; /* when it said so last; of one that was found */
    char place[400];
};
const char *hocket__wal_file(struct hocket__writer *base);
/* All these within a transaction. How far it comes. */
int hocket__wal_note(struct hocket__sqlite_writer *w);
/* Writes what the one who has this run had handed over for it, before it is taken from there. *unreadable (or NULL): it failed,
 * and because of the file alone; nothing was written. */
int hocket__wal_recover_run(struct hocket__sqlite_writer *w, const struct hocket__wal_of *of,
    const char *id, bool *unreadable);
/* This store has written all. */
int hocket__wal_forget(struct hocket__sqlite_writer *w);
/* What those left that have ended; makes its transactions itself. What fails is tried again by the next who
 * looks: when it is opened, and when there is nothing to sweep. */
void hocket__wal_recover(struct hocket__sqlite_writer *w);
/* Removes files of a day and more that the database knows nothing of. */
void hocket__wal_tidy(struct hocket__sqlite_writer *w);

/* ---- sweep.c ---- */

/* One small step; base->more_to_sweep says whether there is another. */
int hocket__sweep_step(struct hocket__writer *base);

/* ---- maintenance.c, notes.c ---- */

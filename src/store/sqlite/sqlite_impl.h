/* What the parts of the SQLite store share; what it is a part of stands in keeper/keeper.h. */
#pragma once

#include "store/keeper/keeper.h"
#include "store/sqlite/db.h"
#include "store/sqlite/sqlite.h"

/* The thread's alone. */
struct hocket__sqlite_keeper {
    struct hocket__keeper base;
    struct hocket__db db;
    struct hocket__buf path;  /* where the file really is */
    struct hocket__buf ahead; /* and what is ahead of it; the loop's when it is open */
    uint64_t unsynced;        /* transactions since the last that was synced */
    bool sync_is_full;        /* how the connection stands */
    bool sync_failed;         /* what was written before may not be what the disk has */
    int64_t data_version;
    bool looks;                                                /* the file may only be read … */
    char denied[sizeof(((struct hocket_error *) 0)->message)]; /* … which is said so */
    bool has_notes;                                            /* their tables are there */
    bool has_noted;                                            /* what is ahead of the database */
    bool is_tidy;
};

static inline struct hocket__sqlite_keeper *hocket__sqlite_of(struct hocket__keeper *base)
{
    return hocket__container_of(base, struct hocket__sqlite_keeper, base);
}

int64_t hocket__sqlite_now(const struct hocket__sqlite_keeper *k);

/* Whether the file is still the one that its name stands for: what is written into one that was removed nobody ever reads, and beside
 * another one it would spoil that. 0; or EIO, and it is gone for good. */
int hocket__sqlite_there(struct hocket__sqlite_keeper *k);

/* ---- write.c ---- */

/* Writes the commands as one transaction, to the disk when `sync`: 0, or the database's status, and
 * nothing was written; then `work` is to be given again. */
int hocket__sqlite_write(struct hocket__sqlite_keeper *k, struct hocket__str work, bool sync);

/* The file may only be read: what is said of that. */
int hocket__sqlite_deny(struct hocket__sqlite_keeper *k);
/* BEGIN IMMEDIATE; with a status of 0 COMMIT, else ROLLBACK. */
int hocket__sqlite_begin(struct hocket__sqlite_keeper *k);
int hocket__sqlite_end(struct hocket__sqlite_keeper *k, int status);

/* Does what a question says, as a transaction that is on the disk when it is there: who hears that it is done may lose power then.
 * What fails is not there. */
int hocket__sqlite_change(struct hocket__sqlite_keeper *k, struct hocket__store_call *c,
    int (*body)(struct hocket__sqlite_keeper *k, struct hocket__store_call *c));

/* ---- apply.c ---- */

/* Commands, as a part of a transaction; `only`: what is of this run, or of none. */
int hocket__sqlite_apply(
    struct hocket__sqlite_keeper *k, struct hocket__str work, const char *only);
/* Refuses the run, and gives 0: what others say is written. */
int hocket__sqlite_refuse(struct hocket__sqlite_keeper *k, struct hocket__claimed *c,
    enum hocket__store_command_kind kind, int status);

/* ---- put.c ---- */

/* 0 without an error: there is none. */
int64_t hocket__run_no(struct hocket__sqlite_keeper *k, struct hocket__str id, int *rc);
/* What the file says of the run, once in a transaction, in which nobody else may change it. */
int hocket__sqlite_load_run(struct hocket__sqlite_keeper *k, struct hocket__claimed *c);
int hocket__sqlite_put_run(
    struct hocket__sqlite_keeper *k, struct hocket__claimed *c, const struct hocket__store_run *r);
int hocket__sqlite_update_run(struct hocket__sqlite_keeper *k, const struct hocket__claimed *c,
    const struct hocket__store_command *u);
int hocket__sqlite_release_run(struct hocket__sqlite_keeper *k, struct hocket__claimed *c);
/* Its last numbers, and the time. */
int hocket__sqlite_write_run(
    struct hocket__sqlite_keeper *k, struct hocket__claimed *c, int64_t now);
/* Puts a run that nobody has; *status: why it cannot be. */
int hocket__sqlite_put_free(
    struct hocket__sqlite_keeper *k, const struct hocket__store_run *run, int *status);
/* A message has come for the run: if it waits, and nobody has it, it is queued. */
int hocket__message_heard(struct hocket__sqlite_keeper *k, int64_t run);

/* ---- rows.c ---- */

#define HOCKET__SQLITE_LAST_KEY UINT64_C(0xFFFFFFFF)

int hocket__sqlite_append(struct hocket__sqlite_keeper *k, struct hocket__claimed *c,
    const struct hocket__store_entry *e);
int hocket__sqlite_record(struct hocket__sqlite_keeper *k, struct hocket__claimed *c,
    const struct hocket__store_record *r);
int hocket__sqlite_put_file(struct hocket__sqlite_keeper *k, const struct hocket__store_file *f);
/* One that is there already stays: then nothing has changed. */
int hocket__message_put(
    struct hocket__sqlite_keeper *k, int64_t run, const struct hocket__store_message *m);
int hocket__sqlite_message_del(
    struct hocket__sqlite_keeper *k, const struct hocket__claimed *c, struct hocket__str id);

/* ---- submit.c ---- */

/* Puts what comes along, in the transaction that there is; *status: why its run cannot be put, and nothing was. */
int hocket__sqlite_put_along(
    struct hocket__sqlite_keeper *k, const struct hocket__store_call *c, int *status);
int hocket__sqlite_submit(struct hocket__sqlite_keeper *k, struct hocket__store_call *c);

/* ---- claims.c ---- */

/* Sets the seven owner columns from parameter `first` on. */
void hocket__sqlite_bind(struct hocket__sqlite_keeper *k, sqlite3_stmt *st, int first);
/* Whether whoever has the run of a row of hocket__ask_runs has it still. */
bool hocket__sqlite_is_held(struct hocket__sqlite_keeper *k, sqlite3_stmt *row);
/* Answers TAKE. */
int hocket__sqlite_take(struct hocket__sqlite_keeper *k, struct hocket__store_call *call);
int hocket__sqlite_renew(struct hocket__keeper *base);
int hocket__sqlite_release(struct hocket__keeper *base);

/* Who has the run: 1; 0: nobody. */
struct hocket__ahead_of;
int hocket__sqlite_owner(
    struct hocket__sqlite_keeper *k, const char *id, struct hocket__ahead_of *of);

/* ---- queue.c ---- */

/* These answer TAKE_NEXT and SPOKEN. */
int hocket__sqlite_take_next(struct hocket__sqlite_keeper *k, struct hocket__store_call *call);
int hocket__sqlite_spoken(struct hocket__sqlite_keeper *k, struct hocket__store_call *call);

/* ---- ahead.c ---- */

/* A store whose file may hold what the database has not. */
struct hocket__ahead_of {
    int64_t store, pid, start;
    int64_t at_ms; /* when it said so last; of one that was found */
    char place[400];
};
const char *hocket__ahead_file(struct hocket__keeper *base);
/* All these within a transaction. How far it comes. */
int hocket__ahead_note(struct hocket__sqlite_keeper *k);
/* Writes what the one who has this run had handed over for it, before it is taken from there. *unreadable (or NULL): it failed,
 * and because of the file alone; nothing was written. */
int hocket__ahead_recover_run(struct hocket__sqlite_keeper *k, const struct hocket__ahead_of *of,
    const char *id, bool *unreadable);
/* This store has written all. */
int hocket__ahead_forget(struct hocket__sqlite_keeper *k);
/* What those left that have ended; makes its transactions itself. What fails is tried again by the next who
 * looks: when it is opened, and when there is nothing to sweep. */
void hocket__ahead_recover(struct hocket__sqlite_keeper *k);
/* Removes files of a day and more that the database knows nothing of. */
void hocket__ahead_tidy(struct hocket__sqlite_keeper *k);

/* ---- ask.c ---- */

/* Answers a question; a status of the database alone: the question's own is in the call. */
int hocket__sqlite_answer(struct hocket__keeper *base, struct hocket__store_call *call);

/* ---- runs.c ---- */

/* What the id of a removed run begins with, that it had, and its number. */
#define HOCKET__REMOVED "removed "

#define HOCKET__RUN_COLUMNS HOCKET__RUN_COLUMNS_WITH("r.input, r.options")
/* With something else for the two columns that may be long. */
#define HOCKET__RUN_COLUMNS_WITH(texts)                                                            \
    "r.id, p.id, r.at_n, r.at_seq, r.target, " texts ", r.generation, r.waiting_for,"              \
    " r.version, r.seed, r.state, r.simulated, r.cost, r.tokens, r.created_ms, r.updated_ms,"      \
    " r.last_n, r.fence, r.owner_pid, r.owner_host, r.owner_since_ms, r.lease_ms, r.no,"           \
    " r.owner_place, r.owner_start, r.owner_store, r.last_seq, r.pool, r.due_ms, r.caller,"        \
    " r.project, r.attempts"
#define HOCKET__RUN_FROM " FROM runs r LEFT JOIN runs p ON p.no = r.parent"
enum {
    HOCKET__RUN_OWNER = 19,
    HOCKET__RUN_LEASE = 22,
    HOCKET__RUN_NO = 23,
    HOCKET__RUN_PLACE = 24,
    HOCKET__RUN_LAST_SEQ = 27,
    HOCKET__RUN_POOL
};

void hocket__row_run(struct hocket__db *d, sqlite3_stmt *st, struct hocket__store_run *run);

/* These answer FIND, RUNS and REMOVE. */
int hocket__sqlite_find(struct hocket__sqlite_keeper *k, struct hocket__store_call *c);
int hocket__sqlite_runs(struct hocket__sqlite_keeper *k, struct hocket__store_call *c);
int hocket__sqlite_remove_named(struct hocket__sqlite_keeper *k, struct hocket__store_call *c);

/* ---- log.c ---- */

/* These answer ENTRIES and RECORDS, and FILES. */
int hocket__sqlite_log(struct hocket__sqlite_keeper *k, struct hocket__store_call *c);
int hocket__sqlite_files(struct hocket__sqlite_keeper *k, struct hocket__store_call *c);

/* ---- messages.c ---- */

/* These answer MESSAGES and MESSAGE. */
int hocket__sqlite_messages(struct hocket__sqlite_keeper *k, struct hocket__store_call *c);
int hocket__sqlite_message(struct hocket__sqlite_keeper *k, struct hocket__store_call *c);

/* ---- pools.c ---- */

int hocket__sqlite_pools(struct hocket__sqlite_keeper *k, struct hocket__store_call *c);
int hocket__sqlite_blocked(struct hocket__sqlite_keeper *k, struct hocket__store_call *c);

/* ---- sweep.c ---- */

/* Marks a run as removed, with what nobody else needs of it; its rows go in steps. */
int hocket__sweep_remove(struct hocket__sqlite_keeper *k, int64_t no);
/* One small step; base->more_to_sweep says whether there is another. */
int hocket__sweep_step(struct hocket__keeper *base);

/* Drops the files of those of these generations that no run has, and no item. */
int hocket__sqlite_drop_files(struct hocket__sqlite_keeper *k, struct hocket__str generations);

/* ---- care.c ---- */

int hocket__sqlite_care(struct hocket__sqlite_keeper *k, struct hocket__store_call *c);

/* ---- items.c ---- */

int hocket__sqlite_item_put(struct hocket__sqlite_keeper *k, struct hocket__store_call *c);
int hocket__sqlite_item_del(struct hocket__sqlite_keeper *k, struct hocket__store_call *c);
int hocket__sqlite_items(struct hocket__sqlite_keeper *k, struct hocket__store_call *c);
/* ---- draw.c ---- */

int hocket__sqlite_draw(struct hocket__sqlite_keeper *k, struct hocket__store_call *c);

/* ---- notes.c ---- */

int hocket__sqlite_note_put(struct hocket__sqlite_keeper *k, struct hocket__store_call *c);
int hocket__sqlite_note_del(struct hocket__sqlite_keeper *k, struct hocket__store_call *c);
int hocket__sqlite_notes(struct hocket__sqlite_keeper *k, struct hocket__store_call *c);

/* Slots of statements. */
enum {
    ST_PUT_FIND,
    ST_PUT,
    ST_LOAD,
    ST_UPDATE,
    ST_APPEND,
    ST_RECORD,
    ST_DIRTY,
    ST_GROWN,
    ST_FILE_FIND,
    ST_FILE,
    ST_TEXT_FIND,
    ST_TEXT_REF,
    ST_TEXT,
    ST_MESSAGE_DEL,
    ST_RELEASE,
    ST_TAKE_FIND,
    ST_CALLS,
    ST_TAKE,
    ST_RENEW,
    ST_LET_GO,
    ST_FIND,
    ST_RUNS,
    ST_RUNS_CALLED,
    ST_ENTRIES,
    ST_RECORDS,
    ST_FILES,
    ST_MESSAGES,
    ST_MESSAGE,
    ST_CHAIN,
    ST_COUNT,
    ST_BEGIN,
    ST_COMMIT,
    ST_SYNC,
    ST_VERSION,
    ST_OLDEST,
    ST_REMOVE,
    ST_REMOVED,
    ST_PURGE_ENTRIES,
    ST_PURGE_RECORDS,
    ST_PURGE_MESSAGES,
    ST_PURGE_RUN,
    ST_PURGE_FILES,
    ST_NAMES,
    ST_NOTE_FIND,
    ST_NOTE_SUM,
    ST_NOTE_PUT,
    ST_NOTE_TEXT,
    ST_NOTE_NO_TEXT,
    ST_NOTE_DEL,
    ST_NOTE_GET,
    ST_NOTE_LIST,
    ST_NOTE_SEARCH,
    ST_NOTE_PART,
    ST_NOTE_MEMORIES,
    ST_NOTE_VECTOR,
    ST_NOTE_NO_VECTOR,
    ST_NOTE_VECTORS,
    ST_NOTE_NO,
    ST_LIMIT_FIND,
    ST_LIMIT_PUT,
    ST_LIMIT_SWEEP,
    ST_LEASES,
    ST_LEASE_DEL,
    ST_LEASE_PUT,
    ST_SPEAK,
    ST_CALLER,
    ST_NEXT,
    ST_TAKE_NEXT,
    ST_TAKEN,
    ST_SPOKEN,
    ST_POOLS,
    ST_POOL_BLOCKED,
    ST_OWNERS,
    ST_BURY,
    ST_PUT_OFF,
    ST_SETTLE,
    ST_ITEM_FIND,
    ST_ITEM_PUT,
    ST_ITEM_DEL,
    ST_ITEMS,
    ST_AHEAD,
    ST_AHEAD_FIND,
    ST_AHEAD_DEL,
    ST_AHEAD_NEXT,
    ST_AHEAD_HELD,
    ST_SLOTS
};
_Static_assert(ST_SLOTS <= sizeof(((struct hocket__db *) 0)->stmts) / sizeof(sqlite3_stmt *),
    "each statement has a slot");

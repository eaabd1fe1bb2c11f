/* What the parts of the SQLite store share.
 *
 *   loop's thread              under the lock                  the store's thread
 *   submit ─────────────────>  incoming, incoming_seq ───────> work ─> one transaction
 *   want ───────────────────>  wanted[2]
 *   ask ────────────────────>  questions ────────────────────> answers
 *   on_news (uv_async) <─────  kept, answers, news <──────────
 */
#pragma once

#include "base/map.h"
#include "store/sqlite/db.h"
#include "store/sqlite/sqlite.h"
#include "store/store_impl.h"

#include <pthread.h>
#include <stdatomic.h>

/* A run that this store has claimed, or that was written as if it had. */
struct hocket__claimed {
    struct hocket__claimed *next_same; /* of the same hash */
    struct hocket__list link, touched;
    char id[HOCKET__STORE_ID + 1];
    int64_t no; /* 0: not there */
    uint64_t fence;
    uint64_t last_n, last_seq;
    int64_t updated_ms;
    uint64_t transaction; /* in which the above was read */
    bool dirty, released;
    bool changed; /* more than that it has grown: the time is to be exact */
    int refusal;  /* why nothing of it is written any more */
    enum hocket__store_command_kind refused_kind;
    bool told;
};

/* Who this process is to others, and whether those are alive. */
struct hocket__self {
    int64_t pid, start, store;
    char host[256], place[400];
};

/* The thread's alone. */
struct hocket__keeper {
    struct hocket__db db;
    struct hocket__self self;
    struct hocket__store_options o;
    struct hocket__buf path; /* malloc'ed, as all here */
    struct hocket__map claimed;
    struct hocket__list claims, touched;
    uint64_t transaction;
    uint64_t unsynced; /* transactions since the last that was synced */
    bool sync_is_full; /* how the connection stands */
    bool sync_failed;  /* what was written before may not be what the disk has */
    uint64_t commits, syncs;
    int64_t next_renewal_ms, next_sweep_ms, next_watch_ms;
    int64_t data_version;
    bool more_to_sweep, has_refusals;
    bool has_notes;   /* their tables are there */
    uint64_t pending; /* bytes; for those who ask */
};

/* Nothing more of this claim is written; it is told when the transaction is there. */
void hocket__keeper_refuse(struct hocket__keeper *k, struct hocket__claimed *c,
    enum hocket__store_command_kind kind, int status);

int64_t hocket__keeper_now(const struct hocket__keeper *k);

/* ---- apply.c ---- */

/* Writes the commands as one transaction, to the disk when `sync`: 0, or the database's status, and
 * nothing was written; then `work` is to be given again. */
int hocket__keeper_write(struct hocket__keeper *k, struct hocket__str work, bool sync);

/* One that is there already stays: then nothing has changed. */
int hocket__message_put(
    struct hocket__keeper *k, int64_t run, const struct hocket__store_message *m);

/* BEGIN IMMEDIATE; with a status of 0 COMMIT, else ROLLBACK. */
int hocket__keeper_begin(struct hocket__keeper *k);
int hocket__keeper_end(struct hocket__keeper *k, int status);

/* ---- claims.c ---- */

void hocket__self_init(struct hocket__self *self);
struct hocket__claimed *hocket__claims_get(struct hocket__keeper *k, const char *id);
/* The same, made when it is not there; NULL: out of memory. */
struct hocket__claimed *hocket__claims_need(struct hocket__keeper *k, const char *id);
void hocket__claims_drop(struct hocket__keeper *k, struct hocket__claimed *c);
void hocket__claims_free(struct hocket__keeper *k);
/* Sets the seven owner columns from parameter `first` on. */
void hocket__claims_bind(struct hocket__keeper *k, sqlite3_stmt *st, int first);
/* Whether whoever has the run of a row of hocket__ask_runs has it still. */
bool hocket__claims_is_held(struct hocket__keeper *k, sqlite3_stmt *row);
/* Answers TAKE. */
int hocket__claims_take(struct hocket__keeper *k, struct hocket__store_call *call);
/* Moves the leases. A claim that was lost gets a refusal. */
int hocket__claims_renew(struct hocket__keeper *k);
/* Lets go of all. */
int hocket__claims_release(struct hocket__keeper *k);

/* ---- ask.c ---- */

/* Answers a question; a status of the database alone: the question's own is in the call. */
int hocket__keeper_answer(struct hocket__keeper *k, struct hocket__store_call *call);

/* What the id of a removed run begins with, that it had, and its number. */
#define HOCKET__REMOVED "removed "

#define HOCKET__RUN_COLUMNS                                                                        \
    "r.id, p.id, r.at_n, r.at_seq, r.target, r.input, r.options, r.generation, r.waiting_for,"     \
    " r.version, r.seed, r.state, r.simulated, r.cost, r.tokens, r.created_ms, r.updated_ms,"      \
    " r.last_n, r.fence, r.owner_pid, r.owner_host, r.owner_since_ms, r.lease_ms, r.no,"           \
    " r.owner_place, r.owner_start, r.owner_store, r.last_seq"
#define HOCKET__RUN_FROM " FROM runs r LEFT JOIN runs p ON p.no = r.parent"
enum {
    HOCKET__RUN_OWNER = 19,
    HOCKET__RUN_LEASE = 22,
    HOCKET__RUN_NO = 23,
    HOCKET__RUN_PLACE = 24,
    HOCKET__RUN_LAST_SEQ = 27
};

void hocket__row_run(struct hocket__db *d, sqlite3_stmt *st, struct hocket__store_run *run);
int64_t hocket__run_no(struct hocket__keeper *k, struct hocket__str id, int *rc);

/* ---- sweep.c ---- */

/* Marks a run as removed, with what nobody else needs of it; its rows go in steps. */
int hocket__sweep_remove(struct hocket__keeper *k, int64_t no);
/* One small step; k->more_to_sweep says whether there is another. */
int hocket__sweep_step(struct hocket__keeper *k);

/* ---- notes.c ---- */

int hocket__keeper_note_put(struct hocket__keeper *k, struct hocket__store_call *c);
int hocket__keeper_note_del(struct hocket__keeper *k, struct hocket__store_call *c);
int hocket__keeper_notes(struct hocket__keeper *k, struct hocket__store_call *c);

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
    ST_TAKE,
    ST_RENEW,
    ST_LET_GO,
    ST_FIND,
    ST_RUNS,
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
    ST_SLOTS
};
_Static_assert(ST_SLOTS <= sizeof(((struct hocket__db *) 0)->stmts) / sizeof(sqlite3_stmt *),
    "each statement has a slot");

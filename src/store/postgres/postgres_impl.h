/* What the parts of the PostgreSQL store share. */
#pragma once

#include "store/keeper/keeper.h"
#include "store/postgres/db.h"
#include "store/postgres/postgres.h"

/* The thread's alone. */
struct hocket__pg_keeper {
    struct hocket__keeper base;
    struct hocket__pg db;
    int64_t clock;     /* the server's, less that of the machine since its start */
    char snapshot[64]; /* what the server had seen when others were looked for last */
    bool heard;        /* others have said that there is something */
    int64_t
        asked_ms; /* the server's time when what is asked or written was so for the first time */
    int64_t next_traces_ms; /* when traces are looked through (sweep.c); keeper_clock */
    bool doubt;             /* nobody knows whether the last transaction is there */
    bool unsure;            /* a run may be ours whose answer was lost */
    struct {
        int64_t below, lowest; /* runs with these numbers are still to be looked at; 0: none */
    } pass;                    /* through those that may be too old */
    bool keeps_shared;         /* files that many runs have stay for the moment */
};

static inline struct hocket__pg_keeper *hocket__pg_of(struct hocket__keeper *base)
{
    return hocket__container_of(base, struct hocket__pg_keeper, base);
}

/* The server's time. */
int64_t hocket__pg_now(const struct hocket__pg_keeper *k);

/* BEGIN; the end is hocket__pg_finish. */
int hocket__pg_begin(struct hocket__pg *d);

/* ---- write.c ---- */

int hocket__pg_write(struct hocket__keeper *base, struct hocket__str work, bool sync);
/* Whether an attempt whose answer was lost has put this run, whoever has it now, or has removed it since: 1, 0, or a status. */
int hocket__pg_is_put(struct hocket__pg_keeper *k, const struct hocket__store_run *r);
/* Until standbys that are waited for have all that was committed before, also that whose answer was lost. */
int hocket__pg_until_replicated(struct hocket__pg_keeper *k);

/* ---- apply.c ---- */

/* Hands over what one command says, of a run whose row is known; then what is said of the rows of the runs themselves. */
int hocket__pg_apply(struct hocket__pg_keeper *k, const struct hocket__store_command *cmd);
int hocket__pg_apply_rows(struct hocket__pg_keeper *k);
/* Refuses the run, and gives 0: what others say is written. */
int hocket__pg_refuse(struct hocket__pg_keeper *k, struct hocket__claimed *c,
    enum hocket__store_command_kind kind, int status);
/* Hands a file over, as a part of a pipeline. */
int hocket__pg_send_file(struct hocket__pg *d, const struct hocket__store_file *f);

/* One that is there already stays: then no row has changed. */
int hocket__pg_send_message(
    struct hocket__pg *d, int64_t run, const struct hocket__store_message *m);

/* ---- put.c ---- */

#define HOCKET__PG_LAST_KEY UINT64_C(0xFFFFFFFF)

/* Of a run that is to be put: its number, and its parent's. */
#define HOCKET__PG_NUMBER                                                                          \
    "SELECT nextval(pg_get_serial_sequence('runs', 'no')), (SELECT no FROM runs WHERE id = $1)"

int hocket__pg_put_run(
    struct hocket__pg_keeper *k, struct hocket__claimed *c, const struct hocket__store_run *r);
int hocket__pg_update_run(
    struct hocket__pg_keeper *k, struct hocket__claimed *c, const struct hocket__store_command *u);
/* What was said of its row. */
int hocket__pg_change_run(struct hocket__pg_keeper *k, struct hocket__claimed *c, int64_t now);
/* Puts a run that nobody has, in the transaction that there is; *status: why it cannot be. */
int hocket__pg_put_free(
    struct hocket__pg_keeper *k, const struct hocket__store_run *run, int *status);

/* ---- submit.c ---- */

/* Puts what comes along, in the transaction that there is; *status: why its run cannot be put. */
int hocket__pg_put_along(
    struct hocket__pg_keeper *k, const struct hocket__store_call *c, int *status);
/* `again`: the answer of an attempt before was lost. */
int hocket__pg_submit(struct hocket__pg_keeper *k, struct hocket__store_call *c, bool again);

/* ---- claims.c ---- */

/* Adds the seven owner columns. */
void hocket__pg_owner(struct hocket__pg_keeper *k);
/* Whether whoever has the run of this row of HOCKET__PG_RUN has it still. */
bool hocket__pg_is_held(struct hocket__pg_keeper *k, int row);
/* Whether this store knows of its claim with this number. */
bool hocket__pg_knows(const struct hocket__claimed *c, int64_t fence);
int hocket__pg_take(struct hocket__pg_keeper *k, struct hocket__store_call *c);
/* 1: some are locked by somebody. */
int hocket__pg_renew(struct hocket__pg_keeper *k);
int hocket__pg_release(struct hocket__keeper *base);

/* ---- queue.c ---- */

/* These answer TAKE_NEXT (`again`: the answer of an attempt before was lost) and SPOKEN. */
int hocket__pg_take_next(struct hocket__pg_keeper *k, struct hocket__store_call *c, bool again);
int hocket__pg_spoken(struct hocket__pg_keeper *k, struct hocket__store_call *c);

/* ---- ask.c ---- */

int hocket__pg_answer(struct hocket__keeper *base, struct hocket__store_call *c);

/* ---- runs.c ---- */

/* What the id of a removed run begins with, that it had, and its number: above all others. */
#define HOCKET__PG_REMOVED     "removed "
#define HOCKET__PG_REMOVED_END "removed!" /* no id that begins so is as high */

#define HOCKET__PG_RUN         "SELECT " HOCKET__PG_RUN_COLUMNS HOCKET__PG_RUN_FROM
#define HOCKET__PG_RUN_FROM    " FROM runs r LEFT JOIN runs p ON p.no = r.parent"
#define HOCKET__PG_RUN_COLUMNS HOCKET__PG_RUN_COLUMNS_WITH("r.input, r.options")
/* With something else for the two columns that may be long. */
#define HOCKET__PG_RUN_COLUMNS_WITH(texts)                                                         \
    "r.id, p.id, r.at_n, r.at_seq, r.target, " texts ", r.generation,"                             \
    " r.waiting_for, r.version, r.seed, r.state, r.simulated, r.cost, r.tokens, r.created_ms,"     \
    " r.updated_ms, r.last_n, r.fence, r.owner_pid, r.owner_host, r.owner_since_ms, r.lease_ms,"   \
    " r.no, r.owner_place, r.owner_start, r.owner_store, r.last_seq, r.pool, r.due_ms, r.caller,"  \
    " r.project, r.attempts, r.writes"
enum {
    PG_RUN_FENCE = 18,
    PG_RUN_PID,
    PG_RUN_HOST,
    PG_RUN_SINCE,
    PG_RUN_LEASE,
    PG_RUN_NO,
    PG_RUN_PLACE,
    PG_RUN_START,
    PG_RUN_STORE,
    PG_RUN_LAST_SEQ,
    PG_RUN_POOL,
    PG_RUN_WRITES = PG_RUN_POOL + 5,
    PG_RUN_COLUMNS
};
void hocket__pg_run_of(struct hocket__pg *d, int row, struct hocket__store_run *run);
/* The run's number; 0 without an error: there is none. */
int64_t hocket__pg_run_no(struct hocket__pg *d, struct hocket__str id, int *rc);

/* These answer FIND, RUNS and REMOVE (`again`: the answer of an attempt before was lost). */
int hocket__pg_find(struct hocket__pg_keeper *k, struct hocket__store_call *c);
int hocket__pg_runs(struct hocket__pg_keeper *k, struct hocket__store_call *c);
int hocket__pg_remove_named(struct hocket__pg_keeper *k, struct hocket__store_call *c, bool again);

/* ---- log.c ---- */

/* These answer ENTRIES and RECORDS, and FILES. */
int hocket__pg_log(struct hocket__pg_keeper *k, struct hocket__store_call *c);
int hocket__pg_files(struct hocket__pg_keeper *k, struct hocket__store_call *c);

/* ---- messages.c ---- */

/* These answer MESSAGES and MESSAGE. */
int hocket__pg_messages(struct hocket__pg_keeper *k, struct hocket__store_call *c);
int hocket__pg_message(struct hocket__pg_keeper *k, struct hocket__store_call *c, bool again);

/* ---- pools.c ---- */

int hocket__pg_pools(struct hocket__pg_keeper *k, struct hocket__store_call *c);
int hocket__pg_blocked(struct hocket__pg_keeper *k, struct hocket__store_call *c);

/* ---- sweep.c ---- */

/* Marks a run as removed, with what nobody else needs of it; its rows go in steps. */
int hocket__pg_remove(struct hocket__pg_keeper *k, int64_t no);
int hocket__pg_sweep(struct hocket__keeper *base);
/* All that there is to sweep, with runs that ended so long ago, or 0; and files that nobody has any more. */
int hocket__pg_sweep_all(struct hocket__pg_keeper *k, int64_t max_age_ms);

/* Drops the files of those of these generations that no run has, and no item. */
int hocket__pg_drop_files(struct hocket__pg *d, struct hocket__str generations);

/* Of the generation $1, among what else such locks are of. */
#define HOCKET__PG_GENERATION "hashtextextended('hocket files ' || $1, 0)"

/* ---- items.c ---- */

/* `again`: the answer of an attempt before was lost. */
int hocket__pg_item_put(struct hocket__pg_keeper *k, struct hocket__store_call *c, bool again);
int hocket__pg_item_del(struct hocket__pg_keeper *k, struct hocket__store_call *c, bool again);
int hocket__pg_items(struct hocket__pg_keeper *k, struct hocket__store_call *c);

/* ---- care.c ---- */

int hocket__pg_care(struct hocket__pg_keeper *k, struct hocket__store_call *c);

/* ---- draw.c ---- */

int hocket__pg_draw(struct hocket__pg_keeper *k, struct hocket__store_call *c, bool again);

/* ---- notes.c ---- */

int hocket__pg_note_put(struct hocket__pg_keeper *k, struct hocket__store_call *c);
int hocket__pg_note_del(struct hocket__pg_keeper *k, struct hocket__store_call *c, bool again);
int hocket__pg_notes(struct hocket__pg_keeper *k, struct hocket__store_call *c);

/* Slots of statements; 0 is for those that are said once. */
enum {
    PG_ONCE,
    PG_BEGIN,
    PG_LOAD,
    PG_NUMBER,
    PG_PUT,
    PG_CHANGE,
    PG_APPEND,
    PG_APPEND_TEXT,
    PG_TEXT,
    PG_RECORD,
    PG_FILE,
    PG_FILE_SHARE,
    PG_FILE_LOCK,
    PG_MESSAGE,
    PG_SAY,
    PG_MESSAGE_DEL,
    PG_LET_GO,
    PG_GROWN,
    PG_COMMIT,
    PG_TAKE_FIND,
    PG_CALLS,
    PG_TAKE,
    PG_TAKEN,
    PG_RENEW,
    PG_RELEASE,
    PG_RUN_ID,
    PG_FIND,
    PG_RUNS,
    PG_RUNS_CALLED,
    PG_CHAIN,
    PG_ENTRIES,
    PG_RECORDS,
    PG_FILES,
    PG_MESSAGES,
    PG_STATS,
    PG_SNAPSHOT,
    PG_NAMES,
    PG_REMOVE,
    PG_PURGE_FILES,
    PG_REMOVED,
    PG_PURGE_ENTRIES,
    PG_PURGE_RECORDS,
    PG_PURGE_MESSAGES,
    PG_PURGE_RUN,
    PG_TRACES,
    PG_NUMBERS,
    PG_OLD,
    PG_NOTE_LOCK,
    PG_NOTE_SUM,
    PG_NOTE_PUT,
    PG_NOTE_DEL,
    PG_NOTE_MEMORIES,
    PG_NOTE_GET,
    PG_NOTE_LIST,
    PG_NOTE_SEARCH,
    PG_NOTE_PART,
    PG_NOTE_VECTORS,
    PG_NOTE_NO,
    PG_NO_SYNC,
    PG_LIMIT_MAKE,
    PG_LIMIT_LOOK,
    PG_LIMIT_PUT,
    PG_LIMIT_SWEEP,
    PG_LEASES,
    PG_LEASE_DEL,
    PG_LEASE_PUT,
    PG_SPEAK,
    PG_ENDED,
    PG_TAKE_NEXT,
    PG_TAKE_NEXT_OF,
    PG_LOST,
    PG_RETAKE,
    PG_OWNERS,
    PG_BURY,
    PG_SPOKEN,
    PG_NOTIFY,
    PG_ITEM_FIND,
    PG_ITEM_NEW,
    PG_ITEM_PUT,
    PG_ITEM_DEL,
    PG_ITEM_SAME,
    PG_ITEMS,
    PG_SLOTS
};
_Static_assert((int) PG_SLOTS <= (int) HOCKET__PG_STATEMENTS, "each statement has a slot");

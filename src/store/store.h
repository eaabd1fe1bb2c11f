/* Where runs are kept: one interface for all stores.
 *
 * Nothing here waits. What is put, appended or changed is handed over; whoever has to know that it is
 * kept asks by hocket__store_commit and is called back. Reading answers by callbacks too. All of
 * them run from the store's loop, never inside of one of these functions (but hocket__store_close,
 * which may tell that nothing more will come).
 *
 *     put, append, record, …  ──> this turn's batch ──idle──> the backend ──> kept ──> commit's done
 *     find, claim, entries, … ──────────────────────────────> the backend ──> row, row … done
 *
 * Guarantees
 * - What is handed over in one turn of the loop is kept together or not at all, and in its order.
 * - A read sees all that was handed over before it.
 * - Kept means: after the end of this process, however that comes (WRITTEN), or after a loss of
 *   power as well (SYNCED). The memory store keeps for its own life.
 * - A write that fails (disk full, I/O, out of memory) is tried again until it succeeds: `on_news` says PAUSED with
 *   the reason, then GOING. Memory that is out breaks no store, and letting go of a claim needs none. Meanwhile no commit is acknowledged, and what is handed over is held up
 *   to max_pending bytes; then appends answer ELIMIT. Nothing acknowledged is lost.
 * - A run is written by whoever has claimed it last. Who has lost a claim writes nothing any more:
 *   REFUSED is told once, with ESTATE, and commits for this run end with it. Other runs do not notice.
 * - A store that cannot be used (no file, a damaged one, one of a newer version) says BROKEN, and
 *   everything that was asked and will be asked ends with that error. Nothing is written to it. One that could not be
 *   opened is opened again when it is needed, a moment later at the earliest: READY says that it could.
 *
 * One thread uses a store; two stores share nothing, and may be of one file, also in two processes. */
#pragma once

#include <inttypes.h>

#include "base/list.h"
#include "store/row.h"

typedef struct uv_loop_s uv_loop_t;

struct hocket__store;

/* ---- Opening, closing ------------------------------------------------------------------ */

enum hocket__store_news {
    HOCKET__STORE_READY, /* it is open; id NULL; err says why no run can be kept in it, NULL: they can */
    HOCKET__STORE_BROKEN,  /* it cannot be used; err says why, and what to do */
    HOCKET__STORE_PAUSED,  /* writing fails and is tried again; err says why */
    HOCKET__STORE_GOING,   /* writing goes on */
    HOCKET__STORE_REFUSED, /* this run's writes are refused: ESTATE, another has claimed it */
    HOCKET__STORE_CHANGED, /* another process wrote, or a run was queued or spoken to; while it is watched */
};

struct hocket__store_options {
    const struct hocket_allocator *alloc; /* on the loop's thread only */
    uv_loop_t *loop;
    const char *path;   /* the file; of the memory store nothing */
    int linger_ms;      /* how long what nobody waits for may gather; 0: 10, below 0: not at all */
    size_t max_pending; /* bytes; 0: 64 MiB */
    int64_t lease_ms;   /* 0: a minute. Renewed by the store itself while it is open */
    bool
        patient; /* a database that is away in the beginning is waited for: PAUSED says why, then GOING */
    int64_t max_age_ms; /* runs that ended longer ago are removed, oldest first; 0: never */
    uint64_t
        max_bytes; /* and while the file is larger; 0: no limit. Waiting and parked runs stay */
    int64_t (*wall_ms)(
        void *ud); /* NULL: the system's clock. Called from the store's thread, too */
    /* NULL: nobody. `id` is NULL or a run's, `err` NULL or the reason. The store must not be closed
     * from inside. */
    void (*on_news)(
        void *ud, enum hocket__store_news news, const char *id, const struct hocket_error *err);
    void *ud;
};

/* A store that lives as long as the process. ENOMEM, EIO. */
int hocket__store_memory_open(
    const struct hocket__store_options *o, struct hocket__store **out, struct hocket_error *err);

/* Hands over what is left and, once that is kept, or cannot be, lets go of all claims and frees the
 * store; `on_closed` runs from the loop. Waits and reads end before, with ECLOSED where they could
 * not be served. While writing is paused it tries once more and gives up; the claims then run out. */
void hocket__store_close(struct hocket__store *s, void (*on_closed)(void *ud), void *ud);

/* ---- Writing ----------------------------------------------------------------------------- */

/* A run that is ours to write. */
struct hocket__store_claim {
    char id[HOCKET__STORE_ID + 1];
    uint64_t fence;
};

/* The file of a run's own generation that has its result, by the fence of who has ended it: files are written whoever has the
 * run, and so also by who has lost it and does not know. */
#define HOCKET__STORE_RESULT "=result %" PRIu64

/* All these: 0, ENOMEM, EINVAL, ELIMIT (too much is pending: commit, and go on when it is done; in PostgreSQL also a name of
 * more than 600 bytes) or ECLOSED; on an error nothing was taken. Texts are copied. What a run's state is, and that it is let go of,
 * is never too much. */

/* Whether so much is pending that ELIMIT is said for that, and not for what is handed over. */
bool hocket__store_is_full(const struct hocket__store *s);

/* A new run, claimed by us. The fields that are the store's are passed over, but that last_n is at_n. Its id is new: whoever cannot
 * know that asks first, as the refusal of one that is there is the end of the claim that this store may have of it. */
int hocket__store_put(struct hocket__store *s, const struct hocket__store_run *run,
    struct hocket__store_claim *claim);

/* Those of the fields of *run that `set` names. EINVAL: a pool's name has a comma. When a run with a caller ends, that is
 * said to the caller in the same moment: a message "ended ID", the signal "run ID". */
int hocket__store_update(struct hocket__store *s, const struct hocket__store_claim *claim,
    unsigned set, const struct hocket__store_run *run);

int hocket__store_append(struct hocket__store *s, const struct hocket__store_claim *claim,
    const struct hocket__store_entry *entry);
int hocket__store_record(struct hocket__store *s, const struct hocket__store_claim *claim,
    const struct hocket__store_record *record);
/* A file of a generation, which belongs to no run alone: its text is kept once, and the generation
 * as long as a run has it: by its own id, or as one of the names in its `generation`, which are separated by commas (of a
 * fork those of the runs that it goes through, nearest first). One that is there already (generation and path) stays as it is. */
int hocket__store_file(struct hocket__store *s, const struct hocket__store_file *file);
/* The next of such names; false: there is none. */
bool hocket__store_next_generation(struct hocket__str *rest, struct hocket__str *name);
/* A message for a run that is ours, by whoever has it. One of an id that it has had is passed over. */
int hocket__store_message_put(struct hocket__store *s, const struct hocket__store_claim *claim,
    const struct hocket__store_message *message);
/* A message that was taken is no more: with the entry that says so, in the same turn. */
int hocket__store_message_del(struct hocket__store *s, const struct hocket__store_claim *claim,
    struct hocket__str message_id);
/* Milliseconds that a claim holds without being renewed. */
int64_t hocket__store_lease_ms(const struct hocket__store *s);
/* The last word of a claim, also of one that was refused: with it the store forgets that. Nobody has the run now. One of a pool that waits or is parked, and that was spoken to while we had it, is QUEUED. */
int hocket__store_release(struct hocket__store *s, const struct hocket__store_claim *claim);
/* The same of a run that was taken and that nothing was done with: as TAKE has told it, or (was_next) TAKE_NEXT, whose run is QUEUED
 * again, since no worker was lost with it. */
void hocket__store_give_back(
    struct hocket__store *s, const struct hocket__store_run *run, bool was_next);

/* ---- Waiting until it is kept ---------------------------------------------------------------- */

enum hocket__store_kept {
    HOCKET__STORE_WRITTEN, /* handed to the operating system: survives the end of the process */
    HOCKET__STORE_SYNCED,  /* on the disk: survives a loss of power */
};

/* The caller's, until done or forgotten. */
struct hocket__store_wait {
    struct hocket__list link;
    uint64_t seq;
    enum hocket__store_kept kept;
    bool
        no_pause; /* set before: while writing is paused it ends with the reason; what was handed over may be kept later, and is not
                     to be handed over again */
    char id[HOCKET__STORE_ID + 1];
    void (*done)(struct hocket__store_wait *w, int status, const struct hocket_error *err);
};

/* Calls w->done once, when the store is open and all that was handed over before is kept; with ESTATE when the claimed run's
 * (claim may be NULL: any) was refused. Cannot fail; after it the wait lasts until `done` or forget. */
void hocket__store_commit(struct hocket__store *s, const struct hocket__store_claim *claim,
    enum hocket__store_kept kept, struct hocket__store_wait *w);
/* How far comes what was handed over up to now; and whether the store has all up to there (WRITTEN). */
uint64_t hocket__store_handed(const struct hocket__store *s);
/* Takes back what this turn has handed over since the batch had this length. */
void hocket__store_rewind(struct hocket__store *s, size_t len);
bool hocket__store_has(const struct hocket__store *s, uint64_t place);

/* w->done will not be called. A wait that is zero, done or forgotten may be given. */
void hocket__store_forget(struct hocket__store_wait *w);

/* ---- Asking ------------------------------------------------------------------------------------ */

/* Who asks. `row` is called for each row and may be NULL where there is none; other than 0 ends the
 * reading, and is the status. `done` is called once, last. */
struct hocket__store_reply {
    int (*row)(void *ud, const struct hocket__store_row *row);
    void (*done)(void *ud, int status, const struct hocket_error *err);
    void *ud;
};

struct hocket__store_filter {
    unsigned states;           /* bit n: state n; 0: all */
    struct hocket__str before; /* only ids below this one, or empty: to read on after a page */
    struct hocket__str parent; /* only its forks, or empty */
    struct hocket__str caller, pool, project; /* only those of it, or empty */
    int64_t updated_before_ms;                /* 0: any */
    size_t limit;                             /* 0: all */
};

/* These: 0, ENOMEM, EINVAL or ECLOSED; then no callback is called. *call (which may be NULL) is for
 * hocket__store_cancel, valid until `done`. Long answers come in pieces of some 256 KiB, one a turn. */
struct hocket__store_call;

/* One row RUN. The id may be shortened while it is unique, in either case: ENOTFOUND, or EINVAL with
 * an error that names two that begin so. */
int hocket__store_find(struct hocket__store *s, struct hocket__str prefix,
    const struct hocket__store_reply *reply, struct hocket__store_call **call);
/* Makes the run ours: one row RUN, whose `fence` goes into the claim. When somebody else has it:
 * the row, whose `owner` says who, then ESTATE with an error that says so. A claim whose process has
 * ended on this machine, or whose lease has run out, is taken over. */
int hocket__store_take(struct hocket__store *s, struct hocket__str id,
    const struct hocket__store_reply *reply, struct hocket__store_call **call);
enum { HOCKET__STORE_TAKES = 16 }; /* runs that are taken at once at most */
/* Makes the next runs ours that are due in one of these pools (names with commas between them): rows RUN, in the order in
 * which they are due, `most` or HOCKET__STORE_TAKES at most; or none. They are RUNNING from then on. Due is one that is
 * QUEUED, or RUNNING and nobody's, or waits for a time, when that has come; and one whose owner is gone. First come those
 * whose lease or time has come, the longest ago first, then those that are due at once, by their ids: with a queue that is
 * never empty what was lost would wait for ever. One that was lost comes alone, since it may be what its worker was lost by.
 * The clock is the store's: on PostgreSQL the server's. What the reader has not heard of when the call is cancelled is given
 * back; all, when the reader fails. EINVAL: no pool, or 0 at most. */
int hocket__store_take_next(struct hocket__store *s, struct hocket__str pools, size_t most,
    const struct hocket__store_reply *reply, struct hocket__store_call **call);
/* Rows RUN, of which id and fence alone are told: those of ours for which a message lies that was not taken. */
int hocket__store_spoken(struct hocket__store *s, const struct hocket__store_reply *reply,
    struct hocket__store_call **call);
/* Rows POOL: what lies in pools, in their order. It reads all runs of pools that have not ended. */
int hocket__store_pools(struct hocket__store *s, const struct hocket__store_reply *reply,
    struct hocket__store_call **call);
/* Rows RUN without input and options, oldest first: runs of pools that have not ended, and wait for somebody, or that another run
 * has called. */
int hocket__store_blocked(struct hocket__store *s, size_t limit,
    const struct hocket__store_reply *reply, struct hocket__store_call **call);
/* Rows RUN, newest first. */
int hocket__store_runs(struct hocket__store *s, const struct hocket__store_filter *filter,
    const struct hocket__store_reply *reply, struct hocket__store_call **call);
/* Rows ENTRY from n on, in order; of a fork also its parents', up to where it left them. */
int hocket__store_entries(struct hocket__store *s, struct hocket__str id, uint64_t from_n,
    const struct hocket__store_reply *reply, struct hocket__store_call **call);
/* Rows ENTRY of the run that this one is a fork of: all of them, also where that was removed. ENOTFOUND: there is none,
 * because it is no fork, or came from another store. */
int hocket__store_past(struct hocket__store *s, struct hocket__str id,
    const struct hocket__store_reply *reply, struct hocket__store_call **call);
/* Likewise rows RECORD of the run itself. */
int hocket__store_records(struct hocket__store *s, struct hocket__str id, uint64_t from_seq,
    const struct hocket__store_reply *reply, struct hocket__store_call **call);
/* Rows FILE of a generation, by path. */
int hocket__store_files(struct hocket__store *s, struct hocket__str generation,
    const struct hocket__store_reply *reply, struct hocket__store_call **call);
/* Rows MESSAGE of a run, oldest first. */
int hocket__store_messages(struct hocket__store *s, struct hocket__str id,
    const struct hocket__store_reply *reply, struct hocket__store_call **call);
/* Puts a message for a run, whoever has it; done when it is on the disk. One of a pool that waits or is parked, and that
 * nobody has, is QUEUED by it. ENOTFOUND; EEXIST: the run has had a message of this id, taken or not. */
int hocket__store_message(struct hocket__store *s, struct hocket__str id,
    const struct hocket__store_message *message, const struct hocket__store_reply *reply,
    struct hocket__store_call **call);
/* Hands in a run (no fork) for the workers of its pool, with its state and due time as they are given, and with it, in the same
 * moment, the files that it needs; done when it is on the disk, and nobody has it then. `files`: rows FILE (hocket__store_pack), or
 * empty. No claim of this store is touched, of a run of the same id neither. By its seed, which is random, is known what is there of
 * an attempt whose answer was lost. EEXIST: there is such a run: nothing was written. When the call is cancelled it may be there.
 * EINVAL: its pool has a comma, or `files` is something else; ELIMIT: what is handed over has that, too. */
int hocket__store_submit(struct hocket__store *s, const struct hocket__store_run *run,
    struct hocket__str files, const struct hocket__store_reply *reply,
    struct hocket__store_call **call);
/* Removes a run. ENOTFOUND; ESTATE: somebody has it; its caller has not ended; or it has not, and one that it has called has not
 * either. What its forks read of it stays until they go. */
int hocket__store_remove(struct hocket__store *s, struct hocket__str id,
    const struct hocket__store_reply *reply, struct hocket__store_call **call);
/* One row STATS. */
int hocket__store_stats(struct hocket__store *s, const struct hocket__store_reply *reply,
    struct hocket__store_call **call);

/* What people do with a store as a whole. */
enum hocket__store_maintenance_kind {
    HOCKET__STORE_INFO,  /* what it is */
    HOCKET__STORE_CHECK, /* whether all that is in it holds together */
    HOCKET__STORE_VACUUM, /* removes runs that ended `max_age_ms` ago (0: none), and gives back room */
    HOCKET__STORE_GRANT, /* lets other roles of a database use it: `worker` as hocket does, `reader` look */
};
struct hocket__store_maintenance {
    enum hocket__store_maintenance_kind what;
    int64_t max_age_ms;
    struct hocket__str worker, reader; /* or empty */
};
/* Rows MESSAGE, whose id says what (name, version, bytes, …; problem: what CHECK has found) and json what of it. May take long,
 * and others of this store wait. EUNSUPPORTED: it has nothing of the kind. */
int hocket__store_maintain(struct hocket__store *s, const struct hocket__store_maintenance *what,
    const struct hocket__store_reply *reply, struct hocket__store_call **call);

/* ---- Notes ------------------------------------------------------------------------------------- */

/* Notes are no run's: nothing but forgetting removes them. Each is written whole, under its memory and
 * id, when `done` says so: on the disk. One of the same id is replaced, so that writing twice is
 * writing once. ELIMIT: the memory would have more notes or bytes than these. */
int hocket__store_note_put(struct hocket__store *s, const struct hocket__store_note *note,
    uint64_t max_notes, uint64_t max_bytes, const struct hocket__store_reply *reply,
    struct hocket__store_call **call);
/* ENOTFOUND. */
int hocket__store_note_del(struct hocket__store *s, struct hocket__str memory,
    struct hocket__str id, const struct hocket__store_reply *reply,
    struct hocket__store_call **call);
/* Rows NOTE: of a memory the one of this id; or those that have words of the query, the best first;
 * or, with both empty, all, the newest first. Without a memory a row for each one that there is, by name. Of the
 * query words count and nothing else: no character of it is an operator. With a vector those of the
 * same model, the nearest first (each is compared), HOCKET__STORE_NEAR at most. `from`: so many are
 * left out first; limit 0: all. */
enum { HOCKET__STORE_NEAR = 64 };
struct hocket__store_note_query {
    struct hocket__str memory, id, query, vector;
    uint64_t from;
    size_t limit;
};
int hocket__store_notes(struct hocket__store *s, const struct hocket__store_note_query *query,
    const struct hocket__store_reply *reply, struct hocket__store_call **call);

/* ---- Items --------------------------------------------------------------------------------------- */

/* Writes an item (its version and at_ms are passed over) when its version is `expected` (0: there must be none; ANY: whatever is there), and with it, in the same
 * moment, puts `run` (NULL: none) and `files`, as hocket__store_submit does. One row ITEM, with the new version alone; on the disk. ESTATE:
 * another has changed it; ENOTFOUND: it is gone; EEXIST: there is such a run: nothing was written then. */
enum { HOCKET__STORE_ANY = -1 };
int hocket__store_item_put(struct hocket__store *s, const struct hocket__store_item *item,
    int64_t expected, const struct hocket__store_run *run, struct hocket__str files,
    const struct hocket__store_reply *reply, struct hocket__store_call **call);
int hocket__store_item_del(struct hocket__store *s, struct hocket__str kind, struct hocket__str id,
    int64_t expected, const struct hocket__store_reply *reply, struct hocket__store_call **call);
/* Rows ITEM of a kind, what is due first in front; with an id that one, or none. */
int hocket__store_items(struct hocket__store *s, struct hocket__str kind, struct hocket__str id,
    const struct hocket__store_reply *reply, struct hocket__store_call **call);
/* The same of those that are due at all (due_ms is not 0), now or within `ahead_ms`: the others are not looked at. The clock is the
 * store's. */
int hocket__store_items_due(struct hocket__store *s, struct hocket__str kind, int64_t ahead_ms,
    const struct hocket__store_reply *reply, struct hocket__store_call **call);

/* ---- Limits for all ---------------------------------------------------------------------------- */

/* What several processes may use together, by its name: an amount of which so much leaks back in a time (a rate), or never
 * (a budget), or places that holders have (calls at once). Who draws says what the limit is: it is kept nowhere. */
struct hocket__store_draw {
    struct hocket__str name;
    int64_t want;  /* > 0: so much; 0: only looks (a look); < 0: gives back so much */
    int64_t least; /* nothing is granted rather than less; 0: 1. Of places: 0: whatever there is */
    bool
        owing; /* … but what is there at all, and the rest is owed: for what is larger than the limit */
    bool forced;                     /* all of `want`, whatever is left: it was used already */
    int64_t capacity, leak, leak_ms; /* `leak` of it come back in `leak_ms`; 0: none */
    struct hocket__str
        holder;       /* not empty: places. It has as many of `want` as others leave, for … */
    int64_t lease_ms; /* … so long, then they are others'; with a want of 0 at once */
    int64_t
        spent; /* was used already, and is before anything else: with a holder what leases leave is capacity less what was used */
    /* Nobody knows whether it was drawn before: what a holder spends with a `want` of 0 counts only where it still has
     * something, as it has nothing after that. */
    bool again;
    int64_t block_ms; /* nobody is granted anything for so long; 0: as it is */
};
/* One row DRAWN. Survives the end of a process as far as the store does; not a loss of power. EINVAL. Who may only look at the store
 * may look: without a holder, and with nothing that is wanted, spent or blocked. */
int hocket__store_draw(struct hocket__store *s, const struct hocket__store_draw *draw,
    const struct hocket__store_reply *reply, struct hocket__store_call **call);

/* No callback of it will be called; what was asked for may be done all the same. */
void hocket__store_cancel(struct hocket__store *s, struct hocket__store_call *call);
/* The same, and where it was not begun it is not: who has waited long enough has been told that it failed. */
void hocket__store_give_up(struct hocket__store *s, struct hocket__store_call *call);

/* Whether all that was handed over for this claim survives the end of this process, now: what a commit of WRITTEN waits for. False
 * says nothing: then it has to be waited for by a commit, at the first time for each claim, too, since a claim may be refused. Costs
 * a write to a file, and not a transaction. In a turn of the loop that goes on, what comes behind is not kept together
 * with it. */
bool hocket__store_secure(struct hocket__store *s, const struct hocket__store_claim *claim);

/* Whether something that was handed over is not written yet; of a store that broke: never will be. */
bool hocket__store_is_behind(const struct hocket__store *s);
/* Why it cannot be used any more, as BROKEN has told; NULL: it can. */
const struct hocket_error *hocket__store_broken(const struct hocket__store *s);

/* While watched, CHANGED is told within half a second after another process has written; on PostgreSQL at once when a run was
 * queued, or spoken to, and of this store's own when it has done that. A hint: it may come for nothing. Counts. */
void hocket__store_watch(struct hocket__store *s, bool on);

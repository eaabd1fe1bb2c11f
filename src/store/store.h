/* Where runs are kept: one interface for all stores.
 *
 * No function here waits. Writes are handed over to the store; hocket__store_commit calls back when
 * they are saved. Reads answer by callbacks too. Callbacks run from the store's loop, never inside of
 * a function of this header. The exception is hocket__store_close, which may report that nothing more
 * will come.
 *
 *     put, append, record, …  ──> this turn's batch ──idle──> the backend ──> kept ──> commit's done
 *     find, claim, entries, … ──────────────────────────────> the backend ──> row, row … done
 *
 * Guarantees
 * - The writes of one turn of the loop are saved together or not at all, and in their order.
 * - A read sees every write that was handed over before it.
 * - "Saved" means that the data survives any end of this process (WRITTEN), or a loss of power as
 *   well (SYNCED). The memory store keeps data for its own life.
 * - A write that fails (disk full, I/O, out of memory) is tried again until it succeeds: `on_news` says PAUSED with
 *   the reason, then GOING. Being out of memory breaks no store, and releasing a claim needs no memory. Meanwhile no
 *   commit is acknowledged. The store holds up to max_pending bytes of writes; then appends answer ELIMIT. Nothing
 *   acknowledged is lost.
 * - Only the last claimer of a run writes it. After losing a claim, a process writes nothing more of
 *   the run: the store reports REFUSED once, and commits for the run end with ESTATE. Other runs are
 *   not affected.
 * - A store that cannot be used (no file, a damaged one, one of a newer version) reports BROKEN, and every call,
 *   earlier or later, ends with that error. Nothing is written to it. A store that could not be opened is opened
 *   again when it is needed, a moment later at the earliest: then it reports READY.
 *
 * One thread uses a store. Two stores share nothing, and may use the same file, also in two
 * processes. */
#pragma once

#include <inttypes.h>

#include "base/list.h"
#include "store/row.h"

typedef struct uv_loop_s uv_loop_t;

struct hocket__store;

/* ---- Opening, closing ------------------------------------------------------------------ */

enum hocket__store_news {
    HOCKET__STORE_READY, /* it is open; id NULL; err says why no run can be saved in it, NULL: runs can */
    HOCKET__STORE_BROKEN,  /* it cannot be used; err says why, and what to do */
    HOCKET__STORE_PAUSED,  /* writing fails and is tried again; err says why */
    HOCKET__STORE_GOING,   /* writing goes on */
    HOCKET__STORE_REFUSED, /* this run's writes are refused: ESTATE, another has claimed it */
    HOCKET__STORE_CHANGED, /* another process wrote, or a run was queued or spoken to; while it is watched */
};

struct hocket__store_options {
    const struct hocket_allocator *alloc; /* on the loop's thread only */
    uv_loop_t *loop;
    const char *path; /* the file; of the memory store nothing */
    int linger_ms;    /* how long writes without a commit may gather; 0: 10, below 0: not at all */
    size_t max_pending; /* bytes; 0: 64 MiB */
    int64_t lease_ms;   /* 0: a minute. Renewed by the store itself while it is open */
    bool patient; /* waits for a database that is down at the start: PAUSED says why, then GOING */
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

/* The functions below return 0, ENOMEM, EINVAL, ELIMIT (too much is pending: commit, and continue when it is done; in
 * PostgreSQL also a name of more than 600 bytes) or ECLOSED. After an error nothing was taken. Texts are copied. A
 * run's state and its release never count as too much. */

/* Whether ELIMIT is due to pending writes, and not to the size of the new one. */
bool hocket__store_is_full(const struct hocket__store *s);

/* A new run, claimed by us. The store's own fields are ignored, except that last_n is at_n. The id must be new. A
 * caller that cannot know this asks first, since the refusal of an existing id also ends a claim that this store has of
 * that run. */
int hocket__store_put(struct hocket__store *s, const struct hocket__store_run *run,
    struct hocket__store_claim *claim);

/* Writes the fields of *run that `set` names. EINVAL: a pool's name has a comma. When a run with a caller ends, the
 * caller receives a message in the same transaction: "ended ID", the signal "run ID". */
int hocket__store_update(struct hocket__store *s, const struct hocket__store_claim *claim,
    unsigned set, const struct hocket__store_run *run);

int hocket__store_append(struct hocket__store *s, const struct hocket__store_claim *claim,
    const struct hocket__store_entry *entry);
int hocket__store_record(struct hocket__store *s, const struct hocket__store_claim *claim,
    const struct hocket__store_record *record);
/* A file of a generation. Several runs may share a generation, and each text is saved once. A generation lives as long
 * as a run has it: by its own id, or as a name in the run's `generation`, a list with commas. (A fork lists the
 * generations of its ancestors, nearest first.) An existing file (same generation and path) stays as it is. */
int hocket__store_file(struct hocket__store *s, const struct hocket__store_file *file);
/* The next name of such a list; false: there is none. */
bool hocket__store_next_generation(struct hocket__str *rest, struct hocket__str *name);
/* A message for a run that we have claimed. A message whose id the run has had is ignored. */
int hocket__store_message_put(struct hocket__store *s, const struct hocket__store_claim *claim,
    const struct hocket__store_message *message);
/* Deletes a taken message: in the same turn as the entry that records the taking. */
int hocket__store_message_del(struct hocket__store *s, const struct hocket__store_claim *claim,
    struct hocket__str message_id);
/* Milliseconds that a claim lasts without being renewed. */
int64_t hocket__store_lease_ms(const struct hocket__store *s);
/* Ends a claim, also a refused one: the store then forgets the refusal. Nobody has the run afterwards. If a waiting or
 * parked run of a pool received a message while we had it, it becomes QUEUED. */
int hocket__store_release(struct hocket__store *s, const struct hocket__store_claim *claim);
/* The same for a run that was taken but not used: the row of TAKE, or (was_next) of TAKE_NEXT. The latter's run becomes
 * QUEUED again, since no worker was lost with it. */
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
    bool no_pause; /* set by the caller: while writing is paused the wait ends with the reason. The
                   * writes may be saved later, so they must not be handed over again */
    char id[HOCKET__STORE_ID + 1];
    void (*done)(struct hocket__store_wait *w, int status, const struct hocket_error *err);
};

/* Calls w->done once, when the store is open and has saved every earlier write; with ESTATE when the claimed run (claim
 * may be NULL: any) was refused. Cannot fail. The wait lasts until `done` or forget. */
void hocket__store_commit(struct hocket__store *s, const struct hocket__store_claim *claim,
    enum hocket__store_kept kept, struct hocket__store_wait *w);
/* The place after the last write that was handed over; and whether the store has everything up to a
 * place (WRITTEN). */
uint64_t hocket__store_handed(const struct hocket__store *s);
/* Takes back this turn's writes since the batch had this length. */
void hocket__store_rewind(struct hocket__store *s, size_t len);
bool hocket__store_has(const struct hocket__store *s, uint64_t place);

/* w->done will not be called. A wait that is zero, done or forgotten may be given. */
void hocket__store_forget(struct hocket__store_wait *w);

/* ---- Asking ------------------------------------------------------------------------------------ */

/* The receiver of an answer. `row` is called for each row, and may be NULL where there are none; a
 * result other than 0 ends the reading, and becomes the status. `done` is called once, last. */
struct hocket__store_reply {
    int (*row)(void *ud, const struct hocket__store_row *row);
    void (*done)(void *ud, int status, const struct hocket_error *err);
    void *ud;
};

struct hocket__store_filter {
    unsigned states;           /* bit n: state n; 0: all */
    struct hocket__str before; /* only ids below this one, or empty: for the next page */
    struct hocket__str parent; /* only its forks, or empty */
    struct hocket__str caller, pool, project; /* only those of it, or empty */
    int64_t updated_before_ms;                /* 0: any */
    size_t limit;                             /* 0: all */
};

/* The functions below return 0, ENOMEM, EINVAL or ECLOSED; after an error no callback is called. *call
 * (which may be NULL) is for hocket__store_cancel, valid until `done`. Long answers come in pieces of
 * some 256 KiB, one a turn. */
struct hocket__store_call;

/* One row RUN. The id may be a unique prefix, in upper or lower case. ENOTFOUND, or EINVAL with an
 * error that names two runs with this prefix. */
int hocket__store_find(struct hocket__store *s, struct hocket__str prefix,
    const struct hocket__store_reply *reply, struct hocket__store_call **call);
/* Makes the run ours: one row RUN, whose `fence` goes into the claim. When another process has it:
 * the row, whose `owner` names the process, then ESTATE with an error. A claim whose process has
 * ended on this machine, or whose lease has run out, is taken over. */
int hocket__store_take(struct hocket__store *s, struct hocket__str id,
    const struct hocket__store_reply *reply, struct hocket__store_call **call);
enum { HOCKET__STORE_TAKES = 16 }; /* runs that one call takes at most */
/* Claims the next due runs of the pools (names with commas between them): rows RUN, in the order in which they are due,
 * at most `most` or HOCKET__STORE_TAKES; or none. They become RUNNING. A run is due when it is QUEUED, when it is
 * RUNNING without an owner or its owner is gone, or when it waits for a time that has come. First come runs whose lease
 * or time has come, the longest ago first; then runs that are due at once, by their ids. Otherwise a queue that is
 * never empty would starve lost runs. A lost run comes alone, since it may have killed its worker. The clock is the
 * store's: on PostgreSQL the server's. A cancelled call gives back the runs that the reader has not received; a reader
 * that fails gives back all. EINVAL: no pool, or 0 at most. */
int hocket__store_take_next(struct hocket__store *s, struct hocket__str pools, size_t most,
    const struct hocket__store_reply *reply, struct hocket__store_call **call);
/* Rows RUN with id and fence only: our runs that have a message not yet taken. */
int hocket__store_spoken(struct hocket__store *s, const struct hocket__store_reply *reply,
    struct hocket__store_call **call);
/* Rows POOL: the runs in pools, in their order. It reads every run of a pool that has not ended. */
int hocket__store_pools(struct hocket__store *s, const struct hocket__store_reply *reply,
    struct hocket__store_call **call);
/* Rows RUN without input and options, oldest first: runs of pools that have not ended, and that wait for somebody or
 * have a caller. */
int hocket__store_blocked(struct hocket__store *s, size_t limit,
    const struct hocket__store_reply *reply, struct hocket__store_call **call);
/* Rows RUN, newest first. */
int hocket__store_runs(struct hocket__store *s, const struct hocket__store_filter *filter,
    const struct hocket__store_reply *reply, struct hocket__store_call **call);
/* Rows ENTRY from n on, in order; for a fork also its parents' rows, up to where it left them. */
int hocket__store_entries(struct hocket__store *s, struct hocket__str id, uint64_t from_n,
    const struct hocket__store_reply *reply, struct hocket__store_call **call);
/* All rows ENTRY of the run that this one was forked from, also if that run was removed. ENOTFOUND: it is no fork, or
 * came from another store. */
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
/* Puts a message for a run, whoever has claimed it; done when it is on the disk. A waiting or parked run of a pool that
 * nobody has becomes QUEUED. ENOTFOUND; EEXIST: the run has had a message of this id, taken or not. */
int hocket__store_message(struct hocket__store *s, struct hocket__str id,
    const struct hocket__store_message *message, const struct hocket__store_reply *reply,
    struct hocket__store_call **call);
/* Submits a run (no fork) for the workers of its pool, with the given state and due time. The files that it needs go
 * into the same transaction. Done when it is on the disk; nobody has it then. `files`: rows FILE (hocket__store_pack),
 * or empty. It changes no claim of this store, also not of a run with the same id. The random seed tells whether an
 * earlier attempt, whose answer was lost, has succeeded. EEXIST: there is such a run, and nothing was written. A
 * cancelled call may have succeeded. EINVAL: its pool has a comma, or `files` is something else; ELIMIT: as for the
 * other writes. */
int hocket__store_submit(struct hocket__store *s, const struct hocket__store_run *run,
    struct hocket__str files, const struct hocket__store_reply *reply,
    struct hocket__store_call **call);
/* Removes a run. ENOTFOUND. ESTATE: somebody has it; or its caller has not ended; or neither it nor a run that it
 * called has ended. The part that its forks read stays until they go. */
int hocket__store_remove(struct hocket__store *s, struct hocket__str id,
    const struct hocket__store_reply *reply, struct hocket__store_call **call);
/* One row STATS. */
int hocket__store_stats(struct hocket__store *s, const struct hocket__store_reply *reply,
    struct hocket__store_call **call);

/* Operations on a store as a whole. */
enum hocket__store_maintenance_kind {
    HOCKET__STORE_INFO,  /* what it is */
    HOCKET__STORE_CHECK, /* whether its contents are consistent */
    HOCKET__STORE_VACUUM, /* removes runs that ended `max_age_ms` ago (0: none), and gives back room */
    HOCKET__STORE_MEASURE, /* how many rows and bytes there are, of each kind and of the largest runs */
    HOCKET__STORE_GRANT, /* lets other roles of a database use it: `worker` as hocket does, `reader` read only */
};
struct hocket__store_maintenance {
    enum hocket__store_maintenance_kind what;
    int64_t max_age_ms;
    struct hocket__str worker, reader; /* or empty */
};
/* Rows MESSAGE: the id is a name (name, version, bytes, …; problem: a finding of CHECK), json its value. May take long,
 * and other calls of this store wait. EUNSUPPORTED: the store lacks the operation. */
int hocket__store_maintain(struct hocket__store *s, const struct hocket__store_maintenance *what,
    const struct hocket__store_reply *reply, struct hocket__store_call **call);

/* ---- Notes ------------------------------------------------------------------------------------- */

/* Notes belong to no run: only deleting removes them. Each is written whole, under its memory and id,
 * and is on the disk when `done` is called. It replaces a note with the same id, so writing twice is
 * harmless. ELIMIT: the memory would exceed max_notes or max_bytes. */
int hocket__store_note_put(struct hocket__store *s, const struct hocket__store_note *note,
    uint64_t max_notes, uint64_t max_bytes, const struct hocket__store_reply *reply,
    struct hocket__store_call **call);
/* ENOTFOUND. */
int hocket__store_note_del(struct hocket__store *s, struct hocket__str memory,
    struct hocket__str id, const struct hocket__store_reply *reply,
    struct hocket__store_call **call);
/* Rows NOTE of a memory: the note of this id; or notes that have words of the query, the best first; or, with
 * both empty, all, the newest first. Without a memory: a row for each memory, by name. In the query only words
 * count: no character is an operator. With a vector: notes of the same model, the nearest first (each is
 * compared), HOCKET__STORE_NEAR at most. `from`: how many to skip; limit 0: all. */
enum { HOCKET__STORE_NEAR = 64 };
struct hocket__store_note_query {
    struct hocket__str memory, id, query, vector;
    uint64_t from;
    size_t limit;
};
int hocket__store_notes(struct hocket__store *s, const struct hocket__store_note_query *query,
    const struct hocket__store_reply *reply, struct hocket__store_call **call);

/* ---- Items --------------------------------------------------------------------------------------- */

/* Writes an item (its version and at_ms are ignored) if the stored version is `expected` (0: there must be none; ANY:
 * no condition). In the same transaction it submits `run` (NULL: none) and `files`, as hocket__store_submit does. One
 * row ITEM, with only the new version; on the disk. ESTATE: another process has changed it; ENOTFOUND: it is gone;
 * EEXIST: there is such a run. After an error nothing was written. */
enum { HOCKET__STORE_ANY = -1 };
int hocket__store_item_put(struct hocket__store *s, const struct hocket__store_item *item,
    int64_t expected, const struct hocket__store_run *run, struct hocket__str files,
    const struct hocket__store_reply *reply, struct hocket__store_call **call);
int hocket__store_item_del(struct hocket__store *s, struct hocket__str kind, struct hocket__str id,
    int64_t expected, const struct hocket__store_reply *reply, struct hocket__store_call **call);
/* Rows ITEM of a kind, in the order in which they are due; with an id only that item, or none. */
int hocket__store_items(struct hocket__store *s, struct hocket__str kind, struct hocket__str id,
    const struct hocket__store_reply *reply, struct hocket__store_call **call);
/* The same for items that are due now or within `ahead_ms` (due_ms is not 0); it does not read the others. The clock is
 * the store's. */
int hocket__store_items_due(struct hocket__store *s, struct hocket__str kind, int64_t ahead_ms,
    const struct hocket__store_reply *reply, struct hocket__store_call **call);

/* ---- Limits for all ---------------------------------------------------------------------------- */

/* A named limit that several processes share: an amount that comes back with time (a rate) or never (a budget), or
 * places that holders have (calls at once). Each draw states the limit: it is stored nowhere. */
struct hocket__store_draw {
    struct hocket__str name;
    int64_t want;  /* > 0: draws so much; 0: only reads; < 0: gives back so much */
    int64_t least; /* grants nothing rather than less; 0: 1. For places 0: whatever is free */
    bool owing;    /* … but grants what is left and owes the rest: for a want above the limit */
    bool forced;   /* grants all of `want`, whatever is left: it was used already */
    int64_t capacity, leak, leak_ms; /* `leak` of it come back in `leak_ms`; 0: none */
    struct hocket__str
        holder; /* not empty: places. The holder gets up to `want` of the free ones, for … */
    int64_t lease_ms; /* … so long, then they are free; with a want of 0 at once */
    int64_t
        spent; /* was used already, and is subtracted first: with a holder, leases can have capacity less this */
    /* An earlier attempt may have succeeded. What a holder spends with a `want` of 0 counts only if it still holds
     * something, since afterwards it holds nothing. */
    bool again;
    int64_t block_ms; /* grants nobody anything for so long; 0: no change */
};
/* One row DRAWN. Survives the end of a process as far as the store does; not a loss of power. EINVAL. With read-only
 * access a draw may only read: without a holder, and with nothing wanted, spent or blocked. */
int hocket__store_draw(struct hocket__store *s, const struct hocket__store_draw *draw,
    const struct hocket__store_reply *reply, struct hocket__store_call **call);

/* No callback of the call will run; its work may be done all the same. */
void hocket__store_cancel(struct hocket__store *s, struct hocket__store_call *call);
/* The same, but work that has not begun is dropped: the caller, whose deadline is over, has already reported
 * a failure. */
void hocket__store_give_up(struct hocket__store *s, struct hocket__store_call *call);

/* Whether all writes for this claim survive the end of this process now, as after a commit of WRITTEN. False means
 * unknown: use a commit then, and always the first time for each claim, since a claim may be refused. Costs a write to
 * a file instead of a transaction. Later writes of the same turn of the loop are not saved together with the earlier
 * ones. */
bool hocket__store_secure(struct hocket__store *s, const struct hocket__store_claim *claim);

/* Whether some writes are still unwritten; for a broken store: will stay so. */
bool hocket__store_is_behind(const struct hocket__store *s);
/* Why the store is unusable, the error of BROKEN; NULL: it is usable. */
const struct hocket_error *hocket__store_broken(const struct hocket__store *s);

/* While watched, the store reports CHANGED within half a second after another process has written. On PostgreSQL it
 * does so at once when a run was queued or received a message, by this store too. A hint: it may come for nothing.
 * Calls nest. */
void hocket__store_watch(struct hocket__store *s, bool on);

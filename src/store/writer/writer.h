/* A store with a thread of its own, whatever it keeps runs in: what a database's part of it has to do, and
 * what all such parts share. The database's part is called from that thread alone, and may wait there.
 *
 *   loop's thread              under the lock                  the store's thread
 *   submit ─────────────────>  incoming, incoming_seq ───────> write: one transaction
 *   want ───────────────────>  wanted[2]
 *   ask ────────────────────>  questions ────────────────────> answer
 *   on_news (uv_async) <─────  kept, answers, news <──────────
 */
#pragma once

#include "base/map.h"
#include "os/self.h"
#include "store/store_impl.h"

#include <stdatomic.h>

/* ---- Claims -------------------------------------------------------------------------------- */

/* A run that this store has claimed, or that was written as if it had. */
struct hocket__claimed {
    struct hocket__claimed *next_same; /* of the same hash */
    struct hocket__list link, touched;
    char id[HOCKET__STORE_ID + 1];
    int64_t no; /* 0: not there */
    uint64_t fence;
    uint64_t lost_below; /* earlier claims, with lower fences, were lost, and this was reported:
                     * their remaining writes are ignored and must not fail this claim */
    uint64_t last_n, last_seq;
    int64_t updated_ms;
    uint64_t transaction; /* in which the above was read */
    bool dirty, released;
    bool changed; /* more than that it has grown: the time is to be exact */
    bool is_new;  /* put by this transaction; of a fork of run `parent` */
    bool is_put;  /* it is there already, with the very seed */
    bool called;  /* it has a caller, which receives its end */

    /* Of a database that has to be asked over a network: what is said of its row in this transaction, to be written at once;
     * whether all above is known from the last one, as nobody else changes it while it is ours; and how the row is when a
     * transaction is there whose answer never came. */
    unsigned set;
    struct hocket__store_run change;
    bool known;
    int64_t writes; /* transactions by claims that have changed its row */
    struct {
        uint64_t fence; /* 0: its row says nothing of that transaction */
        int64_t writes;
        bool is_new, released;
        int refusal;
        enum hocket__store_command_kind refused_kind;
    } doubt;
    int64_t parent;
    int refusal; /* why nothing of it is written any more */
    enum hocket__store_command_kind refused_kind;
    bool told;
};

struct hocket__sql_ops;

/* ---- What a database does -------------------------------------------------------------------- */

struct hocket__writer;

/* Statuses are 0 or negative, with *w->error: `retryable` where another attempt may end otherwise. */
struct hocket__writer_ops {
    const char *name;
    int (*open)(struct hocket__writer *w);
    /* The commands as one transaction, to the disk when `sync`: all of it or nothing; then `work` is given again. */
    int (*write)(struct hocket__writer *w, struct hocket__str work, bool sync);
    /* A question's own status is in the call. What fails here fails that question, and EPARSE all. */
    int (*answer)(struct hocket__writer *w, struct hocket__store_call *call);
    /* The time by which leases end. */
    int64_t (*now)(const struct hocket__writer *w);
    /* Moves the leases. A claim that was lost gets a refusal, unless leases.writing. 1: some could not be moved now. */
    int (*renew)(struct hocket__writer *w);
    int (*release)(struct hocket__writer *w); /* all claims */
    int (*sweep)(struct hocket__writer *w); /* one small step; w->more_to_sweep: there is another */
    int (*look)(struct hocket__writer *w);  /* 1: others have written since */
    void (*close)(struct hocket__writer *w);
    void (*free)(
        struct hocket__writer *w); /* on the loop's thread; also of one that was never opened */
    /* NULL, or: the path of the write-ahead file (wal.h); asked on the loop's thread
     * when it is open. What write is given then goes with w->wal_to in one transaction. */
    const char *(*wal)(struct hocket__writer *w);
    /* NULL, or: waits so long for other things as well, till wake is called, from any thread. Only a hint. */
    void (*wait)(struct hocket__writer *w, int64_t ms);
    void (*wake)(struct hocket__writer *w);
    /* NULL, or: tells others that there is something for them. A hint: it may fail. */
    void (*hint)(struct hocket__writer *w);
};

/* See leases.c. Times are of the database's clock, or where it says so hocket__writer_clock's. */
struct hocket__leases {
    int64_t renewed_ms;         /* when ours were */
    bool failed;                /* the last try */
    bool writing;               /* a transaction is tried again: what is not there may come */
    int64_t seen_ms;            /* when this store was at work, or slept as it meant to */
    bool away;                  /* the database has not answered */
    int64_t since_ms;           /* later ends are not believed … */
    int64_t begun_ms, until_ms; /* … up to then (writer_clock) */
    int64_t next_far_ms;        /* (writer_clock) */
};

/* The thread's alone, but for `closing`. */
struct hocket__writer {
    const struct hocket__writer_ops *ops;
    const struct hocket__sql_ops *sql; /* sql/sql.h; NULL: no database that speaks it */
    struct hocket__writer_store *store;
    struct hocket__leases leases;
    struct hocket__store_options o;
    char *path; /* o.path; malloc'ed, as all here */
    struct hocket__self self;
    struct hocket_error *error; /* the database's last */
    struct hocket__map claimed;
    struct hocket__list claims, touched;
    uint64_t transaction;
    uint64_t commits, syncs;
    int64_t next_renewal_ms, next_sweep_ms, next_watch_ms;
    int64_t busy_ms; /* when it last had something to do for somebody */
    bool more_to_sweep, has_refusals;
    const char *denied; /* why no run can be kept, where none can; NULL: its role may only look */
    bool gone; /* the database is not where it was: nothing more is written, and the store breaks */
    bool has_left;    /* a claim that is refused was let go of, in this transaction */
    bool again;       /* what is asked was asked before, and the answer was lost */
    bool hint;        /* a run was queued or got a message: report CHANGED after the round */
    uint64_t pending; /* bytes; for statistics */
    uint64_t
        wal_to; /* so far the transaction that is written comes, for whoever reads the file; 0: there is none */
    atomic_bool closing;
};

/* Begins the thread. `w` is zero but for what is the database's, its ops and `error`, and belongs to the store
 * from here on, also where this fails: EINVAL, ENOMEM, EIO. */
int hocket__writer_start(struct hocket__writer *w, const struct hocket__store_options *o,
    struct hocket__store **out, struct hocket_error *err);

/* Whether something was handed over already: asked while it is opened. */
bool hocket__writer_has_work(struct hocket__writer *w);

/* On the clock of next_…_ms. */

/* The lease of a run whose owner has ended. */
#define HOCKET__QUEUE_BURIED 1

/* ---- Leases ---------------------------------------------------------------------------------- */

void hocket__leases_init(struct hocket__writer *w);
/* What the database has answered: that it did. */
void hocket__leases_answered(struct hocket__writer *w, int status);
/* This thread wanted to sleep so long (hocket__writer_clock) at most. */
void hocket__leases_slept(struct hocket__writer *w, int64_t from_ms, int64_t until_ms);
/* Renews ours where that is due: before a run is taken, or it might be one that we have. */
int hocket__leases_renew(struct hocket__writer *w);
/* The same where nobody waits for it; what failed is tried again a second later. A database that is away is not asked for
 * nothing, nor by a store that is being closed. */
void hocket__leases_poll(struct hocket__writer *w);
/* Those of others that ended after this time may be of owners that could not renew them; INT64_MAX: they are over. */
int64_t hocket__leases_expired_before(const struct hocket__writer *w);
/* How far ahead of now to search for leases whose owners may have ended: one lease's time. Now and then all leases, to
 * find ones made by a clock that was put back since, or meant to be longer. */
int64_t hocket__leases_horizon(struct hocket__writer *w);
/* For a lease's time they are not looked for farther than that. */
void hocket__leases_limit_horizon(struct hocket__writer *w);

/* ---- Claims, as a transaction changes them --------------------------------------------------- */

/* Nothing more of this claim is written; the refusal is reported when the transaction is
 * committed. */
void hocket__writer_refuse(struct hocket__writer *w, struct hocket__claimed *c,
    enum hocket__store_command_kind kind, int status);
/* A transaction begins, or is there. */
void hocket__writer_begun(struct hocket__writer *w);
void hocket__writer_settled(struct hocket__writer *w);
/* In the place of a transaction, where nothing may be written: runs are refused, and end with that; whoever asks is answered
 * still. ENOMEM. */
int hocket__writer_deny(struct hocket__writer *w, struct hocket__str work);
/* Whether it is passed over, as its claim is refused. */
bool hocket__writer_passes(
    struct hocket__writer *w, struct hocket__claimed *c, const struct hocket__store_command *cmd);
/* The transaction is committed, and its refusals were reported: forgets the released ones. */
void hocket__writer_forget(struct hocket__writer *w);
/* Whether the claim is in this transaction for the first time, and is to be read; then it is in `touched`. */
bool hocket__writer_touch(struct hocket__writer *w, struct hocket__claimed *c);

/* Notes what others have to look at: a run that a command queues, or whose end a caller waits for. */
void hocket__writer_note(struct hocket__writer *w, const struct hocket__claimed *c,
    const struct hocket__store_command *cmd);

void hocket__claims_free(struct hocket__writer *w);
/* Appends the ids of the runs that we have, with commas; ENOMEM. */
int hocket__claims_ids(struct hocket__writer *w, struct hocket__buf *out);
static inline bool hocket__claims_is_ours(const struct hocket__claimed *c)
{
    return !c->refusal && c->fence;
}
struct hocket__claimed *hocket__claims_get(struct hocket__writer *w, const char *id);
/* The same, made when it is not there; NULL: out of memory. */
struct hocket__claimed *hocket__claims_need(struct hocket__writer *w, const char *id);
/* After an attempt to take it; fence 0: which failed. What is remembered of an older claim is over: its refusal, too. */
void hocket__claims_taken(struct hocket__writer *w, struct hocket__claimed *c, uint64_t fence);
/* The fence of the run that this answer of TAKE has made ours; 0: none. */
uint64_t hocket__claims_fence_of(const struct hocket__store_call *call);

/* A process that sleeps for longer, and a run that was cut off longer ago, may be taken for gone when room is made. */
#define HOCKET__SLEEP_MS (INT64_C(24) * 3600 * 1000)

/* ---- The write-ahead file (wal.h) ------------------------------------------------- */

/* Appends what a file has from a place on: nothing where it has none, or there is a gap. `closes`: whoever writes it may be alive,
 * and is to secure no more. EIO; EDENIED: it is not ours; EUNSUPPORTED: in another form; ENOMEM. */
int hocket__wal_read(const char *path, bool closes, uint64_t from, struct hocket__buf *out,
    struct hocket_error *err);

/* DATABASE-ahead-STORE */
int hocket__wal_path(struct hocket__buf *out, struct hocket__str database, int64_t store);

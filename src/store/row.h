/* What a store holds, as rows: runs, the entries of their logs, records, files, messages. The same
 * bytes go to a store's thread, come back from it, and stand in an exported run.
 *
 * Texts in a row are borrowed. A count, a cost or a time that nobody knows is below 0, never 0. */
#pragma once

#include "base/buf.h"
#include "base/status.h"

#include <stdint.h>

enum { HOCKET__STORE_ID = 26, HOCKET__STORE_SEED = 16 };

/* X(NAME, word). A run ends as done, failed or cancelled, and may be resumed from all others. Their order is part of the
 * format of an exported run. */
#define HOCKET__STORE_STATES(X)                                                                    \
    X(RUNNING, "running") /* somebody has it, or had it when the process ended */                  \
    X(WAITING, "waiting") /* for its next input, a signal or a time */                             \
    X(PARKED, "parked")   /* for a person's answer */                                              \
    X(DONE, "done")                                                                                \
    X(FAILED, "failed")                                                                            \
    X(CANCELLED, "cancelled")                                                                      \
    X(QUEUED, "queued") /* for a worker: nobody has begun it, or it was given back, or spoken to */

enum hocket__store_state {
#define HOCKET__STORE_STATE(NAME, word) HOCKET__STORE_##NAME,
    HOCKET__STORE_STATES(HOCKET__STORE_STATE)
#undef HOCKET__STORE_STATE
        HOCKET__STORE_STATE_COUNT
};

const char *hocket__store_state_word(enum hocket__store_state state);
/* HOCKET__STORE_STATE_COUNT: none of that name. */
enum hocket__store_state hocket__store_state_of(struct hocket__str word);

/* Who has a run. pid 0: nobody. */
struct hocket__store_owner {
    int64_t pid;
    struct hocket__str host;    /* the machine's name */
    int64_t since_ms, lease_ms; /* wall clock: when it was claimed, when the claim runs out */
};

/* Each member is a row of columns.h as well. */
struct hocket__store_run {
    char id[HOCKET__STORE_ID + 1];     /* of hocket__run_id */
    char parent[HOCKET__STORE_ID + 1]; /* of a fork; "": none */
    uint64_t at_n, at_seq; /* of a fork: its parent's last entry and record that are its own, too */
    struct hocket__str target, input;
    struct hocket__str options;     /* JSON */
    struct hocket__str generation;  /* which files; empty: none */
    struct hocket__str waiting_for; /* JSON, or empty */
    struct hocket__str version;     /* of the hocket that began it */
    uint8_t seed[HOCKET__STORE_SEED];
    enum hocket__store_state state;
    bool simulated;                 /* by a scripted model */
    int64_t cost;                   /* nano-dollars; -1: not known */
    int64_t tokens;                 /* -1: not known */
    int64_t created_ms, updated_ms; /* wall clock; the store sets updated_ms: within a second while
                                     * a run only grows */
    uint64_t last_n,
        last_seq;   /* the store's: of the last entry and record, through the parent, or 0 */
    uint64_t fence; /* the store's: grows with each claim */
    struct hocket__str pool; /* whose workers may take it; empty: none may */
    int64_t due_ms;          /* wall clock: not taken before; 0: QUEUED at once, else not by time */
    char caller[HOCKET__STORE_ID + 1]; /* the run whose call it is; "": none */
    struct hocket__str project;        /* for budgets and lists; empty: none */
    uint32_t
        attempts; /* the store's: so often in a row a worker was lost with it, at the same place */
    struct hocket__store_owner owner; /* the store's */
};

enum { /* bits of what an update sets, as columns.h has them */
    HOCKET__STORE_SET_STATE = 1,
    HOCKET__STORE_SET_WAITING_FOR = 2,
    HOCKET__STORE_SET_USAGE = 4, /* cost, tokens, simulated */
    HOCKET__STORE_SET_GENERATION = 8,
    HOCKET__STORE_SET_OPTIONS = 16,
    HOCKET__STORE_SET_QUEUE = 32, /* pool, due_ms */
};
/* Those of the members that `set` names. */
void hocket__store_merge(
    struct hocket__store_run *to, unsigned set, const struct hocket__store_run *from);

/* One entry of a run's log: what came from outside, and where. The store keeps it and looks at n
 * alone, which begins at 1 (in a fork at at_n + 1) and has no gaps. */
struct hocket__store_entry {
    uint64_t n, tick;
    int64_t at_ms;
    uint8_t kind;
    uint64_t path;
    uint32_t ord;
    struct hocket__str name, digest, value;
};

/* A notice of the run's journal, for showing. */
struct hocket__store_record {
    uint64_t seq; /* from 1 */
    struct hocket__str json;
};

/* A file of a generation: what a run began with, and resumes on. */
struct hocket__store_file {
    struct hocket__str generation, path, hash, text;
};

/* What somebody outside says to a run: an answer, a signal. */
struct hocket__store_message {
    struct hocket__str id; /* unique in the run; made by the sender */
    int64_t at_ms;
    struct hocket__str json;
};

enum { HOCKET__STORE_VECTOR_OF = 8 };

/* A note that outlives runs: `memory` names the group that it belongs to. */
struct hocket__store_note {
    struct hocket__str memory, id, text;
    struct hocket__str meta; /* JSON: where it came from */
    struct hocket__str
        vector;      /* of what it means, or empty: HOCKET__STORE_VECTOR_OF bytes say by which
                                  model, then 32-bit floats, low bytes first, of length 1 */
    uint64_t labels; /* of base/label.h */
    int64_t created_ms, updated_ms;
    uint64_t notes, bytes; /* of all of the memory; where memories are listed, and 0 elsewhere */
};

/* What belongs to no run: a schedule, a worker. */
struct hocket__store_item {
    struct hocket__str kind, id;
    int64_t version;       /* the store's: above 0, and another one with each change */
    int64_t due_ms, at_ms; /* wall clock, from 0 on; at_ms is the store's: of the last change */
    struct hocket__str generation; /* whose files are kept for it, as for a run; empty: none */
    struct hocket__str json;
    int64_t now_ms; /* of an answer alone: the store's clock, as it was then */
};

struct hocket__store_stats {
    uint64_t runs, bytes;    /* bytes: of the file that are in use */
    uint64_t commits, syncs; /* by this process */
    uint64_t pending;        /* bytes that were handed over and are not written yet */
};

/* What was drawn of a limit. */
struct hocket__store_drawn {
    int64_t granted;    /* for a holder: everything that it has from now on */
    int64_t level;      /* what is left; below 0: owed */
    int64_t retry_ms;   /* when what was refused may be there; -1: time does not bring it */
    int64_t blocked_ms; /* nobody is granted anything for so long; 0: all are */
    int64_t holders;    /* who have, or want, some of it */
    int64_t hungry;     /* how many other holders have less than they want */
    int64_t held;       /* what others have; of a look all */
};

/* How many runs of a pool are what: "queued" (due, for any worker), "later" (at a time), "running", "waiting" and
 * "parked" (for somebody, with a limit or without). */
struct hocket__store_pool {
    struct hocket__str pool, what;
    struct hocket__str
        host; /* of running ones: the machine and the process that have them; pid 0: nobody */
    int64_t pid, n;
    int64_t
        since_ms; /* wall clock: since when the first is so; of "later": when the first is due */
};

/* Part of the format of an exported run, whose rows are in this order. */
enum hocket__store_row_kind {
    HOCKET__STORE_ROW_RUN = 1,
    HOCKET__STORE_ROW_FILE,
    HOCKET__STORE_ROW_ENTRY,
    HOCKET__STORE_ROW_RECORD,
    HOCKET__STORE_ROW_MESSAGE,
    HOCKET__STORE_ROW_STATS,
    HOCKET__STORE_ROW_NOTE, /* this and the following kinds are not exported */
    HOCKET__STORE_ROW_ITEM,
    HOCKET__STORE_ROW_DRAWN,
    HOCKET__STORE_ROW_POOL,
    HOCKET__STORE_ROW_DAMAGED, /* of a list: a run that is not what was written; its id and created_ms in `run` */
};

struct hocket__store_row {
    enum hocket__store_row_kind kind;
    union {
        struct hocket__store_run run;
        struct hocket__store_entry entry;
        struct hocket__store_record record;
        struct hocket__store_file file;
        struct hocket__store_message message;
        struct hocket__store_stats stats;
        struct hocket__store_note note;
        struct hocket__store_item item;
        struct hocket__store_drawn drawn;
        struct hocket__store_pool pool;
    };
};

/* The beginning of `waiting_for` of a run that waits only for a time; 15 bytes, which statements compare. */
#define HOCKET__STORE_WAITS_FOR_TIME "[{\"kind\":\"time\""

/* Appends why a worker could not continue a run, as its `waiting_for`: [{"kind":"worker","code":"auth","why":"…"}]. */
void hocket__store_write_why(struct hocket__buf *b, const struct hocket_error *why);

/* Appends a row; a status is the buffer's. */
int hocket__store_pack(struct hocket__buf *b, const struct hocket__store_row *row);

/* Takes one row from the front of *in; its texts lie in there. 1; 0 at the end; EPARSE where it is
 * no row, or a part of one. */
int hocket__store_unpack(struct hocket__str *in, struct hocket__store_row *row);

/* Whether it is 26 characters as hocket__run_id makes them. */
bool hocket__store_is_id(struct hocket__str id);

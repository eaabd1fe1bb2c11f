/* Where jobs are kept: one interface for all stores, and the memory store.
 *
 * The store owns the records, the broker owns their order. A record is one
 * struct hocket__job in this process's memory, made by `put` and valid until
 * `del`; the broker keeps its queues, timers and trees beside it and writes the
 * record's changing fields itself, then says `changed`. So there is one copy of
 * each text, and a store needs no scheduling of its own.
 *
 * How a durable store fits behind it:
 * - `put`, `claim`, `heartbeat`, `outcome`, `changed` and `del` link the record
 *   into a list of what is to be written; its own thread writes the list as one
 *   transaction (group commit). All that one call of the broker changed is
 *   linked before it returns, so a transaction never holds half of a
 *   transition. The loop never waits. A write that fails for good is reported
 *   by the store to its host; `changed` itself cannot fail.
 * - Each row is written `… WHERE id = ? AND fence = ?` with the fence that the
 *   record had when it was claimed: a host that has lost its lease changes no
 *   row, and learns it from the next heartbeat (ESTATE).
 * - Several hosts: the store's thread claims rows ahead, a few at a time, with
 *   a lease (PostgreSQL: UPDATE … FOR UPDATE SKIP LOCKED, woken by NOTIFY), so
 *   that `claim` answers at once from what this host has got: 0, or ESTATE for
 *   a job that another host has. The broker then sets the job aside until
 *   hocket__broker_offer. Limits count per host; a limit over all hosts is the
 *   store's to enforce, in the same place.
 * - After a restart `list` gives what was written, and hocket__broker_load
 *   builds the order anew. Progress and log events are not kept: they are for
 *   who watches. */
#pragma once

#include "base/alloc.h"
#include "base/str.h"

#include <stdbool.h>

#define HOCKET__NEVER INT64_MAX

/* X(NAME, word, outward): `outward` is what events, Lua and users see. */
#define HOCKET__JOB_STATES(X)                                                                      \
    X(PENDING, "pending", "pending")   /* accepted, inside the submitting call */                  \
    X(BLOCKED, "blocked", "pending")   /* waits for its dependencies */                            \
    X(READY, "ready", "pending")       /* waits for a slot */                                      \
    X(DELAYED, "delayed", "pending")   /* waits for its next attempt */                            \
    X(RUNNING, "running", "running")   /* holds a slot */                                          \
    X(WAITING, "waiting", "running")   /* parked: waits for others, holds no slot */               \
    X(RESUMING, "resuming", "running") /* has what it waited for, waits for a slot */              \
    X(COMPLETED, "completed", "completed")                                                         \
    X(FAILED, "failed", "failed")                                                                  \
    X(SKIPPED, "skipped", "skipped") /* a dependency did not complete */                           \
    X(CANCELLED, "cancelled", "cancelled")

enum hocket__job_state {
#define HOCKET__JOB_STATE(NAME, word, outward) HOCKET__JOB_##NAME,
    HOCKET__JOB_STATES(HOCKET__JOB_STATE)
#undef HOCKET__JOB_STATE
        HOCKET__JOB_STATE_COUNT
};

/* What a dependency that does not complete means for the job behind it. */
enum hocket__job_on_dep { HOCKET__DEP_SKIP, HOCKET__DEP_CONTINUE, HOCKET__DEP_FAIL };

/* One job. Text is borrowed in what is given to `put`, the store's in what
 * comes back. Times are milliseconds on the caller's clock. */
struct hocket__job {
    /* Fixed at submission. */
    uint64_t id, run, parent; /* parent 0: none */
    struct hocket__str name;  /* its name inside the batch, or empty */
    struct hocket__str agent, provider, group;
    struct hocket__str data; /* JSON */
    const uint64_t *deps;
    size_t dep_count;
    size_t order_count; /* of deps, the last: they have to have ended, and may have failed */
    int priority;
    enum hocket__job_on_dep on_dep;
    uint32_t max_retries; /* attempts after the first */
    int64_t backoff_ms, backoff_max_ms;
    int64_t deadline_ms; /* HOCKET__NEVER: none */
    int64_t created_ms;

    /* Changing. */
    enum hocket__job_state state;
    uint32_t attempt;          /* starts so far */
    int status;                /* 0, or the HOCKET_E… of the last attempt */
    bool delivered;            /* handed to, or read by, its parent */
    uint64_t cause;            /* the job that made it fail, skip or cancel, or 0 */
    int64_t started_ms;        /* of the last attempt; HOCKET__NEVER: not yet */
    int64_t finished_ms;       /* HOCKET__NEVER: not yet */
    int64_t due_ms;            /* DELAYED: when the next attempt may start */
    struct hocket__str result; /* JSON */
    struct hocket__str error;  /* one line or more for people */
    struct hocket__str usage;  /* JSON, of the last attempt */
    uint64_t owner;            /* who holds the lease, or 0 */
    uint64_t fence;            /* grows with every claim and every loss */
    int64_t lease_ms;          /* when the lease runs out */

    void *node; /* the broker's */
    void *ud;   /* the submitter's, in this process alone: NULL after a load */
};

struct hocket__job_outcome {
    int status; /* 0, or a HOCKET_E… */
    struct hocket__str result, error, usage;
    bool no_retry; /* a failure that another attempt would only repeat */
};

struct hocket__job_store;

/* 0 lets the listing go on. */
typedef int (*hocket__job_store_list_cb)(struct hocket__job *job, void *ud);

struct hocket__job_store_ops {
    const char *name;

    /* The first of n ids that no job had or has, never 0; there may be gaps. */
    int (*ids)(struct hocket__job_store *s, size_t n, uint64_t *first);

    /* Keeps a copy. *out is the record. ENOMEM, EEXIST, EIO. */
    int (*put)(struct hocket__job_store *s, const struct hocket__job *in, struct hocket__job **out);

    /* Takes a READY job for `owner`: raises the fence, sets the lease. ESTATE:
     * another host has it. */
    int (*claim)(
        struct hocket__job_store *s, struct hocket__job *job, uint64_t owner, int64_t lease_ms);

    /* Moves the lease. ESTATE: it is lost. */
    int (*heartbeat)(struct hocket__job_store *s, struct hocket__job *job, int64_t lease_ms);

    /* Copies the texts of an attempt's end, and its status, into the record; on
     * ENOMEM nothing has changed. The state is written by the broker after. */
    int (*outcome)(
        struct hocket__job_store *s, struct hocket__job *job, const struct hocket__job_outcome *o);

    /* The broker has written changing fields. */
    void (*changed)(struct hocket__job_store *s, struct hocket__job *job);

    struct hocket__job *(*get)(struct hocket__job_store *s, uint64_t id); /* or NULL */

    /* All records whose state is in `states` (bit n: state n), in the order of
     * their ids. Returns 0, or what the callback returned. */
    int (*list)(
        struct hocket__job_store *s, unsigned states, hocket__job_store_list_cb list_cb, void *ud);

    void (*del)(struct hocket__job_store *s, struct hocket__job *job);
    void (*close)(struct hocket__job_store *s);
};

/* The first member of every store. */
struct hocket__job_store {
    const struct hocket__job_store_ops *ops;
};

#define HOCKET__STATES_ALL (~0u)

/* Jobs in memory: gone with the process. */
int hocket__job_store_memory_new(const struct hocket_allocator *a, struct hocket__job_store **out);

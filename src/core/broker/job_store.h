/* Jobs, and where a broker has them: in memory, for as long as it lives. A durable run needs no other place: its replay submits
 * them again.
 *
 * The store owns the records, the broker their order. A record is made by `put` and valid until `del`; the broker has its
 * queues, timers and trees beside it, and writes the fields that change itself. So there is one copy of each text. */
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
    uint64_t fence;            /* grows with every claim and every loss */

    void *node; /* the broker's */
    void *ud;   /* the submitter's */
};

struct hocket__job_outcome {
    int status; /* 0, or a HOCKET_E… */
    struct hocket__str result, error, usage;
    bool no_retry; /* a failure that another attempt would only repeat */
};

struct hocket__job_store;

int hocket__job_store_new(const struct hocket_allocator *a, struct hocket__job_store **out);
void hocket__job_store_free(struct hocket__job_store *s);

/* The first of n ids that no job had or has, never 0. */
uint64_t hocket__job_store_ids(struct hocket__job_store *s, size_t n);
/* Keeps a copy of a job whose id is larger than all before; *out is the record. 0 or ENOMEM. */
int hocket__job_store_put(
    struct hocket__job_store *s, const struct hocket__job *in, struct hocket__job **out);
/* Copies the texts of an attempt's end, and its status, into the record; on ENOMEM nothing has changed. The state is
 * written by the broker after. */
int hocket__job_store_outcome(
    struct hocket__job_store *s, struct hocket__job *job, const struct hocket__job_outcome *o);
struct hocket__job *hocket__job_store_get(struct hocket__job_store *s, uint64_t id); /* or NULL */
/* Calls `job_cb` for all records, in the order of their ids; it may delete the one that it is given, and no other. */
void hocket__job_store_each(
    struct hocket__job_store *s, void (*job_cb)(struct hocket__job *job, void *ud), void *ud);
void hocket__job_store_del(struct hocket__job_store *s, struct hocket__job *job);

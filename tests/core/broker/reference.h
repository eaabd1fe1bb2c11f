/* What the broker should do, said as simply as possible: one array of jobs in
 * the order of their ids, and a scan for every question. The model test runs
 * it beside the broker. */
#pragma once

#include "core/broker/broker.h"

#define REF_JOBS  80
#define REF_DEPS  4
#define REF_WAITS 8
#define REF_LOG   4096
#define REF_RUNS  4 /* runs 1 … 3 */
#define REF_RANKS 5 /* priorities -2 … 2 */
#define REF_NAMES 3 /* per kind; name 0 of the groups is "no group" */

struct ref_job {
    uint64_t id, run, parent, fence, seq, done; /* done: place in the delivery order, 0: none */
    uint64_t place, line; /* in its submitter's line; of the last of its children */
    uint64_t deps[REF_DEPS];
    bool dep_done[REF_DEPS], delivered, holds, queued;
    size_t dep_count, order_count; /* the last order_count of them may have failed */
    int name[HOCKET__LIMIT_KINDS], priority;
    enum hocket__job_on_dep on_dep;
    enum hocket__job_state state;
    uint32_t attempt, max_retries;
    int64_t backoff, backoff_max, deadline, due;
};

struct ref_wait {
    bool until_failed;
    uint64_t token, ids[REF_DEPS];
    bool counted[REF_DEPS];
    size_t n, left;
};

struct ref {
    struct ref_job jobs[REF_JOBS];
    size_t count;
    struct ref_wait waits[REF_WAITS];
    size_t wait_count;
    uint64_t fresh[REF_JOBS], ended[REF_JOBS];
    size_t fresh_n, ended_n;
    uint64_t turn, turns[REF_RUNS], lines[REF_RUNS], own_lines[REF_RUNS], seq, done;
    uint64_t passed[REF_RANKS];
    int64_t limit, limits[HOCKET__LIMIT_KINDS][REF_NAMES], now;
    uint64_t log[REF_LOG]; /* type << 56 | id */
    size_t log_n;
};

#define REF_WOKE 100

void ref_log(struct ref *r, unsigned type, uint64_t id);
struct ref_job *ref_find(struct ref *r, uint64_t id);
int ref_held(struct ref *r, uint64_t id, uint64_t fence, struct ref_job **out);

/* The jobs come checked, with their ids; all in state PENDING. */
void ref_submit(struct ref *r, const struct ref_job *jobs, size_t n);
struct ref_job *ref_next(struct ref *r);
int ref_complete(struct ref *r, uint64_t id, uint64_t fence);
int ref_fail(struct ref *r, uint64_t id, uint64_t fence, uint64_t random, bool no_retry);
int ref_park(struct ref *r, uint64_t id, uint64_t fence);
int ref_unpark(struct ref *r, uint64_t id, uint64_t fence);
int ref_cancel(struct ref *r, uint64_t id);
size_t ref_cancel_all(struct ref *r, uint64_t run);
size_t ref_expire(struct ref *r);
int64_t ref_wakeup(const struct ref *r);
int ref_wait(
    struct ref *r, uint64_t token, const uint64_t *ids, size_t n, enum hocket__wait_mode mode);
int ref_wait_cancel(struct ref *r, uint64_t token);
size_t ref_take(struct ref *r, uint64_t run, uint64_t parent, uint64_t *ids, size_t max);
int ref_mark_read(struct ref *r, uint64_t id);
int ref_forget(struct ref *r, uint64_t id);
int ref_forget_run(struct ref *r, uint64_t run);

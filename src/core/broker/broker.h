/* The broker: every piece of work that one agent asks of another is a job of
 * it, so that limits, order, retries, dependencies, events, waiting and
 * cancellation exist once. A pure state machine: no I/O, no threads, and the
 * time is an argument. It starts nothing itself: whoever runs jobs asks for the
 * next one after every call that may have freed a slot or made a job ready.
 *
 *     submit ─> BLOCKED ─> READY ──next──> RUNNING ──complete──> COMPLETED
 *                            ^              |  ^ |
 *                         DELAYED <──fail───┤  | └──fail (no attempt left)──> FAILED
 *                                         park next
 *                                           v  |
 *                                      WAITING ─unpark─> RESUMING
 *
 *     SKIPPED: a dependency did not complete.
 *     CANCELLED, FAILED (a deadline): from any state that is not final.
 *
 * queue.h says what comes next, and what limits it.
 *
 * What it guarantees:
 * - An illegal transition is refused with ESTATE and changes nothing. So is a
 *   call with an old fencing number: after a retry or a
 *   cancellation the old worker cannot touch the job any more.
 * - Each job has exactly one final event. When it becomes final, or its attempt
 *   ends and is retried, what it started and has not ended is cancelled, all
 *   the way down; only then are dependents looked at, so that a cancelled tree
 *   reads CANCELLED everywhere. Work that is to outlive its starter is
 *   submitted with parent 0.
 * - Waiting holds no slot. A parent parks before it waits; when it has what it
 *   waited for it unparks and gets a slot through `next`, ahead of all jobs that
 *   have not begun. Nobody who holds a slot waits for a slot, so nested waits
 *   cannot deadlock under any limit above zero, and no limit is exceeded for it.
 *   (What can: jobs that wait for each other in a ring, such as a child whose
 *   dependency depends on the parent that waits for the child. Whose a wait is,
 *   only the caller knows: bind/broker/ring.c refuses it.)
 * - Out of memory leaves everything as it was. Only `submit`, `park`,
 *   `wait`, `note`, `limit` and the texts of `complete` and `fail` allocate.
 *
 * Callbacks run inside the call that causes them, after the job has changed,
 * and must not call the broker: they enqueue. What an event points at is valid
 * until the callback returns. */
#pragma once

#include "base/status.h"
#include "core/broker/queue.h"
#include "core/broker/job_store.h"

struct hocket__broker;

/* Zero means zero: a limit of 0 admits nothing. */
struct hocket__broker_options {
    int64_t max_running;    /* jobs that hold a slot; HOCKET__UNLIMITED */
    size_t max_jobs;        /* jobs that have not ended */
    size_t max_data;        /* bytes of a job's data, and of its names */
    size_t max_outcome;     /* bytes of result, error and usage together */
    size_t max_deps;        /* of one job */
    size_t max_depth;       /* parents above a job */
    size_t max_events;      /* progress and log events kept per job, the last ones */
    size_t max_event_bytes; /* of one event */
    size_t max_waits;       /* at one time */
    size_t max_wait_jobs;   /* jobs in one wait */
};

/* Unlimited running, 1,000,000 jobs, 1 MiB data, 16 MiB outcome, 1000
 * dependencies, depth 64, 16 events of 4 KiB, 100,000 waits on 10,000 jobs. */
struct hocket__broker_options hocket__broker_options_default(void);

enum hocket__broker_event_type {
    HOCKET__EVENT_PENDING,   /* submitted; or, with payload, to be tried again */
    HOCKET__EVENT_RUNNING,   /* an attempt starts (not: a parent resumes) */
    HOCKET__EVENT_PROGRESS,  /* payload: what was given */
    HOCKET__EVENT_LOG,       /* payload: what was given */
    HOCKET__EVENT_COMPLETED, /* payload: the result */
    HOCKET__EVENT_FAILED,    /* payload: the error */
    HOCKET__EVENT_CANCELLED, /* payload: why */
    HOCKET__EVENT_SKIPPED,   /* payload: why, with the id of the dependency */
};

struct hocket__broker_event {
    enum hocket__broker_event_type type;
    const struct hocket__job *job;
    struct hocket__str payload; /* text, or JSON as given */
    /* Of the attempt that ended: with PENDING (a retry), COMPLETED and FAILED.
     * The sum over the events is what the job cost, each attempt once. */
    struct hocket__str usage;
};

const char *hocket__broker_event_word(enum hocket__broker_event_type type);

typedef void (*hocket__broker_emit_cb)(const struct hocket__broker_event *event, void *ud);
typedef void (*hocket__broker_wake_cb)(uint64_t token, void *ud);
/* The job is forgotten (or could not be submitted): nothing about it comes any more. */
typedef void (*hocket__broker_drop_cb)(void *job_ud, void *ud);

struct hocket__broker_hooks {
    hocket__broker_emit_cb emit_cb; /* may be NULL */
    hocket__broker_wake_cb wake_cb; /* may be NULL when nobody waits */
    void *ud;
    hocket__broker_drop_cb drop_cb; /* may be NULL; not called by hocket__broker_free */
};

/* NULL options: the default. */
int hocket__broker_new(const struct hocket_allocator *a,
    const struct hocket__broker_options *options, const struct hocket__broker_hooks *hooks,
    struct hocket__broker **out);
/* Emits nothing. */
void hocket__broker_free(struct hocket__broker *b);

/* The last id that it gave; and that every later one is larger than `last`. */
uint64_t hocket__broker_last_id(const struct hocket__broker *b);
void hocket__broker_pass_ids(struct hocket__broker *b, uint64_t last);

/* How many may hold a slot under this name; HOCKET__UNLIMITED forgets the
 * limit. From now on: what runs already is left alone. */
int hocket__broker_limit(
    struct hocket__broker *b, enum hocket__limit_kind kind, struct hocket__str name, int64_t limit);
void hocket__broker_limit_all(struct hocket__broker *b, int64_t limit);

/* ---- Submitting ------------------------------------------------------------- */

struct hocket__job_spec {
    uint64_t run;    /* may be 0 with a parent: the parent's */
    uint64_t parent; /* 0: none. Else a job that runs, waits or resumes */
    uint64_t parent_fence;
    struct hocket__str agent, provider, group, data;
    int priority;           /* highest first; up to +-HOCKET__PRIORITY_MAX */
    int64_t deadline_ms;    /* absolute, over all attempts; HOCKET__NEVER */
    uint32_t max_retries;   /* attempts after the first */
    int64_t backoff_ms;     /* before the second attempt at most this … */
    int64_t backoff_max_ms; /* … doubling up to this */
    const uint64_t *deps;   /* jobs that were submitted before */
    size_t dep_count;
    struct hocket__str name; /* for `needs` and `after` of others in this call; else empty */
    const struct hocket__str *needs; /* names of jobs in this call, in any order */
    size_t need_count;
    const struct hocket__str *after; /* the same; it starts when they have ended, however */
    size_t after_count;
    enum hocket__job_on_dep on_dep;
    void *ud; /* comes back as job->ud, in events too */
};

/* Run 0, no parent, priority 0, no deadline, no retries, backoff 500 ms … 30 s. */
struct hocket__job_spec hocket__job_spec_default(void);

/* Submits n jobs, all or none, and fills ids[n]. EINVAL (a cycle: the message
 * has its path; a dependency on an own ancestor), ENOTFOUND (an unknown id or
 * name), EEXIST (a name twice), ELIMIT, ESTATE (the parent is not running, or
 * its fence is old), ECLOSED, ENOMEM. */
int hocket__broker_submit(struct hocket__broker *b, const struct hocket__job_spec *specs, size_t n,
    int64_t now_ms, uint64_t *ids, struct hocket_error *err);

/* ---- Working ------------------------------------------------------------------ */

struct hocket__claim {
    const struct hocket__job *job;
    uint64_t fence; /* goes with every further call about this attempt */
    bool resumed;   /* a parent that goes on; otherwise an attempt to start */
};

/* The next job to start or to continue; false: there is none for now. Call `expire` first. */
bool hocket__broker_next(struct hocket__broker *b, int64_t now_ms, struct hocket__claim *out);

int hocket__broker_complete(struct hocket__broker *b, uint64_t id, uint64_t fence, int64_t now_ms,
    struct hocket__str result, struct hocket__str usage, struct hocket_error *err);
/* For an attempt that ended without an outcome, or whose outcome found no memory: FAILED with the status
 * and its text. ESTATE as above; allocates nothing. */
int hocket__broker_abandon(struct hocket__broker *b, uint64_t id, uint64_t fence, int64_t now_ms,
    int status, struct hocket_error *err);
/* Also for a parent that is parked or resuming. `random` makes the jitter: the
 * next attempt comes after random % (backoff + 1) milliseconds. */
int hocket__broker_fail(struct hocket__broker *b, uint64_t id, uint64_t fence, int64_t now_ms,
    uint64_t random, const struct hocket__job_outcome *outcome, struct hocket_error *err);
int hocket__broker_park(
    struct hocket__broker *b, uint64_t id, uint64_t fence, struct hocket_error *err);
int hocket__broker_unpark(
    struct hocket__broker *b, uint64_t id, uint64_t fence, struct hocket_error *err);

/* Cancels a job and all below it. ESTATE when it is final already. */
int hocket__broker_cancel(
    struct hocket__broker *b, uint64_t id, int64_t now_ms, struct hocket_error *err);
/* Accepts no new jobs from now on: submit says ECLOSED. Jobs that are there continue. */
void hocket__broker_stop_accepting(struct hocket__broker *b);
/* All of a run, or of everything (run 0). Returns how many were named so, those
 * below them included. */
size_t hocket__broker_cancel_all(struct hocket__broker *b, uint64_t run, int64_t now_ms);
/* Everything fails, with a status and its text: nobody works on it any more. Allocates nothing. */
void hocket__broker_fail_all(struct hocket__broker *b, int64_t now_ms, int status);

/* A job that waits for its next attempt: that is due when the caller says so (`due`), at no time of its own. Gives the milliseconds that it would
 * have waited from now on; below 0: it does not wait for one. */
int64_t hocket__broker_hold_off(struct hocket__broker *b, uint64_t id, int64_t now_ms);
/* The next attempt may start, if the job is one that waits for it with this fence. */
void hocket__broker_due(struct hocket__broker *b, uint64_t id, uint64_t fence, int64_t now_ms);

/* Does what is due: deadlines, retries. Returns how many. */
size_t hocket__broker_expire(struct hocket__broker *b, int64_t now_ms);
/* When `expire` will next have something to do, or HOCKET__NEVER. */
int64_t hocket__broker_next_wakeup(const struct hocket__broker *b);

/* ---- Progress ------------------------------------------------------------------- */

enum hocket__broker_note { HOCKET__NOTE_PROGRESS, HOCKET__NOTE_LOG };

int hocket__broker_note(struct hocket__broker *b, uint64_t id, uint64_t fence, int64_t now_ms,
    enum hocket__broker_note kind, struct hocket__str text, struct hocket_error *err);

struct hocket__broker_noted {
    uint64_t seq; /* from 1 per job; a gap says that older ones were dropped */
    int64_t time_ms;
    enum hocket__broker_note kind;
    struct hocket__str text; /* valid until the next call about this job */
};

/* The kept notes with a seq above `after`, oldest first: how many of them were
 * written to out[max]. A job that does not exist has none. */
size_t hocket__broker_notes(const struct hocket__broker *b, uint64_t id, uint64_t after,
    struct hocket__broker_noted *out, size_t max);

/* ---- Waiting ---------------------------------------------------------------------- */

enum hocket__wait_mode {
    HOCKET__WAIT_ANY,
    HOCKET__WAIT_ALL,
    HOCKET__WAIT_FAILED, /* all, or one that did not complete */
};

/* The wake callback runs with `token`, exactly once, as soon as as many of the
 * jobs are final as the mode says. Returns 0, or 1 when they are already: then it does not
 * run. EEXIST (the token waits already), EINVAL (any of none, token 0),
 * ENOTFOUND, ELIMIT, ENOMEM. A timeout is the caller's: cancel the wait. */
int hocket__broker_wait(struct hocket__broker *b, uint64_t token, const uint64_t *ids, size_t n,
    enum hocket__wait_mode mode, struct hocket_error *err);
/* The callback will not run. ENOTFOUND when it has, or there was none. */
int hocket__broker_wait_cancel(struct hocket__broker *b, uint64_t token);
/* Whether the callback is still to run. */
bool hocket__broker_is_waiting(const struct hocket__broker *b, uint64_t token);
/* Whether anybody waits for a job: a wait, or a job that comes after it. */
bool hocket__broker_is_awaited(const struct hocket__broker *b, uint64_t id);

/* ---- Results ------------------------------------------------------------------------ */

/* A job and its result, until it is forgotten; NULL when there is none. */
const struct hocket__job *hocket__broker_get(const struct hocket__broker *b, uint64_t id);

/* The children of a job that became final and were not handed out yet, in the
 * order in which they did: moved to ids[max], each only once, ever. Parent 0:
 * the jobs of `run` that have no parent. A parent's list is emptied when its
 * attempt ends. Returns how many. */
size_t hocket__broker_take_finished(
    struct hocket__broker *b, uint64_t run, uint64_t parent, uint64_t *ids, size_t max);
/* The result was read otherwise: take_finished will not hand it out. Returns 1,
 * or 0 when it had been handed out already. ESTATE: it is not final. */
int hocket__broker_mark_read(struct hocket__broker *b, uint64_t id, struct hocket_error *err);

/* Children (parent 0: the run's top jobs) with an id above `after`, oldest first. */
size_t hocket__broker_children(const struct hocket__broker *b, uint64_t run, uint64_t parent,
    uint64_t after, uint64_t *ids, size_t max);

struct hocket__broker_counts {
    size_t of[HOCKET__JOB_STATE_COUNT];
    size_t slots; /* in use; of the whole broker */
};

/* Of a run, or of everything (run 0). */
struct hocket__broker_counts hocket__broker_counts(const struct hocket__broker *b, uint64_t run);

/* Drops a final job with its result. ESTATE when it is not final. */
int hocket__broker_forget(struct hocket__broker *b, uint64_t id, struct hocket_error *err);
/* Drops a whole run. ESTATE, and nothing dropped, unless all of it is final. */
int hocket__broker_forget_run(struct hocket__broker *b, uint64_t run, struct hocket_error *err);

/* ---- States --------------------------------------------------------------------------- */

const char *hocket__job_state_word(enum hocket__job_state state);    /* "resuming" */
const char *hocket__job_state_outward(enum hocket__job_state state); /* "running" */
bool hocket__job_can(enum hocket__job_state from, enum hocket__job_state to);
bool hocket__job_is_final(enum hocket__job_state state);
/* RUNNING, WAITING, RESUMING: an attempt is under way, the fence counts. */
bool hocket__job_is_held(enum hocket__job_state state);

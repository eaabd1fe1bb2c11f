/* The log of effects: everything that came into a run from outside, in order, so that the same code
 * with the same log does the same again. The journal says what a run did; the log holds what it
 * cannot know by itself.
 *
 * A run is deterministic between two things from outside. Its clock is the tick: how many steps its
 * fibers have made. An entry holds the tick at which it came, so that it comes again at the same place:
 *
 *     step 4 ─> step 5 ─┬─> step 6          live:    what comes is appended, with tick 5
 *                       │                   replay:  what has tick 5 is applied before step 6,
 *             {tick 5, wake, fiber 8f…}              and nothing else is let in
 *
 * Two sorts of entries: what came between two steps (wakes, ends of effects), which the replay
 * applies when its tick has come; and what a step itself did (effects that began, values that it was
 * given), which the replay compares with what the step does now. Where they differ the run has diverged, and
 * that is an error: EREPLAY, which says what was and what is.
 *
 * Pure: no I/O, no clock, no Lua. Entries go to a sink; where they are kept is its business. */
#pragma once

#include "base/buf.h"
#include "base/status.h"

#include <stdint.h>

enum hocket__log_kind {
    HOCKET__LOG_LIFE = 1,   /* a process begins or resumes the run, or a pause of it ends */
    HOCKET__LOG_WAKE,       /* of a fiber, by somebody outside of the run */
    HOCKET__LOG_TIMEOUT,    /* a fiber's time was over */
    HOCKET__LOG_CANCEL,     /* of a fiber, from outside */
    HOCKET__LOG_STUCK,      /* a fiber learned that nothing can end its wait */
    HOCKET__LOG_END,        /* of an effect, with its outcome */
    HOCKET__LOG_TELL,       /* what an embedder said to the run */
    HOCKET__LOG_NOTICE,     /* an event that somebody outside put into the run's journal */
    HOCKET__LOG_BEGIN,      /* of an effect: from here on the kinds are what steps did themselves */
    HOCKET__LOG_VALUE,      /* a value from outside that was there at once */
    HOCKET__LOG_REST,       /* a step let the others go on: its time was over */
    HOCKET__LOG_OVER,       /* the run has ended: nothing follows */
    HOCKET__LOG_CHECKPOINT, /* the first: everything up to here is replayed; a later one holds the state that a replay continues from */
    HOCKET__LOG_CLOCK, /* a step read the clock, and it had moved: ord says which read it was (hocket__log_read_clock) */
    HOCKET__LOG_KINDS
};

/* Of HOCKET__LOG_LIFE `value` is the wall time at 0 of the run's clock, in milliseconds. Its `name`, if any, is for how many
 * milliseconds of that clock the run has waited for people alone so far. */
struct hocket__log_entry {
    uint64_t n;    /* 1, 2, 3 … */
    uint64_t tick; /* steps before it */
    int64_t
        at_ms; /* of the run's own clock, which stands still while nobody runs it; never goes back */
    enum hocket__log_kind kind;
    uint64_t path;             /* of the fiber that it is for; 0: none */
    uint32_t ord;              /* which effect of that fiber, from 1; 0: none */
    struct hocket__str name;   /* of an effect: "model", "tool", "step" … */
    struct hocket__str digest; /* what was asked: lines "field=value", see hocket__log_differs */
    struct hocket__str value;
};

/* Where entries go that are new. It may not call back into the log. Below 0: it could not be kept,
 * and the run must not go on. */
struct hocket__log_sink {
    int (*append)(void *ud, const struct hocket__log_entry *e, struct hocket_error *err);
    void *ud;
};

struct hocket__log;

/* NULL: out of memory. A sink without `append` keeps nothing. */
struct hocket__log *hocket__log_new(
    const struct hocket_allocator *a, const struct hocket__log_sink *sink);
void hocket__log_free(struct hocket__log *log); /* NULL is fine */

/* Before the run begins: the next entry of its past; copied. EINVAL when it cannot follow the one
 * before: its number, its tick, its time. What stands between the first checkpoint and the newest one is
 * forgotten, and may be missing: see hocket__log_skip_to_checkpoint. */
int hocket__log_feed(
    struct hocket__log *log, const struct hocket__log_entry *e, struct hocket_error *err);

/* Before the first entry is fed: nothing is forgotten, and the run is replayed through all of its checkpoints. */
void hocket__log_keep_all(struct hocket__log *log);

/* Whether there are entries that were not replayed yet. Not after an error. */
bool hocket__log_replays(const struct hocket__log *log);
/* The error that ended it, or NULL: nothing is appended or replayed any more. */
const struct hocket_error *hocket__log_error(const struct hocket__log *log);
/* Ends it. The first error stays. Returns its status. */
int hocket__log_fail(struct hocket__log *log, const struct hocket_error *err);

/* A step begins. */
void hocket__log_step(struct hocket__log *log);
uint64_t hocket__log_tick(const struct hocket__log *log);
/* The run's clock: that of the last entry, so that it stands still but for what comes. */
int64_t hocket__log_now_ms(const struct hocket__log *log);
uint64_t hocket__log_last(const struct hocket__log *log); /* number of the last entry; 0: none */

/* The most reads of the clock that one step makes without an entry. */
#define HOCKET__LOG_LOOKS 1000000

/* In a step, the fiber `path` reads the clock. The log counts the reads since the step began or since the last entry: so a
 * replay finds the read at which the clock moved, and moves it there.
 *
 * Returns the number of the read where no replay is going on: whoever finds that the clock has moved then appends an entry
 * CLOCK with this number as its ord, and does so with read HOCKET__LOG_LOOKS in any case. Returns 0 in a replay, and
 * after an error. EREPLAY ends a replay that reads the clock more often than the run did. */
uint32_t hocket__log_read_clock(struct hocket__log *log, uint64_t path);

/* Live: appends an entry of this kind and what else is set in *e; n, tick and time are filled in.
 * `now_ms`: on the run's clock; what is earlier than its last entry counts as that. */
int hocket__log_put(
    struct hocket__log *log, struct hocket__log_entry *e, int64_t now_ms, struct hocket_error *err);

/* In a replay, between two steps: the entry that is to be applied now; NULL when its tick has not come,
 * or there is none. One that should have come before, or is of the sort that a step does
 * itself, has not been done: EREPLAY, to be had from hocket__log_error. */
const struct hocket__log_entry *hocket__log_due(struct hocket__log *log);
/* Whether the next entry waits for a tick that is still to come. */
bool hocket__log_is_before_next(const struct hocket__log *log);
/* It was applied: the clock moves to it. It stays until hocket__log_forget. */
void hocket__log_advance(struct hocket__log *log);
/* Nobody needs the entry n any more, which was passed. */
void hocket__log_forget(struct hocket__log *log, uint64_t n);

/* In a replay, in a step: the next entry, if it is of this kind, path and ord, and of now; and of this name, where *is has
 * one. Else NULL. */
const struct hocket__log_entry *hocket__log_peek(
    const struct hocket__log *log, const struct hocket__log_entry *is);
/* In a replay: whether an effect of this name, whose digest begins so, is still to begin. Looks at everything that is left. */
bool hocket__log_has_effect_ahead(
    const struct hocket__log *log, struct hocket__str name, struct hocket__str digest);
/* In a replay, in a step: what it does now (kind, path, ord, name, digest of *is) has to be the next
 * entry, which is passed. Gives it, or NULL with EREPLAY in *err, which has ended the log. */
const struct hocket__log_entry *hocket__log_match(
    struct hocket__log *log, const struct hocket__log_entry *is, struct hocket_error *err);

/* In a replay, in the step that has come to the first checkpoint: the newest one, which is passed. Ticks and time go on from
 * there. NULL: there is none. */
const struct hocket__log_entry *hocket__log_skip_to_checkpoint(struct hocket__log *log);

/* The word for a kind; "?" for what is none. */
const char *hocket__log_kind_word(enum hocket__log_kind kind);

/* Where two digests differ: the field, and both values (empty: it is not there). False when
 * they do not. What is given points into them. */
bool hocket__log_differs(struct hocket__str was, struct hocket__str is, struct hocket__str *field,
    struct hocket__str *old, struct hocket__str *now);

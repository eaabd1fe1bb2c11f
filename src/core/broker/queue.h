/* Which job starts next: the queue of what is ready.
 *
 * Order: parents that resume before jobs that start; then priority, highest
 * first; then the runs take turns (the one served longest ago goes first); within a run the
 * submitters take turns (a job for its children, the run for its own jobs); then first in, first
 * out. Only entries whose broker, agent, provider and group all have a free slot count.
 *
 *     queue ─ levels ─────── rows ────────── cells ──────── entries
 *             one per        one per run,    one per lane   by their places
 *             priority       next turn first and group      in the line
 *
 * Nothing starves: a level gains a point for every HOCKET__PASSES_A_POINT entries
 * that start from above it while it has one that could, until one of its own has
 * started. So behind a stream that is d points higher one starts after at most
 * d * HOCKET__PASSES_A_POINT of the stream; and a level that is served, however
 * much is left in it, keeps nobody above it waiting.
 *
 * Turns within a run are places in a line, as in start-time fair queueing: an
 * entry comes one behind the last of whoever submitted it, and never ahead of
 * what has started. So a job with a thousand children delays another's by one.
 *
 * A lane is a pair of agent and provider (lane.h); it is open while both
 * have a free slot. Levels and rows have a bit for each lane in which they have a job. So a level
 * or row without a job for an open lane is skipped by comparing a few words, and no search visits
 * single entries. The cost grows with the busy runs, lanes and priorities, and with the logarithm
 * of the queued jobs.
 *
 * Nothing here allocates but attach, attach_back and limit. */
#pragma once

#include "core/broker/heap.h"
#include "core/broker/lane.h"

/* Priorities lie in -HOCKET__PRIORITY_MAX … HOCKET__PRIORITY_MAX. */
#define HOCKET__PRIORITY_MAX   100
#define HOCKET__PASSES_A_POINT 8

struct hocket__queue {
    int64_t limit; /* of the whole broker; -1: none, 0: nothing starts */
    size_t running, queued;
    uint64_t turn, seq;
    struct hocket__lanes lanes;
    struct hocket__list levels; /* highest first */
    struct hocket__index cells;
    const struct hocket_allocator *a;
};

/* One run's place in the round; held by the broker's run. */
struct hocket__queue_run {
    uint64_t id, turn;
    uint64_t line;     /* the place in the line of the last that started */
    uint64_t own_line; /* of the last of its own, which are no job's children */
    struct hocket__list rows;
};

/* One job's place; held by the broker's job. */
struct hocket__queue_entry {
    struct hocket__heap_item place;
    struct hocket__cell *cell;   /* NULL: not attached */
    struct hocket__cell *back;   /* where it resumes; NULL: has never parked */
    uint64_t line;               /* the place of the last of its children */
    bool queued, resumed, holds; /* holds: it has a slot */
};

struct hocket__queue_class {
    struct hocket__str agent, provider, group; /* an empty group has no limit */
    int priority;
};

void hocket__queue_init(struct hocket__queue *q, const struct hocket_allocator *a, int64_t limit);
void hocket__queue_deinit(struct hocket__queue *q); /* all entries are detached */

/* A run that comes new goes to the end of the round. */
void hocket__queue_run_init(struct hocket__queue *q, struct hocket__queue_run *run, uint64_t id);

/* Makes everything that the entry needs to be queued. 0 or ENOMEM. */
int hocket__queue_attach(struct hocket__queue *q, struct hocket__queue_entry *e,
    struct hocket__queue_run *run, const struct hocket__queue_class *c);
/* And what it needs to be queued as resumed. 0 or ENOMEM. */
int hocket__queue_attach_back(struct hocket__queue *q, struct hocket__queue_entry *e);
/* Takes it out, gives its slot back. A detached entry may be given. */
void hocket__queue_detach(struct hocket__queue *q, struct hocket__queue_entry *e);

/* `above` is the entry of whoever submitted it, NULL for the run. */
void hocket__queue_push(struct hocket__queue *q, struct hocket__queue_entry *e,
    struct hocket__queue_entry *above, bool resumed);
void hocket__queue_remove(struct hocket__queue *q, struct hocket__queue_entry *e);
/* The next entry, which now holds a slot, or NULL. */
struct hocket__queue_entry *hocket__queue_pop(struct hocket__queue *q);
void hocket__queue_release(struct hocket__queue *q, struct hocket__queue_entry *e);

/* The limit of one name, from now on; what runs already is left alone. 0 or ENOMEM. */
int hocket__queue_limit(
    struct hocket__queue *q, enum hocket__limit_kind kind, struct hocket__str name, int64_t limit);
void hocket__queue_limit_all(struct hocket__queue *q, int64_t limit);

/* The clock of a run's work. All time limits of the run go by it. It stands still while the run waits for people alone.
 *
 *     busy     the fiber runs, or waits for something that comes by itself: a model, a program, a time
 *     asking   the fiber waits for a person, or for a message from outside
 *     idle     the fiber waits for other fibers of its run, perhaps under a time limit
 *
 *     no fiber is busy, one asks ──> the clock stops, no limit is set
 *     a fiber becomes busy       ──> the clock runs, each limit is set to what is left of it
 *
 * This file alone decides whether a run waits for people alone. The first fiber of a run and all fibers below it share the clock,
 * including fibers that perform effects. The limits of a fiber without a clock go by the machine's.
 *
 * The clock of a kept run also stands still while no process has the run. The log says how long it stood still, in an entry before
 * the one that ended the pause (kept.c), so that a later process knows what is left of each limit. It also says which limit has
 * ended a wait: a replay compares no times. */
#pragma once

#include "bind/fiber/fiber_impl.h"

struct hocket__kept;

struct hocket__work_clock {
    struct hocket__kept *kept; /* goes by its clock; NULL: by the machine's */
    const struct hocket_allocator *a;
    size_t refs;
    size_t fibers[HOCKET__STANDINGS];
    bool stopped;
    int64_t since_ms;           /* when it stopped */
    int64_t still_ms;           /* how long it stood still before */
    struct hocket__list limits; /* fibers that wait under one */
    int64_t run_due_ms;         /* when the time limit of the whole run is over; 0: it has none */
};

/* With one reference. NULL: out of memory. */
struct hocket__work_clock *hocket__work_clock_new(struct hocket__runtime *rt);
void hocket__work_clock_unref(struct hocket__work_clock *c);

/* From here on the fiber counts at this clock, and at no other. */
void hocket__work_clock_join(struct hocket__fiber *f, struct hocket__work_clock *c);
void hocket__work_clock_leave(struct hocket__fiber *f);
/* What the fiber does from here on. */
void hocket__work_clock_note(struct hocket__fiber *f, enum hocket__standing standing);
/* What a wait that begins is, of at most so many milliseconds; below 0: without end. */
enum hocket__standing hocket__work_clock_standing(
    const struct hocket__fiber *f, int64_t timeout_ms);

/* The fiber waits until this time of its clock at most; and does so no longer. */
void hocket__work_clock_limit(struct hocket__fiber *f, int64_t due_ms);
void hocket__work_clock_unlimit(struct hocket__fiber *f);
/* The clock has stood still for so long: all limits end later. */
void hocket__work_clock_set_back(struct hocket__work_clock *c, int64_t ms);

/* A run that is kept goes live: limits are set from here on. */
void hocket__work_clock_live(struct hocket__work_clock *c);
/* How long it has stood still so far. */
int64_t hocket__work_clock_still_ms(const struct hocket__work_clock *c);

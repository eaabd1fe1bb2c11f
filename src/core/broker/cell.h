/* What the queue is built of (see queue.h): levels, rows and cells, made on first use and gone with
 * the last entry that is attached to them. Nobody but the queue includes this. */
#pragma once

#include "core/broker/queue.h"

/* The level of what resumes lies above all priorities. */
#define HOCKET__RANK_BACK (HOCKET__PRIORITY_MAX + 1)

struct hocket__level {
    struct hocket__list link, rows; /* rows: by the run's turn */
    struct hocket__laneset lanes;   /* counts rows */
    int rank;
    bool ready;      /* in this pop: it had an entry that could have started */
    uint64_t passed; /* starts from above while it had one; since its own last */
};

struct hocket__row {
    struct hocket__list at_level, at_run, cells;
    struct hocket__laneset lanes; /* counts live cells */
    struct hocket__queue_run *run;
    struct hocket__level *level;
    size_t refs;
};

struct hocket__cell {
    struct hocket__index_node node;
    struct hocket__list at_row;
    struct hocket__list parked; /* at a full group */
    struct hocket__heap entries;
    struct hocket__row *row;
    struct hocket__lane *lane;
    struct hocket__name *group; /* NULL: none */
    size_t refs;                /* entries that are attached: as many may be queued */
    bool live;                  /* has entries and is not parked: counted in the row */
};

/* The cell of a run's entries of this class, with room for one more. Takes over the references to
 * lane and group; NULL when memory is out. */
struct hocket__cell *hocket__cell_ref(struct hocket__queue *q, struct hocket__queue_run *run,
    struct hocket__lane *lane, struct hocket__name *group, int rank);
void hocket__cell_unref(struct hocket__queue *q, struct hocket__cell *c);

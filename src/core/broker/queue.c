/* How the queue chooses; queue.h says what it promises.
 *
 * A pop goes down level, row, cell, entry, and looks at each only where the set of lanes says
 * that something could start. A cell whose group is full is parked at the group, so that it is
 * not met again at every pop, and comes back when the group has room (use).
 *
 * Invariant: a cell is `live` when it has entries and is not parked. The lanes of live cells
 * are counted in their row, those of rows in their level; cell_update is the only place that
 * changes this. */
#include "core/broker/queue.h"

#include "core/broker/cell.h"

/* ---- Coming and going ------------------------------------------------------------- */

int hocket__queue_attach(struct hocket__queue *q, struct hocket__queue_entry *e,
    struct hocket__queue_run *run, const struct hocket__queue_class *c)
{
    struct hocket__lane *lane = hocket__lane_ref(&q->lanes, c->agent, c->provider);
    struct hocket__name *group = NULL;
    *e = (struct hocket__queue_entry){ 0 };
    if (!lane)
        return HOCKET_ENOMEM;
    if (c->group.n > 0 && !(group = hocket__name_ref(&q->lanes, HOCKET__LIMIT_GROUP, c->group))) {
        hocket__lane_unref(&q->lanes, lane);
        return HOCKET_ENOMEM;
    }
    e->cell = hocket__cell_ref(q, run, lane, group, c->priority);
    return e->cell ? 0 : HOCKET_ENOMEM;
}

int hocket__queue_attach_back(struct hocket__queue *q, struct hocket__queue_entry *e)
{
    struct hocket__cell *c = e->cell;
    if (e->back)
        return 0;
    /* cell_ref takes over a reference to each, as it does in attach */
    c->lane->refs++;
    if (c->group)
        c->group->refs++;
    e->back = hocket__cell_ref(q, c->row->run, c->lane, c->group, HOCKET__RANK_BACK);
    return e->back ? 0 : HOCKET_ENOMEM;
}

void hocket__queue_detach(struct hocket__queue *q, struct hocket__queue_entry *e)
{
    if (!e->cell)
        return;
    hocket__queue_remove(q, e);
    hocket__queue_release(q, e);
    if (e->back)
        hocket__cell_unref(q, e->back);
    hocket__cell_unref(q, e->cell);
    e->cell = e->back = NULL;
}

/* ---- Order ----------------------------------------------------------------------- */

static struct hocket__queue_entry *cell_first(const struct hocket__cell *c)
{
    return hocket__container_of(hocket__heap_top(&c->entries), struct hocket__queue_entry, place);
}

/* After its entries or its parking changed. */
static void cell_update(struct hocket__cell *c)
{
    bool live = c->entries.count > 0 && hocket__list_empty(&c->parked);
    if (live == c->live)
        return;
    c->live = live;
    if (live && hocket__laneset_add(&c->row->lanes, c->lane->number))
        hocket__laneset_add(&c->row->level->lanes, c->lane->number);
    if (!live && hocket__laneset_del(&c->row->lanes, c->lane->number))
        hocket__laneset_del(&c->row->level->lanes, c->lane->number);
}

/* The live cell with an open lane whose first entry comes first. Cells of a full group are parked
 * there when they are met. */
static struct hocket__cell *row_best(struct hocket__row *w)
{
    struct hocket__cell *best = NULL;
    for (struct hocket__list *l = w->cells.next; l != &w->cells; l = l->next) {
        struct hocket__cell *c = hocket__container_of(l, struct hocket__cell, at_row);
        if (!c->live || c->lane->closed)
            continue;
        if (c->group && c->group->full) {
            /* Parked here and not when the group filled up: then all cells of the group would
             * have to be found. */
            hocket__list_add(&c->group->parked, &c->parked);
            cell_update(c);
        } else if (!best
                   || hocket__heap_key_less(
                       cell_first(c)->place.key, cell_first(best)->place.key)) {
            best = c;
        }
    }
    return best;
}

static struct hocket__cell *level_best(
    const struct hocket__level *v, const struct hocket__laneset *open)
{
    struct hocket__list *l = v->rows.next;
    for (; l != &v->rows && hocket__laneset_intersects(&v->lanes, open); l = l->next) {
        struct hocket__row *w = hocket__container_of(l, struct hocket__row, at_level);
        struct hocket__cell *c = hocket__laneset_intersects(&w->lanes, open) ? row_best(w) : NULL;
        if (c)
            return c;
    }
    return NULL;
}

/* Where a level stands among the others by now. */
static uint64_t standing(const struct hocket__level *v)
{
    return (uint64_t) (v->rank + HOCKET__PRIORITY_MAX) + v->passed / HOCKET__PASSES_A_POINT;
}

/* Of the levels that have an entry which may start, the one that stands highest; of two that stand
 * alike the lower one, which has waited for it. */
static struct hocket__cell *best_cell(struct hocket__queue *q)
{
    struct hocket__cell *best = NULL;
    for (struct hocket__list *l = q->levels.next; l != &q->levels; l = l->next) {
        struct hocket__level *v = hocket__container_of(l, struct hocket__level, link);
        struct hocket__cell *c = level_best(v, &q->lanes.open);
        v->ready = c != NULL;
        /* Whoever resumes goes before all that start, or nested waits could starve behind new
         * jobs. */
        if (c && v->rank == HOCKET__RANK_BACK)
            return c;
        if (c && (!best || standing(v) >= standing(best->row->level)))
            best = c;
    }
    return best;
}

/* Those below that could have started one grow older by it. */
static void pass(struct hocket__queue *q, struct hocket__level *served)
{
    struct hocket__list *l = served->link.next;
    for (; l != &q->levels; l = l->next) {
        struct hocket__level *v = hocket__container_of(l, struct hocket__level, link);
        v->passed += v->ready;
    }
    served->passed = 0;
}

/* The run has had its turn: last in every level. */
static void end_turn(struct hocket__queue *q, struct hocket__queue_run *run, uint64_t line)
{
    run->turn = ++q->turn;
    run->line = line > run->line ? line : run->line;
    for (struct hocket__list *l = run->rows.next; l != &run->rows; l = l->next) {
        struct hocket__row *w = hocket__container_of(l, struct hocket__row, at_run);
        hocket__list_del(&w->at_level);
        hocket__list_add(&w->level->rows, &w->at_level);
    }
}

/* ---- Entries ------------------------------------------------------------------------ */

/* Its place in the line of whoever submitted it: one behind the last, and not ahead of what has
 * started meanwhile, so that nobody saves up turns. */
static uint64_t next_in_line(const struct hocket__queue_run *run, uint64_t *line)
{
    *line = (*line > run->line ? *line : run->line) + 1;
    return *line;
}

void hocket__queue_push(struct hocket__queue *q, struct hocket__queue_entry *e,
    struct hocket__queue_entry *above, bool resumed)
{
    struct hocket__cell *c = resumed ? e->back : e->cell;
    struct hocket__queue_run *run = c->row->run;
    struct hocket__heap_key key = { 0, ++q->seq, 0 };
    if (!resumed)
        key.a = (int64_t) next_in_line(run, above ? &above->line : &run->own_line);
    e->queued = true;
    e->resumed = resumed;
    hocket__heap_set(&c->entries, &e->place, key);
    q->queued++;
    cell_update(c);
}

void hocket__queue_remove(struct hocket__queue *q, struct hocket__queue_entry *e)
{
    if (!e->queued)
        return;
    struct hocket__cell *c = e->resumed ? e->back : e->cell;
    hocket__heap_del(&c->entries, &e->place);
    e->queued = false;
    q->queued--;
    cell_update(c);
}

static void use(struct hocket__queue *q, struct hocket__name *n, int by)
{
    if (!n || !hocket__name_use(&q->lanes, n, by))
        return;
    /* All of them, although there may be room for one: whoever does not get it is parked again
     * when met. */
    while (!hocket__list_empty(&n->parked)) {
        struct hocket__list *first = n->parked.next;
        hocket__list_del(first);
        cell_update(hocket__container_of(first, struct hocket__cell, parked));
    }
}

static void use_all(struct hocket__queue *q, struct hocket__queue_entry *e, int by)
{
    e->holds = by > 0;
    q->running += (size_t) by;
    use(q, e->cell->lane->agent, by);
    use(q, e->cell->lane->provider, by);
    use(q, e->cell->group, by);
}

void hocket__queue_force_slot(struct hocket__queue *q, struct hocket__queue_entry *e)
{
    use_all(q, e, 1);
}

void hocket__queue_release(struct hocket__queue *q, struct hocket__queue_entry *e)
{
    if (e->holds)
        use_all(q, e, -1);
}

struct hocket__queue_entry *hocket__queue_pop(struct hocket__queue *q)
{
    if (q->limit >= 0 && q->running >= (uint64_t) q->limit)
        return NULL;
    struct hocket__cell *c = best_cell(q);
    if (!c)
        return NULL;
    struct hocket__queue_entry *e = cell_first(c);
    hocket__queue_remove(q, e);
    hocket__queue_force_slot(q, e);
    /* resuming is no turn: the run pays for an attempt once */
    if (!e->resumed) {
        pass(q, c->row->level);
        end_turn(q, c->row->run, (uint64_t) e->place.key.a);
    }
    return e;
}

/* ---- The queue ------------------------------------------------------------------------ */

void hocket__queue_init(struct hocket__queue *q, const struct hocket_allocator *a, int64_t limit)
{
    *q = (struct hocket__queue){ .limit = limit, .a = a };
    hocket__lanes_init(&q->lanes, a);
    hocket__list_init(&q->levels);
    hocket__index_init(&q->cells, a);
}

void hocket__queue_deinit(struct hocket__queue *q)
{
    hocket__lanes_deinit(&q->lanes);
    hocket__index_deinit(&q->cells);
}

void hocket__queue_run_init(struct hocket__queue *q, struct hocket__queue_run *run, uint64_t id)
{
    *run = (struct hocket__queue_run){ .id = id, .turn = ++q->turn };
    hocket__list_init(&run->rows);
}

int hocket__queue_limit(
    struct hocket__queue *q, enum hocket__limit_kind kind, struct hocket__str name, int64_t limit)
{
    struct hocket__name *n = hocket__name_ref(&q->lanes, kind, name);
    if (!n)
        return HOCKET_ENOMEM;
    n->limit = limit < 0 ? HOCKET__UNLIMITED : limit;
    use(q, n, 0);
    hocket__name_unref(&q->lanes, n);
    return 0;
}

void hocket__queue_limit_all(struct hocket__queue *q, int64_t limit)
{
    q->limit = limit < 0 ? HOCKET__UNLIMITED : limit;
}

#include "core/broker/queue.h"

/* The level of what resumes lies above all priorities. */
#define BACK (HOCKET__PRIORITY_MAX + 1)

struct level {
    struct hocket__list link, rows; /* rows: by the run's turn */
    struct hocket__laneset lanes;   /* counts rows */
    int rank;
};

struct row {
    struct hocket__list at_level, at_run, cells;
    struct hocket__laneset lanes; /* counts live cells */
    struct hocket__queue_run *run;
    struct level *level;
    size_t refs;
};

struct hocket__cell {
    struct hocket__index_node node;
    struct hocket__list at_row, entries;
    struct hocket__list parked; /* at a full group */
    struct row *row;
    struct hocket__lane *lane;
    struct hocket__name *group; /* NULL: none */
    uint64_t head;              /* seq of the first entry */
    size_t refs;
    bool live; /* has entries and is not parked: counted in the row */
};

/* ---- Levels, rows, cells: made on first use, gone with the last ---------------- */

static void level_unref(struct hocket__queue *q, struct level *v)
{
    if (!hocket__list_empty(&v->rows))
        return;
    hocket__list_del(&v->link);
    hocket__laneset_deinit(&v->lanes, q->a);
    hocket__free(q->a, v, sizeof(*v));
}

/* A level without rows: the caller gives it one, or unrefs it. */
static struct level *level_find(struct hocket__queue *q, int rank)
{
    struct hocket__list *at = q->levels.next;
    for (; at != &q->levels; at = at->next) {
        struct level *v = hocket__container_of(at, struct level, link);
        if (v->rank == rank)
            return v;
        if (v->rank < rank)
            break;
    }
    struct level *v = hocket__zero(q->a, sizeof(*v));
    if (v) {
        v->rank = rank;
        hocket__list_init(&v->rows);
        hocket__list_add(at, &v->link);
    }
    return v;
}

static void row_unref(struct hocket__queue *q, struct row *w)
{
    if (--w->refs > 0)
        return;
    hocket__list_del(&w->at_level);
    hocket__list_del(&w->at_run);
    level_unref(q, w->level);
    hocket__laneset_deinit(&w->lanes, q->a);
    hocket__free(q->a, w, sizeof(*w));
}

/* A run that is new to a level has mostly been served last, or never. */
static void row_link(struct row *w)
{
    struct hocket__list *at = &w->level->rows;
    while (at->prev != &w->level->rows
           && hocket__container_of(at->prev, struct row, at_level)->run->turn > w->run->turn)
        at = at->prev;
    hocket__list_add(at, &w->at_level);
    hocket__list_add(&w->run->rows, &w->at_run);
}

static struct row *row_ref(struct hocket__queue *q, struct hocket__queue_run *run, int rank)
{
    struct hocket__list *l = run->rows.next;
    for (; l != &run->rows; l = l->next) {
        struct row *w = hocket__container_of(l, struct row, at_run);
        if (w->level->rank == rank) {
            w->refs++;
            return w;
        }
    }
    struct level *v = level_find(q, rank);
    struct row *w = v ? hocket__zero(q->a, sizeof(*w)) : NULL;
    if (w) {
        *w = (struct row){ .run = run, .level = v, .refs = 1 };
        hocket__list_init(&w->cells);
        row_link(w);
    } else if (v) {
        level_unref(q, v);
    }
    return w;
}

static void cell_unref(struct hocket__queue *q, struct hocket__cell *c)
{
    if (--c->refs > 0)
        return;
    hocket__list_del(&c->parked);
    hocket__list_del(&c->at_row);
    hocket__index_del(&q->cells, &c->node);
    row_unref(q, c->row);
    hocket__name_unref(&q->lanes, c->group);
    hocket__lane_unref(&q->lanes, c->lane);
    hocket__free(q->a, c, sizeof(*c));
}

static struct hocket__cell *cell_find(const struct hocket__queue *q,
    const struct hocket__queue_run *run, const struct hocket__cell *like, int rank, uint64_t hash)
{
    struct hocket__index_node *i = hocket__index_first(&q->cells, hash);
    for (; i; i = hocket__index_next(i)) {
        struct hocket__cell *c = hocket__container_of(i, struct hocket__cell, node);
        if (c->row->run == run && c->row->level->rank == rank && c->lane == like->lane
            && c->group == like->group)
            return c;
    }
    return NULL;
}

/* Takes over the references to lane and group that `like` holds. */
static struct hocket__cell *cell_new(struct hocket__queue *q, struct hocket__queue_run *run,
    const struct hocket__cell *like, int rank, uint64_t hash)
{
    struct row *w = row_ref(q, run, rank);
    struct hocket__cell *c;
    if (!w)
        return NULL;
    if (hocket__index_reserve(&q->cells, q->cells.count + 1) < 0
        || hocket__laneset_reserve(&w->lanes, q->a, like->lane->number) < 0
        || hocket__laneset_reserve(&w->level->lanes, q->a, like->lane->number) < 0
        || !(c = hocket__new(q->a, sizeof(*c)))) {
        row_unref(q, w);
        return NULL;
    }
    *c = *like;
    c->row = w;
    hocket__list_init(&c->entries);
    hocket__list_init(&c->parked);
    hocket__list_add(&w->cells, &c->at_row);
    hocket__index_add(&q->cells, &c->node, hash);
    return c;
}

static struct hocket__cell *cell_ref(struct hocket__queue *q, struct hocket__queue_run *run,
    const struct hocket__cell *like, int rank)
{
    uint64_t hash = hocket__index_mix(like->lane->node.hash, run->id);
    hash = hocket__index_mix(hash, (uint64_t) (int64_t) rank);
    if (like->group)
        hash = hocket__index_mix(hash, like->group->node.hash);
    struct hocket__cell *c = cell_find(q, run, like, rank, hash), *made = NULL;
    if (!c)
        c = made = cell_new(q, run, like, rank, hash);
    if (!made) {
        hocket__name_unref(&q->lanes, like->group);
        hocket__lane_unref(&q->lanes, like->lane);
    }
    if (c)
        c->refs++;
    return c;
}

int hocket__queue_attach(struct hocket__queue *q, struct hocket__queue_entry *e,
    struct hocket__queue_run *run, const struct hocket__queue_class *c)
{
    struct hocket__cell like = { .lane = hocket__lane_ref(&q->lanes, c->agent, c->provider) };
    *e = (struct hocket__queue_entry){ 0 };
    hocket__list_init(&e->link);
    if (!like.lane)
        return HOCKET_ENOMEM;
    if (c->group.n > 0
        && !(like.group = hocket__name_ref(&q->lanes, HOCKET__LIMIT_GROUP, c->group))) {
        hocket__lane_unref(&q->lanes, like.lane);
        return HOCKET_ENOMEM;
    }
    e->cell = cell_ref(q, run, &like, c->priority);
    return e->cell ? 0 : HOCKET_ENOMEM;
}

int hocket__queue_attach_back(struct hocket__queue *q, struct hocket__queue_entry *e)
{
    struct hocket__cell like = { .lane = e->cell->lane, .group = e->cell->group };
    if (e->back)
        return 0;
    like.lane->refs++;
    if (like.group)
        like.group->refs++;
    e->back = cell_ref(q, e->cell->row->run, &like, BACK);
    return e->back ? 0 : HOCKET_ENOMEM;
}

void hocket__queue_detach(struct hocket__queue *q, struct hocket__queue_entry *e)
{
    if (!e->cell)
        return;
    hocket__queue_remove(q, e);
    hocket__queue_release(q, e);
    if (e->back)
        cell_unref(q, e->back);
    cell_unref(q, e->cell);
    e->cell = e->back = NULL;
}

/* ---- Order ----------------------------------------------------------------------- */

static struct hocket__queue_entry *cell_first(const struct hocket__cell *c)
{
    return hocket__container_of(c->entries.next, struct hocket__queue_entry, link);
}

/* After its entries or its parking changed. */
static void cell_update(struct hocket__cell *c)
{
    bool live = !hocket__list_empty(&c->entries) && hocket__list_empty(&c->parked);
    if (!hocket__list_empty(&c->entries))
        c->head = cell_first(c)->seq;
    if (live == c->live)
        return;
    c->live = live;
    if (live && hocket__laneset_add(&c->row->lanes, c->lane->number))
        hocket__laneset_add(&c->row->level->lanes, c->lane->number);
    if (!live && hocket__laneset_del(&c->row->lanes, c->lane->number))
        hocket__laneset_del(&c->row->level->lanes, c->lane->number);
}

/* The live cell with an open lane whose first entry has waited longest. Cells of
 * a full group are parked there when they are met. */
static struct hocket__cell *row_best(struct row *w)
{
    struct hocket__cell *best = NULL;
    for (struct hocket__list *l = w->cells.next; l != &w->cells; l = l->next) {
        struct hocket__cell *c = hocket__container_of(l, struct hocket__cell, at_row);
        if (!c->live || c->lane->closed)
            continue;
        if (c->group && c->group->full) {
            hocket__list_add(&c->group->parked, &c->parked);
            cell_update(c);
        } else if (!best || c->head < best->head) {
            best = c;
        }
    }
    return best;
}

static struct hocket__cell *best_cell(struct hocket__queue *q)
{
    const struct hocket__laneset *open = &q->lanes.open;
    for (struct hocket__list *v = q->levels.next; v != &q->levels; v = v->next) {
        struct level *level = hocket__container_of(v, struct level, link);
        struct hocket__list *l = level->rows.next;
        for (; l != &level->rows && hocket__laneset_meets(&level->lanes, open); l = l->next) {
            struct row *w = hocket__container_of(l, struct row, at_level);
            struct hocket__cell *c = hocket__laneset_meets(&w->lanes, open) ? row_best(w) : NULL;
            if (c)
                return c;
        }
    }
    return NULL;
}

/* The run has had its turn: last in every level. */
static void end_turn(struct hocket__queue *q, struct hocket__queue_run *run)
{
    run->turn = ++q->turn;
    for (struct hocket__list *l = run->rows.next; l != &run->rows; l = l->next) {
        struct row *w = hocket__container_of(l, struct row, at_run);
        hocket__list_del(&w->at_level);
        hocket__list_add(&w->level->rows, &w->at_level);
    }
}

/* ---- Entries ------------------------------------------------------------------------ */

void hocket__queue_push(struct hocket__queue *q, struct hocket__queue_entry *e, bool resumed)
{
    struct hocket__cell *c = resumed ? e->back : e->cell;
    e->queued = true;
    e->resumed = resumed;
    e->seq = ++q->seq;
    hocket__list_add(&c->entries, &e->link);
    q->queued++;
    cell_update(c);
}

void hocket__queue_remove(struct hocket__queue *q, struct hocket__queue_entry *e)
{
    if (!e->queued)
        return;
    hocket__list_del(&e->link);
    e->queued = false;
    q->queued--;
    cell_update(e->resumed ? e->back : e->cell);
}

static void use(struct hocket__queue *q, struct hocket__name *n, int by)
{
    if (!n || !hocket__name_use(&q->lanes, n, by))
        return;
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

void hocket__queue_hold(struct hocket__queue *q, struct hocket__queue_entry *e)
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
    hocket__queue_hold(q, e);
    if (!e->resumed)
        end_turn(q, c->row->run);
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
    run->id = id;
    run->turn = ++q->turn;
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

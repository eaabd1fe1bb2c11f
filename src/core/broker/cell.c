/* The parts of the queue come and go by reference counts: an entry holds its cell, a cell its
 * row, a row stands in a level. Each is made when its first holder comes and freed with its
 * last, so an idle broker has none. */
#include "core/broker/cell.h"

static void level_unref(struct hocket__queue *q, struct hocket__level *v)
{
    if (!hocket__list_empty(&v->rows))
        return;
    hocket__list_del(&v->link);
    hocket__laneset_deinit(&v->lanes, q->a);
    hocket__free(q->a, v, sizeof(*v));
}

/* A level without rows: the caller gives it one, or unrefs it. */
static struct hocket__level *level_find(struct hocket__queue *q, int rank)
{
    struct hocket__list *at = q->levels.next;
    for (; at != &q->levels; at = at->next) {
        struct hocket__level *v = hocket__container_of(at, struct hocket__level, link);
        if (v->rank == rank)
            return v;
        if (v->rank < rank)
            break;
    }
    struct hocket__level *v = hocket__zero(q->a, sizeof(*v));
    if (v) {
        v->rank = rank;
        hocket__list_init(&v->rows);
        hocket__list_add(at, &v->link);
    }
    return v;
}

static void row_unref(struct hocket__queue *q, struct hocket__row *w)
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
static void row_link(struct hocket__row *w)
{
    struct hocket__list *at = &w->level->rows;
    while (
        at->prev != &w->level->rows
        && hocket__container_of(at->prev, struct hocket__row, at_level)->run->turn > w->run->turn)
        at = at->prev;
    hocket__list_add(at, &w->at_level);
    hocket__list_add(&w->run->rows, &w->at_run);
}

static struct hocket__row *row_ref(struct hocket__queue *q, struct hocket__queue_run *run, int rank)
{
    struct hocket__list *l = run->rows.next;
    for (; l != &run->rows; l = l->next) {
        struct hocket__row *w = hocket__container_of(l, struct hocket__row, at_run);
        if (w->level->rank == rank) {
            w->refs++;
            return w;
        }
    }
    struct hocket__level *v = level_find(q, rank);
    struct hocket__row *w = v ? hocket__zero(q->a, sizeof(*w)) : NULL;
    if (w) {
        *w = (struct hocket__row){ .run = run, .level = v, .refs = 1 };
        hocket__list_init(&w->cells);
        row_link(w);
    } else if (v) {
        level_unref(q, v);
    }
    return w;
}

void hocket__cell_unref(struct hocket__queue *q, struct hocket__cell *c)
{
    if (--c->refs > 0)
        return;
    hocket__list_del(&c->parked);
    hocket__list_del(&c->at_row);
    hocket__heap_deinit(&c->entries);
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
    struct hocket__row *w = row_ref(q, run, rank);
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
    hocket__heap_init(&c->entries, q->a);
    hocket__list_init(&c->parked);
    hocket__list_add(&w->cells, &c->at_row);
    hocket__index_add(&q->cells, &c->node, hash);
    return c;
}

static uint64_t hash_of(
    const struct hocket__queue_run *run, const struct hocket__cell *like, int rank)
{
    uint64_t hash = hocket__index_mix(like->lane->node.hash, run->id);
    hash = hocket__index_mix(hash, (uint64_t) (int64_t) rank);
    return like->group ? hocket__index_mix(hash, like->group->node.hash) : hash;
}

struct hocket__cell *hocket__cell_ref(struct hocket__queue *q, struct hocket__queue_run *run,
    struct hocket__lane *lane, struct hocket__name *group, int rank)
{
    struct hocket__cell like = { .lane = lane, .group = group };
    uint64_t hash = hash_of(run, &like, rank);
    /* `like` is a cell that has only what it is found by */
    struct hocket__cell *c = cell_find(q, run, &like, rank, hash), *made = NULL;
    if (!c)
        c = made = cell_new(q, run, &like, rank, hash);
    if (!made) {
        hocket__name_unref(&q->lanes, group);
        hocket__lane_unref(&q->lanes, lane);
    }
    if (!c)
        return NULL;
    /* every attached entry has its room in the heap, so queueing it cannot fail */
    int rc = hocket__heap_reserve(&c->entries, ++c->refs);
    if (rc < 0)
        hocket__cell_unref(q, c);
    return rc < 0 ? NULL : c;
}

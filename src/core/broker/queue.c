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

#include "core/broker/lane.h"

/* What the queue is built of (see queue.h): levels, rows and cells, made on first use and gone with
 * the last entry that is attached to them. Nobody but the queue includes this. */

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

/* Names, lanes and their sets. A lane's number is its bit in every set; numbers are used
 * again, the lowest free one first, so that sets stay as short as there are lanes at one time.
 *
 * References: a cell holds its lane and its group, a lane its two names. A limit that was
 * given keeps its name alive without a reference: it is to hold for jobs that come later. */

/* ---- Sets of lanes --------------------------------------------------------- */

static size_t set_size(size_t words)
{
    return words * (sizeof(uint64_t) + 64 * sizeof(uint32_t));
}

/* 0 or ENOMEM */
static int laneset_reserve(struct hocket__laneset *s, const struct hocket_allocator *a, size_t lane)
{
    size_t words = s->words ? s->words : 1;
    while (lane / 64 >= words)
        words *= 2;
    if (words == s->words)
        return 0;
    uint64_t *bits = hocket__zero(a, set_size(words));
    if (!bits)
        return HOCKET_ENOMEM;
    uint32_t *counts = (uint32_t *) (void *) (bits + words);
    if (s->words > 0) {
        memcpy(bits, s->bits, s->words * sizeof(uint64_t));
        memcpy(counts, s->counts, s->words * 64 * sizeof(uint32_t));
    }
    hocket__free(a, s->bits, set_size(s->words));
    *s = (struct hocket__laneset){ bits, counts, words };
    return 0;
}

static void laneset_deinit(struct hocket__laneset *s, const struct hocket_allocator *a)
{
    hocket__free(a, s->bits, set_size(s->words));
    *s = (struct hocket__laneset){ 0 };
}

static bool laneset_add(struct hocket__laneset *s, size_t lane)
{
    s->bits[lane / 64] |= (uint64_t) 1 << lane % 64;
    return s->counts[lane]++ == 0;
}

/* True when the lane was not in it before, or is not any more. */
static bool laneset_del(struct hocket__laneset *s, size_t lane)
{
    if (--s->counts[lane] > 0)
        return false;
    s->bits[lane / 64] &= ~((uint64_t) 1 << lane % 64);
    return true;
}

/* The lowest number that is not in it; it may lie behind the end. */
static size_t lowest_free(const struct hocket__laneset *s)
{
    size_t i = 0;
    while (i < s->words && s->bits[i] == UINT64_MAX)
        i++;
    size_t lane = i * 64;
    while (i < s->words && (s->bits[i] >> lane % 64 & 1))
        lane++;
    return lane;
}

/* ---- Names -------------------------------------------------------------------- */

static struct hocket__name *name_find(const struct hocket__lanes *ls, enum hocket__limit_kind kind,
    struct hocket__str text, uint64_t hash)
{
    struct hocket__index_node *i = hocket__index_first(&ls->names, hash);
    for (; i; i = hocket__index_next(i)) {
        struct hocket__name *n = hocket__container_of(i, struct hocket__name, node);
        if (n->kind == kind && hocket__str_eq(text, hocket__str(n->text, n->len)))
            return n;
    }
    return NULL;
}

static void name_free(struct hocket__lanes *ls, struct hocket__name *n)
{
    hocket__free(ls->a, n, sizeof(*n) + n->len);
}

static void name_unref(struct hocket__lanes *ls, struct hocket__name *n)
{
    if (!n || --n->refs > 0 || n->limit >= 0)
        return;
    hocket__index_del(&ls->names, &n->node);
    name_free(ls, n);
}

/* NULL when memory is out, as lane_ref; both unref take NULL. */
static struct hocket__name *name_ref(
    struct hocket__lanes *ls, enum hocket__limit_kind kind, struct hocket__str text)
{
    uint64_t hash = hocket__index_text((uint64_t) kind + 1, text.p, text.n);
    struct hocket__name *n = name_find(ls, kind, text, hash);
    if (!n) {
        if (hocket__index_reserve(&ls->names, ls->names.count + 1) < 0
            || !(n = hocket__zero(ls->a, sizeof(*n) + text.n)))
            return NULL;
        n->kind = kind;
        n->limit = HOCKET__UNLIMITED;
        n->len = text.n;
        if (text.n > 0)
            memcpy(n->text, text.p, text.n);
        hocket__list_init(&n->lanes);
        hocket__list_init(&n->parked);
        hocket__index_add(&ls->names, &n->node, hash);
    }
    n->refs++;
    return n;
}

static void lane_close(struct hocket__lanes *ls, struct hocket__lane *l, bool full)
{
    if (full && l->closed++ == 0)
        laneset_del(&ls->open, l->number);
    else if (!full && --l->closed == 0)
        laneset_add(&ls->open, l->number);
}

/* One slot more or less in use (by = 1, -1), or the limit has changed (0). Lanes
 * open and close. True: a slot is free now that was not before. */
static bool name_use(struct hocket__lanes *ls, struct hocket__name *n, int by)
{
    /* by may be -1: unsigned arithmetic wraps back to the right number */
    n->running += (size_t) by;
    bool full = n->limit >= 0 && n->running >= (uint64_t) n->limit;
    if (full == n->full)
        return false;
    n->full = full;
    for (struct hocket__list *l = n->lanes.next; l != &n->lanes; l = l->next)
        lane_close(ls,
            n->kind == HOCKET__LIMIT_AGENT
                ? hocket__container_of(l, struct hocket__lane, at_agent)
                : hocket__container_of(l, struct hocket__lane, at_provider),
            full);
    return !full;
}

/* ---- Lanes ------------------------------------------------------------------------ */

static struct hocket__lane *lane_find(const struct hocket__lanes *ls,
    const struct hocket__name *agent, const struct hocket__name *provider, uint64_t hash)
{
    struct hocket__index_node *i = hocket__index_first(&ls->lanes, hash);
    for (; i; i = hocket__index_next(i)) {
        struct hocket__lane *l = hocket__container_of(i, struct hocket__lane, node);
        if (l->agent == agent && l->provider == provider)
            return l;
    }
    return NULL;
}

/* Takes over the references to both names. */
static struct hocket__lane *lane_new(struct hocket__lanes *ls, struct hocket__name *agent,
    struct hocket__name *provider, uint64_t hash)
{
    size_t number = lowest_free(&ls->used);
    struct hocket__lane *l;
    if (hocket__index_reserve(&ls->lanes, ls->lanes.count + 1) < 0
        || laneset_reserve(&ls->used, ls->a, number) < 0
        || laneset_reserve(&ls->open, ls->a, number) < 0 || !(l = hocket__zero(ls->a, sizeof(*l))))
        return NULL;
    l->agent = agent;
    l->provider = provider;
    l->number = number;
    l->closed = (unsigned) agent->full + (unsigned) provider->full;
    hocket__list_add(&agent->lanes, &l->at_agent);
    hocket__list_add(&provider->lanes, &l->at_provider);
    laneset_add(&ls->used, number);
    if (!l->closed)
        laneset_add(&ls->open, number);
    hocket__index_add(&ls->lanes, &l->node, hash);
    return l;
}

static struct hocket__lane *lane_ref(
    struct hocket__lanes *ls, struct hocket__str agent, struct hocket__str provider)
{
    struct hocket__name *a = name_ref(ls, HOCKET__LIMIT_AGENT, agent);
    struct hocket__name *p = name_ref(ls, HOCKET__LIMIT_PROVIDER, provider);
    struct hocket__lane *l = NULL, *made = NULL;
    if (a && p) {
        uint64_t hash = hocket__index_mix(a->node.hash, p->node.hash);
        l = lane_find(ls, a, p, hash);
        if (!l)
            l = made = lane_new(ls, a, p, hash);
    }
    /* A lane that existed has references of its own; so has nobody when it failed. */
    if (!made) {
        name_unref(ls, a);
        name_unref(ls, p);
    }
    if (l)
        l->refs++;
    return l;
}

static void lane_unref(struct hocket__lanes *ls, struct hocket__lane *l)
{
    if (--l->refs > 0)
        return;
    if (!l->closed)
        laneset_del(&ls->open, l->number);
    laneset_del(&ls->used, l->number);
    hocket__list_del(&l->at_agent);
    hocket__list_del(&l->at_provider);
    hocket__index_del(&ls->lanes, &l->node);
    name_unref(ls, l->agent);
    name_unref(ls, l->provider);
    hocket__free(ls->a, l, sizeof(*l));
}

static void lanes_init(struct hocket__lanes *ls, const struct hocket_allocator *a)
{
    *ls = (struct hocket__lanes){ .a = a };
    hocket__index_init(&ls->names, a);
    hocket__index_init(&ls->lanes, a);
}

/* What is left are the names that only have a limit. */
static void lanes_deinit(struct hocket__lanes *ls)
{
    for (size_t i = 0; i < ls->names.cap; i++)
        for (struct hocket__index_node *n = ls->names.buckets[i], *next; n; n = next) {
            next = n->next;
            name_free(ls, hocket__container_of(n, struct hocket__name, node));
        }
    hocket__index_deinit(&ls->names);
    hocket__index_deinit(&ls->lanes);
    laneset_deinit(&ls->used, ls->a);
    laneset_deinit(&ls->open, ls->a);
}

/* The parts of the queue come and go by reference counts: an entry holds its cell, a cell its
 * row, a row stands in a level. Each is made when its first holder comes and freed with its
 * last, so an idle broker has none. */

static void level_unref(struct hocket__queue *q, struct hocket__level *v)
{
    if (!hocket__list_empty(&v->rows))
        return;
    hocket__list_del(&v->link);
    laneset_deinit(&v->lanes, q->a);
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
    laneset_deinit(&w->lanes, q->a);
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

static void cell_unref(struct hocket__queue *q, struct hocket__cell *c)
{
    if (--c->refs > 0)
        return;
    hocket__list_del(&c->parked);
    hocket__list_del(&c->at_row);
    hocket__heap_deinit(&c->entries);
    hocket__index_del(&q->cells, &c->node);
    row_unref(q, c->row);
    name_unref(&q->lanes, c->group);
    lane_unref(&q->lanes, c->lane);
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
        || laneset_reserve(&w->lanes, q->a, like->lane->number) < 0
        || laneset_reserve(&w->level->lanes, q->a, like->lane->number) < 0
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

/* The cell of a run's entries of this class, with room for one more. Takes over the references to
 * lane and group; NULL when memory is out. */
static struct hocket__cell *cell_ref(struct hocket__queue *q, struct hocket__queue_run *run,
    struct hocket__lane *lane, struct hocket__name *group, int rank)
{
    struct hocket__cell like = { .lane = lane, .group = group };
    uint64_t hash = hash_of(run, &like, rank);
    /* `like` is a cell that has only what it is found by */
    struct hocket__cell *c = cell_find(q, run, &like, rank, hash), *made = NULL;
    if (!c)
        c = made = cell_new(q, run, &like, rank, hash);
    if (!made) {
        name_unref(&q->lanes, group);
        lane_unref(&q->lanes, lane);
    }
    if (!c)
        return NULL;
    /* every attached entry has its room in the heap, so queueing it cannot fail */
    int rc = hocket__heap_reserve(&c->entries, ++c->refs);
    if (rc < 0)
        cell_unref(q, c);
    return rc < 0 ? NULL : c;
}

/* ---- Coming and going ------------------------------------------------------------- */

int hocket__queue_attach(struct hocket__queue *q, struct hocket__queue_entry *e,
    struct hocket__queue_run *run, const struct hocket__queue_class *c)
{
    struct hocket__lane *lane = lane_ref(&q->lanes, c->agent, c->provider);
    struct hocket__name *group = NULL;
    *e = (struct hocket__queue_entry){ 0 };
    if (!lane)
        return HOCKET_ENOMEM;
    if (c->group.n > 0 && !(group = name_ref(&q->lanes, HOCKET__LIMIT_GROUP, c->group))) {
        lane_unref(&q->lanes, lane);
        return HOCKET_ENOMEM;
    }
    e->cell = cell_ref(q, run, lane, group, c->priority);
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
    e->back = cell_ref(q, c->row->run, c->lane, c->group, HOCKET__RANK_BACK);
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
    return hocket__container_of(hocket__heap_top(&c->entries), struct hocket__queue_entry, place);
}

/* After its entries or its parking changed. */
static void cell_update(struct hocket__cell *c)
{
    bool live = c->entries.count > 0 && hocket__list_empty(&c->parked);
    if (live == c->live)
        return;
    c->live = live;
    if (live && laneset_add(&c->row->lanes, c->lane->number))
        laneset_add(&c->row->level->lanes, c->lane->number);
    if (!live && laneset_del(&c->row->lanes, c->lane->number))
        laneset_del(&c->row->level->lanes, c->lane->number);
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
        /* Resuming jobs go before starting ones, or nested waits could starve behind new jobs. */
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
        hocket__list_move(&w->level->rows, &w->at_level);
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
    if (!n || !name_use(&q->lanes, n, by))
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
    use_all(q, e, 1);
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
    lanes_init(&q->lanes, a);
    hocket__list_init(&q->levels);
    hocket__index_init(&q->cells, a);
}

void hocket__queue_deinit(struct hocket__queue *q)
{
    lanes_deinit(&q->lanes);
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
    struct hocket__name *n = name_ref(&q->lanes, kind, name);
    if (!n)
        return HOCKET_ENOMEM;
    n->limit = limit < 0 ? HOCKET__UNLIMITED : limit;
    use(q, n, 0);
    name_unref(&q->lanes, n);
    return 0;
}

void hocket__queue_limit_all(struct hocket__queue *q, int64_t limit)
{
    q->limit = limit < 0 ? HOCKET__UNLIMITED : limit;
}

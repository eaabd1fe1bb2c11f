/* Runs for workers, in memory: nobody but this process has any, so a run that is had is nobody else's, and none is lost. */
#include "store/memory/memory_impl.h"

static bool is_spoken(const struct hocket__memory_run *r)
{
    for (size_t i = 0; i < r->messages.count; i++)
        if (r->messages.at[i]->key == 0)
            return true;
    return false;
}

/* One that waits, and was spoken to meanwhile, is a worker's again: once for each message, also where nobody wants it. */
void hocket__memory_let_go(struct hocket__memory_run *r)
{
    bool waits = r->state == HOCKET__STORE_WAITING || r->state == HOCKET__STORE_PARKED;
    r->owned = false;
    if (!r->pooled || !waits || !r->spoken || !is_spoken(r))
        return;
    r->state = HOCKET__STORE_QUEUED;
    r->due_ms = 0;
}

static bool is_due(const struct hocket__memory_run *r, int64_t now)
{
    if (r->removed || r->owned || !r->pooled || r->due_ms > now)
        return false;
    switch (r->state) {
    case HOCKET__STORE_QUEUED:
    case HOCKET__STORE_RUNNING: return true;
    case HOCKET__STORE_WAITING:
    case HOCKET__STORE_PARKED: return r->due_ms > 0;
    default: return false;
    }
}

static bool is_in(const struct hocket__memory_run *r, struct hocket__str pools)
{
    struct hocket__store_row row;
    hocket__memory_unpack(r->row, &row);
    for (struct hocket__str pool; (pool = hocket__store_next_pool(&pools)).n > 0;)
        if (hocket__str_eq(pool, row.run.pool))
            return true;
    return false;
}

/* "At once" comes after every run with a time. */
static bool is_before(int64_t a_ms, int64_t b_ms)
{
    return a_ms != 0 && (b_ms == 0 || a_ms < b_ms);
}

/* Goes through all of them: these are the runs of one process. Ids are in order. */
static struct hocket__memory_run *next(struct hocket__memory *m, struct hocket__str pools)
{
    int64_t now = hocket__store_wall_ms(&m->base.store->o);
    struct hocket__memory_run *first = NULL;
    for (size_t i = 0; i < m->n_runs; i++) {
        struct hocket__memory_run *r = m->runs[i];
        if (is_due(r, now) && (!first || is_before(r->due_ms, first->due_ms)) && is_in(r, pools))
            first = r;
    }
    return first;
}

/* Nobody is lost in one process, but a run may be let go of without a word. Each life of a run appends two entries by itself. */
static void count_attempt(struct hocket__memory_run *r)
{
    uint64_t last = hocket__memory_last_n(r);
    r->attempts = r->state != HOCKET__STORE_RUNNING ? 0
                  : last > r->taken_n + 2           ? 1
                                                    : r->attempts + 1;
    r->taken_n = last;
}

static int take(
    struct hocket__memory *m, struct hocket__store_call *c, struct hocket__memory_run *r)
{
    struct hocket__store_row row;
    count_attempt(r);
    hocket__memory_own(m, r);
    r->state = HOCKET__STORE_RUNNING;
    r->due_ms = 0;
    r->spoken = false;
    hocket__memory_row(m, r, &row);
    return hocket__store_pack(&c->rows, &row);
}

/* Nobody will hear of them. */
static void give_back(struct hocket__memory_run **taken, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        taken[i]->state = HOCKET__STORE_QUEUED;
        taken[i]->owned = false;
    }
}

void hocket__memory_take_next(struct hocket__memory *m, struct hocket__store_call *c)
{
    struct hocket__memory_run *taken[HOCKET__STORE_TAKES], *r;
    size_t n = 0;
    bool alone = false;
    while (n < c->q.take_next.most && !alone && (r = next(m, c->q.take_next.pools))) {
        alone = r->state == HOCKET__STORE_RUNNING;
        if (alone && n > 0)
            return;
        taken[n++] = r;
        if (take(m, c, r) < 0) {
            give_back(taken, n);
            hocket__buf_cut(&c->rows, 0);
            return;
        }
    }
}

void hocket__memory_spoken(struct hocket__memory *m, struct hocket__store_call *c)
{
    for (size_t i = 0; i < m->n_runs; i++) {
        const struct hocket__memory_run *r = m->runs[i];
        struct hocket__store_row row = { .kind = HOCKET__STORE_ROW_RUN };
        if (r->removed || !r->owned || !is_spoken(r))
            continue;
        memcpy(row.run.id, r->id, sizeof(r->id));
        row.run.fence = r->fence;
        hocket__store_pack(&c->rows, &row);
    }
}

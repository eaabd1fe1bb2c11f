/* Who waits: a list for each run, and the runs in a ring. A run exists as long as one of its
 * calls waits. The ring turns by one place for each call that goes, so that a run with a thousand
 * calls does not keep out another with one. */
#include "net/limit/limiter_impl.h"

static struct hocket__limiter_run *run_of(struct hocket__limiter *l, uint64_t id)
{
    struct hocket__limiter_run *run = hocket__map_get(&l->runs, id);
    if (run)
        return run;
    run = hocket__new(l->a, sizeof(*run));
    if (!run)
        return NULL;
    run->id = id;
    hocket__list_init(&run->waits);
    if (hocket__map_set(&l->runs, id, run) < 0) {
        hocket__free(l->a, run, sizeof(*run));
        return NULL;
    }
    hocket__list_add(&l->ring, &run->ring);
    return run;
}

static void drop_if_empty(struct hocket__limiter *l, struct hocket__limiter_run *run)
{
    if (!hocket__list_empty(&run->waits))
        return;
    hocket__map_del(&l->runs, run->id);
    hocket__list_del(&run->ring);
    hocket__free(l->a, run, sizeof(*run));
}

int hocket__limiter_enqueue(
    struct hocket__limiter *l, struct hocket__limiter_wait *w, uint64_t run_id, bool first)
{
    struct hocket__limiter_run *run = run_of(l, run_id ? run_id : UINT64_MAX); /* ids are not 0 */
    if (!run)
        return HOCKET_ENOMEM;
    w->run = run;
    hocket__list_add(first ? run->waits.next : &run->waits, &w->link);
    l->waiting++;
    l->waiting_tokens += w->tokens;
    return 0;
}

struct hocket__limiter_wait *hocket__limiter_head(const struct hocket__limiter *l)
{
    if (hocket__list_empty(&l->ring))
        return NULL;
    struct hocket__limiter_run *run =
        hocket__container_of(l->ring.next, struct hocket__limiter_run, ring);
    return hocket__container_of(run->waits.next, struct hocket__limiter_wait, link);
}

bool hocket__limiter_leave(struct hocket__limiter *l, struct hocket__limiter_wait *w)
{
    struct hocket__limiter_run *run = w->run;
    if (!run)
        return false;
    hocket__list_del(&w->link);
    w->run = NULL;
    l->waiting--;
    l->waiting_tokens -= w->tokens;
    drop_if_empty(l, run);
    return true;
}

void hocket__limiter_pop(struct hocket__limiter *l)
{
    struct hocket__limiter_wait *w = hocket__limiter_head(l);
    struct hocket__limiter_run *run = w->run;
    hocket__list_move(&l->ring, &run->ring);
    hocket__limiter_leave(l, w);
}

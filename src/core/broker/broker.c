/* Making a broker, and everything that is read of it or dropped from it.
 *
 * Data: a record for each job belongs to the store, a node for each record to us (job->node);
 * a run exists while it has nodes. All lists are linked through the nodes, so taking a job out
 * of any of them costs nothing and allocates nothing. */
#include "core/broker/broker.h"

#include "core/broker/broker_impl.h"

struct hocket__broker_options hocket__broker_options_default(void)
{
    return (struct hocket__broker_options){
        .max_running = HOCKET__UNLIMITED,
        .max_jobs = 1000000,
        .max_data = 1 << 20,
        .max_outcome = 16 << 20,
        .max_deps = 1000,
        .max_depth = 64,
        .max_events = 16,
        .max_event_bytes = 4096,
        .max_waits = 100000,
        .max_wait_jobs = 10000,
    };
}

int hocket__broker_new(const struct hocket_allocator *a,
    const struct hocket__broker_options *options, const struct hocket__broker_hooks *hooks,
    struct hocket__broker **out)
{
    struct hocket__broker *b = hocket__zero(a, sizeof(*b));
    if (!b || hocket__job_store_new(a, &b->store) < 0) {
        hocket__free(a, b, sizeof(*b));
        return HOCKET_ENOMEM;
    }
    b->a = a;
    b->options = options ? *options : hocket__broker_options_default();
    if (hooks)
        b->hooks = *hooks;
    hocket__queue_init(&b->queue, a, b->options.max_running);
    hocket__heap_init(&b->timers, a);
    hocket__map_init(&b->runs, a);
    hocket__map_init(&b->waits, a);
    hocket__list_init(&b->fresh);
    hocket__list_init(&b->ended);
    *out = b;
    return 0;
}

static void free_node(struct hocket__job *job, void *ud)
{
    hocket__node_free(ud, job->node);
}

void hocket__broker_free(struct hocket__broker *b)
{
    if (!b)
        return;
    hocket__waits_free(b);
    hocket__job_store_each(b->store, free_node, b);
    hocket__job_store_free(b->store);
    hocket__queue_deinit(&b->queue);
    hocket__heap_deinit(&b->timers);
    hocket__map_deinit(&b->runs);
    hocket__free(b->a, b, sizeof(*b));
}

uint64_t hocket__broker_last_id(const struct hocket__broker *b)
{
    return hocket__job_store_ids(b->store, 0) - 1;
}

void hocket__broker_pass_ids(struct hocket__broker *b, uint64_t last)
{
    uint64_t next = hocket__job_store_ids(b->store, 0);
    if (last >= next)
        hocket__job_store_ids(b->store, (size_t) (last - next + 1));
}

int hocket__broker_limit(
    struct hocket__broker *b, enum hocket__limit_kind kind, struct hocket__str name, int64_t limit)
{
    return hocket__queue_limit(&b->queue, kind, name, limit);
}

void hocket__broker_limit_all(struct hocket__broker *b, int64_t limit)
{
    hocket__queue_limit_all(&b->queue, limit);
}

void hocket__broker_stop_accepting(struct hocket__broker *b)
{
    b->shut = true;
}

/* ---- Finding and checking --------------------------------------------------- */

struct hocket__node *hocket__node_find(const struct hocket__broker *b, uint64_t id)
{
    struct hocket__job *job = id ? hocket__job_store_get(b->store, id) : NULL;
    return job ? job->node : NULL;
}

int hocket__node_missing(uint64_t id, struct hocket_error *err)
{
    return hocket__error(err, HOCKET_ENOTFOUND, "there is no job %llu", (unsigned long long) id);
}

struct hocket__node *hocket__node_of_attempt(
    const struct hocket__broker *b, uint64_t id, uint64_t fence, int *rc, struct hocket_error *err)
{
    struct hocket__node *n = hocket__node_find(b, id);
    if (!n)
        *rc = hocket__node_missing(id, err);
    else if (!hocket__job_is_held(n->job->state))
        *rc = hocket__error(err, HOCKET_ESTATE, "job %llu is %s: nobody works on it",
            (unsigned long long) id, hocket__job_state_word(n->job->state));
    else if (n->job->fence != fence)
        *rc = hocket__error(err, HOCKET_ESTATE,
            "job %llu has been taken over (fence %llu, now %llu)", (unsigned long long) id,
            (unsigned long long) fence, (unsigned long long) n->job->fence);
    else
        return n;
    return NULL;
}

int hocket__node_check(
    const struct hocket__node *n, enum hocket__job_state to, struct hocket_error *err)
{
    if (hocket__job_can(n->job->state, to))
        return 0;
    return hocket__error(err, HOCKET_ESTATE, "job %llu is %s and cannot become %s",
        (unsigned long long) n->job->id, hocket__job_state_word(n->job->state),
        hocket__job_state_word(to));
}

void hocket__node_emit(struct hocket__broker *b, struct hocket__node *n,
    enum hocket__broker_event_type type, struct hocket__str payload, struct hocket__str usage)
{
    struct hocket__broker_event event = { type, n->job, payload, usage };
    if (b->hooks.emit_cb)
        b->hooks.emit_cb(&event, b->hooks.ud);
}

/* ---- Results ------------------------------------------------------------------ */

const struct hocket__job *hocket__broker_get(const struct hocket__broker *b, uint64_t id)
{
    struct hocket__node *n = hocket__node_find(b, id);
    return n ? n->job : NULL;
}

/* Undelivered children: of a job by its id, of a run where the parent is 0. */
static struct hocket__list *done_of(const struct hocket__broker *b, uint64_t run, uint64_t parent)
{
    struct hocket__node *n = hocket__node_find(b, parent);
    struct hocket__job_run *r = parent ? NULL : hocket__map_get(&b->runs, run);
    return n ? &n->done : r ? &r->done : NULL;
}

static struct hocket__list *children_of(
    const struct hocket__broker *b, uint64_t run, uint64_t parent)
{
    struct hocket__node *n = hocket__node_find(b, parent);
    struct hocket__job_run *r = parent ? NULL : hocket__map_get(&b->runs, run);
    return n ? &n->children : r ? &r->tops : NULL;
}

size_t hocket__broker_take_finished(
    struct hocket__broker *b, uint64_t run, uint64_t parent, uint64_t *ids, size_t max)
{
    struct hocket__list *done = done_of(b, run, parent);
    size_t count = 0;
    while (done && count < max && !hocket__list_empty(done)) {
        struct hocket__node *n = hocket__container_of(done->next, struct hocket__node, in_done);
        hocket__list_del(&n->in_done);
        n->job->delivered = true;
        ids[count++] = n->job->id;
    }
    return count;
}

int hocket__broker_mark_read(struct hocket__broker *b, uint64_t id, struct hocket_error *err)
{
    struct hocket__node *n = hocket__node_find(b, id);
    if (!n)
        return hocket__node_missing(id, err);
    if (!hocket__job_is_final(n->job->state))
        return hocket__error(err, HOCKET_ESTATE, "job %llu is %s: it has no result yet",
            (unsigned long long) id, hocket__job_state_outward(n->job->state));
    if (n->job->delivered)
        return 0;
    hocket__list_del(&n->in_done);
    n->job->delivered = true;
    return 1;
}

/* From the newest back to `after`, then forward: a reader with a cursor does
 * not pay for what it has seen. */
size_t hocket__broker_children(const struct hocket__broker *b, uint64_t run, uint64_t parent,
    uint64_t after, uint64_t *ids, size_t max)
{
    struct hocket__list *head = children_of(b, run, parent);
    if (!head)
        return 0;
    struct hocket__list *l = after ? head->prev : head;
    while (l != head && hocket__container_of(l, struct hocket__node, in_parent)->job->id > after)
        l = l->prev;
    size_t count = 0;
    for (l = l->next; l != head && count < max; l = l->next)
        ids[count++] = hocket__container_of(l, struct hocket__node, in_parent)->job->id;
    return count;
}

struct hocket__broker_counts hocket__broker_counts(const struct hocket__broker *b, uint64_t run)
{
    struct hocket__broker_counts counts = { .slots = b->queue.running };
    const struct hocket__job_run *r = run ? hocket__map_get(&b->runs, run) : NULL;
    if (run == 0)
        memcpy(counts.of, b->of, sizeof(counts.of));
    else if (r)
        memcpy(counts.of, r->of, sizeof(counts.of));
    return counts;
}

/* ---- Forgetting ----------------------------------------------------------------- */

void hocket__node_drop(struct hocket__broker *b, struct hocket__node *n)
{
    struct hocket__job *job = n->job;
    /* taken first: `del` frees the record, and drop_cb may only run when nothing of it is left */
    void *ud = job->ud;
    hocket__node_free(b, n);
    hocket__job_store_del(b->store, job);
    if (b->hooks.drop_cb)
        b->hooks.drop_cb(ud, b->hooks.ud);
}

int hocket__broker_forget(struct hocket__broker *b, uint64_t id, struct hocket_error *err)
{
    struct hocket__node *n = hocket__node_find(b, id);
    if (!n)
        return hocket__node_missing(id, err);
    if (!hocket__job_is_final(n->job->state))
        return hocket__error(err, HOCKET_ESTATE, "job %llu is %s and cannot be forgotten",
            (unsigned long long) id, hocket__job_state_outward(n->job->state));
    hocket__node_drop(b, n);
    return 0;
}

/* The run goes with its last job. */
int hocket__broker_forget_run(struct hocket__broker *b, uint64_t run, struct hocket_error *err)
{
    struct hocket__job_run *r = hocket__map_get(&b->runs, run);
    if (!r)
        return hocket__error(
            err, HOCKET_ENOTFOUND, "there is no run %llu", (unsigned long long) run);
    /* All or nothing: counted before the first is dropped. */
    size_t open = r->count;
    for (int s = 0; s < HOCKET__JOB_STATE_COUNT; s++)
        open -= hocket__job_is_final((enum hocket__job_state) s) ? r->of[s] : 0;
    if (open > 0)
        return hocket__error(err, HOCKET_ESTATE, "%zu jobs of run %llu are not final", open,
            (unsigned long long) run);
    /* by a count, not until the list is empty: the last node frees the run that the list
     * stands in */
    for (size_t left = r->count; left > 0; left--)
        hocket__node_drop(b, hocket__container_of(r->jobs.next, struct hocket__node, in_run));
    return 0;
}

/* How jobs end, and what follows from it.
 *
 * An end has consequences (children are cancelled, dependents start or are
 * skipped, the parent gets the result, waits are satisfied) that are ends
 * themselves. They are worked off from two lists instead of by recursion, so
 * that a chain of 100,000 jobs needs no stack, and in this order:
 *
 *     fresh   has just become final; its children are cancelled first
 *     ended   its whole tree below is final; dependents, parent, waits follow
 *
 * `ended` is touched only while `fresh` is empty: so a job below a cancelled one
 * is CANCELLED, never SKIPPED because a sibling happened to go first. Nothing
 * here allocates. */
#include "core/broker/broker_impl.h"

#include <stdio.h>

void hocket__node_move(struct hocket__broker *b, struct hocket__node *n, enum hocket__job_state to)
{
    /* the one place that changes a state: so the counts cannot drift from it */
    b->of[n->job->state]--;
    n->run->of[n->job->state]--;
    n->job->state = to;
    b->of[to]++;
    n->run->of[to]++;
}

void hocket__node_queue(struct hocket__broker *b, struct hocket__node *n, bool resumed)
{
    hocket__queue_push(&b->queue, &n->entry, n->parent ? &n->parent->entry : NULL, resumed);
}

void hocket__node_ready(struct hocket__broker *b, struct hocket__node *n)
{
    hocket__node_move(b, n, HOCKET__JOB_READY);
    hocket__node_queue(b, n, false);
    hocket__node_timer(b, n);
}

static void emit_end(struct hocket__broker *b, struct hocket__node *n)
{
    const struct hocket__job *job = n->job;
    char text[96];
    switch (job->state) {
    case HOCKET__JOB_COMPLETED:
        hocket__node_emit(b, n, HOCKET__EVENT_COMPLETED, job->result, job->usage);
        break;
    case HOCKET__JOB_FAILED:
        hocket__node_emit(b, n, HOCKET__EVENT_FAILED, job->error, job->usage);
        break;
    case HOCKET__JOB_CANCELLED:
        hocket__node_emit(b, n, HOCKET__EVENT_CANCELLED, job->error, HOCKET__STR(""));
        break;
    default:
        snprintf(text, sizeof(text), "dependency %llu did not complete",
            (unsigned long long) job->cause);
        hocket__node_emit(b, n, HOCKET__EVENT_SKIPPED, hocket__cstr(text), HOCKET__STR(""));
        break;
    }
}

static void empty_done(struct hocket__node *n)
{
    while (!hocket__list_empty(&n->done))
        hocket__list_del(n->done.next);
}

void hocket__node_finish(
    struct hocket__broker *b, struct hocket__node *n, enum hocket__job_state to, int64_t now_ms)
{
    hocket__queue_detach(&b->queue, &n->entry);
    for (size_t i = 0; i < n->job->dep_count; i++)
        hocket__list_del(&n->edges[i].link);
    n->deps_left = 0;
    /* results of its children that it did not take: its attempt is over, nobody will */
    empty_done(n);
    n->job->finished_ms = now_ms;
    hocket__node_move(b, n, to);
    hocket__node_timer(b, n);
    /* Before the event: whoever reads the broker in emit_cb sees the job final. */
    hocket__list_add(&b->fresh, &n->in_work);
    emit_end(b, n);
}

/* An end that the broker decides on; the text is ours and stays. */
static void end(struct hocket__broker *b, struct hocket__node *n, enum hocket__job_state to,
    int status, const char *text, uint64_t cause, int64_t now_ms)
{
    n->job->status = status;
    n->job->error = hocket__cstr(text);
    n->job->usage = HOCKET__STR("");
    n->job->cause = cause;
    hocket__node_finish(b, n, to, now_ms);
}

static void fail(struct hocket__broker *b, struct hocket__node *n, int status, int64_t now_ms)
{
    end(b, n, HOCKET__JOB_FAILED, status, hocket_status_text(status), 0, now_ms);
}

int hocket__broker_abandon(struct hocket__broker *b, uint64_t id, uint64_t fence, int64_t now_ms,
    int status, struct hocket_error *err)
{
    int rc;
    struct hocket__node *n = hocket__node_of_attempt(b, id, fence, &rc, err);
    if (!n)
        return rc;
    fail(b, n, status, now_ms);
    hocket__broker_settle(b, now_ms);
    return 0;
}

static void cancel_children(struct hocket__broker *b, struct hocket__node *n, int64_t now_ms)
{
    struct hocket__list *l = n->children.next;
    for (; l != &n->children; l = l->next) {
        struct hocket__node *child = hocket__container_of(l, struct hocket__node, in_parent);
        if (!hocket__job_is_final(child->job->state))
            end(b, child, HOCKET__JOB_CANCELLED, HOCKET_ECANCELLED,
                "cancelled with the job that started it", n->job->id, now_ms);
    }
}

void hocket__node_dep_failed(
    struct hocket__broker *b, struct hocket__node *n, uint64_t dep, int64_t now_ms)
{
    bool skip = n->job->on_dep == HOCKET__DEP_SKIP;
    end(b, n, skip ? HOCKET__JOB_SKIPPED : HOCKET__JOB_FAILED, HOCKET_ESTATE,
        "a dependency did not complete", dep, now_ms);
}

bool hocket__node_fails_with(const struct hocket__node *n, size_t i, const struct hocket__node *dep)
{
    bool only_order = i >= n->job->dep_count - n->job->order_count;
    return dep->job->state != HOCKET__JOB_COMPLETED && !only_order
           && n->job->on_dep != HOCKET__DEP_CONTINUE;
}

/* The edge's place in n->edges says which dependency it is, and so whether its failing
 * matters. */
static void dependency_ended(struct hocket__broker *b, const struct hocket__node *dep,
    const struct hocket__edge *edge, int64_t now_ms)
{
    struct hocket__node *n = edge->node;
    n->deps_left--;
    if (hocket__node_fails_with(n, (size_t) (edge - n->edges), dep))
        hocket__node_dep_failed(b, n, dep->job->id, now_ms);
    else if (n->deps_left == 0 && n->job->state == HOCKET__JOB_BLOCKED)
        hocket__node_ready(b, n);
}

/* Puts a final job into the list that take_finished reads; a parent whose attempt is over needs no result. */
static void deliver(struct hocket__node *n)
{
    if (n->parent && hocket__job_is_held(n->parent->job->state))
        hocket__list_add(&n->parent->done, &n->in_done);
    else if (n->job->parent == 0)
        hocket__list_add(&n->run->done, &n->in_done);
}

void hocket__broker_settle(struct hocket__broker *b, int64_t now_ms)
{
    for (;;) {
        if (!hocket__list_empty(&b->fresh)) {
            struct hocket__list *l = b->fresh.next;
            hocket__list_move(&b->ended, l);
            cancel_children(b, hocket__container_of(l, struct hocket__node, in_work), now_ms);
            continue;
        }
        if (hocket__list_empty(&b->ended))
            return;
        struct hocket__node *n = hocket__container_of(b->ended.next, struct hocket__node, in_work);
        hocket__list_del(&n->in_work);
        deliver(n);
        while (!hocket__list_empty(&n->dependents)) {
            struct hocket__edge *e =
                hocket__container_of(n->dependents.next, struct hocket__edge, link);
            hocket__list_del(&e->link);
            dependency_ended(b, n, e, now_ms);
        }
        hocket__waits_fire(b, n);
    }
}

/* ---- Another attempt -------------------------------------------------------- */

/* Doubles with each attempt; full jitter, so that jobs which failed together do not come back
 * together. */
static int64_t backoff(const struct hocket__job *job, uint64_t random)
{
    int64_t most = job->backoff_ms;
    for (uint32_t i = 1; i < job->attempt && most < job->backoff_max_ms; i++)
        most = most > job->backoff_max_ms / 2 ? job->backoff_max_ms : most * 2;
    if (most > job->backoff_max_ms)
        most = job->backoff_max_ms;
    return (int64_t) (random % ((uint64_t) most + 1));
}

static void retry(struct hocket__broker *b, struct hocket__node *n, int64_t now_ms, uint64_t random)
{
    struct hocket__job *job = n->job;
    int64_t delay = backoff(job, random);
    /* a parent that was resuming stands in the queue */
    hocket__queue_remove(&b->queue, &n->entry);
    hocket__queue_release(&b->queue, &n->entry);
    empty_done(n);
    /* From here on the old worker's calls are refused, even where the retry starts at once. */
    job->fence++;
    if (delay == 0) {
        hocket__node_ready(b, n);
    } else {
        job->due_ms = now_ms > HOCKET__NEVER - delay ? HOCKET__NEVER : now_ms + delay;
        hocket__node_move(b, n, HOCKET__JOB_DELAYED);
        hocket__node_timer(b, n);
    }
    hocket__node_emit(b, n, HOCKET__EVENT_PENDING, job->error, job->usage);
    job->usage = HOCKET__STR(""); /* it has been told, and must not be told again */
    cancel_children(b, n, now_ms);
}

void hocket__node_fail(struct hocket__broker *b, struct hocket__node *n, bool no_retry,
    int64_t now_ms, uint64_t random)
{
    if (no_retry || n->job->attempt > n->job->max_retries)
        hocket__node_finish(b, n, HOCKET__JOB_FAILED, now_ms);
    else
        retry(b, n, now_ms, random);
}

/* ---- Cancelling ---------------------------------------------------------------- */

static void cancel(struct hocket__broker *b, struct hocket__node *n, int64_t now_ms)
{
    end(b, n, HOCKET__JOB_CANCELLED, HOCKET_ECANCELLED, "cancelled", 0, now_ms);
}

int hocket__broker_cancel(
    struct hocket__broker *b, uint64_t id, int64_t now_ms, struct hocket_error *err)
{
    struct hocket__node *n = hocket__node_find(b, id);
    if (!n)
        return hocket__node_missing(id, err);
    int rc = hocket__node_check(n, HOCKET__JOB_CANCELLED, err);
    if (rc < 0)
        return rc;
    cancel(b, n, now_ms);
    hocket__broker_settle(b, now_ms);
    return 0;
}

struct end_all {
    struct hocket__broker *b;
    int64_t now_ms;
    int status; /* ECANCELLED: they are cancelled */
    size_t count;
};

static void end_one(struct hocket__job *job, void *ud)
{
    struct end_all *all = ud;
    struct hocket__node *n = job->node;
    if (hocket__job_is_final(job->state))
        return;
    if (all->status == HOCKET_ECANCELLED)
        cancel(all->b, n, all->now_ms);
    else
        fail(all->b, n, all->status, all->now_ms);
    all->count++;
}

/* All are marked before anything follows from it. */
size_t hocket__broker_cancel_all(struct hocket__broker *b, uint64_t run, int64_t now_ms)
{
    struct end_all all = { b, now_ms, HOCKET_ECANCELLED, 0 };
    struct hocket__job_run *r = run ? hocket__map_get(&b->runs, run) : NULL;
    if (run == 0) {
        hocket__job_store_each(b->store, end_one, &all);
    } else if (r) {
        for (struct hocket__list *l = r->jobs.next; l != &r->jobs; l = l->next)
            end_one(hocket__container_of(l, struct hocket__node, in_run)->job, &all);
    }
    hocket__broker_settle(b, now_ms);
    return all.count;
}

void hocket__broker_fail_all(struct hocket__broker *b, int64_t now_ms, int status)
{
    struct end_all all = { b, now_ms, status, 0 };
    hocket__job_store_each(b->store, end_one, &all);
    hocket__broker_settle(b, now_ms);
}

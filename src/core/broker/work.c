/* What workers call: take the next job, say how it goes, say how it ended.
 *
 * A worker proves by the fence of its claim that it has the job: one that was given up, timed out
 * or cancelled meanwhile is refused, and its result is dropped. */
#include "core/broker/broker_impl.h"

static void start(struct hocket__broker *b, struct hocket__node *n, int64_t now_ms)
{
    n->job->attempt++;
    n->job->started_ms = now_ms;
    hocket__node_move(b, n, HOCKET__JOB_RUNNING);
    hocket__node_timer(b, n);
    hocket__node_emit(b, n, HOCKET__EVENT_RUNNING, HOCKET__STR(""), HOCKET__STR(""));
}

/* ESTATE: another host has it, so it stays READY but stands outside the queue. */
static int claim(struct hocket__broker *b, struct hocket__node *n, int64_t now_ms, uint64_t owner,
    int64_t lease_ms)
{
    int rc = b->store->ops->claim(b->store, n->job, owner, lease_ms);
    if (rc < 0) {
        hocket__queue_release(&b->queue, &n->entry);
        if (rc != HOCKET_ESTATE)
            hocket__node_queue(b, n, false);
        return rc;
    }
    start(b, n, now_ms);
    return 0;
}

int hocket__broker_next(struct hocket__broker *b, int64_t now_ms, uint64_t owner, int64_t lease_ms,
    struct hocket__claim *out)
{
    struct hocket__queue_entry *e;
    while ((e = hocket__queue_pop(&b->queue))) {
        struct hocket__node *n = hocket__container_of(e, struct hocket__node, entry);
        int rc = 0;
        if (e->resumed)
            hocket__node_move(b, n, HOCKET__JOB_RUNNING);
        else
            rc = claim(b, n, now_ms, owner, lease_ms);
        /* another host was faster: the next one in the queue may be ours */
        if (rc == HOCKET_ESTATE)
            continue;
        *out = (struct hocket__claim){ n->job, n->job->fence, e->resumed };
        return rc < 0 ? rc : 1;
    }
    return 0;
}

int hocket__broker_offer(struct hocket__broker *b, uint64_t id, struct hocket_error *err)
{
    struct hocket__node *n = hocket__node_find(b, id);
    if (!n)
        return hocket__node_missing(id, err);
    if (n->job->state != HOCKET__JOB_READY || n->entry.queued)
        return hocket__error(err, HOCKET_ESTATE, "job %llu is not set aside (%s)",
            (unsigned long long) id, hocket__job_state_word(n->job->state));
    hocket__node_queue(b, n, false);
    return 0;
}

static int keep_outcome(struct hocket__broker *b, struct hocket__node *n,
    const struct hocket__job_outcome *o, struct hocket_error *err)
{
    size_t most = b->options.max_outcome;
    if (o->result.n > most || o->error.n > most - o->result.n
        || o->usage.n > most - o->result.n - o->error.n)
        return hocket__error(err, HOCKET_ELIMIT, "the outcome of job %llu is larger than %zu bytes",
            (unsigned long long) n->job->id, most);
    int rc = b->store->ops->outcome(b->store, n->job, o);
    return rc < 0 ? hocket__error(err, rc, "cannot keep the outcome of job %llu: %s",
               (unsigned long long) n->job->id, hocket_status_text(rc))
                  : 0;
}

int hocket__broker_complete(struct hocket__broker *b, uint64_t id, uint64_t fence, int64_t now_ms,
    struct hocket__str result, struct hocket__str usage, struct hocket_error *err)
{
    int rc;
    struct hocket__job_outcome o = { .result = result, .usage = usage };
    struct hocket__node *n = hocket__node_of_attempt(b, id, fence, &rc, err);
    /* Everything that can refuse comes first; from hocket__node_finish on there is no way
     * back. */
    if (!n || (rc = hocket__node_check(n, HOCKET__JOB_COMPLETED, err)) < 0
        || (rc = keep_outcome(b, n, &o, err)) < 0)
        return rc;
    hocket__node_finish(b, n, HOCKET__JOB_COMPLETED, now_ms);
    hocket__broker_settle(b, now_ms);
    return 0;
}

int hocket__broker_fail(struct hocket__broker *b, uint64_t id, uint64_t fence, int64_t now_ms,
    uint64_t random, const struct hocket__job_outcome *outcome, struct hocket_error *err)
{
    int rc;
    struct hocket__node *n = hocket__node_of_attempt(b, id, fence, &rc, err);
    if (!n || (rc = keep_outcome(b, n, outcome, err)) < 0)
        return rc;
    hocket__node_fail(b, n, outcome->no_retry, now_ms, random);
    hocket__broker_settle(b, now_ms);
    return 0;
}

int hocket__broker_heartbeat(struct hocket__broker *b, uint64_t id, uint64_t fence,
    int64_t lease_ms, struct hocket_error *err)
{
    int rc;
    struct hocket__node *n = hocket__node_of_attempt(b, id, fence, &rc, err);
    if (!n)
        return rc;
    rc = b->store->ops->heartbeat(b->store, n->job, lease_ms);
    if (rc < 0)
        return hocket__error(err, rc, "the lease of job %llu is lost", (unsigned long long) id);
    hocket__node_timer(b, n);
    return 0;
}

int hocket__broker_park(
    struct hocket__broker *b, uint64_t id, uint64_t fence, struct hocket_error *err)
{
    int rc;
    struct hocket__node *n = hocket__node_of_attempt(b, id, fence, &rc, err);
    if (!n || (rc = hocket__node_check(n, HOCKET__JOB_WAITING, err)) < 0)
        return rc;
    /* The place to come back to, before the slot is given away: a parent that could not resume
     * would hang for ever. */
    if (hocket__queue_attach_back(&b->queue, &n->entry) < 0)
        return hocket__error_nomem(err);
    hocket__queue_release(&b->queue, &n->entry);
    hocket__node_move(b, n, HOCKET__JOB_WAITING);
    return 0;
}

int hocket__broker_unpark(
    struct hocket__broker *b, uint64_t id, uint64_t fence, struct hocket_error *err)
{
    int rc;
    struct hocket__node *n = hocket__node_of_attempt(b, id, fence, &rc, err);
    if (!n || (rc = hocket__node_check(n, HOCKET__JOB_RESUMING, err)) < 0)
        return rc;
    hocket__node_move(b, n, HOCKET__JOB_RESUMING);
    hocket__node_queue(b, n, true);
    return 0;
}

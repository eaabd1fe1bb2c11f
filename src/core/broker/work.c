/* What workers call: take the next job, say how it goes, say how it ended.
 *
 * A worker proves by the fence of its claim that it has the job: one that was given up, timed out
 * or cancelled meanwhile is refused, and its result is dropped. */
#include "core/broker/broker_impl.h"

static void start(struct hocket__broker *b, struct hocket__node *n, int64_t now_ms)
{
    n->job->fence++;
    n->job->attempt++;
    n->job->started_ms = now_ms;
    hocket__node_move(b, n, HOCKET__JOB_RUNNING);
    hocket__node_timer(b, n);
    hocket__node_emit(b, n, HOCKET__EVENT_RUNNING, HOCKET__STR(""), HOCKET__STR(""));
}

bool hocket__broker_next(struct hocket__broker *b, int64_t now_ms, struct hocket__claim *out)
{
    struct hocket__queue_entry *e = hocket__queue_pop(&b->queue);
    if (!e)
        return false;
    struct hocket__node *n = hocket__container_of(e, struct hocket__node, entry);
    if (e->resumed)
        hocket__node_move(b, n, HOCKET__JOB_RUNNING);
    else
        start(b, n, now_ms);
    *out = (struct hocket__claim){ n->job, n->job->fence, e->resumed };
    return true;
}

static int keep_outcome(struct hocket__broker *b, struct hocket__node *n,
    const struct hocket__job_outcome *o, struct hocket_error *err)
{
    size_t most = b->options.max_outcome;
    if (o->result.n > most || o->error.n > most - o->result.n
        || o->usage.n > most - o->result.n - o->error.n)
        return hocket__error(err, HOCKET_ELIMIT, "the outcome of job %llu is larger than %zu bytes",
            (unsigned long long) n->job->id, most);
    int rc = hocket__job_store_outcome(b->store, n->job, o);
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

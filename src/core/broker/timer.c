/* What is due: each job has one timer, at the earliest of its deadline and what
 * its state waits for (the next attempt). */
#include "core/broker/broker_impl.h"

void hocket__node_timer(struct hocket__broker *b, struct hocket__node *n)
{
    const struct hocket__job *job = n->job;
    int64_t at = job->deadline_ms;
    if (hocket__job_is_final(job->state))
        at = HOCKET__NEVER;
    else if (job->state == HOCKET__JOB_DELAYED && job->due_ms < at)
        at = job->due_ms;
    if (at == HOCKET__NEVER)
        hocket__heap_del(&b->timers, &n->timer);
    else
        hocket__heap_set(&b->timers, &n->timer, (struct hocket__heap_key){ at, job->id, 0 });
}

static void fire(struct hocket__broker *b, struct hocket__node *n, int64_t now_ms)
{
    struct hocket__job *job = n->job;
    if (job->deadline_ms > now_ms) {
        hocket__node_ready(b, n);
        return;
    }
    job->status = HOCKET_ETIMEOUT;
    job->error = HOCKET__STR("the deadline passed");
    job->usage = HOCKET__STR("");
    hocket__node_finish(b, n, HOCKET__JOB_FAILED, now_ms); /* it is over all attempts */
}

int64_t hocket__broker_hold_off(struct hocket__broker *b, uint64_t id, int64_t now_ms)
{
    struct hocket__node *n = hocket__node_find(b, id);
    if (!n || n->job->state != HOCKET__JOB_DELAYED)
        return -1;
    int64_t left = n->job->due_ms > now_ms ? n->job->due_ms - now_ms : 0;
    n->job->due_ms = HOCKET__NEVER;
    hocket__node_timer(b, n);
    return left;
}

void hocket__broker_due(struct hocket__broker *b, uint64_t id, uint64_t fence, int64_t now_ms)
{
    struct hocket__node *n = hocket__node_find(b, id);
    if (!n || n->job->state != HOCKET__JOB_DELAYED || n->job->fence != fence)
        return;
    hocket__node_ready(b, n);
    hocket__broker_settle(b, now_ms);
}

size_t hocket__broker_expire(struct hocket__broker *b, int64_t now_ms)
{
    size_t count = 0;
    struct hocket__heap_item *top;
    while ((top = hocket__heap_top(&b->timers)) && top->key.a <= now_ms) {
        fire(b, hocket__container_of(top, struct hocket__node, timer), now_ms);
        /* after each: what follows may take other jobs out of the timers */
        hocket__broker_settle(b, now_ms);
        count++;
    }
    return count;
}

int64_t hocket__broker_next_wakeup(const struct hocket__broker *b)
{
    struct hocket__heap_item *top = hocket__heap_top(&b->timers);
    return top ? top->key.a : HOCKET__NEVER;
}

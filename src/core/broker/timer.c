/* What is due: each job has one timer, at the earliest of its deadline and what
 * its state waits for (the next attempt, or the end of the lease). */
#include "core/broker/broker_impl.h"

void hocket__node_timer(struct hocket__broker *b, struct hocket__node *n)
{
    const struct hocket__job *job = n->job;
    int64_t at = job->deadline_ms;
    if (hocket__job_is_final(job->state))
        at = HOCKET__NEVER;
    else if (job->state == HOCKET__JOB_DELAYED && job->due_ms < at)
        at = job->due_ms;
    else if (hocket__job_is_held(job->state) && job->lease_ms < at)
        at = job->lease_ms;
    if (at == HOCKET__NEVER)
        hocket__heap_del(&b->timers, &n->timer);
    else
        hocket__heap_set(&b->timers, &n->timer, (struct hocket__heap_key){ at, job->id, 0 });
}

static void fire(struct hocket__broker *b, struct hocket__node *n, int64_t now_ms, uint64_t random)
{
    struct hocket__job *job = n->job;
    if (job->deadline_ms > now_ms && job->state == HOCKET__JOB_DELAYED) {
        hocket__node_ready(b, n);
        return;
    }
    bool late = job->deadline_ms <= now_ms;
    job->status = HOCKET_ETIMEOUT;
    job->error = late ? HOCKET__STR("the deadline passed") : HOCKET__STR("the lease ran out");
    job->usage = HOCKET__STR("");
    /* A deadline is over all attempts, so it ends the job; a lease that ran out has lost one
     * attempt. */
    hocket__node_fail(b, n, late, now_ms, hocket__index_mix(random, job->id));
}

size_t hocket__broker_expire(struct hocket__broker *b, int64_t now_ms, uint64_t random)
{
    size_t count = 0;
    struct hocket__heap_item *top;
    while ((top = hocket__heap_top(&b->timers)) && top->key.a <= now_ms) {
        fire(b, hocket__container_of(top, struct hocket__node, timer), now_ms, random);
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

#include "core/broker/reference.h"

#define IS(j, NAME) ((j)->state == HOCKET__JOB_##NAME)

static bool final(const struct ref_job *j)
{
    return IS(j, COMPLETED) || IS(j, FAILED) || IS(j, SKIPPED) || IS(j, CANCELLED);
}

static bool held(const struct ref_job *j)
{
    return IS(j, RUNNING) || IS(j, WAITING) || IS(j, RESUMING);
}

void ref_log(struct ref *r, unsigned type, uint64_t id)
{
    if (r->log_n < REF_LOG)
        r->log[r->log_n++] = (uint64_t) type << 56 | id;
}

struct ref_job *ref_find(struct ref *r, uint64_t id)
{
    for (size_t i = 0; i < r->count; i++)
        if (r->jobs[i].id == id)
            return &r->jobs[i];
    return NULL;
}

int ref_held(struct ref *r, uint64_t id, uint64_t fence, struct ref_job **out)
{
    *out = ref_find(r, id);
    if (!*out)
        return HOCKET_ENOTFOUND;
    return held(*out) && (*out)->fence == fence ? 0 : HOCKET_ESTATE;
}

/* One behind the last of whoever submitted it, and behind all of the run that have started. */
static void ready(struct ref *r, struct ref_job *j)
{
    struct ref_job *parent = ref_find(r, j->parent);
    uint64_t *line = parent ? &parent->line : &r->own_lines[j->run];
    *line = (*line > r->lines[j->run] ? *line : r->lines[j->run]) + 1;
    j->place = *line;
    j->state = HOCKET__JOB_READY;
    j->queued = true;
    j->seq = ++r->seq;
}

/* With the last job of a priority goes what is known of it. */
static void forget_ranks(struct ref *r)
{
    bool used[REF_RANKS] = { false };
    for (size_t i = 0; i < r->count; i++)
        if (!final(&r->jobs[i]))
            used[r->jobs[i].priority + REF_RANKS / 2] = true;
    for (int rank = 0; rank < REF_RANKS; rank++)
        r->passed[rank] = used[rank] ? r->passed[rank] : 0;
}

static void lose_children_results(struct ref *r, struct ref_job *parent)
{
    for (size_t i = 0; i < r->count; i++)
        if (r->jobs[i].parent == parent->id)
            r->jobs[i].done = 0;
}

static void finish(struct ref *r, struct ref_job *j, enum hocket__job_state to, unsigned event)
{
    j->state = to;
    j->holds = j->queued = false;
    lose_children_results(r, j);
    forget_ranks(r);
    r->fresh[r->fresh_n++] = j->id;
    ref_log(r, event, j->id);
}

static void cancel(struct ref *r, struct ref_job *j)
{
    finish(r, j, HOCKET__JOB_CANCELLED, HOCKET__EVENT_CANCELLED);
}

static void cancel_children(struct ref *r, uint64_t id)
{
    for (size_t i = 0; i < r->count; i++)
        if (r->jobs[i].parent == id && !final(&r->jobs[i]))
            cancel(r, &r->jobs[i]);
}

static void dep_failed(struct ref *r, struct ref_job *j)
{
    if (j->on_dep == HOCKET__DEP_SKIP)
        finish(r, j, HOCKET__JOB_SKIPPED, HOCKET__EVENT_SKIPPED);
    else
        finish(r, j, HOCKET__JOB_FAILED, HOCKET__EVENT_FAILED);
}

static bool fails_with(const struct ref_job *j, size_t k, const struct ref_job *dep)
{
    return !IS(dep, COMPLETED) && j->on_dep != HOCKET__DEP_CONTINUE
           && k < j->dep_count - j->order_count;
}

static size_t deps_left(const struct ref_job *j)
{
    size_t left = 0;
    for (size_t k = 0; k < j->dep_count; k++)
        left += !j->dep_done[k];
    return left;
}

static void tell_dependents(struct ref *r, const struct ref_job *dep)
{
    for (size_t i = 0; i < r->count; i++) {
        struct ref_job *j = &r->jobs[i];
        for (size_t k = 0; k < j->dep_count && IS(j, BLOCKED); k++) {
            if (j->deps[k] != dep->id || j->dep_done[k])
                continue;
            j->dep_done[k] = true;
            if (fails_with(j, k, dep))
                dep_failed(r, j);
            else if (deps_left(j) == 0)
                ready(r, j);
        }
    }
}

static void drop_wait(struct ref *r, size_t i)
{
    r->wait_count--;
    memmove(&r->waits[i], &r->waits[i + 1], (r->wait_count - i) * sizeof(r->waits[0]));
}

static void tell_waits(struct ref *r, uint64_t id)
{
    bool failed = ref_find(r, id)->state != HOCKET__JOB_COMPLETED;
    for (size_t i = 0; i < r->wait_count;) {
        struct ref_wait *w = &r->waits[i];
        for (size_t k = 0; k < w->n; k++)
            if (w->ids[k] == id && w->counted[k] && w->left > 0)
                w->left = w->until_failed && failed ? 0 : w->left - 1;
        if (w->left == 0) {
            ref_log(r, REF_WOKE, w->token);
            drop_wait(r, i);
        } else {
            i++;
        }
    }
}

static void settle(struct ref *r)
{
    while (r->fresh_n + r->ended_n > 0) {
        if (r->fresh_n > 0) {
            uint64_t id = r->fresh[0];
            memmove(r->fresh, r->fresh + 1, --r->fresh_n * sizeof(id));
            r->ended[r->ended_n++] = id;
            cancel_children(r, id);
            continue;
        }
        struct ref_job *j = ref_find(r, r->ended[0]), *parent = ref_find(r, j->parent);
        memmove(r->ended, r->ended + 1, --r->ended_n * sizeof(uint64_t));
        if (j->parent == 0 || (parent && held(parent)))
            j->done = ++r->done;
        tell_dependents(r, j);
        tell_waits(r, j->id);
    }
}

void ref_submit(struct ref *r, const struct ref_job *jobs, size_t n)
{
    struct ref_job *first = &r->jobs[r->count];
    for (size_t i = 0; i < n; i++) {
        size_t of_run = 0;
        for (size_t k = 0; k < r->count; k++)
            of_run += r->jobs[k].run == jobs[i].run;
        if (of_run == 0)
            r->lines[jobs[i].run] = r->own_lines[jobs[i].run] = 0;
        if (of_run == 0)
            r->turns[jobs[i].run] = ++r->turn;
        r->jobs[r->count++] = jobs[i];
    }
    for (size_t i = 0; i < n; i++)
        ref_log(r, HOCKET__EVENT_PENDING, first[i].id);
    for (struct ref_job *j = first; j < first + n; j++) {
        bool failed = false;
        for (size_t k = 0; k < j->dep_count && !failed; k++) {
            struct ref_job *dep = ref_find(r, j->deps[k]);
            j->dep_done[k] = final(dep);
            failed = final(dep) && fails_with(j, k, dep);
        }
        if (failed)
            dep_failed(r, j);
        else if (deps_left(j) == 0)
            ready(r, j);
        else
            j->state = HOCKET__JOB_BLOCKED;
    }
    settle(r);
}

/* Of one rank, or resuming both. */
static bool better(const struct ref *r, const struct ref_job *x, const struct ref_job *y)
{
    if (!y)
        return true;
    if (x->run != y->run)
        return r->turns[x->run] < r->turns[y->run];
    if (IS(x, READY) && x->place != y->place)
        return x->place < y->place;
    return x->seq < y->seq;
}

static bool has_slot(const struct ref *r, const struct ref_job *j)
{
    for (int k = 0; k < HOCKET__LIMIT_KINDS; k++) {
        int64_t used = 0, limit = r->limits[k][j->name[k]];
        for (size_t i = 0; i < r->count; i++)
            used += r->jobs[i].holds && r->jobs[i].name[k] == j->name[k];
        if (limit >= 0 && used >= limit)
            return false;
    }
    return true;
}

/* The best that is queued, of a rank or (REF_RANKS) of those that resume; NULL. */
static struct ref_job *best_of(struct ref *r, int rank)
{
    struct ref_job *best = NULL;
    for (size_t i = 0; i < r->count; i++) {
        struct ref_job *j = &r->jobs[i];
        int its = IS(j, RESUMING) ? REF_RANKS : j->priority + REF_RANKS / 2;
        if (j->queued && its == rank && has_slot(r, j) && better(r, j, best))
            best = j;
    }
    return best;
}

static struct ref_job *begin(struct ref *r, struct ref_job *best, int rank)
{
    for (int below = 0; below < rank; below++)
        r->passed[below] += best_of(r, below) != NULL;
    r->passed[rank] = 0;
    best->attempt++;
    best->fence++;
    r->turns[best->run] = ++r->turn;
    if (best->place > r->lines[best->run])
        r->lines[best->run] = best->place;
    ref_log(r, HOCKET__EVENT_RUNNING, best->id);
    return best;
}

struct ref_job *ref_next(struct ref *r)
{
    int64_t all = 0;
    for (size_t i = 0; i < r->count; i++)
        all += r->jobs[i].holds;
    if (r->limit >= 0 && all >= r->limit)
        return NULL;
    struct ref_job *best = best_of(r, REF_RANKS);
    int chosen = REF_RANKS;
    for (int rank = REF_RANKS - 1; rank >= 0 && chosen == REF_RANKS && !best; rank--)
        if ((best = best_of(r, rank)))
            chosen = rank;
    for (int rank = chosen - 1; best && chosen < REF_RANKS && rank >= 0; rank--) {
        uint64_t stands = (uint64_t) rank + r->passed[rank] / HOCKET__PASSES_A_POINT;
        if (best_of(r, rank)
            && stands >= (uint64_t) chosen + r->passed[chosen] / HOCKET__PASSES_A_POINT) {
            best = best_of(r, rank);
            chosen = rank;
        }
    }
    if (!best)
        return NULL;
    if (chosen < REF_RANKS)
        begin(r, best, chosen);
    best->queued = false;
    best->holds = true;
    best->state = HOCKET__JOB_RUNNING;
    return best;
}

int ref_complete(struct ref *r, uint64_t id, uint64_t fence)
{
    struct ref_job *j;
    int rc = ref_held(r, id, fence, &j);
    if (rc < 0 || !IS(j, RUNNING))
        return rc < 0 ? rc : HOCKET_ESTATE;
    finish(r, j, HOCKET__JOB_COMPLETED, HOCKET__EVENT_COMPLETED);
    settle(r);
    return 0;
}

static void fail(struct ref *r, struct ref_job *j, uint64_t random, bool no_retry)
{
    if (no_retry || j->attempt > j->max_retries) {
        finish(r, j, HOCKET__JOB_FAILED, HOCKET__EVENT_FAILED);
        return;
    }
    int64_t most = j->backoff;
    for (uint32_t i = 1; i < j->attempt; i++)
        most *= 2;
    if (most > j->backoff_max)
        most = j->backoff_max;
    int64_t delay = (int64_t) (random % (uint64_t) (most + 1));
    j->holds = j->queued = false;
    j->fence++;
    lose_children_results(r, j);
    j->state = HOCKET__JOB_DELAYED;
    j->due = r->now + delay;
    if (delay == 0)
        ready(r, j);
    ref_log(r, HOCKET__EVENT_PENDING, j->id);
    cancel_children(r, j->id);
}

int ref_fail(struct ref *r, uint64_t id, uint64_t fence, uint64_t random, bool no_retry)
{
    struct ref_job *j;
    int rc = ref_held(r, id, fence, &j);
    if (rc < 0)
        return rc;
    fail(r, j, random, no_retry);
    settle(r);
    return 0;
}

int ref_park(struct ref *r, uint64_t id, uint64_t fence)
{
    struct ref_job *j;
    int rc = ref_held(r, id, fence, &j);
    if (rc < 0 || !IS(j, RUNNING))
        return rc < 0 ? rc : HOCKET_ESTATE;
    j->state = HOCKET__JOB_WAITING;
    j->holds = false;
    return 0;
}

int ref_unpark(struct ref *r, uint64_t id, uint64_t fence)
{
    struct ref_job *j;
    int rc = ref_held(r, id, fence, &j);
    if (rc < 0 || !IS(j, WAITING))
        return rc < 0 ? rc : HOCKET_ESTATE;
    j->state = HOCKET__JOB_RESUMING;
    j->queued = true;
    j->seq = ++r->seq;
    return 0;
}

int ref_cancel(struct ref *r, uint64_t id)
{
    struct ref_job *j = ref_find(r, id);
    if (!j || final(j))
        return j ? HOCKET_ESTATE : HOCKET_ENOTFOUND;
    cancel(r, j);
    settle(r);
    return 0;
}

size_t ref_cancel_all(struct ref *r, uint64_t run)
{
    size_t count = 0;
    for (size_t i = 0; i < r->count; i++)
        if ((run == 0 || r->jobs[i].run == run) && !final(&r->jobs[i])) {
            cancel(r, &r->jobs[i]);
            count++;
        }
    settle(r);
    return count;
}

static int64_t due(const struct ref_job *j)
{
    int64_t at = final(j) ? HOCKET__NEVER : j->deadline;
    return IS(j, DELAYED) && j->due < at ? j->due : at;
}

int64_t ref_wakeup(const struct ref *r)
{
    int64_t at = HOCKET__NEVER;
    for (size_t i = 0; i < r->count; i++)
        at = due(&r->jobs[i]) < at ? due(&r->jobs[i]) : at;
    return at;
}

size_t ref_expire(struct ref *r)
{
    size_t count = 0;
    for (int64_t at; (at = ref_wakeup(r)) <= r->now; count++) {
        struct ref_job *j = r->jobs;
        while (due(j) != at)
            j++;
        if (j->deadline <= r->now)
            fail(r, j, 0, true);
        else
            ready(r, j);
        settle(r);
    }
    return count;
}

int ref_wait(
    struct ref *r, uint64_t token, const uint64_t *ids, size_t n, enum hocket__wait_mode mode)
{
    struct ref_wait w = { .token = token, .n = n, .until_failed = mode == HOCKET__WAIT_FAILED };
    bool any = mode == HOCKET__WAIT_ANY, failed = false;
    size_t open = 0;
    if (n == 0 && any)
        return HOCKET_EINVAL;
    for (size_t i = 0; i < r->wait_count; i++)
        if (r->waits[i].token == token)
            return HOCKET_EEXIST;
    for (size_t i = 0; i < n; i++) {
        struct ref_job *j = ref_find(r, ids[i]);
        if (!j)
            return HOCKET_ENOTFOUND;
        w.ids[i] = ids[i];
        w.counted[i] = !final(j);
        open += w.counted[i];
        failed |= final(j) && j->state != HOCKET__JOB_COMPLETED;
    }
    if (open == 0 || (any && open < n) || (w.until_failed && failed))
        return 1;
    w.left = any ? 1 : open;
    r->waits[r->wait_count++] = w;
    return 0;
}

int ref_wait_cancel(struct ref *r, uint64_t token)
{
    for (size_t i = 0; i < r->wait_count; i++)
        if (r->waits[i].token == token) {
            drop_wait(r, i);
            return 0;
        }
    return HOCKET_ENOTFOUND;
}

size_t ref_take(struct ref *r, uint64_t run, uint64_t parent, uint64_t *ids, size_t max)
{
    size_t count = 0;
    for (; count < max; count++) {
        struct ref_job *first = NULL;
        for (size_t i = 0; i < r->count; i++) {
            struct ref_job *j = &r->jobs[i];
            if (j->done && j->parent == parent && (parent || j->run == run)
                && (!first || j->done < first->done))
                first = j;
        }
        if (!first)
            break;
        first->done = 0;
        first->delivered = true;
        ids[count] = first->id;
    }
    return count;
}

int ref_mark_read(struct ref *r, uint64_t id)
{
    struct ref_job *j = ref_find(r, id);
    if (!j || !final(j))
        return j ? HOCKET_ESTATE : HOCKET_ENOTFOUND;
    int rc = !j->delivered;
    j->done = 0;
    j->delivered = true;
    return rc;
}

int ref_forget(struct ref *r, uint64_t id)
{
    struct ref_job *j = ref_find(r, id);
    if (!j || !final(j))
        return j ? HOCKET_ESTATE : HOCKET_ENOTFOUND;
    lose_children_results(r, j);
    r->count--;
    memmove(j, j + 1, (size_t) (&r->jobs[r->count] - j) * sizeof(*j));
    return 0;
}

int ref_forget_run(struct ref *r, uint64_t run)
{
    size_t count = 0;
    for (size_t i = 0; i < r->count; i++) {
        count += r->jobs[i].run == run;
        if (r->jobs[i].run == run && !final(&r->jobs[i]))
            return HOCKET_ESTATE;
    }
    for (size_t i = r->count; i-- > 0;)
        if (r->jobs[i].run == run)
            ref_forget(r, r->jobs[i].id);
    return count > 0 ? 0 : HOCKET_ENOTFOUND;
}

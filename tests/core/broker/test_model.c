/* Random operations on the broker and on a naive reference: after each, the
 * same return value, the same events in the same order, the same states.
 * HOCKET_MODEL_OPS and HOCKET_SEED change how many and which. */
#include "core/broker/reference.h"
#include "support/alloc.h"

#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

struct model {
    struct hocket__broker *b;
    struct ref ref;
    uint64_t log[REF_LOG];
    size_t log_n;
    uint64_t random, seed, ops, tokens, last_id;
};

static const char *const names[HOCKET__LIMIT_KINDS][REF_NAMES] = {
    { "writer", "critic", "critic-2" }, { "", "openai", "anthropic" }, { "", "plan", "disk" }
};

static uint64_t rnd(struct model *m, uint64_t n)
{
    m->random = m->random * 6364136223846793005u + 1442695040888963407u;
    return hocket__index_mix(0, m->random) % n;
}

static void on_event(const struct hocket__broker_event *event, void *ud)
{
    struct model *m = ud;
    if (m->log_n < REF_LOG)
        m->log[m->log_n++] = (uint64_t) event->type << 56 | event->job->id;
}

static void on_wake(uint64_t token, void *ud)
{
    struct model *m = ud;
    if (m->log_n < REF_LOG)
        m->log[m->log_n++] = (uint64_t) REF_WOKE << 56 | token;
}

#define SAME(m, what, ours, refs)                                                                  \
    do {                                                                                           \
        int64_t ours_ = (int64_t) (ours), refs_ = (int64_t) (refs);                                \
        if (ours_ != refs_)                                                                        \
            fail_msg("seed %" PRIu64 " op %" PRIu64 ": %s is %" PRId64 ", the reference says "     \
                     "%" PRId64,                                                                   \
                (m)->seed, (m)->ops, what, ours_, refs_);                                          \
    } while (0)

static uint64_t any_id(struct model *m)
{
    if (m->ref.count == 0 || rnd(m, 50) == 0)
        return 1 + rnd(m, m->last_id + 2);
    return m->ref.jobs[rnd(m, m->ref.count)].id;
}

/* Mostly a job that is under way, so that legal transitions happen often. */
static uint64_t busy_id(struct model *m, uint64_t *fence)
{
    uint64_t id = 0;
    const struct ref_job *j = NULL;
    for (int i = 0; i < 10; i++) {
        id = any_id(m);
        j = ref_find(&m->ref, id);
        if (j && hocket__job_is_held(j->state))
            break;
    }
    *fence = (j ? j->fence : 1) - (rnd(m, 20) == 0) + (rnd(m, 40) == 0);
    return id;
}

/* ---- Submitting -------------------------------------------------------------- */

static int check_dep(struct model *m, const struct ref_job *job, uint64_t dep)
{
    if (!ref_find(&m->ref, dep))
        return HOCKET_ENOTFOUND;
    for (const struct ref_job *a = ref_find(&m->ref, job->parent); a;
         a = ref_find(&m->ref, a->parent))
        if (a->id == dep)
            return HOCKET_EINVAL;
    return 0;
}

static void random_job(struct model *m, struct ref_job *job)
{
    *job = (struct ref_job){
        .run = 1 + rnd(m, REF_RUNS - 1),
        .priority = rnd(m, 3) ? 0 : (int) rnd(m, 5) - 2,
        .on_dep = (enum hocket__job_on_dep) rnd(m, 3),
        .max_retries = (uint32_t) rnd(m, 3),
        .backoff = (int64_t) rnd(m, 4) * 10,
        .backoff_max = 25,
        .deadline = rnd(m, 4) ? HOCKET__NEVER : m->ref.now + (int64_t) rnd(m, 400),
    };
    for (int k = 0; k < HOCKET__LIMIT_KINDS; k++)
        job->name[k] = (int) rnd(m, REF_NAMES);
    if (rnd(m, 2))
        job->parent = busy_id(m, &job->fence); /* the parent's, until it is taken in */
    struct ref_job *parent = ref_find(&m->ref, job->parent);
    if (parent)
        job->run = parent->run;
}

static int check_job(struct model *m, struct ref_job *job)
{
    struct ref_job *parent;
    int rc = job->parent ? ref_held(&m->ref, job->parent, job->fence, &parent) : 0;
    for (size_t k = 0; k < job->dep_count && rc == 0; k++)
        rc = check_dep(m, job, job->deps[k]);
    return rc;
}

static struct hocket__job_spec spec_of(const struct ref_job *job)
{
    return (struct hocket__job_spec){
        .run = job->run,
        .parent = job->parent,
        .parent_fence = job->fence,
        .agent = hocket__cstr(names[HOCKET__LIMIT_AGENT][job->name[HOCKET__LIMIT_AGENT]]),
        .provider = hocket__cstr(names[HOCKET__LIMIT_PROVIDER][job->name[HOCKET__LIMIT_PROVIDER]]),
        .group = hocket__cstr(names[HOCKET__LIMIT_GROUP][job->name[HOCKET__LIMIT_GROUP]]),
        .data = HOCKET__STR("{}"),
        .priority = job->priority,
        .deadline_ms = job->deadline,
        .max_retries = job->max_retries,
        .backoff_ms = job->backoff,
        .backoff_max_ms = job->backoff_max,
        .deps = job->deps,
        .dep_count = job->dep_count,
        .on_dep = job->on_dep,
    };
}

/* One to three jobs, named a b c; each may need any other of the names, which
 * is a cycle now and then. Needs become dependencies once the ids are known. */
static void op_submit(struct model *m)
{
    static const char *const letters[] = { "a", "b", "c" };
    size_t n = rnd(m, 3) ? 1 : 1 + rnd(m, 3);
    struct ref_job jobs[3];
    struct hocket__job_spec specs[3];
    struct hocket__str needs[3];
    int need[3] = { -1, -1, -1 }, rc = 0;
    uint64_t ids[3] = { 0 };
    if (m->ref.count + n > REF_JOBS)
        return;
    for (size_t i = 0; i < n; i++) {
        random_job(m, &jobs[i]);
        for (size_t left = rnd(m, 3) ? 0 : rnd(m, REF_DEPS); left > 0; left--)
            jobs[i].deps[jobs[i].dep_count++] = any_id(m);
        if (rc == 0)
            rc = check_job(m, &jobs[i]);
        specs[i] = spec_of(&jobs[i]);
        specs[i].name = hocket__cstr(letters[i]);
        if (rnd(m, 2)) {
            need[i] = (int) rnd(m, n);
            needs[i] = hocket__cstr(letters[need[i]]);
            jobs[i].order_count = rnd(m, 3) == 0;
            specs[i].needs = specs[i].after = &needs[i];
            specs[i].need_count = 1 - jobs[i].order_count;
            specs[i].after_count = jobs[i].order_count;
        }
    }
    for (size_t i = 0; i < n && rc == 0; i++) {
        int at = (int) i;
        for (size_t hops = 0; hops <= n && at >= 0; hops++)
            at = need[at];
        rc = at >= 0 ? HOCKET_EINVAL : 0;
    }
    SAME(m, "submit", hocket__broker_submit(m->b, specs, n, m->ref.now, ids, NULL), rc);
    if (rc < 0)
        return;
    m->last_id = ids[n - 1];
    for (size_t i = 0; i < n; i++) {
        jobs[i].id = ids[i];
        jobs[i].fence = 0;
        if (need[i] >= 0)
            jobs[i].deps[jobs[i].dep_count++] = ids[need[i]];
    }
    ref_submit(&m->ref, jobs, n);
}

/* ---- The other operations -------------------------------------------------------- */

static void op_next(struct model *m)
{
    struct hocket__claim claim = { 0 };
    bool any = hocket__broker_next(m->b, m->ref.now, &claim);
    struct ref_job *j = ref_next(&m->ref);
    SAME(m, "next", any, j != NULL);
    if (j) {
        SAME(m, "the next job", claim.job->id, j->id);
        SAME(m, "its fence", claim.fence, j->fence);
    }
}

static void op_complete(struct model *m)
{
    uint64_t fence, id = busy_id(m, &fence);
    SAME(m, "complete",
        hocket__broker_complete(
            m->b, id, fence, m->ref.now, HOCKET__STR("\"ok\""), HOCKET__STR("{}"), NULL),
        ref_complete(&m->ref, id, fence));
}

static void op_fail(struct model *m)
{
    uint64_t fence, id = busy_id(m, &fence), random = rnd(m, 1000);
    struct hocket__job_outcome o = {
        .status = HOCKET_EIO, .error = HOCKET__STR("no"), .no_retry = rnd(m, 4) == 0
    };
    SAME(m, "fail", hocket__broker_fail(m->b, id, fence, m->ref.now, random, &o, NULL),
        ref_fail(&m->ref, id, fence, random, o.no_retry));
}

static void op_park(struct model *m)
{
    uint64_t fence, id = busy_id(m, &fence);
    if (rnd(m, 2))
        SAME(m, "park", hocket__broker_park(m->b, id, fence, NULL), ref_park(&m->ref, id, fence));
    else
        SAME(m, "unpark", hocket__broker_unpark(m->b, id, fence, NULL),
            ref_unpark(&m->ref, id, fence));
}

static void op_note(struct model *m)
{
    uint64_t fence, id = busy_id(m, &fence);
    struct ref_job *j;
    int rc = ref_held(&m->ref, id, fence, &j);
    if (rc == 0)
        ref_log(&m->ref, HOCKET__EVENT_LOG, id);
    SAME(m, "note",
        hocket__broker_note(
            m->b, id, fence, m->ref.now, HOCKET__NOTE_LOG, HOCKET__STR("thinking"), NULL),
        rc);
}

static void op_cancel(struct model *m)
{
    uint64_t id = any_id(m), run = rnd(m, REF_RUNS + 6);
    if (rnd(m, 8) > 0)
        SAME(m, "cancel", hocket__broker_cancel(m->b, id, m->ref.now, NULL),
            ref_cancel(&m->ref, id));
    else if (run < REF_RUNS)
        SAME(m, "cancel_all", hocket__broker_cancel_all(m->b, run, m->ref.now),
            ref_cancel_all(&m->ref, run));
}

static void op_time(struct model *m)
{
    m->ref.now += (int64_t) rnd(m, 30);
    SAME(m, "expire", hocket__broker_expire(m->b, m->ref.now), ref_expire(&m->ref));
}

static void op_wait(struct model *m)
{
    uint64_t ids[REF_DEPS], token = rnd(m, 8) || !m->tokens ? ++m->tokens : m->tokens;
    size_t n = rnd(m, REF_DEPS + 1);
    enum hocket__wait_mode mode = (enum hocket__wait_mode) rnd(m, 3);
    for (size_t i = 0; i < n; i++)
        ids[i] = any_id(m);
    bool full = m->ref.wait_count == REF_WAITS;
    if (full)
        token = m->ref.waits[rnd(m, REF_WAITS)].token;
    if (full || rnd(m, 5) == 0)
        SAME(m, "wait_cancel", hocket__broker_wait_cancel(m->b, token),
            ref_wait_cancel(&m->ref, token));
    else
        SAME(m, "wait", hocket__broker_wait(m->b, token, ids, n, mode, NULL),
            ref_wait(&m->ref, token, ids, n, mode));
}

static void op_take(struct model *m)
{
    uint64_t ours[4], refs[4], id = any_id(m), run = 1 + rnd(m, REF_RUNS - 1);
    uint64_t parent = rnd(m, 2) ? id : 0;
    size_t max = rnd(m, 5);
    if (rnd(m, 3) == 0) {
        SAME(m, "mark_read", hocket__broker_mark_read(m->b, id, NULL), ref_mark_read(&m->ref, id));
        return;
    }
    size_t n = hocket__broker_take_finished(m->b, run, parent, ours, max);
    SAME(m, "take_finished", n, ref_take(&m->ref, run, parent, refs, max));
    for (size_t i = 0; i < n; i++)
        SAME(m, "a finished job", ours[i], refs[i]);
}

static void op_forget(struct model *m)
{
    uint64_t id = any_id(m), run = 1 + rnd(m, REF_RUNS - 1);
    if (rnd(m, 4))
        SAME(m, "forget", hocket__broker_forget(m->b, id, NULL), ref_forget(&m->ref, id));
    else
        SAME(m, "forget_run", hocket__broker_forget_run(m->b, run, NULL),
            ref_forget_run(&m->ref, run));
}

static void op_limit(struct model *m)
{
    int kind = (int) rnd(m, HOCKET__LIMIT_KINDS + 1), name = (int) rnd(m, REF_NAMES);
    int64_t limit = (int64_t) rnd(m, 5) - 1;
    if (kind == HOCKET__LIMIT_KINDS) {
        m->ref.limit = limit < 0 ? limit : limit * 3;
        hocket__broker_limit_all(m->b, m->ref.limit);
    } else if (kind != HOCKET__LIMIT_GROUP || name > 0) {
        m->ref.limits[kind][name] = limit;
        assert_int_equal(hocket__broker_limit(m->b, (enum hocket__limit_kind) kind,
                             hocket__cstr(names[kind][name]), limit),
            0);
    }
}

static void one_op(struct model *m)
{
    static const struct {
        void (*op)(struct model *m);
        unsigned weight;
    } table[] = { { op_submit, 24 }, { op_next, 26 }, { op_complete, 9 }, { op_fail, 7 },
        { op_park, 10 }, { op_note, 2 }, { op_cancel, 3 }, { op_time, 6 }, { op_wait, 6 },
        { op_take, 6 }, { op_forget, 12 }, { op_limit, 2 } };
    uint64_t at = rnd(m, 113);
    size_t i = 0;
    for (; at >= table[i].weight; i++)
        at -= table[i].weight;
    table[i].op(m);
}

static void compare(struct model *m)
{
    SAME(m, "the number of events", m->log_n, m->ref.log_n);
    for (size_t i = 0; i < m->log_n; i++)
        SAME(m, "an event", m->log[i], m->ref.log[i]);
    m->log_n = m->ref.log_n = 0;
    SAME(m, "next_wakeup", hocket__broker_next_wakeup(m->b), ref_wakeup(&m->ref));
    size_t of[HOCKET__JOB_STATE_COUNT] = { 0 };
    for (size_t i = 0; i < m->ref.count; i++) {
        const struct ref_job *j = &m->ref.jobs[i];
        const struct hocket__job *job = hocket__broker_get(m->b, j->id);
        SAME(m, "a job's presence", job != NULL, 1);
        SAME(m, "a state", job->state, j->state);
        SAME(m, "an attempt", job->attempt, j->attempt);
        SAME(m, "a fence", job->fence, j->fence);
        of[j->state]++;
    }
    struct hocket__broker_counts counts = hocket__broker_counts(m->b, 0);
    for (int s = 0; s < HOCKET__JOB_STATE_COUNT; s++)
        SAME(m, "a count", counts.of[s], of[s]);
}

static uint64_t env(const char *name, uint64_t otherwise)
{
    const char *text = getenv(name);
    return text ? strtoull(text, NULL, 10) : otherwise;
}

static void open_model(struct model *m, struct test_alloc *t)
{
    struct hocket__broker_hooks hooks = { .emit_cb = on_event, .wake_cb = on_wake, .ud = m };
    assert_int_equal(hocket__broker_new(&t->a, NULL, &hooks, &m->b), 0);
    m->ref.limit = HOCKET__UNLIMITED;
    for (int k = 0; k < HOCKET__LIMIT_KINDS; k++)
        for (int i = 0; i < REF_NAMES; i++)
            m->ref.limits[k][i] = HOCKET__UNLIMITED;
}

static void test_model(void **state)
{
    (void) state;
#if defined(__SANITIZE_ADDRESS__)
    uint64_t ops = env("HOCKET_MODEL_OPS", 100000);
#else
    uint64_t ops = env("HOCKET_MODEL_OPS", 1000000);
#endif
    struct test_alloc t;
    struct model *m = calloc(1, sizeof(*m));
    assert_non_null(m);
    test_alloc_init(&t);
    open_model(m, &t);
    m->random = m->seed = env("HOCKET_SEED", 20240607);
    size_t seen[HOCKET__JOB_STATE_COUNT] = { 0 };
    for (; m->ops < ops; m->ops++) {
        one_op(m);
        compare(m);
        for (size_t i = 0; i < m->ref.count; i++)
            seen[m->ref.jobs[i].state]++;
    }
    for (int s = HOCKET__JOB_PENDING + 1; s < HOCKET__JOB_STATE_COUNT; s++)
        assert_true(seen[s] > 0); /* all were visited */
    hocket__broker_free(m->b);
    test_alloc_check(&t);
    free(m);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(test_model) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

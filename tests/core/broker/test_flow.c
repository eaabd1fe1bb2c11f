/* Batches, dependencies, trees, delivery, waits, notes, limits, memory. */
#include "core/broker/fixture.h"

#include <string.h>

/* ---- Batches -------------------------------------------------------------------- */

static struct hocket__job_spec named(const char *name, const struct hocket__str *needs, size_t n)
{
    struct hocket__job_spec s = spec_in(1);
    s.name = hocket__cstr(name);
    s.needs = needs;
    s.need_count = n;
    return s;
}

static void test_plan(void **state)
{
    (void) state;
    struct fixture f;
    fixture_open(&f, NULL);
    struct hocket__str needs_write[] = { HOCKET__STR("food"), HOCKET__STR("flights") };
    struct hocket__job_spec specs[] = { named("write", needs_write, 2), named("food", NULL, 0),
        named("flights", NULL, 0) };
    uint64_t ids[3];
    assert_int_equal(hocket__broker_submit(f.b, specs, 3, f.now, ids, &f.err), 0);
    assert_int_equal(state_of(&f, ids[0]), HOCKET__JOB_BLOCKED);
    const struct hocket__job *job = hocket__broker_get(f.b, ids[0]);
    assert_int_equal(job->dep_count, 2);
    assert_int_equal(job->deps[0], ids[1]);
    assert_int_equal(job->deps[1], ids[2]);
    assert_true(hocket__str_is(job->name, "write"));
    assert_int_equal(next(&f), ids[1]);
    assert_int_equal(next(&f), ids[2]);
    assert_int_equal(next(&f), 0);
    assert_int_equal(complete(&f, ids[2]), 0);
    assert_int_equal(next(&f), 0);
    assert_int_equal(complete(&f, ids[1]), 0);
    assert_int_equal(next(&f), ids[0]);
    fixture_close(&f);
}

static void refused(
    struct fixture *f, const struct hocket__job_spec *specs, size_t n, int status, const char *text)
{
    uint64_t ids[4];
    assert_int_equal(hocket__broker_submit(f->b, specs, n, f->now, ids, &f->err), status);
    if (!strstr(f->err.message, text))
        fail_msg("\"%s\" is not in \"%s\"", text, f->err.message);
    assert_int_equal(f->events[HOCKET__EVENT_PENDING], 0);
    assert_int_equal(hocket__broker_counts(f->b, 0).of[HOCKET__JOB_READY], 0);
    assert_null(hocket__broker_get(f->b, 1));
}

static void test_refused_plans(void **state)
{
    (void) state;
    struct fixture f;
    fixture_open(&f, NULL);
    struct hocket__str a = HOCKET__STR("a"), b = HOCKET__STR("b"), c = HOCKET__STR("c");
    struct hocket__job_spec cycle[] = { named("d", &a, 1), named("a", &b, 1), named("b", &c, 1),
        named("c", &a, 1) };
    refused(&f, cycle, 4, HOCKET_EINVAL, "a dependency cycle: a -> b -> c -> a");
    struct hocket__job_spec self[] = { named("b", NULL, 0), named("a", &a, 1) };
    refused(&f, self, 2, HOCKET_EINVAL, "a dependency cycle: a -> a");
    struct hocket__job_spec unknown[] = { named("a", NULL, 0), named("b", &c, 1) };
    refused(&f, unknown, 2, HOCKET_ENOTFOUND, "needs \"c\"");
    struct hocket__job_spec twice[] = { named("a", NULL, 0), named("a", NULL, 0) };
    refused(&f, twice, 2, HOCKET_EEXIST, "two jobs are named \"a\"");
    uint64_t nobody = 77;
    struct hocket__job_spec id[] = { named("a", NULL, 0), named("b", NULL, 0) };
    id[1].deps = &nobody;
    id[1].dep_count = 1;
    refused(&f, id, 2, HOCKET_ENOTFOUND, "77");
    id[1] = spec_in(0);
    refused(&f, id, 2, HOCKET_EINVAL, "needs a run");
    fixture_close(&f);
}

/* A chain of 100,000 falls in one call, without recursion. */
static void test_long_chain(void **state)
{
    (void) state;
    struct fixture f;
    fixture_open(&f, NULL);
    struct hocket__job_spec s = spec_in(1);
    uint64_t first = submit(&f, &s), last = first;
    for (int i = 0; i < 100000; i++) {
        s.deps = &last;
        s.dep_count = 1;
        uint64_t id = submit(&f, &s);
        last = id;
    }
    assert_int_equal(cancel(&f, first), 0);
    assert_int_equal(f.events[HOCKET__EVENT_SKIPPED], 100000);
    assert_int_equal(hocket__broker_get(f.b, last)->cause, last - 1);
    fixture_close(&f);
}

/* ---- Dependencies and trees ------------------------------------------------------- */

static void test_failed_dependency(void **state)
{
    (void) state;
    static const enum hocket__job_state becomes[] = { HOCKET__JOB_SKIPPED, HOCKET__JOB_READY,
        HOCKET__JOB_FAILED };
    for (int late = 0; late < 2; late++)
        for (int policy = HOCKET__DEP_SKIP; policy <= HOCKET__DEP_FAIL; policy++) {
            struct fixture f;
            fixture_open(&f, NULL);
            struct hocket__job_spec s = spec_in(1);
            uint64_t dep = submit(&f, &s), id = 0;
            next(&f);
            s.deps = &dep;
            s.dep_count = 1;
            s.on_dep = (enum hocket__job_on_dep) policy;
            if (!late)
                id = submit(&f, &s);
            assert_int_equal(fail_job(&f, dep, 0, true), 0);
            if (late)
                id = submit(&f, &s);
            assert_int_equal(state_of(&f, id), becomes[policy]);
            assert_int_equal(
                hocket__broker_get(f.b, id)->cause, policy == HOCKET__DEP_CONTINUE ? 0 : dep);
            if (policy == HOCKET__DEP_SKIP)
                assert_string_equal(f.last_payload, "dependency 1 did not complete");
            fixture_close(&f);
        }
}

/* What one only comes after may have ended in any way; what it needs as well may not. */
static void test_after(void **state)
{
    (void) state;
    struct fixture f;
    fixture_open(&f, NULL);
    struct hocket__str a = HOCKET__STR("a"), b = HOCKET__STR("b");
    struct hocket__job_spec specs[] = { named("a", NULL, 0), named("b", &a, 1), named("c", NULL, 0),
        named("d", &a, 1) };
    specs[0].max_retries = 1;
    specs[0].backoff_ms = 0;
    specs[2].after = &b;
    specs[3].after = &b;
    specs[2].after_count = specs[3].after_count = 1;
    uint64_t ids[4];
    assert_int_equal(hocket__broker_submit(f.b, specs, 4, f.now, ids, &f.err), 0);
    assert_int_equal(hocket__broker_get(f.b, ids[3])->dep_count, 2);
    assert_int_equal(next(&f), ids[0]);
    assert_int_equal(fail_job(&f, ids[0], 0, false), 0); /* once more, and still the next */
    assert_int_equal(next(&f), ids[0]);
    assert_int_equal(next(&f), 0);
    assert_int_equal(fail_job(&f, ids[0], 0, false), 0);
    assert_int_equal(state_of(&f, ids[1]), HOCKET__JOB_SKIPPED);
    assert_int_equal(state_of(&f, ids[2]), HOCKET__JOB_READY);
    assert_int_equal(state_of(&f, ids[3]), HOCKET__JOB_SKIPPED);
    assert_int_equal(next(&f), ids[2]);
    struct hocket__job_spec ring[] = { named("a", &b, 1), named("b", NULL, 0) };
    ring[1].after = &a;
    ring[1].after_count = 1;
    assert_int_equal(hocket__broker_submit(f.b, ring, 2, f.now, ids, &f.err), HOCKET_EINVAL);
    assert_non_null(strstr(f.err.message, "a -> b -> a"));
    ring[1].after_count = 1001;
    assert_int_equal(hocket__broker_submit(f.b, ring, 2, f.now, ids, &f.err), HOCKET_ELIMIT);
    fixture_close(&f);
}

static void test_ancestor_dependency(void **state)
{
    (void) state;
    struct fixture f;
    fixture_open(&f, NULL);
    uint64_t top = submit_plain(&f), id;
    next(&f);
    struct hocket__job_spec s = spec_below(&f, top);
    uint64_t child = submit(&f, &s);
    next(&f);
    s = spec_below(&f, child);
    s.deps = &top;
    s.dep_count = 1;
    assert_int_equal(hocket__broker_submit(f.b, &s, 1, f.now, &id, &f.err), HOCKET_EINVAL);
    assert_non_null(strstr(f.err.message, "part of"));
    fixture_close(&f);
}

/* Below a cancelled job everything is CANCELLED, whatever depends on what. */
static void test_cancel_tree(void **state)
{
    (void) state;
    struct fixture f;
    fixture_open(&f, NULL);
    uint64_t top = submit_plain(&f), ids[4];
    next(&f);
    struct hocket__job_spec s = spec_below(&f, top);
    uint64_t one = submit(&f, &s), two = submit(&f, &s);
    next(&f);
    next(&f);
    struct hocket__job_spec below = spec_below(&f, two);
    below.deps = &one; /* its dependency goes before its parent does */
    below.dep_count = 1;
    uint64_t deep = submit(&f, &below), other = submit_plain(&f);
    assert_int_equal(hocket__broker_children(f.b, 1, top, 0, ids, 4), 2);
    assert_int_equal(hocket__broker_children(f.b, 1, top, one, ids, 4), 1);
    assert_int_equal(ids[0], two);
    assert_int_equal(hocket__broker_children(f.b, 1, 0, 0, ids, 4), 2);
    assert_int_equal(cancel(&f, top), 0);
    assert_int_equal(state_of(&f, deep), HOCKET__JOB_CANCELLED);
    assert_int_equal(state_of(&f, one), HOCKET__JOB_CANCELLED);
    assert_int_equal(hocket__broker_get(f.b, deep)->cause, two);
    assert_int_equal(state_of(&f, other), HOCKET__JOB_READY);
    assert_int_equal(f.events[HOCKET__EVENT_CANCELLED], 4);
    assert_int_equal(f.events[HOCKET__EVENT_SKIPPED], 0);
    assert_int_equal(hocket__broker_counts(f.b, 0).slots, 0);
    fixture_close(&f);
}

/* A parent that ends, or begins anew, takes what it started with it. */
static void test_children_end_with_the_attempt(void **state)
{
    (void) state;
    struct fixture f;
    fixture_open(&f, NULL);
    struct hocket__job_spec s = spec_in(1);
    uint64_t ids[2];
    s.max_retries = 1;
    s.backoff_ms = 0;
    uint64_t top = submit(&f, &s);
    next(&f);
    s = spec_below(&f, top);
    uint64_t ended = submit(&f, &s), open = submit(&f, &s);
    next(&f);
    assert_int_equal(complete(&f, ended), 0);
    assert_int_equal(fail_job(&f, top, 0, false), 0);
    assert_int_equal(state_of(&f, open), HOCKET__JOB_CANCELLED);
    assert_int_equal(hocket__broker_submit(f.b, &s, 1, f.now, ids, &f.err), HOCKET_ESTATE);
    assert_int_equal(next(&f), top);
    assert_int_equal(hocket__broker_take_finished(f.b, 1, top, ids, 2), 0);
    assert_int_equal(hocket__broker_submit(f.b, &s, 1, f.now, ids, &f.err), HOCKET_ESTATE);
    s = spec_below(&f, top);
    open = submit(&f, &s);
    assert_int_equal(complete(&f, top), 0);
    assert_int_equal(state_of(&f, open), HOCKET__JOB_CANCELLED);
    assert_true(hocket__str_is(hocket__broker_get(f.b, ended)->result, "\"done\""));
    fixture_close(&f);
}

static void test_cancel_all(void **state)
{
    (void) state;
    struct fixture f;
    fixture_open(&f, NULL);
    struct hocket__job_spec one = spec_in(1), two = spec_in(2);
    for (int i = 0; i < 10; i++) {
        submit(&f, &one);
        submit(&f, &two);
    }
    uint64_t done = next(&f);
    next(&f);
    assert_int_equal(complete(&f, done), 0);
    assert_int_equal(hocket__broker_cancel_all(f.b, 1, f.now), 9);
    assert_int_equal(hocket__broker_cancel_all(f.b, 1, f.now), 0);
    assert_int_equal(hocket__broker_counts(f.b, 2).of[HOCKET__JOB_CANCELLED], 0);
    assert_int_equal(hocket__broker_cancel_all(f.b, 0, f.now), 10);
    assert_int_equal(f.events[HOCKET__EVENT_CANCELLED], 19);
    assert_int_equal(hocket__broker_counts(f.b, 0).slots, 0);
    assert_int_equal(next(&f), 0);
    assert_int_equal(hocket__broker_forget_run(f.b, 1, NULL), 0);
    assert_int_equal(hocket__broker_forget_run(f.b, 1, NULL), HOCKET_ENOTFOUND);
    assert_int_equal(hocket__broker_counts(f.b, 0).of[HOCKET__JOB_CANCELLED], 10);
    fixture_close(&f);
}

/* With no memory at all: those that wait, are blocked or at work, once each, and what has ended stays so. */
static void test_fail_all(void **state)
{
    (void) state;
    struct fixture f;
    fixture_open(&f, NULL);
    struct hocket__job_spec s = spec_in(1);
    uint64_t done = submit(&f, &s), running = submit(&f, &s), waiting = submit(&f, &s);
    s.deps = &waiting;
    s.dep_count = 1;
    uint64_t blocked = submit(&f, &s);
    assert_int_equal(next(&f), done);
    assert_int_equal(complete(&f, done), 0);
    assert_int_equal(next(&f), running);
    f.t.fail_at = 1;
    f.t.fail_rest = true;
    hocket__broker_fail_all(f.b, f.now, HOCKET_ENOMEM);
    f.t.fail_at = 0;
    assert_int_equal(state_of(&f, done), HOCKET__JOB_COMPLETED);
    assert_int_equal(state_of(&f, running), HOCKET__JOB_FAILED);
    assert_int_equal(state_of(&f, waiting), HOCKET__JOB_FAILED);
    assert_int_equal(state_of(&f, blocked), HOCKET__JOB_FAILED);
    assert_int_equal(hocket__broker_get(f.b, running)->status, HOCKET_ENOMEM);
    assert_int_equal(f.events[HOCKET__EVENT_FAILED], 3);
    assert_int_equal(hocket__broker_counts(f.b, 0).slots, 0);
    assert_int_equal(next(&f), 0);
    s.dep_count = 0;
    uint64_t later = submit(&f, &s);
    assert_int_equal(next(&f), later);
    fixture_close(&f);
}

/* ---- Delivery ------------------------------------------------------------------------ */

#define MANY 10000

static uint64_t roll(uint64_t *random, uint64_t n)
{
    *random = *random * 6364136223846793005u + 1442695040888963407u;
    return (*random >> 33) % n;
}

/* Background jobs end in random order while results are taken in between, some
 * read directly: each is seen exactly once. */
static void test_delivery(void **state)
{
    (void) state;
    static uint64_t running[MANY];
    static unsigned char seen[MANY + 2];
    struct fixture f;
    fixture_open(&f, NULL);
    memset(seen, 0, sizeof(seen));
    uint64_t top = submit_plain(&f), random = 5, ids[64];
    size_t left = 0, handed = 0;
    next(&f);
    struct hocket__job_spec s = spec_below(&f, top);
    for (int i = 0; i < MANY; i++)
        submit(&f, &s);
    for (uint64_t id; (id = next(&f));)
        running[left++] = id;
    assert_int_equal(left, MANY);
    while (left > 0) {
        size_t at = roll(&random, left);
        uint64_t id = running[at];
        running[at] = running[--left];
        assert_int_equal(at % 3 ? complete(&f, id) : fail_job(&f, id, 0, true), 0);
        if (roll(&random, 4) == 0 && hocket__broker_mark_read(f.b, id, NULL) == 1)
            seen[id]++, handed++;
        size_t max = roll(&random, 8) ? 0 : roll(&random, 64);
        size_t n = hocket__broker_take_finished(f.b, 1, top, ids, max);
        for (size_t i = 0; i < n; i++, handed++)
            assert_int_equal(++seen[ids[i]], 1);
        if (n > 0)
            assert_int_equal(hocket__broker_mark_read(f.b, ids[0], NULL), 0);
    }
    for (size_t n; (n = hocket__broker_take_finished(f.b, 1, top, ids, 64)); handed += n)
        for (size_t i = 0; i < n; i++)
            assert_int_equal(++seen[ids[i]], 1);
    assert_int_equal(handed, MANY);
    for (uint64_t id = top + 1; id <= MANY + 1; id++)
        assert_int_equal(seen[id], 1);
    assert_true(hocket__broker_get(f.b, MANY)->delivered); /* and its result is still there */
    fixture_close(&f);
}

/* ---- Waits ------------------------------------------------------------------------------ */

static void open_with_three_at_work(struct fixture *f, uint64_t ids[3])
{
    fixture_open(f, NULL);
    for (int i = 0; i < 3; i++) {
        ids[i] = submit_plain(f);
        assert_int_equal(next(f), ids[i]);
    }
}

static void test_waits(void **state)
{
    (void) state;
    struct fixture f;
    uint64_t ids[3];
    open_with_three_at_work(&f, ids);
    assert_int_equal(hocket__broker_wait(f.b, 1, ids, 3, HOCKET__WAIT_ANY, NULL), 0);
    assert_int_equal(hocket__broker_wait(f.b, 2, ids, 3, HOCKET__WAIT_ALL, NULL), 0);
    assert_int_equal(hocket__broker_wait(f.b, 3, ids, 3, HOCKET__WAIT_ALL, NULL), 0);
    assert_int_equal(hocket__broker_wait(f.b, 3, ids, 3, HOCKET__WAIT_ALL, NULL), HOCKET_EEXIST);
    assert_int_equal(hocket__broker_wait(f.b, 4, ids, 0, HOCKET__WAIT_ANY, NULL), HOCKET_EINVAL);
    assert_int_equal(hocket__broker_wait(f.b, 4, ids, 0, HOCKET__WAIT_ALL, NULL), 1);
    assert_int_equal(hocket__broker_wait(f.b, 0, ids, 3, HOCKET__WAIT_ALL, NULL), HOCKET_EINVAL);
    assert_int_equal(hocket__broker_wait_cancel(f.b, 3), 0);
    assert_int_equal(hocket__broker_wait_cancel(f.b, 3), HOCKET_ENOTFOUND);
    complete(&f, ids[1]);
    assert_int_equal(f.wakes, 1);
    assert_int_equal(f.last_wake, 1);
    assert_int_equal(hocket__broker_wait(f.b, 5, ids, 3, HOCKET__WAIT_ANY, NULL), 1);
    cancel(&f, ids[0]);
    assert_int_equal(f.wakes, 1);
    fail_job(&f, ids[2], 0, true);
    assert_int_equal(f.wakes, 2);
    assert_int_equal(f.last_wake, 2);
    assert_int_equal(hocket__broker_wait_cancel(f.b, 2), HOCKET_ENOTFOUND);
    ids[2] = 99;
    assert_int_equal(hocket__broker_wait(f.b, 6, ids, 3, HOCKET__WAIT_ANY, NULL), HOCKET_ENOTFOUND);
    fixture_close(&f);
}

static void test_wait_until_one_failed(void **state)
{
    (void) state;
    struct fixture f;
    uint64_t ids[3];
    open_with_three_at_work(&f, ids);
    assert_int_equal(hocket__broker_wait(f.b, 1, ids, 3, HOCKET__WAIT_FAILED, NULL), 0);
    assert_int_equal(hocket__broker_wait(f.b, 2, ids, 1, HOCKET__WAIT_FAILED, NULL), 0);
    complete(&f, ids[0]);
    assert_int_equal(f.wakes, 1);
    assert_int_equal(f.last_wake, 2); /* all of its one */
    fail_job(&f, ids[1], 0, true);
    assert_int_equal(f.wakes, 2);
    assert_int_equal(f.last_wake, 1); /* before the third has ended */
    assert_int_equal(hocket__broker_wait(f.b, 3, ids, 3, HOCKET__WAIT_FAILED, NULL), 1);
    assert_int_equal(hocket__broker_wait(f.b, 3, &ids[2], 1, HOCKET__WAIT_FAILED, NULL), 0);
    cancel(&f, ids[2]);
    assert_int_equal(f.last_wake, 3);
    fixture_close(&f);
}

/* A retried job has not ended: nobody is woken until it has. */
static void test_wait_sees_through_retries(void **state)
{
    (void) state;
    struct fixture f;
    fixture_open(&f, NULL);
    struct hocket__job_spec s = spec_in(1);
    s.max_retries = 1;
    s.backoff_ms = 0;
    uint64_t id = submit(&f, &s);
    assert_int_equal(hocket__broker_wait(f.b, 1, &id, 1, HOCKET__WAIT_ALL, NULL), 0);
    next(&f);
    fail_job(&f, id, 0, false);
    assert_int_equal(f.wakes, 0);
    next(&f);
    complete(&f, id);
    assert_int_equal(f.wakes, 1);
    fixture_close(&f);
}

/* ---- Notes -------------------------------------------------------------------------------- */

static void test_notes(void **state)
{
    (void) state;
    struct hocket__broker_options o = hocket__broker_options_default();
    struct hocket__broker_noted out[8];
    struct fixture f;
    char text[16];
    o.max_events = 4;
    o.max_event_bytes = 8;
    fixture_open(&f, &o);
    uint64_t id = submit_plain(&f);
    next(&f);
    assert_int_equal(hocket__broker_notes(f.b, id, 0, out, 8), 0);
    for (int i = 1; i <= 6; i++) {
        snprintf(text, sizeof(text), "step %d", i);
        assert_int_equal(hocket__broker_note(f.b, id, fence_of(&f, id), f.now + i,
                             HOCKET__NOTE_PROGRESS, hocket__cstr(text), NULL),
            0);
        assert_string_equal(f.last_payload, text);
    }
    assert_int_equal(f.events[HOCKET__EVENT_PROGRESS], 6);
    assert_int_equal(hocket__broker_notes(f.b, id, 0, out, 8), 4); /* the last four */
    assert_int_equal(out[0].seq, 3);
    assert_true(hocket__str_is(out[0].text, "step 3"));
    assert_int_equal(out[3].time_ms, f.now + 6);
    assert_int_equal(hocket__broker_notes(f.b, id, 5, out, 8), 1);
    assert_int_equal(out[0].seq, 6);
    assert_int_equal(hocket__broker_notes(f.b, id, 6, out, 8), 0);
    assert_int_equal(hocket__broker_note(f.b, id, fence_of(&f, id), f.now, HOCKET__NOTE_LOG,
                         HOCKET__STR("too long, this"), &f.err),
        HOCKET_ELIMIT);
    complete(&f, id);
    assert_int_equal(hocket__broker_notes(f.b, id, 0, out, 8), 4);
    fixture_close(&f);
}

/* ---- Limits ---------------------------------------------------------------------------------- */

static void test_bounds(void **state)
{
    (void) state;
    struct hocket__broker_options o = hocket__broker_options_default();
    struct fixture f;
    uint64_t ids[3], chain[2];
    o.max_jobs = 4;
    o.max_data = 20;
    o.max_outcome = 15;
    o.max_deps = 1;
    o.max_depth = 1;
    o.max_waits = 1;
    o.max_wait_jobs = 1;
    fixture_open(&f, &o);
    struct hocket__job_spec s = spec_in(1), many[3] = { s, s, s };
    s.data = HOCKET__STR("123456789012345");
    assert_int_equal(hocket__broker_submit(f.b, &s, 1, f.now, ids, &f.err), HOCKET_ELIMIT);
    s.data = HOCKET__STR("12345678901234"); /* and 6 of the agent's name */
    chain[0] = submit(&f, &s);
    s.deps = (uint64_t[]){ chain[0], chain[0] };
    s.dep_count = 2;
    assert_int_equal(hocket__broker_submit(f.b, &s, 1, f.now, ids, &f.err), HOCKET_ELIMIT);
    many[0].data = many[1].data = many[2].data = HOCKET__STR("");
    next(&f);
    many[0].parent = chain[0];
    many[0].parent_fence = fence_of(&f, chain[0]);
    chain[1] = submit(&f, many);
    assert_int_equal(hocket__broker_submit(f.b, many, 3, f.now, ids, &f.err), HOCKET_ELIMIT);
    next(&f);
    many[0].parent = chain[1];
    many[0].parent_fence = fence_of(&f, chain[1]);
    assert_int_equal(hocket__broker_submit(f.b, many, 1, f.now, ids, &f.err), HOCKET_ELIMIT);
    assert_non_null(strstr(f.err.message, "deep"));
    assert_int_equal(hocket__broker_wait(f.b, 1, chain, 2, HOCKET__WAIT_ALL, NULL), HOCKET_ELIMIT);
    assert_int_equal(hocket__broker_wait(f.b, 1, chain, 1, HOCKET__WAIT_ALL, NULL), 0);
    assert_int_equal(hocket__broker_wait(f.b, 2, chain, 1, HOCKET__WAIT_ALL, NULL), HOCKET_ELIMIT);
    assert_int_equal(complete(&f, chain[1]), HOCKET_ELIMIT);
    assert_int_equal(state_of(&f, chain[1]), HOCKET__JOB_RUNNING);
    fixture_close(&f);
}

/* ---- Memory ------------------------------------------------------------------- */

/* Every call is made again after it ran out of memory; what it left behind must
 * be what was there before. */
struct scene {
    struct fixture f;
    struct hocket__broker_counts counts;
    size_t events[8];
    bool done;
};

static void before(struct scene *s)
{
    s->counts = hocket__broker_counts(s->f.b, 0);
    memcpy(s->events, s->f.events, sizeof(s->events));
}

/* True when the call is through; false: it ran out of memory, unchanged. */
static bool through(struct scene *s, int rc)
{
    if (rc != HOCKET_ENOMEM) {
        assert_true(rc >= 0);
        return true;
    }
    struct hocket__broker_counts now = hocket__broker_counts(s->f.b, 0);
    assert_memory_equal(&s->counts, &now, sizeof(now));
    assert_memory_equal(s->events, s->f.events, sizeof(s->events));
    assert_null(hocket__broker_get(s->f.b, 9999));
    return false;
}

/* Tries twice: a single failure is got over, memory that is out for good is not. */
#define STEP(s, call)                                                                              \
    do {                                                                                           \
        before(s);                                                                                 \
        if (!through(s, call) && !through(s, call))                                                \
            return;                                                                                \
    } while (0)

static int plan_of_three(struct fixture *f, uint64_t *ids)
{
    struct hocket__str needs[] = { HOCKET__STR("a"), HOCKET__STR("b") };
    struct hocket__job_spec specs[] = { named("a", NULL, 0), named("b", needs, 1),
        named("c", needs, 2) };
    specs[1].provider = HOCKET__STR("openai");
    specs[2].group = HOCKET__STR("plan");
    specs[2].run = 2;
    specs[2].priority = 3;
    return hocket__broker_submit(f->b, specs, 3, f->now, ids, &f->err);
}

static int note(struct fixture *f, uint64_t id)
{
    return hocket__broker_note(
        f->b, id, fence_of(f, id), f->now, HOCKET__NOTE_LOG, HOCKET__STR("on it"), &f->err);
}

static void play(struct scene *s)
{
    struct fixture *f = &s->f;
    uint64_t ids[3], child;
    STEP(s, hocket__broker_limit(f->b, HOCKET__LIMIT_AGENT, HOCKET__STR("writer"), 2));
    STEP(s, plan_of_three(f, ids));
    assert_int_equal(next(f), ids[0]);
    STEP(s, hocket__broker_wait(f->b, 1, ids, 3, HOCKET__WAIT_ALL, &f->err));
    STEP(s, note(f, ids[0]));
    struct hocket__job_spec below = spec_below(f, ids[0]);
    STEP(s, hocket__broker_submit(f->b, &below, 1, f->now, &child, &f->err));
    STEP(s, park(f, ids[0]));
    assert_int_equal(next(f), child);
    STEP(s, fail_job(f, child, 0, true));
    assert_int_equal(unpark(f, ids[0]), 0);
    assert_int_equal(next(f), ids[0]);
    STEP(s, complete(f, ids[0]));
    assert_int_equal(next(f), ids[1]);
    STEP(s, complete(f, ids[1]));
    assert_int_equal(next(f), ids[2]);
    STEP(s, complete(f, ids[2]));
    assert_int_equal(f->wakes, 1);
    s->done = true;
}

static void body(struct test_alloc *t, void *ud)
{
    struct scene *s = ud;
    struct fixture *f = &s->f;
    *s = (struct scene){ 0 };
    f->now = 1000;
    if (fixture_broker(f, &t->a, NULL) == 0) {
        play(s);
        assert_true(s->done || t->failed);
        hocket__broker_free(f->b);
    }
}

static void test_no_memory(void **state)
{
    (void) state;
    static struct scene s;
    assert_true(test_alloc_each(body, &s) > 30);
    assert_true(s.done);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_plan),
        cmocka_unit_test(test_refused_plans),
        cmocka_unit_test(test_long_chain),
        cmocka_unit_test(test_failed_dependency),
        cmocka_unit_test(test_after),
        cmocka_unit_test(test_ancestor_dependency),
        cmocka_unit_test(test_cancel_tree),
        cmocka_unit_test(test_children_end_with_the_attempt),
        cmocka_unit_test(test_cancel_all),
        cmocka_unit_test(test_fail_all),
        cmocka_unit_test(test_delivery),
        cmocka_unit_test(test_waits),
        cmocka_unit_test(test_wait_until_one_failed),
        cmocka_unit_test(test_wait_sees_through_retries),
        cmocka_unit_test(test_notes),
        cmocka_unit_test(test_bounds),
        cmocka_unit_test(test_no_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

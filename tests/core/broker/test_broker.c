/* States, fences, slots, order, time. What follows from ends is in
 * test_broker_flow.c, everything at once in test_broker_model.c. */
#include "core/broker/fixture.h"

#include <string.h>

/* ---- States ------------------------------------------------------------------- */

/* One row per state, one column per state it may go to, in the order of the list. */
static const char *const table[HOCKET__JOB_STATE_COUNT] = {
    /*             pen blo rea del run wai res com fai ski can */
    /* pending   */ ".XX.....XXX",
    /* blocked   */ "..X.....XXX",
    /* ready     */ "....X...X.X",
    /* delayed   */ "..X.....X.X",
    /* running   */ "..XX.X.XX.X",
    /* waiting   */ "..XX..X.X.X",
    /* resuming  */ "..XXX...X.X",
    /* completed */ "...........",
    /* failed    */ "...........",
    /* skipped   */ "...........",
    /* cancelled */ "...........",
};

static void test_table(void **state)
{
    (void) state;
    for (int from = 0; from < HOCKET__JOB_STATE_COUNT; from++)
        for (int to = 0; to < HOCKET__JOB_STATE_COUNT; to++)
            assert_int_equal(
                hocket__job_can((enum hocket__job_state) from, (enum hocket__job_state) to),
                table[from][to] == 'X');
}

static void test_words(void **state)
{
    (void) state;
    assert_string_equal(hocket__job_state_word(HOCKET__JOB_RESUMING), "resuming");
    assert_string_equal(hocket__job_state_outward(HOCKET__JOB_RESUMING), "running");
    assert_string_equal(hocket__job_state_outward(HOCKET__JOB_DELAYED), "pending");
    assert_string_equal(hocket__broker_event_word(HOCKET__EVENT_LOG), "log");
    assert_string_equal(hocket__broker_event_word(HOCKET__EVENT_SKIPPED), "skipped");
}

/* A fresh job that was brought into the state by legal calls. */
static uint64_t job_in(struct fixture *f, enum hocket__job_state to)
{
    struct hocket__job_spec s = spec_in(1);
    s.max_retries = to == HOCKET__JOB_DELAYED;
    uint64_t dep = 0;
    if (to == HOCKET__JOB_BLOCKED || to == HOCKET__JOB_SKIPPED) {
        dep = submit_plain(f);
        s.deps = &dep;
        s.dep_count = 1;
    }
    uint64_t id = submit(f, &s);
    if (to == HOCKET__JOB_SKIPPED || to == HOCKET__JOB_CANCELLED)
        assert_int_equal(cancel(f, dep ? dep : id), 0);
    if (to == HOCKET__JOB_BLOCKED || to == HOCKET__JOB_READY
        || hocket__job_is_final(state_of(f, id)))
        return id;
    assert_int_equal(next(f), id);
    if (to == HOCKET__JOB_WAITING || to == HOCKET__JOB_RESUMING)
        assert_int_equal(park(f, id), 0);
    if (to == HOCKET__JOB_RESUMING)
        assert_int_equal(unpark(f, id), 0);
    if (to == HOCKET__JOB_COMPLETED)
        assert_int_equal(complete(f, id), 0);
    if (to == HOCKET__JOB_FAILED || to == HOCKET__JOB_DELAYED)
        assert_int_equal(fail_job(f, id, 7, false), 0);
    return id;
}

static int call_complete(struct fixture *f, uint64_t id)
{
    return complete(f, id);
}

static int call_fail(struct fixture *f, uint64_t id)
{
    return fail_job(f, id, 0, true);
}

static int call_abandon(struct fixture *f, uint64_t id)
{
    return hocket__broker_abandon(f->b, id, fence_of(f, id), f->now, HOCKET_ENOMEM, &f->err);
}

static int call_note(struct fixture *f, uint64_t id)
{
    return hocket__broker_note(
        f->b, id, fence_of(f, id), f->now, HOCKET__NOTE_LOG, HOCKET__STR("x"), &f->err);
}

static int call_forget(struct fixture *f, uint64_t id)
{
    return hocket__broker_forget(f->b, id, &f->err);
}

static int call_mark_read(struct fixture *f, uint64_t id)
{
    int rc = hocket__broker_mark_read(f->b, id, &f->err);
    return rc < 0 ? rc : 0;
}

static int call_child(struct fixture *f, uint64_t id)
{
    struct hocket__job_spec s = spec_below(f, id);
    uint64_t child;
    return hocket__broker_submit(f->b, &s, 1, f->now, &child, &f->err);
}

/* Every call in every state that a caller can see: allowed or ESTATE with a
 * message, and a refused one leaves the state and emits nothing. */
static void test_calls(void **state)
{
    (void) state;
    static const struct {
        int (*call)(struct fixture *f, uint64_t id);
        const char *allowed; /* blo rea del run wai res com fai ski can */
    } calls[] = { { call_complete, "...X......" }, { call_fail, "...XXX...." },
        { call_abandon, "...XXX...." }, { park, "...X......" }, { unpark, "....X....." },
        { cancel, "XXXXXX...." }, { call_note, "...XXX...." }, { call_forget, "......XXXX" },
        { call_mark_read, "......XXXX" }, { call_child, "...XXX...." } };
    for (size_t c = 0; c < sizeof(calls) / sizeof(calls[0]); c++)
        for (int s = HOCKET__JOB_BLOCKED; s < HOCKET__JOB_STATE_COUNT; s++) {
            struct fixture f;
            fixture_open(&f, NULL);
            uint64_t id = job_in(&f, (enum hocket__job_state) s);
            size_t before[8];
            memcpy(before, f.events, sizeof(before));
            assert_int_equal(state_of(&f, id), s);
            int rc = calls[c].call(&f, id);
            if (calls[c].allowed[s - HOCKET__JOB_BLOCKED] == 'X') {
                assert_int_equal(rc, 0);
            } else {
                assert_int_equal(rc, HOCKET_ESTATE);
                assert_non_null(strstr(f.err.message, "job "));
                assert_int_equal(state_of(&f, id), s);
                assert_memory_equal(before, f.events, sizeof(before));
            }
            fixture_close(&f);
        }
}

static void test_unknown(void **state)
{
    (void) state;
    struct fixture f;
    fixture_open(&f, NULL);
    assert_int_equal(cancel(&f, 99), HOCKET_ENOTFOUND);
    assert_string_equal(f.err.message, "there is no job 99");
    assert_int_equal(hocket__broker_park(f.b, 99, 1, NULL), HOCKET_ENOTFOUND);
    assert_int_equal(hocket__broker_forget(f.b, 0, NULL), HOCKET_ENOTFOUND);
    assert_null(hocket__broker_get(f.b, 0));
    fixture_close(&f);
}

/* After a retry the old worker is shut out, and the new one is not. */
static void test_fence(void **state)
{
    (void) state;
    struct fixture f;
    fixture_open(&f, NULL);
    struct hocket__job_spec s = spec_in(1);
    struct hocket__claim old, new;
    s.max_retries = 1;
    s.backoff_ms = 0;
    uint64_t id = submit(&f, &s);
    assert_true(hocket__broker_next(f.b, f.now, &old));
    assert_int_equal(fail_job(&f, id, 0, false), 0);
    assert_true(hocket__broker_next(f.b, f.now, &new));
    assert_true(new.fence > old.fence);
    assert_int_equal(hocket__broker_complete(
                         f.b, id, old.fence, f.now, HOCKET__STR("1"), HOCKET__STR(""), &f.err),
        HOCKET_ESTATE);
    assert_non_null(strstr(f.err.message, "taken over"));
    assert_int_equal(hocket__broker_park(f.b, id, old.fence, NULL), HOCKET_ESTATE);
    assert_int_equal(hocket__broker_complete(
                         f.b, id, new.fence, f.now, HOCKET__STR("1"), HOCKET__STR(""), &f.err),
        0);
    fixture_close(&f);
}

/* ---- Slots --------------------------------------------------------------------- */

/* Twenty agents, each of which asks the next and waits for it, with one slot. */
static void test_depth_20_under_limit_1(void **state)
{
    (void) state;
    struct hocket__broker_options o = hocket__broker_options_default();
    struct fixture f;
    uint64_t chain[20];
    o.max_running = 1;
    fixture_open(&f, &o);
    chain[0] = submit_plain(&f);
    for (int i = 1; i < 20; i++) {
        assert_int_equal(next(&f), chain[i - 1]);
        struct hocket__job_spec s = spec_below(&f, chain[i - 1]);
        chain[i] = submit(&f, &s);
        assert_int_equal(next(&f), 0); /* the parent has the only slot */
        assert_int_equal(
            hocket__broker_wait(f.b, (uint64_t) i, &chain[i], 1, HOCKET__WAIT_ALL, NULL), 0);
        assert_int_equal(park(&f, chain[i - 1]), 0);
    }
    uint64_t late = submit_plain(&f); /* must not overtake the parents */
    assert_int_equal(next(&f), chain[19]);
    for (int i = 19; i > 0; i--) {
        assert_int_equal(complete(&f, chain[i]), 0);
        assert_int_equal(f.last_wake, i);
        assert_int_equal(unpark(&f, chain[i - 1]), 0);
        assert_int_equal(next(&f), chain[i - 1]);
        assert_int_equal(next(&f), 0);
        assert_int_equal(hocket__broker_counts(f.b, 0).slots, 1);
    }
    assert_int_equal(complete(&f, chain[0]), 0);
    assert_int_equal(next(&f), late);
    fixture_close(&f);
}

static void test_limits(void **state)
{
    (void) state;
    struct fixture f;
    fixture_open(&f, NULL);
    struct hocket__job_spec s = spec_in(1);
    s.provider = HOCKET__STR("openai");
    s.group = HOCKET__STR("plan 1");
    uint64_t first = submit(&f, &s), second = submit(&f, &s);
    static const char *const names[] = { "writer", "openai", "plan 1" };
    for (int kind = 0; kind < HOCKET__LIMIT_KINDS; kind++) {
        struct hocket__str name = hocket__cstr(names[kind]);
        assert_int_equal(hocket__broker_limit(f.b, (enum hocket__limit_kind) kind, name, 0), 0);
        assert_int_equal(next(&f), 0); /* zero means zero */
        assert_int_equal(hocket__broker_limit(f.b, (enum hocket__limit_kind) kind, name, 1), 0);
        assert_int_equal(next(&f), first);
        assert_int_equal(next(&f), 0);
        assert_int_equal(park(&f, first), 0); /* gives the slot to the other */
        assert_int_equal(next(&f), second);
        assert_int_equal(hocket__broker_limit(f.b, (enum hocket__limit_kind) kind, name, -1), 0);
        assert_int_equal(complete(&f, second), 0);
        assert_int_equal(cancel(&f, first), 0);
        first = submit(&f, &s);
        second = submit(&f, &s);
    }
    hocket__broker_limit_all(f.b, 0);
    assert_int_equal(next(&f), 0);
    hocket__broker_limit_all(f.b, 1);
    assert_int_equal(next(&f), first);
    assert_int_equal(next(&f), 0);
    fixture_close(&f);
}

/* What is full holds up nobody else. */
static void test_full_agent_is_passed_over(void **state)
{
    (void) state;
    struct fixture f;
    fixture_open(&f, NULL);
    struct hocket__job_spec s = spec_in(1);
    assert_int_equal(hocket__broker_limit(f.b, HOCKET__LIMIT_AGENT, HOCKET__STR("writer"), 1), 0);
    for (int i = 0; i < 100; i++)
        submit(&f, &s);
    uint64_t first = next(&f);
    s.agent = HOCKET__STR("critic");
    uint64_t critic = submit(&f, &s);
    assert_int_equal(next(&f), critic);
    assert_int_equal(next(&f), 0);
    assert_int_equal(complete(&f, first), 0);
    assert_int_equal(next(&f), first + 1);
    fixture_close(&f);
}

/* What has ended is no part of the limit, however long it is known. */
static void test_max_jobs_counts_what_is_alive(void **state)
{
    (void) state;
    struct fixture f;
    struct hocket__broker_options o = hocket__broker_options_default();
    o.max_jobs = 2;
    fixture_open(&f, &o);
    struct hocket__job_spec specs[2] = { spec_in(1), spec_in(1) };
    uint64_t ids[2];
    for (int i = 0; i < 10; i++) {
        uint64_t id = submit_plain(&f);
        assert_int_equal(next(&f), id);
        assert_int_equal(hocket__broker_submit(f.b, specs, 2, f.now, ids, &f.err), HOCKET_ELIMIT);
        assert_non_null(strstr(f.err.message, "2 jobs"));
        assert_int_equal(complete(&f, id), 0);
    }
    assert_int_equal(hocket__broker_submit(f.b, specs, 2, f.now, ids, &f.err), 0);
    assert_int_equal(hocket__broker_submit(f.b, specs, 1, f.now, ids, &f.err), HOCKET_ELIMIT);
    fixture_close(&f);
}

/* ---- Order ----------------------------------------------------------------------- */

/* A run with 10,000 jobs delays the job of another by one turn. */
static void test_fair_between_runs(void **state)
{
    (void) state;
    struct fixture f;
    fixture_open(&f, NULL);
    struct hocket__job_spec big = spec_in(1), small = spec_in(2), third = spec_in(3);
    uint64_t first = submit(&f, &big);
    for (int i = 1; i < 10000; i++)
        submit(&f, &big);
    uint64_t a = submit(&f, &small), b = submit(&f, &small), c = submit(&f, &third);
    const uint64_t order[] = { first, a, c, first + 1, b, first + 2, first + 3 };
    for (size_t i = 0; i < sizeof(order) / sizeof(order[0]); i++)
        assert_int_equal(next(&f), order[i]);
    fixture_close(&f);
}

static void test_priority(void **state)
{
    (void) state;
    struct fixture f;
    fixture_open(&f, NULL);
    struct hocket__job_spec s = spec_in(1);
    uint64_t normal = submit(&f, &s);
    s.priority = -5;
    uint64_t low = submit(&f, &s);
    s.priority = 100;
    s.run = 2;
    uint64_t high = submit(&f, &s), high_2 = submit(&f, &s);
    const uint64_t order[] = { high, high_2, normal, low, 0 };
    for (size_t i = 0; i < sizeof(order) / sizeof(order[0]); i++)
        assert_int_equal(next(&f), order[i]);
    s.priority = 101;
    assert_int_equal(hocket__broker_submit(f.b, &s, 1, f.now, &normal, &f.err), HOCKET_EINVAL);
    fixture_close(&f);
}

/* A stream of higher priority, of which there is always one more, lets the lower one wait, but not
 * for ever; and a higher one that comes is not kept waiting by the many that were there before. */
static void test_priorities_age(void **state)
{
    (void) state;
    static const int differences[] = { 1, 5, 200 };
    for (size_t i = 0; i < sizeof(differences) / sizeof(differences[0]); i++) {
        struct fixture f;
        fixture_open(&f, NULL);
        struct hocket__job_spec low = spec_in(1), high = spec_in(2);
        low.priority = -HOCKET__PRIORITY_MAX;
        high.priority = low.priority + differences[i];
        uint64_t waits = submit(&f, &low), started = 0, most = 8 * (uint64_t) differences[i];
        for (uint64_t id = 0; id != waits; started++) {
            submit(&f, &high);
            id = next(&f);
            assert_true(started <= most);
            assert_int_equal(complete(&f, id), 0);
        }
        assert_int_equal(started, most + 1);
        fixture_close(&f);
    }
}

static void test_backlog_does_not_hold_up_priority(void **state)
{
    (void) state;
    struct fixture f;
    fixture_open(&f, NULL);
    struct hocket__job_spec low = spec_in(1), high = spec_in(1);
    high.priority = 1;
    for (int i = 0; i < 2000; i++)
        submit(&f, &low);
    for (int i = 0; i < 1000; i++)
        assert_int_equal(complete(&f, next(&f)), 0);
    uint64_t id = submit(&f, &high);
    assert_int_equal(next(&f), id);
    fixture_close(&f);
}

/* What a limit keeps from starting does not grow older for it, nor does it make others wait. */
static void test_what_is_full_does_not_age(void **state)
{
    (void) state;
    struct fixture f;
    fixture_open(&f, NULL);
    struct hocket__job_spec low = spec_in(1), other = spec_in(1), high = spec_in(1);
    low.agent = HOCKET__STR("slow");
    low.group = HOCKET__STR("pages");
    other.priority = 1;
    high.priority = 2;
    assert_int_equal(hocket__broker_limit(f.b, HOCKET__LIMIT_GROUP, HOCKET__STR("pages"), 1), 0);
    uint64_t first = submit(&f, &low), second = submit(&f, &low), others = submit(&f, &other);
    assert_int_equal(next(&f), others);
    assert_int_equal(next(&f), first); /* the group is full now */
    for (int i = 0; i < 100; i++) {
        uint64_t id = submit(&f, &high);
        assert_int_equal(next(&f), id);
        assert_int_equal(complete(&f, id), 0);
    }
    uint64_t id = submit(&f, &high);
    assert_int_equal(complete(&f, first), 0);
    assert_int_equal(next(&f), id);
    assert_int_equal(next(&f), second);
    fixture_close(&f);
}

/* Within a run a parent with a thousand children delays another's by one of them, whatever their
 * agents are, and so does what the run itself submitted. */
static void test_fair_between_parents(void **state)
{
    (void) state;
    struct fixture f;
    fixture_open(&f, NULL);
    uint64_t big = submit_plain(&f), small = submit_plain(&f);
    assert_int_equal(next(&f), big);
    assert_int_equal(next(&f), small);
    struct hocket__job_spec many = spec_below(&f, big), few = spec_below(&f, small),
                            top = spec_in(1);
    few.agent = HOCKET__STR("critic");
    uint64_t first = submit(&f, &many);
    for (int i = 1; i < 1000; i++)
        submit(&f, &many);
    uint64_t a = submit(&f, &few), b = submit(&f, &few), c = submit(&f, &top);
    const uint64_t order[] = { first, a, c, first + 1, b, first + 2, first + 3 };
    for (size_t i = 0; i < sizeof(order) / sizeof(order[0]); i++)
        assert_int_equal(next(&f), order[i]);
    uint64_t late = submit(&f, &few); /* of one who had none for a while: no credit, no debt */
    assert_int_equal(next(&f), first + 4);
    assert_int_equal(next(&f), late);
    fixture_close(&f);
}

/* ---- Time ------------------------------------------------------------------------- */

static void test_backoff(void **state)
{
    (void) state;
    static const int64_t most[] = { 100, 200, 400, 500, 500 };
    struct fixture f;
    fixture_open(&f, NULL);
    struct hocket__job_spec s = spec_in(1);
    s.max_retries = 5;
    s.backoff_ms = 100;
    s.backoff_max_ms = 500;
    uint64_t id = submit(&f, &s);
    for (size_t i = 0; i < 5; i++) {
        assert_int_equal(next(&f), id);
        assert_int_equal(fail_job(&f, id, (uint64_t) most[i], false), 0); /* the longest jitter */
        assert_string_equal(f.last_payload, "overloaded");
        assert_string_equal(f.last_usage, "{\"calls\":2}");
        assert_int_equal(hocket__broker_get(f.b, id)->usage.n, 0); /* told, so gone */
        assert_int_equal(hocket__broker_next_wakeup(f.b), f.now + most[i]);
        assert_int_equal(next(&f), 0);
        f.now += most[i];
        assert_int_equal(hocket__broker_expire(f.b, f.now), 1);
    }
    assert_int_equal(next(&f), id);
    assert_int_equal(hocket__broker_get(f.b, id)->attempt, 6);
    assert_int_equal(fail_job(&f, id, 0, false), 0);
    assert_int_equal(state_of(&f, id), HOCKET__JOB_FAILED);
    assert_int_equal(f.events[HOCKET__EVENT_FAILED], 1);
    assert_int_equal(f.events[HOCKET__EVENT_RUNNING], 6);
    assert_int_equal(hocket__broker_next_wakeup(f.b), HOCKET__NEVER);
    fixture_close(&f);
}

static void test_no_retry(void **state)
{
    (void) state;
    struct fixture f;
    fixture_open(&f, NULL);
    struct hocket__job_spec s = spec_in(1);
    s.max_retries = 5;
    uint64_t id = submit(&f, &s);
    next(&f);
    assert_int_equal(fail_job(&f, id, 0, true), 0);
    assert_int_equal(state_of(&f, id), HOCKET__JOB_FAILED);
    assert_int_equal(hocket__broker_get(f.b, id)->status, HOCKET_EPROVIDER);
    fixture_close(&f);
}

/* A deadline ends a job in every state, and its usage is not told twice. */
static void test_deadline(void **state)
{
    (void) state;
    struct fixture f;
    fixture_open(&f, NULL);
    struct hocket__job_spec s = spec_in(1);
    s.deadline_ms = f.now + 50;
    s.max_retries = 3;
    s.backoff_ms = s.backoff_max_ms = 1000;
    uint64_t delayed = submit(&f, &s), parked = submit(&f, &s), running = submit(&f, &s);
    for (int i = 0; i < 3; i++)
        next(&f);
    uint64_t queued = submit(&f, &s);
    assert_int_equal(fail_job(&f, delayed, 1000, false), 0);
    assert_int_equal(park(&f, parked), 0);
    assert_int_equal(hocket__broker_next_wakeup(f.b), f.now + 50);
    f.now += 50;
    assert_int_equal(hocket__broker_expire(f.b, f.now), 4);
    const uint64_t all[] = { delayed, parked, running, queued };
    for (int i = 0; i < 4; i++) {
        assert_int_equal(state_of(&f, all[i]), HOCKET__JOB_FAILED);
        assert_int_equal(hocket__broker_get(f.b, all[i])->status, HOCKET_ETIMEOUT);
        assert_int_equal(hocket__broker_get(f.b, all[i])->usage.n, 0);
    }
    assert_int_equal(hocket__broker_counts(f.b, 1).slots, 0);
    fixture_close(&f);
}

/* What a submitter gave with a job comes back, and once more when the job is forgotten. */
static void test_submitters_own(void **state)
{
    struct fixture f;
    int one, two;
    fixture_open(&f, NULL);
    struct hocket__job_spec s = spec_in(1);
    s.ud = &one;
    uint64_t id = submit(&f, &s);
    s.ud = &two;
    s.name = HOCKET__STR("again");
    struct hocket__job_spec twice[2] = { s, s };
    uint64_t ids[2];
    assert_int_equal(hocket__broker_submit(f.b, twice, 2, f.now, ids, &f.err), HOCKET_EEXIST);
    assert_int_equal(f.drops, 0);
    assert_ptr_equal(hocket__broker_get(f.b, id)->ud, &one);
    assert_int_equal(next(&f), id);
    assert_int_equal(complete(&f, id), 0);
    assert_int_equal(f.drops, 0);
    assert_int_equal(hocket__broker_forget(f.b, id, &f.err), 0);
    assert_int_equal(f.drops, 1);
    assert_ptr_equal(f.last_dropped, &one);
    fixture_close(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_table),
        cmocka_unit_test(test_words),
        cmocka_unit_test(test_calls),
        cmocka_unit_test(test_unknown),
        cmocka_unit_test(test_fence),
        cmocka_unit_test(test_depth_20_under_limit_1),
        cmocka_unit_test(test_limits),
        cmocka_unit_test(test_full_agent_is_passed_over),
        cmocka_unit_test(test_fair_between_runs),
        cmocka_unit_test(test_priority),
        cmocka_unit_test(test_priorities_age),
        cmocka_unit_test(test_backlog_does_not_hold_up_priority),
        cmocka_unit_test(test_what_is_full_does_not_age),
        cmocka_unit_test(test_fair_between_parents),
        cmocka_unit_test(test_max_jobs_counts_what_is_alive),
        cmocka_unit_test(test_backoff),
        cmocka_unit_test(test_no_retry),
        cmocka_unit_test(test_deadline),
        cmocka_unit_test(test_submitters_own),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

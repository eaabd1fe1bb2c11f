/* What every store has to do for workers: runs that wait in pools, are taken, given back, and spoken to. */
#include "store/columns.h"
#include "store/conformance.h"
#include "store/export.h"
#include "store/store_impl.h"

#include <stdlib.h>
#ifndef _WIN32
#include <sys/wait.h>
#endif
#include <unistd.h>

static const struct store_kind *the_kind;

#define STR(s) hocket__cstr(s)
#define NOW    1700000000000

static int setup(void **state)
{
    return fixture_new(state, the_kind, NOW);
}

/* ---- Words ------------------------------------------------------------------------------------ */

static struct hocket__store_run job(const char *id, const char *pool, int64_t due_ms)
{
    struct hocket__store_run r = fixture_run(id);
    r.state = HOCKET__STORE_QUEUED;
    r.pool = STR(pool);
    r.due_ms = due_ms;
    return r;
}

/* As one is handed in: nobody has it when the turn is over. */
static void submit_run(struct fixture *f, const struct hocket__store_run *r)
{
    struct hocket__store_claim claim;
    assert_int_equal(hocket__store_put(f->s, r, &claim), 0);
    assert_int_equal(hocket__store_release(f->s, &claim), 0);
    assert_int_equal(fixture_commit(f, &claim, HOCKET__STORE_SYNCED), 0);
}

static void submit(struct fixture *f, const char *id, const char *pool, int64_t due_ms)
{
    struct hocket__store_run r = job(id, pool, due_ms);
    submit_run(f, &r);
}

/* How many were taken; they are the rows of the answer. */
static size_t take(struct fixture *f, const char *pools, size_t most)
{
    struct hocket__store_reply r = fixture_reply(f);
    assert_int_equal(
        fixture_answer(f, hocket__store_take_next(f->s, STR(pools), most, &r, NULL)), 0);
    return f->count;
}

static struct hocket__store_claim claim_of(const struct fixture *f, size_t i)
{
    struct hocket__store_run run = fixture_row(f, i).run;
    struct hocket__store_claim claim = { .fence = run.fence };
    memcpy(claim.id, run.id, sizeof(claim.id));
    return claim;
}

static void assert_taken(const struct fixture *f, size_t i, const char *id)
{
    struct hocket__store_run run = fixture_row(f, i).run;
    assert_string_equal(run.id, id);
    assert_int_equal(run.state, HOCKET__STORE_RUNNING);
    assert_int_equal(run.owner.pid, getpid());
}

/* The id of what was taken, or "". */
static const char *next(struct fixture *f, const char *pools, struct hocket__store_claim *claim)
{
    memset(claim, 0, sizeof(*claim));
    if (take(f, pools, 1) == 1)
        *claim = claim_of(f, 0);
    return claim->id;
}

static enum hocket__store_state state_of(struct fixture *f, const char *id)
{
    struct hocket__store_reply r = fixture_reply(f);
    assert_int_equal(fixture_answer(f, hocket__store_find(f->s, STR(id), &r, NULL)), 0);
    return fixture_row(f, 0).run.state;
}

static void give_back(struct fixture *f, const struct hocket__store_claim *claim,
    enum hocket__store_state state, const char *pool, int64_t due_ms)
{
    struct hocket__store_run run = { .state = state, .pool = STR(pool), .due_ms = due_ms };
    unsigned set = HOCKET__STORE_SET_STATE | HOCKET__STORE_SET_QUEUE;
    assert_int_equal(hocket__store_update(f->s, claim, set, &run), 0);
    assert_int_equal(hocket__store_release(f->s, claim), 0);
    assert_int_equal(fixture_commit(f, claim, HOCKET__STORE_WRITTEN), 0);
}

static int say(struct fixture *f, const char *run, const char *id)
{
    struct hocket__store_reply r = fixture_reply(f);
    struct hocket__store_message m = { STR(id), 17, STR("{}") };
    return fixture_answer(f, hocket__store_message(f->s, STR(run), &m, &r, NULL));
}

static size_t spoken(struct fixture *f)
{
    struct hocket__store_reply r = fixture_reply(f);
    assert_int_equal(fixture_answer(f, hocket__store_spoken(f->s, &r, NULL)), 0);
    return f->count;
}

/* ---- Cases -------------------------------------------------------------------------------------- */

static void a_job_comes_back_as_it_was_put(void **state)
{
    struct fixture *f = *state;
    struct hocket__store_claim claim;
    struct hocket__store_run r = job(RUN_2, "gpu", 5);
    memcpy(r.caller, RUN_1, sizeof(r.caller));
    r.project = STR("travel \xff");
    submit_run(f, &r);
    assert_int_equal(state_of(f, RUN_2), HOCKET__STORE_QUEUED);
    struct hocket__store_run got = fixture_row(f, 0).run;
    fixture_assert_str(got.pool, "gpu");
    assert_int_equal(got.due_ms, 5);
    assert_string_equal(got.caller, RUN_1);
    fixture_assert_str(got.project, "travel \xff");
    assert_int_equal(got.owner.pid, 0);
    assert_string_equal(next(f, "gpu", &claim), RUN_2);
    got = fixture_row(f, 0).run;
    assert_int_equal(got.state, HOCKET__STORE_RUNNING);
    assert_int_equal(got.fence, 2);
    assert_int_equal(got.due_ms, 0);
    assert_int_equal(got.owner.pid, getpid());
    assert_int_equal(got.owner.since_ms, NOW);
    fixture_assert_str(got.input, "Lisbon, three days");
    assert_memory_equal(got.seed, r.seed, sizeof(r.seed));
    fixture_assert_str(got.project, "travel \xff");
    fixture_append(f, &claim, 1);
    assert_int_equal(fixture_commit(f, &claim, HOCKET__STORE_WRITTEN), 0);
    assert_string_equal(next(f, "gpu", &claim), "");
}

static void the_first_that_is_due_is_taken(void **state)
{
    struct fixture *f = *state;
    struct hocket__store_claim claim;
    submit(f, RUN_1, "default", NOW + 10);
    submit(f, RUN_3, "default", 0);
    submit(f, RUN_2, "default", 0);
    submit(f, "01KAPC3V0QZJ9E4W2X6T8B5M71", "other", 0);
    fixture_put(f, "01KAPC3V0QZJ9E4W2X6T8B5M72"); /* of no pool */
    assert_string_equal(next(f, "default", &claim), RUN_2);
    assert_string_equal(next(f, ",default,none", &claim), RUN_3);
    assert_string_equal(next(f, "default", &claim), "");
    assert_string_equal(next(f, "none,other,default", &claim), "01KAPC3V0QZJ9E4W2X6T8B5M71");
    f->now = NOW + 9;
    assert_string_equal(next(f, "default", &claim), "");
    f->now = NOW + 10;
    assert_string_equal(next(f, "default", &claim), RUN_1);
}

/* Else what was lost would wait for a queue that is never empty. */
static void what_had_a_time_comes_before_what_is_queued(void **state)
{
    struct fixture *f = *state;
    struct hocket__store_claim claim;
    submit(f, RUN_1, "default", 0);
    submit(f, RUN_3, "default", NOW + 1);
    submit(f, RUN_2, "default", NOW);
    f->now = NOW + 1;
    assert_string_equal(next(f, "default", &claim), RUN_2);
    assert_string_equal(next(f, "other,default", &claim), RUN_3);
    assert_string_equal(next(f, "default", &claim), RUN_1);
    assert_string_equal(next(f, "default", &claim), "");
}

static void several_are_taken_at_once(void **state)
{
    struct fixture *f = *state;
    struct hocket__store_claim claims[4], c;
    submit(f, RUN_4, "default", NOW + 2);
    submit(f, RUN_2, "default", 0);
    submit(f, RUN_1, "default", NOW + 1);
    submit(f, RUN_3, "default", 0);
    submit(f, "01KAQC3V0QZJ9E4W2X6T8B5M71", "other", 0);
    f->now = NOW + 5;
    assert_int_equal(take(f, "default", 3), 3);
    for (size_t i = 0; i < 3; i++) {
        assert_taken(f, i, (const char *[]){ RUN_1, RUN_4, RUN_2 }[i]);
        claims[i] = claim_of(f, i);
    }
    assert_int_equal(take(f, "default", 9), 1);
    assert_taken(f, 0, RUN_3);
    claims[3] = claim_of(f, 0);
    assert_int_equal(take(f, "default", 9), 0);
    for (size_t i = 0; i < 4; i++) {
        fixture_append(f, &claims[i], 1);
        give_back(f, &claims[i], HOCKET__STORE_DONE, "default", 0);
    }
    assert_string_equal(next(f, "default", &c), "");
    assert_string_equal(next(f, "other", &c), "01KAQC3V0QZJ9E4W2X6T8B5M71");
    assert_int_equal(f->news[HOCKET__STORE_REFUSED], 0);
}

static void several_are_taken_of_several_pools(void **state)
{
    struct fixture *f = *state;
    submit(f, RUN_1, "a", 0);
    submit(f, RUN_2, "b", 0);
    submit(f, RUN_3, "a", 0);
    submit(f, RUN_4, "b", NOW);
    assert_int_equal(take(f, "b,none,a", 3), 3);
    assert_taken(f, 0, RUN_4);
    assert_taken(f, 1, RUN_1);
    assert_taken(f, 2, RUN_2);
    assert_int_equal(take(f, "b,none,a", 3), 1);
    assert_taken(f, 0, RUN_3);
}

static void no_more_are_taken_than_there_may_be(void **state)
{
    struct fixture *f = *state;
    struct hocket__store_reply r = fixture_reply(f);
    char id[HOCKET__STORE_ID + 1];
    for (unsigned i = 0; i < HOCKET__STORE_TAKES + 3; i++) {
        snprintf(id, sizeof(id), "01KANC3V0QZJ9E4W2X6T%06u", i % 1000000u);
        submit(f, id, "default", 0);
    }
    assert_int_equal(hocket__store_take_next(f->s, STR("default"), 0, &r, NULL), HOCKET_EINVAL);
    assert_int_equal(take(f, "default", SIZE_MAX), HOCKET__STORE_TAKES);
    assert_int_equal(take(f, "default", SIZE_MAX), 3);
    assert_taken(f, 2, id);
}

/* What is beside it would be lost with it again. */
static void what_was_lost_is_taken_alone(void **state)
{
    struct fixture *f = *state;
    static const char *const ids[] = { RUN_1, RUN_2, RUN_3, RUN_4 };
    for (size_t i = 0; i < 4; i++)
        submit(f, ids[i], "default", 0);
    assert_int_equal(take(f, "default", 3), 3);
    struct hocket__store_claim one = claim_of(f, 0), two = claim_of(f, 1), three = claim_of(f, 2);
    give_back(f, &one, HOCKET__STORE_QUEUED, "default", 0);
    assert_int_equal(hocket__store_release(f->s, &two), 0);
    assert_int_equal(hocket__store_release(f->s, &three), 0);
    for (size_t i = 0; i < 4; i++) {
        assert_int_equal(take(f, "default", 9), 1);
        assert_taken(f, 0, ids[i]);
        assert_int_equal(fixture_row(f, 0).run.attempts, i == 1 || i == 2);
    }
    assert_int_equal(take(f, "default", 9), 0);
}

static void pools_have_names(void **state)
{
    struct fixture *f = *state;
    struct hocket__store_claim claim;
    struct hocket__store_reply r = fixture_reply(f);
    struct hocket__store_run bad = job(RUN_1, "a,b", 0);
    assert_int_equal(hocket__store_put(f->s, &bad, &claim), HOCKET_EINVAL);
    assert_int_equal(hocket__store_take_next(f->s, STR(""), 1, &r, NULL), HOCKET_EINVAL);
    assert_int_equal(hocket__store_take_next(f->s, STR(",,"), 1, &r, NULL), HOCKET_EINVAL);
    bad = job(RUN_1, "a", 0);
    memcpy(bad.caller, "nobody", 7);
    assert_int_equal(hocket__store_put(f->s, &bad, &claim), HOCKET_EINVAL);
    submit(f, RUN_1, "a'b \"c\" %", 0); /* but otherwise whatever they like */
    assert_string_equal(next(f, "a'b \"c\" %", &claim), RUN_1);
}

static void what_is_given_back_is_taken_again(void **state)
{
    struct fixture *f = *state;
    struct hocket__store_claim one, two;
    submit(f, RUN_1, "default", 0);
    assert_string_equal(next(f, "default", &one), RUN_1);
    give_back(f, &one, HOCKET__STORE_QUEUED, "default", NOW + 5);
    assert_string_equal(next(f, "default", &two), "");
    f->now = NOW + 5;
    assert_string_equal(next(f, "default", &two), RUN_1);
    assert_int_equal(two.fence, one.fence + 1);
    assert_int_equal(fixture_row(f, 0).run.attempts, 0);
    give_back(f, &two, HOCKET__STORE_DONE, "default", 0);
    assert_string_equal(next(f, "default", &two), "");
    fixture_append(f, &one, 1); /* late */
    assert_int_equal(fixture_commit(f, &one, HOCKET__STORE_WRITTEN), HOCKET_ESTATE);
}

/* One that was let go of without a word is lost work: so it is seen when it comes again and again. */
static void attempts_are_counted_at_one_place(void **state)
{
    struct fixture *f = *state;
    struct hocket__store_claim c;
    uint32_t expected[] = { 0, 1, 2, 1, 2, 0 };
    submit(f, RUN_1, "default", 0);
    for (size_t i = 0; i < 6; i++) {
        assert_string_equal(next(f, "default", &c), RUN_1);
        assert_int_equal(fixture_row(f, 0).run.attempts, expected[i]);
        if (i == 1) /* as each life does */
            fixture_entries(f, &c, 1, 2);
        if (i == 2)
            fixture_entries(f, &c, 3, 3);
        if (i == 4)
            give_back(f, &c, HOCKET__STORE_QUEUED, "default", 0);
        else
            assert_int_equal(hocket__store_release(f->s, &c), 0);
    }
}

static void one_that_waits_for_a_time_is_taken_then(void **state)
{
    struct fixture *f = *state;
    struct hocket__store_claim c;
    submit(f, RUN_1, "default", 0);
    submit(f, RUN_2, "default", 0);
    assert_string_equal(next(f, "default", &c), RUN_1);
    give_back(f, &c, HOCKET__STORE_WAITING, "default", NOW + 100);
    assert_string_equal(next(f, "default", &c), RUN_2);
    give_back(f, &c, HOCKET__STORE_WAITING, "default", 0); /* for a signal */
    f->now = NOW + 99;
    assert_string_equal(next(f, "default", &c), "");
    f->now = NOW + 100;
    assert_string_equal(next(f, "default", &c), RUN_1);
    assert_string_equal(next(f, "default", &c), "");
    assert_int_equal(state_of(f, RUN_2), HOCKET__STORE_WAITING);
}

static void a_message_queues_one_that_waits(void **state)
{
    struct fixture *f = *state;
    struct hocket__store_claim c;
    submit(f, RUN_1, "default", 0);
    assert_string_equal(next(f, "default", &c), RUN_1);
    give_back(f, &c, HOCKET__STORE_PARKED, "default", NOW + 100000);
    assert_string_equal(next(f, "default", &c), "");
    assert_int_equal(say(f, RUN_1, "q1"), 0);
    assert_int_equal(state_of(f, RUN_1), HOCKET__STORE_QUEUED);
    assert_string_equal(next(f, "default", &c), RUN_1);
    assert_int_equal(spoken(f), 1);
    assert_string_equal(fixture_row(f, 0).run.id, RUN_1);
    assert_int_equal(fixture_row(f, 0).run.fence, c.fence);
    hocket__store_message_del(f->s, &c, STR("q1"));
    assert_int_equal(spoken(f), 0);
    give_back(f, &c, HOCKET__STORE_PARKED, "default", 0);
    assert_int_equal(say(f, RUN_1, "q1"), HOCKET_EEXIST); /* which wakes nobody */
    assert_int_equal(state_of(f, RUN_1), HOCKET__STORE_PARKED);
}

/* It came after the last look, and before the run was let go of. */
static void a_message_for_one_that_is_had_is_not_lost(void **state)
{
    struct fixture *f = *state;
    struct hocket__store_claim c;
    submit(f, RUN_1, "default", 0);
    assert_string_equal(next(f, "default", &c), RUN_1);
    assert_int_equal(say(f, RUN_1, "q1"), 0);
    assert_int_equal(state_of(f, RUN_1), HOCKET__STORE_RUNNING);
    give_back(f, &c, HOCKET__STORE_WAITING, "default", NOW + 100000);
    assert_int_equal(state_of(f, RUN_1), HOCKET__STORE_QUEUED);
    assert_string_equal(next(f, "default", &c), RUN_1);
    give_back(f, &c, HOCKET__STORE_WAITING, "default", 0); /* it does not want it: once is enough */
    assert_int_equal(state_of(f, RUN_1), HOCKET__STORE_WAITING);
    assert_string_equal(next(f, "default", &c), "");
}

/* The same, by who has it. */
static void what_is_said_to_ones_own_run_is_not_lost(void **state)
{
    struct fixture *f = *state;
    struct hocket__store_claim c;
    struct hocket__store_message m = { STR("here 1"), 17, STR("{}") };
    submit(f, RUN_1, "default", 0);
    assert_string_equal(next(f, "default", &c), RUN_1);
    for (int i = 0; i < 2; i++)
        assert_int_equal(hocket__store_message_put(f->s, &c, &m), 0);
    assert_int_equal(spoken(f), 1);
    struct hocket__store_reply reply = fixture_reply(f);
    assert_int_equal(fixture_answer(f, hocket__store_messages(f->s, STR(RUN_1), &reply, NULL)), 0);
    assert_int_equal(f->count, 1);
    fixture_assert_str(fixture_row(f, 0).message.id, "here 1");
    give_back(f, &c, HOCKET__STORE_WAITING, "default", NOW + 100000);
    assert_int_equal(state_of(f, RUN_1), HOCKET__STORE_QUEUED);
    assert_string_equal(next(f, "default", &c), RUN_1);
    hocket__store_message_del(f->s, &c, STR("here 1"));
    assert_int_equal(hocket__store_message_put(f->s, &c, &m), 0); /* it was taken */
    give_back(f, &c, HOCKET__STORE_WAITING, "default", 0);
    assert_int_equal(state_of(f, RUN_1), HOCKET__STORE_WAITING);
}

static void runs_of_nobodys_pool_stay_as_they_are(void **state)
{
    struct fixture *f = *state;
    struct hocket__store_claim c = fixture_put(f, RUN_1), other;
    assert_int_equal(say(f, RUN_1, "q1"), 0);
    give_back(f, &c, HOCKET__STORE_PARKED, "", 0);
    assert_int_equal(say(f, RUN_1, "q2"), 0);
    assert_int_equal(state_of(f, RUN_1), HOCKET__STORE_PARKED);
    assert_string_equal(next(f, "default", &other), "");
    c = fixture_put(f, RUN_2);
    give_back(f, &c, HOCKET__STORE_QUEUED, "default", 0); /* which may change */
    assert_string_equal(next(f, "default", &other), RUN_2);
}

static void a_caller_gets_the_end(void **state)
{
    struct fixture *f = *state;
    struct hocket__store_claim caller, c;
    submit(f, RUN_1, "default", 0);
    assert_string_equal(next(f, "default", &caller), RUN_1);
    give_back(f, &caller, HOCKET__STORE_WAITING, "default", 0);
    struct hocket__store_run r = job(RUN_2, "gpu", 0);
    memcpy(r.caller, RUN_1, sizeof(r.caller));
    submit_run(f, &r);
    memcpy(r.id, RUN_3, sizeof(r.id));
    memcpy(r.caller, "01KANC3V0QZJ9E4W2X6T8B5M70", sizeof(r.caller)); /* of one that is not there */
    submit_run(f, &r);
    assert_string_equal(next(f, "gpu", &c), RUN_2);
    give_back(f, &c, HOCKET__STORE_FAILED, "gpu", 0);
    assert_int_equal(state_of(f, RUN_1), HOCKET__STORE_QUEUED);
    struct hocket__store_reply reply = fixture_reply(f);
    assert_int_equal(fixture_answer(f, hocket__store_messages(f->s, STR(RUN_1), &reply, NULL)), 0);
    assert_int_equal(f->count, 1);
    fixture_assert_str(fixture_row(f, 0).message.id, "ended " RUN_2);
    fixture_assert_str(fixture_row(f, 0).message.json,
        "{\"wish\":\"signal\",\"name\":\"run " RUN_2 "\",\"value\":{\"ended\":\"failed\"}}");
    assert_string_equal(next(f, "gpu", &c), RUN_3);
    give_back(f, &c, HOCKET__STORE_DONE, "gpu", 0);
}

static int remove_run(struct fixture *f, const char *id)
{
    struct hocket__store_reply r = fixture_reply(f);
    return fixture_answer(f, hocket__store_remove(f->s, STR(id), &r, NULL));
}

/* Neither a run whose caller has not ended nor, while it has not, one that has called another such one. */
static void runs_that_belong_together_stay(void **state)
{
    struct fixture *f = *state;
    struct hocket__store_claim c;
    submit(f, RUN_1, "default", 0);
    struct hocket__store_run r = job(RUN_2, "gpu", 0);
    memcpy(r.caller, RUN_1, sizeof(r.caller));
    submit_run(f, &r);
    assert_int_equal(remove_run(f, RUN_2), HOCKET_ESTATE);
    assert_non_null(strstr(f->error.message, "run " RUN_2 " was called by run " RUN_1));
    assert_int_equal(remove_run(f, RUN_1), HOCKET_ESTATE);
    assert_non_null(strstr(f->error.message, "run " RUN_1 " has called run " RUN_2));
    assert_string_equal(next(f, "gpu", &c), RUN_2);
    give_back(f, &c, HOCKET__STORE_DONE, "gpu", 0);
    assert_int_equal(remove_run(f, RUN_2), HOCKET_ESTATE); /* its result is not read yet, perhaps */
    assert_int_equal(state_of(f, RUN_2), HOCKET__STORE_DONE);
    assert_int_equal(remove_run(f, RUN_1), 0);
    assert_int_equal(remove_run(f, RUN_2), 0);
    submit(f, RUN_1, "default", 0);
    submit_run(f, &r);
    assert_string_equal(next(f, "default", &c), RUN_1);
    give_back(f, &c, HOCKET__STORE_DONE, "default", 0);
    assert_int_equal(remove_run(f, RUN_1), 0); /* what it has called goes on by itself */
    assert_int_equal(state_of(f, RUN_2), HOCKET__STORE_QUEUED);
    assert_int_equal(remove_run(f, RUN_2), 0);
}

static void runs_are_listed_by_their_queue(void **state)
{
    struct fixture *f = *state;
    struct hocket__store_run r = job(RUN_1, "gpu", 0);
    submit_run(f, &r);
    r = job(RUN_2, "default", 0);
    memcpy(r.caller, RUN_1, sizeof(r.caller));
    r.project = STR("p");
    submit_run(f, &r);
    submit(f, RUN_3, "default", 0);
    const struct {
        struct hocket__store_filter filter;
        size_t count;
    } cases[] = { { { .pool = STR("default") }, 2 }, { { .caller = STR(RUN_1) }, 1 },
        { { .project = STR("p") }, 1 }, { { .project = STR("p"), .pool = STR("gpu") }, 0 },
        { { .states = 1u << HOCKET__STORE_QUEUED }, 3 } };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct hocket__store_reply reply = fixture_reply(f);
        assert_int_equal(
            fixture_answer(f, hocket__store_runs(f->s, &cases[i].filter, &reply, NULL)), 0);
        assert_int_equal(f->count, cases[i].count);
    }
    struct hocket__store_reply reply = fixture_reply(f);
    struct hocket__store_filter bad = { .caller = STR("x") };
    assert_int_equal(hocket__store_runs(f->s, &bad, &reply, NULL), HOCKET_EINVAL);
}

/* Nobody hears that it was taken: so it is not. */
static void a_cancelled_call_takes_nothing(void **state)
{
    struct fixture *f = *state;
    struct hocket__store_claim c;
    struct hocket__store_call *call;
    struct hocket__store_reply r = { 0 };
    submit(f, RUN_1, "default", 0);
    assert_int_equal(hocket__store_take_next(f->s, STR("default"), 1, &r, &call), 0);
    hocket__store_cancel(f->s, call);
    for (int i = 0; i < 100 && state_of(f, RUN_1) == HOCKET__STORE_RUNNING; i++)
        if (fixture_row(f, 0).run.owner.pid == 0)
            break;
    assert_string_equal(next(f, "default", &c), RUN_1);
    assert_int_equal(fixture_row(f, 0).run.attempts, 0); /* no worker was lost with it */
    fixture_append(f, &c, 1);
    assert_int_equal(fixture_commit(f, &c, HOCKET__STORE_WRITTEN), 0);
}

/* Who cannot take it in has not taken it. */
static void a_reader_that_fails_takes_nothing(void **state)
{
    struct fixture *f = *state;
    struct hocket__store_claim c;
    submit(f, RUN_1, "default", 0);
    for (int i = 0; i < 2; i++) {
        struct hocket__store_reply r = fixture_reply(f);
        f->stop_after = 1;
        assert_int_equal(
            fixture_answer(f, i ? hocket__store_take(f->s, STR(RUN_1), &r, NULL)
                                : hocket__store_take_next(f->s, STR("default"), 1, &r, NULL)),
            HOCKET_ECANCELLED);
        f->stop_after = 0;
        assert_string_equal(next(f, "default", &c), RUN_1);
        assert_int_equal(fixture_row(f, 0).run.attempts, 0);
        give_back(f, &c, HOCKET__STORE_QUEUED, "default", 0);
    }
    assert_int_equal(f->news[HOCKET__STORE_REFUSED], 0);
}

/* The same of several, whichever of them it is. */
static void a_reader_that_fails_takes_none_of_several(void **state)
{
    struct fixture *f = *state;
    submit(f, RUN_1, "default", 0);
    submit(f, RUN_2, "default", 0);
    submit(f, RUN_3, "default", 0);
    for (size_t i = 1; i <= 3; i++) {
        struct hocket__store_reply r = fixture_reply(f);
        f->stop_after = i;
        assert_int_equal(
            fixture_answer(f, hocket__store_take_next(f->s, STR("default"), 3, &r, NULL)),
            HOCKET_ECANCELLED);
        f->stop_after = 0;
    }
    assert_int_equal(take(f, "default", 9), 3);
    for (size_t i = 0; i < 3; i++)
        assert_int_equal(fixture_row(f, i).run.attempts, 0);
    assert_int_equal(f->news[HOCKET__STORE_REFUSED], 0);
}

struct early {
    struct fixture *f;
    struct hocket__store_call *call;
    struct hocket__store_claim claim;
    size_t heard;
    int rc;
};

static int on_early(void *ud, const struct hocket__store_row *row)
{
    struct early *e = ud;
    e->heard++;
    memcpy(e->claim.id, row->run.id, sizeof(e->claim.id));
    e->claim.fence = row->run.fence;
    if (e->rc == 0)
        hocket__store_cancel(e->f->s, e->call);
    return e->rc;
}

/* By one that is cancelled in between, or has enough. */
static void gives_back_runs_unseen_by_their_reader(void **state)
{
    struct fixture *f = *state;
    submit(f, RUN_1, "default", 0);
    submit(f, RUN_2, "default", 0);
    submit(f, RUN_3, "default", 0);
    for (int i = 0; i < 2; i++) {
        struct early e = { .f = f, .rc = i };
        struct hocket__store_reply r = { .row = on_early, .ud = &e };
        assert_int_equal(hocket__store_take_next(f->s, STR("default"), 9, &r, &e.call), 0);
        while (e.heard == 0)
            state_of(f, RUN_1);
        assert_string_equal(e.claim.id, RUN_1);
        assert_int_equal(take(f, "default", 9), 2);
        struct hocket__store_claim two = claim_of(f, 0), three = claim_of(f, 1);
        assert_string_equal(two.id, RUN_2);
        assert_int_equal(fixture_row(f, 0).run.attempts, 0);
        fixture_append(f, &e.claim, (uint64_t) i + 1); /* it has it */
        give_back(f, &e.claim, HOCKET__STORE_QUEUED, "default", 0);
        give_back(f, &two, HOCKET__STORE_QUEUED, "default", 0);
        give_back(f, &three, HOCKET__STORE_QUEUED, "default", 0);
        assert_int_equal(e.heard, 1);
    }
    assert_int_equal(f->news[HOCKET__STORE_REFUSED], 0);
}

struct export
{
    struct hocket__buf bytes;
    bool done;
};

static int on_piece(void *ud, struct hocket__str piece)
{
    return hocket__buf_addstr(&((struct export *) ud)->bytes, piece);
}

static void on_exported(void *ud, int status, const struct hocket_error *err)
{
    (void) err;
    assert_int_equal(status, 0);
    ((struct export *) ud)->done = true;
}

/* Workers would do it a second time. */
static void a_copy_is_nobodys_job(void **state)
{
    struct fixture *f = *state;
    struct hocket__store_claim c;
    struct export x = { .done = false };
    struct hocket__store_sink sink = { .write = on_piece, .done = on_exported, .ud = &x };
    struct hocket_error err;
    submit(f, RUN_1, "default", 7);
    hocket__buf_init(&x.bytes, &hocket__malloc, 0);
    assert_int_equal(hocket__store_export(f->s, STR(RUN_1), &sink), 0);
    fixture_until(f, &x.done);
    int rc = hocket__store_import(f->s, hocket__buf_str(&x.bytes), RUN_2, &c, &err);
    assert_int_equal(rc, 0);
    hocket__store_release(f->s, &c);
    assert_int_equal(state_of(f, RUN_2), HOCKET__STORE_RUNNING);
    assert_int_equal(fixture_row(f, 0).run.pool.n, 0);
    assert_int_equal(fixture_row(f, 0).run.due_ms, 0);
    assert_string_equal(next(f, "default", &c), RUN_1);
    assert_string_equal(next(f, "default", &c), "");
    hocket__buf_deinit(&x.bytes);
}

/* Fields of rows that came with workers (2) or later; one byte each where nothing is said. */
#define LATER(KIND, member, column, since) +((since) > 1)
enum { LATER_FIELDS = 0 HOCKET__RUN_COLUMNS(HOCKET__RUN_MEMBER, LATER) };

/* What was exported before there were workers ends before their fields. */
static void rows_of_before_are_read(void **state)
{
    (void) state;
    struct hocket__store_row row = { .kind = HOCKET__STORE_ROW_RUN }, got;
    struct hocket__buf b;
    row.run = job(RUN_1, "", 0);
    row.run.owner.lease_ms = 77;
    hocket__buf_init(&b, &hocket__malloc, 0);
    assert_int_equal(hocket__store_pack(&b, &row), 0);
    b.data[1] = (char) (b.data[1] - LATER_FIELDS);
    struct hocket__str in = hocket__str(b.data, b.len - LATER_FIELDS);
    assert_int_equal(hocket__store_unpack(&in, &got), 1);
    assert_int_equal(got.run.owner.lease_ms, 77);
    assert_int_equal(got.run.pool.n, 0);
    b.data[1] = (char) (b.data[1] + 2); /* and some of them alone are none */
    in = hocket__str(b.data, b.len - LATER_FIELDS + 2);
    assert_int_equal(hocket__store_unpack(&in, &got), HOCKET_EPARSE);
    hocket__buf_deinit(&b);
}

/* Who hands a run in, or speaks to one, may be who works at it. */
static void watchers_learn_of_queued_runs(void **state)
{
    struct fixture *f = *state;
    hocket__store_watch(f->s, true);
    submit(f, RUN_1, "default", 0);
    while (f->news[HOCKET__STORE_CHANGED] == 0)
        assert_int_equal(fixture_commit(f, NULL, HOCKET__STORE_WRITTEN), 0);
    hocket__store_watch(f->s, false);
}

/* Of a pool of its own: what failed half-way is there still, where the store lasts. */
static int put_three(struct fixture *f, const char *pool, int life)
{
    int rc = 0;
    for (int i = 0; rc == 0 && i < 3; i++) {
        char id[HOCKET__STORE_ID + 1];
        struct hocket__store_claim claim;
        snprintf(id, sizeof(id), "01KANC3V0QZJ9E4W2X6T%06u", (unsigned) (life * 3 + i) % 1000000u);
        struct hocket__store_run r = job(id, pool, 0);
        rc = hocket__store_put(f->s, &r, &claim);
        rc = rc == 0 ? hocket__store_release(f->s, &claim) : rc;
    }
    return rc == 0 ? fixture_commit(f, NULL, HOCKET__STORE_WRITTEN) : rc;
}

/* All of them or none: what is taken for nobody nobody would ever end. */
static void life_of_three(struct test_alloc *t, void *ud)
{
    struct fixture *f = ud;
    struct hocket_error err;
    static int life;
    char pool[16];
    snprintf(pool, sizeof(pool), "life %d", life++);
    f->o.alloc = &t->a;
    f->impatient = t->fail_rest;
    if (the_kind->open(&f->o, &f->s, &err) < 0) {
        uv_run(&f->loop, UV_RUN_DEFAULT);
        assert_true(t->failed);
        return;
    }
    struct hocket__store_reply r = fixture_reply(f);
    int rc = put_three(f, pool, life);
    bool there = rc == 0;
    if (there)
        rc = fixture_answer(f, hocket__store_take_next(f->s, STR(pool), 3, &r, NULL));
    assert_true(rc == 0 || (rc == HOCKET_ENOMEM && t->failed));
    if (there && rc == 0) {
        assert_int_equal(f->count, 3);
    } else if (there && !t->fail_rest) {
        assert_int_equal(take(f, pool, 3), 3);
        for (size_t i = 0; i < 3; i++)
            assert_int_equal(fixture_row(f, i).run.attempts, 0);
    }
    fixture_close(f);
}

static void any_allocation_may_fail(void **state)
{
    struct fixture *f = *state;
    fixture_close(f);
    test_alloc_each(life_of_three, f);
    f->o.alloc = &f->t.a;
    f->impatient = false;
}

#ifndef _WIN32
/* ---- Several processes ------------------------------------------------------------------------- */

enum { WORKERS = 8, JOBS = 120 };

/* Takes what there is, so many at once, ends it, and tells each; as a process of its own. */
static void work(const struct fixture *of, int out, size_t most)
{
    struct fixture f;
    fixture_init(&f, the_kind);
    f.now = NOW;
    snprintf(f.path, sizeof(f.path), "%s", of->path);
    fixture_open(&f);
    for (size_t n; (n = take(&f, "default", most)) > 0;) {
        struct hocket__store_claim claims[WORKERS];
        for (size_t i = 0; i < n; i++)
            claims[i] = claim_of(&f, i);
        for (size_t i = 0; i < n; i++) {
            give_back(&f, &claims[i], HOCKET__STORE_DONE, "default", 0);
            if (write(out, claims[i].id, HOCKET__STORE_ID) != HOCKET__STORE_ID)
                _exit(2);
        }
    }
    fixture_close(&f);
    rmdir(f.dir);
    _exit(f.news[HOCKET__STORE_REFUSED] + f.news[HOCKET__STORE_BROKEN] > 0);
}

static void start_workers(const struct fixture *f, int out)
{
    for (int i = 0; i < WORKERS; i++) {
        pid_t pid = fork();
        assert_true(pid >= 0);
        if (pid == 0)
            work(f, out, (size_t) i + 1);
    }
}

static void each_run_has_one_worker(void **state)
{
    struct fixture *f = *state;
    int ids[2], status, count[JOBS] = { 0 };
    char id[HOCKET__STORE_ID + 1] = "";
    if (!the_kind->lasts)
        skip();
    for (int i = 0; i < JOBS; i++) {
        struct hocket__store_claim claim;
        snprintf(id, sizeof(id), "01KANC3V0QZJ9E4W2X6T%06u", (unsigned) i % 1000000u);
        struct hocket__store_run r = job(id, "default", 0);
        assert_int_equal(hocket__store_put(f->s, &r, &claim), 0);
        assert_int_equal(hocket__store_release(f->s, &claim), 0);
    }
    assert_int_equal(fixture_commit(f, NULL, HOCKET__STORE_SYNCED), 0);
    fixture_close(f); /* none of its threads are there when it is forked */
    assert_int_equal(pipe(ids), 0);
    start_workers(f, ids[1]);
    close(ids[1]);
    while (read(ids[0], id, HOCKET__STORE_ID) == HOCKET__STORE_ID)
        count[atoi(id + 20)]++;
    close(ids[0]);
    while (wait(&status) > 0)
        assert_int_equal(status, 0);
    for (int i = 0; i < JOBS; i++)
        assert_int_equal(count[i], 1);
    fixture_open(f);
}

#endif

/* ---- Items --------------------------------------------------------------------------------------- */

/* The version that it has then, or a status. */
static int64_t put_item(struct fixture *f, const char *id, int64_t due_ms, const char *json,
    int64_t expected, const struct hocket__store_run *run)
{
    struct hocket__store_reply r = fixture_reply(f);
    struct hocket__store_item item = { .kind = STR("schedule"),
        .id = STR(id),
        .due_ms = due_ms,
        .generation = STR("files"),
        .json = STR(json) };
    int rc =
        fixture_answer(f, hocket__store_item_put(f->s, &item, expected, run, STR(""), &r, NULL));
    return rc < 0 ? rc : fixture_row(f, 0).item.version;
}

static int del_item(struct fixture *f, const char *id, int64_t expected)
{
    struct hocket__store_reply r = fixture_reply(f);
    return fixture_answer(
        f, hocket__store_item_del(f->s, STR("schedule"), STR(id), expected, &r, NULL));
}

static size_t items(struct fixture *f, const char *id)
{
    struct hocket__store_reply r = fixture_reply(f);
    assert_int_equal(
        fixture_answer(f, hocket__store_items(f->s, STR("schedule"), STR(id), &r, NULL)), 0);
    return f->count;
}

static void an_item_is_changed_by_who_has_seen_it(void **state)
{
    struct fixture *f = *state;
    int64_t one = put_item(f, "a", 5, "{\"n\":1}", 0, NULL), two;
    assert_true(one > 0);
    assert_int_equal(put_item(f, "a", 5, "{}", 0, NULL), HOCKET_ESTATE);
    assert_non_null(strstr(f->error.message, "the schedule a"));
    two = put_item(f, "a", 9, "{\"n\":2}", one, NULL);
    assert_true(two > one);
    assert_int_equal(put_item(f, "a", 5, "{}", one, NULL), HOCKET_ESTATE);
    assert_int_equal(put_item(f, "b", 5, "{}", 7, NULL), HOCKET_ENOTFOUND);
    assert_int_equal(items(f, "a"), 1);
    struct hocket__store_item got = fixture_row(f, 0).item;
    fixture_assert_str(got.kind, "schedule");
    fixture_assert_str(got.json, "{\"n\":2}");
    fixture_assert_str(got.generation, "files");
    assert_int_equal(got.version, two);
    assert_int_equal(got.due_ms, 9);
    assert_int_equal(got.at_ms, NOW);
    assert_true(put_item(f, "a", 1, "{\"n\":3}", HOCKET__STORE_ANY, NULL) > two);
    assert_int_equal(del_item(f, "a", two), HOCKET_ESTATE);
    assert_int_equal(del_item(f, "a", HOCKET__STORE_ANY), 0);
    assert_int_equal(del_item(f, "a", HOCKET__STORE_ANY), HOCKET_ENOTFOUND);
    f->now = NOW + 1;
    assert_true(put_item(f, "a", 1, "{}", HOCKET__STORE_ANY, NULL) > one); /* not as it was */
    assert_int_equal(put_item(f, "a", 1, "{}", one, NULL), HOCKET_ESTATE);
}

static void items_are_listed_as_they_are_due(void **state)
{
    struct fixture *f = *state;
    enum { MANY = 105 };
    char id[16], *json = malloc(3000);
    memset(json, 'x', 2999);
    json[2999] = 0;
    for (int i = 0; i < MANY; i++) { /* more than a piece */
        snprintf(id, sizeof(id), "i%03d", (i * 13) % MANY);
        assert_true(put_item(f, id, (i * 13) % MANY / 3, json, 0, NULL) > 0);
    }
    free(json);
    assert_int_equal(items(f, ""), MANY);
    for (size_t i = 0; i < MANY; i += 11) {
        snprintf(id, sizeof(id), "i%03d", (int) i);
        fixture_assert_str(fixture_row(f, i).item.id, id);
        assert_int_equal(fixture_row(f, i).item.due_ms, i / 3);
    }
    assert_int_equal(items(f, "i007"), 1);
    assert_int_equal(items(f, "none"), 0);
}

static size_t items_due(struct fixture *f, int64_t ahead_ms)
{
    struct hocket__store_reply r = fixture_reply(f);
    assert_int_equal(
        fixture_answer(f, hocket__store_items_due(f->s, STR("schedule"), ahead_ms, &r, NULL)), 0);
    return f->count;
}

static void items_are_asked_for_that_are_due(void **state)
{
    struct fixture *f = *state;
    struct hocket__store_reply r = fixture_reply(f);
    enum { MANY = 250 }; /* more than a piece of some stores */
    char id[16];
    assert_true(put_item(f, "never", 0, "{}", 0, NULL) > 0);
    assert_true(put_item(f, "later", NOW + 100, "{}", 0, NULL) > 0);
    assert_true(put_item(f, "far", INT64_MAX, "{}", 0, NULL) > 0);
    assert_int_equal(items_due(f, 0), 0);
    assert_int_equal(items_due(f, 99), 0);
    assert_int_equal(items_due(f, 100), 1);
    fixture_assert_str(fixture_row(f, 0).item.id, "later");
    assert_int_equal(fixture_row(f, 0).item.now_ms, NOW);
    assert_int_equal(items_due(f, INT64_MAX), 2);
    for (int i = 0; i < MANY; i++) {
        snprintf(id, sizeof(id), "i%03d", i);
        assert_true(put_item(f, id, NOW - i / 4, "{}", 0, NULL) > 0);
    }
    assert_int_equal(items_due(f, 0), MANY);
    fixture_assert_str(fixture_row(f, MANY - 1).item.id, "i003");
    assert_int_equal(hocket__store_items_due(f->s, STR("schedule"), -1, &r, NULL), HOCKET_EINVAL);
    assert_int_equal(hocket__store_items_due(f->s, STR(""), 0, &r, NULL), HOCKET_EINVAL);
}

/* A schedule is gone on with and its run begun, or neither. */
static void an_item_brings_a_run(void **state)
{
    struct fixture *f = *state;
    struct hocket__store_claim c;
    struct hocket__store_run run = job(RUN_1, "default", 0), taken = job(RUN_2, "default", 0);
    int64_t one = put_item(f, "a", 5, "1", 0, NULL), two = put_item(f, "a", 6, "2", one, &run);
    assert_true(two > one);
    run = job(RUN_3, "default", 0);
    assert_int_equal(put_item(f, "a", 7, "3", one, &run), HOCKET_ESTATE);
    assert_string_equal(next(f, "default", &c), RUN_1);
    assert_string_equal(next(f, "default", &c), "");
    submit_run(f, &taken);
    assert_int_equal(put_item(f, "a", 7, "3", two, &taken), HOCKET_EEXIST);
    assert_int_equal(items(f, "a"), 1);
    fixture_assert_str(fixture_row(f, 0).item.json, "2");
    assert_int_equal(put_item(f, "b", 7, "3", 0, &taken), HOCKET_EEXIST);
    assert_int_equal(items(f, "b"), 0);
    assert_string_equal(next(f, "default", &c), RUN_2);
    assert_int_equal(f->news[HOCKET__STORE_REFUSED], 0);
    run.pool = STR("a,b");
    assert_int_equal(put_item(f, "b", 7, "3", 0, &run), HOCKET_EINVAL);
}

static void an_item_keeps_its_files(void **state)
{
    struct fixture *f = *state;
    struct hocket__store_claim c = fixture_put(f, RUN_1);
    struct hocket__store_run run = { .generation = STR(RUN_1 ",files") };
    struct hocket__store_file file = { STR("files"), STR("a.lua"), STR("h"), STR("text") };
    hocket__store_update(f->s, &c, HOCKET__STORE_SET_GENERATION, &run);
    assert_int_equal(hocket__store_file(f->s, &file), 0);
    hocket__store_release(f->s, &c);
    assert_true(put_item(f, "a", 5, "1", 0, NULL) > 0);
    struct hocket__store_reply r = fixture_reply(f);
    assert_int_equal(fixture_answer(f, hocket__store_remove(f->s, STR(RUN_1), &r, NULL)), 0);
    r = fixture_reply(f);
    assert_int_equal(fixture_answer(f, hocket__store_files(f->s, STR("files"), &r, NULL)), 0);
    assert_int_equal(f->count, 1);
    assert_int_equal(del_item(f, "a", HOCKET__STORE_ANY), 0);
    r = fixture_reply(f);
    assert_int_equal(fixture_answer(f, hocket__store_files(f->s, STR("files"), &r, NULL)), 0);
    assert_int_equal(f->count, 0);
}

static void items_have_names(void **state)
{
    struct fixture *f = *state;
    struct hocket__store_reply r = fixture_reply(f);
    struct hocket__store_item item = { .kind = STR("k"), .id = STR("i"), .due_ms = -1 };
    assert_int_equal(
        hocket__store_item_put(f->s, &item, 0, NULL, STR(""), &r, NULL), HOCKET_EINVAL);
    item.due_ms = 0;
    assert_int_equal(
        hocket__store_item_put(f->s, &item, -2, NULL, STR(""), &r, NULL), HOCKET_EINVAL);
    item.id = STR("");
    assert_int_equal(
        hocket__store_item_put(f->s, &item, 0, NULL, STR(""), &r, NULL), HOCKET_EINVAL);
    assert_int_equal(hocket__store_item_del(f->s, STR("k"), STR("i"), 0, &r, NULL), HOCKET_EINVAL);
    assert_int_equal(hocket__store_items(f->s, STR(""), STR(""), &r, NULL), HOCKET_EINVAL);
}

/* The row at i says: of this pool so many are `what`, since then (-1: whenever). */
static void assert_pool(
    struct fixture *f, size_t i, const char *pool, const char *what, int64_t n, int64_t since)
{
    struct hocket__store_row row = fixture_row(f, i);
    bool had = strcmp(what, "running") == 0;
    assert_int_equal(row.kind, HOCKET__STORE_ROW_POOL);
    fixture_assert_str(row.pool.pool, pool);
    fixture_assert_str(row.pool.what, what);
    assert_int_equal(row.pool.n, n);
    assert_int_equal(row.pool.pid, had ? getpid() : 0);
    assert_int_equal(row.pool.host.n > 0, had);
    if (since >= 0)
        assert_int_equal(row.pool.since_ms, since);
}

static size_t pools(struct fixture *f)
{
    struct hocket__store_reply r = fixture_reply(f);
    assert_int_equal(fixture_answer(f, hocket__store_pools(f->s, &r, NULL)), 0);
    return f->count;
}

static size_t blocked(struct fixture *f, size_t limit)
{
    struct hocket__store_reply r = fixture_reply(f);
    assert_int_equal(fixture_answer(f, hocket__store_blocked(f->s, limit, &r, NULL)), 0);
    return f->count;
}

static void what_lies_in_pools_is_counted(void **state)
{
    struct fixture *f = *state;
    struct hocket__store_claim c;
    struct hocket__store_run parked = { .state = HOCKET__STORE_PARKED };
    submit(f, RUN_1, "a", NOW - 9);
    submit(f, RUN_2, "a", NOW - 5);
    submit(f, RUN_4, "a", NOW - 7);
    submit(f, RUN_3, "b", NOW + 1000);
    assert_string_equal(next(f, "a", &c), RUN_1);
    assert_int_equal(pools(f), 3);
    assert_pool(f, 0, "a", "queued", 2, NOW - 7);
    assert_pool(f, 1, "a", "running", 1, -1);
    assert_pool(f, 2, "b", "later", 1, NOW + 1000);
    assert_int_equal(hocket__store_update(f->s, &c, HOCKET__STORE_SET_STATE, &parked), 0);
    assert_int_equal(hocket__store_release(f->s, &c), 0);
    assert_int_equal(fixture_commit(f, NULL, HOCKET__STORE_WRITTEN), 0);
    assert_int_equal(pools(f), 3);
    assert_pool(f, 0, "a", "parked", 1, -1);
    assert_pool(f, 1, "a", "queued", 2, NOW - 7);
    assert_string_equal(next(f, "a", &c), RUN_4);
    struct hocket__store_run done = { .state = HOCKET__STORE_DONE };
    assert_int_equal(hocket__store_update(f->s, &c, HOCKET__STORE_SET_STATE, &done), 0);
    assert_int_equal(hocket__store_release(f->s, &c), 0);
    assert_int_equal(fixture_commit(f, NULL, HOCKET__STORE_WRITTEN), 0);
    assert_int_equal(pools(f), 3);
    assert_pool(f, 1, "a", "queued", 1, NOW - 5);
}

/* It is due at a time, and yet it waits: for somebody, and not for the time alone. */
static void a_limit_of_a_wait_is_no_time_to_wait_for(void **state)
{
    struct fixture *f = *state;
    struct hocket__store_claim c;
    struct hocket__store_run limited = { .state = HOCKET__STORE_WAITING,
        .pool = STR("a"),
        .due_ms = NOW + 1000,
        .waiting_for =
            STR("[{\"kind\":\"signal\",\"id\":\"s1\"},{\"kind\":\"time\",\"until_ms\":7}]") };
    unsigned set =
        HOCKET__STORE_SET_STATE | HOCKET__STORE_SET_WAITING_FOR | HOCKET__STORE_SET_QUEUE;
    for (int i = 0; i < 2; i++) {
        submit(f, i ? RUN_2 : RUN_1, "a", 0);
        next(f, "a", &c);
        assert_int_equal(hocket__store_update(f->s, &c, set, &limited), 0);
        assert_int_equal(hocket__store_release(f->s, &c), 0);
        limited.waiting_for = STR("[{\"kind\":\"time\",\"until_ms\":7}]");
    }
    assert_int_equal(fixture_commit(f, NULL, HOCKET__STORE_WRITTEN), 0);
    assert_int_equal(blocked(f, 10), 1);
    assert_string_equal(fixture_row(f, 0).run.id, RUN_1);
    assert_int_equal(pools(f), 2);
    assert_pool(f, 0, "a", "later", 1, NOW + 1000);
    assert_pool(f, 1, "a", "waiting", 1, -1);
    f->now += 1000;
    assert_int_equal(pools(f), 1);
    assert_pool(f, 0, "a", "queued", 2, NOW + 1000);
}

static void who_waits_for_whom_is_listed(void **state)
{
    struct fixture *f = *state;
    struct hocket__store_claim c;
    struct hocket__store_run child = job(RUN_2, "a", 0), waits = { .state = HOCKET__STORE_WAITING };
    assert_int_equal(
        hocket__store_blocked(f->s, 0, &(struct hocket__store_reply){ 0 }, NULL), HOCKET_EINVAL);
    submit(f, RUN_1, "a", 0);
    memcpy(child.caller, RUN_1, sizeof(child.caller));
    assert_string_equal(next(f, "a", &c), RUN_1);
    submit_run(f, &child);
    submit(f, RUN_3, "a", 0); /* waits for nobody but a worker */
    assert_int_equal(hocket__store_update(f->s, &c, HOCKET__STORE_SET_STATE, &waits), 0);
    assert_int_equal(hocket__store_release(f->s, &c), 0);
    assert_int_equal(fixture_commit(f, NULL, HOCKET__STORE_WRITTEN), 0);
    assert_int_equal(blocked(f, 10), 2);
    assert_string_equal(fixture_row(f, 0).run.id, RUN_1);
    assert_string_equal(fixture_row(f, 1).run.caller, RUN_1);
    assert_int_equal(fixture_row(f, 1).run.input.n, 0);
    assert_int_equal(fixture_row(f, 1).run.options.n, 0);
    assert_int_equal(blocked(f, 1), 1);
}

/* Of n characters that no database can shorten. */
static char *long_key(size_t n)
{
    char *key = malloc(n + 1);
    srandom(1);
    for (size_t i = 0; i < n; i++)
        key[i] = "abcdefghijklmnopqrstuvwxyz0123456789-_ABCDEFGHIJKLMNOPQRSTUVWXYZ"[random() % 64];
    key[n] = 0;
    return key;
}

static bool is_fair(int rc)
{
    return rc == 0 || rc == HOCKET_EINVAL || rc == HOCKET_ELIMIT || rc == HOCKET_EEXIST;
}

/* Whatever is the key of something may be longer than an index takes: it is kept or refused, and nothing else suffers. */
static void long_keys_spoil_nothing(void **state)
{
    struct fixture *f = *state;
    struct hocket__store_claim claim, c;
    struct hocket__store_claim good = fixture_put(f, RUN_1);
    for (size_t n = 300, i = 0; n <= 9000; n += 8700, i++) {
        char *key = long_key(n), id[HOCKET__STORE_ID + 1];
        snprintf(id, sizeof(id), "01KANC3V0QZJ9E4W2X6T%06u", (unsigned) i * 10);
        struct hocket__store_run r = job(id, key, 0);
        int rc = hocket__store_put(f->s, &r, &claim);
        assert_true(is_fair(rc));
        id[25] = '1';
        r = job(id, "default", 0);
        r.generation = STR(key);
        r.project = STR(key);
        assert_true(is_fair(hocket__store_put(f->s, &r, &claim)));
        assert_true(is_fair(hocket__store_release(f->s, &claim)));
        struct hocket__store_file file = { STR(key), STR(key), STR("hash"), STR("text") };
        assert_true(is_fair(hocket__store_file(f->s, &file)));
        struct hocket__store_message m = { STR(key), 17, STR("{}") };
        assert_true(is_fair(hocket__store_message_put(f->s, &good, &m)));
        assert_true(is_fair(hocket__store_message_del(f->s, &good, STR(key))));
        assert_int_equal(fixture_commit(f, &good, HOCKET__STORE_WRITTEN), 0);
        assert_true(is_fair(say(f, RUN_1, key)));
        int64_t version = put_item(f, key, 0, "{}", 0, NULL);
        assert_true(version > 0 || is_fair((int) version));
        struct hocket__store_reply reply = fixture_reply(f);
        struct hocket__store_draw d = { .name = STR(key), .want = 1, .capacity = 5 };
        assert_true(is_fair(fixture_answer(f, hocket__store_draw(f->s, &d, &reply, NULL))));
        struct hocket__store_note note = { .memory = STR(key), .id = STR(key), .text = STR("x") };
        reply = fixture_reply(f);
        assert_true(is_fair(
            fixture_answer(f, hocket__store_note_put(f->s, &note, 9, 99999, &reply, NULL))));
        reply = fixture_reply(f);
        assert_true(
            is_fair(fixture_answer(f, hocket__store_take_next(f->s, STR(key), 1, &reply, NULL))));
        free(key);
    }
    assert_string_equal(next(f, "default", &c), "01KANC3V0QZJ9E4W2X6T000001");
    assert_string_equal(next(f, "default", &c), "01KANC3V0QZJ9E4W2X6T000011");
    assert_int_equal(fixture_commit(f, &good, HOCKET__STORE_WRITTEN), 0);
    assert_int_equal(f->news[HOCKET__STORE_BROKEN], 0);
}

/* What is old goes when somebody wants that; not what goes on by itself, with whatever else it would take. */
static void who_waits_for_a_time_is_no_rubbish(void **state)
{
#define DAY INT64_C(86400000)
    static const char *const waits[] = { "[{\"kind\":\"input\",\"id\":\"i2\"}]",
        "[{\"kind\":\"input\",\"id\":\"i2\"},{\"kind\":\"time\",\"until_ms\":1800000000000}]",
        "[{\"kind\":\"input\",\"id\":\"i2\"},{\"kind\":\"signal\",\"id\":\"s1\"}]" };
    static const char *const ids[] = { RUN_1, RUN_2, RUN_3 };
    struct fixture *f = *state;
    for (int i = 0; i < 3; i++) {
        struct hocket__store_claim c = fixture_put(f, ids[i]);
        struct hocket__store_run r = { .state = HOCKET__STORE_WAITING,
            .waiting_for = STR(waits[i]) };
        unsigned set = HOCKET__STORE_SET_STATE | HOCKET__STORE_SET_WAITING_FOR;
        assert_int_equal(hocket__store_update(f->s, &c, set, &r), 0);
        assert_int_equal(hocket__store_release(f->s, &c), 0);
    }
    assert_int_equal(fixture_commit(f, NULL, HOCKET__STORE_WRITTEN), 0);
    f->now += 40 * DAY;
    struct hocket__store_maintenance care = { .what = HOCKET__STORE_VACUUM,
        .max_age_ms = 30 * DAY };
    struct hocket__store_reply reply = fixture_reply(f);
    int rc = fixture_answer(f, hocket__store_maintain(f->s, &care, &reply, NULL));
    if (rc == HOCKET_EUNSUPPORTED)
        return;
    assert_int_equal(rc, 0);
    for (int i = 0; i < 3; i++) {
        reply = fixture_reply(f);
        assert_int_equal(fixture_answer(f, hocket__store_find(f->s, STR(ids[i]), &reply, NULL)),
            i == 0 ? HOCKET_ENOTFOUND : 0);
    }
}

static void jobs_survive_their_store(void **state)
{
    struct fixture *f = *state;
    struct hocket__store_claim c;
    if (!the_kind->lasts)
        return;
    submit(f, RUN_1, "default", 0);
    assert_string_equal(next(f, "default", &c), RUN_1);
    int64_t version = put_item(f, "a", 5, "1", 0, NULL);
    fixture_close(f); /* lets go of it */
    fixture_open(f);
    assert_true(put_item(f, "a", 5, "1", version, NULL) > version);
    assert_string_equal(next(f, "default", &c), RUN_1);
}

int conformance_queue(const struct store_kind *kind)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, fixture_end)
    const struct CMUnitTest tests[] = {
        TEST(a_job_comes_back_as_it_was_put),
        TEST(the_first_that_is_due_is_taken),
        TEST(what_had_a_time_comes_before_what_is_queued),
        TEST(several_are_taken_at_once),
        TEST(several_are_taken_of_several_pools),
        TEST(no_more_are_taken_than_there_may_be),
        TEST(what_was_lost_is_taken_alone),
        TEST(pools_have_names),
        TEST(what_is_given_back_is_taken_again),
        TEST(attempts_are_counted_at_one_place),
        TEST(one_that_waits_for_a_time_is_taken_then),
        TEST(a_message_queues_one_that_waits),
        TEST(a_message_for_one_that_is_had_is_not_lost),
        TEST(what_is_said_to_ones_own_run_is_not_lost),
        TEST(runs_of_nobodys_pool_stay_as_they_are),
        TEST(a_caller_gets_the_end),
        TEST(runs_that_belong_together_stay),
        TEST(runs_are_listed_by_their_queue),
        TEST(a_cancelled_call_takes_nothing),
        TEST(a_reader_that_fails_takes_nothing),
        TEST(a_reader_that_fails_takes_none_of_several),
        TEST(gives_back_runs_unseen_by_their_reader),
        TEST(a_copy_is_nobodys_job),
        TEST(rows_of_before_are_read),
        TEST(watchers_learn_of_queued_runs),
        TEST(any_allocation_may_fail),
#ifndef _WIN32
        TEST(each_run_has_one_worker),
#endif
        TEST(an_item_is_changed_by_who_has_seen_it),
        TEST(items_are_listed_as_they_are_due),
        TEST(items_are_asked_for_that_are_due),
        TEST(an_item_brings_a_run),
        TEST(an_item_keeps_its_files),
        TEST(items_have_names),
        TEST(what_lies_in_pools_is_counted),
        TEST(a_limit_of_a_wait_is_no_time_to_wait_for),
        TEST(who_waits_for_whom_is_listed),
        TEST(long_keys_spoil_nothing),
        TEST(who_waits_for_a_time_is_no_rubbish),
        TEST(jobs_survive_their_store),
    };
    the_kind = kind;
    return cmocka_run_group_tests_name(kind->name, tests, NULL, NULL);
}

/* What every store has to do about leases that are over though their owners are there: nobody could renew them, since the
 * machine slept, the database was away, or a clock was put forward. */
#include "store/conformance.h"

static const struct store_kind *the_kind;

#define STR(s) hocket__cstr(s)
#define NOW    1700000000000
#define HOUR   (INT64_C(3600) * 1000)

static int setup(void **state)
{
    return fixture_new(state, the_kind, NOW);
}

static void submit(struct fixture *f, const char *id)
{
    struct hocket__store_claim claim;
    struct hocket__store_run r = fixture_run(id);
    r.state = HOCKET__STORE_QUEUED;
    r.pool = STR("default");
    assert_int_equal(hocket__store_put(f->s, &r, &claim), 0);
    assert_int_equal(hocket__store_release(f->s, &claim), 0);
    assert_int_equal(fixture_commit(f, &claim, HOCKET__STORE_WRITTEN), 0);
}

/* The id of what was taken, or "". */
static const char *next(struct fixture *f, struct hocket__store_claim *claim)
{
    struct hocket__store_reply r = fixture_reply(f);
    assert_int_equal(
        fixture_answer(f, hocket__store_take_next(f->s, STR("default"), 1, &r, NULL)), 0);
    memset(claim, 0, sizeof(*claim));
    if (f->count == 1) {
        struct hocket__store_run run = fixture_row(f, 0).run;
        memcpy(claim->id, run.id, sizeof(claim->id));
        claim->fence = run.fence;
    }
    return claim->id;
}

static int take(struct fixture *f, const char *id)
{
    struct hocket__store_reply r = fixture_reply(f);
    return fixture_answer(f, hocket__store_take(f->s, STR(id), &r, NULL));
}

/* Another process, as far as the store knows. */
static void second_of(struct fixture *f, struct fixture *second)
{
    fixture_init(second, the_kind);
    rmdir(second->dir);
    memcpy(second->path, f->path, sizeof(f->path));
    second->now = (int64_t) f->now;
    fixture_open(second);
}

static void what_is_had_is_not_taken_again(void **state)
{
    struct fixture *f = *state;
    struct hocket__store_claim c, other;
    submit(f, RUN_1);
    submit(f, RUN_2);
    assert_string_equal(next(f, &c), RUN_1);
    for (uint64_t n = 1; n <= 3; n++) {
        f->now += HOUR; /* the machine slept, or was stopped */
        assert_string_equal(next(f, &other), n == 1 ? RUN_2 : "");
        f->now += HOUR;
        assert_int_equal(take(f, RUN_1), HOCKET_ESTATE);
        fixture_append(f, &c, n);
        assert_int_equal(fixture_commit(f, &c, HOCKET__STORE_WRITTEN), 0);
    }
    assert_int_equal(f->news[HOCKET__STORE_REFUSED], 0);
}

static void others_are_given_time_to_renew(void **state)
{
    struct fixture *f = *state, g;
    struct hocket__store_claim c, other;
    if (!the_kind->lasts)
        return;
    submit(f, RUN_1);
    assert_string_equal(next(f, &c), RUN_1);
    second_of(f, &g);
    assert_string_equal(next(&g, &other), "");
    g.now = f->now += HOUR; /* of both; this one wakes first */
    assert_string_equal(next(&g, &other), "");
    fixture_append(f, &c, 1);
    assert_int_equal(fixture_commit(f, &c, HOCKET__STORE_WRITTEN), 0);
    assert_string_equal(next(f, &other), ""); /* behind its renewal */
    assert_int_equal(take(&g, RUN_1), HOCKET_ESTATE);
    assert_int_equal(f->news[HOCKET__STORE_REFUSED], 0);
    fixture_deinit(&g);
}

/* It was taken by another, and given back: who had it before hears of that first, and what he still says counts for nothing. */
static void what_was_lost_may_come_back(void **state)
{
    struct fixture *f = *state, g;
    struct hocket__store_claim c, other, anew;
    struct hocket__store_run run = { .state = HOCKET__STORE_QUEUED };
    if (!the_kind->lasts)
        return;
    submit(f, RUN_1);
    assert_string_equal(next(f, &c), RUN_1);
    second_of(f, &g);
    g.now += HOUR; /* f is stopped meanwhile */
    struct hocket__store_reply r = fixture_reply(&g);
    assert_int_equal(fixture_answer(&g, hocket__store_take(g.s, STR(RUN_1), &r, NULL)), 0);
    other = c;
    other.fence = fixture_row(&g, 0).run.fence;
    assert_int_equal(hocket__store_update(g.s, &other, HOCKET__STORE_SET_STATE, &run), 0);
    assert_int_equal(hocket__store_release(g.s, &other), 0);
    assert_int_equal(fixture_commit(&g, &other, HOCKET__STORE_WRITTEN), 0);
    f->now += HOUR;
    assert_string_equal(next(f, &anew), RUN_1);
    assert_int_equal(f->news[HOCKET__STORE_REFUSED], 1);
    fixture_append(f, &c, 1); /* not heard yet */
    fixture_append(f, &anew, 1);
    assert_int_equal(fixture_commit(f, &anew, HOCKET__STORE_WRITTEN), 0);
    assert_int_equal(hocket__store_release(f->s, &anew), 0);
    assert_int_equal(fixture_commit(f, &anew, HOCKET__STORE_WRITTEN), 0);
    assert_string_equal(next(f, &anew), RUN_1);
    fixture_deinit(&g);
}

/* Ours by its row alone, which nobody renews: a worker that is alone takes it up, too. */
static void what_was_refused_is_taken_again(void **state)
{
    struct fixture *f = *state;
    struct hocket__store_claim c, anew;
    if (!the_kind->lasts)
        return;
    fixture_close(f);
    f->o.lease_ms = 300;
    fixture_open(f);
    submit(f, RUN_1);
    assert_string_equal(next(f, &c), RUN_1);
    fixture_append(f, &c, 9); /* which does not follow */
    assert_int_equal(fixture_commit(f, &c, HOCKET__STORE_WRITTEN), HOCKET_EINVAL);
    assert_string_equal(next(f, &anew), "");
    f->now += 301;
    while (strcmp(next(f, &anew), RUN_1) != 0)
        uv_sleep(5);
    fixture_append(f, &c, 10); /* it was told */
    fixture_append(f, &anew, 1);
    assert_int_equal(fixture_commit(f, &anew, HOCKET__STORE_WRITTEN), 0);
}

int conformance_leases(const struct store_kind *kind)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, fixture_end)
    const struct CMUnitTest tests[] = {
        TEST(what_is_had_is_not_taken_again),
        TEST(others_are_given_time_to_renew),
        TEST(what_was_lost_may_come_back),
        TEST(what_was_refused_is_taken_again),
    };
    the_kind = kind;
    return cmocka_run_group_tests_name(kind->name, tests, NULL, NULL);
}

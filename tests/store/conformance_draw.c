/* What every store has to do for limits that several processes share. */
#include "store/conformance.h"

static const struct store_kind *the_kind;

#define NOW 1700000000000

static int setup(void **state)
{
    return fixture_new(state, the_kind, NOW);
}

static struct hocket__store_drawn draw(struct fixture *f, struct hocket__store_draw d)
{
    struct hocket__store_reply r = fixture_reply(f);
    if (d.name.n == 0)
        d.name = HOCKET__STR("a limit");
    assert_int_equal(fixture_answer(f, hocket__store_draw(f->s, &d, &r, NULL)), 0);
    assert_int_equal(f->count, 1);
    struct hocket__store_row row = fixture_row(f, 0);
    assert_int_equal(row.kind, HOCKET__STORE_ROW_DRAWN);
    return row.drawn;
}

#define DRAW(...) draw(f, (struct hocket__store_draw){ __VA_ARGS__ })
/* Ten at once, and ten in a second. */
#define RATE .capacity = 10, .leak = 10, .leak_ms = 1000

static void a_rate_refills_by_time(void **state)
{
    struct fixture *f = *state;
    struct hocket__store_drawn d = DRAW(.want = 4, RATE);
    assert_int_equal(d.granted, 4);
    assert_int_equal(d.level, 6);
    assert_int_equal(d.retry_ms, -1);
    assert_int_equal(DRAW(.want = 9, RATE).granted, 6);
    d = DRAW(.want = 9, RATE);
    assert_int_equal(d.granted, 0);
    assert_in_range(d.retry_ms, 99, 101);
    d = DRAW(.want = 9, .least = 5, RATE);
    assert_in_range(d.retry_ms, 499, 501);
    f->now += 500;
    assert_int_equal(DRAW(.want = 9, .least = 6, RATE).granted, 0);
    assert_int_equal(DRAW(.want = 9, .least = 5, RATE).granted, 5);
    f->now += 3600000;
    assert_int_equal(DRAW(.want = 99, RATE).granted, 10); /* never more than at once */
    assert_int_equal(DRAW(.want = 99, .name = HOCKET__STR("another"), RATE).granted, 10);
}

/* What leaks between two draws that follow each other closely is less than one. */
static void nothing_is_lost_between_two(void **state)
{
    struct fixture *f = *state;
    int64_t granted = 0;
    DRAW(.want = 10, RATE);
    for (int i = 0; i < 1000; i++) {
        f->now += 7;
        granted += DRAW(.want = 1, RATE).granted;
    }
    assert_in_range(granted, 69, 70);
}

static void what_is_not_used_is_given_back(void **state)
{
    struct fixture *f = *state;
    DRAW(.want = 10, RATE);
    assert_int_equal(DRAW(.want = -4, RATE).level, 4);
    assert_int_equal(DRAW(.want = -100, RATE).level, 10);
    assert_int_equal(DRAW(.want = 99, RATE).granted, 10);
}

static void a_budget_is_used_up(void **state)
{
    struct fixture *f = *state;
    assert_int_equal(DRAW(.want = 3000000, .capacity = 5000000).granted, 3000000);
    f->now += 12 * 3600000;
    assert_int_equal(DRAW(.want = 3000000, .least = 2000001, .capacity = 5000000).granted, 0);
    assert_int_equal(DRAW(.want = 3000000, .least = 1, .capacity = 5000000).granted, 2000000);
    struct hocket__store_drawn d = DRAW(.want = 1, .capacity = 5000000);
    assert_int_equal(d.granted, 0);
    assert_int_equal(d.retry_ms, -1);
    /* it cost more than was thought; and then there is more to spend */
    assert_int_equal(DRAW(.want = 500000, .forced = true, .capacity = 5000000).level, -500000);
    assert_int_equal(DRAW(.want = 10, .capacity = 6000000).level, 499990);
}

static void what_is_larger_than_the_limit_is_owed(void **state)
{
    struct fixture *f = *state;
    assert_int_equal(DRAW(.want = 25, .least = 25, .owing = true, RATE).granted, 25);
    struct hocket__store_drawn d = DRAW(.want = 25, .least = 25, .owing = true, RATE);
    assert_int_equal(d.granted, 0);
    assert_in_range(d.retry_ms, 1599, 1601);
    f->now += 1600;
    assert_int_equal(DRAW(.want = 25, .least = 25, .owing = true, RATE).granted, 25);
}

static void a_block_holds_all_back(void **state)
{
    struct fixture *f = *state;
    assert_int_equal(DRAW(.want = 0, .block_ms = 2000, RATE).blocked_ms, 2000);
    f->now += 500;
    struct hocket__store_drawn d = DRAW(.want = 1, RATE);
    assert_int_equal(d.granted, 0);
    assert_int_equal(d.blocked_ms, 1500);
    assert_int_equal(d.retry_ms, 1500);
    assert_int_equal(DRAW(.want = 0, .block_ms = 100, RATE).blocked_ms, 1500); /* no shorter */
    f->now += 1500;
    d = DRAW(.want = 1, RATE);
    assert_int_equal(d.granted, 1);
    assert_int_equal(d.blocked_ms, 0);
}

#define PLACES(who) .capacity = 10, .holder = HOCKET__STR(who), .lease_ms = 5000

static void places_are_leased(void **state)
{
    struct fixture *f = *state;
    assert_int_equal(DRAW(.want = 7, PLACES("a")).granted, 7);
    struct hocket__store_drawn d = DRAW(.want = 7, PLACES("b"));
    assert_int_equal(d.granted, 3);
    assert_int_equal(d.holders, 2);
    assert_int_equal(d.hungry, 0);
    d = DRAW(.want = 7, PLACES("a"));
    assert_int_equal(d.granted, 7); /* the same again, and not 7 more */
    assert_int_equal(d.hungry, 1);
    assert_int_equal(DRAW(.want = 5, PLACES("a")).granted, 5);
    assert_int_equal(DRAW(.want = 7, PLACES("b")).granted, 5);
    assert_int_equal(DRAW(.want = 0, PLACES("a")).granted, 0);
    d = DRAW(.want = 9, PLACES("c"));
    assert_int_equal(d.granted, 5);
    assert_int_equal(d.holders, 2);
    /* whoever is not heard of any more has nothing */
    f->now += 4999;
    DRAW(.want = 9, PLACES("c"));
    f->now += 1;
    d = DRAW(.want = 9, PLACES("c"));
    assert_int_equal(d.granted, 9);
    assert_int_equal(d.holders, 1);
}

static void a_clock_may_be_put_back(void **state)
{
    struct fixture *f = *state;
    DRAW(.want = 10, RATE);
    f->now -= 3600000;
    assert_int_equal(DRAW(.want = 1, RATE).granted, 0);
    f->now += 3600000;
    assert_int_equal(DRAW(.want = 1, RATE).granted, 0);
    f->now += 100;
    assert_int_equal(DRAW(.want = 1, RATE).granted, 1);
}

static void old_rows_go(void **state)
{
    struct fixture *f = *state;
    DRAW(.want = 10, .capacity = 10);
    f->now += INT64_C(8) * 86400000;
    DRAW(.want = 1, .capacity = 10, .name = HOCKET__STR("of a later day"));
    assert_int_equal(DRAW(.want = 10, .capacity = 10).granted, 10);
}

static void wrong_draws_are_refused_at_once(void **state)
{
    struct fixture *f = *state;
    struct hocket__store_reply r = fixture_reply(f);
    const struct hocket__store_draw wrong[] = {
        { .name = { NULL, 0 }, .want = 1, .capacity = 1 },
        { .name = HOCKET__STR("a"), .want = 1, .capacity = -1 },
        { .name = HOCKET__STR("a"), .want = INT64_MAX, .capacity = 1 },
        { .name = HOCKET__STR("a"), .want = INT64_MIN, .capacity = 1 },
        { .name = HOCKET__STR("a"), .want = 1, .capacity = 1, .leak = 1 },
        { .name = HOCKET__STR("a"), .want = 1, .capacity = 1, .holder = HOCKET__STR("b") },
        { .name = HOCKET__STR("a"),
            .want = -1,
            .capacity = 1,
            .holder = HOCKET__STR("b"),
            .lease_ms = 1 },
    };
    for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++)
        assert_int_equal(hocket__store_draw(f->s, &wrong[i], &r, NULL), HOCKET_EINVAL);
}

static void what_was_drawn_outlives_its_store(void **state)
{
    struct fixture *f = *state;
    DRAW(.want = 10, RATE);
    DRAW(.want = 7, .name = HOCKET__STR("places"), PLACES("a"));
    fixture_close(f);
    fixture_open(f);
    int64_t left = the_kind->lasts ? 0 : 10;
    assert_int_equal(DRAW(.want = 99, RATE).granted, left);
    assert_int_equal(DRAW(.want = 9, .name = HOCKET__STR("places"), PLACES("b")).granted,
        the_kind->lasts ? 3 : 9);
}

/* A budget: what is held by calls that are under way, and what they came to. */
static void what_is_held_is_not_spent_by_others(void **state)
{
    struct fixture *f = *state;
    assert_int_equal(DRAW(.want = 6, .least = 2, PLACES("a")).granted, 6);
    struct hocket__store_drawn d = DRAW(.want = 6, .least = 5, PLACES("b"));
    assert_int_equal(d.granted, 0); /* rather than less */
    assert_int_equal(d.level, 4);
    assert_int_equal(d.holders, 1); /* and nobody waits for what it does not have */
    assert_int_equal(DRAW(.want = 6, .least = 2, PLACES("b")).granted, 4);
    d = DRAW(.want = 0, .spent = 5, PLACES("a"));
    assert_int_equal(d.level, 1); /* 5 are spent, 4 are held */
    assert_int_equal(DRAW(.capacity = 10).level, 5);
    assert_int_equal(DRAW(.want = 1, .least = 1, PLACES("a")).granted, 1);
    f->now += 5001; /* killed, both */
    assert_int_equal(DRAW(.want = 9, .least = 1, PLACES("c")).granted, 5);
    assert_int_equal(DRAW(.want = 0, .spent = 20, PLACES("c")).level, 0); /* more than there was */
    assert_int_equal(DRAW(.capacity = 10).level, -15);
    d = DRAW(.want = 1, .least = 1, PLACES("a"));
    assert_int_equal(d.granted, 0);
    assert_int_equal(d.holders, 0);
}

static void looking_reports_and_changes_nothing(void **state)
{
    struct fixture *f = *state;
    assert_int_equal(DRAW(.capacity = 10).level, 10); /* nothing was ever drawn */
    DRAW(.spent = 3, .capacity = 10);
    DRAW(.want = 4, .least = 2, PLACES("a"));
    DRAW(.want = 2, .least = 2, PLACES("b"));
    for (int i = 0; i < 2; i++) {
        struct hocket__store_drawn d = DRAW(.capacity = 10);
        assert_int_equal(d.granted, 0);
        assert_int_equal(d.level, 7);
        assert_int_equal(d.held, 6);
    }
    assert_int_equal(DRAW(.want = 9, .least = 1, PLACES("c")).granted, 1);
    f->now += 5001;
    assert_int_equal(DRAW(.capacity = 10).held, 0);
}

/* Its answer was lost: whoever asks again cannot know whether it was done. */
static void what_is_spent_again_is_spent_once(void **state)
{
    struct fixture *f = *state;
    DRAW(.want = 6, .least = 2, PLACES("a"));
    DRAW(.want = 0, .spent = 5, PLACES("a"));
    for (int i = 0; i < 3; i++)
        DRAW(.want = 0, .spent = 5, .again = true, PLACES("a"));
    assert_int_equal(DRAW(.capacity = 10).level, 5);
    DRAW(.want = 3, .least = 1, PLACES("b")); /* it was not */
    DRAW(.want = 1, .least = 1, PLACES("c"));
    f->now += 5001; /* and took its time */
    DRAW(.want = 0, .spent = 2, .again = true, PLACES("b"));
    assert_int_equal(DRAW(.capacity = 10).level, 3);
    DRAW(.want = 1, .least = 1, PLACES("d")); /* by whom c is forgotten */
    DRAW(.want = 0, .spent = 1, PLACES("c")); /* who says it for the first time */
    assert_int_equal(DRAW(.capacity = 10).level, 2);
    DRAW(.spent = 1, .again = true, .capacity = 10); /* of nobody: as it is said */
    assert_int_equal(DRAW(.capacity = 10).level, 1);
}

int conformance_draw(const struct store_kind *kind)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, fixture_end)
    const struct CMUnitTest tests[] = {
        TEST(a_rate_refills_by_time),
        TEST(nothing_is_lost_between_two),
        TEST(what_is_not_used_is_given_back),
        TEST(a_budget_is_used_up),
        TEST(what_is_larger_than_the_limit_is_owed),
        TEST(a_block_holds_all_back),
        TEST(places_are_leased),
        TEST(what_is_held_is_not_spent_by_others),
        TEST(looking_reports_and_changes_nothing),
        TEST(what_is_spent_again_is_spent_once),
        TEST(a_clock_may_be_put_back),
        TEST(old_rows_go),
        TEST(wrong_draws_are_refused_at_once),
        TEST(what_was_drawn_outlives_its_store),
    };
    the_kind = kind;
    return cmocka_run_group_tests_name(kind->name, tests, NULL, NULL);
}

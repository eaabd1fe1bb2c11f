/* Connections that end at any byte, or whose server ends in the middle of a transaction: what was written is there once, and
 * nobody is told otherwise. */
#include "store/pg.h"

#include <poll.h>
#include <stdlib.h>

#define STR(s) hocket__cstr(s)

/* How many bytes a commit of three entries takes on a connection that knows its statements. */
static int64_t commit_three(struct fixture *f, const struct hocket__store_claim *claim, uint64_t *n)
{
    int64_t before = pg_proxy.passed;
    fixture_entries(f, claim, *n + 1, 3);
    *n += 3;
    assert_int_equal(fixture_commit(f, claim, HOCKET__STORE_WRITTEN), 0);
    return pg_proxy.passed - before;
}

/* Anywhere in what it takes, or within the last answer, when all is there and nobody knows. */
static int64_t cut_in(int64_t size, int i)
{
    return i % 3 ? random() % size : size - 1 - random() % 30;
}

/* Cut at each of many bytes: whatever was on its way then is there once, and in order. */
static void what_is_cut_off_is_there_once(void **state)
{
    struct fixture *f = *state;
    struct fixture direct;
    srandom(7);
    pg_proxy_start();
    fixture_open(f);
    struct hocket__store_claim claim = fixture_put(f, RUN_1);
    assert_int_equal(fixture_commit(f, &claim, HOCKET__STORE_WRITTEN), 0);
    uint64_t n = 0;
    int rounds = getenv("HOCKET_TORTURE") ? 2000 : 40;
    for (int i = 0; i < rounds; i++) {
        char id[16];
        int64_t size = commit_three(f, &claim, &n);
        pg_proxy.left = cut_in(size, i);
        commit_three(f, &claim, &n);
        snprintf(id, sizeof(id), "m%d", i);
        pg_proxy.left = random() % 900;
        assert_int_equal(pg_message(f, RUN_1, id, STR("{}")), 0);
        if (i % 10 == 0) {
            hocket__store_release(f->s, &claim);
            pg_proxy.left = random() % 2500;
            assert_int_equal(pg_take(f, RUN_1, &claim), 0);
        }
    }
    pg_proxy.left = -1;
    assert_int_equal(f->news[HOCKET__STORE_REFUSED], 0);
    assert_int_equal(f->news[HOCKET__STORE_BROKEN], 0);
    assert_true(pg_proxy.cuts > (size_t) rounds / 2);
    pg_assert_entries(f, RUN_1, n);
    struct hocket__store_reply r = fixture_reply(f);
    assert_int_equal(fixture_answer(f, hocket__store_messages(f->s, STR(RUN_1), &r, NULL)), 0);
    assert_int_equal(f->count, rounds);
    fixture_close(f);
    pg_proxy_end();
    fixture_init(&direct, &pg_kind);
    fixture_open(&direct);
    assert_int_equal(pg_care(&direct, HOCKET__STORE_CHECK), 0);
    for (size_t i = 0; i < direct.count; i++)
        assert_true(hocket__str_is(fixture_row(&direct, i).message.id, "warning"));
    fixture_deinit(&direct);
}

/* An answer that was a run is no run lost: this store asks again, and has it. */
static void what_is_taken_and_cut_off_is_had(void **state)
{
    struct fixture *f = *state;
    struct fixture direct;
    struct hocket__store_claim claim;
    int rounds = getenv("HOCKET_TORTURE") ? 1000 : 40;
    srandom(11);
    fixture_init(&direct, &pg_kind);
    fixture_open(&direct);
    for (int i = 0; i <= rounds; i++)
        pg_submit(&direct, i);
    assert_int_equal(fixture_commit(&direct, NULL, HOCKET__STORE_WRITTEN), 0);
    pg_proxy_start();
    fixture_open(f);
    assert_true(pg_take_next(f, &claim)); /* its statements are known */
    int64_t size = pg_proxy.passed;
    assert_true(pg_take_next(f, &claim));
    size = pg_proxy.passed - size;
    for (int i = 2; i <= rounds; i++) {
        pg_proxy.left = cut_in(size, i);
        assert_true(pg_take_next(f, &claim));
        fixture_append(f, &claim, 1);
        assert_int_equal(fixture_commit(f, &claim, HOCKET__STORE_WRITTEN), 0);
    }
    assert_false(pg_take_next(f, &claim));
    assert_true(pg_proxy.cuts > (size_t) rounds / 4);
    assert_int_equal(f->news[HOCKET__STORE_REFUSED], 0);
    pg_proxy.left = -1;
    fixture_close(f);
    pg_proxy_end();
    fixture_deinit(&direct);
}

/* The version goes up by one each time, and each time there is a run more. */
static void an_item_that_is_cut_off_is_put_once(void **state)
{
    struct fixture *f = *state;
    struct hocket__store_claim claim;
    int64_t version = 0, size = 0;
    int rounds = getenv("HOCKET_TORTURE") ? 1000 : 40;
    srandom(13);
    pg_proxy_start();
    fixture_open(f);
    for (int i = 0; i < rounds; i++) {
        char json[16];
        snprintf(json, sizeof(json), "%06d", i);
        struct hocket__store_run run = fixture_run("01KANC3V0QZJ9E4W2X6T000000");
        snprintf(run.id, sizeof(run.id), "01KANC3V0QZJ9E4W2X6T%06u", (unsigned) i % 1000000u);
        run.state = HOCKET__STORE_QUEUED;
        run.pool = STR("default");
        struct hocket__store_item item = { .kind = STR("k"), .id = STR("i"), .json = STR(json) };
        struct hocket__store_reply r = fixture_reply(f);
        int64_t before = pg_proxy.passed, last = version;
        pg_proxy.left = i > 2 ? cut_in(size, i) : -1;
        assert_int_equal(
            fixture_answer(f, hocket__store_item_put(f->s, &item, version, &run, &r, NULL)), 0);
        version = fixture_row(f, 0).item.version;
        assert_true(last == 0 || version == last + 1);
        size = i > 2 ? size : pg_proxy.passed - before;
    }
    pg_proxy.left = -1;
    for (int i = 0; i < rounds; i++)
        assert_true(pg_take_next(f, &claim));
    assert_false(pg_take_next(f, &claim));
    assert_true(pg_proxy.cuts > (size_t) rounds / 4);
    fixture_close(f);
    pg_proxy_end();
}

/* A server that crashed may give the number of a transaction that it has lost to the next one, whose end is not ours. */
static void a_number_that_is_given_again_is_not_ours(void **state)
{
    struct fixture *f = *state;
    uint64_t n = 0;
    pg_sql("ALTER SYSTEM SET wal_writer_delay = '10s'"); /* so that it is lost */
    pg_sql("SELECT pg_reload_conf()");
    pg_proxy_start();
    fixture_open(f);
    struct hocket__store_claim claim = fixture_put(f, RUN_1);
    commit_three(f, &claim, &n);
    pg_proxy.holds = true;
    pg_proxy.left = commit_three(f, &claim, &n) * 6 / 10; /* not up to the COMMIT */
    fixture_entries(f, &claim, n + 1, 3);
    struct hocket__store_reply r = fixture_reply(f); /* they are written before it is asked */
    assert_int_equal(hocket__store_find(f->s, STR(RUN_1), &r, NULL), 0);
    while (!pg_proxy.is_holding)
        uv_run(&f->loop, UV_RUN_NOWAIT);
    pg_control("stop QUIT");
    pg_control("start");
    for (int i = 0; i < 5; i++)
        pg_sql("UPDATE meta SET value = value");
    pg_proxy.holds = false;
    fixture_until(f, &f->done);
    pg_assert_entries(f, RUN_1, n + 3);
    n += 3;
    commit_three(f, &claim, &n);
    assert_int_equal(f->news[HOCKET__STORE_REFUSED], 0);
    pg_assert_entries(f, RUN_1, n);
    fixture_close(f);
    pg_proxy_end();
    pg_sql("ALTER SYSTEM RESET wal_writer_delay");
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, pg_setup, pg_teardown)
    const struct CMUnitTest tests[] = {
        TEST(what_is_cut_off_is_there_once),
        TEST(what_is_taken_and_cut_off_is_had),
        TEST(an_item_that_is_cut_off_is_put_once),
        TEST(a_number_that_is_given_again_is_not_ours),
    };
    return pg_server() ? cmocka_run_group_tests(tests, NULL, NULL) : 77;
}

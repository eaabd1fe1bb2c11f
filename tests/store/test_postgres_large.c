/* What is asked of a database that holds much: it costs what it concerns, and not what else is there. */
#include "store/pg.h"

#include <stdlib.h>

#define STR(s) hocket__cstr(s)
#define DAY    (INT64_C(24) * 3600 * 1000)

/* Ids of both begin differently; each run of the first kind ended long ago, and both have files of their own and of others. */
#define RUNS(id, n, changed, name)                                                                 \
    "INSERT INTO runs(id, target, input, options, generation, version, seed, state, created_ms,"   \
    " updated_ms, pool) SELECT '" id "' || lpad(i::text, 8, '0'), 't', '', '{}', '" id             \
    "' || lpad(i::text, 8, '0') || '," name "', '1', '', 'done', 1, " changed                      \
    ", 'default' FROM generate_series(1, " #n ") i;"
#define OLD   "01KANC3V0QZJ9E4W2X"
#define YOUNG "01KBNC3V0QZJ9E4W2X"
#define NOW   "(extract(epoch FROM clock_timestamp()) * 1000)::bigint"
#define FILES                                                                                      \
    "INSERT INTO texts(hash, text) VALUES('\\x01', 'a');"                                          \
    "INSERT INTO files SELECT unnest(string_to_array(generation, ',')), 'a', 'h', no"              \
    " FROM (SELECT DISTINCT generation FROM runs) r, texts ON CONFLICT DO NOTHING;"

static void begin(struct fixture *f)
{
    fixture_open(f);
    assert_int_equal(fixture_commit(f, NULL, HOCKET__STORE_WRITTEN), 0);
    assert_int_equal(pg_care(f, HOCKET__STORE_INFO), 0); /* it has its tables */
}

static int vacuum(struct fixture *f)
{
    struct hocket__store_reply r = fixture_reply(f);
    struct hocket__store_maintenance c = { .what = HOCKET__STORE_VACUUM, .max_age_ms = DAY };
    return fixture_answer(f, hocket__store_maintain(f->s, &c, &r, NULL));
}

/* What a session has read is told when it ends. */
static void expect(struct fixture *f, const char *sql)
{
    char script[1024];
    if (f->s)
        fixture_close(f);
    snprintf(script, sizeof(script), "DO $$ BEGIN ASSERT (%s), 'not so'; END $$", sql);
    pg_sql(script);
}

static void old_runs_go_in_one_pass(void **state)
{
    struct fixture *f = *state;
    begin(f);
    pg_sql(RUNS(YOUNG, 20000, NOW, "travel-1") RUNS(OLD, 100, "i", "travel-1")
            RUNS("01KAMC3V0QZJ9E4W2X", 100, "i", "travel-2") FILES
        "UPDATE runs f SET parent = p.no FROM runs p WHERE f.id = '" OLD "00000002'"
        " AND p.id = '" OLD "00000001';"
        "ANALYZE");
    assert_int_equal(vacuum(f), 0);
    expect(f, "(SELECT count(*) FROM runs WHERE removed = 0) = 20000 AND (SELECT count(*) FROM "
              "files) = 20001"
              " AND EXISTS (SELECT 1 FROM files WHERE generation = 'travel-1')");
    expect(f, "(SELECT sum(seq_tup_read) FROM pg_stat_user_tables WHERE relname = 'runs'"
              " AND schemaname = current_schema) < 20 * 20000");
}

/* ---- Messages ------------------------------------------------------------------------------------ */

#define LONG_AGO                                                                                   \
    "INSERT INTO messages(run, id, at_ms) SELECT no, i::text, 1 FROM runs, generate_series(1, "    \
    "20000) i;"

static void messages_that_were_taken_are_not_read(void **state)
{
    struct fixture *f = *state;
    struct hocket__store_claim claim;
    begin(f);
    pg_submit(f, 1);
    assert_int_equal(fixture_commit(f, NULL, HOCKET__STORE_WRITTEN), 0);
    pg_sql(LONG_AGO "DROP INDEX IF EXISTS messages_open; ANALYZE messages");
    fixture_close(f); /* as hocket made it at first */
    fixture_open(f);
    assert_true(pg_take_next(f, &claim));
    assert_int_equal(pg_message(f, claim.id, "q", STR("{}")), 0);
    for (int i = 0; i < 10; i++) {
        struct hocket__store_reply r = fixture_reply(f);
        assert_int_equal(fixture_answer(f, hocket__store_spoken(f->s, &r, NULL)), 0);
        assert_int_equal(f->count, 1);
        r = fixture_reply(f);
        assert_int_equal(
            fixture_answer(f, hocket__store_messages(f->s, STR(claim.id), &r, NULL)), 0);
        assert_int_equal(f->count, 1);
    }
    assert_int_equal(hocket__store_message_del(f->s, &claim, STR("q")), 0);
    assert_int_equal(hocket__store_release(f->s, &claim), 0);
    assert_int_equal(fixture_commit(f, &claim, HOCKET__STORE_WRITTEN), 0);
    expect(f, "(SELECT sum(seq_tup_read) + sum(idx_tup_fetch) FROM pg_stat_user_tables"
              " WHERE relname = 'messages' AND schemaname = current_schema) < 2 * 20000");
}

/* Who may not make an index does without. */
static void a_worker_makes_no_index(void **state)
{
    struct fixture *f = *state;
    struct fixture worker;
    char role[64], script[128];
    begin(f);
    snprintf(role, sizeof(role), "worker_%s", pg_schema);
    snprintf(script, sizeof(script), "CREATE ROLE %s LOGIN", role);
    pg_sql(script);
    struct hocket__store_reply r = fixture_reply(f);
    struct hocket__store_maintenance care = {
        .what = HOCKET__STORE_GRANT, .worker = STR(role), .reader = STR("")
    };
    assert_int_equal(fixture_answer(f, hocket__store_maintain(f->s, &care, &r, NULL)), 0);
    pg_sql("DROP INDEX messages_open");
    fixture_init(&worker, &pg_kind);
    pg_user = role;
    begin(&worker);
    fixture_deinit(&worker);
    pg_user = "hocket";
    expect(f, "to_regclass('messages_open') IS NULL");
    begin(f);
    expect(f, "to_regclass('messages_open') IS NOT NULL");
}

/* ---- Lists --------------------------------------------------------------------------------------- */

enum { LONG_ONES = 30 };

/* Of a MiB each: calls have all that was said before, and pictures. */
static void make_long_ones(struct fixture *f)
{
    begin(f);
    fixture_close(f);
    pg_sql(RUNS(OLD, 30, "i",
        "travel-1") "UPDATE runs SET state = 'queued', caller = id, input = repeat('x', 1000000);"
                    "INSERT INTO items SELECT 'k', id, 1, 0, 0, NULL, repeat('x', 1000000) FROM "
                    "runs;"
                    "ANALYZE");
    pg_proxy_start();
    fixture_open(f);
}

/* Bytes that one piece of an answer is, or all, of so many rows. */
static int64_t passed(struct fixture *f, int rc, bool all, size_t n)
{
    int64_t before = pg_proxy.passed;
    f->stop_after = all ? 0 : 1;
    assert_int_equal(fixture_answer(f, rc), all ? 0 : HOCKET_ECANCELLED);
    assert_int_equal(f->count, all ? n : 1);
    return pg_proxy.passed - before;
}

static void lists_come_in_pieces_of_so_many_bytes(void **state)
{
    struct fixture *f = *state;
    struct hocket__store_filter of_pool = { .pool = STR("default") }, few = { .limit = 7 },
                                of_caller = { .caller = STR(OLD "00000003") };
    make_long_ones(f);
    struct hocket__store_reply r = fixture_reply(f);
    assert_in_range(
        passed(f, hocket__store_blocked(f->s, 100, &r, NULL), true, LONG_ONES), 1, 100000);
    for (int all = 0; all < 2; all++) {
        size_t most = all ? 40000000 : 4000000;
        r = fixture_reply(f);
        assert_in_range(
            passed(f, hocket__store_runs(f->s, &of_pool, &r, NULL), all, LONG_ONES), 1, most);
        if (all)
            assert_string_equal(fixture_row(f, 29).run.id, OLD "00000001");
        r = fixture_reply(f);
        assert_in_range(passed(f, hocket__store_runs(f->s, &few, &r, NULL), all, 7), 1, most);
        r = fixture_reply(f);
        assert_in_range(passed(f, hocket__store_runs(f->s, &of_caller, &r, NULL), all, 1), 1, most);
        r = fixture_reply(f);
        assert_in_range(
            passed(f, hocket__store_items(f->s, STR("k"), STR(""), &r, NULL), all, LONG_ONES), 1,
            most);
    }
    f->stop_after = 0;
    fixture_close(f);
    pg_proxy_end();
    fixture_open(f);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, pg_setup, pg_teardown)
    const struct CMUnitTest tests[] = {
        TEST(old_runs_go_in_one_pass),
        TEST(messages_that_were_taken_are_not_read),
        TEST(a_worker_makes_no_index),
        TEST(lists_come_in_pieces_of_so_many_bytes),
    };
    return pg_server() ? cmocka_run_group_tests(tests, NULL, NULL) : 77;
}

/* Workers of one database, as far as they are not as with any store: what they hear of each other, whose clock it is, whose
 * role, and tables of before there were workers. */
#include "store/pg.h"
#include "store/store_impl.h"

#include <stdlib.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define STR(s) hocket__cstr(s)
#define HOUR   (INT64_C(3600) * 1000)

/* ---- Hearing ------------------------------------------------------------------------------------- */

static void until_changed(struct fixture *f)
{
    while (f->news[HOCKET__STORE_CHANGED] == 0)
        assert_int_equal(fixture_commit(f, NULL, HOCKET__STORE_WRITTEN), 0);
}

/* Looks as long as there is news of the tables being made, or of the other listener: then nothing more is told by itself. */
static void watch(struct fixture *f)
{
    fixture_open(f);
    hocket__store_watch(f->s, true);
    until_changed(f);
}

static void all_watchers_are_notified(void **state)
{
    struct fixture *f = *state;
    struct fixture two, writer;
    char script[64];
    fixture_init(&two, &pg_kind);
    fixture_init(&writer, &pg_kind);
    fixture_open(&writer);
    watch(f);
    watch(&two);
    snprintf(script, sizeof(script), "NOTIFY \"%s\"", pg_schema);
    for (int i = 0; i < 3; i++) {
        f->news[HOCKET__STORE_CHANGED] = two.news[HOCKET__STORE_CHANGED] = 0;
        pg_sql(script);
        until_changed(f);
        until_changed(&two);
    }
    /* A notification while a listener has no session is lost; that something was written is not. */
    f->news[HOCKET__STORE_CHANGED] = two.news[HOCKET__STORE_CHANGED] = 0;
    pg_sql(PG_CUT_ALL);
    pg_submit(&writer, 1);
    assert_int_equal(fixture_commit(&writer, NULL, HOCKET__STORE_WRITTEN), 0);
    until_changed(f);
    until_changed(&two);
    struct hocket__store_claim claim;
    assert_true(pg_take_next(&two, &claim));
    assert_false(pg_take_next(f, &claim));
    fixture_deinit(&two);
    fixture_deinit(&writer);
}

/* One that needs quotes in a statement of SQL. */
static void watchers_of_a_schema_named_like_sql_are_notified(void **state)
{
    strcpy(pg_schema, "user");
    all_watchers_are_notified(state);
}

/* Who may only look hears as well, and takes nothing. */
static void a_reader_is_notified(void **state)
{
    struct fixture *f = *state;
    struct fixture reader;
    char role[64], script[128];
    fixture_open(f);
    snprintf(role, sizeof(role), "reader_%s", pg_schema);
    snprintf(script, sizeof(script), "CREATE ROLE %s LOGIN", role);
    pg_sql(script);
    struct hocket__store_reply r = fixture_reply(f);
    struct hocket__store_maintenance care = {
        .what = HOCKET__STORE_GRANT, .worker = STR(""), .reader = STR(role)
    };
    assert_int_equal(fixture_answer(f, hocket__store_maintain(f->s, &care, &r, NULL)), 0);
    fixture_init(&reader, &pg_kind);
    pg_user = role;
    watch(&reader);
    reader.news[HOCKET__STORE_CHANGED] = 0;
    pg_submit(f, 1);
    assert_int_equal(fixture_commit(f, NULL, HOCKET__STORE_WRITTEN), 0);
    until_changed(&reader);
    r = fixture_reply(&reader);
    assert_int_equal(
        fixture_answer(&reader, hocket__store_take_next(reader.s, STR("default"), 1, &r, NULL)),
        HOCKET_EDENIED);
    pg_user = "hocket";
    assert_int_equal(reader.news[HOCKET__STORE_BROKEN], 0);
    struct hocket__store_claim claim;
    assert_true(pg_take_next(f, &claim));
    fixture_deinit(&reader);
}

/* ---- Clocks --------------------------------------------------------------------------------------- */

static _Atomic int64_t wrong_ms; /* by which the clock of this machine is wrong */
static _Atomic int64_t ahead_ms; /* by which the server's has been put forward, as seen from here */

/* For all of this program. */
int clock_gettime(clockid_t id, struct timespec *t)
{
    int rc = (int) syscall(SYS_clock_gettime, id, t);
    if (id == CLOCK_REALTIME)
        t->tv_sec += wrong_ms / 1000;
    if (id == CLOCK_BOOTTIME)
        t->tv_sec -= ahead_ms / 1000;
    return rc;
}

/* A run of another machine, whose lease ends so long after the server's now. */
static void another_has(const char *id, int64_t lease_ms)
{
    char script[512];
    snprintf(script, sizeof(script),
        "UPDATE runs SET owner_pid = 7, owner_place = 'another machine', owner_host = 'x', "
        "owner_start = 1,"
        " owner_store = 1, owner_since_ms = 1, state = 'running',"
        " lease_ms = (extract(epoch FROM clock_timestamp()) * 1000)::bigint + %lld WHERE id = '%s'",
        (long long) lease_ms, id);
    pg_sql(script);
}

/* Those of all runs that this process has: about the server's now, and not an hour off. */
static void leases_are_right(void)
{
    char script[512];
    snprintf(script, sizeof(script),
        "DO $$ BEGIN ASSERT NOT EXISTS (SELECT 1 FROM runs WHERE owner_pid = %d AND abs(lease_ms"
        " - extract(epoch FROM clock_timestamp()) * 1000) > 1800000), 'a wrong lease'; END $$",
        (int) getpid());
    pg_sql(script);
}

/* Put right, or wrong, while it works. */
static void the_clock_is_the_servers(void **state)
{
    struct fixture *f = *state;
    struct hocket__store_claim claim;
    f->o.lease_ms = 600000;
    fixture_open(f);
    pg_submit(f, 0);
    assert_int_equal(fixture_commit(f, NULL, HOCKET__STORE_WRITTEN), 0);
    for (int i = 1; i <= 4; i++) {
        wrong_ms = i % 2 ? HOUR : -HOUR;
        if (i > 2) { /* wrong from the beginning */
            fixture_close(f);
            fixture_open(f);
        }
        pg_submit(f, i);
        assert_int_equal(fixture_commit(f, NULL, HOCKET__STORE_WRITTEN), 0);
        leases_are_right(); /* of one that was put */
        assert_true(pg_take_next(f, &claim));
        leases_are_right(); /* and taken */
        const char *id = claim.id;
        assert_int_equal(hocket__store_release(f->s, &claim), 0);
        assert_int_equal(fixture_commit(f, &claim, HOCKET__STORE_WRITTEN), 0);
        another_has(id, HOUR / 2);
        assert_int_equal(pg_take(f, id, &claim), HOCKET_ESTATE);
        another_has(id, -1000);
        assert_int_equal(pg_take(f, id, &claim), 0);
        leases_are_right();
    }
    wrong_ms = 0;
}

/* And what is renewed is not over by it. */
static void a_renewed_lease_is_the_servers(void **state)
{
    struct fixture *f = *state;
    struct hocket__store_claim claim;
    f->o.lease_ms = 300; /* renewed three times as often */
    fixture_open(f);
    claim = fixture_put(f, RUN_1);
    assert_int_equal(fixture_commit(f, &claim, HOCKET__STORE_WRITTEN), 0);
    for (int i = 0; i < 2; i++) {
        wrong_ms = i ? HOUR : -HOUR;
        pg_sql("UPDATE runs SET lease_ms = 1"); /* till it is renewed */
        pg_sql("DO $$ BEGIN FOR i IN 1..3000 LOOP EXIT WHEN EXISTS (SELECT 1 FROM runs WHERE "
               "lease_ms > 1);"
               " PERFORM pg_sleep(0.02); END LOOP; END $$");
        leases_are_right();
    }
    wrong_ms = 0;
}

/* It is put off by the clock of a worker: the pause is as long by that of the server. */
static void what_is_put_off_comes_by_the_servers_clock(void **state)
{
    struct fixture *f = *state;
    struct hocket__store_claim claim;
    fixture_open(f);
    for (int i = 0; i < 3; i++) {
        wrong_ms = (i - 1) * HOUR;
        pg_submit(f, i);
        assert_int_equal(fixture_commit(f, NULL, HOCKET__STORE_WRITTEN), 0);
        assert_true(pg_take_next(f, &claim));
        struct hocket__store_run row = { .state = HOCKET__STORE_QUEUED, .pool = STR("default") };
        struct hocket__store_options here = { 0 };
        row.due_ms = hocket__store_wall_ms(&here) + HOUR / 4;
        unsigned set = HOCKET__STORE_SET_STATE | HOCKET__STORE_SET_QUEUE;
        hocket__store_update(f->s, &claim, set, &row);
        hocket__store_release(f->s, &claim);
        assert_int_equal(fixture_commit(f, &claim, HOCKET__STORE_WRITTEN), 0);
    }
    wrong_ms = 0;
    pg_sql(
        "DO $$ BEGIN ASSERT (SELECT count(*) FROM runs WHERE abs(due_ms - 900000"
        " - extract(epoch FROM clock_timestamp()) * 1000) < 600000) = 3, 'a wrong time'; END $$");
}

/* ---- Runs that were altered --------------------------------------------------------------------------- */

static void alter(struct fixture *f, int runs, const char *which)
{
    char script[128];
    for (int i = 1; i <= runs; i++)
        pg_submit(f, i);
    assert_int_equal(fixture_commit(f, NULL, HOCKET__STORE_WRITTEN), 0);
    snprintf(script, sizeof(script), "UPDATE runs SET target = 'rm -r' WHERE id %s", which);
    pg_sql(script);
}

static int take_several(struct fixture *f, size_t most)
{
    struct hocket__store_reply r = fixture_reply(f);
    return fixture_answer(f, hocket__store_take_next(f->s, STR("default"), most, &r, NULL));
}

/* A worker would act on its target and its options. Those behind it are taken all the same, and can be written. */
static void no_worker_gets_an_altered_run(void **state)
{
    struct fixture *f = *state;
    fixture_open(f);
    alter(f, 3, "~ '[13]$'");
    assert_int_equal(take_several(f, 3), 0);
    assert_int_equal(f->count, 1);
    struct hocket__store_run run = fixture_row(f, 0).run;
    struct hocket__store_claim claim = { .fence = run.fence };
    memcpy(claim.id, run.id, sizeof(run.id));
    assert_int_equal(run.id[HOCKET__STORE_ID - 1], '2');
    fixture_append(f, &claim, 1);
    assert_int_equal(fixture_commit(f, &claim, HOCKET__STORE_WRITTEN), 0);
    assert_int_equal(take_several(f, 3), 0); /* they are put off */
    assert_int_equal(f->count, 0);
    assert_int_equal(pg_count("SELECT 1 FROM runs WHERE owner_pid = 0 AND state = 'queued'"
                              " AND due_ms > extract(epoch FROM clock_timestamp()) * 1000"),
        2);
}

/* However many there are, they hold up none; and where there are no others, one is named. */
static void altered_runs_hold_up_no_other(void **state)
{
    struct fixture *f = *state;
    struct hocket__store_claim claim;
    fixture_open(f);
    alter(f, 9, "!~ '9$'");
    assert_true(pg_take_next(f, &claim));
    assert_int_equal(claim.id[HOCKET__STORE_ID - 1], '9');
    pg_sql("UPDATE runs SET due_ms = 0 WHERE owner_pid = 0");
    assert_int_equal(take_several(f, 1), HOCKET_EPARSE);
    assert_non_null(strstr(f->error.message, "is damaged in the store"));
    assert_false(pg_take_next(f, &claim));
}

/* A lease's time may be another worker's, or have been made by a server whose clock was ahead. */
static void who_has_ended_here_is_seen_whatever_its_lease_says(void **state)
{
    struct fixture *f = *state;
    struct fixture other;
    struct hocket__store_claim claim;
    char script[128];
    pid_t pid = fork();
    if (pid == 0)
        _exit(0);
    assert_int_equal(waitpid(pid, NULL, 0), pid);
    fixture_init(&other, &pg_kind);
    fixture_open(&other);
    pg_submit(&other, 1);
    assert_int_equal(fixture_commit(&other, NULL, HOCKET__STORE_WRITTEN), 0);
    assert_true(pg_take_next(&other, &claim));
    snprintf(script, sizeof(script),
        "UPDATE runs SET owner_pid = %d, owner_start = 1, owner_store = 1,"
        " lease_ms = lease_ms + 86400000",
        (int) pid);
    pg_sql(script);
    fixture_open(f);
    assert_true(pg_take_next(f, &claim));
    fixture_deinit(&other);
}

/* Of one on another machine nobody knows more than that its lease is over; in the beginning not even that it is. */
static void who_is_lost_elsewhere_is_given_up_after_a_while(void **state)
{
    struct fixture *f = *state;
    struct hocket__store_claim claim;
    f->o.lease_ms = 300;
    fixture_open(f);
    pg_submit(f, 1);
    assert_int_equal(fixture_commit(f, NULL, HOCKET__STORE_WRITTEN), 0);
    another_has("01KANC3V0QZJ9E4W2X6T000001", -1000);
    while (!pg_take_next(f, &claim))
        uv_sleep(5);
}

/* By a clock that jumped leases are over whose owners are there; nobody has asked it since. */
static void a_server_put_forward_ends_no_leases(void **state)
{
    static const char *const ids[] = { "01KANC3V0QZJ9E4W2X6T000001", "01KANC3V0QZJ9E4W2X6T000002" };
    struct fixture *f = *state;
    struct hocket__store_claim claim;
    f->o.lease_ms = 3000;
    fixture_open(f);
    pg_submit(f, 1);
    pg_submit(f, 2);
    assert_int_equal(fixture_commit(f, NULL, HOCKET__STORE_WRITTEN), 0);
    another_has(ids[1], HOUR);
    another_has(ids[0], -1000);
    while (!pg_take_next(f, &claim)) /* as long as it knows nothing of what was before */
        uv_sleep(5);
    assert_string_equal(claim.id, ids[0]);
    assert_int_equal(hocket__store_release(f->s, &claim), 0);
    assert_int_equal(fixture_commit(f, &claim, HOCKET__STORE_WRITTEN), 0);
    pg_sql("UPDATE runs SET state = 'done' WHERE owner_pid = 0");
    ahead_ms = HOUR;
    another_has(ids[1], -HOUR / 2); /* which was half an hour ahead a moment ago */
    assert_false(pg_take_next(f, &claim));
    while (!pg_take_next(f, &claim)) /* its owner does not renew it */
        uv_sleep(5);
    ahead_ms = 0;
    assert_string_equal(claim.id, ids[1]);
}

/* ---- Before there were workers ------------------------------------------------------------------------------ */

static const enum hocket__store_state states[] = { HOCKET__STORE_RUNNING, HOCKET__STORE_WAITING,
    HOCKET__STORE_PARKED, HOCKET__STORE_DONE, HOCKET__STORE_FAILED, HOCKET__STORE_CANCELLED };
enum { STATES = sizeof(states) / sizeof(states[0]) };

static void id_of(int i, char id[HOCKET__STORE_ID + 1])
{
    snprintf(id, HOCKET__STORE_ID + 1, "01KANC3V0QZJ9E4W2X6T%06u", (unsigned) i % 1000000u);
}

/* As the one before made them. */
static void make_version_1(struct fixture *f)
{
    char id[HOCKET__STORE_ID + 1], text[2048];
    fixture_open(f);
    for (int i = 0; i < STATES; i++) {
        struct hocket__store_run r = { .state = states[i] };
        id_of(i, id);
        struct hocket__store_claim claim = fixture_put(f, id);
        fixture_entries(f, &claim, 1, 3);
        hocket__store_update(f->s, &claim, HOCKET__STORE_SET_STATE, &r);
        hocket__store_release(f->s, &claim);
    }
    assert_int_equal(fixture_commit(f, NULL, HOCKET__STORE_WRITTEN), 0);
    fixture_close(f);
    pg_sql("DROP INDEX runs_due; DROP INDEX runs_caller; DROP TABLE items; DROP TABLE limits;"
           "DROP TABLE leases; ALTER TABLE runs DROP COLUMN writes; DROP INDEX runs_generation;"
           "CREATE INDEX runs_generation ON runs(generation) WHERE generation IS NOT NULL;"
           "DROP INDEX IF EXISTS messages_open;"
           "ALTER TABLE entries DROP COLUMN sum; ALTER TABLE records DROP COLUMN sum;"
           "ALTER TABLE messages DROP COLUMN sum;"
           "UPDATE meta SET value = '1' WHERE name = 'version'");
    fixture_drop_columns(text, sizeof(text), 2);
    pg_sql(text);
}

/* Their runs are nobody's jobs, and may become some. */
static void tables_without_workers_are_migrated(void **state)
{
    struct fixture *f = *state;
    struct hocket__store_claim claim;
    char id[HOCKET__STORE_ID + 1];
    make_version_1(f);
    fixture_open(f);
    assert_false(pg_take_next(f, &claim));
    for (int i = 0; i < STATES; i++) {
        id_of(i, id);
        assert_int_equal(pg_message(f, id, "q", STR("{}")), 0);
        assert_int_equal(pg_find(f, id), 0);
        assert_int_equal(fixture_row(f, 0).run.state, states[i]);
    }
    assert_false(pg_take_next(f, &claim));
    for (int i = 0; i < STATES; i++) {
        struct hocket__store_run job = { .state = HOCKET__STORE_QUEUED, .pool = STR("default") };
        id_of(i, id);
        assert_int_equal(pg_take(f, id, &claim), 0);
        fixture_append(f, &claim, 4);
        hocket__store_update(f->s, &claim, HOCKET__STORE_SET_STATE | HOCKET__STORE_SET_QUEUE, &job);
        hocket__store_release(f->s, &claim);
        assert_true(pg_take_next(f, &claim));
        assert_string_equal(claim.id, id);
        pg_assert_entries(f, id, 4);
    }
    fixture_close(f);
    pg_sql("UPDATE meta SET value = '99' WHERE name = 'version'");
    fixture_open(f);
    assert_int_equal(fixture_commit(f, NULL, HOCKET__STORE_WRITTEN), HOCKET_EUNSUPPORTED);
    assert_non_null(strstr(f->error.message, "newer hocket (version 99"));
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, pg_setup, pg_teardown)
    const struct CMUnitTest tests[] = {
        TEST(all_watchers_are_notified),
        TEST(watchers_of_a_schema_named_like_sql_are_notified),
        TEST(a_reader_is_notified),
        TEST(the_clock_is_the_servers),
        TEST(a_renewed_lease_is_the_servers),
        TEST(what_is_put_off_comes_by_the_servers_clock),
        TEST(no_worker_gets_an_altered_run),
        TEST(altered_runs_hold_up_no_other),
        TEST(who_has_ended_here_is_seen_whatever_its_lease_says),
        TEST(who_is_lost_elsewhere_is_given_up_after_a_while),
        TEST(a_server_put_forward_ends_no_leases),
        TEST(tables_without_workers_are_migrated),
    };
    return pg_server() ? cmocka_run_group_tests(tests, NULL, NULL) : 77;
}

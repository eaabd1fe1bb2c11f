/* What a database can do to its store that a file cannot: a server that is killed and started again, texts that it would not
 * take, schemas of others; in a server of tests/support/postgres.sh. */
#include "store/pg.h"
#include "store/postgres/postgres_impl.h"
#include "store/postgres/schema.h"

#include <poll.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define STR(s) hocket__cstr(s)

/* ---- Addresses --------------------------------------------------------------------------------------- */

static void urls_are_shown_without_passwords(void **state)
{
    static const struct {
        const char *url, *conninfo, *shown, *schema;
    } good[] = {
        { "postgres://a@h/d", "postgres://a@h/d", "postgres://a@h/d", "hocket" },
        { "postgresql://h", "postgres://h", "postgres://h", "hocket" },
        { "postgres://", "postgres://", "postgres://", "hocket" },
        { "postgres://a:geheim@h:5/d?schema=x_1", "postgres://a:geheim@h:5/d",
            "postgres://a:***@h:5/d?schema=x_1", "x_1" },
        { "postgres://a:ge:he?im@h/d", "postgres://a:ge:he?im@h/d", "postgres://a:***@h/d",
            "hocket" },
        { "postgres://a@[::1]:5/d?password=geheim&sslmode=require&schema=s&options=geheim",
            "postgres://a@[::1]:5/d?password=geheim&sslmode=require&options=geheim",
            "postgres://a@[::1]:5/d?sslmode=require&schema=s", "s" },
        { "postgres://a:geheim@h1:1,h2:2/d?sslpassword=geheim",
            "postgres://a:geheim@h1:1,h2:2/d?sslpassword=geheim", "postgres://a:***@h1:1,h2:2/d",
            "hocket" },
    };
    static const char *const bad[] = { "postgres://a:ge@heim@h/d", "postgres://a:ge/heim@h/d",
        "postgres://h/d?schema=", "postgres://h/d?schema=A", "postgres://h/d?schema=a-b",
        "postgres://h/d?schema=pg_x", "postgres://h/d?schema=1a", "geheim" };
    char schema[HOCKET__PG_SCHEMA];
    (void) state;
    struct hocket_error err;
    struct hocket__buf conninfo, shown;
    hocket__buf_init(&conninfo, &hocket__malloc, 0);
    hocket__buf_init(&shown, &hocket__malloc, 0);
    for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++) {
        hocket__buf_reset(&conninfo);
        hocket__buf_reset(&shown);
        assert_int_equal(hocket__pg_url(good[i].url, &conninfo, &shown, schema, &err), 0);
        assert_string_equal(conninfo.data, good[i].conninfo);
        assert_string_equal(shown.data, good[i].shown);
        assert_string_equal(schema, good[i].schema);
    }
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        assert_int_equal(hocket__pg_url(bad[i], &conninfo, &shown, schema, &err), HOCKET_EINVAL);
        assert_null(strstr(err.message, "heim"));
    }
    hocket__buf_deinit(&conninfo);
    hocket__buf_deinit(&shown);
}

/* What libpq says of a URL may repeat a part of it. */
static void wrong_urls_are_not_repeated(void **state)
{
    struct fixture *f = *state;
    static const char *const bad[] = { "postgres://a:geheim%zz@h/d", "postgres://h/d?geheim=1",
        "postgres://h:geheim/d" };
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        struct hocket_error err = { 0 };
        struct hocket__store_options o = f->o;
        o.path = bad[i];
        assert_int_equal(hocket__store_postgres_open(&o, &f->s, &err), HOCKET_EINVAL);
        assert_null(strstr(err.message, "geheim"));
    }
}

/* ---- Texts ---------------------------------------------------------------------------------------------- */

static void any_bytes_survive(void **state)
{
    static const char *const texts[] = { "\xff\xfe",
        "\001"
        "plain",
        "\xc3", "\xed\xa0\x80", "'; DROP TABLE runs; --", "\\x00", "\xf4\x8f\xbf\xbf" };
    struct fixture *f = *state;
    fixture_open(f);
    struct hocket__store_claim claim = fixture_put(f, RUN_1);
    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
        char id[8], with_nul[32] = "";
        size_t n = strlen(texts[i]);
        memcpy(with_nul + 2, texts[i], n); /* two NULs before it */
        struct hocket__str s = hocket__str(with_nul + (i % 2 ? 0 : 2), n + (i % 2 ? 2 : 0));
        struct hocket__store_entry e = fixture_entry(i + 1, "");
        struct hocket__store_record r = { i + 1, s };
        struct hocket__store_file file = { STR("g"), hocket__str(s.p, s.n), STR("h"), s };
        struct hocket__store_run change = { .waiting_for = s };
        e.name = e.value = s;
        snprintf(id, sizeof(id), "m%zu", i);
        assert_int_equal(hocket__store_append(f->s, &claim, &e), 0);
        assert_int_equal(hocket__store_record(f->s, &claim, &r), 0);
        assert_int_equal(hocket__store_file(f->s, &file), 0);
        assert_int_equal(
            hocket__store_update(f->s, &claim, HOCKET__STORE_SET_WAITING_FOR, &change), 0);
        assert_int_equal(pg_message(f, RUN_1, id, s), 0);
        assert_int_equal(pg_find(f, RUN_1), 0);
        assert_true(hocket__str_eq(fixture_row(f, 0).run.waiting_for, s));
        struct hocket__store_reply reply = fixture_reply(f);
        assert_int_equal(
            fixture_answer(f, hocket__store_entries(f->s, STR(RUN_1), i + 1, &reply, NULL)), 0);
        assert_true(hocket__str_eq(fixture_row(f, 0).entry.value, s));
        assert_true(hocket__str_eq(fixture_row(f, 0).entry.name, s));
        reply = fixture_reply(f);
        assert_int_equal(
            fixture_answer(f, hocket__store_records(f->s, STR(RUN_1), i + 1, &reply, NULL)), 0);
        assert_true(hocket__str_eq(fixture_row(f, 0).record.json, s));
        reply = fixture_reply(f);
        assert_int_equal(fixture_answer(f, hocket__store_files(f->s, STR("g"), &reply, NULL)), 0);
        assert_int_equal(f->count, i + 1);
    }
}

/* Nobody of ours has written it: it is read as something, however it ends. */
static void what_is_written_wrongly_is_read(void **state)
{
    static const char *const wrong[] = { "\\x01", "\\x0121", "\\x012121", "\\x012f3a7f",
        "\\x01c3bfc3bf" };
    static const size_t lengths[] = { 0, 0, 1, 1, 2 };
    struct fixture *f = *state;
    fixture_open(f);
    struct hocket__store_claim claim = fixture_put(f, RUN_1);
    assert_int_equal(fixture_commit(f, &claim, HOCKET__STORE_WRITTEN), 0);
    for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
        char script[128];
        snprintf(script, sizeof(script),
            "UPDATE runs SET sum_set = NULL, waiting_for = convert_from('%s'::bytea, 'UTF8')",
            wrong[i]);
        pg_sql(script);
        assert_int_equal(pg_find(f, RUN_1), 0);
        assert_int_equal(fixture_row(f, 0).run.waiting_for.n, lengths[i]);
    }
}

/* Two stores let the same long text go and put it, again and again. */
static void long_texts_are_shared_and_go_with_the_last(void **state)
{
    struct fixture *f = *state;
    struct fixture other;
    fixture_init(&other, &pg_kind);
    fixture_open(f);
    fixture_open(&other);
    char *big = malloc(20001);
    memset(big, 'x', 20000);
    big[20000] = 0;
    for (int i = 0; i < 20; i++) {
        struct fixture *one = i % 2 ? f : &other;
        const char *id = i % 2 ? RUN_1 : RUN_2;
        struct hocket__store_claim claim = fixture_put(one, id);
        struct hocket__store_entry e = fixture_entry(1, big);
        assert_int_equal(hocket__store_append(one->s, &claim, &e), 0);
        hocket__store_release(one->s, &claim);
        pg_assert_entries(one, id, 1);
        struct hocket__store_reply r = fixture_reply(one);
        assert_int_equal(fixture_answer(one, hocket__store_remove(one->s, STR(id), &r, NULL)), 0);
    }
    free(big);
    fixture_close(&other); /* a run that it sweeps just now would be passed over */
    fixture_deinit(&other);
    assert_int_equal(pg_care(f, HOCKET__STORE_VACUUM), 0);
    pg_sql("DO $$ BEGIN ASSERT (SELECT count(*) FROM texts) = 0, 'texts are left';"
           " ASSERT (SELECT count(*) FROM runs WHERE removed < 2) = 0, 'runs are left'; END $$");
}

/* ---- Connections ------------------------------------------------------------------------------------------- */

/* Anything but a notification is seen by what was written: so one is sent that comes with nothing. */
static void gives_and_takes_hints(void **state)
{
    struct fixture *f = *state;
    struct fixture other;
    char script[64];
    fixture_init(&other, &pg_kind);
    fixture_open(f);
    fixture_open(&other);
    hocket__store_watch(f->s, true);
    for (int i = 0; i < 3; i++) { /* the first look says that all is new, and listens */
        f->news[HOCKET__STORE_CHANGED] = 0;
        snprintf(script, sizeof(script), "NOTIFY %s", pg_schema);
        while (f->news[HOCKET__STORE_CHANGED] == 0) {
            pg_sql(script);
            assert_int_equal(fixture_commit(f, NULL, HOCKET__STORE_WRITTEN), 0);
        }
    }
    f->news[HOCKET__STORE_CHANGED] = 0;
    pg_submit(f, 1); /* it is told of what itself has queued */
    while (f->news[HOCKET__STORE_CHANGED] == 0)
        assert_int_equal(fixture_commit(f, NULL, HOCKET__STORE_WRITTEN), 0);
    hocket__store_watch(f->s, false);
    pg_sql(script); /* nobody watches: it is heard, and the thread sleeps on */
    fixture_deinit(&other);
}

static void a_session_that_was_ended_is_made_anew(void **state)
{
    struct fixture *f = *state;
    fixture_open(f);
    struct hocket__store_claim claim = fixture_put(f, RUN_1);
    for (uint64_t n = 1; n <= 10; n++) {
        fixture_append(f, &claim, n);
        assert_int_equal(fixture_commit(f, &claim, HOCKET__STORE_WRITTEN), 0);
        pg_sql(PG_CUT_ALL);
        assert_int_equal(pg_find(f, RUN_1), 0);
    }
    pg_assert_entries(f, RUN_1, 10);
}

static bool is_told(const struct fixture *f, enum hocket__store_news news)
{
    return f->news[news] > 0;
}

static void until_news(struct fixture *f, enum hocket__store_news news)
{
    while (!is_told(f, news))
        uv_run(&f->loop, UV_RUN_ONCE);
}

/* What is handed over while it is away is there when it is back, and it is said once. */
static void a_server_may_be_away(void **state)
{
    struct fixture *f = *state;
    fixture_open(f);
    struct hocket__store_claim claim = fixture_put(f, RUN_1);
    fixture_append(f, &claim, 1);
    assert_int_equal(fixture_commit(f, &claim, HOCKET__STORE_WRITTEN), 0);
    pg_control("stop QUIT");
    fixture_append(f, &claim, 2);
    struct hocket__store_reply r = fixture_reply(f); /* keeps the loop alive */
    assert_int_equal(hocket__store_find(f->s, STR(RUN_1), &r, NULL), 0);
    until_news(f, HOCKET__STORE_PAUSED);
    assert_non_null(strstr(f->news_error.message, "postgres://hocket@/test"));
    fixture_append(f, &claim, 3);
    pg_control("start");
    fixture_until(f, &f->done);
    assert_int_equal(f->status, 0);
    assert_int_equal(fixture_commit(f, &claim, HOCKET__STORE_SYNCED), 0);
    pg_assert_entries(f, RUN_1, 3);
    assert_int_equal(f->news[HOCKET__STORE_PAUSED], 1);
    assert_int_equal(f->news[HOCKET__STORE_GOING], 1);
}

/* Closing does not wait for a server that is away. */
static void closing_does_not_wait_for_the_server(void **state)
{
    struct fixture *f = *state;
    fixture_open(f);
    struct hocket__store_claim claim = fixture_put(f, RUN_1);
    assert_int_equal(fixture_commit(f, &claim, HOCKET__STORE_WRITTEN), 0);
    pg_control("stop QUIT");
    fixture_append(f, &claim, 1);
    fixture_close(f);
    pg_control("start");
}

static struct hocket__store_call *speak(struct fixture *f, const char *id)
{
    struct hocket__store_message m = { STR(id), 17, STR("{}") };
    struct hocket__store_reply r = { 0 };
    struct hocket__store_call *call;
    assert_int_equal(hocket__store_message(f->s, STR(RUN_1), &m, &r, &call), 0);
    return call;
}

/* Neither what was tried already nor what was next: who asked was told that it failed. */
static void what_is_given_up_is_not_done_later(void **state)
{
    struct fixture *f = *state;
    fixture_open(f);
    fixture_put(f, RUN_1);
    assert_int_equal(fixture_commit(f, NULL, HOCKET__STORE_WRITTEN), 0);
    pg_control("stop QUIT");
    struct hocket__store_call *calls[] = { speak(f, "tried"), speak(f, "next") };
    for (int i = 0; i < 100; i++) {
        uv_run(&f->loop, UV_RUN_NOWAIT);
        uv_sleep(1);
    }
    for (size_t i = 0; i < sizeof(calls) / sizeof(calls[0]); i++)
        hocket__store_give_up(f->s, calls[i]);
    pg_control("start");
    assert_int_equal(pg_message(f, RUN_1, "said", STR("{}")), 0);
    assert_int_equal(pg_count("SELECT 1 FROM messages"), 1);
}

/* ---- Claims ----------------------------------------------------------------------------------------------- */

/* One that was stopped past its lease writes nothing more. */
static void a_lost_claim_writes_nothing(void **state)
{
    struct fixture *f = *state;
    struct fixture other;
    struct hocket__store_claim claim, theirs;
    fixture_init(&other, &pg_kind);
    f->now = 1000000;
    other.now = 1000000 + 60001;
    fixture_open(f);
    fixture_open(&other);
    claim = fixture_put(f, RUN_1);
    fixture_append(f, &claim, 1);
    assert_int_equal(fixture_commit(f, &claim, HOCKET__STORE_WRITTEN), 0);
    assert_int_equal(pg_take(&other, RUN_1, &theirs), 0);
    assert_true(theirs.fence > claim.fence);
    fixture_append(f, &claim, 2);
    assert_int_equal(fixture_commit(f, &claim, HOCKET__STORE_WRITTEN), HOCKET_ESTATE);
    fixture_append(&other, &theirs, 2);
    assert_int_equal(fixture_commit(&other, &theirs, HOCKET__STORE_WRITTEN), 0);
    assert_int_equal(pg_take(f, RUN_1, &claim), HOCKET_ESTATE);
    pg_assert_entries(&other, RUN_1, 2);
    fixture_deinit(&other);
}

/* Also where the write has a statement that this session does not know yet, which the failure takes along: its session is made anew, and it is
 * the claim that is refused, not the store that is broken. */
static void a_lost_claim_is_refused_with_a_new_statement(void **state)
{
    struct fixture *f = *state;
    struct hocket__store_message m = { HOCKET__STR("a1"), 1, HOCKET__STR("{}") };
    struct hocket__store_run r = fixture_run(RUN_2);
    r.options = HOCKET__STR("{\"max_turns\":5}");
    fixture_open(f);
    struct hocket__store_claim claim = fixture_put(f, RUN_1), other = fixture_put(f, RUN_2);
    fixture_append(f, &claim, 1);
    assert_int_equal(fixture_commit(f, &claim, HOCKET__STORE_WRITTEN), 0);
    pg_sql(
        "UPDATE runs SET fence = fence + 1, owner_pid = 1, owner_store = 1 WHERE id = '" RUN_1 "'");
    fixture_append(f, &claim, 2);
    fixture_append(f, &other, 1);
    assert_int_equal(hocket__store_message_put(f->s, &other, &m), 0);
    hocket__store_update(f->s, &other, HOCKET__STORE_SET_OPTIONS | HOCKET__STORE_SET_USAGE, &r);
    assert_int_equal(fixture_commit(f, &claim, HOCKET__STORE_WRITTEN), HOCKET_ESTATE);
    assert_int_equal(f->news[HOCKET__STORE_BROKEN], 0);
    assert_int_equal(pg_count("SELECT 1 FROM entries WHERE n = 2"), 0);
    fixture_append(f, &other, 2);
    assert_int_equal(fixture_commit(f, &other, HOCKET__STORE_WRITTEN), 0);
}

/* What is asked for when the database is back, and a lease's time has gone by, is not what this store has itself. */
static void what_is_had_stays_through_an_outage(void **state)
{
    struct fixture *f = *state;
    struct hocket__store_claim claim;
    f->now = 1700000000000;
    fixture_open(f);
    pg_submit(f, 1);
    assert_int_equal(fixture_commit(f, NULL, HOCKET__STORE_WRITTEN), 0);
    assert_true(pg_take_next(f, &claim));
    pg_control("stop QUIT");
    struct hocket__store_reply r = fixture_reply(f);
    assert_int_equal(hocket__store_take_next(f->s, STR("default"), 1, &r, NULL), 0);
    uv_run(&f->loop, UV_RUN_NOWAIT);
    f->now += INT64_C(3600) * 1000;
    pg_control("start");
    fixture_until(f, &f->done);
    assert_int_equal(f->status, 0);
    assert_int_equal(f->count, 0);
    fixture_append(f, &claim, 1);
    assert_int_equal(fixture_commit(f, &claim, HOCKET__STORE_WRITTEN), 0);
    assert_int_equal(f->news[HOCKET__STORE_REFUSED], 0);
}

/* Until it holds; it is looked at again and again. */
static void until_true(const char *what)
{
    char script[512];
    snprintf(script, sizeof(script),
        "DO $$ BEGIN FOR i IN 1..1500 LOOP EXIT WHEN %s; PERFORM pg_sleep(0.02); END LOOP;"
        " ASSERT %s; END $$",
        what, what);
    pg_sql(script);
}

static void a_row_that_is_locked_holds_up_no_other_lease(void **state)
{
    struct fixture *f = *state;
    f->now = 1700000000000;
    fixture_open(f);
    fixture_put(f, RUN_1);
    fixture_put(f, RUN_2);
    assert_int_equal(fixture_commit(f, NULL, HOCKET__STORE_WRITTEN), 0);
    struct hocket__pg *other =
        pg_begin("BEGIN; SELECT 1 FROM runs WHERE id = '" RUN_1 "' FOR UPDATE");
    f->now += 30000;
    assert_int_equal(pg_find(f, RUN_1), 0); /* something to do */
    until_true("(SELECT lease_ms = 1700000090000 FROM runs WHERE id = '" RUN_2 "')");
    until_true("(SELECT lease_ms = 1700000060000 FROM runs WHERE id = '" RUN_1 "')");
    pg_end(other);
    until_true("(SELECT lease_ms = 1700000090000 FROM runs WHERE id = '" RUN_1 "')");
    assert_int_equal(pg_find(f, RUN_1), 0);
    assert_int_equal(f->news[HOCKET__STORE_REFUSED], 0);
}

/* Nor does one that a transaction waits for, which is tried again and again. */
static void a_write_that_waits_holds_up_no_other_lease(void **state)
{
    struct fixture *f = *state;
    f->now = 1700000000000;
    fixture_open(f);
    struct hocket__store_claim claim = fixture_put(f, RUN_1);
    fixture_put(f, RUN_2);
    assert_int_equal(fixture_commit(f, NULL, HOCKET__STORE_WRITTEN), 0);
    pg_sql("CREATE FUNCTION no() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE EXCEPTION 'no'"
           " USING ERRCODE = 'lock_not_available'; END $$; CREATE TRIGGER no BEFORE INSERT ON"
           " entries FOR EACH ROW EXECUTE FUNCTION no()");
    fixture_append(f, &claim, 1);
    struct hocket__store_claim new = fixture_put(f, RUN_3); /* not there, and not lost */
    fixture_append(f, &new, 1);
    struct hocket__store_reply r = fixture_reply(f);
    assert_int_equal(hocket__store_find(f->s, STR(RUN_1), &r, NULL), 0);
    until_news(f, HOCKET__STORE_PAUSED);
    f->now += 30000;
    until_true("(SELECT count(*) = 2 FROM runs WHERE lease_ms = 1700000090000)");
    pg_sql("DROP TRIGGER no ON entries");
    fixture_until(f, &f->done);
    assert_int_equal(fixture_commit(f, &new, HOCKET__STORE_WRITTEN), 0);
    pg_assert_entries(f, RUN_1, 1);
    assert_int_equal(f->news[HOCKET__STORE_REFUSED], 0);
}

static struct hocket__store_run with_files(const char *id)
{
    struct hocket__store_run r = fixture_run(id);
    r.generation = STR("travel of many");
    return r;
}

/* One who hands in a run finds its files there, while another removes the last run that has them. */
static void files_stay_for_who_comes(void **state)
{
    struct fixture *f = *state;
    struct fixture g;
    struct hocket__store_file file = { STR("travel of many"), STR("a.md"), STR("h"), STR("text") };
    struct hocket__store_run first = with_files(RUN_1), second = with_files(RUN_2);
    struct hocket__store_claim claim;
    fixture_init(&g, &pg_kind);
    fixture_open(f);
    fixture_open(&g);
    assert_int_equal(hocket__store_file(f->s, &file), 0);
    assert_int_equal(hocket__store_put(f->s, &first, &claim), 0);
    hocket__store_release(f->s, &claim);
    assert_int_equal(fixture_commit(f, NULL, HOCKET__STORE_WRITTEN), 0);
    assert_int_equal(pg_find(&g, RUN_1), 0);
    /* holds up its transaction behind the file */
    struct hocket__pg *other =
        pg_begin("BEGIN; INSERT INTO runs SELECT (jsonb_populate_record(r,"
                 " '{\"no\": 99, \"id\": \"" RUN_2 "\"}')).* FROM runs r WHERE id = '" RUN_1 "'");
    assert_int_equal(hocket__store_file(f->s, &file), 0);
    assert_int_equal(hocket__store_put(f->s, &second, &claim), 0);
    struct hocket__store_reply r = fixture_reply(f);
    assert_int_equal(hocket__store_find(f->s, STR(RUN_2), &r, NULL), 0);
    uv_run(&f->loop, UV_RUN_NOWAIT);
    until_true("EXISTS (SELECT 1 FROM pg_locks WHERE NOT granted)");
    r = fixture_reply(&g);
    assert_int_equal(hocket__store_remove(g.s, STR(RUN_1), &r, NULL), 0);
    uv_run(&g.loop, UV_RUN_NOWAIT);
    until_true("(SELECT count(*) = 2 FROM pg_locks WHERE NOT granted)"
               " OR NOT EXISTS (SELECT 1 FROM runs WHERE id = '" RUN_1 "')");
    pg_end(other);
    fixture_until(&g, &g.done);
    assert_int_equal(g.status, 0);
    fixture_until(f, &f->done);
    assert_int_equal(f->status, 0);
    r = fixture_reply(f);
    assert_int_equal(fixture_answer(f, hocket__store_files(f->s, file.generation, &r, NULL)), 0);
    assert_int_equal(f->count, 1);
    r = fixture_reply(&g); /* and go with the last */
    hocket__store_release(f->s, &claim);
    assert_int_equal(fixture_commit(f, NULL, HOCKET__STORE_WRITTEN), 0);
    assert_int_equal(fixture_answer(&g, hocket__store_remove(g.s, STR(RUN_2), &r, NULL)), 0);
    r = fixture_reply(f);
    assert_int_equal(fixture_answer(f, hocket__store_files(f->s, file.generation, &r, NULL)), 0);
    assert_int_equal(f->count, 0);
    fixture_deinit(&g);
}

/* ---- Schemas ------------------------------------------------------------------------------------------------- */

static void opening_fails(struct fixture *f, int status, const char *words)
{
    f->news[HOCKET__STORE_BROKEN] = 0;
    fixture_open(f);
    assert_int_equal(fixture_commit(f, NULL, HOCKET__STORE_WRITTEN), status);
    assert_int_equal(f->news[HOCKET__STORE_BROKEN], 1);
    if (!strstr(f->news_error.message, words))
        fail_msg("%s", f->news_error.message);
    fixture_close(f);
}

static void schemas_of_others_are_refused(void **state)
{
    struct fixture *f = *state;
    char script[256];
    snprintf(script, sizeof(script),
        "CREATE SCHEMA %s; CREATE TABLE %s.meta(name TEXT, value TEXT);", pg_schema, pg_schema);
    pg_sql(script);
    opening_fails(f, HOCKET_EEXIST, "another program's");
    pg_sql("DROP TABLE meta; CREATE TABLE runs(id TEXT)");
    opening_fails(f, HOCKET_EEXIST, "another program's");
    pg_sql("DROP TABLE runs");
    fixture_open(f);
    fixture_put(f, RUN_1);
    assert_int_equal(fixture_commit(f, NULL, HOCKET__STORE_WRITTEN), 0);
    fixture_close(f);
    pg_sql("UPDATE meta SET value = '99' WHERE name = 'version'");
    opening_fails(f, HOCKET_EUNSUPPORTED, "newer hocket (version 99 of the store");
    pg_sql("UPDATE meta SET value = '2' WHERE name = 'version'");
}

enum { AT_ONCE = 6 };

/* Several that find no tables make them once. */
static void tables_are_made_once(void **state)
{
    struct fixture *all[AT_ONCE];
    (void) state;
    for (int i = 0; i < AT_ONCE; i++) {
        all[i] = malloc(sizeof(*all[i]));
        fixture_init(all[i], &pg_kind);
        fixture_open(all[i]);
    }
    for (int i = 0; i < AT_ONCE; i++) {
        assert_int_equal(fixture_commit(all[i], NULL, HOCKET__STORE_WRITTEN), 0);
        assert_int_equal(all[i]->news[HOCKET__STORE_BROKEN], 0);
    }
    for (int i = 0; i < AT_ONCE; i++) {
        fixture_deinit(all[i]);
        free(all[i]);
    }
}

static void checking_finds_what_is_missing(void **state)
{
    struct fixture *f = *state;
    fixture_open(f);
    struct hocket__store_claim claim = fixture_put(f, RUN_1);
    fixture_entries(f, &claim, 1, 5);
    assert_int_equal(pg_care(f, HOCKET__STORE_CHECK), 0);
    size_t warnings = f->count;
    pg_sql("DELETE FROM entries WHERE n = 3");
    assert_int_equal(pg_care(f, HOCKET__STORE_CHECK), 0);
    assert_int_equal(f->count, warnings + 1);
    assert_true(hocket__str_is(fixture_row(f, 0).message.id, "problem"));
    pg_sql(
        "UPDATE entries SET n = 3 WHERE n = 5"); /* a gap, a wrong end, and another entry than was written */
    assert_int_equal(pg_care(f, HOCKET__STORE_CHECK), 0);
    assert_int_equal(f->count, warnings + 3);
}

/* ---- Standbys ------------------------------------------------------------------------------------------ */

static bool somebody_waits_for_a_standby(void)
{
    return pg_count("SELECT pid FROM pg_stat_activity WHERE wait_event = 'SyncRep'") > 0;
}

/* Number n of each kind of question that writes. */
static void ask_what_writes(struct fixture *f, int what, int n, struct hocket__store_reply *r)
{
    char id[HOCKET__STORE_ID + 1];
    snprintf(id, sizeof(id), "01KANC3V0QZJ9E4W2X6T%06u", (unsigned) n % 1000000u);
    struct hocket__store_run run = fixture_run(id);
    struct hocket__store_item item = { .kind = STR("k"), .id = STR(id), .json = STR("{}") };
    struct hocket__store_message m = { STR(id), 17, STR("{}") };
    run.pool = STR("default");
    run.state = HOCKET__STORE_QUEUED;
    if (what == 0)
        assert_int_equal(hocket__store_submit(f->s, &run, STR(""), r, NULL), 0);
    else if (what == 1)
        assert_int_equal(hocket__store_item_put(f->s, &item, 0, NULL, STR(""), r, NULL), 0);
    else
        assert_int_equal(hocket__store_message(f->s, STR(RUN_1), &m, r, NULL), 0);
}

/* Until one waits for a standby, as it does once the server's processes have read what is configured. */
static void ask_until_it_waits(struct fixture *f, int what)
{
    static int n;
    struct hocket__store_reply r = fixture_reply(f);
    ask_what_writes(f, what, n++, &r);
    while (!somebody_waits_for_a_standby()) {
        uv_run(&f->loop, UV_RUN_NOWAIT);
        if (!f->done)
            continue;
        r = fixture_reply(f);
        ask_what_writes(f, what, n++, &r);
    }
}

/* Asked for again it is there: that alone says nothing of the standby, which may be the server in a moment. */
static void what_no_standby_has_is_not_done(void **state)
{
    struct fixture *f = *state;
    fixture_open(f);
    struct hocket__store_claim claim = fixture_put(f, RUN_1);
    hocket__store_release(f->s, &claim);
    assert_int_equal(fixture_commit(f, NULL, HOCKET__STORE_SYNCED), 0);
    for (int what = 0; what < 3; what++) {
        pg_sql("ALTER SYSTEM SET synchronous_standby_names = 'nobody'");
        pg_sql("SELECT pg_reload_conf()");
        ask_until_it_waits(f, what);
        pg_sql("SELECT pg_terminate_backend(pid, 60000) FROM pg_stat_activity"
               " WHERE wait_event = 'SyncRep'");
        while (!f->done && !somebody_waits_for_a_standby())
            uv_run(&f->loop, UV_RUN_NOWAIT);
        uv_run(&f->loop, UV_RUN_NOWAIT);
        bool early = f->done;
        pg_sql("ALTER SYSTEM RESET synchronous_standby_names");
        pg_sql("SELECT pg_reload_conf()");
        assert_false(early);
        fixture_until(f, &f->done);
        assert_int_equal(f->status, 0);
    }
}

/* ---- Patience ------------------------------------------------------------------------------------------ */

static _Atomic int64_t later_ms; /* by which this program's clocks are ahead */

int clock_gettime(clockid_t id, struct timespec *t)
{
    int rc = (int) syscall(SYS_clock_gettime, id, t);
    t->tv_sec += id == CLOCK_MONOTONIC ? later_ms / 1000 : 0;
    return rc;
}

static void begin_care(struct fixture *f, enum hocket__store_maintenance_kind what)
{
    struct hocket__store_maintenance c = { .what = what, .worker = STR(""), .reader = STR("") };
    struct hocket__store_reply r = fixture_reply(f);
    assert_int_equal(hocket__store_maintain(f->s, &c, &r, NULL), 0);
    uv_run(&f->loop, UV_RUN_NOWAIT);
    until_true("EXISTS (SELECT 1 FROM pg_locks WHERE NOT granted)");
}

/* As with a large database. Nobody goes on with it when it is not waited for any more. */
static void what_takes_long_is_waited_for(void **state)
{
    struct fixture *f = *state;
    struct hocket__pg *other;
    fixture_open(f);
    fixture_put(f, RUN_1);
    assert_int_equal(fixture_commit(f, NULL, HOCKET__STORE_WRITTEN), 0);
    for (int i = 0; i < 2; i++) {
        other = pg_begin("BEGIN; LOCK TABLE entries, texts");
        begin_care(f, i ? HOCKET__STORE_VACUUM : HOCKET__STORE_CHECK);
        later_ms += 200000;
        hocket__store_watch(f->s, i == 0); /* it looks at its clock */
        uv_sleep(50);
        pg_end(other);
        fixture_until(f, &f->done);
        if (f->status < 0)
            fail_msg("%s", f->error.message);
    }
    other = pg_begin("BEGIN; LOCK TABLE entries");
    begin_care(f, HOCKET__STORE_CHECK);
    fixture_close(f);
    until_true("NOT EXISTS (SELECT 1 FROM pg_locks WHERE NOT granted)");
    pg_end(other);
}

/* The table is made of store/columns.h: as it has always been. */
static void the_table_of_runs_is_as_ever(void **state)
{
    struct fixture *f = *state;
    fixture_open(f);
    assert_int_equal(fixture_commit(f, NULL, HOCKET__STORE_WRITTEN), 0);
    assert_int_equal(
        pg_count(
            "SELECT 1 FROM (SELECT string_agg(column_name || ' ' || data_type"
            " || CASE WHEN collation_name IS NOT NULL THEN ' C' ELSE '' END"
            " || CASE WHEN is_nullable = 'NO' THEN ' not null' ELSE '' END"
            " || coalesce(' ' || column_default, ''), ', ' ORDER BY ordinal_position) AS columns"
            " FROM information_schema.columns WHERE table_schema = current_schema()"
            " AND table_name = 'runs') t WHERE columns = '"
            "no bigint not null, id text C not null, parent bigint, at_n bigint not null 0, "
            "at_seq bigint not null 0, target text not null, input text not null, "
            "options text not null, generation text C, waiting_for text, version text not null, "
            "seed bytea not null, state text C not null, simulated integer not null 0, "
            "cost bigint, tokens bigint, created_ms bigint not null, updated_ms bigint not null, "
            "last_n bigint not null 0, last_seq bigint not null 0, removed integer not null 0, "
            "fence bigint not null 0, owner_pid bigint not null 0, owner_host text, "
            "owner_place text, owner_start bigint, owner_store bigint, owner_since_ms bigint, "
            "lease_ms bigint, pool text C, due_ms bigint not null 0, caller text C, "
            "project text, attempts bigint not null 0, taken_n bigint not null 0, "
            "news bigint not null 0, sum bigint, sum_set bigint, writes bigint not null 0"
            "'"),
        1);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, pg_setup, pg_teardown)
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(urls_are_shown_without_passwords),
        TEST(wrong_urls_are_not_repeated),
        TEST(any_bytes_survive),
        TEST(what_is_written_wrongly_is_read),
        TEST(long_texts_are_shared_and_go_with_the_last),
        TEST(gives_and_takes_hints),
        TEST(a_session_that_was_ended_is_made_anew),
        TEST(a_server_may_be_away),
        TEST(closing_does_not_wait_for_the_server),
        TEST(what_is_given_up_is_not_done_later),
        TEST(a_lost_claim_writes_nothing),
        TEST(a_lost_claim_is_refused_with_a_new_statement),
        TEST(what_no_standby_has_is_not_done),
        TEST(what_is_had_stays_through_an_outage),
        TEST(a_row_that_is_locked_holds_up_no_other_lease),
        TEST(a_write_that_waits_holds_up_no_other_lease),
        TEST(files_stay_for_who_comes),
        TEST(schemas_of_others_are_refused),
        TEST(tables_are_made_once),
        TEST(the_table_of_runs_is_as_ever),
        TEST(checking_finds_what_is_missing),
        TEST(what_takes_long_is_waited_for),
    };
    return pg_server() ? cmocka_run_group_tests(tests, NULL, NULL) : 77;
}

/* The statements of the SQLite store: that each of them is one, that none reads a whole table which grows with runs, and that the
 * tables, which are made of the columns of store/columns.h, are those that there have always been. HOCKET_PLANS=1 prints the plans. */
#include "store/fixture.h"
#include "store/sqlite/schema.h"
#include "store/sqlite/sqlite.h"

#include <stdlib.h>
#include <unistd.h>

static const struct store_kind kind = { "sqlite", hocket__store_sqlite_open, true };

struct context {
    struct fixture f;
    struct hocket__db db;
};

/* A file with all tables: those of notes are made by the first one. */
static int setup(void **state)
{
    struct context *c = calloc(1, sizeof(*c));
    struct hocket__store_note note = { .memory = HOCKET__STR("m"),
        .id = HOCKET__STR("a"),
        .text = HOCKET__STR("tea"),
        .meta = HOCKET__STR("{}") };
    fixture_init(&c->f, &kind);
    fixture_open(&c->f);
    struct hocket__store_reply r = fixture_reply(&c->f);
    assert_int_equal(
        fixture_answer(&c->f, hocket__store_note_put(c->f.s, &note, 10, 1000, &r, NULL)), 0);
    fixture_close(&c->f);
    assert_int_equal(hocket__schema_open(&c->db, c->f.path), 0);
    *state = c;
    return 0;
}

static int teardown(void **state)
{
    struct context *c = *state;
    hocket__db_close(&c->db, false);
    fixture_deinit(&c->f);
    free(c);
    return 0;
}

/* The plan of the statement that was prepared last: each step's own text; whether one reads all of a table. */
static bool plan_scans(struct hocket__db *d, unsigned statement)
{
    struct hocket__buf text;
    bool scans = false;
    hocket__buf_init(&text, &hocket__malloc, 0);
    hocket__buf_addf(&text, "EXPLAIN QUERY PLAN %s", d->text.data);
    d->st = NULL;
    assert_int_equal(d->lib->prepare_v3(d->db, text.data, -1, 0, &d->st, NULL), SQLITE_OK);
    while (hocket__db_step(d) == 1) {
        const char *step = (const char *) d->lib->column_blob(d->st, 3);
        int n = d->lib->column_bytes(d->st, 3);
        if (getenv("HOCKET_PLANS"))
            print_message("%u: %.*s\n", statement, n, step);
        scans |= n > 5 && memcmp(step, "SCAN ", 5) == 0 && !memmem(step, (size_t) n, " USING ", 7)
                 && !memmem(step, (size_t) n, " VIRTUAL ", 9);
    }
    d->lib->finalize(d->st);
    hocket__buf_deinit(&text);
    return scans;
}

/* Somebody asks about all there is, or a table is small. */
static bool may_scan(unsigned statement)
{
    switch (statement) {
    case HOCKET__SQL_COUNT:
    case HOCKET__SQL_MEASURE_KINDS:
    case HOCKET__SQL_MEASURE_RUNS:
    case HOCKET__SQL_CHECK_ENDS:
    case HOCKET__SQL_CHECK_GAPS:
    case HOCKET__SQL_CHECK_STRAY:
    case HOCKET__SQL_POOLS: /* what its own WITH has found */
    case HOCKET__SQL_LIMIT_SWEEP:
    case HOCKET__SQL_PURGE_FILES: /* of a name that many runs share */
    case ST_AHEAD_HELD:           /* once, of a store of another boot */
    case ST_CHECK_LONG:
    case ST_CHECK_FILES:
    case ST_CHECK_COUNTS: return true;
    default: return false;
    }
}

static void each_is_planned(void **state)
{
    struct context *c = *state;
    for (unsigned i = 0; i < HOCKET__SQLITE_STATEMENTS; i++) {
        hocket__db_new(&c->db, i);
        if (!c->db.st)
            fail_msg("%u: %s: %s", i, c->db.text.data, c->db.error.message);
        if (i != ST_BEGIN && i != ST_COMMIT && i != ST_CHECK_PAGES && plan_scans(&c->db, i)
            && !may_scan(i))
            fail_msg("%u reads a whole table: %s", i, c->db.text.data);
    }
}

static void copy_file(const char *from, const char *to)
{
    uv_fs_t request;
    assert_int_equal(uv_fs_copyfile(NULL, &request, from, to, 0, NULL), 0);
    uv_fs_req_cleanup(&request);
}

/* The text by which each table, index and trigger was made, in a file of ours and one of an earlier program that was brought up to date:
 * of the same version it is the same to the byte. */
static void the_tables_are_as_ever(void **state)
{
    struct context *c = *state;
    struct hocket__db earlier = { 0 };
    char path[TEST_TEMP_PATH + 16], attach[TEST_TEMP_PATH + 64];
    int rc;
    snprintf(path, sizeof(path), "%s/earlier", c->f.dir);
    copy_file(VERSIONS "/2026-11-29/runs.db", path);
    assert_int_equal(hocket__schema_open(&earlier, path), 0);
    hocket__db_close(&earlier, false);
    snprintf(attach, sizeof(attach), "ATTACH '%s' AS earlier", path);
    assert_int_equal(hocket__db_exec(&c->db, attach), 0);
    assert_true(hocket__db_ask(&c->db, "SELECT count(*) FROM earlier.sqlite_schema", &rc) > 20);
    assert_int_equal(hocket__db_ask(&c->db,
                         "SELECT count(*) FROM (SELECT name, sql FROM earlier.sqlite_schema EXCEPT"
                         " SELECT name, sql FROM main.sqlite_schema)",
                         &rc),
        0);
    assert_int_equal(rc, 0);
    assert_int_equal(hocket__db_exec(&c->db, "DETACH earlier"), 0);
    unlink(path);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
    const struct CMUnitTest tests[] = {
        TEST(each_is_planned),
        TEST(the_tables_are_as_ever),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

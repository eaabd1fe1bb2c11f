/* A disk alters bits without a word. Each of 1,000 flips in a store's file is reported by `hocket store check`, or leaves every value as it
 * was; and no question is answered with what was altered. */
#include "store/fixture.h"
#include "store/sqlite/sqlite.h"

#include <fcntl.h>
#include <sqlite3.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

static const struct store_kind kind = { "sqlite", hocket__store_sqlite_open, true };

enum { FLIPS = 1000, RUNS = 4, ENTRIES = 60, LONG = 20000 };

/* What a store answers: the rows of each question, and whether it had an answer. */
enum { QUESTIONS = 4 * RUNS + 2, LIST = QUESTIONS - 2 };
struct answers {
    struct hocket__buf rows[QUESTIONS];
    int status[QUESTIONS];
};

static const char *const ids[RUNS] = { RUN_1, RUN_2, RUN_3, RUN_4 };

/* ---- The store -------------------------------------------------------------------------------- */

static void put_entries(
    struct fixture *f, const struct hocket__store_claim *claim, uint64_t from, uint64_t n)
{
    char *text = malloc(LONG + 1);
    memset(text, 'x', LONG);
    text[LONG] = 0;
    fixture_entries(f, claim, from, n - 1);
    struct hocket__store_entry e = fixture_entry(from + n - 1, text);
    assert_int_equal(hocket__store_append(f->s, claim, &e), 0);
    free(text);
    for (uint64_t i = from; i < from + n; i++) {
        char json[96];
        int k = snprintf(
            json, sizeof(json), "{\"seq\":%d,\"type\":\"tool_called\",\"tool\":\"t\"}", (int) i);
        struct hocket__store_record r = { i, hocket__str(json, (size_t) k) };
        assert_int_equal(hocket__store_record(f->s, claim, &r), 0);
    }
}

static void put_run(struct fixture *f, int i)
{
    struct hocket__store_run r = fixture_run(ids[i]);
    struct hocket__store_claim claim;
    struct hocket__store_message m = { HOCKET__STR("a1"), 1700000000000,
        HOCKET__STR("{\"answer\":\"no, do not buy it\"}") };
    r.generation = HOCKET__STR("g");
    r.project = HOCKET__STR("garden");
    if (i == RUNS - 1) { /* a fork, which reads through its parent */
        memcpy(r.parent, ids[0], sizeof(r.parent));
        r.at_n = r.at_seq = ENTRIES;
    }
    assert_int_equal(hocket__store_put(f->s, &r, &claim), 0);
    put_entries(f, &claim, r.at_n + 1, ENTRIES);
    assert_int_equal(hocket__store_message_put(f->s, &claim, &m), 0);
    r.state = (enum hocket__store_state)(HOCKET__STORE_WAITING + i);
    r.options = HOCKET__STR("{\"approve\":\"ask\",\"max_turns\":5}");
    r.cost = 123456789;
    r.tokens = 4711;
    r.waiting_for = HOCKET__STR("[{\"kind\":\"question\",\"id\":\"q1\"}]");
    hocket__store_update(f->s, &claim,
        HOCKET__STORE_SET_STATE | HOCKET__STORE_SET_OPTIONS | HOCKET__STORE_SET_USAGE
            | HOCKET__STORE_SET_WAITING_FOR,
        &r);
    hocket__store_release(f->s, &claim);
}

static void make_store(struct fixture *f)
{
    struct hocket__store_file file = { HOCKET__STR("g"), HOCKET__STR("agents/lead.md"),
        HOCKET__STR("h"), HOCKET__STR("You lead the team.\n") };
    fixture_open(f);
    assert_int_equal(hocket__store_file(f->s, &file), 0);
    for (int i = 0; i < RUNS; i++)
        put_run(f, i);
    assert_int_equal(fixture_commit(f, NULL, HOCKET__STORE_SYNCED), 0);
    fixture_close(f);
}

/* ---- Answers ---------------------------------------------------------------------------------- */

/* Who has a run, and how often it was taken, is no value of it. */
static void keep_values(struct fixture *f, struct hocket__buf *out)
{
    for (size_t i = 0; i < f->count; i++) {
        struct hocket__store_row row = fixture_row(f, i);
        if (row.kind == HOCKET__STORE_ROW_RUN) {
            row.run.owner = (struct hocket__store_owner){ 0 };
            row.run.fence = row.run.attempts = 0;
        }
        hocket__store_pack(out, &row);
    }
}

static void ask(struct fixture *f, int question, struct answers *a)
{
    struct hocket__store_reply r = fixture_reply(f);
    struct hocket__store_filter all = { .limit = 100 };
    struct hocket__str id = hocket__cstr(ids[question / 4 % RUNS]);
    int rc = question == LIST            ? hocket__store_runs(f->s, &all, &r, NULL)
             : question == QUESTIONS - 1 ? hocket__store_files(f->s, HOCKET__STR("g"), &r, NULL)
             : question % 4 == 0         ? hocket__store_find(f->s, id, &r, NULL)
             : question % 4 == 1         ? hocket__store_entries(f->s, id, 1, &r, NULL)
             : question % 4 == 2         ? hocket__store_records(f->s, id, 1, &r, NULL)
                                         : hocket__store_messages(f->s, id, &r, NULL);
    a->status[question] = fixture_answer(f, rc);
    hocket__buf_reset(&a->rows[question]);
    if (a->status[question] == 0)
        keep_values(f, &a->rows[question]);
}

static void ask_all(struct fixture *f, struct answers *a)
{
    for (int i = 0; i < QUESTIONS; i++)
        ask(f, i, a);
}

static bool is_same(const struct hocket__buf *a, const struct hocket__buf *b)
{
    return a->len == b->len && memcmp(a->data, b->data, a->len) == 0;
}

static bool are_same(const struct answers *a, const struct answers *b)
{
    for (int i = 0; i < QUESTIONS; i++)
        if (a->status[i] != b->status[i] || !is_same(&a->rows[i], &b->rows[i]))
            return false;
    return true;
}

/* The same run as it was. */
static struct hocket__store_run run_in(struct hocket__str all, const char *id)
{
    struct hocket__store_row row;
    while (hocket__store_unpack(&all, &row) == 1)
        if (strcmp(row.run.id, id) == 0)
            return row.run;
    fail_msg("%s is no run", id);
    return row.run;
}

/* Each row of an answer is one that was written: fewer there may be, and a list may say of a run that it is damaged. Of a run, what
 * hangs on time and on other rows may differ. */
static void assert_true_rows(const struct answers *is, const struct answers *was, size_t flip)
{
    for (int i = 0; i < QUESTIONS; i++) {
        struct hocket__str in = hocket__buf_str(&is->rows[i]);
        struct hocket__store_row row;
        while (hocket__store_unpack(&in, &row) == 1) {
            struct hocket__str all = hocket__buf_str(&was->rows[i]);
            struct hocket__buf b;
            if (row.kind == HOCKET__STORE_ROW_DAMAGED)
                continue;
            hocket__buf_init(&b, &hocket__malloc, 0);
            if (row.kind == HOCKET__STORE_ROW_RUN) {
                struct hocket__store_run first = run_in(all, row.run.id);
                row.run.updated_ms = first.updated_ms;
                row.run.due_ms = first.due_ms;
                row.run.last_n = first.last_n;
                row.run.last_seq = first.last_seq;
            }
            hocket__store_pack(&b, &row);
            if (!memmem(all.p, all.n, b.data, b.len))
                fail_msg("flip %zu: question %d is answered with what nobody wrote", flip, i);
            hocket__buf_deinit(&b);
        }
    }
}

/* ---- Flips ------------------------------------------------------------------------------------ */

static uint64_t draw(uint64_t *state)
{
    *state = *state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return *state >> 33;
}

static void write_store(const struct fixture *f, const char *p, size_t n)
{
    char path[TEST_TEMP_PATH + 16];
    snprintf(path, sizeof(path), "%s-wal", f->path);
    unlink(path);
    snprintf(path, sizeof(path), "%s-shm", f->path);
    unlink(path);
    int fd = open(f->path, O_WRONLY | O_TRUNC);
    assert_true(fd >= 0 && write(fd, p, n) == (ssize_t) n);
    close(fd);
}

static bool is_reported(struct fixture *f)
{
    struct hocket__store_maintenance m = {
        .what = HOCKET__STORE_CHECK, .worker = HOCKET__STR(""), .reader = HOCKET__STR("")
    };
    struct hocket__store_reply r = fixture_reply(f);
    return fixture_answer(f, hocket__store_maintain(f->s, &m, &r, NULL)) < 0 || f->count > 0;
}

static char *read_store(const struct fixture *f, size_t *n)
{
    struct stat st;
    int fd = open(f->path, O_RDONLY);
    assert_true(fd >= 0 && fstat(fd, &st) == 0);
    char *p = malloc((size_t) st.st_size);
    assert_int_equal(read(fd, p, (size_t) st.st_size), st.st_size);
    close(fd);
    *n = (size_t) st.st_size;
    return p;
}

static void each_flip_is_reported_or_harmless(void **state)
{
    struct fixture f;
    struct answers was, is;
    uint64_t random = 2026;
    size_t n, reported = 0, refused = 0;
    (void) state;
    for (int i = 0; i < QUESTIONS; i++) {
        hocket__buf_init(&was.rows[i], &hocket__malloc, 0);
        hocket__buf_init(&is.rows[i], &hocket__malloc, 0);
    }
    fixture_init(&f, &kind);
    make_store(&f);
    char *bytes = read_store(&f, &n);
    fixture_open(&f);
    ask_all(&f, &was);
    assert_false(is_reported(&f));
    fixture_close(&f);
    for (size_t i = 0; i < FLIPS; i++) {
        size_t at = draw(&random) % n;
        char bit = (char) (1 << draw(&random) % 8);
        bytes[at] ^= bit;
        write_store(&f, bytes, n);
        bytes[at] ^= bit;
        fixture_open(&f);
        ask_all(&f, &is);
        assert_true_rows(&is, &was, i);
        bool same = are_same(&is, &was), said = is_reported(&f);
        fixture_close(&f);
        if (!same && !said)
            fail_msg("flip %zu of bit %d at byte %zu is not reported", i, (unsigned char) bit, at);
        reported += said;
        refused += !same;
    }
    print_message("%d flips in %zu bytes: %zu reported, %zu changed an answer\n", FLIPS, n,
        reported, refused);
    assert_true(reported > FLIPS / 4 && refused > FLIPS / 5);
    free(bytes);
    for (int i = 0; i < QUESTIONS; i++) {
        hocket__buf_deinit(&was.rows[i]);
        hocket__buf_deinit(&is.rows[i]);
    }
    fixture_deinit(&f);
}

/* ---- Columns ---------------------------------------------------------------------------------- */

#define OF_RUN_2 " WHERE id = '" RUN_2 "'"
enum { FIND = 4, LOG, EVENTS, MAIL, FILES = QUESTIONS - 1 }; /* of the second run */

/* Flips seldom hit what is short: here each column that a checksum holds is altered by itself. */
static const struct change {
    const char *sql, *problem;
    int question; /* which is refused; -1: asked by what was altered */
} changes[] = {
    { "UPDATE entries SET key = key + 1000 WHERE run = 2 AND n = 60", "entry 1060 of run " RUN_2,
        LOG },
    { "UPDATE entries SET tick = tick + 1 WHERE run = 2 AND n = 7", "entry 7 of run " RUN_2, LOG },
    { "UPDATE entries SET at_ms = at_ms + 1 WHERE run = 2 AND n = 7", "entry 7 of run " RUN_2,
        LOG },
    { "UPDATE entries SET kind = kind + 1 WHERE run = 2 AND n = 7", "entry 7 of run " RUN_2, LOG },
    { "UPDATE entries SET path = path + 1 WHERE run = 2 AND n = 7", "entry 7 of run " RUN_2, LOG },
    { "UPDATE entries SET ord = ord + 1 WHERE run = 2 AND n = 7", "entry 7 of run " RUN_2, LOG },
    { "UPDATE entries SET name = name || 'x' WHERE run = 2 AND n = 7", "entry 7 of run " RUN_2,
        LOG },
    { "UPDATE entries SET digest = x'00' WHERE run = 2 AND n = 7", "entry 7 of run " RUN_2, LOG },
    { "UPDATE entries SET value = value || 'x' WHERE run = 2 AND n = 7", "entry 7 of run " RUN_2,
        LOG },
    { "UPDATE records SET key = key + 1000 WHERE run = 2 AND seq = 60", "event 1060 of run " RUN_2,
        EVENTS },
    { "UPDATE records SET json = json || ' ' WHERE run = 2 AND seq = 7", "event 7 of run " RUN_2,
        EVENTS },
    { "UPDATE messages SET id = 'a2' WHERE run = 2", "message 2 of run " RUN_2, MAIL },
    { "UPDATE messages SET at_ms = at_ms + 1 WHERE run = 2", "message 2 of run " RUN_2, MAIL },
    { "UPDATE messages SET json = json || ' ' WHERE run = 2", "message 2 of run " RUN_2, MAIL },
    { "UPDATE texts SET text = CAST('You follow.' AS BLOB) WHERE no = 1", "text 1", FILES },
    { "UPDATE texts SET hash = x'00' WHERE no = 1", "text 1", FILES },
    { "UPDATE runs SET id = '" RUN_1 "'||'X'" OF_RUN_2, "run " RUN_1, -1 },
    { "UPDATE runs SET at_n = at_n + 1" OF_RUN_2, "run " RUN_2, FIND },
    { "UPDATE runs SET at_seq = at_seq + 1" OF_RUN_2, "run " RUN_2, FIND },
    { "UPDATE runs SET created_ms = created_ms + 1" OF_RUN_2, "run " RUN_2, FIND },
    { "UPDATE runs SET target = target || 'x'" OF_RUN_2, "run " RUN_2, FIND },
    { "UPDATE runs SET input = input || 'x'" OF_RUN_2, "run " RUN_2, FIND },
    { "UPDATE runs SET version = version || 'x'" OF_RUN_2, "run " RUN_2, FIND },
    { "UPDATE runs SET seed = zeroblob(length(seed))" OF_RUN_2, "run " RUN_2, FIND },
    { "UPDATE runs SET caller = id" OF_RUN_2, "run " RUN_2, FIND },
    { "UPDATE runs SET project = 'gardens'" OF_RUN_2, "run " RUN_2, FIND },
    { "UPDATE runs SET state = 'runnings'" OF_RUN_2, "run " RUN_2, FIND },
    { "UPDATE runs SET waiting_for = '[]'" OF_RUN_2, "run " RUN_2, FIND },
    { "UPDATE runs SET cost = cost - 1" OF_RUN_2, "run " RUN_2, FIND },
    { "UPDATE runs SET tokens = tokens - 1" OF_RUN_2, "run " RUN_2, FIND },
    { "UPDATE runs SET simulated = 1 - simulated" OF_RUN_2, "run " RUN_2, FIND },
    { "UPDATE runs SET generation = 'h'" OF_RUN_2, "run " RUN_2, FIND },
    { "UPDATE runs SET options = '{}'" OF_RUN_2, "run " RUN_2, FIND },
    { "UPDATE runs SET pool = 'default'" OF_RUN_2, "run " RUN_2, FIND },
};

static int sql(const struct fixture *f, const char *text)
{
    sqlite3 *db;
    char *message = NULL;
    assert_int_equal(sqlite3_open(f->path, &db), SQLITE_OK);
    if (sqlite3_exec(db, text, NULL, NULL, &message) != SQLITE_OK)
        fail_msg("%s: %s", text, message);
    int changed = sqlite3_total_changes(db);
    sqlite3_close(db);
    return changed;
}

static bool is_problem(const struct fixture *f, const char *problem)
{
    for (size_t i = 0; i < f->count; i++) {
        struct hocket__str s = fixture_row(f, i).message.json;
        size_t n = strlen(problem);
        if (s.n > n && memcmp(s.p, problem, n) == 0
            && memmem(s.p, s.n, " is not what was written", 24))
            return true;
    }
    return false;
}

/* A list names it and has no word of it; the others are as they were. One whose id or state is no such thing is in no list. */
static void expect_listed(struct fixture *f, const struct change *c)
{
    bool named = c->question == FIND && !strstr(c->sql, "runnings");
    struct hocket__store_filter all = { .limit = 100 };
    struct hocket__store_reply r = fixture_reply(f);
    size_t damaged = 0;
    assert_int_equal(fixture_answer(f, hocket__store_runs(f->s, &all, &r, NULL)), 0);
    for (size_t i = 0; i < f->count; i++) {
        struct hocket__store_row row = fixture_row(f, i);
        bool is_second = strcmp(row.run.id, RUN_2) == 0;
        if (is_second != (row.kind == HOCKET__STORE_ROW_DAMAGED))
            fail_msg("%s: run %s is listed wrongly", c->sql, row.run.id);
        damaged += is_second;
    }
    assert_int_equal(f->count, named ? RUNS : RUNS - 1);
    assert_int_equal(damaged, named);
}

static void expect_found(struct fixture *f, const struct change *c)
{
    struct answers a = { .status = { 0 } };
    fixture_open(f);
    assert_true(is_reported(f));
    if (!is_problem(f, c->problem))
        fail_msg("%s: not reported as %s", c->sql, c->problem);
    if (c->question >= 0) {
        hocket__buf_init(&a.rows[c->question], &hocket__malloc, 0);
        ask(f, c->question, &a);
        if (a.status[c->question] != HOCKET_EPARSE)
            fail_msg("%s: question %d has an answer", c->sql, c->question);
        hocket__buf_deinit(&a.rows[c->question]);
    }
    if (c->question < 0 || c->question == FIND)
        expect_listed(f, c);
    fixture_close(f);
}

/* As the version without checksums made it, brought up to date. */
static void migrate(struct fixture *f)
{
    char text[2048];
    fixture_drop_columns(text, sizeof(text), 3);
    sql(f, text);
    sql(f, "ALTER TABLE entries DROP COLUMN sum; ALTER TABLE records DROP COLUMN sum;"
           "ALTER TABLE messages DROP COLUMN sum; PRAGMA user_version = 2; UPDATE meta SET value = "
           "value + 1");
    fixture_open(f);
    assert_false(is_reported(f));
    fixture_close(f);
}

static void expect_each_column(bool migrated)
{
    struct fixture f;
    size_t n;
    fixture_init(&f, &kind);
    make_store(&f);
    if (migrated)
        migrate(&f);
    char *bytes = read_store(&f, &n);
    for (size_t i = 0; i < sizeof(changes) / sizeof(changes[0]); i++) {
        write_store(&f, bytes, n);
        assert_int_equal(sql(&f, changes[i].sql), 1);
        expect_found(&f, &changes[i]);
    }
    free(bytes);
    fixture_deinit(&f);
}

static void each_column_is_held_by_a_checksum(void **state)
{
    (void) state;
    expect_each_column(false);
}

static void each_column_is_held_after_a_migration(void **state)
{
    (void) state;
    expect_each_column(true);
}

/* ---- Workers ---------------------------------------------------------------------------------- */

static void submit(struct fixture *f, const char *id, struct hocket__str target)
{
    struct hocket__store_run r = fixture_run(id);
    struct hocket__store_claim claim;
    r.state = HOCKET__STORE_QUEUED;
    r.pool = HOCKET__STR("default");
    r.target = target;
    assert_int_equal(hocket__store_put(f->s, &r, &claim), 0);
    assert_int_equal(hocket__store_release(f->s, &claim), 0);
    assert_int_equal(fixture_commit(f, &claim, HOCKET__STORE_SYNCED), 0);
}

static int take(struct fixture *f, size_t most)
{
    struct hocket__store_reply r = fixture_reply(f);
    return fixture_answer(f, hocket__store_take_next(f->s, HOCKET__STR("default"), most, &r, NULL));
}

/* A worker would act on its target and its options. Those behind it are taken all the same. */
static void no_worker_gets_an_altered_run(void **state)
{
    struct fixture f;
    size_t n;
    (void) state;
    fixture_init(&f, &kind);
    fixture_open(&f);
    submit(&f, RUN_1, HOCKET__STR("a_target_to_alter.lua"));
    submit(&f, RUN_2, HOCKET__STR("b.lua"));
    submit(&f, RUN_3, HOCKET__STR("another_to_alter.lua"));
    fixture_close(&f);
    char *bytes = read_store(&f, &n);
    for (char *at; (at = memmem(bytes, n, "_to_alter", 9)) != NULL;)
        at[4] = 'A';
    write_store(&f, bytes, n);
    free(bytes);
    fixture_open(&f);
    assert_int_equal(take(&f, 3), 0);
    assert_int_equal(f.count, 1);
    assert_string_equal(fixture_row(&f, 0).run.id, RUN_2);
    for (int i = 0; i < 2; i++) { /* told once, and put off for as long as two leases */
        int rc = take(&f, 3);
        assert_int_equal(rc, i == 0 ? HOCKET_EPARSE : 0);
        assert_int_equal(f.count, 0);
    }
    fixture_close(&f);
    fixture_deinit(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(no_worker_gets_an_altered_run),
        cmocka_unit_test(each_column_is_held_by_a_checksum),
        cmocka_unit_test(each_column_is_held_after_a_migration),
        cmocka_unit_test(each_flip_is_reported_or_harmless) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

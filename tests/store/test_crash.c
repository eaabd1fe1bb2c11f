/* The SQLite store on a disk that fails: at every operation an I/O error, a full disk, a SIGKILL, a
 * loss of power. After each: what was acknowledged is there, nothing is there in part, and the rest is a
 * beginning of what was handed over.
 *
 *   test_crash [--full]     some hundred points, or all of them with several chances for each */
#include "store/disk.h"
#include "store/fixture.h"
#include "store/sqlite/sqlite.h"

#include <signal.h>
#include <sqlite3.h>
#include <stdlib.h>
#include <sys/wait.h>

enum { TURNS = 14, PER_TURN = 3 };

static const struct store_kind kind = { "sqlite", hocket__store_sqlite_open, true };
static unsigned stride = 11;
static uint64_t seeds = 1;
static unsigned points;

struct told {
    uint64_t written, synced; /* entries whose commit was acknowledged */
    bool ended;               /* the whole of the work went through */
};

/* ---- The work ------------------------------------------------------------------------------------- */

struct commit {
    struct hocket__store_wait wait;
    bool done;
    int status;
};

static void on_kept(struct hocket__store_wait *w, int status, const struct hocket_error *err)
{
    struct commit *c = hocket__container_of(w, struct commit, wait);
    (void) err;
    c->done = true;
    c->status = status;
}

/* Whether it was kept; a disk that is off is not waited for. */
static bool commit(struct fixture *f, enum hocket__store_kept kept, bool gives_up)
{
    struct commit c = { .wait.done = on_kept, .status = HOCKET_ECLOSED };
    hocket__store_commit(f->s, NULL, kept, &c.wait);
    while (!c.done && !(gives_up && f->news[HOCKET__STORE_PAUSED] > 0))
        uv_run(&f->loop, UV_RUN_ONCE);
    hocket__store_forget(&c.wait);
    return c.done && c.status == 0;
}

static void append(struct fixture *f, const struct hocket__store_claim *claim, uint64_t n)
{
    static char value[30001];
    size_t size = n % 5 == 0 ? 30000 : 10 + n * 40;
    memset(value, 'a' + (int) (n % 26), size);
    value[size] = 0;
    struct hocket__store_entry e = fixture_entry(n, value);
    struct hocket__store_record r = { n, HOCKET__STR("{\"event\":1}") };
    hocket__store_append(f->s, claim, &e);
    hocket__store_record(f->s, claim, &r);
}

/* `report` is told of each acknowledgement when it comes. */
static void work(struct fixture *f, struct told *told, bool gives_up, int report)
{
    *told = (struct told){ 0 };
    fixture_open(f);
    struct hocket__store_run r = fixture_run(RUN_1);
    struct hocket__store_claim claim;
    hocket__store_put(f->s, &r, &claim);
    bool ok = true;
    for (uint64_t turn = 0; ok && turn < TURNS; turn++) {
        enum hocket__store_kept kept = turn % 3 == 2 ? HOCKET__STORE_SYNCED : HOCKET__STORE_WRITTEN;
        for (uint64_t i = 1; i <= PER_TURN; i++)
            append(f, &claim, turn * PER_TURN + i);
        ok = commit(f, kept, gives_up);
        if (ok)
            told->written = (turn + 1) * PER_TURN;
        if (ok && kept == HOCKET__STORE_SYNCED)
            told->synced = told->written;
        if (report >= 0 && write(report, told, sizeof(*told)) != sizeof(*told))
            _exit(1);
    }
    told->ended = ok;
    fixture_close(f);
}

/* ---- What is left ----------------------------------------------------------------------------------- */

static void assert_whole(const char *path)
{
    sqlite3 *db;
    sqlite3_stmt *st;
    assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
    assert_int_equal(sqlite3_prepare_v2(db, "PRAGMA integrity_check", -1, &st, NULL), SQLITE_OK);
    assert_int_equal(sqlite3_step(st), SQLITE_ROW);
    assert_string_equal((const char *) sqlite3_column_text(st, 0), "ok");
    sqlite3_finalize(st);
    sqlite3_close(db);
}

/* At least `acknowledged` entries, whole turns of them, each with its value. */
static uint64_t check(struct fixture *f, uint64_t acknowledged)
{
    disk_begin(DISK_WELL, 0, 0);
    fixture_open(f);
    assert_int_equal(fixture_commit(f, NULL, HOCKET__STORE_WRITTEN), 0);
    struct hocket__store_reply r = fixture_reply(f);
    int rc = fixture_answer(f, hocket__store_entries(f->s, HOCKET__STR(RUN_1), 1, &r, NULL));
    size_t count = rc == 0 ? f->count : 0;
    assert_true(rc == 0 || (rc == HOCKET_ENOTFOUND && acknowledged == 0));
    assert_true(count >= acknowledged);
    assert_int_equal(count % PER_TURN, 0);
    for (size_t i = 0; i < count; i++) {
        struct hocket__store_entry e = fixture_row(f, i).entry;
        size_t size = e.n % 5 == 0 ? 30000 : 10 + e.n * 40;
        assert_int_equal(e.n, i + 1);
        assert_int_equal(e.value.n, size);
        assert_int_equal(e.value.p[size - 1], 'a' + (int) (e.n % 26));
    }
    r = fixture_reply(f);
    rc = fixture_answer(f, hocket__store_records(f->s, HOCKET__STR(RUN_1), 1, &r, NULL));
    assert_int_equal(f->count, count); /* of one turn all or nothing */
    fixture_close(f);
    assert_whole(f->path);
    return count;
}

/* ---- Points ------------------------------------------------------------------------------------------- */

static struct fixture *begin(void)
{
    struct fixture *f = malloc(sizeof(*f));
    disk_forget();
    fixture_init(f, &kind);
    return f;
}

static void end(struct fixture *f)
{
    disk_begin(DISK_WELL, 0, 0);
    fixture_deinit(f);
    disk_forget();
    free(f);
    points++;
}

/* Operations of one whole life. */
static unsigned whole_life(void)
{
    struct fixture *f = begin();
    struct told told;
    disk_begin(DISK_WELL, 0, 0);
    work(f, &told, false, -1);
    unsigned n = disk_count();
    assert_true(told.ended && n > 100);
    assert_int_equal(check(f, TURNS * PER_TURN), TURNS * PER_TURN);
    end(f);
    return n;
}

static void fail_for_a_while(enum disk_fault fault, unsigned n, unsigned count)
{
    struct fixture *f = begin();
    struct told told;
    disk_begin(fault, n, count);
    work(f, &told, false, -1);
    if (f->news[HOCKET__STORE_BROKEN] == 0) { /* it was open already */
        assert_true(told.ended);
        assert_int_equal(f->news[HOCKET__STORE_PAUSED], f->news[HOCKET__STORE_GOING]);
        check(f, TURNS * PER_TURN);
    } else {
        assert_int_equal(told.written, 0);
        check(f, 0);
    }
    end(f);
}

static void an_io_error_is_got_over(void **state)
{
    (void) state;
    unsigned all = whole_life();
    for (unsigned n = 1; n <= all; n += stride)
        fail_for_a_while(DISK_ERROR, n, 1 + n % 3);
}

static void a_full_disk_is_got_over(void **state)
{
    (void) state;
    unsigned all = whole_life();
    for (unsigned n = 2; n <= all; n += stride)
        fail_for_a_while(DISK_FULL, n, 1 + n % 3);
}

/* Whoever does not wait for a disk that is full hears so, also when it was full before it asked; what it handed over is kept
 * when there is room. */
static void a_full_disk_is_not_waited_for(void **state)
{
    struct fixture *f = begin();
    struct commit commits[2];
    (void) state;
    fixture_open(f);
    assert_int_equal(fixture_commit(f, NULL, HOCKET__STORE_WRITTEN), 0);
    struct hocket__store_run r = fixture_run(RUN_1);
    struct hocket__store_claim claim;
    hocket__store_put(f->s, &r, &claim);
    disk_begin(DISK_FULL, 1, 1000000);
    for (int i = 0; i < 2; i++) {
        commits[i] = (struct commit){ .wait = { .done = on_kept, .no_pause = true } };
        hocket__store_commit(f->s, &claim, HOCKET__STORE_SYNCED, &commits[i].wait);
        while (!commits[i].done)
            uv_run(&f->loop, UV_RUN_ONCE);
        assert_int_equal(commits[i].status, HOCKET_EIO);
    }
    disk_begin(DISK_WELL, 0, 0);
    assert_int_equal(fixture_commit(f, NULL, HOCKET__STORE_SYNCED), 0);
    fixture_close(f);
    end(f);
}

static void a_loss_of_power_loses_nothing_synced(void **state)
{
    (void) state;
    unsigned all = whole_life();
    for (unsigned n = 3; n <= all; n += stride)
        for (uint64_t seed = 0; seed < seeds; seed++) {
            struct fixture *f = begin();
            struct told told;
            disk_begin(DISK_OFF, n, 1);
            work(f, &told, true, -1);
            disk_lose_power(n * 1000 + seed);
            check(f, told.synced);
            end(f);
        }
}

/* What the child had been told before it was killed. */
static struct told kill_at(struct fixture *f, enum disk_fault fault, unsigned n)
{
    int report[2];
    struct told told = { 0 }, next;
    assert_int_equal(pipe(report), 0);
    pid_t pid = fork();
    if (pid == 0) {
        fixture_forked(f);
        disk_begin(fault, n, 1);
        work(f, &told, false, report[1]);
        _exit(0);
    }
    close(report[1]);
    while (read(report[0], &next, sizeof(next)) == sizeof(next))
        told = next;
    close(report[0]);
    assert_int_equal(waitpid(pid, NULL, 0), pid);
    return told;
}

static void a_kill_loses_nothing_written(void **state)
{
    (void) state;
    unsigned all = whole_life();
    for (unsigned n = 4; n <= all; n += stride) {
        struct fixture *f = begin();
        struct told told = kill_at(f, n % 2 ? DISK_KILL : DISK_KILL_BEHIND, n);
        check(f, told.written);
        end(f);
    }
}

/* ---- Questions that write ----------------------------------------------------------------------------
 * Each is acknowledged by itself: what is told of it is true, whatever happens to it, and lasts. */

enum question { SUBMIT, ITEM, MESSAGE, NOTE, QUESTIONS };

static int ask(struct fixture *f, enum question what)
{
    struct hocket__store_reply r = fixture_reply(f);
    struct hocket__store_run run = fixture_run(RUN_2);
    struct hocket__store_item item = { .kind = HOCKET__STR("k"), .id = HOCKET__STR("i") };
    struct hocket__store_message m = { HOCKET__STR("m"), 17, HOCKET__STR("{}") };
    struct hocket__store_note note = { .memory = HOCKET__STR("m"), .id = HOCKET__STR("n") };
    struct hocket__str none = HOCKET__STR(""), to = HOCKET__STR(RUN_1);
    run.state = HOCKET__STORE_QUEUED;
    run.pool = HOCKET__STR("default");
    switch (what) {
    case SUBMIT: return fixture_answer(f, hocket__store_submit(f->s, &run, none, &r, NULL));
    case ITEM:
        return fixture_answer(f, hocket__store_item_put(f->s, &item, 0, &run, none, &r, NULL));
    case MESSAGE: return fixture_answer(f, hocket__store_message(f->s, to, &m, &r, NULL));
    default: return fixture_answer(f, hocket__store_note_put(f->s, &note, 9, 999, &r, NULL));
    }
}

static bool is_there(struct fixture *f, enum question what)
{
    struct hocket__store_reply r = fixture_reply(f);
    struct hocket__store_note_query q = { .memory = HOCKET__STR("m"), .id = HOCKET__STR("n") };
    struct hocket__str run = HOCKET__STR(RUN_2), k = HOCKET__STR("k"), id = HOCKET__STR("i");
    int rc = 0;
    switch (what) {
    case SUBMIT: rc = fixture_answer(f, hocket__store_find(f->s, run, &r, NULL)); break;
    case ITEM: rc = fixture_answer(f, hocket__store_items(f->s, k, id, &r, NULL)); break;
    case MESSAGE:
        rc = fixture_answer(f, hocket__store_messages(f->s, HOCKET__STR(RUN_1), &r, NULL));
        break;
    default: rc = fixture_answer(f, hocket__store_notes(f->s, &q, &r, NULL));
    }
    assert_true(rc == 0 || rc == HOCKET_ENOTFOUND);
    return rc == 0 && f->count == 1;
}

/* A store with a run that nobody has, and of which something was not synced yet. */
static struct fixture *begin_question(void)
{
    struct fixture *f = begin();
    disk_begin(DISK_WELL, 0, 0);
    fixture_open(f);
    struct hocket__store_claim claim = fixture_put(f, RUN_1);
    assert_int_equal(fixture_commit(f, NULL, HOCKET__STORE_SYNCED), 0);
    hocket__store_release(f->s, &claim);
    assert_int_equal(fixture_commit(f, NULL, HOCKET__STORE_WRITTEN), 0);
    return f;
}

static void reports_about_a_question_are_true(void **state)
{
    (void) state;
    for (int what = 0; what < QUESTIONS; what++) {
        bool struck = true;
        for (unsigned n = 1; struck; n++) {
            struct fixture *f = begin_question();
            disk_begin(DISK_ERROR, n, 1);
            bool done = ask(f, (enum question) what) == 0;
            struck = disk_struck();
            disk_begin(DISK_WELL, 0, 0);
            assert_true(done || struck);
            assert_int_equal(is_there(f, (enum question) what), done);
            if (!done)
                assert_int_equal(ask(f, (enum question) what), 0);
            fixture_close(f);
            end(f);
        }
    }
}

static void an_answer_to_a_question_lasts(void **state)
{
    (void) state;
    for (int what = 0; what < QUESTIONS; what++)
        for (uint64_t seed = 0; seed < 4 * seeds; seed++) {
            struct fixture *f = begin_question();
            assert_int_equal(ask(f, (enum question) what), 0);
            disk_begin(DISK_OFF, 1, 1);
            fixture_close(f);
            disk_lose_power(seed);
            disk_begin(DISK_WELL, 0, 0);
            fixture_open(f);
            assert_true(is_there(f, (enum question) what));
            fixture_close(f);
            end(f);
        }
}

int main(int argc, char **argv)
{
    if (argc > 1 && strcmp(argv[1], "--full") == 0) {
        stride = 1;
        seeds = 8;
    }
    disk_install();
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_io_error_is_got_over),
        cmocka_unit_test(a_full_disk_is_got_over),
        cmocka_unit_test(a_full_disk_is_not_waited_for),
        cmocka_unit_test(a_loss_of_power_loses_nothing_synced),
        cmocka_unit_test(a_kill_loses_nothing_written),
        cmocka_unit_test(reports_about_a_question_are_true),
        cmocka_unit_test(an_answer_to_a_question_lasts),
    };
    int rc = cmocka_run_group_tests(tests, NULL, NULL);
    printf("%u points\n", points);
    return rc;
}

/* What is secured before the database has it: it is there when the process was killed, once, and only where it continues
 * what the database has. */
#include "store/fixture.h"
#include "store/sqlite/sqlite.h"

#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <sqlite3.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static const struct store_kind kind = { "sqlite", hocket__store_sqlite_open, true };

enum { LONG = 1000 * 1000 }; /* milliseconds that nothing is written by itself in */

static struct fixture *begin(void)
{
    struct fixture *f = malloc(sizeof(*f));
    fixture_init(f, &kind);
    f->o.linger_ms = LONG;
    return f;
}

/* The file beside the database; "": there is none. */
static const char *ahead_of(const struct fixture *f)
{
    static char path[TEST_TEMP_PATH + 300];
    char dir[TEST_TEMP_PATH + 16];
    snprintf(dir, sizeof(dir), "%s/hocket", f->dir);
    DIR *d = opendir(dir);
    path[0] = 0;
    for (struct dirent *e; d && (e = readdir(d));)
        if (strncmp(e->d_name, "runs.db-ahead-", 14) == 0)
            snprintf(path, sizeof(path), "%s/%s", dir, e->d_name);
    if (d)
        closedir(d);
    return path;
}

static void end(struct fixture *f)
{
    if (f->s)
        fixture_close(f);
    assert_string_equal(ahead_of(f), "");
    fixture_deinit(f);
    free(f);
}

/* In a process that was forked a test must not go on. */
#define CHECK(what)                                                                                \
    do {                                                                                           \
        if (!(what)) {                                                                             \
            fprintf(stderr, "line %d: %s\n", __LINE__, #what);                                     \
            _exit(1);                                                                              \
        }                                                                                          \
    } while (0)

/* A run with n entries in the database, of a store that secures from here on. */
static struct hocket__store_claim start(struct fixture *f, const char *id, uint64_t n)
{
    struct hocket__store_claim c = fixture_put(f, id);
    CHECK(fixture_commit(f, &c, HOCKET__STORE_WRITTEN) == 0);
    fixture_entries(f, &c, 1, n);
    hocket__store_secure(f->s, &c); /* the first time it cannot */
    CHECK(fixture_commit(f, &c, HOCKET__STORE_WRITTEN) == 0);
    return c;
}

static size_t entries(struct fixture *f, const char *id)
{
    struct hocket__store_reply r = fixture_reply(f);
    assert_int_equal(
        fixture_answer(f, hocket__store_entries(f->s, hocket__cstr(id), 1, &r, NULL)), 0);
    for (size_t i = 0; i < f->count; i++)
        assert_int_equal(fixture_row(f, i).entry.n, i + 1);
    return f->count;
}

static int take(struct fixture *f, const char *id, struct hocket__store_claim *claim)
{
    struct hocket__store_reply r = fixture_reply(f);
    int rc = fixture_answer(f, hocket__store_take(f->s, hocket__cstr(id), &r, NULL));
    if (rc == 0) {
        snprintf(claim->id, sizeof(claim->id), "%s", id);
        claim->fence = fixture_row(f, 0).run.fence;
    }
    return rc;
}

/* Runs `life` in a process that is killed at its end. */
static void killed(struct fixture *f, void (*life)(struct fixture *f))
{
    int how;
    pid_t pid = fork();
    if (pid == 0) {
        fixture_forked(f);
        fixture_open(f);
        life(f);
        raise(SIGKILL);
    }
    assert_int_equal(waitpid(pid, &how, 0), pid);
    assert_true(WIFSIGNALED(how) && WTERMSIG(how) == SIGKILL);
}

/* ---- A kill ------------------------------------------------------------------------------------ */

static void secure_some(struct fixture *f)
{
    struct hocket__store_claim c = start(f, RUN_1, 3);
    for (uint64_t n = 4; n <= 40; n++) {
        fixture_append(f, &c, n);
        if (n % 3 == 0)
            CHECK(hocket__store_secure(f->s, &c));
        if (n % 5 == 0)
            uv_run(&f->loop, UV_RUN_NOWAIT); /* a turn ends, and nothing is written */
    }
}

static void what_was_secured_survives_a_kill(void **state)
{
    struct fixture *f = begin();
    (void) state;
    killed(f, secure_some);
    assert_string_not_equal(ahead_of(f), "");
    fixture_open(f);
    assert_int_equal(entries(f, RUN_1), 39);
    assert_string_equal(ahead_of(f), "");
    fixture_close(f);
    fixture_open(f);
    assert_int_equal(entries(f, RUN_1), 39);
    end(f);
}

static void secure_and_commit(struct fixture *f)
{
    struct hocket__store_claim c = start(f, RUN_1, 3);
    for (uint64_t n = 4; n <= 40; n++) {
        fixture_append(f, &c, n);
        CHECK(hocket__store_secure(f->s, &c));
        if (n % 7 == 0)
            CHECK(fixture_commit(f, &c, HOCKET__STORE_WRITTEN) == 0);
    }
}

/* The file begins anew behind each commit, over what it had. */
static void what_the_database_has_is_not_written_twice(void **state)
{
    struct fixture *f = begin();
    (void) state;
    killed(f, secure_and_commit);
    fixture_open(f);
    assert_int_equal(entries(f, RUN_1), 40);
    end(f);
}

/* What was begun in the same turns by others is in the file, too: a new run, a message that was taken, an end. */
static void secure_others(struct fixture *f)
{
    struct hocket__store_claim c = start(f, RUN_1, 3), other = fixture_put(f, RUN_2);
    struct hocket__store_run done = { .state = HOCKET__STORE_DONE };
    fixture_entries(f, &other, 1, 2);
    hocket__store_update(f->s, &other, HOCKET__STORE_SET_STATE, &done);
    hocket__store_release(f->s, &other);
    fixture_append(f, &c, 4);
    CHECK(hocket__store_secure(f->s, &c));
}

static void all_that_stood_before_it_survives(void **state)
{
    struct fixture *f = begin();
    struct hocket__store_claim c;
    (void) state;
    killed(f, secure_others);
    fixture_open(f);
    assert_int_equal(entries(f, RUN_1), 4);
    assert_int_equal(entries(f, RUN_2), 2);
    assert_int_equal(take(f, RUN_2, &c), 0);
    assert_int_equal(fixture_row(f, 0).run.state, HOCKET__STORE_DONE);
    assert_int_equal(take(f, RUN_1, &c), 0);
    fixture_append(f, &c, 5);
    assert_int_equal(fixture_commit(f, &c, HOCKET__STORE_WRITTEN), 0);
    assert_int_equal(entries(f, RUN_1), 5);
    end(f);
}

/* One that is open when another is killed takes over what that one had secured. */
static void who_takes_a_run_takes_what_is_ahead(void **state)
{
    struct fixture *f = begin(), *g = begin();
    struct hocket__store_claim c;
    (void) state;
    fixture_open(f);
    assert_int_equal(fixture_commit(f, NULL, HOCKET__STORE_WRITTEN), 0);
    strcpy(g->path, f->path);
    killed(g, secure_some);
    assert_int_equal(take(f, RUN_1, &c), 0);
    assert_int_equal(entries(f, RUN_1), 39);
    fixture_append(f, &c, 40);
    assert_int_equal(fixture_commit(f, &c, HOCKET__STORE_WRITTEN), 0);
    fixture_close(f);
    fixture_open(f); /* and removes the file, which tells it nothing new */
    assert_int_equal(entries(f, RUN_1), 40);
    end(f);
    snprintf(g->path, sizeof(g->path), "%.200s/hocket/runs.db", g->dir);
    end(g);
}

/* ---- Workers -------------------------------------------------------------------------------------- */

static struct hocket__store_claim put_job(
    struct fixture *f, const char *id, enum hocket__store_state state)
{
    struct hocket__store_run r = fixture_run(id);
    struct hocket__store_claim c;
    r.state = state;
    r.pool = HOCKET__STR("default");
    CHECK(hocket__store_put(f->s, &r, &c) == 0);
    return c;
}

/* The id of what was taken, or "". */
static const char *take_next(struct fixture *f, struct hocket__store_claim *c)
{
    struct hocket__store_reply r = fixture_reply(f);
    memset(c, 0, sizeof(*c));
    fixture_answer(f, hocket__store_take_next(f->s, HOCKET__STR("default"), &r, NULL));
    if (f->status == 0 && f->count == 1) {
        memcpy(c->id, fixture_row(f, 0).run.id, sizeof(c->id));
        c->fence = fixture_row(f, 0).run.fence;
    }
    return c->id;
}

/* A worker's, that has two of them: what it says of the first is in the file alone. */
static void work_on_two(struct fixture *f, enum hocket__store_state then)
{
    struct hocket__store_claim c = put_job(f, RUN_1, HOCKET__STORE_RUNNING),
                               d = put_job(f, RUN_2, HOCKET__STORE_RUNNING);
    struct hocket__store_run row = { .state = then };
    fixture_entries(f, &c, 1, 3);
    CHECK(fixture_commit(f, &c, HOCKET__STORE_WRITTEN) == 0);
    fixture_append(f, &d, 1);
    hocket__store_secure(f->s, &d);
    CHECK(fixture_commit(f, &d, HOCKET__STORE_WRITTEN) == 0);
    fixture_append(f, &c, 4);
    if (then != HOCKET__STORE_RUNNING) {
        hocket__store_update(f->s, &c, HOCKET__STORE_SET_STATE, &row);
        if (then != HOCKET__STORE_FAILED)
            hocket__store_release(f->s, &c);
    }
    fixture_append(f, &d, 2);
    CHECK(hocket__store_secure(f->s, &d));
}

static void work(struct fixture *f)
{
    work_on_two(f, HOCKET__STORE_RUNNING);
}

static void end_one(struct fixture *f)
{
    work_on_two(f, HOCKET__STORE_DONE);
}

static void fail_one(struct fixture *f)
{
    work_on_two(f, HOCKET__STORE_FAILED);
}

static void park_one(struct fixture *f)
{
    work_on_two(f, HOCKET__STORE_PARKED);
}

/* `life` is that of a worker that was killed while this store, another worker's, was open. */
static struct fixture *beside(void (*life)(struct fixture *f))
{
    struct fixture *f = begin(), *g = begin();
    fixture_open(f);
    assert_int_equal(fixture_commit(f, NULL, HOCKET__STORE_WRITTEN), 0);
    strcpy(g->path, f->path);
    killed(g, life);
    snprintf(g->path, sizeof(g->path), "%.200s/hocket/runs.db", g->dir);
    end(g);
    return f;
}

/* As long as the file is not seen by who opens the store next. */
static void end_later(struct fixture *f)
{
    fixture_close(f);
    fixture_open(f);
    end(f);
}

static void a_worker_takes_what_is_ahead(void **state)
{
    struct fixture *f = beside(work);
    struct hocket__store_claim c;
    (void) state;
    assert_string_equal(take_next(f, &c), RUN_1);
    assert_int_equal(fixture_row(f, 0).run.last_n, 4);
    assert_int_equal(entries(f, RUN_1), 4);
    fixture_append(f, &c, 5);
    assert_int_equal(fixture_commit(f, &c, HOCKET__STORE_WRITTEN), 0);
    assert_string_equal(take_next(f, &c), RUN_2);
    assert_int_equal(entries(f, RUN_2), 2);
    assert_string_equal(take_next(f, &c), "");
    end_later(f);
}

/* What says that it is over was handed over, and is in no database yet. */
static void a_run_that_is_over_is_taken_by_nobody(void **state)
{
    void (*const lives[])(struct fixture *) = { end_one, fail_one, park_one };
    static const enum hocket__store_state states[] = { HOCKET__STORE_DONE, HOCKET__STORE_FAILED,
        HOCKET__STORE_PARKED };
    (void) state;
    for (size_t i = 0; i < 3; i++) {
        struct fixture *f = beside(lives[i]);
        struct hocket__store_claim c;
        assert_string_equal(take_next(f, &c), RUN_2);
        assert_int_equal(entries(f, RUN_2), 2);
        assert_string_equal(take_next(f, &c), "");
        assert_int_equal(entries(f, RUN_1), 4);
        struct hocket__store_reply r = fixture_reply(f);
        assert_int_equal(
            fixture_answer(f, hocket__store_find(f->s, HOCKET__STR(RUN_1), &r, NULL)), 0);
        assert_int_equal(fixture_row(f, 0).run.state, states[i]);
        assert_int_equal(fixture_row(f, 0).run.owner.pid, 0);
        end_later(f);
    }
}

/* ---- Files that are not whole ------------------------------------------------------------------- */

static void change_file(const char *path, off_t at, const char *text, size_t n)
{
    int fd = open(path, O_RDWR);
    assert_true(fd >= 0);
    if (n > 0)
        assert_int_equal(pwrite(fd, text, n, at), n);
    else
        assert_int_equal(ftruncate(fd, at), 0);
    close(fd);
}

static off_t size_of(const char *path)
{
    struct stat st;
    assert_int_equal(stat(path, &st), 0);
    return st.st_size;
}

/* At each length: a beginning of what was secured, and whole entries. */
static void a_file_that_is_cut_off_counts_as_far_as_it_goes(void **state)
{
    size_t before = 3;
    off_t size = 1;
    (void) state;
    for (off_t n = 0; n <= size; n += 397) {
        struct fixture *f = begin();
        killed(f, secure_some);
        size = size_of(ahead_of(f));
        change_file(ahead_of(f), n, NULL, 0);
        fixture_open(f);
        size_t count = entries(f, RUN_1);
        assert_true(count >= before && count <= 39 && count % 3 == 0);
        before = count;
        end(f);
    }
    assert_true(before > 20);
}

static void a_record_that_was_changed_ends_it(void **state)
{
    struct fixture *f = begin();
    (void) state;
    killed(f, secure_some);
    change_file(ahead_of(f), size_of(ahead_of(f)) / 2, "\xff", 1);
    fixture_open(f);
    size_t count = entries(f, RUN_1);
    assert_true(count >= 3 && count < 39 && count % 3 == 0);
    end(f);
}

static void sql(const char *path, const char *text)
{
    sqlite3 *db;
    assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
    assert_int_equal(sqlite3_exec(db, text, NULL, NULL, NULL), SQLITE_OK);
    sqlite3_close(db);
}

/* As after a loss of power: the database has gone back, and the file has not. */
static void a_file_behind_a_gap_does_not_count(void **state)
{
    struct fixture *f = begin();
    (void) state;
    killed(f, secure_some);
    sql(f->path,
        "UPDATE meta SET value = '1' || substr(value, instr(value, ' ')) WHERE name LIKE 'ahead %';"
        "DELETE FROM entries WHERE key & 4294967295 = 3; UPDATE runs SET last_n = 2");
    fixture_open(f);
    assert_int_equal(entries(f, RUN_1), 2);
    end(f);
}

/* What another version has secured is not passed over in silence. */
static void a_file_of_another_version_is_refused(void **state)
{
    struct fixture *f = begin();
    struct hocket__store_claim c;
    (void) state;
    killed(f, secure_some);
    change_file(ahead_of(f), 24, "0.0.9", 6);
    fixture_open(f);
    assert_int_equal(entries(f, RUN_1), 3); /* it can be looked at */
    assert_int_equal(take(f, RUN_1, &c), HOCKET_EUNSUPPORTED);
    assert_non_null(strstr(f->error.message, "0.0.9"));
    fixture_close(f);
    assert_string_not_equal(ahead_of(f), "");
    unlink(ahead_of(f));
    end(f);
}

/* ---- Where it cannot be ------------------------------------------------------------------------- */

/* Under a limit of this process's. */
static bool secure_below(
    struct fixture *f, const struct hocket__store_claim *c, int what, rlim_t limit)
{
    struct rlimit old, low;
    assert_int_equal(getrlimit(what, &old), 0);
    low = (struct rlimit){ limit, old.rlim_max };
    assert_int_equal(setrlimit(what, &low), 0);
    bool secured = hocket__store_secure(f->s, c);
    assert_int_equal(setrlimit(what, &old), 0);
    return secured;
}

/* No descriptor is left, or the disk is full: then it has to be waited for, as without. */
static void a_file_that_cannot_be_written_is_done_without(void **state)
{
    struct fixture *f = begin();
    (void) state;
    signal(SIGXFSZ, SIG_IGN);
    fixture_open(f);
    struct hocket__store_claim c = start(f, RUN_1, 3);
    fixture_append(f, &c, 4);
    assert_false(secure_below(f, &c, RLIMIT_NOFILE, 0));
    assert_string_equal(ahead_of(f), "");
    assert_int_equal(fixture_commit(f, &c, HOCKET__STORE_WRITTEN), 0);
    for (uint64_t n = 5; n < 9; n++) {
        fixture_append(f, &c, n);
        assert_true(secure_below(f, &c, RLIMIT_FSIZE, 100 * 1000)); /* now there is room */
        fixture_append(f, &c, n + 1);
        assert_false(secure_below(f, &c, RLIMIT_FSIZE, 200)); /* a part of it fits */
        assert_true(hocket__store_secure(f->s, &c));
        n++;
    }
    assert_int_equal(fixture_commit(f, &c, HOCKET__STORE_WRITTEN), 0);
    assert_int_equal(entries(f, RUN_1), 8);
    end(f);
}

/* More than the file may hold is waited for, and then it begins anew. */
static void what_is_too_much_is_waited_for(void **state)
{
    struct fixture *f = begin();
    static char value[300 * 1000];
    (void) state;
    memset(value, 'v', sizeof(value) - 1);
    fixture_open(f);
    struct hocket__store_claim c = start(f, RUN_1, 3);
    bool secured = true;
    for (uint64_t n = 4; n < 12; n++) {
        struct hocket__store_entry e = fixture_entry(n, value);
        assert_int_equal(hocket__store_append(f->s, &c, &e), 0);
        secured = hocket__store_secure(f->s, &c);
        assert_true(secured || n > 5);
        if (!secured)
            assert_int_equal(fixture_commit(f, &c, HOCKET__STORE_WRITTEN), 0);
    }
    assert_true(size_of(ahead_of(f)) <= 1 << 20);
    assert_int_equal(entries(f, RUN_1), 11);
    end(f);
}

/* ---- Two that are alive -------------------------------------------------------------------------- */

/* Its lease has run out in silence, and another has its run: it must not begin anything for that any more. */
static void who_lost_its_run_secures_nothing(void **state)
{
    struct fixture *f = begin(), *g = begin();
    struct hocket__store_claim c, taken;
    (void) state;
    strcpy(g->path, f->path);
    fixture_open(f);
    c = start(f, RUN_1, 3);
    struct hocket__store_claim other = start(f, RUN_2, 3);
    fixture_append(f, &c, 4);
    fixture_append(f, &other, 4);
    assert_true(hocket__store_secure(f->s, &c));
    g->now = (int64_t) time(NULL) * 1000 + 3600 * 1000;
    fixture_open(g);
    assert_int_equal(take(g, RUN_1, &taken), 0);
    assert_int_equal(entries(g, RUN_1), 4);
    fixture_append(f, &c, 5);
    assert_false(hocket__store_secure(f->s, &c));
    assert_int_equal(fixture_commit(f, &c, HOCKET__STORE_WRITTEN), HOCKET_ESTATE);
    fixture_append(f, &other, 5);
    assert_int_equal(
        fixture_commit(f, &other, HOCKET__STORE_WRITTEN), 0); /* that is still its own */
    assert_int_equal(entries(g, RUN_2), 5);
    assert_int_equal(entries(g, RUN_1), 4);
    fixture_append(g, &taken, 5);
    assert_int_equal(fixture_commit(g, &taken, HOCKET__STORE_WRITTEN), 0);
    fixture_close(g);
    end(f);
    snprintf(g->path, sizeof(g->path), "%.200s/hocket/runs.db", g->dir);
    end(g);
}

/* The same where its file is not there yet. */
static void who_lost_its_run_before_it_secured_secures_nothing(void **state)
{
    struct fixture *f = begin(), *g = begin();
    struct hocket__store_claim c, taken;
    (void) state;
    strcpy(g->path, f->path);
    fixture_open(f);
    c = start(f, RUN_1, 3);
    g->now = (int64_t) time(NULL) * 1000 + 3600 * 1000;
    fixture_open(g);
    assert_int_equal(take(g, RUN_1, &taken), 0);
    fixture_append(f, &c, 4);
    assert_false(hocket__store_secure(f->s, &c));
    assert_int_equal(fixture_commit(f, &c, HOCKET__STORE_WRITTEN), HOCKET_ESTATE);
    assert_int_equal(entries(g, RUN_1), 3);
    fixture_close(g);
    end(f);
    snprintf(g->path, sizeof(g->path), "%.200s/hocket/runs.db", g->dir);
    end(g);
}

/* A process that was forked has the descriptor, and must not write. */
static void a_child_writes_nothing(void **state)
{
    struct fixture *f = begin();
    int how;
    (void) state;
    fixture_open(f);
    struct hocket__store_claim c = start(f, RUN_1, 3);
    fixture_append(f, &c, 4);
    assert_true(hocket__store_secure(f->s, &c));
    off_t size = size_of(ahead_of(f));
    pid_t pid = fork();
    if (pid == 0) {
        fixture_append(f, &c, 5);
        _exit(hocket__store_secure(f->s, &c) ? 1 : 0);
    }
    assert_int_equal(waitpid(pid, &how, 0), pid);
    assert_int_equal(how, 0);
    assert_int_equal(size_of(ahead_of(f)), size);
    end(f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_was_secured_survives_a_kill),
        cmocka_unit_test(what_the_database_has_is_not_written_twice),
        cmocka_unit_test(all_that_stood_before_it_survives),
        cmocka_unit_test(who_takes_a_run_takes_what_is_ahead),
        cmocka_unit_test(a_worker_takes_what_is_ahead),
        cmocka_unit_test(a_run_that_is_over_is_taken_by_nobody),
        cmocka_unit_test(a_file_that_is_cut_off_counts_as_far_as_it_goes),
        cmocka_unit_test(a_record_that_was_changed_ends_it),
        cmocka_unit_test(a_file_behind_a_gap_does_not_count),
        cmocka_unit_test(a_file_of_another_version_is_refused),
        cmocka_unit_test(a_file_that_cannot_be_written_is_done_without),
        cmocka_unit_test(what_is_too_much_is_waited_for),
        cmocka_unit_test(who_lost_its_run_secures_nothing),
        cmocka_unit_test(who_lost_its_run_before_it_secured_secures_nothing),
        cmocka_unit_test(a_child_writes_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

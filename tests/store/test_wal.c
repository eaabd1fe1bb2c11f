/* What is secured before the database has it: it is there when the process was killed, once, and only where it continues
 * what the database has. */
#include "store/wal.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

/* ---- A kill ------------------------------------------------------------------------------------ */

static void what_was_secured_survives_a_kill(void **state)
{
    struct fixture *f = ahead_begin();
    (void) state;
    ahead_killed(f, ahead_secure_some);
    assert_string_not_equal(wal_of(f), "");
    fixture_open(f);
    assert_int_equal(ahead_entries(f, RUN_1), 39);
    assert_string_equal(wal_of(f), "");
    fixture_close(f);
    fixture_open(f);
    assert_int_equal(ahead_entries(f, RUN_1), 39);
    ahead_end(f);
}

static void secure_and_commit(struct fixture *f)
{
    struct hocket__store_claim c = ahead_start(f, RUN_1, 3);
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
    struct fixture *f = ahead_begin();
    (void) state;
    ahead_killed(f, secure_and_commit);
    fixture_open(f);
    assert_int_equal(ahead_entries(f, RUN_1), 40);
    ahead_end(f);
}

/* What was begun in the same turns by others is in the file, too: a new run, a message that was taken, an end. */
static void secure_others(struct fixture *f)
{
    struct hocket__store_claim c = ahead_start(f, RUN_1, 3), other = fixture_put(f, RUN_2);
    struct hocket__store_run done = { .state = HOCKET__STORE_DONE };
    fixture_entries(f, &other, 1, 2);
    hocket__store_update(f->s, &other, HOCKET__STORE_SET_STATE, &done);
    hocket__store_release(f->s, &other);
    fixture_append(f, &c, 4);
    CHECK(hocket__store_secure(f->s, &c));
}

static void all_that_stood_before_it_survives(void **state)
{
    struct fixture *f = ahead_begin();
    struct hocket__store_claim c;
    (void) state;
    ahead_killed(f, secure_others);
    fixture_open(f);
    assert_int_equal(ahead_entries(f, RUN_1), 4);
    assert_int_equal(ahead_entries(f, RUN_2), 2);
    assert_int_equal(ahead_take(f, RUN_2, &c), 0);
    assert_int_equal(fixture_row(f, 0).run.state, HOCKET__STORE_DONE);
    assert_int_equal(ahead_take(f, RUN_1, &c), 0);
    fixture_append(f, &c, 5);
    assert_int_equal(fixture_commit(f, &c, HOCKET__STORE_WRITTEN), 0);
    assert_int_equal(ahead_entries(f, RUN_1), 5);
    ahead_end(f);
}

/* One that is open when another is killed takes over what that one had secured. */
static void who_takes_a_run_takes_what_is_ahead(void **state)
{
    struct fixture *f = ahead_begin(), *g = ahead_begin();
    struct hocket__store_claim c;
    (void) state;
    fixture_open(f);
    assert_int_equal(fixture_commit(f, NULL, HOCKET__STORE_WRITTEN), 0);
    strcpy(g->path, f->path);
    ahead_killed(g, ahead_secure_some);
    assert_int_equal(ahead_take(f, RUN_1, &c), 0);
    assert_int_equal(ahead_entries(f, RUN_1), 39);
    fixture_append(f, &c, 40);
    assert_int_equal(fixture_commit(f, &c, HOCKET__STORE_WRITTEN), 0);
    fixture_close(f);
    fixture_open(f); /* and removes the file, which tells it nothing new */
    assert_int_equal(ahead_entries(f, RUN_1), 40);
    ahead_end(f);
    snprintf(g->path, sizeof(g->path), "%.200s/hocket/runs.db", g->dir);
    ahead_end(g);
}

/* ---- Workers -------------------------------------------------------------------------------------- */

static void end_one(struct fixture *f)
{
    ahead_work_on_two(f, HOCKET__STORE_DONE);
}

static void fail_one(struct fixture *f)
{
    ahead_work_on_two(f, HOCKET__STORE_FAILED);
}

static void park_one(struct fixture *f)
{
    ahead_work_on_two(f, HOCKET__STORE_PARKED);
}

static void a_worker_takes_what_is_ahead(void **state)
{
    struct fixture *f = ahead_beside(ahead_work);
    struct hocket__store_claim c;
    (void) state;
    assert_string_equal(ahead_take_next(f, &c), RUN_1);
    assert_int_equal(fixture_row(f, 0).run.last_n, 4);
    assert_int_equal(ahead_entries(f, RUN_1), 4);
    fixture_append(f, &c, 5);
    assert_int_equal(fixture_commit(f, &c, HOCKET__STORE_WRITTEN), 0);
    assert_string_equal(ahead_take_next(f, &c), RUN_2);
    assert_int_equal(ahead_entries(f, RUN_2), 2);
    assert_string_equal(ahead_take_next(f, &c), "");
    ahead_end_later(f);
}

/* What says that it is over was handed over, and is in no database yet. */
static void a_run_that_is_over_is_taken_by_nobody(void **state)
{
    void (*const lives[])(struct fixture *) = { end_one, fail_one, park_one };
    static const enum hocket__store_state states[] = { HOCKET__STORE_DONE, HOCKET__STORE_FAILED,
        HOCKET__STORE_PARKED };
    (void) state;
    for (size_t i = 0; i < 3; i++) {
        struct fixture *f = ahead_beside(lives[i]);
        struct hocket__store_claim c;
        assert_string_equal(ahead_take_next(f, &c), RUN_2);
        assert_int_equal(ahead_entries(f, RUN_2), 2);
        assert_string_equal(ahead_take_next(f, &c), "");
        assert_int_equal(ahead_entries(f, RUN_1), 4);
        struct hocket__store_reply r = fixture_reply(f);
        assert_int_equal(
            fixture_answer(f, hocket__store_find(f->s, HOCKET__STR(RUN_1), &r, NULL)), 0);
        assert_int_equal(fixture_row(f, 0).run.state, states[i]);
        assert_int_equal(fixture_row(f, 0).run.owner.pid, 0);
        ahead_end_later(f);
    }
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
    struct fixture *f = ahead_begin();
    (void) state;
    signal(SIGXFSZ, SIG_IGN);
    fixture_open(f);
    struct hocket__store_claim c = ahead_start(f, RUN_1, 3);
    fixture_append(f, &c, 4);
    assert_false(secure_below(f, &c, RLIMIT_NOFILE, 0));
    assert_string_equal(wal_of(f), "");
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
    assert_int_equal(ahead_entries(f, RUN_1), 8);
    ahead_end(f);
}

/* More than the file may hold is waited for, and then it begins anew. */
static void what_is_too_much_is_waited_for(void **state)
{
    struct fixture *f = ahead_begin();
    static char value[300 * 1000];
    (void) state;
    memset(value, 'v', sizeof(value) - 1);
    fixture_open(f);
    struct hocket__store_claim c = ahead_start(f, RUN_1, 3);
    bool secured = true;
    for (uint64_t n = 4; n < 12; n++) {
        struct hocket__store_entry e = fixture_entry(n, value);
        assert_int_equal(hocket__store_append(f->s, &c, &e), 0);
        secured = hocket__store_secure(f->s, &c);
        assert_true(secured || n > 5);
        if (!secured)
            assert_int_equal(fixture_commit(f, &c, HOCKET__STORE_WRITTEN), 0);
    }
    assert_true(ahead_size_of(wal_of(f)) <= 1 << 20);
    assert_int_equal(ahead_entries(f, RUN_1), 11);
    ahead_end(f);
}

/* ---- Two that are alive -------------------------------------------------------------------------- */

/* Its lease has run out in silence, and another has its run: it must not begin anything for that any more. */
static void who_lost_its_run_secures_nothing(void **state)
{
    struct fixture *f = ahead_begin(), *g = ahead_begin();
    struct hocket__store_claim c, taken;
    (void) state;
    strcpy(g->path, f->path);
    fixture_open(f);
    c = ahead_start(f, RUN_1, 3);
    struct hocket__store_claim other = ahead_start(f, RUN_2, 3);
    fixture_append(f, &c, 4);
    fixture_append(f, &other, 4);
    assert_true(hocket__store_secure(f->s, &c));
    g->now = (int64_t) time(NULL) * 1000 + 3600 * 1000;
    fixture_open(g);
    assert_int_equal(ahead_take(g, RUN_1, &taken), 0);
    assert_int_equal(ahead_entries(g, RUN_1), 4);
    fixture_append(f, &c, 5);
    assert_false(hocket__store_secure(f->s, &c));
    assert_int_equal(fixture_commit(f, &c, HOCKET__STORE_WRITTEN), HOCKET_ESTATE);
    fixture_append(f, &other, 5);
    assert_int_equal(
        fixture_commit(f, &other, HOCKET__STORE_WRITTEN), 0); /* that is still its own */
    assert_int_equal(ahead_entries(g, RUN_2), 5);
    assert_int_equal(ahead_entries(g, RUN_1), 4);
    fixture_append(g, &taken, 5);
    assert_int_equal(fixture_commit(g, &taken, HOCKET__STORE_WRITTEN), 0);
    fixture_close(g);
    ahead_end(f);
    snprintf(g->path, sizeof(g->path), "%.200s/hocket/runs.db", g->dir);
    ahead_end(g);
}

/* The same where its file is not there yet. */
static void who_lost_its_run_before_it_secured_secures_nothing(void **state)
{
    struct fixture *f = ahead_begin(), *g = ahead_begin();
    struct hocket__store_claim c, taken;
    (void) state;
    strcpy(g->path, f->path);
    fixture_open(f);
    c = ahead_start(f, RUN_1, 3);
    g->now = (int64_t) time(NULL) * 1000 + 3600 * 1000;
    fixture_open(g);
    assert_int_equal(ahead_take(g, RUN_1, &taken), 0);
    fixture_append(f, &c, 4);
    assert_false(hocket__store_secure(f->s, &c));
    assert_int_equal(fixture_commit(f, &c, HOCKET__STORE_WRITTEN), HOCKET_ESTATE);
    assert_int_equal(ahead_entries(g, RUN_1), 3);
    fixture_close(g);
    ahead_end(f);
    snprintf(g->path, sizeof(g->path), "%.200s/hocket/runs.db", g->dir);
    ahead_end(g);
}

/* Whoever has the store open for long finds it, too, though nobody takes anything. */
static void what_was_secured_is_swept_up(void **state)
{
    struct fixture *f = ahead_beside(ahead_work);
    struct hocket__store_maintenance care = { .what = HOCKET__STORE_VACUUM };
    (void) state;
    assert_int_equal(ahead_entries(f, RUN_1), 3);
    for (int i = 0; i < 2; i++) { /* the first time it was looked for when it was opened */
        struct hocket__store_reply r = fixture_reply(f);
        assert_int_equal(fixture_answer(f, hocket__store_maintain(f->s, &care, &r, NULL)), 0);
    }
    assert_int_equal(ahead_entries(f, RUN_1), 4);
    assert_int_equal(ahead_entries(f, RUN_2), 2);
    ahead_end(f);
}

/* What a killed process had for a run that somebody else has taken since is that one's no more. */
static void what_was_lost_meanwhile_is_not_written(void **state)
{
    struct fixture *f = ahead_beside(ahead_work), *g = ahead_begin();
    struct hocket__store_claim c;
    (void) state;
    assert_string_equal(ahead_take_next(f, &c), RUN_1);
    assert_int_equal(fixture_commit(f, &c, HOCKET__STORE_WRITTEN), 0);
    assert_string_not_equal(wal_of(f), "");
    strcpy(g->path, f->path);
    fixture_open(g); /* writes all that is left of the file */
    assert_int_equal(ahead_entries(g, RUN_1), 4);
    assert_int_equal(ahead_entries(g, RUN_2), 2);
    assert_string_equal(wal_of(f), "");
    fixture_append(f, &c, 5);
    assert_int_equal(fixture_commit(f, &c, HOCKET__STORE_WRITTEN), 0);
    assert_int_equal(ahead_entries(g, RUN_1), 5);
    fixture_close(g);
    snprintf(g->path, sizeof(g->path), "%.200s/hocket/runs.db", g->dir);
    ahead_end(g);
    ahead_end(f);
}

/* A file that nothing in the database leads to would never be read. */
static void nothing_is_secured_before_the_database_knows(void **state)
{
    struct fixture *f = ahead_begin();
    struct hocket__store_claim c;
    (void) state;
    fixture_open(f);
    c = fixture_put(f, RUN_1);
    assert_int_equal(fixture_commit(f, &c, HOCKET__STORE_WRITTEN), 0);
    fixture_close(f);
    fixture_open(f);
    assert_int_equal(ahead_take(f, RUN_1, &c), 0);
    for (uint64_t n = 1; n < 4; n++) {
        assert_false(hocket__store_secure(f->s, &c));
        fixture_append(f, &c, n);
    }
    assert_string_equal(wal_of(f), "");
    assert_int_equal(fixture_commit(f, &c, HOCKET__STORE_WRITTEN), 0);
    fixture_append(f, &c, 4);
    assert_true(hocket__store_secure(f->s, &c));
    ahead_end(f);
}

/* Whoever removes it by hand has to be right about what becomes of it. */
static void a_file_that_is_removed_secures_nothing(void **state)
{
    struct fixture *f = ahead_begin();
    (void) state;
    fixture_open(f);
    struct hocket__store_claim c = ahead_start(f, RUN_1, 3);
    fixture_append(f, &c, 4);
    assert_true(hocket__store_secure(f->s, &c));
    assert_int_equal(unlink(wal_of(f)), 0);
    fixture_append(f, &c, 5);
    assert_false(hocket__store_secure(f->s, &c));
    assert_int_equal(fixture_commit(f, &c, HOCKET__STORE_WRITTEN), 0);
    assert_int_equal(ahead_entries(f, RUN_1), 5);
    ahead_end(f);
}

/* A process that was forked has the descriptor, and must not write. */
static void a_child_writes_nothing(void **state)
{
    struct fixture *f = ahead_begin();
    int how;
    (void) state;
    fixture_open(f);
    struct hocket__store_claim c = ahead_start(f, RUN_1, 3);
    fixture_append(f, &c, 4);
    assert_true(hocket__store_secure(f->s, &c));
    off_t size = ahead_size_of(wal_of(f));
    pid_t pid = fork();
    if (pid == 0) {
        fixture_append(f, &c, 5);
        _exit(hocket__store_secure(f->s, &c) ? 1 : 0);
    }
    assert_int_equal(waitpid(pid, &how, 0), pid);
    assert_int_equal(how, 0);
    assert_int_equal(ahead_size_of(wal_of(f)), size);
    ahead_end(f);
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
        cmocka_unit_test(a_file_that_cannot_be_written_is_done_without),
        cmocka_unit_test(what_is_too_much_is_waited_for),
        cmocka_unit_test(who_lost_its_run_secures_nothing),
        cmocka_unit_test(who_lost_its_run_before_it_secured_secures_nothing),
        cmocka_unit_test(what_was_secured_is_swept_up),
        cmocka_unit_test(what_was_lost_meanwhile_is_not_written),
        cmocka_unit_test(nothing_is_secured_before_the_database_knows),
        cmocka_unit_test(a_file_that_is_removed_secures_nothing),
        cmocka_unit_test(a_child_writes_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* Connections that end at any byte, or whose server ends in the middle of a transaction: what was written is there once, and
 * nobody is told otherwise. */
#include "store/pg.h"
#include "store/postgres/db.h"

#include <poll.h>
#include <stdlib.h>

#define STR(s) hocket__cstr(s)

/* How many bytes a commit of three entries takes on a connection that knows its statements. */
static int64_t commit_three(struct fixture *f, const struct hocket__store_claim *claim, uint64_t *n)
{
    int64_t before = pg_proxy.passed;
    fixture_entries(f, claim, *n + 1, 3);
    *n += 3;
    if (fixture_commit(f, claim, HOCKET__STORE_WRITTEN) < 0)
        fail_msg("%s", f->error.message);
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

/* So many runs are queued, which f takes over a connection that may be cut. */
static void begin_taking(struct fixture *f, struct fixture *direct, int runs)
{
    fixture_init(direct, &pg_kind);
    fixture_open(direct);
    for (int i = 0; i < runs; i++)
        pg_submit(direct, i);
    assert_int_equal(fixture_commit(direct, NULL, HOCKET__STORE_WRITTEN), 0);
    pg_proxy_start();
    fixture_open(f);
}

/* None is left, none was refused, and there were cuts. */
static void end_taking(struct fixture *f, struct fixture *direct, int rounds)
{
    struct hocket__store_claim claim;
    assert_false(pg_take_next(f, &claim));
    assert_true(pg_proxy.cuts > (size_t) rounds / 4);
    assert_int_equal(f->news[HOCKET__STORE_REFUSED], 0);
    pg_proxy.left = -1;
    fixture_close(f);
    pg_proxy_end();
    fixture_deinit(direct);
}

/* An answer that was a run is no run lost: this store asks again, and has it. */
static void what_is_taken_and_cut_off_is_had(void **state)
{
    struct fixture *f = *state;
    struct fixture direct;
    struct hocket__store_claim claim;
    int rounds = getenv("HOCKET_TORTURE") ? 1000 : 40;
    srandom(11);
    begin_taking(f, &direct, rounds + 1);
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
    end_taking(f, &direct, rounds);
}

/* The same of an answer that was several: each is had once, and is this store's own. */
static void several_that_are_taken_and_cut_off_are_had(void **state)
{
    struct fixture *f = *state;
    struct fixture direct;
    int rounds = getenv("HOCKET_TORTURE") ? 1000 : 40;
    srandom(13);
    begin_taking(f, &direct, 4 * rounds);
    int64_t size = 0;
    for (int i = 0; i < rounds; i++) {
        struct hocket__store_claim claims[4];
        struct hocket__store_reply r = fixture_reply(f);
        size = i > 1 ? size : pg_proxy.passed;
        pg_proxy.left = i > 1 ? cut_in(size, i) : -1;
        int rc = fixture_answer(f, hocket__store_take_next(f->s, STR("default"), 4, &r, NULL));
        assert_int_equal(rc, 0);
        assert_int_equal(f->count, 4);
        size = i > 1 ? size : pg_proxy.passed - size; /* the second time its statements are known */
        unsigned had = 0;                             /* the next four, in any order */
        for (size_t j = 0; j < 4; j++) {
            struct hocket__store_run run = fixture_row(f, j).run;
            int number = atoi(run.id + 20) - 4 * i;
            assert_in_range(number, 0, 3);
            had |= 1u << number;
            memcpy(claims[j].id, run.id, sizeof(run.id));
            claims[j].fence = run.fence;
            fixture_append(f, &claims[j], 1);
        }
        assert_int_equal(had, 15);
        assert_int_equal(fixture_commit(f, NULL, HOCKET__STORE_WRITTEN), 0);
    }
    end_taking(f, &direct, rounds);
}

/* What a store has by its rows and does not know of may be of several answers: what was lost before comes alone then, too. */
static void what_was_lost_before_and_cut_off_is_alone(void **state)
{
    static const char *const ids[] = { "01KANC3V0QZJ9E4W2X6T000003", "01KANC3V0QZJ9E4W2X6T000002",
        "01KANC3V0QZJ9E4W2X6T000004" };
    struct fixture *f = *state;
    struct hocket__store_claim claim;
    pg_proxy_start();
    fixture_open(f);
    for (int i = 1; i <= 4; i++)
        pg_submit(f, i);
    assert_int_equal(fixture_commit(f, NULL, HOCKET__STORE_WRITTEN), 0);
    assert_true(pg_take_next(f, &claim));
    pg_sql(
        "UPDATE runs r SET state = 'running', owner_pid = o.owner_pid, owner_store = o.owner_store,"
        " lease_ms = o.lease_ms, fence = 7, attempts = (r.id LIKE '%3')::int"
        " FROM runs o WHERE o.owner_pid <> 0 AND r.owner_pid = 0");
    int cuts = 0;
    for (size_t i = 0, n = 0; n < 3; i++) {
        int rc;
        do { /* of the question; it may hit what the thread asks for itself just then, and nobody looks for what was lost */
            struct hocket__store_reply r = fixture_reply(f);
            if (i == 0) {
                assert_true(++cuts < 20);
                pg_proxy.left = 20;
            }
            rc = fixture_answer(f, hocket__store_take_next(f->s, STR("default"), 9, &r, NULL));
        } while (i == 0 && rc == 0 && f->count == 0);
        assert_int_equal(rc, 0);
        assert_int_equal(f->count, i == 0 ? 1 : 2);
        for (size_t j = 0; j < f->count; j++)
            assert_string_equal(fixture_row(f, j).run.id, ids[n++]);
    }
    assert_false(pg_take_next(f, &claim));
    assert_int_equal(pg_proxy.cuts, cuts);
    pg_proxy.left = -1;
    fixture_close(f);
    pg_proxy_end();
}

static int64_t draw(struct fixture *f, struct hocket__store_draw d)
{
    struct hocket__store_reply r = fixture_reply(f);
    d.name = STR("day");
    d.capacity = 1000000;
    d.lease_ms = d.holder.n > 0 ? 900000 : 0;
    assert_int_equal(fixture_answer(f, hocket__store_draw(f->s, &d, &r, NULL)), 0);
    return fixture_row(f, 0).drawn.level;
}

/* What a call held and used, of a budget that nothing leaks back into. */
static void what_is_spent_and_cut_off_is_spent_once(void **state)
{
    struct fixture *f = *state;
    int rounds = getenv("HOCKET_TORTURE") ? 1000 : 40;
    int64_t size = 0;
    srandom(19);
    pg_proxy_start();
    fixture_open(f);
    for (int i = 0; i < rounds; i++) {
        char holder[16];
        snprintf(holder, sizeof(holder), "h%d", i);
        draw(f, (struct hocket__store_draw){ .want = 50, .least = 1, .holder = STR(holder) });
        int64_t before = pg_proxy.passed;
        pg_proxy.left = i > 2 ? cut_in(size, i) : -1;
        draw(f, (struct hocket__store_draw){ .spent = 10, .holder = STR(holder) });
        size = i > 2 ? size : pg_proxy.passed - before;
    }
    pg_proxy.left = -1;
    assert_int_equal(draw(f, (struct hocket__store_draw){ .want = 0 }), 1000000 - 10 * rounds);
    assert_true(pg_proxy.cuts > (size_t) rounds / 4);
    fixture_close(f);
    pg_proxy_end();
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
        assert_int_equal(fixture_answer(f,
                             hocket__store_item_put(f->s, &item, version, &run, STR(""), &r, NULL)),
            0);
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

/* There once, with its file; what another one has is another one's, however often it is asked. */
static void a_run_that_is_cut_off_is_handed_in_once(void **state)
{
    struct fixture *f = *state;
    struct hocket__store_row file = { .kind = HOCKET__STORE_ROW_FILE };
    struct hocket__store_claim claim;
    struct hocket__buf b;
    int64_t size = 0;
    int rounds = getenv("HOCKET_TORTURE") ? 1000 : 40;
    srandom(19);
    hocket__buf_init(&b, &hocket__malloc, 0);
    file.file = (struct hocket__store_file){ STR("g"), STR("p"), STR("h"), STR("text") };
    assert_int_equal(hocket__store_pack(&b, &file), 0);
    pg_proxy_start();
    fixture_open(f);
    for (int i = 0; i < rounds; i++) {
        struct hocket__store_run run = fixture_run("01KANC3V0QZJ9E4W2X6T000000");
        snprintf(run.id, sizeof(run.id), "01KANC3V0QZJ9E4W2X6T%06u", (unsigned) i % 1000000u);
        run.state = HOCKET__STORE_QUEUED;
        run.pool = STR("default");
        run.generation = STR("g");
        memcpy(run.seed, &i, sizeof(i));
        int64_t before = pg_proxy.passed;
        for (int again = 0; again < 2; again++) {
            struct hocket__store_reply r = fixture_reply(f);
            pg_proxy.left = i > 2 ? cut_in(size, i) : -1;
            assert_int_equal(
                fixture_answer(f, hocket__store_submit(f->s, &run, hocket__buf_str(&b), &r, NULL)),
                again ? HOCKET_EEXIST : 0);
            size = i > 2 || again ? size : pg_proxy.passed - before;
            run.seed[15] = 1;
        }
    }
    pg_proxy.left = -1;
    for (int i = 0; i < rounds; i++)
        assert_true(pg_take_next(f, &claim));
    assert_false(pg_take_next(f, &claim));
    assert_true(pg_proxy.cuts > (size_t) rounds / 4);
    assert_int_equal(f->news[HOCKET__STORE_REFUSED], 0);
    hocket__buf_deinit(&b);
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

/* ---- One round trip ----------------------------------------------------------------------------------------
 * Of a run that a store has, nothing is read before it is written. */

/* The server takes its time: what was on its way when the connection was lost comes after all, before the store has asked
 * whether it is there, and is; or after it has written it again, and is too late. */
static void what_comes_late_is_there_once(void **state)
{
    struct fixture *f = *state;
    uint64_t n = 0;
    pg_proxy_start();
    fixture_open(f);
    struct hocket__store_claim claim = fixture_put(f, RUN_1);
    commit_three(f, &claim, &n);
    for (int i = 0; i < 6; i++) {
        commit_three(f, &claim, &n);
        pg_proxy.late = i % 2;
        pg_proxy.mark = "what came";
        pg_proxy.delays = true;
        commit_three(f, &claim, &n);
        assert_false(pg_proxy.delays);
        if (i % 2 == 0)
            assert_false(pg_proxy_late());
        pg_assert_entries(f, RUN_1, n);
    }
    assert_int_equal(f->news[HOCKET__STORE_REFUSED], 0);
    fixture_close(f);
    pg_proxy_end();
}

static void wait_for(struct fixture *f, const struct hocket__store_claim *claim, const char *what)
{
    struct hocket__store_run run = { .waiting_for = STR(what) };
    hocket__store_update(f->s, claim, HOCKET__STORE_SET_WAITING_FOR, &run);
    assert_int_equal(fixture_commit(f, claim, HOCKET__STORE_WRITTEN), 0);
}

/* Where nothing but the number of the write tells it. */
static void what_comes_late_changes_nothing_back(void **state)
{
    struct fixture *f = *state;
    pg_proxy_start();
    fixture_open(f);
    struct hocket__store_claim claim = fixture_put(f, RUN_1);
    wait_for(f, &claim, "first");
    pg_proxy.mark = "second";
    pg_proxy.delays = true;
    wait_for(f, &claim, "second");
    assert_false(pg_proxy.delays);
    wait_for(f, &claim, "third");
    assert_false(pg_proxy_late());
    assert_int_equal(pg_find(f, RUN_1), 0);
    assert_true(hocket__str_is(fixture_row(f, 0).run.waiting_for, "third"));
    fixture_close(f);
    pg_proxy_end();
}

/* An end that is written late does not end what another has taken up since. */
static void a_late_end_is_nobodys(void **state)
{
    struct fixture *f = *state;
    struct fixture direct;
    struct hocket__store_claim claim, theirs;
    struct hocket__store_run end = { .state = HOCKET__STORE_DONE };
    fixture_init(&direct, &pg_kind);
    fixture_open(&direct);
    pg_submit(&direct, 1);
    assert_int_equal(fixture_commit(&direct, NULL, HOCKET__STORE_WRITTEN), 0);
    pg_proxy_start();
    fixture_open(f);
    assert_true(pg_take_next(f, &claim));
    end.waiting_for = STR("for this mark");
    pg_proxy.mark = end.waiting_for.p;
    pg_proxy.delays = true;
    hocket__store_update(
        f->s, &claim, HOCKET__STORE_SET_STATE | HOCKET__STORE_SET_WAITING_FOR, &end);
    hocket__store_release(f->s, &claim);
    pg_sql("UPDATE runs SET lease_ms = 0"); /* it is thought dead meanwhile */
    while (!pg_take_next(&direct, &theirs))
        uv_run(&f->loop, UV_RUN_NOWAIT);
    fixture_append(&direct, &theirs, 1);
    assert_int_equal(fixture_commit(&direct, &theirs, HOCKET__STORE_WRITTEN), 0);
    assert_int_equal(fixture_commit(f, &claim, HOCKET__STORE_WRITTEN), HOCKET_ESTATE);
    assert_false(pg_proxy_late());
    assert_int_equal(pg_find(&direct, theirs.id), 0);
    assert_int_equal(fixture_row(&direct, 0).run.state, HOCKET__STORE_RUNNING);
    fixture_append(&direct, &theirs, 2);
    assert_int_equal(fixture_commit(&direct, &theirs, HOCKET__STORE_WRITTEN), 0);
    fixture_close(f);
    pg_proxy_end();
    fixture_deinit(&direct);
}

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

/* Who has handed one in hears that it is there, though a worker has it already when that is asked. */
static void what_was_taken_meanwhile_was_put(void **state)
{
    struct fixture *f = *state;
    struct fixture direct;
    struct hocket__store_claim claim;
    fixture_init(&direct, &pg_kind);
    fixture_open(&direct);
    pg_proxy_start();
    fixture_open(f);
    for (int i = 0; i < 5; i++) {
        struct commit c = { .wait.done = on_kept };
        assert_int_equal(
            pg_find(f, RUN_1), HOCKET_ENOTFOUND); /* what came behind the last one is done */
        pg_proxy.holds = true;
        pg_proxy.commits = true; /* it is written, and not known to be */
        pg_submit(f, i);
        hocket__store_commit(f->s, NULL, HOCKET__STORE_SYNCED, &c.wait);
        while (!pg_proxy.is_holding)
            uv_run(&f->loop, UV_RUN_NOWAIT);
        assert_false(c.done);
        assert_true(pg_take_next(&direct, &claim));
        pg_proxy.is_holding = pg_proxy.holds = false;
        fixture_until(f, &c.done);
        assert_int_equal(c.status, 0);
    }
    assert_int_equal(pg_proxy.cuts, 5);
    assert_int_equal(f->news[HOCKET__STORE_REFUSED], 0);
    fixture_close(f);
    pg_proxy_end();
    fixture_deinit(&direct);
}

static void until_one_waits(void)
{
    while (pg_count("SELECT 1 FROM pg_locks l JOIN pg_class c ON c.oid = l.relation"
                    " JOIN pg_namespace s ON s.oid = c.relnamespace"
                    " WHERE NOT granted AND s.nspname = current_schema")
           == 0)
        uv_sleep(5);
}

/* Its transaction ends between two questions whether it is there: what it has put is no other run of the same id. */
static void what_was_put_late_is_ours(void **state)
{
    struct fixture *f = *state;
    struct commit c = { .wait.done = on_kept };
    pg_proxy_start();
    fixture_open(f);
    /* What a store looks for when it is opened is no answer that is counted. */
    for (int i = 0; i < 3; i++) {
        assert_int_equal(pg_find(f, RUN_1), HOCKET_ENOTFOUND);
        uv_sleep(i == 0 ? 100 : 0);
    }
    pg_proxy.holds = true;
    pg_proxy.commits = true; /* it is written, and not known to be */
    struct hocket__store_claim claim = fixture_put(f, RUN_1);
    hocket__store_commit(f->s, &claim, HOCKET__STORE_SYNCED, &c.wait);
    while (!pg_proxy.is_holding)
        uv_run(&f->loop, UV_RUN_NOWAIT);
    /* As if it were on its way still. */
    struct hocket__pg *late =
        pg_begin("BEGIN; CREATE TEMP TABLE t AS SELECT * FROM runs; DELETE FROM runs; COMMIT;"
                 "BEGIN; LOCK TABLE runs IN EXCLUSIVE MODE; INSERT INTO runs SELECT * FROM t");
    pg_proxy.is_holding = pg_proxy.holds = false;
    until_one_waits(); /* it was asked for, and not seen */
    assert_int_equal(hocket__pg_script(late, "COMMIT"), 0);
    fixture_until(f, &c.done);
    pg_end(late);
    assert_int_equal(c.status, 0);
    assert_int_equal(f->news[HOCKET__STORE_REFUSED], 0);
    fixture_append(f, &claim, 1);
    assert_int_equal(fixture_commit(f, &claim, HOCKET__STORE_WRITTEN), 0);
    pg_assert_entries(f, RUN_1, 1);
    fixture_close(f);
    pg_proxy_end();
}

/* One that this store has lost, and heard of it, may be taken by it once more. */
static void what_was_lost_and_is_taken_and_cut_off_is_had(void **state)
{
    struct fixture *f = *state;
    struct hocket__store_claim claim, anew;
    f->o.lease_ms = 3000;
    pg_proxy_start();
    fixture_open(f);
    pg_submit(f, 1);
    assert_int_equal(fixture_commit(f, NULL, HOCKET__STORE_WRITTEN), 0);
    assert_true(pg_take_next(f, &claim));
    for (int i = 0; i < 2; i++) {
        pg_sql("UPDATE runs SET fence = fence + 1, owner_pid = 0, state = 'queued'");
        while (f->news[HOCKET__STORE_REFUSED] <= (size_t) i) /* when it renews its leases */
            assert_int_equal(pg_find(f, claim.id), 0);
        size_t cuts = pg_proxy.cuts;
        pg_proxy.answers = i ? 4 : 0; /* of its COMMIT; of all */
        if (i)
            assert_int_equal(pg_take(f, claim.id, &anew), 0);
        else
            assert_true(pg_take_next(f, &anew));
        assert_int_equal(pg_proxy.cuts, cuts + 1);
        assert_string_equal(anew.id, claim.id);
        claim = anew;
    }
    fixture_append(f, &claim, 1);
    assert_int_equal(fixture_commit(f, &claim, HOCKET__STORE_WRITTEN), 0);
    fixture_close(f);
    pg_proxy_end();
}

/* ---- What is gone when it is asked for -------------------------------------------------------------------- */

static void hand_in(struct fixture *f, const struct hocket__store_run *run)
{
    struct hocket__store_reply r = fixture_reply(f);
    assert_int_equal(hocket__store_submit(f->s, run, STR(""), &r, NULL), 0);
}

static void put(struct fixture *f, const struct hocket__store_run *run)
{
    struct hocket__store_claim claim;
    struct hocket__store_reply r = fixture_reply(f);
    assert_int_equal(hocket__store_put(f->s, run, &claim), 0);
    assert_int_equal(hocket__store_release(f->s, &claim), 0);
    assert_int_equal(hocket__store_stats(f->s, &r, NULL), 0); /* written before it is answered */
}

static void put_with_item(struct fixture *f, const struct hocket__store_run *run)
{
    struct hocket__store_item item = {
        .kind = STR("k"), .id = STR("i"), .json = hocket__cstr(run->id)
    };
    struct hocket__store_reply r = fixture_reply(f);
    assert_int_equal(
        hocket__store_item_put(f->s, &item, HOCKET__STORE_ANY, run, STR(""), &r, NULL), 0);
}

/* The one that is there is taken, ends, and is removed, with all that a sweep removes. */
static void be_gone(struct fixture *f)
{
    struct hocket__store_claim claim;
    struct hocket__store_run end = { .state = HOCKET__STORE_DONE };
    assert_true(pg_take_next(f, &claim));
    fixture_append(f, &claim, 1);
    hocket__store_update(f->s, &claim, HOCKET__STORE_SET_STATE, &end);
    hocket__store_release(f->s, &claim);
    assert_int_equal(fixture_commit(f, &claim, HOCKET__STORE_WRITTEN), 0);
    struct hocket__store_reply r = fixture_reply(f);
    assert_int_equal(fixture_answer(f, hocket__store_remove(f->s, STR(claim.id), &r, NULL)), 0);
    assert_int_equal(pg_care(f, HOCKET__STORE_VACUUM), 0);
    assert_int_equal(pg_count("SELECT 1 FROM entries"), 0);
}

/* Its answer is lost, the last of so many, and it is gone before anybody can ask for it: it is not put a second time. */
static void is_put_once(struct fixture *f, struct fixture *direct, int answers,
    void (*ask)(struct fixture *, const struct hocket__store_run *))
{
    static unsigned char n;
    struct hocket__store_run run = fixture_run(RUN_1);
    struct hocket__store_claim claim;
    run.state = HOCKET__STORE_QUEUED;
    run.pool = STR("default");
    run.seed[0] = n++;
    assert_int_equal(pg_find(f, RUN_1), HOCKET_ENOTFOUND);
    pg_proxy.holds = true;
    pg_proxy.answers = answers;
    ask(f, &run);
    while (!pg_proxy.is_holding)
        uv_run(&f->loop, UV_RUN_NOWAIT);
    be_gone(direct);
    pg_proxy.is_holding = pg_proxy.holds = false;
    fixture_until(f, &f->done);
    assert_int_equal(f->status, 0);
    assert_false(pg_take_next(direct, &claim));
    assert_int_equal(pg_find(f, RUN_1), HOCKET_ENOTFOUND);
}

static void what_is_gone_meanwhile_was_put(void **state)
{
    struct fixture *f = *state;
    struct fixture direct;
    fixture_init(&direct, &pg_kind);
    fixture_open(&direct);
    pg_proxy_start();
    fixture_open(f);
    for (int i = 0; i < 3; i++) {
        is_put_once(f, &direct, 4, hand_in);
        is_put_once(f, &direct, 1, put);
        is_put_once(f, &direct, 6, put_with_item);
    }
    assert_int_equal(pg_proxy.cuts, 9);
    assert_int_equal(f->news[HOCKET__STORE_REFUSED], 0);
    /* Nothing of it stays for ever. */
    assert_int_equal(pg_count("SELECT 1 FROM runs"), 9);
    pg_sql("UPDATE runs SET updated_ms = updated_ms - 24 * 3600 * 1000 WHERE no % 2 = 0");
    fixture_close(f);
    fixture_deinit(&direct);
    fixture_open(f);
    assert_int_equal(pg_care(f, HOCKET__STORE_VACUUM), 0);
    assert_true(pg_count("SELECT 1 FROM runs") < 9);
    assert_int_equal(pg_count("SELECT 1 FROM runs WHERE no % 2 = 0"), 0);
    fixture_close(f);
    pg_proxy_end();
}

/* Whoever reads a run in that he had removed before wants it there. */
static void what_was_removed_before_is_put_again(void **state)
{
    struct fixture *f = *state;
    struct fixture direct;
    struct hocket__store_run run = fixture_run(RUN_1);
    struct hocket__store_claim claim;
    int64_t size = 0;
    srandom(23);
    run.state = HOCKET__STORE_QUEUED;
    run.pool = STR("default");
    fixture_init(&direct, &pg_kind);
    fixture_open(&direct);
    pg_proxy_start();
    fixture_open(f);
    for (int i = 0; i < 20; i++) {
        int64_t before = pg_proxy.passed;
        pg_proxy.left = i > 2 ? random() % size : -1;
        hand_in(f, &run);
        fixture_until(f, &f->done);
        assert_int_equal(f->status, 0);
        size = i > 2 ? size : pg_proxy.passed - before;
        be_gone(&direct);
        pg_sql("UPDATE runs SET updated_ms = updated_ms - 5000"); /* so long ago */
    }
    pg_proxy.left = -1;
    assert_false(pg_take_next(&direct, &claim));
    assert_true(pg_proxy.cuts > 10);
    fixture_close(f);
    pg_proxy_end();
    fixture_deinit(&direct);
}

/* In one transaction with others that are kept: each hears its own, and once. */
static void what_was_refused_is_refused_though_it_was_cut_off(void **state)
{
    struct fixture *f = *state;
    uint64_t n = 0;
    int64_t size = 0;
    int rounds = getenv("HOCKET_TORTURE") ? 500 : 30;
    srandom(17);
    pg_proxy_start();
    fixture_open(f);
    struct hocket__store_claim good = fixture_put(f, RUN_1);
    commit_three(f, &good, &n);
    for (int i = 0; i < rounds; i++) {
        char id[HOCKET__STORE_ID + 1];
        snprintf(id, sizeof(id), "01KANC3V0QZJ9E4W2X6T%06u", (unsigned) (2 * i) % 1000000u);
        struct hocket__store_claim bad = fixture_put(f, id);
        fixture_append(f, &bad, 1);
        assert_int_equal(fixture_commit(f, &bad, HOCKET__STORE_WRITTEN), 0);
        int64_t before = pg_proxy.passed;
        pg_proxy.left = i > 1 ? cut_in(size, i) : -1;
        fixture_append(f, &bad, 2);
        fixture_append(f, &bad, 9);
        fixture_append(f, &good, ++n);
        if (i % 2)
            pg_submit(f, 2 * i + 1);
        struct commit c = { .wait.done = on_kept };
        hocket__store_commit(f->s, &bad, HOCKET__STORE_WRITTEN, &c.wait);
        assert_int_equal(fixture_commit(f, &good, HOCKET__STORE_WRITTEN), 0);
        fixture_until(f, &c.done);
        assert_int_equal(c.status, HOCKET_EINVAL);
        assert_int_equal(f->news[HOCKET__STORE_REFUSED], i + 1);
        assert_memory_equal(f->news_id, id, sizeof(id));
        size = i > 1 ? size : pg_proxy.passed - before;
        pg_proxy.left = -1;
        pg_assert_entries(f, id, 2);
    }
    pg_assert_entries(f, RUN_1, n);
    assert_true(pg_proxy.cuts > (size_t) rounds / 10);
    fixture_close(f);
    pg_proxy_end();
}

/* A run that this store believes it has is another's, or is gone: then nothing of the batch is believed. */
static void what_is_not_ours_any_more_is_read(void **state)
{
    struct fixture *f = *state;
    struct fixture other;
    struct hocket__store_claim claim = { .fence = 0 }, theirs;
    struct hocket__store_run end = { .state = HOCKET__STORE_DONE };
    char script[128];
    fixture_init(&other, &pg_kind);
    fixture_open(f);
    fixture_open(&other);
    struct hocket__store_claim good = fixture_put(f, RUN_1);
    fixture_append(f, &good, 1);
    assert_int_equal(fixture_commit(f, &good, HOCKET__STORE_WRITTEN), 0);
    for (int i = 0; i < 3; i++) {
        pg_submit(&other, i);
        assert_int_equal(fixture_commit(&other, NULL, HOCKET__STORE_WRITTEN), 0);
        assert_true(pg_take_next(f, &claim));
        fixture_append(f, &claim, 1);
        assert_int_equal(fixture_commit(f, &claim, HOCKET__STORE_WRITTEN), 0);
        snprintf(script, sizeof(script), "UPDATE runs SET lease_ms = 0 WHERE id = '%s'", claim.id);
        pg_sql(script);
        if (i != 1) {
            assert_true(pg_take_next(&other, &theirs));
            assert_string_equal(theirs.id, claim.id);
        }
        if (i == 2) {
            hocket__store_update(other.s, &theirs, HOCKET__STORE_SET_STATE, &end);
            hocket__store_release(other.s, &theirs);
            assert_int_equal(fixture_commit(&other, &theirs, HOCKET__STORE_WRITTEN), 0);
        }
        if (i > 0) {
            struct hocket__store_reply r = fixture_reply(&other);
            assert_int_equal(
                fixture_answer(&other, hocket__store_remove(other.s, STR(claim.id), &r, NULL)), 0);
        }
        if (i == 2)
            assert_int_equal(pg_care(&other, HOCKET__STORE_VACUUM), 0); /* its row, too */
        if (i % 2)
            fixture_append(f, &claim, 2);
        else
            hocket__store_update(f->s, &claim, HOCKET__STORE_SET_STATE, &end);
        fixture_append(f, &good, (uint64_t) i + 2);
        assert_int_equal(fixture_commit(f, &claim, HOCKET__STORE_WRITTEN),
            i == 0 ? HOCKET_ESTATE : HOCKET_ENOTFOUND);
        assert_int_equal(fixture_commit(f, &good, HOCKET__STORE_WRITTEN), 0);
        assert_int_equal(f->news[HOCKET__STORE_REFUSED], i + 1);
    }
    pg_assert_entries(f, RUN_1, 4);
    pg_sql("DO $$ BEGIN ASSERT (SELECT count(*) FROM entries WHERE run NOT IN (SELECT no FROM "
           "runs)) = 0,"
           " 'entries of no run'; END $$");
    fixture_deinit(&other);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, pg_setup, pg_teardown)
    const struct CMUnitTest tests[] = {
        TEST(what_is_cut_off_is_there_once),
        TEST(what_is_taken_and_cut_off_is_had),
        TEST(several_that_are_taken_and_cut_off_are_had),
        TEST(what_was_lost_before_and_cut_off_is_alone),
        TEST(what_is_spent_and_cut_off_is_spent_once),
        TEST(an_item_that_is_cut_off_is_put_once),
        TEST(a_run_that_is_cut_off_is_handed_in_once),
        TEST(a_number_that_is_given_again_is_not_ours),
        TEST(what_comes_late_is_there_once),
        TEST(what_comes_late_changes_nothing_back),
        TEST(a_late_end_is_nobodys),
        TEST(what_was_taken_meanwhile_was_put),
        TEST(what_was_put_late_is_ours),
        TEST(what_is_gone_meanwhile_was_put),
        TEST(what_was_removed_before_is_put_again),
        TEST(what_was_lost_and_is_taken_and_cut_off_is_had),
        TEST(what_was_refused_is_refused_though_it_was_cut_off),
        TEST(what_is_not_ours_any_more_is_read),
    };
    return pg_server() ? cmocka_run_group_tests(tests, NULL, NULL) : 77;
}

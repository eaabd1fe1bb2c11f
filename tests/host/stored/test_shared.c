/* Runs of a pool that could not go on here, for a reason that is no part of them: they are given back, and it does not count. */

#include "host/stored/asking.h"
#include "host/stored/run_life.h"

#define RUN "01KANC3V0QZJ9E4W2X6T8B5M7R"

/* More than may be lost with one run. */
enum { TIMES = 7 };

static void submit(hocket_host *h)
{
    struct hocket__store_run run = { .id = RUN,
        .target = HOCKET__STR(HERE "/scripts/small.lua"),
        .input = HOCKET__STR("one"),
        .options = HOCKET__STR("{}"),
        .generation = HOCKET__STR(RUN),
        .version = HOCKET__STR(HOCKET_VERSION),
        .pool = HOCKET__STR("default"),
        .state = HOCKET__STORE_QUEUED,
        .cost = -1,
        .tokens = -1,
        .created_ms = 1 };
    submit_run(h, &run);
}

/* As soon as it is due. */
static struct hocket__store_run take(hocket_host *h)
{
    for (int i = 0; i < 1000; i++) {
        struct seen s;
        struct hocket__store_reply r = reply_to(&s);
        until_seen(
            h, &s, hocket__store_take_next(store_of(h), HOCKET__STR("default"), 1, &r, NULL));
        if (s.rows > 0)
            return s.run;
        hocket_wait(h, 10);
    }
    fail_msg("it is never due");
    return (struct hocket__store_run){ .id = "" };
}

static struct life go_on(hocket_host *h, uint64_t fence)
{
    struct life l = { .done = 0 };
    struct hocket_error err;
    uint64_t id;
    if (hocket__run_go_on(h, RUN, fence, "{\"park\":true}", &id, on_done, &l, &err) < 0)
        fail_msg("%s", err.message);
    until(h, &l, &l.done, 1);
    assert_int_equal(l.done, 1);
    return l;
}

static void assert_put_off(hocket_host *h, const char *why)
{
    struct seen s = look(h, RUN);
    assert_int_equal(s.run.state, HOCKET__STORE_QUEUED);
    assert_int_equal(s.run.attempts, 0);
    assert_int_equal(s.run.owner.pid, 0);
    assert_non_null(strstr(s.waiting, why));
}

/* ---- Cases ----------------------------------------------------------------------------------- */

/* The server is away while it is read, at each of its questions. */
static void test_away(void **state)
{
    static const enum hocket__store_call_kind kinds[] = { HOCKET__STORE_FIND, HOCKET__STORE_FILES,
        HOCKET__STORE_ENTRIES };
    (void) state;
    hocket_host *h = open_over("memory", "0.2");
    submit(h);
    for (int i = 0; i < TIMES; i++) {
        uint64_t fence = take(h).fence;
        asking_begin(h, kinds[i % 3]);
        asking.fails = 1;
        struct life l = go_on(h, fence);
        assert_int_equal(asking.failed, 1);
        asking_end();
        assert_int_equal(l.status, HOCKET_EIO);
        assert_put_off(h, "the server does not answer");
    }
    struct life l = go_on(h, take(h).fence);
    assert_int_equal(l.status, 0);
    hocket_close(h, NULL, NULL);
}

/* So much waits to be written that it can say nothing more; but that it is given back. */
static void test_full(void **state)
{
    (void) state;
    hocket_host *h = open_over("memory", "0.2");
    submit(h);
    size_t max_pending = store_of(h)->o.max_pending;
    for (int i = 0; i < TIMES; i++) {
        uint64_t fence = take(h).fence;
        store_of(h)->o.max_pending = 0;
        struct life l = go_on(h, fence);
        store_of(h)->o.max_pending = max_pending;
        assert_int_equal(l.status, HOCKET_ELIMIT);
        assert_put_off(h, "too much waits to be written");
    }
    struct life l = go_on(h, take(h).fence);
    assert_int_equal(l.status, 0);
    assert_int_equal(look(h, RUN).run.state, HOCKET__STORE_DONE);
    hocket_close(h, NULL, NULL);
}

/* Whoever ends puts it away, also where it is still read: it is given back, and not cancelled. */
static void test_parked(void **state)
{
    struct life l = { .done = 0 };
    struct hocket_error err;
    uint64_t id;
    (void) state;
    hocket_host *h = open_over("memory", "0.2");
    submit(h);
    for (int i = 0; i < TIMES; i++) {
        l.done = 0;
        assert_int_equal(
            hocket__run_go_on(h, RUN, take(h).fence, "{\"park\":true}", &id, on_done, &l, &err), 0);
        assert_int_equal(i % 2 ? hocket_run_park(h, id) : hocket_run_drain(h, id), 0);
        until(h, &l, &l.done, 1);
        assert_int_equal(l.done, 1);
        assert_int_equal(l.status, HOCKET_EPARKED);
        struct seen s = look(h, RUN);
        assert_int_equal(s.run.state, HOCKET__STORE_QUEUED);
        assert_int_equal(s.run.attempts, 0);
        assert_int_equal(s.run.owner.pid, 0);
        assert_string_equal(s.waiting, "");
    }
    assert_int_equal(go_on(h, take(h).fence).status, 0);
    hocket_close(h, NULL, NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(test_away), cmocka_unit_test(test_full),
        cmocka_unit_test(test_parked) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

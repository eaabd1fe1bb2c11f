#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <string.h>

#include "core/log/log.h"
#include "support/alloc.h"

#define S(literal) HOCKET__STR(literal)

struct kept {
    struct hocket__log *copy; /* is fed what is appended */
    int n, fail_at;
};

static int keep(void *ud, const struct hocket__log_entry *e, struct hocket_error *err)
{
    struct kept *k = ud;
    if (++k->n == k->fail_at)
        return hocket__error(err, HOCKET_EIO, "the disk is full");
    return k->copy ? hocket__log_feed(k->copy, e, err) : 0;
}

static struct hocket__log_entry entry(enum hocket__log_kind kind, uint64_t path, const char *name)
{
    return (struct hocket__log_entry){ .kind = kind,
        .path = path,
        .ord = kind == HOCKET__LOG_WAKE ? 0 : 1,
        .name = hocket__cstr(name),
        .digest = S("a=1\nb=2"),
        .value = S("v\0w") };
}

static void put(struct hocket__log *log, enum hocket__log_kind kind, uint64_t path, int64_t now)
{
    struct hocket__log_entry e = entry(kind, path, kind == HOCKET__LOG_WAKE ? "" : "tool");
    assert_int_equal(hocket__log_put(log, &e, now, NULL), 0);
}

/* begin, then after two steps its end and a wake, all of it for fiber 7 */
static void live(struct hocket__log *log)
{
    hocket__log_step(log);
    put(log, HOCKET__LOG_BEGIN, 7, 100);
    hocket__log_step(log);
    put(log, HOCKET__LOG_END, 7, 140);
    put(log, HOCKET__LOG_WAKE, 7, 130); /* the clock does not go back */
}

static void test_replay(void **state)
{
    (void) state;
    struct test_alloc t;
    test_alloc_init(&t);
    struct kept k = { hocket__log_new(&t.a, NULL), 0, 0 };
    struct hocket__log_sink sink = { keep, &k };
    struct hocket__log *first = hocket__log_new(&t.a, &sink), *again = k.copy;
    live(first);
    assert_int_equal(hocket__log_last(first), 3);
    assert_false(hocket__log_replays(first));

    assert_true(hocket__log_replays(again));
    assert_null(hocket__log_due(again)); /* its tick has not come */
    assert_true(hocket__log_is_before_next(again));
    hocket__log_step(again);
    assert_int_equal(hocket__log_now_ms(again), 0);
    struct hocket__log_entry is = entry(HOCKET__LOG_BEGIN, 7, "tool");
    const struct hocket__log_entry *was = hocket__log_match(again, &is, NULL);
    assert_non_null(was);
    assert_int_equal(hocket__log_now_ms(again), 100);
    hocket__log_forget(again, was->n);
    assert_null(hocket__log_due(again));
    hocket__log_step(again);
    was = hocket__log_due(again);
    assert_int_equal(was->kind, HOCKET__LOG_END);
    assert_int_equal(was->value.n, 3);
    hocket__log_advance(again);
    was = hocket__log_due(again);
    assert_int_equal(was->kind, HOCKET__LOG_WAKE);
    assert_int_equal(was->at_ms, 140);
    hocket__log_advance(again);
    assert_null(hocket__log_due(again));
    assert_false(hocket__log_replays(again));
    assert_null(hocket__log_error(again));
    hocket__log_step(again);
    put(again, HOCKET__LOG_WAKE, 7, 0);
    assert_int_equal(hocket__log_last(again), 4);
    assert_int_equal(hocket__log_now_ms(again), 140);
    hocket__log_free(first);
    hocket__log_free(again);
    test_alloc_check(&t);
}

static struct hocket__log *of_live(struct test_alloc *t)
{
    struct kept k = { hocket__log_new(&t->a, NULL), 0, 0 };
    struct hocket__log_sink sink = { keep, &k };
    struct hocket__log *first = hocket__log_new(&t->a, &sink);
    live(first);
    hocket__log_free(first);
    return k.copy;
}

static void says(const struct hocket_error *err, const char *part)
{
    assert_int_equal(err->status, HOCKET_EREPLAY);
    if (!strstr(err->message, part))
        fail_msg("'%s' is not in '%s'", part, err->message);
}

static void test_another_digest(void **state)
{
    (void) state;
    struct test_alloc t;
    test_alloc_init(&t);
    struct hocket_error err;
    struct hocket__log *log = of_live(&t);
    struct hocket__log_entry is = entry(HOCKET__LOG_BEGIN, 7, "tool");
    hocket__log_step(log);
    is.digest = S("a=1\nb=3");
    assert_null(hocket__log_match(log, &is, &err));
    says(&err, "begin of 'tool' (1 of its fiber), entry 1 of the log, asks something else: "
               "b was 2 and is 3");
    assert_false(hocket__log_replays(log));
    assert_non_null(hocket__log_error(log));
    assert_int_equal(hocket__log_put(log, &is, 0, &err), HOCKET_EREPLAY); /* nothing goes on */
    hocket__log_free(log);
    test_alloc_check(&t);
}

static void test_another_act(void **state)
{
    (void) state;
    struct test_alloc t;
    test_alloc_init(&t);
    struct hocket_error err;
    struct hocket__log *log = of_live(&t);
    struct hocket__log_entry is = entry(HOCKET__LOG_BEGIN, 7, "tool");
    assert_null(hocket__log_match(log, &is, &err)); /* a step too early */
    says(&err, "after 1 steps, and is begin of 'tool' (1 of its fiber) after 0");
    hocket__log_free(log);

    log = of_live(&t);
    hocket__log_step(log);
    is.name = S("http");
    assert_null(hocket__log_match(log, &is, &err));
    says(&err, "it was begin of 'tool' (1 of its fiber) after 1 steps, and is begin of 'http'");
    hocket__log_free(log);
    test_alloc_check(&t);
}

static void test_not_done(void **state)
{
    (void) state;
    struct test_alloc t;
    test_alloc_init(&t);
    struct hocket__log *log = of_live(&t);
    hocket__log_step(log);
    assert_null(hocket__log_due(log)); /* a step begins effects itself, and this one did not */
    says(hocket__log_error(log), "did not do again what entry 1 of its log says: begin of 'tool'");
    hocket__log_free(log);

    log = of_live(&t);
    hocket__log_step(log);
    hocket__log_step(log);
    assert_null(hocket__log_due(log));
    says(hocket__log_error(log), "after 1 steps, and it has made 2");
    hocket__log_free(log);
    test_alloc_check(&t);
}

static void test_feed(void **state)
{
    (void) state;
    struct test_alloc t;
    test_alloc_init(&t);
    struct hocket_error err;
    struct hocket__log *log = hocket__log_new(&t.a, NULL);
    struct hocket__log_entry e = entry(HOCKET__LOG_WAKE, 7, "");
    e.n = 2;
    assert_int_equal(hocket__log_feed(log, &e, &err), HOCKET_EINVAL);
    assert_string_equal(err.message, "the log has entry 2 where entry 1 has to be");
    e.n = 1;
    e.tick = 5;
    e.at_ms = 9;
    assert_int_equal(hocket__log_feed(log, &e, &err), 0);
    e.n = 2;
    e.tick = 4;
    assert_int_equal(hocket__log_feed(log, &e, &err), HOCKET_EINVAL);
    e.tick = 5;
    e.at_ms = 8;
    assert_int_equal(hocket__log_feed(log, &e, &err), HOCKET_EINVAL);
    e.at_ms = 9;
    e.kind = HOCKET__LOG_KINDS;
    assert_int_equal(hocket__log_feed(log, &e, &err), HOCKET_EINVAL);
    hocket__log_free(log);
    test_alloc_check(&t);
}

/* What could not be kept was not: nothing goes on, and the next entry is no gap. */
static void test_sink_fails(void **state)
{
    (void) state;
    struct hocket_error err;
    struct kept k = { NULL, 0, 2 };
    struct hocket__log_sink sink = { keep, &k };
    struct hocket__log *log = hocket__log_new(&hocket__malloc, &sink);
    struct hocket__log_entry e = entry(HOCKET__LOG_WAKE, 7, "");
    assert_int_equal(hocket__log_put(log, &e, 0, &err), 0);
    assert_int_equal(hocket__log_put(log, &e, 0, &err), HOCKET_EIO);
    assert_string_equal(err.message, "the disk is full");
    assert_int_equal(hocket__log_last(log), 1);
    assert_int_equal(hocket__log_put(log, &e, 0, &err), HOCKET_EIO);
    assert_int_equal(k.n, 2); /* it was not asked again */
    hocket__log_free(log);
}

static void differs(const char *was, const char *is, const char *expected)
{
    struct hocket__str field, old, now;
    char text[200] = "";
    if (hocket__log_differs(hocket__cstr(was), hocket__cstr(is), &field, &old, &now))
        snprintf(text, sizeof(text), "%.*s: %.*s -> %.*s", (int) field.n, field.p, (int) old.n,
            old.p, (int) now.n, now.p);
    assert_string_equal(text, expected);
}

static void test_differs(void **state)
{
    (void) state;
    differs("", "", "");
    differs("a=1\nb=2", "a=1\nb=2", "");
    differs("a=1\nb=2", "a=1\nb=3\nc=4", "b: 2 -> 3");
    differs("a=1", "a=1\nc=4", "c:  -> 4");
    differs("a=1\nc=4", "a=1", "c: 4 -> ");
    differs("a=1\nb=2", "a=1\nc=2", "c:  -> 2");
    differs("a", "a=", "a:  -> ");
}

static void body(struct test_alloc *t, void *ud)
{
    struct hocket_error err;
    struct hocket__log *log = hocket__log_new(&t->a, NULL);
    struct hocket__log_entry e = entry(HOCKET__LOG_WAKE, 7, "x");
    (void) ud;
    if (!log) {
        assert_true(t->failed);
        return;
    }
    int rc = 0;
    for (e.n = 1; e.n < 20 && rc == 0; e.n++)
        rc = hocket__log_feed(log, &e, &err);
    assert_int_equal(rc, t->failed ? HOCKET_ENOMEM : 0);
    hocket__log_free(log);
}

static void test_memory(void **state)
{
    (void) state;
    test_alloc_each(body, NULL);
}

static int feed_kind(struct hocket__log *log, uint64_t n, enum hocket__log_kind kind)
{
    struct hocket__log_entry e = entry(kind, 7, "x");
    e.n = n;
    e.tick = n;
    e.at_ms = (int64_t) n * 10;
    return hocket__log_feed(log, &e, NULL);
}

/* From the first checkpoint a replay leaps to the newest. What lies between them may be missing. */
static void test_leap(void **state)
{
    (void) state;
    for (int missing = 0; missing < 2; missing++) {
        struct test_alloc t;
        test_alloc_init(&t);
        struct hocket__log *log = hocket__log_new(&t.a, NULL);
        assert_int_equal(feed_kind(log, 1, HOCKET__LOG_CHECKPOINT), 0);
        for (uint64_t n = 2; n < 9 && !missing; n++)
            assert_int_equal(
                feed_kind(log, n, n == 5 ? HOCKET__LOG_CHECKPOINT : HOCKET__LOG_END), 0);
        assert_int_equal(feed_kind(log, 9, HOCKET__LOG_CHECKPOINT), 0);
        assert_int_equal(feed_kind(log, 11, HOCKET__LOG_END), HOCKET_EINVAL);
        assert_int_equal(feed_kind(log, 10, HOCKET__LOG_END), 0);
        hocket__log_step(log);
        assert_null(hocket__log_skip_to_checkpoint(log)); /* the first has not been done again */
        struct hocket__log_entry is = entry(HOCKET__LOG_CHECKPOINT, 7, "x");
        assert_non_null(hocket__log_match(log, &is, NULL));
        hocket__log_forget(log, 1);
        const struct hocket__log_entry *e = hocket__log_skip_to_checkpoint(log);
        assert_int_equal(e->n, 9);
        assert_int_equal(hocket__log_tick(log), 9);
        assert_int_equal(hocket__log_now_ms(log), 90);
        assert_int_equal(hocket__log_last(log), 9);
        hocket__log_forget(log, 9);
        assert_null(hocket__log_skip_to_checkpoint(log));
        hocket__log_step(log);
        e = hocket__log_due(log);
        assert_int_equal(e->n, 10);
        hocket__log_advance(log);
        hocket__log_forget(log, 10);
        assert_false(hocket__log_replays(log));
        hocket__log_free(log);
        test_alloc_check(&t);
    }
}

/* Before any checkpoint nothing may be missing; nor where all is wanted. */
static void test_whole(void **state)
{
    (void) state;
    struct hocket__log *log = hocket__log_new(&hocket__malloc, NULL);
    assert_int_equal(feed_kind(log, 2, HOCKET__LOG_CHECKPOINT), HOCKET_EINVAL);
    hocket__log_keep_all(log);
    assert_int_equal(feed_kind(log, 1, HOCKET__LOG_CHECKPOINT), 0);
    assert_int_equal(feed_kind(log, 3, HOCKET__LOG_CHECKPOINT), HOCKET_EINVAL);
    assert_int_equal(feed_kind(log, 2, HOCKET__LOG_CHECKPOINT), 0);
    hocket__log_step(log);
    struct hocket__log_entry is = entry(HOCKET__LOG_CHECKPOINT, 7, "x");
    assert_non_null(hocket__log_match(log, &is, NULL));
    assert_null(hocket__log_skip_to_checkpoint(log));
    hocket__log_free(log);
}

/* What was passed is over, and so is all where it has failed. */
static void test_comes(void **state)
{
    (void) state;
    struct hocket__log *log = hocket__log_new(&hocket__malloc, NULL);
    struct hocket__str model = HOCKET__STR("model"), start = HOCKET__STR("model=a/b\n");
    struct hocket__log_entry e = {
        .n = 1, .tick = 1, .kind = HOCKET__LOG_BEGIN, .path = 7, .ord = 1
    };
    e.name = model;
    e.digest = HOCKET__STR("model=a/b\nmessages=x");
    assert_false(hocket__log_has_effect_ahead(log, model, start));
    assert_int_equal(hocket__log_feed(log, &e, NULL), 0);
    assert_true(hocket__log_has_effect_ahead(log, model, start));
    assert_false(hocket__log_has_effect_ahead(log, HOCKET__STR("tool"), start));
    assert_false(hocket__log_has_effect_ahead(log, model, HOCKET__STR("model=a/bc\n")));
    assert_false(
        hocket__log_has_effect_ahead(log, model, HOCKET__STR("model=a/b\nmessages=x and more")));
    hocket__log_step(log);
    assert_non_null(hocket__log_match(log, &e, NULL));
    hocket__log_forget(log, 1);
    assert_false(hocket__log_has_effect_ahead(log, model, start));
    hocket__log_free(log);
}

/* Fiber 7 makes so many reads in one step; where they were `moved` the clock had gone on. Returns the time after each. */
static void look(struct hocket__log *log, int reads, const bool *moved, int64_t *times)
{
    for (int i = 0; i < reads; i++) {
        struct hocket__log_entry e = { .kind = HOCKET__LOG_CLOCK, .path = 7 };
        e.ord = hocket__log_read_clock(log, 7);
        if (e.ord > 0 && moved && moved[i])
            assert_int_equal(hocket__log_put(log, &e, 100 + 10 * i, NULL), 0);
        times[i] = hocket__log_now_ms(log);
    }
}

/* Two steps that read the clock. */
static void look_twice(struct hocket__log *log, int reads, const bool *moved, int64_t *times)
{
    for (int i = 0; i < 2; i++) {
        hocket__log_step(log);
        look(log, reads, moved, times + i * reads);
    }
}

/* A replay has the same readings at the same reads. */
static void test_look(void **state)
{
    (void) state;
    enum { READS = 6 };
    const bool moved[READS] = { false, true, false, false, true, true };
    int64_t were[2 * READS], are[2 * READS];
    struct test_alloc t;
    test_alloc_init(&t);
    struct kept k = { hocket__log_new(&t.a, NULL), 0, 0 };
    struct hocket__log_sink sink = { keep, &k };
    struct hocket__log *first = hocket__log_new(&t.a, &sink), *again = k.copy;
    look_twice(first, READS, moved, were);
    assert_int_equal(k.n, 6);
    look_twice(again, READS, NULL, are);
    assert_null(hocket__log_error(again));
    assert_false(hocket__log_replays(again));
    assert_memory_equal(are, were, sizeof(are));
    assert_int_equal(
        hocket__log_read_clock(again, 7), 1); /* it is live, and its last read was an entry */
    hocket__log_free(first);
    hocket__log_free(again);
    test_alloc_check(&t);
}

static void expect_parted(struct hocket__log *log)
{
    assert_non_null(hocket__log_error(log));
    assert_int_equal(hocket__log_error(log)->status, HOCKET_EREPLAY);
    assert_int_equal(hocket__log_read_clock(log, 7), 0);
    hocket__log_free(log);
}

/* A read at which the clock moved that is not made, that another fiber makes, or that never comes however often the clock is read. */
static void test_looks_elsewhere(void **state)
{
    (void) state;
    for (int how = 0; how < 4; how++) {
        struct hocket__log *log = hocket__log_new(&hocket__malloc, NULL);
        struct hocket__log_entry e = { .n = 1, .tick = 1, .at_ms = 50, .path = 7, .ord = 3 };
        e.kind = how == 3 ? HOCKET__LOG_VALUE : HOCKET__LOG_CLOCK;
        e.ord = how == 2 ? 0 : 3;
        assert_int_equal(hocket__log_feed(log, &e, NULL), 0);
        hocket__log_step(log);
        for (int i = 0; i < 2 && how != 2; i++)
            assert_int_equal(hocket__log_read_clock(log, 7), 0);
        assert_null(hocket__log_error(log));
        if (how == 0) /* the step ends */
            assert_null(hocket__log_due(log));
        else if (how == 1)
            hocket__log_read_clock(log, 8);
        else
            for (int i = 0; i < HOCKET__LOG_LOOKS && !hocket__log_error(log); i++)
                hocket__log_read_clock(log, 7);
        expect_parted(log);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_replay),
        cmocka_unit_test(test_another_digest),
        cmocka_unit_test(test_another_act),
        cmocka_unit_test(test_not_done),
        cmocka_unit_test(test_feed),
        cmocka_unit_test(test_sink_fails),
        cmocka_unit_test(test_differs),
        cmocka_unit_test(test_leap),
        cmocka_unit_test(test_whole),
        cmocka_unit_test(test_comes),
        cmocka_unit_test(test_look),
        cmocka_unit_test(test_looks_elsewhere),
        cmocka_unit_test(test_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

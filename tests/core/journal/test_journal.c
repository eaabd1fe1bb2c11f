#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>

#include "base/json/json.h"
#include "core/journal/journal.h"
#include "support/alloc.h"
#include "support/strings.h"

#define NOW INT64_C(1795251600123)

static int64_t append(struct hocket__journal *j, const char *type, const char *payload)
{
    struct hocket__record r = { .type = hocket__cstr(type), .payload = hocket__cstr(payload) };
    return hocket__journal_append(j, &r, NOW, NULL);
}

static void next_is(struct hocket__journal *j, uint64_t *cursor, const char *expected)
{
    struct hocket__line line;
    assert_true(hocket__journal_next(j, cursor, &line));
    assert_int_equal(line.json.n, strlen(expected));
    assert_memory_equal(line.json.p, expected, line.json.n);
}

static void test_lines(void **state)
{
    struct test_alloc t;
    test_alloc_init(&t);
    struct hocket__journal_options o = hocket__journal_options_default();
    o.run = HOCKET__STR("r\"1");
    struct hocket__journal *j = hocket__journal_new(&t.a, &o);
    struct hocket__record r = { .type = HOCKET__STR("task_updated"),
        .op = HOCKET__STR("o2"),
        .agent = HOCKET__STR("food"),
        .payload = HOCKET__STR("{\"id\":1}") };
    uint64_t cursor = 0;
    struct hocket__line line;
    assert_false(hocket__journal_next(j, &cursor, &line));
    assert_int_equal(hocket__journal_append(j, &r, NOW, NULL), 1);
    assert_int_equal(append(j, "warning", "{}"), 2);
    assert_int_equal(append(j, "warning", "{ }"), 3);
    assert_int_equal(append(j, "warning", ""), 4);
    next_is(j, &cursor,
        "{\"seq\":1,\"time\":\"2026-11-21T09:00:00.123Z\",\"run\":\"r\\\"1\",\"op\":\"o2\","
        "\"agent\":\"food\",\"type\":\"task_updated\",\"id\":1}");
    for (int i = 2; i <= 4; i++) {
        char expected[128];
        snprintf(expected, sizeof(expected),
            "{\"seq\":%d,\"time\":\"2026-11-21T09:00:00.123Z\",\"run\":\"r\\\"1\","
            "\"type\":\"warning\"}",
            i);
        next_is(j, &cursor, expected);
    }
    assert_false(hocket__journal_next(j, &cursor, &line));
    assert_int_equal(cursor, 4);
    hocket__journal_free(j);
    hocket__journal_free(NULL);
    test_alloc_check(&t);
}

/* What is written in place is the same line. */
static void test_in_place(void **state)
{
    struct test_alloc t;
    test_alloc_init(&t);
    struct hocket__journal_options o = hocket__journal_options_default();
    o.run = HOCKET__STR("r1");
    struct hocket__journal *j = hocket__journal_new(&t.a, &o);
    struct hocket__buf author, *b;
    struct hocket_error err;
    struct hocket__line line;
    uint64_t cursor = 0;
    hocket__buf_init(&author, &t.a, 0);
    assert_int_equal(
        hocket__journal_shared_members(HOCKET__STR("o2"), HOCKET__STR("fo\"od"), &author), 0);
    struct hocket__str who = hocket__buf_str(&author);
    b = hocket__journal_begin(j, who, HOCKET__STR("tool_call"), NOW, NULL);
    hocket__jw_key(b, "tool");
    hocket__jw_cstring(b, "left in the middle");
    assert_false(hocket__journal_next(j, &cursor, &line));
    b = hocket__journal_begin(j, who, HOCKET__STR("tool_call"), NOW, NULL);
    hocket__jw_key(b, "tool");
    hocket__jw_cstring(b, "step");
    assert_int_equal(hocket__journal_end(j, NULL), 1);
    next_is(j, &cursor,
        "{\"seq\":1,\"time\":\"2026-11-21T09:00:00.123Z\",\"run\":\"r1\",\"op\":\"o2\","
        "\"agent\":\"fo\\\"od\",\"type\":\"tool_call\",\"tool\":\"step\"}");
    hocket__journal_begin(j, who, HOCKET__STR(HOCKET__JOURNAL_LAST), NOW, NULL);
    assert_int_equal(hocket__journal_end(j, NULL), 2);
    assert_true(hocket__journal_finished(j));
    assert_null(hocket__journal_begin(j, who, HOCKET__STR("tool_call"), NOW, &err));
    assert_int_equal(err.status, HOCKET_ESTATE);
    hocket__buf_deinit(&author);
    hocket__journal_free(j);
    test_alloc_check(&t);
}

/* Whoever speaks, and whatever the payload has. */
static void test_type_of_line(void **state)
{
    static const struct hocket__str ops[] = { { "", 0 }, { "o12", 3 }, { "type\":\"x", 9 },
        { "\\", 1 }, { "\\\"", 2 } };
    struct hocket__journal_options o = hocket__journal_options_default();
    for (size_t run = 0; run < 2; run++) {
        o.run = run ? HOCKET__STR("r\"1") : HOCKET__STR("");
        o.last_seq = run * 1000000;
        struct hocket__journal *j = hocket__journal_new(&hocket__malloc, &o);
        for (size_t i = 0; i < 25; i++) {
            struct hocket__record r = { HOCKET__STR("tool_call"), ops[i / 5], ops[i % 5],
                i % 2 ? HOCKET__STR("{\"text\":\"type\",\"x\":1}") : HOCKET__STR("") };
            uint64_t cursor = o.last_seq + i;
            struct hocket__line line;
            if (i == 12)
                hocket__journal_set_generation(j, 7);
            assert_true(hocket__journal_append(j, &r, NOW, NULL) > 0);
            assert_true(hocket__journal_next(j, &cursor, &line));
            assert_true(hocket__str_is(line.type, "tool_call"));
        }
        hocket__journal_free(j);
    }
}

static void test_author_of_one(void **state)
{
    struct test_alloc t;
    test_alloc_init(&t);
    struct hocket__journal_options o = hocket__journal_options_default();
    struct hocket__journal *j = hocket__journal_new(&t.a, &o);
    struct hocket_error err;
    uint64_t cursor = 0;
    struct hocket__buf *b = hocket__journal_begin_as(
        j, HOCKET__STR("o2"), HOCKET__STR("fo\"od"), HOCKET__STR("task_running"), NOW, &err);
    hocket__jw_key(b, "task");
    hocket__jw_int(b, 7);
    assert_int_equal(hocket__journal_end(j, &err), 1);
    next_is(j, &cursor,
        "{\"seq\":1,\"time\":\"2026-11-21T09:00:00.123Z\",\"op\":\"o2\",\"agent\":\"fo\\\"od\","
        "\"type\":\"task_running\",\"task\":7}");
    append(j, HOCKET__JOURNAL_LAST, NULL);
    assert_null(hocket__journal_begin_as(
        j, HOCKET__STR(""), HOCKET__STR(""), HOCKET__STR("task_running"), NOW, &err));
    assert_int_equal(err.status, HOCKET_ESTATE);
    hocket__journal_free(j);
    test_alloc_check(&t);
}

/* What comes next is numbered on from elsewhere: who has not read what was there has missed it. */
static void test_skip(void **state)
{
    struct test_alloc t;
    test_alloc_init(&t);
    struct hocket__journal_options o = hocket__journal_options_default();
    struct hocket__journal *j = hocket__journal_new(&t.a, &o);
    struct hocket__line line;
    uint64_t cursor = 1;
    char large[20000];
    snprintf(large, sizeof(large), "{\"message\":\"%019000d\"}", 1);
    assert_int_equal(append(j, "warning", "{}"), 1);
    assert_int_equal(append(j, "warning", "{}"), 2);
    hocket__journal_skip(j, 1);
    assert_int_equal(hocket__journal_last(j), 2);
    hocket__journal_skip(j, 40);
    assert_false(hocket__journal_next(j, &cursor, &line));
    assert_int_equal(append(j, "warning", large), 41);
    assert_true(hocket__journal_next(j, &cursor, &line));
    assert_int_equal(line.seq, 41);
    assert_int_equal(hocket__journal_first(j), 41);
    hocket__journal_skip(j, 60);
    assert_int_equal(append(j, "warning", "{}"), 61);
    hocket__journal_free(j);
    test_alloc_check(&t);
    (void) state;
}

static void test_no_run(void **state)
{
    struct hocket__journal_options o = hocket__journal_options_default();
    o.last_seq = 41;
    struct hocket__journal *j = hocket__journal_new(&hocket__malloc, &o);
    uint64_t cursor = 0;
    struct hocket__line line;
    assert_int_equal(append(j, "error", "{\"message\":\"x\"}"), 42);
    assert_true(hocket__journal_next(j, &cursor, &line));
    assert_int_equal(line.seq, 42);
    assert_int_equal(line.missed, 41);
    cursor = 41;
    next_is(j, &cursor,
        "{\"seq\":42,\"time\":\"2026-11-21T09:00:00.123Z\",\"type\":\"error\",\"message\":\"x\"}");
    hocket__journal_free(j);
}

/* Old lines go, numbers go on, and a slow reader learns how much it has lost. */
/* The state of the run's files stands in each line from when it is known; so it is nobody else's. */
static void test_generation(void **state)
{
    struct test_alloc t;
    (void) state;
    test_alloc_init(&t);
    struct hocket__journal_options o = hocket__journal_options_default();
    o.run = HOCKET__STR("r1");
    struct hocket__journal *j = hocket__journal_new(&t.a, &o);
    uint64_t cursor = 0;
    append(j, "warning", "");
    hocket__journal_set_generation(j, 3);
    append(j, "warning", "{\"a\":1}");
    hocket__journal_set_generation(j, INT64_MAX);
    append(j, "warning", "");
    next_is(j, &cursor,
        "{\"seq\":1,\"time\":\"2026-11-21T09:00:00.123Z\",\"run\":\"r1\",\"type\":\"warning\"}");
    next_is(j, &cursor,
        "{\"seq\":2,\"time\":\"2026-11-21T09:00:00.123Z\",\"run\":\"r1\",\"generation\":3,"
        "\"type\":\"warning\",\"a\":1}");
    next_is(j, &cursor,
        "{\"seq\":3,\"time\":\"2026-11-21T09:00:00.123Z\",\"run\":\"r1\","
        "\"generation\":9223372036854775807,\"type\":\"warning\"}");
    assert_int_equal(hocket__journal_check(HOCKET__STR("{\"generation\":1}"), NULL), HOCKET_EINVAL);
    hocket__journal_free(j);
    test_alloc_check(&t);
}

static void test_limit(void **state)
{
    struct test_alloc t;
    test_alloc_init(&t);
    struct hocket__journal_options o = hocket__journal_options_default();
    o.max_bytes = 2000;
    struct hocket__journal *j = hocket__journal_new(&t.a, &o);
    uint64_t slow = 0, fast = 0, seen = 0, missed = 0;
    struct hocket__line line;
    for (int i = 1; i <= 5000; i++) {
        const char *payload = i % 7 ? "{\"n\":1}" : "{\"text\":\"0123456789\"}";
        assert_int_equal(append(j, "warning", payload), i);
        assert_true(hocket__journal_bytes(j) <= 2000);
        assert_true(hocket__journal_next(j, &fast, &line));
        assert_true(line.seq == (uint64_t) i && line.missed == 0);
        assert_false(hocket__journal_next(j, &fast, &line));
        while (i % 100 == 0 && hocket__journal_next(j, &slow, &line)) {
            seen++;
            missed += line.missed;
        }
    }
    assert_int_equal(seen + missed, 5000);
    assert_true(missed > 3000 && seen > 500);
    assert_int_equal(hocket__journal_last(j), 5000);
    assert_in_range(hocket__journal_first(j), 4980, 4990);
    assert_true(t.bytes < 8000);
    hocket__journal_free(j);
    test_alloc_check(&t);
}

/* Memory goes with the lines, whatever their sizes, and what is kept stays as it was written. */
static void test_chunks(void **state)
{
    struct test_alloc t;
    test_alloc_init(&t);
    struct hocket__journal_options o = hocket__journal_options_default();
    o.max_bytes = 400000;
    struct hocket__journal *j = hocket__journal_new(&t.a, &o);
    char payload[40000];
    (void) state;
    for (int i = 1; i <= 20000; i++) {
        int n = i % 997 == 0 ? 30000 : i * 31 % 400;
        snprintf(payload, sizeof(payload), "{\"n\":%d,\"text\":\"%0*d\"}", i, n, i);
        assert_int_equal(append(j, "warning", payload), i);
        assert_true(t.bytes < 700000);
    }
    uint64_t cursor = 0;
    struct hocket__line line;
    while (hocket__journal_next(j, &cursor, &line)) {
        char n[40];
        snprintf(n, sizeof(n), "\"n\":%llu,", (unsigned long long) line.seq);
        assert_non_null(strstr(line.json.p, n));
        assert_int_equal(hocket__json_check(line.json, NULL), 0);
        assert_int_equal(strlen(line.json.p), line.json.n);
    }
    assert_int_equal(cursor, 20000);
    assert_in_range(hocket__journal_first(j), 17000, 19500);
    hocket__journal_free(j);
    test_alloc_check(&t);
}

static void test_too_large(void **state)
{
    struct hocket__journal_options o = hocket__journal_options_default();
    struct hocket_error err;
    char payload[1000] = "{\"text\":\"";
    memset(payload + 9, 'x', sizeof(payload) - 9);
    memcpy(payload + sizeof(payload) - 2, "\"}", 2);
    o.max_bytes = 500;
    struct hocket__journal *j = hocket__journal_new(&hocket__malloc, &o);
    struct hocket__record r = { .type = HOCKET__STR("warning"),
        .payload = hocket__str(payload, sizeof(payload)) };
    assert_int_equal(append(j, "warning", "{}"), 1);
    assert_int_equal(hocket__journal_append(j, &r, NOW, &err), HOCKET_ELIMIT);
    assert_non_null(strstr(err.message, "keeps 500"));
    assert_int_equal(append(j, "warning", "{}"), 2);
    assert_int_equal(hocket__journal_first(j), 1);
    hocket__journal_free(j);
    o.max_bytes = 0; /* zero is zero */
    j = hocket__journal_new(&hocket__malloc, &o);
    assert_int_equal(append(j, "warning", "{}"), HOCKET_ELIMIT);
    assert_int_equal(hocket__journal_last(j), 0);
    hocket__journal_free(j);
}

static void test_finished(void **state)
{
    struct hocket__journal_options o = hocket__journal_options_default();
    struct hocket__journal *j = hocket__journal_new(&hocket__malloc, &o);
    assert_int_equal(append(j, "final_answer", "{\"content\":\"x\"}"), 1);
    assert_false(hocket__journal_finished(j));
    assert_int_equal(append(j, "workflow_finished", "{\"tasks\":[]}"), 2);
    assert_true(hocket__journal_finished(j));
    assert_int_equal(append(j, "warning", "{}"), HOCKET_ESTATE);
    assert_int_equal(append(j, "workflow_finished", "{}"), HOCKET_ESTATE);
    assert_int_equal(hocket__journal_last(j), 2);
    hocket__journal_free(j);
}

static void test_bad(void **state)
{
    struct hocket__journal_options o = hocket__journal_options_default();
    struct hocket__journal *j = hocket__journal_new(&hocket__malloc, &o);
    static const char *const types[] = { "", "Task", "a b", "a-b", "a\"" };
    static const char *const payloads[] = { "[]", "{", "}", "x", "{\"a\":1}\n", "{\n\"a\":1}",
        "{\"a\":1}\r", " {}", "1" };
    for (size_t i = 0; i < sizeof(types) / sizeof(types[0]); i++)
        assert_int_equal(append(j, types[i], "{}"), HOCKET_EINVAL);
    for (size_t i = 0; i < sizeof(payloads) / sizeof(payloads[0]); i++)
        assert_int_equal(append(j, "warning", payloads[i]), HOCKET_EINVAL);
    assert_int_equal(hocket__journal_last(j), 0);
    hocket__journal_free(j);
}

static void test_check(void **state)
{
    static const char *const good[] = { "", "{}", "{\"a\":{\"seq\":1}}", "{\"Seq\":1}" };
    static const char *const bad[] = { "[]", "{\"seq\":1}", "{\"time\":1}",
        "{\"a\":1,\"run\":\"\"}", "{\"op\":1}", "{\"agent\":1}", "{\"type\":1}",
        "{\"typ\\u0065\":1}", "{\"a\":01}", "{\"a\"}", "{\"a\":1}}", "{}{}", "{\"a\":\"\xff\"}" };
    struct hocket_error err;
    for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++)
        assert_int_equal(hocket__journal_check(hocket__cstr(good[i]), &err), 0);
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
        assert_true(hocket__journal_check(hocket__cstr(bad[i]), &err) < 0);
}

struct waker {
    struct hocket__journal *j;
    int calls;
    int64_t inner;
};

static void on_wake(void *ud)
{
    struct waker *w = ud;
    w->calls++;
    w->inner = append(w->j, "warning", "{}");
}

static void test_wake(void **state)
{
    struct waker w = { 0 };
    struct hocket__journal_options o = hocket__journal_options_default();
    o.wake_cb = on_wake;
    o.ud = &w;
    struct hocket__journal *j = w.j = hocket__journal_new(&hocket__malloc, &o);
    assert_int_equal(append(j, "warning", "{}"), 1);
    assert_int_equal(w.inner, HOCKET_ESTATE);
    assert_int_equal(append(j, "Bad", "{}"), HOCKET_EINVAL);
    assert_int_equal(append(j, "warning", "{}"), 2);
    assert_int_equal(w.calls, 2);
    hocket__journal_free(j);
}

/* A failed append leaves number, lines and cursors as they were. */
static void memory_body(struct test_alloc *t, void *ud)
{
    struct hocket__journal_options o = hocket__journal_options_default();
    o.run = HOCKET__STR("r1");
    o.max_bytes = 1200;
    struct hocket__journal *j = hocket__journal_new(&t->a, &o);
    uint64_t last = 0, cursor = 0;
    struct hocket__line line;
    assert_true(j || t->failed);
    for (int i = 0; j && i < 200; i++) {
        uint64_t first = hocket__journal_first(j);
        int64_t seq = append(j, "warning", "{\"text\":\"some text\"}");
        if (seq < 0) {
            assert_true(seq == HOCKET_ENOMEM && t->failed);
            assert_int_equal(hocket__journal_first(j), first);
        } else {
            assert_int_equal(seq, ++last);
        }
        assert_int_equal(hocket__journal_last(j), last);
    }
    while (j && hocket__journal_next(j, &cursor, &line))
        assert_int_equal(hocket__json_check(line.json, NULL), 0);
    assert_true(!j || cursor == last);
    hocket__journal_free(j);
}

static void test_memory(void **state)
{
    assert_true(test_alloc_each(memory_body, NULL) > 20);
}

static void try_name(struct hocket__str text, void *ud)
{
    struct hocket__journal_options o = hocket__journal_options_default();
    o.run = text;
    struct hocket__journal *j = hocket__journal_new(&hocket__malloc, &o);
    struct hocket__record r = { .type = HOCKET__STR("warning"), .op = text, .agent = text };
    uint64_t cursor = 0;
    struct hocket__line line;
    assert_int_equal(hocket__journal_append(j, &r, NOW, NULL), 1);
    assert_true(hocket__journal_next(j, &cursor, &line));
    assert_int_equal(hocket__json_check(line.json, NULL), 0);
    assert_null(memchr(line.json.p, '\n', line.json.n));
    hocket__journal_free(j);
}

static bool has(const struct hocket__line *line, const char *text)
{
    return memmem(line->json.p, line->json.n, text, strlen(text)) != NULL;
}

/* Whatever it holds, and whatever memory there is. */
static void test_close(void **state)
{
    (void) state;
    for (int n = 0; n < 300; n++) {
        struct test_alloc t;
        struct hocket__line line;
        uint64_t cursor = (uint64_t) n;
        test_alloc_init(&t);
        struct hocket__journal_options o = hocket__journal_options_default();
        o.run = HOCKET__STR("01KANC3V0QZJ9E4W2X6T8B5M7R");
        o.max_bytes = 20000;
        struct hocket__journal *j = hocket__journal_new(&t.a, &o);
        hocket__journal_set_generation(j, UINT64_MAX);
        for (int i = 0; i < n; i++)
            assert_int_equal(append(j, "warning", "{\"text\":\"lorem ipsum\"}"), i + 1);
        t.fail_at = t.calls + 1;
        t.fail_rest = true;
        hocket__journal_close(j, n % 2 ? HOCKET_ENOMEM : 0, NOW);
        hocket__journal_close(j, HOCKET_ENOMEM, NOW);
        assert_true(hocket__journal_finished(j));
        assert_int_equal(hocket__journal_last(j), n + 1 + n % 2);
        assert_true(hocket__journal_next(j, &cursor, &line));
        if (n % 2) {
            assert_true(has(
                &line, "\"type\":\"error\",\"code\":\"no_memory\",\"message\":\"out of memory\"}"));
            assert_true(hocket__journal_next(j, &cursor, &line));
        }
        assert_true(has(
            &line, "\"type\":\"workflow_finished\",\"document_versions\":null,\"ending\":null,"));
        assert_true(has(&line,
            n % 2 ? "\"state\":\"failed\",\"tasks\":null" : "\"state\":\"done\",\"tasks\":null"));
        assert_int_equal(hocket__json_check(line.json, NULL), 0);
        assert_false(t.failed);
        hocket__journal_free(j);
        test_alloc_check(&t);
    }
}

static void test_strings(void **state)
{
    if (!test_strings_each(try_name, NULL))
        skip();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_lines),
        cmocka_unit_test(test_in_place),
        cmocka_unit_test(test_type_of_line),
        cmocka_unit_test(test_author_of_one),
        cmocka_unit_test(test_no_run),
        cmocka_unit_test(test_skip),
        cmocka_unit_test(test_generation),
        cmocka_unit_test(test_limit),
        cmocka_unit_test(test_chunks),
        cmocka_unit_test(test_too_large),
        cmocka_unit_test(test_finished),
        cmocka_unit_test(test_bad),
        cmocka_unit_test(test_check),
        cmocka_unit_test(test_wake),
        cmocka_unit_test(test_memory),
        cmocka_unit_test(test_close),
        cmocka_unit_test(test_strings),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

#include "serve/body.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <cmocka.h>

/* Feeds in pieces of `step` bytes: the last answer; how much was consumed in *used. */
static int feed(struct hocket__body *b, struct hocket__str in, size_t step, size_t *used,
    struct hocket__buf *out)
{
    int rc = 0;
    *used = 0;
    do {
        size_t n = in.n - *used < step ? in.n - *used : step, took;
        rc = hocket__body_feed(b, hocket__str(in.p + *used, n), &took, out);
        assert_true(took <= n && (rc != 0 || took == n));
        *used += took;
    } while (rc == 0 && *used < in.n);
    return rc;
}

/* Cut in all ways: always the same. `rest`: bytes behind the body. */
static int chunked(const char *text, const char *expected, size_t rest)
{
    int last = 0;
    struct hocket__str in = hocket__cstr(text);
    for (size_t step = in.n; step > 0; step--) {
        struct hocket__body b;
        struct hocket__buf out;
        size_t used;
        hocket__buf_init(&out, &hocket__malloc, 100);
        hocket__body_init(&b, true, 0);
        int rc = feed(&b, in, step, &used, &out);
        assert_true(step == in.n || rc == last);
        last = rc;
        if (rc == 1) {
            assert_true(hocket__str_is(hocket__buf_str(&out), expected));
            assert_int_equal(in.n - used, rest);
        }
        hocket__buf_deinit(&out);
    }
    return last;
}

static void chunks_cut_anywhere(void **state)
{
    assert_int_equal(chunked("5\r\nhello\r\n0\r\n\r\n", "hello", 0), 1);
    assert_int_equal(chunked("5\r\nhello\r\n0\r\n\r\nGET", "hello", 3), 1);
    assert_int_equal(chunked("0\r\n\r\n", "", 0), 1);
    assert_int_equal(
        chunked("1\r\na\r\n00c\r\n\r\n0\r\n\r\n123\r\n\r\n000\r\n\r\n", "a\r\n0\r\n\r\n123\r\n", 0),
        1);
    assert_int_equal(
        chunked("A;ext=\"1\"\r\n0123456789\r\n0;x\r\nT: v\r\nU:\r\n\r\n", "0123456789", 0), 1);
    assert_int_equal(chunked("5\r\nhello\r\n0\r\n", "", 0), 0);
    assert_int_equal(chunked("5\r\nhel", "", 0), 0);
}

static void broken_framing_is_refused(void **state)
{
    static const char *const bad[] = {
        "\r\n",
        "g\r\n",
        "-1\r\n",
        "0x5\r\nhello",
        " 5\r\nhello",
        "5 \r\nhello",
        "5\nhello\r\n",
        "5\r\nhelloX",
        "5\r\nhello\rX",
        "5\r\nhello\n",
        "5;a\x01\r\n",
        "5;a\nb\r\n",
        "0\r\n: x\r\n",
        "0\r\nA b: x\r\n",
        "0\r\n folded\r\n",
        "0\r\nA\r\n\r\n",
        "0\r\n\rX",
    };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        if (chunked(bad[i], "", 0) != 400)
            fail_msg("not refused: %s", bad[i]);
}

static void sizes_are_bounded(void **state)
{
    char ext[20000];
    struct hocket__body b;
    struct hocket__buf out;
    size_t used;
    assert_int_equal(chunked("64\r\n", "", 0), 0); /* just fits 100 */
    assert_int_equal(chunked("65\r\nx", "", 0), 413);
    assert_int_equal(chunked("1\r\na\r\n64\r\nx", "", 0), 413);
    assert_int_equal(chunked("fffffffffffffff\r\nx", "", 0), 413);
    assert_int_equal(chunked("ffffffffffffffff1\r\nx", "", 0), 413);
    memset(ext, 'x', sizeof ext);
    memcpy(ext, "5;", 2);
    hocket__buf_init(&out, &hocket__malloc, 100);
    hocket__body_init(&b, true, 0);
    assert_int_equal(hocket__body_feed(&b, hocket__str(ext, sizeof ext), &used, &out), 400);
    hocket__buf_deinit(&out);
}

static void by_length(void **state)
{
    struct hocket__body b;
    struct hocket__buf out;
    size_t used;
    hocket__buf_init(&out, &hocket__malloc, 5);
    hocket__body_init(&b, false, 0);
    assert_int_equal(feed(&b, HOCKET__STR("next"), 9, &used, &out), 1);
    assert_int_equal(used, 0);
    hocket__body_init(&b, false, 5);
    assert_int_equal(feed(&b, HOCKET__STR("he"), 1, &used, &out), 0);
    assert_int_equal(feed(&b, HOCKET__STR("llonext"), 9, &used, &out), 1);
    assert_int_equal(used, 3);
    assert_true(hocket__str_is(hocket__buf_str(&out), "hello"));
    hocket__body_init(&b, false, UINT64_MAX);
    assert_int_equal(feed(&b, HOCKET__STR("x"), 1, &used, &out), 413);
    hocket__buf_deinit(&out);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(chunks_cut_anywhere),
        cmocka_unit_test(broken_framing_is_refused),
        cmocka_unit_test(sizes_are_bounded),
        cmocka_unit_test(by_length),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

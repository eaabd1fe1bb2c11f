#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "base/utf8.h"
#include "support/alloc.h"

/* Every code point is written and recognized, every other sequence of two or three
 * bytes is not: there are as many valid ones as there are code points. */
static void test_all_codes(void **state)
{
    char s[4];
    for (uint32_t code = 0; code <= 0x10FFFF; code++) {
        size_t n = hocket__utf8_put(code, s);
        assert_int_equal(n, code < 0x80 ? 1 : code < 0x800 ? 2 : code < 0x10000 ? 3 : 4);
        if (hocket__utf8_sequence(s, n) != (int) n || hocket__utf8_valid(s, n) != n)
            fail_msg("U+%04X", code);
        if (code >= 0xD800 && code <= 0xDFFF)
            assert_memory_equal(s, "\xEF\xBF\xBD", 3);
    }
    assert_int_equal(hocket__utf8_put(0x110000, s), 3);
}

static void test_count_of_valid(void **state)
{
    size_t two = 0, three = 0;
    for (int a = 0; a < 256; a++)
        for (int b = 0; b < 256; b++) {
            char s[3] = { (char) a, (char) b, 0 };
            two += hocket__utf8_sequence(s, 2) == 2;
            for (int c = 0x80; c < 0xC0; c++) {
                s[2] = (char) c;
                three += hocket__utf8_sequence(s, 3) == 3;
            }
        }
    assert_int_equal(two, 0x800 - 0x80);
    assert_int_equal(three, 0x10000 - 0x800 - 0x800);
}

static void repairs(struct hocket__str text, const char *expected)
{
    struct test_alloc t;
    struct hocket__buf out;
    test_alloc_init(&t);
    hocket__buf_init(&out, &t.a, 0);
    assert_int_equal(hocket__utf8_repair(&out, text.p, text.n), 0);
    if (!hocket__str_is(hocket__buf_str(&out), expected))
        fail_msg("gave %s, not %s", out.data, expected);
    assert_int_equal(hocket__utf8_valid(out.data, out.len), out.len);
    hocket__buf_deinit(&out);
    test_alloc_check(&t);
}

/* The standard's own examples (tables 3-8 to 3-11), R for U+FFFD. */
#define R "\xEF\xBF\xBD"
static void test_repair(void **state)
{
    repairs(HOCKET__STR("plain \xC3\xA9"), "plain \xC3\xA9");
    repairs(HOCKET__STR("\xC0\xAF\xE0\x80\xBF\xF0\x81\x82"
                        "A"),
        R R R R R R R R "A");
    repairs(HOCKET__STR("\xED\xA0\x80\xED\xBF\xBF\xED\xAF"
                        "A"),
        R R R R R R R R "A");
    repairs(HOCKET__STR("\xF4\x91\x92\x93\xFF"
                        "A\x80\xBF"
                        "B"),
        R R R R R "A" R R "B");
    repairs(HOCKET__STR("\xE1\x80\xE2\xF0\x91\x92\xF1\xBF"
                        "A"),
        R R R R "A");
    repairs(HOCKET__STR("\xF0\x9F\x98"), R);
}

static void test_valid_prefix(void **state)
{
    char text[40];
    for (size_t at = 0; at < sizeof(text); at++) {
        memset(text, 'a', sizeof(text));
        text[at] = (char) 0x80;
        assert_int_equal(hocket__utf8_valid(text, sizeof(text)), at);
    }
    assert_int_equal(hocket__utf8_valid("a\xE2\x82", 3), 1);
    assert_int_equal(hocket__utf8_valid("", 0), 0);
    assert_int_equal(hocket__utf8_sequence("", 0), 0);
}

static void test_cut(void **state)
{
    const char *text = "a\xC3\xA9\xE2\x82\xAC\xF0\x9F\x98\x80z";
    static const size_t expected[] = { 0, 1, 1, 3, 3, 3, 6, 6, 6, 6, 10, 11 };
    for (size_t n = 0; n < sizeof(expected) / sizeof(expected[0]); n++)
        assert_int_equal(hocket__utf8_cut(text, n), expected[n]);
    assert_int_equal(hocket__utf8_cut("a\x80\x80\x80\x80", 5), 5);
    assert_int_equal(hocket__utf8_cut("\xE0\x80", 2), 2); /* no sequence begins so */
    assert_int_equal(hocket__utf8_cut("\xFF", 1), 1);
    assert_int_equal(hocket__utf8_cut("\xC3\xA9\xA9", 3), 3);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_all_codes),
        cmocka_unit_test(test_count_of_valid),
        cmocka_unit_test(test_repair),
        cmocka_unit_test(test_valid_prefix),
        cmocka_unit_test(test_cut),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

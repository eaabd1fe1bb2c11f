/* Text for terminals: what is shown, how wide it is, where it is cut. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "cli/args/args.h"
#include "cli/text.h"

static void check_shown(const char *text, size_t n, bool lines, const char *expected)
{
    struct cli_buf b = { 0 };
    cli_text_show(&b, text, n, lines);
    assert_string_equal(cli_buf_text(&b), expected);
    cli_buf_free(&b);
}

#define SHOWN(text, lines, expected) check_shown(text, sizeof(text) - 1, lines, expected)

static void test_controls_are_shown(void **state)
{
    (void) state;
    SHOWN("a\033[31mb\007\177", true, "a^[[31mb^G^?");
    SHOWN("a\0b", true, "a^@b");
    SHOWN("\302\233x\302\205", true, "<U+009B>x<U+0085>"); /* CSI and NEL of eight bits */
    SHOWN("\342\200\256x", true, "<U+202E>x");
    SHOWN("é漢\xF0\x9F\x8E\xB5", true, "é漢\xF0\x9F\x8E\xB5");
}

static void check_json(const char *text, const char *expected)
{
    struct cli_buf b = { 0 };
    cli_text_json(&b, text, strlen(text));
    assert_string_equal(cli_buf_text(&b), expected);
    cli_buf_free(&b);
}

static void test_json_is_not_obeyed(void **state)
{
    (void) state;
    check_json("{\"a\":\"\302\2332Jx\302\205\177\"}", "{\"a\":\"\\u009b2Jx\\u0085\\u007f\"}");
    check_json("\342\200\256a\342\201\251\330\234\342\200\217\342\200\250",
        "\\u202ea\\u2069\\u061c\\u200f\\u2028");
    check_json("é漢\xF0\x9F\x8E\xB5…\302\251\342", "é漢\xF0\x9F\x8E\xB5…\302\251\342");
    check_json("", "");
}

static void test_bad_bytes_are_replaced(void **state)
{
    (void) state;
    SHOWN("\377a\300\200", true, "\357\277\275a\357\277\275\357\277\275");
    SHOWN("\355\240\200", true, "\357\277\275\357\277\275\357\277\275"); /* a surrogate */
    SHOWN("\342\202", true, "\357\277\275\357\277\275");                 /* cut */
}

static void test_lines(void **state)
{
    (void) state;
    SHOWN("a\r\nb\n\tc\rd", true, "a\nb\n\tc^Md");
    SHOWN("  a\r\n\n b\t", false, "a b ");
}

static void check_word(const char *text, const char *expected)
{
    struct cli_buf b = { 0 };
    cli_text_word(&b, text, strlen(text));
    assert_string_equal(b.p, expected);
    cli_buf_free(&b);
}

static void test_words(void **state)
{
    (void) state;
    check_word("/tmp/runs-1.db", "/tmp/runs-1.db");
    check_word("go on", "'go on'");
    check_word("it's; $(x)\033", "'it'\\''s; $(x)^['");
    check_word("", "''");
}

static void test_widths(void **state)
{
    (void) state;
    assert_int_equal(cli_text_width("abc", 3), 3);
    assert_int_equal(cli_text_width("é", 2), 1);
    assert_int_equal(cli_text_width("漢字", 6), 4);
    assert_int_equal(cli_text_width("e\xCC\x81", 3), 1); /* a combining accent */
}

static void check_cut(const char *text, size_t columns, const char *expected)
{
    struct cli_buf b = { 0 };
    cli_text_cut(&b, text, strlen(text), columns);
    assert_string_equal(cli_buf_text(&b), expected);
    assert_true(cli_text_width(cli_buf_text(&b), b.n) <= columns);
    cli_buf_free(&b);
}

static void test_cuts(void **state)
{
    (void) state;
    check_cut("abcdef", 6, "abcdef");
    check_cut("abcdef", 5, "abcd…");
    check_cut("abc def", 5, "abc…");
    check_cut("漢字漢字", 5, "漢字…");
    check_cut("漢字漢字", 4, "漢…");
    check_cut("abc", 1, "…");
    check_cut("abc", 0, "");
}

static void test_breaks(void **state)
{
    (void) state;
    assert_int_equal(cli_text_break("one two three", 13, 8), 7);
    assert_int_equal(cli_text_break("one two three", 13, 13), 13);
    assert_int_equal(cli_text_break("abcdefgh", 8, 4), 4);
    assert_int_equal(cli_text_break("漢字", 6, 1), 3); /* at least one, or it would never end */
}

static void check_amount(void (*fn)(struct cli_buf *, double), double v, const char *expected)
{
    struct cli_buf b = { 0 };
    fn(&b, v);
    assert_string_equal(b.p, expected);
    cli_buf_free(&b);
}

static void add_count(struct cli_buf *b, double n)
{
    cli_text_count(b, (long long) n);
}

static void test_amounts(void **state)
{
    (void) state;
    check_amount(cli_text_seconds, 4.24, "4.2 s");
    check_amount(cli_text_seconds, 9.97, "10 s");
    check_amount(cli_text_seconds, 59.6, "1 min 00 s");
    check_amount(cli_text_seconds, 3725, "1 h 02 min");
    check_amount(cli_text_elapsed, 4.9, "4 s");
    check_amount(add_count, 999, "999");
    check_amount(add_count, 12345, "12.3k");
    check_amount(add_count, 99999, "100k");
    check_amount(add_count, 1234567, "1.2M");
}

static void test_distances(void **state)
{
    (void) state;
    assert_int_equal(cli_distance("run", "run"), 0);
    assert_int_equal(cli_distance("rnu", "run"), 1);
    assert_int_equal(cli_distance("modle", "model"), 1);
    assert_int_equal(cli_distance("", "abc"), 3);
    assert_true(cli_is_slip(1, "rnu"));
    assert_false(cli_is_slip(2, "rnu"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_controls_are_shown),
        cmocka_unit_test(test_json_is_not_obeyed),
        cmocka_unit_test(test_bad_bytes_are_replaced),
        cmocka_unit_test(test_lines),
        cmocka_unit_test(test_words),
        cmocka_unit_test(test_widths),
        cmocka_unit_test(test_cuts),
        cmocka_unit_test(test_breaks),
        cmocka_unit_test(test_amounts),
        cmocka_unit_test(test_distances),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

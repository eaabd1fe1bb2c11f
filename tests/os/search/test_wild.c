#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <string.h>
#include <time.h>
#include <cmocka.h>

#include "os/search/wild.h"

/* A star has to try every place that it may end at, and no further star gives up for it. */
static void test_stars_go_back(void **state)
{
    assert_true(hocket__wildmatch("*.o", "a.b.o") && hocket__wildmatch("*ab", "aab"));
    assert_true(hocket__wildmatch("*a*b", "aaxab") && hocket__wildmatch("*.[ch]", "x.y.c"));
    assert_true(hocket__wildmatch("a*?c", "abcbc") && hocket__wildmatch("*", ""));
    assert_true(hocket__wildmatch("a/*.o", "a/b.c.o") && hocket__wildmatch("*/c", "ab/c"));
    assert_false(hocket__wildmatch("*.o", "a.o.b") || hocket__wildmatch("*a*b", "ba"));
    assert_false(hocket__wildmatch("*.o", "a/b.o") || hocket__wildmatch("a*c", "a/c"));
}

static void test_two_stars_pass_directories(void **state)
{
    assert_true(hocket__wildmatch("**/b.o", "b.o") && hocket__wildmatch("**/b.o", "x/y/b.o"));
    assert_true(hocket__wildmatch("a/**/b", "a/b") && hocket__wildmatch("a/**/b", "a/x/a/y/b"));
    assert_true(hocket__wildmatch("a/**", "a/x/y") && hocket__wildmatch("**/a/*.o", "x/a/y/a/z.o"));
    assert_false(hocket__wildmatch("**/b", "x/bb") || hocket__wildmatch("a/**/b", "a/bb"));
    /* between letters they are one star */
    assert_true(hocket__wildmatch("a**b", "axyb"));
    assert_false(hocket__wildmatch("a**b", "ax/yb"));
}

static void test_classes_and_escapes(void **state)
{
    assert_true(hocket__wildmatch("[a-c]x", "bx") && hocket__wildmatch("[!a]", "b")
                && hocket__wildmatch("[]-a]", "_") && hocket__wildmatch("[[:digit:]]", "7"));
    assert_true(hocket__wildmatch("a\\*b", "a*b") && hocket__wildmatch("[\\]]", "]"));
    assert_false(hocket__wildmatch("[a-c]", "d") || hocket__wildmatch("[!a]", "a")
                 || hocket__wildmatch("a\\*b", "axb") || hocket__wildmatch("?", "/"));
    /* what is not closed, or ends in a backslash, matches nothing */
    assert_false(hocket__wildmatch("[a", "a") || hocket__wildmatch("a\\", "a"));
}

static void test_many_stars_take_no_time(void **state)
{
    char text[2001];
    memset(text, 'a', 2000);
    text[2000] = 0;
    clock_t before = clock();
    assert_false(hocket__wildmatch("*a*a*a*a*a*a*a*a*a*a*a*a*b", text));
    assert_false(hocket__wildmatch("**/a/**/a/**/a/**/a/**/a/b", "a/a/a/a/a/a/a/a/a/a/a/a/a/a/a"));
    assert_true((double) (clock() - before) / CLOCKS_PER_SEC < 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_stars_go_back),
        cmocka_unit_test(test_two_stars_pass_directories),
        cmocka_unit_test(test_classes_and_escapes),
        cmocka_unit_test(test_many_stars_take_no_time),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

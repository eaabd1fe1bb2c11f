#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "os/search/pcre.h"

static int find(const char *pattern, bool ignore_case, bool literal, struct hocket__str text,
    size_t *start, size_t *end)
{
    struct hocket__pcre *re;
    struct hocket_error err;
    int rc = hocket__pcre_new(hocket__cstr(pattern), ignore_case, literal, &re, &err);
    if (rc < 0)
        return rc;
    rc = hocket__pcre_find(re, text, 0, start, end);
    hocket__pcre_free(re);
    return rc;
}

static void test_matches(void **state)
{
    static const struct {
        const char *pattern, *text;
        bool ignore_case, literal;
        size_t start, end;
    } cases[] = {
        { "b+", "aabbc", false, false, 2, 4 },
        { "^x$", "a\nx\nb", false, false, 2, 3 },
        { "B", "ab", true, false, 1, 2 },
        { "a.c", "abc a.c", false, true, 4, 7 },
        { "Ä", "xä", true, false, 1, 3 },
        { "(?<=a)b", "bab", false, false, 2, 3 },
        { "(.)\\1", "abccd", false, false, 2, 4 },
        { "x", "\xff\xfex", false, false, 2, 3 },
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        size_t start, end;
        assert_int_equal(find(cases[i].pattern, cases[i].ignore_case, cases[i].literal,
                             hocket__cstr(cases[i].text), &start, &end),
            1);
        assert_int_equal(start, cases[i].start);
        assert_int_equal(end, cases[i].end);
        assert_int_equal(find(cases[i].pattern, cases[i].ignore_case, cases[i].literal,
                             HOCKET__STR("q"), &start, &end),
            0);
    }
}

/* A pattern that would take for ever reaches a limit, and says so. */
static void test_hard_patterns(void **state)
{
    static const char *const hard[] = { "(a+)+$", "(a|a)*$", "(?:(?:a*)*)*b", "^(a?){50}a{50}$",
        "(?:a|aa|aaa)+c" };
    char text[5001];
    memset(text, 'a', 5000);
    text[5000] = '!';
    for (size_t i = 0; i < sizeof(hard) / sizeof(hard[0]); i++) {
        size_t start, end;
        int rc = find(hard[i], false, false, hocket__str(text, sizeof(text)), &start, &end);
        assert_true(rc == 0 || rc == HOCKET_ELIMIT);
    }
}

static void test_bad_patterns(void **state)
{
    struct hocket__pcre *re;
    struct hocket_error err;
    assert_int_equal(hocket__pcre_new(HOCKET__STR("a("), false, false, &re, &err), HOCKET_EPARSE);
    assert_non_null(strstr(err.message, "at character 3"));
    assert_int_equal(hocket__pcre_new(HOCKET__STR("\\C"), false, false, &re, &err), HOCKET_EPARSE);
    char *many = calloc(1, 10000);
    memset(many, '(', 5000);
    assert_int_equal(
        hocket__pcre_new(hocket__str(many, 5000), false, false, &re, &err), HOCKET_ELIMIT);
    assert_true(hocket__pcre_new(hocket__str(many, 4000), false, false, &re, &err) < 0);
    free(many);
    assert_int_equal(
        hocket__pcre_new(HOCKET__STR("(?:a{1,65535}){1,65535}"), false, false, &re, &err),
        HOCKET_EPARSE);
}

static void test_without_the_library(void **state)
{
#if HOCKET_STATIC
    skip(); /* it has a PCRE2 inside */
#endif
    struct hocket_error err;
    assert_int_equal(hocket__pcre_open("libno-such-library.so.0", &err), HOCKET_EUNSUPPORTED);
    assert_non_null(strstr(err.message, "libpcre2-8-0"));
    assert_int_equal(hocket__pcre_open("libm.so.6", &err), HOCKET_EUNSUPPORTED);
    assert_non_null(strstr(err.message, "no PCRE2"));
    assert_non_null(strstr(err.message, "it has no pcre2_"));
}

int main(void)
{
    struct hocket__pcre *re;
    struct hocket_error err;
    if (hocket__pcre_new(HOCKET__STR("x"), false, false, &re, &err) == HOCKET_EUNSUPPORTED)
        return 77;
    hocket__pcre_free(re);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_matches),
        cmocka_unit_test(test_hard_patterns),
        cmocka_unit_test(test_bad_patterns),
        cmocka_unit_test(test_without_the_library),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

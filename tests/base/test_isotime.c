#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <inttypes.h>
#include <stdio.h>
#include <time.h>

#include "base/isotime.h"

static void is(int64_t ms, const char *expected)
{
    char got[HOCKET__ISOTIME_SIZE];
    hocket__isotime(ms, got);
    assert_string_equal(got, expected);
}

static void test_known(void **state)
{
    is(0, "1970-01-01T00:00:00.000Z");
    is(INT64_C(1795251600123), "2026-11-21T09:00:00.123Z");
    is(INT64_C(951782400000), "2000-02-29T00:00:00.000Z");
    is(INT64_C(-1), "1969-12-31T23:59:59.999Z");
    is(INT64_C(-2203891200000), "1900-03-01T00:00:00.000Z");
    is(INT64_C(4107542399999), "2100-02-28T23:59:59.999Z");
    is(INT64_C(4107542400000), "2100-03-01T00:00:00.000Z");
}

static void test_ends(void **state)
{
    is(INT64_C(-62167219200000), "0000-01-01T00:00:00.000Z");
    is(INT64_C(-62167219200001), "0000-01-01T00:00:00.000Z");
    is(INT64_MIN, "0000-01-01T00:00:00.000Z");
    is(INT64_C(253402300799999), "9999-12-31T23:59:59.999Z");
    is(INT64_C(253402300800000), "9999-12-31T23:59:59.999Z");
    is(INT64_MAX, "9999-12-31T23:59:59.999Z");
}

/* Every day of 800 years against the C library. */
static void test_every_day(void **state)
{
    for (int64_t day = -146097; day < 146097; day++) {
        time_t seconds = (time_t) (day * 86400 + (day % 86400 + 86400) % 86400);
        struct tm tm;
        char expected[64];
        assert_non_null(gmtime_r(&seconds, &tm));
        snprintf(expected, sizeof(expected), "%04d-%02d-%02dT%02d:%02d:%02d.042Z",
            tm.tm_year + 1900, tm.tm_mon + 1, tm.tm_mday, tm.tm_hour, tm.tm_min, tm.tm_sec);
        is((int64_t) seconds * 1000 + 42, expected);
    }
}

/* Times one after another: the same text as each by itself, whatever came before. */
static void test_next(void **state)
{
    const int64_t times[] = { 0, 7, 999, 1000, 1000, 1795251600123, 1795251600999, 1795251601000,
        1795251600123, -1, 0, -1001, -1, INT64_MIN, INT64_C(253402300799999), INT64_MAX,
        INT64_C(253402300799998) };
    struct hocket__isotime last = { 0 };
    for (size_t i = 0; i < sizeof(times) / sizeof(times[0]); i++)
        is(times[i], hocket__isotime_next(&last, times[i]));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_known),
        cmocka_unit_test(test_ends),
        cmocka_unit_test(test_every_day),
        cmocka_unit_test(test_next),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* Times and durations in headers. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "net/when.h"

static void check(int64_t (*read)(struct hocket__str), const char *text, int64_t want)
{
    int64_t got = read(hocket__cstr(text));
    if (got != want)
        fail_msg("\"%s\": %lld, not %lld", text, (long long) got, (long long) want);
}

static int64_t seconds(struct hocket__str s)
{
    return hocket__when_number(s, 1000);
}

static int64_t milliseconds(struct hocket__str s)
{
    return hocket__when_number(s, 1);
}

static void test_numbers(void **state)
{
    (void) state;
    check(seconds, "2", 2000);
    check(seconds, " 2 ", 2000);
    check(seconds, "0", 0);
    check(seconds, "0.5", 500);
    check(seconds, ".25", 250);
    check(seconds, "17.399999999", 17400); /* up: never too early */
    check(seconds, "86400", 86400000);
    check(seconds, "86401", -1);
    check(seconds, "99999999999999999999999", -1);
    check(seconds, "-1", -1);
    check(seconds, "1e3", -1);
    check(seconds, "2s", -1);
    check(seconds, ".", -1);
    check(seconds, "", -1);
    check(milliseconds, "1500", 1500);
    check(milliseconds, "0.2", 1);
}

static void test_durations(void **state)
{
    (void) state;
    check(hocket__when_duration, "12ms", 12);
    check(hocket__when_duration, "17.399999999s", 17400);
    check(hocket__when_duration, "6m0s", 360000);
    check(hocket__when_duration, "1h2m3.5s", 3723500);
    check(hocket__when_duration, "2m59.56s", 179560);
    check(hocket__when_duration, "250us", 1);
    check(hocket__when_duration, "250\xc2\xb5s", 1);
    check(hocket__when_duration, "0s", 0);
    check(hocket__when_duration, "5", -1);
    check(hocket__when_duration, "5x", -1);
    check(hocket__when_duration, "s", -1);
    check(hocket__when_duration, "", -1);
    check(hocket__when_duration, "25h", -1);
    check(hocket__when_duration, "23h23h", -1);
    check(hocket__when_duration, "9999999999999999999999h", -1);
}

static void test_points(void **state)
{
    (void) state;
    check(hocket__when_rfc3339, "1970-01-01T00:00:00Z", 0);
    check(hocket__when_rfc3339, "2026-08-19T14:34:57Z", INT64_C(1787150097000));
    check(hocket__when_rfc3339, "2026-08-19T14:34:57.25Z", INT64_C(1787150097250));
    check(hocket__when_rfc3339, "2026-08-19T16:34:57+02:00", INT64_C(1787150097000));
    check(hocket__when_rfc3339, "2024-02-29T12:00:00Z", INT64_C(1709208000000));
    check(hocket__when_rfc3339, "2026-13-01T00:00:00Z", -1);
    check(hocket__when_rfc3339, "2026-08-19T14:34:57", -1);
    check(hocket__when_rfc3339, "2026-08-19", -1);
    check(hocket__when_rfc3339, "", -1);
    check(hocket__when_http_date, "Sun, 06 Nov 1994 08:49:37 GMT", INT64_C(784111777000));
    check(hocket__when_http_date, "Sunday, 06-Nov-94 08:49:37 GMT", INT64_C(784111777000));
    check(hocket__when_http_date, "Sun Nov  6 08:49:37 1994", INT64_C(784111777000));
    check(hocket__when_http_date, "Sun, 06 Nov 1994 08:49:37 PST", -1);
    check(hocket__when_http_date, "Sun, 06 Nov 1994", -1);
    check(hocket__when_http_date, "never", -1);
    check(hocket__when_http_date, "", -1);
    check(hocket__when_epoch, "1741305600000", INT64_C(1741305600000));
    check(hocket__when_epoch, "1741305600", INT64_C(1741305600000));
    check(hocket__when_epoch, "60", -1);
}

static void test_words(void **state)
{
    (void) state;
    check(hocket__when_sentence,
        "Rate limit reached for m on tokens per min. Please try again in 3s.", 3000);
    check(hocket__when_sentence, "Please try again in 1m20.5s. Visit https://x for 2s", 80500);
    check(hocket__when_sentence, "Please try again in 120ms.", 120);
    check(hocket__when_sentence, "try again in 6h0m0s", 21600000);
    check(hocket__when_sentence, "Please retry after 3 seconds.", 3000);
    check(hocket__when_sentence, "Retry-After: 4", 4000);
    check(hocket__when_sentence, "retry_after=5", -1);
    check(hocket__when_sentence, "Please retry in 34.074824224s.", 34075);
    check(hocket__when_sentence, "TRY AGAIN IN 2 MINUTES AND 5 SECONDS", 125000);
    check(hocket__when_sentence, "Please wait 10 seconds, then try again after 1 minute", 60000);
    check(hocket__when_sentence, "wait for 1 hour", 3600000);
    check(hocket__when_sentence, "try again in 3", 3000);
    check(hocket__when_sentence, "try again in 3.", 3000);
    check(hocket__when_sentence, "try again in 5 attempts", -1);
    check(hocket__when_sentence, "retry after 2026-11-29", -1);
    check(hocket__when_sentence, "retry after 10:30", -1);
    check(hocket__when_sentence, "try again in 99999999999999999999 seconds", -1);
    check(hocket__when_sentence, "try again in 25 hours", -1);
    check(hocket__when_sentence, "try again in ", -1);
    check(hocket__when_sentence, "try again in", -1);
    check(hocket__when_sentence, "try again later", -1);
    check(hocket__when_sentence, "", -1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_numbers),
        cmocka_unit_test(test_words),
        cmocka_unit_test(test_durations),
        cmocka_unit_test(test_points),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

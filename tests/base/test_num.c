#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "base/num/num.h"

#include <float.h>
#include <locale.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

static double read_double(const char *text)
{
    bool is_int;
    int64_t i;
    double d;
    hocket__num_read(hocket__cstr(text), &is_int, &i, &d);
    return d;
}

static bool same(double a, double b)
{
    return memcmp(&a, &b, sizeof(a)) == 0;
}

static const struct {
    double value;
    const char *text;
} shortest[] = {
    { 0.0, "0.0" },
    { -0.0, "-0.0" },
    { 1, "1.0" },
    { -1, "-1.0" },
    { 0.1, "0.1" },
    { 0.1 + 0.2, "0.30000000000000004" },
    { 1.0 / 3, "0.3333333333333333" },
    { 100, "100.0" },
    { 123.456, "123.456" },
    { 1e15, "1000000000000000.0" },
    { 1e16, "1e+16" },
    { 1e22, "1e+22" },
    { 1e23, "1e+23" },
    { 1e300, "1e+300" },
    { 9007199254740993.0, "9007199254740992.0" },
    { 9007199254740994, "9007199254740994.0" },
    { 123456789012345680, "1.2345678901234568e+17" },
    { 1e-4, "0.0001" },
    { 1.5e-4, "0.00015" },
    { 1e-5, "1e-5" },
    { 5e-324, "5e-324" },
    { 1e-323, "1e-323" },
    { 1.5e-323, "1.5e-323" },
    { DBL_MIN, "2.2250738585072014e-308" },
    { DBL_MAX, "1.7976931348623157e+308" },
    { -DBL_MAX, "-1.7976931348623157e+308" },
    { 4.450147717014403e-308, "4.450147717014403e-308" },
    { 0x1p-44, "5.684341886080802e-14" }, /* the 16 digits nearest to it do not read back */
    { 0x1p-1074 * 3, "1.5e-323" },
    { 2e-44, "2e-44" },
    { 299792458, "299792458.0" },
};

static void test_shortest(void **state)
{
    char text[HOCKET__NUM_MAX];
    for (size_t i = 0; i < sizeof(shortest) / sizeof(shortest[0]); i++) {
        size_t n = hocket__num_print(shortest[i].value, text);
        assert_string_equal(text, shortest[i].text);
        assert_int_equal(n, strlen(text));
        assert_true(same(read_double(text), shortest[i].value));
    }
    assert_int_equal(hocket__num_print(NAN, text), 0);
    assert_int_equal(hocket__num_print(INFINITY, text), 0);
    assert_int_equal(hocket__num_print(-INFINITY, text), 0);
}

/* Some number of n digits near v reads back: tried with the nearest and its neighbours. */
static bool has_digits(double v, int n)
{
    char text[64];
    snprintf(text, sizeof(text), "%.*e", n - 1, v);
    char *e = strchr(text, 'e');
    double unit = strtod(e + 1, NULL) - (n - 1), mantissa = 0;
    for (char *p = text; p < e; p++)
        if (*p >= '0' && *p <= '9')
            mantissa = mantissa * 10 + (*p - '0');
    for (int k = -1; k <= 1; k++) {
        char near[64];
        snprintf(near, sizeof(near), "%.0fe%.0f", mantissa + k, unit);
        if (strtod(near, NULL) == v)
            return true;
    }
    return false;
}

static int count_digits(const char *text)
{
    int n = 0, zeros = 0;
    for (; *text && *text != 'e'; text++) {
        if (*text == '0')
            zeros += n > 0;
        else if (*text != '.') {
            n += zeros + 1;
            zeros = 0;
        }
    }
    return n;
}

static void round_trip(double v)
{
    char text[HOCKET__NUM_MAX];
    size_t n = hocket__num_print(v, text);
    assert_int_equal(hocket__num_scan(hocket__str(text, n), NULL), n);
    if (!same(strtod(text, NULL), v) || !same(read_double(text), v))
        fail_msg("%a became %s", v, text);
    int digits = count_digits(text);
    if (digits > 1 && has_digits(v, digits - 1))
        fail_msg("%s is not the shortest of %a", text, v);
}

static uint64_t random_state = 88172645463325252u;

static uint64_t next_random(void)
{
    random_state ^= random_state << 13;
    random_state ^= random_state >> 7;
    return random_state ^= random_state << 17;
}

static void test_round_trip(void **state)
{
    for (int i = 0; i < 20000; i++) {
        uint64_t bits = next_random() & INT64_MAX;
        double v;
        memcpy(&v, &bits, sizeof(v));
        if (isfinite(v))
            round_trip(v);
        round_trip((double) (bits >> 40) / 1000);
        bits >>= 12; /* a subnormal */
        memcpy(&v, &bits, sizeof(v));
        round_trip(v);
    }
    for (int e = -1074; e < 1024; e++) {
        round_trip(ldexp(1, e));
        round_trip(nextafter(ldexp(1, e), 0));
        round_trip(nextafter(ldexp(1, e), INFINITY));
    }
}

static void test_read_like_strtod(void **state)
{
    char text[128];
    for (int i = 0; i < 20000; i++) {
        uint64_t a = next_random() >> (next_random() % 60), b = next_random();
        int exponent = (int) (next_random() % 700) - 350;
        snprintf(text, sizeof(text), "%llu.%llue%d", (unsigned long long) a, (unsigned long long) b,
            exponent);
        assert_true(same(read_double(text), strtod(text, NULL)));
        snprintf(text, sizeof(text), "-%llue%d", (unsigned long long) a >> 20, exponent / 10);
        assert_true(same(read_double(text), strtod(text, NULL)));
    }
}

/* The middle between two doubles in all its 751 digits, and a hair above it, with the
 * hair further away than any buffer. */
static void test_read_is_exact(void **state)
{
    static char text[4000];
    int n = snprintf(text, sizeof(text), "%.1080f", 0x1p-1022 + 0x1p-1074);
    assert_true(same(read_double(text), 0x1p-1022 + 0x1p-1074));
    n = snprintf(text, sizeof(text), "9007199254740993.");
    memset(text + n, '0', 3000);
    text[n + 3000] = 0;
    assert_true(read_double(text) == 9007199254740992.0);
    text[n + 2999] = '1';
    assert_true(read_double(text) == 9007199254740994.0);
    assert_true(read_double("2.2250738585072011e-308") == 0x0.fffffffffffffp-1022);
    assert_true(read_double("2.47e-324") == 0);
    assert_true(read_double("2.48e-324") == 5e-324);
}

static void test_read_extremes(void **state)
{
    static char text[4000];
    assert_true(read_double("1e400") == HUGE_VAL);
    assert_true(read_double("-1e999999999999999999999999") == -HUGE_VAL);
    assert_true(read_double("1e-999999999999999999999999") == 0);
    assert_true(signbit(read_double("-1e-999999999999999999999999")));
    assert_true(read_double("0e999999999999999999999999") == 0);
    assert_true(signbit(read_double("-0")) && signbit(read_double("-0.0e5")));
    text[0] = '1';
    memset(text + 1, '0', 3000);
    strcpy(text + 3001, "e-3000");
    assert_true(read_double(text) == 1);
    text[1] = '.';
    assert_true(read_double(text) == 0);
    memset(text, '0', 3000);
    text[1] = '.';
    strcpy(text + 3000, "1e2999");
    assert_true(read_double(text) == 1);
}

static void test_ints(void **state)
{
    static const int64_t values[] = { 0, 7, -7, 1234567890123456789, INT64_MAX, INT64_MIN };
    char text[HOCKET__NUM_MAX];
    bool is_int;
    int64_t i;
    double d;
    for (size_t k = 0; k < sizeof(values) / sizeof(values[0]); k++) {
        size_t n = hocket__num_print_int(values[k], text);
        hocket__num_read(hocket__str(text, n), &is_int, &i, &d);
        assert_true(is_int && i == values[k] && d == (double) i);
    }
    assert_int_equal(hocket__num_print_int(INT64_MIN, text), 20);
    assert_string_equal(text, "-9223372036854775808");
    static const char *const others[] = { "9223372036854775808", "-9223372036854775809", "1.0",
        "1e0", "100000000000000000000000000", "-0.0" };
    for (size_t k = 0; k < sizeof(others) / sizeof(others[0]); k++) {
        hocket__num_read(hocket__cstr(others[k]), &is_int, &i, &d);
        assert_false(is_int);
        assert_true(d == strtod(others[k], NULL));
    }
}

static void prints_decimal(int64_t v, int places, const char *expected)
{
    char text[HOCKET__NUM_MAX], *end = hocket__num_put_decimal(text, v, places);
    *end = 0;
    assert_string_equal(text, expected);
}

/* The same text as that of the double, wherever there is one. */
static void test_decimals(void **state)
{
    char text[HOCKET__NUM_MAX];
    prints_decimal(0, 3, "0.0");
    prints_decimal(3000, 3, "3.0");
    prints_decimal(5250000, 9, "0.00525");
    prints_decimal(INT64_MAX, 9, "9223372036.854775807");
    prints_decimal(INT64_MAX, 18, "9.223372036854775807");
    prints_decimal(INT64_MAX, 1, "922337203685477580.7");
    for (int64_t v = 1; v < INT64_C(1000000000000000); v = v * 7 + v % 11) {
        hocket__num_print((double) v / 1000, text);
        prints_decimal(v, 3, text);
    }
}

static void test_int_lengths(void **state)
{
    char text[HOCKET__NUM_MAX], expected[HOCKET__NUM_MAX];
    for (int64_t power = 1; power <= INT64_MAX / 10; power *= 10)
        for (int64_t v = 10 * power - 1; v <= 10 * power + 1; v++) {
            snprintf(expected, sizeof(expected), "%lld", (long long) -v);
            assert_int_equal(hocket__num_print_int(-v, text), strlen(expected));
            assert_string_equal(text, expected);
        }
}

static void test_scan(void **state)
{
    static const struct {
        const char *text;
        size_t n, fault;
    } rows[] = { { "0", 1, 1 }, { "012", 1, 1 }, { "-1.5e+3,", 7, 7 }, { "", 0, 0 }, { "-", 0, 1 },
        { "-x", 0, 1 }, { "1.", 0, 2 }, { "1.e5", 0, 2 }, { "1e", 0, 2 }, { "1e+", 0, 3 },
        { "+1", 0, 0 }, { ".5", 0, 0 }, { "1.5.2", 3, 3 } };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        size_t fault;
        assert_int_equal(hocket__num_scan(hocket__cstr(rows[i].text), &fault), rows[i].n);
        assert_int_equal(fault, rows[i].fault);
    }
}

/* A host may have set any locale. */
static void test_decimal_points(void **state)
{
    static const char *const printed[] = { "1.25e-03", "1,25e-03",
        ("1\xD9\xAB"
         "25e-03") };
    char digits[HOCKET__NUM_DIGITS];
    int point;
    for (size_t i = 0; i < sizeof(printed) / sizeof(printed[0]); i++) {
        assert_int_equal(hocket__num_digits(printed[i], digits, &point), 3);
        assert_memory_equal(digits, "125", 3);
        assert_int_equal(point, -2);
    }
    assert_int_equal(hocket__num_digits("9.00e+20", digits, &point), 1);
    assert_int_equal(point, 21);
}

static void test_in_a_locale_with_commas(void **state)
{
    static const char *const names[] = { "de_DE.UTF-8", "de_DE.utf8", "de_DE", "fr_FR.UTF-8" };
    const char *found = NULL;
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]) && !found; i++)
        found = setlocale(LC_NUMERIC, names[i]);
    if (!found) {
        print_message("skipped: no locale with a decimal comma is installed\n");
        skip();
    }
    test_shortest(state);
    assert_true(read_double("2.5e-3") == 25 / 1e4);
    assert_true(read_double("0.1234567890123456789e30") == 123456789012345678900000000000.0);
    setlocale(LC_NUMERIC, "C");
}

static void test_fits(void **state)
{
    static const char *const good[] = { "0", "9223372036854775807", "-9223372036854775808", "3.0",
        "1e308", "0.1234567890123456789", "10000000000000000000", "1e-400", "-0" };
    static const char *const bad[] = { "9223372036854775808", "-9223372036854775809",
        "18446744073709551616", "1e309", "-1e400", "12345678901234567890", "1e999999999999" };
    (void) state;
    for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++)
        if (!hocket__num_fits(hocket__cstr(good[i])))
            fail_msg("%s", good[i]);
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
        if (hocket__num_fits(hocket__cstr(bad[i])))
            fail_msg("%s", bad[i]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_fits),
        cmocka_unit_test(test_shortest),
        cmocka_unit_test(test_round_trip),
        cmocka_unit_test(test_read_like_strtod),
        cmocka_unit_test(test_read_is_exact),
        cmocka_unit_test(test_read_extremes),
        cmocka_unit_test(test_ints),
        cmocka_unit_test(test_decimals),
        cmocka_unit_test(test_int_lengths),
        cmocka_unit_test(test_scan),
        cmocka_unit_test(test_decimal_points),
        cmocka_unit_test(test_in_a_locale_with_commas),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

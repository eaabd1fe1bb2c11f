#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>

#include "core/usage.h"
#include "support/alloc.h"

static void prints(const struct hocket__usage_sum *sum, const char *expected)
{
    struct test_alloc t;
    struct hocket__buf out;
    test_alloc_init(&t);
    hocket__buf_init(&out, &t.a, 0);
    hocket__usage_sum_print(sum, &out);
    assert_string_equal(out.data, expected);
    hocket__buf_deinit(&out);
    test_alloc_check(&t);
}

static void test_add(void **state)
{
    struct hocket__usage_sum sum = { 0 };
    const struct hocket__usage_sum a = { 1, 2, 3, 4, 5, 6, 9, 7, 0, 8 },
                                   b = { 10, 20, 30, 40, 50, 60, 90, 70, 2, 80 };
    hocket__usage_sum_add(&sum, &a);
    prints(&sum,
        "{\"input\":1,\"output\":2,\"cached\":3,\"cache_write\":4,\"reasoning\":5,\"calls\":6,"
        "\"tool_calls\":9,\"cost\":0.000000007,\"seconds\":0.008}");
    hocket__usage_sum_add(&sum, &b);
    prints(&sum, "{\"input\":11,\"output\":22,\"cached\":33,\"cache_write\":44,\"reasoning\":55,"
                 "\"calls\":66,\"tool_calls\":99,\"cost\":null,\"unpriced\":2,\"cost_known\":0."
                 "000000077,\"seconds\":0.088}");
    hocket__usage_sum_add(&sum, &a);
    assert_int_equal(sum.unpriced, 2); /* stays */
}

static void test_not_reported(void **state)
{
    struct hocket__usage_sum sum = { .input = 5 };
    const struct hocket__usage_sum none = { -1, -1, -1, -1, -1, -1, -1, -1, -1, -1 };
    hocket__usage_sum_add(&sum, &none);
    prints(&sum,
        "{\"input\":5,\"output\":0,\"cached\":0,\"cache_write\":0,\"reasoning\":0,\"calls\":0,"
        "\"tool_calls\":0,\"cost\":0.0,\"seconds\":0.0}");
}

static void test_saturates(void **state)
{
    struct hocket__usage_sum sum = { .input = INT64_MAX - 1, .cost = INT64_MAX };
    const struct hocket__usage_sum more = { .input = 1, .cost = INT64_MAX };
    hocket__usage_sum_add(&sum, &more);
    assert_true(sum.input == INT64_MAX && sum.cost == INT64_MAX);
    hocket__usage_sum_add(&sum, &more);
    assert_true(sum.input == INT64_MAX && sum.cost == INT64_MAX);
}

static void test_dollars(void **state)
{
    static const struct {
        int64_t nanos;
        const char *text;
    } cases[] = { { 0, "0.0" }, { 1, "0.000000001" }, { 10, "0.00000001" }, { 5250000, "0.00525" },
        { 100000000, "0.1" }, { 1000000000, "1.0" }, { INT64_C(10000000000), "10.0" },
        { 300000000, "0.3" }, { INT64_C(1234567890123), "1234.567890123" },
        { INT64_MAX, "9223372036.854775807" } };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct hocket__usage_sum sum = { .cost = cases[i].nanos };
        char expected[200];
        snprintf(expected, sizeof(expected),
            "{\"input\":0,\"output\":0,\"cached\":0,\"cache_write\":0,\"reasoning\":0,"
            "\"calls\":0,\"tool_calls\":0,\"cost\":%s,\"seconds\":0.0}",
            cases[i].text);
        prints(&sum, expected);
    }
}

/* The sum over a tree is that over its leaves, however it is grouped. */
static void test_grouping(void **state)
{
    struct hocket__usage_sum flat = { 0 }, groups[7] = { { 0 } }, top = { 0 };
    for (int i = 0; i < 1000; i++) {
        struct hocket__usage_sum leaf = { i, 3 * i, i / 2, i % 3, 7, 1, 2, i * i, i == 500, i };
        if (i % 100 == 99)
            leaf.output = INT64_MAX / 5;
        hocket__usage_sum_add(&flat, &leaf);
        hocket__usage_sum_add(&groups[i % 7], &leaf);
    }
    for (int i = 0; i < 7; i++)
        hocket__usage_sum_add(&top, &groups[i]);
    assert_int_equal(top.output, INT64_MAX);
    assert_memory_equal(&top, &flat, sizeof(top));
}

/* What is not known makes the cost unknown, never 0; what costs nothing is 0 whatever is known. */
static void test_price(void **state)
{
    const struct hocket__rate rate = { 2.5, 10, 0.25, -1 }, unread = { 5, 20, -1, 6.25 };
    const struct hocket__price p = { .rate = rate, .above = unread, .limit = 1000 };
    const struct hocket__price plain = { .rate = unread, .limit = -1 };
    const struct hocket__price none = { .rate = { 0, 0, -1, -1 }, .limit = -1 };
    assert_int_equal(hocket__price_cost(&p, 100, 10, -1, -1), 350000);
    assert_int_equal(hocket__price_cost(&p, 100, 10, 40, 20), 100000 + 10000 + 50000 + 100000);
    assert_int_equal(hocket__price_cost(&p, 10, 0, 40, 0), 10000); /* more was read than came in */
    assert_int_equal(hocket__price_cost(&p, 1000, 0, 0, 0), 2500000);
    assert_int_equal(hocket__price_cost(&p, 1001, 0, 0, 0), 5005000);
    assert_int_equal(hocket__price_cost(&p, 1001, 0, 1, 0), -1);
    assert_int_equal(hocket__price_cost(&plain, 100, 0, 0, 100), 625000);
    assert_int_equal(hocket__price_cost(&p, -1, 10, 0, 0), -1);
    assert_int_equal(hocket__price_cost(&p, 10, -1, 0, 0), -1);
    assert_int_equal(hocket__price_cost(&none, -1, -1, 5, -1), 0);
    assert_true(hocket__price_is_free(&none) && !hocket__price_is_free(&p));
    const struct hocket__price dear = { .rate = { 1e300, 1, -1, -1 }, .limit = -1 };
    assert_int_equal(hocket__price_cost(&dear, INT64_MAX, 0, 0, 0), INT64_MAX);
    const struct hocket__price half = { .rate = rate, .above = { -1, -1, -1, -1 }, .limit = 5 };
    assert_int_equal(hocket__price_cost(&half, 6, 1, 0, 0), -1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_add),
        cmocka_unit_test(test_not_reported),
        cmocka_unit_test(test_saturates),
        cmocka_unit_test(test_dollars),
        cmocka_unit_test(test_grouping),
        cmocka_unit_test(test_price),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

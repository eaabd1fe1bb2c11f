/* Ids of runs: their form, and their order. */
#include "core/run_id.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

static const unsigned char zero[HOCKET__RUN_ID_RANDOM];

/* The example of the ULID specification has this time. */
static void test_form(void **state)
{
    static const unsigned char ones[HOCKET__RUN_ID_RANDOM] = { 255, 255, 255, 255, 255, 255, 255,
        255, 255, 255 };
    static const unsigned char counted[HOCKET__RUN_ID_RANDOM] = { 0, 0, 0, 0, 1, 0, 0, 0, 0, 33 };
    char id[HOCKET__RUN_ID_LEN + 1];
    (void) state;
    hocket__run_id(1469918176385, zero, id);
    assert_string_equal(id, "01ARYZ6S410000000000000000");
    hocket__run_id(1469918176385, ones, id);
    assert_string_equal(id, "01ARYZ6S41ZZZZZZZZZZZZZZZZ");
    hocket__run_id(1469918176385, counted, id);
    assert_string_equal(id, "01ARYZ6S410000000100000011");
}

static void test_edges_of_time(void **state)
{
    char id[HOCKET__RUN_ID_LEN + 1];
    (void) state;
    hocket__run_id(-1, zero, id);
    assert_string_equal(id, "00000000000000000000000000");
    hocket__run_id(INT64_MAX, zero, id);
    assert_string_equal(id, "7ZZZZZZZZZ0000000000000000");
}

static void test_order(void **state)
{
    char before[HOCKET__RUN_ID_LEN + 1], after[HOCKET__RUN_ID_LEN + 1];
    (void) state;
    for (int64_t t = 1; t < INT64_C(1) << 47; t = t * 3 + 1) {
        hocket__run_id(t, zero, before);
        hocket__run_id(t + 1, zero, after);
        assert_true(strcmp(before, after) < 0);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_form),
        cmocka_unit_test(test_edges_of_time),
        cmocka_unit_test(test_order),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

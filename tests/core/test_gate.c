#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "core/gate.h"

/* Nothing starts before the store has confirmed the claim. */
static void test_no_claim(void **state)
{
    struct hocket__gate g = { 0 };
    (void) state;
    assert_false(hocket__gate_is_open(&g, 1, false));
    assert_false(hocket__gate_is_open(&g, 1, true));
}

/* With the claim alone nothing starts that changes the world. */
static void test_claim(void **state)
{
    struct hocket__gate g = { 0 };
    (void) state;
    hocket__gate_confirm(&g, 0);
    assert_true(hocket__gate_is_open(&g, 7, false));
    assert_false(hocket__gate_is_open(&g, 7, true));
    assert_false(hocket__gate_is_open(&g, 0, true)); /* it has no intent */
}

static void test_intent(void **state)
{
    struct hocket__gate g = { 0 };
    (void) state;
    hocket__gate_confirm(&g, 7);
    assert_true(hocket__gate_is_open(&g, 6, true)); /* of an earlier process */
    assert_true(hocket__gate_is_open(&g, 7, true));
    assert_false(hocket__gate_is_open(&g, 8, true));
    assert_true(hocket__gate_is_open(&g, 8, false));
}

/* An earlier wait may end later; it takes nothing back. */
static void test_order(void **state)
{
    struct hocket__gate g = { 0 };
    (void) state;
    hocket__gate_confirm(&g, 9);
    hocket__gate_confirm(&g, 5);
    hocket__gate_confirm(&g, 0);
    assert_true(hocket__gate_is_open(&g, 9, true));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_no_claim),
        cmocka_unit_test(test_claim),
        cmocka_unit_test(test_intent),
        cmocka_unit_test(test_order),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

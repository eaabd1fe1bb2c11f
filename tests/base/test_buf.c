#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "base/buf.h"
#include "support/alloc.h"

static void fill(struct test_alloc *t, void *ud)
{
    struct hocket__buf b;
    hocket__buf_init(&b, &t->a, 0);
    for (int i = 0; i < 50; i++)
        hocket__buf_addf(&b, "%d,%s;", i, "text");
    assert_int_equal(b.status, t->failed ? HOCKET_ENOMEM : 0);
    if (b.data)
        assert_int_equal(strlen(b.data), b.len);
    if (!t->failed)
        assert_int_equal(b.len, 10 * 7 + 40 * 8);
    hocket__buf_deinit(&b);
}

static void test_out_of_memory(void **state)
{
    assert_true(test_alloc_each(fill, NULL) > 2);
}

static void test_appends(void **state)
{
    struct test_alloc t;
    struct hocket__buf b;
    test_alloc_init(&t);
    hocket__buf_init(&b, &t.a, 0);
    assert_int_equal(hocket__buf_str(&b).n, 0);
    assert_string_equal(hocket__buf_str(&b).p, "");
    assert_int_equal(t.calls, 0);
    assert_int_equal(hocket__buf_adds(&b, "ab"), 0);
    assert_int_equal(hocket__buf_addc(&b, 'c'), 0);
    assert_int_equal(hocket__buf_add(&b, "\0d", 2), 0);
    assert_int_equal(hocket__buf_addstr(&b, HOCKET__STR("e")), 0);
    assert_int_equal(hocket__buf_add(&b, NULL, 0), 0);
    assert_int_equal(hocket__buf_addf(&b, "%5d", 42), 0);
    assert_int_equal(b.len, 11);
    assert_memory_equal(b.data, "abc\0de   42", 12);
    hocket__buf_deinit(&b);
    assert_int_equal(b.len, 0);
    test_alloc_check(&t);
}

static void test_drop_and_cut(void **state)
{
    struct test_alloc t;
    struct hocket__buf b;
    test_alloc_init(&t);
    hocket__buf_init(&b, &t.a, 0);
    hocket__buf_cut(&b, 0);
    hocket__buf_drop(&b, 1);
    hocket__buf_adds(&b, "0123456789");
    hocket__buf_drop(&b, 3);
    assert_string_equal(b.data, "3456789");
    hocket__buf_cut(&b, 2);
    assert_string_equal(b.data, "34");
    hocket__buf_cut(&b, 5);
    assert_int_equal(b.len, 2);
    hocket__buf_drop(&b, 9);
    assert_string_equal(b.data, "");
    hocket__buf_deinit(&b);
    test_alloc_check(&t);
}

static void test_limit(void **state)
{
    struct test_alloc t;
    struct hocket__buf b;
    test_alloc_init(&t);
    hocket__buf_init(&b, &t.a, 100);
    for (int i = 0; i < 10; i++)
        assert_int_equal(hocket__buf_adds(&b, "0123456789"), 0);
    assert_true(t.bytes <= 101); /* no more memory than the limit */
    assert_int_equal(hocket__buf_addc(&b, 'x'), HOCKET_ELIMIT);
    assert_int_equal(hocket__buf_add(&b, "", 0), HOCKET_ELIMIT); /* it stays so */
    assert_int_equal(hocket__buf_addf(&b, "x"), HOCKET_ELIMIT);
    assert_int_equal(b.len, 100);
    hocket__buf_reset(&b);
    assert_int_equal(hocket__buf_addc(&b, 'x'), 0);
    assert_int_equal(hocket__buf_reserve(&b, SIZE_MAX), HOCKET_ELIMIT);
    hocket__buf_deinit(&b);
    hocket__buf_init(&b, &t.a, SIZE_MAX);
    assert_int_equal(hocket__buf_reserve(&b, SIZE_MAX), HOCKET_ELIMIT);
    assert_int_equal(t.blocks, 0);
    hocket__buf_deinit(&b);
}

static void test_shrink(void **state)
{
    struct test_alloc t;
    struct hocket__buf b;
    test_alloc_init(&t);
    hocket__buf_init(&b, &t.a, 0);
    hocket__buf_shrink(&b);
    hocket__buf_reserve(&b, 1000);
    hocket__buf_adds(&b, "abc");
    hocket__buf_shrink(&b);
    assert_int_equal(t.bytes, 4);
    assert_string_equal(b.data, "abc");
    t.fail_at = t.calls + 1;
    hocket__buf_reserve(&b, 1000);
    assert_int_equal(b.status, HOCKET_ENOMEM);
    hocket__buf_cut(&b, 0);
    hocket__buf_shrink(&b);
    assert_int_equal(b.status, HOCKET_ENOMEM);
    test_alloc_check(&t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_out_of_memory),
        cmocka_unit_test(test_appends),
        cmocka_unit_test(test_drop_and_cut),
        cmocka_unit_test(test_limit),
        cmocka_unit_test(test_shrink),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

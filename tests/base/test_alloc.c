#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "base/alloc.h"
#include "support/alloc.h"

static void grow(struct test_alloc *t, void *ud)
{
    uint32_t *array = NULL;
    size_t cap = 0, n = 0;
    int status = 0;
    for (; n < 100; n++) {
        status = hocket__grow(&t->a, &array, &cap, n + 1, sizeof(*array));
        if (status < 0)
            break;
        array[n] = (uint32_t) n;
    }
    assert_int_equal(status, t->failed ? HOCKET_ENOMEM : 0);
    for (size_t i = 0; i < n; i++)
        assert_int_equal(array[i], i);
    hocket__free(&t->a, array, cap * sizeof(*array));
}

static void test_grow(void **state)
{
    assert_int_equal(test_alloc_each(grow, NULL), 6); /* 4, 8, … 128 */
}

static void test_grow_past_all(void **state)
{
    struct test_alloc t;
    uint64_t *array = NULL;
    size_t cap = 0;
    test_alloc_init(&t);
    assert_int_equal(hocket__grow(&t.a, &array, &cap, SIZE_MAX, 8), HOCKET_ENOMEM);
    assert_int_equal(hocket__grow(&t.a, &array, &cap, SIZE_MAX / 8, 8), HOCKET_ENOMEM);
    assert_int_equal(t.calls, 0);
    assert_int_equal(hocket__grow(&t.a, &array, &cap, 0, 8), 0);
    assert_null(array);
}

static void copies(struct test_alloc *t, void *ud)
{
    char *s = hocket__strdup(&t->a, "abc", 2);
    char *zero = hocket__zero(&t->a, 3);
    if (s)
        assert_string_equal(s, "ab");
    if (zero)
        assert_memory_equal(zero, "\0\0", 3);
    assert_true(t->failed || (s && zero));
    hocket__strfree(&t->a, s);
    hocket__free(&t->a, zero, 3);
}

static void test_copies(void **state)
{
    assert_int_equal(test_alloc_each(copies, NULL), 2);
}

static void test_default(void **state)
{
    char *p = hocket__new(&hocket__malloc, 10);
    assert_non_null(p);
    memcpy(p, "123456789", 10);
    p = hocket__resize(&hocket__malloc, p, 10, 10000);
    assert_non_null(p);
    assert_string_equal(p, "123456789");
    hocket__free(&hocket__malloc, p, 10000);
    hocket__free(&hocket__malloc, NULL, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_grow),
        cmocka_unit_test(test_grow_past_all),
        cmocka_unit_test(test_copies),
        cmocka_unit_test(test_default),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "base/map.h"
#include "support/alloc.h"

#define COUNT 500

static int values[COUNT];

/* Ids that lie close together, far apart, and that share their home. */
static uint64_t id_of(size_t i)
{
    return i % 3 == 0 ? i + 1 : i % 3 == 1 ? (uint64_t) i << 40 : UINT64_MAX - i;
}

/* Against a plain array of what should be there. */
static void test_against_model(void **state)
{
    struct test_alloc t;
    struct hocket__map m;
    bool there[COUNT] = { false };
    uint32_t random = 1;
    size_t count = 0;
    test_alloc_init(&t);
    hocket__map_init(&m, &t.a);
    for (int step = 0; step < 20000; step++) {
        random = random * 1664525 + 1013904223;
        size_t i = (random >> 8) % COUNT;
        if (random >> 31) {
            assert_int_equal(hocket__map_set(&m, id_of(i), &values[i]), 0);
            count += !there[i];
        } else {
            assert_ptr_equal(hocket__map_del(&m, id_of(i)), there[i] ? &values[i] : NULL);
            count -= there[i];
        }
        there[i] = random >> 31;
        assert_int_equal(m.count, count);
        if (step % 97 == 0)
            for (size_t k = 0; k < COUNT; k++)
                assert_ptr_equal(hocket__map_get(&m, id_of(k)), there[k] ? &values[k] : NULL);
    }
    hocket__map_deinit(&m);
    test_alloc_check(&t);
}

static void test_edges(void **state)
{
    struct test_alloc t;
    struct hocket__map m;
    test_alloc_init(&t);
    hocket__map_init(&m, &t.a);
    assert_null(hocket__map_get(&m, 1));
    assert_null(hocket__map_del(&m, 1));
    assert_int_equal(hocket__map_set(&m, 0, &m), HOCKET_EINVAL);
    assert_null(hocket__map_get(&m, 0));
    assert_int_equal(hocket__map_set(&m, 1, &values[0]), 0);
    assert_int_equal(hocket__map_set(&m, 1, &values[1]), 0);
    assert_ptr_equal(hocket__map_get(&m, 1), &values[1]);
    assert_int_equal(m.count, 1);
    hocket__map_deinit(&m);
    assert_null(hocket__map_get(&m, 1));
    test_alloc_check(&t);
}

static void fill(struct test_alloc *t, void *ud)
{
    struct hocket__map m;
    int status = 0;
    uint64_t id = 1;
    hocket__map_init(&m, &t->a);
    while (id <= 100 && (status = hocket__map_set(&m, id, &values[id])) == 0)
        id++;
    assert_int_equal(status, t->failed ? HOCKET_ENOMEM : 0);
    for (uint64_t k = 1; k <= 100; k++)
        assert_ptr_equal(hocket__map_get(&m, k), k < id ? &values[k] : NULL);
    for (uint64_t k = 1; k < id; k++) /* what is there can be set without memory */
        assert_int_equal(hocket__map_set(&m, k, NULL), 0);
    hocket__map_deinit(&m);
}

static void test_out_of_memory(void **state)
{
    assert_int_equal(test_alloc_each(fill, NULL), 5); /* 16, 32, … 256: at most 3/4 full */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_against_model),
        cmocka_unit_test(test_edges),
        cmocka_unit_test(test_out_of_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

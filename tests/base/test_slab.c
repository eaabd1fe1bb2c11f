/* The slab allocator: blocks keep their content, sizes may change, all is given back. */

#include "base/slab.h"

#include "support/alloc.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>

#define BLOCKS 400

struct block {
    unsigned char *p, mark;
    size_t size;
};

static void fill(struct block *b)
{
    for (size_t i = 0; i < b->size; i++)
        b->p[i] = (unsigned char) (b->mark + i);
}

static void check(const struct block *b, size_t size)
{
    for (size_t i = 0; i < size; i++)
        assert_int_equal(b->p[i], (unsigned char) (b->mark + i));
}

static void test_random(void **state)
{
    (void) state;
    struct test_alloc t;
    struct hocket__slab s;
    struct block blocks[BLOCKS] = { { NULL, 0, 0 } };
    test_alloc_init(&t);
    hocket__slab_init(&s, &t.a);
    srand(7);
    for (int i = 0; i < 100000; i++) {
        struct block *b = &blocks[rand() % BLOCKS];
        size_t size = rand() % 3 ? (size_t) (rand() % 600) : (size_t) (rand() % 64);
        if (b->p)
            check(b, b->size);
        if (size == 0) {
            hocket__free(&s.a, b->p, b->size);
            *b = (struct block){ NULL, 0, 0 };
            continue;
        }
        unsigned char *p =
            b->p ? hocket__resize(&s.a, b->p, b->size, size) : hocket__new(&s.a, size);
        assert_non_null(p);
        assert_int_equal((uintptr_t) p % 16, 0);
        size_t kept = b->p && b->size < size ? b->size : b->p ? size : 0;
        b->p = p;
        check(b, kept);
        b->size = size;
        b->mark = (unsigned char) rand();
        fill(b);
    }
    for (int i = 0; i < BLOCKS; i++)
        hocket__free(&s.a, blocks[i].p, blocks[i].size);
    hocket__slab_deinit(&s);
    test_alloc_check(&t);
}

/* A block that is freed is the next one of its size: no memory is taken for it. */
static void test_reuse(void **state)
{
    (void) state;
    struct test_alloc t;
    struct hocket__slab s;
    test_alloc_init(&t);
    hocket__slab_init(&s, &t.a);
    void *p = hocket__new(&s.a, 40);
    size_t calls = t.calls;
    for (int i = 0; i < 1000; i++) {
        hocket__free(&s.a, p, 40);
        assert_ptr_equal(hocket__new(&s.a, 33), p);
        hocket__free(&s.a, p, 33);
        assert_ptr_equal(hocket__new(&s.a, 48), p);
        assert_ptr_equal(hocket__resize(&s.a, p, 48, 40), p);
    }
    assert_int_equal(t.calls, calls);
    hocket__slab_deinit(&s);
    test_alloc_check(&t);
}

static void body(struct test_alloc *t, void *ud)
{
    (void) ud;
    struct hocket__slab s;
    hocket__slab_init(&s, &t->a);
    void *p = hocket__new(&s.a, 100), *q = p ? hocket__resize(&s.a, p, 100, 1000) : NULL;
    if (!t->failed)
        assert_non_null(q);
    if (q)
        hocket__free(&s.a, q, 1000);
    hocket__slab_deinit(&s);
}

static void test_out_of_memory(void **state)
{
    (void) state;
    assert_int_equal(test_alloc_each(body, NULL), 2);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_random),
        cmocka_unit_test(test_reuse),
        cmocka_unit_test(test_out_of_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

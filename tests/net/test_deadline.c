/* The heap against a plain list, and when deadlines pass. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "base/list.h"
#include "net/deadline.h"
#include "support/alloc.h"

enum { N = 200 };

struct one {
    struct hocket__deadline d;
    struct all *all;
    uint64_t at; /* what it was set to; 0: not set */
    int passed;
    bool again; /* sets itself again, to a time that is past */
};

struct all {
    uv_loop_t loop;
    struct test_alloc t;
    struct hocket__deadlines ds;
    struct one one[N];
    uint64_t last; /* the one that passed last */
    int passed, rounds;
};

static void on_passed(struct hocket__deadline *d)
{
    struct one *o = hocket__container_of(d, struct one, d);
    struct all *all = o->all;
    assert_int_equal(d->place, 0);
    assert_true(o->at != 0 && o->at <= hocket__deadlines_now());
    assert_true(o->again || o->at >= all->last);
    all->last = o->at;
    all->passed++;
    o->passed++;
    if (o->again && o->passed < 5)
        hocket__deadline_set(&all->ds, d, o->at);
    else
        o->at = 0;
}

static void set_up(struct all *all)
{
    memset(all, 0, sizeof(*all));
    test_alloc_init(&all->t);
    uv_loop_init(&all->loop);
    hocket__deadlines_init(&all->ds, &all->t.a, &all->loop);
    for (int i = 0; i < N; i++) {
        all->one[i].all = all;
        all->one[i].d.passed = on_passed;
        assert_int_equal(hocket__deadlines_join(&all->ds), 0);
    }
}

static void tear_down(struct all *all)
{
    hocket__deadlines_close(&all->ds, NULL);
    uv_run(&all->loop, UV_RUN_DEFAULT);
    hocket__deadlines_deinit(&all->ds);
    assert_int_equal(uv_loop_close(&all->loop), 0);
    test_alloc_check(&all->t);
}

static void check_heap(struct all *all)
{
    size_t set = 0;
    for (int i = 0; i < N; i++) {
        struct one *o = &all->one[i];
        assert_int_equal(o->d.place != 0, o->at != 0);
        set += o->at != 0;
        if (o->at == 0)
            continue;
        assert_int_equal(o->d.at, o->at);
        assert_ptr_equal(all->ds.heap[o->d.place - 1], &o->d);
        assert_true(all->ds.heap[0]->at <= o->at);
    }
    assert_int_equal(all->ds.len, set);
}

static void test_any_order(void **state)
{
    static struct all all;
    uint32_t random = 7;
    set_up(&all);
    uint64_t now = hocket__deadlines_now();
    for (int i = 0; i < 5000; i++) {
        random = random * 1664525 + 1013904223;
        struct one *o = &all.one[(random >> 8) % N];
        o->at = random >> 30 ? now + (random >> 20) % 50 : 0;
        if (o->at)
            hocket__deadline_set(&all.ds, &o->d, o->at);
        else
            hocket__deadline_clear(&all.ds, &o->d);
        if (i % 50 == 0)
            check_heap(&all);
    }
    int set = (int) all.ds.len;
    while (all.ds.len > 0)
        uv_run(&all.loop, UV_RUN_ONCE);
    assert_int_equal(all.passed, set);
    check_heap(&all);
    tear_down(&all);
}

/* What was cleared wakes nobody once it is settled; what is set still passes. */
static void test_settles(void **state)
{
    static struct all all;
    set_up(&all);
    uint64_t now = hocket__deadlines_now();
    for (int i = 0; i < 3; i++) {
        all.one[i].at = now + (uint64_t[]){ 40, 100000, 1000 }[i];
        hocket__deadline_set(&all.ds, &all.one[i].d, all.one[i].at);
    }
    hocket__deadlines_settle(&all.ds);
    assert_in_range(uv_timer_get_due_in(&all.ds.timer), 1, 41);
    hocket__deadline_clear(&all.ds, &all.one[0].d);
    assert_in_range(uv_timer_get_due_in(&all.ds.timer), 1, 41);
    hocket__deadlines_settle(&all.ds);
    assert_in_range(uv_timer_get_due_in(&all.ds.timer), 900, 1001);
    hocket__deadline_clear(&all.ds, &all.one[2].d);
    hocket__deadline_clear(&all.ds, &all.one[1].d);
    hocket__deadlines_settle(&all.ds);
    assert_false(uv_is_active((uv_handle_t *) &all.ds.timer));
    all.one[0].at = now;
    hocket__deadline_set(&all.ds, &all.one[0].d, now);
    uv_run(&all.loop, UV_RUN_ONCE);
    assert_int_equal(all.passed, 1);
    tear_down(&all);
}

static void count_round(uv_prepare_t *prepare)
{
    ((struct all *) prepare->data)->rounds++;
}

/* A deadline that is set to the past when it passes: once in each round of the loop. */
static void test_never_twice_in_a_round(void **state)
{
    static struct all all;
    uv_prepare_t prepare;
    set_up(&all);
    uv_prepare_init(&all.loop, &prepare);
    prepare.data = &all;
    uv_prepare_start(&prepare, count_round);
    all.one[0].again = true;
    all.one[0].at = 1;
    hocket__deadline_set(&all.ds, &all.one[0].d, 1);
    while (all.one[0].passed < 5)
        uv_run(&all.loop, UV_RUN_ONCE);
    assert_in_range(all.rounds, 4, 1000);
    uv_close((uv_handle_t *) &prepare, NULL);
    tear_down(&all);
}

static void test_close_with_some_set(void **state)
{
    static struct all all;
    set_up(&all);
    hocket__deadline_set(&all.ds, &all.one[0].d, hocket__deadlines_now());
    hocket__deadline_set(&all.ds, &all.one[1].d, UINT64_MAX - 1);
    tear_down(&all);
    assert_int_equal(all.passed, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_any_order),
        cmocka_unit_test(test_settles),
        cmocka_unit_test(test_never_twice_in_a_round),
        cmocka_unit_test(test_close_with_some_set),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

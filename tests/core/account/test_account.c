#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <string.h>

#include "core/account/account.h"
#include "support/alloc.h"

#define ROOT HOCKET__ACCOUNT_ROOT

static uint64_t open_below(
    struct hocket__accounts *s, uint64_t parent, const char *agent, int64_t now)
{
    struct hocket__account_names names = { hocket__cstr("o1"), hocket__cstr(agent),
        hocket__cstr("delegate") };
    return hocket__account_open(s, parent, &names, now);
}

static struct hocket__usage_sum call(int64_t input, int64_t output)
{
    return (struct hocket__usage_sum){ .input = input, .output = output, .calls = 1 };
}

static void use(struct hocket__accounts *s, uint64_t id, int64_t input, int64_t output)
{
    struct hocket__usage_sum u = call(input, output);
    hocket__account_add(s, id, &u);
}

static struct hocket__account_info info(const struct hocket__accounts *s, uint64_t id)
{
    struct hocket__account_info i = { 0 };
    assert_true(hocket__account_get(s, id, &i));
    return i;
}

static void test_tree(void **state)
{
    struct test_alloc t;
    struct hocket__accounts *s;
    test_alloc_init(&t);
    assert_int_equal(hocket__accounts_new(&t.a, 100, 5, &s), 0);
    uint64_t lead = open_below(s, ROOT, "lead", 10), food = open_below(s, lead, "food", 20),
             music = open_below(s, lead, "music", 21);
    use(s, lead, 100, 10);
    use(s, food, 200, 20);
    use(s, music, 400, 40);
    use(s, food, 1, 2);
    assert_int_equal(info(s, food).own.input, 201);
    assert_int_equal(info(s, lead).own.input, 100);
    assert_int_equal(info(s, lead).total.input, 701);
    assert_int_equal(info(s, lead).total.calls, 4);
    assert_int_equal(info(s, ROOT).own.calls, 0);
    assert_int_equal(info(s, ROOT).total.output, 72);
    assert_string_equal(info(s, food).agent, "food");
    assert_string_equal(info(s, food).op, "o1");
    assert_string_equal(info(s, food).trigger, "delegate");
    assert_string_equal(info(s, ROOT).agent, "");
    assert_true(hocket__account_first(s, lead) == food);
    assert_true(hocket__account_next(s, food) == music);
    assert_true(hocket__account_next(s, music) == 0);
    hocket__account_close(s, food, 50);
    hocket__account_close(s, food, 60); /* once */
    assert_int_equal(info(s, food).closed_ms, 50);
    assert_int_equal(info(s, food).opened_ms, 20);
    assert_int_equal(info(s, music).closed_ms, 0);
    use(s, food, 1, 1); /* what comes late counts */
    assert_int_equal(info(s, ROOT).total.input, 702);
    hocket__accounts_free(s);
    test_alloc_check(&t);
}

static void test_unknown(void **state)
{
    struct test_alloc t;
    struct hocket__accounts *s;
    struct hocket__account_info i;
    test_alloc_init(&t);
    hocket__accounts_new(&t.a, 100, 0, &s);
    use(s, 77, 5, 5); /* goes to the root */
    assert_int_equal(info(s, ROOT).own.input, 5);
    assert_false(hocket__account_get(s, 77, &i));
    assert_false(hocket__account_get(s, 0, &i));
    uint64_t a = open_below(s, 12345, "a", 0); /* below the root */
    assert_true(info(s, a).parent == ROOT);
    hocket__account_close(s, 77, 1);
    hocket__accounts_free(s);
    hocket__accounts_free(NULL);
    test_alloc_check(&t);
}

/* A run of days keeps the first accounts apart; sums lose nothing. */
static void test_merging(void **state)
{
    struct test_alloc t;
    struct hocket__accounts *s;
    test_alloc_init(&t);
    hocket__accounts_new(&t.a, 10, 0, &s);
    uint64_t lead = open_below(s, ROOT, "lead", 0), last = 0;
    for (int i = 0; i < 1000; i++) {
        uint64_t outer = open_below(s, lead, "outer", i), inner = open_below(s, outer, "inner", i);
        assert_true(outer && inner && outer != last);
        last = outer;
        use(s, inner, 3, 1);
        use(s, outer, 2, 1);
        if (i % 2) { /* also when the outer one is over first */
            hocket__account_close(s, outer, i);
            hocket__account_close(s, inner, i);
        } else {
            hocket__account_close(s, inner, i);
            hocket__account_close(s, outer, i);
        }
        assert_true(hocket__account_count(s) <= 10);
    }
    struct hocket__account_info i = info(s, lead);
    assert_int_equal(i.total.input, 5000);
    assert_int_equal(i.total.calls, 2000);
    assert_int_equal(i.own.calls, 0);
    size_t apart = 0, merged = i.merged;
    for (uint64_t c = hocket__account_first(s, lead); c; c = hocket__account_next(s, c))
        apart += 1 + (hocket__account_first(s, c) != 0) + info(s, c).merged;
    assert_int_equal(apart + merged, 2000);
    assert_true(open_below(s, last, "late", 0) != 0); /* its parent is gone */
    hocket__accounts_free(s);
    test_alloc_check(&t);
}

static uint64_t rng(uint64_t *state)
{
    *state ^= *state << 13;
    *state ^= *state >> 7;
    return *state ^= *state << 17;
}

/* total = own + the children's totals + what was merged, in every account, at any time. */
static void check_sums(const struct hocket__accounts *s, uint64_t id)
{
    struct hocket__account_info i = info(s, id);
    int64_t input = i.own.input, calls = i.own.calls;
    for (uint64_t c = hocket__account_first(s, id); c; c = hocket__account_next(s, c)) {
        check_sums(s, c);
        input += info(s, c).total.input;
        calls += info(s, c).total.calls;
    }
    assert_true(i.merged > 0 ? input <= i.total.input : input == i.total.input);
    assert_true(i.merged > 0 ? calls <= i.total.calls : calls == i.total.calls);
}

static void test_random(void **state)
{
    for (uint64_t seed = 1; seed <= 40; seed++) {
        struct test_alloc t;
        struct hocket__accounts *s;
        uint64_t ids[200] = { ROOT }, r = seed * 0x9E3779B97F4A7C15u;
        int64_t input = 0, calls = 0;
        size_t n = 1;
        test_alloc_init(&t);
        hocket__accounts_new(&t.a, seed % 2 ? 1000 : 20, 0, &s);
        for (int step = 0; step < 600; step++) {
            uint64_t id = ids[rng(&r) % n], what = rng(&r) % 10;
            if (what < 3 && n < 200) {
                ids[n++] = open_below(s, id, "x", step);
            } else if (what < 8) {
                int64_t tokens = (int64_t) (rng(&r) % 1000);
                use(s, id, tokens, 0);
                input += tokens;
                calls++;
            } else if (id != ROOT) {
                hocket__account_close(s, id, step);
            }
            if (step % 20 == 0)
                check_sums(s, ROOT);
        }
        assert_int_equal(info(s, ROOT).total.input, input);
        assert_int_equal(info(s, ROOT).total.calls, calls);
        check_sums(s, ROOT);
        hocket__accounts_free(s);
        test_alloc_check(&t);
    }
}

static void no_memory(struct test_alloc *t, void *ud)
{
    struct hocket__accounts *s;
    (void) ud;
    int rc = hocket__accounts_new(&t->a, 100, 0, &s);
    if (rc < 0) {
        assert_true(t->failed && rc == HOCKET_ENOMEM);
        return;
    }
    for (int i = 0; i < 40; i++) {
        uint64_t id = open_below(s, ROOT, "a", 0);
        assert_true(id || t->failed);
        use(s, id, 1, 1); /* without an account of its own: the root's */
    }
    assert_int_equal(info(s, ROOT).total.calls, 40);
    hocket__accounts_free(s);
}

static void test_no_memory(void **state)
{
    assert_true(test_alloc_each(no_memory, NULL) > 40);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_tree),
        cmocka_unit_test(test_unknown),
        cmocka_unit_test(test_merging),
        cmocka_unit_test(test_random),
        cmocka_unit_test(test_no_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* Changes of accounts as data: what is read and made again is what was made, and nothing that a stored run may hold does harm. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <string.h>

#include "core/account/account.h"
#include "support/alloc.h"

#define ROOT HOCKET__ACCOUNT_ROOT

static struct hocket__accounts *new_accounts(struct test_alloc *t)
{
    struct hocket__accounts *s = NULL;
    assert_int_equal(hocket__accounts_new(&t->a, 100, 1, &s), 0);
    return s;
}

/* Does it to the one, and writes, reads and does it to the other: both have opened the same. */
static uint64_t both(struct test_alloc *t, struct hocket__accounts *one,
    struct hocket__accounts *other, const struct hocket__account_change *c)
{
    struct hocket__account_change read;
    struct hocket__buf b;
    hocket__buf_init(&b, &t->a, 0);
    hocket__account_change_write(c, &b);
    assert_int_equal(b.status, 0);
    assert_true(hocket__account_change_read(hocket__buf_str(&b), &read));
    uint64_t opened = hocket__account_change(one, c, 10);
    assert_int_equal(hocket__account_change(other, &read, 10), opened);
    hocket__buf_deinit(&b);
    return opened;
}

static void expect_same(
    const struct hocket__accounts *one, const struct hocket__accounts *other, uint64_t id)
{
    struct hocket__account_info a, b;
    assert_true(hocket__account_get(one, id, &a));
    assert_true(hocket__account_get(other, id, &b));
    assert_memory_equal(&a.total, &b.total, sizeof(a.total));
    assert_int_equal(a.opened_ms, b.opened_ms);
    assert_int_equal(a.closed_ms, b.closed_ms);
    assert_string_equal(a.agent, b.agent);
    for (enum hocket__budget_kind k = 0; k < HOCKET__BUDGET_KINDS; k++)
        assert_int_equal(hocket__budget_left(one, id, k), hocket__budget_left(other, id, k));
}

static void test_again(void **state)
{
    struct test_alloc t;
    (void) state;
    test_alloc_init(&t);
    struct hocket__accounts *one = new_accounts(&t), *other = new_accounts(&t);
    struct hocket__account_change c = { .op = HOCKET__ACCOUNT_OPEN,
        .id = ROOT,
        .names = { HOCKET__STR("o2"), HOCKET__STR("inner"), HOCKET__STR("") } };
    uint64_t id = both(&t, one, other, &c);
    assert_true(id > 0);
    c = (struct hocket__account_change){ .op = HOCKET__ACCOUNT_LIMIT,
        .id = id,
        .limits = { { 5, 7, 1000, HOCKET__NO_LIMIT }, 60000, 800, false } };
    both(&t, one, other, &c);
    c = (struct hocket__account_change){
        .op = HOCKET__ACCOUNT_ASK, .id = id, .ask = { 100, -1, -1, -1, false }
    };
    uint64_t hold = both(&t, one, other, &c);
    assert_true(hold > 0);
    expect_same(one, other, id);
    c = (struct hocket__account_change){
        .op = HOCKET__ACCOUNT_ADD, .id = id, .used = { 100, 20, 3, -1, 5, 1, 0, 2500, 0, 70 }
    };
    both(&t, one, other, &c);
    c = (struct hocket__account_change){
        .op = HOCKET__ACCOUNT_SETTLE, .id = hold, .goes_on = true
    };
    both(&t, one, other, &c);
    expect_same(one, other, id);
    c = (struct hocket__account_change){ .op = HOCKET__ACCOUNT_CLOSE, .id = id };
    both(&t, one, other, &c);
    expect_same(one, other, id);
    expect_same(one, other, ROOT);
    hocket__accounts_free(one);
    hocket__accounts_free(other);
    test_alloc_check(&t);
}

/* Any bytes are refused, or do what accounts can bear. */
static void test_hostile(void **state)
{
    struct test_alloc t;
    uint64_t v = 7;
    int read = 0;
    (void) state;
    test_alloc_init(&t);
    struct hocket__accounts *s = new_accounts(&t);
    for (int i = 0; i < 20000; i++) {
        struct hocket__account_change c;
        char text[40];
        for (size_t n = 0; n < sizeof(text); n++) {
            v = v * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
            text[n] = (char) (v >> 56);
        }
        text[0] = (char) (i % 12);
        text[1] = (char) (i % 5);
        if (!hocket__account_change_read(hocket__str(text, (size_t) (i % 40)), &c))
            continue;
        read++;
        hocket__account_change(s, &c, i);
    }
    assert_true(read > 1000);
    hocket__accounts_free(s);
    test_alloc_check(&t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_again),
        cmocka_unit_test(test_hostile),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

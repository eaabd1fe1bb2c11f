#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>

#include "core/text.h"
#include "support/alloc.h"

static void is(struct hocket__str got, struct hocket__str expected)
{
    assert_int_equal(got.n, expected.n);
    assert_memory_equal(got.p, expected.p, expected.n);
}

static void own(struct test_alloc *t, void *ud)
{
    struct hocket__str s;
    int status = hocket__text_repaired_copy(&t->a, HOCKET__STR("a\xff\0b"), 100, &s);
    if (status == 0)
        is(s, HOCKET__STR("a\xEF\xBF\xBD\0b"));
    else
        assert_true(status == HOCKET_ENOMEM && t->failed && s.n == 0);
    hocket__text_free(&t->a, &s);
}

static void test_own(void **state)
{
    struct test_alloc t;
    struct hocket__str s;
    test_alloc_each(own, NULL);
    test_alloc_init(&t);
    assert_int_equal(hocket__text_repaired_copy(&t.a, HOCKET__STR("a\xC3\xA4"), 2, &s), 0);
    is(s, HOCKET__STR("a"));
    hocket__text_free(&t.a, &s);
    assert_int_equal(hocket__text_repaired_copy(&t.a, HOCKET__STR("\xff\xff\xff"), 3, &s), 0);
    is(s, HOCKET__STR("\xEF\xBF\xBD"));
    hocket__text_free(&t.a, &s);
    assert_int_equal(hocket__text_repaired_copy(&t.a, (struct hocket__str){ NULL, 0 }, 3, &s), 0);
    assert_int_equal(t.blocks, 0);
    test_alloc_check(&t);
}

static void test_trim(void **state)
{
    is(hocket__text_trim(HOCKET__STR(" \r\n\ta b\n ")), HOCKET__STR("a b"));
    is(hocket__text_trim(HOCKET__STR(" \n")), HOCKET__STR(""));
    is(hocket__text_trim(HOCKET__STR("")), HOCKET__STR(""));
}

static void test_name(void **state)
{
    char longest[HOCKET__NAME_MAX + 1];
    memset(longest, 'x', sizeof(longest));
    assert_int_equal(hocket__text_name(HOCKET__STR("food"), "agent", NULL), 0);
    assert_int_equal(hocket__text_name(HOCKET__STR("Köchin 2"), "agent", NULL), 0);
    assert_int_equal(hocket__text_name(hocket__str(longest, HOCKET__NAME_MAX), "agent", NULL), 0);
    const struct hocket__str bad[] = { HOCKET__STR(""), HOCKET__STR("a]"), HOCKET__STR("[a"),
        HOCKET__STR("a\nb"), HOCKET__STR("a\0b"), HOCKET__STR("a\x7f"), HOCKET__STR("\xff"),
        { longest, sizeof(longest) } };
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
        assert_int_equal(hocket__text_name(bad[i], "agent", NULL), HOCKET_EINVAL);
}

static void test_said(void **state)
{
    struct hocket__said few = { 0 }, many = { 0 };
    assert_string_equal(hocket__said(&few), "");
    hocket__said_add_int(&few, 1);
    hocket__said_add(&few, HOCKET__STR("two"));
    assert_string_equal(hocket__said(&few), "1, two");
    for (int i = 1; i <= 1000; i++)
        hocket__said_add_int(&many, i);
    const char *text = hocket__said(&many);
    assert_true(strlen(text) < sizeof(many.text));
    assert_int_equal(strncmp(text, "1, 2, 3, ", 9), 0);
    assert_non_null(strstr(text, " more"));
    int last = 0, left = 0;
    assert_int_equal(sscanf(strrchr(text, ',') + 1, "%d and %d more", &last, &left), 2);
    assert_int_equal(last + left, 1000);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_own),
        cmocka_unit_test(test_trim),
        cmocka_unit_test(test_name),
        cmocka_unit_test(test_said),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

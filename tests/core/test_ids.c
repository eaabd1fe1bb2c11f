#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "base/str.h"
#include "core/ids.h"
#include "support/alloc.h"

#define CAP 4

static int parse(const char *json, int64_t out[CAP], struct hocket_error *err)
{
    struct test_alloc t;
    test_alloc_init(&t);
    int n = hocket__ids_parse(&t.a, hocket__cstr(json), out, CAP, err);
    test_alloc_check(&t);
    return n;
}

static void test_forms(void **state)
{
    static const char *const forms[] = { "[1,2]", "\"[1,2]\"", "\"[1, 2]\"", "\"1, 2\"", "\"1,2\"",
        "[\"1\",\"2\"]", "[ \"1\" , 2 ]", "\" 1 ,\\t2 \"", "\"[\\\"1\\\", \\\"2\\\"]\"",
        "[1.0, 2e0]", "[1,2,1,2,2]", "\"\\u0031,2\"", "[\"01\", 2]" };
    for (size_t i = 0; i < sizeof(forms) / sizeof(forms[0]); i++) {
        int64_t ids[CAP];
        assert_int_equal(parse(forms[i], ids, NULL), 2);
        assert_int_equal(ids[0], 1);
        assert_int_equal(ids[1], 2);
    }
}

static void test_one(void **state)
{
    static const char *const forms[] = { "3", "\"3\"", "[3]", "[\"3\"]", "\"[3]\"", "3.0" };
    for (size_t i = 0; i < sizeof(forms) / sizeof(forms[0]); i++) {
        int64_t ids[CAP];
        assert_int_equal(parse(forms[i], ids, NULL), 1);
        assert_int_equal(ids[0], 3);
    }
}

static void test_none(void **state)
{
    static const char *const forms[] = { "null", "[]", "\"\"", "\" \"", "\"[]\"" };
    for (size_t i = 0; i < sizeof(forms) / sizeof(forms[0]); i++) {
        int64_t ids[CAP];
        assert_int_equal(parse(forms[i], ids, NULL), 0);
    }
}

static void test_bad(void **state)
{
    static const char *const forms[] = { "", "{}", "true", "[true]", "[null]", "[[1]]", "[{}]", "0",
        "-1", "[0]", "[-1]", "1.5", "[1.5]", "1e300", "[1,", "[1]x", "[1] [2]", "\"1 2\"", "\"1,\"",
        "\",\"", "\"a\"", "\"-1\"", "\"0\"", "\"1.5\"", "\"[1,2\"", "\"[1]]\"", "\"[[1]]\"",
        "\"{}\"", "[\"1,2\"]", "[\"\"]", "2147483648", "\"2147483648\"",
        "\"99999999999999999999999999\"", "99999999999999999999999999", "{\"id\":1}", "\"#1\"",
        "\"\\u0000\"" };
    for (size_t i = 0; i < sizeof(forms) / sizeof(forms[0]); i++) {
        int64_t ids[CAP];
        struct hocket_error err = { 0 };
        assert_int_equal(parse(forms[i], ids, &err), HOCKET_EINVAL);
        assert_int_equal(err.status, HOCKET_EINVAL);
        assert_non_null(strstr(err.message, "[1, 2]"));
    }
}

static void test_bounds(void **state)
{
    int64_t ids[CAP];
    struct hocket_error err;
    assert_int_equal(parse("[1,2,3,4]", ids, &err), 4);
    assert_int_equal(parse("[1,2,3,4,1]", ids, &err), 4);
    assert_int_equal(parse("[1,2,3,4,5]", ids, &err), HOCKET_ELIMIT);
    assert_non_null(strstr(err.message, "more than 4"));
    assert_int_equal(parse("2147483647", ids, &err), 1);
    assert_int_equal(ids[0], HOCKET__ID_MAX);
}

static void body(struct test_alloc *t, void *ud)
{
    int64_t ids[CAP];
    int n = hocket__ids_parse(&t->a, HOCKET__STR("\"[1, 2]\""), ids, CAP, NULL);
    assert_true(n == 2 || (n == HOCKET_ENOMEM && t->failed));
}

static void test_memory(void **state)
{
    assert_true(test_alloc_each(body, NULL) > 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_forms),
        cmocka_unit_test(test_one),
        cmocka_unit_test(test_none),
        cmocka_unit_test(test_bad),
        cmocka_unit_test(test_bounds),
        cmocka_unit_test(test_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

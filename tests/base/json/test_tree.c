#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "base/json/json.h"
#include "support/alloc.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

static hocket_json *parse(const char *text)
{
    struct hocket_error err;
    hocket_json *v = hocket_json_parse(text, strlen(text), &err);
    if (!v)
        fail_msg("%s: %s", text, err.message);
    return v;
}

static void test_reading(void **state)
{
    hocket_json *v = parse("{\"id\":1234567890123456789,\"f\":2.5,\"t\":\"a\\u0000b\",\"yes\":true,"
                           "\"no\":false,\"nil\":null,\"list\":[1,[2],{\"x\":3.0}],\"big\":1e400}");
    const hocket_json *list = hocket_json_get(v, "list");
    size_t len;
    assert_int_equal(hocket_json_int(hocket_json_get(v, "id"), 0), 1234567890123456789);
    assert_true(hocket_json_number(hocket_json_get(v, "f"), 0) == 2.5);
    assert_int_equal(hocket_json_int(hocket_json_get(v, "f"), 7), 7);
    assert_memory_equal(hocket_json_text(hocket_json_get(v, "t"), "", &len), "a\0b", 4);
    assert_int_equal(len, 3);
    assert_true(hocket_json_bool(hocket_json_get(v, "yes"), false));
    assert_false(hocket_json_bool(hocket_json_get(v, "no"), true));
    assert_true(hocket_json_bool(hocket_json_get(v, "nil"), true));
    assert_true(isinf(hocket_json_number(hocket_json_get(v, "big"), 0)));
    assert_int_equal(hocket_json_count(v), 8);
    assert_int_equal(hocket_json_count(list), 3);
    assert_int_equal(hocket_json_int(hocket_json_at(list, 0), 0), 1);
    assert_int_equal(hocket_json_int(hocket_json_at(hocket_json_at(list, 1), 0), 0), 2);
    assert_int_equal(hocket_json_int(hocket_json_get(hocket_json_at(list, 2), "x"), 0), 3);
    assert_null(hocket_json_at(list, 3));
    assert_null(hocket_json_at(v, 0));
    assert_null(hocket_json_get(v, "ID"));
    assert_null(hocket_json_get(list, "x"));
    hocket_json_free(v);
}

static void test_absent(void **state)
{
    size_t len = 9;
    assert_null(hocket_json_get(NULL, "x"));
    assert_null(hocket_json_at(NULL, 0));
    assert_int_equal(hocket_json_count(NULL), 0);
    assert_string_equal(hocket_json_text(NULL, "abc", &len), "abc");
    assert_int_equal(len, 3);
    assert_null(hocket_json_text(NULL, NULL, NULL));
    assert_int_equal(hocket_json_int(NULL, 5), 5);
    assert_true(hocket_json_number(NULL, 5) == 5);
    assert_true(hocket_json_bool(NULL, true));
    assert_null(hocket__tree_first(NULL));
    assert_null(hocket__tree_next(NULL));
    assert_int_equal(hocket__tree_type(NULL), HOCKET__TREE_NULL);
    assert_int_equal(hocket__tree_str(NULL).n, 0);
    hocket_json_free(NULL);
    hocket_json *v = parse("[1,\"2\"]");
    assert_int_equal(hocket__tree_str(hocket_json_at(v, 0)).n, 0);
    assert_int_equal(hocket__tree_number_text(hocket_json_at(v, 1)).n, 0);
    assert_int_equal(hocket_json_int(hocket_json_at(v, 1), 5), 5);
    hocket_json_free(v);
}

static void test_walk(void **state)
{
    hocket_json *v = parse("{\"b\":0,\"a\\u0000\":1,\"a\":2,\"\":3}");
    static const size_t lengths[] = { 1, 2, 1, 0 };
    int i = 0;
    for (const hocket_json *c = hocket__tree_first(v); c; c = hocket__tree_next(c), i++) {
        assert_int_equal(hocket_json_int(c, -1), i);
        assert_int_equal(hocket__tree_name(c).n, lengths[i]);
        assert_ptr_equal(hocket__tree_get(v, hocket__tree_name(c)), c);
    }
    assert_int_equal(i, 4);
    hocket_json_free(v);
}

static void prints(const char *text, const char *expected)
{
    struct hocket__buf out;
    hocket_json *v = parse(text);
    hocket__buf_init(&out, &hocket__malloc, 0);
    assert_int_equal(hocket__tree_print(v, &out), 0);
    assert_string_equal(out.data, expected);
    hocket__buf_deinit(&out);
    hocket_json_free(v);
}

static void test_print(void **state)
{
    prints("1.0", "1.0");
    prints(" [ 12345678901234567890 , -0 , 1E+2, true,false , null ] ",
        "[12345678901234567890,-0,1E+2,true,false,null]");
    prints("{\"a\":{}, \"\\u0000\":[[],\"\\u00e9\\n\"]}",
        "{\"a\":{},\"\\u0000\":[[],\"\xC3\xA9\\n\"]}");
}

static void test_duplicates(void **state)
{
    prints("{\"a\":1,\"b\":2,\"a\":{\"a\":3,\"a\":4},\"c\":5,\"\\u0061\":6}",
        "{\"b\":2,\"c\":5,\"a\":6}");
    prints("{\"a\":1,\"a\":2,\"a\":3}", "{\"a\":3}");
    hocket_json *v = parse("{\"a\":1,\"b\":2,\"a\":3}");
    assert_int_equal(hocket_json_count(v), 2);
    assert_int_equal(hocket_json_int(hocket_json_get(v, "a"), 0), 3);
    hocket_json_free(v);
}

/* Names are found whatever their number and order. */
static void test_many_members(void **state)
{
    struct hocket__buf text;
    for (unsigned n = 0; n < 70; n++) {
        hocket__buf_init(&text, &hocket__malloc, 0);
        hocket__buf_addc(&text, '{');
        for (unsigned i = 0; i < n; i++)
            hocket__buf_addf(&text, "%s\"%u\":%u", i ? "," : "", i * 37 % 71, i);
        hocket__buf_addc(&text, '}');
        hocket_json *v = parse(text.data);
        assert_int_equal(hocket_json_count(v), n);
        for (unsigned i = 0; i < n; i++) {
            char name[16];
            snprintf(name, sizeof(name), "%u", i * 37 % 71);
            assert_int_equal(hocket_json_int(hocket_json_get(v, name), -1), i);
        }
        assert_null(hocket_json_get(v, "71"));
        hocket_json_free(v);
        hocket__buf_deinit(&text);
    }
}

static void test_equal(void **state)
{
    static const struct {
        const char *a, *b;
        bool equal;
    } rows[] = {
        { "1", "1.0", true },
        { "1", "10e-1", true },
        { "1000", "1e3", true },
        { "0", "-0.0e9", true },
        { "0.5", "5e-1", true },
        { "1.50", "1.5", true },
        { "1", "-1", false },
        { "1", "10", false },
        { "101", "11", false },
        { "1", "1.0000000000000000000000001", false },
        { "9007199254740993", "9007199254740992", false },
        { "1e400", "1e401", false },
        { "1e400", "10e399", true },
        { "1", "true", false },
        { "true", "false", false },
        { "null", "false", false },
        { "null", "null", true },
        { "\"a\"", "\"\\u0061\"", true },
        { "\"a\"", "\"a\\u0000\"", false },
        { "[1,2]", "[1.0,2]", true },
        { "[1,2]", "[2,1]", false },
        { "[1]", "[1,1]", false },
        { "[]", "{}", false },
        { "{\"a\":1,\"b\":[{}]}", "{\"b\":[{}],\"a\":1}", true },
        { "{\"a\":1}", "{\"b\":1}", false },
        { "{\"a\":1}", "{\"a\":2}", false },
        { "{\"a\":1}", "{\"a\":1,\"b\":1}", false },
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        hocket_json *a = parse(rows[i].a), *b = parse(rows[i].b);
        if (hocket__tree_equal(a, b) != rows[i].equal || hocket__tree_equal(b, a) != rows[i].equal)
            fail_msg("%s and %s", rows[i].a, rows[i].b);
        assert_true(hocket__tree_equal(a, a));
        hocket_json_free(a);
        hocket_json_free(b);
    }
    assert_true(hocket__tree_equal(NULL, NULL));
}

static void test_refuses(void **state)
{
    char text[2 * 257 + 1];
    struct hocket_error err;
    memset(text, '[', 257);
    memset(text + 257, ']', 257);
    assert_null(hocket_json_parse(text, 2 * 257, &err));
    assert_string_equal(err.message, "line 1, column 257: nested too deeply");
    hocket_json *v = hocket_json_parse(text + 1, 2 * 256, &err);
    assert_non_null(v);
    assert_true(hocket__tree_equal(v, v));
    hocket_json_free(v);
    assert_null(hocket__tree_parse(HOCKET__STR("[[1]]"), 1, &err));
    assert_null(hocket_json_parse("[1", 2, &err));
    assert_int_equal(err.status, HOCKET_EPARSE);
    assert_null(hocket_json_parse(NULL, 0, NULL));
}

#define SAMPLE "{\"a\":[1,{\"b\":\"\\u00e9\\n\"},[]],\"c\":2.50,\"d\":{\"\":null}}"

static void parse_and_print(struct test_alloc *t, void *ud)
{
    struct hocket_error err = { 0 };
    struct hocket__buf out;
    hocket_json *v = hocket__tree_new(&t->a, HOCKET__STR(SAMPLE), 0, &err);
    hocket__buf_init(&out, &t->a, 0);
    if (!v) {
        assert_true(t->failed);
        assert_int_equal(err.status, HOCKET_ENOMEM);
        return;
    }
    int status = hocket__tree_print(v, &out);
    assert_int_equal(status, t->failed ? HOCKET_ENOMEM : 0);
    if (status == 0)
        assert_string_equal(
            out.data, "{\"a\":[1,{\"b\":\"\xC3\xA9\\n\"},[]],\"c\":2.50,\"d\":{\"\":null}}");
    hocket__buf_deinit(&out);
    hocket_json_free(v);
}

static void test_out_of_memory(void **state)
{
    assert_int_equal(test_alloc_each(parse_and_print, NULL), 2);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_reading),
        cmocka_unit_test(test_absent),
        cmocka_unit_test(test_walk),
        cmocka_unit_test(test_print),
        cmocka_unit_test(test_duplicates),
        cmocka_unit_test(test_many_members),
        cmocka_unit_test(test_equal),
        cmocka_unit_test(test_refuses),
        cmocka_unit_test(test_out_of_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

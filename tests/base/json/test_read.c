#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "base/json/json.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>

static int check(const char *text)
{
    return hocket__json_check(hocket__cstr(text), NULL);
}

static struct hocket__json reader(const char *text)
{
    struct hocket__json r;
    hocket__json_init(&r, hocket__cstr(text));
    return r;
}

/* ---- JSONTestSuite ---- */

/* What the standard leaves open and we refuse: text that is not UTF-8. The
 * other cases of this kind are accepted: any number of the grammar, escapes of
 * lone surrogates, 500 levels. */
static const char *const refused[] = {
    "i_string_UTF-16LE_with_BOM.json",
    "i_string_UTF-8_invalid_sequence.json",
    "i_string_UTF8_surrogate_U+D800.json",
    "i_string_invalid_utf-8.json",
    "i_string_iso_latin_1.json",
    "i_string_lone_utf8_continuation_byte.json",
    "i_string_not_in_unicode_range.json",
    "i_string_overlong_sequence_2_bytes.json",
    "i_string_overlong_sequence_6_bytes.json",
    "i_string_overlong_sequence_6_bytes_null.json",
    "i_string_truncated-utf-8.json",
    "i_string_utf16BE_no_BOM.json",
    "i_string_utf16LE_no_BOM.json",
    "i_structure_UTF-8_BOM_empty_object.json",
};

static bool is_accepted(const char *name)
{
    for (size_t i = 0; i < sizeof(refused) / sizeof(refused[0]); i++)
        if (strcmp(refused[i], name) == 0)
            return false;
    return name[0] != 'n';
}

static char *load(const char *path, size_t *len)
{
    FILE *f = fopen(path, "rb");
    assert_non_null(f);
    assert_int_equal(fseek(f, 0, SEEK_END), 0);
    *len = (size_t) ftell(f);
    rewind(f);
    char *text = malloc(*len ? *len : 1); /* exact: a read past the end is seen */
    assert_int_equal(fread(text, 1, *len, f), *len);
    fclose(f);
    return text;
}

static void suite_file(const char *dir, const char *name)
{
    char path[1024];
    size_t len;
    struct hocket_error err;
    snprintf(path, sizeof(path), "%s/%s", dir, name);
    char *text = load(path, &len);
    int status = hocket__json_check(hocket__str(text, len), &err);
    if (is_accepted(name) != (status == 0))
        fail_msg("%s: %s", name, status == 0 ? "accepted" : err.message);
    free(text);
}

static void test_suite(void **state)
{
    const char *suites = getenv("HOCKET_SUITES");
    char dir[512];
    int count = 0;
    if (!suites) {
        print_message("skipped: set HOCKET_SUITES to a directory with json/test_parsing\n");
        skip();
    }
    snprintf(dir, sizeof(dir), "%s/json/test_parsing", suites);
    DIR *d = opendir(dir);
    assert_non_null(d);
    for (struct dirent *e; (e = readdir(d));)
        if (e->d_name[0] != '.') {
            suite_file(dir, e->d_name);
            count++;
        }
    closedir(d);
    assert_int_equal(count, 95 + 188 + 35);
}

/* ---- Grammar ---- */

static void test_grammar(void **state)
{
    static const char *const good[] = { "0", "-0", "1e5", " [ ] ", "{}", "\"\"", "null\n",
        "[1,[2,{\"a\":[]}],\"x\"]", "{\"a\":1,\"a\":2}", "\"\\u0000\"", "\"\\ud800\"" };
    static const char *const bad[] = { "", " ", "nul", "[", "[1", "[1,", "[1,]", "[,1]", "{\"a\"}",
        "{\"a\":}", "{\"a\":1,}", "{a:1}", "1 2", "01", "+1", ".5", "1.", "1e", "-", "\"", "\"\\",
        "\"\\x\"", "\"\\u12\"", "\"\\u12g4\"", "\"\t\"", "[1}", "{\"a\":1]", "]", "'a'", "NaN",
        "\xEF\xBB\xBF{}", "\"\xC0\x80\"", "[1]x", "truefalse", "/**/1", "\"\x7f\x1f\"" };
    for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++)
        if (check(good[i]) != 0)
            fail_msg("refused: %s", good[i]);
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
        if (check(bad[i]) != HOCKET_EPARSE)
            fail_msg("accepted: %s", bad[i]);
    assert_int_equal(hocket__json_check(hocket__str(NULL, 0), NULL), HOCKET_EPARSE);
    assert_int_equal(hocket__json_check(hocket__str("1\0", 2), NULL), HOCKET_EPARSE);
}

/* Every byte at every place of a long string, so that the word-wise scan is
 * held against the rule. */
static void test_every_byte_in_strings(void **state)
{
    char text[32];
    for (int at = 0; at < 20; at++)
        for (int byte = 0; byte < 256; byte++) {
            memset(text, 'a', sizeof(text));
            text[0] = text[21] = '"';
            text[1 + at] = (char) byte;
            bool good = byte >= 0x20 && byte < 0x80 && byte != '"' && byte != '\\';
            int status = hocket__json_check(hocket__str(text, 22), NULL);
            if ((status == 0) != good)
                fail_msg("byte %d at %d gave %d", byte, at, status);
        }
}

/* No prefix of a text in brackets is whole, and none is read past its end. */
static void test_every_prefix(void **state)
{
    const char *text =
        "{\"a\\n\\u00e9\": [1.5e+3, -0, true, false, null, \"\xC3\xA9\xF0\x9F\x98\x80\"]}";
    for (size_t n = 0; n < strlen(text); n++) {
        char *exact = malloc(n ? n : 1);
        memcpy(exact, text, n);
        assert_int_equal(hocket__json_check(hocket__str(exact, n), NULL), HOCKET_EPARSE);
        free(exact);
    }
    assert_int_equal(check(text), 0);
}

static void test_depth(void **state)
{
    char text[2 * HOCKET__JSON_DEPTH + 2];
    struct hocket__json r;
    for (int depth = HOCKET__JSON_DEPTH; depth <= HOCKET__JSON_DEPTH + 1; depth++) {
        size_t n = (size_t) depth;
        memset(text, '[', n);
        memset(text + n, ']', n);
        int expected = depth <= HOCKET__JSON_DEPTH ? 0 : HOCKET_EPARSE;
        assert_int_equal(hocket__json_check(hocket__str(text, 2 * n), NULL), expected);
        hocket__json_init(&r, hocket__str(text, 2 * n));
        r.max_depth = UINT16_MAX; /* cannot be raised */
        assert_int_equal(hocket__json_skip(&r, NULL), expected);
    }
    r = reader("[[1]]");
    r.max_depth = 2;
    assert_int_equal(hocket__json_skip(&r, NULL), 0);
    r = reader("[{\"a\":[]}]");
    r.max_depth = 2;
    assert_int_equal(hocket__json_skip(&r, NULL), HOCKET_EPARSE);
    assert_string_equal(r.error, "nested too deeply");
}

static void test_where(void **state)
{
    struct hocket_error err;
    assert_int_equal(
        hocket__json_check(HOCKET__STR("{\n  \"\xC3\xA9\": 01\n}"), &err), HOCKET_EPARSE);
    assert_string_equal(err.message, "line 2, column 9: ',' or '}' is expected");
    assert_int_equal(hocket__json_check(HOCKET__STR("[1] 2"), &err), HOCKET_EPARSE);
    assert_string_equal(err.message, "line 1, column 5: more text after the value");
    assert_int_equal(hocket__json_check(HOCKET__STR("[\"ab\\qc\"]"), &err), HOCKET_EPARSE);
    assert_string_equal(err.message, "line 1, column 5: invalid escape in a string");
}

/* ---- Reading ---- */

static void test_tokens(void **state)
{
    static const enum hocket__json_token expected[] = { HOCKET__JSON_OBJECT, HOCKET__JSON_KEY,
        HOCKET__JSON_ARRAY, HOCKET__JSON_TRUE, HOCKET__JSON_FALSE, HOCKET__JSON_NULL,
        HOCKET__JSON_NUMBER, HOCKET__JSON_ARRAY_END, HOCKET__JSON_KEY, HOCKET__JSON_STRING,
        HOCKET__JSON_OBJECT_END, HOCKET__JSON_END, HOCKET__JSON_END };
    struct hocket__json r = reader("{\"a\":[true,false,null,12],\"b\":\"c\"} ");
    for (size_t i = 0; i < sizeof(expected) / sizeof(expected[0]); i++)
        assert_int_equal(hocket__json_next(&r), expected[i]);
    assert_int_equal(hocket__json_end(&r, NULL), 0);
}

static void test_members(void **state)
{
    struct hocket__json r = reader("{\"skip\":{\"id\":[1]},\"i\\u0064\":7,\"list\":[1,{\"x\":2},3],"
                                   "\"unread\":[9,9],\"last\":\"\xC3\xA9\"}");
    struct hocket__str value = { 0 };
    int64_t id = 0, sum = 0;
    assert_int_equal(hocket__json_next(&r), HOCKET__JSON_OBJECT);
    while (hocket__json_key(&r)) {
        if (hocket__json_is(&r, "id")) {
            hocket__json_next(&r);
            assert_true(hocket__json_int(&r, &id));
        } else if (hocket__json_is(&r, "list")) {
            assert_true(hocket__json_want(&r, HOCKET__JSON_ARRAY));
            while (hocket__json_element(&r)) { /* the object inside is passed over */
                int64_t i;
                if (hocket__json_int(&r, &i))
                    sum += i;
            }
        } else if (hocket__json_is(&r, "last")) {
            assert_int_equal(hocket__json_skip(&r, &value), 0);
        } else if (!hocket__json_is(&r, "unread")) {
            hocket__json_skip(&r, NULL);
        }
    }
    assert_int_equal(hocket__json_end(&r, NULL), 0);
    assert_int_equal(id, 7);
    assert_int_equal(sum, 4);
    assert_true(hocket__str_is(value, "\"\xC3\xA9\""));
}

static void test_skip_gives_the_text(void **state)
{
    static const char *const values[] = { "1", "\"a\\n\"", "[1, [2]]", "{\"a\": {}}", "null",
        "[]" };
    for (size_t i = 0; i < sizeof(values) / sizeof(values[0]); i++) {
        char text[64];
        struct hocket__str value;
        snprintf(text, sizeof(text), "[ %s , {\"k\" : %s }]", values[i], values[i]);
        struct hocket__json r = reader(text);
        hocket__json_next(&r);
        assert_true(hocket__json_element(&r)); /* its first token was read */
        assert_int_equal(hocket__json_skip(&r, &value), 0);
        assert_true(hocket__str_is(value, values[i]));
        assert_true(hocket__json_element(&r));
        assert_true(hocket__json_key(&r)); /* its value was not read */
        assert_int_equal(hocket__json_skip(&r, &value), 0);
        assert_true(hocket__str_is(value, values[i]));
        assert_false(hocket__json_key(&r));
        assert_false(hocket__json_element(&r));
        assert_int_equal(hocket__json_end(&r, NULL), 0);
    }
}

/* A value of another type than the reading function thinks must not be mistaken
 * for what follows it. */
static void test_wrong_types(void **state)
{
    struct hocket__json r = reader("{\"text\":{\"id\":1},\"list\":5,\"id\":2}");
    int64_t id = 0;
    hocket__json_next(&r);
    while (hocket__json_key(&r)) {
        if (hocket__json_is(&r, "text"))
            assert_false(hocket__json_want(&r, HOCKET__JSON_STRING));
        else if (hocket__json_is(&r, "list"))
            assert_false(hocket__json_want(&r, HOCKET__JSON_ARRAY));
        else if (hocket__json_is(&r, "id") && hocket__json_want(&r, HOCKET__JSON_NUMBER))
            assert_true(hocket__json_int(&r, &id));
    }
    assert_int_equal(hocket__json_end(&r, NULL), 0);
    assert_int_equal(id, 2);

    r = reader("[true]");
    hocket__json_next(&r);
    assert_false(hocket__json_key(&r)); /* no object */
    assert_int_equal(hocket__json_end(&r, NULL), HOCKET_EPARSE);
    r = reader("{\"a\":1}");
    hocket__json_next(&r);
    assert_false(hocket__json_element(&r));
    assert_int_equal(hocket__json_end(&r, NULL), HOCKET_EPARSE);
    r = reader("5");
    hocket__json_next(&r);
    assert_false(hocket__json_element(&r));
    assert_int_equal(hocket__json_end(&r, NULL), HOCKET_EPARSE);
    r = reader("false");
    assert_true(hocket__json_want(&r, HOCKET__JSON_TRUE));
    assert_int_equal(r.token, HOCKET__JSON_FALSE);
}

static void test_errors_stay(void **state)
{
    struct hocket__json r = reader("{\"a\":x,\"b\":1}");
    struct hocket__str value;
    hocket__json_next(&r);
    assert_true(hocket__json_key(&r));
    assert_int_equal(hocket__json_skip(&r, &value), HOCKET_EPARSE);
    assert_false(hocket__json_key(&r));
    assert_false(hocket__json_want(&r, HOCKET__JSON_NUMBER));
    assert_int_equal(hocket__json_next(&r), HOCKET__JSON_ERROR);
    assert_int_equal(hocket__json_skip(&r, &value), HOCKET_EPARSE);
    assert_int_equal(hocket__json_end(&r, NULL), HOCKET_EPARSE);

    r = reader("[1,2]"); /* left in the middle */
    hocket__json_next(&r);
    assert_int_equal(hocket__json_end(&r, NULL), HOCKET_EPARSE);
}

/* ---- Strings ---- */

static void decodes(const char *text, struct hocket__str expected)
{
    struct hocket__buf out;
    struct hocket__json r = reader(text);
    hocket__buf_init(&out, &hocket__malloc, 0);
    assert_int_equal(hocket__json_next(&r), HOCKET__JSON_STRING);
    assert_int_equal(hocket__json_decode(&r, &out), 0);
    assert_true(hocket__str_eq(hocket__buf_str(&out), expected));
    if (!memchr(expected.p, 0, expected.n)) {
        assert_true(hocket__json_is(&r, expected.p));
        assert_false(hocket__json_is(&r, expected.n ? "" : "x"));
    }
    hocket__buf_deinit(&out);
}

static void test_decode(void **state)
{
    decodes("\"\"", HOCKET__STR(""));
    decodes("\"plain\"", HOCKET__STR("plain"));
    decodes("\"\\\"\\\\\\/\\b\\f\\n\\r\\t\"", HOCKET__STR("\"\\/\b\f\n\r\t"));
    decodes("\"a\\u0000b\"", HOCKET__STR("a\0b"));
    decodes("\"\\u00e9\\u20AC\"", HOCKET__STR("\xC3\xA9\xE2\x82\xAC"));
    decodes("\"\\ud83d\\ude00!\"", HOCKET__STR("\xF0\x9F\x98\x80!"));
    decodes("\"\\uDBFF\\uDFFF\"", HOCKET__STR("\xF4\x8F\xBF\xBF"));
    decodes("\"\\ud83d\"", HOCKET__STR("\xEF\xBF\xBD"));
    decodes("\"\\ud83d\\n\"", HOCKET__STR("\xEF\xBF\xBD\n"));
    decodes("\"\\ude00\\ud83d\"", HOCKET__STR("\xEF\xBF\xBD\xEF\xBF\xBD"));
    decodes("\"\\ud83d\\u0041\"", HOCKET__STR("\xEF\xBF\xBD"
                                              "A"));
    decodes("\"\\ud83d\\ud83d\\ude00\"", HOCKET__STR("\xEF\xBF\xBD\xF0\x9F\x98\x80"));
}

static void test_is(void **state)
{
    struct hocket__json r = reader("\"a\\u0062c\"");
    hocket__json_next(&r);
    assert_true(hocket__json_is(&r, "abc"));
    assert_false(hocket__json_is(&r, "ab"));
    assert_false(hocket__json_is(&r, "abcd"));
    assert_false(hocket__json_is(&r, "a\\u0062c"));
    r = reader("\"ab\\u0000\"");
    hocket__json_next(&r);
    assert_false(hocket__json_is(&r, "ab"));
    r = reader("12");
    hocket__json_next(&r);
    assert_false(hocket__json_is(&r, "12"));
}

/* A slice that comes from elsewhere than the reader. */
static void test_unescape_refuses(void **state)
{
    static const char *const bad[] = { "\\", "\\u", "\\u12", "a\\x", "\\u12x4" };
    struct hocket__buf out;
    hocket__buf_init(&out, &hocket__malloc, 0);
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
        assert_int_equal(hocket__json_unescape(hocket__cstr(bad[i]), &out), HOCKET_EPARSE);
    hocket__buf_deinit(&out);
    hocket__buf_init(&out, &hocket__malloc, 2);
    assert_int_equal(hocket__json_unescape(HOCKET__STR("ab\\n"), &out), HOCKET_ELIMIT);
    hocket__buf_deinit(&out);
}

/* ---- Numbers ---- */

static bool reads_int(const char *text, int64_t *out)
{
    struct hocket__json r = reader(text);
    hocket__json_next(&r);
    return hocket__json_int(&r, out);
}

static void test_int(void **state)
{
    int64_t v;
    assert_true(reads_int("9223372036854775807", &v) && v == INT64_MAX);
    assert_true(reads_int("-9223372036854775808", &v) && v == INT64_MIN);
    assert_true(reads_int("1234567890123456789", &v) && v == 1234567890123456789);
    assert_true(reads_int("\"12\"", &v) && v == 12);
    assert_true(reads_int("3.0", &v) && v == 3);
    assert_true(reads_int("12e2", &v) && v == 1200);
    static const char *const bad[] = { "9223372036854775808", "-9223372036854775809", "1.5",
        "1e300", "1e400", "\"\"", "\" 1\"", "\"1x\"", "\"0x10\"", "null", "[1]", "true" };
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
        if (reads_int(bad[i], &v) || v != -1)
            fail_msg("%s gave %lld", bad[i], (long long) v);
}

static void test_double(void **state)
{
    struct hocket__json r = reader("[0.1,\"2.5\",\"x\",1e400]");
    hocket__json_next(&r);
    assert_true(hocket__json_element(&r) && hocket__json_double(&r) == 0.1);
    assert_true(hocket__json_element(&r) && hocket__json_double(&r) == 2.5);
    assert_true(hocket__json_element(&r) && hocket__json_double(&r) == 0);
    assert_true(hocket__json_element(&r) && hocket__json_double(&r) > 1e308);
}

static void test_find(void **state)
{
    struct hocket__str v, text = HOCKET__STR(" {\"a\":{\"b\":1},\"b\" : [2, 3] ,\"b\":4}");
    assert_true(hocket__json_find(text, "b", &v) && hocket__str_is(v, "4"));
    assert_true(hocket__json_find(text, "a", &v) && hocket__str_is(v, "{\"b\":1}"));
    assert_false(hocket__json_find(text, "c", &v));
    assert_false(hocket__json_find(HOCKET__STR("[\"b\"]"), "b", &v));
    assert_false(hocket__json_find(HOCKET__STR("{\"b\":[1]"), "b", &v));
    assert_false(hocket__json_find(HOCKET__STR("{\"b\":1}x"), "b", &v));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_suite),
        cmocka_unit_test(test_grammar),
        cmocka_unit_test(test_every_byte_in_strings),
        cmocka_unit_test(test_every_prefix),
        cmocka_unit_test(test_depth),
        cmocka_unit_test(test_where),
        cmocka_unit_test(test_tokens),
        cmocka_unit_test(test_members),
        cmocka_unit_test(test_skip_gives_the_text),
        cmocka_unit_test(test_wrong_types),
        cmocka_unit_test(test_errors_stay),
        cmocka_unit_test(test_decode),
        cmocka_unit_test(test_is),
        cmocka_unit_test(test_unescape_refuses),
        cmocka_unit_test(test_int),
        cmocka_unit_test(test_double),
        cmocka_unit_test(test_find),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "base/json/json.h"
#include "support/alloc.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

static char read_as[1 << 16];

/* What is in `out` is strict JSON, whatever was read; kept as a string. */
static const char *kept(struct hocket__buf *out, int rc)
{
    struct hocket__str json = hocket__buf_str(out);
    read_as[0] = '\0';
    assert_true(rc == 0 || rc == 1);
    if (rc == 1) {
        assert_int_equal(hocket__json_check(json, NULL), 0);
        assert_true(json.n < sizeof(read_as));
        memcpy(read_as, json.p, json.n);
        read_as[json.n] = '\0';
    }
    return rc == 1 ? read_as : "none";
}

static const char *whole(const char *text)
{
    struct hocket__buf out;
    hocket__buf_init(&out, &hocket__malloc, 0);
    const char *json = kept(&out, hocket__lenient_whole(hocket__cstr(text), &out));
    hocket__buf_deinit(&out);
    return json;
}

/* The n-th value of a text, from 0. */
static const char *nth(const char *text, int n)
{
    struct hocket__buf out;
    struct hocket__lenient l;
    const char *json = "none";
    hocket__buf_init(&out, &hocket__malloc, 0);
    hocket__lenient_init(&l, hocket__cstr(text));
    for (int rc = 1; n >= 0 && rc == 1; n--)
        json = kept(&out, rc = hocket__lenient_next(&l, &out));
    hocket__buf_deinit(&out);
    return json;
}

#define WHOLE(text, json)  assert_string_equal(whole(text), json)
#define NTH(text, n, json) assert_string_equal(nth(text, n), json)

static void test_beyond_json(void **state)
{
    (void) state;
    WHOLE("{\"a\": 1}", "{\"a\": 1}");
    WHOLE(" [ 1 , 2 ] ", "[ 1 , 2 ]");
    WHOLE("{\"a\": [1, 2,], \"b\": {\"c\": 1,},}", "{\"a\":[1,2],\"b\":{\"c\":1}}");
    WHOLE("{a: 1, _b$-c: 'x', \"d\": 2}", "{\"a\":1,\"_b$-c\":\"x\",\"d\":2}");
    WHOLE("{'it''s': 1}", "none");
    WHOLE("['it\\'s \"so\"']", "[\"it's \\\"so\\\"\"]");
    WHOLE("{ // first\n \"a\": /* the */ 1 // and last\n}", "{\"a\":1}");
    WHOLE("{\"url\": \"http://a/*b*/\"}", "{\"url\": \"http://a/*b*/\"}");
    WHOLE("[True, False, None, true, false, null]", "[true,false,null,true,false,null]");
    WHOLE("{\"a\": \"one\ntwo\tthree\r\"}", "{\"a\":\"one\\u000atwo\\u0009three\\u000d\"}");
    WHOLE("{\"re\": \"\\d+\\.\\w\", \"p\": \"C:\\Users\\u\"}",
        "{\"re\":\"\\\\d+\\\\.\\\\w\",\"p\":\"C:\\\\Users\\\\u\"}");
    WHOLE("{\"u\": \"\\u00e4\\\\ \\\" \\/\"}", "{\"u\": \"\\u00e4\\\\ \\\" \\/\"}");
    WHOLE("\xEF\xBB\xBF{\"a\":\xC2\xA0"
          "1}",
        "{\"a\":1}");
    WHOLE("42", "42");
    WHOLE("-1.5e+3", "-1.5e+3");
    WHOLE("'text'", "\"text\"");
    WHOLE("```json\n{\"a\": 1}\n```", "{\"a\": 1}");
    WHOLE("\n```\n[1]\n```\n", "[1]");
}

/* What may mean anything, or was cut, is none. */
static void test_nothing_is_guessed(void **state)
{
    (void) state;
    static const char *const none[] = { "", " ", "{", "[", "{\"a\": 1", "[1, 2", "\"a", "'a",
        "{\"a\"}", "{\"a\": }", "{\"a\": 1 \"b\": 2}", "[1 2]", "[,]", "{,}", "[1,,2]",
        "{\"a\": 1,, }", "01", "1.", ".5", "+1", "-", "1e", "0x10", "NaN", "Infinity", "undefined",
        "{a b: 1}", "{1: 2", "[1]]", "{}{}", "{} {}", "/* {}", "{\"a\": tru}", "{\"a\": \"\x80\"}",
        "{\"a\": \"\xC3\"}", "hello", "```json\n{\"a\": 1}", "see ```{}```", "{}\n```",
        "```json```" };
    for (size_t i = 0; i < sizeof(none) / sizeof(none[0]); i++)
        WHOLE(none[i], "none");
}

static void test_in_words(void **state)
{
    (void) state;
    NTH("The plan: {\"a\": \"}{\"} as wished.", 0, "{\"a\": \"}{\"}");
    NTH("The plan: {\"a\": \"}{\"} as wished.", 1, "none");
    NTH("Braces {like these} and [this], then {\"a\": 1} and [2, {\"b\": 3}].", 0, "{\"a\": 1}");
    NTH("Braces {like these} and [this], then {\"a\": 1} and [2, {\"b\": 3}].", 1,
        "[2, {\"b\": 3}]");
    NTH("Braces {like these} and [this], then {\"a\": 1} and [2, {\"b\": 3}].", 2, "none");
    NTH("{ not this {\"a\": 1} }", 0, "{\"a\": 1}");
    NTH("First {\"a\": 1}.\n```json\n{\"a\": 2}\n```\nand ```\n3\n```", 0, "{\"a\": 2}");
    NTH("First {\"a\": 1}.\n```json\n{\"a\": 2}\n```\nand ```\n3\n```", 1, "3");
    NTH("First {\"a\": 1}.\n```json\n{\"a\": 2}\n```\nand ```\n3\n```", 2, "{\"a\": 1}");
    NTH("First {\"a\": 1}.\n```json\n{\"a\": 2}\n```\nand ```\n3\n```", 3, "{\"a\": 2}");
    NTH("{\"code\": \"```sh\\nls\\n```\"}", 0, "{\"code\": \"```sh\\nls\\n```\"}");
    NTH("It is {\"code\": \"```sh\nls\n```\"}", 0, "{\"code\":\"```sh\\u000als\\u000a```\"}");
    NTH("{\"a\": {\"b\": 1}", 0, "none"); /* cut: a whole part of it is not what was meant */
    NTH("So [1, {\"b\": 1}", 0, "none");
    NTH("{\"a\": 1}, {\"a\": [{\"b\": 1}, ", 0, "{\"a\": 1}");
    NTH("{\"a\": 1}, {\"a\": [{\"b\": 1}, ", 1, "none");
    NTH("Between { and [ there is {\"a\": 1}", 0, "{\"a\": 1}");
    NTH("nothing at all", 0, "none");
    NTH("", 0, "none");
}

/* What JSON is stays what it is; what is read of anything else is JSON. */
static void test_suite(void **state)
{
    (void) state;
    const char *suites = getenv("HOCKET_SUITES");
    char path[1024];
    size_t seen = 0;
    if (!suites)
        skip();
    snprintf(path, sizeof(path), "%s/json/test_parsing", suites);
    DIR *dir = opendir(path);
    assert_non_null(dir);
    for (struct dirent *e; (e = readdir(dir));) {
        static char text[1 << 20];
        snprintf(path, sizeof(path), "%s/json/test_parsing/%s", suites, e->d_name);
        FILE *f = strstr(e->d_name, ".json") ? fopen(path, "rb") : NULL;
        if (!f)
            continue;
        size_t n = fread(text, 1, sizeof(text), f);
        fclose(f);
        struct hocket__buf out;
        hocket__buf_init(&out, &hocket__malloc, 0);
        int rc = hocket__lenient_whole(hocket__str(text, n), &out);
        if (rc == 1)
            assert_int_equal(hocket__json_check(hocket__buf_str(&out), NULL), 0);
        if (e->d_name[0] == 'y' && rc != 1)
            fail_msg("%s is JSON", e->d_name);
        hocket__buf_deinit(&out);
        seen++;
    }
    closedir(dir);
    assert_true(seen > 100);
}

static void test_depth(void **state)
{
    (void) state;
    char text[600];
    for (int depth = HOCKET__LENIENT_DEPTH - 1; depth <= HOCKET__LENIENT_DEPTH + 1; depth++) {
        memset(text, '[', (size_t) depth);
        memset(text + depth, ']', (size_t) depth);
        text[2 * depth] = '\0';
        assert_int_equal(strcmp(whole(text), "none") != 0, depth <= HOCKET__LENIENT_DEPTH);
    }
}

/* What leads nowhere costs a small multiple of reading it: were it its square, it would be minutes. */
static void test_hostile(void **state)
{
    (void) state;
    static const char *const parts[] = { "{", "[", "{\"", "{a:", "[{\"a\":[", "```", "``` {", "{'",
        "/*", "{/*", "[1,", "{\"a\":\"b\",", "\\", "{\"\\", "[\"\xC3\xA4", "// {", "{\"a\":1}",
        "[]", "`", "{}[" };
    enum { SIZE = 1 << 18 };
    char *text = malloc(SIZE);
    assert_non_null(text);
    for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++) {
        size_t n = strlen(parts[i]), values = 0;
        for (size_t at = 0; at < SIZE; at++)
            text[at] = parts[i][at % n];
        struct hocket__buf out;
        struct hocket__lenient l;
        hocket__buf_init(&out, &hocket__malloc, 0);
        hocket__lenient_init(&l, hocket__str(text, SIZE));
        clock_t begin = clock();
        for (; hocket__lenient_next(&l, &out) == 1; values++)
            assert_int_equal(hocket__json_check(hocket__buf_str(&out), NULL), 0);
        double seconds = (double) (clock() - begin) / CLOCKS_PER_SEC;
        if (seconds > 10)
            fail_msg("%s: %.1f s", parts[i], seconds);
        hocket__buf_deinit(&out);
    }
    free(text);
}

static void no_memory(struct test_alloc *t, void *ud)
{
    struct hocket__buf out;
    struct hocket__lenient l;
    (void) ud;
    hocket__buf_init(&out, &t->a, 0);
    hocket__lenient_init(
        &l, hocket__cstr("It is {a: ['some text that is long enough', 1, 2, 3]}."));
    int rc = hocket__lenient_next(&l, &out);
    assert_int_equal(rc, t->failed ? HOCKET_ENOMEM : 1);
    hocket__buf_deinit(&out);
}

static void test_no_memory(void **state)
{
    (void) state;
    test_alloc_each(no_memory, NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_beyond_json),
        cmocka_unit_test(test_nothing_is_guessed),
        cmocka_unit_test(test_in_words),
        cmocka_unit_test(test_suite),
        cmocka_unit_test(test_depth),
        cmocka_unit_test(test_hostile),
        cmocka_unit_test(test_no_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

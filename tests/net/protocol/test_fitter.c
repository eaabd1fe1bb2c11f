/* Schemas of tools as servers take them: what is changed, what is said in words, and what stays byte for byte. */
#include "net/protocol/protocol_impl.h"

#include "net/protocol/support.h"

static void check(unsigned rules, const char *tools, const char *want)
{
    struct hocket__buf out;
    hocket__buf_init(&out, &hocket__malloc, 0);
    assert_int_equal(hocket__fit_tools(rules, hocket__cstr(tools), &out), 0);
    assert_string_equal(hocket__buf_str(&out).p, want);
    hocket__buf_deinit(&out);
}

#define ALL          HOCKET__FIT_ALL
#define NAMES        (HOCKET__FIT_ALL | HOCKET__FIT_NAMES)
#define GRAMMAR      (HOCKET__FIT_ALL | HOCKET__FIT_GRAMMAR)
#define TOOL(schema) "[{\"name\":\"f\",\"parameters\":" schema "}]"
#define SAYS(text, schema)                                                                         \
    "[{\"name\":\"f\",\"description\":\"" text "\",\"parameters\":" schema "}]"
#define NOTHING "{\"type\":\"object\",\"properties\":{}}"

static void test_as_it_is(void **state)
{
    (void) state;
    check(ALL, "[]", "");
    check(ALL, "", "");
    check(NAMES | GRAMMAR,
        TOOL("{ \"properties\" : "
             "{\"b\":{\"type\":\"string\",\"pattern\":\"^a+$\"},\"a\":{\"anyOf\":[{},{}]}},"
             " \"type\":\"object\", \"required\":[\"b\"], \"additionalProperties\":false}"),
        "");
    check(ALL, TOOL("{\"type\":\"object\",\"properties\":{\"ids[]\":{\"pattern\":\"a\"}}}"), "");
}

static void test_top(void **state)
{
    (void) state;
    check(ALL, "[{\"name\":\"f\"}]", TOOL(NOTHING));
    check(ALL, TOOL("{}"), TOOL(NOTHING));
    check(ALL, TOOL("{\"type\":\"object\"}"), TOOL(NOTHING));
    check(ALL, TOOL("null"), TOOL(NOTHING));
    check(ALL, TOOL("{\"type\":[\"object\",\"null\"],\"properties\":{}}"),
        SAYS("The arguments fit this \\\"schema\\\": "
             "{\\\"type\\\":[\\\"object\\\",\\\"null\\\"],\\\"properties\\\":{}}.",
            NOTHING));
    check(ALL, TOOL("{\"anyOf\":[{\"required\":[\"a\"]}],\"properties\":{\"a\":true,\"b\":false}}"),
        SAYS("The arguments also have to fit \\\"anyOf\\\": [{\\\"required\\\":[\\\"a\\\"]}].",
            "{\"properties\":{\"a\":{}},\"type\":\"object\"}"));
}

/* What is left out of an object opens it: else the model could not say it. */
static void test_names(void **state)
{
    (void) state;
    check(NAMES,
        SAYS("Does.",
            "{\"type\":\"object\",\"required\":[\"t[]\",\"n\"],\"additionalProperties\":false,"
            "\"properties\":{\"t[]\":{\"type\":\"array\"},\"n\":{}}}"),
        SAYS("Does.\\nA further member: \\\"t[]\\\" is {\\\"type\\\":\\\"array\\\"}.",
            "{\"type\":\"object\",\"required\":[\"n\"],\"properties\":{\"n\":{}}}"));
    check(NAMES,
        TOOL("{\"type\":\"object\",\"properties\":{\"a\":{\"items\":{\"properties\":{\"b "
             "c\":{}}}}}}"),
        SAYS("A further member: \\\"b c\\\" is {}.",
            "{\"type\":\"object\",\"properties\":{\"a\":{\"items\":{\"properties\":{}}}}}"));
}

static void test_grammar(void **state)
{
    static const char *const plain[] = { "^a+$", "^\\\\.$", "^[^\\\"]$" }, *const odd[] = { "x",
        "^x", "x$", "^x\\\\$", "^\\\\d+$", "^\\\\S$", "^(?=a)b$", "^\\u0041$" };
    char in[200];
    (void) state;
    for (size_t i = 0; i < 3; i++) {
        snprintf(in, sizeof(in),
            TOOL("{\"type\":\"object\",\"properties\":{\"a\":{\"pattern\":\"%s\"}}}"), plain[i]);
        check(GRAMMAR, in, "");
    }
    for (size_t i = 0; i < 8; i++) {
        snprintf(in, sizeof(in),
            TOOL("{\"type\":\"object\",\"properties\":{\"a\":{\"pattern\":\"%s\"}}}"), odd[i]);
        struct hocket__buf out;
        hocket__buf_init(&out, &hocket__malloc, 0);
        assert_int_equal(hocket__fit_tools(GRAMMAR, hocket__cstr(in), &out), 0);
        assert_non_null(
            strstr(hocket__buf_str(&out).p, "A text in it has to match its \\\"pattern\\\": "));
        hocket__buf_deinit(&out);
    }
    check(GRAMMAR,
        TOOL("{\"type\":\"object\",\"properties\":{\"a\":{\"maxLength\":4096,\"minLength\":1},"
             "\"b\":{\"minItems\":1e9,\"maxItems\":1000}}}"),
        TOOL("{\"type\":\"object\",\"properties\":{\"a\":{\"minLength\":1},\"b\":{\"maxItems\":"
             "1000}}}"));
}

static void check_schema(unsigned rules, const char *schema, const char *want)
{
    struct hocket__buf out;
    hocket__buf_init(&out, &hocket__malloc, 0);
    assert_int_equal(hocket__fit_schema(rules, hocket__cstr(schema), &out), 0);
    assert_string_equal(hocket__buf_str(&out).p, want);
    hocket__buf_deinit(&out);
}

static void test_answers(void **state)
{
    (void) state;
    check_schema(ALL, "", "");
    check_schema(ALL, "[]", "");
    check_schema(ALL, "{\"type\":\"array\",\"items\":true}", "");
    check_schema(ALL,
        "{\"type\":\"object\",\"description\":\"An answer.\",\"properties\":{\"b\":{},\"a\":{}}}",
        "");
    check_schema(ALL, "{}", "{\"type\":\"object\",\"properties\":{}}");
    check_schema(ALL,
        "{\"type\":\"object\",\"description\":\"An "
        "answer.\",\"properties\":{\"b\":{},\"a\":true},\"anyOf\":[{}]}",
        "{\"type\":\"object\",\"properties\":{\"b\":{},\"a\":{}},"
        "\"description\":\"An answer.\\nThe answer also has to fit \\\"anyOf\\\": [{}].\"}");
}

/* However deep and long what a stranger's server sends is. */
static void test_hostile(void **state)
{
    (void) state;
    struct hocket__buf in, out;
    hocket__buf_init(&in, &hocket__malloc, 0);
    hocket__buf_init(&out, &hocket__malloc, 0);
    hocket__buf_adds(&in, "[{\"name\":\"f\",\"parameters\":");
    for (int i = 0; i < 100; i++)
        hocket__buf_adds(&in, "{\"type\":\"object\",\"properties\":{\"x\":");
    hocket__buf_adds(&in, "{}");
    for (int i = 0; i < 100; i++)
        hocket__buf_adds(&in, "}}");
    hocket__buf_adds(&in, "},{\"name\":\"g\",\"parameters\":{\"type\":\"object\",\"properties\":{");
    for (int i = 0; i < 2000; i++)
        hocket__buf_adds(&in, i ? ",\"a b\":{}" : "\"a b\":{}");
    hocket__buf_adds(&in, "}}}]");
    assert_int_equal(hocket__fit_tools(NAMES, hocket__buf_str(&in), &out), 0);
    assert_int_equal(hocket__json_check(hocket__buf_str(&out), NULL), 0);
    assert_true(out.len < 10000);
    hocket__buf_deinit(&in);
    hocket__buf_deinit(&out);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_as_it_is),
        cmocka_unit_test(test_top),
        cmocka_unit_test(test_names),
        cmocka_unit_test(test_grammar),
        cmocka_unit_test(test_answers),
        cmocka_unit_test(test_hostile),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

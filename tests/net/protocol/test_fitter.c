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
#define PATTERNS     (HOCKET__FIT_ALL | HOCKET__FIT_PATTERNS)
#define TOOL(schema) "[{\"name\":\"f\",\"parameters\":" schema "}]"
#define SAYS(text, schema)                                                                         \
    "[{\"name\":\"f\",\"description\":\"" text "\",\"parameters\":" schema "}]"
#define NOTHING "{\"type\":\"object\",\"properties\":{}}"

static void test_as_it_is(void **state)
{
    (void) state;
    check(ALL, "[]", "");
    check(ALL, "", "");
    check(NAMES | PATTERNS,
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

static void test_patterns(void **state)
{
    (void) state;
    check(PATTERNS,
        TOOL(
            "{\"type\":\"object\",\"properties\":{\"a\":{\"pattern\":\"x\",\"type\":\"string\"}}}"),
        SAYS("A text in it has to match its \\\"pattern\\\": \\\"x\\\".",
            "{\"type\":\"object\",\"properties\":{\"a\":{\"type\":\"string\"}}}"));
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
        cmocka_unit_test(test_patterns),
        cmocka_unit_test(test_hostile),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

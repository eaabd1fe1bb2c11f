/* What a model gets to read when its answer does not fit. */
#include "core/schema/util.h"

#include "base/utf8.h"

/* The first error, as "path|keyword|message". */
static void says(const char *schema, const char *value, const char *expected)
{
    char got[700];
    struct hocket__schema_errors e;
    assert_int_equal(check_with(NULL, schema, value, &e), HOCKET_EINVAL);
    assert_true(e.count > 0);
    snprintf(got, sizeof(got), "%s|%s|%s", e.at[0].path, e.at[0].keyword, e.at[0].message);
    assert_string_equal(got, expected);
}

static void types_and_values(void **state)
{
    says("{\"type\":\"integer\"}", "\"two\"", "|type|expected integer, got string \"two\"");
    says(
        "{\"type\":[\"string\",\"null\"]}", "1.5", "|type|expected null or string, got number 1.5");
    says("{\"type\":\"integer\"}", "1.5", "|type|expected integer, got number 1.5");
    says("{\"type\":\"array\"}", "{\"a\":1}", "|type|expected array, got object with 1 member");
    says("{\"type\":\"object\"}", "[1,2]", "|type|expected object, got array of 2");
    says("{\"type\":\"number\"}", "null", "|type|expected number, got null");
    says("{\"type\":\"number\"}", "true", "|type|expected number, got true");
    says("{\"enum\":[\"a\",1,null,{},[1]]}", "\"b\"",
        "|enum|expected one of \"a\", 1, null, {}, [\xe2\x80\xa6], got string \"b\"");
    says("{\"enum\":[]}", "1", "|enum|no value is allowed here, got integer 1");
    says("{\"const\":\"a\\n\\\"\"}", "3", "|const|expected \"a\\u000a\\\"\", got integer 3");
    says("false", "3", "|false|nothing is allowed here");
    says("{\"not\":{\"type\":\"integer\"}}", "3",
        "|not|expected a value that the schema does not exclude, got integer 3");
}

static void numbers_and_strings(void **state)
{
    says("{\"minimum\":3}", "2", "|minimum|expected a number of at least 3, got integer 2");
    says("{\"maximum\":3}", "4.0", "|maximum|expected a number of at most 3, got integer 4.0");
    says("{\"exclusiveMinimum\":3}", "3",
        "|exclusiveMinimum|expected a number above 3, got integer 3");
    says("{\"exclusiveMaximum\":3}", "3",
        "|exclusiveMaximum|expected a number below 3, got integer 3");
    says("{\"multipleOf\":0.5}", "0.7", "|multipleOf|expected a multiple of 0.5, got number 0.7");
    says("{\"minLength\":2}", "\"\xf0\x9f\x90\xb2\"",
        "|minLength|expected at least 2 characters, got 1");
    says("{\"maxLength\":2}", "\"abc\"", "|maxLength|expected at most 2 characters, got 3");
    says("{\"pattern\":\"^a$\"}", "\"b\"",
        "|pattern|expected a string that matches ^a$, got string \"b\"");
}

static void members(void **state)
{
    says("{\"required\":[\"city\"]}", "{}", "|required|the member \"city\" is missing");
    says("{\"properties\":{\"day\":{\"type\":\"integer\"}}}", "{\"day\":\"two\"}",
        "/day|type|expected integer, got string \"two\"");
    says("{\"properties\":{\"day\":{},\"text\":{}},\"additionalProperties\":false}", "{\"dya\":1}",
        "/dya|additionalProperties|unknown member, the known ones are \"day\", \"text\"");
    says("{\"additionalProperties\":false}", "{\"a/b~c\":1}",
        "/a~1b~0c|additionalProperties|unknown member");
    says("{\"unevaluatedProperties\":false}", "{\"a\":1}",
        "/a|unevaluatedProperties|unknown member, not allowed here");
    says("{\"propertyNames\":{\"maxLength\":1}}", "{\"ab\":1}",
        "/ab|maxLength|expected at most 1 characters, got 2");
    says("{\"propertyNames\":{\"const\":\"x\"}}", "{\"ab\":1}",
        "/ab|const|expected \"x\", got the name \"ab\"");
    says("{\"minProperties\":1}", "{}", "|minProperties|expected at least 1 members, got 0");
    says("{\"maxProperties\":0}", "{\"a\":1}", "|maxProperties|expected at most 0 members, got 1");
    says("{\"dependentRequired\":{\"a\":[\"b\"]}}", "{\"a\":1}",
        "|dependentRequired|the member \"b\" is missing, which \"a\" needs");
}

static void elements(void **state)
{
    says("{\"items\":{\"items\":{\"type\":\"string\"}}}", "[[],[\"a\",1]]",
        "/1/1|type|expected string, got integer 1");
    says("{\"prefixItems\":[true],\"items\":false}", "[1,2]",
        "/1|items|expected at most 1 elements here");
    says("{\"minItems\":2}", "[1]", "|minItems|expected at least 2 elements, got 1");
    says("{\"maxItems\":0}", "[1]", "|maxItems|expected at most 0 elements, got 1");
    says("{\"uniqueItems\":true}", "[1,{\"a\":1,\"b\":2},{\"b\":2.0,\"a\":10e-1}]",
        "|uniqueItems|expected different elements, but elements 1 and 2 are equal");
    says("{\"contains\":{\"const\":1}}", "[2]",
        "|contains|expected at least 1 elements that fit the schema of `contains`, got 0");
    says("{\"contains\":{\"const\":1},\"maxContains\":1}", "[1,1]",
        "|maxContains|expected at most 1 elements that fit the schema of `contains`, got 2");
    says("{\"contains\":{\"const\":1},\"minContains\":2}", "[1]",
        "|minContains|expected at least 2 elements that fit the schema of `contains`, got 1");
    says("{\"unevaluatedItems\":false}", "[1]",
        "/0|unevaluatedItems|unknown element, not allowed here");
}

static void alternatives(void **state)
{
    says("{\"anyOf\":[{\"type\":\"string\"},{\"type\":\"null\"}]}", "1",
        "|anyOf|fits none of the 2 alternatives; (1) expected string, got integer 1;"
        " (2) expected null, got integer 1");
    says("{\"properties\":{\"x\":{\"oneOf\":[{\"required\":[\"a\"]},"
         "{\"properties\":{\"b\":{\"type\":\"null\"}}}]}}}",
        "{\"x\":{\"b\":1}}",
        "/x|oneOf|fits none of the 2 alternatives; (1) the member \"a\" is missing;"
        " (2) /b: expected null, got integer 1");
    says("{\"oneOf\":[false,true,{},false]}", "1",
        "|oneOf|fits alternatives 2 and 3, expected exactly one to fit");
    says("{\"anyOf\":[{\"anyOf\":[{\"type\":\"null\"}]},false]}", "1",
        "|anyOf|fits none of the 2 alternatives; (1) does not fit the one alternative;"
        " (2) nothing is allowed here");
    says("{\"if\":{\"type\":\"integer\"},\"then\":{\"minimum\":5},\"else\":false}", "1",
        "|minimum|expected a number of at least 5, got integer 1");
}

/* Nothing that comes from outside breaks a line, nor ends in half a character. */
static void foreign_text_is_tamed(void **state)
{
    struct hocket__schema_errors e;
    char schema[1500], value[3000] = "{\"";
    for (int i = 0; i < 200; i++)
        strcat(value, "\xc3\xa9\\n");
    strcat(value, "\":\"");
    for (int i = 0; i < 200; i++)
        strcat(value, "\xe2\x82\xac");
    strcat(value, "\"}");
    assert_int_equal(check_with(NULL, "{\"additionalProperties\":{\"type\":\"null\"}}", value, &e),
        HOCKET_EINVAL);
    assert_null(strchr(e.at[0].path, '\n'));
    assert_memory_equal(e.at[0].path, "/\xc3\xa9\\u000a", 9);
    assert_string_equal(e.at[0].path + strlen(e.at[0].path) - 3, "\xe2\x80\xa6");
    assert_true(strlen(e.at[0].path) < sizeof(e.at[0].path));
    assert_string_equal(e.at[0].message + strlen(e.at[0].message) - 4, "\xe2\x80\xa6\"");
    strcpy(schema, "{\"required\":[\"");
    for (int i = 0; i < 100; i++)
        strcat(schema, "a\\n\xe2\x82\xac");
    strcat(schema, "\"]}");
    assert_int_equal(check_with(NULL, schema, "{}", &e), HOCKET_EINVAL);
    assert_null(strchr(e.at[0].message, '\n'));
    size_t n = strlen(e.at[0].message);
    assert_int_equal(hocket__utf8_valid(e.at[0].message, n), n);
}

static void long_lists_are_cut(void **state)
{
    struct hocket__schema_errors e;
    char schema[4000] = "{\"enum\":[0";
    for (int i = 0; i < 300; i++)
        sprintf(schema + strlen(schema), ",%d", i + 1000);
    strcat(schema, "]}");
    assert_int_equal(check_with(NULL, schema, "-1", &e), HOCKET_EINVAL);
    assert_non_null(strstr(e.at[0].message, "1001"));
    assert_non_null(strstr(e.at[0].message, "\xe2\x80\xa6, got integer -1"));
}

static void errors_are_collected(void **state)
{
    struct hocket__schema_errors e;
    const char *schema = "{\"items\":{\"type\":\"string\"}}";
    assert_int_equal(check_with(NULL, schema, "[1,\"a\",2]", &e), HOCKET_EINVAL);
    assert_int_equal(e.count, 2);
    assert_false(e.more);
    assert_string_equal(e.at[1].path, "/2");
    assert_int_equal(check_with(NULL, schema, "[1,2,3,4,5,6,7,8]", &e), HOCKET_EINVAL);
    assert_int_equal(e.count, 8);
    assert_false(e.more);
    assert_int_equal(check_with(NULL, schema, "[1,2,3,4,5,6,7,8,9]", &e), HOCKET_EINVAL);
    assert_int_equal(e.count, 8);
    assert_true(e.more);
    assert_int_equal(check_with(NULL, schema, "[]", &e), 0);
    assert_int_equal(e.count, 0);
}

static void explains(const char *schema, const char *value, const char *expected)
{
    struct hocket__schema_errors e;
    struct hocket__buf out;
    hocket__buf_init(&out, &hocket__malloc, 0);
    assert_int_equal(check_with(NULL, schema, value, &e), HOCKET_EINVAL);
    assert_int_equal(hocket__schema_explain(&e, "arguments do not fit", &out), 0);
    assert_string_equal(out.data, expected);
    hocket__buf_deinit(&out);
}

static void one_text_for_a_model(void **state)
{
    explains("{\"properties\":{\"day\":{\"type\":\"integer\"}}}", "{\"day\":\"two\"}",
        "arguments do not fit the schema: /day: expected integer, got string \"two\"");
    explains("{\"properties\":{\"day\":{\"type\":\"integer\"}},\"required\":[\"text\"]}",
        "{\"day\":\"two\"}",
        "arguments do not fit the schema:\n"
        "- the member \"text\" is missing\n"
        "- /day: expected integer, got string \"two\"");
    explains("{\"items\":false}", "[1,2,3,4,5,6,7,8,9]",
        "arguments do not fit the schema:\n"
        "- /0: expected at most 0 elements here\n- /1: expected at most 0 elements here\n"
        "- /2: expected at most 0 elements here\n- /3: expected at most 0 elements here\n"
        "- /4: expected at most 0 elements here\n- /5: expected at most 0 elements here\n"
        "- /6: expected at most 0 elements here\n- /7: expected at most 0 elements here\n"
        "- and more");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(types_and_values),
        cmocka_unit_test(numbers_and_strings),
        cmocka_unit_test(members),
        cmocka_unit_test(elements),
        cmocka_unit_test(alternatives),
        cmocka_unit_test(foreign_text_is_tamed),
        cmocka_unit_test(long_lists_are_cut),
        cmocka_unit_test(errors_are_collected),
        cmocka_unit_test(one_text_for_a_model),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

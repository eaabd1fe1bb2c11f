/* Compiling schemas and its refusals, references, limits, exactness, memory, threads. */
#include "core/schema/util.h"

#include <pthread.h>

/* ---- What is no schema */

static void refuses(const char *schema, int status, const char *message)
{
    struct hocket__schema *s = NULL;
    struct hocket_error err = { .message = "" };
    int rc = hocket__schema_new(&hocket__malloc, hocket__cstr(schema), NULL, &s, &err);
    if (rc != status || !strstr(err.message, message))
        fail_msg("%s: %d: %s", schema, rc, rc < 0 ? err.message : "compiled");
    assert_int_equal(err.status, status);
}

static void wrong_keywords(void **state)
{
    refuses("3", HOCKET_EINVAL, "at the top: expected a schema");
    refuses("{\"type\":3}", HOCKET_EINVAL, "at /type: expected null, boolean,");
    refuses(
        "{\"properties\":{\"a\":{\"type\":\"strnig\"}}}", HOCKET_EINVAL, "at /properties/a/type:");
    refuses("{\"type\":[]}", HOCKET_EINVAL, "at /type: expected at least one type");
    refuses("{\"enum\":3}", HOCKET_EINVAL, "at /enum: expected an array");
    refuses("{\"minimum\":\"1\"}", HOCKET_EINVAL, "at /minimum: expected a number");
    refuses("{\"multipleOf\":0}", HOCKET_EINVAL, "at /multipleOf: expected a number above 0");
    refuses("{\"multipleOf\":-1}", HOCKET_EINVAL, "at /multipleOf: expected a number above 0");
    refuses("{\"multipleOf\":12345678901234567891}", HOCKET_ELIMIT, "at /multipleOf: more than 19");
    refuses(
        "{\"minLength\":-1}", HOCKET_EINVAL, "at /minLength: expected an integer of at least 0");
    refuses("{\"maxItems\":1.5}", HOCKET_EINVAL, "at /maxItems: expected an integer");
    refuses("{\"required\":true}", HOCKET_EINVAL, "at /required: expected an array of strings");
    refuses("{\"required\":[1]}", HOCKET_EINVAL, "at /required: expected an array of strings");
    refuses("{\"uniqueItems\":1}", HOCKET_EINVAL, "at /uniqueItems: expected true or false");
    refuses("{\"properties\":[]}", HOCKET_EINVAL, "at /properties: expected an object of schemas");
    refuses(
        "{\"properties\":{\"a/b~\":1}}", HOCKET_EINVAL, "at /properties/a~1b~0: expected a schema");
    refuses("{\"items\":[{}]}", HOCKET_EINVAL, "prefixItems since 2020-12");
    refuses("{\"allOf\":[]}", HOCKET_EINVAL, "at /allOf: expected an array of at least one schema");
    refuses("{\"allOf\":[true,7]}", HOCKET_EINVAL, "at /allOf/1: expected a schema");
    refuses("{\"$defs\":{\"a\":{\"not\":1}}}", HOCKET_EINVAL, "at /$defs/a/not: expected a schema");
    refuses("{\"dependentRequired\":{\"a\":[1]}}", HOCKET_EINVAL, "at /dependentRequired/a:");
    refuses("{\"format\":1}", HOCKET_EINVAL, "at /format: expected a string");
    refuses("{\"pattern\":\"[b-a]\"}", HOCKET_EINVAL,
        "at /pattern: at offset 4 of the pattern: the range");
    refuses("{\"pattern\":\"(a)\\\\1\"}", HOCKET_EUNSUPPORTED, "at /pattern: at offset");
    refuses(
        "{\"patternProperties\":{\"(\":{}}}", HOCKET_EINVAL, "at /patternProperties/(: at offset");
    refuses("{\"$ref\":1}", HOCKET_EINVAL, "at /$ref: expected a string");
    refuses("{\"$id\":1}", HOCKET_EINVAL, "at the top: $id: expected a string");
    refuses("{\"a\":", HOCKET_EPARSE, "the schema is no JSON: ");
}

static void drafts(void **state)
{
    refuses("{\"$schema\":1}", HOCKET_EINVAL, "$schema: expected a string");
    refuses("{\"$schema\":\"http://json-schema.org/draft-04/schema#\"}", HOCKET_EUNSUPPORTED,
        "drafts 2020-12 and 7 are");
    const char *seven =
        "{\"$schema\":\"http://json-schema.org/draft-07/schema#\",\"items\":[true,false]}";
    assert_int_equal(check(seven, "[1]"), 0);
    assert_int_equal(check(seven, "[1,2]"), HOCKET_EINVAL);
    const char *six = "{\"$schema\":\"http://json-schema.org/draft-06/schema\",\"items\":[false]}";
    assert_int_equal(check(six, "[1]"), HOCKET_EINVAL);
    struct hocket__schema_options o = { .draft = HOCKET__SCHEMA_DRAFT_7 };
    assert_int_equal(check_with(&o, "{\"items\":[false]}", "[1]", NULL), HOCKET_EINVAL);
    assert_int_equal(check_with(&o, "{\"prefixItems\":[false]}", "[1]", NULL), 0);
    assert_int_equal(check_with(&o,
                         "{\"$ref\":\"#/definitions/a\",\"type\":\"null\","
                         "\"definitions\":{\"a\":{\"type\":\"string\"}}}",
                         "\"x\"", NULL),
        0);
    const char *embedded = "{\"properties\":{\"a\":{\"$id\":\"http://x/y\",\"$schema\":"
                           "\"http://json-schema.org/draft-07/schema#\",\"items\":[false]}}}";
    assert_int_equal(check(embedded, "{\"a\":[]}"), 0);
    assert_int_equal(check(embedded, "{\"a\":[1]}"), HOCKET_EINVAL);
}

/* ---- References */

static void references(void **state)
{
    refuses("{\"properties\":{\"a\":{\"$ref\":\"#/$defs/x\"}}}", HOCKET_EINVAL,
        "at /properties/a/$ref: the reference #/$defs/x leads nowhere: there is nothing at this "
        "place");
    refuses("{\"$ref\":\"#x\"}", HOCKET_EINVAL, "there is no such anchor");
    refuses("{\"$ref\":\"other.json\"}", HOCKET_EINVAL, "there is no such document");
    refuses("{\"$ref\":\"https://example.com/a\"}", HOCKET_EINVAL, "there is no such document");
    refuses("{\"$ref\":\"#/components/x\",\"components\":{\"x\":{\"type\":1}}}", HOCKET_EINVAL,
        "at /components/x/type: expected");
    refuses("{\"$defs\":{\"a\":{\"$id\":\"http://x/a\"},\"b\":{\"$id\":\"http://x/a\"}}}",
        HOCKET_EINVAL, "at /$defs/b: the identifier http://x/a is taken");
    refuses("{\"$defs\":{\"a\":{\"$anchor\":\"n\"},\"b\":{\"$anchor\":\"n\"}}}", HOCKET_EINVAL,
        "at /$defs/b: the anchor n is taken");
    refuses("{\"$ref\":\"http://x/\\n\\u0007y\"}", HOCKET_EINVAL,
        "at /$ref: the reference http://x/??y leads nowhere");
    const char *outside =
        "{\"$ref\":\"#/components/x\",\"components\":{\"x\":{\"type\":\"null\"}}}";
    assert_int_equal(check(outside, "null"), 0);
    assert_int_equal(check(outside, "1"), HOCKET_EINVAL);
}

static void loops(void **state)
{
    refuses("{\"$ref\":\"#\"}", HOCKET_EINVAL, "at /$ref: the reference leads back to itself");
    refuses("{\"$defs\":{\"a\":{\"anyOf\":[true,{\"$ref\":\"#/$defs/b\"}]},"
            "\"b\":{\"not\":{\"$ref\":\"#/$defs/a\"}}}}",
        HOCKET_EINVAL, "leads back to itself");
    refuses("{\"if\":true,\"then\":{\"$ref\":\"#\"}}", HOCKET_EINVAL, "at /then/$ref: ");
    const char *list = "{\"properties\":{\"next\":{\"$ref\":\"#\"}},\"required\":[\"v\"]}";
    assert_int_equal(check(list, "{\"v\":1,\"next\":{\"v\":2}}"), 0);
    assert_int_equal(check(list, "{\"v\":1,\"next\":{}}"), HOCKET_EINVAL);
    const char *dynamic = "{\"$dynamicAnchor\":\"a\",\"$dynamicRef\":\"#a\"}";
    assert_int_equal(check(dynamic, "1"), HOCKET_ELIMIT);
}

static int serve(struct hocket__str uri, struct hocket__buf *out, void *ud)
{
    ++*(int *) ud;
    if (hocket__str_is(uri, "http://x/bad"))
        return hocket__buf_adds(out, "{\"items\":{\"type\":1}}");
    if (hocket__str_is(uri, "http://x/text"))
        return hocket__buf_adds(out, "not JSON");
    if (hocket__str_is(uri, "http://x/none"))
        return HOCKET_ENOTFOUND;
    return hocket__buf_addf(out, "{\"$ref\":\"%.*s0\"}", (int) uri.n, uri.p);
}

static void documents(void **state)
{
    static const struct {
        const char *schema;
        int status;
        const char *message;
    } cases[] = {
        { "{\"$ref\":\"http://x/bad\"}", HOCKET_EINVAL, "at http://x/bad#/items/type: expected" },
        { "{\"$ref\":\"http://x/text\"}", HOCKET_EPARSE, "http://x/text: the schema is no JSON" },
        { "{\"$ref\":\"http://x/none\"}", HOCKET_EINVAL, "there is no such document" },
        { "{\"$ref\":\"http://x/chain\"}", HOCKET_ELIMIT, "more than 5 other documents" },
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        int calls = 0;
        struct hocket__schema *s = NULL;
        struct hocket_error err;
        struct hocket__schema_options o = {
            .resolve_cb = serve, .resolve_ud = &calls, .max_documents = 5
        };
        assert_int_equal(
            hocket__schema_new(&hocket__malloc, hocket__cstr(cases[i].schema), &o, &s, &err),
            cases[i].status);
        assert_non_null(strstr(err.message, cases[i].message));
        assert_int_equal(calls, i == 3 ? 5 : 1);
    }
}

static void metaschemas(void **state)
{
    const char *new = "{\"$ref\":\"https://json-schema.org/draft/2020-12/schema\"}";
    const char *seven = "{\"$ref\":\"http://json-schema.org/draft-07/schema#\"}";
    assert_int_equal(check(new, "{\"properties\":{\"a\":{\"minLength\":1}}}"), 0);
    assert_int_equal(check(new, "{\"properties\":{\"a\":{\"minLength\":-1}}}"), HOCKET_EINVAL);
    assert_int_equal(check(new, "{\"$defs\":{\"a\":{\"unevaluatedItems\":3}}}"), HOCKET_EINVAL);
    assert_int_equal(check(seven, "{\"properties\":{\"a\":{\"minLength\":1}}}"), 0);
    assert_int_equal(check(seven, "{\"properties\":{\"a\":{\"minLength\":-1}}}"), HOCKET_EINVAL);
}

/* ---- Exactness */

static void numbers_are_exact(void **state)
{
    assert_int_equal(check("{\"const\":9007199254740993}", "9007199254740992"), HOCKET_EINVAL);
    assert_int_equal(check("{\"const\":1}", "10.00e-1"), 0);
    assert_int_equal(check("{\"const\":0}", "-0.0"), 0);
    assert_int_equal(
        check("{\"maximum\":18446744073709551615}", "18446744073709551616"), HOCKET_EINVAL);
    assert_int_equal(check("{\"exclusiveMaximum\":1e400}", "1e399"), 0);
    assert_int_equal(check("{\"exclusiveMaximum\":1e400}", "10e399"), HOCKET_EINVAL);
    assert_int_equal(check("{\"minimum\":-2}", "-2.0000000000000000000000001"), HOCKET_EINVAL);
    assert_int_equal(check("{\"type\":\"integer\"}", "123456789012345678901234567890"), 0);
    assert_int_equal(check("{\"type\":\"integer\"}", "1e3"), 0);
    assert_int_equal(check("{\"type\":\"integer\"}", "1e-3"), HOCKET_EINVAL);
    assert_int_equal(check("{\"multipleOf\":0.1}", "0.3"), 0);
    assert_int_equal(check("{\"multipleOf\":0.01}", "19.99"), 0);
    assert_int_equal(check("{\"multipleOf\":0.01}", "19.995"), HOCKET_EINVAL);
    assert_int_equal(check("{\"multipleOf\":7}", "700000000000000000000000000000007"), 0);
    assert_int_equal(
        check("{\"multipleOf\":7}", "700000000000000000000000000000008"), HOCKET_EINVAL);
    assert_int_equal(check("{\"multipleOf\":3}", "3e999999999999"), 0);
    assert_int_equal(check("{\"multipleOf\":3}", "1e999999999999"), HOCKET_EINVAL);
    assert_int_equal(check("{\"multipleOf\":1e9}", "1e8"), HOCKET_EINVAL);
    assert_int_equal(check("{\"maxLength\":2.0}", "\"abc\""), HOCKET_EINVAL);
    assert_int_equal(check("{\"maxLength\":1e300}", "\"abc\""), 0);
}

static void strings_may_hold_nul(void **state)
{
    assert_int_equal(check("{\"const\":\"a\\u0000b\"}", "\"a\\u0000c\""), HOCKET_EINVAL);
    assert_int_equal(check("{\"maxLength\":2}", "\"a\\u0000b\""), HOCKET_EINVAL);
    assert_int_equal(check("{\"pattern\":\"^a\\u0000b$\"}", "\"a\\u0000b\""), 0);
    assert_int_equal(check("{\"properties\":{\"a\\u0000b\":false}}", "{\"a\\u0000c\":1}"), 0);
    assert_int_equal(
        check("{\"properties\":{\"a\\u0000b\":false}}", "{\"a\\u0000b\":1}"), HOCKET_EINVAL);
}

/* ---- Limits */

/* "[[[…]]]", or the same around `core`. */
static char *nest(const char *open, const char *core, const char *close, int n)
{
    char *text = malloc((strlen(open) + strlen(close)) * (size_t) n + strlen(core) + 1), *p = text;
    for (int i = 0; i < n; i++)
        p = stpcpy(p, open);
    p = stpcpy(p, core);
    for (int i = 0; i < n; i++)
        p = stpcpy(p, close);
    return text;
}

static void depth_is_bounded(void **state)
{
    char *deep = nest("{\"not\":", "true", "}", 129), *fine = nest("{\"not\":", "true", "}", 128);
    refuses(deep, HOCKET_ELIMIT, "schemas nest deeper than 128");
    assert_int_equal(check(fine, "1"), 0);
    char *value = nest("[", "", "]", 100);
    struct hocket__schema_options o = { .max_depth = 100 };
    assert_int_equal(check_with(&o, "{\"items\":{\"$ref\":\"#\"}}", value, NULL), HOCKET_ELIMIT);
    o.max_depth = 250;
    assert_int_equal(check_with(&o, "{\"items\":{\"$ref\":\"#\"}}", value, NULL), 0);
    free(deep);
    free(fine);
    free(value);
}

static void nodes_are_bounded(void **state)
{
    struct hocket__schema_options o = { .max_nodes = 3 };
    struct hocket__schema *s;
    struct hocket_error err;
    assert_int_equal(hocket__schema_new(&hocket__malloc,
                         HOCKET__STR("{\"allOf\":[true,true,true]}"), &o, &s, &err),
        HOCKET_ELIMIT);
    assert_string_equal(err.message, "at /allOf/2: more than 3 schemas");
}

static void patterns_are_bounded(void **state)
{
    struct hocket__schema_options o = { .max_regex = 100 };
    struct hocket__schema *s;
    struct hocket_error err;
    assert_int_equal(
        hocket__schema_new(&hocket__malloc, HOCKET__STR("{\"pattern\":\"a{101}\"}"), &o, &s, &err),
        HOCKET_ELIMIT);
    assert_non_null(strstr(err.message, "at /pattern: "));
    char *many = nest("{\"pattern\":\"a{90}\",\"not\":", "true", "}", 30);
    assert_int_equal(
        hocket__schema_new(&hocket__malloc, hocket__cstr(many), &o, &s, &err), HOCKET_ELIMIT);
    free(many);
}

/* Each level doubles the work of the one below. */
static void steps_are_bounded(void **state)
{
    char schema[4000] = "{\"$ref\":\"#/$defs/0\",\"$defs\":{";
    for (int i = 0; i < 40; i++)
        sprintf(schema + strlen(schema),
            "\"%d\":{\"allOf\":[{\"$ref\":\"#/$defs/%d\"},{\"$ref\":\"#/$defs/%d\"}]},", i, i + 1,
            i + 1);
    strcat(schema, "\"40\":true}}");
    struct hocket__schema_errors e;
    assert_int_equal(check_with(NULL, schema, "1", &e), HOCKET_ELIMIT);
    assert_int_equal(e.count, 0);
    struct hocket__schema_options o = { .max_steps = 10 };
    assert_int_equal(check_with(&o, "{\"items\":{}}", "[1,2,3]", NULL), 0);
    assert_int_equal(check_with(&o, "{\"items\":{}}", "[1,2,3,4,5,6,7,8]", NULL), HOCKET_ELIMIT);
    assert_int_equal(
        check_with(&o, "{\"uniqueItems\":true}", "[1,2,3,4,5,6,7,8,9,0]", NULL), HOCKET_ELIMIT);
    assert_int_equal(
        check_with(&o, "{\"pattern\":\"(?=.*x)y\"}",
            "\"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa\"",
            NULL),
        HOCKET_ELIMIT);
}

static void many_unique_elements(void **state)
{
    char *text = malloc(400000), *p = text;
    p = stpcpy(p, "[0");
    for (int i = 1; i < 50000; i++)
        p += sprintf(p, ",%d", i);
    strcpy(p, "]");
    assert_int_equal(check("{\"uniqueItems\":true}", text), 0);
    strcpy(p, ",4.2e1]");
    assert_int_equal(check("{\"uniqueItems\":true}", text), HOCKET_EINVAL);
    free(text);
}

/* More than 64 members or elements need memory to keep account of them. */
static void many_unevaluated(void **state)
{
    char text[2000] = "[0";
    for (int i = 1; i < 100; i++)
        strcat(text, ",0");
    strcat(text, ",\"x\"]");
    const char *schema = "{\"anyOf\":[{\"contains\":{\"type\":\"integer\"}},"
                         "{\"contains\":{\"type\":\"string\"}}],\"unevaluatedItems\":false}";
    assert_int_equal(check(schema, text), 0);
    assert_int_equal(
        check("{\"contains\":{\"type\":\"integer\"},\"unevaluatedItems\":false}", text),
        HOCKET_EINVAL);
}

/* ---- Memory, threads */

static const char big_schema[] =
    "{\"$id\":\"http://x/root\",\"type\":\"object\",\"properties\":{\"a\":{\"$ref\":\"#/$defs/a\"},"
    "\"b\":{\"anyOf\":[{\"type\":\"null\"},{\"pattern\":\"^[a-z]+$\"}]},"
    "\"c\":{\"uniqueItems\":true,\"items\":{\"$dynamicRef\":\"#d\"}}},"
    "\"patternProperties\":{\"^x\":{\"enum\":[1,2]}},\"required\":[\"a\"],"
    "\"dependentSchemas\":{\"a\":{\"minProperties\":1}},\"unevaluatedProperties\":false,"
    "\"$defs\":{\"a\":{\"$anchor\":\"n\",\"minimum\":3},\"d\":{\"$dynamicAnchor\":\"d\","
    "\"$ref\":\"other#/$defs/s\"}}}";

static int other(struct hocket__str uri, struct hocket__buf *out, void *ud)
{
    return hocket__buf_adds(out, "{\"$defs\":{\"s\":{\"type\":\"string\"}}}");
}

static void use_all(struct test_alloc *t, void *ud)
{
    static const char value[] = "{\"a\":3,\"b\":\"abc\",\"c\":[\"x\",\"y\"],\"x1\":2}";
    struct hocket__schema_options o = { .resolve_cb = other };
    struct hocket__schema *s = NULL;
    struct hocket__schema_errors errors;
    struct hocket_error err;
    int rc = hocket__schema_new(&t->a, hocket__cstr(big_schema), &o, &s, &err);
    if (rc == 0) {
        hocket_json *v = parse(value);
        rc = hocket__schema_validate(s, &t->a, v, &errors, &err);
        hocket_json_free(v);
        hocket__schema_free(s);
    }
    if (rc != 0)
        assert_int_equal(err.status, rc);
    if (t->failed)
        assert_true(rc == 0 || rc == HOCKET_ENOMEM);
    else
        assert_int_equal(rc, 0);
}

static void failing_allocations(void **state)
{
    assert_true(test_alloc_each(use_all, NULL) > 15);
}

static void *validate_often(void *arg)
{
    struct hocket__schema_errors errors;
    size_t wrong = 0;
    hocket_json *fits = parse("{\"a\":3,\"b\":\"abc\"}"), *not = parse("{\"a\":3,\"b\":\"ABC\"}");
    for (int i = 0; i < 2000; i++) {
        wrong += hocket__schema_validate(arg, NULL, fits, &errors, NULL) != 0;
        wrong += hocket__schema_validate(arg, NULL, not, &errors, NULL) != HOCKET_EINVAL;
    }
    hocket_json_free(fits);
    hocket_json_free(not );
    return wrong ? arg : NULL;
}

static void two_threads(void **state)
{
    pthread_t threads[2];
    void *wrong[2];
    struct hocket__schema_options o = { .resolve_cb = other };
    struct hocket__schema *s = compile(big_schema, &o);
    for (int i = 0; i < 2; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, validate_often, s), 0);
    for (int i = 0; i < 2; i++)
        pthread_join(threads[i], &wrong[i]);
    assert_null(wrong[0]);
    assert_null(wrong[1]);
    hocket__schema_free(s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(wrong_keywords),
        cmocka_unit_test(drafts),
        cmocka_unit_test(references),
        cmocka_unit_test(loops),
        cmocka_unit_test(documents),
        cmocka_unit_test(metaschemas),
        cmocka_unit_test(numbers_are_exact),
        cmocka_unit_test(strings_may_hold_nul),
        cmocka_unit_test(depth_is_bounded),
        cmocka_unit_test(nodes_are_bounded),
        cmocka_unit_test(patterns_are_bounded),
        cmocka_unit_test(steps_are_bounded),
        cmocka_unit_test(many_unique_elements),
        cmocka_unit_test(many_unevaluated),
        cmocka_unit_test(failing_allocations),
        cmocka_unit_test(two_threads),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

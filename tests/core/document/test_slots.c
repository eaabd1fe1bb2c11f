#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "core/document/slots.h"
#include "support/alloc.h"

static const struct hocket__str times[] = { HOCKET__STR("general"), HOCKET__STR("morning"),
    HOCKET__STR("afternoon"), HOCKET__STR("evening"), HOCKET__STR("night") };

static const struct hocket__dimension travel[] = {
    { .name = HOCKET__STR("day"), .kind = HOCKET__DIMENSION_INTEGER },
    { .name = HOCKET__STR("time_slot"),
        .kind = HOCKET__DIMENSION_NAME,
        .values = times,
        .value_count = 5 },
};

static void heading_is(const struct hocket__slots *s, const char *slot_json, const char *expected)
{
    struct hocket__slot slot;
    struct hocket__buf out;
    hocket__buf_init(&out, &hocket__malloc, 0);
    assert_int_equal(hocket__slots_parse(s, hocket__cstr(slot_json), &slot, NULL), 0);
    hocket__slots_heading(s, &slot, &out);
    assert_string_equal(out.data, expected);
    hocket__buf_deinit(&out);
}

static void test_travel(void **state)
{
    struct hocket__slots s;
    assert_int_equal(hocket__slots_init(&s, &hocket__malloc, travel, 2, NULL), 0);
    heading_is(&s, "{\"day\":1,\"time_slot\":\"morning\"}", "Day 1 — Morning");
    heading_is(&s, "{\"time_slot\":\"night\",\"day\":\"12\"}", "Day 12 — Night");
    heading_is(&s, "{\"day\":0,\"time_slot\":\"general\"}", "General");
    heading_is(&s, "{\"day\":0,\"time_slot\":\"evening\"}", "General — Evening");
    heading_is(&s, "{\"day\":2.0,\"time_slot\":\"g\\u0065neral\"}", "Day 2 — General");
    hocket__slots_deinit(&s);
}

static void test_other_schemas(void **state)
{
    static const struct hocket__str parts[] = { HOCKET__STR("iOS"), HOCKET__STR("top-level_design"),
        HOCKET__STR("überblick") };
    const struct hocket__dimension dims[] = {
        { .name = HOCKET__STR("book_part"), .min = -2, .max = 5 },
        { .name = HOCKET__STR("section"),
            .kind = HOCKET__DIMENSION_NAME,
            .values = parts,
            .value_count = 3 },
    };
    struct hocket__slots s;
    assert_int_equal(hocket__slots_init(&s, &hocket__malloc, dims + 1, 1, NULL), 0);
    heading_is(&s, "{\"section\":\"iOS\"}", "iOS");
    heading_is(&s, "{\"section\":\"top-level_design\"}", "Top-Level Design");
    heading_is(&s, "{\"section\":\"überblick\"}", "überblick");
    hocket__slots_deinit(&s);
    assert_int_equal(hocket__slots_init(&s, &hocket__malloc, dims, 1, NULL), 0);
    heading_is(&s, "{\"book_part\":-2}", "Book Part -2");
    heading_is(&s, "{\"book_part\":0}", "General");
    struct hocket__slot a = { { 0 } }, b = { { -2 } }, c = { { 5 } };
    assert_true(hocket__slots_compare(&s, &a, &b) < 0); /* 0 first, whatever follows */
    assert_true(hocket__slots_compare(&s, &b, &c) < 0);
    assert_true(hocket__slots_compare(&s, &c, &a) > 0);
    assert_int_equal(hocket__slots_compare(&s, &c, &c), 0);
    hocket__slots_deinit(&s);
}

static void test_refused(void **state)
{
    static const struct {
        const char *slot, *message;
    } cases[] = {
        { "{\"day\":1,\"time_slot\":\"noon\"}",
            "time_slot has to be one of: general, morning, afternoon, evening, night; got noon" },
        { "{\"day\":1,\"time_slot\":\"Morning\"}", NULL },
        { "{\"day\":1,\"time_slot\":3}", NULL },
        { "{\"day\":1,\"time_slot\":null}", NULL },
        { "{\"day\":1,\"time_slot\":[\"night\"]}", NULL },
        { "{\"day\":1,\"time_slot\":\"night\\u0000\"}", NULL },
        { "{\"day\":1,\"time_slot\":\"\"}", NULL },
        { "{\"day\":-1,\"time_slot\":\"night\"}",
            "day has to be a whole number, 0 (general) or more; got -1" },
        { "{\"day\":1.5,\"time_slot\":\"night\"}", NULL },
        { "{\"day\":\"one\",\"time_slot\":\"night\"}", NULL },
        { "{\"day\":9007199254740992,\"time_slot\":\"night\"}", NULL },
        { "{\"day\":[],\"time_slot\":\"night\"}", NULL },
        { "{\"day\":true,\"time_slot\":\"night\"}", NULL },
        { "{\"day\":1}", "a slot of this document is made of: day, time_slot; missing: time_slot" },
        { "{\"time_slot\":\"night\"}", NULL },
        { "{}", NULL },
        { "{\"day\":1,\"time_slot\":\"night\",\"x\":1}",
            "a slot of this document is made of: day, time_slot; it has no x" },
        { "{\"day\":1,\"day\":2,\"time_slot\":\"night\"}",
            "a slot of this document is made of: day, time_slot; given twice: day" },
        { "[1,\"night\"]", NULL },
        { "", NULL },
        { "{\"day\":1,\"time_slot\":\"night\"", NULL },
        { "{\"day\":1,\"time_slot\":\"night\"} 1", NULL },
        { "{\"day\":01,\"time_slot\":\"night\"}", NULL },
    };
    struct test_alloc t;
    struct hocket__slots s;
    test_alloc_init(&t);
    assert_int_equal(hocket__slots_init(&s, &t.a, travel, 2, NULL), 0);
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct hocket__slot slot;
        struct hocket_error err = { 0 };
        assert_int_equal(
            hocket__slots_parse(&s, hocket__cstr(cases[i].slot), &slot, &err), HOCKET_EINVAL);
        assert_true(err.message[0] != 0);
        if (cases[i].message)
            assert_string_equal(err.message, cases[i].message);
    }
    hocket__slots_deinit(&s);
    test_alloc_check(&t);
}

static void test_range(void **state)
{
    const struct hocket__dimension dim = {
        .name = HOCKET__STR("chapter"), .kind = HOCKET__DIMENSION_INTEGER, .min = 3, .max = 5
    };
    struct hocket__slots s;
    struct hocket_error err;
    assert_int_equal(hocket__slots_init(&s, &hocket__malloc, &dim, 1, NULL), 0);
    for (int64_t v = -1; v <= 7; v++) {
        struct hocket__slot slot = { { v } };
        bool valid = v == 0 || (v >= 3 && v <= 5);
        assert_int_equal(hocket__slots_check(&s, &slot, &err), valid ? 0 : HOCKET_EINVAL);
    }
    assert_string_equal(
        err.message, "chapter has to be 0 (general) or a whole number from 3 to 5; got 7");
    hocket__slots_deinit(&s);
}

static void test_bad_schemas(void **state)
{
    static const struct hocket__str twice[] = { HOCKET__STR("a"), HOCKET__STR("b"),
        HOCKET__STR("a") };
    static const struct hocket__str line[] = { HOCKET__STR("a\nb") };
    const struct hocket__dimension bad[] = {
        { .name = HOCKET__STR("") },
        { .name = HOCKET__STR("1st") },
        { .name = HOCKET__STR("a b") },
        { .name = HOCKET__STR("a\0b") },
        { .name = HOCKET__STR("a"), .min = 2, .max = 1 },
        { .name = HOCKET__STR("a"), .min = INT64_MIN, .max = 1 },
        { .name = HOCKET__STR("a"), .min = 1, .max = INT64_MAX },
        { .name = HOCKET__STR("a"), .kind = HOCKET__DIMENSION_NAME },
        { HOCKET__STR("a"), HOCKET__DIMENSION_NAME, 0, 0, twice, 3 },
        { HOCKET__STR("a"), HOCKET__DIMENSION_NAME, 0, 0, line, 1 },
    };
    struct hocket__slots s;
    struct hocket_error err;
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
        assert_int_equal(hocket__slots_init(&s, &hocket__malloc, &bad[i], 1, &err), HOCKET_EINVAL);
    const struct hocket__dimension same[] = { travel[0], travel[0] };
    assert_int_equal(hocket__slots_init(&s, &hocket__malloc, same, 2, &err), HOCKET_EINVAL);
    assert_string_equal(err.message, "document: there are two dimensions day");
    assert_int_equal(hocket__slots_init(&s, &hocket__malloc, NULL, 0, &err), HOCKET_EINVAL);
    assert_int_equal(hocket__slots_init(&s, &hocket__malloc, same, 7, &err), HOCKET_EINVAL);
}

static void body(struct test_alloc *t, void *ud)
{
    struct hocket__slots s;
    struct hocket__slot slot;
    int status = hocket__slots_init(&s, &t->a, travel, 2, NULL);
    if (status == 0) {
        status = hocket__slots_parse(
            &s, HOCKET__STR("{\"day\":1,\"time_slot\":\"night\"}"), &slot, NULL);
        hocket__slots_deinit(&s);
    }
    assert_true(status == 0 || (status == HOCKET_ENOMEM && t->failed));
}

static void test_memory(void **state)
{
    assert_true(test_alloc_each(body, NULL) >= 9);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_travel),
        cmocka_unit_test(test_other_schemas),
        cmocka_unit_test(test_refused),
        cmocka_unit_test(test_range),
        cmocka_unit_test(test_bad_schemas),
        cmocka_unit_test(test_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

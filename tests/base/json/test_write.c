#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "base/json/json.h"
#include "support/alloc.h"

#include <math.h>

struct fixture {
    struct test_alloc t;
    struct hocket__buf b;
};

static int setup(void **state)
{
    static struct fixture f;
    test_alloc_init(&f.t);
    hocket__buf_init(&f.b, &f.t.a, 0);
    *state = &f;
    return 0;
}

static int teardown(void **state)
{
    struct fixture *f = *state;
    hocket__buf_deinit(&f->b);
    test_alloc_check(&f->t);
    return 0;
}

static void write_sample(struct hocket__buf *b)
{
    hocket__jw_open(b, '{');
    hocket__jw_key(b, "id");
    hocket__jw_int(b, INT64_MIN);
    hocket__jw_key(b, "list");
    hocket__jw_open(b, '[');
    hocket__jw_double(b, 0.5);
    hocket__jw_double(b, NAN);
    hocket__jw_bool(b, true);
    hocket__jw_bool(b, false);
    hocket__jw_null(b);
    hocket__jw_open(b, '[');
    hocket__jw_close(b, ']');
    hocket__jw_open(b, '{');
    hocket__jw_close(b, '}');
    hocket__jw_raw(b, HOCKET__STR(" [1, 2]\n"));
    hocket__jw_cstring(b, ",");
    hocket__jw_cstring(b, "");
    hocket__jw_close(b, ']');
    hocket__jw_keystr(b, HOCKET__STR("a\"\0"));
    hocket__jw_string(b, HOCKET__STR("["));
    hocket__jw_key(b, "last");
    hocket__jw_int(b, 1);
    hocket__jw_close(b, '}');
}

#define SAMPLE                                                                                     \
    "{\"id\":-9223372036854775808,\"list\":[0.5,null,true,false,null,[],{},[1, 2],\",\",\"\"],"    \
    "\"a\\\"\\u0000\":\"[\",\"last\":1}"

static void test_commas(void **state)
{
    struct fixture *f = *state;
    write_sample(&f->b);
    assert_int_equal(f->b.status, 0);
    assert_string_equal(f->b.data, SAMPLE);
    assert_int_equal(hocket__json_check(hocket__buf_str(&f->b), NULL), 0);
}

static void test_after_other_text(void **state)
{
    struct fixture *f = *state;
    hocket__buf_adds(&f->b, "data: ");
    hocket__jw_int(&f->b, 1);
    hocket__buf_adds(&f->b, "\n");
    hocket__jw_open(&f->b, '{');
    hocket__jw_close(&f->b, '}');
    assert_string_equal(f->b.data, "data: 1\n{}");
}

static void test_escapes(void **state)
{
    struct fixture *f = *state;
    hocket__jw_string(
        &f->b, HOCKET__STR("\"\\/\b\f\n\r\t\0\x1f\x7f \xE2\x80\xA8 \xF0\x9F\x98\x80"));
    assert_string_equal(
        f->b.data, "\"\\\"\\\\/\\b\\f\\n\\r\\t\\u0000\\u001f\x7f \xE2\x80\xA8 \xF0\x9F\x98\x80\"");
    hocket__buf_reset(&f->b);
    hocket__jw_escape(&f->b, HOCKET__STR("a\"b"));
    assert_string_equal(f->b.data, "a\\\"b");
    hocket__jw_escape(&f->b, HOCKET__STR("c"));
    assert_string_equal(f->b.data, "a\\\"bc");
    hocket__jw_escape(&f->b, hocket__str(NULL, 0));
    assert_string_equal(f->b.data, "a\\\"bc");
}

/* One byte that needs a look, at any place of a text of any length: it is found. */
static void test_every_place(void **state)
{
    struct fixture *f = *state;
    static const char special[] = { '"', '\\', '\n', 0, 0x1f };
    for (size_t n = 1; n <= 50; n++)
        for (size_t at = 0; at < n; at++)
            for (size_t k = 0; k < sizeof(special); k++) {
                char text[50], back[64];
                memset(text, at % 2 ? 0x7f : ' ', n);
                text[at] = special[k];
                hocket__buf_reset(&f->b);
                hocket__jw_string(&f->b, hocket__str(text, n));
                struct hocket__json r;
                hocket__json_init(&r, hocket__buf_str(&f->b));
                assert_int_equal(hocket__json_next(&r), HOCKET__JSON_STRING);
                assert_true(r.escaped);
                struct hocket__buf out = { .data = back, .cap = sizeof(back), .max = 60 };
                assert_int_equal(hocket__json_unescape(r.text, &out), 0);
                assert_int_equal(out.len, n);
                assert_memory_equal(out.data, text, n);
            }
}

/* Texts that grow by what is escaped, and sequences between: room is found while they are written. */
static void test_much_to_escape(void **state)
{
    struct fixture *f = *state;
    static const char *const parts[] = { "\x01", "\n", "a", "\xC3\xA4", "\xE2\x82\xAC", "\"",
        "0123456789abcdef" };
    for (unsigned seed = 1; seed < 400; seed++) {
        struct hocket__buf text, back;
        hocket__buf_init(&text, f->b.a, 0);
        hocket__buf_init(&back, f->b.a, 0);
        for (unsigned n = seed, k = seed; n > 0; n--, k = k * 1103515245 + 12345)
            hocket__buf_adds(&text, parts[seed < 7 ? seed : k / 65536 % 7]);
        hocket__buf_deinit(&f->b);
        hocket__jw_escape(&f->b, hocket__buf_str(&text));
        assert_int_equal(strlen(f->b.data), f->b.len);
        assert_int_equal(hocket__json_unescape(hocket__buf_str(&f->b), &back), 0);
        assert_string_equal(back.data, text.data);
        hocket__buf_deinit(&text);
        hocket__buf_deinit(&back);
    }
}

static void test_invalid_utf8(void **state)
{
    struct fixture *f = *state;
    hocket__jw_string(&f->b, HOCKET__STR("a\xC0\xAF\xE2\x82"
                                         "b\xFF"));
    assert_string_equal(f->b.data, "\"a\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD"
                                   "b\xEF\xBF\xBD\"");
}

/* Whatever the bytes, what is written is JSON and reads back as the same. */
static void test_every_pair_reads_back(void **state)
{
    struct fixture *f = *state;
    struct hocket__buf back;
    hocket__buf_init(&back, &f->t.a, 0);
    for (int a = 0; a < 0x80; a++)
        for (int b = 0; b < 256; b++) {
            char text[12];
            struct hocket__json r;
            memset(text, 'x', sizeof(text));
            text[5] = (char) a;
            text[6] = (char) b;
            hocket__buf_reset(&f->b);
            hocket__buf_reset(&back);
            hocket__jw_string(&f->b, hocket__str(text, sizeof(text)));
            hocket__json_init(&r, hocket__buf_str(&f->b));
            assert_int_equal(hocket__json_next(&r), HOCKET__JSON_STRING);
            assert_int_equal(hocket__json_decode(&r, &back), 0);
            if (b < 0x80)
                assert_memory_equal(back.data, text, sizeof(text));
            assert_int_equal(hocket__json_end(&r, NULL), 0);
        }
    hocket__buf_deinit(&back);
}

static void test_limit(void **state)
{
    struct fixture *f = *state;
    hocket__buf_init(&f->b, &f->t.a, 20);
    write_sample(&f->b);
    assert_int_equal(f->b.status, HOCKET_ELIMIT);
    assert_true(f->b.len <= 20);
}

static void write_under(struct test_alloc *t, void *ud)
{
    struct hocket__buf b;
    hocket__buf_init(&b, &t->a, 0);
    write_sample(&b);
    assert_int_equal(b.status, t->failed ? HOCKET_ENOMEM : 0);
    if (!t->failed)
        assert_string_equal(b.data, SAMPLE);
    hocket__buf_deinit(&b);
}

static void test_out_of_memory(void **state)
{
    assert_true(test_alloc_each(write_under, NULL) > 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_commas, setup, teardown),
        cmocka_unit_test_setup_teardown(test_after_other_text, setup, teardown),
        cmocka_unit_test_setup_teardown(test_escapes, setup, teardown),
        cmocka_unit_test_setup_teardown(test_every_place, setup, teardown),
        cmocka_unit_test_setup_teardown(test_much_to_escape, setup, teardown),
        cmocka_unit_test_setup_teardown(test_invalid_utf8, setup, teardown),
        cmocka_unit_test_setup_teardown(test_every_pair_reads_back, setup, teardown),
        cmocka_unit_test_setup_teardown(test_limit, setup, teardown),
        cmocka_unit_test(test_out_of_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* Any bytes into the reader, the writer, the tree and the numbers. What must hold:
 * - hocket__json_check, tokens one by one, skipping and the tree accept the same texts;
 * - what is accepted prints as JSON that is accepted, equals it, and prints the same again;
 * - a string of any bytes is written as JSON, and reads back as its repaired self;
 * - the tokens' texts lie inside the text;
 * - a double prints as at most 17 digits that read back as the same bits. */
#include "base/json/json.h"
#include "base/num/num.h"
#include "base/utf8.h"

#include <math.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void expect(bool holds)
{
    if (!holds)
        abort();
}

static bool is_inside(struct hocket__str part, struct hocket__str text)
{
    return part.p >= text.p && part.n <= text.n && (size_t) (part.p - text.p) <= text.n - part.n;
}

static void check_token(const struct hocket__json *r, struct hocket__str text)
{
    struct hocket__buf out;
    int64_t i;
    double d = hocket__json_double(r);
    hocket__buf_init(&out, &hocket__malloc, 0);
    if (r->token == HOCKET__JSON_NUMBER)
        expect(!hocket__json_int(r, &i) || d == (double) i);
    if (r->token == HOCKET__JSON_STRING || r->token == HOCKET__JSON_KEY) {
        expect(is_inside(r->text, text));
        expect(hocket__json_decode(r, &out) == 0 && out.len <= r->text.n);
        expect(hocket__utf8_valid(hocket__buf_str(&out).p, out.len) == out.len);
        bool has_nul = memchr(hocket__buf_str(&out).p, 0, out.len) != NULL;
        expect(hocket__json_is(r, hocket__buf_str(&out).p) == !has_nul);
    }
    hocket__buf_deinit(&out);
}

static void check_reader(struct hocket__str text, int expected)
{
    struct hocket__json r, skipping;
    struct hocket__str value;
    enum hocket__json_token token;
    hocket__json_init(&r, text);
    while ((token = hocket__json_next(&r)) != HOCKET__JSON_END && token != HOCKET__JSON_ERROR)
        check_token(&r, text);
    expect(hocket__json_end(&r, NULL) == expected);
    hocket__json_init(&skipping, text);
    int status = hocket__json_skip(&skipping, &value);
    expect(status < 0 || is_inside(value, text));
    expect(hocket__json_end(&skipping, NULL) == expected);
    if (expected == 0)
        expect(hocket__json_check(value, NULL) == 0);
}

/* Members and elements, the way reading functions go about it. */
static void check_members(struct hocket__str text, int expected)
{
    struct hocket__json r;
    struct hocket__str value;
    hocket__json_init(&r, text);
    if (hocket__json_next(&r) == HOCKET__JSON_OBJECT)
        while (hocket__json_key(&r)) {
            if (r.text.n % 2 && hocket__json_want(&r, HOCKET__JSON_ARRAY))
                while (hocket__json_element(&r))
                    hocket__json_want(&r, HOCKET__JSON_NUMBER);
        }
    else
        hocket__json_skip(&r, NULL);
    expect(hocket__json_end(&r, NULL) == expected);
    if (hocket__json_find(text, "a", &value))
        expect(is_inside(value, text) && expected == 0);
}

static void check_tree(struct hocket__str text, int expected)
{
    struct hocket__buf one, two;
    struct hocket_error err;
    hocket_json *v = hocket__tree_parse(text, 0, &err), *again;
    expect((v != NULL) == (expected == 0));
    if (!v)
        return;
    hocket__buf_init(&one, &hocket__malloc, 0);
    hocket__buf_init(&two, &hocket__malloc, 0);
    expect(hocket__tree_print(v, &one) == 0);
    again = hocket__tree_parse(hocket__buf_str(&one), 0, &err);
    expect(again && hocket__tree_equal(v, again) && hocket__tree_equal(again, v));
    expect(hocket__tree_print(again, &two) == 0);
    expect(hocket__str_eq(hocket__buf_str(&one), hocket__buf_str(&two)));
    hocket_json_free(v);
    hocket_json_free(again);
    hocket__buf_deinit(&one);
    hocket__buf_deinit(&two);
}

static void check_string(struct hocket__str text)
{
    struct hocket__buf written, back, repaired;
    struct hocket__json r;
    hocket__buf_init(&written, &hocket__malloc, 0);
    hocket__buf_init(&back, &hocket__malloc, 0);
    hocket__buf_init(&repaired, &hocket__malloc, 0);
    hocket__jw_string(&written, text);
    hocket__json_init(&r, hocket__buf_str(&written));
    expect(hocket__json_next(&r) == HOCKET__JSON_STRING);
    expect(hocket__json_decode(&r, &back) == 0);
    expect(hocket__json_end(&r, NULL) == 0);
    hocket__utf8_repair(&repaired, text.p, text.n);
    expect(hocket__str_eq(hocket__buf_str(&back), hocket__buf_str(&repaired)));
    expect(text.n - hocket__utf8_cut(text.p, text.n) < 4);
    hocket__buf_deinit(&written);
    hocket__buf_deinit(&back);
    hocket__buf_deinit(&repaired);
}

static void check_double(const uint8_t *data, size_t size)
{
    double v, back;
    char text[HOCKET__NUM_MAX];
    bool is_int;
    int64_t i;
    if (size < sizeof(v))
        return;
    memcpy(&v, data, sizeof(v));
    size_t n = hocket__num_print(v, text);
    expect((n > 0) == (isfinite(v) != 0) && n < sizeof(text));
    if (n == 0)
        return;
    expect(hocket__num_scan(hocket__str(text, n), NULL) == n);
    hocket__num_read(hocket__str(text, n), &is_int, &i, &back);
    expect(!is_int && memcmp(&v, &back, sizeof(v)) == 0 && strtod(text, NULL) == v);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct hocket__str text = hocket__str((const char *) data, size);
    int expected = hocket__json_check(text, NULL);
    check_reader(text, expected);
    check_members(text, expected);
    check_tree(text, expected);
    check_string(text);
    check_double(data, size);
    return 0;
}

#include "serve/head.h"

#include "base/alloc.h"
#include "support/alloc.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <cmocka.h>

#define HOST "Host: x\r\n"

/* Looks byte by byte and at the whole: both say the same. 0 (parsed, in *h), a status,
 * or -1 while the end has not come. */
static int read_head(struct hocket__head *h, struct hocket__str in, size_t max)
{
    struct hocket__head_scan whole = { 0 }, steps = { 0 };
    int a = hocket__head_find(&whole, in, max), b = 0;
    for (size_t n = 0; n <= in.n && b == 0; n++)
        b = hocket__head_find(&steps, hocket__str(in.p, n), max);
    assert_int_equal(a, b);
    if (a != 1)
        return a ? a : -1;
    assert_int_equal(whole.at, steps.at);
    return hocket__head_parse(
        h, &hocket__malloc, hocket__str(in.p + whole.start, whole.at - whole.start));
}

static const struct good {
    const char *text, *method, *path;
    bool keep_alive, chunked, expect;
    uint64_t length;
} good[] = {
    { "GET / HTTP/1.1\r\n" HOST "\r\n", "GET", "/", true, false, false, 0 },
    { "\r\n\r\nGET /a?b=%20c HTTP/1.1\r\n" HOST "\r\n", "GET", "/a?b=%20c", true, 0, 0, 0 },
    { "OPTIONS * HTTP/1.1\r\n" HOST "\r\n", "OPTIONS", "*", true, 0, 0, 0 },
    { "BREW /pot HTTP/1.1\r\n" HOST "\r\n", "BREW", "/pot", true, 0, 0, 0 },
    { "GET http://X/p?q HTTP/1.1\r\n" HOST "\r\n", "GET", "/p?q", true, 0, 0, 0 },
    { "GET HTTP://x HTTP/1.1\r\n" HOST "\r\n", "GET", "/", true, 0, 0, 0 },
    { "GET / HTTP/1.0\r\n\r\n", "GET", "/", false, 0, 0, 0 },
    { "GET / HTTP/1.0\r\nConnection: Keep-Alive\r\n\r\n", "GET", "/", true, 0, 0, 0 },
    { "GET / HTTP/1.1\r\n" HOST "connection: x , Close\r\n\r\n", "GET", "/", false, 0, 0, 0 },
    { "GET / HTTP/1.9\r\n" HOST "\r\n", "GET", "/", true, 0, 0, 0 },
    { "POST / HTTP/1.1\r\n" HOST "Content-Length: \t17 \r\n\r\n", "POST", "/", true, 0, 0, 17 },
    { "POST / HTTP/1.1\r\n" HOST "Transfer-Encoding: Chunked\r\n\r\n", "POST", "/", true, true,
        false, 0 },
    { "PUT / HTTP/1.1\r\n" HOST "Expect: 100-Continue\r\ncontent-length:3\r\n\r\n", "PUT", "/",
        true, false, true, 3 },
    { "GET / HTTP/1.1\r\n" HOST "X:\r\nY: \xc3\xa4\tb\r\n\r\n", "GET", "/", true, 0, 0, 0 },
};

static void accepts_what_is_well_formed(void **state)
{
    struct hocket__head h = { 0 };
    for (const struct good *g = good; g < good + sizeof good / sizeof *good; g++) {
        int rc = read_head(&h, hocket__cstr(g->text), 4096);
        if (rc)
            fail_msg("%d for %s", rc, g->text);
        assert_true(hocket__str_is(h.method, g->method));
        assert_true(hocket__str_is(h.path, g->path));
        assert_int_equal(h.keep_alive, g->keep_alive);
        assert_int_equal(h.chunked, g->chunked);
        assert_int_equal(h.expect_continue, g->expect);
        assert_int_equal(h.length, g->length);
    }
    hocket__head_deinit(&h, &hocket__malloc);
}

static void headers_are_trimmed(void **state)
{
    struct hocket__head h = { 0 };
    int rc = read_head(&h, HOCKET__STR("GET / HTTP/1.1\r\nhOst:\t x y \t\r\nA:\r\n\r\n"), 4096);
    assert_int_equal(rc, 0);
    assert_int_equal(h.n_headers, 2);
    assert_true(hocket__str_is(h.headers[0].name, "hOst"));
    assert_true(hocket__str_is(h.headers[0].value, "x y"));
    assert_true(hocket__str_is(h.headers[1].value, ""));
    hocket__head_deinit(&h, &hocket__malloc);
}

static const struct bad {
    int status;
    const char *text;
} bad[] = {
    { 400, "GET / HTTP/1.1\n" },
    { 400, "GET / HTTP/1.1\r\nHost: x\n" },
    { 400, "GET / HTTP/1.1\rx" },
    { 400, "GET / HTTP/1.1\r\r\n" },
    { 400, "\x16\x03\x01" },
    { 400, "\x80 / HTTP/1.1\r\n" HOST "\r\n" },
    { 400, "GET  / HTTP/1.1\r\n" HOST "\r\n" },
    { 400, "GET /  HTTP/1.1\r\n" HOST "\r\n" },
    { 400, " GET / HTTP/1.1\r\n" HOST "\r\n" },
    { 400, "GET / HTTP/1.1 \r\n" HOST "\r\n" },
    { 400, "GET /\r\n" HOST "\r\n" },
    { 400, "GET\r\n" HOST "\r\n" },
    { 400, "GET / http/1.1\r\n" HOST "\r\n" },
    { 400, "GET / HTTP/1.10\r\n" HOST "\r\n" },
    { 400, "GET /a#b HTTP/1.1\r\n" HOST "\r\n" },
    { 400, "GET /\xc3\xa4 HTTP/1.1\r\n" HOST "\r\n" },
    { 400, "GET * HTTP/1.1\r\n" HOST "\r\n" },
    { 400, "GET a HTTP/1.1\r\n" HOST "\r\n" },
    { 400, "GET http:///a HTTP/1.1\r\n" HOST "\r\n" },
    { 400, "GET http://evil/a HTTP/1.1\r\nHost: h\r\n\r\n" },
    { 400, "GET http://h:2/a HTTP/1.1\r\nHost: h:1\r\n\r\n" },
    { 400, "GET http://u@h/a HTTP/1.1\r\nHost: h\r\n\r\n" },
    { 400, "GET / HTTP/1.1\r\n" HOST "Authorization: Bearer a\r\nAuthorization: Bearer b\r\n\r\n" },
    { 400, "GET / HTTP/1.1\r\n" HOST "authorization: Bearer a\r\nAUTHORIZATION: Bearer a\r\n\r\n" },
    { 400, "G(T / HTTP/1.1\r\n" HOST "\r\n" },
    { 400, "GET / HTTP/1.1\r\n\r\n" },
    { 400, "GET / HTTP/1.1\r\n" HOST HOST "\r\n" },
    { 400, "GET / HTTP/1.1\r\n" HOST "X : y\r\n\r\n" },
    { 400, "GET / HTTP/1.1\r\n" HOST "X: y\r\n folded\r\n\r\n" },
    { 400, "GET / HTTP/1.1\r\n" HOST "X\r\n\r\n" },
    { 400, "GET / HTTP/1.1\r\n" HOST ": y\r\n\r\n" },
    { 400, "GET / HTTP/1.1\r\n" HOST "X: a\x01z\r\n\r\n" },
    { 400, "GET / HTTP/1.1\r\n" HOST "X: a\x7f\r\n\r\n" },
    { 400, "POST / HTTP/1.1\r\n" HOST "Content-Length: 5\r\nContent-Length: 5\r\n\r\n" },
    { 400, "POST / HTTP/1.1\r\n" HOST "Content-Length: 5, 5\r\n\r\n" },
    { 400, "POST / HTTP/1.1\r\n" HOST "Content-Length: -5\r\n\r\n" },
    { 400, "POST / HTTP/1.1\r\n" HOST "Content-Length: +5\r\n\r\n" },
    { 400, "POST / HTTP/1.1\r\n" HOST "Content-Length:\r\n\r\n" },
    { 413, "POST / HTTP/1.1\r\n" HOST "Content-Length: 18446744073709551616\r\n\r\n" },
    { 413, "POST / HTTP/1.1\r\n" HOST "Content-Length: 99999999999999999999999\r\n\r\n" },
    { 400, "POST / HTTP/1.1\r\n" HOST "Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n" },
    { 400, "POST / HTTP/1.1\r\n" HOST "Transfer-Encoding: chunked\r\n"
           "Transfer-Encoding: chunked\r\n\r\n" },
    { 400, "POST / HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n" },
    { 501, "POST / HTTP/1.1\r\n" HOST "Transfer-Encoding: gzip, chunked\r\n\r\n" },
    { 417, "POST / HTTP/1.1\r\n" HOST "Expect: a miracle\r\n\r\n" },
    { 505, "PRI * HTTP/2.0\r\n\r\n" },
    { 505, "GET / HTTP/9.9\r\n" HOST "\r\n" },
};

static void refuses_what_can_be_read_in_two_ways(void **state)
{
    struct hocket__head h = { 0 };
    for (const struct bad *r = bad; r < bad + sizeof bad / sizeof *bad; r++) {
        int rc = read_head(&h, hocket__cstr(r->text), 4096);
        if (rc != r->status)
            fail_msg("%d in place of %d for %s", rc, r->status, r->text);
    }
    struct hocket__str nul = HOCKET__STR("GET / HTTP/1.1\r\n" HOST "X: a\0b\r\n\r\n");
    assert_int_equal(read_head(&h, nul, 4096), 400);
    hocket__head_deinit(&h, &hocket__malloc);
}

static void bounds_size_and_count(void **state)
{
    struct hocket__head h = { 0 };
    char text[8192] = "GET / HTTP/1.1\r\n" HOST;
    assert_int_equal(read_head(&h, HOCKET__STR("GET /aaaaaaaaaaaaaaaa"), 16), 414);
    assert_int_equal(read_head(&h, HOCKET__STR("GET / HTTP/1.1\r\nX: aaaaaaaaaaa"), 24), 431);
    assert_int_equal(read_head(&h, HOCKET__STR("\r\n\r\n\r\n\r\n\r\n\r\n"), 8), 414);
    assert_int_equal(read_head(&h, HOCKET__STR("GET / HTTP/1.1\r\n" HOST), 4096), -1);
    for (int i = 1; i < HOCKET__HEAD_MAX_HEADERS; i++)
        strcat(text, "X: y\r\n");
    size_t n = strlen(text);
    strcpy(text + n, "\r\n");
    assert_int_equal(read_head(&h, hocket__cstr(text), sizeof text), 0);
    assert_int_equal(h.n_headers, HOCKET__HEAD_MAX_HEADERS);
    strcpy(text + n, "X: y\r\n\r\n");
    assert_int_equal(read_head(&h, hocket__cstr(text), sizeof text), 431);
    hocket__head_deinit(&h, &hocket__malloc);
}

static void parse_once(struct test_alloc *t, void *ud)
{
    struct hocket__head h = { 0 };
    int rc = hocket__head_parse(
        &h, &t->a, HOCKET__STR("GET / HTTP/1.1\r\n" HOST "A: 1\r\nB: 2\r\nC: 3\r\nD: 4\r\n\r\n"));
    assert_int_equal(rc, t->failed ? HOCKET_ENOMEM : 0);
    hocket__head_deinit(&h, &t->a);
}

static void survives_out_of_memory(void **state)
{
    assert_int_equal(test_alloc_each(parse_once, NULL), 2);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(accepts_what_is_well_formed),
        cmocka_unit_test(headers_are_trimmed),
        cmocka_unit_test(refuses_what_can_be_read_in_two_ways),
        cmocka_unit_test(bounds_size_and_count),
        cmocka_unit_test(survives_out_of_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* Messages of AWS: whole, in any pieces, and lying about their lengths. */
#include "net/eventstream.h"

#include <stdio.h>

#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h>

#include "support/alloc.h"

/* {"foo":"bar"} with the header content-type: application/json, as botocore's own test has it. */
static const unsigned char known[] = { 0x00, 0x00, 0x00, 0x3d, 0x00, 0x00, 0x00, 0x20, 0x07, 0xfd,
    0x83, 0x96, 0x0c, 'c', 'o', 'n', 't', 'e', 'n', 't', '-', 't', 'y', 'p', 'e', 0x07, 0x00, 0x10,
    'a', 'p', 'p', 'l', 'i', 'c', 'a', 't', 'i', 'o', 'n', '/', 'j', 's', 'o', 'n', '{', 0x27, 'f',
    'o', 'o', 0x27, ':', 0x27, 'b', 'a', 'r', 0x27, '}', 0x8d, 0x9c, 0x08, 0xb1 };

struct made {
    struct test_alloc t;
    struct hocket__buf in, seen;
    struct hocket__eventstream s;
    struct hocket_error err;
    int answer;
};

static int on_message(void *ud, const struct hocket__eventstream_message *m)
{
    struct made *k = ud;
    hocket__buf_addf(&k->seen, "%s%.*s=%.*s;", m->failed ? "!" : "", (int) m->type.n, m->type.p,
        (int) m->data.n, m->data.p);
    hocket__buf_addstr(&k->seen, m->said);
    return k->answer;
}

static void open_made(struct made *k, size_t max)
{
    *k = (struct made){ .answer = 0 };
    test_alloc_init(&k->t);
    hocket__buf_init(&k->in, &k->t.a, 0);
    hocket__buf_init(&k->seen, &k->t.a, 0);
    hocket__eventstream_init(&k->s, &k->t.a, max, on_message, k);
}

static void close_made(struct made *k)
{
    hocket__eventstream_deinit(&k->s);
    hocket__buf_deinit(&k->in);
    hocket__buf_deinit(&k->seen);
    test_alloc_check(&k->t);
}

static void add_u32(struct hocket__buf *b, uint32_t v)
{
    char bytes[4] = { (char) (v >> 24), (char) (v >> 16), (char) (v >> 8), (char) v };
    hocket__buf_add(b, bytes, 4);
}

/* A message whose checksums are right, whatever it says of its lengths. */
static void add_frame(struct hocket__buf *b, uint32_t total, uint32_t n_headers,
    struct hocket__str headers, const char *payload)
{
    size_t from = b->len;
    add_u32(b, total);
    add_u32(b, n_headers);
    add_u32(b, hocket__crc32(hocket__str(b->data + from, 8)));
    hocket__buf_addstr(b, headers);
    hocket__buf_adds(b, payload);
    add_u32(b, hocket__crc32(hocket__str(b->data + from, b->len - from)));
}

static void add_message(struct hocket__buf *b, struct hocket__str headers, const char *payload)
{
    add_frame(
        b, (uint32_t) (headers.n + strlen(payload) + 16), (uint32_t) headers.n, headers, payload);
}

#define EVENT(type, n)                                                                             \
    HOCKET__STR("\x0d:message-type\x07\0\x05"                                                      \
                "event\x0b:event-type\x07\0" n type)

static void test_known(void **state)
{
    (void) state;
    struct made k;
    open_made(&k, 1000);
    char copy[sizeof(known)];
    memcpy(copy, known, sizeof(known));
    /* in the original the quotes are single ones, since it is no JSON */
    assert_int_equal(hocket__eventstream_feed(&k.s, copy, sizeof(copy), &k.err), 0);
    assert_int_equal(hocket__eventstream_finish(&k.s, &k.err), 0);
    assert_string_equal(k.seen.data, "={'foo':'bar'};");
    close_made(&k);
}

/* Every kind of header, in each cut of the bytes. */
static void test_pieces(void **state)
{
    (void) state;
    static const struct hocket__str headers =
        HOCKET__STR("\x01"
                    "a\x00\x01"
                    "b\x01\x01"
                    "c\x02x\x01"
                    "d\x03xx\x01"
                    "e\x04xxxx\x01"
                    "f\x05xxxxxxxx\x01"
                    "g\x06\x00\x03xyz\x01"
                    "h\x08xxxxxxxx\x01"
                    "i\x09xxxxxxxxxxxxxxxx\x0d:message-type\x07\x00\x09"
                    "exception\x0f:exception-type"
                    "\x07\x00\x01"
                    "E");
    struct made k;
    for (size_t cut = 0; cut < 100; cut++) {
        open_made(&k, 1000);
        add_message(&k.in, EVENT("one", "\x03"), "{}");
        add_message(&k.in, headers, "{\"message\":1}");
        add_message(&k.in, EVENT("two", "\x03"), "");
        for (size_t at = 0, n; at < k.in.len; at += n) {
            n = cut == 0 ? 1 : at == 0 ? cut : k.in.len - at;
            n = n < k.in.len - at ? n : k.in.len - at;
            assert_int_equal(hocket__eventstream_feed(&k.s, k.in.data + at, n, &k.err), 0);
        }
        assert_int_equal(hocket__eventstream_finish(&k.s, &k.err), 0);
        assert_string_equal(k.seen.data, "one={};!E={\"message\":1};two=;");
        close_made(&k);
    }
}

static void refused(struct made *k, int status, const char *words)
{
    int rc = hocket__eventstream_feed(&k->s, k->in.data, k->in.len, &k->err);
    if (rc == 0)
        rc = hocket__eventstream_finish(&k->s, &k->err);
    assert_int_equal(rc, status);
    assert_non_null(strstr(k->err.message, words));
    assert_int_equal(k->seen.len, 0);
    close_made(k);
}

static void test_lies(void **state)
{
    (void) state;
    struct made k;
    static const struct {
        uint32_t total, headers;
        int status;
        const char *words;
    } lengths[] = {
        { 0, 0, HOCKET_EPROTOCOL, "contradict" },
        { 15, 0, HOCKET_EPROTOCOL, "contradict" },
        { 100, 85, HOCKET_EPROTOCOL, "contradict" },
        { 16, UINT32_MAX, HOCKET_EPROTOCOL, "contradict" },
        { UINT32_MAX, 0, HOCKET_ELIMIT, "longer than 1000000" },
        { 1000001, 0, HOCKET_ELIMIT, "longer than 1000000" },
        { 900000, 131073, HOCKET_ELIMIT, "longer than" },
        { 100, 4, HOCKET_ETRUNCATED, "in the middle of a message" },
    };
    for (size_t i = 0; i < sizeof(lengths) / sizeof(lengths[0]); i++) {
        open_made(&k, 1000000);
        add_frame(&k.in, lengths[i].total, lengths[i].headers, HOCKET__STR(""), "");
        refused(&k, lengths[i].status, lengths[i].words);
    }
    static const struct hocket__str headers[] = { HOCKET__STR("\xff"),
        HOCKET__STR("\x03"
                    "abc"),
        HOCKET__STR("\x01"
                    "a\x0a"),
        HOCKET__STR("\x01"
                    "a\x07\xff\xff"
                    "x"),
        HOCKET__STR("\x01"
                    "a\x07\x00"),
        HOCKET__STR("\x01"
                    "a\x09xxx"),
        HOCKET__STR("\x00\x05"
                    "x") };
    for (size_t i = 0; i < sizeof(headers) / sizeof(headers[0]); i++) {
        open_made(&k, 1000);
        add_message(&k.in, headers[i], "{}");
        refused(&k, HOCKET_EPROTOCOL, "a header goes past its end");
    }
    /* each bit of a message */
    for (size_t bit = 0; bit < sizeof(known) * 8; bit++) {
        open_made(&k, 1000);
        hocket__buf_add(&k.in, (const char *) known, sizeof(known));
        k.in.data[bit / 8] ^= (char) (1 << bit % 8);
        refused(&k, HOCKET_EPROTOCOL, "checksum");
    }
}

/* What the callback gives ends the reading. */
static void test_ends(void **state)
{
    (void) state;
    struct made k;
    open_made(&k, 1000);
    k.answer = HOCKET_EPARSE;
    add_message(&k.in, EVENT("one", "\x03"), "{}");
    add_message(&k.in, EVENT("two", "\x03"), "{}");
    assert_int_equal(hocket__eventstream_feed(&k.s, k.in.data, k.in.len, &k.err), HOCKET_EPARSE);
    assert_string_equal(k.seen.data, "one={};");
    close_made(&k);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_known),
        cmocka_unit_test(test_pieces),
        cmocka_unit_test(test_lies),
        cmocka_unit_test(test_ends),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

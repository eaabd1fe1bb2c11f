/* Texts that are packed by hand; the packer's own are compared in tests/lua/host/check_embed.lua. */
#include "base/unpack.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#define WORDS HOCKET__STR("local function return end\n")

static void check(struct hocket__str packed, const char *text)
{
    size_t n = strlen(text);
    char *out = malloc(n + 1);
    assert_true(hocket__unpack(packed, WORDS, out, n));
    assert_memory_equal(out, text, n);
    free(out);
}

static void test_good(void **state)
{
    (void) state;
    check(HOCKET__STR("\x00"), "");
    check(HOCKET__STR("\x30"
                      "abc"),
        "abc");
    check(HOCKET__STR("\xf0\x01"
                      "0123456789abcdef"),
        "0123456789abcdef");
    check(HOCKET__STR("\x20"
                      "ab"
                      "\x02\x00"
                      "\x00"),
        "ababab"); /* a match in what it makes */
    check(HOCKET__STR("\x01\x1a\x00\x10"
                      "x"),
        "localx");                                      /* from the dictionary */
    check(HOCKET__STR("\x00\x04\x00\x00"), "end\n");    /* … to its end */
    check(HOCKET__STR("\x03\x04\x00\x00"), "end\nend"); /* … and on into the text */
    check(HOCKET__STR("\x1f"
                      "x"
                      "\x01\x00\x01\x00"),
        "xxxxxxxxxxxxxxxxxxxxx"); /* 20 more */
}

/* Every piece of a good one, and every good one with too little or too much room, is refused. */
static void test_bad(void **state)
{
    (void) state;
    static const char packed[] = "\x43"
                                 "abcd"
                                 "\x04\x00\x1f"
                                 "x"
                                 "\x1a\x00\x00\x10"
                                 "y";
    size_t n = sizeof(packed) - 1, len = 0;
    char out[64];
    for (size_t room = 0; room < sizeof(out); room++)
        if (hocket__unpack(hocket__str(packed, n), WORDS, out, room)) {
            assert_int_equal(len, 0);
            len = room;
        }
    assert_int_equal(len, 4 + 7 + 1 + 19 + 1);
    for (size_t cut = 0; cut < n; cut++)
        assert_false(hocket__unpack(hocket__str(packed, cut), WORDS, out, len));
    assert_false(hocket__unpack(HOCKET__STR("\x00\x00\x00\x00"), WORDS, out, 4)); /* no offset */
    assert_false(hocket__unpack(HOCKET__STR("\x00\xff\x00\x00"), WORDS, out, 4)); /* before all */
}

/* What is missing at the end is not taken for zeros, with whatever room that would fill. */
static void test_cut(void **state)
{
    (void) state;
    char out[64];
    assert_false(hocket__unpack(hocket__str("", 0), WORDS, out, 0)); /* no token */
    for (size_t room = 0; room < sizeof(out); room++) {
        assert_false(hocket__unpack(HOCKET__STR("\x40"
                                                "abcd"
                                                "\x04"),
            WORDS, out, room)); /* half an offset */
        assert_false(hocket__unpack(HOCKET__STR("\x40"
                                                "abcd"
                                                "\x04\x00"),
            WORDS, out, room)); /* the token behind a match */
        assert_false(hocket__unpack(HOCKET__STR("\x4f"
                                                "abcd"
                                                "\x04\x00"),
            WORDS, out, room)); /* how long a match is */
        assert_false(hocket__unpack(HOCKET__STR("\xf0"), WORDS, out, room)); /* how many literals */
    }
}

/* Whatever comes, nothing is read or written outside (the sanitizers look). */
static void test_noise(void **state)
{
    (void) state;
    uint64_t seed = 88172645463325252u;
    for (int i = 0; i < 200000; i++) {
        char packed[24], out[100];
        for (size_t k = 0; k < sizeof(packed); k++) {
            seed ^= seed << 13, seed ^= seed >> 7, seed ^= seed << 17;
            packed[k] = (char) (seed >> 20 & (i % 2 ? 0xff : 0x1f));
        }
        hocket__unpack(
            hocket__str(packed, seed % sizeof(packed)), WORDS, out, seed / 64 % sizeof(out));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_good),
        cmocka_unit_test(test_bad),
        cmocka_unit_test(test_cut),
        cmocka_unit_test(test_noise),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

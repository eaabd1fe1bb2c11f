/* Texts that are packed by hand, in codes that are easy to write: each word of a symbol has nine bits, and of
 * a distance six. The packer's own are compared in tests/lua/host/check_embed.lua. */
#include "base/unpack.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#define WORDS         HOCKET__STR("local function return end\n")
#define N_SYMBOLS     310
#define SYMBOL_BITS   9
#define DISTANCE_BITS 6

static struct hocket__unpack_code code;

static int make_code(void **state)
{
    (void) state;
    for (unsigned i = 0; i < 1 << HOCKET__UNPACK_SYMBOL_BITS; i++) {
        unsigned symbol = i % (1 << SYMBOL_BITS);
        code.symbols[i] = (uint16_t) (symbol < N_SYMBOLS ? symbol << 4 | SYMBOL_BITS : 0);
    }
    for (unsigned i = 0; i < 1 << HOCKET__UNPACK_DISTANCE_BITS; i++)
        code.distances[i] = (uint16_t) (i % (1 << DISTANCE_BITS) << 4 | DISTANCE_BITS);
    return 0;
}

struct writer {
    char out[256];
    size_t bits;
};

static void put(struct writer *w, unsigned v, unsigned n)
{
    for (unsigned i = 0; i < n; i++, w->bits++)
        w->out[w->bits / 8] |= (char) ((v >> i & 1) << w->bits % 8);
}

static void put_text(struct writer *w, const char *text)
{
    for (; *text; text++)
        put(w, (unsigned char) *text, SYMBOL_BITS);
}

static void put_number(struct writer *w, unsigned base, unsigned bits, unsigned v)
{
    unsigned lg = 3;
    if (v < 8) {
        put(w, base + v, bits);
        return;
    }
    while (v >> (lg + 1))
        lg++;
    put(w, base + 8 + (lg - 3) * 4 + (v >> (lg - 2) & 3), bits);
    put(w, v & ((1u << (lg - 2)) - 1), lg - 2);
}

static void put_match(struct writer *w, unsigned n, unsigned distance)
{
    put_number(w, 256, SYMBOL_BITS, n - 3);
    put_number(w, 0, DISTANCE_BITS, distance - 1);
}

static struct hocket__str packed(const struct writer *w)
{
    return hocket__str(w->out, (w->bits + 7) / 8);
}

static bool unpack(struct hocket__str from, char *out, size_t n)
{
    return hocket__unpack(from, &code, WORDS, out, n);
}

static void check(const struct writer *w, const char *text)
{
    size_t n = strlen(text);
    char *out = malloc(n + 1);
    assert_true(unpack(packed(w), out, n));
    assert_memory_equal(out, text, n);
    free(out);
}

static void test_bytes(void **state)
{
    (void) state;
    struct writer nothing = { 0 }, w = { 0 };
    check(&nothing, "");
    put_text(&w, "0123456789abcdef");
    check(&w, "0123456789abcdef");
}

static void check_match(const char *before, unsigned n, unsigned distance, const char *text)
{
    struct writer w = { 0 };
    put_text(&w, before);
    put_match(&w, n, distance);
    check(&w, text);
}

static void test_matches(void **state)
{
    (void) state;
    check_match("ab", 4, 2, "ababab"); /* in what it makes */
    check_match("", 5, 26, "local");   /* from the dictionary */
    check_match("", 4, 4, "end\n");    /* … to its end */
    check_match("", 7, 4, "end\nend"); /* … and on into the text */
    check_match("x", 20, 1, "xxxxxxxxxxxxxxxxxxxxx");
    struct writer w = { 0 };
    put_match(&w, 6, 26);
    put_text(&w, "x");
    put_match(&w, 3, 5);
    check(&w, "local xcal");
}

/* Each class has its own number of bits behind it. */
static void test_lengths(void **state)
{
    (void) state;
    static char text[5000], out[sizeof(text)];
    memset(text, 'y', sizeof(text));
    for (unsigned n = 3; n < sizeof(text) - 1; n += 1 + n / 16) {
        struct writer w = { 0 };
        put_text(&w, "y");
        put_match(&w, n, 1);
        assert_true(unpack(packed(&w), out, n + 1));
        assert_memory_equal(out, text, n + 1);
    }
}

static struct writer good(void)
{
    struct writer w = { 0 };
    put_text(&w, "abcd");
    put_match(&w, 19, 4);
    put_match(&w, 4, 30);
    put_text(&w, "y");
    return w;
}

/* Every piece of a good one, and every good one with too little or too much room, is refused. */
static void test_bad(void **state)
{
    (void) state;
    struct writer w = good();
    struct hocket__str all = packed(&w);
    char out[64];
    for (size_t room = 0; room < sizeof(out); room++)
        assert_int_equal(unpack(all, out, room), room == 4 + 19 + 4 + 1);
    for (size_t cut = 0; cut < all.n; cut++)
        for (size_t room = 1; room < sizeof(out); room++)
            assert_false(unpack(hocket__str(all.p, cut), out, room));
    assert_false(unpack(hocket__str(all.p, all.n + 1), out, 28)); /* a byte more */
    w.out[all.n - 1] = (char) (w.out[all.n - 1] | 0x80);
    assert_false(unpack(all, out, 28)); /* what fills the last byte is zeros */
}

static void test_before_all(void **state)
{
    (void) state;
    char out[8];
    struct writer w = { 0 }, word = { 0 };
    put_match(&w, 4, 27);
    assert_false(unpack(packed(&w), out, 4));
    put(&word, N_SYMBOLS, SYMBOL_BITS); /* no symbol */
    assert_false(unpack(packed(&word), out, 1));
}

/* Whatever comes, nothing is read or written outside (the sanitizers look). */
static void test_noise(void **state)
{
    (void) state;
    uint64_t seed = 88172645463325252u;
    for (int i = 0; i < 200000; i++) {
        char noise[24], out[100];
        for (size_t k = 0; k < sizeof(noise); k++) {
            seed ^= seed << 13, seed ^= seed >> 7, seed ^= seed << 17;
            noise[k] = (char) (seed >> 20 & (i % 2 ? 0xff : 0x1f));
        }
        unpack(hocket__str(noise, seed % sizeof(noise)), out, seed / 64 % sizeof(out));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_bytes),
        cmocka_unit_test(test_matches),
        cmocka_unit_test(test_lengths),
        cmocka_unit_test(test_bad),
        cmocka_unit_test(test_before_all),
        cmocka_unit_test(test_noise),
    };
    return cmocka_run_group_tests(tests, make_code, NULL);
}

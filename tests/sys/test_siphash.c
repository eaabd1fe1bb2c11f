#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "sys/siphash.h"

/* The reference implementation's vectors for the texts 00, 00 01, … with the key 00 … 0f. */
static void test_vectors(void **state)
{
    static const struct {
        size_t n;
        unsigned char hash[16];
    } known[] = {
        { 0, { 0xa3, 0x81, 0x7f, 0x04, 0xba, 0x25, 0xa8, 0xe6, 0x6d, 0xf6, 0x72, 0x14, 0xc7, 0x55, 0x02, 0x93 } },
        { 1, { 0xda, 0x87, 0xc1, 0xd8, 0x6b, 0x99, 0xaf, 0x44, 0x34, 0x76, 0x59, 0x11, 0x9b, 0x22, 0xfc, 0x45 } },
        { 2, { 0x81, 0x77, 0x22, 0x8d, 0xa4, 0xa4, 0x5d, 0xc7, 0xfc, 0xa3, 0x8b, 0xde, 0xf6, 0x0a, 0xff, 0xe4 } },
    };
    unsigned char key[16], text[16], out[16];
    for (int i = 0; i < 16; i++)
        key[i] = text[i] = (unsigned char) i;
    for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++) {
        hocket__siphash128(text, known[i].n, key, out);
        assert_memory_equal(out, known[i].hash, 16);
    }
}

static void test_every_byte_counts(void **state)
{
    unsigned char key[16] = { 1 }, text[40] = { 0 }, a[16], b[16];
    for (size_t n = 1; n <= sizeof(text); n++)
        for (size_t i = 0; i < n; i++) {
            hocket__siphash128(text, n, key, a);
            text[i] ^= 1;
            hocket__siphash128(text, n, key, b);
            text[i] ^= 1;
            assert_memory_not_equal(a, b, 16);
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(test_vectors), cmocka_unit_test(test_every_byte_counts) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

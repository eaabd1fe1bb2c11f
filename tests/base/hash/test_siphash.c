/* The reference vectors of SipHash-2-4: key 00 01 … 0f, input 00 01 … of each length. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "base/hash/hash.h"

static void test_vectors(void **state)
{
    static const uint64_t key[2] = { 0x0706050403020100u, 0x0f0e0d0c0b0a0908u };
    static const struct {
        size_t n;
        uint64_t hash;
    } cases[] = { { 0, 0x726fdb47dd0e0e31u }, { 1, 0x74f839c593dc67fdu },
        { 7, 0xab0200f58b01d137u }, { 8, 0x93f5f5799a932462u }, { 15, 0xa129ca6149be45e5u },
        { 63, 0x958a324ceb064572u } };
    char input[64];
    (void) state;
    for (int i = 0; i < 64; i++)
        input[i] = (char) i;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
        assert_true(hocket__siphash(key, hocket__str(input, cases[i].n)) == cases[i].hash);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(test_vectors) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SipHash-2-4: a keyed hash of 64 bits, for tables whose keys strangers choose, and for digests of
 * files that are compared within one process. Not for anything that an attacker with the key would
 * attack: there is sha256.c. */

#include "base/hash/hash.h"

#include "base/bytes.h"

/* Whole trees of files go through here: the few lines below are put in place also where size counts. */
#define IN_PLACE static inline __attribute__((always_inline))

IN_PLACE uint64_t rotate(uint64_t x, int n)
{
    return x << n | x >> (64 - n);
}

IN_PLACE void mix(uint64_t v[4])
{
    v[0] += v[1];
    v[2] += v[3];
    v[1] = rotate(v[1], 13) ^ v[0];
    v[3] = rotate(v[3], 16) ^ v[2];
    v[0] = rotate(v[0], 32);
    v[2] += v[1];
    v[0] += v[3];
    v[1] = rotate(v[1], 17) ^ v[2];
    v[3] = rotate(v[3], 21) ^ v[0];
    v[2] = rotate(v[2], 32);
}

IN_PLACE void take(uint64_t v[4], uint64_t word)
{
    v[3] ^= word;
    mix(v);
    mix(v);
    v[0] ^= word;
}

/* Less than eight bytes, the first one lowest. */
static uint64_t last_word(const char *p, size_t n)
{
    uint64_t word = 0;
    for (size_t i = 0; i < n; i++)
        word |= (uint64_t) (unsigned char) p[i] << (8 * i);
    return word;
}

uint64_t hocket__siphash(const uint64_t key[2], struct hocket__str text)
{
    uint64_t v[4] = { key[0] ^ 0x736f6d6570736575u, key[1] ^ 0x646f72616e646f6du,
        key[0] ^ 0x6c7967656e657261u, key[1] ^ 0x7465646279746573u };
    size_t whole = text.n & ~(size_t) 7;
    for (size_t i = 0; i < whole; i += 8)
        take(v, hocket__read_le64(text.p + i));
    take(v, last_word(text.p + whole, text.n - whole) | (uint64_t) text.n << 56);
    v[2] ^= 0xff;
    for (int i = 0; i < 4; i++)
        mix(v);
    return v[0] ^ v[1] ^ v[2] ^ v[3];
}

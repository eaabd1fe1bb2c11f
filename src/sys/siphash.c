#include "sys/siphash.h"

#include <stdint.h>
#include <string.h>

struct state {
    uint64_t v0, v1, v2, v3;
};

static uint64_t load(const unsigned char *p)
{
    uint64_t v = 0;
    for (int i = 7; i >= 0; i--)
        v = v << 8 | p[i];
    return v;
}

static void store(unsigned char *p, uint64_t v)
{
    for (int i = 0; i < 8; i++, v >>= 8)
        p[i] = (unsigned char) v;
}

static inline uint64_t rotate(uint64_t v, int by)
{
    return v << by | v >> (64 - by);
}

static inline void mix(struct state *s)
{
    s->v0 += s->v1;
    s->v1 = rotate(s->v1, 13) ^ s->v0;
    s->v0 = rotate(s->v0, 32);
    s->v2 += s->v3;
    s->v3 = rotate(s->v3, 16) ^ s->v2;
    s->v0 += s->v3;
    s->v3 = rotate(s->v3, 21) ^ s->v0;
    s->v2 += s->v1;
    s->v1 = rotate(s->v1, 17) ^ s->v2;
    s->v2 = rotate(s->v2, 32);
}

static inline void absorb(struct state *s, uint64_t m)
{
    s->v3 ^= m;
    mix(s);
    mix(s);
    s->v0 ^= m;
}

static uint64_t squeeze(struct state *s)
{
    for (int i = 0; i < 4; i++)
        mix(s);
    return s->v0 ^ s->v1 ^ s->v2 ^ s->v3;
}

void hocket__siphash128(const void *data, size_t n, const unsigned char key[16], unsigned char out[16])
{
    const unsigned char *p = data, *end = p + (n & ~(size_t) 7);
    uint64_t k0 = load(key), k1 = load(key + 8);
    struct state s = { k0 ^ 0x736f6d6570736575, k1 ^ 0x646f72616e646f6d ^ 0xee, k0 ^ 0x6c7967656e657261,
        k1 ^ 0x7465646279746573 };
    for (; p < end; p += 8)
        absorb(&s, load(p));
    unsigned char last[8] = { 0 };
    memcpy(last, p, n & 7);
    last[7] = (unsigned char) n;
    absorb(&s, load(last));
    s.v2 ^= 0xee;
    store(out, squeeze(&s));
    s.v1 ^= 0xdd;
    store(out + 8, squeeze(&s));
}

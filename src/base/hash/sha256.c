/* SHA-256 (FIPS 180-4), in pieces: for names that have to be safe against somebody who wants two
 * texts to have one (texts of a store, generations, exports). Where that is not asked for siphash.c
 * is several times faster. */

#include "base/hash/hash.h"

#define BLOCK 64

static const uint32_t rounds[BLOCK] = { 0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b,
    0x59f111f1, 0x923f82a4, 0xab1c5ed5, 0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74,
    0x80deb1fe, 0x9bdc06a7, 0xc19bf174, 0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f,
    0x4a7484aa, 0x5cb0a9dc, 0x76f988da, 0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3,
    0xd5a79147, 0x06ca6351, 0x14292967, 0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354,
    0x766a0abb, 0x81c2c92e, 0x92722c85, 0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819,
    0xd6990624, 0xf40e3585, 0x106aa070, 0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3,
    0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3, 0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa,
    0xa4506ceb, 0xbef9a3f7, 0xc67178f2 };

static uint32_t rotate(uint32_t x, int n)
{
    return x >> n | x << (32 - n);
}

/* The schedule: the block's sixteen words, and what follows from them. */
static void spread(const uint8_t *block, uint32_t w[BLOCK])
{
    for (int i = 0; i < 16; i++, block += 4)
        w[i] = (uint32_t) block[0] << 24 | (uint32_t) block[1] << 16 | (uint32_t) block[2] << 8
               | block[3];
    for (int i = 16; i < BLOCK; i++) {
        uint32_t a = w[i - 15], b = w[i - 2];
        a = rotate(a, 7) ^ rotate(a, 18) ^ a >> 3;
        b = rotate(b, 17) ^ rotate(b, 19) ^ b >> 10;
        w[i] = w[i - 16] + a + w[i - 7] + b;
    }
}

static void take(uint32_t h[8], const uint8_t *block)
{
    uint32_t w[BLOCK], s[8];
    spread(block, w);
    memcpy(s, h, sizeof(s));
    for (int i = 0; i < BLOCK; i++) {
        uint32_t e = rotate(s[4], 6) ^ rotate(s[4], 11) ^ rotate(s[4], 25),
                 choice = (s[4] & s[5]) ^ (~s[4] & s[6]),
                 a = rotate(s[0], 2) ^ rotate(s[0], 13) ^ rotate(s[0], 22),
                 majority = (s[0] & s[1]) ^ (s[0] & s[2]) ^ (s[1] & s[2]),
                 one = s[7] + e + choice + rounds[i] + w[i];
        memmove(s + 1, s, 7 * sizeof(*s));
        s[4] += one;
        s[0] = one + a + majority;
    }
    for (int i = 0; i < 8; i++)
        h[i] += s[i];
}

void hocket__sha256_init(struct hocket__sha256 *s)
{
    static const uint32_t start[8] = { 0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a, 0x510e527f,
        0x9b05688c, 0x1f83d9ab, 0x5be0cd19 };
    memcpy(s->h, start, sizeof(start));
    s->length = 0;
}

/* Fills the block that was begun; the piece's bytes that went into it. */
static size_t fill(struct hocket__sha256 *s, struct hocket__str piece)
{
    size_t begun = s->length % BLOCK, n = BLOCK - begun;
    if (begun == 0)
        return 0;
    if (n > piece.n)
        n = piece.n;
    memcpy(s->block + begun, piece.p, n);
    if (begun + n == BLOCK)
        take(s->h, s->block);
    return n;
}

void hocket__sha256_add(struct hocket__sha256 *s, struct hocket__str piece)
{
    if (piece.n == 0)
        return;
    size_t at = fill(s, piece);
    for (; piece.n - at >= BLOCK; at += BLOCK)
        take(s->h, (const uint8_t *) piece.p + at);
    if (at < piece.n && (s->length + at) % BLOCK == 0)
        memcpy(s->block, piece.p + at, piece.n - at);
    s->length += piece.n;
}

/* The rest of the text with its end: a bit, zeros, and the length in bits. */
void hocket__sha256_end(struct hocket__sha256 *s, uint8_t out[HOCKET__SHA256])
{
    uint8_t last[2 * BLOCK] = { 0 };
    size_t rest = s->length % BLOCK, n = rest + 9 > BLOCK ? 2 * BLOCK : BLOCK;
    memcpy(last, s->block, rest);
    last[rest] = 0x80;
    for (int i = 0; i < 8; i++)
        last[n - 1 - (size_t) i] = (uint8_t) (s->length * 8 >> 8 * i);
    for (size_t at = 0; at < n; at += BLOCK)
        take(s->h, last + at);
    for (int i = 0; i < HOCKET__SHA256; i++)
        out[i] = (uint8_t) (s->h[i / 4] >> (24 - 8 * (i % 4)));
}

void hocket__sha256(struct hocket__str text, uint8_t out[HOCKET__SHA256])
{
    struct hocket__sha256 s;
    hocket__sha256_init(&s);
    hocket__sha256_add(&s, text);
    hocket__sha256_end(&s, out);
}

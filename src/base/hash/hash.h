/* The two hashes: SipHash where nobody attacks, or where who does not know the key must not foresee
 * it; SHA-256, which is slower, where somebody may choose a text to be taken for another. */
#pragma once

#include "base/str.h"

#include <stdint.h>

/* SipHash-2-4 (Aumasson and Bernstein): a hash that nobody can foresee who does not know the
 * key. For words that are to look random, and be the same again when key and text are. */
uint64_t hocket__siphash(const uint64_t key[2], struct hocket__str text);

#define HOCKET__SHA256 32 /* bytes of a digest */

/* SHA-256 (FIPS 180-4): a digest of which nobody can find two texts. For what is remembered of a
 * content that somebody else may have chosen. */
void hocket__sha256(struct hocket__str text, uint8_t out[HOCKET__SHA256]);

/* The same of a text that comes in pieces. */
struct hocket__sha256 {
    uint32_t h[8];
    uint64_t length;
    uint8_t block[64]; /* of which length % 64 bytes are there */
};
void hocket__sha256_init(struct hocket__sha256 *s);
void hocket__sha256_add(struct hocket__sha256 *s, struct hocket__str piece);
void hocket__sha256_end(struct hocket__sha256 *s, uint8_t out[HOCKET__SHA256]);

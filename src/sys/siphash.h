/* SipHash-2-4 with 128 bits (Aumasson, Bernstein): a hash that cannot be foreseen without the key. */
#pragma once

#include <stddef.h>

void hocket__siphash128(const void *data, size_t n, const unsigned char key[16], unsigned char out[16]);

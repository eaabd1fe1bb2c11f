/* SipHash-2-4 (Aumasson and Bernstein): a hash that nobody can foresee who does not know the
 * key. For words that are to look random, and be the same again when key and text are. */
#pragma once

#include "base/str.h"

#include <stdint.h>

uint64_t hocket__siphash(const uint64_t key[2], struct hocket__str text);

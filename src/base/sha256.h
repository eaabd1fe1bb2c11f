/* SHA-256 (FIPS 180-4): a digest of which nobody can find two texts. For what is remembered of a
 * content that somebody else may have chosen; where nobody attacks, siphash.h is faster. */
#pragma once

#include "base/str.h"

#include <stdint.h>

#define HOCKET__SHA256 32 /* bytes of a digest */

void hocket__sha256(struct hocket__str text, uint8_t out[HOCKET__SHA256]);

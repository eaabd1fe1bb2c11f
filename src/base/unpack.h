/* Texts that the build packed (cmake/embed/): most of a program of scripts would be their words, again and
 * again. A text is written as bytes and matches, against a dictionary that all texts share, in Huffman
 * codes that all texts share, too: so that a text of a kilobyte has no tables of its own. Bits are taken
 * low one first:
 *
 *     symbol       below 256 a byte; above, the class of how long a match is, less 3
 *     rest         bits that tell numbers of one class apart
 *     distance     of a match: the class of how far back it is, less 1; into the dictionary when before the text
 *     rest
 *
 * A class below 8 is the number itself; from there on four classes are between one power of two and the next.
 * Behind the last symbol zeros fill its byte. */
#pragma once

#include "base/str.h"

#include <stdint.h>

#define HOCKET__UNPACK_MIN_MATCH     3
#define HOCKET__UNPACK_SYMBOL_BITS   10 /* of the longest word */
#define HOCKET__UNPACK_DISTANCE_BITS 8

/* What the next bits say: `symbol << 4 | bits of its word`; 0: no word begins like that. */
struct hocket__unpack_code {
    uint16_t symbols[1 << HOCKET__UNPACK_SYMBOL_BITS];
    uint16_t distances[1 << HOCKET__UNPACK_DISTANCE_BITS];
};

/* Unpacks into out[n]. False when `packed` is not the whole of such a text, and nothing else. */
bool hocket__unpack(struct hocket__str packed, const struct hocket__unpack_code *code,
    struct hocket__str dictionary, char *out, size_t n);

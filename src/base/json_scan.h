/* The bytes inside a JSON string that need no look, for the reader and the writer:
 * all of ASCII but control characters, quote and backslash. */
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#define HOCKET__JSON_ONES 0x0101010101010101u

/* Whether all of eight bytes are plain. Subtracting sets the high bit of a byte that was
 * 0 (a quote or backslash, after the xor) or below 0x20; nothing borrows from its
 * neighbour unless one of them is set. */
static inline int hocket__json_word_is_plain(uint64_t w)
{
    uint64_t quote = w ^ HOCKET__JSON_ONES * '"', backslash = w ^ HOCKET__JSON_ONES * '\\';
    uint64_t hit = (w - HOCKET__JSON_ONES * 0x20) | (quote - HOCKET__JSON_ONES)
        | (backslash - HOCKET__JSON_ONES) | w;
    return (hit & HOCKET__JSON_ONES * 0x80) == 0;
}

static inline int hocket__json_is_plain(unsigned char c)
{
    return c >= 0x20 && c < 0x80 && c != '"' && c != '\\';
}

/* The first byte from p on that is not plain, or end. */
static inline const char *hocket__json_plain(const char *p, const char *end)
{
    uint64_t w;
    for (; end - p >= (ptrdiff_t) sizeof(w); p += sizeof(w)) {
        memcpy(&w, p, sizeof(w));
        if (!hocket__json_word_is_plain(w))
            break;
    }
    while (p < end && hocket__json_is_plain((unsigned char) *p))
        p++;
    return p;
}

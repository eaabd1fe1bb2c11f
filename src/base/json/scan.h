/* The bytes inside a JSON string that need no look, for the reader and the writer:
 * all of ASCII but control characters, quote and backslash. */
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#ifdef __SSE2__
#include <emmintrin.h>
#endif

#define HOCKET__JSON_ONES 0x0101010101010101u

/* Marks the bytes of a word that are not plain by their high bits, exactly up to the
 * first. Subtracting sets the high bit of a byte that was 0 (a quote or backslash,
 * after the xor) or below 0x20; a byte past ASCII keeps its own in two of the three at
 * least. Nothing borrows from its neighbour before there is a mark. */
static inline uint64_t hocket__json_marks(uint64_t w)
{
    uint64_t quote = w ^ HOCKET__JSON_ONES * '"', backslash = w ^ HOCKET__JSON_ONES * '\\';
    uint64_t hit = (w - HOCKET__JSON_ONES * 0x20) | (quote - HOCKET__JSON_ONES)
                   | (backslash - HOCKET__JSON_ONES);
    return hit & HOCKET__JSON_ONES * 0x80;
}

static inline int hocket__json_is_plain(unsigned char c)
{
    return c >= 0x20 && c < 0x80 && c != '"' && c != '\\';
}

#ifdef __SSE2__
/* The same of sixteen bytes, a bit for each. As signed numbers those past ASCII are below 0x20 as
 * well. */
static inline unsigned hocket__json_marks_16(const char *p)
{
    __m128i v = _mm_loadu_si128((const __m128i *) p);
    __m128i quote = _mm_cmpeq_epi8(v, _mm_set1_epi8('"')),
            backslash = _mm_cmpeq_epi8(v, _mm_set1_epi8('\\')),
            low = _mm_cmplt_epi8(v, _mm_set1_epi8(0x20));
    return (unsigned) _mm_movemask_epi8(_mm_or_si128(low, _mm_or_si128(quote, backslash)));
}
#endif

/* The first byte from p on that is not plain, or end. */
static inline const char *hocket__json_plain(const char *p, const char *end)
{
    uint64_t w, marks;
#ifdef __SSE2__
    for (unsigned found; end - p >= 16; p += 16)
        if ((found = hocket__json_marks_16(p)) != 0)
            return p + __builtin_ctz(found);
#endif
    for (; end - p >= (ptrdiff_t) sizeof(w); p += sizeof(w)) {
        memcpy(&w, p, sizeof(w));
        marks = hocket__json_marks(w);
        if (marks == 0)
            continue;
#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
        return p + __builtin_ctzll(marks) / 8;
#else
        break; /* its first byte is the last that the subtraction reaches */
#endif
    }
    while (p < end && hocket__json_is_plain((unsigned char) *p))
        p++;
    return p;
}

/* Copies the plain bytes from p on, up to end; returns how many. There is room for all. */
static inline size_t hocket__json_copy_plain(char *out, const char *p, const char *end)
{
    const char *from = p;
#ifdef __SSE2__
    for (unsigned found; end - p >= 16; p += 16) {
        memcpy(out + (p - from), p, 16);
        if ((found = hocket__json_marks_16(p)) != 0)
            return (size_t) (p - from) + (size_t) __builtin_ctz(found);
    }
    for (; p < end && hocket__json_is_plain((unsigned char) *p); p++)
        out[p - from] = *p;
#else
    p = hocket__json_plain(p, end);
    memcpy(out, from, (size_t) (p - from));
#endif
    return (size_t) (p - from);
}

/* Whether all of n bytes are plain: for a short text, whose last bytes it checks together. */
static inline int hocket__json_all_plain(const char *p, size_t n)
{
    uint64_t w;
    uint32_t first, last;
#ifdef __SSE2__
    if (n >= 16) {
        const char *end = p + n - 16;
        for (; p < end; p += 16)
            if (hocket__json_marks_16(p))
                return 0;
        return hocket__json_marks_16(end) == 0;
    }
#endif
    if (n >= sizeof(w)) {
        const char *end = p + n - sizeof(w);
        for (; p < end; p += sizeof(w)) {
            memcpy(&w, p, sizeof(w));
            if (hocket__json_marks(w))
                return 0;
        }
        memcpy(&w, end, sizeof(w));
        return hocket__json_marks(w) == 0;
    }
    if (n >= sizeof(first)) {
        memcpy(&first, p, sizeof(first));
        memcpy(&last, p + n - sizeof(last), sizeof(last));
        return hocket__json_marks(first | (uint64_t) last << 32) == 0;
    }
    while (n > 0 && hocket__json_is_plain((unsigned char) p[n - 1]))
        n--;
    return n == 0;
}

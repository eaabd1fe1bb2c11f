/* What not every C library has for bytes and texts. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* The first place of m bytes in n bytes, NULL: they are not there. Of no bytes that is the beginning. */
#ifdef _WIN32
void *hocket__find(const void *bytes, size_t n, const void *what, size_t m);
#else
static inline void *hocket__find(const void *bytes, size_t n, const void *what, size_t m)
{
    return memmem(bytes, n, what, m);
}
#endif

/* The last place of a character in n bytes, or NULL. */
const char *hocket__find_last(const char *p, char c, size_t n);

/* Whether `word` stands in `text`; ASCII letters of either case are the same. */
bool hocket__has_word(const char *text, const char *word);

/* Overwrites a secret; no compiler leaves it out. */
void hocket__wipe(void *p, size_t n);

/* Eight bytes, the first one lowest. */
static inline uint64_t hocket__read_le64(const void *p)
{
    uint64_t v;
    memcpy(&v, p, sizeof(v));
#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
    v = __builtin_bswap64(v);
#endif
    return v;
}

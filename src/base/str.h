/* A borrowed piece of text: pointer and length, may contain NUL. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <string.h>

#include "base/ascii.h"

struct hocket__str {
    const char *p;
    size_t n;
};

#define HOCKET__STR(literal) ((struct hocket__str){ literal, sizeof(literal) - 1 })

static inline struct hocket__str hocket__str(const char *p, size_t n)
{
    return (struct hocket__str){ p, n };
}

static inline struct hocket__str hocket__cstr(const char *s)
{
    return (struct hocket__str){ s ? s : "", s ? strlen(s) : 0 };
}

static inline bool hocket__str_eq(struct hocket__str a, struct hocket__str b)
{
    return a.n == b.n && (a.n == 0 || memcmp(a.p, b.p, a.n) == 0);
}

static inline bool hocket__str_begins(struct hocket__str s, const char *with)
{
    size_t n = strlen(with);
    return s.n >= n && memcmp(s.p, with, n) == 0;
}

/* Where the blanks of JSON end that begin at `at`. */
static inline size_t hocket__str_blanks(struct hocket__str s, size_t at)
{
    while (at < s.n && hocket__is_space(s.p[at]))
        at++;
    return at;
}

/* With a literal its length is known where this stands, and no function is called. */
static inline bool hocket__str_is(struct hocket__str a, const char *literal)
{
    size_t n = strlen(literal);
    return a.n == n && (n == 0 || memcmp(a.p, literal, n) == 0);
}

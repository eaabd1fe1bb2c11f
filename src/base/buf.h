/* A growing byte buffer with a limit and a sticky status: writers append
 * without checking and look at `status` once, at the end. The content is always
 * followed by a NUL that does not count (when `data` is not NULL). */
#pragma once

#include "base/alloc.h"
#include "base/str.h"

#include <stdarg.h>
#include <string.h>

struct hocket__buf {
    char *data;
    size_t len, cap;
    size_t max; /* bytes; an append past it does nothing and sets HOCKET_ELIMIT */
    int status; /* 0, HOCKET_ENOMEM or HOCKET_ELIMIT; after it appends do nothing */
    const struct hocket_allocator *a;
};

/* max 0: no limit but memory. No allocation happens before the first append. */
void hocket__buf_init(struct hocket__buf *b, const struct hocket_allocator *a, size_t max);
struct hocket__buf hocket__buf(const struct hocket_allocator *a, size_t max);
void hocket__buf_deinit(struct hocket__buf *b); /* frees, back to the state after init */
void hocket__buf_reset(struct hocket__buf *b);  /* empties, keeps the memory, clears status */
/* `to` is freed and gets content and limit of `from`, which is empty afterwards. */
void hocket__buf_move(struct hocket__buf *to, struct hocket__buf *from);
void hocket__buf_shrink(struct hocket__buf *b); /* gives back what is not used */

/* Appends give the status. What is appended must not lie in the buffer itself; buf_addf
 * follows the locale, so numbers with a fraction go through hocket__num_print. */
int hocket__buf_reserve(struct hocket__buf *b, size_t more);
static inline int hocket__buf_add(struct hocket__buf *b, const char *p, size_t n);
int hocket__buf_adds(struct hocket__buf *b, const char *cstring);
static inline int hocket__buf_addstr(struct hocket__buf *b, struct hocket__str s);
static inline int hocket__buf_addc(struct hocket__buf *b, char c);
#define hocket__buf_lit(b, literal) hocket__buf_add(b, literal, sizeof(literal) - 1)
int hocket__buf_addf(struct hocket__buf *b, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));
int hocket__buf_vaddf(struct hocket__buf *b, const char *fmt, va_list ap)
    __attribute__((format(printf, 2, 0)));

/* Removes the first n bytes; moves the rest, so drop many pieces at once. */
void hocket__buf_drop(struct hocket__buf *b, size_t n);
/* Cuts to n bytes. */
void hocket__buf_cut(struct hocket__buf *b, size_t n);
/* The same for appends of which one has failed: it is as before them. */
void hocket__buf_rewind(struct hocket__buf *b, size_t n);

/* Whether n bytes and the NUL go in as it is: what most appends find, so that these stand here.
 * Memory is never more than the limit and the NUL. */
static inline bool hocket__buf_has_room(const struct hocket__buf *b, size_t n)
{
    return b->status == 0 && n < b->cap && b->len < b->cap - n;
}

static inline int hocket__buf_add(struct hocket__buf *b, const char *p, size_t n)
{
    if (!hocket__buf_has_room(b, n) && hocket__buf_reserve(b, n) < 0)
        return b->status;
    if (n > 0)
        memcpy(b->data + b->len, p, n);
    b->len += n;
    b->data[b->len] = 0;
    return 0;
}

static inline int hocket__buf_addstr(struct hocket__buf *b, struct hocket__str s)
{
    return hocket__buf_add(b, s.p, s.n);
}

static inline int hocket__buf_addc(struct hocket__buf *b, char c)
{
    if (!hocket__buf_has_room(b, 1) && hocket__buf_reserve(b, 1) < 0)
        return b->status;
    b->data[b->len++] = c;
    b->data[b->len] = 0;
    return 0;
}

static inline struct hocket__str hocket__buf_str(const struct hocket__buf *b)
{
    return hocket__str(b->data ? b->data : "", b->len);
}

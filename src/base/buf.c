/* Text that grows and keeps its first failure: writers append without looking, and whoever
 * needs the text asks once, at the end. It ends with a NUL that does not count.
 *
 * `max` bounds what strangers may make it grow to; a buffer without memory of its own is valid and
 * empty, and is what a failed one becomes when it is reset. */
#include "base/buf.h"

#include <stdio.h>

#define MAX_EVER (SIZE_MAX / 2) /* keeps every sum of lengths from overflowing */

struct hocket__buf hocket__buf(const struct hocket_allocator *a, size_t max)
{
    return (struct hocket__buf){ .a = a, .max = max && max < MAX_EVER ? max : MAX_EVER };
}

void hocket__buf_init(struct hocket__buf *b, const struct hocket_allocator *a, size_t max)
{
    *b = hocket__buf(a, max);
}

void hocket__buf_deinit(struct hocket__buf *b)
{
    hocket__free(b->a, b->data, b->cap);
    hocket__buf_init(b, b->a, b->max);
}

void hocket__buf_reset(struct hocket__buf *b)
{
    hocket__buf_cut(b, 0);
    b->status = 0;
}

void hocket__buf_move(struct hocket__buf *to, struct hocket__buf *from)
{
    hocket__buf_deinit(to);
    *to = *from;
    hocket__buf_init(from, from->a, from->max);
}

void hocket__buf_shrink(struct hocket__buf *b)
{
    if (b->len == 0) {
        int status = b->status;
        hocket__buf_deinit(b);
        b->status = status;
    } else if (b->len + 1 < b->cap) {
        char *p = hocket__resize(b->a, b->data, b->cap, b->len + 1);
        if (p) {
            b->data = p;
            b->cap = b->len + 1;
        }
    }
}

static int fail(struct hocket__buf *b, int status)
{
    if (b->status == 0)
        b->status = status;
    return b->status;
}

/* Doubles, so that appends cost constant time each, but not past the limit; the NUL has
 * its byte. */
int hocket__buf_reserve(struct hocket__buf *b, size_t more)
{
    if (b->status < 0)
        return b->status;
    if (more > b->max || b->len > b->max - more)
        return fail(b, HOCKET_ELIMIT);
    size_t need = b->len + more + 1;
    if (need <= b->cap)
        return 0;
    size_t want = b->cap < 32 ? 64 : b->cap * 2;
    if (want > b->max)
        want = b->max + 1;
    if (want < need)
        want = need;
    char *p = hocket__resize(b->a, b->data, b->cap, want);
    if (!p)
        return fail(b, HOCKET_ENOMEM);
    b->data = p;
    b->cap = want;
    return 0;
}

int hocket__buf_adds(struct hocket__buf *b, const char *cstring)
{
    return hocket__buf_add(b, cstring, strlen(cstring));
}

int hocket__buf_vaddf(struct hocket__buf *b, const char *fmt, va_list ap)
{
    va_list again;
    va_copy(again, ap);
    int n = vsnprintf(NULL, 0, fmt, ap);
    if (n >= 0 && hocket__buf_reserve(b, (size_t) n) == 0) {
        vsnprintf(b->data + b->len, (size_t) n + 1, fmt, again);
        b->len += (size_t) n;
    }
    va_end(again);
    return n < 0 ? fail(b, HOCKET_EINVAL) : b->status;
}

int hocket__buf_addf(struct hocket__buf *b, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    int status = hocket__buf_vaddf(b, fmt, ap);
    va_end(ap);
    return status;
}

void hocket__buf_drop(struct hocket__buf *b, size_t n)
{
    if (n >= b->len) {
        hocket__buf_cut(b, 0);
    } else if (n > 0) {
        memmove(b->data, b->data + n, b->len - n + 1);
        b->len -= n;
    }
}

void hocket__buf_cut(struct hocket__buf *b, size_t n)
{
    if (n < b->len)
        b->len = n;
    if (b->data)
        b->data[b->len] = 0;
}

void hocket__buf_rewind(struct hocket__buf *b, size_t n)
{
    hocket__buf_cut(b, n);
    b->status = 0;
}

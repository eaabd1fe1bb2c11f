/* Keeps the beginning and the end of an output, of any length, in bounded memory. The head is filled
 * first; behind it a window moves. The window is shortened when it has twice the size that is kept, so
 * that each byte is moved once on average. */
#include "os/capture.h"

void hocket__capture_init(
    struct hocket__capture *c, const struct hocket_allocator *a, size_t head_max, size_t tail_max)
{
    *c = (struct hocket__capture){ .tail_max = tail_max };
    hocket__buf_init(&c->head, a, head_max);
    hocket__buf_init(&c->tail, a, 2 * tail_max);
}

void hocket__capture_deinit(struct hocket__capture *c)
{
    hocket__buf_deinit(&c->head);
    hocket__buf_deinit(&c->tail);
}

static size_t to_head(struct hocket__capture *c, const char *p, size_t n)
{
    size_t room = c->head.max - c->head.len;
    if (n > room)
        n = room;
    if (n == 0 || hocket__buf_add(&c->head, p, n) < 0)
        return 0;
    return n;
}

static void keep_last(struct hocket__buf *b, size_t n)
{
    if (b->len > n)
        hocket__buf_drop(b, b->len - n);
}

void hocket__capture_add(struct hocket__capture *c, const char *p, size_t n)
{
    c->total += n;
    size_t taken = to_head(c, p, n);
    p += taken;
    n -= taken;
    if (n > c->tail_max) {
        p += n - c->tail_max;
        n = c->tail_max;
    }
    if (c->tail.len + n > c->tail.max)
        keep_last(&c->tail, c->tail_max - n);
    if (n > 0)
        hocket__buf_add(&c->tail, p, n);
}

uint64_t hocket__capture_finish(struct hocket__capture *c)
{
    keep_last(&c->tail, c->tail_max);
    return c->total - c->head.len - c->tail.len;
}

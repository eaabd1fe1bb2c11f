/* What could not be sent yet. Mostly a socket takes everything at once: then nothing is copied
 * here.
 *
 * Bounded by what the server allows for one connection; a push that does not fit is refused whole,
 * so that an answer is never cut in its middle by us. */
#include "serve/outq.h"

#include "os/tcp.h"

#define KEEP 65536 /* a larger buffer is given back when it is empty */

void hocket__outq_init(struct hocket__outq *q, const struct hocket_allocator *a, size_t max)
{
    hocket__buf_init(&q->buf, a, 0);
    q->buf.max = max;
    q->sent = 0;
}

void hocket__outq_deinit(struct hocket__outq *q)
{
    hocket__buf_deinit(&q->buf);
    q->sent = 0;
}

/* How many bytes went: 0 when the socket is full; EIO. */
static int64_t send_now(int fd, const uv_buf_t *pieces, size_t n)
{
    int64_t sent = hocket__tcp_write(fd, pieces, n);
    return sent >= 0 ? sent : sent == UV_EAGAIN ? 0 : HOCKET_EIO;
}

static void compact(struct hocket__outq *q)
{
    if (q->sent == q->buf.len) {
        q->sent = 0;
        hocket__buf_cut(&q->buf, 0);
        if (q->buf.cap > KEEP)
            hocket__buf_deinit(&q->buf);
    } else if (q->sent > q->buf.len / 2) { /* so that moving costs no more than sending did */
        hocket__buf_drop(&q->buf, q->sent);
        q->sent = 0;
    }
}

int hocket__outq_flush(struct hocket__outq *q, int fd)
{
    if (hocket__outq_len(q) == 0)
        return 0;
    uv_buf_t piece = { .base = q->buf.data + q->sent, .len = hocket__outq_len(q) };
    int64_t n = send_now(fd, &piece, 1);
    if (n < 0)
        return (int) n;
    q->sent += (size_t) n;
    compact(q);
    return 0;
}

/* Queues the pieces without their first `gone` bytes. */
static int keep(struct hocket__outq *q, const uv_buf_t *pieces, size_t n, size_t gone)
{
    size_t max = q->buf.max;
    q->buf.max = SIZE_MAX; /* the limit was checked, without what is sent already */
    for (size_t i = 0; i < n; i++) {
        size_t skip = gone < pieces[i].len ? gone : pieces[i].len;
        gone -= skip;
        hocket__buf_add(&q->buf, (const char *) pieces[i].base + skip, pieces[i].len - skip);
    }
    q->buf.max = max;
    return q->buf.status;
}

int hocket__outq_push(
    struct hocket__outq *q, int fd, const uv_buf_t *pieces, size_t n, size_t spare)
{
    size_t taken = hocket__outq_len(q) + spare;
    size_t total = 0, room = q->buf.max > taken ? q->buf.max - taken : 0;
    for (size_t i = 0; i < n; i++) {
        if (pieces[i].len > room - total)
            return HOCKET_ELIMIT;
        total += pieces[i].len;
    }
    int64_t gone = hocket__outq_len(q) == 0 ? send_now(fd, pieces, n) : 0;
    if (gone < 0)
        return (int) gone;
    return (size_t) gone == total ? 0 : keep(q, pieces, n, (size_t) gone);
}

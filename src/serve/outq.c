/* What could not be sent yet. Mostly a socket takes everything at once: then nothing is copied
 * here.
 *
 * Bounded by what the server allows for one connection; a push that does not fit is refused whole,
 * so that an answer is never cut in its middle by us. */
#include "serve/outq.h"

#include <errno.h>
#include <sys/socket.h>

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
static int64_t send_now(int fd, struct iovec *iov, size_t n)
{
    struct msghdr msg = { .msg_iov = iov, .msg_iovlen = n };
    ssize_t r;
    do
        r = sendmsg(fd, &msg, MSG_NOSIGNAL | MSG_DONTWAIT);
    while (r < 0 && errno == EINTR);
    if (r >= 0)
        return r;
    return errno == EAGAIN || errno == EWOULDBLOCK || errno == ENOBUFS ? 0 : HOCKET_EIO;
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
    struct iovec iov = { q->buf.data + q->sent, hocket__outq_len(q) };
    int64_t n = send_now(fd, &iov, 1);
    if (n < 0)
        return (int) n;
    q->sent += (size_t) n;
    compact(q);
    return 0;
}

/* Queues the pieces without their first `gone` bytes. */
static int keep(struct hocket__outq *q, const struct iovec *pieces, size_t n, size_t gone)
{
    size_t max = q->buf.max;
    q->buf.max = SIZE_MAX; /* the limit was checked, without what is sent already */
    for (size_t i = 0; i < n; i++) {
        size_t skip = gone < pieces[i].iov_len ? gone : pieces[i].iov_len;
        gone -= skip;
        hocket__buf_add(
            &q->buf, (const char *) pieces[i].iov_base + skip, pieces[i].iov_len - skip);
    }
    q->buf.max = max;
    return q->buf.status;
}

int hocket__outq_push(
    struct hocket__outq *q, int fd, const struct iovec *pieces, size_t n, size_t spare)
{
    struct iovec iov[HOCKET__OUTQ_PIECES];
    size_t taken = hocket__outq_len(q) + spare;
    size_t total = 0, room = q->buf.max > taken ? q->buf.max - taken : 0;
    for (size_t i = 0; i < n; i++) {
        iov[i] = pieces[i];
        if (pieces[i].iov_len > room - total)
            return HOCKET_ELIMIT;
        total += pieces[i].iov_len;
    }
    int64_t gone = hocket__outq_len(q) == 0 ? send_now(fd, iov, n) : 0;
    if (gone < 0)
        return (int) gone;
    return (size_t) gone == total ? 0 : keep(q, pieces, n, (size_t) gone);
}

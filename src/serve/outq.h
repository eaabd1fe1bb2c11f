/* Bytes on their way to a socket: sent at once as far as the kernel takes them, the rest
 * kept in order up to a limit. Never raises SIGPIPE. */
#pragma once

#include "base/buf.h"

#include <uv.h>

struct hocket__outq {
    struct hocket__buf buf;
    size_t sent; /* bytes at the front of buf that are gone */
};

void hocket__outq_init(struct hocket__outq *q, const struct hocket_allocator *a, size_t max);
void hocket__outq_deinit(struct hocket__outq *q);

static inline size_t hocket__outq_len(const struct hocket__outq *q)
{
    return q->buf.len - q->sent;
}

/* Sends or queues all of the n pieces, or nothing of them; leaves
 * `spare` bytes of the limit for what has to follow. 0; ELIMIT, nothing was done; EIO,
 * the peer is gone; ENOMEM, a part may have been sent. */
int hocket__outq_push(
    struct hocket__outq *q, int fd, const uv_buf_t *pieces, size_t n, size_t spare);
/* Sends what the kernel takes now: 0 or EIO. */
int hocket__outq_flush(struct hocket__outq *q, int fd);

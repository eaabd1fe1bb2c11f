/* Bytes on their way to a socket: sent at once as far as the kernel takes them, the rest
 * kept in order up to a limit. Never raises SIGPIPE. */
#pragma once

#include "base/buf.h"

#include <uv.h>

struct hocket__outq {
    struct hocket__buf buf;
    size_t sent; /* bytes at the front of buf that are gone */
};

static inline size_t hocket__outq_len(const struct hocket__outq *q)
{
    return q->buf.len - q->sent;
}

/* What a client of the proxy wants, out of its first bytes: a tunnel (CONNECT), a request over plain HTTP
 * (an address in the place of the path), or a tunnel by SOCKS5 (RFC 1928). No I/O.
 *
 * Of plain HTTP one request is taken of a connection and passed on under a head of our own: the host
 * that was decided about is the one that is written there, what is between two machines alone
 * (Connection and the like) is left out, and of what follows only the body as long as it was said to
 * be. So nothing behind it is read as another request. */
#pragma once

#include "base/buf.h"
#include "serve/head.h"
#include "serve/proxy/authority.h"

enum hocket__wish_kind {
    HOCKET__WISH_UNKNOWN,
    HOCKET__WISH_TUNNEL,
    HOCKET__WISH_PLAIN,
    HOCKET__WISH_SOCKS
};

struct hocket__wish { /* zeroed at the start */
    enum hocket__wish_kind kind;
    struct hocket__authority to;
    uint64_t body; /* bytes of a plain request that are still to come from the client */
    bool greeted;  /* SOCKS: the first of its two messages was answered */
    struct hocket__head_scan scan;
    struct hocket__head head;
};

/* Reads on in what the client has sent. 1: `to` is known, and `in` holds what is to be sent there;
 * 0: more is needed; an HTTP status from 400 on: refuse it with that; or ENOMEM. What has to be said at
 * once is appended to `out`. */
int hocket__wish_read(struct hocket__wish *w, const struct hocket_allocator *a,
    struct hocket__buf *in, struct hocket__buf *out);

/* Appends that the way is open; nothing for a plain request, which the other side answers. */
void hocket__wish_grant(const struct hocket__wish *w, struct hocket__buf *out);
/* Appends that it is not, and why, in one line. */
void hocket__wish_refuse(
    const struct hocket__wish *w, int status, const char *why, struct hocket__buf *out);

void hocket__wish_deinit(struct hocket__wish *w, const struct hocket_allocator *a);

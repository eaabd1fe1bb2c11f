/* Parses a client's request to the proxy from its first bytes: a tunnel (CONNECT), a request over plain HTTP
 * (an address in place of the path), or a tunnel by SOCKS5 (RFC 1928). No I/O.
 *
 * A connection carries one plain HTTP request, which is passed on under a head of our own. That names the host
 * that the decision was about and leaves out hop-by-hop fields (Connection and the like). Only the declared
 * length of the body follows, so no server reads further bytes as another request. */
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

/* Parses further bytes of the client. 1: `to` is known, and `in` holds the bytes to send there;
 * 0: more is needed; an HTTP status from 400 on: refuse it with that; or ENOMEM. Appends an immediate
 * answer to `out`. */
int hocket__wish_read(struct hocket__wish *w, const struct hocket_allocator *a,
    struct hocket__buf *in, struct hocket__buf *out);

/* Appends the answer that the tunnel is open; nothing for a plain request, which the other side answers. */
void hocket__wish_grant(const struct hocket__wish *w, struct hocket__buf *out);
/* Appends a refusal with its reason, in one line. */
void hocket__wish_refuse(
    const struct hocket__wish *w, int status, const char *why, struct hocket__buf *out);

void hocket__wish_deinit(struct hocket__wish *w, const struct hocket_allocator *a);

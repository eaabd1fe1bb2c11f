/* A proxy that knows where programs may go. It accepts connections from a given socket, which is usually
 * the only thing in a network of a program's own, and connects them to the network of this process
 * where rules allow it.
 *
 *   accept ─> head ─> named? ──────────────> look up ─> connect ─> relay ─> closed
 *               │       └─ on_question … answer ┘ │         │
 *               └ 400     └ 403                   └ 403     └ 502
 *
 * Guarantees: it connects only to the address that it has checked, and looks up a name once. It refuses
 * a name that leads to addresses that are not public, unless a rule allows that (host rules with
 * `inside`, or a rule that names the address). Limits: connections at once, bytes of a head, seconds
 * for a head, for a connection and without a byte. Callbacks run only from the loop, and must not call
 * these functions. No SIGPIPE, no globals, descriptors are close-on-exec. */
#pragma once

#include "base/str.h"
#include "base/status.h"

#include <stdbool.h>
#include <stdint.h>

typedef struct uv_loop_s uv_loop_t;
struct sockaddr;
struct hocket__proxy;

struct hocket__proxy_handler {
    /* A program asks for a place that no rule names. Answer with hocket__proxy_answer, or never. NULL:
     * it is refused. */
    void (*on_question)(void *ud, uint64_t id, const char *host, int port);
    /* A connection was refused: `why` is a phrase. May be NULL. */
    void (*on_refused)(void *ud, const char *host, int port, const char *why);
};

struct hocket__proxy_options {
    const struct hocket_allocator *alloc; /* outlives the proxy */
    uv_loop_t *loop;
    bool (*is_public)(const struct sockaddr *to); /* the addresses that everybody may be sent to */
    size_t max_connections;                       /* at once, others wait; 0: 64 */
    int head_ms;                                  /* for what a client wants; 0: 10 s */
    int connect_ms;                               /* to look up and to connect; 0: 30 s */
    int idle_ms;                                  /* without a byte; 0: 10 min */
    struct hocket__proxy_handler handler;
    void *ud;
};

/* On success it has to be closed. ENOMEM, EIO. */
int hocket__proxy_new(
    const struct hocket__proxy_options *o, struct hocket__proxy **out, struct hocket_error *err);

/* One more place where programs may go (authority.h); `inside`: also when it leads to an address that
 * is not public. EINVAL, ENOMEM. */
int hocket__proxy_name(
    struct hocket__proxy *p, struct hocket__str rule, bool inside, struct hocket_error *err);

/* Takes over a socket that listens. It has one at most: a further one is closed. */
void hocket__proxy_listen(struct hocket__proxy *p, int fd);

/* Answers a question. An answer to a connection that has gone is ignored. */
void hocket__proxy_answer(struct hocket__proxy *p, uint64_t id, bool allowed);

/* Cuts all connections. Only `on_closed` (may be NULL) runs after it returned: from the loop, once,
 * when nothing is left there and the proxy is freed. */
void hocket__proxy_close(struct hocket__proxy *p, void (*on_closed)(void *ud), void *ud);

/* A small HTTP/1.1 server on the caller's event loop, with TLS where it has a
 * certificate: the scripted model and `hocket serve` are served by it.
 *
 * An actor: answers go in by request id, requests and disconnections come out. Its
 * callbacks run from the loop only, never inside one of the functions below. Any of the
 * functions may be called from inside a callback.
 *
 *             ┌───────────────────── keep-alive ─────────────────────┐
 *   accept ─> head ─> body ─> on_request … respond ──────────> flush ┴> drain ─> closed
 *              │        │        │   └ begin, write…, finish ─┘  │
 *              └ 4xx ───┴────────┼── abort: cut at once ─────────┘
 *                                └── the client goes: on_closed
 *
 * Guarantees: one request of a connection is open at a time, pipelined ones wait; a
 * fragment is handed to the kernel before write returns (no Nagle delay), or stands in
 * a queue with a limit; a request whose framing is in doubt is never guessed at; after
 * the close callback nothing is left in the loop, on the heap or open. Not process-wide
 * in anything: no signal handler, no SIGPIPE (MSG_NOSIGNAL), close-on-exec sockets, no
 * output, no globals. Upgrades (WebSocket, h2c) are not offered: the header is ignored.
 *
 * Why it is written here: libwebsockets 4.1.6 was tried on a foreign libuv loop. It is
 * fast enough, flushes each write and closes cleanly with streams open, but
 * - a chunked request body is handed over with its framing undecoded and is not
 *   completed: the next request on the connection becomes part of it;
 * - a POST with two GETs sent right behind it got five answers for three requests;
 * - two unlike Content-Length lines, and one beside Transfer-Encoding, are accepted; a
 *   negative length gets no answer; malformed requests get a 403 page or nothing;
 * - creating a context sets SIGPIPE to be ignored for the whole process, and leaves it so
 *   at the end; log sink and allocator are process-wide, without a user pointer;
 * - nothing tells when the context may be freed: a second destroy has to be called after
 *   its handles have left the loop.
 * Its raw mode would avoid the first three, and is no more than a socket. */
#pragma once

#include "base/status.h"
#include "base/str.h"

typedef struct uv_loop_s uv_loop_t;

struct hocket__server; /* the actor */

struct hocket__server_header {
    struct hocket__str name, value;
};

/* Everything in it is valid until on_request returns. */
struct hocket__server_request {
    uint64_t id;                                 /* never 0, never used again by this server */
    struct hocket__str method;                   /* as sent; methods are case-sensitive */
    struct hocket__str path;                     /* "/v1/models?x=1", undecoded; "*" for OPTIONS */
    struct hocket__str body;                     /* whole, without chunk framing */
    const struct hocket__server_header *headers; /* in order, names as sent */
    size_t n_headers;
};

struct hocket__server_handler {
    /* A whole request has come. It stays open until it is answered, aborted or closed. */
    void (*on_request)(void *ud, const struct hocket__server_request *request);
    /* The client went away, or did not read for idle_ms, before the answer was finished;
     * the id is no longer valid. A client that shuts down its sending side counts as
     * gone. Runs at most once per request; not after finish, respond, abort or
     * hocket__server_close. May be NULL. */
    void (*on_closed)(void *ud, uint64_t id);
    /* What was queued for this open request has been taken by the kernel. May be NULL. */
    void (*on_drained)(void *ud, uint64_t id);
};

struct hocket__server_options {
    const struct hocket_allocator *alloc; /* outlives the server */
    uv_loop_t *loop;                      /* never stopped or closed by the server */
    const char *address;                  /* a numeric address; NULL: "127.0.0.1" */
    int port;                             /* 0: any that is free */
    int fd; /* 0, or 1 more than a socket that listens already: taken over in place of both */
    const char *cert, *key_file; /* of TLS, both or none: files in PEM (serve/tls/tls.h) */
    size_t max_header;           /* bytes of a request's head; 0: 64 KiB */
    size_t max_body;             /* bytes of a decoded body; 0: 32 MiB */
    /* What a client brings as `Authorization: Bearer KEY` or `X-Api-Key: KEY`; copied. Of who does not a body has
     * max_stranger bytes (0: 64 KiB), so that strangers cannot fill the memory; whether such a request is
     * answered is the handler's to say. p NULL: all are alike. */
    struct hocket__str key;
    size_t max_stranger;
    size_t max_queue;       /* bytes of one answer not yet taken by the kernel; 0: 8 MiB */
    size_t max_connections; /* 0: 1024; a further one is answered 503 */
    int idle_ms;            /* between requests, for a head, between two pieces of a body, for a
                             * client that does not read; 0: 60 s. An answer may take any time. A
                             * body has to come with 1 KiB a second beyond that. */
    int64_t (*clock)(void); /* seconds since 1970, for Date; NULL: it has no clock, and says none */
    const struct hocket__server_handler *handler; /* copied */
    void *ud;
    hocket_log_cb log_cb; /* NULL: nothing is logged */
    void *log_ud;
};

/* Listens. On success the server has to be closed. Fails with ENOMEM, EINVAL (address,
 * port), EEXIST (the port is taken), EDENIED, EIO, and as hocket__tls_new does. */
int hocket__server_new(
    const struct hocket__server_options *o, struct hocket__server **out, struct hocket_error *err);

int hocket__server_port(const struct hocket__server *s);

/* Reads certificate and key again; where that fails those before stay. It is done by itself when one of the files
 * has changed. ESTATE: the server has none; else as hocket__tls_new. */
int hocket__server_refresh(struct hocket__server *s, struct hocket_error *err);
/* Whether it has a certificate for that host, a name or an address without a port. */
bool hocket__server_certified(const struct hocket__server *s, struct hocket__str host);

/* Connections that are open now. */
size_t hocket__server_connections(const struct hocket__server *s);

/* Cuts all connections and stops listening; no callback but `on_closed` (may be NULL)
 * runs after it returned: from the loop, once, when nothing is left there and the server
 * is freed. A further call does nothing. */
void hocket__server_close(struct hocket__server *s, void (*on_closed)(void *ud), void *ud);

/* Stops listening; connections that are open stay, and are closed when their answers are given. */
void hocket__server_mute(struct hocket__server *s);

/* ---- Answers ------------------------------------------------------------------
 * All return 0 or
 *   ECLOSED  no open request has this id (answered, aborted, or the client is gone)
 *   ESTATE   not now: a second begin, a write before begin, respond after begin
 *   EINVAL   a status outside 200…599, a header that breaks the line, or one that the
 *            server sets itself (content-length, transfer-encoding)
 *   ELIMIT   it would exceed max_queue; nothing of it was queued, the request is as before
 *   ENOMEM   the connection is cut; on_closed follows */

/* A whole answer. For HEAD, 204 and 304 the body is left out. */
int hocket__server_respond(struct hocket__server *s, uint64_t id, int status,
    const struct hocket__server_header *headers, size_t n_headers, struct hocket__str body);

/* A streamed answer: chunked, or ended by the connection's end for an HTTP/1.0 client.
 * The head goes out at once. An empty write does nothing. */
int hocket__server_begin(struct hocket__server *s, uint64_t id, int status,
    const struct hocket__server_header *headers, size_t n_headers);
int hocket__server_write(struct hocket__server *s, uint64_t id, struct hocket__str bytes);
int hocket__server_finish(struct hocket__server *s, uint64_t id);

/* For faults: bytes that go to the socket as they are, before begin, between writes, or
 * in place of them. The connection is not used again; finish without a begin only ends
 * it. */
int hocket__server_raw(struct hocket__server *s, uint64_t id, struct hocket__str bytes);

enum hocket__server_cut {
    HOCKET__SERVER_RESET, /* the client sees ECONNRESET */
    HOCKET__SERVER_EOF,   /* the client sees the end of input, without a last chunk */
};
/* Cuts the connection at once; what is queued is dropped. */
int hocket__server_abort(struct hocket__server *s, uint64_t id, enum hocket__server_cut how);

/* Who asks: a numeric address, written into `out`; "" where it is not known (a Unix socket). 0 or ECLOSED. */
#define HOCKET__SERVER_PEER 64
int hocket__server_peer(const struct hocket__server *s, uint64_t id, char out[HOCKET__SERVER_PEER]);

/* Bytes that the kernel has not taken yet, or ECLOSED. */
int64_t hocket__server_queued(const struct hocket__server *s, uint64_t id);

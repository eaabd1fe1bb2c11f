/* HTTP requests on one event loop: libcurl's multi interface driven by libuv.
 *
 * An actor: start and cancel go in, callbacks come out. A request's callbacks
 * run from the loop only, never inside start or cancel; on_done runs exactly
 * once for every started request unless it was cancelled, after which no
 * callback of it runs any more, at once: cancel closes the socket (or resets
 * the HTTP/2 stream) before it returns, DNS included.
 *
 *   start ──> resolving ──> connecting ──> sent ──> head ──> data… ──> done
 *     │           └────── connect_ms ──┘     └ first_ms ┘ └ idle_ms ┘    │
 *     └───────────────────────────── total_ms ───────────────────────────┘
 *
 * No redirect is followed unless the spec allows some. Keys live in `headers`
 * and are never part of an error message. */
#pragma once

#include "base/buf.h"
#include "base/status.h"

typedef struct uv_loop_s uv_loop_t;
struct sockaddr;

struct hocket__http; /* the actor */
struct hocket__transport;

struct hocket__http_options {
    const struct hocket_allocator *alloc;
    uv_loop_t *loop;
    int max_per_host;       /* connections per host name (and pool); 0: what descriptors allow,
                             * 16384 at most */
    int max_requests;       /* under way at once, waiting ones included; 0: 65536 */
    const char *ca_file;    /* NULL: the system's */
    const char *user_agent; /* NULL: none */
    const uint64_t *until;  /* when the turn of the loop ends (uv_hrtime; 0: no limit), after which
                             * sockets wait for the next one; NULL: there is no such thing */
    bool verbose;           /* never set outside debugging */
};

/* How many connections per host `asked` (an option, 0: none given) stands for. */
int hocket__http_per_host(int asked);

int hocket__http_new(
    const struct hocket__http_options *o, struct hocket__http **out, struct hocket_error *err);

/* Cancels all requests and closes every handle in the loop; `on_closed` runs from
 * the loop when nothing is left in it and the actor's memory is freed. */
void hocket__http_close(struct hocket__http *http, void (*on_closed)(void *ud), void *ud);

struct hocket__http_header {
    struct hocket__str name, value; /* a value with a line break is refused */
};

/* What a request is for: HTTP itself does not look at it, what is above it in the stack does
 * (net/transport.h). */
struct hocket__http_label {
    struct hocket__str to;     /* a provider; empty: not said */
    size_t base;               /* how much of the URL is only where it is, and may differ */
    struct hocket__str secret; /* is in no recording; may be empty */
};

struct hocket__http_spec {
    const char *method; /* "GET", "POST", … */
    const char *url;
    const struct hocket__http_header *headers;
    size_t n_headers;
    struct hocket__buf *body; /* NULL: none; its content is taken, and is empty afterwards */
    bool body_back;    /* `body` has it back when on_done runs (empty after some redirects), and has
                     * to live until then or until the request is cancelled */
    const char *pool;  /* connections are shared only within one pool name; NULL: "" */
    const char *proxy; /* NULL: libcurl's variables, but none for this machine; "": none */
    int connect_ms;    /* name, TCP and TLS; 0: 10 s, at most 5 min */
    int first_ms;      /* from the start to the first progress; 0: no limit */
    int idle_ms;       /* between two progresses; 0: no limit */
    int total_ms;      /* 0: no limit */
    size_t max_header; /* bytes of all response headers; 0: 256 KiB */
    size_t max_body;   /* decoded bytes; 0: no limit */
    int max_redirects; /* 0: none; a 3xx answer is then handed over as it is */
    bool own_progress; /* bytes are no progress, only HOCKET__HTTP_PROGRESS is */
    bool plain;        /* no Accept-Encoding (what comes compressed is read all the same), and no
                          Accept but one of `headers` */
    /* Called before each new connection, but not before reuse (so a pool needs a single rule);
     * NULL: allow all. A refusal is EDENIED. */
    bool (*allow_address)(const struct sockaddr *to);
    struct hocket__http_label label;
};

struct hocket__http_timing {
    uint64_t queued_us, connect_us, first_byte_us, total_us; /* since the start */
    uint64_t bytes_in, bytes_out;
    bool reused; /* a connection was reused */
};

/* Something worth waiting for has come (a decoded event, not a byte): ends the first_ms wait and
 * starts idle_ms anew. From the first time on, bytes do not count any more; a request whose
 * handler never says so is timed by its bytes (unless the spec says own_progress). */
#define HOCKET__HTTP_PROGRESS 1
/* Everything that matters has come. It still waits a second for the end of the transfer, so that the connection
 * can be used again; then the request times out. A later progress takes this back. */
#define HOCKET__HTTP_ENOUGH 2

struct hocket__http_handler {
    /* The status line has come. Headers follow, then data. May be NULL. */
    void (*on_head)(void *ud, int status);
    /* One header, name in lower case. May be NULL. */
    void (*on_header)(void *ud, struct hocket__str name, struct hocket__str value);
    /* Decoded body bytes. Returns 0, HOCKET__HTTP_PROGRESS, HOCKET__HTTP_ENOUGH, or a
     * negative code that ends the request: on_done then runs with that code, and with *err as the
     * handler filled it. */
    int (*on_data)(void *ud, const char *p, size_t n, struct hocket_error *err);
    /* err is NULL on success, which means only that the transfer ended well: also
     * an HTTP status of 500 is one, and a body that is cut short by a closed
     * connection without a length may be. */
    void (*on_done)(void *ud, const struct hocket_error *err, const struct hocket__http_timing *t);
    /* The last header has come, of an answer that is not redirected. May be NULL. */
    void (*on_headers_end)(void *ud);
};

/* Starts a request; returns its id (> 0) or a negative code (ENOMEM, EINVAL: a bad
 * URL or header, ELIMIT). `handler` has to outlive the request. */
int64_t hocket__http_start(struct hocket__http *http, const struct hocket__http_spec *spec,
    const struct hocket__http_handler *handler, void *ud, struct hocket_error *err);

/* Ends the request; none of its callbacks runs any more. Unknown ids are ignored. Inside a
 * callback of a request the socket is closed as soon as that callback has returned. */
void hocket__http_cancel(struct hocket__http *http, int64_t id);

/* Whether the request's host is known to take many requests on one connection (HTTP/2). */
bool hocket__http_multiplexed(const struct hocket__http *http, int64_t id);

/* The same functions as the lowest layer of a stack (net/transport.h), as long as the actor lives. */
struct hocket__transport *hocket__http_transport(struct hocket__http *http);

/* Requests under way. */
int hocket__http_active(const struct hocket__http *http);

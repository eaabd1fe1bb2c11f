/* One transfer, from start to on_done.
 *
 *   waiting ─> admitted ─> (libcurl) ─> finish ─┬─> told, spare
 *      └── drop ──┴──── drop, doom ──┘          └─> redirected, waiting again
 *
 * A request is taken out of everything before its on_done runs, so user code may
 * do there what it likes. Its easy handle, with everything that is set in it, stays with
 * it as a spare of its origin: the next request is mostly like the last. */
#pragma once

#include "base/list.h"
#include "net/curl.h"
#include "net/deadline.h"
#include "net/http/http.h"
#include "net/http/check.h"
#include "net/http/head.h"

struct hocket__origin;
struct hocket__shard;

/* What its origin counts it as. */
enum hocket__request_place {
    HOCKET__REQUEST_WAITING,
    HOCKET__REQUEST_ADMITTED, /* in origin->active */
    HOCKET__REQUEST_PROBE     /* the same, and in origin->probes: it looks up the name */
};

/* Its connection. One that has been reused may turn out to be dead: then a socket is opened after all, but not for a
 * request that the server may have acted on. */
enum hocket__request_link {
    HOCKET__REQUEST_UNLINKED,
    HOCKET__REQUEST_OPENED, /* a socket */
    HOCKET__REQUEST_REUSES,
    HOCKET__REQUEST_STALE,     /* reuses one that the server had closed before anything was sent */
    HOCKET__REQUEST_CONNECTED, /* by a socket that it opened */
    HOCKET__REQUEST_BROKEN     /* the reused one broke, and the request is not sent again */
};

/* What counts as progress. */
enum hocket__request_progress {
    HOCKET__REQUEST_BY_BYTES,
    HOCKET__REQUEST_BY_HANDLER,
    HOCKET__REQUEST_TO_END /* nothing: it only waits for the end */
};

/* Whether it ends when libcurl has returned. */
enum hocket__request_abort {
    HOCKET__REQUEST_LIVES,
    HOCKET__REQUEST_DOOMED,
    HOCKET__REQUEST_CANCELLED /* the same, without a callback */
};

/* What each piece of a body needs comes first: of thousands of streams the caches hold little. */
struct hocket__request {
    struct hocket__http *http;
    const struct hocket__http_handler *handler;
    void *ud;
    size_t max_body;
    uint64_t body_bytes;
    uint64_t last_progress; /* milliseconds of the loop */

    enum hocket__request_place place;
    enum hocket__request_link link;
    enum hocket__request_progress progress;
    enum hocket__request_abort doom;
    int no_socket;   /* errno: there was no descriptor or memory for one; 0 */
    bool denied;     /* allow_address said no */
    bool finished;   /* libcurl has done with it */
    bool refused;    /* because a callback said so */
    bool progressed; /* once at least */
    bool late;       /* a deadline has passed; the socket is polled once more */

    struct hocket__head head;

    struct hocket__origin *origin;
    struct hocket__shard *shard; /* NULL: not with libcurl */
    struct hocket__list node;    /* in origin->waiting or spare, or shard->aborted */
    struct hocket__list all;     /* in http->requests */
    struct hocket__list member;  /* in shard->members */
    struct hocket__deadline deadline;
    CURL *easy;
    uint64_t id; /* 0: spare */

    /* What is set in `easy` (setup.c). */
    struct hocket__buf url, proxy, body;
    struct hocket__buf *body_back;  /* who wants the body again; NULL: nobody */
    CURLU *parsed;                  /* the URL: taken apart once for all requests to it */
    struct hocket__buf header_text; /* what `headers` holds, one a line */
    struct curl_slist *headers;
    char method[HOCKET__HTTP_METHOD_MAX];
    bool has_body, has_proxy;

    uint64_t connect_ms, first_ms, idle_ms, total_ms; /* UINT64_MAX: no limit */
    bool (*allow_address)(const struct sockaddr *to);

    int redirects_left;
    curl_socket_t fd; /* the last that was opened for it, for messages */
    int local_port;   /* tells the connections to an origin apart */

    uint64_t started, sent_off, connected_at, first_byte; /* microseconds of uv_hrtime */

    struct hocket_error err; /* of a handler, a limit, or the doom; status 0: none */
    char detail[CURL_ERROR_SIZE];
};

static inline bool hocket__request_has_opened(const struct hocket__request *req)
{
    return req->link == HOCKET__REQUEST_OPENED || req->link == HOCKET__REQUEST_CONNECTED;
}

static inline bool hocket__request_is_connected(const struct hocket__request *req)
{
    return req->link >= HOCKET__REQUEST_REUSES;
}

/* A spare request of the origin, or a new one; NULL when memory is out. */
struct hocket__request *hocket__request_get(struct hocket__origin *origin);
void hocket__request_free(struct hocket__request *req);

/* Registers it, starts its deadlines, and puts it into its origin's queue. 0 or ENOMEM. */
int hocket__request_go(struct hocket__request *req);
/* It is with libcurl now. */
void hocket__request_admitted(struct hocket__request *req);

/* Takes it out of everything and makes it a spare one, without a callback. */
void hocket__request_drop(struct hocket__request *req);
/* Drops it and tells its handler; err NULL: it ended well. */
void hocket__request_end(struct hocket__request *req, const struct hocket_error *err);
/* libcurl has done with it. */
void hocket__request_finish(struct hocket__request *req, CURLcode code);

/* Ends it, at once or when libcurl has returned: with *err, or silently (NULL). */
void hocket__request_abort(struct hocket__request *req, const struct hocket_error *err);
/* The same for the request of an easy handle whose socket cannot be watched. */
void hocket__request_abort_easy(struct hocket__shard *shard, CURL *easy);
void hocket__request_end_aborted(struct hocket__request *req);

/* Fills req->err, unless an earlier error stands there; returns the status. */
int hocket__request_fail(struct hocket__request *req, int status, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));

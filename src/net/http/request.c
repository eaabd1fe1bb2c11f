/* One transfer: what libcurl calls, where it is registered, and how it ends.
 *
 * A request stands in up to four places:
 * - by_id and http->requests, while it has an id;
 * - its origin's queue or a list of its shard (`node`: one of them at a time);
 * - the shard's members, while libcurl has it;
 * - the deadlines.
 * hocket__request_drop takes it out of all, in one
 * function, so that no ending can forget one.
 *
 * There are three ends: finish (libcurl is done), doom (a callback, a deadline or a cancel
 * wants it over), drop (no callback). Only hocket__request_end calls on_done. */
#include "net/http/request.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>

#include "base/upkeep.h"
#include "os/tcp.h"
#include "net/http/http_impl.h"
#include "net/http/error.h"
#include "net/http/origin.h"
#include "net/http/poll.h"
#include "net/http/redirect.h"
#include "net/http/setup.h"
#include "net/http/shard.h"
#include "net/http/wait.h"

#define SPARE_MAX        128
#define IGNORED_BODY_MAX (1 << 20) /* of a redirect */

static uint64_t micros(void)
{
    return uv_hrtime() / 1000;
}

int hocket__request_fail(struct hocket__request *req, int status, const char *fmt, ...)
{
    /* the first error is the cause, later ones are what came of it */
    if (req->err.status < 0)
        return req->err.status;
    char text[sizeof(req->err.message)];
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(text, sizeof(text), fmt, ap);
    va_end(ap);
    return hocket__error(&req->err, status, "%s: %s", req->origin->name, text);
}

/* ---- libcurl's callbacks ----------------------------------------------------------- */

/* It is to end: libcurl gets an error, the user gets no callback. */
static bool is_over(const struct hocket__request *req)
{
    return req->doom != HOCKET__REQUEST_LIVES || req->http->closing;
}

/* What a callback returns to end its transfer. Over TLS the connection may carry other
 * streams; hocket__shard_drop says what is done about those. */
static size_t refuse(struct hocket__request *req)
{
    req->refused = true;
    if (req->origin->tls)
        req->http->curl->easy_setopt(req->easy, CURLOPT_FORBID_REUSE, 1L);
    return CURL_WRITEFUNC_ERROR;
}

/* A user's callback may cancel the request or close the actor: is_over is asked again behind
 * each. */
static size_t on_header(char *p, size_t size, size_t n, void *ud)
{
    struct hocket__request *req = ud;
    if (is_over(req))
        return refuse(req);
    if (req->first_byte == 0)
        req->first_byte = micros();
    if (req->progress == HOCKET__REQUEST_BY_BYTES)
        hocket__wait_progress(req);
    if (hocket__head_line(req, hocket__str(p, n)) < 0 || is_over(req))
        return refuse(req);
    return n;
}

static size_t ignore(struct hocket__request *req, size_t n)
{
    if (req->body_bytes <= IGNORED_BODY_MAX)
        return n;
    hocket__request_fail(
        req, HOCKET_ELIMIT, "a redirect with a body of more than %d bytes", IGNORED_BODY_MAX);
    return refuse(req);
}

static size_t on_body(char *p, size_t size, size_t n, void *ud)
{
    struct hocket__request *req = ud;
    if (is_over(req))
        return refuse(req);
    req->body_bytes += n;
    if (req->head.target.len > 0)
        return ignore(req, n);
    if (req->body_bytes > req->max_body) {
        hocket__request_fail(
            req, HOCKET_ELIMIT, "the answer is longer than %zu bytes", req->max_body);
        return refuse(req);
    }
    if (req->progress == HOCKET__REQUEST_BY_BYTES)
        hocket__wait_progress(req);
    /* libcurl hands over what it has decoded: a small body that unpacks into gigabytes has
     * ended above, at max_body */
    int status = req->handler->on_data(req->ud, p, n, &req->err);
    if (is_over(req))
        return refuse(req);
    if (status == HOCKET__HTTP_PROGRESS) {
        req->progress = HOCKET__REQUEST_BY_HANDLER;
        hocket__wait_progress(req);
    } else if (status == HOCKET__HTTP_ENOUGH) {
        hocket__wait_for_end(req);
    }
    if (status >= 0)
        return n;
    /* a handler that gave a code and no words */
    if (req->err.status != status)
        hocket__error(&req->err, status, "%s", hocket_status_text(status));
    return refuse(req);
}

/* ---- Connecting ------------------------------------------------------------------------ */

static bool may_be_repeated(const struct hocket__request *req)
{
    return strcmp(req->method, "GET") == 0 || strcmp(req->method, "HEAD") == 0;
}

/* libcurl sends a request again by itself when a connection that it reused breaks before the first byte of an answer
 * (RFC 9110, 9.2.2, forbids that for a POST). The server may have acted on it: whether it is sent again is for the
 * caller to decide, who also counts it. True: this is such a second connection. */
static bool breaks(struct hocket__request *req)
{
    if (req->link == HOCKET__REQUEST_REUSES && !may_be_repeated(req))
        req->link = HOCKET__REQUEST_BROKEN;
    return req->link == HOCKET__REQUEST_BROKEN;
}

static enum hocket__request_link reused(const struct hocket__request *req)
{
    curl_socket_t fd = CURL_SOCKET_BAD;
    if (!may_be_repeated(req)
        && req->http->curl->easy_getinfo(req->easy, CURLINFO_ACTIVESOCKET, &fd) == CURLE_OK
        && fd != CURL_SOCKET_BAD && hocket__tcp_ended(fd))
        return HOCKET__REQUEST_STALE;
    return HOCKET__REQUEST_REUSES;
}

static curl_socket_t on_open(void *ud, curlsocktype purpose, struct curl_sockaddr *to)
{
    struct hocket__request *req = ud;
    /* libcurl asks for a socket when it has an address: the name is resolved. A reused connection opens none;
     * on_connected reports that. */
    hocket__origin_resolved(req, true);
    if (breaks(req))
        return CURL_SOCKET_BAD;
    if (req->allow_address && !req->allow_address(&to->addr)) {
        req->denied = true;
        return CURL_SOCKET_BAD;
    }
    req->link =
        hocket__request_is_connected(req) ? HOCKET__REQUEST_CONNECTED : HOCKET__REQUEST_OPENED;
    req->fd = hocket__poll_open(req->shard, to);
    if (req->fd == CURL_SOCKET_BAD)
        req->no_socket = errno;
    return req->fd;
}

/* There is a connection, and nothing was sent yet. */
static int on_connected(void *ud, char *peer, char *local, int peer_port, int local_port)
{
    struct hocket__request *req = ud;
    if (breaks(req))
        return CURL_PREREQFUNC_ABORT;
    req->link = hocket__request_has_opened(req) ? HOCKET__REQUEST_CONNECTED : reused(req);
    req->connected_at = micros();
    req->local_port = local_port;
    hocket__origin_resolved(req, false);
    return CURL_PREREQFUNC_OK;
}

static void set_callbacks(struct hocket__request *req)
{
    const struct hocket__curl *curl = req->http->curl;
    curl->easy_setopt(req->easy, CURLOPT_PRIVATE, req);
    curl->easy_setopt(req->easy, CURLOPT_ERRORBUFFER, req->detail);
    curl->easy_setopt(req->easy, CURLOPT_HEADERFUNCTION, on_header);
    curl->easy_setopt(req->easy, CURLOPT_HEADERDATA, req);
    curl->easy_setopt(req->easy, CURLOPT_WRITEFUNCTION, on_body);
    curl->easy_setopt(req->easy, CURLOPT_WRITEDATA, req);
    curl->easy_setopt(req->easy, CURLOPT_OPENSOCKETFUNCTION, on_open);
    curl->easy_setopt(req->easy, CURLOPT_OPENSOCKETDATA, req);
    curl->easy_setopt(req->easy, CURLOPT_CLOSESOCKETFUNCTION, hocket__poll_close);
    curl->easy_setopt(req->easy, CURLOPT_CLOSESOCKETDATA, req->http);
    curl->easy_setopt(req->easy, CURLOPT_PREREQFUNCTION, on_connected);
    curl->easy_setopt(req->easy, CURLOPT_PREREQDATA, req);
}

/* ---- Life ---------------------------------------------------------------------------- */

/* Everything that can fail is done here. The deadline's place is reserved (join), so that starting
 * one later cannot run out of memory. */
static struct hocket__request *request_new(struct hocket__origin *origin)
{
    struct hocket__http *http = origin->http;
    struct hocket__request *req = hocket__zero(http->a, sizeof(*req));
    if (!req)
        return NULL;
    if (hocket__deadlines_join(&http->deadlines) < 0) {
        hocket__free(http->a, req, sizeof(*req));
        return NULL;
    }
    req->http = http;
    req->origin = origin;
    req->deadline.passed = hocket__wait_passed;
    hocket__list_init(&req->node);
    hocket__list_init(&req->all);
    hocket__list_init(&req->member);
    hocket__buf_init(&req->url, http->a, 0);
    hocket__buf_init(&req->proxy, http->a, 0);
    hocket__buf_init(&req->body, http->a, 0);
    hocket__buf_init(&req->header_text, http->a, 0);
    hocket__buf_init(&req->head.lines, http->a, 0);
    hocket__buf_init(&req->head.location, http->a, 0);
    hocket__buf_init(&req->head.target, http->a, 0);
    if (!(req->easy = http->curl->easy_init()) || hocket__setup_init(req) < 0) {
        hocket__request_free(req);
        return NULL;
    }
    set_callbacks(req);
    return req;
}

void hocket__request_free(struct hocket__request *req)
{
    struct hocket__http *http = req->http;
    if (!hocket__list_empty(&req->node)) /* only spare ones are freed while in a list */
        http->n_spare--;
    hocket__list_del(&req->node);
    if (req->easy)
        http->curl->easy_cleanup(req->easy);
    http->curl->url_cleanup(req->parsed);
    http->curl->slist_free_all(req->headers);
    hocket__buf_deinit(&req->url);
    hocket__buf_deinit(&req->proxy);
    hocket__buf_deinit(&req->body);
    hocket__buf_deinit(&req->header_text);
    hocket__buf_deinit(&req->head.lines);
    hocket__buf_deinit(&req->head.location);
    hocket__buf_deinit(&req->head.target);
    hocket__deadlines_leave(&http->deadlines);
    hocket__free(http->a, req, sizeof(*req));
}

struct hocket__request *hocket__request_get(struct hocket__origin *origin)
{
    if (hocket__list_empty(&origin->spare))
        return request_new(origin);
    struct hocket__request *req =
        hocket__container_of(origin->spare.next, struct hocket__request, node);
    hocket__list_del(&req->node);
    origin->http->n_spare--;
    return req;
}

int hocket__request_go(struct hocket__request *req)
{
    struct hocket__http *http = req->http;
    if (hocket__map_set(&http->by_id, http->last_id + 1, req) < 0)
        return HOCKET_ENOMEM;
    req->id = ++http->last_id;
    hocket__list_add(&http->requests, &req->all);
    /* the timer keeps the loop alive only while there is something to wait for */
    if (http->active++ == 0) {
        uv_ref((uv_handle_t *) &http->deadlines.timer);
        http->deadlines.timer.data = NULL;
    }
    req->started = micros();
    hocket__wait_begin(req);
    hocket__origin_wait(req->origin, req);
    return 0;
}

void hocket__request_admitted(struct hocket__request *req)
{
    req->sent_off = micros();
    hocket__wait_begin(req);
}

/* Back to how hocket__request_new leaves it, but for what is set in `easy`. */
static void clear(struct hocket__request *req)
{
    struct hocket__head *h = &req->head;
    hocket__buf_deinit(&req->body);
    hocket__buf_deinit(&h->lines);
    hocket__buf_deinit(&h->location);
    hocket__buf_deinit(&h->target);
    h->state = HOCKET__HEAD_STATUS;
    h->status = 0;
    h->held = false;
    h->bytes = 0;
    req->id = req->body_bytes = 0;
    req->link = HOCKET__REQUEST_UNLINKED;
    req->progress = HOCKET__REQUEST_BY_BYTES; /* until setup.c says otherwise */
    req->doom = HOCKET__REQUEST_LIVES;
    req->denied = req->finished = req->refused = req->progressed = req->late = false;
    req->sent_off = req->connected_at = req->first_byte = req->last_progress = 0;
    req->no_socket = req->err.status = 0;
    req->detail[0] = 0;
    req->body_back = NULL;
}

static void unregister(struct hocket__request *req)
{
    struct hocket__http *http = req->http;
    hocket__map_del(&http->by_id, req->id);
    hocket__list_del(&req->all);
    if (--http->active > 0)
        return;
    uv_unref((uv_handle_t *) &http->deadlines.timer);
    http->deadlines.timer.data = HOCKET__UPKEEP;
    if (!http->closing)
        hocket__deadlines_settle(&http->deadlines);
}

void hocket__request_drop(struct hocket__request *req)
{
    struct hocket__http *http = req->http;
    hocket__deadline_clear(&http->deadlines, &req->deadline);
    hocket__list_del(&req->node);
    if (req->shard)
        hocket__shard_drop(req);
    hocket__origin_leave(req);
    unregister(req);
    clear(req);
    if (http->closing || http->n_spare >= SPARE_MAX) {
        hocket__request_free(req);
        return;
    }
    /* in front: the one used last is taken first, and its memory is still in the caches */
    hocket__list_add(req->origin->spare.next, &req->node);
    http->n_spare++;
}

static uint64_t since(const struct hocket__request *req, uint64_t t)
{
    return t > req->started ? t - req->started : 0;
}

static struct hocket__http_timing timing_of(const struct hocket__request *req)
{
    const struct hocket__curl *curl = req->http->curl;
    curl_off_t down = 0, up = 0;
    long head = 0;
    if (req->place != HOCKET__REQUEST_WAITING) {
        curl->easy_getinfo(req->easy, CURLINFO_SIZE_DOWNLOAD_T, &down);
        curl->easy_getinfo(req->easy, CURLINFO_SIZE_UPLOAD_T, &up);
        curl->easy_getinfo(req->easy, CURLINFO_REQUEST_SIZE, &head);
    }
    return (struct hocket__http_timing){
        .queued_us = since(req, req->sent_off),
        .connect_us = since(req, req->connected_at),
        .first_byte_us = since(req, req->first_byte),
        .total_us = since(req, micros()),
        .bytes_in = (uint64_t) down + req->head.bytes,
        .bytes_out = (uint64_t) up + (uint64_t) head,
        .reused = req->link == HOCKET__REQUEST_REUSES || req->link == HOCKET__REQUEST_STALE,
    };
}

void hocket__request_end(struct hocket__request *req, const struct hocket_error *err)
{
    const struct hocket__http_handler *handler = req->handler;
    void *ud = req->ud;
    struct hocket__http_timing timing = timing_of(req);
    if (req->body_back)
        hocket__buf_move(req->body_back, &req->body);
    hocket__request_drop(req);
    handler->on_done(ud, err, &timing);
}

static void finish_well(struct hocket__request *req)
{
    const struct hocket__curl *curl = req->http->curl;
    struct hocket__origin *origin = req->origin;
    long version = 0;
    if (origin->tls && !origin->multiplexed) {
        curl->easy_getinfo(req->easy, CURLINFO_HTTP_VERSION, &version);
        origin->multiplexed = version == CURL_HTTP_VERSION_2_0;
    }
    struct hocket_error err;
    if (req->head.target.len == 0)
        hocket__request_end(req, NULL);
    else if (hocket__redirect_follow(req, &err) < 0)
        hocket__request_end(req, &err);
}

/* What is said of a second connection that breaks() refused, or whose name could not be looked up, is true of the first. */
static CURLcode of_the_first(struct hocket__request *req, CURLcode code)
{
    bool looked_up = code == CURLE_COULDNT_RESOLVE_HOST || code == CURLE_COULDNT_RESOLVE_PROXY;
    if (req->link == HOCKET__REQUEST_BROKEN || (looked_up && breaks(req))) {
        req->detail[0] = 0;
        return CURLE_RECV_ERROR;
    }
    return code;
}

void hocket__request_finish(struct hocket__request *req, CURLcode result)
{
    CURLcode code = of_the_first(req, result);
    req->finished = true;
    if (code == CURLE_OK && req->err.status == 0) {
        finish_well(req);
        return;
    }
    struct hocket__origin *origin = req->origin;
    /* copied: the request is cleared by hocket__request_end, and may be another's by then */
    struct hocket_error err = req->err;
    /* A handler may start new requests to the same host in its on_done. They have not waited
     * for this look-up and are not failed by it. */
    uint64_t id = req->http->last_id;
    if (err.status == 0)
        hocket__http_explain(req, code, &err);
    hocket__request_end(req, &err);
    if (code == CURLE_COULDNT_RESOLVE_HOST || code == CURLE_COULDNT_RESOLVE_PROXY)
        hocket__origin_fail(origin, id, &err);
}

/* ---- Ending it from outside libcurl's results ------------------------------------------ */

/* A cancel outside of libcurl is done at once. All else waits: with an error there is somebody
 * to tell, and that happens from the loop only. */
void hocket__request_abort(struct hocket__request *req, const struct hocket_error *err)
{
    if (!err && !(req->shard && req->shard->busy)) {
        hocket__request_drop(req);
        return;
    }
    bool aborted = req->doom != HOCKET__REQUEST_LIVES;
    if (!err)
        req->doom = HOCKET__REQUEST_CANCELLED;
    if (aborted)
        return;
    if (err) {
        req->doom = HOCKET__REQUEST_DOOMED;
        req->err = *err;
    }
    hocket__list_add(&req->shard->aborted, &req->node);
    if (!req->shard->busy)
        hocket__shard_wake(req->shard);
}

void hocket__request_abort_easy(struct hocket__shard *shard, CURL *easy)
{
    struct hocket__request *req = NULL;
    shard->http->curl->easy_getinfo(easy, CURLINFO_PRIVATE, (char **) &req);
    if (!req || req->shard != shard || req->doom != HOCKET__REQUEST_LIVES)
        return;
    struct hocket_error err;
    hocket__error(&err, HOCKET_EIO, "%s: its socket cannot be watched", req->origin->name);
    hocket__request_abort(req, &err);
}

void hocket__request_end_aborted(struct hocket__request *req)
{
    struct hocket_error err = req->err;
    if (req->doom == HOCKET__REQUEST_CANCELLED)
        hocket__request_drop(req);
    else
        hocket__request_end(req, &err);
}

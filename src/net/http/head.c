/* The head of an answer as a small machine:
 *
 *    STATUS ──"HTTP/… 1xx"──> PASS ──blank──> STATUS
 *    STATUS ──"HTTP/… 2xx…"─> LINES ─blank──> DONE       (further lines are trailers)
 *
 * The head of a redirect is held until the blank line, when its Location is known; only then
 * it is clear whether the caller sees this answer or the next. */
#include "net/http/head.h"

#include <strings.h>

#include "net/http/http_impl.h"
#include "net/http/origin.h"
#include "net/http/redirect.h"
#include "net/http/request.h"
#include "net/http/setup.h"
#include "net/http/shard.h"

/* Where an answer sends a request, and what of it may go there. The target is worked out at
 * the end of the head (decide), while the body of the redirect may still come; the request
 * leaves for it when libcurl is done with the old transfer (follow). */

static bool redirect_is(int http_status)
{
    return http_status == 301 || http_status == 302 || http_status == 303 || http_status == 307
           || http_status == 308;
}

/* The location, relative to the URL, into head.target: 0, EINVAL or ENOMEM. */
static int resolve(struct hocket__request *req)
{
    const struct hocket__curl *curl = req->http->curl;
    struct hocket__head *h = &req->head;
    int status = HOCKET_ENOMEM;
    char *text = NULL;
    CURLU *u = curl->url();
    if (!u || curl->url_set(u, CURLUPART_URL, req->url.data, 0) != CURLUE_OK)
        goto out;
    status = HOCKET_EINVAL;
    if (curl->url_set(u, CURLUPART_URL, h->location.data, CURLU_URLENCODE) != CURLUE_OK
        || curl->url_set(u, CURLUPART_FRAGMENT, NULL, 0) != CURLUE_OK
        || curl->url_get(u, CURLUPART_URL, &text, 0) != CURLUE_OK
        || hocket__http_check_url(text, NULL) < 0)
        goto out;
    hocket__buf_reset(&h->target);
    status = hocket__buf_adds(&h->target, text);
out:
    curl->free(text);
    curl->url_cleanup(u);
    return status;
}

static bool same_origin(const struct hocket__request *req)
{
    const char *target = req->head.target.data;
    return hocket__str_eq(
        req->origin->key, hocket__str(target, hocket__http_origin_length(target)));
}

static bool keeps_body(const struct hocket__request *req)
{
    return req->has_body && (req->head.status == 307 || req->head.status == 308);
}

/* A downgrade would send in the clear what was meant for TLS. A body is what somebody has
 * written to this server: another one does not get it, although RFC 9110 lets a client ask its
 * user. */
static bool may_follow(const struct hocket__request *req)
{
    bool downgrade = req->origin->tls && req->head.target.data[4] == ':';
    return !downgrade && (same_origin(req) || !keeps_body(req));
}

/* The head is complete: fills head.target when it will be followed. 0, or ENOMEM with
 * req->err filled. */
static int redirect_decide(struct hocket__request *req)
{
    if (req->head.location.len == 0)
        return 0;
    int status = resolve(req);
    if (status == HOCKET_ENOMEM)
        return hocket__request_fail(req, HOCKET_ENOMEM, "out of memory");
    if (status < 0 || !may_follow(req))
        /* not an error: the caller is handed the 3xx answer itself and can look at it */
        hocket__buf_reset(&req->head.target);
    return 0;
}

/* 303 asks for a GET; after 301 and 302 everybody turns a POST into one. */
static int set_method(struct hocket__request *req)
{
    char method[HOCKET__HTTP_METHOD_MAX];
    memcpy(method, req->method, sizeof(method));
    if (req->head.status == 307 || req->head.status == 308 || strcmp(method, "HEAD") == 0)
        return 0;
    if (req->head.status != 303 && strcmp(method, "POST") != 0)
        return 0;
    hocket__buf_deinit(&req->body);
    return hocket__setup_method(req, "GET", false);
}

/* Timeouts are not reset: total_ms and first_ms are the caller's for all of it, or a server
 * could keep it going from place to place. */
static void begin_again(struct hocket__request *req)
{
    struct hocket__head *h = &req->head;
    h->state = HOCKET__HEAD_STATUS;
    h->held = false;
    hocket__buf_reset(&h->lines);
    hocket__buf_reset(&h->location);
    hocket__buf_reset(&h->target);
    req->redirects_left--;
    req->body_bytes = 0;
    req->link = HOCKET__REQUEST_UNLINKED;
    req->finished = false;
}

int hocket__redirect_follow(struct hocket__request *req, struct hocket_error *err)
{
    const char *target = req->head.target.data;
    struct hocket__origin *from = req->origin;
    struct hocket__origin *to = hocket__origin_get(req->http, from->pool->name, target, err);
    if (!to)
        return err->status;
    /* before the URL is touched: libcurl reads the options of a handle that is in a multi
     * handle */
    hocket__shard_drop(req);
    hocket__origin_leave(req);
    req->origin = to;
    int status = hocket__setup_url(req, target, err);
    if (status < 0)
        return status;
    if (set_method(req) < 0 || (to != from && hocket__setup_strip(req) < 0))
        return hocket__error_nomem(err);
    begin_again(req);
    hocket__origin_wait(to, req);
    return 0;
}

#define NAME_MAX_BYTES 256

static struct hocket__str trim(struct hocket__str s)
{
    while (s.n > 0 && (s.p[0] == ' ' || s.p[0] == '\t'))
        s = hocket__str(s.p + 1, s.n - 1);
    while (s.n > 0 && strchr(" \t\r\n", s.p[s.n - 1]))
        s.n--;
    return s;
}

/* "HTTP/1.1 200 OK" or "HTTP/2 200"; -1 when it is none. libcurl has read it before. */
static int read_status(struct hocket__str line)
{
    const char *p = memchr(line.p, ' ', line.n);
    if (!p || line.p + line.n - p < 4)
        return -1;
    int status = 0;
    for (int i = 1; i <= 3; i++) {
        if (p[i] < '0' || p[i] > '9')
            return -1;
        status = status * 10 + (p[i] - '0');
    }
    return status;
}

static void lower(struct hocket__str name, char *out)
{
    for (size_t i = 0; i < name.n; i++)
        out[i] = hocket__lower(name.p[i]);
}

/* Hands one header over. Lines without a name (folded ones) are left out, and names of
 * more than 256 bytes. */
static void give_header(struct hocket__request *req, struct hocket__str line)
{
    char name[NAME_MAX_BYTES];
    const char *colon = memchr(line.p, ':', line.n);
    size_t n = colon ? (size_t) (colon - line.p) : 0;
    if (!req->handler->on_header || n == 0 || n > sizeof(name) || line.p[0] == ' '
        || line.p[0] == '\t')
        return;
    lower(hocket__str(line.p, n), name);
    struct hocket__str value = trim(hocket__str(colon + 1, line.n - n - 1));
    req->handler->on_header(req->ud, hocket__str(name, n), value);
}

static void give_head(struct hocket__request *req)
{
    if (req->handler->on_head)
        req->handler->on_head(req->ud, req->head.status);
}

static void give_held(struct hocket__request *req)
{
    struct hocket__str all = hocket__buf_str(&req->head.lines);
    give_head(req);
    while (all.n > 0 && req->doom == HOCKET__REQUEST_LIVES) {
        const char *end = memchr(all.p, '\n', all.n);
        size_t n = end ? (size_t) (end - all.p) + 1 : all.n;
        give_header(req, hocket__str(all.p, n));
        all = hocket__str(all.p + n, all.n - n);
    }
}

static int begin(struct hocket__request *req, struct hocket__str line)
{
    struct hocket__head *h = &req->head;
    h->status = read_status(line);
    /* 101 is an answer to an upgrade that we never ask for: what follows would not be HTTP. */
    if (h->status < 100 || h->status == 101)
        return hocket__request_fail(req, HOCKET_EPROTOCOL, "a status line that is none");
    if (h->status < 200) {
        h->state = HOCKET__HEAD_PASS;
        return 0;
    }
    h->state = HOCKET__HEAD_LINES;
    h->held = req->redirects_left > 0 && redirect_is(h->status);
    if (!h->held)
        give_head(req);
    return 0;
}

static int hold(struct hocket__request *req, struct hocket__str line)
{
    struct hocket__head *h = &req->head;
    if (line.n > 9 && strncasecmp(line.p, "location:", 9) == 0) {
        /* the last one counts, as in browsers; two would be a mistake of the server's */
        hocket__buf_reset(&h->location);
        hocket__buf_addstr(&h->location, trim(hocket__str(line.p + 9, line.n - 9)));
    }
    hocket__buf_addstr(&h->lines, line);
    if (h->lines.status < 0 || h->location.status < 0)
        return hocket__request_fail(req, HOCKET_ENOMEM, "out of memory");
    return 0;
}

static int end(struct hocket__request *req)
{
    struct hocket__head *h = &req->head;
    if (h->state == HOCKET__HEAD_PASS) {
        h->state = HOCKET__HEAD_STATUS;
        return 0;
    }
    h->state = HOCKET__HEAD_DONE;
    int status = h->held ? redirect_decide(req) : 0;
    if (status < 0 || (h->held && h->target.len > 0))
        return status;
    if (h->held)
        give_held(req);
    h->held = false;
    if (req->handler->on_headers_end && req->doom == HOCKET__REQUEST_LIVES)
        req->handler->on_headers_end(req->ud);
    return 0;
}

int hocket__head_line(struct hocket__request *req, struct hocket__str line)
{
    struct hocket__head *h = &req->head;
    h->bytes += line.n;
    if (h->bytes > h->max)
        return hocket__request_fail(
            req, HOCKET_ELIMIT, "the answer's headers are longer than %zu bytes", h->max);
    if (h->state == HOCKET__HEAD_STATUS)
        return begin(req, line);
    if (h->state == HOCKET__HEAD_DONE)
        return 0;
    if (line.p[0] == '\r' || line.p[0] == '\n')
        return end(req);
    if (h->held)
        return hold(req, line);
    if (h->state == HOCKET__HEAD_LINES)
        give_header(req, line);
    return 0;
}

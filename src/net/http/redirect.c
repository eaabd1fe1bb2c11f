/* Where an answer sends a request, and what of it may go there. The target is worked out at
 * the end of the head (decide), while the body of the redirect may still come; the request
 * leaves for it when libcurl is done with the old transfer (follow). */
#include "net/http/redirect.h"

#include "net/http/http_impl.h"
#include "net/http/origin.h"
#include "net/http/request.h"
#include "net/http/setup.h"
#include "net/http/shard.h"

bool hocket__redirect_is(int http_status)
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

int hocket__redirect_decide(struct hocket__request *req)
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

/* The answers: what a status line, headers and framing look like, and which call is
 * allowed when.
 *
 * A head is written into a buffer of the server's, sent at once together with what body there is,
 * and only the rest is queued: most answers are one system call. Calls that come in the wrong order
 * are refused with EINVAL or ESTATE and leave the connection as it was. */
#include "serve/conn.h"

#include <inttypes.h>
#include <stdio.h>

#include "os/tcp.h"

#define LAST_CHUNK "0\r\n\r\n"
/* Kept free in the queue, so that a full one does not keep an answer from being ended. */
#define SPARE (sizeof LAST_CHUNK - 1)

#define REASON_MAP(X)                                                                              \
    X(200, "OK")                                                                                   \
    X(201, "Created")                                                                              \
    X(202, "Accepted")                                                                             \
    X(204, "No Content")                                                                           \
    X(301, "Moved Permanently")                                                                    \
    X(302, "Found")                                                                                \
    X(303, "See Other")                                                                            \
    X(304, "Not Modified")                                                                         \
    X(307, "Temporary Redirect")                                                                   \
    X(308, "Permanent Redirect")                                                                   \
    X(400, "Bad Request")                                                                          \
    X(401, "Unauthorized")                                                                         \
    X(403, "Forbidden")                                                                            \
    X(404, "Not Found")                                                                            \
    X(405, "Method Not Allowed")                                                                   \
    X(408, "Request Timeout")                                                                      \
    X(409, "Conflict")                                                                             \
    X(413, "Content Too Large")                                                                    \
    X(414, "URI Too Long")                                                                         \
    X(415, "Unsupported Media Type")                                                               \
    X(417, "Expectation Failed")                                                                   \
    X(422, "Unprocessable Content")                                                                \
    X(429, "Too Many Requests")                                                                    \
    X(431, "Request Header Fields Too Large")                                                      \
    X(500, "Internal Server Error")                                                                \
    X(501, "Not Implemented")                                                                      \
    X(502, "Bad Gateway")                                                                          \
    X(503, "Service Unavailable")                                                                  \
    X(504, "Gateway Timeout")                                                                      \
    X(505, "HTTP Version Not Supported")                                                           \
    X(529, "Overloaded")

const char *hocket__server_reason(int status)
{
    switch (status) {
#define REASON_CASE(code, text)                                                                    \
    case code: return text;
        REASON_MAP(REASON_CASE)
#undef REASON_CASE
    default: return "";
    }
}

/* ---- Heads ----------------------------------------------------------------------- */

/* For these a length, too, would be wrong (RFC 9110). */
static bool has_no_body(int status)
{
    return status == 204 || status == 304;
}

/* Nothing where the caller says a time of its own, or there is no clock. */
static void add_date(struct hocket__server *s, const struct hocket__answer_head *h)
{
    for (size_t i = 0; i < h->n_headers; i++)
        if (hocket__head_same(h->headers[i].name, "date"))
            return;
    const char *date = s->clock ? hocket__server_date(&s->date, s->clock()) : NULL;
    if (date)
        hocket__buf_addf(&s->line, "Date: %s\r\n", date);
}

int hocket__server_write_head(struct hocket__server *s, const struct hocket__answer_head *h)
{
    struct hocket__buf *b = &s->line;
    hocket__buf_reset(b);
    hocket__buf_addf(b, "HTTP/1.1 %d %s\r\n", h->status, hocket__server_reason(h->status));
    for (size_t i = 0; i < h->n_headers; i++) {
        if (hocket__head_same(h->headers[i].name, "connection"))
            continue; /* said below */
        hocket__buf_addstr(b, h->headers[i].name);
        hocket__buf_adds(b, ": ");
        hocket__buf_addstr(b, h->headers[i].value);
        hocket__buf_adds(b, "\r\n");
    }
    add_date(s, h);
    if (h->length >= 0)
        hocket__buf_addf(b, "Content-Length: %" PRId64 "\r\n", h->length);
    if (h->chunked)
        hocket__buf_adds(b, "Transfer-Encoding: chunked\r\n");
    if (h->close)
        hocket__buf_adds(b, "Connection: close\r\n");
    else if (h->keep_alive)
        hocket__buf_adds(b, "Connection: keep-alive\r\n");
    return hocket__buf_adds(b, "\r\n");
}

/* Sets *close when the caller asks for it by its header.
 * Length and framing are ours: a caller that set them could have its answer read in another way
 * than it was written. */
static int check_headers(const struct hocket__server_header *headers, size_t n, bool *close)
{
    for (size_t i = 0; i < n; i++) {
        struct hocket__str name = headers[i].name, value = headers[i].value;
        if (!hocket__head_is_field(name, value) || hocket__head_same(name, "content-length")
            || hocket__head_same(name, "transfer-encoding"))
            return HOCKET_EINVAL;
        if (hocket__head_same(name, "connection")) {
            if (!hocket__head_same(value, "close"))
                return HOCKET_EINVAL;
            *close = true;
        }
    }
    return 0;
}

/* ---- Calls ----------------------------------------------------------------------- */

/* A broken connection gets the same result as a closed one: its end comes from the loop. */
static struct hocket__conn *find(const struct hocket__server *s, uint64_t id)
{
    struct hocket__conn *c = id ? hocket__map_get(&s->requests, id) : NULL;
    return c && !c->broken ? c : NULL;
}

/* A uv_buf_t serves reading too and is therefore not const; writing only looks. */
static uv_buf_t piece(struct hocket__str s)
{
    union {
        const char *in;
        char *out;
    } base = { s.p };
    return (uv_buf_t){ .base = base.out, .len = s.n };
}

static int send_head(struct hocket__conn *c, struct hocket__answer_head *h, struct hocket__str body)
{
    struct hocket__server *s = c->server;
    int rc = check_headers(h->headers, h->n_headers, &h->close);
    if (rc)
        return rc;
    h->keep_alive = c->http10 && !h->close;
    if (hocket__server_write_head(s, h)) {
        c->broken = true;
        hocket__conn_wake(c);
        return HOCKET_ENOMEM;
    }
    uv_buf_t pieces[2] = { piece(hocket__buf_str(&s->line)), piece(body) };
    rc = hocket__conn_send(c, pieces, body.n > 0 ? 2 : 1, SPARE);
    if (rc == 0)
        c->keep_alive = !h->close;
    return rc;
}

int hocket__server_respond(struct hocket__server *s, uint64_t id, int status,
    const struct hocket__server_header *headers, size_t n_headers, struct hocket__str body)
{
    struct hocket__conn *c = find(s, id);
    if (!c)
        return HOCKET_ECLOSED;
    if (c->begun)
        return HOCKET_ESTATE;
    if (status < 200 || status > 599 || body.n > INT64_MAX)
        return HOCKET_EINVAL;
    struct hocket__answer_head h = {
        .status = status,
        .headers = headers,
        .n_headers = n_headers,
        .length = has_no_body(status) ? -1 : (int64_t) body.n,
        .close = !c->keep_alive,
    };
    bool bodyless = c->to_head || has_no_body(status);
    int rc = send_head(c, &h, bodyless ? HOCKET__STR("") : body);
    if (rc == 0)
        hocket__conn_finish(c);
    return rc;
}

int hocket__server_begin(struct hocket__server *s, uint64_t id, int status,
    const struct hocket__server_header *headers, size_t n_headers)
{
    struct hocket__conn *c = find(s, id);
    if (!c)
        return HOCKET_ECLOSED;
    if (c->begun)
        return HOCKET_ESTATE;
    if (status < 200 || status > 599)
        return HOCKET_EINVAL;
    struct hocket__answer_head h = {
        .status = status,
        .headers = headers,
        .n_headers = n_headers,
        .length = -1,
        .chunked = !c->http10 && !has_no_body(status),
        /* HTTP/1.0 knows no chunks: there the end of the connection is the end of the body */
        .close = !c->keep_alive || c->http10,
    };
    int rc = send_head(c, &h, HOCKET__STR(""));
    if (rc == 0) {
        c->begun = true;
        c->chunked = h.chunked;
        c->bodyless = c->to_head || has_no_body(status);
    }
    return rc;
}

int hocket__server_write(struct hocket__server *s, uint64_t id, struct hocket__str bytes)
{
    char size[24];
    struct hocket__conn *c = find(s, id);
    if (!c)
        return HOCKET_ECLOSED;
    if (!c->begun)
        return HOCKET_ESTATE;
    if (bytes.n == 0 || c->bodyless)
        return 0;
    uv_buf_t whole = piece(bytes);
    if (!c->chunked)
        return hocket__conn_send(c, &whole, 1, SPARE);
    int n = snprintf(size, sizeof size, "%zx\r\n", bytes.n);
    uv_buf_t pieces[3] = { { .base = size, .len = (size_t) n }, whole, piece(HOCKET__STR("\r\n")) };
    return hocket__conn_send(c, pieces, 3, SPARE);
}

int hocket__server_finish(struct hocket__server *s, uint64_t id)
{
    struct hocket__conn *c = find(s, id);
    if (!c)
        return HOCKET_ECLOSED;
    if (!c->begun && !c->raw)
        return HOCKET_ESTATE;
    if (c->begun && c->chunked && !c->bodyless) {
        uv_buf_t last = piece(HOCKET__STR(LAST_CHUNK));
        int rc = hocket__conn_send(c, &last, 1, 0);
        if (rc)
            return rc;
    }
    hocket__conn_finish(c);
    return 0;
}

int hocket__server_raw(struct hocket__server *s, uint64_t id, struct hocket__str bytes)
{
    struct hocket__conn *c = find(s, id);
    if (!c)
        return HOCKET_ECLOSED;
    uv_buf_t whole = piece(bytes);
    int rc = bytes.n > 0 ? hocket__conn_send(c, &whole, 1, SPARE) : 0;
    if (rc == 0) {
        c->raw = true;
        c->keep_alive = false;
    }
    return rc;
}

int hocket__server_abort(struct hocket__server *s, uint64_t id, enum hocket__server_cut how)
{
    struct hocket__conn *c = find(s, id);
    if (!c)
        return HOCKET_ECLOSED;
    if (how == HOCKET__SERVER_RESET)
        hocket__conn_close(c, true);
    else
        hocket__conn_end(c);
    return 0;
}

int hocket__server_peer(const struct hocket__server *s, uint64_t id, char out[HOCKET__SERVER_PEER])
{
    const struct hocket__conn *c = find(s, id);
    out[0] = 0;
    if (!c)
        return HOCKET_ECLOSED;
    if (!hocket__tcp_peer(c->fd, out, HOCKET__SERVER_PEER))
        out[0] = 0;
    return 0;
}

int64_t hocket__server_queued(const struct hocket__server *s, uint64_t id)
{
    const struct hocket__conn *c = find(s, id);
    return c ? (int64_t) hocket__outq_len(&c->out) : HOCKET_ECLOSED;
}

/* Reads what a client of the proxy wants, from the first byte on which of three protocols it speaks
 * (wish.h). Nothing of a client's request line goes out as it came: the head that is sent is
 * written from what was understood. */
#include "serve/proxy/wish.h"

#include <stdio.h>
#include <string.h>
#include <uv.h>

#define HEAD_MAX    32768
#define STATUS_BAD  400
#define STATUS_DENY 403

/* ---- HTTP ---------------------------------------------------------------------------- */

/* Between two machines alone, or written by us. Source: RFC 9110, 7.6.1. */
static bool is_passed_on(struct hocket__str name)
{
    static const char *const own[] = { "host", "connection", "proxy-connection", "keep-alive", "te",
        "trailer", "upgrade", "proxy-authorization", "proxy-authenticate", "http2-settings", NULL };
    for (const char *const *o = own; *o; o++)
        if (hocket__head_same(name, *o))
            return false;
    return true;
}

/* What else the client names in Connection is passed on: nothing here goes by it. */
static int write_head(const struct hocket__wish *w, struct hocket__buf *out)
{
    const struct hocket__head *h = &w->head;
    hocket__buf_addstr(out, h->method);
    hocket__buf_addc(out, ' ');
    hocket__buf_addstr(out, h->path);
    hocket__buf_adds(out, " HTTP/1.1\r\nHost: ");
    hocket__buf_addstr(out, h->authority);
    hocket__buf_adds(out, "\r\nConnection: close\r\n");
    for (size_t i = 0; i < h->n_headers; i++)
        if (is_passed_on(h->headers[i].name)) {
            hocket__buf_addstr(out, h->headers[i].name);
            hocket__buf_adds(out, ": ");
            hocket__buf_addstr(out, h->headers[i].value);
            hocket__buf_adds(out, "\r\n");
        }
    return hocket__buf_adds(out, "\r\n");
}

/* The field Host, where there is one, names the place that the request line does. */
static bool is_same_host(const struct hocket__wish *w)
{
    struct hocket__authority said;
    int port = w->kind == HOCKET__WISH_TUNNEL ? w->to.port : 80;
    for (size_t i = 0; i < w->head.n_headers; i++)
        if (hocket__head_same(w->head.headers[i].name, "host")
            && (hocket__authority_read(w->head.headers[i].value, port, &said) < 0
                || strcmp(said.host, w->to.host) != 0 || said.port != w->to.port))
            return false;
    return true;
}

/* Puts our own head in the place of theirs, which is `length` bytes, and cuts what follows the body. */
static int put_own_head(
    struct hocket__wish *w, const struct hocket_allocator *a, struct hocket__buf *in, size_t length)
{
    struct hocket__buf own;
    uint64_t there = in->len - length;
    if (there > w->head.length)
        there = w->head.length;
    w->body = w->head.length - there;
    hocket__buf_init(&own, a, 0);
    write_head(w, &own);
    int rc = hocket__buf_add(&own, in->data + length, (size_t) there);
    hocket__buf_deinit(in);
    hocket__buf_move(in, &own);
    return rc < 0 ? rc : 1;
}

static int read_request(
    struct hocket__wish *w, const struct hocket_allocator *a, struct hocket__buf *in)
{
    struct hocket__str text = hocket__str(in->data + w->scan.start, w->scan.at - w->scan.start);
    int rc = hocket__head_parse(&w->head, a, text);
    if (rc != 0)
        return rc;
    bool tunnel = hocket__str_is(w->head.method, "CONNECT");
    w->kind = tunnel ? HOCKET__WISH_TUNNEL : HOCKET__WISH_PLAIN;
    if (!w->head.authority.p
        || hocket__authority_read(w->head.authority, tunnel ? 0 : 80, &w->to) < 0
        || !is_same_host(w))
        return STATUS_BAD;
    if (tunnel && (w->head.length > 0 || w->head.chunked))
        return STATUS_BAD;
    if (w->head.chunked)
        return 411; /* its end would have to be found in what is passed on */
    if (!tunnel)
        return put_own_head(w, a, in, w->scan.at);
    hocket__buf_drop(in, w->scan.at);
    return 1;
}

static int read_http(
    struct hocket__wish *w, const struct hocket_allocator *a, struct hocket__buf *in)
{
    int rc = hocket__head_find(&w->scan, hocket__buf_str(in), HEAD_MAX);
    return rc == 1 ? read_request(w, a, in) : rc;
}

/* ---- SOCKS5 -------------------------------------------------------------------------- */

enum { SOCKS_VERSION = 5, SOCKS_CONNECT = 1, SOCKS_V4 = 1, SOCKS_NAME = 3, SOCKS_V6 = 4 };
enum { SOCKS_DONE, SOCKS_FAILED, SOCKS_DENIED, SOCKS_UNREACHABLE = 4, SOCKS_NO_COMMAND = 7 };

static void put_reply(struct hocket__buf *out, int code)
{
    const char reply[] = { SOCKS_VERSION, (char) code, 0, SOCKS_V4, 0, 0, 0, 0, 0, 0 };
    hocket__buf_add(out, reply, sizeof(reply));
}

static int greet(struct hocket__wish *w, struct hocket__buf *in, struct hocket__buf *out)
{
    const unsigned char *p = (const unsigned char *) in->data;
    if (in->len < 2 || in->len < 2 + (size_t) p[1])
        return 0;
    w->greeted = memchr(p + 2, 0, p[1]) != NULL; /* without a password */
    if (!w->greeted)
        return STATUS_BAD;
    hocket__buf_drop(in, 2 + (size_t) p[1]);
    hocket__buf_add(out, "\5\0", 2);
    return 0;
}

/* Bytes of the address, of which the first may be needed to know; 0: unknown kind. */
static size_t address_size(const unsigned char *p)
{
    switch (p[3]) {
    case SOCKS_V4: return 4;
    case SOCKS_V6: return 16;
    case SOCKS_NAME: return 1 + (size_t) p[4];
    default: return 0;
    }
}

static struct hocket__str address_text(const unsigned char *p, char *text, size_t size)
{
    char v6[INET6_ADDRSTRLEN];
    if (p[3] == SOCKS_NAME)
        return hocket__str((const char *) p + 5, p[4]);
    if (p[3] == SOCKS_V4)
        inet_ntop(AF_INET, p + 4, text, (socklen_t) size);
    else
        snprintf(text, size, "[%s]", inet_ntop(AF_INET6, p + 4, v6, sizeof(v6)));
    return hocket__cstr(text);
}

static int read_command(struct hocket__wish *w, struct hocket__buf *in)
{
    char text[INET6_ADDRSTRLEN + 2];
    const unsigned char *p = (const unsigned char *) in->data;
    if (in->len < 5)
        return 0;
    size_t size = address_size(p);
    if (p[0] != SOCKS_VERSION || p[1] != SOCKS_CONNECT || p[2] != 0 || size == 0)
        return STATUS_BAD;
    if (in->len < 4 + size + 2)
        return 0;
    int port = p[4 + size] << 8 | p[5 + size];
    struct hocket__str host = address_text(p, text, sizeof(text));
    if (p[3] == SOCKS_NAME && host.n > 0 && memchr(host.p, ':', host.n))
        return STATUS_BAD; /* a port of its own */
    if (hocket__authority_read(host, port, &w->to) < 0)
        return STATUS_BAD;
    hocket__buf_drop(in, 4 + size + 2);
    return 1;
}

static int read_socks(struct hocket__wish *w, struct hocket__buf *in, struct hocket__buf *out)
{
    w->kind = HOCKET__WISH_SOCKS;
    int rc = w->greeted ? 0 : greet(w, in, out);
    return rc == 0 && w->greeted ? read_command(w, in) : rc;
}

/* ---- Both ---------------------------------------------------------------------------- */

int hocket__wish_read(struct hocket__wish *w, const struct hocket_allocator *a,
    struct hocket__buf *in, struct hocket__buf *out)
{
    if (in->len == 0)
        return 0;
    if (w->kind == HOCKET__WISH_SOCKS || (w->scan.at == 0 && in->data[0] == SOCKS_VERSION))
        return read_socks(w, in, out);
    return read_http(w, a, in);
}

void hocket__wish_grant(const struct hocket__wish *w, struct hocket__buf *out)
{
    if (w->kind == HOCKET__WISH_TUNNEL)
        hocket__buf_adds(out, "HTTP/1.1 200 Connection established\r\n\r\n");
    else if (w->kind == HOCKET__WISH_SOCKS)
        put_reply(out, SOCKS_DONE);
}

static const char *phrase(int status)
{
    switch (status) {
    case STATUS_DENY: return "Forbidden";
    case 408: return "Request Timeout";
    case 411: return "Length Required";
    case 502: return "Bad Gateway";
    case 504: return "Gateway Timeout";
    case STATUS_BAD: return "Bad Request";
    default: return "Refused";
    }
}

static int socks_code(int status)
{
    return status == STATUS_DENY  ? SOCKS_DENIED
           : status >= 500        ? SOCKS_UNREACHABLE
           : status == STATUS_BAD ? SOCKS_NO_COMMAND
                                  : SOCKS_FAILED;
}

void hocket__wish_refuse(
    const struct hocket__wish *w, int status, const char *why, struct hocket__buf *out)
{
    if (w->kind == HOCKET__WISH_SOCKS && !w->greeted)
        hocket__buf_add(out, "\5\xff", 2);
    else if (w->kind == HOCKET__WISH_SOCKS)
        put_reply(out, socks_code(status));
    else
        hocket__buf_addf(out,
            "HTTP/1.1 %d %s\r\nContent-Type: text/plain\r\nContent-Length: %zu\r\n"
            "X-Proxy-Error: %s\r\nConnection: close\r\n\r\n%s\n",
            status, phrase(status), strlen(why) + 1, why, why);
}

void hocket__wish_deinit(struct hocket__wish *w, const struct hocket_allocator *a)
{
    hocket__head_deinit(&w->head, a);
}

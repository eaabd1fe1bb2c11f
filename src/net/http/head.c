/* The head of an answer as a small machine:
 *
 *    STATUS ──"HTTP/… 1xx"──> PASS ──blank──> STATUS
 *    STATUS ──"HTTP/… 2xx…"─> LINES ─blank──> DONE       (further lines are trailers)
 *
 * The head of a redirect is held until the blank line, when its Location is known; only then
 * it is clear whether the caller sees this answer or the next. */
#include "net/http/head.h"

#include <strings.h>

#include "net/http/redirect.h"
#include "net/http/request.h"

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
    for (size_t i = 0; i < name.n; i++) {
        char c = name.p[i];
        out[i] = c >= 'A' && c <= 'Z' ? (char) (c + ('a' - 'A')) : c;
    }
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
    h->held = req->redirects_left > 0 && hocket__redirect_is(h->status);
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
    int status = h->held ? hocket__redirect_decide(req) : 0;
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

/* A request's head: its end is found as it comes, byte by byte, and then it is parsed as a
 * whole (RFC 9112). What readers are known to differ about is refused: bare CR or LF, two
 * lengths, a length beside chunks, folded lines. */
#include "serve/head.h"

#include "base/alloc.h"

#define STATUS_BAD      400
#define STATUS_URI_LONG 414
#define STATUS_LARGE    431
#define STATUS_NO_IMPL  501
#define STATUS_VERSION  505

static bool is_blank(char c)
{
    return c == ' ' || c == '\t';
}

/* A tab is allowed in a value, no other control character. */
static bool is_control(char c)
{
    return ((unsigned char) c < 0x20 && c != '\t') || c == 0x7f;
}

bool hocket__head_is_token(char c)
{
    return hocket__is_digit(c) || hocket__is_letter(c)
           || (c != '\0' && strchr("!#$%&'*+-.^_`|~", c));
}

bool hocket__head_same(struct hocket__str a, const char *name)
{
    size_t i = 0;
    while (i < a.n && name[i] != '\0' && hocket__lower(a.p[i]) == hocket__lower(name[i]))
        i++;
    return i == a.n && name[i] == '\0';
}

static struct hocket__str trim(struct hocket__str s)
{
    while (s.n > 0 && is_blank(s.p[0]))
        s = hocket__str(s.p + 1, s.n - 1);
    while (s.n > 0 && is_blank(s.p[s.n - 1]))
        s.n--;
    return s;
}

/* Cuts `s` at the first `c`: what stood before it; `s` becomes what stands behind, with a
 * NULL pointer when there was no `c`. */
static struct hocket__str cut(struct hocket__str *s, char c)
{
    const char *at = s->n > 0 ? memchr(s->p, c, s->n) : NULL;
    struct hocket__str first = hocket__str(s->p, at ? (size_t) (at - s->p) : s->n);
    *s = at ? hocket__str(at + 1, s->n - first.n - 1) : hocket__str(NULL, 0);
    return first;
}

static bool all_token(struct hocket__str s)
{
    for (size_t i = 0; i < s.n; i++)
        if (!hocket__head_is_token(s.p[i]))
            return false;
    return s.n > 0;
}

bool hocket__head_is_field(struct hocket__str name, struct hocket__str value)
{
    for (size_t i = 0; i < value.n; i++)
        if (is_control(value.p[i]))
            return false;
    return all_token(name);
}

/* As "keep-alive, Upgrade" is a list of words. */
static bool lists(struct hocket__str list, const char *word)
{
    while (list.p)
        if (hocket__head_same(trim(cut(&list, ',')), word))
            return true;
    return false;
}

/* ---- Finding the end ------------------------------------------------------------ */

/* The line that ends at `at` (its LF). 1: the head ends here. */
static int end_line(struct hocket__head_scan *s)
{
    bool empty = s->at - s->line == 2;
    s->line = s->at;
    if (empty && s->start + 2 == s->at)
        s->start = s->at; /* before the request line: left over by an old client */
    else if (empty)
        return 1;
    return 0;
}

/* CR and LF come only as a pair: a reader in front of us that takes one of them alone for a line
 * end would see other headers. */
static int find_byte(struct hocket__head_scan *s, char c)
{
    bool cr = s->cr;
    s->at++;
    s->cr = c == '\r';
    if (cr != (c == '\n'))
        return STATUS_BAD;
    if (c == '\n')
        return end_line(s);
    return c != '\r' && is_control(c) ? STATUS_BAD : 0;
}

int hocket__head_find(struct hocket__head_scan *s, struct hocket__str in, size_t max)
{
    int rc = 0;
    while (rc == 0 && s->at < in.n && s->at < max)
        rc = find_byte(s, in.p[s->at]);
    if (rc == 0 && s->at >= max)
        return s->line == s->start ? STATUS_URI_LONG : STATUS_LARGE;
    return rc;
}

/* ---- The request line ------------------------------------------------------------ */

/* Of an absolute "http://host/path", which a server must take as well as a proxy. */
static int parse_absolute(struct hocket__head *h, struct hocket__str target)
{
    if (target.n <= 7 || !hocket__head_same(hocket__str(target.p, 7), "http://"))
        return STATUS_BAD;
    const char *slash = memchr(target.p + 7, '/', target.n - 7);
    if (slash == target.p + 7)
        return STATUS_BAD;
    size_t n = slash ? (size_t) (slash - target.p) : target.n;
    h->authority = hocket__str(target.p + 7, n - 7);
    h->path = slash ? hocket__str(slash, target.n - n) : HOCKET__STR("/");
    return 0;
}

/* Nothing that would have to be escaped: a byte of it would mean something else to whoever it is
 * passed on to. */
static int parse_target(struct hocket__head *h, struct hocket__str target)
{
    for (size_t i = 0; i < target.n; i++)
        if (target.p[i] <= ' ' || target.p[i] > '~' || target.p[i] == '#')
            return STATUS_BAD;
    h->path = target;
    if (hocket__str_is(h->method, "CONNECT")) {
        h->authority = target;
        return 0;
    }
    if (target.n > 0 && target.p[0] == '/')
        return 0;
    if (hocket__str_is(target, "*"))
        return hocket__str_is(h->method, "OPTIONS") ? 0 : STATUS_BAD;
    return parse_absolute(h, target);
}

static int parse_version(struct hocket__head *h, struct hocket__str v)
{
    if (v.n != 8 || memcmp(v.p, "HTTP/", 5) != 0 || !hocket__is_digit(v.p[5]) || v.p[6] != '.'
        || !hocket__is_digit(v.p[7]))
        return STATUS_BAD;
    h->minor = v.p[7] == '0' ? 0 : 1;
    return v.p[5] == '1' ? 0 : STATUS_VERSION;
}

static int parse_request_line(struct hocket__head *h, struct hocket__str line)
{
    h->method = cut(&line, ' ');
    struct hocket__str target = cut(&line, ' ');
    if (!all_token(h->method) || target.n == 0)
        return STATUS_BAD;
    /* The version first: HTTP/2's preface is not a malformed OPTIONS. */
    int rc = parse_version(h, line);
    return rc ? rc : parse_target(h, target);
}

/* ---- Fields ---------------------------------------------------------------------- */

static int add_field(
    struct hocket__head *h, const struct hocket_allocator *a, struct hocket__str line)
{
    struct hocket__str value = line;
    struct hocket__str name = cut(&value, ':');
    if (!value.p || !all_token(name)) /* also a folded line: it begins with a blank */
        return STATUS_BAD;
    if (h->n_headers == HOCKET__HEAD_MAX_HEADERS)
        return STATUS_LARGE;
    if (hocket__grow(a, &h->headers, &h->cap_headers, h->n_headers + 1, sizeof *h->headers))
        return HOCKET_ENOMEM;
    h->headers[h->n_headers++] = (struct hocket__server_header){ name, trim(value) };
    return 0;
}

/* Digits only; what does not fit is as good as the largest number. */
static int parse_length(struct hocket__head *h, struct hocket__str v)
{
    h->length = 0;
    for (size_t i = 0; i < v.n; i++) {
        if (!hocket__is_digit(v.p[i]))
            return STATUS_BAD;
        unsigned digit = (unsigned) (v.p[i] - '0');
        bool fits = h->length <= (UINT64_MAX - digit) / 10;
        h->length = fits ? h->length * 10 + digit : UINT64_MAX;
        if (!fits)
            return 413;
    }
    return v.n > 0 ? 0 : STATUS_BAD;
}

struct seen {
    int host, length, encoding, authorization;
    struct hocket__str named; /* by the Host header */
};

/* Two lengths, even if they are equal, are refused: they are how one request is smuggled inside
 * another. */
static int interpret(
    struct hocket__head *h, struct hocket__str name, struct hocket__str v, struct seen *seen)
{
    if (hocket__head_same(name, "host")) {
        seen->host++;
        seen->named = v;
    } else if (hocket__head_same(name, "authorization"))
        return seen->authorization++ > 0 ? STATUS_BAD
                                         : 0; /* two readers would take different ones */
    else if (hocket__head_same(name, "content-length"))
        return seen->length++ > 0 ? STATUS_BAD : parse_length(h, v);
    else if (hocket__head_same(name, "transfer-encoding")) {
        h->chunked = hocket__head_same(v, "chunked");
        return seen->encoding++ > 0 ? STATUS_BAD : h->chunked ? 0 : STATUS_NO_IMPL;
    } else if (hocket__head_same(name, "connection")) {
        if (lists(v, "close"))
            h->keep_alive = false;
        else if (h->minor == 0 && lists(v, "keep-alive"))
            h->keep_alive = true;
    } else if (hocket__head_same(name, "expect") && h->minor > 0) {
        h->expect_continue = hocket__head_same(v, "100-continue");
        return h->expect_continue ? 0 : 417;
    }
    return 0;
}

/* Names of hosts, whatever their letters' case. */
static bool is_same_host(struct hocket__str a, struct hocket__str b)
{
    for (size_t i = 0; i < a.n && i < b.n; i++)
        if (hocket__lower(a.p[i]) != hocket__lower(b.p[i]))
            return false;
    return a.n == b.n;
}

/* Decides on body and connection, from all fields together. */
static int interpret_all(struct hocket__head *h)
{
    struct seen seen = { 0 };
    h->keep_alive = h->minor > 0;
    for (size_t i = 0; i < h->n_headers; i++) {
        int rc = interpret(h, h->headers[i].name, h->headers[i].value, &seen);
        if (rc)
            return rc;
    }
    if (seen.host > 1 || (seen.host == 0 && h->minor > 0))
        return STATUS_BAD;
    bool absolute = h->authority.n && !hocket__str_is(h->method, "CONNECT");
    if (absolute && seen.host && !is_same_host(h->authority, seen.named))
        return STATUS_BAD;
    if (seen.encoding && (seen.length || h->minor == 0))
        return STATUS_BAD;
    return 0;
}

int hocket__head_parse(
    struct hocket__head *h, const struct hocket_allocator *a, struct hocket__str text)
{
    *h = (struct hocket__head){ .headers = h->headers, .cap_headers = h->cap_headers };
    bool first = true;
    while (text.n > 2) { /* the last two are the empty line */
        struct hocket__str line = cut(&text, '\n');
        line.n--; /* the CR, which hocket__head_find saw */
        int rc = first ? parse_request_line(h, line) : add_field(h, a, line);
        if (rc)
            return rc;
        first = false;
    }
    return interpret_all(h);
}

void hocket__head_deinit(struct hocket__head *h, const struct hocket_allocator *a)
{
    hocket__free(a, h->headers, h->cap_headers * sizeof *h->headers);
    *h = (struct hocket__head){ 0 };
}

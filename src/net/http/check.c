/* What a caller asks for, before anything is made of it. libcurl would send a header with a
 * line break in it as two headers: this is where request splitting ends.
 *
 * URLs are taken apart by libcurl's own parser, so that what was checked is what is connected to. */
#include "net/http/check.h"

#include <string.h>
#include <strings.h>

#include "net/http/http_impl.h"

#define URL_MAX     65536
#define HEADERS_MAX 256
#define HEADER_MAX  65536 /* bytes of one */

/* RFC 9110, token */
static bool is_token(struct hocket__str s)
{
    for (size_t i = 0; i < s.n; i++) {
        unsigned char c = (unsigned char) s.p[i];
        if ((c >= 'a' && c <= 'z') || c == '-')
            continue;
        if (c <= ' ' || c >= 127 || strchr("\"(),/:;<=>?@[\\]{}", c))
            return false;
    }
    return s.n > 0;
}

/* Bytes above 127 pass (obs-text of RFC 9110): servers take UTF-8 there, and it cannot end a
 * line. */
static bool is_field_value(struct hocket__str s)
{
    for (size_t i = 0; i < s.n; i++) {
        unsigned char c = (unsigned char) s.p[i];
        if ((c < ' ' && c != '\t') || c == 127)
            return false;
    }
    return true;
}

static bool is_named(struct hocket__str s, const char *name)
{
    return s.n == strlen(name) && strncasecmp(s.p, name, s.n) == 0;
}

static int check_header(const struct hocket__http_header *h, struct hocket_error *err)
{
    if (!is_token(h->name))
        return hocket__error(err, HOCKET_EINVAL, "a header's name is not valid");
    int shown = h->name.n < 64 ? (int) h->name.n : 64;
    if (!is_field_value(h->value))
        return hocket__error(err, HOCKET_EINVAL,
            "the value of header %.*s holds a line break or control character", shown, h->name.p);
    if (h->name.n > HEADER_MAX || h->value.n > HEADER_MAX)
        return hocket__error(err, HOCKET_ELIMIT, "header %.*s is longer than %d bytes", shown,
            h->name.p, HEADER_MAX);
    if (is_named(h->name, "content-length") || is_named(h->name, "transfer-encoding"))
        return hocket__error(err, HOCKET_EINVAL,
            "header %.*s follows from the body and cannot be set", shown, h->name.p);
    return 0;
}

int hocket__http_check_spec(const struct hocket__http_spec *spec, struct hocket_error *err)
{
    struct hocket__str method = hocket__cstr(spec->method);
    if (!is_token(method) || method.n >= HOCKET__HTTP_METHOD_MAX)
        return hocket__error(err, HOCKET_EINVAL, "not an HTTP method");
    if (spec->n_headers > HEADERS_MAX)
        return hocket__error(err, HOCKET_ELIMIT, "more than %d headers", HEADERS_MAX);
    for (size_t i = 0; i < spec->n_headers; i++) {
        int status = check_header(&spec->headers[i], err);
        if (status < 0)
            return status;
    }
    return hocket__http_check_url(spec->url, err);
}

static size_t scheme_length(const char *url)
{
    if (strncasecmp(url, "http://", 7) == 0)
        return 7;
    return strncasecmp(url, "https://", 8) == 0 ? 8 : 0;
}

int hocket__http_check_url(const char *url, struct hocket_error *err)
{
    if (!url || scheme_length(url) == 0)
        return hocket__error(err, HOCKET_EINVAL, "a URL has to begin with http:// or https://");
    size_t n = strnlen(url, URL_MAX + 1);
    if (n > URL_MAX)
        return hocket__error(err, HOCKET_EINVAL, "a URL of more than %d bytes", URL_MAX);
    for (size_t i = 0; i < n; i++) {
        unsigned char c = (unsigned char) url[i];
        if (c <= ' ' || c == 127)
            return hocket__error(
                err, HOCKET_EINVAL, "a URL holds a space or control character at byte %zu", i + 1);
    }
    return 0;
}

/* Scheme, user, host and port. The user belongs to it: requests of two users must not share a
 * connection. */
size_t hocket__http_origin_length(const char *url)
{
    size_t scheme = scheme_length(url);
    return scheme + strcspn(url + scheme, "/?#");
}

/* Only spares the wait for a look-up. Whether an address may be connected to is decided by the
 * address itself (allow_address), never by how the host is written: 0x7f.1 or 2130706433 are
 * loopback, too. */
static bool is_literal(const char *host)
{
    return host[0] == '[' || strspn(host, "0123456789.") == strlen(host)
           || strcasecmp(host, "localhost") == 0;
}

static int name_host(struct hocket__http *http, CURLU *u, char **name, bool *literal)
{
    const struct hocket__curl *curl = http->curl;
    char *host = NULL, *port = NULL;
    int status = HOCKET_EINVAL;
    if (curl->url_get(u, CURLUPART_HOST, &host, 0) != CURLUE_OK)
        goto out;
    if (curl->url_get(u, CURLUPART_PORT, &port, 0) != CURLUE_OK)
        port = NULL;
    struct hocket__buf text = hocket__buf(http->a, 0);
    hocket__buf_adds(&text, host);
    if (port)
        hocket__buf_addf(&text, ":%s", port);
    status = text.status;
    if (status == 0 && !(*name = hocket__strdup(http->a, text.data, text.len)))
        status = HOCKET_ENOMEM;
    hocket__buf_deinit(&text);
    *literal = is_literal(host);
out:
    curl->free(host);
    curl->free(port);
    return status;
}

static int bad_host(int status, struct hocket_error *err)
{
    return status == HOCKET_EINVAL
               ? hocket__error(err, HOCKET_EINVAL, "the host of a URL is not valid")
               : hocket__error_nomem(err);
}

int hocket__http_parse_url(
    struct hocket__http *http, const char *url, CURLU **out, struct hocket_error *err)
{
    CURLU *u = http->curl->url();
    CURLUcode code = u ? http->curl->url_set(u, CURLUPART_URL, url, 0) : CURLUE_OUT_OF_MEMORY;
    if (code == CURLUE_OK) {
        *out = u;
        return 0;
    }
    http->curl->url_cleanup(u);
    return bad_host(code == CURLUE_OUT_OF_MEMORY ? HOCKET_ENOMEM : HOCKET_EINVAL, err);
}

int hocket__http_check_host(struct hocket__http *http, const char *url, char **name, bool *literal,
    struct hocket_error *err)
{
    CURLU *u;
    int status = hocket__http_parse_url(http, url, &u, err);
    if (status < 0)
        return status;
    status = name_host(http, u, name, literal);
    http->curl->url_cleanup(u);
    return status < 0 ? bad_host(status, err) : 0;
}

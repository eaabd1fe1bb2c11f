/* Options of an easy handle. Each set_… remembers what it has set and does nothing where that
 * is what is asked for: a program mostly sends the same kind of request to the same place.
 *
 * libcurl copies texts that are set, but neither the header list nor the body: these live in
 * the request until it is used for something else. */
#include "net/http/setup.h"

#include <strings.h>

#include "net/http/http_impl.h"
#include "net/http/origin.h"
#include "net/http/request.h"

#define MAX_CONNECT_MS 290000 /* libcurl itself gives up after 300 s */
#define CONNECT_MS     10000
#define MAX_HEADER     (256 * 1024)
#define FEW            64 /* up to so many at once, each may have a large buffer */
#define MANY           1024

static CURLcode set_long(const struct hocket__request *req, CURLoption option, long value)
{
    return req->http->curl->easy_setopt(req->easy, option, value);
}

static CURLcode set_text(const struct hocket__request *req, CURLoption option, const char *value)
{
    return req->http->curl->easy_setopt(req->easy, option, value);
}

/* ---- Once -------------------------------------------------------------------------- */

static CURLcode set_common_numbers(struct hocket__request *req)
{
    static const struct {
        CURLoption option;
        long value;
    } common[] = {
        { CURLOPT_NOSIGNAL, 1 },
        { CURLOPT_QUICK_EXIT, 1 }, /* a cancel does not wait for the resolver's thread */
        { CURLOPT_FOLLOWLOCATION, 0 },
        { CURLOPT_TCP_NODELAY, 1 },
        { CURLOPT_TCP_KEEPALIVE, 1 },
        { CURLOPT_TCP_KEEPIDLE, 60 },
        { CURLOPT_TCP_KEEPINTVL, 30 },
        { CURLOPT_SSL_VERIFYPEER, 1 },
        { CURLOPT_SSL_VERIFYHOST, 2 },
        { CURLOPT_SUPPRESS_CONNECT_HEADERS, 1 },
        { CURLOPT_UPLOAD_BUFFERSIZE, 16384 },
        { CURLOPT_NOPROGRESS, 1 },
    };
    CURLcode code = CURLE_OK;
    for (size_t i = 0; i < sizeof(common) / sizeof(common[0]) && code == CURLE_OK; i++)
        code = set_long(req, common[i].option, common[i].value);
    return code;
}

/* Thousands of small buffers are faster than large ones, which fall out of the caches. The smallest that libcurl
 * takes cost a sixth more where much comes at once, which is not what thousands of streams do. */
static long buffer_size(const struct hocket__http *http)
{
    return http->active < FEW ? 16384 : http->active < MANY ? 2048 : 1024;
}

static CURLcode set_common_rest(struct hocket__request *req)
{
    struct hocket__http *http = req->http;
    CURLcode code = set_long(req, CURLOPT_BUFFERSIZE, buffer_size(http));
    if (code == CURLE_OK)
        code = set_text(req, CURLOPT_ACCEPT_ENCODING, "");
    if (code == CURLE_OK)
        code = set_text(req, CURLOPT_PROTOCOLS_STR, "http,https");
    if (code == CURLE_OK)
        code = set_text(req, CURLOPT_REDIR_PROTOCOLS_STR, "http,https");
    if (code == CURLE_OK && http->user_agent)
        code = set_text(req, CURLOPT_USERAGENT, http->user_agent);
    if (code == CURLE_OK && http->ca_file)
        code = set_text(req, CURLOPT_CAINFO, http->ca_file);
    if (code == CURLE_OK && http->verbose)
        code = set_long(req, CURLOPT_VERBOSE, 1);
    if (code == CURLE_OK)
        code = http->curl->easy_setopt(req->easy, CURLOPT_SHARE, http->share);
    return code;
}

/* Waiting for a first connection that may carry several streams is worth it over TLS
 * only; there HTTP/2 is agreed on. */
static CURLcode set_version(struct hocket__request *req)
{
    bool tls = req->origin->tls;
    CURLcode code = set_long(req, CURLOPT_HTTP_VERSION,
        tls ? (long) CURL_HTTP_VERSION_2TLS : (long) CURL_HTTP_VERSION_1_1);
    return code == CURLE_OK ? set_long(req, CURLOPT_PIPEWAIT, tls) : code;
}

int hocket__setup_init(struct hocket__request *req)
{
    CURLcode code = set_common_numbers(req);
    if (code == CURLE_OK)
        code = set_common_rest(req);
    if (code == CURLE_OK)
        code = set_version(req);
    return code == CURLE_OK ? 0 : HOCKET_ENOMEM;
}

/* ---- Each part, where it differs ----------------------------------------------------- */

/* Keeps a copy of what is set. */
static int remember(struct hocket__buf *b, const char *text)
{
    hocket__buf_reset(b);
    return hocket__buf_adds(b, text);
}

/* libcurl takes a URL that is set as text apart for every transfer, anew. It gets both forms: the
 * text is what it would make of the parts, for every transfer, too. */
int hocket__setup_url(struct hocket__request *req, const char *url, struct hocket_error *err)
{
    const struct hocket__curl *curl = req->http->curl;
    if (req->url.len > 0 && hocket__str_is(hocket__buf_str(&req->url), url))
        return 0;
    CURLU *parsed;
    int status = hocket__http_parse_url(req->http, url, &parsed, err);
    if (status < 0)
        return status;
    if (remember(&req->url, url) < 0 || set_text(req, CURLOPT_URL, url) != CURLE_OK
        || curl->easy_setopt(req->easy, CURLOPT_CURLU, parsed) != CURLE_OK) {
        curl->url_cleanup(parsed);
        hocket__buf_reset(&req->url);
        return hocket__error_nomem(err);
    }
    curl->url_cleanup(req->parsed);
    req->parsed = parsed;
    return 0;
}

int hocket__setup_method(struct hocket__request *req, const char *method, bool has_body)
{
    if (strcmp(req->method, method) == 0 && req->has_body == has_body)
        return 0;
    bool get = strcmp(method, "GET") == 0, head = strcmp(method, "HEAD") == 0;
    bool post = strcmp(method, "POST") == 0;
    CURLcode code;
    if (has_body || post)
        code = set_long(req, CURLOPT_POST, 1);
    else
        code = set_long(req, head ? CURLOPT_NOBODY : CURLOPT_HTTPGET, 1);
    /* CURLOPT_POST and CURLOPT_NOBODY set the method, the framing and what libcurl expects
     * back; CUSTOMREQUEST replaces the word alone. So PUT is a POST by another name, and HEAD
     * must not be one: libcurl would wait for a body. */
    bool own_name = has_body ? !post : !get && !head && !post;
    if (code == CURLE_OK)
        code = set_text(req, CURLOPT_CUSTOMREQUEST, own_name ? method : NULL);
    if (code != CURLE_OK)
        return HOCKET_ENOMEM;
    memcpy(req->method, method, strlen(method) + 1); /* its length was checked */
    req->has_body = has_body;
    return 0;
}

/* The proxy of the environment is for what is elsewhere: it may not even reach this machine. */
static bool is_here(const char *name)
{
    static const char *const hosts[] = { "localhost", "[::1]", "127.0.0.1" };
    for (size_t i = 0; i < sizeof(hosts) / sizeof(hosts[0]); i++) {
        size_t n = strlen(hosts[i]);
        if (strncasecmp(name, hosts[i], n) == 0 && (name[n] == 0 || name[n] == ':'))
            return true;
    }
    return false;
}

static int set_proxy(struct hocket__request *req, const char *proxy)
{
    bool same = proxy ? req->has_proxy && hocket__str_is(hocket__buf_str(&req->proxy), proxy)
                      : !req->has_proxy;
    if (same)
        return 0;
    const char *nowhere = proxy && !*proxy ? "*" : NULL; /* saves a look into the environment */
    if (remember(&req->proxy, proxy ? proxy : "") < 0
        || set_text(req, CURLOPT_PROXY, proxy) != CURLE_OK
        || set_text(req, CURLOPT_NOPROXY, nowhere) != CURLE_OK)
        return HOCKET_ENOMEM;
    req->has_proxy = proxy != NULL;
    return 0;
}

/* ---- Headers --------------------------------------------------------------------------- */

static bool is_named(struct hocket__str line, const char *name)
{
    size_t n = strlen(name);
    return line.n > n && (line.p[n] == ':' || line.p[n] == ';')
           && strncasecmp(line.p, name, n) == 0;
}

/* As libcurl wants them: "Name: value", "Name;" for an empty value, "Name:" to leave
 * out one of its own. */
static void write_headers(const struct hocket__http_spec *spec, struct hocket__buf *out)
{
    bool has_body = spec->body || strcmp(spec->method, "POST") == 0, typed = false,
         accepts = !spec->plain;
    for (size_t i = 0; i < spec->n_headers; i++) {
        const struct hocket__http_header *h = &spec->headers[i];
        size_t line = out->len;
        hocket__buf_addstr(out, h->name);
        hocket__buf_adds(out, h->value.n > 0 ? ": " : ";");
        hocket__buf_addstr(out, h->value);
        struct hocket__str text =
            out->status == 0 ? hocket__str(out->data + line, out->len - line) : HOCKET__STR("");
        typed |= is_named(text, "content-type");
        accepts |= is_named(text, "accept");
        hocket__buf_addc(out, '\n');
    }
    /* "Expect: 100-continue" would make larger bodies wait a second for servers that do not
     * know it. */
    hocket__buf_adds(out, spec->plain ? "Expect:\nAccept-Encoding:\n" : "Expect:\n");
    /* That everything is accepted is said by no line as well. */
    if (!accepts)
        hocket__buf_adds(out, "Accept:\n");
    if (has_body && !typed)
        hocket__buf_adds(out, "Content-Type:\n");
}

static struct curl_slist *make_list(const struct hocket__curl *curl, struct hocket__buf *text)
{
    struct curl_slist *list = NULL;
    for (char *p = text->data, *end = p + text->len, *stop; p < end; p = stop + 1) {
        stop = memchr(p, '\n', (size_t) (end - p));
        *stop = 0;
        struct curl_slist *longer = curl->slist_append(list, p);
        *stop = '\n';
        if (!longer) {
            curl->slist_free_all(list);
            return NULL;
        }
        list = longer;
    }
    return list;
}

static int set_headers(struct hocket__request *req, struct hocket__buf *text)
{
    const struct hocket__curl *curl = req->http->curl;
    if (text->status < 0)
        return HOCKET_ENOMEM;
    if (hocket__str_eq(hocket__buf_str(text), hocket__buf_str(&req->header_text)))
        return 0;
    struct curl_slist *list = make_list(curl, text);
    if (!list)
        return HOCKET_ENOMEM;
    curl->easy_setopt(req->easy, CURLOPT_HTTPHEADER, list);
    curl->slist_free_all(req->headers);
    req->headers = list;
    hocket__buf_reset(&req->header_text);
    return hocket__buf_addstr(&req->header_text, hocket__buf_str(text));
}

static bool may_go_anywhere(struct hocket__str line)
{
    static const char *const names[] = { "accept", "accept-encoding", "accept-language", "expect",
        "user-agent" };
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
        if (is_named(line, names[i]))
            return true;
    return false;
}

int hocket__setup_strip(struct hocket__request *req)
{
    struct hocket__buf *out = &req->http->scratch;
    struct hocket__str all = hocket__buf_str(&req->header_text);
    hocket__buf_reset(out);
    while (all.n > 0) {
        size_t n = (size_t) ((const char *) memchr(all.p, '\n', all.n) - all.p) + 1;
        if (may_go_anywhere(hocket__str(all.p, n)))
            hocket__buf_add(out, all.p, n);
        all = hocket__str(all.p + n, all.n - n);
    }
    /* the new origin may be plain HTTP where the old one was TLS */
    return set_version(req) == CURLE_OK ? set_headers(req, out) : HOCKET_ENOMEM;
}

/* ---- All of it --------------------------------------------------------------------------- */

static uint64_t limit(int ms)
{
    return ms > 0 ? (uint64_t) ms : UINT64_MAX;
}

static void take_limits(struct hocket__request *req, const struct hocket__http_spec *spec)
{
    int connect = spec->connect_ms > 0 ? spec->connect_ms : CONNECT_MS;
    req->connect_ms = limit(connect < MAX_CONNECT_MS ? connect : MAX_CONNECT_MS);
    req->first_ms = limit(spec->first_ms);
    req->idle_ms = limit(spec->idle_ms);
    req->total_ms = limit(spec->total_ms);
    req->max_body = spec->max_body ? spec->max_body : SIZE_MAX;
    req->head.max = spec->max_header ? spec->max_header : MAX_HEADER;
    req->redirects_left = spec->max_redirects;
    req->progress = spec->own_progress ? HOCKET__REQUEST_BY_HANDLER : HOCKET__REQUEST_BY_BYTES;
    req->allow_address = spec->allow_address;
}

int hocket__setup_spec(
    struct hocket__request *req, const struct hocket__http_spec *spec, struct hocket_error *err)
{
    struct hocket__buf *headers = &req->http->scratch;
    take_limits(req, spec);
    int status = hocket__setup_url(req, spec->url, err);
    if (status < 0)
        return status;
    const char *proxy = spec->proxy ? spec->proxy : is_here(req->origin->name) ? "" : NULL;
    hocket__buf_reset(headers);
    write_headers(spec, headers);
    if (hocket__setup_method(req, spec->method, spec->body != NULL) < 0
        || set_headers(req, headers) < 0 || set_proxy(req, proxy) < 0)
        return hocket__error_nomem(err);
    return 0;
}

void hocket__setup_body(struct hocket__request *req, struct hocket__buf *body)
{
    const struct hocket__curl *curl = req->http->curl;
    if (body)
        hocket__buf_move(&req->body, body);
    if (!body && strcmp(req->method, "POST") != 0)
        return;
    const char *p = req->body.data ? req->body.data : "";
    curl->easy_setopt(req->easy, CURLOPT_POSTFIELDS, p);
    curl->easy_setopt(req->easy, CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t) req->body.len);
}

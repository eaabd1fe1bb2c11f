/* libcurl's result codes sorted into ours. What matters to a caller is whether another try can
 * help, and whether an answer had begun: the same CURLE_RECV_ERROR is "cannot reach it" before
 * the status line and a truncated answer after it. */
#include "net/http/error.h"

#include <errno.h>

#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "os/descriptors.h"
#include "net/http/http_impl.h"
#include "net/http/origin.h"
#include "net/http/request.h"

/* libcurl's own words can hold what the server sent: cut and cleaned. */
static void clean(const char *from, char *to, size_t size)
{
    size_t n = 0;
    for (; from[n] && n + 1 < size; n++)
        to[n] = from[n] >= ' ' && from[n] < 127 ? from[n] : '?';
    to[n] = 0;
}

static bool begun(const struct hocket__request *req)
{
    return req->head.state != HOCKET__HEAD_STATUS;
}

/* libcurl calls chunks that are none a receive error, too. */
static bool is_chunk_error(const struct hocket__request *req, CURLcode code)
{
    return code == CURLE_RECV_ERROR && strstr(req->detail, "chunked-encoding");
}

/* Enough for what libcurl could not get: its largest blocks are buffers of a connection. */
static bool has_memory(void)
{
    void *volatile p = malloc(1 << 20);
    free(p);
    return p != NULL;
}

#define TOO_LARGE 100 /* CURLE_TOO_LARGE, from 8.6 on: more headers than libcurl takes */

static int status_of(const struct hocket__request *req, CURLcode code)
{
    if (is_chunk_error(req, code))
        return HOCKET_EPROTOCOL;
    if ((int) code == TOO_LARGE)
        return HOCKET_ELIMIT;
    switch (code) {
    case CURLE_COULDNT_RESOLVE_HOST:
    case CURLE_COULDNT_RESOLVE_PROXY:
    case CURLE_COULDNT_CONNECT:
    case CURLE_PROXY: return HOCKET_ECONNECT;
    case CURLE_SSL_CONNECT_ERROR:
    case CURLE_PEER_FAILED_VERIFICATION:
    case CURLE_SSL_CACERT_BADFILE:
    case CURLE_SSL_CERTPROBLEM:
    case CURLE_SSL_CIPHER:
    case CURLE_SSL_ISSUER_ERROR:
    case CURLE_SSL_ENGINE_INITFAILED:
    case CURLE_SSL_INVALIDCERTSTATUS:
    case CURLE_USE_SSL_FAILED: return HOCKET_ETLS;
    case CURLE_PARTIAL_FILE:
    case CURLE_GOT_NOTHING: return HOCKET_ETRUNCATED;
    case CURLE_RECV_ERROR:
    case CURLE_SEND_ERROR: return begun(req) ? HOCKET_ETRUNCATED : HOCKET_EIO;
    case CURLE_HTTP2:
    case CURLE_HTTP2_STREAM: return begun(req) ? HOCKET_ETRUNCATED : HOCKET_EPROTOCOL;
    case CURLE_WEIRD_SERVER_REPLY:
    case CURLE_UNSUPPORTED_PROTOCOL:
    case CURLE_BAD_CONTENT_ENCODING: return HOCKET_EPROTOCOL;
    case CURLE_OPERATION_TIMEDOUT: return HOCKET_ETIMEOUT;
    case CURLE_URL_MALFORMAT: return HOCKET_EINVAL;
    case CURLE_OUT_OF_MEMORY: /* also what a header of more than 100 KB gives */
        return hocket__request_is_connected(req) && req->head.state != HOCKET__HEAD_DONE
                       && has_memory()
                   ? HOCKET_ELIMIT
                   : HOCKET_ENOMEM;
    default: return HOCKET_EIO;
    }
}

static const char *words_of_distrust(const struct hocket__request *req)
{
    if (HOCKET_STATIC && !req->http->ca_file)
        return "there are no CA certificates here to verify it with: install ca-certificates, or "
               "name a file by SSL_CERT_FILE";
    return "its certificate is not trusted";
}

static const char *words_for(const struct hocket__request *req, CURLcode code)
{
    if (is_chunk_error(req, code))
        return "a chunk of the answer is malformed";
    if ((int) code == TOO_LARGE)
        return "the answer has more headers than libcurl takes, or one that is too long";
    switch (code) {
    case CURLE_COULDNT_RESOLVE_HOST: return "its name cannot be resolved";
    case CURLE_COULDNT_RESOLVE_PROXY: return "the name of the proxy cannot be resolved";
    case CURLE_COULDNT_CONNECT: return "cannot connect";
    case CURLE_PEER_FAILED_VERIFICATION: return words_of_distrust(req);
    case CURLE_SSL_CONNECT_ERROR: return "TLS handshake failed";
    case CURLE_GOT_NOTHING: return "the connection was closed without an answer";
    case CURLE_PARTIAL_FILE: return "the connection was closed in the middle of the answer";
    case CURLE_RECV_ERROR:
    case CURLE_SEND_ERROR:
        return begun(req) ? "the connection broke in the middle of the answer"
                          : "the connection broke before an answer came";
    case CURLE_OUT_OF_MEMORY:
        return status_of(req, code) == HOCKET_ELIMIT ? "a header of the answer is too long"
                                                     : "out of memory";
    default: return req->http->curl->easy_strerror(code);
    }
}

/* libcurl's detail mostly repeats "Failed to connect to HOST port N after 0 ms": our message
 * names the host already. */
static bool tells_of(const char *text, const struct hocket__origin *origin)
{
    const char *port = strrchr(origin->name, ':');
    size_t n = port ? (size_t) (port - origin->name) : strlen(origin->name);
    return hocket__find(text, strlen(text), origin->name, n) != NULL;
}

/* What libcurl adds to its words. Of a host that it cannot reach it has no more to say, unless that
 * is a proxy; the system has. */
static void detail_of(const struct hocket__request *req, CURLcode code, char *to, size_t size)
{
    long number = 0;
    clean(req->detail, to, size);
    if ((code != CURLE_COULDNT_CONNECT && code != CURLE_COULDNT_RESOLVE_HOST)
        || !tells_of(to, req->origin))
        return;
    to[0] = 0;
    if (code == CURLE_COULDNT_CONNECT)
        req->http->curl->easy_getinfo(req->easy, CURLINFO_OS_ERRNO, &number);
    if (number > 0)
        uv_strerror_r(-(int) number, to, size);
}

/* Trouble of the connection, not of what was asked: another connection may be better. */
static bool may_pass(CURLcode code)
{
    return code == CURLE_SSL_CONNECT_ERROR || code == CURLE_RECV_ERROR || code == CURLE_SEND_ERROR
           || code == CURLE_HTTP2 || code == CURLE_HTTP2_STREAM;
}

/* It is the process that has none left, and not the server that is not there. */
static void explain_no_socket(const struct hocket__request *req, int code, struct hocket_error *err)
{
    char words[HOCKET__ERRNO_WORDS];
    if (code == ENOMEM) {
        hocket__error_nomem(err);
        return;
    }
    hocket__error(err, HOCKET_EIO, "%s: cannot make a connection: %s", req->origin->name,
        hocket__errno_words(code, words));
    err->retryable = true;
}

void hocket__http_explain(
    const struct hocket__request *req, CURLcode code, struct hocket_error *err)
{
    char detail[CURL_ERROR_SIZE];
    const char *host = req->origin->name;
    detail_of(req, code, detail, sizeof(detail));
    if (req->denied && code == CURLE_COULDNT_CONNECT) {
        hocket__error(err, HOCKET_EDENIED, "%s: its address is not allowed", host);
        return;
    }
    int why = code == CURLE_COULDNT_CONNECT        ? req->no_socket
              : code == CURLE_COULDNT_RESOLVE_HOST ? hocket__descriptors_left(1, -1)
                                                   : 0;
    if (why != 0) {
        explain_no_socket(req, why, err);
        return;
    }
    hocket__error(err, status_of(req, code), "%s: %s%s%s%s", host, words_for(req, code),
        detail[0] ? " (" : "", detail, detail[0] ? ")" : "");
    err->retryable |= may_pass(code);
    if (req->head.state == HOCKET__HEAD_DONE)
        err->http_status = req->head.status;
}

/* How far a connection has come. libcurl does not say when TCP was done with. */
static const char *stage_of(const struct hocket__request *req)
{
    struct sockaddr_storage peer;
    socklen_t len = sizeof(peer);
    if (!hocket__request_has_opened(req))
        return req->origin->literal ? "no connection is free" : "its name is being resolved";
    bool tcp = getpeername(req->fd, (struct sockaddr *) &peer, &len) == 0;
    return tcp ? "TLS handshake" : "TCP connection";
}

static unsigned long long shown(uint64_t ms)
{
    return (unsigned long long) ms;
}

void hocket__http_explain_timeout(
    const struct hocket__request *req, enum hocket__wait wait, struct hocket_error *err)
{
    const char *host = req->origin->name;
    int status = HOCKET_ETIMEOUT;
    if (wait == HOCKET__WAIT_CONNECT)
        hocket__error(err, status, "%s: no connection within %llu ms (%s)", host,
            shown(req->connect_ms), stage_of(req));
    else if (req->place == HOCKET__REQUEST_WAITING)
        hocket__error(err, status, "%s: no free connection within %llu ms", host,
            shown(wait == HOCKET__WAIT_FIRST ? req->first_ms : req->total_ms));
    else if (wait == HOCKET__WAIT_FIRST)
        hocket__error(err, status, "%s: %s within %llu ms", host,
            begun(req) ? "the answer began, but nothing of use came" : "no answer came",
            shown(req->first_ms));
    else if (wait == HOCKET__WAIT_IDLE)
        hocket__error(err, status, "%s: the answer stopped: nothing came for %llu ms", host,
            shown(req->idle_ms));
    else
        hocket__error(err, status, "%s: not done within %llu ms", host, shown(req->total_ms));
    if (req->head.state == HOCKET__HEAD_DONE)
        err->http_status = req->head.status;
}

#define HANDLE_DESCRIPTORS 2 /* the most that libcurl (8.22) opens for one handle */

int hocket__http_no_handle(struct hocket_error *err)
{
    char words[HOCKET__ERRNO_WORDS];
    int why = hocket__descriptors_left(HANDLE_DESCRIPTORS, -1);
    if (why == 0 || why == ENOMEM)
        return hocket__error_nomem(err);
    hocket__error(err, HOCKET_EIO, "cannot make a connection: %s", hocket__errno_words(why, words));
    if (err)
        err->retryable = true;
    return HOCKET_EIO;
}

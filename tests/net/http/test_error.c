/* What libcurl's results mean: none of them, known or not, is a success, and each says which host. */
#include "net/http/error.h"

#include <string.h>

#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h>

#include "net/curl.h"
#include "net/http/http_impl.h"
#include "net/http/origin.h"
#include "net/http/request.h"

static const char *strerror_of(CURLcode code)
{
    (void) code;
    return "odd";
}

static CURLcode no_info(CURL *easy, CURLINFO info, ...)
{
    (void) easy;
    (void) info;
    return CURLE_OK;
}

struct fake {
    struct hocket__curl curl;
    struct hocket__http http;
    struct hocket__origin origin;
    struct hocket__request req;
};

static struct hocket_error explain(CURLcode code, bool begun, bool connected, const char *detail)
{
    struct fake f = { .curl = { .easy_strerror = strerror_of, .easy_getinfo = no_info } };
    struct hocket_error err = { .status = 1 };
    char name[] = "host:1";
    f.http.curl = &f.curl;
    f.origin.name = name;
    f.req.http = &f.http;
    f.req.origin = &f.origin;
    f.req.link = connected ? HOCKET__REQUEST_CONNECTED : HOCKET__REQUEST_UNLINKED;
    f.req.head.state = begun ? HOCKET__HEAD_DONE : HOCKET__HEAD_STATUS;
    f.req.head.status = begun ? 200 : 0;
    strcpy(f.req.detail, detail);
    hocket__http_explain(&f.req, code, &err);
    return err;
}

/* Also those that no version of libcurl has yet. */
static void test_none_is_good(void **state)
{
    (void) state;
    for (int code = 1; code < CURL_LAST + 50; code++)
        for (int ways = 0; ways < 4; ways++) {
            struct hocket_error err = explain((CURLcode) code, ways & 1, ways & 2, "");
            if (err.status >= 0 || strncmp(err.message, "host:1: ", 8) != 0 || !err.message[8])
                fail_msg("%d: status %d: %s", code, err.status, err.message);
            assert_int_equal(err.http_status, ways & 1 ? 200 : 0);
        }
}

static void test_map(void **state)
{
    static const struct {
        CURLcode code;
        bool begun;
        int status;
        bool retryable;
        const char *says;
    } map[] = {
        { CURLE_COULDNT_RESOLVE_HOST, false, HOCKET_ECONNECT, true, "cannot be resolved" },
        { CURLE_COULDNT_RESOLVE_PROXY, false, HOCKET_ECONNECT, true, "name of the proxy" },
        { CURLE_COULDNT_CONNECT, false, HOCKET_ECONNECT, true, "cannot connect" },
        { CURLE_PROXY, false, HOCKET_ECONNECT, true, "odd" },
        { CURLE_SSL_CONNECT_ERROR, false, HOCKET_ETLS, true, "TLS handshake" },
        { CURLE_PEER_FAILED_VERIFICATION, false, HOCKET_ETLS, false,
            HOCKET_STATIC ? "no CA certificates" : "not trusted" },
        { CURLE_SSL_CACERT_BADFILE, false, HOCKET_ETLS, false, "odd" },
        { CURLE_SSL_CERTPROBLEM, false, HOCKET_ETLS, false, "odd" },
        { CURLE_SSL_CIPHER, false, HOCKET_ETLS, false, "odd" },
        { CURLE_SSL_ISSUER_ERROR, false, HOCKET_ETLS, false, "odd" },
        { CURLE_SSL_ENGINE_INITFAILED, false, HOCKET_ETLS, false, "odd" },
        { CURLE_SSL_INVALIDCERTSTATUS, false, HOCKET_ETLS, false, "odd" },
        { CURLE_USE_SSL_FAILED, false, HOCKET_ETLS, false, "odd" },
        { CURLE_PARTIAL_FILE, true, HOCKET_ETRUNCATED, true, "middle of the answer" },
        { CURLE_GOT_NOTHING, false, HOCKET_ETRUNCATED, true, "without an answer" },
        { CURLE_RECV_ERROR, true, HOCKET_ETRUNCATED, true, "middle of the answer" },
        { CURLE_RECV_ERROR, false, HOCKET_EIO, true, "before an answer came" },
        { CURLE_SEND_ERROR, true, HOCKET_ETRUNCATED, true, "middle of the answer" },
        { CURLE_SEND_ERROR, false, HOCKET_EIO, true, "before an answer came" },
        { CURLE_HTTP2, true, HOCKET_ETRUNCATED, true, "odd" },
        { CURLE_HTTP2, false, HOCKET_EPROTOCOL, true, "odd" },
        { CURLE_HTTP2_STREAM, true, HOCKET_ETRUNCATED, true, "odd" },
        { CURLE_HTTP2_STREAM, false, HOCKET_EPROTOCOL, true, "odd" },
        { CURLE_WEIRD_SERVER_REPLY, false, HOCKET_EPROTOCOL, false, "odd" },
        { CURLE_UNSUPPORTED_PROTOCOL, false, HOCKET_EPROTOCOL, false, "odd" },
        { CURLE_BAD_CONTENT_ENCODING, true, HOCKET_EPROTOCOL, false, "odd" },
        { CURLE_OPERATION_TIMEDOUT, false, HOCKET_ETIMEOUT, true, "odd" },
        { CURLE_URL_MALFORMAT, false, HOCKET_EINVAL, false, "odd" },
        { CURLE_OUT_OF_MEMORY, false, HOCKET_ENOMEM, false, "out of memory" },
        { (CURLcode) 100 /* CURLE_TOO_LARGE */, true, HOCKET_ELIMIT, false, "more headers" },
        { CURLE_FAILED_INIT, false, HOCKET_EIO, false, "odd" },
        { CURLE_TOO_MANY_REDIRECTS, true, HOCKET_EIO, false, "odd" },
        { CURLE_WRITE_ERROR, true, HOCKET_EIO, false, "odd" },
        { CURLE_QUIC_CONNECT_ERROR, false, HOCKET_EIO, false, "odd" },
    };
    (void) state;
    for (size_t i = 0; i < sizeof(map) / sizeof(map[0]); i++) {
        struct hocket_error err = explain(map[i].code, map[i].begun, false, "");
        if (err.status != map[i].status || err.retryable != map[i].retryable
            || !strstr(err.message, map[i].says))
            fail_msg("%d: status %d, retryable %d: %s", map[i].code, err.status, err.retryable,
                err.message);
    }
}

static void test_odd_ones(void **state)
{
    (void) state;
    struct hocket_error err = explain(CURLE_RECV_ERROR, true, true, "bad chunked-encoding");
    assert_int_equal(err.status, HOCKET_EPROTOCOL);
    assert_string_equal(
        err.message, "host:1: a chunk of the answer is malformed (bad chunked-encoding)");
    err = explain(CURLE_OUT_OF_MEMORY, false, true, "");
    assert_int_equal(err.status, HOCKET_ELIMIT);
    assert_non_null(strstr(err.message, "a header of the answer is too long"));
    err = explain(CURLE_OUT_OF_MEMORY, true, true, "");
    assert_int_equal(err.status, HOCKET_ENOMEM);
    err = explain(CURLE_SSL_CONNECT_ERROR, false, true, "what\nthe \x01server\xff said");
    assert_string_equal(err.message, "host:1: TLS handshake failed (what?the ?server? said)");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_none_is_good),
        cmocka_unit_test(test_map),
        cmocka_unit_test(test_odd_ones),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

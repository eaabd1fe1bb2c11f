/* Requests that two readers would understand differently: the cases of public differential tests of HTTP servers. What is
 * in doubt is refused whole: no handler sees it, and what stands behind it on the connection is never a request. */
#include "serve/client.h"

#include <signal.h>
#include <unistd.h>

#define HIDDEN "GET /hidden HTTP/1.1\r\nHost: me\r\n\r\n"
#define POST   "POST /echo HTTP/1.1\r\nHost: me\r\n"
#define CHUNKS "5\r\nhello\r\n0\r\n\r\n"
#define TE     "Transfer-Encoding: chunked\r\n"

static const char *const refused[] = {
    /* two lengths, or a length and chunks */
    POST "Content-Length: 5\r\n" TE "\r\n" CHUNKS HIDDEN,
    POST TE "Content-Length: 5\r\n\r\n" CHUNKS HIDDEN,
    POST "Content-Length: 5\r\nContent-Length: 6\r\n\r\nhello" HIDDEN,
    POST "Content-Length: 5\r\nContent-Length: 5\r\n\r\nhello" HIDDEN,
    POST "Content-Length: 5, 5\r\n\r\nhello" HIDDEN,
    POST "content-length: 0\r\nContent-Length: 44\r\n\r\n" HIDDEN,
    /* lengths that are none */
    POST "Content-Length: +5\r\n\r\nhello" HIDDEN,
    POST "Content-Length: -5\r\n\r\nhello" HIDDEN,
    POST "Content-Length: 0x5\r\n\r\nhello" HIDDEN,
    POST "Content-Length: 5 5\r\n\r\nhello" HIDDEN,
    POST "Content-Length: 5;\r\n\r\nhello" HIDDEN,
    POST "Content-Length: \r\n\r\nhello" HIDDEN,
    POST "Content-Length: 5.0\r\n\r\nhello" HIDDEN,
    POST "Content-Length: 5e0\r\n\r\nhello" HIDDEN,
    POST "Content-Length: 18446744073709551621\r\n\r\nhello" HIDDEN,
    POST "Content-Length : 5\r\n\r\nhello" HIDDEN,
    POST " Content-Length: 5\r\n\r\nhello" HIDDEN,
    POST "Content-Length\t: 5\r\n\r\nhello" HIDDEN,
    POST "Content-Length: 5\x0b\r\n\r\nhello" HIDDEN,
    /* encodings that are none, or more than one */
    POST TE TE "\r\n" CHUNKS HIDDEN,
    POST "Transfer-Encoding: chunked, chunked\r\n\r\n" CHUNKS HIDDEN,
    POST "Transfer-Encoding: identity\r\n\r\n" CHUNKS HIDDEN,
    POST "Transfer-Encoding: gzip, chunked\r\n\r\n" CHUNKS HIDDEN,
    POST "Transfer-Encoding: chunked, identity\r\n\r\n" CHUNKS HIDDEN,
    POST "Transfer-Encoding: xchunked\r\n\r\n" CHUNKS HIDDEN,
    POST "Transfer-Encoding: \"chunked\"\r\n\r\n" CHUNKS HIDDEN,
    POST "Transfer-Encoding: chunked;q=1\r\n\r\n" CHUNKS HIDDEN,
    POST "Transfer-Encoding:\x0b"
         "chunked\r\n\r\n" CHUNKS HIDDEN,
    POST "Transfer-Encoding:\r\n chunked\r\n\r\n" CHUNKS HIDDEN,
    POST "Transfer-Encoding : chunked\r\n\r\n" CHUNKS HIDDEN,
    POST "Transfer-Encoding:\r\n\r\n" CHUNKS HIDDEN,
    "POST /echo HTTP/1.0\r\nHost: me\r\n" TE "\r\n" CHUNKS HIDDEN,
    /* chunks that are none */
    POST TE "\r\n0x5\r\nhello\r\n0\r\n\r\n" HIDDEN,
    POST TE "\r\n+5\r\nhello\r\n0\r\n\r\n" HIDDEN,
    POST TE "\r\n-5\r\nhello\r\n0\r\n\r\n" HIDDEN,
    POST TE "\r\n 5\r\nhello\r\n0\r\n\r\n" HIDDEN,
    POST TE "\r\n5 \r\nhello\r\n0\r\n\r\n" HIDDEN,
    POST TE "\r\n5\nhello\r\n0\r\n\r\n" HIDDEN,
    POST TE "\r\n5\r\nhello\n0\r\n\r\n" HIDDEN,
    POST TE "\r\n5\r\nhello0\r\n\r\n" HIDDEN,
    POST TE "\r\n5\r\nhelloxx0\r\n\r\n" HIDDEN,
    POST TE "\r\n\r\n" HIDDEN,
    POST TE "\r\n;a=b\r\n" HIDDEN,
    POST TE "\r\n5;a\nb\r\nhello\r\n0\r\n\r\n" HIDDEN,
    POST TE "\r\n5_\r\nhello\r\n0\r\n\r\n" HIDDEN,
    POST TE "\r\nfffffffffffffffb\r\nhello\r\n0\r\n\r\n" HIDDEN,
    POST TE "\r\n10000000000000005\r\nhello\r\n0\r\n\r\n" HIDDEN,
    POST TE "\r\n0\r\nbad name: x\r\n\r\n" HIDDEN,
    POST TE "\r\n0\r\n\n" HIDDEN,
    POST TE "\r\n0\r\nA: b\nGET /hidden HTTP/1.1\r\nHost: me\r\n\r\n",
    /* line ends, and what stands around names */
    "GET /echo HTTP/1.1\nHost: me\n\n" HIDDEN,
    "GET /echo HTTP/1.1\r\nHost: me\n\r\n" HIDDEN,
    "GET /echo HTTP/1.1\r\nHost: me\r\nA: b\rC: d\r\n\r\n" HIDDEN,
    "GET /echo HTTP/1.1\r\nHost: me\r\nA\r\n\r\n" HIDDEN,
    "GET /echo HTTP/1.1\r\nHost: me\r\n: b\r\n\r\n" HIDDEN,
    "GET /echo HTTP/1.1\r\nHost: me\r\nA b: c\r\n\r\n" HIDDEN,
    "GET /echo HTTP/1.1\r\nHost: me\r\nA\x7f: c\r\n\r\n" HIDDEN,
    "GET /echo HTTP/1.1\r\nHost: me\r\nA: b\r\n c\r\n\r\n" HIDDEN,
    "GET /echo HTTP/1.1\r\n Host: me\r\n\r\n" HIDDEN,
    /* whom it is for */
    "GET /echo HTTP/1.1\r\n\r\n" HIDDEN,
    "GET /echo HTTP/1.1\r\nHost: me\r\nHost: you\r\n\r\n" HIDDEN,
    "GET /echo HTTP/1.1\r\nHost: me\r\nhost: me\r\n\r\n" HIDDEN,
    /* the first line */
    "GET  /echo HTTP/1.1\r\nHost: me\r\n\r\n" HIDDEN,
    "GET /echo  HTTP/1.1\r\nHost: me\r\n\r\n" HIDDEN,
    "GET\t/echo\tHTTP/1.1\r\nHost: me\r\n\r\n" HIDDEN,
    "GET /echo HTTP/1.1 \r\nHost: me\r\n\r\n" HIDDEN,
    "GET /echo HTTP/1.1a\r\nHost: me\r\n\r\n" HIDDEN,
    "GET /echo HTTP/1.11\r\nHost: me\r\n\r\n" HIDDEN,
    "GET /echo http/1.1\r\nHost: me\r\n\r\n" HIDDEN,
    "GET /echo HTTP/2.0\r\nHost: me\r\n\r\n" HIDDEN,
    "GET /echo HTTP/0.9\r\n\r\n" HIDDEN,
    "GET /echo\r\n\r\n" HIDDEN,
    "G(T /echo HTTP/1.1\r\nHost: me\r\n\r\n" HIDDEN,
    "GET /ec ho HTTP/1.1\r\nHost: me\r\n\r\n" HIDDEN,
    "GET /echo#x HTTP/1.1\r\nHost: me\r\n\r\n" HIDDEN,
    "GET echo HTTP/1.1\r\nHost: me\r\n\r\n" HIDDEN,
    "GET ../echo HTTP/1.1\r\nHost: me\r\n\r\n" HIDDEN,
    "GET * HTTP/1.1\r\nHost: me\r\n\r\n" HIDDEN,
    "GET http:///echo HTTP/1.1\r\nHost: me\r\n\r\n" HIDDEN,
    "GET /\xc3\xa9 HTTP/1.1\r\nHost: me\r\n\r\n" HIDDEN,
    POST "Expect: 200-maybe\r\nContent-Length: 5\r\n\r\nhello" HIDDEN,
};

/* Each in one piece, and cut at every place. */
static void expect_nothing(struct bench *b, const char *text, size_t cut)
{
    char got[4096] = "";
    int fd = client_open(b);
    client_send(b, fd, text, cut);
    if (cut < strlen(text)) {
        bench_turn(b);
        client_say(b, fd, text + cut);
    }
    long n = client_read_all(b, fd, got, sizeof got);
    if (b->requests > 0 || n <= 0
        || strncmp(got, "HTTP/1.1 4", 10) * strncmp(got, "HTTP/1.1 5", 10) != 0
        || strstr(got + 1, "HTTP/1.1 "))
        fail_msg("%d requests, %.60s for %.120s", b->requests, got, text);
    close(fd);
}

static void what_is_in_doubt_is_refused(void **state)
{
    struct bench b;
    bench_open(&b);
    bench_start(&b);
    for (size_t i = 0; i < sizeof(refused) / sizeof(*refused); i++) {
        expect_nothing(&b, refused[i], strlen(refused[i]));
        expect_nothing(&b, refused[i], strlen(refused[i]) / 2);
        expect_nothing(&b, refused[i], strcspn(refused[i], "\r") + 1);
    }
    bench_close(&b);
}

/* What looks like a request in a body is none. */
static void a_body_is_a_body(void **state)
{
    static const char in_length[] =
        "GET /echo HTTP/1.1\r\nHost: me\r\nContent-Length: 34\r\n\r\n" HIDDEN;
    static const char in_chunk[] = POST TE "\r\n22;x=\"y\"\r\n" HIDDEN "\r\n0\r\nA: b\r\n\r\n";
    struct bench b;
    assert_int_equal(strlen(HIDDEN), 34);
    bench_open(&b);
    bench_start(&b);
    int fd = client_open(&b);
    client_say(&b, fd, in_length);
    client_expect(&b, fd, "HTTP/1.1 200 OK\r\nContent-Length: 34\r\n\r\n" HIDDEN);
    client_say(&b, fd, in_chunk);
    client_expect(&b, fd, "HTTP/1.1 200 OK\r\nContent-Length: 34\r\n\r\n" HIDDEN);
    assert_int_equal(b.requests, 2);
    close(fd);
    bench_close(&b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_in_doubt_is_refused),
        cmocka_unit_test(a_body_is_a_body),
    };
    signal(SIGPIPE, SIG_DFL);
    return cmocka_run_group_tests(tests, NULL, NULL);
}

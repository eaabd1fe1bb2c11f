/* Requests in, whole answers out: framing, keep-alive, wrong use, the end. */
#include "serve/client.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#define GET_HELLO "GET /hello HTTP/1.1\r\nHost: me\r\n\r\n"
#define GET_LATER "GET /later HTTP/1.1\r\nHost: me\r\n\r\n"
#define HELLO     "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello"
#define POST      "POST /echo HTTP/1.1\r\nHost: me\r\n"

static void answers_a_request(void **state)
{
    struct bench b;
    bench_open(&b);
    bench_start(&b);
    int fd = client_open(&b);
    client_say(&b, fd, "GET /hello?x=1 HTTP/1.1\r\nhost:  me:80 \r\n\r\n");
    client_expect(&b, fd, "HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n");
    assert_string_equal(b.method, "GET");
    assert_string_equal(b.path, "/hello?x=1");
    assert_string_equal(b.host, "me:80");
    for (const char *p = GET_HELLO; *p; p++)
        client_send(&b, fd, p, 1);
    client_expect(&b, fd, HELLO);
    assert_int_equal(hocket__server_connections(b.server), 1);
    close(fd);
    bench_close(&b);
    assert_int_equal(b.closed, 0);
}

/* The time that a connection had does not wake the loop when the connection has gone. */
static void sleeps_without_connections(void **state)
{
    struct bench b;
    bench_open(&b);
    bench_start(&b);
    int fd = client_open(&b);
    client_say(&b, fd, "GET /hello HTTP/1.1\r\nHost: me\r\n\r\n");
    client_expect(&b, fd, "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello");
    assert_true(uv_backend_timeout(&b.loop) > 0);
    close(fd);
    for (int i = 0; i < 10; i++)
        bench_turn(&b);
    assert_int_equal(uv_backend_timeout(&b.loop), -1);
    bench_close(&b);
}

static int64_t seconds;

static int64_t clock_of_test(void)
{
    return seconds;
}

/* RFC 9110, 6.6.1 and 5.6.7; refusals and what ends with the connection, too. */
static void says_the_time(void **state)
{
    struct bench b;
    bench_open(&b);
    b.options.clock = clock_of_test;
    bench_start(&b);
    int fd = client_open(&b);
    seconds = 784111777;
    client_say(&b, fd, GET_HELLO);
    client_expect(&b, fd,
        "HTTP/1.1 200 OK\r\nDate: Sun, 06 Nov 1994 08:49:37 GMT\r\nContent-Length: "
        "5\r\n\r\nhello");
    seconds = 1709251199; /* a leap day's last second */
    client_say(&b, fd, GET_HELLO "GET / HTTP/1.1\r\n\r\n");
    client_expect(&b, fd,
        "HTTP/1.1 200 OK\r\nDate: Thu, 29 Feb 2024 23:59:59 GMT\r\nContent-Length: "
        "5\r\n\r\nhelloHTTP/1.1 400 Bad Request\r\nContent-Type: text/plain\r\nDate: Thu, 29 Feb "
        "2024 23:59:59 GMT\r\n");
    close(fd);
    fd = client_open(&b);
    seconds = INT64_MAX; /* a clock of which nothing can be said */
    client_say(&b, fd, GET_HELLO);
    client_expect(&b, fd, HELLO);
    close(fd);
    bench_close(&b);
}

static void keeps_a_connection_for_thousands(void **state)
{
    struct bench b;
    bench_open(&b);
    bench_start(&b);
    int fd = client_open(&b);
    for (int i = 0; i < 5000; i++) {
        client_say(&b, fd, GET_HELLO);
        client_expect(&b, fd, HELLO);
    }
    assert_int_equal(b.requests, 5000);
    assert_int_equal(hocket__server_connections(b.server), 1);
    close(fd);
    bench_close(&b);
}

static void pipelined_requests_wait_their_turn(void **state)
{
    struct bench b;
    bench_open(&b);
    bench_start(&b);
    int fd = client_open(&b);
    client_say(&b, fd, POST "Content-Length: 3\r\n\r\nabc" GET_HELLO GET_LATER GET_HELLO GET_HELLO);
    client_expect(&b, fd, "HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nabc" HELLO);
    client_expect_silence(&b, fd);
    assert_int_equal(b.requests, 3);
    assert_int_equal(hocket__server_respond(b.server, b.open[0], 204, NULL, 0, HOCKET__STR("")), 0);
    assert_int_equal(b.requests, 3); /* the next one comes from the loop, not from here */
    client_expect(&b, fd, "HTTP/1.1 204 No Content\r\n\r\n" HELLO HELLO);
    close(fd);
    bench_close(&b);
}

static void reading_ahead_is_bounded(void **state)
{
    struct bench b;
    char block[4096];
    long sent = 0;
    memset(block, 'x', sizeof block);
    bench_open(&b);
    bench_start(&b);
    int fd = client_open(&b);
    client_say(&b, fd, GET_LATER);
    bench_wait(&b, &b.n_open, 1);
    size_t before = b.alloc.bytes;
    for (int i = 0; i < 5000; i++) {
        ssize_t n = send(fd, block, sizeof block, MSG_DONTWAIT | MSG_NOSIGNAL);
        sent += n > 0 ? n : 0;
        if (i % 16 == 0)
            bench_turn(&b);
    }
    assert_true(sent > 200000);
    assert_true(b.alloc.bytes - before < 300000);
    struct linger now = { 1, 0 };
    setsockopt(fd, SOL_SOCKET, SO_LINGER, &now, sizeof now);
    close(fd); /* noticed although nothing is read any more */
    bench_wait(&b, &b.closed, 1);
    bench_close(&b);
}

static void reads_bodies_of_both_kinds(void **state)
{
    struct bench b;
    bench_open(&b);
    bench_start(&b);
    int fd = client_open(&b);
    client_say(&b, fd,
        POST "Transfer-Encoding: chunked\r\n\r\n"
             "5;e=1\r\nhello\r\n6\r\n world\r\n0\r\nT: v\r\n\r\n" GET_HELLO);
    client_expect(&b, fd, "HTTP/1.1 200 OK\r\nContent-Length: 11\r\n\r\nhello world" HELLO);
    client_say(&b, fd, POST "Content-Length: 0\r\n\r\n" GET_HELLO);
    client_expect(&b, fd, "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n" HELLO);
    client_say(&b, fd, POST "\r\n" GET_HELLO);
    client_expect(&b, fd, "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n" HELLO);
    client_say(&b, fd, POST "Expect: 100-continue\r\nContent-Length: 2\r\n\r\n");
    client_expect(&b, fd, "HTTP/1.1 100 Continue\r\n\r\n");
    client_say(&b, fd, "ok");
    client_expect(&b, fd, "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok");
    close(fd);
    bench_close(&b);
}

static void takes_and_gives_a_big_body(void **state)
{
    struct bench b;
    size_t size = (size_t) 20 << 20;
    char text[100], *body = malloc(size), *got = malloc(size + 1000);
    assert_non_null(body);
    assert_non_null(got);
    for (size_t i = 0; i < size; i++)
        body[i] = (char) (i * 31 >> 3);
    bench_open(&b);
    b.options.max_queue = size + 1000;
    bench_start(&b);
    int fd = client_open(&b);
    snprintf(text, sizeof text, POST "Connection: close\r\nContent-Length: %zu\r\n\r\n", size);
    client_say(&b, fd, text);
    client_send(&b, fd, body, size);
    long n = client_read_all(&b, fd, got, size + 1000);
    size_t head = (size_t) (strstr(got, "\r\n\r\n") + 4 - got);
    assert_int_equal(n, head + size);
    assert_memory_equal(got + head, body, size);
    close(fd);
    bench_close(&b);
    free(body);
    free(got);
}

static void head_options_and_upgrades(void **state)
{
    struct bench b;
    bench_open(&b);
    bench_start(&b);
    int fd = client_open(&b);
    client_say(&b, fd, "HEAD /hello HTTP/1.1\r\nHost: x\r\n\r\n" GET_HELLO);
    client_expect(&b, fd, "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n" HELLO);
    client_say(&b, fd, "OPTIONS * HTTP/1.1\r\nHost: x\r\n\r\n" GET_HELLO);
    client_expect(&b, fd, "HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n" HELLO);
    client_say(&b, fd,
        "GET /hello HTTP/1.1\r\nHost: x\r\nUpgrade: websocket\r\n"
        "Connection: Upgrade\r\nSec-WebSocket-Version: 13\r\n\r\n");
    client_expect(&b, fd, HELLO);
    close(fd);
    bench_close(&b);
}

static void old_clients(void **state)
{
    struct bench b;
    char got[500];
    bench_open(&b);
    bench_start(&b);
    int fd = client_open(&b);
    client_say(&b, fd, "GET /hello HTTP/1.0\r\nConnection: keep-alive\r\n\r\n");
    client_expect(
        &b, fd, "HTTP/1.1 200 OK\r\nContent-Length: 5\r\nConnection: keep-alive\r\n\r\nhello");
    client_say(&b, fd, "GET /hello HTTP/1.0\r\n\r\n");
    assert_true(client_read_all(&b, fd, got, sizeof got) > 0);
    assert_string_equal(
        got, "HTTP/1.1 200 OK\r\nContent-Length: 5\r\nConnection: close\r\n\r\nhello");
    close(fd);
    bench_close(&b);
}

static void wrong_headers_are_refused(struct hocket__server *s, uint64_t id)
{
    const struct hocket__server_header bad[] = {
        { HOCKET__STR("a b"), HOCKET__STR("") },
        { HOCKET__STR(""), HOCKET__STR("") },
        { HOCKET__STR("a"), HOCKET__STR("x\r\ny: z") },
        { HOCKET__STR("a"), HOCKET__STR("x\0y") },
        { HOCKET__STR("Content-length"), HOCKET__STR("3") },
        { HOCKET__STR("transfer-Encoding"), HOCKET__STR("chunked") },
        { HOCKET__STR("connection"), HOCKET__STR("upgrade") },
    };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        assert_int_equal(hocket__server_begin(s, id, 200, bad + i, 1), HOCKET_EINVAL);
        assert_int_equal(
            hocket__server_respond(s, id, 200, bad + i, 1, HOCKET__STR("")), HOCKET_EINVAL);
    }
}

static void wrong_use_is_refused(void **state)
{
    struct bench b;
    struct hocket__str x = HOCKET__STR("x");
    const struct hocket__server_header end = { HOCKET__STR("Connection"), HOCKET__STR("close") };
    char big[2000] = "";
    bench_open(&b);
    b.options.max_queue = 1000;
    bench_start(&b);
    struct hocket__server *s = b.server;
    int fd = client_open(&b);
    client_say(&b, fd, GET_LATER);
    bench_wait(&b, &b.n_open, 1);
    uint64_t id = b.open[0];
    wrong_headers_are_refused(s, id);
    assert_int_equal(hocket__server_begin(s, id, 100, NULL, 0), HOCKET_EINVAL);
    assert_int_equal(hocket__server_respond(s, id, 600, NULL, 0, x), HOCKET_EINVAL);
    struct hocket__str all = hocket__str(big, sizeof big);
    assert_int_equal(hocket__server_respond(s, id, 200, NULL, 0, all), HOCKET_ELIMIT);
    assert_int_equal(hocket__server_write(s, id, x), HOCKET_ESTATE);
    assert_int_equal(hocket__server_finish(s, id), HOCKET_ESTATE);
    assert_int_equal(hocket__server_respond(s, 0, 200, NULL, 0, x), HOCKET_ECLOSED);
    assert_int_equal(hocket__server_respond(s, id + 1, 200, NULL, 0, x), HOCKET_ECLOSED);
    assert_int_equal(hocket__server_respond(s, id, 201, &end, 1, x), 0);
    assert_int_equal(hocket__server_respond(s, id, 200, NULL, 0, x), HOCKET_ECLOSED);
    assert_int_equal(hocket__server_abort(s, id, HOCKET__SERVER_RESET), HOCKET_ECLOSED);
    assert_int_equal(hocket__server_queued(s, id), HOCKET_ECLOSED);
    assert_true(client_read_all(&b, fd, big, sizeof big) > 0);
    assert_string_equal(
        big, "HTTP/1.1 201 Created\r\nContent-Length: 1\r\nConnection: close\r\n\r\nx");
    close(fd);
    bench_close(&b);
}

static void opening_can_fail(void **state)
{
    struct bench b;
    struct hocket_error err;
    struct hocket__server *other = NULL;
    bench_open(&b);
    b.options.address = "localhost";
    assert_int_equal(hocket__server_new(&b.options, &other, &err), HOCKET_EINVAL);
    b.options.address = NULL;
    b.options.port = 70000;
    assert_int_equal(hocket__server_new(&b.options, &other, &err), HOCKET_EINVAL);
    b.options.port = 0;
    bench_start(&b);
    b.options.port = hocket__server_port(b.server);
    assert_int_equal(hocket__server_new(&b.options, &other, &err), HOCKET_EEXIST);
    assert_non_null(strstr(err.message, "127.0.0.1"));
    bench_close(&b);
}

static void can_be_closed_by_a_request(void **state)
{
    struct bench b;
    char got[100];
    bench_open(&b);
    bench_start(&b);
    b.close_on_request = true;
    int fd = client_open(&b);
    client_say(&b, fd, GET_HELLO GET_HELLO);
    assert_true(client_read_all(&b, fd, got, sizeof got) <= 0);
    assert_int_equal(b.requests, 1);
    close(fd);
    bench_close(&b);
}

static void one_try_without_memory(struct test_alloc *t, void *ud)
{
    struct bench b;
    bench_open(&b);
    b.options.alloc = &t->a;
    if (hocket__server_new(&b.options, &b.server, NULL) == 0) {
        char got[500] = "";
        int fd = client_open(&b);
        client_say(&b, fd, POST "Connection: close\r\nContent-Length: 5\r\n\r\nhello");
        long n = client_read_all(&b, fd, got, sizeof got);
        assert_true(t->failed || n > 0);
        assert_true(n <= 0 || strstr(got, "\r\n\r\nhello"));
        close(fd);
    }
    bench_close(&b);
}

static void survives_out_of_memory(void **state)
{
    assert_true(test_alloc_each(one_try_without_memory, NULL) >= 6);
}

static void leaves_signals_alone(void **state)
{
    struct sigaction sa;
    struct bench b;
    bench_open(&b);
    bench_start(&b);
    assert_int_equal(sigaction(SIGPIPE, NULL, &sa), 0);
    assert_true(sa.sa_handler == SIG_DFL);
    bench_close(&b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(answers_a_request),
        cmocka_unit_test(sleeps_without_connections),
        cmocka_unit_test(says_the_time),
        cmocka_unit_test(keeps_a_connection_for_thousands),
        cmocka_unit_test(pipelined_requests_wait_their_turn),
        cmocka_unit_test(reading_ahead_is_bounded),
        cmocka_unit_test(reads_bodies_of_both_kinds),
        cmocka_unit_test(takes_and_gives_a_big_body),
        cmocka_unit_test(head_options_and_upgrades),
        cmocka_unit_test(old_clients),
        cmocka_unit_test(wrong_use_is_refused),
        cmocka_unit_test(opening_can_fail),
        cmocka_unit_test(can_be_closed_by_a_request),
        cmocka_unit_test(survives_out_of_memory),
        cmocka_unit_test(leaves_signals_alone),
    };
    signal(SIGPIPE, SIG_DFL); /* whatever the caller left: a test that cannot die shows nothing */
    return cmocka_run_group_tests(tests, NULL, NULL);
}

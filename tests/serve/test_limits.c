/* What a server does not put up with: malformed, too large, too many, too slow. */
#include "serve/client.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <unistd.h>

#define GET_HELLO "GET /hello HTTP/1.1\r\nHost: me\r\n\r\n"
#define GET_LATER "GET /later HTTP/1.1\r\nHost: me\r\n\r\n"
#define HELLO     "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello"
#define POST      "POST /echo HTTP/1.1\r\nHost: me\r\n"

static void expect_refusal(struct bench *b, const char *status, const char *request)
{
    char got[500] = "";
    int before = b->requests, fd = client_open(b);
    client_say(b, fd, request);
    long n = client_read_all(b, fd, got, sizeof got);
    if (n <= 0 || strncmp(got, status, strlen(status)) != 0 || !strstr(got, "Connection: close"))
        fail_msg("%ld %s for %.100s", n, got, request);
    assert_int_equal(b->requests, before);
    close(fd);
}

static void refuses_what_is_malformed(void **state)
{
    struct bench b;
    bench_open(&b);
    bench_start(&b);
    expect_refusal(&b, "HTTP/1.1 400 Bad Request\r\n", "\x16\x03\x01\x02");
    expect_refusal(&b, "HTTP/1.1 400 ", "GET /hello\r\n\r\n" GET_HELLO);
    expect_refusal(&b, "HTTP/1.1 400 ", "GET /hello HTTP/1.1\r\n\r\n");
    expect_refusal(&b, "HTTP/1.1 505 ", "PRI * HTTP/2.0\r\n\r\n");
    expect_refusal(&b, "HTTP/1.1 501 ", "CONNECT a:1 HTTP/1.1\r\nHost: a:1\r\n\r\n");
    expect_refusal(&b, "HTTP/1.1 400 ", POST "Transfer-Encoding: chunked\r\n\r\nxyz\r\n");
    assert_int_equal(b.logs, 6);
    bench_close(&b);
}

static void ends_a_connection_that_went_wrong(void **state)
{
    struct bench b;
    char got[500];
    bench_open(&b);
    bench_start(&b);
    int fd = client_open(&b);
    client_say(&b, fd, GET_HELLO "nonsense\r\n\r\n" GET_HELLO);
    assert_true(client_read_all(&b, fd, got, sizeof got) > 0);
    assert_int_equal(strncmp(got, HELLO "HTTP/1.1 400 ", strlen(HELLO) + 13), 0);
    assert_int_equal(b.requests, 1);
    close(fd);
    bench_close(&b);
}

static void refuses_what_is_too_large(void **state)
{
    struct bench b;
    char *big = calloc(1, 300000);
    assert_non_null(big);
    memset(big, 'a', 299999);
    bench_open(&b);
    b.options.max_body = 1000;
    b.options.max_header = 2000;
    bench_start(&b);
    expect_refusal(
        &b, "HTTP/1.1 413 ", POST "Content-Length: 1001\r\nExpect: 100-continue\r\n\r\n");
    expect_refusal(&b, "HTTP/1.1 413 ", POST "Transfer-Encoding: chunked\r\n\r\n3e9\r\nx");
    memcpy(big, "GET /", 5);
    expect_refusal(&b, "HTTP/1.1 414 ", big);
    memcpy(big, "GET / HTTP/1.1\r\nX: ", 19);
    expect_refusal(&b, "HTTP/1.1 431 ", big);
    memcpy(big, POST "Content-Length: 290000\r\n\r\n", strlen(POST) + 26);
    expect_refusal(&b, "HTTP/1.1 413 ", big); /* arrives although all of it is sent first */
    bench_close(&b);
    free(big);
}

static void more_connections_than_allowed(void **state)
{
    struct bench b;
    char got[500];
    bench_open(&b);
    b.options.max_connections = 2;
    bench_start(&b);
    int one = client_open(&b), two = client_open(&b);
    client_say(&b, one, GET_HELLO);
    client_expect(&b, one, HELLO);
    int three = client_open(&b);
    client_say(&b, three, GET_HELLO);
    assert_true(client_read_all(&b, three, got, sizeof got) > 0);
    assert_non_null(strstr(got, "HTTP/1.1 503 Service Unavailable\r\n"));
    close(three);
    close(two);
    for (int i = 0; i < 1000 && hocket__server_connections(b.server) > 1; i++)
        bench_turn(&b);
    two = client_open(&b);
    client_say(&b, two, GET_HELLO);
    client_expect(&b, two, HELLO);
    close(one);
    close(two);
    bench_close(&b);
}

/* The lowest number that is free is above all descriptors that may be opened. */
static void leave_no_descriptor(void)
{
    struct rlimit l;
    int next = dup(STDERR_FILENO);
    close(next);
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &l), 0);
    l.rlim_cur = (rlim_t) next;
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &l), 0);
}

/* With no descriptor left, the next client is told so. */
static void expect_refused(struct bench *b, const struct rlimit *all)
{
    char got[500] = "";
    int one = client_open(b);
    leave_no_descriptor();
    assert_true(client_read_all(b, one, got, sizeof got) > 0);
    assert_non_null(strstr(got, "HTTP/1.1 503 "));
    assert_non_null(strstr(got, "\r\n\r\ntoo many open files\n"));
    assert_int_equal(setrlimit(RLIMIT_NOFILE, all), 0);
    close(one);
}

/* A server without connections serves one by the descriptor that it has kept. Others wait, or are refused. */
static void no_descriptor_is_free(void **state)
{
    struct bench b;
    struct rlimit all;
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &all), 0);
    bench_open(&b);
    bench_start(&b);
    int one = client_open(&b), two = client_open(&b);
    leave_no_descriptor();
    client_say(&b, one, GET_HELLO);
    client_expect(&b, one, HELLO);
    client_say(&b, two, GET_HELLO);
    assert_int_equal(hocket__server_connections(b.server), 1);
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &all), 0);
    client_expect(&b, two, HELLO);
    expect_refused(&b, &all);
    close(one);
    close(two);
    bench_close(&b);
}

/* A descriptor that was given up is kept again with the next connection, also where none was refused meanwhile. */
static void the_reserve_comes_back(void **state)
{
    struct bench b;
    struct rlimit all;
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &all), 0);
    bench_open(&b);
    bench_start(&b);
    int one = client_open(&b);
    leave_no_descriptor();
    client_say(&b, one, GET_HELLO);
    while (hocket__server_connections(b.server) == 0)
        bench_turn(&b);
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &all), 0);
    int two = client_open(&b);
    client_say(&b, two, GET_HELLO);
    client_expect(&b, two, HELLO);
    expect_refused(&b, &all);
    close(one);
    close(two);
    bench_close(&b);
}

static void idle_clients_are_let_go(void **state)
{
    struct bench b;
    char got[500];
    bench_open(&b);
    b.options.idle_ms = 60;
    bench_start(&b);
    int idle = client_open(&b), slow = client_open(&b), body = client_open(&b);
    int waiting = client_open(&b);
    client_say(&b, waiting, GET_LATER);
    client_say(&b, slow, "GET /hello HT");
    client_say(&b, body, POST "Content-Length: 9\r\n\r\nabc");
    assert_int_equal(client_read_all(&b, idle, got, sizeof got), 0);
    assert_true(client_read_all(&b, slow, got, sizeof got) > 0);
    assert_non_null(strstr(got, "HTTP/1.1 408 "));
    assert_true(client_read_all(&b, body, got, sizeof got) > 0);
    assert_non_null(strstr(got, "HTTP/1.1 408 "));
    /* An answer may take its time. */
    struct hocket__str x = HOCKET__STR("x");
    assert_int_equal(hocket__server_respond(b.server, b.open[0], 200, NULL, 0, x), 0);
    client_expect(&b, waiting, "HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\nx");
    close(idle);
    close(slow);
    close(body);
    close(waiting);
    bench_close(&b);
}

/* A byte at a time, each in time: all together never. */
static void a_body_that_drips_is_refused(void **state)
{
    struct bench b;
    char got[500];
    bench_open(&b);
    b.options.idle_ms = 60;
    bench_start(&b);
    int fd = client_open(&b);
    client_say(&b, fd, POST "Content-Length: 100000\r\n\r\n");
    uint64_t due = uv_hrtime() / 1000000 + 60000;
    while (hocket__server_connections(b.server) == 0 || b.logs == 0) {
        client_send(&b, fd, "x", 1);
        bench_turn(&b);
        assert_true(uv_hrtime() / 1000000 < due);
    }
    assert_true(client_read_all(&b, fd, got, sizeof got) > 0);
    assert_non_null(strstr(got, "HTTP/1.1 408 "));
    assert_int_equal(b.requests, 0);
    close(fd);
    bench_close(&b);
}

/* Who has no key sends little, and is told so before it is read. */
static void strangers_send_little(void **state)
{
    static const char *const known[] = { "Authorization: Bearer sesame\r\n",
        "authorization: bearer sesame\r\n", "X-Api-Key: sesame\r\n" },
                             *const strange[] = { "", "Authorization: Bearer sesam\r\n",
                                 "Authorization: Bearer sesame2\r\n",
                                 "Authorization: Basic sesame\r\n", "X-Api-Key: Sesame\r\n",
                                 "Authorization: Bearer \r\n" };
    struct bench b;
    char text[300];
    bench_open(&b);
    b.options.key = HOCKET__STR("sesame");
    b.options.max_stranger = 4;
    bench_start(&b);
    for (size_t i = 0; i < 3; i++) {
        int fd = client_open(&b);
        snprintf(text, sizeof text, POST "%sContent-Length: 5\r\n\r\nhello", known[i]);
        client_say(&b, fd, text);
        client_expect(&b, fd, HELLO);
        close(fd);
    }
    for (size_t i = 0; i < 6; i++) {
        snprintf(text, sizeof text, POST "%sContent-Length: 5\r\n\r\n", strange[i]);
        expect_refusal(&b, "HTTP/1.1 413 ", text);
        snprintf(text, sizeof text, POST "%sTransfer-Encoding: chunked\r\n\r\n5\r\nh", strange[i]);
        expect_refusal(&b, "HTTP/1.1 413 ", text);
    }
    int fd = client_open(&b);
    client_say(&b, fd, POST "Content-Length: 4\r\n\r\nhell");
    client_expect(&b, fd, "HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nhell");
    close(fd);
    bench_close(&b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(refuses_what_is_malformed),
        cmocka_unit_test(ends_a_connection_that_went_wrong),
        cmocka_unit_test(refuses_what_is_too_large),
        cmocka_unit_test(more_connections_than_allowed),
        cmocka_unit_test(no_descriptor_is_free),
        cmocka_unit_test(the_reserve_comes_back),
        cmocka_unit_test(idle_clients_are_let_go),
        cmocka_unit_test(a_body_that_drips_is_refused),
        cmocka_unit_test(strangers_send_little),
    };
    signal(SIGPIPE, SIG_DFL); /* whatever the caller left: a test that cannot die shows nothing */
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* Answers in pieces: at once, bounded, cut, malformed, and with clients that go. */
#include "serve/client.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <sys/socket.h>
#include <unistd.h>

#define GET_LATER "GET /later HTTP/1.1\r\nHost: x\r\n\r\n"
#define HEAD                                                                                       \
    "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n"

static const struct hocket__server_header sse = { { "Content-Type", 12 },
    { "text/event-stream", 17 } };

static char block[10000];

/* Sends the request; the id of its open stream. */
static uint64_t begin(struct bench *b, int fd)
{
    int n = b->n_open;
    client_say(b, fd, GET_LATER);
    bench_wait(b, &b->n_open, n + 1);
    uint64_t id = b->open[n % 256];
    assert_int_equal(hocket__server_begin(b->server, id, 200, &sse, 1), 0);
    return id;
}

static void fill(struct bench *b, uint64_t id)
{
    while (hocket__server_queued(b->server, id) == 0)
        hocket__server_write(b->server, id, hocket__str(block, sizeof block));
}

/* What lies in the socket now, without a turn of the loop. */
static void expect_there(int fd, const char *text)
{
    char got[1000];
    ssize_t n = recv(fd, got, sizeof got, MSG_DONTWAIT);
    assert_int_equal(n, strlen(text));
    assert_memory_equal(got, text, strlen(text));
}

static void fragments_arrive_at_once(void **state)
{
    struct bench b;
    struct hocket__str none = HOCKET__STR("");
    bench_open(&b);
    bench_start(&b);
    int fd = client_open(&b);
    for (int i = 0; i < 3; i++) {
        uint64_t id = begin(&b, fd);
        expect_there(fd, HEAD);
        hocket__server_write(b.server, id, HOCKET__STR("data: 1\n\n"));
        expect_there(fd, "9\r\ndata: 1\n\n\r\n");
        assert_int_equal(hocket__server_write(b.server, id, none), 0);
        hocket__server_write(b.server, id, HOCKET__STR("0123456789abcdef"));
        expect_there(fd, "10\r\n0123456789abcdef\r\n");
        assert_int_equal(hocket__server_begin(b.server, id, 200, NULL, 0), HOCKET_ESTATE);
        assert_int_equal(hocket__server_respond(b.server, id, 200, NULL, 0, none), HOCKET_ESTATE);
        assert_int_equal(hocket__server_finish(b.server, id), 0);
        expect_there(fd, "0\r\n\r\n");
        assert_int_equal(hocket__server_write(b.server, id, HOCKET__STR("x")), HOCKET_ECLOSED);
    }
    close(fd);
    bench_close(&b);
    assert_int_equal(b.closed, 0);
}

static void an_old_client_gets_no_chunks(void **state)
{
    struct bench b;
    char got[500];
    bench_open(&b);
    bench_start(&b);
    int fd = client_open(&b);
    client_say(&b, fd, "GET /later HTTP/1.0\r\nConnection: keep-alive\r\n\r\n");
    bench_wait(&b, &b.n_open, 1);
    hocket__server_begin(b.server, b.open[0], 200, NULL, 0);
    hocket__server_write(b.server, b.open[0], HOCKET__STR("one "));
    hocket__server_write(b.server, b.open[0], HOCKET__STR("two"));
    hocket__server_finish(b.server, b.open[0]);
    client_read_all(&b, fd, got, sizeof got);
    assert_string_equal(got, "HTTP/1.1 200 OK\r\nConnection: close\r\n\r\none two");
    close(fd);
    bench_close(&b);
}

static void a_head_request_gets_no_body(void **state)
{
    struct bench b;
    bench_open(&b);
    bench_start(&b);
    int fd = client_open(&b);
    client_say(&b, fd, "HEAD /later HTTP/1.1\r\nHost: x\r\n\r\n");
    bench_wait(&b, &b.n_open, 1);
    hocket__server_begin(b.server, b.open[0], 200, &sse, 1);
    assert_int_equal(hocket__server_write(b.server, b.open[0], HOCKET__STR("body")), 0);
    hocket__server_finish(b.server, b.open[0]);
    expect_there(fd, HEAD);
    begin(&b, fd);
    expect_there(fd, HEAD);
    close(fd);
    bench_close(&b);
}

/* Writes far more than the client takes: how many pieces were accepted. */
static size_t write_too_much(struct bench *b, uint64_t id, int *refused)
{
    size_t wrote = 0;
    for (int i = 0; i < 2000; i++) {
        int rc = hocket__server_write(b->server, id, hocket__str(block, sizeof block));
        assert_true(rc == 0 || rc == HOCKET_ELIMIT);
        wrote += rc == 0;
        *refused += rc != 0;
        assert_true(hocket__server_queued(b->server, id) <= 200000);
        assert_true(b->alloc.bytes < 1000000);
        if (i % 10 == 0)
            bench_turn(b);
    }
    return wrote;
}

static void a_slow_client_meets_the_limit(void **state)
{
    struct bench b;
    int refused = 0;
    size_t read = 0;
    char got[65536];
    bench_open(&b);
    b.options.max_queue = 200000;
    bench_start(&b);
    int fd = client_open_small(&b);
    uint64_t id = begin(&b, fd);
    client_expect(&b, fd, HEAD);
    size_t total = write_too_much(&b, id, &refused) * (sizeof block + 8) + 5;
    assert_true(refused > 0);
    assert_int_equal(b.drained, 0);
    assert_int_equal(hocket__server_finish(b.server, id), 0); /* there is always room for that */
    for (int i = 0; i < 100000 && read < total; i++) {
        ssize_t n = recv(fd, got, sizeof got, MSG_DONTWAIT);
        assert_true(n != 0);
        read += n > 0 ? (size_t) n : 0;
        bench_turn(&b);
    }
    assert_int_equal(read, total);
    client_say(&b, fd, "GET /hello HTTP/1.1\r\nHost: x\r\n\r\n");
    client_expect(&b, fd, "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello");
    close(fd);
    bench_close(&b);
}

static void a_full_queue_can_be_ended(void **state)
{
    struct bench b;
    char got[65536];
    size_t tail = 0;
    bench_open(&b);
    b.options.max_queue = sizeof block;
    bench_start(&b);
    int fd = client_open_small(&b);
    uint64_t id = begin(&b, fd);
    while (hocket__server_queued(b.server, id) == 0)
        hocket__server_raw(b.server, id, hocket__str(block, 5000));
    size_t room = sizeof block - (size_t) hocket__server_queued(b.server, id);
    struct hocket__str most = hocket__str(block, room - 5), more = hocket__str(block, room - 4);
    assert_int_equal(hocket__server_raw(b.server, id, more), HOCKET_ELIMIT);
    assert_int_equal(hocket__server_raw(b.server, id, most), 0);
    assert_int_equal(hocket__server_finish(b.server, id), 0);
    for (long n = 1; n > 0; tail = n > 0 ? (size_t) n : tail)
        n = client_read_all(&b, fd, got, sizeof got);
    assert_true(tail >= 5);
    assert_memory_equal(got + tail - 5, "0\r\n\r\n", 5);
    close(fd);
    bench_close(&b);
}

static void reports_that_it_is_drained(void **state)
{
    struct bench b;
    char got[65536];
    bench_open(&b);
    bench_start(&b);
    int fd = client_open_small(&b);
    uint64_t id = begin(&b, fd);
    fill(&b, id);
    for (int i = 0; i < 10000 && b.drained == 0; i++) {
        recv(fd, got, sizeof got, MSG_DONTWAIT);
        bench_turn(&b);
    }
    assert_int_equal(b.drained, 1);
    assert_int_equal(hocket__server_queued(b.server, id), 0);
    close(fd);
    bench_close(&b);
}

static void one_that_never_reads_is_cut(void **state)
{
    struct bench b;
    bench_open(&b);
    b.options.idle_ms = 50;
    bench_start(&b);
    int fd = client_open_small(&b);
    uint64_t id = begin(&b, fd);
    fill(&b, id);
    bench_wait(&b, &b.closed, 1);
    assert_int_equal(b.closed_id, id);
    close(fd);
    bench_close(&b);
}

static void a_client_that_goes_is_noticed(void **state)
{
    struct bench b;
    bench_open(&b);
    bench_start(&b);
    int fd = client_open(&b);
    uint64_t id = begin(&b, fd);
    close(fd); /* with the head unread: this resets */
    bench_wait(&b, &b.closed, 1);
    assert_int_equal(b.closed_id, id);
    assert_int_equal(hocket__server_write(b.server, id, HOCKET__STR("x")), HOCKET_ECLOSED);
    fd = client_open(&b);
    id = begin(&b, fd);
    client_expect(&b, fd, HEAD);
    shutdown(fd, SHUT_WR);
    bench_wait(&b, &b.closed, 2);
    assert_int_equal(b.closed_id, id);
    close(fd);
    assert_int_equal(hocket__server_connections(b.server), 0);
    bench_close(&b);
}

/* No signal, and one on_closed, from the loop. A client that resets makes the first write
 * fail; one that just closes resets only after a write, and the next one is an EPIPE. */
static void write_to_nobody(bool reset)
{
    struct bench b;
    struct linger now = { 1, 0 };
    int rc = 0;
    bench_open(&b);
    bench_start(&b);
    int fd = client_open(&b);
    uint64_t id = begin(&b, fd);
    client_expect(&b, fd, HEAD);
    if (reset)
        setsockopt(fd, SOL_SOCKET, SO_LINGER, &now, sizeof now);
    close(fd);
    for (int i = 0; i < 100; i++)
        rc = hocket__server_write(b.server, id, HOCKET__STR("data"));
    assert_int_equal(rc, HOCKET_ECLOSED);
    assert_int_equal(hocket__server_finish(b.server, id), HOCKET_ECLOSED);
    assert_int_equal(b.closed, 0);
    bench_wait(&b, &b.closed, 1);
    bench_turn(&b);
    assert_int_equal(b.closed, 1);
    assert_int_equal(b.closed_id, id);
    bench_close(&b);
}

static void writing_to_a_client_that_is_gone(void **state)
{
    write_to_nobody(false);
    write_to_nobody(true);
}

static void abort_cuts_in_the_middle(void **state)
{
    struct bench b;
    char got[500];
    bench_open(&b);
    bench_start(&b);
    int fd = client_open(&b);
    uint64_t id = begin(&b, fd);
    hocket__server_raw(b.server, id, HOCKET__STR("20\r\nhalf a chu"));
    assert_int_equal(hocket__server_abort(b.server, id, HOCKET__SERVER_EOF), 0);
    assert_int_equal(client_read_all(&b, fd, got, sizeof got), strlen(HEAD "20\r\nhalf a chu"));
    assert_int_equal(hocket__server_abort(b.server, id, HOCKET__SERVER_EOF), HOCKET_ECLOSED);
    close(fd);
    fd = client_open(&b);
    id = begin(&b, fd);
    client_expect(&b, fd, HEAD);
    assert_int_equal(hocket__server_abort(b.server, id, HOCKET__SERVER_RESET), 0);
    assert_int_equal(recv(fd, got, sizeof got, MSG_DONTWAIT), -1); /* without a turn of the loop */
    assert_int_equal(errno, ECONNRESET);
    close(fd);
    bench_close(&b);
    assert_int_equal(b.closed, 0);
}

static void raw_bytes_go_as_they_are(void **state)
{
    static const char nonsense[] = "HTTP/1.1 2x0 what\nContent-Length: -1\r\n";
    struct bench b;
    char got[500];
    bench_open(&b);
    bench_start(&b);
    int fd = client_open(&b);
    client_say(&b, fd, GET_LATER GET_LATER);
    bench_wait(&b, &b.n_open, 1);
    hocket__server_raw(b.server, b.open[0], hocket__cstr(nonsense));
    assert_int_equal(hocket__server_finish(b.server, b.open[0]), 0);
    client_read_all(&b, fd, got, sizeof got);
    assert_string_equal(got, nonsense);
    assert_int_equal(b.n_open, 1); /* the connection is not used again */
    close(fd);
    fd = client_open(&b);
    uint64_t id = begin(&b, fd);
    hocket__server_raw(b.server, id, HOCKET__STR("zz\r\n"));
    hocket__server_write(b.server, id, HOCKET__STR("a"));
    hocket__server_finish(b.server, id);
    client_read_all(&b, fd, got, sizeof got);
    assert_string_equal(got, HEAD "zz\r\n1\r\na\r\n0\r\n\r\n");
    close(fd);
    bench_close(&b);
}

enum { STREAMS = 100, PIECES = 20 };

static void send_one(struct bench *b, int i, int piece, int fd)
{
    char text[32], chunk[48];
    int n = snprintf(text, sizeof text, "data: %d.%d\n\n", i, piece);
    snprintf(chunk, sizeof chunk, "%x\r\n%s\r\n", (unsigned) n, text);
    assert_int_equal(hocket__server_write(b->server, b->open[i], hocket__str(text, (size_t) n)), 0);
    client_expect(b, fd, chunk);
}

static void many_streams_side_by_side(void **state)
{
    struct bench b;
    int fds[STREAMS];
    bench_open(&b);
    bench_start(&b);
    for (int i = 0; i < STREAMS; i++) {
        fds[i] = client_open(&b);
        begin(&b, fds[i]);
        client_expect(&b, fds[i], HEAD);
    }
    for (int k = 0; k < PIECES; k++)
        for (int i = 0; i < STREAMS; i++)
            send_one(&b, i, k, fds[i]);
    for (int i = 0; i < STREAMS; i += 2) { /* half of them end, half go */
        hocket__server_finish(b.server, b.open[i]);
        client_expect(&b, fds[i], "0\r\n\r\n");
        close(fds[i]);
        close(fds[i + 1]);
    }
    bench_wait(&b, &b.closed, STREAMS / 2);
    assert_int_equal(b.closed, STREAMS / 2);
    bench_close(&b);
}

static void closes_with_streams_open(void **state)
{
    struct bench b;
    int fds[STREAMS];
    char got[20000];
    bench_open(&b);
    bench_start(&b);
    for (int i = 0; i < STREAMS; i++) {
        fds[i] = i % 2 ? client_open(&b) : client_open_small(&b);
        uint64_t id = begin(&b, fds[i]);
        if (i == 0)
            fill(&b, id);
    }
    client_say(&b, fds[1], GET_LATER "GET /hel");
    hocket__server_close(b.server, NULL, NULL);
    b.server = NULL;
    for (int i = 1; i < STREAMS; i++) {
        client_read_all(&b, fds[i], got, sizeof got);
        close(fds[i]);
    }
    close(fds[0]);
    bench_close(&b);
    assert_int_equal(b.closed, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(fragments_arrive_at_once),
        cmocka_unit_test(an_old_client_gets_no_chunks),
        cmocka_unit_test(a_head_request_gets_no_body),
        cmocka_unit_test(a_slow_client_meets_the_limit),
        cmocka_unit_test(a_full_queue_can_be_ended),
        cmocka_unit_test(reports_that_it_is_drained),
        cmocka_unit_test(one_that_never_reads_is_cut),
        cmocka_unit_test(a_client_that_goes_is_noticed),
        cmocka_unit_test(writing_to_a_client_that_is_gone),
        cmocka_unit_test(abort_cuts_in_the_middle),
        cmocka_unit_test(raw_bytes_go_as_they_are),
        cmocka_unit_test(many_streams_side_by_side),
        cmocka_unit_test(closes_with_streams_open),
    };
    signal(SIGPIPE, SIG_DFL); /* whatever the caller left: a test that cannot die shows nothing */
    return cmocka_run_group_tests(tests, NULL, NULL);
}

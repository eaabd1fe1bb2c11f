#include "serve/client.h"
#include "serve/head.h"

#include <arpa/inet.h>
#include <dirent.h>
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#define PATIENCE_MS 10000

static int count_entries(const char *path)
{
    int n = 0;
    DIR *d = opendir(path);
    assert_non_null(d);
    while (readdir(d))
        n++;
    closedir(d);
    return n;
}

static void copy(char *out, size_t size, struct hocket__str s)
{
    snprintf(out, size, "%.*s", (int) s.n, s.p ? s.p : "");
}

static void answer(struct bench *b, const struct hocket__server_request *r)
{
    if (hocket__str_is(r->path, "/hello"))
        hocket__server_respond(b->server, r->id, 200, NULL, 0, HOCKET__STR("hello"));
    else if (hocket__str_is(r->path, "/echo"))
        hocket__server_respond(b->server, r->id, 200, NULL, 0, r->body);
    else if (hocket__str_is(r->path, "/later"))
        b->open[b->n_open++ % 256] = r->id;
    else
        hocket__server_respond(b->server, r->id, 404, NULL, 0, HOCKET__STR(""));
}

static void on_request(void *ud, const struct hocket__server_request *r)
{
    struct bench *b = ud;
    b->requests++;
    copy(b->method, sizeof b->method, r->method);
    copy(b->path, sizeof b->path, r->path);
    for (size_t i = 0; i < r->n_headers; i++)
        if (hocket__head_same(r->headers[i].name, "Host"))
            copy(b->host, sizeof b->host, r->headers[i].value);
    if (b->close_on_request) {
        hocket__server_close(b->server, NULL, NULL);
        b->server = NULL;
    } else {
        answer(b, r);
    }
}

static void on_closed(void *ud, uint64_t id)
{
    struct bench *b = ud;
    b->closed++;
    b->closed_id = id;
}

static void on_drained(void *ud, uint64_t id)
{
    struct bench *b = ud;
    b->drained++;
}

static void on_log(enum hocket_log_level level, const char *text, void *ud)
{
    struct bench *b = ud;
    b->logs++;
}

/* libuv opens a pipe of its own with the first loop and keeps it. */
static void warm_up(void)
{
    uv_loop_t loop;
    assert_int_equal(uv_loop_init(&loop), 0);
    assert_int_equal(uv_loop_close(&loop), 0);
}

void bench_open(struct bench *b)
{
    warm_up();
    *b = (struct bench){
        .fds_before = count_entries("/proc/self/fd"),
        .threads_before = count_entries("/proc/self/task"),
        .handler = { on_request, on_closed, on_drained },
    };
    test_alloc_init(&b->alloc);
    assert_int_equal(uv_loop_init(&b->loop), 0);
    b->options = (struct hocket__server_options){
        .alloc = &b->alloc.a,
        .loop = &b->loop,
        .handler = &b->handler,
        .ud = b,
        .log_cb = on_log,
        .log_ud = b,
    };
}

void bench_start(struct bench *b)
{
    struct hocket_error err;
    assert_int_equal(hocket__server_new(&b->options, &b->server, &err), 0);
    assert_true(hocket__server_port(b->server) > 0);
}

static void on_server_gone(void *ud)
{
    struct bench *b = ud;
    b->server_gone = true;
}

void bench_close(struct bench *b)
{
    if (b->server) {
        hocket__server_close(b->server, on_server_gone, b);
        assert_false(b->server_gone);
        uv_run(&b->loop, UV_RUN_DEFAULT);
        assert_true(b->server_gone);
    }
    uv_run(&b->loop, UV_RUN_DEFAULT);
    assert_int_equal(uv_loop_close(&b->loop), 0);
    test_alloc_check(&b->alloc);
    assert_int_equal(count_entries("/proc/self/fd"), b->fds_before);
    assert_int_equal(count_entries("/proc/self/task"), b->threads_before);
}

void bench_turn(struct bench *b)
{
    struct pollfd p = { .fd = uv_backend_fd(&b->loop), .events = POLLIN };
    if (uv_backend_timeout(&b->loop) != 0)
        poll(&p, 1, 1);
    uv_run(&b->loop, UV_RUN_NOWAIT);
}

bool bench_busy(struct bench *b)
{
    struct pollfd p = { .fd = uv_backend_fd(&b->loop), .events = POLLIN };
    return uv_backend_timeout(&b->loop) == 0 || poll(&p, 1, 0) != 0;
}

static int64_t now_ms(void)
{
    return (int64_t) (uv_hrtime() / 1000000);
}

void bench_wait(struct bench *b, const int *value, int wanted)
{
    int64_t end = now_ms() + PATIENCE_MS;
    while (*value < wanted && now_ms() < end)
        bench_turn(b);
    assert_true(*value >= wanted);
}

static int open_socket(struct bench *b, int buffer)
{
    struct sockaddr_in to = {
        .sin_family = AF_INET,
        .sin_port = htons((uint16_t) hocket__server_port(b->server)),
        .sin_addr.s_addr = htonl(INADDR_LOOPBACK),
    };
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_true(fd >= 0);
    if (buffer)
        assert_int_equal(setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &buffer, sizeof buffer), 0);
    assert_int_equal(connect(fd, (struct sockaddr *) &to, sizeof to), 0);
    return fd;
}

int client_open(struct bench *b)
{
    return open_socket(b, 0);
}

int client_open_small(struct bench *b)
{
    return open_socket(b, 4096);
}

void client_send(struct bench *b, int fd, const char *p, size_t n)
{
    int64_t end = now_ms() + PATIENCE_MS;
    while (n > 0) {
        ssize_t r = send(fd, p, n, MSG_NOSIGNAL | MSG_DONTWAIT);
        if (r < 0 && errno != EAGAIN)
            return; /* the server has closed: what it answered is looked at next */
        if (r > 0) {
            p += r;
            n -= (size_t) r;
        }
        bench_turn(b);
        assert_true(now_ms() < end);
    }
}

void client_say(struct bench *b, int fd, const char *text)
{
    client_send(b, fd, text, strlen(text));
}

/* Bytes, 0 at the end, -errno. */
static long receive(struct bench *b, int fd, char *out, size_t size)
{
    int64_t end = now_ms() + PATIENCE_MS;
    while (now_ms() < end) {
        ssize_t n = recv(fd, out, size, MSG_DONTWAIT);
        if (n >= 0)
            return n;
        if (errno != EAGAIN)
            return -errno;
        bench_turn(b);
    }
    fail_msg("nothing came");
    return -1;
}

void client_expect(struct bench *b, int fd, const char *text)
{
    size_t have = 0, want = strlen(text);
    char *got = calloc(1, want + 1);
    assert_non_null(got);
    while (have < want) {
        long n = receive(b, fd, got + have, want - have);
        if (n <= 0)
            fail_msg("the connection ended (%ld) after: %s", n, got);
        have += (size_t) n;
    }
    assert_string_equal(got, text);
    free(got);
}

long client_read_all(struct bench *b, int fd, char *out, size_t size)
{
    size_t have = 0;
    while (have < size - 1) {
        long n = receive(b, fd, out + have, size - 1 - have);
        have += n > 0 ? (size_t) n : 0;
        out[have] = 0;
        if (n <= 0)
            return n < 0 ? n : (long) have;
    }
    return (long) have;
}

void client_expect_silence(struct bench *b, int fd)
{
    char c;
    for (int i = 0; i < 20; i++)
        bench_turn(b);
    assert_int_equal(recv(fd, &c, 1, MSG_DONTWAIT), -1);
    assert_int_equal(errno, EAGAIN);
}

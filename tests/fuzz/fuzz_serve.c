/* Any bytes to the HTTP server, over a real socket. What must hold:
 * - the same bytes at once and in small pieces are the same requests, with the same answers;
 * - what comes back is HTTP/1.1 answers, as many as there were requests, and one more at most
 *   (a refusal);
 * - the connection comes to its end, and the server serves the next one. */
#include "serve/server.h"

#include "base/buf.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include <uv.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static uv_loop_t loop;
static struct hocket__server *server;
static struct hocket__buf asked; /* what the handler has seen of the connection */
static size_t requests;

static void expect(bool holds)
{
    if (!holds)
        abort();
}

static void on_request(void *ud, const struct hocket__server_request *r)
{
    (void) ud;
    requests++;
    hocket__buf_addstr(&asked, r->method);
    hocket__buf_add(&asked, " ", 1);
    hocket__buf_addstr(&asked, r->path);
    for (size_t i = 0; i < r->n_headers; i++) {
        hocket__buf_add(&asked, "\n", 1);
        hocket__buf_addstr(&asked, r->headers[i].name);
        hocket__buf_add(&asked, ":", 1);
        hocket__buf_addstr(&asked, r->headers[i].value);
    }
    hocket__buf_add(&asked, "\n\n", 2);
    hocket__buf_addstr(&asked, r->body);
    expect(hocket__server_respond(server, r->id, 200, NULL, 0, HOCKET__STR("ok")) == 0);
}

static void open_server(void)
{
    static const struct hocket__server_handler handler = { .on_request = on_request };
    struct hocket__server_options o = { .alloc = &hocket__malloc,
        .loop = &loop,
        .handler = &handler,
        .max_header = 4096,
        .max_body = 4096 };
    struct hocket_error err;
    expect(uv_loop_init(&loop) == 0);
    expect(hocket__server_new(&o, &server, &err) == 0);
    hocket__buf_init(&asked, &hocket__malloc, 0);
}

static int dial(void)
{
    struct sockaddr_in to = { .sin_family = AF_INET,
        .sin_port = htons((uint16_t) hocket__server_port(server)),
        .sin_addr = { htonl(INADDR_LOOPBACK) } };
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    expect(fd >= 0 && connect(fd, (struct sockaddr *) &to, sizeof(to)) == 0);
    expect(fcntl(fd, F_SETFL, O_NONBLOCK) == 0);
    return fd;
}

/* Reads what there is: false when the connection has ended. */
static bool drain(int fd, struct hocket__buf *answer)
{
    char part[4096];
    ssize_t n;
    while ((n = recv(fd, part, sizeof(part), 0)) > 0)
        hocket__buf_add(answer, part, (size_t) n);
    return n < 0 && errno == EAGAIN;
}

/* Sends all, a piece for each turn of the loop, then the end; reads until the server's. */
static void converse(struct hocket__str text, size_t piece, struct hocket__buf *answer)
{
    int fd = dial();
    bool open = true, ended = false;
    hocket__buf_reset(&asked);
    requests = 0;
    for (size_t turns = 0; open; turns++) {
        size_t n = text.n < piece ? text.n : piece;
        ssize_t sent = n > 0 ? send(fd, text.p, n, MSG_NOSIGNAL) : 0;
        if (sent < 0 && errno != EAGAIN)
            text.n = 0; /* it has refused */
        else if (sent > 0)
            text = hocket__str(text.p + sent, text.n - (size_t) sent);
        uv_run(&loop, UV_RUN_NOWAIT);
        if (text.n == 0 && !ended && turns > 4)
            ended = shutdown(fd, SHUT_WR) == 0 || true;
        open = drain(fd, answer);
        expect(turns < 1000000);
    }
    close(fd);
    for (int i = 0; i < 3; i++)
        uv_run(&loop, UV_RUN_NOWAIT);
}

static size_t count_answers(struct hocket__str s)
{
    static const char begin[] = "HTTP/1.1 ";
    size_t n = 0, len = sizeof(begin) - 1;
    for (size_t i = 0; i + len <= s.n; i++)
        n += memcmp(s.p + i, begin, len) == 0;
    expect(s.n == 0 || (s.n >= len && memcmp(s.p, begin, len) == 0));
    return n;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct hocket__str text = { (const char *) data, size < 16384 ? size : 16384 };
    struct hocket__buf whole, pieces, seen;
    if (!server)
        open_server();
    hocket__buf_init(&whole, &hocket__malloc, 0);
    hocket__buf_init(&pieces, &hocket__malloc, 0);
    hocket__buf_init(&seen, &hocket__malloc, 0);
    converse(text, text.n + 1, &whole);
    size_t n = requests, answers = count_answers(hocket__buf_str(&whole));
    hocket__buf_addstr(&seen, hocket__buf_str(&asked));
    expect(answers >= n && answers <= 2 * n + 2); /* 100 Continue is one more for each */
    converse(text, size > 0 ? 1 + data[0] % 7 : 1, &pieces);
    expect(n == requests);
    expect(hocket__str_eq(hocket__buf_str(&seen), hocket__buf_str(&asked)));
    expect(hocket__server_connections(server) == 0);
    hocket__buf_deinit(&whole);
    hocket__buf_deinit(&pieces);
    hocket__buf_deinit(&seen);
    return 0;
}

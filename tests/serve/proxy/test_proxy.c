/* A proxy on a loop of its own; the client and the server behind it are sockets on the same thread. All
 * addresses of this machine are public here, or none. */
#include "serve/proxy/proxy.h"

#include "support/alloc.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <cmocka.h>

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>
#include <uv.h>

#define PATIENCE_MS 10000

static bool public_here;

static bool is_public(const struct sockaddr *to)
{
    return public_here;
}

struct world {
    struct test_alloc alloc;
    uv_loop_t loop;
    struct hocket__proxy *proxy;
    struct hocket__proxy_options o;
    int port, server, server_port; /* of the proxy; a socket that listens, and its port */
    uint64_t asked;                /* the last question */
    int questions, refusals;
    char host[300], why[100];
    bool gone;
};

static void on_question(void *ud, uint64_t id, const char *host, int port)
{
    struct world *w = ud;
    w->questions++;
    w->asked = id;
    snprintf(w->host, sizeof(w->host), "%s:%d", host, port);
}

static void on_refused(void *ud, const char *host, int port, const char *why)
{
    struct world *w = ud;
    w->refusals++;
    snprintf(w->why, sizeof(w->why), "%s", why);
}

static int listener(int *port)
{
    struct sockaddr_in at = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
    socklen_t size = sizeof(at);
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0);
    assert_int_equal(bind(fd, (struct sockaddr *) &at, sizeof(at)), 0);
    assert_int_equal(listen(fd, 100), 0);
    getsockname(fd, (struct sockaddr *) &at, &size);
    *port = ntohs(at.sin_port);
    return fd;
}

static void begin(struct world *w, bool questions)
{
    struct hocket_error err;
    memset(w, 0, sizeof(*w));
    test_alloc_init(&w->alloc);
    uv_loop_init(&w->loop);
    public_here = true;
    w->o = (struct hocket__proxy_options){ .alloc = &w->alloc.a,
        .loop = &w->loop,
        .is_public = is_public,
        .max_connections = 8,
        .head_ms = 300,
        .handler = { questions ? on_question : NULL, on_refused },
        .ud = w };
    assert_int_equal(hocket__proxy_new(&w->o, &w->proxy, &err), 0);
    hocket__proxy_listen(w->proxy, listener(&w->port));
    w->server = listener(&w->server_port);
}

/* The port of the server for each '@'. */
static size_t fill(const struct world *w, const char *form, char *out, size_t size)
{
    size_t n = 0;
    for (; *form && n + 8 < size; form++)
        if (*form == '@')
            n += (size_t) snprintf(out + n, size - n, "%d", w->server_port);
        else
            out[n++] = *form;
    out[n] = 0;
    return n;
}

static void name(struct world *w, const char *rule)
{
    char text[300];
    struct hocket_error err;
    fill(w, rule, text, sizeof(text));
    assert_int_equal(hocket__proxy_name(w->proxy, hocket__cstr(text), false, &err), 0);
}

static void on_closed(void *ud)
{
    ((struct world *) ud)->gone = true;
}

static void end(struct world *w)
{
    hocket__proxy_close(w->proxy, on_closed, w);
    uv_run(&w->loop, UV_RUN_DEFAULT);
    assert_true(w->gone);
    assert_int_equal(uv_loop_close(&w->loop), 0);
    close(w->server);
    test_alloc_check(&w->alloc);
}

static void turn(struct world *w)
{
    uv_run(&w->loop, UV_RUN_NOWAIT);
    poll(NULL, 0, 1);
}

static int try_client(const struct world *w)
{
    struct sockaddr_in at = { .sin_family = AF_INET,
        .sin_port = htons((uint16_t) w->port),
        .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
    int fd = socket(AF_INET, SOCK_STREAM, 0);
    if (connect(fd, (struct sockaddr *) &at, sizeof(at)) < 0) {
        close(fd);
        return -1;
    }
    fcntl(fd, F_SETFL, O_NONBLOCK);
    return fd;
}

static int client(const struct world *w)
{
    int fd = try_client(w);
    assert_true(fd >= 0);
    return fd;
}

static void say(const struct world *w, int fd, const char *form)
{
    char text[2000];
    size_t n = fill(w, form, text, sizeof(text));
    assert_int_equal(send(fd, text, n, MSG_NOSIGNAL), n);
}

/* Reads until `text` was seen; at the end of the socket "" is. */
static void expect(struct world *w, int fd, const char *text)
{
    char got[4000] = "";
    size_t n = 0;
    for (int i = 0; i < PATIENCE_MS; i++) {
        ssize_t more = recv(fd, got + n, sizeof(got) - 1 - n, 0);
        if (more > 0)
            got[n += (size_t) more] = 0;
        if (more == 0 && !*text)
            return;
        if (*text && strstr(got, text))
            return;
        if (more == 0 || (more < 0 && errno != EAGAIN))
            break;
        turn(w);
    }
    fail_msg("'%s' did not come, but '%s'", text, got);
}

static int accept_one(struct world *w)
{
    for (int i = 0; i < PATIENCE_MS; i++) {
        int fd = accept4(w->server, NULL, NULL, SOCK_NONBLOCK);
        if (fd >= 0)
            return fd;
        turn(w);
    }
    fail_msg("nobody connected");
    return -1;
}

static void expect_nobody(struct world *w)
{
    for (int i = 0; i < 30; i++)
        turn(w);
    assert_true(accept4(w->server, NULL, NULL, 0) < 0);
}

#define TUNNEL "CONNECT 127.0.0.1:@ HTTP/1.1\r\nHost: 127.0.0.1:@\r\n\r\n"
#define PLAIN  "GET http://127.0.0.1:@/a?b HTTP/1.1\r\nHost: 127.0.0.1:@\r\nX: y\r\n\r\n"

static void tunnels_both_ways(void **state)
{
    struct world w;
    begin(&w, false);
    name(&w, "127.0.0.1:@");
    int c = client(&w);
    say(&w, c, TUNNEL "early");
    int s = accept_one(&w);
    expect(&w, c, "HTTP/1.1 200 ");
    expect(&w, s, "early");
    say(&w, s, "down");
    expect(&w, c, "down");
    shutdown(c, SHUT_WR);
    expect(&w, s, "");
    say(&w, s, "last");
    close(s);
    expect(&w, c, "last");
    expect(&w, c, "");
    close(c);
    end(&w);
}

/* More than all buffers hold, to a reader that takes its time. */
static void holds_back_who_sends_too_much(void **state)
{
    struct world w;
    size_t sent = 0, got = 0, size = 32 << 20;
    char *data = calloc(1, 1 << 20);
    begin(&w, false);
    name(&w, "127.0.0.1:@");
    int c = client(&w);
    say(&w, c, TUNNEL);
    int s = accept_one(&w);
    expect(&w, c, "HTTP/1.1 200 ");
    for (int i = 0; i < 300; i++) {
        ssize_t n = send(c, data, 1 << 20, MSG_NOSIGNAL);
        sent += n > 0 ? (size_t) n : 0;
        uv_run(&w.loop, UV_RUN_NOWAIT);
    }
    assert_true(w.alloc.bytes < 1 << 20);
    while (got < size) {
        ssize_t n = sent < size
                        ? send(c, data, size - sent < 1 << 20 ? size - sent : 1 << 20, MSG_NOSIGNAL)
                        : 0;
        sent += n > 0 ? (size_t) n : 0;
        n = recv(s, data, 1 << 20, 0);
        got += n > 0 ? (size_t) n : 0;
        uv_run(&w.loop, UV_RUN_NOWAIT);
    }
    assert_int_equal(got, sent);
    close(c);
    close(s);
    free(data);
    end(&w);
}

static void passes_on_one_plain_request(void **state)
{
    struct world w;
    char head[300];
    begin(&w, false);
    name(&w, "127.0.0.1:@");
    int c = client(&w);
    say(&w, c, PLAIN PLAIN);
    int s = accept_one(&w);
    fill(&w, "GET /a?b HTTP/1.1\r\nHost: 127.0.0.1:@\r\nConnection: close\r\nX: y\r\n\r\n", head,
        sizeof(head));
    expect(&w, s, head);
    say(&w, c, PLAIN);
    for (int i = 0; i < 20; i++)
        turn(&w);
    assert_true(recv(s, head, sizeof(head), 0) < 0);
    say(&w, s, "HTTP/1.0 200 OK\r\n\r\nbody");
    expect(&w, c, "body");
    close(s);
    expect(&w, c, "");
    close(c);
    end(&w);
}

static void passes_on_a_body_as_long_as_it_is(void **state)
{
    struct world w;
    char rest[100];
    begin(&w, false);
    name(&w, "127.0.0.1:@");
    int c = client(&w);
    say(&w, c,
        "POST http://127.0.0.1:@/ HTTP/1.1\r\nHost: 127.0.0.1:@\r\nContent-Length: 6\r\n\r\nabc");
    int s = accept_one(&w);
    expect(&w, s, "abc");
    say(&w, c, "defGET /evil HTTP/1.1\r\n\r\n");
    expect(&w, s, "def");
    for (int i = 0; i < 20; i++)
        turn(&w);
    assert_true(recv(s, rest, sizeof(rest), 0) < 0);
    close(c);
    close(s);
    end(&w);
}

static void speaks_socks(void **state)
{
    struct world w;
    begin(&w, false);
    name(&w, "127.0.0.1:@");
    int c = client(&w);
    unsigned char ask[] = { 5, 1, 0, 1, 127, 0, 0, 1, (unsigned char) (w.server_port >> 8),
        (unsigned char) w.server_port };
    char got[20];
    assert_int_equal(send(c, "\5\2\2\0", 4, 0), 4);
    while (recv(c, got, 2, 0) != 2)
        turn(&w);
    assert_memory_equal(got, "\5\0", 2);
    for (size_t i = 0; i < sizeof(ask); i++) {
        assert_int_equal(send(c, ask + i, 1, 0), 1);
        turn(&w);
    }
    int s = accept_one(&w);
    while (recv(c, got, 10, 0) != 10)
        turn(&w);
    assert_memory_equal(got, "\5\0\0\1", 4);
    say(&w, s, "hello");
    expect(&w, c, "hello");
    close(c);
    close(s);
    end(&w);
}

static void refuses_who_is_not_named(void **state)
{
    struct world w;
    begin(&w, false);
    name(&w, "example.org");
    int c = client(&w);
    say(&w, c, TUNNEL);
    expect(&w, c, "HTTP/1.1 403 ");
    expect_nobody(&w);
    assert_int_equal(w.refusals, 1);
    close(c);
    end(&w);
}

static void asks_and_goes_by_the_answer(void **state)
{
    struct world w;
    begin(&w, true);
    int yes = client(&w), no = client(&w);
    say(&w, yes, TUNNEL);
    while (w.questions < 1)
        turn(&w);
    uint64_t first = w.asked;
    say(&w, no, TUNNEL);
    while (w.questions < 2)
        turn(&w);
    hocket__proxy_answer(w.proxy, w.asked, false);
    expect(&w, no, "HTTP/1.1 403 ");
    expect_nobody(&w);
    hocket__proxy_answer(w.proxy, first, true);
    int s = accept_one(&w);
    expect(&w, yes, "HTTP/1.1 200 ");
    hocket__proxy_answer(w.proxy, first, false); /* too late */
    say(&w, yes, "on");
    expect(&w, s, "on");
    close(yes);
    close(no);
    close(s);
    end(&w);
}

static void an_answer_for_nobody_does_nothing(void **state)
{
    struct world w;
    begin(&w, true);
    int c = client(&w);
    say(&w, c, TUNNEL);
    while (w.questions < 1)
        turn(&w);
    close(c);
    for (int i = 0; i < 20; i++)
        turn(&w);
    hocket__proxy_answer(w.proxy, w.asked, true);
    hocket__proxy_answer(w.proxy, 12345, true);
    expect_nobody(&w);
    end(&w);
}

/* A name that leads inside: by a rule, and by a yes. */
static void refuses_names_that_lead_inside(void **state)
{
    for (int by_rule = 0; by_rule < 2; by_rule++) {
        struct world w;
        begin(&w, !by_rule);
        public_here = false;
        if (by_rule)
            name(&w, "ip4-of-this.example:@"); /* never looked up */
        int c = client(&w);
        say(&w, c, "CONNECT localhost:@ HTTP/1.1\r\nHost: localhost:@\r\n\r\n");
        while (!by_rule && w.questions < 1)
            turn(&w);
        hocket__proxy_answer(w.proxy, w.asked, true);
        expect(&w, c, "HTTP/1.1 403 ");
        assert_string_equal(
            w.why, by_rule ? "it is not named" : "it leads to an address that is not public");
        expect_nobody(&w);
        close(c);
        end(&w);
    }
}

static void addresses_inside_are_not_asked_about(void **state)
{
    struct world w;
    begin(&w, true);
    public_here = false;
    int c = client(&w);
    say(&w, c, TUNNEL);
    expect(&w, c, "HTTP/1.1 403 ");
    assert_int_equal(w.questions, 0);
    close(c);
    end(&w);
}

static void says_when_nobody_is_there(void **state)
{
    struct world w;
    begin(&w, false);
    name(&w, "127.0.0.1:@");
    close(w.server);
    w.server = open("/dev/null", O_RDONLY);
    int c = client(&w);
    say(&w, c, TUNNEL);
    expect(&w, c, "HTTP/1.1 502 ");
    close(c);
    end(&w);
}

static void ends_who_is_slow(void **state)
{
    struct world w;
    begin(&w, false);
    int silent = client(&w), slow = client(&w);
    say(&w, slow, "CONNECT 127.0.0.1");
    expect(&w, silent, "HTTP/1.1 408 ");
    expect(&w, slow, "HTTP/1.1 408 ");
    close(silent);
    close(slow);
    end(&w);
}

static void serves_so_many_at_once(void **state)
{
    struct world w;
    int c[20], s;
    begin(&w, false);
    name(&w, "127.0.0.1:@");
    for (int i = 0; i < 20; i++)
        c[i] = client(&w);
    say(&w, c[19], TUNNEL); /* behind those that say nothing, until they are ended */
    s = accept_one(&w);
    expect(&w, c[19], "HTTP/1.1 200 ");
    for (int i = 0; i < 20; i++)
        close(c[i]);
    close(s);
    end(&w);
}

static void closes_in_any_state(void **state)
{
    for (int turns = 0; turns < 12; turns++) {
        struct world w;
        begin(&w, true);
        name(&w, "127.0.0.1:@");
        int c[4] = { client(&w), client(&w), client(&w), client(&w) };
        say(&w, c[0], TUNNEL);
        say(&w, c[1], PLAIN);
        say(&w, c[2], "CONNECT localhost:@ HTTP/1.1\r\nHost: localhost:@\r\n\r\n");
        for (int i = 0; i < turns; i++)
            turn(&w);
        if (turns % 2)
            hocket__proxy_answer(w.proxy, w.asked, true);
        end(&w);
        for (int i = 0; i < 4; i++)
            close(c[i]);
    }
}

/* More than are looked up at once, and nobody waits for any of them. */
static void closes_with_look_ups_in_the_queue(void **state)
{
    struct world w;
    int c[8];
    begin(&w, true);
    name(&w, "localhost:@");
    for (int i = 0; i < 8; i++) {
        c[i] = client(&w);
        say(&w, c[i], "CONNECT localhost:@ HTTP/1.1\r\nHost: localhost:@\r\n\r\n");
    }
    uv_run(&w.loop, UV_RUN_NOWAIT);
    uv_run(&w.loop, UV_RUN_NOWAIT);
    end(&w);
    for (int i = 0; i < 8; i++)
        close(c[i]);
}

static void without_memory(struct test_alloc *t, void *ud)
{
    struct world w;
    struct hocket_error err;
    (void) ud;
    memset(&w, 0, sizeof(w));
    uv_loop_init(&w.loop);
    public_here = true;
    w.server = listener(&w.server_port);
    w.o = (struct hocket__proxy_options){ .alloc = &t->a,
        .loop = &w.loop,
        .is_public = is_public,
        .head_ms = 50,
        .handler = { NULL, on_refused },
        .ud = &w };
    if (hocket__proxy_new(&w.o, &w.proxy, &err) == 0) {
        char rule[40];
        fill(&w, "127.0.0.1:@", rule, sizeof(rule));
        hocket__proxy_name(w.proxy, hocket__cstr(rule), false, &err);
        hocket__proxy_listen(w.proxy, listener(&w.port));
        int c = try_client(&w); /* nobody listens when there was no memory for it */
        if (c >= 0)
            say(&w, c, PLAIN);
        for (int i = 0; i < 10; i++)
            turn(&w);
        if (c >= 0)
            close(c);
        hocket__proxy_close(w.proxy, on_closed, &w);
    }
    uv_run(&w.loop, UV_RUN_DEFAULT);
    assert_int_equal(uv_loop_close(&w.loop), 0);
    close(w.server);
}

static void bears_want_of_memory(void **state)
{
    assert_true(test_alloc_each(without_memory, NULL) > 5);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(tunnels_both_ways),
        cmocka_unit_test(holds_back_who_sends_too_much),
        cmocka_unit_test(passes_on_one_plain_request),
        cmocka_unit_test(passes_on_a_body_as_long_as_it_is),
        cmocka_unit_test(speaks_socks),
        cmocka_unit_test(refuses_who_is_not_named),
        cmocka_unit_test(asks_and_goes_by_the_answer),
        cmocka_unit_test(an_answer_for_nobody_does_nothing),
        cmocka_unit_test(refuses_names_that_lead_inside),
        cmocka_unit_test(addresses_inside_are_not_asked_about),
        cmocka_unit_test(says_when_nobody_is_there),
        cmocka_unit_test(ends_who_is_slow),
        cmocka_unit_test(serves_so_many_at_once),
        cmocka_unit_test(closes_in_any_state),
        cmocka_unit_test(closes_with_look_ups_in_the_queue),
        cmocka_unit_test(bears_want_of_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <unistd.h>

#include "os/tcp.h"

struct pair {
    int listener, ours, theirs;
};

static void connect_pair(struct pair *p)
{
    struct sockaddr_in at = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
    p->listener = hocket__tcp_listen((struct sockaddr *) &at);
    assert_true(p->listener >= 0);
    at.sin_port = htons((uint16_t) hocket__tcp_port(p->listener));
    p->ours = hocket__tcp_connect((struct sockaddr *) &at, sizeof(at));
    assert_true(p->ours >= 0);
    struct pollfd ready = { .fd = p->listener, .events = POLLIN };
    assert_int_equal(poll(&ready, 1, 10000), 1);
    p->theirs = hocket__tcp_accept(p->listener);
    assert_true(p->theirs >= 0);
}

static void close_pair(struct pair *p)
{
    hocket__tcp_close(p->ours);
    hocket__tcp_close(p->listener);
}

static void await_bytes(int fd)
{
    struct pollfd ready = { .fd = fd, .events = POLLIN };
    assert_int_equal(poll(&ready, 1, 10000), 1);
}

/* The end comes after what was sent before; it is seen although nobody has read that. */
static void test_ended(void **state)
{
    (void) state;
    struct pair p;
    char x[] = "x";
    uv_buf_t byte = uv_buf_init(x, 1);
    connect_pair(&p);
    assert_false(hocket__tcp_ended(p.ours));
    assert_int_equal(hocket__tcp_write(p.theirs, &byte, 1), 1);
    await_bytes(p.ours);
    assert_false(hocket__tcp_ended(p.ours));
    hocket__tcp_close(p.theirs);
    for (int i = 0; i < 1000 && !hocket__tcp_ended(p.ours); i++)
        usleep(1000);
    assert_true(hocket__tcp_ended(p.ours));
    close_pair(&p);
}

static void test_reset(void **state)
{
    (void) state;
    struct pair p;
    connect_pair(&p);
    hocket__tcp_reset_at_close(p.theirs);
    hocket__tcp_close(p.theirs);
    await_bytes(p.ours);
    assert_true(hocket__tcp_ended(p.ours));
    close_pair(&p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_ended),
        cmocka_unit_test(test_reset),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

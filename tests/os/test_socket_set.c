/* Sockets in a set: what is told of and what is not, and whom the end of a turn leaves waiting. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <fcntl.h>
#include <poll.h>
#include <sys/epoll.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/list.h"
#include "os/socket_set.h"
#include "support/alloc.h"
#include "support/loopback.h"

enum { N = 300 };

static int untouchable = -1, touched; /* a descriptor that is somebody else's by now */

/* In place of the C library's. */
int epoll_ctl(int set, int op, int fd, struct epoll_event *event)
{
    touched += fd == untouchable;
    return (int) syscall(SYS_epoll_ctl, set, op, fd, event);
}

struct one {
    struct hocket__socket socket; /* first */
    int peer;
    int told, events; /* how often, and of what the last time */
};

struct all {
    uv_loop_t loop;
    uv_timer_t other;
    struct test_alloc t;
    struct hocket__sockets set;
    struct one one[N];
    int told, allowed;     /* how many may be told in this turn; -1: all */
    struct one *to_forget; /* in the next callback */
    bool closed;
};

static struct all *all_of(struct hocket__sockets *set)
{
    return hocket__container_of(set, struct all, set);
}

static struct all *now; /* on_event has the socket alone */

static void on_event(struct hocket__socket *s, int events)
{
    struct one *o = hocket__container_of(s, struct one, socket);
    o->told++;
    o->events = events;
    now->told++;
    if (now->to_forget) {
        int fd = now->to_forget->socket.fd;
        hocket__sockets_forget(&now->set, &now->to_forget->socket);
        close(fd);
        now->to_forget->socket.fd = -1;
        now->to_forget = NULL;
    }
}

static bool is_late(void *ud)
{
    return all_of(ud)->allowed >= 0 && all_of(ud)->told >= all_of(ud)->allowed;
}

static void set_up(struct all *all)
{
    memset(all, 0, sizeof(*all));
    now = all;
    all->allowed = -1;
    test_alloc_init(&all->t);
    uv_loop_init(&all->loop);
    uv_timer_init(&all->loop, &all->other);
    hocket__sockets_init(&all->set, &all->t.a);
    all->set.on_event = on_event;
    all->set.is_late = is_late;
    all->set.ud = &all->set;
    assert_int_equal(hocket__sockets_open(&all->set, &all->loop), 0);
    for (int i = 0; i < N; i++)
        all->one[i].socket.fd = all->one[i].peer = -1;
}

static void on_closed(uv_handle_t *handle)
{
    struct hocket__sockets *set =
        hocket__container_of((uv_poll_t *) handle, struct hocket__sockets, poll);
    all_of(set)->closed = true;
}

static void tear_down(struct all *all)
{
    hocket__sockets_close(&all->set, on_closed);
    uv_close((uv_handle_t *) &all->other, NULL);
    uv_run(&all->loop, UV_RUN_DEFAULT);
    assert_true(all->closed);
    assert_int_equal(uv_loop_close(&all->loop), 0);
    hocket__sockets_deinit(&all->set);
    test_alloc_check(&all->t);
    for (int i = 0; i < N; i++) {
        if (all->one[i].socket.fd >= 0)
            close(all->one[i].socket.fd);
        if (all->one[i].peer >= 0)
            close(all->one[i].peer);
    }
}

static struct one *open_pair(struct all *all, int i)
{
    int fds[2];
    struct one *o = &all->one[i];
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, fds), 0);
    assert_int_equal(hocket__sockets_add(&all->set, &o->socket, fds[0]), 0);
    o->peer = fds[1];
    return o;
}

static void say(const struct one *o)
{
    assert_int_equal(write(o->peer, "x", 1), 1);
}

static void hear(const struct one *o)
{
    char c;
    assert_int_equal(read(o->socket.fd, &c, 1), 1);
}

static void never(uv_timer_t *timer)
{
    (void) timer;
}

/* With something else that keeps the loop going. */
static int turn(struct all *all)
{
    all->told = 0;
    uv_timer_start(&all->other, never, 1000000, 0);
    uv_run(&all->loop, UV_RUN_NOWAIT);
    uv_timer_stop(&all->other);
    return all->told;
}

/* Whether the loop would be woken: a set that stays so with nothing to tell makes it spin. */
static bool wakes(const struct all *all)
{
    struct pollfd p = { .fd = all->set.fd, .events = POLLIN };
    return poll(&p, 1, 0) > 0;
}

static void want(struct all *all, struct one *o, int events)
{
    assert_int_equal(hocket__sockets_want(&all->set, &o->socket, events), 0);
}

static void test_tells(void **state)
{
    struct all all;
    (void) state;
    set_up(&all);
    struct one *o = open_pair(&all, 0);
    assert_false(uv_loop_alive(&all.loop));
    want(&all, o, UV_READABLE);
    assert_true(uv_loop_alive(&all.loop));
    assert_int_equal(turn(&all), 0);
    say(o);
    assert_int_equal(turn(&all), 1);
    assert_int_equal(o->events, UV_READABLE);
    assert_int_equal(turn(&all), 1); /* until it is read */
    want(&all, o, UV_READABLE | UV_WRITABLE);
    assert_int_equal(turn(&all), 1);
    assert_int_equal(o->events, UV_READABLE | UV_WRITABLE);
    want(&all, o, UV_WRITABLE);
    assert_int_equal(turn(&all), 1);
    assert_int_equal(o->events, UV_WRITABLE);
    hear(o);
    want(&all, o, UV_READABLE);
    assert_int_equal(turn(&all), 0);
    close(o->peer);
    o->peer = -1;
    assert_int_equal(turn(&all), 1);
    assert_int_equal(o->events, UV_READABLE);
    tear_down(&all);
}

/* What comes while nobody wants it is not told of, and wakes the loop once. */
static void test_idle(void **state)
{
    struct all all;
    (void) state;
    set_up(&all);
    struct one *o = open_pair(&all, 0);
    want(&all, o, UV_READABLE);
    want(&all, o, 0);
    assert_false(uv_loop_alive(&all.loop));
    assert_int_equal(o->socket.watched, UV_READABLE); /* the next to want it need not ask */
    say(o);
    assert_true(wakes(&all));
    assert_int_equal(turn(&all), 0);
    assert_false(wakes(&all));
    want(&all, o, UV_READABLE);
    assert_int_equal(turn(&all), 1);
    hear(o);
    want(&all, o, 0);
    close(o->peer);
    o->peer = -1;
    assert_int_equal(turn(&all), 0);
    assert_false(wakes(&all));
    tear_down(&all);
}

static void test_broken(void **state)
{
    struct all all;
    (void) state;
    set_up(&all);
    struct sockaddr_in at;
    int nobody = test_loopback(&at, 0);
    assert_true(nobody >= 0);
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0);
    assert_int_equal(hocket__sockets_add(&all.set, &all.one[0].socket, fd), 0);
    want(&all, &all.one[0], UV_WRITABLE);
    assert_int_equal(connect(fd, (struct sockaddr *) &at, sizeof(at)), -1);
    uv_run(&all.loop, UV_RUN_ONCE);
    assert_int_equal(all.one[0].told, 1);
    assert_int_equal(all.one[0].events, 0);
    assert_false(wakes(&all)); /* told of once */
    close(nobody);
    tear_down(&all);
}

/* Two are ready; the first to be told of closes the other, whose number the next one gets. */
static void test_closed_in_the_batch(void **state)
{
    struct all all;
    (void) state;
    set_up(&all);
    for (int i = 0; i < 2; i++)
        want(&all, open_pair(&all, i), UV_READABLE);
    say(&all.one[0]);
    say(&all.one[1]);
    all.allowed = 1;
    assert_int_equal(turn(&all), 1);
    struct one *waits = all.one[0].told ? &all.one[1] : &all.one[0];
    int fd = waits->socket.fd;
    hocket__sockets_forget(&all.set, &waits->socket);
    close(fd);
    close(waits->peer);
    waits->socket.fd = waits->peer = -1;
    want(&all, open_pair(&all, 2), UV_READABLE);
    assert_int_equal(all.one[2].socket.fd, fd);
    all.allowed = -1;
    assert_int_equal(turn(&all), 0); /* the event was the old one's */
    assert_int_equal(turn(&all), 1);
    assert_int_equal(all.one[2].told, 0);
    tear_down(&all);
}

static void test_closed_in_the_callback(void **state)
{
    struct all all;
    (void) state;
    set_up(&all);
    for (int i = 0; i < 3; i++)
        want(&all, open_pair(&all, i), UV_READABLE);
    for (int i = 0; i < 3; i++)
        say(&all.one[i]);
    all.to_forget = &all.one[1];
    assert_int_equal(turn(&all), 2);
    assert_int_equal(all.one[0].told, 1);
    assert_int_equal(all.one[2].told, 1);
    tear_down(&all);
}

/* libcurl closes a socket that connects before it says so; another thread may have its number then. */
static void test_closed_behind_its_back(void **state)
{
    struct all all;
    (void) state;
    set_up(&all);
    struct one *o = open_pair(&all, 0);
    want(&all, o, UV_WRITABLE);
    untouchable = o->socket.fd;
    close(o->socket.fd);
    want(&all, o, 0);
    untouchable = -1;
    assert_int_equal(touched, 0);
    hocket__sockets_forget(&all.set, &o->socket);
    assert_int_equal(turn(&all), 0);
    o->socket.fd = -1;
    tear_down(&all);
}

/* The same number is another socket, and is told of. */
static void test_opened_again_behind_its_back(void **state)
{
    struct all all;
    (void) state;
    set_up(&all);
    struct one *o = open_pair(&all, 0);
    int fd = o->socket.fd, ends[2];
    want(&all, o, UV_WRITABLE);
    want(&all, o, 0);
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, ends), 0);
    assert_int_equal(dup2(ends[0], fd), fd);
    want(&all, o, UV_READABLE);
    assert_int_equal(write(ends[1], "x", 1), 1);
    assert_int_equal(turn(&all), 1);
    assert_int_equal(o->events, UV_READABLE);
    close(ends[0]);
    close(ends[1]);
    tear_down(&all);
}

/* Whoever wants nothing of a socket that can be written to is not told of it, and the loop rests. */
static void test_writable_and_unwanted(void **state)
{
    struct all all;
    (void) state;
    set_up(&all);
    struct one *o = open_pair(&all, 0);
    want(&all, o, UV_WRITABLE);
    want(&all, o, 0);
    assert_int_equal(turn(&all), 0);
    assert_int_equal(o->socket.watched, 0);
    want(&all, o, UV_WRITABLE);
    assert_int_equal(turn(&all), 1);
    tear_down(&all);
}

/* More than a batch, and a turn that is always over after a few: all are told of equally often. */
static void test_all_get_their_turn(void **state)
{
    struct all all;
    (void) state;
    set_up(&all);
    for (int i = 0; i < N; i++) {
        want(&all, open_pair(&all, i), UV_READABLE);
        say(&all.one[i]);
    }
    all.allowed = N;
    assert_int_equal(turn(&all), N);
    all.allowed = 7;
    for (int i = 0; i < N * 4; i++)
        assert_int_equal(turn(&all), 7);
    for (int i = 0; i < N; i++)
        assert_in_range(all.one[i].told, 1 + 26, 1 + 30);
    tear_down(&all);
}

static void test_no_memory(void **state)
{
    struct all all;
    (void) state;
    set_up(&all);
    all.t.fail_at = all.t.calls + 1;
    struct hocket__socket s;
    assert_int_equal(hocket__sockets_add(&all.set, &s, 5), HOCKET_ENOMEM);
    assert_null(hocket__sockets_find(&all.set, 5));
    tear_down(&all);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_tells),
        cmocka_unit_test(test_idle),
        cmocka_unit_test(test_broken),
        cmocka_unit_test(test_closed_in_the_batch),
        cmocka_unit_test(test_closed_in_the_callback),
        cmocka_unit_test(test_closed_behind_its_back),
        cmocka_unit_test(test_opened_again_behind_its_back),
        cmocka_unit_test(test_writable_and_unwanted),
        cmocka_unit_test(test_all_get_their_turn),
        cmocka_unit_test(test_no_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

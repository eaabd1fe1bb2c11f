#include "support/server.h"

#include <errno.h>
#include <fcntl.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <time.h>
#include <unistd.h>

#include "support/loopback.h"

#define CONNS_MAX  2048
#define ROUTES_MAX 64
#define KEPT_MAX   4096
#define KEPT_BYTES 16384

struct route {
    char path[128];
    const struct test_step *steps;
    size_t n;
};

struct conn {
    int fd;
    char *in; /* what came of a request */
    size_t in_len, in_cap;
    bool answering;
    struct route route;
    size_t step, sent; /* of the step's data */
    int times;         /* the step was done so often */
    bool paused;       /* the pause before this time is over at `due` */
    int64_t due;
};

struct test_server {
    int listener, port, wake[2];
    char url[512];
    pthread_t thread;
    pthread_mutex_t lock; /* of all below that is not the thread's own */
    pthread_cond_t changed;
    struct route routes[ROUTES_MAX];
    size_t n_routes;
    struct test_server_counts counts;
    char *kept[KEPT_MAX];
    bool stop;
    struct conn conns[CONNS_MAX]; /* the thread's own */
    struct pollfd polls[CONNS_MAX + 2];
    int n_conns;
};

static void must(bool ok, const char *what)
{
    if (!ok) {
        fprintf(stderr, "test server: %s: %s\n", what, strerror(errno));
        exit(70);
    }
}

static int64_t now_ms(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t) t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

static void count(struct test_server *s, struct test_server_counts more)
{
    pthread_mutex_lock(&s->lock);
    s->counts.accepted += more.accepted;
    s->counts.closed += more.closed;
    s->counts.open += more.open;
    s->counts.requests += more.requests;
    s->counts.answers += more.answers;
    pthread_cond_broadcast(&s->changed);
    pthread_mutex_unlock(&s->lock);
}

/* ---- Connections -------------------------------------------------------------------- */

static void drop(struct test_server *s, int i, bool by_client)
{
    close(s->conns[i].fd);
    free(s->conns[i].in);
    s->conns[i] = s->conns[--s->n_conns];
    count(s, (struct test_server_counts){ .closed = by_client, .open = -1 });
}

static void reset(int fd)
{
    struct linger now = { 1, 0 };
    setsockopt(fd, SOL_SOCKET, SO_LINGER, &now, sizeof(now));
}

static void accept_all(struct test_server *s)
{
    int fd, on = 1;
    while (s->n_conns < CONNS_MAX
           && (fd = accept4(s->listener, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC)) >= 0) {
        setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
        s->conns[s->n_conns++] = (struct conn){ .fd = fd };
        count(s, (struct test_server_counts){ .accepted = 1, .open = 1 });
    }
}

static const struct test_step not_found[] = { TEST_SEND(
    "HTTP/1.1 404 Not Found\r\nContent-Length: 4\r\n\r\nnone") };

static void find_route(struct test_server *s, struct conn *c)
{
    const char *path = strchr(c->in, ' ') ? strchr(c->in, ' ') + 1 : "";
    size_t n = strcspn(path, " ?\r\n");
    c->route = (struct route){ .steps = not_found, .n = 1 };
    pthread_mutex_lock(&s->lock);
    for (size_t i = 0; i < s->n_routes; i++)
        if (strlen(s->routes[i].path) == n && memcmp(s->routes[i].path, path, n) == 0)
            c->route = s->routes[i];
    pthread_mutex_unlock(&s->lock);
}

static void keep(struct test_server *s, const char *text, size_t n)
{
    size_t kept = n < KEPT_BYTES ? n : KEPT_BYTES;
    pthread_mutex_lock(&s->lock);
    if (s->counts.requests < KEPT_MAX)
        s->kept[s->counts.requests] = strndup(text, kept);
    pthread_mutex_unlock(&s->lock);
    count(s, (struct test_server_counts){ .requests = 1 });
}

/* Bytes of the first complete request, or 0. */
static size_t request_length(const struct conn *c)
{
    char *end = c->in ? strstr(c->in, "\r\n\r\n") : NULL;
    if (!end)
        return 0;
    size_t head = (size_t) (end - c->in) + 4, body = 0;
    for (char *line = c->in; line < end; line = strstr(line, "\r\n") + 2)
        if (strncasecmp(line, "content-length:", 15) == 0)
            body = strtoul(line + 15, NULL, 10);
    return c->in_len >= head + body ? head + body : 0;
}

static void begin_answer(struct test_server *s, struct conn *c)
{
    size_t n = c->answering ? 0 : request_length(c);
    if (n == 0)
        return;
    find_route(s, c);
    keep(s, c->in, n);
    memmove(c->in, c->in + n, c->in_len - n + 1);
    c->in_len -= n;
    c->answering = true;
    c->step = c->sent = 0;
    c->times = 0;
    c->paused = false;
}

/* False when the client has closed. */
static bool receive(struct test_server *s, struct conn *c)
{
    char buf[65536];
    for (;;) {
        ssize_t n = recv(c->fd, buf, sizeof(buf), 0);
        if (n == 0 || (n < 0 && errno != EAGAIN))
            return false;
        if (n < 0)
            return true;
        if (c->in_len + (size_t) n + 1 > c->in_cap) {
            c->in_cap = (c->in_len + (size_t) n + 1) * 2;
            c->in = realloc(c->in, c->in_cap);
            must(c->in != NULL, "memory");
        }
        memcpy(c->in + c->in_len, buf, (size_t) n);
        c->in_len += (size_t) n;
        c->in[c->in_len] = 0;
    }
}

/* ---- Steps -------------------------------------------------------------------------- */

enum outcome { DONE, WAIT_WRITE, WAIT_TIME, FOREVER, GONE, END };

static enum outcome pause_before(struct conn *c, const struct test_step *step)
{
    if (step->pause_ms == 0)
        return DONE;
    if (!c->paused) {
        c->paused = true;
        c->due = now_ms() + step->pause_ms;
    }
    return now_ms() >= c->due ? DONE : WAIT_TIME;
}

static enum outcome send_step(struct conn *c, const struct test_step *step)
{
    while (c->sent < step->len) {
        ssize_t n = send(c->fd, step->data + c->sent, step->len - c->sent, MSG_NOSIGNAL);
        if (n < 0)
            return errno == EAGAIN ? WAIT_WRITE : GONE;
        c->sent += (size_t) n;
    }
    return DONE;
}

static enum outcome do_step(struct conn *c)
{
    const struct test_step *step = &c->route.steps[c->step];
    int times = step->times ? step->times : 1;
    for (; c->times < times; c->times++, c->sent = 0, c->paused = false) {
        enum outcome o = pause_before(c, step);
        if (o == DONE)
            o = send_step(c, step);
        if (o != DONE)
            return o;
    }
    c->times = 0;
    if (step->then == TEST_HANG)
        return FOREVER;
    if (step->then == TEST_RESET)
        reset(c->fd);
    return step->then == TEST_GO_ON ? DONE : END;
}

static enum outcome answer(struct test_server *s, struct conn *c)
{
    enum outcome o = DONE;
    while (o == DONE && c->step < c->route.n)
        if ((o = do_step(c)) == DONE)
            c->step++;
    if (o == DONE)
        c->answering = false;
    if (o == DONE || o == END)
        count(s, (struct test_server_counts){ .answers = 1 });
    return o;
}

/* ---- The thread --------------------------------------------------------------------- */

/* Does what can be done; sets what to poll for. False when the connection is gone. */
static bool serve(struct test_server *s, int i, short *events, int *timeout)
{
    struct conn *c = &s->conns[i];
    enum outcome o = DONE;
    *events = POLLIN;
    if (!receive(s, c)) {
        drop(s, i, true);
        return false;
    }
    while (o == DONE) {
        begin_answer(s, c);
        if (!c->answering)
            return true;
        o = answer(s, c);
    }
    if (o == GONE || o == END) {
        drop(s, i, o == GONE);
        return false;
    }
    if (o == WAIT_WRITE)
        *events |= POLLOUT;
    int wait = o == WAIT_TIME ? (int) (c->due - now_ms()) : -1;
    if (o == WAIT_TIME && (*timeout < 0 || wait < *timeout))
        *timeout = wait > 0 ? wait : 0;
    return true;
}

static void *run(void *ud)
{
    struct test_server *s = ud;
    for (;;) {
        int timeout = -1;
        accept_all(s);
        for (int i = 0; i < s->n_conns;) {
            short events;
            if (!serve(s, i, &events, &timeout))
                continue;
            s->polls[i + 2] = (struct pollfd){ s->conns[i].fd, events, 0 };
            i++;
        }
        s->polls[0] = (struct pollfd){ s->wake[0], POLLIN, 0 };
        s->polls[1] = (struct pollfd){ s->listener, POLLIN, 0 };
        poll(s->polls, (nfds_t) s->n_conns + 2, timeout);
        pthread_mutex_lock(&s->lock);
        bool stop = s->stop;
        pthread_mutex_unlock(&s->lock);
        if (stop)
            return NULL;
    }
}

/* ---- For the tests ------------------------------------------------------------------ */

static int listen_on_loopback(int *port)
{
    struct sockaddr_in at;
    int fd = test_loopback(&at, SOCK_NONBLOCK);
    must(fd >= 0, "bind");
    must(listen(fd, 1024) == 0, "listen");
    *port = ntohs(at.sin_port);
    return fd;
}

struct test_server *test_server_new(void)
{
    struct test_server *s = calloc(1, sizeof(*s));
    pthread_condattr_t attr;
    must(s != NULL, "memory");
    s->listener = listen_on_loopback(&s->port);
    must(pipe2(s->wake, O_CLOEXEC) == 0, "pipe");
    pthread_mutex_init(&s->lock, NULL);
    pthread_condattr_init(&attr);
    pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
    pthread_cond_init(&s->changed, &attr);
    pthread_condattr_destroy(&attr);
    must(pthread_create(&s->thread, NULL, run, s) == 0, "thread");
    return s;
}

void test_server_free(struct test_server *s)
{
    pthread_mutex_lock(&s->lock);
    s->stop = true;
    pthread_mutex_unlock(&s->lock);
    must(write(s->wake[1], "", 1) == 1, "write");
    pthread_join(s->thread, NULL);
    while (s->n_conns > 0)
        drop(s, 0, false);
    close(s->listener);
    close(s->wake[0]);
    close(s->wake[1]);
    for (int i = 0; i < KEPT_MAX; i++)
        free(s->kept[i]);
    pthread_cond_destroy(&s->changed);
    pthread_mutex_destroy(&s->lock);
    free(s);
}

int test_server_port(const struct test_server *s)
{
    return s->port;
}

const char *test_server_url(struct test_server *s, const char *path)
{
    snprintf(s->url, sizeof(s->url), "http://127.0.0.1:%d%s", s->port, path);
    return s->url;
}

void test_server_on(
    struct test_server *s, const char *path, const struct test_step *steps, size_t n)
{
    size_t i = 0;
    pthread_mutex_lock(&s->lock);
    while (i < s->n_routes && strcmp(s->routes[i].path, path) != 0)
        i++;
    must(i < ROUTES_MAX && strlen(path) < sizeof(s->routes[i].path), "too many paths");
    strcpy(s->routes[i].path, path);
    s->routes[i].steps = steps;
    s->routes[i].n = n;
    if (i == s->n_routes)
        s->n_routes++;
    pthread_mutex_unlock(&s->lock);
}

struct test_server_counts test_server_counts(struct test_server *s)
{
    pthread_mutex_lock(&s->lock);
    struct test_server_counts counts = s->counts;
    pthread_mutex_unlock(&s->lock);
    return counts;
}

static bool wait_for(struct test_server *s, const int *counter, int n, int timeout_ms)
{
    struct timespec until;
    int64_t at = now_ms() + timeout_ms;
    until.tv_sec = (time_t) (at / 1000);
    until.tv_nsec = (long) (at % 1000) * 1000000;
    pthread_mutex_lock(&s->lock);
    while (*counter < n && pthread_cond_timedwait(&s->changed, &s->lock, &until) == 0)
        ;
    bool reached = *counter >= n;
    pthread_mutex_unlock(&s->lock);
    return reached;
}

bool test_server_wait_closed(struct test_server *s, int n, int timeout_ms)
{
    return wait_for(s, &s->counts.closed, n, timeout_ms);
}

bool test_server_wait_requests(struct test_server *s, int n, int timeout_ms)
{
    return wait_for(s, &s->counts.requests, n, timeout_ms);
}

bool test_server_wait_answers(struct test_server *s, int n, int timeout_ms)
{
    return wait_for(s, &s->counts.answers, n, timeout_ms);
}

const char *test_server_request(struct test_server *s, int n)
{
    pthread_mutex_lock(&s->lock);
    const char *text = n >= 0 && n < KEPT_MAX && s->kept[n] ? s->kept[n] : "";
    pthread_mutex_unlock(&s->lock);
    return text;
}

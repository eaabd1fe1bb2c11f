/* A model server that is never the bottleneck: OpenAI chat completions, streamed, from bytes
 * made beforehand (mock_reply.h says how a model's name chooses the behaviour).
 *
 *   bench_mock [--port N] [--record FILE]
 *
 * One thread, one epoll, keep-alive. It prints its port, serves until SIGTERM or SIGINT, and
 * then prints one JSON line of what it saw. --record writes every request's body as a line,
 * in order of arrival: what bench_floor sends again. */
#include "mock_reply.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/tcp.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#define MAX_REQUEST ((size_t) 64 << 20)
#define BATCH       512

struct conn {
    int fd;
    bool waiting; /* in the heap of timers, which then owns it */
    bool dead;
    bool writable; /* EPOLLOUT is asked for */
    char *in;
    size_t n_in, room, head; /* head: bytes up to the body, once known */
    size_t body;
    const struct reply *reply; /* under way */
    size_t sent;
    int cut;
};

struct timer {
    uint64_t due;
    struct conn *conn;
};

struct server {
    int listener, epoll;
    struct replies *replies;
    FILE *record;
    struct timer *timers; /* a binary heap */
    size_t n_timers, timers_room;
    uint64_t requests, connections, body_bytes, reply_bytes, broken, first_request_ns;
    int open, open_peak, streams, streams_peak;
};

static volatile sig_atomic_t stopped;

static void on_signal(int signal_number)
{
    (void) signal_number;
    stopped = 1;
}

static void die(const char *what)
{
    fprintf(stderr, "mock: %s: %s\n", what, strerror(errno));
    exit(1);
}

static uint64_t clock_ns(clockid_t id)
{
    struct timespec t;
    clock_gettime(id, &t);
    return (uint64_t) t.tv_sec * 1000000000u + (uint64_t) t.tv_nsec;
}

/* ---- Timers ---- */

static void timer_add(struct server *s, struct conn *c, uint64_t due)
{
    if (s->n_timers == s->timers_room) {
        s->timers_room = s->timers_room ? s->timers_room * 2 : 1024;
        s->timers = realloc(s->timers, s->timers_room * sizeof(*s->timers));
        if (!s->timers)
            die("timers");
    }
    size_t i = s->n_timers++;
    while (i > 0 && s->timers[(i - 1) / 2].due > due) {
        s->timers[i] = s->timers[(i - 1) / 2];
        i = (i - 1) / 2;
    }
    s->timers[i] = (struct timer){ due, c };
    c->waiting = true;
}

static struct conn *timer_take(struct server *s)
{
    struct conn *c = s->timers[0].conn;
    struct timer last = s->timers[--s->n_timers];
    size_t i = 0;
    for (;;) {
        size_t child = 2 * i + 1;
        if (child >= s->n_timers)
            break;
        if (child + 1 < s->n_timers && s->timers[child + 1].due < s->timers[child].due)
            child++;
        if (s->timers[child].due >= last.due)
            break;
        s->timers[i] = s->timers[child];
        i = child;
    }
    s->timers[i] = last;
    c->waiting = false;
    return c;
}

/* ---- Connections ---- */

static void conn_free(struct conn *c)
{
    free(c->in);
    free(c);
}

static void conn_close(struct server *s, struct conn *c)
{
    if (c->reply) {
        s->broken++;
        s->streams--;
    }
    close(c->fd);
    s->open--;
    c->dead = true;
    if (!c->waiting)
        conn_free(c);
}

static void watch(struct server *s, struct conn *c, bool writable)
{
    struct epoll_event e = { .events = EPOLLIN | (writable ? EPOLLOUT : 0u), .data.ptr = c };
    if (c->writable != writable)
        epoll_ctl(s->epoll, EPOLL_CTL_MOD, c->fd, &e);
    c->writable = writable;
}

static void accept_all(struct server *s)
{
    int fd, one = 1;
    while ((fd = accept4(s->listener, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC)) >= 0) {
        struct conn *c = calloc(1, sizeof(*c));
        struct epoll_event e = { .events = EPOLLIN, .data.ptr = c };
        if (!c)
            die("accept");
        c->fd = fd;
        setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
        if (epoll_ctl(s->epoll, EPOLL_CTL_ADD, fd, &e) < 0)
            die("epoll_ctl");
        s->connections++;
        if (++s->open > s->open_peak)
            s->open_peak = s->open;
    }
    if (errno != EAGAIN && errno != EINTR && errno != ECONNABORTED)
        die("accept");
}

/* ---- Replies ---- */

/* Sends up to the next cut, or all when there are no gaps. Returns false when it closed. */
static bool send_more(struct server *s, struct conn *c)
{
    const struct reply *r = c->reply;
    size_t stop = r->gap_ns ? r->cuts[c->cut] : r->size;
    while (c->sent < stop) {
        ssize_t n = send(c->fd, r->data + c->sent, stop - c->sent, MSG_NOSIGNAL);
        if (n < 0 && errno == EAGAIN) {
            watch(s, c, true);
            return true;
        } else if (n < 0) {
            conn_close(s, c);
            return false;
        }
        c->sent += (size_t) n;
    }
    watch(s, c, false);
    if (stop < r->size) {
        c->cut++;
        return true;
    }
    s->reply_bytes += r->size;
    s->streams--;
    c->reply = NULL;
    return true;
}

/* The first packet, and with gaps all that are due by now: a server that is late does not
 * make the stream longer. */
static void begin_reply(struct server *s, struct conn *c, const struct reply *r)
{
    c->reply = r;
    c->sent = 0;
    c->cut = 0;
    if (++s->streams > s->streams_peak)
        s->streams_peak = s->streams;
    if (r->delay_ns)
        timer_add(s, c, clock_ns(CLOCK_MONOTONIC) + r->delay_ns);
    else if (send_more(s, c) && c->reply && c->reply->gap_ns)
        timer_add(s, c, clock_ns(CLOCK_MONOTONIC) + r->gap_ns);
}

static void run_timers(struct server *s)
{
    uint64_t now = s->n_timers ? clock_ns(CLOCK_MONOTONIC) : 0;
    while (s->n_timers && s->timers[0].due <= now) {
        uint64_t due = s->timers[0].due;
        struct conn *c = timer_take(s);
        if (c->dead) {
            conn_free(c);
            continue;
        }
        int cut = c->cut;
        if (c->reply && send_more(s, c) && c->reply && c->reply->gap_ns)
            timer_add(s, c, c->cut > cut ? due + c->reply->gap_ns : now + c->reply->gap_ns);
    }
}

/* ---- Requests ---- */

static const char *find_header(const char *head, const char *name)
{
    size_t n = strlen(name);
    for (const char *line = strstr(head, "\r\n"); line && line[2]; line = strstr(line + 2, "\r\n"))
        if (strncasecmp(line + 2, name, n) == 0)
            return line + 2 + n;
    return NULL;
}

/* Finds the end of the head. Returns false when the request is none of ours. */
static bool read_head(struct conn *c)
{
    char *end = memmem(c->in, c->n_in, "\r\n\r\n", 4);
    if (!end)
        return true;
    c->head = (size_t) (end - c->in) + 4;
    char kept = c->in[c->head - 2];
    c->in[c->head - 2] = '\0';
    const char *length = find_header(c->in, "content-length:");
    bool expects = find_header(c->in, "expect:") != NULL;
    c->in[c->head - 2] = kept;
    c->body = length ? strtoul(length, NULL, 10) : 0;
    if (expects && send(c->fd, "HTTP/1.1 100 Continue\r\n\r\n", 25, MSG_NOSIGNAL) < 0)
        return false;
    return strncmp(c->in, "POST ", 5) == 0 && c->body < MAX_REQUEST;
}

static void take_request(struct server *s, struct conn *c)
{
    const char *body = c->in + c->head;
    if (s->requests++ == 0)
        s->first_request_ns = clock_ns(CLOCK_MONOTONIC);
    s->body_bytes += c->body;
    if (s->record) {
        fwrite(body, 1, c->body, s->record);
        fputc('\n', s->record);
    }
    const struct reply *r = replies_find(s->replies, body, c->body);
    size_t used = c->head + c->body;
    memmove(c->in, c->in + used, c->n_in - used);
    c->n_in -= used;
    c->head = 0;
    begin_reply(s, c, r);
}

static bool make_room(struct conn *c)
{
    size_t want = c->head ? c->head + c->body : c->n_in + 2048;
    want = want > c->n_in ? want : c->n_in + 2048;
    if (want < c->room)
        return true;
    char *in = realloc(c->in, want + 1);
    if (!in)
        return false;
    c->in = in;
    c->room = want + 1; /* one for the NUL */
    return want < MAX_REQUEST + 65536;
}

static void read_some(struct server *s, struct conn *c)
{
    if (!make_room(c)) {
        conn_close(s, c);
        return;
    }
    ssize_t n = recv(c->fd, c->in + c->n_in, c->room - 1 - c->n_in, 0);
    if (n < 0 && errno == EAGAIN)
        return;
    if (n <= 0) {
        conn_close(s, c);
        return;
    }
    c->n_in += (size_t) n;
    c->in[c->n_in] = '\0';
    if (c->head == 0 && !read_head(c)) {
        conn_close(s, c);
        return;
    }
    if (c->head && c->n_in >= c->head + c->body && !c->reply)
        take_request(s, c);
}

/* ---- The loop ---- */

static void wait_once(struct server *s)
{
    struct epoll_event events[BATCH];
    struct timespec wait = { 0, 0 };
    uint64_t now = s->n_timers ? clock_ns(CLOCK_MONOTONIC) : 0;
    if (s->n_timers && s->timers[0].due > now) {
        uint64_t left = s->timers[0].due - now;
        wait.tv_sec = (time_t) (left / 1000000000u);
        wait.tv_nsec = (long) (left % 1000000000u);
    }
    int n = epoll_pwait2(s->epoll, events, BATCH, s->n_timers ? &wait : NULL, NULL);
    if (n < 0 && errno != EINTR)
        die("epoll_pwait2");
    for (int i = 0; i < n; i++) {
        struct conn *c = events[i].data.ptr;
        if (!c)
            accept_all(s);
        else if (events[i].events & (EPOLLIN | EPOLLHUP | EPOLLERR))
            read_some(s, c);
        else if (c->reply && !c->waiting && send_more(s, c) && c->reply && c->reply->gap_ns
                 && !c->writable)
            timer_add(s, c, clock_ns(CLOCK_MONOTONIC) + c->reply->gap_ns);
    }
    run_timers(s);
}

static int listen_on(struct server *s, int port)
{
    struct sockaddr_in a = { .sin_family = AF_INET, .sin_port = htons((uint16_t) port) };
    struct epoll_event e = { .events = EPOLLIN };
    socklen_t n = sizeof(a);
    int one = 1;
    a.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    s->listener = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    setsockopt(s->listener, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one));
    if (s->listener < 0 || bind(s->listener, (struct sockaddr *) &a, n) < 0
        || listen(s->listener, 16384) < 0
        || getsockname(s->listener, (struct sockaddr *) &a, &n) < 0)
        die("listen");
    s->epoll = epoll_create1(EPOLL_CLOEXEC);
    if (s->epoll < 0 || epoll_ctl(s->epoll, EPOLL_CTL_ADD, s->listener, &e) < 0)
        die("epoll");
    return ntohs(a.sin_port);
}

static void print_stats(const struct server *s)
{
    printf("{\"requests\":%llu,\"connections\":%llu,\"open_peak\":%d,\"streams_peak\":%d,"
           "\"body_bytes\":%llu,\"reply_bytes\":%llu,\"broken\":%llu,\"first_request_ns\":%llu,"
           "\"cpu_us\":%llu}\n",
        (unsigned long long) s->requests, (unsigned long long) s->connections, s->open_peak,
        s->streams_peak, (unsigned long long) s->body_bytes, (unsigned long long) s->reply_bytes,
        (unsigned long long) s->broken, (unsigned long long) s->first_request_ns,
        (unsigned long long) clock_ns(CLOCK_PROCESS_CPUTIME_ID) / 1000);
}

static void catch_signals(void)
{
    struct sigaction action = { .sa_handler = on_signal };
    sigaction(SIGTERM, &action, NULL);
    sigaction(SIGINT, &action, NULL);
}

int main(int argc, char **argv)
{
    struct server s = { .replies = replies_new() };
    int port = 0;
    for (int i = 1; i + 1 < argc; i += 2) {
        if (strcmp(argv[i], "--port") == 0)
            port = atoi(argv[i + 1]);
        else if (strcmp(argv[i], "--record") == 0 && !(s.record = fopen(argv[i + 1], "w")))
            die(argv[i + 1]);
    }
    catch_signals();
    printf("%d\n", listen_on(&s, port));
    fflush(stdout);
    while (!stopped)
        wait_once(&s);
    print_stats(&s);
    if (s.record)
        fclose(s.record);
    free(s.timers);
    replies_free(s.replies);
    return 0;
}

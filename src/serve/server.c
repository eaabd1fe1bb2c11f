/* Listening, accepting, deadlines. All connections wait equally long for the same things, so a
 * list for each of the two waits is in order of time by itself, and one timer serves them all. */
#include "serve/server.h"

#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <stdarg.h>
#include <stdio.h>
#include <sys/socket.h>
#include <unistd.h>

#include "serve/conn.h"

#define ACCEPT_BATCH 64    /* per turn of the loop, so that open answers get theirs */
#define RETRY_MS     100   /* after descriptors ran out */
#define DRAIN_MS     2000  /* how long a client has to take the end of its answer */
#define SHAKE_MS     10000 /* how long it has for the handshake of TLS */
#define LOOK_MS      2000  /* between two looks at the files of the certificate */
#define MAX_REFUSED  64    /* connections past the limit that are told so */

struct hocket__str hocket__server_request_header(
    const struct hocket__server_request *r, const char *name)
{
    for (size_t i = 0; i < r->n_headers; i++)
        if (hocket__head_same(r->headers[i].name, name))
            return r->headers[i].value;
    return hocket__str(NULL, 0);
}

void hocket__server_log(struct hocket__server *s, enum hocket_log_level level, const char *fmt, ...)
{
    char text[256];
    if (!s->log_cb)
        return;
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(text, sizeof text, fmt, ap);
    va_end(ap);
    s->log_cb(level, text, s->log_ud);
}

/* ---- Deadlines ------------------------------------------------------------------- */

static void on_sweep(uv_timer_t *timer);

void hocket__server_arm(struct hocket__server *s, uint64_t deadline)
{
    uint64_t now = uv_now(s->loop), wait = deadline > now ? deadline - now : 0;
    if (!s->closing
        && (!uv_is_active((uv_handle_t *) &s->sweep) || uv_timer_get_due_in(&s->sweep) > wait))
        uv_timer_start(&s->sweep, on_sweep, wait, 0);
}

static void sweep(struct hocket__server *s, struct hocket__deadlines *d)
{
    while (!s->closing && !hocket__list_empty(&d->list)) {
        struct hocket__conn *c = hocket__container_of(d->list.next, struct hocket__conn, timed);
        if (c->deadline > uv_now(s->loop)) {
            hocket__server_arm(s, c->deadline);
            return;
        }
        hocket__list_del(&c->timed);
        hocket__conn_expire(c);
    }
}

static void on_sweep(uv_timer_t *timer)
{
    struct hocket__server *s = hocket__container_of(timer, struct hocket__server, sweep);
    sweep(s, &s->waiting);
    sweep(s, &s->draining);
    sweep(s, &s->shaking);
}

/* ---- Connections that have something to do ------------------------------------------ */

/* A connection that is woken while the list is worked off comes to its end: it is looked at in this
 * same turn, so that the idle handle may stop. */
static void on_wake(uv_idle_t *idle)
{
    struct hocket__server *s = hocket__container_of(idle, struct hocket__server, wake);
    while (!hocket__list_empty(&s->ready)) {
        struct hocket__conn *c = hocket__container_of(s->ready.next, struct hocket__conn, ready);
        hocket__list_del(&c->ready);
        hocket__conn_run(c);
    }
    if (!s->closing)
        uv_idle_stop(&s->wake);
}

void hocket__server_wake(struct hocket__server *s)
{
    if (!s->closing)
        uv_idle_start(&s->wake, on_wake);
}

/* ---- Accepting ------------------------------------------------------------------- */

static void on_listener(uv_poll_t *handle, int status, int events);

static void listen_again(struct hocket__server *s)
{
    if (!s->closing && !s->paused && !s->muted)
        uv_poll_start(&s->listener, UV_READABLE, on_listener);
}

/* A descriptor that does nothing, to be given up for a moment when there is no other (turn_away). */
static void keep_reserve(struct hocket__server *s)
{
    if (s->reserve < 0)
        s->reserve = open("/dev/null", O_RDONLY | O_CLOEXEC);
}

static void on_retry(uv_timer_t *timer)
{
    struct hocket__server *s = hocket__container_of(timer, struct hocket__server, retry);
    keep_reserve(s);
    listen_again(s);
}

/* The waiting connection keeps the listener readable: without a break this would spin. */
static void take_break(struct hocket__server *s, int error)
{
    hocket__server_log(s, HOCKET_LOG_WARN, "cannot accept a connection: %s",
        uv_strerror(uv_translate_sys_error(error)));
    uv_poll_stop(&s->listener);
    uv_timer_start(&s->retry, on_retry, RETRY_MS, 0);
}

/* The process has no descriptor left, and who waits to be let in would wait for as long as that lasts: it
 * is let in by the one that was kept for this, and told. */
static void turn_away(struct hocket__server *s)
{
    static const char busy[] = "HTTP/1.1 503 Service Unavailable\r\nContent-Length: 0\r\n"
                               "Retry-After: 1\r\nConnection: close\r\n\r\n";
    if (s->reserve < 0)
        return;
    close(s->reserve);
    int fd = accept4(s->fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
    if (fd >= 0) {
        if (!s->tls)
            send(fd, busy, sizeof(busy) - 1, MSG_NOSIGNAL | MSG_DONTWAIT);
        close(fd);
    }
    s->reserve = -1;
    keep_reserve(s);
}

static bool is_transient(int error)
{
    return error == ECONNABORTED || error == EINTR || error == EPROTO || error == EPERM;
}

static void tell_expired(struct hocket__server *s)
{
    if (hocket__tls_expired(s->tls))
        hocket__server_log(s, HOCKET_LOG_WARN, "the certificate of the server has expired");
}

int hocket__server_refresh(struct hocket__server *s, struct hocket_error *err)
{
    if (!s->tls)
        return hocket__error(err, HOCKET_ESTATE, "the server has no certificate");
    int rc = hocket__tls_reload(s->tls, err);
    if (rc == 0)
        tell_expired(s);
    return rc;
}

bool hocket__server_certified(const struct hocket__server *s, struct hocket__str host)
{
    return s->tls && hocket__tls_is_for(s->tls, host);
}

/* Certificates are renewed while we run; whoever comes next gets the new one. */
static void look_at_files(struct hocket__server *s)
{
    struct hocket_error err;
    uint64_t now = uv_now(s->loop);
    if (!s->tls || now - s->looked < LOOK_MS)
        return;
    s->looked = now;
    if (!hocket__tls_changed(s->tls))
        return;
    if (hocket__server_refresh(s, &err) < 0)
        hocket__server_log(
            s, HOCKET_LOG_ERROR, "the certificate from before stays: %s", err.message);
    else
        hocket__server_log(s, HOCKET_LOG_INFO, "the certificate has changed: it was read again");
}

/* Returns whether to try for one more.
 * Past the limit some are told so and the rest are closed: being told costs a connection each as
 * well. */
static bool accept_one(struct hocket__server *s)
{
    int fd = accept4(s->fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
    if (fd < 0) {
        int error = errno;
        if (error == EMFILE || error == ENFILE)
            turn_away(s);
        if (error != EAGAIN && error != EWOULDBLOCK && !is_transient(error))
            take_break(s, error);
        return is_transient(error);
    }
    if (s->n_conns < s->max_connections)
        hocket__conn_open(s, fd, false);
    else if (s->n_conns - s->max_connections < MAX_REFUSED)
        hocket__conn_open(s, fd, true);
    else
        close(fd);
    return true;
}

static void on_listener(uv_poll_t *handle, int status, int events)
{
    struct hocket__server *s = hocket__container_of(handle, struct hocket__server, listener);
    if (status < 0) {
        take_break(s, -status);
        return;
    }
    look_at_files(s);
    for (int i = 0; i < ACCEPT_BATCH && accept_one(s); i++)
        ;
}

void hocket__server_conn_closed(struct hocket__server *s)
{
    if (--s->n_conns == 0 && !s->closing) /* nobody is timed any more: an idle server sleeps */
        uv_timer_stop(&s->sweep);
}

void hocket__server_pause(struct hocket__server *s, bool paused)
{
    if (s->closing || s->paused == paused)
        return;
    s->paused = paused;
    if (paused)
        uv_poll_stop(&s->listener);
    else
        listen_again(s);
    for (struct hocket__list *l = s->conns.next; l != &s->conns; l = l->next) {
        struct hocket__conn *c = hocket__container_of(l, struct hocket__conn, all);
        hocket__conn_watch(c);
        if (!paused)
            hocket__conn_wake(c);
    }
}

/* A socket that was handed over belongs to others as well, and goes on listening for them; on ours nobody is to
 * wait. Who has asked nothing yet is let go. */
void hocket__server_mute(struct hocket__server *s)
{
    if (s->closing || s->muted)
        return;
    s->muted = true;
    uv_poll_stop(&s->listener);
    if (!s->given)
        shutdown(s->fd, SHUT_RDWR);
    for (struct hocket__list *l = s->conns.next, *next; l != &s->conns; l = next) {
        struct hocket__conn *c = hocket__container_of(l, struct hocket__conn, all);
        next = l->next;
        if (c->state <= HOCKET__CONN_HEAD && c->in.len == 0)
            hocket__conn_close(c, false);
    }
}

/* Where port 0 was asked for, the one that the system chose. */
int hocket__server_port(const struct hocket__server *s)
{
    return s->port;
}

size_t hocket__server_connections(const struct hocket__server *s)
{
    return s->n_conns;
}

/* ---- Opening --------------------------------------------------------------------- */

static int open_error(struct hocket_error *err, int error, const char *address, int port)
{
    int status = error == EADDRINUSE                         ? HOCKET_EEXIST
                 : error == EACCES || error == EPERM         ? HOCKET_EDENIED
                 : error == EADDRNOTAVAIL || error == EINVAL ? HOCKET_EINVAL
                                                             : HOCKET_EIO;
    return hocket__error(err, status, "cannot listen on %s port %d: %s", address, port,
        uv_strerror(uv_translate_sys_error(error)));
}

static int parse_address(
    const char *address, int port, struct sockaddr_storage *out, socklen_t *len)
{
    struct sockaddr_in v4;
    struct sockaddr_in6 v6;
    if (port < 0 || port > 65535)
        return EINVAL;
    if (uv_ip4_addr(address, port, &v4) == 0) {
        memcpy(out, &v4, *len = sizeof v4);
        return 0;
    }
    if (uv_ip6_addr(address, port, &v6) == 0) {
        memcpy(out, &v6, *len = sizeof v6);
        return 0;
    }
    return EINVAL;
}

static int bound_port(int fd)
{
    struct sockaddr_storage bound = { 0 };
    socklen_t len = sizeof bound;
    struct sockaddr_in v4;
    if (getsockname(fd, (struct sockaddr *) &bound, &len))
        return 0;
    memcpy(&v4, &bound, sizeof v4); /* the port of an IPv6 address is at the same place */
    return ntohs(v4.sin_port);
}

/* A descriptor, or -1 with errno set. */
static int open_listener(const struct sockaddr_storage *address, socklen_t len)
{
    int on = 1;
    int fd = socket(address->ss_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd < 0)
        return -1;
    if (setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on)
        || bind(fd, (const struct sockaddr *) address, len) || listen(fd, SOMAXCONN)) {
        int error = errno;
        close(fd);
        errno = error;
        return -1;
    }
    return fd;
}

/* One that a program that started us has opened. */
static int take_listener(int fd)
{
    int on = 0;
    socklen_t len = sizeof on;
    if (getsockopt(fd, SOL_SOCKET, SO_ACCEPTCONN, &on, &len))
        return -1;
    if (!on) {
        errno = EINVAL;
        return -1;
    }
    if (fcntl(fd, F_SETFD, FD_CLOEXEC) || fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) | O_NONBLOCK))
        return -1;
    return fd;
}

static size_t or_default(size_t value, size_t otherwise)
{
    return value ? value : otherwise;
}

static void init(struct hocket__server *s, const struct hocket__server_options *o)
{
    s->a = o->alloc;
    s->loop = o->loop;
    s->handler = *o->handler;
    s->ud = o->ud;
    s->log_cb = o->log_cb;
    s->log_ud = o->log_ud;
    s->max_header = or_default(o->max_header, (size_t) 64 << 10);
    s->max_body = or_default(o->max_body, (size_t) 32 << 20);
    s->max_stranger = or_default(o->max_stranger, (size_t) 64 << 10);
    s->max_queue = or_default(o->max_queue, (size_t) 8 << 20);
    s->max_connections = or_default(o->max_connections, 1024);
    s->waiting.ms = o->idle_ms > 0 ? (uint64_t) o->idle_ms : 60000;
    s->draining.ms = DRAIN_MS;
    s->shaking.ms = SHAKE_MS < s->waiting.ms ? SHAKE_MS : s->waiting.ms;
    hocket__map_init(&s->requests, s->a);
    hocket__buf_init(&s->line, s->a, 0);
    hocket__buf_init(&s->joined, s->a, 0);
    hocket__buf_init(&s->key, s->a, 0);
    hocket__buf_addstr(&s->key, o->key);
    hocket__list_init(&s->conns);
    hocket__list_init(&s->ready);
    hocket__list_init(&s->waiting.list);
    hocket__list_init(&s->draining.list);
    hocket__list_init(&s->shaking.list);
}

/* What fails here has to be the first: handles that were initialised would have to be closed by the
 * loop, and there would be no server to wait for. */
static int start(struct hocket__server *s)
{
    int rc = uv_poll_init(s->loop, &s->listener, s->fd);
    if (rc)
        return -rc;
    uv_timer_init(s->loop, &s->sweep); /* these two cannot fail */
    uv_timer_init(s->loop, &s->retry);
    uv_idle_init(s->loop, &s->wake);
    s->n_handles = 4;
    s->port = bound_port(s->fd);
    s->reserve = -1;
    keep_reserve(s);
    listen_again(s);
    return 0;
}

static void free_server(struct hocket__server *s)
{
    hocket__map_deinit(&s->requests);
    hocket__buf_deinit(&s->line);
    hocket__buf_deinit(&s->joined);
    hocket__buf_deinit(&s->key);
    hocket__tls_free(s->tls);
    hocket__free(s->a, s, sizeof *s);
}

/* 0, or what is said in *err. */
static int open_all(
    struct hocket__server *s, const struct hocket__server_options *o, struct hocket_error *err)
{
    const char *address = o->address ? o->address : "127.0.0.1";
    struct sockaddr_storage sa = { 0 };
    socklen_t len = 0;
    if (!o->cert != !o->key_file)
        return hocket__error(err, HOCKET_EINVAL, "a certificate and its key go together");
    int rc = o->cert ? hocket__tls_new(s->a, o->cert, o->key_file, &s->tls, err) : 0;
    if (rc < 0)
        return rc;
    int error = o->fd ? 0 : parse_address(address, o->port, &sa, &len);
    if (error == 0) {
        s->fd = o->fd ? take_listener(o->fd - 1) : open_listener(&sa, len);
        error = s->fd < 0 ? errno : s->key.status ? ENOMEM : start(s);
    }
    return error ? open_error(err, error, address, o->port) : 0;
}

int hocket__server_new(
    const struct hocket__server_options *o, struct hocket__server **out, struct hocket_error *err)
{
    struct hocket__server *s = hocket__zero(o->alloc, sizeof *s);
    if (!s)
        return hocket__error_nomem(err);
    init(s, o);
    s->given = o->fd > 0;
    s->fd = -1;
    int rc = open_all(s, o, err);
    if (rc < 0) {
        if (s->fd >= 0)
            close(s->fd);
        free_server(s);
        return rc;
    }
    if (s->tls)
        tell_expired(s);
    *out = s;
    return 0;
}

/* ---- Closing --------------------------------------------------------------------- */

/* The server is one of the things that the loop holds handles of: with the last one it goes. */
void hocket__server_handle_closed(struct hocket__server *s)
{
    if (--s->n_handles > 0)
        return;
    void (*on_closed)(void *ud) = s->on_closed;
    void *ud = s->closed_ud;
    free_server(s);
    if (on_closed)
        on_closed(ud);
}

static void on_listener_closed(uv_handle_t *h)
{
    hocket__server_handle_closed(
        hocket__container_of((uv_poll_t *) h, struct hocket__server, listener));
}

static void on_sweep_closed(uv_handle_t *h)
{
    hocket__server_handle_closed(
        hocket__container_of((uv_timer_t *) h, struct hocket__server, sweep));
}

static void on_retry_closed(uv_handle_t *h)
{
    hocket__server_handle_closed(
        hocket__container_of((uv_timer_t *) h, struct hocket__server, retry));
}

static void on_wake_closed(uv_handle_t *h)
{
    hocket__server_handle_closed(
        hocket__container_of((uv_idle_t *) h, struct hocket__server, wake));
}

void hocket__server_close(struct hocket__server *s, void (*on_closed)(void *ud), void *ud)
{
    if (s->closing)
        return;
    s->closing = true;
    s->on_closed = on_closed;
    s->closed_ud = ud;
    while (!hocket__list_empty(&s->conns))
        hocket__conn_close(hocket__container_of(s->conns.next, struct hocket__conn, all), false);
    uv_close((uv_handle_t *) &s->listener, on_listener_closed);
    close(s->fd);
    if (s->reserve >= 0)
        close(s->reserve);
    uv_close((uv_handle_t *) &s->sweep, on_sweep_closed);
    uv_close((uv_handle_t *) &s->retry, on_retry_closed);
    uv_close((uv_handle_t *) &s->wake, on_wake_closed);
}

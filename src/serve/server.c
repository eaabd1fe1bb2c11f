/* Opening, letting connections in, deadlines, closing. All connections wait equally long for the same things, so a
 * list for each of the two waits is in order of time by itself, and one timer serves them all. */
#include "serve/server.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/upkeep.h"
#include "os/descriptors.h"
#include "os/tcp.h"
#include "serve/conn.h"

/* Says why it could not be opened, by the code of libuv. */
static int listener_error(struct hocket_error *err, int error, const char *address, int port)
{
    int status = error == UV_EADDRINUSE                            ? HOCKET_EEXIST
                 : error == UV_EACCES || error == UV_EPERM         ? HOCKET_EDENIED
                 : error == UV_EADDRNOTAVAIL || error == UV_EINVAL ? HOCKET_EINVAL
                                                                   : HOCKET_EIO;
    return hocket__error(
        err, status, "cannot listen on %s port %d: %s", address, port, uv_strerror(error));
}

/* At a numeric address; port 0: any that is free. A descriptor, or a code of libuv. */
static int listener_open(const char *address, int port)
{
    struct sockaddr_in v4;
    struct sockaddr_in6 v6;
    struct sockaddr_storage at = { 0 };
    if (port < 0 || port > 65535)
        return UV_EINVAL;
    if (uv_ip4_addr(address, port, &v4) == 0)
        memcpy(&at, &v4, sizeof(v4));
    else if (uv_ip6_addr(address, port, &v6) == 0)
        memcpy(&at, &v6, sizeof(v6));
    else
        return UV_EINVAL;
    return hocket__tcp_listen((struct sockaddr *) &at);
}

/* Who is let in, what becomes of those for whom there is no room, and the certificate, which may be renewed while we run. */

#define ACCEPT_BATCH 64   /* per turn of the loop, so that open answers get theirs */
#define RETRY_MS     100  /* after descriptors ran out */
#define LOOK_MS      2000 /* between two looks at the files of the certificate */
#define MAX_REFUSED  64   /* connections past the limit that get a refusal */

static void on_listener(uv_poll_t *handle, int status, int events);

/* Lets others in again, unless it is muted or closing. */
static void server_listen(struct hocket__server *s)
{
    if (!s->closing && !s->muted)
        uv_poll_start(&s->listener, UV_READABLE, on_listener);
}

/* A descriptor that does nothing, to be given up for a moment when there is no other. */
static void keep_reserve(struct hocket__server *s)
{
    if (s->reserve < 0)
        s->reserve = hocket__descriptors_open_spare();
}

static void on_retry(uv_timer_t *timer)
{
    struct hocket__server *s = hocket__container_of(timer, struct hocket__server, retry);
    keep_reserve(s);
    server_listen(s);
}

/* The waiting connection keeps the listener readable: without a break this would spin. */
static void take_break(struct hocket__server *s, int error)
{
    hocket__server_log(s, HOCKET_LOG_WARN, "cannot accept a connection: %s", uv_strerror(error));
    uv_poll_stop(&s->listener);
    uv_timer_start(&s->retry, on_retry, RETRY_MS, 0);
}

/* The process has no descriptor left. Instead of letting the client wait, this accepts it with the descriptor that was
 * kept for that. A server without another connection serves it: in a program that plays its own model, nobody else
 * gives a descriptor back. Others refuse it. Returns whether it is served. */
static bool accept_with_reserve(struct hocket__server *s)
{
    char busy[] = "HTTP/1.1 503 Service Unavailable\r\nContent-Type: text/plain\r\n"
                  "Content-Length: 20\r\nRetry-After: 1\r\nConnection: close\r\n\r\n"
                  "too many open files\n";
    if (s->reserve < 0)
        return false;
    hocket__descriptors_close_spare(s->reserve);
    s->reserve = -1;
    int fd = hocket__tcp_accept(s->fd);
    if (fd >= 0 && s->n_conns == 0) {
        hocket__conn_open(s, fd, false);
        return true;
    }
    if (fd >= 0) {
        if (!s->tls)
            hocket__tcp_write(fd, &(uv_buf_t){ .base = busy, .len = sizeof(busy) - 1 }, 1);
        hocket__tcp_close(fd);
    }
    keep_reserve(s);
    return false;
}

static bool is_transient(int error)
{
    return error == UV_ECONNABORTED || error == UV_EINTR || error == UV_EPROTO || error == UV_EPERM;
}

/* Logs that the certificate is not valid any more. */
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
 * Past the limit some clients get a refusal and the rest are closed: a refusal needs a connection, too. */
static bool accept_one(struct hocket__server *s)
{
    int fd = hocket__tcp_accept(s->fd);
    if (fd < 0) {
        if ((fd == UV_EMFILE || fd == UV_ENFILE) && accept_with_reserve(s))
            return false;
        if (fd != UV_EAGAIN && !is_transient(fd))
            take_break(s, fd);
        return is_transient(fd);
    }
    keep_reserve(s); /* the one that was given up comes back as soon as there is another */
    if (s->n_conns < s->max_connections)
        hocket__conn_open(s, fd, false);
    else if (s->n_conns - s->max_connections < MAX_REFUSED)
        hocket__conn_open(s, fd, true);
    else
        hocket__tcp_close(fd);
    return true;
}

static void on_listener(uv_poll_t *handle, int status, int events)
{
    struct hocket__server *s = hocket__container_of(handle, struct hocket__server, listener);
    if (status < 0) {
        take_break(s, status);
        return;
    }
    look_at_files(s);
    for (int i = 0; i < ACCEPT_BATCH && accept_one(s); i++)
        ;
}

#define DRAIN_MS 2000  /* how long a client has to take the end of its answer */
#define SHAKE_MS 10000 /* how long it has for the handshake of TLS */

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

/* A connection that wakes up meanwhile is added at the list's end and handled in the same
 * turn, so that the idle handle may stop. */
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

/* ---- Connections come and go --------------------------------------------------------- */

void hocket__server_conn_closed(struct hocket__server *s)
{
    if (--s->n_conns == 0 && !s->closing) /* nobody is timed any more: an idle server sleeps */
        uv_timer_stop(&s->sweep);
}

/* A socket that was handed over belongs to other processes as well and keeps listening for them; our own refuses
 * new connections. Closes connections that have sent nothing. */
void hocket__server_mute(struct hocket__server *s)
{
    if (s->closing || s->muted)
        return;
    s->muted = true;
    uv_poll_stop(&s->listener);
    if (!s->given)
        hocket__tcp_mute(s->fd);
    for (struct hocket__list *l = s->conns.next, *next; l != &s->conns; l = next) {
        struct hocket__conn *c = hocket__container_of(l, struct hocket__conn, all);
        next = l->next;
        if (c->state <= HOCKET__CONN_HEAD && c->in.len == 0)
            hocket__conn_close(c, false);
    }
}

/* For port 0, the port that the system chose. */
int hocket__server_port(const struct hocket__server *s)
{
    return s->port;
}

size_t hocket__server_connections(const struct hocket__server *s)
{
    return s->n_conns;
}

/* ---- Opening --------------------------------------------------------------------- */

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
    s->clock = o->clock;
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
    int rc = uv_poll_init_socket(s->loop, &s->listener, s->fd);
    if (rc)
        return rc;
    uv_timer_init(s->loop, &s->sweep); /* these two cannot fail */
    s->sweep.data = HOCKET__UPKEEP;
    uv_timer_init(s->loop, &s->retry);
    uv_idle_init(s->loop, &s->wake);
    s->n_handles = 4;
    s->port = hocket__tcp_port(s->fd);
    s->reserve = -1;
    keep_reserve(s);
    server_listen(s);
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

/* 0, or a status with *err. */
static int open_all(
    struct hocket__server *s, const struct hocket__server_options *o, struct hocket_error *err)
{
    const char *address = o->address ? o->address : "127.0.0.1";
    if (!o->cert != !o->key_file)
        return hocket__error(err, HOCKET_EINVAL, "a certificate and its key go together");
    int rc = o->cert ? hocket__tls_new(s->a, o->cert, o->key_file, &s->tls, err) : 0;
    if (rc < 0)
        return rc;
    s->fd = o->fd ? hocket__tcp_take(o->fd - 1) : listener_open(address, o->port);
    int error = s->fd < 0 ? s->fd : s->key.status ? UV_ENOMEM : start(s);
    return error ? listener_error(err, error, address, o->port) : 0;
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
            hocket__tcp_close(s->fd);
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
    hocket__tcp_close(s->fd);
    if (s->reserve >= 0)
        hocket__descriptors_close_spare(s->reserve);
    uv_close((uv_handle_t *) &s->sweep, on_sweep_closed);
    uv_close((uv_handle_t *) &s->retry, on_retry_closed);
    uv_close((uv_handle_t *) &s->wake, on_wake_closed);
}

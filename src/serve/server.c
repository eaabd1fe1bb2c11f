/* Opening, deadlines, closing; accept.c lets connections in. All connections wait equally long for the same things, so a
 * list for each of the two waits is in order of time by itself, and one timer serves them all. */
#include "serve/server.h"

#include <stdarg.h>
#include <stdio.h>

#include "os/descriptors.h"
#include "os/tcp.h"
#include "serve/conn.h"
#include "serve/listener.h"

#define DRAIN_MS 2000  /* how long a client has to take the end of its answer */
#define SHAKE_MS 10000 /* how long it has for the handshake of TLS */

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

/* ---- Connections come and go --------------------------------------------------------- */

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
        hocket__server_listen(s);
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
        hocket__tcp_mute(s->fd);
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
    uv_timer_init(s->loop, &s->retry);
    uv_idle_init(s->loop, &s->wake);
    s->n_handles = 4;
    s->port = hocket__tcp_port(s->fd);
    s->reserve = -1;
    hocket__server_keep_reserve(s);
    hocket__server_listen(s);
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
    if (!o->cert != !o->key_file)
        return hocket__error(err, HOCKET_EINVAL, "a certificate and its key go together");
    int rc = o->cert ? hocket__tls_new(s->a, o->cert, o->key_file, &s->tls, err) : 0;
    if (rc < 0)
        return rc;
    s->fd = o->fd ? hocket__tcp_take(o->fd - 1) : hocket__listener_open(address, o->port);
    int error = s->fd < 0 ? s->fd : s->key.status ? UV_ENOMEM : start(s);
    return error ? hocket__listener_error(err, error, address, o->port) : 0;
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
        hocket__server_tell_expired(s);
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

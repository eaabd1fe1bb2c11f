/* Who is let in, what becomes of those for whom there is no room, and the certificate, which may be renewed while we run. */
#include "serve/conn.h"

#include "os/descriptors.h"
#include "os/tcp.h"

#define ACCEPT_BATCH 64   /* per turn of the loop, so that open answers get theirs */
#define RETRY_MS     100  /* after descriptors ran out */
#define LOOK_MS      2000 /* between two looks at the files of the certificate */
#define MAX_REFUSED  64   /* connections past the limit that are told so */

static void on_listener(uv_poll_t *handle, int status, int events);

void hocket__server_listen(struct hocket__server *s)
{
    if (!s->closing && !s->paused && !s->muted)
        uv_poll_start(&s->listener, UV_READABLE, on_listener);
}

void hocket__server_keep_reserve(struct hocket__server *s)
{
    if (s->reserve < 0)
        s->reserve = hocket__descriptors_open_spare();
}

static void on_retry(uv_timer_t *timer)
{
    struct hocket__server *s = hocket__container_of(timer, struct hocket__server, retry);
    hocket__server_keep_reserve(s);
    hocket__server_listen(s);
}

/* The waiting connection keeps the listener readable: without a break this would spin. */
static void take_break(struct hocket__server *s, int error)
{
    hocket__server_log(s, HOCKET_LOG_WARN, "cannot accept a connection: %s", uv_strerror(error));
    uv_poll_stop(&s->listener);
    uv_timer_start(&s->retry, on_retry, RETRY_MS, 0);
}

/* The process has no descriptor left, and who waits to be let in would wait for as long as that lasts: it
 * is let in by the one that was kept for this, and told. */
static void turn_away(struct hocket__server *s)
{
    char busy[] = "HTTP/1.1 503 Service Unavailable\r\nContent-Length: 0\r\n"
                  "Retry-After: 1\r\nConnection: close\r\n\r\n";
    if (s->reserve < 0)
        return;
    hocket__descriptors_close_spare(s->reserve);
    int fd = hocket__tcp_accept(s->fd);
    if (fd >= 0) {
        if (!s->tls)
            hocket__tcp_write(fd, &(uv_buf_t){ .base = busy, .len = sizeof(busy) - 1 }, 1);
        hocket__tcp_close(fd);
    }
    s->reserve = -1;
    hocket__server_keep_reserve(s);
}

static bool is_transient(int error)
{
    return error == UV_ECONNABORTED || error == UV_EINTR || error == UV_EPROTO || error == UV_EPERM;
}

void hocket__server_tell_expired(struct hocket__server *s)
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
        hocket__server_tell_expired(s);
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
    int fd = hocket__tcp_accept(s->fd);
    if (fd < 0) {
        if (fd == UV_EMFILE || fd == UV_ENFILE)
            turn_away(s);
        if (fd != UV_EAGAIN && !is_transient(fd))
            take_break(s, fd);
        return is_transient(fd);
    }
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

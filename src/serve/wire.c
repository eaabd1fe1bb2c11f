/* Between a connection and its socket. Without TLS there is nothing here.
 *
 *   SHAKE ─(done)─> HEAD …                     what comes is opened and taken as if it had come so
 *     ├── no TLS at all ──> 400, in plain words
 *     ├── fails ──> the alert, and the end
 *     └── takes too long, or many others begin ──> closed (conn.c)
 *
 * Plain bytes that were accepted are sealed at once and in order; whether they fit is looked at before, since what
 * is sealed has to be sent. */
#include "serve/wire.h"

#define HANDSHAKE 0x16 /* the first byte of a client that speaks TLS */
#define KEEP      65536
#define ROOM_MORE 4096 /* for what TLS says itself: alerts, tickets, new keys */

bool hocket__wire_open(struct hocket__conn *c)
{
    struct hocket__server *s = c->server;
    if (!s->tls)
        return true;
    c->tls = hocket__tls_session_new(s->tls);
    return c->tls != NULL;
}

void hocket__wire_free(struct hocket__conn *c)
{
    hocket__tls_session_free(c->tls);
    c->tls = NULL;
}

/* ---- Out ------------------------------------------------------------------------------- */

/* Sends or queues what TLS has written. EIO: the peer is gone, or reads none of what TLS has to say. */
static int flush_sealed(struct hocket__conn *c)
{
    struct hocket__buf *sealed = hocket__tls_sealed(c->server->tls);
    uv_buf_t piece = { .base = sealed->data, .len = sealed->len };
    int rc = sealed->status;
    if (rc == 0 && sealed->len > 0) {
        size_t max = c->out.buf.max;
        c->out.buf.max += ROOM_MORE;
        rc = hocket__outq_push(&c->out, c->fd, &piece, 1, 0);
        c->out.buf.max = max;
    }
    if (sealed->cap > KEEP)
        hocket__buf_deinit(sealed);
    hocket__buf_reset(sealed);
    return rc == HOCKET_ELIMIT ? HOCKET_EIO : rc;
}

/* Few bytes in several pieces make one record. */
static int seal(struct hocket__conn *c, const uv_buf_t *pieces, size_t n, size_t total)
{
    struct hocket__server *s = c->server;
    int rc = 0;
    if (n == 1 || total > KEEP) {
        for (size_t i = 0; i < n && rc == 0; i++)
            rc = hocket__tls_write(c->tls, hocket__str(pieces[i].base, pieces[i].len));
        return rc;
    }
    hocket__buf_reset(&s->joined);
    for (size_t i = 0; i < n; i++)
        hocket__buf_add(&s->joined, pieces[i].base, pieces[i].len);
    return s->joined.status ? s->joined.status
                            : hocket__tls_write(c->tls, hocket__buf_str(&s->joined));
}

int hocket__wire_push(struct hocket__conn *c, const uv_buf_t *pieces, size_t n, size_t spare)
{
    if (!c->tls)
        return hocket__outq_push(&c->out, c->fd, pieces, n, spare);
    size_t total = 0, max = c->out.buf.max, taken = hocket__outq_len(&c->out);
    for (size_t i = 0; i < n; i++) {
        if (pieces[i].len > max - total)
            return HOCKET_ELIMIT;
        total += pieces[i].len;
    }
    size_t need = hocket__tls_grown(total) + (spare ? hocket__tls_grown(spare) : 0);
    if (taken >= max || need > max - taken)
        return HOCKET_ELIMIT;
    int rc = seal(c, pieces, n, total);
    if (rc == HOCKET_ETLS)
        rc = HOCKET_EIO;
    int sent = flush_sealed(c);
    return rc ? rc : sent;
}

void hocket__wire_bye(struct hocket__conn *c)
{
    if (!c->tls || c->state == HOCKET__CONN_SHAKE)
        return;
    hocket__tls_bye(c->tls);
    flush_sealed(c); /* the socket has room: all before it is gone */
}

/* ---- In -------------------------------------------------------------------------------- */

/* Somebody who asks in plain words is told in plain words. */
static void speak_plain(struct hocket__conn *c, char first)
{
    static const char words[] = "this port speaks TLS: ask with https://";
    bool is_method = first >= 'A' && first <= 'Z';
    hocket__wire_free(c);
    if (is_method)
        hocket__conn_refuse(c, 400, words);
    else
        hocket__conn_end(c);
}

static void fail_shake(struct hocket__conn *c, const struct hocket_error *err)
{
    hocket__server_log(c->server, HOCKET_LOG_DEBUG, "TLS handshake failed: %s", err->message);
    hocket__conn_end(c); /* the alert is with the kernel, or nowhere */
}

static void shake(struct hocket__conn *c)
{
    struct hocket_error err;
    int rc = hocket__tls_shake(c->tls, &err);
    if (flush_sealed(c) < 0)
        hocket__conn_gone(c);
    else if (rc < 0)
        fail_shake(c, &err);
    else if (rc == 1)
        hocket__conn_shaken(c);
    else
        hocket__conn_watch(c);
}

static void open_sealed(struct hocket__conn *c)
{
    struct hocket__str plain = { 0 };
    int rc = 0;
    while (
        c->state < HOCKET__CONN_DRAIN && !c->broken && (rc = hocket__tls_read(c->tls, &plain)) == 1)
        hocket__conn_take(c, plain.p, plain.n);
    if (flush_sealed(c) < 0)
        rc = HOCKET_EIO;
    if (rc < 0 && c->state < HOCKET__CONN_DRAIN)
        hocket__conn_gone(c);
    else
        hocket__conn_watch(c);
}

void hocket__wire_take(struct hocket__conn *c, const char *p, size_t n)
{
    if (c->state == HOCKET__CONN_DRAIN)
        return;
    if (!c->tls) {
        hocket__conn_take(c, p, n);
        return;
    }
    if (c->state == HOCKET__CONN_SHAKE && !c->heard && p[0] != HANDSHAKE) {
        speak_plain(c, p[0]);
        return;
    }
    c->heard = true;
    hocket__tls_feed(c->tls, p, n);
    if (c->state == HOCKET__CONN_SHAKE)
        shake(c);
    if (c->state < HOCKET__CONN_DRAIN && c->state != HOCKET__CONN_SHAKE)
        open_sealed(c);
}

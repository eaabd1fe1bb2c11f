/* One connection of the proxy: two sockets, the bytes on the way between them, and its state. Every
 * event ends in work(), which does everything that is possible now and sets the events to wait for.
 *
 * A buffer for each direction, with a limit past which its source is not read: a program that
 * uploads faster than the other side takes waits in its own kernel buffer. */
#include "serve/proxy/proxy_impl.h"

#include <stdio.h>

#include "os/tcp.h"

#define PIECE       16384
#define BUFFER      32768 /* bytes on the way in one direction, past which nothing more is read */
#define HEAD_BUFFER 65536 /* the same before it is known where they go */
#define DRAIN_MS    2000  /* for a client to read its answer */

static void on_ready(uv_poll_t *poll, int status, int events);

/* ---- What the loop holds ------------------------------------------------------------ */

static void on_half_closed(uv_handle_t *h)
{
    struct hocket__proxy_half *half = h->data;
    struct hocket__proxy *p = half->proxy;
    hocket__free(p->o.alloc, half, sizeof(*half));
    hocket__proxy_release(p);
}

struct hocket__proxy_half *hocket__proxy_half(
    struct hocket__proxy *p, struct hocket__proxy_conn *c, int fd)
{
    struct hocket__proxy_half *h = hocket__zero(p->o.alloc, sizeof(*h));
    if (!h || uv_poll_init_socket(p->o.loop, &h->poll, fd) < 0) {
        hocket__free(p->o.alloc, h, sizeof(*h));
        hocket__tcp_close(fd);
        return NULL;
    }
    *h = (struct hocket__proxy_half){ .poll = h->poll, .proxy = p, .conn = c, .fd = fd };
    h->poll.data = h;
    p->held++;
    return h;
}

void hocket__proxy_close_half(struct hocket__proxy_half **at)
{
    struct hocket__proxy_half *h = *at;
    *at = NULL;
    if (!h)
        return;
    h->conn = NULL;
    uv_close((uv_handle_t *) &h->poll, on_half_closed);
    hocket__tcp_close(h->fd);
}

static void watch_half(struct hocket__proxy_half *h, int events)
{
    if (!h || h->events == events)
        return;
    h->events = events;
    if (events)
        uv_poll_start(&h->poll, events, on_ready);
    else
        uv_poll_stop(&h->poll);
}

/* ---- Connections --------------------------------------------------------------------- */

void hocket__proxy_set_deadline(struct hocket__proxy_conn *c, int ms)
{
    c->deadline = uv_now(c->proxy->o.loop) + (uint64_t) ms;
}

void hocket__proxy_close_conn(struct hocket__proxy_conn *c)
{
    struct hocket__proxy *p = c->proxy;
    hocket__list_del(&c->link);
    p->n_conns--;
    hocket__proxy_close_half(&c->client);
    hocket__proxy_close_half(&c->server);
    if (c->lookup) {
        c->lookup->conn = NULL;
        uv_cancel(
            (uv_req_t *) &c->lookup->req); /* removes it from the queue; a running one continues */
    }
    if (c->found)
        uv_freeaddrinfo(c->found);
    hocket__buf_deinit(&c->up);
    hocket__buf_deinit(&c->down);
    hocket__wish_deinit(&c->wish, p->o.alloc);
    hocket__free(p->o.alloc, c, sizeof(*c));
    if (!p->closing)
        hocket__proxy_accept(p);
}

void hocket__proxy_turn_away(struct hocket__proxy_conn *c, int status, const char *why)
{
    hocket__proxy_close_half(&c->server);
    hocket__wish_refuse(&c->wish, status, why, &c->down);
    c->state = HOCKET__PROXY_DRAIN;
    hocket__proxy_set_deadline(c, DRAIN_MS);
}

void hocket__proxy_refuse(struct hocket__proxy_conn *c, const char *why)
{
    struct hocket__proxy *p = c->proxy;
    char text[HOCKET__HOST_MAX + 200];
    if (p->o.handler.on_refused)
        p->o.handler.on_refused(p->o.ud, c->wish.to.host, c->wish.to.port, why);
    bool v6 = strchr(c->wish.to.host, ':') != NULL;
    snprintf(text, sizeof(text), "%s%s%s:%d was refused: %s", v6 ? "[" : "", c->wish.to.host,
        v6 ? "]" : "", c->wish.to.port, why);
    hocket__proxy_turn_away(c, 403, text);
}

/* ---- Reading and writing -------------------------------------------------------------- */

/* Passes on at most the length that a plain request has declared. */
static size_t take_share(struct hocket__proxy_conn *c, size_t n)
{
    if (c->wish.kind != HOCKET__WISH_PLAIN)
        return n;
    if (n > c->wish.body)
        n = (size_t) c->wish.body;
    c->wish.body -= n;
    return n;
}

/* One piece: false when the connection is broken. */
static bool take_in(struct hocket__proxy_conn *c, struct hocket__proxy_half *h)
{
    char piece[PIECE];
    int64_t n = hocket__tcp_read(h->fd, piece, sizeof(piece));
    if (n < 0)
        return n == UV_EAGAIN;
    h->ended = n == 0;
    if (c->state == HOCKET__PROXY_RELAY)
        hocket__proxy_set_deadline(c, c->proxy->o.idle_ms);
    if (c->state == HOCKET__PROXY_DRAIN)
        return true;
    if (h == c->server)
        return hocket__buf_add(&c->down, piece, (size_t) n) == 0;
    return hocket__buf_add(&c->up, piece, take_share(c, (size_t) n)) == 0;
}

static bool give_out(
    struct hocket__proxy_conn *c, struct hocket__proxy_half *h, struct hocket__buf *b)
{
    while (b->len > 0) {
        uv_buf_t piece = { .base = b->data, .len = b->len };
        int64_t n = hocket__tcp_write(h->fd, &piece, 1);
        if (n < 0)
            return n == UV_EAGAIN;
        hocket__buf_drop(b, (size_t) n);
        if (c->state == HOCKET__PROXY_RELAY)
            hocket__proxy_set_deadline(c, c->proxy->o.idle_ms);
    }
    return true;
}

/* ---- What comes next -------------------------------------------------------------------- */

void hocket__proxy_watch(struct hocket__proxy_conn *c)
{
    size_t room = c->state == HOCKET__PROXY_RELAY ? BUFFER : HEAD_BUFFER;
    int client = !c->client->ended && (c->up.len < room || c->state == HOCKET__PROXY_DRAIN)
                     ? UV_READABLE
                     : 0;
    int server = 0;
    if (c->state == HOCKET__PROXY_CONNECTING)
        server = UV_WRITABLE;
    else if (c->state == HOCKET__PROXY_RELAY)
        server = (!c->server->ended && c->down.len < BUFFER ? UV_READABLE : 0)
                 | (c->up.len > 0 ? UV_WRITABLE : 0);
    watch_half(c->client, client | (c->down.len > 0 ? UV_WRITABLE : 0));
    watch_half(c->server, server);
}

static void relay(struct hocket__proxy_conn *c)
{
    if (c->client->ended && !c->server->shut && c->up.len == 0) {
        hocket__tcp_end(c->server->fd);
        c->server->shut = true;
    }
    if (c->server->ended && c->down.len == 0) {
        hocket__proxy_close_half(&c->server);
        c->state = HOCKET__PROXY_DRAIN;
        hocket__proxy_set_deadline(c, DRAIN_MS);
    }
}

void hocket__proxy_work(struct hocket__proxy_conn *c)
{
    bool ok = true;
    if (c->state == HOCKET__PROXY_HEAD && c->up.len > 0)
        hocket__proxy_read_wish(c);
    if (c->down.len > 0)
        ok = give_out(c, c->client, &c->down);
    if (ok && c->state == HOCKET__PROXY_RELAY && c->up.len > 0)
        ok = give_out(c, c->server, &c->up);
    if (ok && c->state == HOCKET__PROXY_RELAY)
        relay(c);
    if (ok && c->state == HOCKET__PROXY_DRAIN && c->down.len == 0 && !c->client->shut) {
        hocket__tcp_end(c->client->fd);
        c->client->shut = true;
    }
    /* Before there is an answer, a client that ends has gone. */
    if (!ok || (c->client->ended && c->state != HOCKET__PROXY_RELAY))
        hocket__proxy_close_conn(c);
    else
        hocket__proxy_watch(c);
}

static void on_ready(uv_poll_t *poll, int status, int events)
{
    struct hocket__proxy_half *h = poll->data;
    struct hocket__proxy_conn *c = h->conn;
    bool ok = status >= 0;
    if (!c)
        return;
    if (h == c->server && c->state == HOCKET__PROXY_CONNECTING) {
        hocket__proxy_connected(c, status);
        hocket__proxy_work(c);
        return;
    }
    if (ok && (events & UV_READABLE))
        ok = take_in(c, h);
    if (ok)
        hocket__proxy_work(c);
    else
        hocket__proxy_close_conn(c);
}

#include "serve/proxy/proxy.h"

#include "base/alloc.h"
#include "base/list.h"
#include "serve/proxy/wish.h"

#include <errno.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>
#include <uv.h>

#define PIECE       16384
#define BUFFER      32768 /* bytes on the way in one direction, past which nothing more is read */
#define HEAD_BUFFER 65536 /* the same before it is known where they go */
#define TICK_MS     250
#define DRAIN_MS    2000 /* for a client to read what it was told */
#define MAX_RULES   1024

enum state { HEAD, ASKED, LOOKUP, CONNECTING, RELAY, DRAIN };

/* One socket in the loop. It outlives its connection until the loop has let go of it. */
struct half {
    uv_poll_t poll;
    struct hocket__proxy *proxy;
    struct conn *conn; /* NULL: closed */
    int fd, events;
    bool ended; /* nothing more comes from it */
    bool shut;  /* nothing more goes to it */
};

struct lookup {
    uv_getaddrinfo_t req;
    struct hocket__proxy *proxy;
    struct conn *conn; /* NULL: nobody waits */
};

struct conn {
    struct hocket__list link;
    struct hocket__proxy *proxy;
    uint64_t id, deadline;
    enum state state;
    bool inside; /* may be at an address that is not public */
    struct half *client, *server;
    struct hocket__buf up, down; /* on the way to the server, to the client */
    struct hocket__wish wish;
    struct lookup *lookup;
    struct addrinfo *found, *next;
};

struct hocket__proxy {
    struct hocket__proxy_options o;
    struct hocket__host_rule *rules;
    size_t n_rules, cap_rules;
    struct hocket__list conns;
    size_t n_conns;
    struct half *listener;
    uv_timer_t timer;
    uint64_t last_id;
    size_t held; /* by the loop: handles and look-ups */
    bool closing;
    void (*on_closed)(void *ud);
    void *closed_ud;
};

static void work(struct conn *c);
static void on_ready(uv_poll_t *poll, int status, int events);
static void listen_on(struct hocket__proxy *p);

/* ---- What the loop holds ------------------------------------------------------------ */

static void release(struct hocket__proxy *p)
{
    if (--p->held > 0 || !p->closing)
        return;
    if (p->on_closed)
        p->on_closed(p->closed_ud);
    hocket__free(p->o.alloc, p->rules, p->cap_rules * sizeof(*p->rules));
    hocket__free(p->o.alloc, p, sizeof(*p));
}

static void on_half_closed(uv_handle_t *h)
{
    struct half *half = h->data;
    struct hocket__proxy *p = half->proxy;
    hocket__free(p->o.alloc, half, sizeof(*half));
    release(p);
}

/* Takes over the descriptor: NULL when that cannot be done, and it is closed. */
static struct half *new_half(struct hocket__proxy *p, struct conn *c, int fd)
{
    struct half *h = hocket__zero(p->o.alloc, sizeof(*h));
    if (!h || uv_poll_init(p->o.loop, &h->poll, fd) < 0) {
        hocket__free(p->o.alloc, h, sizeof(*h));
        close(fd);
        return NULL;
    }
    *h = (struct half){ .poll = h->poll, .proxy = p, .conn = c, .fd = fd };
    h->poll.data = h;
    p->held++;
    return h;
}

static void close_half(struct half **at)
{
    struct half *h = *at;
    *at = NULL;
    if (!h)
        return;
    h->conn = NULL;
    uv_close((uv_handle_t *) &h->poll, on_half_closed);
    close(h->fd);
}

static void watch_half(struct half *h, int events)
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

static void set_deadline(struct conn *c, int ms)
{
    c->deadline = uv_now(c->proxy->o.loop) + (uint64_t) ms;
}

static void close_conn(struct conn *c)
{
    struct hocket__proxy *p = c->proxy;
    hocket__list_del(&c->link);
    p->n_conns--;
    close_half(&c->client);
    close_half(&c->server);
    if (c->lookup) {
        c->lookup->conn = NULL;
        uv_cancel(
            (uv_req_t *) &c->lookup->req); /* one that runs goes on; a queue of them does not */
    }
    if (c->found)
        uv_freeaddrinfo(c->found);
    hocket__buf_deinit(&c->up);
    hocket__buf_deinit(&c->down);
    hocket__wish_deinit(&c->wish, p->o.alloc);
    hocket__free(p->o.alloc, c, sizeof(*c));
    if (!p->closing)
        listen_on(p);
}

/* Says why, and goes when that was read: an end with unread input would take the answer with it. */
static void turn_away(struct conn *c, int status, const char *why)
{
    close_half(&c->server);
    hocket__wish_refuse(&c->wish, status, why, &c->down);
    c->state = DRAIN;
    set_deadline(c, DRAIN_MS);
}

static void refuse(struct conn *c, const char *why)
{
    struct hocket__proxy *p = c->proxy;
    char text[HOCKET__HOST_MAX + 200];
    if (p->o.handler.on_refused)
        p->o.handler.on_refused(p->o.ud, c->wish.to.host, c->wish.to.port, why);
    bool v6 = strchr(c->wish.to.host, ':') != NULL;
    snprintf(text, sizeof(text), "%s%s%s:%d was refused: %s", v6 ? "[" : "", c->wish.to.host,
        v6 ? "]" : "", c->wish.to.port, why);
    turn_away(c, 403, text);
}

/* ---- Reading and writing -------------------------------------------------------------- */

/* What a plain request says of its length bounds what is passed on of it. */
static size_t take_share(struct conn *c, size_t n)
{
    if (c->wish.kind != HOCKET__WISH_PLAIN)
        return n;
    if (n > c->wish.body)
        n = (size_t) c->wish.body;
    c->wish.body -= n;
    return n;
}

/* One piece: false when the connection is broken. */
static bool take_in(struct conn *c, struct half *h)
{
    char piece[PIECE];
    ssize_t n = recv(h->fd, piece, sizeof(piece), 0);
    if (n < 0)
        return errno == EAGAIN || errno == EINTR;
    h->ended = n == 0;
    if (c->state == RELAY)
        set_deadline(c, c->proxy->o.idle_ms);
    if (c->state == DRAIN)
        return true;
    if (h == c->server)
        return hocket__buf_add(&c->down, piece, (size_t) n) == 0;
    return hocket__buf_add(&c->up, piece, take_share(c, (size_t) n)) == 0;
}

static bool give_out(struct conn *c, struct half *h, struct hocket__buf *b)
{
    while (b->len > 0) {
        ssize_t n = send(h->fd, b->data, b->len, MSG_NOSIGNAL);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return errno == EAGAIN;
        hocket__buf_drop(b, (size_t) n);
        if (c->state == RELAY)
            set_deadline(c, c->proxy->o.idle_ms);
    }
    return true;
}

/* ---- Connecting ------------------------------------------------------------------------ */

static bool may_connect(const struct conn *c, const struct sockaddr *to)
{
    return c->inside || c->proxy->o.is_public(to);
}

static void send_at_once(int fd)
{
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &(int){ 1 }, sizeof(int));
}

/* The next address of those that were found; false: there is none. */
static bool connect_next(struct conn *c)
{
    for (; c->next; c->next = c->next->ai_next) {
        if (!may_connect(c, c->next->ai_addr))
            continue;
        int fd = socket(c->next->ai_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
        if (fd < 0)
            continue;
        send_at_once(fd);
        if (connect(fd, c->next->ai_addr, c->next->ai_addrlen) < 0 && errno != EINPROGRESS) {
            close(fd);
            continue;
        }
        c->server = new_half(c->proxy, c, fd);
        c->next = c->next->ai_next;
        return c->server != NULL;
    }
    return false;
}

static void on_connected(struct conn *c, int status)
{
    int code = 0;
    socklen_t size = sizeof(code);
    getsockopt(c->server->fd, SOL_SOCKET, SO_ERROR, &code, &size);
    if (code == 0 && status < 0)
        code = EIO;
    if (code == 0) {
        c->state = RELAY;
        set_deadline(c, c->proxy->o.idle_ms);
        hocket__wish_grant(&c->wish, &c->down);
        return;
    }
    close_half(&c->server);
    if (!connect_next(c))
        turn_away(c, 502, strerrordesc_np(code));
}

static bool any_allowed(const struct conn *c)
{
    for (const struct addrinfo *a = c->found; a; a = a->ai_next)
        if (may_connect(c, a->ai_addr))
            return true;
    return false;
}

static void on_found(uv_getaddrinfo_t *req, int status, struct addrinfo *found)
{
    struct lookup *l = req->data;
    struct hocket__proxy *p = l->proxy;
    struct conn *c = l->conn;
    hocket__free(p->o.alloc, l, sizeof(*l));
    if (!c) {
        uv_freeaddrinfo(found);
        release(p);
        return;
    }
    c->lookup = NULL;
    c->found = c->next = status == 0 ? found : NULL;
    c->state = CONNECTING;
    if (!c->found)
        turn_away(c, 502, "there is no such host");
    else if (!any_allowed(c))
        refuse(c, "it leads to an address that is not public");
    else if (!connect_next(c))
        turn_away(c, 502, "it cannot be connected to");
    work(c);
    release(p);
}

static void look_up(struct conn *c)
{
    struct hocket__proxy *p = c->proxy;
    const struct addrinfo hints = { .ai_socktype = SOCK_STREAM,
        .ai_flags = c->wish.to.address ? AI_NUMERICHOST | AI_NUMERICSERV : AI_NUMERICSERV };
    char port[16];
    snprintf(port, sizeof(port), "%d", c->wish.to.port);
    struct lookup *l = hocket__zero(p->o.alloc, sizeof(*l));
    c->state = LOOKUP;
    set_deadline(c, p->o.connect_ms);
    if (l) {
        l->proxy = p;
        l->conn = c;
        l->req.data = l;
    }
    if (!l || uv_getaddrinfo(p->o.loop, &l->req, on_found, c->wish.to.host, port, &hints) < 0) {
        hocket__free(p->o.alloc, l, sizeof(*l));
        turn_away(c, 502, "it cannot be looked up");
        return;
    }
    c->lookup = l;
    p->held++;
}

/* ---- Deciding -------------------------------------------------------------------------- */

static const struct hocket__host_rule *rule_for(const struct conn *c)
{
    const struct hocket__proxy *p = c->proxy;
    const struct hocket__host_rule *found = NULL;
    for (size_t i = 0; i < p->n_rules; i++)
        if (hocket__host_rule_fits(&p->rules[i], &c->wish.to) && (!found || p->rules[i].inside))
            found = &p->rules[i];
    return found;
}

/* An address that is not public is reached by its name in a rule, and by no answer. */
static bool is_inside_address(const struct conn *c)
{
    struct sockaddr_in v4 = { .sin_family = AF_INET };
    struct sockaddr_in6 v6 = { .sin6_family = AF_INET6 };
    if (!c->wish.to.address)
        return false;
    if (uv_inet_pton(AF_INET, c->wish.to.host, &v4.sin_addr) == 0)
        return !c->proxy->o.is_public((struct sockaddr *) &v4);
    return uv_inet_pton(AF_INET6, c->wish.to.host, &v6.sin6_addr) != 0
           || !c->proxy->o.is_public((struct sockaddr *) &v6);
}

static void decide(struct conn *c)
{
    struct hocket__proxy *p = c->proxy;
    const struct hocket__host_rule *rule = rule_for(c);
    c->inside = rule && rule->inside;
    if (rule) {
        look_up(c);
    } else if (is_inside_address(c)) {
        refuse(c, "it is no public address, and not named");
    } else if (p->o.handler.on_question) {
        c->state = ASKED;
        p->o.handler.on_question(p->o.ud, c->id, c->wish.to.host, c->wish.to.port);
    } else {
        refuse(c, "it is not named");
    }
}

static void read_wish(struct conn *c)
{
    int rc = hocket__wish_read(&c->wish, c->proxy->o.alloc, &c->up, &c->down);
    if (rc == 1)
        decide(c);
    else if (rc > 0)
        turn_away(c, rc,
            rc == 411 ? "a body needs a Content-Length"
                      : "expected CONNECT host:port, a plain request for http://host/, or SOCKS5");
    else if (rc < 0)
        c->client->ended = true;
}

void hocket__proxy_answer(struct hocket__proxy *p, uint64_t id, bool allowed)
{
    for (struct hocket__list *l = p->conns.next; l != &p->conns; l = l->next) {
        struct conn *c = hocket__container_of(l, struct conn, link);
        if (c->id != id || c->state != ASKED)
            continue;
        if (allowed)
            look_up(c);
        else
            refuse(c, "it is not named, and was not approved");
        work(c);
        return;
    }
}

/* ---- What comes next -------------------------------------------------------------------- */

static void watch(struct conn *c)
{
    size_t room = c->state == RELAY ? BUFFER : HEAD_BUFFER;
    int client = !c->client->ended && (c->up.len < room || c->state == DRAIN) ? UV_READABLE : 0;
    int server = 0;
    if (c->state == CONNECTING)
        server = UV_WRITABLE;
    else if (c->state == RELAY)
        server = (!c->server->ended && c->down.len < BUFFER ? UV_READABLE : 0)
                 | (c->up.len > 0 ? UV_WRITABLE : 0);
    watch_half(c->client, client | (c->down.len > 0 ? UV_WRITABLE : 0));
    watch_half(c->server, server);
}

static void relay(struct conn *c)
{
    if (c->client->ended && !c->server->shut && c->up.len == 0) {
        shutdown(c->server->fd, SHUT_WR);
        c->server->shut = true;
    }
    if (c->server->ended && c->down.len == 0) {
        close_half(&c->server);
        c->state = DRAIN;
        set_deadline(c, DRAIN_MS);
    }
}

/* May free it. */
static void work(struct conn *c)
{
    bool ok = true;
    if (c->state == HEAD && c->up.len > 0)
        read_wish(c);
    if (c->down.len > 0)
        ok = give_out(c, c->client, &c->down);
    if (ok && c->state == RELAY && c->up.len > 0)
        ok = give_out(c, c->server, &c->up);
    if (ok && c->state == RELAY)
        relay(c);
    if (ok && c->state == DRAIN && c->down.len == 0 && !c->client->shut) {
        shutdown(c->client->fd, SHUT_WR);
        c->client->shut = true;
    }
    /* Before there is an answer, a client that ends has gone. */
    if (!ok || (c->client->ended && c->state != RELAY))
        close_conn(c);
    else
        watch(c);
}

static void on_ready(uv_poll_t *poll, int status, int events)
{
    struct half *h = poll->data;
    struct conn *c = h->conn;
    bool ok = status >= 0;
    if (!c)
        return;
    if (h == c->server && c->state == CONNECTING) {
        on_connected(c, status);
        work(c);
        return;
    }
    if (ok && (events & UV_READABLE))
        ok = take_in(c, h);
    if (ok)
        work(c);
    else
        close_conn(c);
}

/* ---- Taking connections ------------------------------------------------------------------ */

static void on_tick(uv_timer_t *t)
{
    struct hocket__proxy *p = t->data;
    uint64_t now = uv_now(p->o.loop);
    for (struct hocket__list *l = p->conns.next, *next; l != &p->conns; l = next) {
        struct conn *c = hocket__container_of(l, struct conn, link);
        next = l->next;
        if (c->state == ASKED || now < c->deadline)
            continue;
        if (c->state == RELAY || c->state == DRAIN) {
            close_conn(c);
            continue;
        }
        turn_away(c, c->state == HEAD ? 408 : 504, "it took too long");
        work(c);
    }
    if (p->n_conns == 0)
        uv_timer_stop(t);
    listen_on(p); /* descriptors may have come free */
}

static void open_conn(struct hocket__proxy *p, int fd)
{
    struct conn *c = hocket__zero(p->o.alloc, sizeof(*c));
    if (!c) {
        close(fd);
        return;
    }
    c->proxy = p;
    send_at_once(fd);
    c->client = new_half(p, c, fd);
    if (!c->client) {
        hocket__free(p->o.alloc, c, sizeof(*c));
        return;
    }
    c->id = ++p->last_id;
    hocket__buf_init(&c->up, p->o.alloc, 0);
    hocket__buf_init(&c->down, p->o.alloc, 0);
    hocket__list_add(&p->conns, &c->link);
    p->n_conns++;
    set_deadline(c, p->o.head_ms);
    watch(c);
}

static void on_waiting(uv_poll_t *poll, int status, int events)
{
    struct hocket__proxy *p = ((struct half *) poll->data)->proxy;
    (void) status;
    (void) events;
    while (!p->closing && p->n_conns < p->o.max_connections) {
        int fd = accept4(p->listener->fd, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
        if (fd >= 0) {
            open_conn(p, fd);
            continue;
        }
        if (errno == EINTR || errno == ECONNABORTED)
            continue;
        if (errno != EAGAIN)
            break; /* no descriptors: looked at again with the next tick */
        if (!uv_is_active((uv_handle_t *) &p->timer) && p->n_conns > 0)
            uv_timer_start(&p->timer, on_tick, TICK_MS, TICK_MS);
        return;
    }
    uv_poll_stop(&p->listener->poll);
    p->listener->events = 0;
    uv_timer_start(&p->timer, on_tick, TICK_MS, TICK_MS);
}

static void listen_on(struct hocket__proxy *p)
{
    if (!p->listener || p->listener->events || p->n_conns >= p->o.max_connections)
        return;
    p->listener->events = UV_READABLE;
    uv_poll_start(&p->listener->poll, UV_READABLE, on_waiting);
}

void hocket__proxy_listen(struct hocket__proxy *p, int fd)
{
    if (p->closing || p->listener) {
        close(fd);
        return;
    }
    p->listener = new_half(p, NULL, fd);
    listen_on(p);
}

/* ---- Opening and closing ------------------------------------------------------------------ */

int hocket__proxy_new(
    const struct hocket__proxy_options *o, struct hocket__proxy **out, struct hocket_error *err)
{
    struct hocket__proxy *p = hocket__zero(o->alloc, sizeof(*p));
    if (!p)
        return hocket__error_nomem(err);
    p->o = *o;
    p->o.max_connections = o->max_connections ? o->max_connections : 64;
    p->o.head_ms = o->head_ms ? o->head_ms : 10000;
    p->o.connect_ms = o->connect_ms ? o->connect_ms : 30000;
    p->o.idle_ms = o->idle_ms ? o->idle_ms : 600000;
    hocket__list_init(&p->conns);
    uv_timer_init(o->loop, &p->timer);
    p->timer.data = p;
    p->held = 1;
    *out = p;
    return 0;
}

int hocket__proxy_name(
    struct hocket__proxy *p, struct hocket__str rule, bool inside, struct hocket_error *err)
{
    struct hocket__host_rule one;
    int rc = hocket__host_rule_read(rule, &one, err);
    if (rc < 0)
        return rc;
    if (p->n_rules >= MAX_RULES)
        return hocket__error(err, HOCKET_ELIMIT, "more than %d hosts are named", MAX_RULES);
    if (hocket__grow(p->o.alloc, &p->rules, &p->cap_rules, p->n_rules + 1, sizeof(*p->rules)) < 0)
        return hocket__error_nomem(err);
    one.inside = one.inside || inside;
    p->rules[p->n_rules++] = one;
    return 0;
}

static void on_timer_closed(uv_handle_t *h)
{
    release(h->data);
}

void hocket__proxy_close(struct hocket__proxy *p, void (*on_closed)(void *ud), void *ud)
{
    if (p->closing)
        return;
    p->closing = true;
    p->on_closed = on_closed;
    p->closed_ud = ud;
    while (!hocket__list_empty(&p->conns))
        close_conn(hocket__container_of(p->conns.next, struct conn, link));
    close_half(&p->listener);
    uv_close((uv_handle_t *) &p->timer, on_timer_closed);
}

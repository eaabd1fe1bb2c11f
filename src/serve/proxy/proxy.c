/* Accepts connections, checks their deadlines, opens and closes the proxy. conn.c has the states of a connection,
 * decide.c where it may go. */
#include "serve/proxy/proxy_impl.h"

#include <stdlib.h>

#include "os/tcp.h"

/* One timer checks all connections, instead of one for each: they are few, and a quarter of a second
 * late is harmless. */
#define TICK_MS   250
#define MAX_RULES 1024

/* ---- Taking connections ------------------------------------------------------------------ */

/* A connection that waits for a person has no deadline. One that relays is closed without a
 * message, which would become part of the relayed bytes; the others get an answer. */
static void on_tick(uv_timer_t *t)
{
    struct hocket__proxy *p = t->data;
    uint64_t now = uv_now(p->o.loop);
    for (struct hocket__list *l = p->conns.next, *next; l != &p->conns; l = next) {
        struct hocket__proxy_conn *c = hocket__container_of(l, struct hocket__proxy_conn, link);
        next = l->next;
        if (c->state == HOCKET__PROXY_ASKED || now < c->deadline)
            continue;
        if (c->state == HOCKET__PROXY_RELAY || c->state == HOCKET__PROXY_DRAIN) {
            hocket__proxy_close_conn(c);
            continue;
        }
        hocket__proxy_turn_away(c, c->state == HOCKET__PROXY_HEAD ? 408 : 504, "it took too long");
        hocket__proxy_work(c);
    }
    if (p->n_conns == 0)
        uv_timer_stop(t);
    hocket__proxy_accept(p); /* descriptors may have come free */
}

static void open_conn(struct hocket__proxy *p, int fd)
{
    struct hocket__proxy_conn *c = hocket__zero(p->o.alloc, sizeof(*c));
    if (!c) {
        hocket__tcp_close(fd);
        return;
    }
    c->proxy = p;
    hocket__tcp_no_delay(fd);
    c->client = hocket__proxy_half(p, c, fd);
    if (!c->client) {
        hocket__free(p->o.alloc, c, sizeof(*c));
        return;
    }
    c->id = ++p->last_id;
    hocket__buf_init(&c->up, p->o.alloc, 0);
    hocket__buf_init(&c->down, p->o.alloc, 0);
    hocket__list_add(&p->conns, &c->link);
    p->n_conns++;
    hocket__proxy_set_deadline(c, p->o.head_ms);
    hocket__proxy_watch(c);
}

/* The listening socket stays readable while a client waits. When no more can be accepted the loop stops watching
 * it, or it would spin; the tick watches it again. */
static void on_waiting(uv_poll_t *poll, int status, int events)
{
    struct hocket__proxy *p = ((struct hocket__proxy_half *) poll->data)->proxy;
    (void) status;
    (void) events;
    while (!p->closing && p->n_conns < p->o.max_connections) {
        int fd = hocket__tcp_accept(p->listener->fd);
        if (fd >= 0) {
            open_conn(p, fd);
            continue;
        }
        if (fd == UV_EINTR || fd == UV_ECONNABORTED)
            continue;
        if (fd != UV_EAGAIN)
            break; /* no descriptors: the next tick tries again */
        if (!uv_is_active((uv_handle_t *) &p->timer) && p->n_conns > 0)
            uv_timer_start(&p->timer, on_tick, TICK_MS, TICK_MS);
        return;
    }
    uv_poll_stop(&p->listener->poll);
    p->listener->events = 0;
    uv_timer_start(&p->timer, on_tick, TICK_MS, TICK_MS);
}

void hocket__proxy_accept(struct hocket__proxy *p)
{
    if (!p->listener || p->listener->events || p->n_conns >= p->o.max_connections)
        return;
    p->listener->events = UV_READABLE;
    uv_poll_start(&p->listener->poll, UV_READABLE, on_waiting);
}

void hocket__proxy_listen(struct hocket__proxy *p, int fd)
{
    if (p->closing || p->listener) {
        hocket__tcp_close(fd);
        return;
    }
    p->listener = hocket__proxy_half(p, NULL, fd);
    hocket__proxy_accept(p);
}

/* ---- Opening and closing ------------------------------------------------------------------ */

/* Each handle of libuv holds the proxy until its close callback has run; the timer counts for
 * the owner. */
void hocket__proxy_release(struct hocket__proxy *p)
{
    if (--p->held > 0 || !p->closing)
        return;
    if (p->on_closed)
        p->on_closed(p->closed_ud);
    hocket__free(p->o.alloc, p->rules, p->cap_rules * sizeof(*p->rules));
    hocket__free(p->o.alloc, p, sizeof(*p));
}

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

/* `inside`: the name may also lead to an address of this machine or of its network. */
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
    hocket__proxy_release(h->data);
}

void hocket__proxy_close(struct hocket__proxy *p, void (*on_closed)(void *ud), void *ud)
{
    if (p->closing)
        return;
    p->closing = true;
    p->on_closed = on_closed;
    p->closed_ud = ud;
    while (!hocket__list_empty(&p->conns))
        hocket__proxy_close_conn(
            hocket__container_of(p->conns.next, struct hocket__proxy_conn, link));
    hocket__proxy_close_half(&p->listener);
    uv_close((uv_handle_t *) &p->timer, on_timer_closed);
}

/* Where a connection may go: reads its request, asks a rule or a person, looks up the name once, and connects
 * to one of the addresses that it has checked.
 *
 * A name that leads to a private address is refused even if a rule names it, unless the rule
 * itself allows that: otherwise the owner of the name's zone would decide. */
#include "serve/proxy/proxy_impl.h"

#include <stdio.h>

#include "base/system_names.h"
#include "os/tcp.h"

/* ---- Connecting ------------------------------------------------------------------------ */

static bool may_connect(const struct hocket__proxy_conn *c, const struct sockaddr *to)
{
    return c->inside || c->proxy->o.is_public(to);
}

/* The next of the addresses; false: there is none. */
static bool connect_next(struct hocket__proxy_conn *c)
{
    for (; c->next; c->next = c->next->ai_next) {
        if (!may_connect(c, c->next->ai_addr))
            continue;
        int fd = hocket__tcp_connect(c->next->ai_addr, c->next->ai_addrlen);
        if (fd < 0)
            continue;
        hocket__tcp_no_delay(fd);
        c->server = hocket__proxy_half(c->proxy, c, fd);
        c->next = c->next->ai_next;
        return c->server != NULL;
    }
    return false;
}

void hocket__proxy_connected(struct hocket__proxy_conn *c, int status)
{
    int code = hocket__tcp_error(c->server->fd);
    if (code == 0 && status < 0)
        code = UV_EIO;
    if (code == 0) {
        c->state = HOCKET__PROXY_RELAY;
        hocket__proxy_set_deadline(c, c->proxy->o.idle_ms);
        hocket__wish_grant(&c->wish, &c->down);
        return;
    }
    hocket__proxy_close_half(&c->server);
    if (!connect_next(c))
        hocket__proxy_turn_away(c, 502, hocket__errno_text(-code));
}

static bool any_allowed(const struct hocket__proxy_conn *c)
{
    for (const struct addrinfo *a = c->found; a; a = a->ai_next)
        if (may_connect(c, a->ai_addr))
            return true;
    return false;
}

static void on_found(uv_getaddrinfo_t *req, int status, struct addrinfo *found)
{
    struct hocket__proxy_lookup *l = req->data;
    struct hocket__proxy *p = l->proxy;
    struct hocket__proxy_conn *c = l->conn;
    hocket__free(p->o.alloc, l, sizeof(*l));
    if (!c) {
        uv_freeaddrinfo(found);
        hocket__proxy_release(p);
        return;
    }
    c->lookup = NULL;
    c->found = c->next = status == 0 ? found : NULL;
    c->state = HOCKET__PROXY_CONNECTING;
    if (!c->found)
        hocket__proxy_turn_away(c, 502, "there is no such host");
    else if (!any_allowed(c))
        hocket__proxy_refuse(c, "it leads to an address that is not public");
    else if (!connect_next(c))
        hocket__proxy_turn_away(c, 502, "it cannot be connected to");
    hocket__proxy_work(c);
    hocket__proxy_release(p);
}

static void look_up(struct hocket__proxy_conn *c)
{
    struct hocket__proxy *p = c->proxy;
    const struct addrinfo hints = { .ai_socktype = SOCK_STREAM,
        .ai_flags = c->wish.to.address ? AI_NUMERICHOST | AI_NUMERICSERV : AI_NUMERICSERV };
    char port[16];
    snprintf(port, sizeof(port), "%d", c->wish.to.port);
    struct hocket__proxy_lookup *l = hocket__zero(p->o.alloc, sizeof(*l));
    c->state = HOCKET__PROXY_LOOKUP;
    hocket__proxy_set_deadline(c, p->o.connect_ms);
    if (l) {
        l->proxy = p;
        l->conn = c;
        l->req.data = l;
    }
    if (!l || uv_getaddrinfo(p->o.loop, &l->req, on_found, c->wish.to.host, port, &hints) < 0) {
        hocket__free(p->o.alloc, l, sizeof(*l));
        hocket__proxy_turn_away(c, 502, "it cannot be looked up");
        return;
    }
    c->lookup = l;
    p->held++;
}

/* ---- Deciding -------------------------------------------------------------------------- */

static const struct hocket__host_rule *rule_for(const struct hocket__proxy_conn *c)
{
    const struct hocket__proxy *p = c->proxy;
    const struct hocket__host_rule *found = NULL;
    for (size_t i = 0; i < p->n_rules; i++)
        if (hocket__host_rule_fits(&p->rules[i], &c->wish.to) && (!found || p->rules[i].inside))
            found = &p->rules[i];
    return found;
}

/* A rule can allow an address that is not public; a person's answer cannot. */
static bool is_inside_address(const struct hocket__proxy_conn *c)
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

static void decide(struct hocket__proxy_conn *c)
{
    struct hocket__proxy *p = c->proxy;
    const struct hocket__host_rule *rule = rule_for(c);
    c->inside = rule && rule->inside;
    if (rule) {
        look_up(c);
    } else if (is_inside_address(c)) {
        hocket__proxy_refuse(c, "it is no public address, and not named");
    } else if (p->o.handler.on_question) {
        c->state = HOCKET__PROXY_ASKED;
        p->o.handler.on_question(p->o.ud, c->id, c->wish.to.host, c->wish.to.port);
    } else {
        hocket__proxy_refuse(c, "it is not named");
    }
}

void hocket__proxy_read_wish(struct hocket__proxy_conn *c)
{
    int rc = hocket__wish_read(&c->wish, c->proxy->o.alloc, &c->up, &c->down);
    if (rc == 1)
        decide(c);
    else if (rc > 0)
        hocket__proxy_turn_away(c, rc,
            rc == 411 ? "a body needs a Content-Length"
                      : "expected CONNECT host:port, a plain request for http://host/, or SOCKS5");
    else if (rc < 0)
        c->client->ended = true;
}

void hocket__proxy_answer(struct hocket__proxy *p, uint64_t id, bool allowed)
{
    for (struct hocket__list *l = p->conns.next; l != &p->conns; l = l->next) {
        struct hocket__proxy_conn *c = hocket__container_of(l, struct hocket__proxy_conn, link);
        if (c->id != id || c->state != HOCKET__PROXY_ASKED)
            continue;
        if (allowed)
            look_up(c);
        else
            hocket__proxy_refuse(c, "it is not named, and was not approved");
        hocket__proxy_work(c);
        return;
    }
}

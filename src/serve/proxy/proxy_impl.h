/* What the parts of the proxy share. */
#pragma once

#include "base/alloc.h"
#include "base/list.h"
#include "serve/proxy/proxy.h"
#include "serve/proxy/wish.h"

#include <uv.h>

enum hocket__proxy_state {
    HOCKET__PROXY_HEAD,
    HOCKET__PROXY_ASKED,
    HOCKET__PROXY_LOOKUP,
    HOCKET__PROXY_CONNECTING,
    HOCKET__PROXY_RELAY,
    HOCKET__PROXY_DRAIN
};

/* One socket in the loop. It outlives its connection until the loop has let go of it. */
struct hocket__proxy_half {
    uv_poll_t poll;
    struct hocket__proxy *proxy;
    struct hocket__proxy_conn *conn; /* NULL: closed */
    int fd, events;
    bool ended; /* nothing more comes from it */
    bool shut;  /* nothing more goes to it */
};

struct hocket__proxy_lookup {
    uv_getaddrinfo_t req;
    struct hocket__proxy *proxy;
    struct hocket__proxy_conn *conn; /* NULL: nobody waits */
};

struct hocket__proxy_conn {
    struct hocket__list link;
    struct hocket__proxy *proxy;
    uint64_t id, deadline;
    enum hocket__proxy_state state;
    bool inside; /* may be at an address that is not public */
    struct hocket__proxy_half *client, *server;
    struct hocket__buf up, down; /* on the way to the server, to the client */
    struct hocket__wish wish;
    struct hocket__proxy_lookup *lookup;
    struct addrinfo *found, *next;
};

struct hocket__proxy {
    struct hocket__proxy_options o;
    struct hocket__host_rule *rules;
    size_t n_rules, cap_rules;
    struct hocket__list conns;
    size_t n_conns;
    struct hocket__proxy_half *listener;
    uv_timer_t timer;
    uint64_t last_id;
    size_t held; /* by the loop: handles and look-ups */
    bool closing;
    void (*on_closed)(void *ud);
    void *closed_ud;
};

/* ---- proxy.c ---- */

/* One handle of the loop has gone. The last one frees a proxy that is closed. */
void hocket__proxy_release(struct hocket__proxy *p);
/* Takes connections from now on, if there is room for another. */
void hocket__proxy_accept(struct hocket__proxy *p);

/* ---- conn.c ---- */

/* Takes over the descriptor: NULL when that cannot be done, and it is closed. */
struct hocket__proxy_half *hocket__proxy_half(
    struct hocket__proxy *p, struct hocket__proxy_conn *c, int fd);
void hocket__proxy_close_half(struct hocket__proxy_half **at);
void hocket__proxy_set_deadline(struct hocket__proxy_conn *c, int ms);
/* Watches the events that the connection can continue with. */
void hocket__proxy_watch(struct hocket__proxy_conn *c);
/* Does what can be done now. May free it. */
void hocket__proxy_work(struct hocket__proxy_conn *c);
void hocket__proxy_close_conn(struct hocket__proxy_conn *c);
/* Sends the reason and closes when the client has read it: closing with unread input would lose the answer. */
void hocket__proxy_turn_away(struct hocket__proxy_conn *c, int status, const char *why);
/* The same for a place where it may not go; reports it to the embedder. */
void hocket__proxy_refuse(struct hocket__proxy_conn *c, const char *why);

/* ---- decide.c ---- */

/* Reads more of the client's request, and decides about it once it is complete. */
void hocket__proxy_read_wish(struct hocket__proxy_conn *c);
/* The attempt to connect has ended; after a failure this tries the next address. */
void hocket__proxy_connected(struct hocket__proxy_conn *c, int status);

/* What the files of the server share about it; nobody else includes this. */
#pragma once

#include "base/buf.h"
#include "base/list.h"
#include "base/map.h"
#include "serve/date.h"
#include "serve/server.h"
#include "serve/tls/tls.h"

#include <uv.h>

/* Connections in the order of their deadlines, which holds because all of one list wait
 * equally long. */
struct hocket__deadlines {
    struct hocket__list list;
    uint64_t ms;
};

struct hocket__server {
    const struct hocket_allocator *a;
    uv_loop_t *loop;
    struct hocket__server_handler handler;
    void *ud;
    hocket_log_cb log_cb;
    void *log_ud;
    size_t max_header, max_body, max_stranger, max_queue, max_connections;
    struct hocket__buf key; /* empty: none */

    int fd, port;
    int reserve; /* a descriptor to give away when there is no other; -1 */
    uv_poll_t listener;
    uv_timer_t sweep; /* runs at the first deadline of either list, or before it */
    uv_timer_t retry; /* accepts again after descriptors ran out */
    uv_idle_t wake;   /* active while `ready` is not empty */
    unsigned n_handles;

    struct hocket__map requests; /* id -> its connection */
    uint64_t last_id;
    struct hocket__list conns, ready;
    struct hocket__deadlines waiting, draining, shaking;
    size_t n_conns, n_shaking;
    bool closing;
    bool muted; /* it listens no more */
    bool given; /* its socket was opened by others */
    void (*on_closed)(void *ud);
    void *closed_ud;

    struct hocket__tls *tls;   /* NULL: none */
    uint64_t looked;           /* when its files were last looked at */
    struct hocket__buf joined; /* pieces that become one record */

    int64_t (*clock)(void);
    struct hocket__server_date date;
    struct hocket__buf line; /* a head while it is written */
    char scratch[65536];     /* what a socket is read into */
};

void hocket__server_log(struct hocket__server *s, enum hocket_log_level level, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));

/* One handle of the server has left the loop; the last one frees it. */
void hocket__server_handle_closed(struct hocket__server *s);
/* A connection went: there is room again. */
void hocket__server_conn_closed(struct hocket__server *s);
/* Runs hocket__conn_run from the loop for all in `ready`. */
void hocket__server_wake(struct hocket__server *s);
/* The timer runs at `deadline` or before. */
void hocket__server_arm(struct hocket__server *s, uint64_t deadline);

/* Writes status line, headers and framing into s->line; see response.c. */
struct hocket__answer_head {
    int status;
    const struct hocket__server_header *headers;
    size_t n_headers;
    int64_t length; /* -1: no Content-Length */
    bool chunked, close, keep_alive;
};
int hocket__server_write_head(struct hocket__server *s, const struct hocket__answer_head *h);
const char *hocket__server_reason(int status);

/* One connection: reads requests from its socket one after the other, hands each on when
 * it is whole, and takes its answer out.
 *
 *   (SHAKE ─>) HEAD ─> BODY ─> OPEN ─> FLUSH ─┬─> HEAD (kept alive)
 *                └── refused ───────────^     └─> DRAIN ─> CLOSED (from any state)
 *
 * SHAKE: the handshake of TLS, where there is TLS.
 * DRAIN: our side is shut down and what still comes is thrown away for a while. Closing
 * with unread input would reset the connection and could take the answer with it.
 *
 * The memory stays until libuv has let go of the handle, so a connection that was closed
 * inside a callback may still be looked at when the callback returns. */
#pragma once

#include "serve/body.h"
#include "serve/head.h"
#include "serve/outq.h"
#include "serve/state.h"

enum hocket__conn_state {
    HOCKET__CONN_SHAKE,
    HOCKET__CONN_HEAD,
    HOCKET__CONN_BODY,
    HOCKET__CONN_OPEN,
    HOCKET__CONN_FLUSH,
    HOCKET__CONN_DRAIN,
    HOCKET__CONN_CLOSED,
};

struct hocket__conn {
    uv_poll_t poll;
    struct hocket__server *server;
    struct hocket__list all, ready, timed;
    uint64_t deadline, began; /* of its body */
    int fd, events;
    enum hocket__conn_state state;
    bool busy;   /* its input is being worked through further up the stack */
    bool broken; /* the peer is gone, or memory was; the loop is going to find out */
    bool heard;  /* something has come */
    bool full;   /* past the limit: it gets a refusal once it has sent its request */
    struct hocket__tls_session *tls;

    struct hocket__buf in;   /* read, not yet looked at */
    struct hocket__buf text; /* the head of the request */
    struct hocket__buf content;
    struct hocket__head_scan scan;
    struct hocket__head head;
    struct hocket__body body;

    uint64_t id;                        /* of the open request, or 0 */
    bool to_head, http10, keep_alive;   /* what the request wants */
    bool begun, chunked, bodyless, raw; /* what the answer is so far */
    struct hocket__outq out;
};

/* Takes over the descriptor. `refuse`: answers 503, whatever is asked. */
void hocket__conn_open(struct hocket__server *s, int fd, bool refuse);
/* Cuts it now and reports it to the handler of its request. */
void hocket__conn_gone(struct hocket__conn *c);
/* Cuts it now, without a callback. */
void hocket__conn_close(struct hocket__conn *c, bool reset);
/* Sends or queues. 0, ELIMIT, ECLOSED, ENOMEM (the last two: it goes down soon). */
int hocket__conn_send(struct hocket__conn *c, const uv_buf_t *pieces, size_t n, size_t spare);
/* Time counts anew; a handshake has one deadline, whatever comes meanwhile. */
void hocket__conn_touch(struct hocket__conn *c);
/* A handler thinks: no deadline. */
void hocket__conn_wait(struct hocket__conn *c);
/* It ends from the loop. */
void hocket__conn_break(struct hocket__conn *c);
/* Plain bytes have come. */
void hocket__conn_take(struct hocket__conn *c, const char *p, size_t n);
/* Works through the input as far as it goes. */
void hocket__conn_work(struct hocket__conn *c);
/* Answers what nobody else gets to see, and ends the connection; words: NULL, those of the status. */
void hocket__conn_refuse(struct hocket__conn *c, int status, const char *words);
/* The answer is whole: flush, then the next request or the end. */
void hocket__conn_finish(struct hocket__conn *c);
/* Sends an end of input, drops what is queued. With TLS the client sees that it was cut, unless hocket__wire_bye came before. */
void hocket__conn_end(struct hocket__conn *c);
/* Tells libuv what to wait for; after a change of state. */
void hocket__conn_watch(struct hocket__conn *c);
/* Works on it from the loop as soon as possible. */
void hocket__conn_wake(struct hocket__conn *c);
/* The loop's part of the above, and of the deadlines. */
void hocket__conn_run(struct hocket__conn *c);
void hocket__conn_expire(struct hocket__conn *c);

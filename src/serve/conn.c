/* One connection, from accept to close; conn.h has its states, request.c parses its input. A failure
 * inside a call from outside sets `broken`, and the loop ends the connection: a request never disappears
 * during its caller's call.
 *
 * One of two deadlines ends a client that sends its head slowly, does not
 * read its answer, or sends no request. There is none while a
 * handler works. */
#include "serve/conn.h"

#include "os/tcp.h"
#include "serve/outq.h"

/* Between a connection and its socket. Without TLS there is nothing here.
 *
 *   SHAKE ─(done)─> HEAD …                     what comes is opened and taken as if it had come so
 *     ├── no TLS at all ──> 400, in plain words
 *     ├── fails ──> the alert, and the end
 *     └── takes too long, or many others begin ──> closed (conn.c)
 *
 * Plain bytes that were accepted are sealed at once and in order; their size is checked before, since sealed bytes
 * must be sent. */

#define HANDSHAKE 0x16  /* the first byte of a client that speaks TLS */
#define KEEP      65536 /* a larger buffer is given back when it is empty */
#define ROOM_MORE 4096  /* for what TLS says itself: alerts, tickets, new keys */

/* Begins the handshake where the server has a certificate; false: no memory. */
static bool wire_open(struct hocket__conn *c)
{
    struct hocket__server *s = c->server;
    if (!s->tls)
        return true;
    c->tls = hocket__tls_session_new(s->tls);
    return c->tls != NULL;
}

static void wire_free(struct hocket__conn *c)
{
    hocket__tls_session_free(c->tls);
    c->tls = NULL;
}

/* ---- Out ------------------------------------------------------------------------------- */

/* How many bytes went: 0 when the socket is full; EIO. */
static int64_t send_now(int fd, const uv_buf_t *pieces, size_t n)
{
    int64_t sent = hocket__tcp_write(fd, pieces, n);
    return sent >= 0 ? sent : sent == UV_EAGAIN ? 0 : HOCKET_EIO;
}

/* Queues the pieces without their first `gone` bytes. */
static int keep(struct hocket__outq *q, const uv_buf_t *pieces, size_t n, size_t gone)
{
    size_t max = q->buf.max;
    q->buf.max = SIZE_MAX; /* the limit was checked, without what is sent already */
    for (size_t i = 0; i < n; i++) {
        size_t skip = gone < pieces[i].len ? gone : pieces[i].len;
        gone -= skip;
        hocket__buf_add(&q->buf, (const char *) pieces[i].base + skip, pieces[i].len - skip);
    }
    q->buf.max = max;
    return q->buf.status;
}

/* Sends or queues all of the n pieces, or nothing of them; leaves
 * `spare` bytes of the limit for what has to follow. 0; ELIMIT, nothing was done; EIO,
 * the peer is gone; ENOMEM, a part may have been sent. */
static int outq_push(struct hocket__outq *q, int fd, const uv_buf_t *pieces, size_t n, size_t spare)
{
    size_t taken = hocket__outq_len(q) + spare;
    size_t total = 0, room = q->buf.max > taken ? q->buf.max - taken : 0;
    for (size_t i = 0; i < n; i++) {
        if (pieces[i].len > room - total)
            return HOCKET_ELIMIT;
        total += pieces[i].len;
    }
    int64_t gone = hocket__outq_len(q) == 0 ? send_now(fd, pieces, n) : 0;
    if (gone < 0)
        return (int) gone;
    return (size_t) gone == total ? 0 : keep(q, pieces, n, (size_t) gone);
}

/* Sends or queues what TLS has written. EIO: the peer is gone, or reads none of what TLS has to say. */
static int flush_sealed(struct hocket__conn *c)
{
    struct hocket__buf *sealed = hocket__tls_sealed(c->server->tls);
    uv_buf_t piece = { .base = sealed->data, .len = sealed->len };
    int rc = sealed->status;
    if (rc == 0 && sealed->len > 0) {
        size_t max = c->out.buf.max;
        c->out.buf.max += ROOM_MORE;
        rc = outq_push(&c->out, c->fd, &piece, 1, 0);
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

/* As outq_push. EIO: the connection is of no use any more. */
static int wire_push(struct hocket__conn *c, const uv_buf_t *pieces, size_t n, size_t spare)
{
    if (!c->tls)
        return outq_push(&c->out, c->fd, pieces, n, spare);
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

/* Sends the end of the answers, if TLS can. */
static void wire_bye(struct hocket__conn *c)
{
    if (!c->tls || c->state == HOCKET__CONN_SHAKE)
        return;
    hocket__tls_bye(c->tls);
    flush_sealed(c); /* the socket has room: all before it is gone */
}

/* ---- In -------------------------------------------------------------------------------- */

/* A client without TLS gets an answer without TLS. */
static void speak_plain(struct hocket__conn *c, char first)
{
    static const char words[] = "this port speaks TLS: ask with https://";
    bool is_method = first >= 'A' && first <= 'Z';
    wire_free(c);
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

static void set_state(struct hocket__conn *c, enum hocket__conn_state state)
{
    struct hocket__server *s = c->server;
    s->n_shaking -= c->state == HOCKET__CONN_SHAKE;
    s->n_shaking += state == HOCKET__CONN_SHAKE;
    c->state = state;
}

static void next_request(struct hocket__conn *c)
{
    set_state(c, HOCKET__CONN_HEAD);
    c->begun = c->chunked = c->bodyless = c->raw = false;
    hocket__conn_touch(c);
    if (c->in.len > 0 && !c->busy)
        hocket__conn_wake(c);
    hocket__conn_watch(c);
}

/* The handshake is done. */
static void shaken(struct hocket__conn *c)
{
    next_request(c);
    if (c->full)
        hocket__conn_refuse(c, 503, NULL);
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
        shaken(c);
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

/* What the socket gave. */
static void wire_take(struct hocket__conn *c, const char *p, size_t n)
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

/* What could not be sent yet. Mostly a socket takes everything at once: then nothing is copied
 * here.
 *
 * Bounded by what the server allows for one connection; a push that does not fit is refused whole,
 * so that an answer is never cut in its middle by us. */

static void outq_init(struct hocket__outq *q, const struct hocket_allocator *a, size_t max)
{
    hocket__buf_init(&q->buf, a, 0);
    q->buf.max = max;
    q->sent = 0;
}

static void outq_deinit(struct hocket__outq *q)
{
    hocket__buf_deinit(&q->buf);
    q->sent = 0;
}

static void compact(struct hocket__outq *q)
{
    if (q->sent == q->buf.len) {
        q->sent = 0;
        hocket__buf_cut(&q->buf, 0);
        if (q->buf.cap > KEEP)
            hocket__buf_deinit(&q->buf);
    } else if (q->sent > q->buf.len / 2) { /* so that moving costs no more than sending did */
        hocket__buf_drop(&q->buf, q->sent);
        q->sent = 0;
    }
}

/* Sends what the kernel takes now: 0 or EIO. */
static int outq_flush(struct hocket__outq *q, int fd)
{
    if (hocket__outq_len(q) == 0)
        return 0;
    uv_buf_t piece = { .base = q->buf.data + q->sent, .len = hocket__outq_len(q) };
    int64_t n = send_now(fd, &piece, 1);
    if (n < 0)
        return (int) n;
    q->sent += (size_t) n;
    compact(q);
    return 0;
}

#define READ_AHEAD  65536 /* of pipelined requests, while one is open */
#define MAX_SHAKING 256   /* handshakes at once */

/* ---- Time ------------------------------------------------------------------------ */

void hocket__conn_wait(struct hocket__conn *c)
{
    hocket__list_del(&c->timed);
}

static void set_deadline(struct hocket__conn *c, struct hocket__deadlines *d)
{
    hocket__list_move(&d->list, &c->timed);
    c->deadline = uv_now(c->server->loop) + d->ms;
    hocket__server_arm(c->server, c->deadline);
}

void hocket__conn_touch(struct hocket__conn *c)
{
    if (c->state != HOCKET__CONN_SHAKE)
        set_deadline(c, &c->server->waiting);
}

/* ---- The end --------------------------------------------------------------------- */

static void on_handle_closed(uv_handle_t *handle)
{
    struct hocket__conn *c = hocket__container_of(handle, struct hocket__conn, poll);
    struct hocket__server *s = c->server;
    hocket__buf_deinit(&c->in);
    hocket__buf_deinit(&c->text);
    hocket__buf_deinit(&c->content);
    outq_deinit(&c->out);
    wire_free(c);
    hocket__head_deinit(&c->head, s->a);
    hocket__free(s->a, c, sizeof *c);
    hocket__server_handle_closed(s);
}

/* From here on calls with this id find no request, so an answer that comes too late is dropped. */
static void forget_request(struct hocket__conn *c)
{
    if (c->id)
        hocket__map_del(&c->server->requests, c->id);
    c->id = 0;
}

/* `reset` drops what the kernel still holds for the client: of an answer that cannot be completed
 * the client must not take the part for the whole. */
void hocket__conn_close(struct hocket__conn *c, bool reset)
{
    if (c->state == HOCKET__CONN_CLOSED)
        return;
    set_state(c, HOCKET__CONN_CLOSED);
    forget_request(c);
    hocket__list_del(&c->all);
    hocket__list_del(&c->ready);
    hocket__list_del(&c->timed);
    if (reset)
        hocket__tcp_reset_at_close(c->fd);
    uv_close((uv_handle_t *) &c->poll, on_handle_closed);
    hocket__tcp_close(c->fd); /* not before uv_close, which stops watching it */
    hocket__server_conn_closed(c->server);
}

/* The client has left: reports it once, and only if a handler has its
 * request. */
void hocket__conn_gone(struct hocket__conn *c)
{
    struct hocket__server *s = c->server;
    uint64_t id = c->id;
    hocket__conn_close(c, false);
    if (id && s->handler.on_closed)
        s->handler.on_closed(s->ud, id);
}

/* Ends our side, and reads the other one until its end: closing at once would
 * reset the connection while an answer is still on its way. */
void hocket__conn_end(struct hocket__conn *c)
{
    forget_request(c);
    hocket__tcp_end(c->fd);
    set_state(c, HOCKET__CONN_DRAIN);
    hocket__buf_deinit(&c->in);
    outq_deinit(&c->out);
    set_deadline(c, &c->server->draining);
    hocket__conn_watch(c);
}

/* ---- Out ------------------------------------------------------------------------- */

/* Unsent bytes come first; then it decides whether the connection continues. */
static void settle(struct hocket__conn *c)
{
    if (hocket__outq_len(&c->out) > 0) {
        hocket__conn_watch(c);
    } else if (c->keep_alive && !c->server->muted) {
        next_request(c);
    } else {
        wire_bye(c);
        hocket__conn_end(c);
    }
}

void hocket__conn_finish(struct hocket__conn *c)
{
    forget_request(c);
    c->state = HOCKET__CONN_FLUSH;
    settle(c);
}

void hocket__conn_break(struct hocket__conn *c)
{
    c->broken = true;
    hocket__conn_wake(c);
}

int hocket__conn_send(struct hocket__conn *c, const uv_buf_t *pieces, size_t n, size_t spare)
{
    bool idle = hocket__outq_len(&c->out) == 0;
    int rc = wire_push(c, pieces, n, spare);
    if (rc == HOCKET_ELIMIT)
        return rc;
    if (rc < 0) {
        hocket__conn_break(c);
        return rc == HOCKET_EIO ? HOCKET_ECLOSED : rc;
    }
    if (idle && hocket__outq_len(&c->out) > 0) {
        hocket__conn_touch(c);
        hocket__conn_watch(c);
    }
    return 0;
}

void hocket__conn_refuse(struct hocket__conn *c, int status, const char *words)
{
    struct hocket__server *s = c->server;
    const char *reason = words ? words : hocket__server_reason(status);
    struct hocket__server_header plain = { HOCKET__STR("Content-Type"), HOCKET__STR("text/plain") };
    struct hocket__answer_head h = { .status = status,
        .headers = &plain,
        .n_headers = 1,
        .length = (int64_t) strlen(reason) + 1,
        .close = true };
    hocket__server_log(s, HOCKET_LOG_DEBUG, "request refused: %d %s", status, reason);
    c->keep_alive = false;
    set_state(c, HOCKET__CONN_FLUSH);
    hocket__server_write_head(s, &h);
    hocket__buf_adds(&s->line, reason);
    hocket__buf_addc(&s->line, '\n');
    uv_buf_t piece = { .base = s->line.data, .len = s->line.len };
    if (s->line.status || hocket__conn_send(c, &piece, 1, 0))
        hocket__conn_break(c);
    else
        settle(c);
}

/* ---- In -------------------------------------------------------------------------- */

static void read_some(struct hocket__conn *c)
{
    struct hocket__server *s = c->server;
    int64_t n = hocket__tcp_read(c->fd, s->scratch, sizeof s->scratch);
    if (n > 0)
        wire_take(c, s->scratch, (size_t) n);
    else if (n != UV_EAGAIN)
        hocket__conn_gone(c);
}

/* ---- The loop -------------------------------------------------------------------- */

/* While a request is open the next ones are read ahead only so far; then the kernel's buffer fills,
 * and the client waits. */
static bool wants_input(const struct hocket__conn *c)
{
    switch (c->state) {
    case HOCKET__CONN_SHAKE:
    case HOCKET__CONN_HEAD:
    case HOCKET__CONN_BODY:
    case HOCKET__CONN_DRAIN: return true;
    case HOCKET__CONN_OPEN:
    case HOCKET__CONN_FLUSH: return c->in.len < READ_AHEAD;
    case HOCKET__CONN_CLOSED: break;
    }
    return false;
}

static void write_some(struct hocket__conn *c)
{
    struct hocket__server *s = c->server;
    if (outq_flush(&c->out, c->fd)) {
        hocket__conn_gone(c);
    } else if (hocket__outq_len(&c->out) > 0) {
        hocket__conn_touch(c);
    } else if (c->state == HOCKET__CONN_FLUSH) {
        settle(c);
    } else if (c->state == HOCKET__CONN_OPEN) {
        hocket__conn_wait(c);
        hocket__conn_watch(c);
        if (s->handler.on_drained)
            s->handler.on_drained(s->ud, c->id);
    } else {
        hocket__conn_watch(c); /* a 100 Continue that had to wait */
    }
}

static void on_poll(uv_poll_t *handle, int status, int events)
{
    struct hocket__conn *c = hocket__container_of(handle, struct hocket__conn, poll);
    if (status < 0) {
        hocket__conn_gone(c);
        return;
    }
    if (events & UV_WRITABLE)
        write_some(c);
    if (c->state == HOCKET__CONN_CLOSED)
        return;
    if (wants_input(c) && (events & (UV_READABLE | UV_DISCONNECT)))
        read_some(c);
    else if (events & UV_DISCONNECT)
        hocket__conn_gone(c);
}

void hocket__conn_watch(struct hocket__conn *c)
{
    int events = UV_DISCONNECT;
    if (c->state == HOCKET__CONN_CLOSED)
        return;
    if (wants_input(c))
        events |= UV_READABLE;
    if (hocket__outq_len(&c->out) > 0)
        events |= UV_WRITABLE;
    if (events != c->events && uv_poll_start(&c->poll, events, on_poll) == 0)
        c->events = events;
}

void hocket__conn_wake(struct hocket__conn *c)
{
    hocket__list_move(&c->server->ready, &c->ready);
    hocket__server_wake(c->server);
}

void hocket__conn_run(struct hocket__conn *c)
{
    if (c->broken)
        hocket__conn_gone(c);
    else
        hocket__conn_work(c);
}

void hocket__conn_expire(struct hocket__conn *c)
{
    bool reading = c->state == HOCKET__CONN_SHAKE || c->state == HOCKET__CONN_HEAD;
    if (c->state == HOCKET__CONN_BODY || (reading && c->in.len > 0)) {
        hocket__conn_refuse(c, 408, NULL);
    } else if (reading || c->state == HOCKET__CONN_DRAIN) {
        hocket__conn_close(c, false);
    } else {
        hocket__server_log(c->server, HOCKET_LOG_WARN, "a client does not read its answer");
        hocket__conn_gone(c);
    }
}

/* Many unfinished handshakes would keep out other clients: closes the oldest. */
static void begin_to_shake(struct hocket__conn *c)
{
    struct hocket__server *s = c->server;
    if (s->n_shaking >= MAX_SHAKING) {
        hocket__server_log(s, HOCKET_LOG_DEBUG, "a handshake is given up for a newer one");
        hocket__conn_close(
            hocket__container_of(s->shaking.list.next, struct hocket__conn, timed), false);
    }
    s->n_shaking++; /* SHAKE is how a connection begins */
    set_deadline(c, &s->shaking);
    hocket__conn_watch(c);
}

void hocket__conn_open(struct hocket__server *s, int fd, bool full)
{
    struct hocket__conn *c = hocket__zero(s->a, sizeof *c);
    if (c)
        c->server = s;
    if (!c || !wire_open(c) || uv_poll_init_socket(s->loop, &c->poll, fd)) {
        hocket__server_log(s, HOCKET_LOG_WARN, "out of memory for a connection");
        if (c)
            wire_free(c);
        hocket__free(s->a, c, sizeof *c);
        hocket__tcp_close(fd);
        return;
    }
    hocket__tcp_no_delay(fd);
    c->fd = fd;
    c->full = full;
    hocket__buf_init(&c->in, s->a, 0);
    hocket__buf_init(&c->text, s->a, 0);
    hocket__buf_init(&c->content, s->a, s->max_body);
    outq_init(&c->out, s->a, s->max_queue);
    hocket__list_init(&c->ready);
    hocket__list_init(&c->timed);
    hocket__list_add(&s->conns, &c->all);
    s->n_conns++;
    s->n_handles++;
    if (c->tls) {
        begin_to_shake(c);
    } else {
        c->state = HOCKET__CONN_HEAD;
        shaken(c);
    }
}

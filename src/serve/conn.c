/* One connection, from accept to close; conn.h has its states, request.c reads what comes. A failure that is met
 * inside of a call from outside sets `broken` and ends the connection from the loop: a caller
 * never finds its request gone under its hands.
 *
 * Time is on the client's side as rarely as possible: one that sends its head slowly, that does not
 * read its answer, or that stays without a request, is ended by one of two deadlines. While a
 * handler thinks there is none. */
#include "serve/wire.h"

#include "os/tcp.h"

#define READ_AHEAD  65536 /* of pipelined requests, while one is open */
#define MAX_SHAKING 256   /* handshakes at once */

/* ---- Time ------------------------------------------------------------------------ */

void hocket__conn_wait(struct hocket__conn *c)
{
    hocket__list_del(&c->timed);
}

static void set_state(struct hocket__conn *c, enum hocket__conn_state state)
{
    struct hocket__server *s = c->server;
    s->n_shaking -= c->state == HOCKET__CONN_SHAKE;
    s->n_shaking += state == HOCKET__CONN_SHAKE;
    c->state = state;
}

static void set_deadline(struct hocket__conn *c, struct hocket__deadlines *d)
{
    hocket__list_del(&c->timed);
    hocket__list_add(&d->list, &c->timed);
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
    hocket__outq_deinit(&c->out);
    hocket__wire_free(c);
    hocket__head_deinit(&c->head, s->a);
    hocket__free(s->a, c, sizeof *c);
    hocket__server_handle_closed(s);
}

/* From here on calls with this id find nobody, which is how an answer that comes too late ends. */
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

/* The client has left: whoever works on its request is told, once, and only if there is one that
 * was handed on. */
void hocket__conn_gone(struct hocket__conn *c)
{
    struct hocket__server *s = c->server;
    uint64_t id = c->id;
    hocket__conn_close(c, false);
    if (id && s->handler.on_closed)
        s->handler.on_closed(s->ud, id);
}

/* Our side is said to be over, and the other one read until it is as well: closing at once would
 * reset the connection under an answer that is still on its way. */
void hocket__conn_end(struct hocket__conn *c)
{
    forget_request(c);
    hocket__tcp_end(c->fd);
    set_state(c, HOCKET__CONN_DRAIN);
    hocket__buf_deinit(&c->in);
    hocket__outq_deinit(&c->out);
    set_deadline(c, &c->server->draining);
    hocket__conn_watch(c);
}

/* ---- Out ------------------------------------------------------------------------- */

static void next_request(struct hocket__conn *c)
{
    set_state(c, HOCKET__CONN_HEAD);
    c->begun = c->chunked = c->bodyless = c->raw = false;
    hocket__conn_touch(c);
    if (c->in.len > 0 && !c->busy)
        hocket__conn_wake(c);
    hocket__conn_watch(c);
}

/* What is not sent yet decides first; then whether the connection goes on. */
static void settle(struct hocket__conn *c)
{
    if (hocket__outq_len(&c->out) > 0) {
        hocket__conn_watch(c);
    } else if (c->keep_alive && !c->server->muted) {
        next_request(c);
    } else {
        hocket__wire_bye(c);
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
    int rc = hocket__wire_push(c, pieces, n, spare);
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
        hocket__wire_take(c, s->scratch, (size_t) n);
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
    case HOCKET__CONN_BODY: return !c->server->paused;
    case HOCKET__CONN_OPEN:
    case HOCKET__CONN_FLUSH: return !c->server->paused && c->in.len < READ_AHEAD;
    case HOCKET__CONN_DRAIN: return true;
    case HOCKET__CONN_CLOSED: break;
    }
    return false;
}

static void write_some(struct hocket__conn *c)
{
    struct hocket__server *s = c->server;
    if (hocket__outq_flush(&c->out, c->fd)) {
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
    hocket__list_del(&c->ready);
    hocket__list_add(&c->server->ready, &c->ready);
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
    bool shaking = c->state == HOCKET__CONN_SHAKE;
    bool reading = shaking || c->state == HOCKET__CONN_HEAD || c->state == HOCKET__CONN_BODY;
    if (reading && c->server->paused) { /* it is us who does not listen */
        set_deadline(c, shaking ? &c->server->shaking : &c->server->waiting);
    } else if (c->state == HOCKET__CONN_BODY || (reading && c->in.len > 0)) {
        hocket__conn_refuse(c, 408, NULL);
    } else if (reading || c->state == HOCKET__CONN_DRAIN) {
        hocket__conn_close(c, false);
    } else {
        hocket__server_log(c->server, HOCKET_LOG_WARN, "a client does not read its answer");
        hocket__conn_gone(c);
    }
}

void hocket__conn_shaken(struct hocket__conn *c)
{
    next_request(c);
    if (c->full)
        hocket__conn_refuse(c, 503, NULL);
}

/* Many that have begun to shake hands and do not go on would keep out those that do: the oldest goes. */
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
    if (!c || !hocket__wire_open(c) || uv_poll_init_socket(s->loop, &c->poll, fd)) {
        hocket__server_log(s, HOCKET_LOG_WARN, "out of memory for a connection");
        if (c)
            hocket__wire_free(c);
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
    hocket__outq_init(&c->out, s->a, s->max_queue);
    hocket__list_init(&c->ready);
    hocket__list_init(&c->timed);
    hocket__list_add(&s->conns, &c->all);
    s->n_conns++;
    s->n_handles++;
    if (c->tls) {
        begin_to_shake(c);
    } else {
        c->state = HOCKET__CONN_HEAD;
        hocket__conn_shaken(c);
    }
}

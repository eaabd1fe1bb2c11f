/* Lines both ways over one connected socket, in the loop. Both directions are bounded: who sends
 * lines that nobody takes is not read any more, and what the other side does not read fails to be
 * queued. A line is a view into the buffer until the next one is asked for. */

#include "sys/socket/socket.h"

#include "base/buf.h"

#include <errno.h>
#include <sys/socket.h>
#include <unistd.h>

#define READ_AT_ONCE 16384

struct hocket__stream {
    uv_poll_t poll;
    const struct hocket_allocator *a;
    int fd;
    struct hocket__buf in, out;
    size_t taken; /* of `in`: lines that were handed out */
    size_t sent;  /* of `out` */
    bool ended;   /* nothing more comes */
    bool broken;  /* nothing more goes out */
    void (*on_news)(void *ud);
    void *ud;
    void (*closed)(void *ud);
    void *closed_ud;
};

static void on_ready(uv_poll_t *poll, int status, int events);

/* A line that is whole and not taken: nothing is read beyond it, so that a flood waits on its own side. */
static bool has_line(const struct hocket__stream *s)
{
    size_t n = s->in.len - s->taken;
    return n > 0 && memchr(s->in.data + s->taken, '\n', n);
}

static bool is_full(const struct hocket__stream *s)
{
    return s->in.len - s->taken > HOCKET__LINE_MAX;
}

/* Waits for what there is room and need for. */
static void poll_for(struct hocket__stream *s)
{
    int events = (!s->ended && !has_line(s) && !is_full(s) ? UV_READABLE : 0)
                 | (!s->broken && hocket__stream_queued(s) > 0 ? UV_WRITABLE : 0);
    if (events)
        uv_poll_start(&s->poll, events, on_ready);
    else
        uv_poll_stop(&s->poll);
}

static void read_some(struct hocket__stream *s)
{
    char bytes[READ_AT_ONCE];
    ssize_t n = recv(s->fd, bytes, sizeof(bytes), 0);
    if (n > 0)
        hocket__buf_add(&s->in, bytes, (size_t) n);
    else if (n == 0 || (errno != EAGAIN && errno != EINTR))
        s->ended = true;
    if (s->in.status < 0)
        s->ended = true;
}

static void send_some(struct hocket__stream *s)
{
    size_t n = hocket__stream_queued(s);
    ssize_t sent = n > 0 ? send(s->fd, s->out.data + s->sent, n, MSG_NOSIGNAL) : 0;
    if (sent < 0 && errno != EAGAIN && errno != EINTR)
        s->broken = true;
    if (sent > 0)
        s->sent += (size_t) sent;
    if (s->broken || s->sent == s->out.len) {
        hocket__buf_reset(&s->out);
        s->sent = 0;
    }
}

static void on_ready(uv_poll_t *poll, int status, int events)
{
    struct hocket__stream *s = (struct hocket__stream *) poll;
    if (status < 0)
        s->ended = s->broken = true;
    if (events & UV_READABLE)
        read_some(s);
    if (events & UV_WRITABLE)
        send_some(s);
    poll_for(s);
    s->on_news(s->ud);
}

int hocket__stream_new(uv_loop_t *loop, const struct hocket_allocator *a, int fd, bool keeps,
    void (*on_news)(void *ud), void *ud, struct hocket__stream **out, struct hocket_error *err)
{
    struct hocket__stream *s = hocket__zero(a, sizeof(*s));
    int rc = s ? 0 : hocket__error_nomem(err);
    if (s && uv_poll_init(loop, &s->poll, fd) < 0)
        rc = hocket__error(err, HOCKET_ELIMIT, "the event loop takes no further descriptor");
    if (rc < 0) {
        hocket__free(a, s, sizeof(*s));
        close(fd);
        return rc;
    }
    s->a = a;
    s->fd = fd;
    s->on_news = on_news;
    s->ud = ud;
    hocket__buf_init(&s->in, a, HOCKET__LINE_MAX + READ_AT_ONCE * 2);
    hocket__buf_init(&s->out, a, HOCKET__QUEUE_MAX * 2);
    if (!keeps)
        uv_unref((uv_handle_t *) &s->poll);
    poll_for(s);
    *out = s;
    return 0;
}

/* What was handed out before goes, once that is worth the move. */
static void forget_taken(struct hocket__stream *s)
{
    if (s->taken == 0 || (s->taken < s->in.len && s->taken < READ_AT_ONCE))
        return;
    hocket__buf_drop(&s->in, s->taken);
    s->taken = 0;
}

int hocket__stream_line(struct hocket__stream *s, struct hocket__str *line)
{
    forget_taken(s);
    const char *begin = s->in.data ? s->in.data + s->taken : "";
    size_t n = s->in.len - s->taken;
    const char *end = n > 0 ? memchr(begin, '\n', n) : NULL;
    if (end ? (size_t) (end - begin) > HOCKET__LINE_MAX : is_full(s))
        return HOCKET_ELIMIT;
    if (!end && s->ended)
        return HOCKET_ECLOSED;
    if (end) {
        *line = hocket__str(begin, (size_t) (end - begin));
        s->taken += line->n + 1;
    }
    poll_for(s);
    return end != NULL;
}

int hocket__stream_send(struct hocket__stream *s, struct hocket__str text)
{
    if (s->broken)
        return HOCKET_ECLOSED;
    if (text.n >= HOCKET__QUEUE_MAX || hocket__stream_queued(s) + text.n >= HOCKET__QUEUE_MAX)
        return HOCKET_ELIMIT;
    if (s->sent > 0) {
        hocket__buf_drop(&s->out, s->sent);
        s->sent = 0;
    }
    if (hocket__buf_reserve(&s->out, text.n + 1) < 0) {
        s->out.status = 0;
        return HOCKET_ENOMEM;
    }
    hocket__buf_addstr(&s->out, text);
    hocket__buf_addc(&s->out, '\n');
    send_some(s);
    poll_for(s);
    return s->broken ? HOCKET_ECLOSED : 0;
}

size_t hocket__stream_queued(const struct hocket__stream *s)
{
    return s->out.len - s->sent;
}

static void on_closed(uv_handle_t *handle)
{
    struct hocket__stream *s = (struct hocket__stream *) handle;
    void (*closed)(void *) = s->closed;
    void *ud = s->closed_ud;
    hocket__buf_deinit(&s->in);
    hocket__buf_deinit(&s->out);
    hocket__free(s->a, s, sizeof(*s));
    if (closed)
        closed(ud);
}

void hocket__stream_close(struct hocket__stream *s, void (*closed)(void *ud), void *ud)
{
    s->closed = closed;
    s->closed_ud = ud;
    uv_close((uv_handle_t *) &s->poll, on_closed);
    close(s->fd);
}

/* Lines both ways over one connected socket, in the loop. Both directions are bounded: who sends
 * lines that nobody takes is not read any more, and what the other side does not read fails to be
 * queued. A line is a view into the buffer until the next one is asked for. */

#include "os/socket.h"

#include "base/buf.h"

#include <errno.h>

#include "os/linux/socket/ends.h"

#define READ_AT_ONCE  16384
#define WRITE_AT_ONCE ((size_t) 256 << 10)

struct hocket__stream {
    uv_poll_t poll;
    const struct hocket_allocator *a;
    struct hocket__ends ends;
    size_t max_line, max_queue;
    struct hocket__buf in, out;
    size_t taken;  /* of `in`: lines that were handed out */
    size_t looked; /* of `in`: where no line ends before */
    size_t sent;   /* of `out` */
    bool skips; /* a line that is too long goes alone, and not all that comes behind it as well */
    bool skipping; /* … in the middle of one */
    bool ended;    /* nothing more comes */
    bool broken;   /* nothing more goes out */
    void (*on_news)(void *ud);
    void *ud;
    void (*closed)(void *ud);
    void *closed_ud;
};

static void on_ready(uv_poll_t *poll, int status, int events);

/* The end of the next line, where it is whole. What was looked at is not looked at again, however long it gets. */
static const char *line_end(struct hocket__stream *s)
{
    size_t from = s->looked > s->taken ? s->looked : s->taken;
    const char *end = s->in.len > from ? memchr(s->in.data + from, '\n', s->in.len - from) : NULL;
    s->looked = end ? (size_t) (end - s->in.data) : s->in.len;
    return end;
}

static bool is_full(const struct hocket__stream *s)
{
    return s->in.len - s->taken > s->max_line;
}

/* Nothing is read beyond a line that is whole and not taken, so that a flood waits on its own side. */
static bool wants_more(struct hocket__stream *s)
{
    return !s->ended && !is_full(s) && !line_end(s);
}

/* Waits for what there is room and need for.
 * Two pipes are watched by one descriptor (a set of epoll), and libuv knows only that it is
 * readable; what is ready in it is asked in on_ready. */
static void poll_for(struct hocket__stream *s)
{
    bool more = wants_more(s), waits = !s->broken && hocket__stream_queued(s) > 0;
    int events = (more ? UV_READABLE : 0) | (waits ? UV_WRITABLE : 0);
    if (s->ends.set >= 0) {
        hocket__ends_watch(&s->ends, (more ? HOCKET__END_IN : 0) | (waits ? HOCKET__END_OUT : 0));
        events = s->ends.wanted ? UV_READABLE : 0;
    }
    if (events)
        uv_poll_start(&s->poll, events, on_ready);
    else
        uv_poll_stop(&s->poll);
}

static void read_some(struct hocket__stream *s)
{
    char bytes[READ_AT_ONCE];
    ssize_t n = hocket__ends_read(&s->ends, bytes, sizeof(bytes));
    if (n > 0)
        hocket__buf_add(&s->in, bytes, (size_t) n);
    else if (n == 0 || (errno != EAGAIN && errno != EINTR))
        s->ended = true;
    if (s->in.status < 0)
        s->ended = true;
}

/* At most so much in one turn: a reader as fast as we are would keep the loop here. */
static void send_some(struct hocket__stream *s)
{
    size_t n = hocket__stream_queued(s), done = 0;
    ssize_t sent = 0;
    while (done < n && done < WRITE_AT_ONCE && sent >= 0) {
        sent = hocket__ends_write(&s->ends, s->out.data + s->sent, n - done);
        if (sent > 0) {
            s->sent += (size_t) sent;
            done += (size_t) sent;
        }
    }
    if (sent < 0 && errno != EAGAIN && errno != EINTR)
        s->broken = true;
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
    if (s->ends.set >= 0) {
        unsigned ready = hocket__ends_ready(&s->ends);
        events = (ready & HOCKET__END_IN ? UV_READABLE : 0)
                 | (ready & HOCKET__END_OUT ? UV_WRITABLE : 0);
    }
    if (events & UV_READABLE)
        read_some(s);
    if (events & UV_WRITABLE)
        send_some(s);
    poll_for(s);
    s->on_news(s->ud);
}

/* Takes the ends, also when it fails.
 * Twice what is promised to the caller, as what was taken or sent is still in the buffer until it
 * is moved out. */
static int new_stream(uv_loop_t *loop, const struct hocket_allocator *a, struct hocket__ends *ends,
    size_t max_line, size_t max_queue, struct hocket__stream **out, struct hocket_error *err)
{
    struct hocket__stream *s = hocket__zero(a, sizeof(*s));
    int rc = s ? 0 : hocket__error_nomem(err);
    if (s && uv_poll_init(loop, &s->poll, hocket__ends_fd(ends)) < 0)
        rc = hocket__error(err, HOCKET_ELIMIT, "the event loop takes no further descriptor");
    if (rc < 0) {
        hocket__free(a, s, sizeof(*s));
        hocket__ends_close(ends);
        return rc;
    }
    s->a = a;
    s->ends = *ends;
    s->max_line = max_line;
    s->max_queue = max_queue;
    hocket__buf_init(&s->in, a, max_line + READ_AT_ONCE * 2);
    hocket__buf_init(&s->out, a, max_queue * 2);
    *out = s;
    return 0;
}

static void begin(struct hocket__stream *s, void (*on_news)(void *ud), void *ud)
{
    s->on_news = on_news;
    s->ud = ud;
    poll_for(s);
}

int hocket__stream_new(uv_loop_t *loop, const struct hocket_allocator *a, int fd, bool keeps,
    void (*on_news)(void *ud), void *ud, struct hocket__stream **out, struct hocket_error *err)
{
    struct hocket__ends ends;
    hocket__ends_of_socket(&ends, fd);
    int rc = new_stream(loop, a, &ends, HOCKET__LINE_MAX, HOCKET__QUEUE_MAX, out, err);
    if (rc < 0)
        return rc;
    if (!keeps)
        uv_unref((uv_handle_t *) &(*out)->poll);
    begin(*out, on_news, ud);
    return 0;
}

int hocket__stream_stdio(uv_loop_t *loop, const struct hocket_allocator *a, size_t max_line,
    size_t max_queue, void (*on_news)(void *ud), void *ud, struct hocket__stream **out,
    struct hocket_error *err)
{
    struct hocket__ends ends;
    int rc = hocket__ends_take_stdio(&ends, err);
    if (rc == 0)
        rc = new_stream(loop, a, &ends, max_line, max_queue, out, err);
    if (rc < 0)
        return rc;
    (*out)->skips = true;
    begin(*out, on_news, ud);
    return 0;
}

/* What was handed out before goes, once that is worth the move; and with a long line the memory that it has taken. */
static void forget_taken(struct hocket__stream *s)
{
    if (s->taken == 0 || (s->taken < s->in.len && s->taken < READ_AT_ONCE))
        return;
    hocket__buf_drop(&s->in, s->taken);
    s->looked = s->looked > s->taken ? s->looked - s->taken : 0;
    s->taken = 0;
    if (s->in.cap > HOCKET__LINE_MAX && s->in.len < READ_AT_ONCE)
        hocket__buf_shrink(&s->in);
}

/* Drops what there is of a line that is too long; whether its end was in it. */
static bool skip(struct hocket__stream *s)
{
    const char *end = line_end(s);
    s->taken = end ? (size_t) (end - s->in.data) + 1 : s->in.len;
    forget_taken(s);
    return end != NULL;
}

/* A file is read here: nobody tells that there is more of it. */
static bool find_line(struct hocket__stream *s)
{
    while (s->ends.in_is_file && wants_more(s))
        read_some(s);
    return line_end(s) != NULL;
}

static int too_long(struct hocket__stream *s)
{
    if (s->skips) {
        s->skipping = !skip(s);
        poll_for(s);
    }
    return HOCKET_ELIMIT;
}

/* Three ends: a line, none yet (0), and none ever (ECLOSED). The last line of a file may lack its
 * end; on a socket it was cut off with the connection, and is none. */
int hocket__stream_line(struct hocket__stream *s, struct hocket__str *line)
{
    forget_taken(s);
    while (s->skipping && find_line(s))
        s->skipping = !skip(s);
    if (s->skipping)
        skip(s);
    bool found = find_line(s) && !s->skipping;
    bool last = !found && s->skips && s->ended && s->in.len > s->taken; /* without an end */
    size_t n = s->looked - s->taken;
    if (found || last ? n > s->max_line : is_full(s))
        return too_long(s);
    if (!found && !last && s->ended)
        return HOCKET_ECLOSED;
    if (found || last) {
        *line = hocket__str(s->in.data + s->taken, n);
        s->taken += last ? n : n + 1;
    }
    poll_for(s);
    return found || last;
}

/* Whole or not at all: half a line would join with the next one. What failed for want of memory
 * does not spoil the buffer for later lines. */
int hocket__stream_send(struct hocket__stream *s, struct hocket__str text)
{
    if (s->broken)
        return HOCKET_ECLOSED;
    if (text.n >= s->max_queue || hocket__stream_queued(s) + text.n >= s->max_queue)
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

/* The poll goes before the descriptor, or libuv would watch a number that somebody else may have
 * been given by then. */
void hocket__stream_close(struct hocket__stream *s, void (*closed)(void *ud), void *ud)
{
    s->closed = closed;
    s->closed_ud = ud;
    uv_close((uv_handle_t *) &s->poll, on_closed);
    hocket__ends_close(&s->ends);
}

/* Lines in both directions over one connected socket, in the loop. Both directions are bounded: it
 * stops reading while nobody takes the lines, and refuses to queue more when the other side does not
 * read. A line is a view into the buffer until the next call for one. */
#include "os/socket.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/status.h"
#include "base/system_names.h"
#include "os/errors.h"
#include "os/posix/system.h"

/* Where a stream's bytes come from and go to: one socket, or this process's standard input and output, which
 * may be sockets, pipes, terminals and files.
 *
 * Standard input and output stay blocking: their mode is shared with other processes, such as the terminal's shell. So
 * a set of their own reports when one can be read, and writes come in pieces that a pipe takes
 * without waiting. A file is always ready, and in no set. None of this raises SIGPIPE. */

struct hocket__ends {
    int in, out;
    int set; /* -1: one socket, that the loop watches itself */
    bool in_is_file, out_is_file, in_is_socket, out_is_socket;
    unsigned wanted; /* what the set watches */
};

enum { HOCKET__END_IN = 1, HOCKET__END_OUT = 2 };

static void ends_of_socket(struct hocket__ends *e, int fd)
{
    *e = (struct hocket__ends){
        .in = fd, .out = fd, .set = -1, .in_is_socket = true, .out_is_socket = true
    };
}

/* ---- Standard input and output ---------------------------------------------- */

/* A new descriptor for the file behind `fd`; `stand_in` takes its place. */
static int take(int fd, int stand_in)
{
    int own = fcntl(fd, F_DUPFD_CLOEXEC, 3);
    if (own >= 0 && dup2(stand_in, fd) < 0) {
        close(own);
        return -1;
    }
    return own;
}

static void give_back(int own, int fd)
{
    if (own < 0)
        return;
    dup2(own, fd);
    close(own);
}

static bool is_socket(int fd)
{
    struct stat st;
    return fstat(fd, &st) == 0 && S_ISSOCK(st.st_mode);
}

/* The set goes before the descriptors that are in it. */
static void ends_close(struct hocket__ends *e)
{
    if (e->set >= 0) {
        close(e->set);
        give_back(e->in, STDIN_FILENO);
        fflush(stdout); /* text that was printed meanwhile goes to the stand-in */
        give_back(e->out, STDOUT_FILENO);
    } else {
        close(e->in);
    }
}

/* Others take their place: a library's print would otherwise land in the
 * middle of a line of the protocol, and the next file would get a free descriptor. */
static int ends_take_stdio(struct hocket__ends *e, struct hocket_error *err)
{
    int nothing = open("/dev/null", O_RDONLY | O_CLOEXEC);
    *e = (struct hocket__ends){ .in = -1, .out = -1, .set = hocket__system_set_open() };
    if (nothing >= 0 && e->set >= 0)
        e->in = take(STDIN_FILENO, nothing);
    if (e->in >= 0)
        e->out = take(STDOUT_FILENO, STDERR_FILENO);
    int code = errno;
    if (nothing >= 0)
        close(nothing);
    if (e->out < 0) {
        ends_close(e);
        return hocket__error(err, hocket__errno_status(code),
            "cannot take standard input and output: %s", hocket__errno_text(code));
    }
    e->in_is_file = hocket__system_set_is_file(e->set, e->in);
    e->out_is_file = hocket__system_set_is_file(e->set, e->out);
    e->in_is_socket = is_socket(e->in);
    e->out_is_socket = is_socket(e->out);
    return 0;
}

/* ---- Watching --------------------------------------------------------------- */

/* The descriptor for the loop to poll. */
static int ends_fd(const struct hocket__ends *e)
{
    return e->set >= 0 ? e->set : e->in;
}

/* Removes an end that nobody wants from the set, which would report its end again and again. */
static void watch_one(struct hocket__ends *e, int fd, unsigned bit, unsigned what)
{
    bool writes = bit == HOCKET__END_OUT;
    if ((what & bit) && !(e->wanted & bit))
        hocket__system_set_add(e->set, fd, bit, writes);
    if (!(what & bit) && (e->wanted & bit))
        hocket__system_set_remove(e->set, fd, writes);
}

static void ends_watch(struct hocket__ends *e, unsigned what)
{
    if (e->in_is_file)
        what &= ~(unsigned) HOCKET__END_IN;
    if (e->out_is_file)
        what &= ~(unsigned) HOCKET__END_OUT;
    watch_one(e, e->in, HOCKET__END_IN, what);
    watch_one(e, e->out, HOCKET__END_OUT, what);
    e->wanted = what;
}

/* ---- Bytes ------------------------------------------------------------------ */

static bool is_ready(int fd, short what)
{
    struct pollfd p = { .fd = fd, .events = what };
    return poll(&p, 1, 0) > 0;
}

static ssize_t ends_read(const struct hocket__ends *e, char *to, size_t n)
{
    if (e->in_is_socket)
        return recv(e->in, to, n, MSG_DONTWAIT);
    if (!e->in_is_file && !is_ready(e->in, POLLIN)) {
        errno = EAGAIN;
        return -1;
    }
    return read(e->in, to, n);
}

/* As write; it takes a SIGPIPE that the write raised before it is delivered. */
static ssize_t write_quietly(int fd, const char *from, size_t n)
{
    sigset_t pipe_signal, before, pending;
    sigemptyset(&pipe_signal);
    sigaddset(&pipe_signal, SIGPIPE);
    sigpending(&pending);
    pthread_sigmask(SIG_BLOCK, &pipe_signal, &before);
    ssize_t written = write(fd, from, n);
    int code = errno;
    if (written < 0 && code == EPIPE && !sigismember(&pending, SIGPIPE)) {
        sigpending(&pending);
        if (sigismember(&pending, SIGPIPE))
            sigwait(&pipe_signal, &(int){ 0 });
    }
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    errno = code;
    return written;
}

/* A pipe that is ready takes PIPE_BUF bytes at once. */
static ssize_t ends_write(const struct hocket__ends *e, const char *from, size_t n)
{
    if (e->out_is_socket)
        return send(e->out, from, n, HOCKET__QUIETLY | MSG_DONTWAIT);
    if (!e->out_is_file && !is_ready(e->out, POLLOUT)) {
        errno = EAGAIN;
        return -1;
    }
    return write_quietly(e->out, from, n < PIPE_BUF ? n : PIPE_BUF);
}

#define READ_AT_ONCE  16384
#define WRITE_AT_ONCE ((size_t) 256 << 10)

struct hocket__stream {
    uv_poll_t poll;
    const struct hocket_allocator *a;
    struct hocket__ends ends;
    size_t max_line, max_queue;
    struct hocket__buf in, out;
    size_t taken;  /* of `in`: lines that were handed out */
    size_t looked; /* of `in`: no line ends before this byte */
    size_t sent;   /* of `out` */
    bool skips;    /* drops a line that is too long, instead of ending the stream */
    bool skipping; /* … in the middle of one */
    bool ended;    /* nothing more comes */
    bool broken;   /* nothing more goes out */
    void (*on_news)(void *ud);
    void *ud;
    void (*closed)(void *ud);
    void *closed_ud;
};

static void on_ready(uv_poll_t *poll, int status, int events);

/* The end of the next line, if it is whole. No byte is searched twice, however long the line gets. */
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

/* Reads nothing while a whole line waits, so that a flood waits on the other side. */
static bool wants_more(struct hocket__stream *s)
{
    return !s->ended && !is_full(s) && !line_end(s);
}

/* Watches the directions that have room or bytes to send.
 * One descriptor (a set) watches two pipes, and libuv only learns that it is
 * readable; on_ready asks which one is ready. */
static void poll_for(struct hocket__stream *s)
{
    bool more = wants_more(s), waits = !s->broken && hocket__stream_queued(s) > 0;
    int events = (more ? UV_READABLE : 0) | (waits ? UV_WRITABLE : 0);
    if (s->ends.set >= 0) {
        ends_watch(&s->ends, (more ? HOCKET__END_IN : 0) | (waits ? HOCKET__END_OUT : 0));
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
    ssize_t n = ends_read(&s->ends, bytes, sizeof(bytes));
    if (n > 0)
        hocket__buf_add(&s->in, bytes, (size_t) n);
    else if (n == 0 || (errno != EAGAIN && errno != EINTR))
        s->ended = true;
    if (s->in.status < 0)
        s->ended = true;
}

/* The most in one turn: a reader as fast as we are would keep the loop here. */
static void send_some(struct hocket__stream *s)
{
    size_t n = hocket__stream_queued(s), done = 0;
    ssize_t sent = 0;
    while (done < n && done < WRITE_AT_ONCE && sent >= 0) {
        sent = ends_write(&s->ends, s->out.data + s->sent, n - done);
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
        unsigned ready = hocket__system_set_ready(s->ends.set);
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
    if (s && uv_poll_init(loop, &s->poll, ends_fd(ends)) < 0)
        rc = hocket__error(err, HOCKET_ELIMIT, "the event loop takes no further descriptor");
    if (rc < 0) {
        hocket__free(a, s, sizeof(*s));
        ends_close(ends);
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
    ends_of_socket(&ends, fd);
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
    int rc = ends_take_stdio(&ends, err);
    if (rc == 0)
        rc = new_stream(loop, a, &ends, max_line, max_queue, out, err);
    if (rc < 0)
        return rc;
    (*out)->skips = true;
    begin(*out, on_news, ud);
    return 0;
}

/* Drops lines that were handed out, once that is worth the move, and the memory of a long line with it. */
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

/* Drops the bytes so far of a line that is too long. Whether its end was among them. */
static bool skip(struct hocket__stream *s)
{
    const char *end = line_end(s);
    s->taken = end ? (size_t) (end - s->in.data) + 1 : s->in.len;
    forget_taken(s);
    return end != NULL;
}

/* A file is read here: no event reports more bytes of it. */
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
    ends_close(&s->ends);
}

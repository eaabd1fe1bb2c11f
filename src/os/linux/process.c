/* The host's end of a running program: a socket to its launcher, the read ends of two pipes, and a
 * socket for the input of an interactive program. The loop watches each. The launcher's answer comes
 * last, and the end of its socket is the only sign of the program's end, so nothing here waits for a pid.
 *
 * The process frees itself when the loop has let go of the last of its handles.
 *
 * Each watch owns its descriptor until end_watch, which runs once for it. Callbacks may close the
 * process from inside, so code behind a callback checks the watch again. */
#include "os/process.h"

#include "os/descriptors.h"
#include "os/errors.h"
#include "os/file.h"
#include "os/launcher.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#define PIECE 65536

enum { CONTROL, OUTPUT, ERRORS, INPUT, N_POLLS };

/* What the loop watches: the socket to the launcher, which ends with it, two pipes, and a socket for
 * the input of an interactive program (a socket, as in Node: writing to one raises no signal). */
struct watch {
    uv_poll_t poll; /* first: on_ready finds the watch by it */
    int fd;         /* -1: over */
};

struct hocket__process {
    const struct hocket_allocator *a;
    uv_loop_t *loop;
    const struct hocket__process_handler *handler;
    void *ud;
    struct watch watches[N_POLLS];
    int handles;            /* that the loop still has */
    struct hocket__buf out; /* the request, until it is sent */
    struct hocket__buf in;  /* the launcher's answer */
    struct hocket__buf to;  /* what is to go to its standard input */
    bool last_input;        /* and nothing after it */
    bool held;              /* its output is not read now */
    bool silent;            /* closed by the owner: no callback */
    void (*closed)(void *ud);
    void *closed_ud;
};

static int fail(struct hocket_error *err, int code)
{
    char words[HOCKET__ERRNO_WORDS];
    if (code == ENOMEM)
        return hocket__error_nomem(err);
    hocket__error(err, HOCKET_EIO, "cannot start a program: %s", hocket__errno_words(code, words));
    if (err)
        err->retryable = hocket__errno_is_passing(code);
    return HOCKET_EIO;
}

/* ---- Leaving the loop ----------------------------------------------------------------- */

static void free_process(struct hocket__process *p)
{
    hocket__buf_deinit(&p->out);
    hocket__buf_deinit(&p->in);
    hocket__buf_deinit(&p->to);
    hocket__free(p->a, p, sizeof(*p));
}

/* An unreadable answer is reported with its most likely cause: a launcher of another build, or
 * one that was killed. */
static void report_exit(struct hocket__process *p)
{
    struct hocket__launch_result result;
    if (hocket__launch_result_read(hocket__buf_str(&p->in), &result) < 0) {
        bool unheard = p->in.status == HOCKET_ENOMEM;
        result.status = unheard ? HOCKET_ENOMEM : HOCKET_EUNSUPPORTED;
        snprintf(result.message, sizeof(result.message), "%s",
            unheard ? "out of memory"
                    : "the launcher ended without a word (is it of another version?)");
    }
    p->handler->on_exit(p->ud, &result);
}

static void on_handle_closed(uv_handle_t *h)
{
    struct hocket__process *p = h->data;
    if (--p->handles > 0)
        return;
    if (!p->silent)
        report_exit(p);
    else if (p->closed)
        p->closed(p->closed_ud);
    free_process(p);
}

static void end_watch(struct hocket__process *p, int which)
{
    struct watch *w = &p->watches[which];
    if (w->fd < 0)
        return;
    /* uv_close first: a poll handle has to be stopped while its descriptor is still there */
    uv_close((uv_handle_t *) &w->poll, on_handle_closed);
    close(w->fd);
    w->fd = -1;
}

/* ---- Reading --------------------------------------------------------------------------- */

/* Output that comes after the owner has closed is read, so that the pipe empties, and dropped. */
static void hear(struct hocket__process *p, int which, const char *piece, size_t n)
{
    if (which == CONTROL)
        hocket__buf_add(&p->in, piece, n);
    else if (!p->silent)
        p->handler->on_output(p->ud, which == OUTPUT ? 1 : 2, piece, n);
}

/* The launcher sends a descriptor where a program has a proxy: the socket on which the proxy is to
 * listen. */
static int descriptor_of(struct msghdr *m)
{
    struct cmsghdr *c = CMSG_FIRSTHDR(m);
    int fd = -1;
    if (c && c->cmsg_type == SCM_RIGHTS && c->cmsg_len == CMSG_LEN(sizeof(fd)))
        memcpy(&fd, CMSG_DATA(c), sizeof(fd));
    return fd;
}

/* Bytes that come with a descriptor are not part of the answer. */
static ssize_t hear_launcher(struct hocket__process *p, char *piece, size_t size)
{
    union {
        char space[CMSG_SPACE(sizeof(int))];
        struct cmsghdr align;
    } control;
    struct iovec text = { piece, size };
    struct msghdr m = { .msg_iov = &text,
        .msg_iovlen = 1,
        .msg_control = control.space,
        .msg_controllen = sizeof(control.space) };
    ssize_t n = recvmsg(p->watches[CONTROL].fd, &m, MSG_CMSG_CLOEXEC);
    int fd = n > 0 ? descriptor_of(&m) : -1;
    if (fd < 0)
        return n;
    if (p->silent || !p->handler->on_socket)
        close(fd);
    else
        p->handler->on_socket(p->ud, fd);
    errno = EINTR; /* and on with what follows */
    return -1;
}

static ssize_t read_piece(struct hocket__process *p, int which, char *piece, size_t size)
{
    return which == CONTROL ? hear_launcher(p, piece, size)
                            : read(p->watches[which].fd, piece, size);
}

/* Reads at most `rounds` pieces, so that others on the loop get their turn. False
 * at the end, or when a callback closed the process. */
static bool drain(struct hocket__process *p, int which, int rounds)
{
    char piece[PIECE];
    while (rounds-- > 0) {
        ssize_t n = read_piece(p, which, piece, sizeof(piece));
        if (n < 0 && errno == EINTR)
            continue;
        /* an error other than "nothing there now" is the end, too */
        if (n < 0)
            return errno == EAGAIN;
        if (n == 0)
            return false;
        hear(p, which, piece, (size_t) n);
        if (p->watches[which].fd < 0)
            return false;
    }
    return true;
}

/* Sends as much as the socket takes. False when the other side reads no more; then nothing waits.
 * It is a socket and not a pipe because MSG_NOSIGNAL prevents SIGPIPE when the program has
 * gone. */
static bool send_off(int fd, struct hocket__buf *out)
{
    size_t sent = 0;
    int code = 0;
    while (sent < out->len && code == 0) {
        ssize_t n = send(fd, out->data + sent, out->len - sent, MSG_NOSIGNAL | MSG_DONTWAIT);
        sent += n > 0 ? (size_t) n : 0;
        code = n < 0 && errno != EINTR ? errno : 0;
    }
    if (code != 0 && code != EAGAIN)
        hocket__buf_reset(out);
    else
        hocket__buf_drop(out, sent);
    return code == 0 || code == EAGAIN;
}

/* A launcher that reads no more is ending: the loop is about to see it. */
static void send_request(struct hocket__process *p)
{
    send_off(p->watches[CONTROL].fd, &p->out);
}

/* The launcher is gone, and every writer with it: the pipes hold the rest of the output. */
static void on_launcher_ended(struct hocket__process *p)
{
    /* limited, since a program that escaped its sandbox could write for ever */
    for (int i = OUTPUT; i <= ERRORS; i++)
        if (p->watches[i].fd >= 0)
            drain(p, i, 64);
    for (int i = 0; i < N_POLLS; i++)
        end_watch(p, i);
}

/* ---- Talking --------------------------------------------------------------------------- */

static void on_writable(uv_poll_t *poll, int status, int events);

/* A program may end its input and work on: that is no reason to end it. */
static void send_input(struct hocket__process *p)
{
    struct watch *w = &p->watches[INPUT];
    if (w->fd < 0)
        return;
    bool hears = send_off(w->fd, &p->to);
    if (!hears || (p->to.len == 0 && p->last_input))
        end_watch(p, INPUT);
    else if (p->to.len == 0)
        uv_poll_stop(&w->poll);
    else
        uv_poll_start(&w->poll, UV_WRITABLE, on_writable);
}

static void on_writable(uv_poll_t *poll, int status, int events)
{
    struct hocket__process *p = poll->data;
    (void) events;
    if (status < 0) {
        hocket__buf_reset(&p->to);
        end_watch(p, INPUT);
    } else {
        send_input(p);
    }
    if (p->to.len == 0 && !p->silent && p->handler->on_taken)
        p->handler->on_taken(p->ud);
}

/* Refused as a whole when it does not fit, so that a program never gets a part of a message. */
int hocket__process_write(struct hocket__process *p, struct hocket__str text)
{
    if (p->watches[INPUT].fd < 0 || p->last_input)
        return HOCKET_ECLOSED;
    int rc = hocket__buf_addstr(&p->to, text);
    if (rc < 0) { /* the content is as it was */
        p->to.status = 0;
        return rc;
    }
    send_input(p);
    return 0;
}

size_t hocket__process_waiting(const struct hocket__process *p)
{
    return p->to.len;
}

/* Now, or after the waiting bytes are sent. */
void hocket__process_end_input(struct hocket__process *p)
{
    p->last_input = true;
    if (p->to.len == 0)
        end_watch(p, INPUT);
}

/* ---- Reading, from the loop -------------------------------------------------------------- */

static void on_ready(uv_poll_t *poll, int status, int events)
{
    struct hocket__process *p = poll->data;
    int which = (int) ((struct watch *) poll - p->watches);
    if (which == CONTROL)
        send_request(p);
    if (status < 0 || !drain(p, which, 16)) {
        if (which == CONTROL)
            on_launcher_ended(p);
        else
            end_watch(p, which);
    } else if (which == CONTROL && (events & UV_WRITABLE) && p->out.len == 0) {
        uv_poll_start(poll, UV_READABLE, on_ready);
    }
}

/* For an owner that cannot take more output at the moment: the pipe fills, and the program waits in
 * its write. */
void hocket__process_hold(struct hocket__process *p, bool held)
{
    struct watch *w = &p->watches[OUTPUT];
    if (w->fd < 0 || p->held == held)
        return;
    p->held = held;
    if (held)
        uv_poll_stop(&w->poll);
    else
        uv_poll_start(&w->poll, UV_READABLE, on_ready);
}

/* ---- Starting -------------------------------------------------------------------------- */

/* Both ends of what connects it: ours in watches, the launcher's by their places there. */
struct ends {
    int ours[N_POLLS], theirs[HOCKET__LAUNCHER_FDS];
};

static void close_all(int *fds, int n)
{
    for (int i = 0; i < n; i++)
        if (fds[i] >= 0)
            close(fds[i]);
}

static int input_of(struct hocket__str text)
{
    if (text.n == 0)
        return open("/dev/null", O_RDONLY | O_CLOEXEC);
    /* A file in memory and not a pipe: a program that never reads its input blocks nobody. */
    int fd = memfd_create("input", MFD_CLOEXEC);
    if (fd >= 0 && hocket__write_all(fd, text) < 0) {
        close(fd);
        return -1;
    }
    if (fd >= 0)
        lseek(fd, 0, SEEK_SET);
    return fd;
}

/* Ours can be written to, and theirs read from, and nothing else. */
static bool connect_input(struct ends *e)
{
    int pair[2];
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) < 0)
        return false;
    e->ours[INPUT] = pair[0];
    e->theirs[0] = pair[1];
    shutdown(pair[0], SHUT_RD);
    return true;
}

static bool connect_ends(struct ends *e, const struct hocket__process_spec *spec)
{
    int pair[2];
    /* every byte 0xff: each descriptor is -1, so close_all may be called at any point */
    memset(e, -1, sizeof(*e));
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) < 0)
        return false;
    e->ours[CONTROL] = pair[0];
    e->theirs[HOCKET__LAUNCHER_SOCKET] = pair[1];
    for (int i = OUTPUT; i <= ERRORS; i++) {
        if (pipe2(pair, O_CLOEXEC) < 0)
            return false;
        e->ours[i] = pair[0];
        e->theirs[i] = pair[1];
    }
    if (spec->talks ? !connect_input(e) : (e->theirs[0] = input_of(spec->input)) < 0)
        return false;
    for (int i = CONTROL; i <= ERRORS; i++)
        fcntl(e->ours[i], F_SETFL, fcntl(e->ours[i], F_GETFL) | O_NONBLOCK);
    return true;
}

/* The length stands first, so that the launcher knows when it has all; one byte more is reserved
 * for "stop", which has to be possible when memory is out. */
static int write_request(
    struct hocket__process *p, const struct hocket__launch *launch, struct hocket_error *err)
{
    uint32_t n = 0;
    hocket__buf_add(&p->out, (const char *) &n, sizeof(n));
    int rc = hocket__launch_write(launch, &p->out);
    if (rc == 0)
        rc = hocket__buf_reserve(&p->out, 1); /* hocket__process_stop cannot fail */
    if (rc == HOCKET_ENOMEM)
        return hocket__error_nomem(err);
    if (rc < 0)
        return hocket__error(err, rc,
            "cannot start a program: its arguments and environment are larger than %zu bytes",
            HOCKET__LAUNCH_MAX);
    n = (uint32_t) (p->out.len - sizeof(n));
    memcpy(p->out.data, &n, sizeof(n));
    return 0;
}

/* 0, or the loop's error when it cannot watch one of them. Then all are closed, and the launcher ends
 * the program that has begun. */
static int watch_all(struct hocket__process *p, struct ends *e)
{
    int rc = 0;
    for (int i = 0; i < N_POLLS && rc == 0; i++) {
        struct watch *w = &p->watches[i];
        if (e->ours[i] < 0) /* not interactive */
            continue;
        w->poll.data = p;
        rc = uv_poll_init(p->loop, &w->poll, e->ours[i]);
        if (rc < 0)
            break;
        w->fd = e->ours[i];
        e->ours[i] = -1;
        p->handles++;
    }
    if (rc < 0) {
        close_all(e->ours, N_POLLS);
        return rc;
    }
    send_request(p); /* as a rule all of it */
    for (int i = CONTROL; i <= ERRORS; i++)
        uv_poll_start(&p->watches[i].poll,
            UV_READABLE | (i == CONTROL && p->out.len > 0 ? UV_WRITABLE : 0), on_ready);
    return 0;
}

bool hocket__process_needs_launcher(void)
{
    return true;
}

/* The launcher's ends are closed here in any case: it has its own copies, and while ours are open
 * the pipes would not end with the program. */
int hocket__process_start(uv_loop_t *loop, const struct hocket_allocator *a,
    const struct hocket__process_spec *spec, const struct hocket__process_handler *handler,
    void *ud, struct hocket__process **out, struct hocket_error *err)
{
    struct ends e;
    struct hocket__process *p = hocket__zero(a, sizeof(*p));
    if (!p)
        return hocket__error_nomem(err);
    p->a = a;
    p->loop = loop;
    p->handler = handler;
    p->ud = ud;
    for (int i = 0; i < N_POLLS; i++)
        p->watches[i].fd = -1;
    hocket__buf_init(&p->out, a, HOCKET__LAUNCH_MAX);
    hocket__buf_init(&p->in, a, 65536);
    hocket__buf_init(&p->to, a, HOCKET__PROCESS_WAITING);
    int rc = write_request(p, &spec->launch, err);
    if (rc == 0)
        rc = connect_ends(&e, spec)
                 ? hocket__launchers_start(spec->launchers, spec->launcher, e.theirs, err)
                 : fail(err, errno);
    else
        memset(&e, -1, sizeof(e));
    close_all(e.theirs, HOCKET__LAUNCHER_FDS);
    if (rc < 0) {
        close_all(e.ours, N_POLLS);
        free_process(p);
        return rc;
    }
    rc = watch_all(p, &e);
    if (rc == 0) {
        *out = p;
        return 0;
    }
    rc = fail(err, -rc);
    if (p->handles > 0)
        hocket__process_close(p, NULL, NULL);
    else
        free_process(p);
    return rc;
}

/* ---- Ending ---------------------------------------------------------------------------- */

/* Asks the launcher, which ends the tree by SIGTERM and then SIGKILL, and reports it in its
 * answer. */
void hocket__process_stop(struct hocket__process *p)
{
    if (p->watches[CONTROL].fd < 0)
        return;
    hocket__buf_addc(&p->out, 't');
    send_request(p);
}

/* With the control socket the launcher loses its host, and ends everything that it has started. */
void hocket__process_close(struct hocket__process *p, void (*closed)(void *ud), void *ud)
{
    p->silent = true;
    p->closed = closed;
    p->closed_ud = ud;
    for (int i = 0; i < N_POLLS; i++)
        end_watch(p, i);
}

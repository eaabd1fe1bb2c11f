/* The two ends of a stream (ends.h). A socket is read and written with flags that keep it from
 * waiting; what was given as standard input or output may not be made non-blocking, so each read
 * and write asks poll first. */
#include "os/linux/socket/ends.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/system_names.h"
#include "os/errors.h"

void hocket__ends_of_socket(struct hocket__ends *e, int fd)
{
    *e = (struct hocket__ends){
        .in = fd, .out = fd, .set = -1, .in_is_socket = true, .out_is_socket = true
    };
}

/* ---- Standard input and output ---------------------------------------------- */

/* A descriptor of its own for what stands at `fd`, where `stand_in` stands from then on. */
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

/* Whether it cannot be watched, since it is always ready. */
static bool is_file(int set, int fd)
{
    struct epoll_event event = { .events = 0, .data.fd = fd };
    if (epoll_ctl(set, EPOLL_CTL_ADD, fd, &event) != 0)
        return errno == EPERM;
    epoll_ctl(set, EPOLL_CTL_DEL, fd, NULL);
    return false;
}

/* Something stands in their place from then on: a print of some library would otherwise land in the
 * middle of a line of the protocol, and a descriptor that is free would become the next file's. */
int hocket__ends_take_stdio(struct hocket__ends *e, struct hocket_error *err)
{
    int nothing = open("/dev/null", O_RDONLY | O_CLOEXEC);
    *e = (struct hocket__ends){ .in = -1, .out = -1, .set = epoll_create1(EPOLL_CLOEXEC) };
    if (nothing >= 0 && e->set >= 0)
        e->in = take(STDIN_FILENO, nothing);
    if (e->in >= 0)
        e->out = take(STDOUT_FILENO, STDERR_FILENO);
    int code = errno;
    if (nothing >= 0)
        close(nothing);
    if (e->out < 0) {
        hocket__ends_close(e);
        return hocket__error(err, hocket__errno_status(code),
            "cannot take standard input and output: %s", hocket__errno_text(code));
    }
    e->in_is_file = is_file(e->set, e->in);
    e->out_is_file = is_file(e->set, e->out);
    e->in_is_socket = is_socket(e->in);
    e->out_is_socket = is_socket(e->out);
    return 0;
}

/* The set goes before the descriptors that are in it. */
void hocket__ends_close(struct hocket__ends *e)
{
    if (e->set >= 0) {
        close(e->set);
        give_back(e->in, STDIN_FILENO);
        fflush(stdout); /* what was printed meanwhile goes where it was printed to */
        give_back(e->out, STDOUT_FILENO);
    } else {
        close(e->in);
    }
}

/* ---- Watching --------------------------------------------------------------- */

int hocket__ends_fd(const struct hocket__ends *e)
{
    return e->set >= 0 ? e->set : e->in;
}

/* One that is not wanted is not in the set: its end would be told again and again. */
static void watch_one(struct hocket__ends *e, int fd, unsigned bit, uint32_t events, unsigned what)
{
    struct epoll_event event = { .events = events, .data.u32 = bit };
    if ((what & bit) && !(e->wanted & bit))
        epoll_ctl(e->set, EPOLL_CTL_ADD, fd, &event);
    if (!(what & bit) && (e->wanted & bit))
        epoll_ctl(e->set, EPOLL_CTL_DEL, fd, NULL);
}

void hocket__ends_watch(struct hocket__ends *e, unsigned what)
{
    if (e->in_is_file)
        what &= ~(unsigned) HOCKET__END_IN;
    if (e->out_is_file)
        what &= ~(unsigned) HOCKET__END_OUT;
    watch_one(e, e->in, HOCKET__END_IN, EPOLLIN, what);
    watch_one(e, e->out, HOCKET__END_OUT, EPOLLOUT, what);
    e->wanted = what;
}

unsigned hocket__ends_ready(const struct hocket__ends *e)
{
    struct epoll_event events[2];
    unsigned ready = 0;
    int n = epoll_wait(e->set, events, 2, 0);
    for (int i = 0; i < n; i++)
        ready |= events[i].data.u32;
    return ready;
}

/* ---- Bytes ------------------------------------------------------------------ */

static bool is_ready(int fd, short what)
{
    struct pollfd p = { .fd = fd, .events = what };
    return poll(&p, 1, 0) > 0;
}

ssize_t hocket__ends_read(const struct hocket__ends *e, char *to, size_t n)
{
    if (e->in_is_socket)
        return recv(e->in, to, n, MSG_DONTWAIT);
    if (!e->in_is_file && !is_ready(e->in, POLLIN)) {
        errno = EAGAIN;
        return -1;
    }
    return read(e->in, to, n);
}

/* As write; the signal that it raises where nobody reads any more is taken before anybody hears of it. */
static ssize_t write_quietly(int fd, const char *from, size_t n)
{
    sigset_t pipe_signal, before, pending;
    sigemptyset(&pipe_signal);
    sigaddset(&pipe_signal, SIGPIPE);
    sigpending(&pending);
    pthread_sigmask(SIG_BLOCK, &pipe_signal, &before);
    ssize_t written = write(fd, from, n);
    int code = errno;
    if (written < 0 && code == EPIPE && !sigismember(&pending, SIGPIPE))
        sigtimedwait(&pipe_signal, NULL, &(struct timespec){ 0 });
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    errno = code;
    return written;
}

/* A pipe that is ready takes PIPE_BUF bytes at once. */
ssize_t hocket__ends_write(const struct hocket__ends *e, const char *from, size_t n)
{
    if (e->out_is_socket)
        return send(e->out, from, n, MSG_NOSIGNAL | MSG_DONTWAIT);
    if (!e->out_is_file && !is_ready(e->out, POLLOUT)) {
        errno = EAGAIN;
        return -1;
    }
    return write_quietly(e->out, from, n < PIPE_BUF ? n : PIPE_BUF);
}

#include "os/tcp.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "os/posix/system.h"

#ifdef SOCK_NONBLOCK

static int open_socket(int family, int type, int protocol)
{
    return socket(family, type | SOCK_CLOEXEC | SOCK_NONBLOCK, protocol);
}

static int accept_next(int listener)
{
    return accept4(listener, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
}

#else

/* A program that is started by another thread meanwhile may get it: there is no call that does both. */
static int prepare(int fd)
{
    int on = 1;
    if (fd >= 0) {
        fcntl(fd, F_SETFD, FD_CLOEXEC);
        fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) | O_NONBLOCK);
        setsockopt(fd, SOL_SOCKET, SO_NOSIGPIPE, &on, sizeof(on));
    }
    return fd;
}

static int open_socket(int family, int type, int protocol)
{
    return prepare(socket(family, type, protocol));
}

static int accept_next(int listener)
{
    return prepare(accept(listener, NULL, NULL));
}

#endif

static int close_failed(int fd)
{
    int code = errno;
    close(fd);
    return -code;
}

int hocket__tcp_open(int family, int type, int protocol)
{
    int fd = open_socket(family, type, protocol);
    return fd < 0 ? -errno : fd;
}

int hocket__tcp_listen(const struct sockaddr *address)
{
    int on = 1, fd = open_socket(address->sa_family, SOCK_STREAM, 0);
    socklen_t len =
        address->sa_family == AF_INET6 ? sizeof(struct sockaddr_in6) : sizeof(struct sockaddr_in);
    if (fd < 0)
        return -errno;
    if (setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on)) || bind(fd, address, len)
        || listen(fd, SOMAXCONN))
        return close_failed(fd);
    return fd;
}

int hocket__tcp_take(int fd)
{
    int on = 0;
    socklen_t len = sizeof(on);
    if (getsockopt(fd, SOL_SOCKET, SO_ACCEPTCONN, &on, &len))
        return -errno;
    if (!on)
        return UV_EINVAL;
    if (fcntl(fd, F_SETFD, FD_CLOEXEC) || fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) | O_NONBLOCK))
        return -errno;
    return fd;
}

int hocket__tcp_accept(int listener)
{
    int fd = accept_next(listener);
    return fd >= 0 ? fd : errno == EWOULDBLOCK ? UV_EAGAIN : -errno;
}

int hocket__tcp_connect(const struct sockaddr *to, size_t len)
{
    int fd = open_socket(to->sa_family, SOCK_STREAM, 0);
    if (fd < 0)
        return -errno;
    return connect(fd, to, (socklen_t) len) < 0 && errno != EINPROGRESS ? close_failed(fd) : fd;
}

int hocket__tcp_error(int fd)
{
    int code = 0;
    socklen_t size = sizeof(code);
    return getsockopt(fd, SOL_SOCKET, SO_ERROR, &code, &size) < 0 ? -errno : -code;
}

#ifndef POLLRDHUP
#define POLLRDHUP 0 /* POLLHUP says it there */
#endif

bool hocket__tcp_ended(int fd)
{
    struct pollfd at = { .fd = fd, .events = POLLRDHUP };
    return poll(&at, 1, 0) > 0 && (at.revents & (POLLRDHUP | POLLHUP | POLLERR | POLLNVAL));
}

/* Interrupted is as good as nothing there: the loop says when to try again. */
static int64_t later(void)
{
    return errno == EWOULDBLOCK || errno == EINTR ? UV_EAGAIN : -errno;
}

int64_t hocket__tcp_read(int fd, void *to, size_t n)
{
    ssize_t got = recv(fd, to, n, 0);
    return got >= 0 ? got : later();
}

/* sendmsg only looks at the pieces, which are laid out as libuv's. */
int64_t hocket__tcp_write(int fd, const uv_buf_t *pieces, size_t n)
{
    struct msghdr msg = { .msg_iovlen = n };
    ssize_t sent;
    memcpy(&msg.msg_iov, &pieces, sizeof(pieces));
    do
        sent = sendmsg(fd, &msg, HOCKET__QUIETLY);
    while (sent < 0 && errno == EINTR);
    return sent >= 0 ? sent : errno == ENOBUFS ? UV_EAGAIN : later();
}

void hocket__tcp_no_delay(int fd)
{
    int on = 1;
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
}

void hocket__tcp_end(int fd)
{
    shutdown(fd, SHUT_WR);
}

void hocket__tcp_mute(int listener)
{
    shutdown(listener, SHUT_RDWR);
}

void hocket__tcp_reset_at_close(int fd)
{
    struct linger now = { .l_onoff = 1, .l_linger = 0 };
    setsockopt(fd, SOL_SOCKET, SO_LINGER, &now, sizeof(now));
}

void hocket__tcp_close(int fd)
{
    close(fd);
}

/* ---- Addresses ------------------------------------------------------------------------- */

int hocket__tcp_port(int fd)
{
    struct sockaddr_storage bound = { 0 };
    socklen_t len = sizeof(bound);
    struct sockaddr_in v4;
    if (getsockname(fd, (struct sockaddr *) &bound, &len))
        return 0;
    memcpy(&v4, &bound, sizeof(v4)); /* the port of an IPv6 address is at the same place */
    return ntohs(v4.sin_port);
}

bool hocket__tcp_peer(int fd, char *out, size_t size)
{
    union {
        struct sockaddr any;
        struct sockaddr_in v4;
        struct sockaddr_in6 v6;
        struct sockaddr_storage room;
    } at = { 0 };
    socklen_t len = sizeof(at);
    if (getpeername(fd, &at.any, &len) < 0)
        return false;
    if (at.any.sa_family == AF_INET)
        return uv_ip4_name(&at.v4, out, size) == 0;
    return at.any.sa_family == AF_INET6 && uv_ip6_name(&at.v6, out, size) == 0;
}

#include "os/tcp.h"

#include <string.h>

/* Numbers of sockets fit into an int: only 32 bits of a handle count. */
static SOCKET of(int fd)
{
    return (SOCKET) fd;
}

static int failed(void)
{
    int code = WSAGetLastError();
    return code == WSAEWOULDBLOCK ? UV_EAGAIN : uv_translate_sys_error(code);
}

static int close_failed(SOCKET s)
{
    int rc = failed();
    closesocket(s);
    return rc;
}

static int prepare(SOCKET s)
{
    u_long on = 1;
    if (s == INVALID_SOCKET)
        return failed();
    SetHandleInformation((HANDLE) s, HANDLE_FLAG_INHERIT, 0);
    return ioctlsocket(s, FIONBIO, &on) ? close_failed(s) : (int) s;
}

/* libuv has begun winsock when a loop was made; a caller may have none yet. */
static SOCKET new_socket(int family, int type, int protocol)
{
    WSADATA data;
    SOCKET s = socket(family, type, protocol);
    if (s == INVALID_SOCKET && WSAGetLastError() == WSANOTINITIALISED
        && WSAStartup(MAKEWORD(2, 2), &data) == 0)
        s = socket(family, type, protocol);
    return s;
}

int hocket__tcp_open(int family, int type, int protocol)
{
    return prepare(new_socket(family, type, protocol));
}

/* SO_REUSEADDR would let others take the port away here. */
int hocket__tcp_listen(const struct sockaddr *address)
{
    int on = 1, fd = hocket__tcp_open(address->sa_family, SOCK_STREAM, 0);
    int len = address->sa_family == AF_INET6 ? (int) sizeof(struct sockaddr_in6)
                                             : (int) sizeof(struct sockaddr_in);
    if (fd < 0)
        return fd;
    setsockopt(of(fd), SOL_SOCKET, SO_EXCLUSIVEADDRUSE, (const char *) &on, sizeof(on));
    if (bind(of(fd), address, len) || listen(of(fd), SOMAXCONN))
        return close_failed(of(fd));
    return fd;
}

int hocket__tcp_take(int fd)
{
    (void) fd;
    return UV_ENOTSUP;
}

int hocket__tcp_accept(int listener)
{
    return prepare(accept(of(listener), NULL, NULL));
}

int hocket__tcp_connect(const struct sockaddr *to, size_t len)
{
    int fd = hocket__tcp_open(to->sa_family, SOCK_STREAM, 0);
    if (fd < 0)
        return fd;
    return connect(of(fd), to, (int) len) && WSAGetLastError() != WSAEWOULDBLOCK
               ? close_failed(of(fd))
               : fd;
}

int hocket__tcp_error(int fd)
{
    int code = 0, size = sizeof(code);
    if (getsockopt(of(fd), SOL_SOCKET, SO_ERROR, (char *) &code, &size))
        return failed();
    return code ? uv_translate_sys_error(code) : 0;
}

/* A close behind bytes that nobody has read is not seen. */
bool hocket__tcp_ended(int fd)
{
    char byte;
    int got = recv(of(fd), &byte, 1, MSG_PEEK);
    return got == 0 || (got < 0 && WSAGetLastError() != WSAEWOULDBLOCK);
}

static int most(size_t n)
{
    return n > (1u << 30) ? 1 << 30 : (int) n;
}

int64_t hocket__tcp_read(int fd, void *to, size_t n)
{
    int got = recv(of(fd), to, most(n), 0);
    return got >= 0 ? got : failed();
}

/* A WSABUF is laid out as libuv's. */
int64_t hocket__tcp_write(int fd, const uv_buf_t *pieces, size_t n)
{
    DWORD sent = 0;
    WSABUF *from;
    memcpy(&from, &pieces, sizeof(from));
    return WSASend(of(fd), from, (DWORD) n, &sent, 0, NULL, NULL) == 0 ? (int64_t) sent : failed();
}

void hocket__tcp_no_delay(int fd)
{
    int on = 1;
    setsockopt(of(fd), IPPROTO_TCP, TCP_NODELAY, (const char *) &on, sizeof(on));
}

void hocket__tcp_end(int fd)
{
    shutdown(of(fd), SD_SEND);
}

void hocket__tcp_mute(int listener)
{
    shutdown(of(listener), SD_BOTH);
}

void hocket__tcp_reset_at_close(int fd)
{
    struct linger now = { .l_onoff = 1, .l_linger = 0 };
    setsockopt(of(fd), SOL_SOCKET, SO_LINGER, (const char *) &now, sizeof(now));
}

void hocket__tcp_close(int fd)
{
    closesocket(of(fd));
}

/* ---- Addresses ------------------------------------------------------------------------- */

union address {
    struct sockaddr any;
    struct sockaddr_in v4;
    struct sockaddr_in6 v6;
    struct sockaddr_storage room;
};

/* The port of an IPv6 address is at the same place. */
int hocket__tcp_port(int fd)
{
    union address at = { 0 };
    int len = sizeof(at);
    return getsockname(of(fd), &at.any, &len) ? 0 : ntohs(at.v4.sin_port);
}

bool hocket__tcp_peer(int fd, char *out, size_t size)
{
    union address at = { 0 };
    int len = sizeof(at);
    if (getpeername(of(fd), &at.any, &len))
        return false;
    if (at.any.sa_family == AF_INET)
        return uv_ip4_name(&at.v4, out, size) == 0;
    return at.any.sa_family == AF_INET6 && uv_ip6_name(&at.v6, out, size) == 0;
}

#include "serve/listener.h"

#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>
#include <uv.h>

int hocket__listener_error(struct hocket_error *err, int error, const char *address, int port)
{
    int status = error == EADDRINUSE                         ? HOCKET_EEXIST
                 : error == EACCES || error == EPERM         ? HOCKET_EDENIED
                 : error == EADDRNOTAVAIL || error == EINVAL ? HOCKET_EINVAL
                                                             : HOCKET_EIO;
    return hocket__error(err, status, "cannot listen on %s port %d: %s", address, port,
        uv_strerror(uv_translate_sys_error(error)));
}

static int parse_address(
    const char *address, int port, struct sockaddr_storage *out, socklen_t *len)
{
    struct sockaddr_in v4;
    struct sockaddr_in6 v6;
    if (port < 0 || port > 65535)
        return EINVAL;
    if (uv_ip4_addr(address, port, &v4) == 0) {
        memcpy(out, &v4, *len = sizeof v4);
        return 0;
    }
    if (uv_ip6_addr(address, port, &v6) == 0) {
        memcpy(out, &v6, *len = sizeof v6);
        return 0;
    }
    return EINVAL;
}

int hocket__listener_port(int fd)
{
    struct sockaddr_storage bound = { 0 };
    socklen_t len = sizeof bound;
    struct sockaddr_in v4;
    if (getsockname(fd, (struct sockaddr *) &bound, &len))
        return 0;
    memcpy(&v4, &bound, sizeof v4); /* the port of an IPv6 address is at the same place */
    return ntohs(v4.sin_port);
}

static int open_at(const struct sockaddr_storage *address, socklen_t len)
{
    int on = 1;
    int fd = socket(address->ss_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd < 0)
        return -1;
    if (setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on)
        || bind(fd, (const struct sockaddr *) address, len) || listen(fd, SOMAXCONN)) {
        int error = errno;
        close(fd);
        errno = error;
        return -1;
    }
    return fd;
}

int hocket__listener_take(int fd)
{
    int on = 0;
    socklen_t len = sizeof on;
    if (getsockopt(fd, SOL_SOCKET, SO_ACCEPTCONN, &on, &len))
        return -1;
    if (!on) {
        errno = EINVAL;
        return -1;
    }
    if (fcntl(fd, F_SETFD, FD_CLOEXEC) || fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) | O_NONBLOCK))
        return -1;
    return fd;
}

int hocket__listener_open(const char *address, int port)
{
    struct sockaddr_storage sa = { 0 };
    socklen_t len = 0;
    errno = parse_address(address, port, &sa, &len);
    return errno ? -1 : open_at(&sa, len);
}

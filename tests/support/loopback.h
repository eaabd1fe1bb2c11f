/* TCP sockets of this machine's own address. */
#pragma once

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

/* A socket that is bound to a free port, with its address in *at. As long as nobody listens there,
 * whoever connects is refused. `flags`: SOCK_NONBLOCK or 0. The descriptor, or -1. */
static inline int test_loopback(struct sockaddr_in *at, int flags)
{
    socklen_t len = sizeof(*at);
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | flags, 0);
    *at = (struct sockaddr_in){ .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
    if (fd >= 0 && bind(fd, (struct sockaddr *) at, sizeof(*at)) == 0
        && getsockname(fd, (struct sockaddr *) at, &len) == 0)
        return fd;
    if (fd >= 0)
        close(fd);
    return -1;
}

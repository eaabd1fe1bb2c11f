
#include "cli/service/service.h"

#include <fcntl.h>
#include <limits.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

static bool is_local_address(const char *address)
{
    return !*address || strncmp(address, "127.", 4) == 0 || strcmp(address, "::1") == 0;
}

static bool is_local_v6(const struct in6_addr *a)
{
    return IN6_IS_ADDR_LOOPBACK(a) || (IN6_IS_ADDR_V4MAPPED(a) && a->s6_addr[12] == 127);
}

/* What it is bound to counts, not what anybody says of it. */
static bool is_local_socket(int fd)
{
    union {
        struct sockaddr any;
        struct sockaddr_in v4;
        struct sockaddr_in6 v6;
        struct sockaddr_storage room;
    } at = { 0 };
    socklen_t len = sizeof(at);
    if (getsockname(fd, &at.any, &len))
        return true; /* no socket at all: the error comes where it is used */
    if (at.any.sa_family == AF_INET)
        return ntohl(at.v4.sin_addr.s_addr) >> 24 == 127;
    if (at.any.sa_family == AF_INET6)
        return is_local_v6(&at.v6.sin6_addr);
    return at.any.sa_family == AF_UNIX;
}

bool cli_reach_is_local(const char *address, int fd)
{
    return fd >= 0 ? is_local_socket(fd) : is_local_address(address);
}

bool cli_reach_has_terminal(void)
{
    int fd = open("/dev/tty", O_RDONLY | O_NOCTTY | O_CLOEXEC);
    if (fd >= 0)
        close(fd);
    return fd >= 0;
}

/* Links are not resolved: renewing a certificate often means pointing one to another file. */
void cli_reach_path(struct cli_buf *out, const char *path)
{
    char dir[PATH_MAX];
    cli_buf_reset(out);
    if (path[0] != '/' && getcwd(dir, sizeof(dir)))
        cli_buf_addf(out, "%s/", dir);
    cli_buf_adds(out, path);
}

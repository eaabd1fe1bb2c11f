#include "cli/datagram.h"

#include <stddef.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

#define PATIENCE_S 1

/* A name that begins with '@' is in no file system: its first byte is 0 then. */
static socklen_t address_of(const char *path, struct sockaddr_un *out)
{
    size_t n = strlen(path);
    *out = (struct sockaddr_un){ .sun_family = AF_UNIX };
    if ((path[0] != '/' && path[0] != '@') || n < 2 || n >= sizeof(out->sun_path))
        return 0;
    memcpy(out->sun_path, path, n);
    if (path[0] == '@')
        out->sun_path[0] = 0;
    return (socklen_t) (offsetof(struct sockaddr_un, sun_path) + n);
}

bool cli_datagram_send(const char *path, const char *p, size_t n, bool wait)
{
    const struct timeval patience = { .tv_sec = PATIENCE_S };
    struct sockaddr_un to;
    socklen_t len = address_of(path, &to);
    int fd = len > 0 ? socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0) : -1;
    if (fd < 0)
        return false;
    setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof(patience));
    int flags = wait ? MSG_NOSIGNAL : MSG_NOSIGNAL | MSG_DONTWAIT;
    bool sent = sendto(fd, p, n, flags, (struct sockaddr *) &to, len) >= 0;
    close(fd);
    return sent;
}

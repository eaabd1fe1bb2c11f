/* Namespaces, and a network of the program's own in which there is one thing: a socket that listens on
 * the loopback interface and belongs to the host, which is sent there before the program starts. No
 * interface leads out, so nothing goes past the host's proxy: neither another port, nor a datagram,
 * nor a question to a name server. Needs root or user namespaces. */
#include "os/linux/sandbox.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <net/if.h>
#include <netinet/in.h>
#include <sched.h>
#include <stdio.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/system_names.h"
#include "os/descriptors.h"

#define BACKLOG 128

static bool write_text(const char *path, const char *text)
{
    int fd = open(path, O_WRONLY | O_CLOEXEC);
    bool ok = fd >= 0 && write(fd, text, strlen(text)) == (ssize_t) strlen(text);
    if (fd >= 0)
        close(fd);
    return ok;
}

/* Root needs no user namespace, and in one it would lose the files that only it may read. */
bool hocket__sandbox_unshare(int namespaces)
{
    char users[64], groups[64];
    if (unshare(namespaces) == 0)
        return true;
    snprintf(users, sizeof(users), "%d %d 1", (int) geteuid(), (int) geteuid());
    snprintf(groups, sizeof(groups), "%d %d 1", (int) getegid(), (int) getegid());
    if (unshare(CLONE_NEWUSER | namespaces) < 0)
        return false;
    prctl(PR_SET_DUMPABLE, 1, 0, 0, 0); /* else these files are root's */
    bool ok = write_text("/proc/self/setgroups", "deny") && write_text("/proc/self/uid_map", users)
              && write_text("/proc/self/gid_map", groups);
    prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
    return ok;
}

/* The loopback interface of a new network is down. */
static bool set_up(int socket)
{
    struct ifreq lo = { .ifr_name = "lo" };
    if (ioctl(socket, SIOCGIFFLAGS, &lo) < 0)
        return false;
    lo.ifr_flags |= IFF_UP | IFF_RUNNING;
    return ioctl(socket, SIOCSIFFLAGS, &lo) == 0;
}

static bool listen_at(int socket)
{
    struct sockaddr_in at = { .sin_family = AF_INET,
        .sin_port = htons(HOCKET__SANDBOX_PROXY_PORT),
        .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
    return bind(socket, (struct sockaddr *) &at, sizeof(at)) == 0 && listen(socket, BACKLOG) == 0;
}

static int fail(struct hocket__sandbox_error *err, const char *what)
{
    snprintf(err->text, sizeof(err->text),
        "a network in which there are named hosts alone: cannot %s (it takes root or user "
        "namespaces): %s",
        what, hocket__errno_text(errno));
    return HOCKET_EUNSUPPORTED;
}

int hocket__net_apply(int host, struct hocket__sandbox_error *err)
{
    if (!hocket__sandbox_unshare(CLONE_NEWNET))
        return fail(err, "make one");
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd < 0 || !set_up(fd) || !listen_at(fd))
        return fail(err, "set it up");
    /* the host takes the byte beside a descriptor for no part of the answer */
    errno = hocket__descriptors_send(host, &fd, 1);
    if (errno != 0)
        return fail(err, "hand it over");
    close(fd);
    return 0;
}


#include "cli/service/service.h"

#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

#include "cli/args/args.h"

#define FIRST_SOCKET 3 /* as sd_listen_fds(3) has it */

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

/* It may not have read what came before. */
#define PATIENCE_S 1

void cli_notify(const char *state, bool wait)
{
    struct sockaddr_un to;
    const char *path = getenv("NOTIFY_SOCKET");
    socklen_t len = path ? address_of(path, &to) : 0;
    int fd = len > 0 ? socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0) : -1;
    const struct timeval patience = { .tv_sec = PATIENCE_S };
    if (fd < 0)
        return;
    setsockopt(
        fd, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof(patience)); /* it may not have read yet */
    sendto(fd, state, strlen(state), wait ? MSG_NOSIGNAL : MSG_NOSIGNAL | MSG_DONTWAIT,
        (struct sockaddr *) &to, len);
    close(fd);
}

/* A variable that is meant for this process and not for one that it came from. */
static bool is_for_us(const char *pid)
{
    int64_t value;
    return pid && cli_parse_int(pid, 1, INT32_MAX, &value) && value == (int64_t) getpid();
}

int64_t cli_notify_watchdog(void)
{
    const char *usec = getenv("WATCHDOG_USEC"), *pid = getenv("WATCHDOG_PID");
    int64_t value;
    if (!usec || (pid && !is_for_us(pid)) || !cli_parse_int(usec, 1000, INT64_MAX / 2, &value))
        return 0;
    return value / 1000;
}

int cli_notify_socket(void)
{
    const char *count = getenv("LISTEN_FDS");
    int64_t n;
    if (!count || !is_for_us(getenv("LISTEN_PID")) || !cli_parse_int(count, 0, 1000, &n) || n == 0)
        return -1;
    if (n > 1) {
        fprintf(stderr, "hocket serve: %lld sockets were handed over (LISTEN_FDS): one is served\n",
            (long long) n);
        return -2;
    }
    return FIRST_SOCKET;
}

/* Tests by opening descriptors and closing them again: a count of the open ones does not show what
 * other threads and the limits of the whole machine leave. eventfd is the cheapest kind, and epoll
 * accepts it. */
#include "os/descriptors.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/system_names.h"

/* epoll_ctl has limits of its own (fs.epoll.max_user_watches), and memory that a new watch needs. */
static int try_to_watch(int epoll, int fd)
{
    struct epoll_event event = { .events = EPOLLIN };
    if (epoll < 0)
        return 0;
    if (epoll_ctl(epoll, EPOLL_CTL_ADD, fd, &event) < 0)
        return errno;
    epoll_ctl(epoll, EPOLL_CTL_DEL, fd, &event);
    return 0;
}

int hocket__descriptors_left(int n, int epoll)
{
    int fds[HOCKET__DESCRIPTORS_MAX], opened = 0, why = 0;
    while (opened < n && why == 0) {
        int fd = eventfd(0, EFD_CLOEXEC);
        if (fd < 0)
            why = errno;
        else
            fds[opened++] = fd;
    }
    if (why == 0 && n > 0)
        why = try_to_watch(epoll, fds[0]);
    while (opened > 0)
        close(fds[--opened]);
    return why;
}

/* Nothing is ever put over a descriptor: another thread may open one at the same time, and then has the place. */
static int hold(int fd)
{
    while (fcntl(fd, F_GETFD) < 0) {
        int null = open("/dev/null", fd == STDIN_FILENO ? O_WRONLY : O_RDONLY);
        if (null < 0)
            return errno;
        if (null > fd)
            close(null);
    }
    return 0;
}

int hocket__descriptors_hold_standard(void)
{
    int why = 0;
    for (int fd = STDIN_FILENO; fd <= STDERR_FILENO && why == 0; fd++)
        why = hold(fd);
    return why;
}

int hocket__descriptors_open_spare(void)
{
    return open("/dev/null", O_RDONLY | O_CLOEXEC);
}

void hocket__descriptors_close_spare(int fd)
{
    close(fd);
}

int hocket__descriptors_send(int socket, const int *fds, size_t n)
{
    union {
        char space[CMSG_SPACE(HOCKET__DESCRIPTORS_SENT * sizeof(int))];
        struct cmsghdr align;
    } control = { 0 };
    char byte = 0;
    struct iovec text = { &byte, 1 };
    struct msghdr m = { .msg_iov = &text,
        .msg_iovlen = 1,
        .msg_control = control.space,
        .msg_controllen = CMSG_SPACE(n * sizeof(int)) };
    struct cmsghdr *c = CMSG_FIRSTHDR(&m);
    c->cmsg_level = SOL_SOCKET;
    c->cmsg_type = SCM_RIGHTS;
    c->cmsg_len = CMSG_LEN(n * sizeof(int));
    memcpy(CMSG_DATA(c), fds, n * sizeof(int));
    while (sendmsg(socket, &m, MSG_NOSIGNAL) < 0)
        if (errno != EINTR)
            return errno;
    return 0;
}

uint64_t hocket__descriptors_limit(void)
{
    struct rlimit l;
    return getrlimit(RLIMIT_NOFILE, &l) < 0 ? UINT64_MAX : l.rlim_cur;
}

/* Adds the process's limit: "too many open files" alone makes people look for the files. */
const char *hocket__errno_words(int code, char words[HOCKET__ERRNO_WORDS])
{
    struct rlimit l;
    if (code != EMFILE || getrlimit(RLIMIT_NOFILE, &l) < 0)
        return hocket__errno_text(code);
    snprintf(words, HOCKET__ERRNO_WORDS, "%s (the limit is %llu, see ulimit -n)",
        hocket__errno_text(code), (unsigned long long) l.rlim_cur);
    return words;
}

/* Tests by opening descriptors and closing them again: a count of the open ones does not show what
 * other threads and the limits of the whole machine leave. eventfd is the cheapest kind, and epoll
 * accepts it. */
#include "os/descriptors.h"

#include <errno.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

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

#include "os/thread.h"

#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

int hocket__waker_open(void)
{
    return eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
}

void hocket__waker_close(int waker)
{
    close(waker);
}

void hocket__waker_wake(int waker)
{
    uint64_t one = 1;
    ssize_t n = write(waker, &one, sizeof(one));
    (void) n; /* full is awake enough */
}

bool hocket__waker_take(int waker)
{
    uint64_t n;
    return waker >= 0 && read(waker, &n, sizeof(n)) == (ssize_t) sizeof(n);
}

/* An interruption counts as a wake-up: the caller checks again. */
int hocket__waker_wait(int waker, int socket, int events, int ms)
{
    short asked =
        (short) ((events & UV_READABLE ? POLLIN : 0) | (events & UV_WRITABLE ? POLLOUT : 0));
    struct pollfd fds[2] = { { .fd = socket, .events = asked }, { .fd = waker, .events = POLLIN } };
    int n = poll(fds, 2, ms);
    if (n < 0)
        return HOCKET__WOKEN;
    return (fds[0].revents ? UV_READABLE : 0) | (fds[1].revents ? HOCKET__WOKEN : 0);
}

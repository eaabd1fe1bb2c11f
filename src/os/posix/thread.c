#include "os/thread.h"

#include <poll.h>
#include <pthread.h>
#include <signal.h>

int hocket__thread_start(uv_thread_t *thread, size_t stack, void *(*work)(void *), void *arg)
{
    sigset_t all, before;
    pthread_attr_t attr;
    pthread_attr_init(&attr);
    pthread_attr_setstacksize(&attr, stack);
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    int rc = pthread_create(thread, &attr, work, arg);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    pthread_attr_destroy(&attr);
    return rc;
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

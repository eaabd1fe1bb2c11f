/* A kqueue with one event of the user's: it is woken from any thread, and poll(2) sees it. */
#include "os/thread.h"

#include <fcntl.h>
#include <sys/event.h>
#include <unistd.h>

static int tell(int waker, uint16_t flags, uint32_t what)
{
    struct kevent event;
    EV_SET(&event, 1, EVFILT_USER, flags, what, 0, NULL);
    return kevent(waker, &event, 1, NULL, 0, NULL);
}

int hocket__waker_open(void)
{
    int waker = kqueue();
    if (waker < 0)
        return -1;
    fcntl(waker, F_SETFD, FD_CLOEXEC);
    if (tell(waker, EV_ADD | EV_CLEAR, 0) == 0)
        return waker;
    close(waker);
    return -1;
}

void hocket__waker_close(int waker)
{
    close(waker);
}

void hocket__waker_wake(int waker)
{
    tell(waker, 0, NOTE_TRIGGER);
}

bool hocket__waker_take(int waker)
{
    struct kevent event;
    return waker >= 0 && kevent(waker, NULL, 0, &event, 1, &(struct timespec){ 0 }) == 1;
}

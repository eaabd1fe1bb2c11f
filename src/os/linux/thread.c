#include "os/thread.h"

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

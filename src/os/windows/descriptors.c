/* Handles have no small limit here, and no numbers below 3 that libuv minds. */
#include "os/descriptors.h"

#include <errno.h>

#include "base/system_names.h"

int hocket__descriptors_left(int n, int epoll)
{
    (void) n;
    (void) epoll;
    return 0;
}

int hocket__descriptors_hold_standard(void)
{
    return 0;
}

int hocket__descriptors_open_spare(void)
{
    return -1;
}

void hocket__descriptors_close_spare(int fd)
{
    (void) fd;
}

int hocket__descriptors_send(int socket, const int *fds, size_t n)
{
    (void) socket;
    (void) fds;
    (void) n;
    return ENOSYS;
}

uint64_t hocket__descriptors_limit(void)
{
    return UINT64_MAX;
}

const char *hocket__errno_words(int code, char words[HOCKET__ERRNO_WORDS])
{
    (void) words;
    return hocket__errno_text(code);
}

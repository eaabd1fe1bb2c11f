#include "os/descriptors.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/system_names.h"
#include "os/posix/system.h"

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
    while (sendmsg(socket, &m, HOCKET__QUIETLY) < 0)
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

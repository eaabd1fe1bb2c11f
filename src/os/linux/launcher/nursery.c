/* The process that launchers are forked from (os/launcher.h). It has one thread, waits for
 * nobody, and has never seen a request: what a launcher gets by the fork is nobody's secret.
 *
 * A fork of the host itself was rejected: it has threads, connections and keys, and a page table
 * whose copy costs more than the rest of the start. */
#include "os/launcher.h"

#include "base/system_names.h"
#include "os/launch.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#define SOCKET HOCKET__LAUNCHER_SOCKET
#define FDS    HOCKET__LAUNCHER_FDS

/* Of libgcov, in a build for coverage. */
extern void __gcov_dump(void) __attribute__((weak));

_Noreturn void hocket__launcher_leave(int status)
{
    if (__gcov_dump)
        __gcov_dump();
    _exit(status);
}

/* The descriptors of the next message: false when the host has gone, or sends what no host does. */
static bool take(int *fds)
{
    union {
        char space[CMSG_SPACE(FDS * sizeof(int))];
        struct cmsghdr align;
    } control;
    char byte;
    struct iovec text = { &byte, 1 };
    struct msghdr m = { .msg_iov = &text,
        .msg_iovlen = 1,
        .msg_control = control.space,
        .msg_controllen = sizeof(control.space) };
    ssize_t n;
    while ((n = recvmsg(SOCKET, &m, MSG_CMSG_CLOEXEC)) < 0 && errno == EINTR)
        ;
    struct cmsghdr *c = n > 0 ? CMSG_FIRSTHDR(&m) : NULL;
    if (!c || c->cmsg_type != SCM_RIGHTS || c->cmsg_len != CMSG_LEN(FDS * sizeof(int)))
        return false;
    memcpy(fds, CMSG_DATA(c), FDS * sizeof(int));
    return true;
}

static _Noreturn void become_launcher(const int *fds)
{
    signal(SIGCHLD, SIG_DFL);
    for (int i = 0; i < FDS; i++)
        dup2(fds[i], i); /* the last one ends what came from the nursery */
    for (int i = 0; i < FDS; i++)
        close(fds[i]);
    hocket__launcher_run();
}

static void refuse(int socket)
{
    struct hocket__launch_result r = { .status = HOCKET_EIO, .code = -1 };
    snprintf(r.message, sizeof(r.message), "cannot start a process: %s", hocket__errno_text(errno));
    hocket__launcher_send(socket, &r);
}

_Noreturn void hocket__launcher_main(void)
{
    int fds[FDS];
#ifndef __GLIBC__ /* see launchers.c */
    syscall(SYS_close_range, SOCKET + 1, ~0U, 0);
#endif
    clearenv();               /* the loader needed it */
    signal(SIGCHLD, SIG_IGN); /* launchers report to the host alone */
    fcntl(SOCKET, F_SETFD, FD_CLOEXEC);
    prctl(PR_SET_DUMPABLE, 0, 0, 0, 0); /* tools must not read what launchers receive */
    while (take(fds)) {
        pid_t pid = fork();
        if (pid == 0)
            become_launcher(fds);
        if (pid < 0)
            refuse(fds[SOCKET]);
        for (int i = 0; i < FDS; i++)
            close(fds[i]);
    }
    hocket__launcher_leave(0);
}

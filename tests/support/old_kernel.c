/* Starts a program as an older kernel would run it: a seccomp filter answers its newer system calls. The program and all that it
 * starts have the filter.
 *
 *     old_kernel 5.10 PROGRAM ARG…          ENOSYS for every call that came after Linux 5.10
 *     old_kernel no-landlock PROGRAM ARG…   EOPNOTSUPP for Landlock's calls, as where it is turned off at boot
 *
 * Since 5.1 a call has the same number on every architecture. New flags of older calls are not refused. Exit code 77: this
 * kernel takes no filter. */
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

#define FIRST_AFTER_5_10 441 /* epoll_pwait2, of 5.11 */
#define LANDLOCK_FIRST   444
#define LANDLOCK_LAST    446

static int answer_calls(unsigned first, unsigned last, int error)
{
    struct sock_filter code[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JGE | BPF_K, first, 0, 2),
        BPF_JUMP(BPF_JMP | BPF_JGT | BPF_K, last, 1, 0),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | (unsigned) error),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    struct sock_fprog program = { sizeof(code) / sizeof(*code), code };
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0)
        return -1;
    if (prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program, 0, 0) < 0)
        return -1;
    if (syscall(LANDLOCK_FIRST, NULL, 0, 1) != -1 || errno != error) /* does it work at all? */
        abort();
    return 0;
}

int main(int argc, char **argv)
{
    bool is_old = argc > 2 && strcmp(argv[1], "5.10") == 0;
    if (!is_old && (argc < 3 || strcmp(argv[1], "no-landlock") != 0)) {
        fprintf(stderr, "usage: old_kernel 5.10|no-landlock PROGRAM ARG…\n");
        return 2;
    }
    int rc = is_old ? answer_calls(FIRST_AFTER_5_10, ~0u, ENOSYS)
                    : answer_calls(LANDLOCK_FIRST, LANDLOCK_LAST, EOPNOTSUPP);
    if (rc < 0) {
        printf("skipped: this kernel takes no seccomp filter: %s\n", strerror(errno));
        return 77;
    }
    execvp(argv[2], argv + 2);
    perror(argv[2]);
    return 127;
}

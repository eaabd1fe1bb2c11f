/* The sandbox of a program, built by the launcher between fork and exec. The launcher is a process
 * with one thread that ends soon, so nothing allocated here is freed.
 *
 * What a program sees in the levels "landlock" and "bubblewrap":
 *
 *     read   programs and libraries of the system, a few files of /etc, what `readable` adds
 *     write  what `writable` names (less what `guarded` does), and a /tmp of its own
 *     never  home directories, sockets of services, other processes, keys in the environment
 *
 * Sources: landlock(7), seccomp(2), bwrap(1). */
#pragma once

#include "os/launch.h"

/* One reason of a failure, for a launch result. */
struct hocket__sandbox_error {
    char text[256];
};

/* The directories and files of the system that every program may read; ends with NULL. The caller
 * skips missing ones. */
extern const char *const hocket__system_paths[];

/* Where the program's scratch space is (HOME and TMPDIR): all of it in bubblewrap, otherwise a
 * directory in it that is removed with the program. As `cwd` it stands for the scratch space. */
#define HOCKET__SANDBOX_TMP       "/tmp"
#define HOCKET__SANDBOX_TMP_BYTES "268435456" /* of memory, where it is the program's own mount */

/* Leaves these namespaces for new ones, in a user namespace where that takes one: in it the user and
 * the group are who they were. */
bool hocket__sandbox_unshare(int namespaces);

/* Where a program finds the proxy, on its own 127.0.0.1. */
#define HOCKET__SANDBOX_PROXY_PORT 3128
/* A network of its own for a program whose launch says `proxied`; the socket of the proxy goes to the
 * host by the socket `host`. Must come before the other steps. */
int hocket__net_apply(int host, struct hocket__sandbox_error *err);

/* What holds at every level. The launcher counts the processes of the tree besides: the kernel does
 * not limit root's. */

/* Goes first: in a user namespace those of others look like those of nobody. */
int hocket__sandbox_limit_processes(
    const struct hocket__launch *l, struct hocket__sandbox_error *err);
/* No capabilities (bubblewrap needs them to build its sandbox, and drops them by itself), no new
 * privileges. */
int hocket__sandbox_give_up_rights(
    const struct hocket__launch *l, struct hocket__sandbox_error *err);
/* The other rlimits. Goes last: a launcher under a sanitizer has more memory than a program may. */
int hocket__sandbox_limit(const struct hocket__launch *l, struct hocket__sandbox_error *err);

/* Landlock for files, and for TCP where the kernel has it. `tmp`: the directory for scratch files.
 */
int hocket__landlock_apply(
    const struct hocket__launch *l, const char *tmp, struct hocket__sandbox_error *err);

/* Calls cb for each folder above a guarded path and below a writable one, the upper ones first. A
 * mount can be carried away with the folder that it is in, which makes room for another: made mounts
 * as well, these cannot be renamed. False: out of memory. */
bool hocket__guard_above(
    const struct hocket__launch *l, void (*cb)(void *ud, const char *folder), void *ud);
/* For Landlock: a mount namespace of the process's own, in which all is read-only but what is
 * writable and not guarded, and scratch space at `tmp`. False when that cannot be done here, which
 * leaves modes and times of files outside, and what is guarded, to be changed. Goes before
 * hocket__sandbox_give_up_rights. */
bool hocket__guard_apply(const struct hocket__launch *l, const char *tmp);

/* Refuses system calls that no tool needs (mounts, tracing, kernel modules, new namespaces, key
 * rings …), the bits of a mode that let a file run as somebody else, and sockets of families that
 * the program was not given. */
int hocket__seccomp_apply(const struct hocket__launch *l, struct hocket__sandbox_error *err);
/* The same as a file that bubblewrap reads: a descriptor, or a negative status. */
int hocket__seccomp_file(const struct hocket__launch *l, struct hocket__sandbox_error *err);

/* The command line that runs l->argv in bubblewrap: NULL when memory is out. It reports to
 * `status_fd` that the program was started; `seccomp_fd` as made above. */
const char **hocket__bwrap_argv(const struct hocket__launch *l, int seccomp_fd, int status_fd);

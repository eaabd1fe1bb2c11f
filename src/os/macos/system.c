/* macOS's own calls behind posix/. Compiled and linked in this project's builds, and never run by us. */
#include "os/posix/system.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/event.h>
#include <sys/mount.h>
#include <sys/param.h>
#include <sys/socket.h>
#include <sys/sysctl.h>
#include <sys/un.h>
#include <unistd.h>

/* ---- Files ------------------------------------------------------------------------------------ */

/* Paths are walked name by name, and no link is followed (root.c). */
int hocket__system_open_beneath(int dir, const char *path, int flags)
{
    (void) dir, (void) path, (void) flags;
    errno = ENOSYS;
    return -1;
}

int hocket__system_open_nameless(const char *dir)
{
    (void) dir;
    errno = ENOSYS;
    return -1;
}

/* ENOTSUP and EOPNOTSUPP are two numbers here. */
int hocket__system_rename(
    int from_dir, const char *from, int to_dir, const char *to, enum hocket__system_rename how)
{
    unsigned flags = how == HOCKET__RENAME_NEW ? RENAME_EXCL : RENAME_SWAP;
    int rc = renameatx_np(from_dir, from, to_dir, to, flags);
    if (rc < 0 && errno == ENOTSUP)
        errno = EOPNOTSUPP;
    return rc;
}

int hocket__system_chmod(int dir, const char *name, const struct stat *seen, mode_t mode)
{
    (void) seen;
    return fchmodat(dir, name, mode, AT_SYMLINK_NOFOLLOW);
}

bool hocket__system_is_network(const char *path)
{
    struct statfs fs;
    return statfs(path, &fs) == 0 && !(fs.f_flags & MNT_LOCAL);
}

bool hocket__system_gets_events(const char *path)
{
    return !hocket__system_is_network(path);
}

/* ---- Processes --------------------------------------------------------------------------------- */

/* Microseconds since 1970. A number that nobody has gives an answer of no bytes. */
int64_t hocket__system_start_of(int64_t pid)
{
    int name[] = { CTL_KERN, KERN_PROC, KERN_PROC_PID, (int) pid };
    struct kinfo_proc p;
    size_t n = sizeof(p);
    if (sysctl(name, 4, &p, &n, NULL, 0) < 0 || n < sizeof(p))
        return 0;
    if (p.kp_proc.p_stat == SZOMB)
        return -1;
    return (int64_t) p.kp_proc.p_starttime.tv_sec * 1000000 + p.kp_proc.p_starttime.tv_usec;
}

void hocket__system_place(char *out, size_t size)
{
    if (sysctlbyname("kern.bootsessionuuid", out, &size, NULL, 0) < 0)
        out[0] = 0;
}

const char *hocket__system_getenv(const char *name)
{
    return issetugid() ? NULL : getenv(name);
}

/* ---- Descriptors -------------------------------------------------------------------------------- */

bool hocket__system_peer(int fd, int64_t *pid, int64_t *uid)
{
    pid_t number = 0;
    socklen_t n = sizeof(number);
    uid_t user;
    gid_t group;
    if (getpeereid(fd, &user, &group) != 0
        || getsockopt(fd, SOL_LOCAL, LOCAL_PEERPID, &number, &n) != 0)
        return false;
    *pid = number;
    *uid = user;
    return true;
}

int hocket__system_set_open(void)
{
    int set = kqueue();
    if (set >= 0)
        fcntl(set, F_SETFD, FD_CLOEXEC);
    return set;
}

bool hocket__system_set_is_file(int set, int fd)
{
    struct stat st;
    (void) set;
    return fstat(fd, &st) == 0 && (S_ISREG(st.st_mode) || (S_ISCHR(st.st_mode) && !isatty(fd)));
}

void hocket__system_set_add(int set, int fd, unsigned bit, bool writes)
{
    struct kevent event;
    EV_SET(&event, fd, writes ? EVFILT_WRITE : EVFILT_READ, EV_ADD, 0, 0, (void *) (uintptr_t) bit);
    kevent(set, &event, 1, NULL, 0, NULL);
}

void hocket__system_set_remove(int set, int fd, bool writes)
{
    struct kevent event;
    EV_SET(&event, fd, writes ? EVFILT_WRITE : EVFILT_READ, EV_DELETE, 0, 0, NULL);
    kevent(set, &event, 1, NULL, 0, NULL);
}

unsigned hocket__system_set_ready(int set)
{
    struct kevent events[2];
    unsigned ready = 0;
    int n = kevent(set, NULL, 0, events, 2, &(struct timespec){ 0 });
    for (int i = 0; i < n; i++)
        ready |= (unsigned) (uintptr_t) events[i].udata;
    return ready;
}

#include "os/posix/system.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/vfs.h>
#include <unistd.h>

/* ---- Files ------------------------------------------------------------------------------------ */

/* Of linux/openat2.h, which older systems lack. */
struct how {
    uint64_t flags, mode, resolve;
};
#define NO_MAGICLINKS 0x02
#define BENEATH       0x08
#ifndef SYS_openat2
#define SYS_openat2 437
#endif
#define NOREPLACE 1u
#define EXCHANGE  2u

int hocket__system_open_beneath(int dir, const char *path, int flags)
{
    struct how how = { (uint64_t) flags, 0, BENEATH | NO_MAGICLINKS };
    long fd;
    int tries = 0;
    do /* EAGAIN: something was renamed meanwhile, and the kernel cannot be sure */
        fd = syscall(SYS_openat2, dir, path, &how, sizeof(how));
    while (fd < 0 && (errno == EINTR || (errno == EAGAIN && ++tries < 100)));
    return (int) fd;
}

int hocket__system_open_nameless(const char *dir)
{
    return open(dir, O_TMPFILE | O_RDWR | O_CLOEXEC | O_EXCL, 0600);
}

int hocket__system_rename(
    int from_dir, const char *from, int to_dir, const char *to, enum hocket__system_rename how)
{
    unsigned flags = how == HOCKET__RENAME_NEW ? NOREPLACE : EXCHANGE;
    return (int) syscall(SYS_renameat2, from_dir, from, to_dir, to, flags);
}

/* chmod follows links; through /proc it changes what was opened, which is none. */
int hocket__system_chmod(int dir, const char *name, const struct stat *seen, mode_t mode)
{
    char opened[64];
    struct stat st;
    int fd = openat(dir, name, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0)
        return -1;
    snprintf(opened, sizeof(opened), "/proc/self/fd/%d", fd);
    int rc = fstat(fd, &st);
    if (rc == 0 && (st.st_ino != seen->st_ino || st.st_dev != seen->st_dev)) {
        errno = ESTALE;
        rc = -1;
    }
    if (rc == 0)
        rc = chmod(opened, mode);
    int code = errno;
    close(fd);
    errno = code;
    return rc;
}

bool hocket__system_is_network_type(unsigned long type)
{
    static const unsigned long types[] = {
        0x6969,     /* NFS */
        0x517B,     /* SMB */
        0xFF534D42, /* CIFS */
        0xFE534D42, /* SMB 2 */
        0x73757245, /* Coda */
        0x5346414F, /* AFS */
        0x01021997, /* 9p, which virtual machines show their host's files by */
    };
    for (size_t i = 0; i < sizeof(types) / sizeof(types[0]); i++)
        if ((type & 0xFFFFFFFF) == types[i])
            return true;
    return false;
}

bool hocket__system_is_network(const char *path)
{
    struct statfs fs;
    return statfs(path, &fs) == 0 && hocket__system_is_network_type((unsigned long) fs.f_type);
}

/* Silent file systems are those of networks, and folders shared with a virtual machine. Source: statfs(2). */
bool hocket__system_gets_events(const char *path)
{
    static const unsigned long silent[] = { 0x6969 /* nfs */, 0x517b /* smb */,
        0xfe534d42 /* smb2 */, 0xff534d42 /* cifs */, 0x65735546 /* fuse */, 0x01021997 /* 9p */,
        0x5346414f /* afs */, 0x73757245 /* coda */, 0x00c36400 /* ceph */, 0x0bd00bd0 /* lustre */,
        0x786f4256 /* vboxsf */, 0xbacbacbc /* vmhgfs */, 0x7c7c6673 /* prl_fs */,
        0x47504653 /* gpfs */ };
    struct statfs fs;
    if (statfs(path, &fs) != 0)
        return true;
    for (size_t i = 0; i < sizeof(silent) / sizeof(silent[0]); i++)
        if (((unsigned long) fs.f_type & 0xffffffff) == silent[i])
            return false;
    return true;
}

/* ---- Processes --------------------------------------------------------------------------------- */

/* The time is in ticks since the machine was started. */
int64_t hocket__system_start_of(int64_t pid)
{
    char path[64], text[1024];
    /* With the dot it is the kernel's: qemu's user mode writes one of its own, in which each thread started at another time. */
    snprintf(path, sizeof(path), "/proc/./%lld/stat", (long long) pid);
    FILE *f = fopen(path, "re");
    if (!f)
        return 0;
    size_t n = fread(text, 1, sizeof(text) - 1, f);
    fclose(f);
    text[n] = 0;
    const char *at = strrchr(text, ')'); /* its name may hold anything */
    char state = at && at[1] ? at[2] : 'X';
    for (int field = 2; at && field < 22; field++)
        at = strchr(at + 1, ' ');
    return state == 'Z' || state == 'X' ? -1 : at ? strtoll(at, NULL, 10) : 0;
}

/* A file of /proc that is not there leaves its part empty, and the place is then less exact, never wrong. */
void hocket__system_place(char *out, size_t size)
{
    char boot[64] = "";
    struct stat ns;
    FILE *f = fopen("/proc/sys/kernel/random/boot_id", "re");
    if (!f || !fgets(boot, sizeof(boot), f))
        boot[0] = 0;
    boot[strcspn(boot, "\n")] = 0;
    if (f)
        fclose(f);
    unsigned long inode = stat("/proc/self/ns/pid", &ns) == 0 ? (unsigned long) ns.st_ino : 0;
    snprintf(out, size, "%s/%lu", boot, inode);
}

const char *hocket__system_getenv(const char *name)
{
    return secure_getenv(name);
}

/* ---- Descriptors -------------------------------------------------------------------------------- */

bool hocket__system_peer(int fd, int64_t *pid, int64_t *uid)
{
    struct ucred c = { 0 };
    socklen_t n = sizeof(c);
    if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &c, &n) != 0)
        return false;
    *pid = c.pid;
    *uid = c.uid;
    return true;
}

int hocket__system_set_open(void)
{
    return epoll_create1(EPOLL_CLOEXEC);
}

bool hocket__system_set_is_file(int set, int fd)
{
    struct epoll_event event = { .events = 0, .data.fd = fd };
    if (epoll_ctl(set, EPOLL_CTL_ADD, fd, &event) != 0)
        return errno == EPERM;
    epoll_ctl(set, EPOLL_CTL_DEL, fd, NULL);
    return false;
}

void hocket__system_set_add(int set, int fd, unsigned bit, bool writes)
{
    struct epoll_event event = { .events = writes ? EPOLLOUT : EPOLLIN, .data.u32 = bit };
    epoll_ctl(set, EPOLL_CTL_ADD, fd, &event);
}

void hocket__system_set_remove(int set, int fd, bool writes)
{
    (void) writes;
    epoll_ctl(set, EPOLL_CTL_DEL, fd, NULL);
}

unsigned hocket__system_set_ready(int set)
{
    struct epoll_event events[2];
    unsigned ready = 0;
    int n = epoll_wait(set, events, 2, 0);
    for (int i = 0; i < n; i++)
        ready |= events[i].data.u32;
    return ready;
}

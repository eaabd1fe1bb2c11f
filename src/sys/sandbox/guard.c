/* What lies below a writable folder and is not to be changed. bubblewrap mounts it read-only;
 * Landlock has no way to take a right back, and new files at the top of a folder need rights on
 * the folder, which its .git has with it. So at that level the program gets a mount namespace, where
 * the process may make one (root, or user namespaces), and has no capabilities left to leave it. */
#include "sys/sandbox/sandbox.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

/* ---- Folders above ------------------------------------------------------------------ */

/* Whether `path` is below `dir`, and not `dir` itself. */
static bool is_below(const char *path, const char *dir)
{
    size_t n = strlen(dir);
    return strncmp(path, dir, n) == 0 && path[n] == '/';
}

static bool is_writable(const struct hocket__launch *l, const char *path)
{
    for (const char *const *w = l->writable; w && *w; w++)
        if (is_below(path, *w))
            return true;
    return false;
}

void hocket__guard_above(
    const struct hocket__launch *l, void (*cb)(void *ud, const char *folder), void *ud)
{
    for (const char *const *g = l->guarded; g && *g; g++)
        for (const char *slash = strchr(*g + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
            char folder[4096];
            struct stat st;
            int n = snprintf(folder, sizeof(folder), "%.*s", (int) (slash - *g), *g);
            if (n < (int) sizeof(folder) && is_writable(l, folder) && lstat(folder, &st) == 0
                && S_ISDIR(st.st_mode))
                cb(ud, folder);
        }
}

/* ---- A mount namespace ------------------------------------------------------------------ */

static bool write_text(const char *path, const char *text)
{
    int fd = open(path, O_WRONLY | O_CLOEXEC);
    bool ok = fd >= 0 && write(fd, text, strlen(text)) == (ssize_t) strlen(text);
    if (fd >= 0)
        close(fd);
    return ok;
}

/* In it the user and the group are who they were. */
static bool enter_user_namespace(void)
{
    char users[64], groups[64];
    snprintf(users, sizeof(users), "%d %d 1", (int) geteuid(), (int) geteuid());
    snprintf(groups, sizeof(groups), "%d %d 1", (int) getegid(), (int) getegid());
    if (unshare(CLONE_NEWUSER | CLONE_NEWNS) < 0)
        return false;
    prctl(PR_SET_DUMPABLE, 1, 0, 0, 0); /* else these files are root's */
    bool ok = write_text("/proc/self/setgroups", "deny") && write_text("/proc/self/uid_map", users)
              && write_text("/proc/self/gid_map", groups);
    prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
    return ok;
}

static bool enter(void)
{
    return (unshare(CLONE_NEWNS) == 0 || enter_user_namespace())
           && mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) == 0;
}

/* Of linux/mount.h, which does not go together with sys/mount.h everywhere. */
struct attributes {
    uint64_t set, clear, propagation, userns;
};
#define ATTRIBUTE_RDONLY 1

static bool bind(const char *path)
{
    return mount(path, path, NULL, MS_BIND | MS_REC, NULL) == 0;
}

/* A mount cannot be renamed. */
static void fix(void *ud, const char *folder)
{
    bool *ok = ud;
    *ok = bind(folder) && *ok;
}

static bool bind_readonly(const char *path)
{
    struct attributes a = { .set = ATTRIBUTE_RDONLY };
    struct stat st;
    if (lstat(path, &st) < 0)
        return errno == ENOENT || errno == ENOTDIR;
    return bind(path)
           && syscall(SYS_mount_setattr, AT_FDCWD, path, AT_RECURSIVE, &a, sizeof(a)) == 0;
}

bool hocket__guard_apply(const struct hocket__launch *l)
{
    bool ok = true;
    if (!l->guarded || !*l->guarded)
        return true;
    if (!enter())
        return false;
    hocket__guard_above(l, fix, &ok);
    for (const char *const *g = l->guarded; *g; g++)
        ok = bind_readonly(*g) && ok;
    return ok;
}

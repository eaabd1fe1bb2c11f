/* Names below a root, whatever they stand for: see root.h. No link is followed.
 *
 * All functions work on a directory's descriptor and the last name of a path, after the way there
 * was walked below the root: no path is given to the kernel a second time. */
#include "os/posix/root/root_impl.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <unistd.h>

#include "os/posix/system.h"

/* A system that cannot refuse to replace has a moment between looking and doing. */
static int rename_new(int dir, const char *from, const char *to)
{
    struct stat st;
    if (hocket__system_rename(dir, from, dir, to, HOCKET__RENAME_NEW) == 0)
        return 0;
    if (errno != EINVAL && errno != ENOSYS && errno != EOPNOTSUPP)
        return -1;
    if (fstatat(dir, to, &st, AT_SYMLINK_NOFOLLOW) == 0) {
        errno = EEXIST;
        return -1;
    }
    return renameat(dir, from, dir, to);
}

int hocket__root_rename(
    struct hocket__root *r, const char *path, const char *name, struct hocket_error *err)
{
    const char *old;
    int dir = hocket__root_parent(r, path, false, &old, err);
    if (dir < 0)
        return dir;
    int rc = rename_new(dir, old, name) < 0 ? hocket__root_fail(err, "rename", path) : 0;
    close(dir);
    return rc;
}

int hocket__root_link(
    struct hocket__root *r, const char *path, const char *target, struct hocket_error *err)
{
    const char *name;
    int dir = hocket__root_parent(r, path, false, &name, err);
    if (dir < 0)
        return dir;
    int rc = symlinkat(target, dir, name) < 0 ? hocket__root_fail(err, "make", path) : 0;
    close(dir);
    return rc;
}

int hocket__root_target(
    struct hocket__root *r, const char *path, struct hocket__buf *out, struct hocket_error *err)
{
    char target[PATH_MAX];
    const char *name;
    int dir = hocket__root_parent(r, path, false, &name, err);
    if (dir < 0)
        return dir;
    ssize_t n = readlinkat(dir, name, target, sizeof(target));
    int code = errno;
    close(dir);
    errno = code;
    if (n < 0)
        return code == EINVAL ? hocket__error(err, HOCKET_EINVAL, "%s is no link", path)
                              : hocket__root_fail(err, "read", path);
    return hocket__buf_add(out, target, (size_t) n) < 0 ? hocket__error_nomem(err) : 0;
}

bool hocket__root_open_up(struct hocket__root *r, const char *path, int64_t since_s)
{
    struct stat st;
    const char *name;
    int dir = hocket__root_parent(r, path, false, &name, NULL);
    bool done = dir >= 0 && since_s > 0 && fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW) == 0
                && S_ISDIR(st.st_mode) && hocket__system_changed(&st).tv_sec >= since_s
                && st.st_uid == geteuid()
                && hocket__system_chmod(dir, name, &st, (st.st_mode & 07777) | 0700) == 0;
    if (dir >= 0)
        close(dir);
    return done;
}

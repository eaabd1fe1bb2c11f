/* Folders taken away with all in them, whatever a program has left there: see root.h.
 *
 * Each name is removed in a folder that was opened without following links, so that nobody who changes a name meanwhile
 * leads it elsewhere. Folders that lie deep are moved to the top and removed from there: so they take neither stack nor
 * descriptors.
 *
 *     top/a/b/c/d/…   ──  d is too deep  ──>   top/deep-0/…, in the next pass */
#include "os/posix/root/root_impl.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "os/posix/system.h"

#define DEPTH      32
#define MAX_PASSES 100000 /* somebody goes on filling it */

struct removal {
    int top;
    dev_t device;
    unsigned moved;
};

static int empty(struct removal *r, int fd, int depth, bool *any);

/* Lets its owner in. */
static void open_up(int dir, const char *name)
{
    struct stat st;
    if (fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW) == 0 && S_ISDIR(st.st_mode)
        && st.st_uid == geteuid() && (st.st_mode & 0700) != 0700)
        hocket__system_chmod(dir, name, &st, 0700);
}

static int open_folder(struct removal *r, int dir, const char *name)
{
    struct stat st;
    open_up(dir, name);
    int fd = openat(dir, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0 || (fstat(fd, &st) == 0 && (r->device == 0 || st.st_dev == r->device)))
        return fd;
    close(fd);
    errno = EBUSY; /* another file system stands there */
    return -1;
}

static int bring_up(struct removal *r, int dir, const char *name)
{
    char to[32];
    open_up(dir, name);
    for (;; r->moved++) {
        snprintf(to, sizeof(to), "deep-%u", r->moved);
        if (renameat(dir, name, r->top, to) == 0)
            return 0;
        if (errno != EEXIST && errno != ENOTEMPTY && errno != ENOTDIR)
            return -1;
    }
}

static int remove_folder(struct removal *r, int dir, const char *name, int depth)
{
    bool any;
    if (depth >= DEPTH)
        return bring_up(r, dir, name);
    int fd = open_folder(r, dir, name);
    if (fd < 0)
        return errno == ENOENT ? 0 : -1;
    if (empty(r, fd, depth + 1, &any) < 0)
        return -1;
    /* what came into it meanwhile is for the next pass */
    return unlinkat(dir, name, AT_REMOVEDIR) == 0 || errno == ENOENT || errno == ENOTEMPTY ? 0 : -1;
}

static int remove_one(struct removal *r, int dir, const char *name, int depth)
{
    if (unlinkat(dir, name, 0) == 0 || errno == ENOENT)
        return 0;
    if (errno != EISDIR && errno != EPERM)
        return -1;
    if (unlinkat(dir, name, AT_REMOVEDIR) == 0)
        return 0;
    return remove_folder(r, dir, name, depth);
}

/* Takes the descriptor. *any: there was something in it. */
static int empty(struct removal *r, int fd, int depth, bool *any)
{
    DIR *d = fdopendir(fd);
    int rc = d ? 0 : -1;
    *any = false;
    for (struct dirent *e; rc == 0 && (errno = 0, e = readdir(d));) {
        if (strcmp(e->d_name, ".") == 0 || strcmp(e->d_name, "..") == 0)
            continue;
        *any = true;
        rc = remove_one(r, fd, e->d_name, depth);
    }
    if (rc == 0 && errno != 0)
        rc = -1;
    int code = errno;
    if (d)
        closedir(d);
    else
        close(fd);
    errno = code;
    return rc;
}

/* Until a pass finds nothing more: what was too deep has come up meanwhile. */
static int empty_top(struct removal *r, int dir, const char *name)
{
    bool any = true;
    int rc = 0;
    for (int pass = 0; rc == 0 && any && pass < MAX_PASSES; pass++) {
        int fd = open_folder(r, dir, name);
        rc = fd < 0 ? -1 : empty(r, fd, 1, &any);
    }
    return rc;
}

static int remove_at(int dir, const char *name)
{
    struct stat st;
    struct removal r = { .top = -1 };
    if (unlinkat(dir, name, 0) == 0)
        return 0;
    if ((errno != EISDIR && errno != EPERM) || (r.top = open_folder(&r, dir, name)) < 0)
        return -1;
    r.device = fstat(r.top, &st) == 0 ? st.st_dev : 0;
    int rc = empty_top(&r, dir, name);
    if (rc == 0)
        rc = unlinkat(dir, name, AT_REMOVEDIR);
    int code = errno;
    close(r.top);
    errno = code;
    return rc;
}

int hocket__root_remove(struct hocket__root *r, const char *path, struct hocket_error *err)
{
    const char *name;
    if (strcmp(path, ".") == 0)
        return hocket__error(err, HOCKET_EINVAL, "the root itself is not removed");
    int dir = hocket__root_parent(r, path, false, &name, err);
    if (dir < 0)
        return dir;
    int rc = remove_at(dir, name) < 0 ? hocket__root_fail(err, "remove", path) : 0;
    close(dir);
    return rc;
}

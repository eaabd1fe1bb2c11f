/* Files of the host's own: agents, recordings, settings. What tools do in a person's project
 * goes through os/root, which lets no path lead out of it.
 *
 * Writing is a temporary file in the same directory, synced, then renamed: a reader sees the old
 * file or the new one. Symbolic links are followed here, since the paths are the person's own. */
#include "os/file.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "os/errors.h"
#include "os/posix/system.h"

#define MAX_ENTRIES 100000

static int fail(struct hocket_error *err, const char *doing, const char *path)
{
    return hocket__errno_fail(err, doing, path, NULL);
}

/* ---- Reading ----------------------------------------------------------------- */

static int read_fd(
    int fd, const char *path, size_t max, struct hocket__buf *out, struct hocket_error *err)
{
    struct stat st;
    if (fstat(fd, &st) < 0)
        return fail(err, "read", path);
    if (!S_ISREG(st.st_mode))
        return hocket__error(err, HOCKET_EINVAL, "cannot read %s: it is %s, not a file", path,
            S_ISDIR(st.st_mode) ? "a directory" : "a device or pipe");
    for (size_t from = out->len;;) {
        if (hocket__buf_reserve(out, 65536) < 0)
            return hocket__error_nomem(err);
        ssize_t n = read(fd, out->data + out->len, 65536);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return fail(err, "read", path);
        if (n == 0)
            return 0;
        out->len += (size_t) n;
        out->data[out->len] = 0;
        if (out->len - from > max)
            return hocket__error(err, HOCKET_ELIMIT, "%s is larger than %zu bytes", path, max);
    }
}

int hocket__file_read(
    const char *path, size_t max, struct hocket__buf *out, struct hocket_error *err)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK); /* a FIFO must not block */
    if (fd < 0)
        return fail(err, "read", path);
    int rc = read_fd(fd, path, max, out, err);
    close(fd);
    return rc;
}

/* ---- Writing ------------------------------------------------------------------- */

int hocket__write_all(int fd, struct hocket__str s)
{
    while (s.n > 0) {
        ssize_t n = write(fd, s.p, s.n);
        if (n < 0 && errno != EINTR)
            return -1;
        if (n > 0)
            s = hocket__str(s.p + n, s.n - (size_t) n);
    }
    return 0;
}

/* A new file beside `path`; the process's umask applies to `mode` as it should. */
static int open_temporary(const char *path, int mode, char *name, size_t size)
{
    for (int i = 0; i < 100; i++) {
        int n = snprintf(name, size, "%s.%d-%d.tmp", path, (int) getpid(), i);
        if (n < 0 || (size_t) n >= size) {
            errno = ENAMETOOLONG;
            return -1;
        }
        int fd = open(name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, (mode_t) mode);
        if (fd >= 0 || errno != EEXIST)
            return fd;
    }
    return -1;
}

int hocket__file_write(const char *path, struct hocket__str content, bool exclusive, int mode,
    struct hocket_error *err)
{
    char temporary[4096];
    int fd = open_temporary(path, mode, temporary, sizeof(temporary));
    if (fd < 0)
        return fail(err, "write", path);
    /* A whole file or the one before: it is written beside, and takes the name when it is on
     * the disk. */
    bool bad = hocket__write_all(fd, content) < 0 || fsync(fd) < 0;
    /* some file systems (NFS, quotas) tell of a failed write here */
    bad |= close(fd) < 0;
    if (!bad) /* link, unlike rename, leaves a file that is there alone */
        bad = exclusive ? link(temporary, path) < 0 : rename(temporary, path) < 0;
    int rc = bad ? fail(err, "write", path) : 0;
    if (bad || exclusive)
        unlink(temporary);
    return rc;
}

/* Nobody else's lines are emptied away, and nobody else reads what comes. */
static int take_file(int fd, const char *path, struct hocket_error *err)
{
    struct flock all = { .l_type = F_WRLCK, .l_whence = SEEK_SET };
    struct stat st;
    if (fstat(fd, &st) < 0)
        return fail(err, "write", path);
    if (!S_ISREG(st.st_mode))
        return hocket__error(
            err, HOCKET_EINVAL, "cannot write %s: it is a device or pipe, not a file", path);
    if ((st.st_mode & 0077) != 0 && fchmod(fd, 0600) < 0)
        return fail(err, "write", path);
    /* the lock is the open file's and not the process's, so two runs of one host see each
     * other; where a file system has no locks it is written without */
    if (fcntl(fd, F_OFD_SETLK, &all) < 0 && (errno == EAGAIN || errno == EACCES))
        return hocket__error(err, HOCKET_ESTATE, "cannot write %s: another run writes to it", path);
    return ftruncate(fd, 0) == 0 ? 0 : fail(err, "write", path);
}

int hocket__file_begin(const char *path, struct hocket_error *err)
{
    int fd = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NONBLOCK | O_NOFOLLOW, 0600);
    if (fd < 0 && errno == ELOOP)
        return hocket__error(err, HOCKET_EINVAL, "cannot write %s: it is a symbolic link", path);
    if (fd < 0)
        return fail(err, "write", path);
    int rc = take_file(fd, path, err);
    if (rc == 0)
        return fd;
    close(fd);
    return rc;
}

int hocket__file_append(
    int fd, const char *path, struct hocket__str content, struct hocket_error *err)
{
    return hocket__write_all(fd, content) < 0 ? fail(err, "write", path) : 0;
}

int hocket__file_close(int fd, const char *path, struct hocket_error *err)
{
    return close(fd) < 0 ? fail(err, "write", path) : 0;
}

int hocket__dir_make(const char *path, bool is_private, struct hocket_error *err)
{
    char part[4096];
    size_t n = strlen(path);
    if (n == 0 || n >= sizeof(part))
        return hocket__error(err, HOCKET_EINVAL, "not a path: '%.200s'", path);
    for (size_t i = 1; i <= n; i++) {
        if (path[i] != '/' && path[i] != 0)
            continue;
        memcpy(part, path, i);
        part[i] = 0;
        if (mkdir(part, is_private ? 0700 : 0777) < 0 && errno != EEXIST)
            return fail(err, "make the directory", part);
    }
    return 0;
}

/* ---- Looking --------------------------------------------------------------------- */

int hocket__file_info(const char *path, struct hocket__file_info *out, struct hocket_error *err)
{
    struct stat st;
    *out = (struct hocket__file_info){ 0 };
    if (stat(path, &st) < 0)
        return errno == ENOENT || errno == ENOTDIR ? 0 : fail(err, "look at", path);
    out->exists = true;
    out->is_dir = S_ISDIR(st.st_mode);
    out->is_file = S_ISREG(st.st_mode);
    out->is_private = (st.st_mode & 077) == 0;
    struct timespec modified = hocket__system_modified(&st);
    out->size = st.st_size;
    out->mtime_ms = (int64_t) modified.tv_sec * 1000 + modified.tv_nsec / 1000000;
    return 0;
}

static bool entry_is_dir(int dir_fd, const struct dirent *e)
{
    struct stat st;
    /* some file systems do not say; and of a link it counts what it leads to */
    if (e->d_type != DT_UNKNOWN && e->d_type != DT_LNK)
        return e->d_type == DT_DIR;
    return fstatat(dir_fd, e->d_name, &st, 0) == 0 && S_ISDIR(st.st_mode);
}

int hocket__dir_list(const char *path, void (*cb)(void *ud, const char *name, bool is_dir),
    void *ud, struct hocket_error *err)
{
    DIR *dir = opendir(path);
    if (!dir)
        return fail(err, "list", path);
    int count = 0, rc = 0;
    for (struct dirent *e; rc == 0 && (e = readdir(dir)) != NULL;) {
        if (strcmp(e->d_name, ".") == 0 || strcmp(e->d_name, "..") == 0)
            continue;
        if (++count > MAX_ENTRIES)
            rc =
                hocket__error(err, HOCKET_ELIMIT, "%s has more than %d entries", path, MAX_ENTRIES);
        else
            cb(ud, e->d_name, entry_is_dir(dirfd(dir), e));
    }
    closedir(dir);
    return rc;
}

/* Where the file of a store may be. These checks come before SQLite, which opens any path: a link
 * that leads elsewhere, a file beside which others may put a -wal, a network file
 * system whose locks do not hold. Missing directories are made, for the user alone.
 *
 * The checks read names, and names may change afterwards. So nobody else may be able to write in the
 * directory. */
#include "os/store_place.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "os/posix/system.h"

static int complain(struct hocket_error *err, const char *what, const char *path)
{
    int status = errno == EACCES || errno == EPERM || errno == EROFS ? HOCKET_EDENIED : HOCKET_EIO;
    return hocket__error(err, status,
        "cannot %s %s: %s: give another file to keep runs in, or keep none", what, path,
        strerror(errno));
}

/* It exists, and its permissions, or those of the whole file system, forbid changes. */
static bool may_only_look(const char *path, int how)
{
    return (errno == EACCES || errno == EPERM || errno == EROFS) && access(path, how) == 0;
}

/* As mkdir -p, for the user alone. An existing directory is fine, even if its parent is not
 * writable: on some systems mkdir returns EACCES or EROFS before EEXIST. */
static int make_directory(char *dir, struct hocket_error *err)
{
    for (char *slash = strchr(dir + 1, '/');; slash = strchr(slash + 1, '/')) {
        if (slash)
            *slash = 0;
        int rc = mkdir(dir, 0700);
        if (rc < 0 && errno != EEXIST) {
            struct stat st;
            int before = errno;
            if (stat(dir, &st) < 0) {
                errno = before;
                return complain(err, "make the directory", dir);
            }
        }
        if (!slash)
            return 0;
        *slash = '/';
    }
}

static int check_directory(const char *dir, bool *looks, struct hocket_error *err)
{
    struct stat st;
    if (stat(dir, &st) < 0)
        return complain(err, "look at", dir);
    if (!S_ISDIR(st.st_mode))
        return hocket__error(err, HOCKET_EINVAL, "%s is no directory", dir);
    if (st.st_uid != geteuid() && st.st_uid != 0)
        return hocket__error(err, HOCKET_EDENIED,
            "%s belongs to another user: keep runs in a directory of your own", dir);
    if (st.st_mode & S_IWOTH || (st.st_mode & S_IWGRP && st.st_gid != getegid()))
        return hocket__error(err, HOCKET_EDENIED,
            "others may write in %s: keep runs in a directory of your own", dir);
    if (hocket__system_is_network(dir))
        return hocket__error(err, HOCKET_EUNSUPPORTED,
            "%s is on a network file system, where SQLite cannot lock: keep runs on a local disk",
            dir);
    if (access(dir, W_OK | X_OK) == 0)
        return 0;
    *looks = may_only_look(dir, X_OK);
    return *looks ? 0 : complain(err, "write in", dir);
}

static int check_file(const char *path, bool *looks, struct hocket_error *err)
{
    struct stat st;
    if (lstat(path, &st) < 0)
        return errno == ENOENT ? 0 : complain(err, "look at", path);
    if (S_ISLNK(st.st_mode))
        return hocket__error(
            err, HOCKET_EDENIED, "%s is a symbolic link: name the file that it leads to", path);
    if (!S_ISREG(st.st_mode))
        return hocket__error(err, HOCKET_EINVAL, "%s is no file", path);
    if (st.st_uid != geteuid())
        return hocket__error(err, HOCKET_EDENIED,
            "%s belongs to another user: keep runs in a file of your own", path);
    if (st.st_nlink > 1)
        return hocket__error(err, HOCKET_EDENIED,
            "%s has a second name (a hard link): SQLite would damage it: copy it", path);
    if (access(path, W_OK) == 0)
        return 1;
    if (!may_only_look(path, R_OK))
        return complain(err, "write", path);
    *looks = true;
    return 1;
}

/* The files that SQLite counts as parts of the database. */
static int check_files(struct hocket__buf *path, bool *looks, struct hocket_error *err)
{
    static const char *const suffixes[] = { "-wal", "-shm", "-journal" };
    size_t len = path->len;
    int rc = 0;
    for (size_t i = 0; rc >= 0 && i < sizeof(suffixes) / sizeof(suffixes[0]); i++) {
        if (hocket__buf_adds(path, suffixes[i]) < 0)
            return hocket__error_nomem(err);
        rc = check_file(path->data, looks, err);
        hocket__buf_cut(path, len);
    }
    return rc < 0 ? rc : check_file(path->data, looks, err);
}

static int make_file(const char *path, struct hocket_error *err)
{
    int fd = open(path, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (fd < 0)
        return errno == EEXIST ? 0 : complain(err, "make", path);
    close(fd);
    return 0;
}

int hocket__store_place(
    const char *path, struct hocket__buf *real, bool *looks, struct hocket_error *err)
{
    const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
    char dir[PATH_MAX], resolved[PATH_MAX];
    int n =
        snprintf(dir, sizeof(dir), "%.*s", slash ? (int) (slash - path) : 1, slash ? path : ".");
    if (*name == 0 || strcmp(name, ".") == 0 || strcmp(name, "..") == 0)
        return hocket__error(err, HOCKET_EINVAL, "\"%s\" names no file to keep runs in", path);
    if (n >= (int) sizeof(dir))
        return hocket__error(
            err, HOCKET_EINVAL, "the path of the file to keep runs in is too long");
    if (n == 0)
        strcpy(dir, "/");
    int rc = make_directory(dir, err);
    if (rc < 0)
        return rc;
    if (!realpath(dir, resolved))
        return complain(err, "look at", dir);
    *looks = false;
    rc = check_directory(resolved, looks, err);
    if (rc < 0)
        return rc;
    hocket__buf_reset(real); /* it may not be the first try */
    hocket__buf_addf(real, "%s/%s", strcmp(resolved, "/") == 0 ? "" : resolved, name);
    if (real->status < 0)
        return hocket__error_nomem(err);
    rc = check_files(real, looks, err);
    return rc == 0 ? make_file(real->data, err) : rc < 0 ? rc : 0;
}

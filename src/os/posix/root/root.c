/* Opening what a path names, and never anything outside. openat2 with RESOLVE_BENEATH lets the
 * kernel see to it, links that stay inside included; where it is missing (before Linux 5.6,
 * some containers) the path is walked one part at a time and no link is followed.
 *
 * Paths are first resolved as texts (root_path), for messages, rules and caches. The protection is
 * in the opening. */
#include "os/posix/root/root_impl.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <unistd.h>

#include "os/posix/system.h"

/* ---- The root ------------------------------------------------------------------ */

/* Asked once, by doing it: a seccomp filter may refuse what the kernel has. */
static bool has_beneath(int fd)
{
    int got = hocket__system_open_beneath(fd, ".", HOCKET__O_PASS | O_CLOEXEC);
    if (got >= 0)
        close(got);
    return got >= 0;
}

/* The descriptor is the root from here on, whatever becomes of its name; the name is for messages
 * and rules. */
int hocket__root_open(const char *dir, struct hocket__root **out, struct hocket_error *err)
{
    struct hocket__root *r = calloc(1, sizeof(*r));
    if (!r)
        return hocket__error_nomem(err);
    *r = (struct hocket__root){ .refs = 1, .fd = open(dir, HOCKET__O_PASS | O_CLOEXEC) };
    r->dir = r->fd >= 0 ? realpath(dir, NULL) : NULL;
    if (!r->dir) {
        int rc = hocket__root_fail(err, "open", dir);
        hocket__root_unref(r);
        return rc;
    }
    r->plain = !has_beneath(r->fd);
    *out = r;
    return 0;
}

/* Counted with atomics: jobs on threads of the pool hold it. */
struct hocket__root *hocket__root_ref(struct hocket__root *r)
{
    __atomic_add_fetch(&r->refs, 1, __ATOMIC_RELAXED);
    return r;
}

void hocket__root_unref(struct hocket__root *r)
{
    if (!r || __atomic_sub_fetch(&r->refs, 1, __ATOMIC_ACQ_REL) > 0)
        return;
    if (r->fd >= 0)
        close(r->fd);
    free(r->dir);
    free(r);
}

const char *hocket__root_dir(const struct hocket__root *r)
{
    return r->dir;
}

void hocket__root_plain(struct hocket__root *r)
{
    r->plain = true;
}

/* ---- Paths ------------------------------------------------------------------------ */

/* An absolute path is taken when it lies in the project: models copy them from what programs print. */
static bool cut_root(const struct hocket__root *r, struct hocket__str *text)
{
    size_t n = strlen(r->dir);
    if (text->n == 0 || text->p[0] != '/')
        return true;
    if (n == 1)
        n = 0; /* the root is "/" */
    if (text->n < n || memcmp(text->p, r->dir, n) != 0 || (text->n > n && text->p[n] != '/'))
        return false;
    *text = hocket__str(text->p + n, text->n - n);
    return true;
}

int hocket__root_path(const struct hocket__root *r, struct hocket__str text,
    struct hocket__buf *out, struct hocket_error *err)
{
    struct hocket__str rest = text;
    if (text.n >= PATH_MAX || memchr(text.p, 0, text.n))
        return hocket__error(
            err, HOCKET_EINVAL, "a path has at most %d bytes and no NUL", PATH_MAX - 1);
    if (!cut_root(r, &rest))
        return hocket__error(err, HOCKET_EDENIED,
            "%.*s is outside of the project; paths are relative to its folder", (int) text.n,
            text.p);
    return hocket__root_resolve(text, rest, out, err);
}

/* ---- Opening ------------------------------------------------------------------------ */

/* openat, which with O_DIRECTORY | O_NOFOLLOW says ENOTDIR of a link, too. */
static int open_itself(int dir, const char *name, int flags)
{
    struct stat st;
    int fd = openat(dir, name, flags | O_NOFOLLOW);
    if (fd < 0 && errno == ENOTDIR)
        errno = fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW) == 0 && S_ISLNK(st.st_mode) ? ELOOP
                                                                                         : ENOTDIR;
    return fd;
}

/* Component by component; a link is never followed. */
static int open_plain(struct hocket__root *r, const char *path, int flags)
{
    const char *name;
    int dir = hocket__root_parent(r, path, false, &name, NULL);
    if (dir < 0)
        return -1;
    int fd = open_itself(dir, name, flags);
    int code = errno;
    close(dir);
    errno = code;
    return fd;
}

static int open_beneath(struct hocket__root *r, const char *path, int flags)
{
    flags |= O_CLOEXEC | O_NOCTTY;
    return r->plain ? open_plain(r, path, flags) : hocket__system_open_beneath(r->fd, path, flags);
}

static void fill_info(struct hocket__root_info *info, const struct stat *st)
{
    struct timespec modified = hocket__system_modified(st);
    *info = (struct hocket__root_info){
        .kind = S_ISREG(st->st_mode)   ? 'f'
                : S_ISDIR(st->st_mode) ? 'd'
                : S_ISLNK(st->st_mode) ? 'l'
                                       : 'o',
        .size = st->st_size,
        .mtime_ms = (int64_t) modified.tv_sec * 1000 + modified.tv_nsec / 1000000,
        .mode = st->st_mode & 07777,
        .links = (unsigned) st->st_nlink,
    };
}

static int check_kind(const struct stat *st, const char *path, struct hocket_error *err)
{
    if (S_ISDIR(st->st_mode))
        return hocket__error(err, HOCKET_EINVAL, "%s is a directory, not a file", path);
    if (S_ISLNK(st->st_mode))
        return hocket__error(err, HOCKET_EDENIED, "%s is a symbolic link", path);
    if (!S_ISREG(st->st_mode))
        return hocket__error(err, HOCKET_EINVAL, "%s is a device or pipe, not a file", path);
    return 0;
}

/* A file with a second name may be one of another user's or project's, which a hard link brings in
 * whatever the path says. */
int hocket__root_check(const struct stat *st, const char *path, struct hocket_error *err)
{
    int rc = check_kind(st, path, err);
    if (rc < 0)
        return rc;
    if (st->st_nlink > 1) /* none: it was replaced since it was opened */
        return hocket__error(err, HOCKET_EDENIED,
            "%s has %lu names (hard links), and another may be outside of the project", path,
            (unsigned long) st->st_nlink);
    return 0;
}

int hocket__root_file(struct hocket__root *r, const char *path, struct hocket__root_info *info,
    struct hocket_error *err)
{
    struct stat st;
    int fd = open_beneath(r, path, O_RDONLY | O_NONBLOCK); /* a FIFO must not block */
    if (fd < 0)
        return hocket__root_fail(err, "read", path);
    int rc = fstat(fd, &st) < 0 ? hocket__root_fail(err, "read", path) : check_kind(&st, path, err);
    if (rc < 0) {
        close(fd);
        return rc;
    }
    fill_info(info, &st);
    return fd;
}

int hocket__root_folder(struct hocket__root *r, const char *path, struct hocket_error *err)
{
    int fd = strcmp(path, ".") == 0 ? openat(r->fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC)
                                    : open_beneath(r, path, O_RDONLY | O_DIRECTORY | O_NONBLOCK);
    return fd < 0 ? hocket__root_fail(err, "look into", path) : fd;
}

void hocket__root_close(int fd)
{
    close(fd);
}

/* Of a link: itself. */
static int stat_plain(struct hocket__root *r, const char *path, struct stat *st)
{
    const char *name;
    int dir = hocket__root_parent(r, path, false, &name, NULL);
    int rc = dir < 0 ? -1 : fstatat(dir, name, st, AT_SYMLINK_NOFOLLOW);
    int code = errno;
    if (dir >= 0)
        close(dir);
    errno = code;
    return rc;
}

static int stat_beneath(struct hocket__root *r, const char *path, struct stat *st)
{
    int fd = r->plain ? -1 : open_beneath(r, path, HOCKET__O_ITSELF);
    if (fd < 0)
        return -1;
    int rc = fstat(fd, st);
    close(fd);
    return rc;
}

/* A link that leads out of the project, or nowhere, is reported as a link, and its target is not read. The project's own
 * folder is what was opened. */
int hocket__root_info(struct hocket__root *r, const char *path, struct hocket__root_info *info,
    struct hocket_error *err)
{
    struct stat st;
    int rc = strcmp(path, ".") == 0 ? fstat(r->fd, &st) : stat_beneath(r, path, &st);
    if (rc < 0 && stat_plain(r, path, &st) < 0)
        return hocket__root_fail(err, "look at", path);
    fill_info(info, &st);
    return 0;
}

/* ---- Going down without following links ------------------------------------------------ */

/* To pass through a directory needs no right to list it. */
static int step_down(int dir, const char *name, bool make)
{
    int flags = HOCKET__O_PASS | O_CLOEXEC;
    if (strcmp(name, "..") == 0) { /* up again, or out: whoever resolved the path left none */
        errno = EXDEV;
        return -1;
    }
    int fd = open_itself(dir, name, flags);
    if (fd < 0 && errno == ENOENT && make && (mkdirat(dir, name, 0777) == 0 || errno == EEXIST))
        fd = open_itself(dir, name, flags);
    return fd;
}

int hocket__root_parent(struct hocket__root *r, const char *path, bool make, const char **name,
    struct hocket_error *err)
{
    char part[NAME_MAX + 1];
    int dir = openat(r->fd, ".", HOCKET__O_PASS | O_CLOEXEC);
    const char *at = path, *slash;
    while (dir >= 0 && (slash = strchr(at, '/'))) {
        size_t n = (size_t) (slash - at);
        int next = -1;
        if (n <= NAME_MAX) {
            memcpy(part, at, n);
            part[n] = 0;
            next = step_down(dir, part, make);
        } else {
            errno = ENAMETOOLONG;
        }
        int code = errno;
        close(dir);
        errno = code;
        dir = next;
        at = slash + 1;
    }
    *name = at;
    if (dir >= 0 && strcmp(at, "..") == 0) {
        close(dir);
        dir = -1;
        errno = EXDEV;
    }
    return dir < 0 ? hocket__root_fail(err, "get to", path) : dir;
}

/* ---- Listing ---------------------------------------------------------------------------- */

static void look(DIR *d, const struct dirent *e, struct hocket__root_info *info)
{
    struct stat st;
    if (fstatat(dirfd(d), e->d_name, &st, AT_SYMLINK_NOFOLLOW) == 0)
        fill_info(info, &st);
    else
        *info = (struct hocket__root_info){ .kind = 'o' };
}

/* The limit counts all names and not only the shown ones: a directory of a million names is refused
 * before its names fill a model's window. */
int hocket__root_list(struct hocket__root *r, const char *path, size_t max,
    void (*cb)(void *ud, const char *name, const struct hocket__root_info *info), void *ud,
    struct hocket_error *err)
{
    int fd = hocket__root_folder(r, path, err), rc = 0;
    if (fd < 0)
        return fd;
    DIR *d = fdopendir(fd);
    if (!d) {
        rc = hocket__root_fail(err, "look into", path);
        close(fd);
        return rc;
    }
    size_t n = 0;
    for (struct dirent *e; rc == 0 && (e = readdir(d));) {
        struct hocket__root_info info;
        if (strcmp(e->d_name, ".") == 0 || strcmp(e->d_name, "..") == 0)
            continue;
        if (n++ == max) {
            rc = hocket__error(err, HOCKET_ELIMIT, "%s holds more than %zu entries", path, max);
            break;
        }
        look(d, e, &info);
        cb(ud, e->d_name, &info);
    }
    closedir(d);
    return rc;
}

/* Reading whole files and changing them: see root.h.
 *
 * A change is made against the content that was read before: who asks for it says its hash, and a
 * file that differs now is not written to. What takes the place of the old file is exchanged
 * atomically, looked at once more, and put back when it was another one. */
#include "os/file.h"
#include "os/posix/root/root_impl.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "os/own.h"
#include "os/posix/system.h"

/* The largest file that is compared before it is replaced. */
#define COMPARE_MAX ((size_t) 256 << 20)

/* ---- Reading --------------------------------------------------------------------------- */

int hocket__root_slurp(
    int fd, const char *path, size_t max, struct hocket__buf *out, struct hocket_error *err)
{
    struct stat st;
    size_t from = out->len;
    size_t guess = fstat(fd, &st) == 0 && st.st_size > 0 ? (size_t) st.st_size + 1 : 4096;
    for (;;) {
        size_t room = out->len == from ? guess : 65536;
        if (out->len - from > max || room > max + 65536)
            return hocket__error(err, HOCKET_ELIMIT, "%s is larger than %zu bytes", path, max);
        if (hocket__buf_reserve(out, room) < 0)
            return hocket__error_nomem(err);
        ssize_t n = read(fd, out->data + out->len, room);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return hocket__root_fail(err, "read", path);
        out->len += (size_t) n;
        out->data[out->len] = 0;
        if ((size_t) n < room) /* of a regular file: the end */
            break;
    }
    if (out->len - from > max)
        return hocket__error(err, HOCKET_ELIMIT, "%s is larger than %zu bytes", path, max);
    return 0;
}

/* ---- What is there -------------------------------------------------------------------------- */

/* Whether dir/name is what is expected; fills *mode. 0, ESTATE, or what is wrong with it. */
static int compare(int dir, const char *name, const char *path, const unsigned char *expect,
    mode_t *mode, struct hocket_error *err)
{
    struct stat st;
    struct hocket__buf now;
    unsigned char hash[HOCKET__HASH];
    int fd = openat(dir, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC | O_NOCTTY);
    if (fd < 0 && errno == ENOENT)
        return hocket__error(err, HOCKET_ESTATE, "%s is not there any more", path);
    if (fd < 0)
        return hocket__root_fail(err, "read", path);
    hocket__buf_init(&now, &hocket__malloc, 0);
    int rc = fstat(fd, &st) < 0 ? hocket__root_fail(err, "read", path)
                                : hocket__root_check(&st, path, err);
    if (rc == 0)
        rc = hocket__root_slurp(fd, path, COMPARE_MAX, &now, err);
    close(fd);
    hocket__root_hash(hocket__buf_str(&now), expect, hash);
    hocket__buf_deinit(&now);
    if (rc == 0 && memcmp(hash, expect, HOCKET__HASH) != 0)
        rc = hocket__error(
            err, HOCKET_ESTATE, "%s was changed by somebody else since it was read", path);
    if (rc == 0)
        *mode = st.st_mode & 0777;
    return rc;
}

/* ---- Putting in place -------------------------------------------------------------------------
 */

static bool is_unknown(int code)
{
    return code == EINVAL || code == ENOSYS || code == EOPNOTSUPP;
}

/* Where nothing is to be. File systems without NOREPLACE have links, which do not replace either.
 */
static int place_new(int from_dir, const char *from, int to_dir, const char *to, bool is_dir)
{
    if (hocket__system_rename(from_dir, from, to_dir, to, HOCKET__RENAME_NEW) == 0)
        return 0;
    if (!is_unknown(errno) || is_dir)
        return -1;
    if (linkat(from_dir, from, to_dir, to, 0) < 0)
        return -1;
    return unlinkat(from_dir, from, 0);
}

/* As often as somebody else may come in between. */
#define MOST_TURNS 10000

/* Opens what stands there, so that the number of its inode is nobody else's as long. */
static int hold(int dir, const char *name, struct stat *st)
{
    int fd = openat(dir, name, HOCKET__O_ITSELF | O_NOFOLLOW | O_CLOEXEC);
    if (fd >= 0 && fstat(fd, st) < 0) {
        close(fd);
        return -1;
    }
    return fd;
}

static bool is_same(const struct stat *a, const struct stat *b)
{
    return a->st_ino == b->st_ino && a->st_dev == b->st_dev;
}

/* Undoes an exchange, until what comes out is what was put in the time before: at first ours. Anything else was put there by
 * somebody in between, is newer than what has just replaced it, and is to stay. Without a descriptor for it the number
 * alone has to do. */
static void put_back(
    int from_dir, const char *from, int to_dir, const char *to, const struct stat *ours)
{
    struct stat in, out, before = *ours;
    int held = -1;
    for (int i = 0; i < MOST_TURNS; i++) {
        int next = hold(from_dir, from, &in);
        if (next < 0 && fstatat(from_dir, from, &in, AT_SYMLINK_NOFOLLOW) < 0)
            break;
        bool over = hocket__system_rename(from_dir, from, to_dir, to, HOCKET__RENAME_SWAP) < 0
                    || fstatat(from_dir, from, &out, AT_SYMLINK_NOFOLLOW) < 0
                    || is_same(&out, &before);
        if (held >= 0)
            close(held);
        held = next;
        before = in;
        if (over)
            break;
    }
    if (held >= 0)
        close(held);
}

static int exchange(int from_dir, const char *from, int to_dir, const char *to, const char *path,
    const unsigned char *expect, const struct stat *ours, struct hocket_error *err)
{
    mode_t mode;
    if (hocket__system_rename(from_dir, from, to_dir, to, HOCKET__RENAME_SWAP) < 0) {
        if (!is_unknown(errno) || renameat(from_dir, from, to_dir, to) < 0)
            return hocket__root_fail(err, "replace", path);
        return 0;
    }
    int rc = compare(from_dir, from, path, expect, &mode, err);
    if (rc < 0) {
        put_back(from_dir, from, to_dir, to, ours);
        return rc;
    }
    return unlinkat(from_dir, from, 0) < 0 ? hocket__root_fail(err, "replace", path) : 0;
}

/* Replaces the file that is expected there. The two are exchanged, and the old one is checked
 * afterwards: so a change of the last moment is not lost. We hold our file open, or the system
 * might reuse its inode number meanwhile. */
static int place_over(int from_dir, const char *from, int to_dir, const char *to, const char *path,
    const unsigned char *expect, struct hocket_error *err)
{
    struct stat ours;
    int held = hold(from_dir, from, &ours);
    if (held < 0)
        return hocket__root_fail(err, "replace", path);
    int rc = exchange(from_dir, from, to_dir, to, path, expect, &ours, err);
    close(held);
    return rc;
}

/* ---- Temporary files ------------------------------------------------------------------ */

/* What a writer that was killed has left: no write takes so long. */
#define LEFT_S 3600
/* Entries of a directory that a sweep reads: it cleans a larger one in part. */
#define SWEPT 4096

static bool is_temporary(const char *name)
{
    size_t n = strlen(name);
    return n == 28 && strncmp(name, ".hocket-", 8) == 0 && strcmp(name + 24, ".tmp") == 0
           && strspn(name + 8, "0123456789abcdef") == 16;
}

/* st_ctime says since when it has this name. A file that a writer has just exchanged may be as old as it likes, and is put
 * back when it is another one than was expected. */
static void remove_if_left(int dir, const char *name)
{
    struct timespec now;
    struct stat st;
    clock_gettime(CLOCK_REALTIME, &now);
    if (fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW) == 0 && S_ISREG(st.st_mode)
        && st.st_uid == geteuid() && hocket__system_changed(&st).tv_sec < now.tv_sec - LEFT_S)
        unlinkat(dir, name, 0);
}

/* Removes what killed writers have left beside a file that is written now. */
static void sweep(int dir)
{
    int fd = openat(dir, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *list = fd < 0 ? NULL : fdopendir(fd);
    const struct dirent *entry;
    if (!list && fd >= 0)
        close(fd);
    for (int i = 0; list && i < SWEPT && (entry = readdir(list)); i++)
        if (is_temporary(entry->d_name))
            remove_if_left(dir, entry->d_name);
    if (list)
        closedir(list);
}

static int make_temporary(int dir, char name[40], struct hocket__str content, mode_t mode)
{
    uint64_t random = 0;
    int fd = -1;
    for (int i = 0; i < 10 && fd < 0; i++) {
        if (hocket__random(&random, sizeof(random)) != 0)
            return -1;
        snprintf(name, 40, ".hocket-%016llx.tmp", (unsigned long long) random);
        fd = openat(
            dir, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, mode ? mode : 0666);
        if (fd < 0 && errno != EEXIST)
            return -1;
    }
    if (fd < 0)
        return -1;
    int rc = hocket__write_all(fd, content) < 0 ? -1 : fsync(fd);
    if (rc == 0 && mode)
        rc = fchmod(fd, mode);
    int code = errno;
    if (close(fd) < 0 && rc == 0)
        rc = -1;
    else
        errno = code;
    if (rc < 0) {
        code = errno;
        unlinkat(dir, name, 0);
        errno = code;
    }
    return rc;
}

static int write_in(int dir, const char *name, const char *path, struct hocket__str content,
    const unsigned char *expect, struct hocket_error *err)
{
    char temporary[40];
    struct stat st;
    mode_t mode = 0;
    int rc = expect ? compare(dir, name, path, expect, &mode, err) : 0;
    if (rc == 0 && !expect && fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW) == 0)
        rc = hocket__error(err, HOCKET_EEXIST, "%s is there already", path);
    if (rc < 0)
        return rc;
    sweep(dir);
    if (make_temporary(dir, temporary, content, mode) < 0)
        return hocket__root_fail(err, "write", path);
    if (expect)
        rc = place_over(dir, temporary, dir, name, path, expect, err);
    else if (place_new(dir, temporary, dir, name, false) < 0)
        rc = hocket__root_fail(err, "write", path);
    if (rc < 0)
        unlinkat(dir, temporary, 0);
    return rc;
}

int hocket__root_write(struct hocket__root *r, const char *path, struct hocket__str content,
    const unsigned char expect[HOCKET__HASH], struct hocket_error *err)
{
    const char *name;
    int dir = hocket__root_parent(r, path, expect == NULL, &name, err);
    if (dir < 0)
        return dir;
    int rc = strcmp(name, ".") == 0
                 ? hocket__error(err, HOCKET_EINVAL, "%s is a directory, not a file", path)
                 : write_in(dir, name, path, content, expect, err);
    close(dir);
    return rc;
}

/* ---- Moving -------------------------------------------------------------------------- */

struct move {
    const char *from, *to;
    int from_dir, to_dir;
    const char *from_name, *to_name;
};

static int move_checked(const struct move *m, const unsigned char *expect, struct hocket_error *err)
{
    struct stat st;
    mode_t mode;
    if (fstatat(m->from_dir, m->from_name, &st, AT_SYMLINK_NOFOLLOW) < 0)
        return hocket__root_fail(err, "move", m->from);
    bool is_dir = S_ISDIR(st.st_mode);
    int rc = is_dir ? 0 : hocket__root_check(&st, m->from, err);
    if (rc < 0)
        return rc;
    if (expect && is_dir)
        return hocket__error(err, HOCKET_EEXIST, "%s is there already", m->to);
    if (expect) {
        rc = compare(m->to_dir, m->to_name, m->to, expect, &mode, err);
        return rc < 0 ? rc
                      : place_over(
                          m->from_dir, m->from_name, m->to_dir, m->to_name, m->to, expect, err);
    }
    if (place_new(m->from_dir, m->from_name, m->to_dir, m->to_name, is_dir) < 0)
        return errno == EEXIST ? hocket__error(err, HOCKET_EEXIST, "%s is there already", m->to)
                               : hocket__root_fail(err, "move", m->from);
    return 0;
}

int hocket__root_move(struct hocket__root *r, const char *from, const char *to,
    const unsigned char expect[HOCKET__HASH], struct hocket_error *err)
{
    struct move m = { .from = from, .to = to, .from_dir = -1, .to_dir = -1 };
    if (strcmp(from, ".") == 0 || strcmp(to, ".") == 0)
        return hocket__error(
            err, HOCKET_EINVAL, "the project's own folder cannot be moved or replaced");
    m.from_dir = hocket__root_parent(r, from, false, &m.from_name, err);
    if (m.from_dir < 0)
        return m.from_dir;
    m.to_dir = hocket__root_parent(r, to, expect == NULL, &m.to_name, err);
    int rc = m.to_dir < 0 ? m.to_dir : move_checked(&m, expect, err);
    if (m.to_dir >= 0)
        close(m.to_dir);
    close(m.from_dir);
    return rc;
}

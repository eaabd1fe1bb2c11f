/* What lies below a writable folder and is not to be changed. bubblewrap mounts it read-only;
 * Landlock has no way to take a right back, and new files at the top of a folder need rights on
 * the folder, which its .git has with it. So at that level the program gets a mount namespace, where
 * the process may make one (root, or user namespaces), and has no capabilities left to leave it.
 *
 * In it all is read-only but what is writable. Landlock knows nothing of modes, times and
 * attributes: whoever a file belongs to could still open it to everybody, root each of the system's.
 * Scratch space is memory of limited size there, as in bubblewrap. */
#include "os/linux/sandbox.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
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

static int by_text(const void *a, const void *b)
{
    return strcmp(*(char *const *) a, *(char *const *) b);
}

struct folders {
    char **list;
    size_t n, cap;
};

static bool add_folder(struct folders *f, const char *path, size_t length)
{
    if (f->n == f->cap) {
        size_t cap = f->cap ? 2 * f->cap : 64;
        char **list = realloc(f->list, cap * sizeof(*list));
        if (!list)
            return false;
        f->list = list;
        f->cap = cap;
    }
    f->list[f->n] = strndup(path, length);
    return f->list[f->n] && f->n++ < f->cap;
}

static bool add_above(struct folders *f, const struct hocket__launch *l, const char *guarded)
{
    bool ok = true;
    for (const char *slash = strchr(guarded + 1, '/'); ok && slash;
         slash = strchr(slash + 1, '/')) {
        char folder[PATH_MAX];
        struct stat st;
        int n = snprintf(folder, sizeof(folder), "%.*s", (int) (slash - guarded), guarded);
        if (n < (int) sizeof(folder) && is_writable(l, folder) && lstat(folder, &st) == 0
            && S_ISDIR(st.st_mode))
            ok = add_folder(f, folder, (size_t) n);
    }
    return ok;
}

bool hocket__guard_above(
    const struct hocket__launch *l, void (*cb)(void *ud, const char *folder), void *ud)
{
    struct folders f = { 0 };
    bool ok = true;
    for (const char *const *g = l->guarded; ok && g && *g; g++)
        ok = add_above(&f, l, *g);
    if (f.n > 0)
        qsort(f.list, f.n, sizeof(*f.list), by_text); /* the upper ones first */
    for (size_t i = 0; i < f.n; i++)
        if (ok && (i == 0 || strcmp(f.list[i], f.list[i - 1]) != 0))
            cb(ud, f.list[i]);
    for (size_t i = 0; i < f.n; i++)
        free(f.list[i]);
    free(f.list);
    return ok;
}

/* ---- A mount namespace ------------------------------------------------------------------ */

/* MS_PRIVATE: without it what is mounted here would be seen by all the system. */
static bool enter(void)
{
    return hocket__sandbox_unshare(CLONE_NEWNS)
           && mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) == 0;
}

/* Of linux/mount.h, which does not go together with sys/mount.h everywhere. */
struct attributes {
    uint64_t set, clear, propagation, userns;
};
#define ATTRIBUTE_RDONLY 1
#define CLONE_TREE       1
#define FROM_EMPTY_PATH  4

static bool make_readonly(const char *path)
{
    struct attributes a = { .set = ATTRIBUTE_RDONLY };
    return syscall(SYS_mount_setattr, AT_FDCWD, path, AT_RECURSIVE, &a, sizeof(a)) == 0;
}

/* A copy of what is mounted there and below, as it is now: -1 when nothing is there, -2 when it
 * cannot be made. */
static int copy_tree(const char *path)
{
    long fd = syscall(SYS_open_tree, AT_FDCWD, path, CLONE_TREE | AT_RECURSIVE | O_CLOEXEC);
    return fd >= 0 ? (int) fd : errno == ENOENT || errno == ENOTDIR ? -1 : -2;
}

static bool put_tree(int fd, const char *path)
{
    bool ok = syscall(SYS_move_mount, fd, "", AT_FDCWD, path, FROM_EMPTY_PATH) == 0;
    close(fd);
    return ok;
}

static size_t length(const char *const *list)
{
    size_t n = 0;
    while (list && list[n])
        n++;
    return n;
}

/* Everything is made read-only after what is writable was taken out, which then is put back. */
static bool leave_writable(const char *const *paths)
{
    size_t n = length(paths);
    int *copies = calloc(n + 1, sizeof(*copies));
    bool ok = copies != NULL;
    for (size_t i = 0; ok && i < n; i++)
        ok = (copies[i] = copy_tree(paths[i])) != -2;
    ok = ok && make_readonly("/");
    for (size_t i = 0; ok && i < n; i++)
        ok = copies[i] < 0 || put_tree(copies[i], paths[i]);
    free(copies);
    return ok;
}

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
    struct stat st;
    if (lstat(path, &st) < 0)
        return errno == ENOENT || errno == ENOTDIR;
    return bind(path) && make_readonly(path);
}

bool hocket__guard_apply(const struct hocket__launch *l, const char *tmp)
{
    bool ok = enter() && leave_writable(l->writable)
              && mount("tmpfs", tmp, "tmpfs", MS_NOSUID | MS_NODEV,
                     "mode=700,size=" HOCKET__SANDBOX_TMP_BYTES)
                     == 0;
    if (!ok)
        return false;
    ok = hocket__guard_above(l, fix, &ok) && ok;
    for (const char *const *g = l->guarded; g && *g; g++)
        ok = bind_readonly(*g) && ok;
    return ok;
}

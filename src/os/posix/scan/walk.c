/* The walk of a look: which files count, by the ends of their names, and which directories
 * have to be watched for it. Links are followed, since agents may be shared between projects;
 * a directory is seen once, whatever the ways to it, so a circle of links ends. */
#include "os/scan/scan_impl.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/status.h"
#include "os/errors.h"
#include "os/posix/system.h"

/* Where a path leads through links, each of their directories has to be watched as well: a
 * link that is turned changes what the path means, and no watch of its target shows that. So the
 * path is walked name by name, as the kernel does. */

#define MAX_LINKS 40 /* as the kernel has it */

/* The way that is still to go, and where one has come: without a link, "" at the root. */
struct way {
    char here[PATH_MAX], todo[PATH_MAX];
    int links;
};

/* Takes the next name off the way; false at its end. */
static bool next_name(struct way *w, char name[NAME_MAX + 1])
{
    const char *from = w->todo + strspn(w->todo, "/");
    size_t n = strcspn(from, "/");
    if (n == 0 || n > NAME_MAX)
        return false;
    memcpy(name, from, n);
    name[n] = 0;
    memmove(w->todo, from + n, strlen(from + n) + 1);
    return true;
}

static void go_up(struct way *w)
{
    char *slash = strrchr(w->here, '/');
    if (slash)
        *slash = 0;
}

/* What the link at `at` says goes before what is still to go. */
static bool follow(struct way *w, const char *at)
{
    char target[PATH_MAX], todo[PATH_MAX];
    ssize_t n = readlink(at, target, sizeof(target) - 1);
    if (n <= 0 || ++w->links > MAX_LINKS)
        return false;
    target[n] = 0;
    if ((size_t) snprintf(todo, sizeof(todo), "%s%s%s", target, *w->todo ? "/" : "", w->todo)
        >= sizeof(todo))
        return false;
    if (*target == '/')
        w->here[0] = 0;
    memcpy(w->todo, todo, sizeof(todo));
    return true;
}

/* One name further: 1, 0 at the end, or when there is nothing at that place; or ENOMEM. */
static int go_on(struct way *w, struct hocket__scan_dirs *dirs)
{
    char name[NAME_MAX + 1], at[PATH_MAX];
    struct stat st;
    if (!next_name(w, name))
        return 0;
    if (strcmp(name, ".") == 0)
        return 1;
    if (strcmp(name, "..") == 0)
        return go_up(w), 1;
    if ((size_t) snprintf(at, sizeof(at), "%s/%s", w->here, name) >= sizeof(at))
        return 0;
    bool there = lstat(at, &st) == 0;
    if (!there || S_ISLNK(st.st_mode)) {
        if (hocket__scan_add_dir(dirs, w->here) < 0)
            return HOCKET_ENOMEM;
        return there && follow(w, at);
    }
    memcpy(w->here, at, sizeof(at));
    return 1;
}

/* Adds the directories that hold a link on the way to `path`, and what it leads to in the end; none
 * where no link is on the way. */
static int note_links(struct hocket__scan_dirs *dirs, const char *path)
{
    struct way w = { .links = 0 };
    int rc;
    if (strlen(path) >= sizeof(w.todo))
        return 0;
    memcpy(w.todo, path, strlen(path) + 1);
    while ((rc = go_on(&w, dirs)) == 1) {
    }
    if (rc == 0 && w.links > 0 && w.here[0]) {
        go_up(&w);
        rc = hocket__scan_add_dir(dirs, w.here);
    }
    return rc;
}

#define MAX_DEPTH 32
#define MAX_DIRS  10000

static struct hocket__scan_sign sign_of(const struct stat *st)
{
    return (struct hocket__scan_sign){ .dev = (uint64_t) st->st_dev,
        .ino = st->st_ino,
        .size = st->st_size,
        .changed = hocket__system_changed(st),
        .modified = hocket__system_modified(st) };
}

/* ---- One file ------------------------------------------------------------------------------ */

int hocket__scan_open(const char *path)
{
    return open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK); /* a FIFO must not block */
}

bool hocket__scan_look(int fd, struct hocket__scan_sign *sign, bool *regular)
{
    struct stat st;
    if (fstat(fd, &st) < 0)
        return false;
    *sign = sign_of(&st);
    *regular = S_ISREG(st.st_mode);
    return true;
}

int64_t hocket__scan_read(int fd, char *to, size_t n)
{
    ssize_t got;
    do
        got = read(fd, to, n);
    while (got < 0 && errno == EINTR);
    return got;
}

void hocket__scan_close(int fd)
{
    close(fd);
}

static int no_memory(struct hocket__scan_walk *w)
{
    return hocket__error_nomem(w->err);
}

static int fail(struct hocket__scan_walk *w, const char *path)
{
    return hocket__errno_fail(w->err, "list", path, NULL);
}

/* ---- File systems --------------------------------------------------------------------- */

static void note_device(struct hocket__scan_walk *w, const char *path, dev_t dev)
{
    if (w->has_dev && w->dev == (uint64_t) dev)
        return;
    w->has_dev = true;
    w->dev = (uint64_t) dev;
    if (!hocket__system_gets_events(path))
        w->told = false;
}

/* ---- The walk ------------------------------------------------------------------------------ */

/* Names of one directory, sorted, so that of two ways to one directory it is always the same that is gone.
 * Before each stands what it is: 'f', 'd', or '?' where that is to be looked up. */
struct names {
    char **list;
    size_t n, cap;
};

static void free_names(struct names *names)
{
    for (size_t i = 0; i < names->n; i++)
        free(names->list[i]);
    free(names->list);
}

static int by_name(const void *a, const void *b)
{
    return strcmp(*(char *const *) a, *(char *const *) b);
}

static int by_tagged_name(const void *a, const void *b)
{
    return strcmp(*(char *const *) a + 1, *(char *const *) b + 1);
}

static int list_names(struct hocket__scan_walk *w, DIR *dir, struct names *names)
{
    for (struct dirent *e; (e = readdir(dir)) != NULL;) {
        char kind = e->d_type == DT_REG ? 'f' : e->d_type == DT_DIR ? 'd' : '?';
        bool may_be_dir = kind == 'd' || e->d_type == DT_LNK || e->d_type == DT_UNKNOWN;
        bool hidden = e->d_name[0] == '.', file = kind != 'd' && hocket__scan_counts(w, e->d_name);
        if (!file && !(may_be_dir && (!hidden || hocket__scan_enters(w, e->d_name))))
            continue;
        void *list = hocket__scan_grow(names->list, &names->cap, names->n, sizeof(*names->list));
        if (!list)
            return no_memory(w);
        names->list = list;
        size_t n = strlen(e->d_name) + 1;
        char *name = malloc(n + 1);
        if (!name)
            return no_memory(w);
        name[0] = kind;
        memcpy(name + 1, e->d_name, n);
        names->list[names->n++] = name;
    }
    if (names->n > 0)
        qsort(names->list, names->n, sizeof(*names->list), by_tagged_name);
    return 0;
}

/* 1 when it was not seen before. */
static int see(struct hocket__scan_walk *w, const struct stat *st, const char *path)
{
    for (size_t i = 0; i < w->n_seen; i++)
        if (w->seen[i].ino == st->st_ino && w->seen[i].dev == (uint64_t) st->st_dev)
            return 0;
    if (w->n_seen == MAX_DIRS)
        return hocket__error(
            w->err, HOCKET_ELIMIT, "%s has more than %d directories", w->root, MAX_DIRS);
    void *seen = hocket__scan_grow(w->seen, &w->cap_seen, w->n_seen, sizeof(*w->seen));
    if (!seen)
        return no_memory(w);
    w->seen = seen;
    w->seen[w->n_seen++] = sign_of(st);
    return hocket__scan_add_dir(&w->dirs, path) < 0 ? no_memory(w) : 1;
}

static int add_file(
    struct hocket__scan_walk *w, const char *path, const struct stat *st, bool linked)
{
    int rc = hocket__scan_add_file(w, path, sign_of(st));
    if (rc < 0)
        return rc;
    struct hocket__scan_file *f = &w->found.files[w->found.n - 1];
    if (linked && !(f->real = realpath(path, NULL)) && errno == ENOMEM)
        return no_memory(w);
    return 0;
}

static int walk_dir(struct hocket__scan_walk *w, const char *path, int depth, bool linked);

/* A name whose way may have a link in it: `linked` when one was passed already. */
static int look_at(struct hocket__scan_walk *w, const char *path, const char *name, int depth,
    bool linked, bool dirs)
{
    struct stat st, own;
    if (lstat(path, &own) < 0)
        return 0;
    bool is_link = S_ISLNK(own.st_mode);
    if (is_link && !dirs && note_links(&w->dirs, path) < 0)
        return no_memory(w);
    if (!is_link)
        st = own;
    else if (stat(path, &st) < 0)
        return 0; /* it leads nowhere: what is to be seen when it does was noted */
    if (S_ISDIR(st.st_mode) == dirs && dirs)
        return walk_dir(w, path, depth + 1, linked || is_link);
    if (dirs || S_ISDIR(st.st_mode) || !hocket__scan_counts(w, name))
        return 0;
    note_device(w, path, st.st_dev);
    return add_file(w, path, &st, linked || is_link);
}

static int walk_names(struct hocket__scan_walk *w, const char *path, const struct names *names,
    int depth, bool linked)
{
    char at[PATH_MAX];
    /* files before directories: of a directory that is reached in two ways the shorter one
     * counts */
    for (int dirs = 0; dirs < 2; dirs++)
        for (size_t i = 0; i < names->n; i++) {
            if (__atomic_load_n(w->cancelled, __ATOMIC_RELAXED))
                return hocket__error(w->err, HOCKET_ECANCELLED, "cancelled");
            const char *name = names->list[i] + 1;
            if (name[-1] == (dirs ? 'f' : 'd')
                || (size_t) snprintf(at, sizeof(at), "%s/%s", path, name) >= sizeof(at))
                continue;
            int rc = look_at(w, at, name, depth, linked, dirs);
            if (rc < 0)
                return rc;
        }
    return 0;
}

/* What is gone since it was seen is no error, but for the root. */
static int walk_dir(struct hocket__scan_walk *w, const char *path, int depth, bool linked)
{
    struct names names = { 0 };
    struct stat st;
    int rc = 0;
    if (depth > MAX_DEPTH)
        return 0;
    DIR *dir = opendir(path);
    if (!dir)
        return errno == ENOENT || errno == ENOTDIR ? 0 : fail(w, path);
    if (fstat(dirfd(dir), &st) < 0)
        rc = fail(w, path);
    if (rc == 0) {
        w->exists = true;
        note_device(w, path, st.st_dev);
        rc = see(w, &st, path);
    }
    if (rc > 0 && (rc = list_names(w, dir, &names)) == 0) {
        closedir(dir);
        dir = NULL;
        rc = walk_names(w, path, &names, depth, linked);
    }
    free_names(&names);
    if (dir)
        closedir(dir);
    return rc;
}

/* Each once, in order. */
static void sort_dirs(struct hocket__scan_dirs *dirs)
{
    size_t n = 0;
    if (dirs->n == 0)
        return;
    qsort(dirs->names, dirs->n, sizeof(*dirs->names), by_name);
    for (size_t i = 0; i < dirs->n; i++) {
        if (n > 0 && strcmp(dirs->names[n - 1], dirs->names[i]) == 0)
            free(dirs->names[i]);
        else
            dirs->names[n++] = dirs->names[i];
    }
    dirs->n = n;
}

int hocket__scan_walk(struct hocket__scan_walk *w)
{
    w->told = true;
    if (note_links(&w->dirs, w->root) < 0)
        return no_memory(w);
    int rc = walk_dir(w, w->root, 0, false);
    sort_dirs(&w->dirs);
    return rc;
}

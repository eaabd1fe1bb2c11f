/* The walk of a look: which files count, by the ends of their names, and which directories
 * have to be watched for it. Links are followed, since agents may be shared between projects;
 * a directory is seen once, whatever the ways to it, so a circle of links ends. */
#include "os/linux/scan/scan_impl.h"

#include "os/descriptors.h"
#include "base/status.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "os/errors.h"

#define MAX_DEPTH 32
#define MAX_DIRS  10000

void *hocket__scan_grow(void *list, size_t *cap, size_t n, size_t each)
{
    if (n < *cap)
        return list;
    size_t more = *cap ? *cap * 2 : 16;
    void *grown = realloc(list, more * each);
    if (grown)
        *cap = more;
    return grown;
}

struct hocket__scan_sign hocket__scan_sign_of(const struct stat *st)
{
    return (struct hocket__scan_sign){ .dev = st->st_dev,
        .ino = st->st_ino,
        .size = st->st_size,
        .changed = st->st_ctim,
        .modified = st->st_mtim };
}

static int no_memory(struct hocket__scan_walk *w)
{
    return hocket__error_nomem(w->err);
}

static int fail(struct hocket__scan_walk *w, const char *path)
{
    int code = errno, status = hocket__errno_status(code);
    char words[HOCKET__ERRNO_WORDS];
    hocket__error(w->err, status, "cannot list %s: %s", path, hocket__errno_words(code, words));
    if (w->err)
        w->err->retryable = hocket__errno_is_passing(code);
    return status;
}

/* ---- What counts ---------------------------------------------------------------------- */

static bool ends_in(const char *endings, const char *ending)
{
    size_t n = strlen(ending);
    for (const char *p = endings; *p; p += strspn(p, " ")) {
        size_t m = strcspn(p, " ");
        if (m == n && memcmp(p, ending, n) == 0)
            return true;
        p += m;
    }
    return false;
}

/* Of hidden files those that are named as a whole. */
static bool counts(const struct hocket__scan_walk *w, const char *name)
{
    if (name[0] == '.')
        return ends_in(w->endings, name);
    const char *dot = strrchr(name, '.');
    return dot && name[0] != '#' && ends_in(w->endings, dot + 1);
}

/* ---- File systems --------------------------------------------------------------------- */

/* Those that do not tell of what others change: networks, and what a virtual machine shares. Source: statfs(2). */
static bool is_silent(long type)
{
    static const unsigned long types[] = { 0x6969 /* nfs */, 0x517b /* smb */,
        0xfe534d42 /* smb2 */, 0xff534d42 /* cifs */, 0x65735546 /* fuse */, 0x01021997 /* 9p */,
        0x5346414f /* afs */, 0x73757245 /* coda */, 0x00c36400 /* ceph */, 0x0bd00bd0 /* lustre */,
        0x786f4256 /* vboxsf */, 0xbacbacbc /* vmhgfs */, 0x7c7c6673 /* prl_fs */,
        0x47504653 /* gpfs */ };
    for (size_t i = 0; i < sizeof(types) / sizeof(types[0]); i++)
        if (((unsigned long) type & 0xffffffff) == types[i])
            return true;
    return false;
}

static void note_device(struct hocket__scan_walk *w, const char *path, dev_t dev)
{
    struct statfs fs;
    if (w->has_dev && w->dev == dev)
        return;
    w->has_dev = true;
    w->dev = dev;
    if (statfs(path, &fs) == 0 && is_silent((long) fs.f_type))
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
        bool hidden_or_file = e->d_name[0] == '.' || !may_be_dir;
        if (hidden_or_file && (kind == 'd' || !counts(w, e->d_name)))
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
        if (w->seen[i].ino == st->st_ino && w->seen[i].dev == st->st_dev)
            return 0;
    if (w->n_seen == MAX_DIRS)
        return hocket__error(
            w->err, HOCKET_ELIMIT, "%s has more than %d directories", w->root, MAX_DIRS);
    void *seen = hocket__scan_grow(w->seen, &w->cap_seen, w->n_seen, sizeof(*w->seen));
    if (!seen)
        return no_memory(w);
    w->seen = seen;
    w->seen[w->n_seen++] = hocket__scan_sign_of(st);
    return hocket__scan_add_dir(&w->dirs, path) < 0 ? no_memory(w) : 1;
}

static int add_file(
    struct hocket__scan_walk *w, const char *path, const struct stat *st, bool linked)
{
    if (w->found.n == HOCKET__SCAN_MAX_FILES)
        return hocket__error(w->err, HOCKET_ELIMIT, "%s has more than %d files that count", w->root,
            HOCKET__SCAN_MAX_FILES);
    void *files =
        hocket__scan_grow(w->found.files, &w->found.cap, w->found.n, sizeof(*w->found.files));
    if (!files)
        return no_memory(w);
    w->found.files = files;
    struct hocket__scan_file *f = &w->found.files[w->found.n];
    *f = (struct hocket__scan_file){ .path = strdup(path + strlen(w->root) + 1),
        .sign = hocket__scan_sign_of(st) };
    if (!f->path)
        return no_memory(w);
    w->found.n++;
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
    if (is_link && !dirs && hocket__scan_note_links(&w->dirs, path) < 0)
        return no_memory(w);
    if (!is_link)
        st = own;
    else if (stat(path, &st) < 0)
        return 0; /* it leads nowhere: what is to be seen when it does was noted */
    if (S_ISDIR(st.st_mode) == dirs && dirs)
        return walk_dir(w, path, depth + 1, linked || is_link);
    if (dirs || S_ISDIR(st.st_mode) || !counts(w, name))
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
    if (hocket__scan_note_links(&w->dirs, w->root) < 0)
        return no_memory(w);
    int rc = walk_dir(w, w->root, 0, false);
    sort_dirs(&w->dirs);
    return rc;
}

void hocket__scan_walk_free(struct hocket__scan_walk *w)
{
    for (size_t i = 0; i < w->found.n; i++)
        hocket__scan_file_free(&w->found.files[i]);
    free(w->found.files);
    for (size_t i = 0; i < w->dirs.n; i++)
        free(w->dirs.names[i]);
    free(w->dirs.names);
    free(w->seen);
}

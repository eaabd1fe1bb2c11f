/* The walk. Folders wait in a queue of paths and are opened one at a time below a root
 * (os/root), so no link leads out of it and the depth costs no descriptors. Limits in time
 * and entries end it early; then `whole` is false and the person is told. */
#include "os/linux/protect/folder_walk.h"

#include "base/protected.h"

#include <dirent.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <time.h>

#define MOST_ENTRIES ((size_t) 2 << 20)
#define CLOCK_EVERY  256 /* entries */

int64_t hocket__folder_walk_now_ms(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t) t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

/* ---- The queue ----------------------------------------------------------------------- */

void hocket__folder_walk_add(struct hocket__folder_walk *look, const char *path)
{
    if (look->n == look->cap) {
        size_t cap = look->cap ? 2 * look->cap : 64;
        char **queue = realloc(look->queue, cap * sizeof(*queue));
        if (queue) {
            look->queue = queue;
            look->cap = cap;
        }
    }
    char *copy = look->n < look->cap ? strdup(path) : NULL;
    if (copy)
        look->queue[look->n++] = copy;
    else
        look->whole = false;
}

/* ---- One folder ------------------------------------------------------------------------ */

struct folder {
    const char *path;
    struct hocket__str name; /* the last part of it */
    bool fetched;            /* it is, or is below, what was fetched from elsewhere */
    bool head, refs, objects, commondir;
};

static bool is_fetched(const char *path)
{
    for (const char *at = path, *slash; at; at = slash ? slash + 1 : NULL) {
        slash = strchr(at, '/');
        if (hocket__protected_is_fetched(
                hocket__str(at, slash ? (size_t) (slash - at) : strlen(at))))
            return true;
    }
    return false;
}

static struct folder folder_at(const char *path)
{
    const char *slash = strrchr(path, '/');
    return (struct folder){
        .path = path, .name = hocket__cstr(slash ? slash + 1 : path), .fetched = is_fetched(path)
    };
}

/* False when it is too deep for any program to name it. */
static bool join(char out[PATH_MAX], const char *path, const char *name)
{
    int n = strcmp(path, ".") == 0 ? snprintf(out, PATH_MAX, "%s", name)
                                   : snprintf(out, PATH_MAX, "%s/%s", path, name);
    return n > 0 && n < PATH_MAX;
}

static bool is_folder(DIR *d, const struct dirent *e)
{
    struct stat st;
    if (e->d_type != DT_UNKNOWN)
        return e->d_type == DT_DIR;
    return fstatat(dirfd(d), e->d_name, &st, AT_SYMLINK_NOFOLLOW) == 0 && S_ISDIR(st.st_mode);
}

static void note_shape(struct folder *f, const char *name)
{
    f->head = f->head || strcmp(name, "HEAD") == 0;
    f->refs = f->refs || strcmp(name, "refs") == 0;
    f->objects = f->objects || strcmp(name, "objects") == 0;
    f->commondir = f->commondir || strcmp(name, "commondir") == 0;
}

static void look_at(
    struct hocket__folder_walk *look, struct folder *f, DIR *d, const struct dirent *e)
{
    char path[PATH_MAX];
    enum hocket__protected kind = hocket__protected_name(f->name, hocket__cstr(e->d_name));
    bool is_protected = kind == HOCKET__REPOSITORY || (kind == HOCKET__PROTECTED && !f->fetched);
    bool descend = !is_protected && is_folder(d, e);
    note_shape(f, e->d_name);
    if (!is_protected && !descend)
        return;
    if (!join(path, f->path, e->d_name))
        look->whole = false;
    else if (is_protected)
        look->found(look->ud, path, false);
    else
        hocket__folder_walk_add(look, path);
}

static bool is_over(struct hocket__folder_walk *look)
{
    look->over =
        look->over || ++look->entries > MOST_ENTRIES
        || (look->entries % CLOCK_EVERY == 0 && hocket__folder_walk_now_ms() > look->until_ms);
    return look->over;
}

/* A program can close a folder (chmod 0) to keep the look out. What it has closed since it
 * began is opened up again; what was closed before is somebody else's. */
static bool is_closed(int fd)
{
    struct stat st;
    return fd == HOCKET_EDENIED
           || (fd >= 0 && fstat(fd, &st) == 0 && (st.st_mode & S_IRWXU) != S_IRWXU);
}

static DIR *open_folder(struct hocket__folder_walk *look, const char *path)
{
    int fd = hocket__root_folder(look->root, path, NULL);
    if (is_closed(fd) && hocket__root_open_up(look->root, path, look->since_s) && fd < 0)
        fd = hocket__root_folder(look->root, path, NULL);
    DIR *d = fd >= 0 ? fdopendir(fd) : NULL;
    if (!d) /* it may have gone meanwhile */
        look->whole = look->whole && (fd == HOCKET_EDENIED || fd == HOCKET_ENOTFOUND);
    return d;
}

static void look_into(struct hocket__folder_walk *look, const char *at)
{
    char path[PATH_MAX];
    struct folder f = folder_at(at);
    DIR *d = open_folder(look, at);
    if (!d)
        return;
    for (struct dirent *e; (e = readdir(d)) && !is_over(look);)
        if (strcmp(e->d_name, ".") != 0 && strcmp(e->d_name, "..") != 0)
            look_at(look, &f, d, e);
    closedir(d);
    /* what git itself takes for a repository without a work tree */
    if (f.head && (f.commondir || (f.refs && f.objects)) && join(path, at, "HEAD"))
        look->found(look->ud, path, true);
}

void hocket__folder_walk_run(struct hocket__folder_walk *look, int64_t most_ms)
{
    look->whole = true;
    look->over = false;
    look->entries = 0;
    look->until_ms = hocket__folder_walk_now_ms() + most_ms;
    hocket__folder_walk_add(look, ".");
    for (; look->at < look->n; look->at++) {
        if (!look->over)
            look_into(look, look->queue[look->at]);
        free(look->queue[look->at]);
    }
    look->whole = look->whole && !look->over;
    free(look->queue);
    look->queue = NULL;
    look->at = look->n = look->cap = 0;
}

/* Three lists: names that existed before (known, sorted once, never grown afterwards), their
 * read-only mounts (guarded), names that were set aside (names). Paths count from
 * one root. The program may change anything between two calls, so only the mounts, which come before
 * it starts, use absolute paths. */
#include "os/linux/protect.h"

#include <dirent.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/protected.h"
#include "os/clock.h"
#include "os/root.h"

/* A scan of a folder for protected names (base/protected.h), the upper folders first. */

/* A repository without a folder of its own: HEAD beside what git keeps with it makes its folder one.
 * `path` is of the HEAD then. Below the root. */
typedef void (*hocket__look_cb)(void *ud, const char *path, bool bare);

struct hocket__folder_walk {
    struct hocket__root *root;
    hocket__look_cb found;
    void *ud;
    char **queue; /* folders that are still to be looked into */
    size_t at, n, cap;
    size_t entries;   /* seen so far */
    int64_t since_s;  /* wall clock: folders that were closed since are opened up; 0: none is */
    int64_t until_ms; /* monotonic */
    bool over;        /* a limit has ended the scan */
    bool whole;       /* nothing was left out */
};

/* The walk. Folders wait in a queue of paths and are opened one at a time below a root
 * (os/root), so no link leads out of it and the depth costs no descriptors. Limits in time
 * and entries end it early; then `whole` is false, and the result reports it to the user. */

#define MOST_ENTRIES ((size_t) 2 << 20)
#define CLOCK_EVERY  256 /* entries */

/* ---- The queue ----------------------------------------------------------------------- */

/* One more folder, from within `found`. */
static void folder_walk_add(struct hocket__folder_walk *look, const char *path)
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
        folder_walk_add(look, path);
}

static bool is_over(struct hocket__folder_walk *look)
{
    look->over = look->over || ++look->entries > MOST_ENTRIES
                 || (look->entries % CLOCK_EVERY == 0 && hocket__monotonic_ms() > look->until_ms);
    return look->over;
}

/* A program can close a folder (chmod 0) to keep the scan out. The scan opens folders again that
 * were closed since the program began; folders closed earlier belong to somebody else. */
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

/* Calls look->found for everything below root, for at most `most_ms`. Sets look->whole. A folder of
 * somebody else's that it may not read is not left out: no program of ours may, either. */
static void folder_walk_run(struct hocket__folder_walk *look, int64_t most_ms)
{
    look->whole = true;
    look->over = false;
    look->entries = 0;
    look->until_ms = hocket__monotonic_ms() + most_ms;
    folder_walk_add(look, ".");
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

/* Each guarded path is a mount, and so is each folder above it. The scan covers the others. */
#define MOST_MOUNTS      128
#define MOST_BEFORE_MS   2000
#define MOST_AFTER_MS    4000
#define MOST_TRIES       100
#define MOST_NAMES_BYTES 1000
#define SUFFIX           ".refused"

/* A path below the folder that was protected before, or is to be, whether it exists or not. */
struct known {
    char *path;
    char *target; /* of a link, or NULL */
    bool there;
};

struct hocket__protect {
    struct hocket__root *root;
    const struct hocket__launch *launch;
    struct known *known; /* sorted by path, once the first look is over */
    size_t n, cap;
    const char **guarded; /* absolute */
    size_t n_guarded;
    struct hocket__folder_walk look;
    struct hocket__buf names; /* of what was set aside, a line each */
    int64_t refused;
    bool whole; /* the scan was complete, and its findings are guarded */
};

/* ---- Paths ------------------------------------------------------------------------------ */

static const char *below(const struct hocket__protect *p, const char *path)
{
    const char *root = hocket__root_dir(p->root);
    size_t n = strlen(root);
    return strncmp(path, root, n) == 0 && path[n] == '/' && path[n + 1] ? path + n + 1 : NULL;
}

static char *absolute(const struct hocket__protect *p, const char *path)
{
    char *out = NULL;
    return asprintf(&out, "%s/%s", hocket__root_dir(p->root), path) < 0 ? NULL : out;
}

static bool is_in(const char *path, const char *folder)
{
    size_t n = strlen(folder);
    return strncmp(path, folder, n) == 0 && (path[n] == '/' || path[n] == 0);
}

/* A place below the folder that the spec names as writable is meant so. */
static bool is_given(const struct hocket__protect *p, const char *path)
{
    for (const char *const *w = p->launch->writable; w && *w; w++) {
        const char *given = below(p, *w);
        if (given && is_in(path, given))
            return true;
    }
    return false;
}

/* ---- What is known ------------------------------------------------------------------------ */

static int by_path(const void *a, const void *b)
{
    return strcmp(((const struct known *) a)->path, ((const struct known *) b)->path);
}

static bool is_known(const struct hocket__protect *p, const char *path)
{
    struct known key = { .path = (char *) path };
    return p->n > 0 && bsearch(&key, p->known, p->n, sizeof(key), by_path) != NULL;
}

static char *target_of(const struct hocket__protect *p, const char *path)
{
    struct hocket__buf b = hocket__buf(&hocket__malloc, 0);
    return hocket__root_target(p->root, path, &b, NULL) == 0 ? b.data : NULL;
}

static void guard(struct hocket__protect *p, char *path)
{
    if (path && p->n_guarded < MOST_MOUNTS)
        p->guarded[p->n_guarded++] = path;
    else
        p->whole = false;
}

/* A mount on a link would be one on what it leads to. That is guarded, and the link put back. */
static void guard_target(struct hocket__protect *p, const char *path)
{
    char *link = absolute(p, path), *real = link ? realpath(link, NULL) : NULL;
    if (real && below(p, real))
        guard(p, real);
    free(link);
}

static const struct known *know(struct hocket__protect *p, const char *path, bool there)
{
    if (p->n == p->cap) {
        size_t cap = p->cap ? 2 * p->cap : 64;
        struct known *list = realloc(p->known, cap * sizeof(*list));
        if (!list) {
            p->whole = false;
            return NULL;
        }
        p->known = list;
        p->cap = cap;
    }
    struct known one = { .path = strdup(path), .target = target_of(p, path), .there = there };
    /* the link itself cannot be mounted over; if it is replaced, put_right makes it again */
    if (one.target)
        guard_target(p, path);
    if (one.path)
        p->known[p->n++] = one;
    return one.path ? &p->known[p->n - 1] : NULL;
}

/* ---- Before ---------------------------------------------------------------------------------- */

/* Of a repository that is the folder itself, what git obeys: the rest is what it is worked with. */
static void note_bare_root(struct hocket__protect *p)
{
    static const char *const obeyed[] = { "HEAD", "config", "config.worktree", "commondir", "hooks",
        "info", NULL };
    for (const char *const *name = obeyed; *name; name++) {
        struct hocket__root_info info;
        bool there = hocket__root_info(p->root, *name, &info, NULL) == 0;
        know(p, *name, there);
        if (there)
            guard(p, absolute(p, *name));
    }
}

static void note(void *ud, const char *path, bool bare)
{
    struct hocket__protect *p = ud;
    const char *slash = strrchr(path, '/');
    if (is_given(p, path))
        return;
    if (bare && !slash) {
        note_bare_root(p);
        return;
    }
    const struct known *k = know(p, path, true);
    if (k && k->target)
        return;
    char *place = absolute(p, path);
    if (bare && place)
        *strrchr(place, '/') = 0;
    guard(p, place);
}

/* Paths that the host names: treats links like the scan's, and a path that does not exist
 * yet must not appear. */
static void note_named(struct hocket__protect *p)
{
    for (const char *const *g = p->launch->guarded; g && *g; g++) {
        const char *path = below(p, *g);
        struct stat st;
        bool there = lstat(*g, &st) == 0;
        if (path)
            know(p, path, there);
        if (!there || !S_ISLNK(st.st_mode))
            guard(p, strdup(*g));
    }
}

struct hocket__protect *hocket__protect_new(const struct hocket__launch *l)
{
    struct hocket__protect *p = calloc(1, sizeof(*p));
    const char **guarded = calloc(MOST_MOUNTS + 1, sizeof(*guarded));
    if (!p || !guarded || hocket__root_open(l->protect, &p->root, NULL) < 0)
        return NULL;
    p->launch = l;
    p->guarded = guarded;
    p->whole = true;
    hocket__buf_init(&p->names, &hocket__malloc, MOST_NAMES_BYTES);
    p->look = (struct hocket__folder_walk){ .root = p->root, .found = note, .ud = p };
    note_named(p);
    folder_walk_run(&p->look, MOST_BEFORE_MS);
    p->whole = p->whole && p->look.whole;
    if (p->n > 0)
        qsort(p->known, p->n, sizeof(*p->known), by_path);
    p->look.since_s = (int64_t) time(NULL);
    return p;
}

const char *const *hocket__protect_guarded(const struct hocket__protect *p)
{
    return p->guarded;
}

/* ---- Afterwards -------------------------------------------------------------------------------- */

static void add_name(struct hocket__protect *p, const char *path)
{
    p->refused++;
    for (; *path; path++) /* whatever a program calls a folder, it is one line */
        hocket__buf_addc(&p->names, (unsigned char) *path < 0x20 || *path == 0x7F ? '?' : *path);
    hocket__buf_addc(&p->names, '\n');
}

/* The first name is for people; nobody can have taken the later ones beforehand. */
static void name_aside(char out[NAME_MAX + 1], const char *old, int attempt)
{
    uint64_t random = 0;
    if (attempt > 0 && getrandom(&random, sizeof(random), 0) < 0)
        random = (uint64_t) attempt;
    int n = snprintf(out, NAME_MAX + 1, "%.200s" SUFFIX, old);
    if (attempt > 0)
        snprintf(out + n, (size_t) (NAME_MAX + 1 - n), "-%016llx", (unsigned long long) random);
}

static int rename_aside(struct hocket__protect *p, const char *path, char name[NAME_MAX + 1])
{
    const char *slash = strrchr(path, '/'), *old = slash ? slash + 1 : path;
    char parent[PATH_MAX] = ".";
    int rc = HOCKET_EEXIST;
    if (slash)
        snprintf(parent, sizeof(parent), "%.*s", (int) (slash - path), path);
    for (int i = 0; (rc == HOCKET_EEXIST || rc == HOCKET_EDENIED) && i < MOST_TRIES; i++) {
        name_aside(name, old, i);
        rc = hocket__root_rename(p->root, path, name, NULL);
        if (rc == HOCKET_EDENIED && !hocket__root_open_up(p->root, parent, p->look.since_s))
            break;
    }
    return rc;
}

/* A folder that was set aside may hold repositories, which have no name. */
static void set_aside(struct hocket__protect *p, const char *path)
{
    char name[NAME_MAX + 1], to[PATH_MAX];
    const char *slash = strrchr(path, '/');
    int rc = rename_aside(p, path, name), at = slash ? (int) (slash + 1 - path) : 0;
    if (rc == HOCKET_ENOTFOUND)
        return;
    if (rc < 0)
        p->whole = false;
    if (!strstr(path, SUFFIX "/")) /* a folder that was set aside is reported as a whole */
        add_name(p, path);
    if (rc == 0 && snprintf(to, sizeof(to), "%.*s%s", at, path, name) < (int) sizeof(to))
        folder_walk_add(&p->look, to);
}

static void refuse(void *ud, const char *path, bool bare)
{
    struct hocket__protect *p = ud;
    (void) bare;
    if (!is_given(p, path) && !is_known(p, path))
        set_aside(p, path);
}

static bool is_as_before(struct hocket__protect *p, const struct known *k)
{
    struct hocket__root_info info;
    if (!k->target)
        return k->there || hocket__root_info(p->root, k->path, &info, NULL) < 0;
    char *now = target_of(p, k->path);
    bool same = now && strcmp(now, k->target) == 0;
    free(now);
    return same;
}

static void put_right(struct hocket__protect *p, const struct known *k)
{
    if (is_as_before(p, k))
        return;
    set_aside(p, k->path);
    if (k->target && hocket__root_link(p->root, k->path, k->target, NULL) < 0)
        p->whole = false;
}

static void put_all_right(struct hocket__protect *p)
{
    for (size_t i = 0; i < p->n; i++)
        put_right(p, &p->known[i]);
}

int64_t hocket__protect_look(struct hocket__protect *p)
{
    int64_t from = hocket__monotonic_ms();
    p->look.found = refuse;
    put_all_right(p);
    folder_walk_run(&p->look, MOST_AFTER_MS);
    put_all_right(p); /* in folders that were closed, too */
    p->whole = p->whole && p->look.whole;
    return hocket__monotonic_ms() - from;
}

void hocket__protect_report(const struct hocket__protect *p, struct hocket__launch_result *r)
{
    r->refused = p->refused;
    r->overlooked = !p->whole;
    snprintf(r->refused_names, sizeof(r->refused_names), "%s", p->names.data ? p->names.data : "");
}

/* What has changed below a directory since the last look. The tree is walked, files are known
 * by their signs (inode, size, times), and what differs is read and compared by hash: a file
 * that was touched and not changed is no change. A look is all or nothing: where it fails, the
 * state before stays.
 *
 * Runs on a thread; only `cancelled` is shared. */
#include "os/scan.h"

#include "os/descriptors.h"
#include "base/hash/hash.h"
#include "base/system_names.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "os/errors.h"
#include "os/scan/scan_impl.h"

/* A file that was written so shortly before it was read may be written again without a sign of it: the
 * kernel's clock for files goes in steps of up to 10 ms; file systems that know no fractions of a second
 * have steps of up to two. */
#define STEP_NS        INT64_C(50000000)
#define COARSE_STEP_NS INT64_C(2500000000)

struct hocket__scan {
    char *root, *endings;
    struct hocket__scan_list now; /* sorted by path */
    struct hocket__scan_list gone;
    struct hocket__scan_dirs dirs;
    size_t *changes; /* of `now` */
    size_t n_changes;
    uint64_t hash;
    bool exists, told;
};

struct hocket__scan *hocket__scan_new(const char *root, const char *endings)
{
    struct hocket__scan *s = calloc(1, sizeof(*s));
    if (!s)
        return NULL;
    s->root = strdup(root);
    s->endings = strdup(endings);
    s->told = true;
    if (s->root && s->endings)
        return s;
    hocket__scan_free(s);
    return NULL;
}

static void file_free(struct hocket__scan_file *f)
{
    free(f->path);
    free(f->real);
    free(f->why);
    free(f->text);
}

static void free_list(struct hocket__scan_list *list)
{
    for (size_t i = 0; i < list->n; i++)
        file_free(&list->files[i]);
    free(list->files);
    *list = (struct hocket__scan_list){ 0 };
}

static void free_dirs(struct hocket__scan_dirs *dirs)
{
    for (size_t i = 0; i < dirs->n; i++)
        free(dirs->names[i]);
    free(dirs->names);
    *dirs = (struct hocket__scan_dirs){ 0 };
}

void hocket__scan_free(struct hocket__scan *s)
{
    if (!s)
        return;
    free_list(&s->now);
    free_list(&s->gone);
    free_dirs(&s->dirs);
    free(s->changes);
    free(s->root);
    free(s->endings);
    free(s);
}

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

int hocket__scan_add_dir(struct hocket__scan_dirs *dirs, const char *name)
{
    void *names = hocket__scan_grow(dirs->names, &dirs->cap, dirs->n, sizeof(*dirs->names));
    if (!names)
        return HOCKET_ENOMEM;
    dirs->names = names;
    dirs->names[dirs->n] = strdup(*name ? name : "/");
    return dirs->names[dirs->n] ? (dirs->n++, 0) : HOCKET_ENOMEM;
}

int hocket__scan_add_file(
    struct hocket__scan_walk *w, const char *path, struct hocket__scan_sign sign)
{
    struct hocket__scan_list *found = &w->found;
    if (found->n == HOCKET__SCAN_MAX_FILES)
        return hocket__error(w->err, HOCKET_ELIMIT, "%s has more than %d files that count", w->root,
            HOCKET__SCAN_MAX_FILES);
    void *files = hocket__scan_grow(found->files, &found->cap, found->n, sizeof(*found->files));
    if (!files)
        return hocket__error_nomem(w->err);
    found->files = files;
    struct hocket__scan_file *f = &found->files[found->n];
    *f = (struct hocket__scan_file){ .path = strdup(path + strlen(w->root) + 1), .sign = sign };
    if (!f->path)
        return hocket__error_nomem(w->err);
    found->n++;
    return 0;
}

static void walk_free(struct hocket__scan_walk *w)
{
    for (size_t i = 0; i < w->found.n; i++)
        file_free(&w->found.files[i]);
    free(w->found.files);
    for (size_t i = 0; i < w->dirs.n; i++)
        free(w->dirs.names[i]);
    free(w->dirs.names);
    free(w->seen);
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

/* The walk enters a hidden directory only if the endings name it, with a slash behind. */
bool hocket__scan_enters(const struct hocket__scan_walk *w, const char *name)
{
    char with_slash[258];
    int n = snprintf(with_slash, sizeof(with_slash), "%s/", name);
    return n > 0 && (size_t) n < sizeof(with_slash) && ends_in(w->endings, with_slash);
}

/* The hidden files that a pattern names in full. */
bool hocket__scan_counts(const struct hocket__scan_walk *w, const char *name)
{
    if (name[0] == '.')
        return ends_in(w->endings, name);
    const char *dot = strrchr(name, '.');
    return dot && name[0] != '#' && ends_in(w->endings, dot + 1);
}

/* ---- Reading ------------------------------------------------------------------------------- */

static const uint64_t hash_key[2] = { 0, 0 };

static bool same_time(struct timespec a, struct timespec b)
{
    return a.tv_sec == b.tv_sec && a.tv_nsec == b.tv_nsec;
}

static bool same_sign(const struct hocket__scan_sign *a, const struct hocket__scan_sign *b)
{
    return a->ino == b->ino && a->dev == b->dev && a->size == b->size
           && same_time(a->changed, b->changed) && same_time(a->modified, b->modified);
}

static bool is_fresh(const struct hocket__scan_sign *sign)
{
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    /* a file with a time in the future is fresh as well, until its time has come */
    int64_t age = ((int64_t) now.tv_sec - sign->changed.tv_sec) * 1000000000 + now.tv_nsec
                  - sign->changed.tv_nsec;
    return age < (sign->changed.tv_nsec == 0 ? COARSE_STEP_NS : STEP_NS);
}

/* It stays an entry without a text: a reader gets the reason as an error. */
static int cannot(struct hocket__scan_file *f, int status, const char *path, const char *why)
{
    f->status = status;
    f->hash = hocket__siphash(hash_key, hocket__cstr(why));
    return asprintf(&f->why, "cannot read %s: %s", path, why) < 0 ? HOCKET_ENOMEM : 0;
}

/* All of it, up to one byte more than it may have. */
static int64_t slurp(int fd, char **text, size_t size)
{
    size_t cap = size + 1, n = 0;
    *text = malloc(cap + 1);
    while (*text) {
        int64_t got = hocket__scan_read(fd, *text + n, cap - n);
        if (got <= 0)
            return got < 0 ? -1 : (int64_t) n;
        n += (size_t) got;
        if (n > HOCKET__SCAN_MAX_FILE)
            return (int64_t) n;
        if (n == cap) { /* it grows while it is read */
            char *more = realloc(*text, cap * 2 + 1);
            cap *= 2;
            if (!more)
                free(*text);
            *text = more;
        }
    }
    errno = ENOMEM;
    return -1;
}

static int read_open(struct hocket__scan_file *f, int fd, const char *path)
{
    struct hocket__scan_sign now;
    bool regular;
    if (!hocket__scan_look(fd, &f->sign, &regular))
        return cannot(f, hocket__errno_status(errno), path, hocket__errno_text(errno));
    if (!regular)
        return cannot(f, HOCKET_EINVAL, path, "it is a device or pipe, not a file");
    if ((size_t) f->sign.size > HOCKET__SCAN_MAX_FILE)
        return cannot(f, HOCKET_ELIMIT, path, "it has more than 1048576 bytes");
    int64_t n = slurp(fd, &f->text, (size_t) f->sign.size);
    if (n < 0 && errno == ENOMEM)
        return HOCKET_ENOMEM;
    if (n < 0)
        return cannot(f, hocket__errno_status(errno), path, hocket__errno_text(errno));
    if ((size_t) n > HOCKET__SCAN_MAX_FILE)
        return cannot(f, HOCKET_ELIMIT, path, "it has more than 1048576 bytes");
    f->n = (size_t) n;
    f->hash = hocket__siphash(hash_key, hocket__str(f->text, f->n));
    if (!hocket__scan_look(fd, &now, &regular))
        now = f->sign;
    f->fresh = !same_sign(&f->sign, &now) || is_fresh(&now); /* changed meanwhile, or may yet be */
    return 0;
}

/* That the process has no descriptor left says nothing of the file: the look fails. */
static int cannot_open(struct hocket__scan_file *f, const char *path, struct hocket_error *err)
{
    char words[HOCKET__ERRNO_WORDS];
    int code = errno;
    if (!hocket__errno_is_passing(code))
        return cannot(f, hocket__errno_status(code), path, hocket__errno_text(code));
    hocket__error(err, HOCKET_EIO, "cannot read %s: %s", path, hocket__errno_words(code, words));
    if (err)
        err->retryable = true;
    return HOCKET_EIO;
}

static int read_file(struct hocket__scan *s, struct hocket__scan_file *f, struct hocket_error *err)
{
    char *path;
    if (asprintf(&path, "%s/%s", s->root, f->path) < 0)
        return HOCKET_ENOMEM;
    int fd = hocket__scan_open(path);
    int rc = fd < 0 ? cannot_open(f, path, err) : read_open(f, fd, path);
    if (fd >= 0)
        hocket__scan_close(fd);
    free(path);
    return rc;
}

/* ---- Comparing ------------------------------------------------------------------------------ */

static int by_path(const void *a, const void *b)
{
    return strcmp(
        ((const struct hocket__scan_file *) a)->path, ((const struct hocket__scan_file *) b)->path);
}

static bool same_real(const struct hocket__scan_file *a, const struct hocket__scan_file *b)
{
    return a->real && b->real ? strcmp(a->real, b->real) == 0 : a->real == b->real;
}

/* Fills in what a file that was found has in it: what is known of it, or what it says now. */
static int compare(struct hocket__scan *s, struct hocket__scan_file *f,
    const struct hocket__scan_file *was, struct hocket_error *err)
{
    if (was && !was->fresh && was->status == 0 && same_sign(&f->sign, &was->sign)
        && same_real(f, was)) {
        f->hash = was->hash;
        return 0;
    }
    int rc = read_file(s, f, err);
    if (rc < 0)
        return rc;
    bool same = was && was->hash == f->hash && was->status == f->status && same_real(f, was);
    f->change = !was ? '+' : same ? 0 : '~';
    if (f->change == 0 || f->status != 0) {
        free(f->text);
        f->text = NULL;
    }
    return 0;
}

/* Both lists are sorted: goes through them side by side. `gone` gets copies of names. */
static int compare_all(
    struct hocket__scan *s, struct hocket__scan_walk *w, struct hocket__scan_list *gone)
{
    size_t old = 0;
    for (size_t i = 0; i <= w->found.n; i++) {
        struct hocket__scan_file *f = i < w->found.n ? &w->found.files[i] : NULL;
        for (; old < s->now.n && (!f || by_path(&s->now.files[old], f) < 0); old++) {
            void *files = hocket__scan_grow(gone->files, &gone->cap, gone->n, sizeof(*gone->files));
            if (!files)
                return HOCKET_ENOMEM;
            gone->files = files;
            gone->files[gone->n] =
                (struct hocket__scan_file){ .path = strdup(s->now.files[old].path), .change = '-' };
            if (!gone->files[gone->n].path)
                return HOCKET_ENOMEM;
            gone->n++;
        }
        bool known = f && old < s->now.n && by_path(&s->now.files[old], f) == 0;
        if (f && __atomic_load_n(w->cancelled, __ATOMIC_RELAXED))
            return HOCKET_ECANCELLED;
        int rc = f ? compare(s, f, known ? &s->now.files[old] : NULL, w->err) : 0;
        if (rc < 0)
            return rc;
        old += known;
    }
    return 0;
}

/* ---- The state after a look --------------------------------------------------------------------- */

static uint64_t hash_all(const struct hocket__scan_walk *w)
{
    uint64_t hash = 1;
    for (size_t i = 0; i < w->found.n; i++) {
        const struct hocket__scan_file *f = &w->found.files[i];
        /* each file's hash and path are folded into that of all before: the list is sorted, so
         * the order says nothing */
        uint64_t key[2] = { hash, f->hash };
        hash = hocket__siphash(key, hocket__cstr(f->path));
    }
    return hash ? hash : 1;
}

static size_t count_changes(const struct hocket__scan_walk *w)
{
    size_t n = 0;
    for (size_t i = 0; i < w->found.n; i++)
        n += w->found.files[i].change != 0;
    return n;
}

static void take_over(struct hocket__scan *s, struct hocket__scan_walk *w,
    struct hocket__scan_list *gone, size_t *changes)
{
    free_list(&s->now);
    free_list(&s->gone);
    free_dirs(&s->dirs);
    free(s->changes);
    s->now = w->found;
    s->dirs = w->dirs;
    s->gone = *gone;
    s->changes = changes;
    s->n_changes = 0;
    for (size_t i = 0; i < s->now.n; i++)
        if (s->now.files[i].change)
            s->changes[s->n_changes++] = i;
    s->exists = w->exists;
    s->told = w->told;
    s->hash = w->exists ? hash_all(w) : 0;
    w->found = (struct hocket__scan_list){ 0 };
    w->dirs = (struct hocket__scan_dirs){ 0 };
    *gone = (struct hocket__scan_list){ 0 };
}

int hocket__scan_run(struct hocket__scan *s, const int *cancelled, struct hocket_error *err)
{
    static const int never = 0;
    struct hocket__scan_walk w = { .root = s->root,
        .endings = s->endings,
        .cancelled = cancelled ? cancelled : &never,
        .err = err };
    struct hocket__scan_list gone = { 0 };
    size_t *changes = NULL;
    int rc = hocket__scan_walk(&w);
    if (rc == 0) {
        if (w.found.n > 0)
            qsort(w.found.files, w.found.n, sizeof(*w.found.files), by_path);
        rc = compare_all(s, &w, &gone);
        changes = rc == 0 ? malloc((count_changes(&w) + 1) * sizeof(*changes)) : NULL;
        if (rc == 0 && !changes)
            rc = HOCKET_ENOMEM;
        if (rc == HOCKET_ENOMEM)
            hocket__error_nomem(err);
        else if (rc == HOCKET_ECANCELLED)
            hocket__error(err, rc, "cancelled");
    }
    if (rc == 0)
        take_over(s, &w, &gone, changes);
    free_list(&gone);
    walk_free(&w);
    return rc;
}

/* ---- What a look has found -------------------------------------------------------------------------- */

bool hocket__scan_change(const struct hocket__scan *s, size_t n, struct hocket__scan_change *out)
{
    if (n >= s->n_changes + s->gone.n)
        return false;
    const struct hocket__scan_file *f =
        n < s->n_changes ? &s->now.files[s->changes[n]] : &s->gone.files[n - s->n_changes];
    *out = (struct hocket__scan_change){ .kind = f->change,
        .path = f->path,
        .real = f->real,
        .text = hocket__str(f->text, f->n),
        .why = f->why,
        .status = f->status };
    return true;
}

bool hocket__scan_has_changes(const struct hocket__scan *s)
{
    return s->n_changes + s->gone.n > 0;
}

void hocket__scan_taken(struct hocket__scan *s)
{
    for (size_t i = 0; i < s->n_changes; i++) {
        struct hocket__scan_file *f = &s->now.files[s->changes[i]];
        free(f->text);
        f->text = NULL;
        f->change = 0;
    }
    s->n_changes = 0;
    free_list(&s->gone);
}

uint64_t hocket__scan_hash(const struct hocket__scan *s)
{
    return s->hash;
}

const char *hocket__scan_dir(const struct hocket__scan *s, size_t n)
{
    return n < s->dirs.n ? s->dirs.names[n] : NULL;
}

bool hocket__scan_exists(const struct hocket__scan *s)
{
    return s->exists;
}

bool hocket__scan_gets_events(const struct hocket__scan *s)
{
    return s->told;
}

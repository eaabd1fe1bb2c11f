/* search_files: one walk over a folder, in order of names, with a repository's ignore files in
 * mind, on a thread of the pool. Directories are opened one inside the other by descriptor, so
 * nothing that is renamed or linked meanwhile leads out of the project.
 *
 * It ends early when it is cancelled, has enough results, or reaches its time limit; the results
 * until then are an answer.
 *
 * It runs beside the loop and so allocates with malloc, never by the host's allocator, and touches
 * nothing but its own walk; only `cancelled` is written by the other thread. */
#include "os/search/search.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/bytes.h"
#include "base/protected.h"
#include "base/utf8.h"
#include "os/clock.h"
#include "os/decode.h"
#include "os/posix/system.h"
#include "os/root.h"
#include "os/search/ignore.h"
#include "os/search/pcre.h"
#include "os/search/wild.h"

/* The .gitignore files that count at one place of a tree, and those above it: the repository's
 * info/exclude, then from its top down. Paths are relative to the repository's top, or to the
 * root where there is no repository.
 *
 * A person's own list (core.excludesFile) is left out: the library reads nobody's configuration, and
 * an agent has to find the same wherever the tree lies. */

#define HOCKET__IGNORES_MAX 300

struct hocket__ignores {
    struct hocket__ignore files[HOCKET__IGNORES_MAX];
    size_t n;
};

/* The ignore files that count at a place: the repository's, those of the folders above, and
 * those on the way down, as a stack that the walk pushes and pops. Folders above the project
 * count as well, as in git, but only those of the project's owner
 * on the same file system. */

#define FILE_MAX ((size_t) 1 << 20)

/* ---- One after the other ------------------------------------------------------------ */

/* Reads one file of a directory; `base`: bytes of paths that lead there, the slash included. A file
 * that is missing, not regular, larger than 1 MiB, or one too many, counts for nothing. */
static void ignores_push(struct hocket__ignores *all, int dir, const char *name, size_t base)
{
    int fd = openat(dir, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC | O_NOCTTY);
    struct stat st;
    struct hocket__buf text;
    if (fd < 0)
        return;
    hocket__buf_init(&text, &hocket__malloc, 0);
    if (all->n < HOCKET__IGNORES_MAX && fstat(fd, &st) == 0 && S_ISREG(st.st_mode)
        && hocket__root_slurp(fd, name, FILE_MAX, &text, NULL) == 0) {
        struct hocket__ignore *ig = &all->files[all->n++];
        hocket__ignore_init(ig, &hocket__malloc, hocket__buf_str(&text));
        ig->base = base;
    }
    hocket__buf_deinit(&text);
    close(fd);
}

/* Forgets all but the first `n`. */
static void ignores_pop(struct hocket__ignores *all, size_t n)
{
    while (all->n > n)
        hocket__ignore_deinit(&all->files[--all->n]);
}

static bool ignores_match(const struct hocket__ignores *all, const char *path, bool is_dir)
{
    for (size_t i = all->n; i-- > 0;) {
        enum hocket__ignore_verdict v =
            hocket__ignore_match(&all->files[i], path + all->files[i].base, is_dir);
        if (v != HOCKET__UNKNOWN)
            return v == HOCKET__IGNORED;
    }
    return false;
}

/* ---- The repository ------------------------------------------------------------------ */

/* The first line of a small file that points to a directory, behind `word`: made absolute by `at`,
 * or "". */
static void read_pointer(const char *file, const char *word, const char *at, char out[PATH_MAX])
{
    char line[PATH_MAX] = "";
    FILE *f = fopen(file, "re");
    if (f && !fgets(line, sizeof(line), f))
        line[0] = 0;
    if (f)
        fclose(f);
    size_t skip = strlen(word);
    line[strcspn(line, "\r\n")] = 0;
    out[0] = 0;
    if (strncmp(line, word, skip) != 0 || !line[skip])
        return;
    int n = line[skip] == '/' ? snprintf(out, PATH_MAX, "%s", line + skip)
                              : snprintf(out, PATH_MAX, "%s/%s", at, line + skip);
    if (n >= PATH_MAX)
        out[0] = 0;
}

/* What .git is in `top`: the folder itself, or where its file leads (worktrees, submodules). Of
 * several worktrees the common one has info/exclude. "" when this is no repository. */
static void git_folder(const char *top, uid_t owner, char out[PATH_MAX])
{
    char path[PATH_MAX], common[PATH_MAX];
    struct stat st;
    out[0] = 0;
    if (snprintf(path, sizeof(path), "%s/.git", top) >= (int) sizeof(path) || lstat(path, &st) < 0
        || st.st_uid != owner)
        return;
    if (S_ISREG(st.st_mode))
        read_pointer(path, "gitdir: ", top, out);
    else if (S_ISDIR(st.st_mode))
        memcpy(out, path, sizeof(path));
    if (!out[0] || snprintf(path, sizeof(path), "%s/HEAD", out) >= (int) sizeof(path)
        || lstat(path, &st) < 0) {
        out[0] = 0;
        return;
    }
    if (snprintf(path, sizeof(path), "%s/commondir", out) >= (int) sizeof(path))
        return;
    read_pointer(path, "", out, common);
    if (common[0])
        memcpy(out, common, sizeof(common));
}

/* Cuts the path to the next folder up; false at the top of the file system that `dev` is. */
static bool go_up(char *path, dev_t dev)
{
    struct stat st;
    char *slash = strrchr(path, '/');
    if (!slash || !path[0] || strcmp(path, "/") == 0)
        return false;
    *slash = 0;
    return lstat(path[0] ? path : "/", &st) == 0 && st.st_dev == dev;
}

static void push_from(struct hocket__ignores *all, const char *dir, const char *name, size_t base)
{
    int fd = open(dir[0] ? dir : "/", HOCKET__O_PASS | O_CLOEXEC);
    if (fd < 0)
        return;
    ignores_push(all, fd, name, base);
    close(fd);
}

/* The .gitignore files of the folders from `top` to above `root`. */
static void push_down_to(struct hocket__ignores *all, const char *root, size_t top)
{
    char above[PATH_MAX];
    for (size_t at = top; root[at]; at += 1 + strcspn(root + at + 1, "/")) {
        memcpy(above, root, at);
        above[at] = 0;
        push_from(all, above, ".gitignore", at > top ? at - top : 0);
    }
}

/* Finds the repository that `root` (an absolute path without links) is in, as git does: the first
 * folder upwards with a .git, on the same file system, and its owner's. Reads the ignore files above
 * the root. Appends the root's path in the repository, "" when it is the top
 * or there is none. */
static void ignores_above(struct hocket__ignores *all, const char *root, struct hocket__buf *path)
{
    char top[PATH_MAX], git[PATH_MAX];
    struct stat st;
    if (lstat(root, &st) < 0 || snprintf(top, sizeof(top), "%s", root) >= (int) sizeof(top))
        return;
    do
        git_folder(top, st.st_uid, git);
    while (!git[0] && go_up(top, st.st_dev));
    size_t n = strlen(git);
    if (n == 0 || n + sizeof("/info") > sizeof(git))
        return;
    memcpy(git + n, "/info", sizeof("/info"));
    push_from(all, git, "exclude", 0);
    if (strlen(root) <= strlen(top) || strcmp(root, "/") == 0)
        return;
    push_down_to(all, root, strlen(top));
    hocket__buf_adds(path, root + strlen(top) + 1);
}

#define MAX_DEPTH      200
#define MAX_ENTRIES    2000000
#define LINE_MAX_BYTES 300
#define FIRST_READ     ((size_t) 64 << 10)

struct walk {
    struct hocket__root *root;
    const struct hocket__search *s;
    struct hocket__search_stats *stats;
    struct hocket__buf *out;
    struct hocket__buf path;  /* of the current entry, relative to the repository's top */
    struct hocket__buf names; /* of the directories that are open, one after the other */
    struct hocket__buf content, decoded;
    size_t above; /* bytes of the path that lead to the root */
    size_t start; /* … to where it begins */
    struct hocket__ignores ignores;
    size_t entries;
    struct hocket__pcre *re;
    int64_t ends_ms;
    bool stop;
    bool opened; /* it begins at a credential: somebody was asked for that */
};

static bool goes_on(struct walk *w)
{
    /* reads the clock for every 64th entry: a reading costs as much as a small entry */
    if (w->s->cancelled && __atomic_load_n(w->s->cancelled, __ATOMIC_RELAXED))
        w->stop = true;
    if (!w->stop
        && (++w->entries > MAX_ENTRIES
            || (w->entries % 64 == 0 && hocket__monotonic_ms() > w->ends_ms)))
        w->stop = w->stats->timed_out = true;
    return !w->stop;
}

/* ---- Results --------------------------------------------------------------------------- */

/* A result that does not fit sets "full", so the model knows that there are more. */
static bool add_result(struct walk *w)
{
    if (w->stats->results >= w->s->max_results) {
        w->stats->full = w->stop = true;
        return false;
    }
    w->stats->results++;
    return true;
}

/* No name and no line of a file may make a second line: replaces every character that a reader or
 * a terminal takes for the end of one. */
static void add_shown(struct walk *w, const char *p, size_t n)
{
    size_t from = w->out->len;
    if (hocket__utf8_repair(w->out, p, n) < 0)
        return;
    for (char *c = w->out->data + from, *end = w->out->data + w->out->len; c < end; c++) {
        if (((unsigned char) *c < ' ' && *c != '\t') || *c == 0x7F)
            *c = '?';
        else if (end - c > 1 && memcmp(c, "\xC2\x85", 2) == 0)
            memcpy(c, "??", 2); /* the next line */
        else if (end - c > 2 && memcmp(c, "\xE2\x80", 2) == 0 && (c[2] & 0xFE) == 0xA8)
            memcpy(c, "\xEF\xBF\xBD", 3); /* the separators of lines and paragraphs */
    }
}

/* A tab would part the path from the line in what some tools read. */
static void add_path(struct walk *w)
{
    size_t from = w->out->len;
    add_shown(w, w->path.data + w->above, w->path.len - w->above);
    for (size_t i = from; i < w->out->len; i++)
        if (w->out->data[i] == '\t')
            w->out->data[i] = '?';
}

static void add_name(struct walk *w)
{
    if (!add_result(w))
        return;
    add_path(w);
    hocket__buf_addc(w->out, '\n');
}

static void add_line(struct walk *w, size_t number, const char *p, size_t n)
{
    if (!add_result(w))
        return;
    size_t shown = n > LINE_MAX_BYTES ? hocket__utf8_cut(p, LINE_MAX_BYTES) : n;
    add_path(w);
    hocket__buf_addf(w->out, ":%zu:", number);
    add_shown(w, p, shown > 0 && p[shown - 1] == '\r' ? shown - 1 : shown);
    hocket__buf_adds(w->out, shown < n ? "…\n" : "\n");
}

/* ---- Content ------------------------------------------------------------------------------ */

/* Searches a pattern without special characters by memmem, which is many times faster than
 * an expression. */
static int find(struct walk *w, struct hocket__str text, size_t at, size_t *start)
{
    size_t end;
    if (w->re)
        return hocket__pcre_find(w->re, text, at, start, &end);
    const char *p = memmem(text.p + at, text.n - at, w->s->pattern.p, w->s->pattern.n);
    *start = p ? (size_t) (p - text.p) : 0;
    return p != NULL;
}

static size_t count_lines(const char *p, const char *end)
{
    size_t n = 0;
    while ((p = memchr(p, '\n', (size_t) (end - p)))) {
        n++;
        p++;
    }
    return n;
}

static void add_lines(struct walk *w, struct hocket__str text, size_t start)
{
    size_t number = 1, counted = 0;
    int rc = 1;
    w->stats->matched_files++;
    while (rc > 0 && !w->stop) {
        const char *line = hocket__find_last(text.p, '\n', start);
        line = line ? line + 1 : text.p;
        const char *end = memchr(text.p + start, '\n', text.n - start);
        end = end ? end : text.p + text.n;
        number += count_lines(text.p + counted, line);
        counted = (size_t) (line - text.p);
        add_line(w, number, line, (size_t) (end - line));
        /* a line is shown once, however often the pattern is in it */
        size_t next = (size_t) (end - text.p) + 1;
        rc = next < text.n ? find(w, text, next, &start) : 0;
    }
    w->stats->hard += rc < 0;
}

/* Only regular files are printed. The check comes after a match, because it
 * costs as much as reading. */
static bool may_show(struct walk *w, int fd, struct hocket__str text)
{
    struct stat st;
    if (fstat(fd, &st) < 0 || !S_ISREG(st.st_mode)) {
        w->stats->unread++;
        return false;
    }
    if (memchr(text.p, 0, text.n)) {
        w->stats->binary++;
        return false;
    }
    return true;
}

/* Most files fit into the first read, which then needs no look at their size.
 * Past the first read a file is slurped with the limits that reading one has; what is too large is
 * counted and passed by, and is no failure. */
static bool read_content(struct walk *w, int fd)
{
    struct hocket__buf *b = &w->content;
    hocket__buf_reset(b);
    if (hocket__buf_reserve(b, FIRST_READ) < 0)
        return false;
    ssize_t n = read(fd, b->data, FIRST_READ);
    if (n < 0)
        return false;
    b->len = (size_t) n;
    b->data[b->len] = 0;
    if (b->len < FIRST_READ)
        return true;
    struct stat st;
    if (fstat(fd, &st) < 0 || !S_ISREG(st.st_mode))
        return false;
    if (st.st_size > (int64_t) w->s->max_file
        /* a NUL in the first piece says binary, unless it begins as UTF-16 does */
        || (memchr(b->data, 0, b->len) && (unsigned char) b->data[0] < 0xfe)) {
        w->stats->large += st.st_size > (int64_t) w->s->max_file;
        b->len = 0;
        return true;
    }
    return hocket__root_slurp(fd, w->path.data + w->above, w->s->max_file, b, NULL) == 0;
}

/* The bytes as read_file shows them. Binary bytes stay as they are: only a match in them is
 * reported. */
static struct hocket__str as_text(struct walk *w)
{
    struct hocket__str s = hocket__buf_str(&w->content), text;
    bool marked = s.n >= 2 && (memcmp(s.p, "\xff\xfe", 2) == 0 || memcmp(s.p, "\xfe\xff", 2) == 0);
    if (!marked && (hocket__utf8_valid(s.p, s.n) == s.n || memchr(s.p, 0, s.n)))
        return s;
    hocket__buf_reset(&w->decoded);
    hocket__decode_text(s, &w->decoded, &text);
    return text.n > 0 && w->decoded.status == 0 ? text : s;
}

static void search_content(struct walk *w, int dir, const char *name)
{
    size_t start;
    /* O_NONBLOCK: a pipe without a writer must not hold the thread */
    int fd = openat(dir, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC | O_NOCTTY);
    if (fd < 0 || !read_content(w, fd)) {
        w->stats->unread++;
    } else if (w->content.len > 0) {
        struct hocket__str text = as_text(w);
        int rc = find(w, text, 0, &start);
        if (rc > 0 && may_show(w, fd, text))
            add_lines(w, text, start);
        w->stats->hard += rc < 0;
    }
    w->stats->files++;
    if (fd >= 0)
        close(fd);
}

/* ---- Walking --------------------------------------------------------------------------------- */

/* As in .gitignore: a glob with a slash is for the whole path below where the search began, one
 * without for the name. */
static bool fits_glob(const struct walk *w, const char *name)
{
    const char *glob = w->s->glob;
    if (!glob)
        return true;
    const char *below = w->path.data + w->start;
    return strchr(glob, '/') ? hocket__wildmatch(*glob == '/' ? glob + 1 : glob, below)
                             : hocket__wildmatch(glob, name);
}

static void visit_file(struct walk *w, int dir, const char *name)
{
    if (!fits_glob(w, name))
        return;
    if (w->s->pattern.n > 0)
        search_content(w, dir, name);
    else
        add_name(w);
}

static int by_name(const void *a, const void *b)
{
    return strcmp(
        (const char *) *(const uintptr_t *) a + 1, (const char *) *(const uintptr_t *) b + 1);
}

/* While they are sorted, places are addresses: qsort_r differs between systems, or is missing. */
static void sort_places(uintptr_t *places, size_t n, const char *names)
{
    for (size_t i = 0; i < n; i++)
        places[i] += (uintptr_t) names;
    qsort(places, n, sizeof(*places), by_name);
    for (size_t i = 0; i < n; i++)
        places[i] -= (uintptr_t) names;
}

/* Links are neither: the walk finds their target itself if it is in the project. */
static char kind_of(int dir, const struct dirent *e)
{
    struct stat st;
    unsigned char type = e->d_type;
    if (type == DT_UNKNOWN && fstatat(dir, e->d_name, &st, AT_SYMLINK_NOFOLLOW) == 0)
        type = S_ISREG(st.st_mode) ? DT_REG : S_ISDIR(st.st_mode) ? DT_DIR : DT_UNKNOWN;
    return type == DT_REG ? 'f' : type == DT_DIR ? 'd' : 0;
}

/* Appends the entries, a letter and a name each, and their places, sorted.
 * Sorted, so that two searches give the same results in the same order, also where they end early. */
static uintptr_t *read_names(struct walk *w, DIR *d, size_t *n, bool *has_ignore)
{
    uintptr_t *places = NULL;
    size_t cap = 0;
    for (struct dirent *e; (e = readdir(d));) {
        char kind = kind_of(dirfd(d), e);
        if (!kind || strcmp(e->d_name, ".") == 0 || strcmp(e->d_name, "..") == 0
            || strcmp(e->d_name, ".git") == 0)
            continue;
        *has_ignore = *has_ignore || strcmp(e->d_name, ".gitignore") == 0;
        if (*n == cap) {
            cap = cap ? cap * 2 : 64;
            uintptr_t *more = realloc(places, cap * sizeof(*places));
            if (!more)
                break;
            places = more;
        }
        places[(*n)++] = w->names.len;
        hocket__buf_addc(&w->names, kind);
        hocket__buf_add(&w->names, e->d_name, strlen(e->d_name) + 1);
    }
    if (places && w->names.status == 0)
        sort_places(places, *n, w->names.data);
    return places;
}

static void walk(struct walk *w, int fd, unsigned depth);

/* The part of the path before its last one. */
static struct hocket__str parent_of(const struct walk *w, const char *name)
{
    size_t end = w->path.len - strlen(name), at;
    end -= end > 0;
    for (at = end; at > 0 && w->path.data[at - 1] != '/'; at--)
        ;
    return hocket__str(w->path.data + at, end - at);
}

/* Content of files that may hold keys is not searched, unless the search was asked for there
 * by name; their names may be listed. */
static bool is_kept_shut(const struct walk *w, const char *name)
{
    return w->s->pattern.n > 0 && !w->opened
           && hocket__credential_name(parent_of(w, name), hocket__cstr(name));
}

/* Ignored directories are not opened at all; that is most of what makes a search of a project fast. */
static void visit(struct walk *w, int dir, const char *entry, unsigned depth)
{
    bool is_dir = entry[0] == 'd';
    const char *name = entry + 1;
    if (!w->s->all && ignores_match(&w->ignores, w->path.data, is_dir))
        return;
    if (is_kept_shut(w, name)) {
        w->stats->secret++;
        return;
    }
    if (!is_dir) {
        visit_file(w, dir, name);
        return;
    }
    int fd = openat(dir, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0)
        w->stats->unread++;
    else
        walk(w, fd, depth + 1);
}

/* Takes the descriptor of the directory that `path` names. */
static void walk(struct walk *w, int fd, unsigned depth)
{
    size_t path_len = w->path.len, names_len = w->names.len, ignores = w->ignores.n, n = 0;
    bool has_ignore = false;
    DIR *d = depth < MAX_DEPTH ? fdopendir(fd) : NULL;
    if (!d) {
        w->stats->unread++;
        close(fd);
        return;
    }
    uintptr_t *places = read_names(w, d, &n, &has_ignore);
    size_t base = path_len ? path_len + 1 : 0;
    if (has_ignore && !w->s->all)
        ignores_push(&w->ignores, fd, ".gitignore", base);
    for (size_t i = 0; i < n && w->names.status == 0 && goes_on(w); i++) {
        /* The buffer of names may move while what is below is walked. */
        if (path_len)
            hocket__buf_addc(&w->path, '/');
        hocket__buf_adds(&w->path, w->names.data + places[i] + 1);
        visit(w, fd, w->names.data + places[i], depth);
        hocket__buf_cut(&w->path, path_len);
    }
    free(places);
    ignores_pop(&w->ignores, ignores);
    hocket__buf_cut(&w->names, names_len);
    closedir(d);
}

/* ---- The way to where it begins ------------------------------------------------------ */

/* What the folders between the root and where it begins have to say counts below. */
static void push_between(struct walk *w, const char *path)
{
    for (const char *at = path; at && strcmp(path, ".") != 0;) {
        char folder[4096];
        size_t n = (size_t) (at - path);
        memcpy(folder, path, n);
        folder[n] = 0;
        int fd = hocket__root_folder(w->root, n ? folder : ".", NULL);
        if (fd >= 0) {
            ignores_push(&w->ignores, fd, ".gitignore", w->above + (n ? n + 1 : 0));
            close(fd);
        }
        at = strchr(n ? at + 1 : at, '/');
    }
}

/* Where the search begins below the root, ignore files of the folders above have their say, as they
 * have in git. */
static int begin(struct walk *w, struct hocket_error *err)
{
    struct hocket__root_info info;
    const char *path = w->s->path, *name;
    bool top = strcmp(path, ".") == 0;
    int rc = hocket__root_info(w->root, path, &info, err);
    if (rc < 0)
        return rc;
    if (!w->s->all) {
        ignores_above(&w->ignores, hocket__root_dir(w->root), &w->path);
        w->above = w->path.len ? w->path.len + 1 : 0;
        push_between(w, path);
    }
    if (!top) {
        hocket__buf_adds(&w->path, w->above ? "/" : "");
        hocket__buf_adds(&w->path, path);
    }
    int fd = info.kind == 'd' ? hocket__root_folder(w->root, path, err)
                              : hocket__root_parent(w->root, path, false, &name, err);
    if (fd < 0)
        return fd;
    if (info.kind == 'd') {
        w->start = top ? w->above : w->above + strlen(path) + 1;
        walk(w, fd, 0);
        return 0;
    }
    w->start = w->above + (size_t) (name - path);
    visit_file(w, fd, name);
    close(fd);
    return 0;
}

/* Most patterns that models send are words. */
static bool needs_pcre(const struct hocket__search *s)
{
    if (s->pattern.n == 0 || (s->literal && !s->ignore_case))
        return false;
    if (s->ignore_case)
        return true;
    for (size_t i = 0; i < s->pattern.n; i++)
        if (strchr("\\^$.[|()?*+{", s->pattern.p[i]))
            return true;
    return false;
}

int hocket__search(struct hocket__root *r, const struct hocket__search *s, struct hocket__buf *out,
    struct hocket__search_stats *stats, struct hocket_error *err)
{
    struct walk *w = calloc(1, sizeof(*w));
    if (!w)
        return hocket__error_nomem(err);
    *stats = (struct hocket__search_stats){ 0 };
    w->root = r;
    w->s = s;
    w->opened = hocket__credential_path(hocket__cstr(s->path));
    w->stats = stats;
    w->out = out;
    w->ends_ms = hocket__monotonic_ms() + s->max_ms;
    hocket__buf_init(&w->path, &hocket__malloc, 0);
    hocket__buf_init(&w->names, &hocket__malloc, 0);
    hocket__buf_init(&w->content, &hocket__malloc, 0);
    hocket__buf_init(&w->decoded, &hocket__malloc, 0);
    int rc =
        needs_pcre(s) ? hocket__pcre_new(s->pattern, s->ignore_case, s->literal, &w->re, err) : 0;
    if (rc == 0)
        rc = begin(w, err);
    if (rc == 0 && s->cancelled && __atomic_load_n(s->cancelled, __ATOMIC_RELAXED))
        rc = hocket__error(err, HOCKET_ECANCELLED, "cancelled");
    if (rc == 0 && (out->status < 0 || w->names.status < 0 || w->path.status < 0))
        rc = hocket__error_nomem(err);
    ignores_pop(&w->ignores, 0);
    hocket__pcre_free(w->re);
    hocket__buf_deinit(&w->path);
    hocket__buf_deinit(&w->names);
    hocket__buf_deinit(&w->content);
    hocket__buf_deinit(&w->decoded);
    free(w);
    return rc;
}

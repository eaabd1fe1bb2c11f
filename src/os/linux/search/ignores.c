/* The ignore files that count at a place: the repository's, those of the folders above, and
 * those on the way down, as a stack that the walk pushes and pops. What lies above the project
 * is looked for as well, since git would; but only in what belongs to the owner of the project
 * and to the same file system. */
#include "os/linux/search/ignores.h"

#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "os/root.h"

#define FILE_MAX ((size_t) 1 << 20)

/* ---- One after the other ------------------------------------------------------------ */

void hocket__ignores_push(struct hocket__ignores *all, int dir, const char *name, size_t base)
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

void hocket__ignores_pop(struct hocket__ignores *all, size_t n)
{
    while (all->n > n)
        hocket__ignore_deinit(&all->files[--all->n]);
}

bool hocket__ignores_match(const struct hocket__ignores *all, const char *path, bool is_dir)
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
    int fd = open(dir[0] ? dir : "/", O_PATH | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0)
        return;
    hocket__ignores_push(all, fd, name, base);
    close(fd);
}

/* The .gitignore files of the folders from `top` to above `root`. */
static void push_between(struct hocket__ignores *all, const char *root, size_t top)
{
    char above[PATH_MAX];
    for (size_t at = top; root[at]; at += 1 + strcspn(root + at + 1, "/")) {
        memcpy(above, root, at);
        above[at] = 0;
        push_from(all, above, ".gitignore", at > top ? at - top : 0);
    }
}

void hocket__ignores_above(struct hocket__ignores *all, const char *root, struct hocket__buf *path)
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
    push_between(all, root, strlen(top));
    hocket__buf_adds(path, root + strlen(top) + 1);
}

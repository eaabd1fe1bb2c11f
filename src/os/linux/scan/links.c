/* Where a path leads through links, the directories that each of them lies in have to be
 * watched as well: a link that is turned changes what the path means, and no watch of its
 * target tells. So the path is gone through name by name, as the kernel would. */
#include "os/linux/scan/scan_impl.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define MAX_LINKS 40 /* as the kernel has it */

int hocket__scan_add_dir(struct hocket__scan_dirs *dirs, const char *name)
{
    void *names = hocket__scan_grow(dirs->names, &dirs->cap, dirs->n, sizeof(*dirs->names));
    if (!names)
        return HOCKET_ENOMEM;
    dirs->names = names;
    dirs->names[dirs->n] = strdup(*name ? name : "/");
    return dirs->names[dirs->n] ? (dirs->n++, 0) : HOCKET_ENOMEM;
}

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

int hocket__scan_note_links(struct hocket__scan_dirs *dirs, const char *path)
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

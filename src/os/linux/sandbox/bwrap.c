/* bubblewrap's command line. As root it keeps all capabilities and passes on the environment
 * unless told otherwise, so both are always told.
 *
 * What can be written to is what `writable` names, /tmp and /dev/shm, the last two of limited size.
 * A program of root's owns the files of /proc that set the kernel up, capabilities or not: one line
 * to /proc/sys/kernel/core_pattern would run as root outside of the sandbox. So nobody can write to
 * any file of /proc.
 */
#include "os/linux/sandbox.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#define SHM_BYTES "67108864" /* of /dev/shm */

struct line {
    const char **words;
    size_t n, cap;
    bool failed;
};

static void put(struct line *l, const char *word)
{
    if (l->n + 1 >= l->cap) {
        size_t cap = l->cap ? 2 * l->cap : 128;
        const char **words = realloc(l->words, cap * sizeof(*words));
        if (!words) {
            l->failed = true;
            return;
        }
        l->words = words;
        l->cap = cap;
    }
    l->words[l->n++] = word;
    l->words[l->n] = NULL;
}

static void put2(struct line *l, const char *a, const char *b)
{
    put(l, a);
    put(l, b);
}

static void put3(struct line *l, const char *a, const char *b, const char *c)
{
    put2(l, a, b);
    put(l, c);
}

static void put_number(struct line *l, const char *option, int number)
{
    char *text = malloc(16);
    if (!text) {
        l->failed = true;
        return;
    }
    snprintf(text, 16, "%d", number);
    put2(l, option, text);
}

/* The system's paths as they are: a link (/bin on a merged /usr) stays one. */
static void put_system(struct line *l)
{
    for (const char *const *p = hocket__system_paths; *p; p++) {
        struct stat st;
        char target[256];
        if (lstat(*p, &st) < 0)
            continue;
        ssize_t n = S_ISLNK(st.st_mode) && strncmp(*p, "/etc/", 5) != 0
                        ? readlink(*p, target, sizeof(target) - 1)
                        : -1;
        if (n <= 0) {
            put3(l, "--ro-bind-try", *p, *p);
            continue;
        }
        target[n] = 0;
        put3(l, "--symlink", strdup(target), *p);
    }
}

static void put_binds(struct line *l, const char *option, const char *const *paths)
{
    for (; paths && *paths; paths++)
        put3(l, option, *paths, *paths);
}

static void put_folder(void *ud, const char *folder)
{
    struct line *l = ud;
    char *copy = strdup(folder);
    if (copy)
        put3(l, "--bind", copy, copy);
    else
        l->failed = true;
}

static void put_environment(struct line *l, const char *const *env)
{
    put(l, "--clearenv");
    for (; *env; env++) {
        const char *value = strchr(*env, '=');
        if (value)
            put3(l, "--setenv", strndup(*env, (size_t) (value - *env)), value + 1);
    }
}

static void put_walls(struct line *l, const struct hocket__launch *launch)
{
    put(l, "--unshare-all");
    if (launch->network || launch->proxied) /* the latter: a new one, made already */
        put(l, "--share-net");
    put3(l, "--unshare-user", "--uid", "65534");
    put2(l, "--gid", "65534");
    put2(l, "--cap-drop", "ALL");
    put2(l, "--die-with-parent", "--new-session");
    put2(l, "--hostname", "sandbox");
}

const char **hocket__bwrap_argv(const struct hocket__launch *launch, int seccomp_fd, int status_fd)
{
    struct line l = { 0 };
    put(&l, "bwrap");
    put_walls(&l, launch);
    put_system(&l);
    put2(&l, "--proc", "/proc");
    put2(&l, "--dev", "/dev");
    put2(&l, "--size", SHM_BYTES);
    put2(&l, "--tmpfs", "/dev/shm");
    put2(&l, "--size", HOCKET__SANDBOX_TMP_BYTES);
    put2(&l, "--tmpfs", HOCKET__SANDBOX_TMP);
    put_binds(&l, "--ro-bind-try", launch->readable);
    put_binds(&l, "--bind", launch->writable);
    l.failed = !hocket__guard_above(launch, put_folder, &l) || l.failed;
    put_binds(&l, "--ro-bind-try", launch->guarded);
    /* Remounts come after all binds: bubblewrap makes the places that it binds to, which it
     * could not on what is read-only by then. */
    put2(&l, "--remount-ro", "/proc");
    /* Both are memory without a limit, which nobody counts. */
    put2(&l, "--remount-ro", "/dev");
    put2(&l, "--remount-ro", "/");
    put_environment(&l, launch->env);
    put2(&l, "--chdir", launch->cwd);
    put_number(&l, "--seccomp", seccomp_fd);
    put_number(&l, "--json-status-fd", status_fd);
    put(&l, "--");
    for (const char *const *a = launch->argv; *a; a++)
        put(&l, *a);
    return l.failed ? NULL : l.words;
}

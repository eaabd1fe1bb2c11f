/* A control group for the number of processes, where this process may make one: as root, or in
 * a group that was delegated to the user. Without one the launcher counts by itself (tree.c),
 * which a program that forks fast enough can outrun; so it is tried first, and its failing is
 * no error. */
#include "os/linux/cgroup.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static bool write_file(const struct hocket__cgroup *g, const char *name, const char *text)
{
    char path[320];
    snprintf(path, sizeof(path), "%s/%s", g->path, name);
    int fd = open(path, O_WRONLY | O_CLOEXEC);
    size_t n = strlen(text);
    bool ok = fd >= 0 && write(fd, text, n) == (ssize_t) n;
    if (fd >= 0)
        close(fd);
    return ok;
}

static bool make_below(
    struct hocket__cgroup *g, const char *mount, const char *parent, int64_t processes)
{
    char most[24];
    int n = snprintf(g->path, sizeof(g->path), "%s%s/hocket-%d", mount,
        strcmp(parent, "/") == 0 ? "" : parent, (int) getpid());
    snprintf(most, sizeof(most), "%" PRId64, processes);
    if (n > 0 && (size_t) n < sizeof(g->path) && mkdir(g->path, 0755) == 0) {
        if (write_file(g, "pids.max", most))
            return true;
        rmdir(g->path);
    }
    g->path[0] = 0;
    return false;
}

/* Lines of /proc/self/cgroup: "8:pids:/path" (version 1), "0::/path" (version 2). */
static bool try_line(struct hocket__cgroup *g, char *line, int64_t processes)
{
    char *controllers = strchr(line, ':'),
         *path = controllers ? strchr(controllers + 1, ':') : NULL;
    if (!path)
        return false;
    *path++ = 0;
    controllers++;
    path[strcspn(path, "\n")] = 0;
    if (strcmp(controllers, "pids") == 0)
        return make_below(g, "/sys/fs/cgroup/pids", path, processes);
    if (controllers[0] == 0)
        return make_below(g, "/sys/fs/cgroup", path, processes);
    return false;
}

void hocket__cgroup_make(struct hocket__cgroup *g, int64_t processes)
{
    char line[512];
    FILE *f = processes > 0 ? fopen("/proc/self/cgroup", "re") : NULL;
    g->path[0] = 0;
    while (f && fgets(line, sizeof(line), f) && !try_line(g, line, processes))
        ;
    if (f)
        fclose(f);
}

bool hocket__cgroup_add(const struct hocket__cgroup *g, pid_t pid)
{
    char text[16];
    snprintf(text, sizeof(text), "%d", (int) pid);
    return g->path[0] && write_file(g, "cgroup.procs", text);
}

bool hocket__cgroup_is_full(const struct hocket__cgroup *g)
{
    char path[320], text[64];
    snprintf(path, sizeof(path), "%s/pids.events", g->path);
    int fd = g->path[0] ? open(path, O_RDONLY | O_CLOEXEC) : -1;
    ssize_t n = fd >= 0 ? read(fd, text, sizeof(text) - 1) : 0;
    if (fd >= 0)
        close(fd);
    text[n > 0 ? n : 0] = 0;
    return strncmp(text, "max ", 4) == 0 && atoll(text + 4) > 0;
}

void hocket__cgroup_remove(struct hocket__cgroup *g)
{
    for (int i = 0; g->path[0] && i < 100 && rmdir(g->path) < 0; i++)
        usleep(1000); /* the last process is still on its way out */
    g->path[0] = 0;
}

/* The descendants of this process, by /proc, which changes during the reads: a process may fork,
 * end or get another parent between two of them. So every decision
 * (stop, end) is repeated until a round finds nothing new, and a pid gets a signal only
 * while it is found below us. */
#include "os/linux/tree.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define MAX_DEPTH 100
#define TOO_MANY  (INT64_C(1) << 40)
#define ROUNDS    20000 /* of ending, a tenth of a millisecond each when something is left */

typedef void (*visit_cb)(void *ud, pid_t pid, int depth);

/* The content of a small file of /proc; "" when the process is gone. */
static size_t read_proc(const char *path, char *out, size_t size)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    size_t n = 0;
    for (ssize_t got; fd >= 0 && n + 1 < size && (got = read(fd, out + n, size - 1 - n)) > 0;)
        n += (size_t) got;
    if (fd >= 0)
        close(fd);
    out[n] = 0;
    return n;
}

/* From "123 (a name)) S 1 …": the state, and the 24th field, resident pages. */
static bool read_stat(pid_t pid, char *state, int64_t *pages)
{
    char path[64], text[1024];
    snprintf(path, sizeof(path), "/proc/%d/stat", (int) pid);
    read_proc(path, text, sizeof(text));
    /* from the last one: a program can name itself ") R 1" */
    const char *p = strrchr(text, ')');
    if (!p || p[1] != ' ' || !p[2])
        return false;
    *state = p[2];
    for (int field = 2; p && field < 24; field++)
        p = strchr(p + 1, ' ');
    *pages = p ? strtoll(p, NULL, 10) : 0;
    return true;
}

/* Bytes that a process, and the children that it has reaped, made the kernel write to disks. Memory
 * (tmpfs) does not count, nor bytes that were overwritten before they were written out. */
static void add_written(struct hocket__tree *t, pid_t pid)
{
    char path[64], text[512];
    snprintf(path, sizeof(path), "/proc/%d/io", (int) pid);
    errno = 0;
    if (read_proc(path, text, sizeof(text)) == 0)
        t->hidden = t->hidden || errno == EACCES || errno == EPERM;
    const char *p = strstr(text, "\nwrite_bytes: ");
    t->written += p ? strtoll(p + strlen("\nwrite_bytes: "), NULL, 10) : 0;
}

static void visit_below(pid_t pid, int depth, visit_cb cb, void *ud);

/* The kernel lists children by the thread that forked them. */
static void visit_thread(const char *thread, int depth, visit_cb cb, void *ud)
{
    size_t size = 1 << 17; /* as many numbers as a limit on processes lets be there */
    char *text = malloc(size), *rest = NULL;
    if (text && read_proc(thread, text, size) > 0)
        for (char *word = strtok_r(text, " ", &rest); word; word = strtok_r(NULL, " ", &rest)) {
            pid_t child = (pid_t) strtol(word, NULL, 10);
            if (child <= 0)
                continue;
            cb(ud, child, depth);
            visit_below(child, depth + 1, cb, ud);
        }
    free(text);
}

static void visit_below(pid_t pid, int depth, visit_cb cb, void *ud)
{
    char path[320];
    snprintf(path, sizeof(path), "/proc/%d/task", (int) pid);
    DIR *threads = depth <= MAX_DEPTH ? opendir(path) : NULL;
    for (struct dirent *d; threads && (d = readdir(threads));)
        if (d->d_name[0] != '.') {
            snprintf(path, sizeof(path), "/proc/%d/task/%s/children", (int) pid, d->d_name);
            visit_thread(path, depth, cb, ud);
        }
    if (threads)
        closedir(threads);
}

void hocket__tree_each(visit_cb cb, void *ud)
{
    visit_below(getpid(), 1, cb, ud);
}

static void measure_one(void *ud, pid_t pid, int depth)
{
    struct hocket__tree *t = ud;
    char state = 'Z';
    int64_t pages = 0;
    if (!read_stat(pid, &state, &pages) || state == 'Z' || state == 'X')
        return;
    /* The search goes no deeper: more levels have to count as too many. */
    t->processes += depth < MAX_DEPTH ? 1 : TOO_MANY;
    t->resident += pages * sysconf(_SC_PAGESIZE);
    add_written(t, pid);
}

struct hocket__tree hocket__tree_measure(void)
{
    struct hocket__tree t = { 0 };
    struct rusage waited;
    if (getrusage(RUSAGE_CHILDREN, &waited) == 0)
        t.written = (int64_t) waited.ru_oublock * 512;
    hocket__tree_each(measure_one, &t);
    return t;
}

/* The 20th field of a process's stat: its threads. */
static int64_t threads_of(const char *pid)
{
    char path[300], text[1024];
    snprintf(path, sizeof(path), "/proc/%s/stat", pid);
    read_proc(path, text, sizeof(text));
    const char *p = strrchr(text, ')');
    for (int field = 2; p && field < 20; field++)
        p = strchr(p + 1, ' ');
    return p ? strtoll(p, NULL, 10) : 0;
}

int64_t hocket__tree_of_user(void)
{
    int64_t n = 0;
    struct stat st;
    DIR *proc = opendir("/proc");
    for (struct dirent *d; proc && (d = readdir(proc));)
        if (d->d_name[0] >= '1' && d->d_name[0] <= '9'
            && fstatat(dirfd(proc), d->d_name, &st, 0) == 0 && st.st_uid == getuid())
            n += threads_of(d->d_name);
    if (proc)
        closedir(proc);
    return n;
}

struct shot {
    int depth, signal;
    int64_t hit;
};

static void signal_one(void *ud, pid_t pid, int depth)
{
    struct shot *s = ud;
    char state = 'Z';
    int64_t pages;
    if (depth < s->depth || !read_stat(pid, &state, &pages) || state == 'Z' || state == 'X')
        return;
    s->hit += kill(pid, s->signal) == 0;
}

int64_t hocket__tree_signal(int depth, int signal)
{
    struct shot s = { depth, signal, 0 };
    hocket__tree_each(signal_one, &s);
    return s.hit;
}

/* Repeats until a round finds no more than the one before: nothing forks any more. */
int64_t hocket__tree_stop(void)
{
    int64_t before = -1, now = hocket__tree_signal(1, SIGSTOP);
    for (int i = 0; i < 100 && now != before; i++) {
        before = now;
        now = hocket__tree_signal(1, SIGSTOP);
    }
    return now;
}

/* Reaps children that have ended. False when there is no child at all, so no descendant either. */
static bool reap(void)
{
    pid_t pid;
    while ((pid = waitpid(-1, NULL, WNOHANG)) > 0)
        ;
    return pid == 0;
}

int64_t hocket__tree_end(void)
{
    sigset_t child_signal;
    sigemptyset(&child_signal);
    sigaddset(&child_signal, SIGCHLD);
    if (!reap())
        return 0;
    /* Stops all of them first: processes that are killed one by one can fork in between. */
    int64_t found = hocket__tree_stop();
    for (int i = 0; i < ROUNDS && hocket__tree_signal(1, SIGKILL) > 0; i++) {
        reap();
        sigtimedwait(&child_signal, NULL, &(struct timespec){ .tv_nsec = 100000 });
    }
    reap();
    return found;
}

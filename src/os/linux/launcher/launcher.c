/* Starts one program inside its sandbox, watches it and its descendants, and reports how it ended.
 * Reads one request. After it each byte on the socket is an order: 't' ends the program in order
 * (SIGTERM, after a while SIGKILL), 'k' at once, and so does the end of the socket. When the
 * program has ended, the launcher ends everything that it started. */
#include "os/launcher.h"

#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <inttypes.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/types.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/system_names.h"
#include "os/clock.h"
#include "os/linux/launcher/program.h"
#include "os/linux/protect.h"
#include "os/linux/sandbox.h"
#include "os/linux/tree.h"

/* A control group of its own for the programs of one launcher: where the kernel lets us make one
 * (mostly: for root), it limits how many processes there are. Without it the launcher counts them,
 * which something that forks without end may outrun. Source: cgroups(7), Linux
 * Documentation/admin-guide/cgroup-v2.rst. */

struct hocket__cgroup {
    char path[256]; /* "": there is none */
};

/* Room on the file systems that a program may write to. A full disk harms everybody who uses it,
 * and nobody may know that this program has filled it (a child that nobody waited for). */

#define HOCKET__SPACE_PATHS 8

struct hocket__space {
    const char *const *paths;
    uint64_t bytes[HOCKET__SPACE_PATHS], files[HOCKET__SPACE_PATHS]; /* free at the beginning */
    unsigned long systems[HOCKET__SPACE_PATHS];                      /* whose they are */
};

/* A look at the disks, every WATCH_MS. Short means that little is left and that it became so
 * while the program ran: a disk that was full before is not the program's doing, and it may
 * run on it. */

#define LEFT_BYTES (UINT64_C(1) << 30)
#define LEFT_SHARE 50 /* of all */
#define FELL_SHARE 4  /* of what is to be left */

static bool look_at_disk(const char *path, struct statvfs *fs)
{
    return statvfs(path, fs) == 0 && fs->f_blocks > 0;
}

/* Notes how much there is; `paths` (ends with NULL, may be NULL) has to stay. Those past the eighth
 * are not looked at. */
static void space_note(struct hocket__space *s, const char *const *paths)
{
    struct statvfs fs;
    *s = (struct hocket__space){ .paths = paths };
    for (size_t i = 0; i < HOCKET__SPACE_PATHS && paths && paths[i]; i++)
        if (look_at_disk(paths[i], &fs)) {
            s->bytes[i] = (uint64_t) fs.f_bavail * fs.f_frsize;
            s->files[i] = fs.f_favail;
            s->systems[i] = fs.f_fsid;
        }
}

static bool is_short(uint64_t before, uint64_t now, uint64_t floor)
{
    return now < floor && before > now && before - now > floor / FELL_SHARE;
}

/* Several paths may be on one file system. */
static bool is_first(const struct hocket__space *s, size_t at)
{
    for (size_t i = 0; i < at; i++)
        if (s->systems[i] == s->systems[at])
            return false;
    return true;
}

/* Bytes that there are less than then, of all of them; what others write there is among it. */
static int64_t space_used(const struct hocket__space *s)
{
    struct statvfs fs;
    int64_t used = 0;
    for (size_t i = 0; i < HOCKET__SPACE_PATHS && s->paths && s->paths[i]; i++)
        if (is_first(s, i) && look_at_disk(s->paths[i], &fs)
            && (uint64_t) fs.f_bavail * fs.f_frsize < s->bytes[i])
            used += (int64_t) (s->bytes[i] - (uint64_t) fs.f_bavail * fs.f_frsize);
    return used;
}

/* Whether one is nearly full (1 GiB is left, or 2 % of a small one; the same share of its files) and
 * has become so since. */
static bool space_is_short(const struct hocket__space *s)
{
    struct statvfs fs;
    for (size_t i = 0; i < HOCKET__SPACE_PATHS && s->paths && s->paths[i]; i++) {
        if (!look_at_disk(s->paths[i], &fs))
            continue;
        uint64_t share = (uint64_t) fs.f_blocks * fs.f_frsize / LEFT_SHARE;
        uint64_t floor = share < LEFT_BYTES ? share : LEFT_BYTES;
        /* A file system without a number for its files (btrfs) says 0. */
        if (is_short(s->bytes[i], (uint64_t) fs.f_bavail * fs.f_frsize, floor)
            || is_short(s->files[i], fs.f_favail, (uint64_t) fs.f_files / LEFT_SHARE))
            return true;
    }
    return false;
}

/* A control group for the number of processes, where this process may make one: as root, or in
 * a group that was delegated to the user. Without one the launcher counts by itself (tree.c),
 * which a program that forks fast enough can outrun; so it is tried first, and its failing is
 * no error. */

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

/* Makes it, for at most `processes`. Where that does not work *g is empty. */
static void cgroup_make(struct hocket__cgroup *g, int64_t processes)
{
    char line[512];
    FILE *f = processes > 0 ? fopen("/proc/self/cgroup", "re") : NULL;
    g->path[0] = 0;
    while (f && fgets(line, sizeof(line), f) && !try_line(g, line, processes))
        ;
    if (f)
        fclose(f);
}

/* Moves a process into it; what it starts from then on is in it as well. Takes the kernel some
 * milliseconds at first. */
static bool cgroup_add(const struct hocket__cgroup *g, pid_t pid)
{
    char text[16];
    snprintf(text, sizeof(text), "%d", (int) pid);
    return g->path[0] && write_file(g, "cgroup.procs", text);
}

/* Whether a process could not be started because of the limit. */
static bool cgroup_is_full(const struct hocket__cgroup *g)
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

/* Removes it; all of its processes have to be gone. */
static void cgroup_remove(struct hocket__cgroup *g)
{
    for (int i = 0; g->path[0] && i < 100 && rmdir(g->path) < 0; i++)
        usleep(1000); /* the last process is still on its way out */
    g->path[0] = 0;
}

#define SOCKET   HOCKET__LAUNCHER_SOCKET
#define WATCH_MS 20 /* between two looks at the limits of the tree */
/* Between two looks for names that are not to be there, which are not to take more than a twentieth
 * of the time either. */
#define LOOK_MS     250
#define LOOK_FACTOR 20
/* A program that is over by then needs no control group. bubblewrap takes 8 ms by itself, and its
 * namespace ends whatever it holds in one blow. */
#define SHORT_MS       4
#define SHORT_BWRAP_MS 20

struct launcher {
    struct hocket__launch spec;
    struct hocket__launch_result result;
    struct hocket__cgroup group;
    struct hocket__program program;
    struct hocket__space space;
    struct hocket__protect *protect; /* NULL: nothing is looked after */
    int64_t look_at;                 /* milliseconds, when to look again */
    char tmp[64];                    /* scratch directory, "" when the sandbox has its own */
    int signals;                     /* a signalfd for SIGCHLD */
    int64_t kill_at;                 /* milliseconds; 0: not asked to end */
    bool ended, adopted;
};

/* ---- The request -------------------------------------------------------------------- */

static bool read_all(char *p, size_t n)
{
    while (n > 0) {
        ssize_t got = read(SOCKET, p, n);
        if (got < 0 && errno == EINTR)
            continue;
        if (got <= 0)
            return false;
        p += got;
        n -= (size_t) got;
    }
    return true;
}

/* Its length in four bytes, then the text. */
static bool read_spec(struct hocket__launch *spec)
{
    uint32_t n = 0;
    if (!read_all((char *) &n, sizeof(n)) || n == 0 || n > HOCKET__LAUNCH_MAX)
        return false;
    char *text = malloc(n);
    return text && read_all(text, n) && hocket__launch_read(hocket__str(text, n), spec) == 0;
}

void hocket__launcher_send(int socket, const struct hocket__launch_result *r)
{
    struct hocket__buf b = hocket__buf(&hocket__malloc, 0);
    if (hocket__launch_result_write(r, &b) == 0)
        for (size_t at = 0; at < b.len;) {
            ssize_t n = send(socket, b.data + at, b.len - at, MSG_NOSIGNAL);
            if (n < 0 && errno != EINTR)
                break;
            at += n > 0 ? (size_t) n : 0;
        }
    hocket__buf_deinit(&b);
}

/* ---- Its end -------------------------------------------------------------------------- */

/* bubblewrap passes a signal on as 128 and its number, as shells do. */
static void note_end(struct launcher *l, int status)
{
    struct hocket__launch_result *r = &l->result;
    l->ended = true;
    if (WIFSIGNALED(status))
        r->signal = WTERMSIG(status);
    else if (l->spec.sandbox == HOCKET__SANDBOX_BWRAP && WEXITSTATUS(status) > 128
             && WEXITSTATUS(status) <= 128 + SIGSYS)
        r->signal = WEXITSTATUS(status) - 128;
    else
        r->code = WEXITSTATUS(status);
    hocket__program_report(&l->program, l->kill_at != 0, r);
}

static void reap(struct launcher *l)
{
    struct signalfd_siginfo info;
    while (read(l->signals, &info, sizeof(info)) > 0)
        ;
    int status;
    for (pid_t pid; (pid = waitpid(-1, &status, WNOHANG)) > 0;)
        if (pid == l->program.pid)
            note_end(l, status);
}

static void terminate(struct launcher *l)
{
    if (l->kill_at)
        return;
    l->kill_at = hocket__monotonic_ms() + l->spec.limits.grace_ms;
    /* bubblewrap's own two processes would end at once and take the others along. */
    hocket__tree_signal(l->spec.sandbox == HOCKET__SANDBOX_BWRAP ? 3 : 1, SIGTERM);
    /* what is stopped does not hear SIGTERM */
    hocket__tree_signal(1, SIGCONT);
}

/* The rest ends when the program has. */
static void end_now(struct launcher *l)
{
    l->kill_at = 1;
    if (l->program.pid > 0 && !l->ended)
        kill(l->program.pid, SIGKILL);
}

static void obey(struct launcher *l)
{
    char order;
    ssize_t n = read(SOCKET, &order, 1);
    if (n == 1 && order == 't')
        terminate(l);
    else if (n == 1 || n == 0 || errno != EINTR)
        end_now(l);
}

static bool is_limited(const struct hocket__launch_limits *m)
{
    return m->memory > 0 || m->processes > 0 || m->written > 0;
}

/* A process can keep what it writes to itself (PR_SET_DUMPABLE, a program that cannot be read): then
 * the disks tell. */
static bool has_written(const struct launcher *l, const struct hocket__tree *t, int64_t limit)
{
    return t->written > limit || (t->hidden && space_used(&l->space) > limit);
}

/* Which limit is reached, or NULL. */
static const char *reached(const struct launcher *l)
{
    const struct hocket__launch_limits *m = &l->spec.limits;
    struct hocket__tree t = hocket__tree_measure();
    if (m->processes > 0 && (t.processes > m->processes || cgroup_is_full(&l->group)))
        return "processes";
    if (m->memory > 0 && t.resident > m->memory)
        return "memory";
    if (m->written > 0 && has_written(l, &t, m->written))
        return "written";
    return m->written > 0 && space_is_short(&l->space) ? "space" : NULL;
}

static void check_limits(struct launcher *l)
{
    const char *limit = is_limited(&l->spec.limits) ? reached(l) : NULL;
    if (!limit)
        return;
    snprintf(l->result.limit, sizeof(l->result.limit), "%s", limit);
    if (l->spec.sandbox != HOCKET__SANDBOX_BWRAP) /* its namespace ends in one blow */
        hocket__tree_stop();
    end_now(l);
}

struct adoption {
    const struct hocket__cgroup *group;
    int added;
};

static void adopt_one(void *ud, pid_t pid, int depth)
{
    struct adoption *a = ud;
    (void) depth;
    a->added += cgroup_add(a->group, pid);
}

/* Puts all there is into a control group, until a round finds no more than the one before: what is
 * in it can start nothing outside of it. Entering takes the kernel some 10 ms, so it is done when a
 * program has shown that it is no short one. */
static void adopt(struct launcher *l)
{
    l->adopted = true;
    cgroup_make(&l->group, l->spec.limits.processes);
    for (int before = -1, i = 0; l->group.path[0] && i < 100; i++) {
        struct adoption a = { .group = &l->group };
        hocket__tree_each(adopt_one, &a);
        if (a.added <= before)
            break;
        before = a.added;
    }
}

static void look(struct launcher *l)
{
    int64_t took = l->protect ? hocket__protect_look(l->protect) : 0;
    l->look_at =
        hocket__monotonic_ms() + (took * LOOK_FACTOR > LOOK_MS ? took * LOOK_FACTOR : LOOK_MS);
}

static int wait_ms(const struct launcher *l)
{
    if (!l->adopted && l->spec.limits.processes > 0)
        return l->spec.sandbox == HOCKET__SANDBOX_BWRAP ? SHORT_BWRAP_MS : SHORT_MS;
    int64_t wait = is_limited(&l->spec.limits) ? WATCH_MS : l->protect ? LOOK_MS : -1;
    if (l->kill_at > 1) {
        int64_t left = l->kill_at - hocket__monotonic_ms();
        if (left < 0)
            left = 0;
        if (wait < 0 || left < wait)
            wait = left;
    }
    return (int) wait;
}

static void watch(struct launcher *l)
{
    struct pollfd fds[] = { { l->signals, POLLIN, 0 }, { SOCKET, POLLIN, 0 } };
    while (!l->ended) {
        int n = poll(fds, 2, wait_ms(l));
        /* nothing happened for SHORT_MS: it is no short program */
        if (n == 0 && !l->adopted)
            adopt(l);
        if (n > 0 && fds[0].revents)
            reap(l);
        if (!l->ended && n > 0 && fds[1].revents)
            obey(l);
        if (l->kill_at == 1)
            fds[1].fd = -1; /* nothing more to hear */
        if (!l->ended && l->kill_at > 1 && hocket__monotonic_ms() >= l->kill_at)
            end_now(l);
        if (!l->ended)
            check_limits(l);
        if (!l->ended && l->protect && hocket__monotonic_ms() >= l->look_at)
            look(l);
    }
}

/* ---- All of it ------------------------------------------------------------------------- */

static int remove_one(const char *path, const struct stat *st, int kind, struct FTW *at)
{
    (void) st;
    (void) kind;
    (void) at;
    remove(path);
    return 0;
}

static void make_tmp(struct launcher *l)
{
    if (l->spec.sandbox == HOCKET__SANDBOX_BWRAP)
        return;
    snprintf(l->tmp, sizeof(l->tmp), HOCKET__SANDBOX_TMP "/hocket-XXXXXX");
    if (!mkdtemp(l->tmp))
        l->tmp[0] = 0;
}

static void measure(struct launcher *l)
{
    struct rusage u;
    if (getrusage(RUSAGE_CHILDREN, &u) < 0)
        return;
    l->result.cpu_ms = (int64_t) (u.ru_utime.tv_sec + u.ru_stime.tv_sec) * 1000
                       + (u.ru_utime.tv_usec + u.ru_stime.tv_usec) / 1000;
    l->result.max_rss = (int64_t) u.ru_maxrss * 1024;
}

/* What the launcher watches must not starve it: a program that forks without end is stopped faster
 * than it grows. It takes root; for others the kernel itself limits processes. */
static void go_first(void)
{
    struct sched_param first = { .sched_priority = 1 };
    sched_setscheduler(0, SCHED_RR | SCHED_RESET_ON_FORK, &first);
}

static bool prepare(struct launcher *l)
{
    /* Order counts: the signal is blocked before the first child exists, or its end could be
     * missed; the subreaper comes before it too, so that daemons of the program come to us and
     * not to init. */
    sigset_t child_signal;
    sigemptyset(&child_signal);
    sigaddset(&child_signal, SIGCHLD);
    fcntl(SOCKET, F_SETFD, FD_CLOEXEC);
    setsid();
    go_first();
    return read_spec(&l->spec) && sigprocmask(SIG_BLOCK, &child_signal, NULL) == 0
           && (l->signals = signalfd(-1, &child_signal, SFD_NONBLOCK | SFD_CLOEXEC)) >= 0
           && prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) == 0;
}

/* Before the start: finds the files that the program must not change. */
static bool protect(struct launcher *l)
{
    if (!l->spec.protect[0])
        return true;
    l->protect = hocket__protect_new(&l->spec);
    if (!l->protect) {
        snprintf(l->result.message, sizeof(l->result.message), "cannot look through %.200s: %s",
            l->spec.protect, hocket__errno_text(errno));
        return false;
    }
    l->spec.guarded = hocket__protect_guarded(l->protect);
    l->look_at = hocket__monotonic_ms() + LOOK_MS;
    return true;
}

/* Whoever talks with the program is to see when nobody reads any more. */
static void let_go_of_input(void)
{
    int none = open("/dev/null", O_RDONLY | O_CLOEXEC);
    if (none > 0)
        dup2(none, STDIN_FILENO);
    if (none > 0)
        close(none);
}

static bool start(struct launcher *l)
{
    l->program = (struct hocket__program){ .spec = &l->spec, .tmp = l->tmp };
    if (l->spec.limits.written > 0)
        space_note(&l->space, l->spec.writable);
    int code = hocket__program_start(&l->program);
    if (code != 0)
        snprintf(l->result.message, sizeof(l->result.message), "cannot start a process: %s",
            hocket__errno_text(code));
    else
        let_go_of_input();
    return code == 0;
}

_Noreturn void hocket__launcher_run(void)
{
    struct launcher l = { .result = { .status = HOCKET_EIO, .code = -1 } };
    if (!prepare(&l))
        hocket__launcher_leave(1);
    make_tmp(&l);
    if (protect(&l) && start(&l)) {
        watch(&l);
        /* The program is over; daemons it left, in whatever session, are our children by now. */
        int64_t left = hocket__tree_end();
        if (l.protect) {
            look(&l);
            hocket__protect_report(l.protect, &l.result);
        }
        if (cgroup_is_full(&l.group)) /* it may have ended of that by itself */
            snprintf(l.result.limit, sizeof(l.result.limit), "processes");
        /* bubblewrap's namespace ends with the program: what is still seen of it is on its way out
         */
        l.result.left_behind = l.kill_at || l.spec.sandbox == HOCKET__SANDBOX_BWRAP ? 0 : left;
    }
    measure(&l);
    cgroup_remove(&l.group);
    if (l.tmp[0])
        nftw(l.tmp, remove_one, 32, FTW_DEPTH | FTW_PHYS);
    hocket__launcher_send(SOCKET, &l.result);
    /* Nothing here is worth tidying up, and the program's stderr is not ours to write to. */
    hocket__launcher_leave(0);
}

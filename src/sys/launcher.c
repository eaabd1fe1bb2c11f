/* Starts one program inside its walls, watches it and all that comes of it, and reports how it
 * ended. Reads one request; after it each byte on the socket is an order: 't' to end the program
 * in order (SIGTERM, after a while SIGKILL), 'k' to end it at once, which the socket's end stands
 * for as well. A program that is over takes everything with it that it started. */
#include "sys/launcher.h"

#include "sys/cgroup.h"
#include "sys/sandbox.h"
#include "sys/tree.h"

#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define SOCKET   HOCKET__LAUNCHER_SOCKET
#define WATCH_MS 20 /* between two looks at the limits of the tree */
/* A program that is over by then needs no control group. bubblewrap takes 8 ms by itself, and its
 * namespace ends whatever it holds in one blow. */
#define SHORT_MS       4
#define SHORT_BWRAP_MS 20
#define START_FAIL     127

struct launcher {
    struct hocket__launch spec;
    struct hocket__launch_result result;
    struct hocket__cgroup group;
    char tmp[64];    /* scratch directory, "" when the sandbox has its own */
    pid_t pid;       /* of the program, or of bubblewrap */
    int signals;     /* a signalfd for SIGCHLD */
    int report;      /* what the child says before exec, or bubblewrap about the program */
    int64_t kill_at; /* milliseconds; 0: not asked to end */
    bool ended, adopted;
};

static int64_t now_ms(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t) t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

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

static void send_result(const struct hocket__launch_result *r)
{
    struct hocket__buf b;
    hocket__buf_init(&b, &hocket__malloc, 0);
    if (hocket__launch_result_write(r, &b) == 0)
        for (size_t at = 0; at < b.len;) {
            ssize_t n = send(SOCKET, b.data + at, b.len - at, MSG_NOSIGNAL);
            if (n < 0 && errno != EINTR)
                break;
            at += n > 0 ? (size_t) n : 0;
        }
    hocket__buf_deinit(&b);
}

/* ---- The program --------------------------------------------------------------------- */

/* In the child: says why the program cannot run ("-23 reason"), and ends. */
static _Noreturn void give_up(int report, int status, const char *reason)
{
    char text[300];
    int n = snprintf(text, sizeof(text), "%d %.255s", status, reason);
    ssize_t written = write(report, text, (size_t) n);
    (void) written;
    _exit(START_FAIL);
}

static _Noreturn void give_up_program(int report, const char *doing, const char *what)
{
    char text[256];
    int code = errno, status = code == ENOENT || code == ENOTDIR ? HOCKET_ENOTFOUND
                               : code == EACCES || code == EPERM ? HOCKET_EDENIED
                                                                 : HOCKET_EIO;
    snprintf(text, sizeof(text), "cannot %s %.180s: %s", doing, what, strerrordesc_np(code));
    give_up(report, status, text);
}

static void build_walls(struct launcher *l, int report)
{
    struct hocket__sandbox_error err;
    bool landlock = l->spec.sandbox == HOCKET__SANDBOX_LANDLOCK;
    if (hocket__sandbox_limit(&l->spec, &err) < 0
        || (landlock && hocket__landlock_apply(&l->spec, l->tmp, &err) < 0)
        || (landlock && hocket__seccomp_apply(l->spec.network, &err) < 0))
        give_up(report, HOCKET_EUNSUPPORTED, err.text);
}

static void set_environment(const struct launcher *l)
{
    clearenv();
    for (const char *const *e = l->spec.env; *e; e++)
        putenv((char *) *e);
    if (l->tmp[0]) {
        setenv("HOME", l->tmp, 1);
        setenv("TMPDIR", l->tmp, 1);
    }
}

static _Noreturn void exec_program(struct launcher *l, int report)
{
    set_environment(l);
    build_walls(l, report);
    const char *cwd =
        l->tmp[0] && strcmp(l->spec.cwd, HOCKET__SANDBOX_TMP) == 0 ? l->tmp : l->spec.cwd;
    if (chdir(cwd) < 0)
        give_up_program(report, "work in", cwd);
    execvp(l->spec.argv[0], (char *const *) l->spec.argv);
    give_up_program(report, "run", l->spec.argv[0]);
}

/* bubblewrap itself is looked for in the system's places, whatever the program's PATH says. */
static _Noreturn void exec_bwrap(struct launcher *l, int report)
{
    struct hocket__sandbox_error err;
    int filter = hocket__seccomp_file(&err);
    if (filter < 0)
        give_up(report, HOCKET_EUNSUPPORTED, err.text);
    fcntl(report, F_SETFD, 0);
    const char **argv = hocket__bwrap_argv(&l->spec, filter, report);
    if (!argv)
        give_up(report, HOCKET_ENOMEM, "out of memory");
    setenv("PATH", "/usr/bin:/bin:/usr/local/bin", 1);
    /* Last: a limit on memory may already be reached by a launcher under a sanitizer. */
    if (hocket__sandbox_limit(&l->spec, &err) < 0)
        give_up(report, HOCKET_EUNSUPPORTED, err.text);
    execvp(argv[0], (char *const *) argv);
    give_up(report, HOCKET_EUNSUPPORTED, "bubblewrap is not installed (Debian package bubblewrap)");
}

static _Noreturn void child(struct launcher *l, int report)
{
    sigset_t none;
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
    setsid();
    if (l->spec.sandbox == HOCKET__SANDBOX_BWRAP)
        exec_bwrap(l, report);
    exec_program(l, report);
}

static bool start(struct launcher *l)
{
    int report[2];
    if (pipe2(report, O_CLOEXEC | O_NONBLOCK) < 0 || (l->pid = fork()) < 0) {
        snprintf(l->result.message, sizeof(l->result.message), "cannot start a process: %s",
            strerrordesc_np(errno));
        return false;
    }
    if (l->pid == 0)
        child(l, report[1]);
    close(report[1]);
    l->report = report[0];
    return true;
}

/* What the child said before exec, or bubblewrap in JSON documents: nothing is left unsaid when the
 * program is over. */
static void read_report(struct launcher *l, char *text, size_t size)
{
    size_t n = 0;
    for (ssize_t got; n + 1 < size && (got = read(l->report, text + n, size - 1 - n)) > 0;)
        n += (size_t) got;
    text[n] = 0;
    close(l->report);
}

/* ---- Its end -------------------------------------------------------------------------- */

/* bubblewrap says "exit-code" when the program ran; one that was killed cannot say anything. */
static void note_start(struct launcher *l)
{
    struct hocket__launch_result *r = &l->result;
    char text[1024];
    read_report(l, text, sizeof(text));
    if (text[0] == '-') {
        r->status = (int) strtol(text, NULL, 10);
        snprintf(r->message, sizeof(r->message), "%.255s", text + strcspn(text, " ") + 1);
    } else if (l->spec.sandbox == HOCKET__SANDBOX_BWRAP && !strstr(text, "\"exit-code\"")
               && !l->kill_at) {
        r->status = HOCKET_EUNSUPPORTED;
        snprintf(r->message, sizeof(r->message), "bubblewrap could not build the sandbox");
    } else {
        r->started = true;
    }
}

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
    note_start(l);
}

static void reap(struct launcher *l)
{
    struct signalfd_siginfo info;
    while (read(l->signals, &info, sizeof(info)) > 0)
        ;
    int status;
    for (pid_t pid; (pid = waitpid(-1, &status, WNOHANG)) > 0;)
        if (pid == l->pid)
            note_end(l, status);
}

static void terminate(struct launcher *l)
{
    if (l->kill_at)
        return;
    l->kill_at = now_ms() + l->spec.limits.grace_ms;
    /* bubblewrap's own two processes would end at once and take the others along. */
    hocket__tree_signal(l->spec.sandbox == HOCKET__SANDBOX_BWRAP ? 3 : 1, SIGTERM);
    hocket__tree_signal(1, SIGCONT);
}

/* The rest ends when the program has. */
static void end_now(struct launcher *l)
{
    l->kill_at = 1;
    if (l->pid > 0 && !l->ended)
        kill(l->pid, SIGKILL);
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

static void check_limits(struct launcher *l)
{
    const struct hocket__launch_limits *m = &l->spec.limits;
    if (m->memory <= 0 && m->processes <= 0)
        return;
    struct hocket__tree t = hocket__tree_measure();
    bool crowded =
        m->processes > 0 && (t.processes > m->processes || hocket__cgroup_is_full(&l->group));
    const char *reached = crowded                                   ? "processes"
                          : m->memory > 0 && t.resident > m->memory ? "memory"
                                                                    : NULL;
    if (!reached)
        return;
    snprintf(l->result.limit, sizeof(l->result.limit), "%s", reached);
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
    a->added += hocket__cgroup_add(a->group, pid);
}

/* Puts all there is into a control group, until a round finds no more than the one before: what is
 * in it can start nothing outside of it. Entering takes the kernel some 10 ms, so it is done when a
 * program has shown that it is no short one. */
static void adopt(struct launcher *l)
{
    l->adopted = true;
    hocket__cgroup_make(&l->group, l->spec.limits.processes);
    for (int before = -1, i = 0; l->group.path[0] && i < 100; i++) {
        struct adoption a = { .group = &l->group };
        hocket__tree_each(adopt_one, &a);
        if (a.added <= before)
            break;
        before = a.added;
    }
}

static int wait_ms(const struct launcher *l)
{
    if (!l->adopted && l->spec.limits.processes > 0)
        return l->spec.sandbox == HOCKET__SANDBOX_BWRAP ? SHORT_BWRAP_MS : SHORT_MS;
    int64_t wait = l->spec.limits.memory > 0 || l->spec.limits.processes > 0 ? WATCH_MS : -1;
    if (l->kill_at > 1) {
        int64_t left = l->kill_at - now_ms();
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
        if (n == 0 && !l->adopted)
            adopt(l);
        if (n > 0 && fds[0].revents)
            reap(l);
        if (!l->ended && n > 0 && fds[1].revents)
            obey(l);
        if (l->kill_at == 1)
            fds[1].fd = -1; /* nothing more to hear */
        if (!l->ended && l->kill_at > 1 && now_ms() >= l->kill_at)
            end_now(l);
        if (!l->ended)
            check_limits(l);
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
    sigset_t child_signal;
    sigemptyset(&child_signal);
    sigaddset(&child_signal, SIGCHLD);
    fcntl(SOCKET, F_SETFD, FD_CLOEXEC);
    prctl(PR_SET_DUMPABLE, 0, 0, 0, 0); /* what it was told is no tool's business */
    go_first();
    return read_spec(&l->spec) && sigprocmask(SIG_BLOCK, &child_signal, NULL) == 0
           && (l->signals = signalfd(-1, &child_signal, SFD_NONBLOCK | SFD_CLOEXEC)) >= 0
           && prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) == 0;
}

_Noreturn void hocket__launcher_main(void)
{
    struct launcher l = { .result = { .code = -1 } };
    if (!prepare(&l))
        _exit(START_FAIL);
    make_tmp(&l);
    if (start(&l)) {
        watch(&l);
        int64_t left = hocket__tree_end();
        if (hocket__cgroup_is_full(&l.group)) /* it may have ended of that by itself */
            snprintf(l.result.limit, sizeof(l.result.limit), "processes");
        /* bubblewrap's namespace ends with the program: what is still seen of it is on its way out
         */
        l.result.left_behind = l.kill_at || l.spec.sandbox == HOCKET__SANDBOX_BWRAP ? 0 : left;
    }
    measure(&l);
    hocket__cgroup_remove(&l.group);
    if (l.tmp[0])
        nftw(l.tmp, remove_one, 32, FTW_DEPTH | FTW_PHYS);
    send_result(&l.result);
    _exit(
        0); /* nothing here is worth tidying up, and the program's stderr is not ours to write to */
}

/* `hocket work --processes N`: a process that starts workers, and restarts one that ended unasked: at once the first
 * time, then with growing pauses while it does not last.
 *
 *   SIGTERM, SIGINT ──> to all workers; it ends when they have. A third one: SIGKILL to the rest
 *   SIGHUP ──> to all workers, which restart */
#include "cli/work/work.h"

#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "cli/exit.h"
#include "cli/log/log.h"
#include "cli/service/service.h"

/* A pause after a short life: doubled from the first to the last. A life of LASTING seconds was none. */
#define FIRST_MS   500
#define LAST_MS    60000
#define LASTING_MS 60000

struct worker {
    pid_t pid; /* 0: none */
    int64_t began_ms, due_ms, pause_ms;
    bool over; /* it ended by itself, and well */
};

struct crew {
    struct worker *list;
    size_t count;
    char **argv; /* of each, with --processes 1 behind all else */
    int stops;   /* signals that asked for the end */
    int code;    /* of the first that failed for good */
    sigset_t before;
};

static int64_t now_ms(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

/* The program as it is called now, also where another one has taken its place since. */
int cli_work_begin(char **argv)
{
    static const char gone[] = " (deleted)";
    char path[PATH_MAX + sizeof(gone)];
    ssize_t n = readlink("/proc/self/exe", path, sizeof(path) - 1);
    path[n > 0 ? n : 0] = 0;
    char *end = strstr(path, gone);
    if (end && !end[sizeof(gone) - 1])
        *end = 0;
    if (path[0])
        execv(path, argv);
    execv("/proc/self/exe", argv);
    cli_logf(CLI_LOG_ERROR, "hocket work: cannot start '%s': %s", path, strerror(errno));
    return CLI_EXIT_FAILED;
}

/* ---- One of them ------------------------------------------------------------------------------- */

/* Whom we are to, and that we are there, is for this process to say. It ends when this one does, however that comes. */
static void become(const struct crew *c, pid_t parent)
{
    sigset_t mask = c->before;
    sigaddset(&mask, SIGINT); /* as cli_signals_hold: a signal may come before its handler is set */
    sigaddset(&mask, SIGTERM);
    sigaddset(&mask, SIGHUP);
    sigprocmask(SIG_SETMASK, &mask, NULL);
    unsetenv("NOTIFY_SOCKET");
    unsetenv("WATCHDOG_USEC");
    unsetenv("WATCHDOG_PID");
    prctl(PR_SET_PDEATHSIG, SIGTERM);
    if (getppid() != parent)
        _exit(CLI_EXIT_FAILED);
    cli_work_begin(c->argv);
    _exit(127);
}

static void start(const struct crew *c, struct worker *w)
{
    pid_t parent = getpid(), pid = fork();
    if (pid == 0)
        become(c, parent);
    w->began_ms = now_ms();
    w->pid = pid > 0 ? pid : 0;
    w->due_ms = pid > 0 ? 0 : w->began_ms + LAST_MS / 10;
    if (pid < 0)
        cli_logf(CLI_LOG_ERROR, "hocket work: cannot start a worker: %s", strerror(errno));
}

/* What is wrong with the options or the store is so for all of them, and the next time as well. */
static bool is_for_good(int status)
{
    return WIFEXITED(status)
           && (WEXITSTATUS(status) == CLI_EXIT_USAGE || WEXITSTATUS(status) == 127);
}

static void say_end(pid_t pid, int status, int64_t pause_ms)
{
    bool killed = WIFSIGNALED(status);
    cli_logf(CLI_LOG_WARNING, "hocket work: worker %d %s %d; another one is started in %.1f s",
        (int) pid, killed ? "was ended by signal" : "has ended with code",
        killed ? WTERMSIG(status) : WEXITSTATUS(status), (double) pause_ms / 1000);
}

static void send_signal(const struct crew *c, int signo)
{
    for (size_t i = 0; i < c->count; i++)
        if (c->list[i].pid > 0)
            kill(c->list[i].pid, signo);
}

/* They end when they are done, then at once, then whatever they do. */
static void stop(struct crew *c)
{
    if (c->stops++ == 0)
        cli_notify("STOPPING=1", true);
    send_signal(c, c->stops > 2 ? SIGKILL : SIGTERM);
}

static void ended(struct crew *c, struct worker *w, int status)
{
    int64_t now = now_ms();
    pid_t pid = w->pid;
    w->pid = 0;
    if (c->stops > 0 || is_for_good(status)) {
        w->over = true;
        int code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
        if (c->stops == 1 && code == 128 + SIGTERM)
            code = 0; /* its handlers were not set yet */
        c->code = c->code ? c->code : code;
        if (c->stops == 0)
            stop(c);
        return;
    }
    bool lasted = now - w->began_ms >= LASTING_MS;
    w->pause_ms = lasted || w->pause_ms == 0 ? FIRST_MS : w->pause_ms * 2;
    w->pause_ms = w->pause_ms > LAST_MS ? LAST_MS : w->pause_ms;
    w->due_ms = now + w->pause_ms;
    say_end(pid, status, w->pause_ms);
}

/* ---- All of them --------------------------------------------------------------------------------- */

static void hear_ends(struct crew *c)
{
    int status;
    for (pid_t pid; (pid = waitpid(-1, &status, WNOHANG)) > 0;)
        for (size_t i = 0; i < c->count; i++)
            if (c->list[i].pid == pid)
                ended(c, &c->list[i], status);
}

/* What a terminal sends they have as well: it is theirs and ours. */
static void hear(struct crew *c, const struct signalfd_siginfo *info)
{
    int signo = (int) info->ssi_signo;
    bool ours_alone = info->ssi_code != SI_KERNEL;
    if (signo == SIGCHLD)
        return;
    if (signo == SIGHUP && ours_alone)
        send_signal(c, SIGHUP);
    else if (ours_alone)
        stop(c);
    else if (c->stops++ == 0)
        cli_notify("STOPPING=1", true);
}

/* Starts workers that are due. Milliseconds until the next one is due; -1: none is. */
static int start_due(const struct crew *c)
{
    int64_t now = now_ms(), next = -1;
    for (size_t i = 0; i < c->count && c->stops == 0; i++) {
        struct worker *w = &c->list[i];
        if (w->pid == 0 && !w->over && w->due_ms <= now)
            start(c, w);
        if (w->pid == 0 && !w->over && (next < 0 || w->due_ms - now < next))
            next = w->due_ms - now;
    }
    return (int) next;
}

static bool any_left(const struct crew *c)
{
    for (size_t i = 0; i < c->count; i++)
        if (c->list[i].pid > 0)
            return true;
    return c->stops == 0;
}

static int earlier(int a, int64_t b)
{
    return b <= 0 || (a >= 0 && a < b) ? a : (int) b;
}

static int lead(struct crew *c, int fd)
{
    int64_t watchdog = cli_notify_watchdog();
    bool told = false;
    while (any_left(c)) {
        struct signalfd_siginfo info;
        struct pollfd p = { fd, POLLIN, 0 };
        int wait = start_due(c);
        if (!told)
            cli_notify("READY=1", true);
        told = true;
        poll(&p, 1, earlier(wait, watchdog / 3));
        while (read(fd, &info, sizeof(info)) == sizeof(info))
            hear(c, &info);
        hear_ends(c);
        if (watchdog > 0)
            cli_notify("WATCHDOG=1", false);
    }
    return c->code;
}

/* The same arguments, and at their end what makes it one process. */
static char **one_process(char **argv)
{
    static char option[] = "--processes=1";
    size_t n = 0, at;
    while (argv[n])
        n++;
    char **made = calloc(n + 2, sizeof(*made));
    for (at = 0; made && at < n; at++)
        made[at] = argv[at];
    if (made)
        made[at] = option;
    return made;
}

int cli_work_processes(int64_t count, char **argv)
{
    sigset_t set;
    long cores = sysconf(_SC_NPROCESSORS_ONLN);
    struct crew c = { .count = (size_t) (count > 0 ? count : cores > 0 ? cores : 1) };
    c.list = calloc(c.count, sizeof(*c.list));
    c.argv = one_process(argv);
    if (!c.list || !c.argv)
        cli_nomem();
    sigemptyset(&set);
    sigaddset(&set, SIGINT);
    sigaddset(&set, SIGTERM);
    sigaddset(&set, SIGHUP);
    sigaddset(&set, SIGCHLD);
    sigprocmask(SIG_BLOCK, &set, &c.before);
    int fd = signalfd(-1, &set, SFD_NONBLOCK | SFD_CLOEXEC);
    int rc = fd < 0 ? CLI_EXIT_FAILED : lead(&c, fd);
    if (fd >= 0)
        close(fd);
    sigprocmask(SIG_SETMASK, &c.before, NULL);
    free(c.argv);
    free(c.list);
    return rc;
}

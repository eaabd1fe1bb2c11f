/* Handlers set flags, wake the host and end the process; they call nothing that is not safe in
 * a handler. The first signal cancels the run, the second ends the process. Code that never waits notices neither:
 * an alarm interrupts it, and after some attempts the process ends without it. */
#include "cli/signals.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <sys/time.h>
#include <unistd.h>

#include "cli/exit.h"

#define SHOW_CURSOR "\033[?2004l\033[?25h" /* and pastes come as they did */

/* How often code that never waits is broken into before the process ends without it. */
#define MAX_BREAKS 3

/* Seconds: so much later than a run ends by itself, code that never waits is broken into. */
#define LATE 0.25

/* Handlers know nothing but this. */
static volatile sig_atomic_t taken, resized, resumed, view_on, soft, patient, wishes, breaks,
    reload, turned, limited;
static volatile unsigned watched; /* seconds */
static hocket_host *volatile waiting;
static pthread_t pumping;

static void wake(void)
{
    hocket_host *host = waiting;
    if (host)
        hocket_wakeup(host);
}

static void leave_view(void)
{
    if (view_on) {
        static const char text[] = SHOW_CURSOR "\r\n";
        ssize_t unused = write(STDERR_FILENO, text, sizeof(text) - 1);
        (void) unused;
    }
}

/* Once a second from when the run should have ended, unless it has waited for people: the loop cannot turn while a
 * script never waits. */
static void on_alarm(int signo)
{
    static const char text[] = "hocket: ended in the middle of code that never waits\n";
    int saved = errno;
    hocket_host *host = waiting;
    if (!pthread_equal(pthread_self(), pumping)) {
        pthread_kill(pumping, signo);
        return;
    }
    if (limited && !taken && host && hocket_has_time(host) > 0) {
        alarm(1);
        errno = saved;
        return;
    }
    if (watched && turned) {
        turned = 0;
        alarm(watched);
        errno = saved;
        return;
    }
    breaks = host && hocket_break(host) ? breaks + 1 : 0;
    if (breaks > MAX_BREAKS) {
        leave_view();
        ssize_t unused = write(STDERR_FILENO, text, sizeof(text) - 1);
        (void) unused;
        _exit(taken ? cli_exit_of_signal(taken) : CLI_EXIT_TIMEOUT);
    }
    alarm(1);
    errno = saved;
}

static void on_stop(int signo)
{
    int saved = errno;
    if (!patient || taken)
        alarm(1);
    if (soft && signo == SIGINT && wishes < 2) {
        wishes++;
        wake();
        errno = saved;
        return;
    }
    if (signo == SIGHUP && taken == SIGHUP) { /* of a closed terminal, and of its shell: one wish */
        errno = saved;
        return;
    }
    if (taken || (soft && signo == SIGINT)) {
        leave_view();
        _exit(cli_exit_of_signal(signo));
    }
    taken = signo;
    wake();
    errno = saved;
}

static void on_reload(int signo)
{
    int saved = errno;
    (void) signo;
    reload = 1;
    wake();
    errno = saved;
}

static void on_resize(int signo)
{
    int saved = errno;
    (void) signo;
    resized = 1;
    wake();
    errno = saved;
}

static void handle(int signo, void (*fn)(int))
{
    struct sigaction sa = { .sa_handler = fn, .sa_flags = SA_RESTART };
    sigemptyset(&sa.sa_mask);
    sigaction(signo, &sa, NULL);
}

/* Stops as the terminal asked for, and takes over again when the process goes on. */
static void on_suspend(int signo)
{
    int saved = errno;
    sigset_t set, before;
    leave_view();
    handle(signo, SIG_DFL);
    sigemptyset(&set);
    sigaddset(&set, signo);
    raise(signo);
    pthread_sigmask(SIG_UNBLOCK, &set, &before); /* here it stops */
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    handle(signo, on_suspend);
    resized = resumed = 1;
    wake();
    errno = saved;
}

/* Ends the process as the signal would have, with the cursor shown. */
static void on_crash(int signo)
{
    leave_view();
    handle(signo, SIG_DFL);
    raise(signo);
}

static bool is_ignored(int signo)
{
    struct sigaction sa;
    return sigaction(signo, NULL, &sa) == 0 && sa.sa_handler == SIG_IGN;
}

void cli_signals_start(hocket_host *host)
{
    waiting = host;
    pumping = pthread_self();
    handle(SIGALRM, on_alarm);
    handle(SIGINT, on_stop);
    handle(SIGTERM, on_stop);
    if (!is_ignored(SIGHUP))
        handle(SIGHUP, on_stop);
}

void cli_signals_patient(void)
{
    patient = 1;
}

void cli_signals_reload(void)
{
    if (!is_ignored(SIGHUP))
        handle(SIGHUP, on_reload);
}

bool cli_signal_reload(void)
{
    bool was = reload;
    reload = 0;
    return was;
}

static void hold(int how)
{
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGINT);
    sigaddset(&set, SIGTERM);
    sigaddset(&set, SIGHUP);
    pthread_sigmask(how, &set, NULL);
}

void cli_signals_hold(void)
{
    hold(SIG_BLOCK);
}

void cli_signals_release(void)
{
    hold(SIG_UNBLOCK);
}

void cli_signals_end(void)
{
    waiting = NULL; /* handlers run on this thread: none is in the middle of a wake-up */
    watched = 0;
    alarm(0);
}

void cli_signals_limit(double seconds)
{
    struct itimerval at = { .it_value = { 0 } };
    breaks = 0;
    limited = seconds > 0;
    if (limited) {
        seconds = (seconds < 1e6 ? seconds : 1e6) + LATE;
        at.it_value.tv_sec = (time_t) seconds;
        at.it_value.tv_usec = (suseconds_t) ((seconds - (double) at.it_value.tv_sec) * 1e6);
    }
    setitimer(ITIMER_REAL, &at, NULL);
}

void cli_signals_watch(unsigned seconds)
{
    watched = seconds;
    turned = 1;
    alarm(seconds);
}

void cli_signals_turned(void)
{
    turned = 1;
}

void cli_signals_soft(void)
{
    soft = 1;
}

bool cli_signal_interrupted(void)
{
    bool was = wishes > 0;
    wishes = 0;
    if (was)
        alarm(0); /* it was heard */
    return was;
}

int cli_signal_taken(void)
{
    return taken;
}

void cli_signals_view_on(void)
{
    view_on = 1;
    handle(SIGTSTP, on_suspend);
    handle(SIGWINCH, on_resize);
    handle(SIGQUIT, on_crash);
    handle(SIGABRT, on_crash);
}

void cli_signals_view_off(void)
{
    view_on = 0;
    handle(SIGTSTP, SIG_DFL);
    handle(SIGWINCH, SIG_DFL);
    handle(SIGQUIT, SIG_DFL);
    handle(SIGABRT, SIG_DFL);
}

bool cli_signal_resized(void)
{
    bool was = resized;
    resized = 0;
    return was;
}

bool cli_signal_resumed(void)
{
    bool was = resumed;
    resumed = 0;
    return was;
}

void cli_guard_descriptors(void)
{
    signal(SIGPIPE, SIG_IGN);
    signal(SIGXFSZ,
        SIG_IGN); /* a file that may not grow is an error of the write, as a full disk is */
    for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++)
        if (fcntl(fd, F_GETFD) < 0 && errno == EBADF)
            open("/dev/null", fd == STDIN_FILENO ? O_WRONLY : O_RDONLY);
}

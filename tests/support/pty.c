/* Runs a program on a pseudo-terminal, so that tests see what a person sees.
 *
 *     pty [-c COLUMNS] [-r ROWS] [-w PATTERN ACTION]… -- PROGRAM [ARGUMENT…]
 *
 * What the program writes is copied to stdout. Each -w waits until PATTERN has come, then does
 * ACTION: `key:X` types the byte with the number X, `line:TEXT` a line, `columns:N` resizes,
 * `wait:MS` only waits, `edits:` waits until the program takes keys one by one (10 s at most): a
 * line editor does so only after it has written its prompt. The next one begins to look behind it.
 * Exits as the program did (128 and its number after a signal), or with 99 when nothing ends within
 * a minute. */
#include <errno.h>
#include <poll.h>
#include <pty.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/wait.h>
#include <termios.h>
#include <time.h>
#include <unistd.h>

#define MAX_STEPS  32
#define MAX_OUTPUT (1 << 20)

struct pty {
    int fd;
    struct winsize size;
    const char *pattern[MAX_STEPS], *action[MAX_STEPS];
    int steps, step;
    size_t seen, n; /* output before `seen` has been looked at */
    char output[MAX_OUTPUT + 1];
};

static void act(struct pty *p, const char *action)
{
    int value = atoi(strchr(action, ':') + 1);
    if (strncmp(action, "key:", 4) == 0) {
        char key = (char) value;
        if (write(p->fd, &key, 1) != 1)
            exit(98);
    } else if (strncmp(action, "line:", 5) == 0) {
        if (write(p->fd, action + 5, strlen(action + 5)) < 0 || write(p->fd, "\r", 1) != 1)
            exit(98);
    } else if (strncmp(action, "edits:", 6) == 0) {
        struct termios t;
        for (int i = 0; i < 2000 && tcgetattr(p->fd, &t) == 0 && (t.c_lflag & ICANON); i++)
            nanosleep(&(struct timespec){ 0, 5000000 }, NULL);
    } else if (strncmp(action, "columns:", 8) == 0) {
        p->size.ws_col = (unsigned short) value;
        ioctl(p->fd, TIOCSWINSZ, &p->size);
    } else {
        nanosleep(&(struct timespec){ value / 1000, value % 1000 * 1000000L }, NULL);
    }
}

static void look(struct pty *p)
{
    char *found;
    while (p->step < p->steps && (found = strstr(p->output + p->seen, p->pattern[p->step]))) {
        p->seen = (size_t) (found - p->output) + strlen(p->pattern[p->step]);
        act(p, p->action[p->step++]);
    }
}

static void copy(struct pty *p)
{
    for (;;) {
        ssize_t n = read(p->fd, p->output + p->n, MAX_OUTPUT - p->n);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0) /* EIO: the program has gone */
            return;
        fwrite(p->output + p->n, 1, (size_t) n, stdout);
        fflush(stdout);
        for (ssize_t i = 0; i < n; i++) /* strstr ends at a NUL */
            if (p->output[p->n + (size_t) i] == 0)
                p->output[p->n + (size_t) i] = '?';
        p->n += (size_t) n;
        p->output[p->n] = 0;
        look(p);
        if (p->n == MAX_OUTPUT)
            p->n = p->seen = 0;
    }
}

static void on_alarm(int signo)
{
    (void) signo;
    _exit(99);
}

int main(int argc, char **argv)
{
    static struct pty p = { .size = { .ws_row = 24, .ws_col = 80 } };
    int option, status;
    while ((option = getopt(argc, argv, "+c:r:w:")) != -1) {
        if (option == 'c') {
            p.size.ws_col = (unsigned short) atoi(optarg);
        } else if (option == 'r') {
            p.size.ws_row = (unsigned short) atoi(optarg);
        } else if (option == 'w' && p.steps < MAX_STEPS && optind < argc) {
            p.pattern[p.steps] = optarg;
            p.action[p.steps++] = argv[optind++];
        } else {
            return 98;
        }
    }
    pid_t pid = forkpty(&p.fd, NULL, NULL, &p.size);
    if (pid < 0 || optind >= argc)
        return 98;
    if (pid == 0) {
        execvp(argv[optind], argv + optind);
        _exit(127);
    }
    signal(SIGALRM, on_alarm);
    alarm(60);
    copy(&p);
    if (waitpid(pid, &status, 0) != pid)
        return 98;
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

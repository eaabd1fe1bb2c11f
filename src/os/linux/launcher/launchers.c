/* The host's side: one nursery for all programs, begun with the first and again when it has
 * died. A message to it is one byte and four descriptors; everything else goes to the launcher
 * itself.
 *
 * Nothing waits for the nursery in the middle of work: messages are sent with a timeout, its
 * end is seen as EPIPE by the next, and it is reaped by its pidfd, so an embedder's own
 * SIGCHLD handling is never touched. */
#include "os/launcher.h"

#include "os/descriptors.h"
#include "base/system_names.h"
#include "os/errors.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#define SEND_S      5    /* a nursery that takes nothing for so long is stuck */
#define FAREWELL_MS 1000 /* what it gets to end */

void hocket__launchers_init(struct hocket__launchers *l, const struct hocket_allocator *a)
{
    *l = (struct hocket__launchers){ .socket = -1, .pidfd = -1 };
    hocket__buf_init(&l->path, a, 0);
}

/* Where the loader has found our libraries it has to look for those of the launcher, which is the same
 * program. Nothing else is asked, and it hands it on to nobody. NULL: nowhere in particular. */
static char *library_path(char *text, size_t size)
{
    const char *path = secure_getenv("LD_LIBRARY_PATH");
    int n = path ? snprintf(text, size, "LD_LIBRARY_PATH=%s", path) : -1;
    return n > 0 && (size_t) n < size ? text : NULL;
}

/* In a session of its own, with every signal at its default and none blocked, an empty environment
 * and nothing open but its socket: neither the terminal's signals nor the host's secrets reach it,
 * nor any launcher. */
static int spawn(const char *program, int theirs, pid_t *pid)
{
    char libraries[PATH_MAX * 4];
    char *argv[] = { (char *) "hocket", (char *) HOCKET__LAUNCHER_WORD, NULL },
         *env[] = { library_path(libraries, sizeof(libraries)), NULL };
    posix_spawn_file_actions_t actions;
    posix_spawnattr_t attr;
    sigset_t all, none;
    sigfillset(&all);
    sigemptyset(&none);
    posix_spawn_file_actions_init(&actions);
    posix_spawnattr_init(&attr);
    posix_spawn_file_actions_adddup2(&actions, theirs, HOCKET__LAUNCHER_SOCKET);
    for (int fd = 0; fd < HOCKET__LAUNCHER_SOCKET; fd++)
        posix_spawn_file_actions_addopen(&actions, fd, "/dev/null", O_RDWR, 0);
#ifdef __GLIBC__
    /* Last: a descriptor of the host's without FD_CLOEXEC would otherwise be in every program. Elsewhere the
     * launcher closes them itself (launcher.c). */
    posix_spawn_file_actions_addclosefrom_np(&actions, HOCKET__LAUNCHER_SOCKET + 1);
#endif
    posix_spawnattr_setsigdefault(&attr, &all);
    posix_spawnattr_setsigmask(&attr, &none);
    posix_spawnattr_setflags(
        &attr, POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSID);
    int code = posix_spawn(pid, program, &actions, &attr, argv, env);
    posix_spawnattr_destroy(&attr);
    posix_spawn_file_actions_destroy(&actions);
    return code;
}

/* Moves it away from the places that the spawned process fills before it is copied there. */
static int above_places(int fd)
{
    if (fd > HOCKET__LAUNCHER_SOCKET)
        return fd;
    int higher = fcntl(fd, F_DUPFD_CLOEXEC, HOCKET__LAUNCHER_SOCKET + 1);
    close(fd);
    return higher;
}

static int begin(struct hocket__launchers *l, const char *path, struct hocket_error *err)
{
    int pair[2];
    char words[HOCKET__ERRNO_WORDS];
    hocket__buf_reset(&l->path);
    if (hocket__buf_add(&l->path, path, strlen(path) + 1) < 0)
        return hocket__error_nomem(err);
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) < 0)
        return hocket__error(
            err, HOCKET_EIO, "cannot start a program: %s", hocket__errno_words(errno, words));
    pid_t pid;
    int theirs = above_places(pair[1]);
    int code = theirs < 0 ? errno : spawn(path, theirs, &pid);
    if (theirs >= 0)
        close(theirs);
    if (code != 0) {
        close(pair[0]);
        return hocket__error(err, hocket__errno_status(code),
            "cannot run %s, which starts the programs of tools: %s", path,
            hocket__errno_words(code, words));
    }
    l->socket = pair[0];
    l->pidfd = (int) syscall(SYS_pidfd_open, pid, 0);
    setsockopt(l->socket, SOL_SOCKET, SO_SNDTIMEO, &(struct timeval){ .tv_sec = SEND_S },
        sizeof(struct timeval));
    return 0;
}

static bool is_from(const struct hocket__launchers *l, const char *path)
{
    return l->socket >= 0 && strcmp(l->path.data, path) == 0;
}

static int hand_over(const struct hocket__launchers *l, const int *fds)
{
    return hocket__descriptors_send(l->socket, fds, HOCKET__LAUNCHER_FDS);
}

int hocket__launchers_start(
    struct hocket__launchers *l, const char *path, const int *fds, struct hocket_error *err)
{
    int code = is_from(l, path) ? hand_over(l, fds) : EPIPE;
    if (code == EPIPE) { /* there is none, or somebody has ended it */
        hocket__launchers_close(l);
        int rc = begin(l, path, err);
        if (rc < 0)
            return rc;
        code = hand_over(l, fds);
    }
    if (code == 0)
        return 0;
    return hocket__error(err, code == EPIPE ? HOCKET_EUNSUPPORTED : HOCKET_EIO,
        "cannot start a program: %s, which starts the programs of tools, %s", path,
        code == EPIPE ? "ended without a word (is it of another version?)"
                      : hocket__errno_text(code));
}

void hocket__launchers_after_fork(struct hocket__launchers *l)
{
    if (l->socket >= 0)
        close(l->socket);
    if (l->pidfd >= 0)
        close(l->pidfd);
    l->socket = l->pidfd = -1;
    hocket__buf_deinit(&l->path);
}

/* Somebody else in this process may have reaped it: then there is nothing to wait for. */
void hocket__launchers_close(struct hocket__launchers *l)
{
    struct pollfd ended = { .fd = l->pidfd, .events = POLLIN };
    siginfo_t info;
    if (l->socket >= 0)
        close(l->socket); /* which ends it */
    l->socket = -1;
    if (l->pidfd >= 0 && poll(&ended, 1, FAREWELL_MS) == 1)
        waitid((idtype_t) P_PIDFD, (id_t) l->pidfd, &info, WEXITED | WNOHANG);
    hocket__launchers_after_fork(l);
}

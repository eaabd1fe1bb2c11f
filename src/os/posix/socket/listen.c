/* Listens on a socket in the file system, for processes of the same user. Only the user may have access to
 * the directory. A lock (flock) covers the check of a name, the removal of a dead process's socket, and the
 * bind, so two programs that begin at once do not take each other's socket away. The kernel identifies
 * peers, not their messages. */

#include "os/socket.h"

#include "base/alloc.h"
#include "base/system_names.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#include "os/errors.h"
#include "os/posix/system.h"
#include "os/tcp.h"

#define BACKLOG    16
#define LOCK_TRIES 20 /* of a millisecond: others hold the lock for a few system calls */

struct hocket__listener {
    uv_poll_t poll;
    const struct hocket_allocator *a;
    int fd, spare; /* closed for a moment to refuse a client when no descriptor is left */
    int dir;
    pid_t owner; /* a forked child takes no file away */
    struct stat file_stat;
    char file[sizeof(((struct sockaddr_un *) 0)->sun_path)];
    void (*on_news)(void *ud);
    void *ud;
    void (*closed)(void *ud);
    void *closed_ud;
};

static int failed(struct hocket_error *err, const char *what, const char *path, int code)
{
    return hocket__error(
        err, hocket__errno_status(code), "%s %s: %s", what, path, hocket__errno_text(code));
}

static void close_one(int fd)
{
    if (fd >= 0)
        close(fd);
}

/* ---- The directory --------------------------------------------------------- */

/* Its descriptor. Others that could write there could put a socket of their own into it. */
static int open_dir(const char *dir, struct hocket_error *err)
{
    struct stat st;
    if (mkdir(dir, 0700) != 0 && errno != EEXIST)
        return failed(err, "cannot make the directory", dir, errno);
    int fd = open(dir, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0)
        return failed(err, "cannot use the directory", dir, errno);
    if (fstat(fd, &st) == 0 && st.st_uid == geteuid() && (st.st_mode & 077) == 0)
        return fd;
    close(fd);
    return hocket__error(err, HOCKET_EDENIED,
        "the directory %s has to belong to you alone (chmod 700 %s)", dir, dir);
}

/* Polls: a blocking flock would stop the loop for as long as another process holds the lock. */
static int lock(int dir, const char *path, struct hocket_error *err)
{
    for (int i = 0; i < LOCK_TRIES; i++) {
        if (flock(dir, LOCK_EX | LOCK_NB) == 0)
            return 0;
        nanosleep(&(struct timespec){ .tv_nsec = 1000000 }, NULL);
    }
    return hocket__error(err, HOCKET_ESTATE, "the directory %s is locked by another program", path);
}

/* ---- Addresses ------------------------------------------------------------- */

static int address_of(const char *path, struct sockaddr_un *out, struct hocket_error *err)
{
    *out = (struct sockaddr_un){ .sun_family = AF_UNIX };
    if (strlen(path) >= sizeof(out->sun_path))
        return hocket__error(err, HOCKET_ELIMIT, "%s: a socket's path has at most %zu bytes", path,
            sizeof(out->sun_path) - 1);
    strcpy(out->sun_path, path);
    return 0;
}

static int new_socket(struct hocket_error *err)
{
    int fd = hocket__tcp_open(AF_UNIX, SOCK_STREAM, 0);
    return fd >= 0 ? fd : failed(err, "cannot make", "a socket", -fd);
}

static bool peer_of(int fd, struct hocket__peer *out)
{
    return hocket__system_peer(fd, &out->pid, &out->uid);
}

/* A full backlog belongs to a live and busy process: do not wait for it. */
int hocket__connect(const char *path, int *out, struct hocket__peer *peer, struct hocket_error *err)
{
    struct sockaddr_un address;
    int rc = address_of(path, &address, err), fd = rc < 0 ? rc : new_socket(err);
    if (fd < 0)
        return fd;
    if (connect(fd, (struct sockaddr *) &address, sizeof(address)) == 0 && peer_of(fd, peer)) {
        *out = fd;
        return 0;
    }
    int code = errno;
    close(fd);
    if (code == EAGAIN)
        return hocket__error(err, HOCKET_ESTATE, "%s: too many wait for an answer there", path);
    if (code == ECONNREFUSED || code == ENOENT || code == ENOTSOCK)
        return hocket__error(err, HOCKET_ENOTFOUND, "nobody listens at %s", path);
    return failed(err, "cannot connect to", path, code);
}

/* Whether the name is free; removes a dead process's socket. The directory is locked. */
static int clear_name(int dir, const char *file, const char *path, struct hocket_error *err)
{
    struct hocket__peer peer = { 0 };
    struct stat st;
    int fd;
    if (fstatat(dir, file, &st, AT_SYMLINK_NOFOLLOW) != 0)
        return errno == ENOENT ? 0 : failed(err, "cannot look at", path, errno);
    if (!S_ISSOCK(st.st_mode))
        return hocket__error(err, HOCKET_EEXIST, "%s is there, and is no socket", path);
    int rc = hocket__connect(path, &fd, &peer, NULL);
    if (rc == 0)
        close(fd);
    if (rc != HOCKET_ENOTFOUND)
        return hocket__error(
            err, HOCKET_EEXIST, "%s is in use by process %ld", path, (long) peer.pid);
    return unlinkat(dir, file, 0) == 0 ? 0 : failed(err, "cannot replace", path, errno);
}

/* Sets the mode before the file exists, so it is never open to others. macOS cannot: only the folder closes it for a moment. */
static int bind_to(struct hocket__listener *l, const char *path, struct hocket_error *err)
{
    struct sockaddr_un address;
    int rc = address_of(path, &address, err);
    if (rc < 0 || (rc = clear_name(l->dir, l->file, path, err)) < 0)
        return rc;
    if ((fchmod(l->fd, 0600) != 0 && errno != EINVAL)
        || bind(l->fd, (struct sockaddr *) &address, sizeof(address)) != 0)
        return failed(err, "cannot listen at", path, errno);
    if (fchmodat(l->dir, l->file, 0600, 0) != 0 || listen(l->fd, BACKLOG) != 0
        || fstatat(l->dir, l->file, &l->file_stat, AT_SYMLINK_NOFOLLOW) != 0) {
        int code = errno;
        unlinkat(l->dir, l->file, 0);
        return failed(err, "cannot listen at", path, code);
    }
    return 0;
}

/* ---- Listening ------------------------------------------------------------- */

static void on_readable(uv_poll_t *poll, int status, int events)
{
    struct hocket__listener *l = (struct hocket__listener *) poll;
    (void) status;
    (void) events;
    l->on_news(l->ud);
}

static void drop(struct hocket__listener *l)
{
    close_one(l->fd);
    close_one(l->spare);
    close_one(l->dir);
    hocket__free(l->a, l, sizeof(*l));
}

/* Opens all descriptors before it takes the lock, so that only the bind itself
 * happens under it. */
static int open_all(
    struct hocket__listener *l, const char *dir, const char *file, struct hocket_error *err)
{
    char path[4096];
    snprintf(l->file, sizeof(l->file), "%s", file);
    snprintf(path, sizeof(path), "%s/%s", dir, file);
    if ((l->dir = open_dir(dir, err)) < 0)
        return l->dir;
    if ((l->fd = new_socket(err)) < 0)
        return l->fd;
    if ((l->spare = open("/dev/null", O_RDONLY | O_CLOEXEC)) < 0)
        return failed(err, "cannot open", "/dev/null", errno);
    int rc = lock(l->dir, dir, err);
    if (rc < 0)
        return rc;
    rc = bind_to(l, path, err);
    flock(l->dir, LOCK_UN);
    return rc;
}

/* Ours is the file that we bound, by its inode: after it was removed by hand another program may
 * have bound its own under this name. */
static void take_away(struct hocket__listener *l)
{
    struct stat st;
    if (l->owner != getpid() || lock(l->dir, "", NULL) < 0)
        return;
    if (fstatat(l->dir, l->file, &st, AT_SYMLINK_NOFOLLOW) == 0 && st.st_ino == l->file_stat.st_ino
        && st.st_dev == l->file_stat.st_dev)
        unlinkat(l->dir, l->file, 0);
    flock(l->dir, LOCK_UN);
}

int hocket__listen(uv_loop_t *loop, const struct hocket_allocator *a, const char *dir,
    const char *file, void (*on_news)(void *ud), void *ud, struct hocket__listener **out,
    struct hocket_error *err)
{
    struct hocket__listener *l = hocket__zero(a, sizeof(*l));
    if (!l)
        return hocket__error_nomem(err);
    l->a = a;
    l->fd = l->spare = l->dir = -1;
    l->owner = getpid();
    l->on_news = on_news;
    l->ud = ud;
    int rc = open_all(l, dir, file, err);
    if (rc == 0 && uv_poll_init(loop, &l->poll, l->fd) < 0) {
        take_away(l);
        rc = hocket__error(err, HOCKET_ELIMIT, "the event loop takes no further descriptor");
    }
    if (rc < 0) {
        drop(l);
        return rc;
    }
    uv_poll_start(&l->poll, UV_READABLE, on_readable);
    uv_unref((uv_handle_t *) &l->poll); /* without clients it does not keep the loop alive */
    *out = l;
    return 0;
}

/* Without a descriptor the client would wait for ever, and the loop would spin: it is refused. */
static void turn_down(struct hocket__listener *l)
{
    close_one(l->spare);
    close_one(hocket__tcp_accept(l->fd));
    l->spare = open("/dev/null", O_RDONLY | O_CLOEXEC);
}

int hocket__accept(struct hocket__listener *l, int *out, struct hocket__peer *peer)
{
    int fd = hocket__tcp_accept(l->fd);
    if (fd == UV_EMFILE || fd == UV_ENFILE)
        turn_down(l);
    if (fd >= 0 && !peer_of(fd, peer)) {
        close(fd);
        return 0;
    }
    *out = fd;
    return fd >= 0;
}

static void on_closed(uv_handle_t *handle)
{
    struct hocket__listener *l = (struct hocket__listener *) handle;
    void (*closed)(void *) = l->closed;
    void *ud = l->closed_ud;
    drop(l);
    if (closed)
        closed(ud);
}

void hocket__listener_close(struct hocket__listener *l, void (*closed)(void *ud), void *ud)
{
    l->closed = closed;
    l->closed_ud = ud;
    take_away(l);
    uv_close((uv_handle_t *) &l->poll, on_closed);
}

#include "os/target.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/system_names.h"

static int complain(struct hocket_error *err, const char *what, const char *path)
{
    int e = errno;
    int status = e == EACCES || e == EPERM || e == EROFS ? HOCKET_EDENIED
                 : e == ENOENT                           ? HOCKET_ENOTFOUND
                                                         : HOCKET_EIO;
    return hocket__error(err, status, "cannot %s %s: %s", what, path, hocket__errno_text(e));
}

int hocket__target_open(struct hocket__target *t, struct hocket_error *err)
{
    struct stat st;
    if (stat(t->path, &st) == 0 && !S_ISREG(st.st_mode)) {
        t->fd = open(t->path, O_WRONLY | O_CLOEXEC);
        return t->fd < 0 ? complain(err, "write", t->path) : 0;
    }
    size_t n = strlen(t->path) + sizeof(".XXXXXX");
    t->part = malloc(n);
    if (!t->part)
        return hocket__error_nomem(err);
    snprintf(t->part, n, "%s.XXXXXX", t->path);
    t->fd = mkostemp(t->part, O_CLOEXEC); /* for the user alone, as the store is */
    if (t->fd >= 0)
        return 0;
    free(t->part);
    t->part = NULL;
    return complain(err, "write", t->path);
}

static int write_all(int fd, struct hocket__str s)
{
    while (s.n > 0) {
        ssize_t n = write(fd, s.p, s.n);
        if (n > 0) {
            s = hocket__str(s.p + n, s.n - (size_t) n);
        } else if (n < 0 && errno == EAGAIN) {
            struct pollfd p = { fd, POLLOUT, 0 };
            poll(&p, 1, -1);
        } else if (n == 0 || errno != EINTR) {
            errno = n == 0 ? EIO : errno; /* some files take nothing, and never say why */
            return -1;
        }
    }
    return 0;
}

int hocket__target_write(
    struct hocket__target *t, struct hocket__str text, struct hocket_error *err)
{
    if (write_all(t->fd, text) == 0)
        return 0;
    return complain(err, "write", t->path ? t->path : "what was asked for");
}

void hocket__target_close(struct hocket__target *t)
{
    if (t->fd >= 0 && !t->lent)
        close(t->fd);
    if (t->part)
        unlink(t->part);
    free(t->part);
    free(t->path);
    *t = (struct hocket__target){ .fd = -1 };
}

int hocket__target_finish(struct hocket__target *t, struct hocket_error *err)
{
    if (!t->part)
        return 0;
    if (fsync(t->fd) < 0 || rename(t->part, t->path) < 0)
        return complain(err, "write", t->path);
    free(t->part);
    t->part = NULL;
    return 0;
}

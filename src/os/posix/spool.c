/* A text that is too large for memory, in a file that has no name: it is gone with its descriptor,
 * however the process ends. */
#include "os/spool.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

/* Not every file system has O_TMPFILE; there the name is taken away as soon as the file is open. */
int hocket__spool_open(const char *dir)
{
    char path[4096];
    int fd = open(dir, O_TMPFILE | O_RDWR | O_CLOEXEC | O_EXCL, 0600);
    if (fd >= 0 || (errno != EOPNOTSUPP && errno != EISDIR && errno != ENOENT))
        return fd;
    if ((size_t) snprintf(path, sizeof(path), "%s/hocket-XXXXXX", dir) >= sizeof(path)) {
        errno = ENAMETOOLONG;
        return -1;
    }
    fd = mkostemp(path, O_CLOEXEC);
    if (fd >= 0)
        unlink(path);
    return fd;
}

void hocket__spool_close(int fd)
{
    close(fd);
}

/* pwrite and pread, so that a reader and a writer share no position. */
int hocket__spool_write(int fd, struct hocket__str text, int64_t at)
{
    while (text.n > 0) {
        ssize_t n = pwrite(fd, text.p, text.n, (off_t) at);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return -1;
        text = hocket__str(text.p + n, text.n - (size_t) n);
        at += n;
    }
    return 0;
}

/* An end before n bytes is an error: nobody asks for what was not written. */
int hocket__spool_read(int fd, char *out, size_t n, int64_t at)
{
    while (n > 0) {
        ssize_t got = pread(fd, out, n, (off_t) at);
        if (got < 0 && errno == EINTR)
            continue;
        if (got == 0)
            errno = EIO;
        if (got <= 0)
            return -1;
        out += got;
        n -= (size_t) got;
        at += got;
    }
    return 0;
}

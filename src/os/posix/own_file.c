#include "os/own_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/system_names.h"
#include "os/posix/system.h"

int hocket__own_file_open(const char *path, bool writes, struct hocket_error *err)
{
    struct stat st;
    int flags = (writes ? O_RDWR | O_CREAT : O_RDONLY) | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK;
    int fd = open(path, flags, 0600);
    if (fd < 0)
        return hocket__error(err, errno == ENOENT ? HOCKET_ENOTFOUND : HOCKET_EIO, "%s: %s", path,
            hocket__errno_text(errno));
    if (fstat(fd, &st) == 0 && S_ISREG(st.st_mode) && st.st_uid == geteuid() && st.st_nlink <= 1)
        return fd;
    close(fd);
    return hocket__error(err, HOCKET_EDENIED, "%s is not the file that hocket made", path);
}

void hocket__own_file_close(int fd)
{
    close(fd);
}

int64_t hocket__own_file_read(int fd, void *to, size_t n, int64_t at)
{
    return pread(fd, to, n, (off_t) at);
}

bool hocket__own_file_write(int fd, const void *from, size_t n, int64_t at)
{
    return pwrite(fd, from, n, (off_t) at) == (ssize_t) n;
}

bool hocket__own_file_is_there(int fd)
{
    struct stat st;
    return fstat(fd, &st) == 0 && st.st_nlink > 0;
}

/* ---- Without a name ---------------------------------------------------------------------- */

/* Not every file system has O_TMPFILE; there the name is taken away as soon as the file is open. */
int hocket__spool_open(const char *dir)
{
    char path[4096];
    int fd = hocket__system_open_nameless(dir);
    if (fd >= 0 || (errno != EOPNOTSUPP && errno != EISDIR && errno != ENOENT && errno != ENOSYS))
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

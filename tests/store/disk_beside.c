/* The store's file that is none of SQLite's (writer/wal.h) on the disk of disk.h: its writes are counted, fail and are killed
 * at as the database's. For programs that are linked with --wrap=pwrite. */
#include "store/disk.h"

#include <errno.h>
#include <sys/types.h>

ssize_t __real_pwrite(int fd, const void *p, size_t n, off_t at);
ssize_t __wrap_pwrite(int fd, const void *p, size_t n, off_t at);

/* What fails leaves a part of it behind. */
ssize_t __wrap_pwrite(int fd, const void *p, size_t n, off_t at)
{
    bool struck = disk_strikes();
    bool fails = struck && !disk_kills_behind();
    ssize_t done = __real_pwrite(fd, p, fails ? n / 2 : n, at);
    disk_done(struck);
    if (!fails)
        return done;
    errno = ENOSPC;
    return n % 2 ? done : -1;
}

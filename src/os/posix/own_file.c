#include "os/own_file.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/system_names.h"

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

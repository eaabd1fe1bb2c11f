/* Another clock and a full disk for the programs of one test: loaded by LD_PRELOAD into real ones. NIGHT names a file of "SECONDS FULL", each of
 * a fixed width, which is mapped: the clock on the wall is so many seconds ahead, and while FULL is 1 nothing can be written to files of a store. Clocks
 * that only go forward stay as they are. */
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

#define WIDTH 14 /* "00000000000 0\n" */

static const char *state;

__attribute__((constructor)) static void map(void)
{
    const char *path = getenv("NIGHT");
    int fd = path ? open(path, O_RDONLY | O_CLOEXEC) : -1;
    void *at = fd < 0 ? MAP_FAILED : mmap(NULL, WIDTH, PROT_READ, MAP_SHARED, fd, 0);
    if (fd >= 0)
        close(fd);
    state = at == MAP_FAILED ? NULL : at;
}

static int64_t ahead(void)
{
    int64_t n = 0;
    for (int i = 0; state && i < 11; i++)
        n = 10 * n + (state[i] - '0');
    return n;
}

int clock_gettime(clockid_t id, struct timespec *out)
{
    int rc = (int) syscall(SYS_clock_gettime, id, out);
    if (rc == 0 && (id == CLOCK_REALTIME || id == CLOCK_REALTIME_COARSE))
        out->tv_sec += ahead();
    return rc;
}

int gettimeofday(struct timeval *restrict out, void *restrict zone)
{
    struct timespec t;
    (void) zone;
    clock_gettime(CLOCK_REALTIME, &t);
    *out = (struct timeval){ .tv_sec = t.tv_sec, .tv_usec = t.tv_nsec / 1000 };
    return 0;
}

time_t time(time_t *out)
{
    struct timespec t;
    clock_gettime(CLOCK_REALTIME, &t);
    if (out)
        *out = t.tv_sec;
    return t.tv_sec;
}

/* Whether the disk is full for what this descriptor is open on. */
static int is_full(int fd)
{
    char link[64], path[512];
    if (!state || state[12] != '1')
        return 0;
    snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
    ssize_t n = readlink(link, path, sizeof(path) - 1);
    path[n > 0 ? n : 0] = 0;
    return strstr(path, "runs.db") != NULL;
}

ssize_t pwrite(int fd, const void *p, size_t n, off_t at)
{
    if (is_full(fd)) {
        errno = ENOSPC;
        return -1;
    }
    return syscall(SYS_pwrite64, fd, p, n, at);
}

ssize_t pwrite64(int fd, const void *p, size_t n, off64_t at)
{
    return pwrite(fd, p, n, at);
}

ssize_t write(int fd, const void *p, size_t n)
{
    if (is_full(fd)) {
        errno = ENOSPC;
        return -1;
    }
    return syscall(SYS_write, fd, p, n);
}

/* A look at the disks, every WATCH_MS. Short means that little is left and that it became so
 * while the program ran: a disk that was full before is not the program's doing, and it may
 * run on it. */
#include "os/linux/launcher/space.h"

#include <stddef.h>
#include <sys/statvfs.h>

#define LEFT_BYTES (UINT64_C(1) << 30)
#define LEFT_SHARE 50 /* of all */
#define FELL_SHARE 4  /* of what is to be left */

static bool look(const char *path, struct statvfs *fs)
{
    return statvfs(path, fs) == 0 && fs->f_blocks > 0;
}

void hocket__space_note(struct hocket__space *s, const char *const *paths)
{
    struct statvfs fs;
    *s = (struct hocket__space){ .paths = paths };
    for (size_t i = 0; i < HOCKET__SPACE_PATHS && paths && paths[i]; i++)
        if (look(paths[i], &fs)) {
            s->bytes[i] = (uint64_t) fs.f_bavail * fs.f_frsize;
            s->files[i] = fs.f_favail;
            s->systems[i] = fs.f_fsid;
        }
}

static bool is_short(uint64_t before, uint64_t now, uint64_t floor)
{
    return now < floor && before > now && before - now > floor / FELL_SHARE;
}

/* Several paths may be on one file system. */
static bool is_first(const struct hocket__space *s, size_t at)
{
    for (size_t i = 0; i < at; i++)
        if (s->systems[i] == s->systems[at])
            return false;
    return true;
}

int64_t hocket__space_used(const struct hocket__space *s)
{
    struct statvfs fs;
    int64_t used = 0;
    for (size_t i = 0; i < HOCKET__SPACE_PATHS && s->paths && s->paths[i]; i++)
        if (is_first(s, i) && look(s->paths[i], &fs)
            && (uint64_t) fs.f_bavail * fs.f_frsize < s->bytes[i])
            used += (int64_t) (s->bytes[i] - (uint64_t) fs.f_bavail * fs.f_frsize);
    return used;
}

bool hocket__space_is_short(const struct hocket__space *s)
{
    struct statvfs fs;
    for (size_t i = 0; i < HOCKET__SPACE_PATHS && s->paths && s->paths[i]; i++) {
        if (!look(s->paths[i], &fs))
            continue;
        uint64_t share = (uint64_t) fs.f_blocks * fs.f_frsize / LEFT_SHARE;
        uint64_t floor = share < LEFT_BYTES ? share : LEFT_BYTES;
        /* A file system without a number for its files (btrfs) says 0. */
        if (is_short(s->bytes[i], (uint64_t) fs.f_bavail * fs.f_frsize, floor)
            || is_short(s->files[i], fs.f_favail, (uint64_t) fs.f_files / LEFT_SHARE))
            return true;
    }
    return false;
}

/* The walk of a look, on Windows: no links are followed, so each directory has one way to it. */
#include "os/scan/scan_impl.h"

#include <errno.h>
#include <fcntl.h>
#include <io.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <windows.h>

#include "os/errors.h"
#include "os/windows/wide.h"

#define MAX_DEPTH  32
#define MAX_DIRS   10000
#define PATH_BYTES 4096
#define SHARE_ALL  (FILE_SHARE_READ | FILE_SHARE_WRITE | FILE_SHARE_DELETE)

/* ---- One file ------------------------------------------------------------------------------ */

static HANDLE open_path(const char *path, DWORD access)
{
    wchar_t *wide = hocket__wide_path(path);
    HANDLE h = wide ? CreateFileW(
                   wide, access, SHARE_ALL, NULL, OPEN_EXISTING, FILE_FLAG_BACKUP_SEMANTICS, NULL)
                    : INVALID_HANDLE_VALUE;
    if (wide && h == INVALID_HANDLE_VALUE)
        hocket__win_failed();
    free(wide);
    return h;
}

int hocket__scan_open(const char *path)
{
    HANDLE h = open_path(path, GENERIC_READ);
    return h == INVALID_HANDLE_VALUE ? -1 : hocket__win_descriptor(h, _O_RDONLY);
}

static struct timespec time_of(FILETIME t)
{
    int64_t steps =
        ((int64_t) t.dwHighDateTime << 32 | t.dwLowDateTime) - INT64_C(116444736000000000);
    return (
        struct timespec){ .tv_sec = steps / 10000000, .tv_nsec = (long) (steps % 10000000) * 100 };
}

/* Windows shows the time of a change in the time of the last write. */
static bool look(HANDLE h, struct hocket__scan_sign *sign, DWORD *attributes)
{
    BY_HANDLE_FILE_INFORMATION info;
    if (!GetFileInformationByHandle(h, &info)) {
        hocket__win_failed();
        return false;
    }
    *sign = (struct hocket__scan_sign){ .dev = info.dwVolumeSerialNumber,
        .ino = (uint64_t) info.nFileIndexHigh << 32 | info.nFileIndexLow,
        .size = (int64_t) info.nFileSizeHigh << 32 | info.nFileSizeLow,
        .changed = time_of(info.ftLastWriteTime),
        .modified = time_of(info.ftLastWriteTime) };
    *attributes = info.dwFileAttributes;
    return true;
}

bool hocket__scan_look(int fd, struct hocket__scan_sign *sign, bool *regular)
{
    DWORD attributes;
    *regular = GetFileType(hocket__win_handle(fd)) == FILE_TYPE_DISK;
    if (!*regular) {
        *sign = (struct hocket__scan_sign){ 0 };
        return true;
    }
    if (!look(hocket__win_handle(fd), sign, &attributes))
        return false;
    *regular = !(attributes & FILE_ATTRIBUTE_DIRECTORY);
    return true;
}

int64_t hocket__scan_read(int fd, char *to, size_t n)
{
    return _read(fd, to, n > (1u << 30) ? 1u << 30 : (unsigned) n);
}

void hocket__scan_close(int fd)
{
    _close(fd);
}

/* ---- The walk ------------------------------------------------------------------------------ */

static int no_memory(struct hocket__scan_walk *w)
{
    return hocket__error_nomem(w->err);
}

static int fail(struct hocket__scan_walk *w, const char *path)
{
    return hocket__errno_fail(w->err, "list", path, NULL);
}

static int add_dir(struct hocket__scan_walk *w, const char *path)
{
    if (w->dirs.n == MAX_DIRS)
        return hocket__error(
            w->err, HOCKET_ELIMIT, "%s has more than %d directories", w->root, MAX_DIRS);
    return hocket__scan_add_dir(&w->dirs, path) < 0 ? no_memory(w) : 0;
}

static int add_file(struct hocket__scan_walk *w, const char *path)
{
    struct hocket__scan_sign sign;
    DWORD attributes;
    HANDLE h = open_path(path, FILE_READ_ATTRIBUTES);
    bool seen = h != INVALID_HANDLE_VALUE && look(h, &sign, &attributes);
    if (h != INVALID_HANDLE_VALUE)
        CloseHandle(h);
    if (!seen)
        return 0; /* gone meanwhile */
    return hocket__scan_add_file(w, path, sign);
}

static int walk_dir(struct hocket__scan_walk *w, const char *path, int depth);

static int look_at(
    struct hocket__scan_walk *w, const char *path, const WIN32_FIND_DATAW *e, int depth)
{
    char at[PATH_BYTES];
    bool is_dir = e->dwFileAttributes & FILE_ATTRIBUTE_DIRECTORY;
    char *name = hocket__narrow_path(e->cFileName);
    if (!name)
        return no_memory(w);
    int rc = 0;
    bool counts =
        strcmp(name, ".") != 0 && strcmp(name, "..") != 0
        && !(e->dwFileAttributes & FILE_ATTRIBUTE_REPARSE_POINT)
        && (is_dir ? name[0] != '.' || hocket__scan_enters(w, name) : hocket__scan_counts(w, name))
        && (size_t) snprintf(at, sizeof(at), "%s/%s", path, name) < sizeof(at);
    if (__atomic_load_n(w->cancelled, __ATOMIC_RELAXED))
        rc = hocket__error(w->err, HOCKET_ECANCELLED, "cancelled");
    else if (counts)
        rc = is_dir ? walk_dir(w, at, depth + 1) : add_file(w, at);
    free(name);
    return rc;
}

static int walk_dir(struct hocket__scan_walk *w, const char *path, int depth)
{
    char all[PATH_BYTES];
    WIN32_FIND_DATAW e;
    if (depth > MAX_DEPTH || (size_t) snprintf(all, sizeof(all), "%s/*", path) >= sizeof(all))
        return 0;
    wchar_t *wide = hocket__wide_path(all);
    HANDLE h = wide ? FindFirstFileW(wide, &e) : INVALID_HANDLE_VALUE;
    if (wide && h == INVALID_HANDLE_VALUE)
        hocket__win_failed();
    free(wide);
    if (h == INVALID_HANDLE_VALUE) /* what is gone since it was seen is no error */
        return errno == ENOENT || errno == ENOTDIR ? 0 : fail(w, path);
    w->exists = true;
    int rc = add_dir(w, path);
    while (rc == 0) {
        rc = look_at(w, path, &e, depth);
        if (rc < 0 || !FindNextFileW(h, &e))
            break;
    }
    FindClose(h);
    return rc;
}

/* The folder in which a root that is not there would appear. */
static int note_parent(struct hocket__scan_walk *w)
{
    char above[PATH_BYTES];
    size_t n = strlen(w->root);
    if (w->exists || n >= sizeof(above))
        return 0;
    memcpy(above, w->root, n + 1);
    for (char *slash; (slash = strrchr(above, '/')) && slash > above;) {
        *slash = 0;
        HANDLE h = open_path(above, FILE_READ_ATTRIBUTES);
        if (h == INVALID_HANDLE_VALUE)
            continue;
        CloseHandle(h);
        return add_dir(w, above);
    }
    return 0;
}

int hocket__scan_walk(struct hocket__scan_walk *w)
{
    w->told = true;
    int rc = walk_dir(w, w->root, 0);
    return rc == 0 ? note_parent(w) : rc;
}

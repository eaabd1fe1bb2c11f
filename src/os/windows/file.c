/* Files of the host's own, as posix/file.c has them: written beside their place and moved into it. Descriptors are those of
 * the C library, without any change of line ends. */
#include "os/file.h"

#include <errno.h>
#include <fcntl.h>
#include <io.h>
#include <stdio.h>
#include <stdlib.h>
#include <uv.h>

#include "os/errors.h"
#include "os/fs.h"
#include "os/windows/wide.h"

#define MAX_ENTRIES 100000
#define SHARE_ALL   (FILE_SHARE_READ | FILE_SHARE_WRITE | FILE_SHARE_DELETE)

static int fail(struct hocket_error *err, const char *doing, const char *path)
{
    return hocket__errno_fail(err, doing, path, NULL);
}

/* A handle of what a path names, INVALID_HANDLE_VALUE and errno. */
static HANDLE open_path(const char *path, DWORD access, DWORD share, DWORD how, DWORD flags)
{
    wchar_t *wide = hocket__wide_path(path);
    HANDLE h = INVALID_HANDLE_VALUE;
    if (!wide)
        return h;
    h = CreateFileW(wide, access, share, NULL, how, flags, NULL);
    if (h == INVALID_HANDLE_VALUE)
        hocket__win_failed();
    free(wide);
    return h;
}

/* ---- Reading ----------------------------------------------------------------- */

static int read_handle(
    HANDLE h, const char *path, size_t max, struct hocket__buf *out, struct hocket_error *err)
{
    for (size_t from = out->len;;) {
        DWORD n = 0;
        if (hocket__buf_reserve(out, 65536) < 0)
            return hocket__error_nomem(err);
        if (!ReadFile(h, out->data + out->len, 65536, &n, NULL)) {
            hocket__win_failed();
            return fail(err, "read", path);
        }
        if (n == 0)
            return 0;
        out->len += n;
        out->data[out->len] = 0;
        if (out->len - from > max)
            return hocket__error(err, HOCKET_ELIMIT, "%s is larger than %zu bytes", path, max);
    }
}

static int check_regular(HANDLE h, const char *doing, const char *path, struct hocket_error *err)
{
    BY_HANDLE_FILE_INFORMATION info;
    bool disk = GetFileType(h) == FILE_TYPE_DISK && GetFileInformationByHandle(h, &info);
    if (disk && !(info.dwFileAttributes & FILE_ATTRIBUTE_DIRECTORY))
        return 0;
    return hocket__error(err, HOCKET_EINVAL, "cannot %s %s: it is %s, not a file", doing, path,
        disk ? "a directory" : "a device or pipe");
}

int hocket__file_read(
    const char *path, size_t max, struct hocket__buf *out, struct hocket_error *err)
{
    HANDLE h = open_path(path, GENERIC_READ, SHARE_ALL, OPEN_EXISTING, FILE_FLAG_BACKUP_SEMANTICS);
    if (h == INVALID_HANDLE_VALUE)
        return fail(err, "read", path);
    int rc = check_regular(h, "read", path, err);
    if (rc == 0)
        rc = read_handle(h, path, max, out, err);
    CloseHandle(h);
    return rc;
}

/* ---- Writing ------------------------------------------------------------------- */

int hocket__write_all(int fd, struct hocket__str s)
{
    while (s.n > 0) {
        int n = _write(fd, s.p, s.n > (1u << 30) ? 1u << 30 : (unsigned) s.n);
        if (n < 0)
            return -1;
        s = hocket__str(s.p + n, s.n - (size_t) n);
    }
    return 0;
}

static int open_temporary(const char *path, char *name, size_t size)
{
    for (int i = 0; i < 100; i++) {
        int n = snprintf(name, size, "%s.%d-%d.tmp", path, (int) uv_os_getpid(), i);
        if (n < 0 || (size_t) n >= size) {
            errno = ENAMETOOLONG;
            return -1;
        }
        HANDLE h = open_path(name, GENERIC_WRITE, FILE_SHARE_READ | FILE_SHARE_DELETE, CREATE_NEW,
            FILE_ATTRIBUTE_NORMAL);
        if (h != INVALID_HANDLE_VALUE)
            return hocket__win_descriptor(h, _O_WRONLY);
        if (errno != EEXIST)
            return -1;
    }
    return -1;
}

static bool move(const char *from, const char *to, bool exclusive)
{
    wchar_t *a = hocket__wide_path(from), *b = hocket__wide_path(to);
    bool done = a && b
                && (exclusive ? MoveFileExW(a, b, MOVEFILE_WRITE_THROUGH) || !hocket__win_failed()
                              : hocket__win_replace(a, b) == 0);
    int code = errno;
    if (!done && a)
        DeleteFileW(a);
    errno = code;
    free(a);
    free(b);
    return done;
}

int hocket__file_write(const char *path, struct hocket__str content, bool exclusive, int mode,
    struct hocket_error *err)
{
    char temporary[4096];
    (void) mode; /* the folder's access control list holds */
    int fd = open_temporary(path, temporary, sizeof(temporary));
    if (fd < 0)
        return fail(err, "write", path);
    bool bad = hocket__write_all(fd, content) < 0 || _commit(fd) < 0;
    bad |= _close(fd) < 0;
    if (bad) {
        int rc = fail(err, "write", path);
        hocket__fs_unlink(temporary);
        return rc;
    }
    return move(temporary, path, exclusive) ? 0 : fail(err, "write", path);
}

/* Nobody else may write to it while it is open. */
int hocket__file_begin(const char *path, struct hocket_error *err)
{
    HANDLE h =
        open_path(path, GENERIC_WRITE | FILE_READ_ATTRIBUTES, FILE_SHARE_READ | FILE_SHARE_DELETE,
            OPEN_ALWAYS, FILE_ATTRIBUTE_NORMAL | FILE_FLAG_OPEN_REPARSE_POINT);
    if (h == INVALID_HANDLE_VALUE && GetLastError() == ERROR_SHARING_VIOLATION)
        return hocket__error(err, HOCKET_ESTATE, "cannot write %s: another run writes to it", path);
    if (h == INVALID_HANDLE_VALUE)
        return fail(err, "write", path);
    FILE_ATTRIBUTE_TAG_INFO tag = { 0 };
    GetFileInformationByHandleEx(h, FileAttributeTagInfo, &tag, sizeof(tag));
    int rc = tag.FileAttributes & FILE_ATTRIBUTE_REPARSE_POINT
                 ? hocket__error(err, HOCKET_EINVAL, "cannot write %s: it is a symbolic link", path)
                 : check_regular(h, "write", path, err);
    FILE_END_OF_FILE_INFO end = { 0 };
    if (rc == 0 && !SetFileInformationByHandle(h, FileEndOfFileInfo, &end, sizeof(end))) {
        hocket__win_failed();
        rc = fail(err, "write", path);
    }
    if (rc == 0)
        return hocket__win_descriptor(h, _O_WRONLY | _O_APPEND);
    CloseHandle(h);
    return rc;
}

int hocket__file_append(
    int fd, const char *path, struct hocket__str content, struct hocket_error *err)
{
    return hocket__write_all(fd, content) < 0 ? fail(err, "write", path) : 0;
}

int hocket__file_close(int fd, const char *path, struct hocket_error *err)
{
    return _close(fd) < 0 ? fail(err, "write", path) : 0;
}

static bool is_directory(const wchar_t *path)
{
    DWORD attributes = GetFileAttributesW(path);
    return attributes != INVALID_FILE_ATTRIBUTES && (attributes & FILE_ATTRIBUTE_DIRECTORY);
}

/* The parents first, where there is none yet. `path` is as it was afterwards. */
static bool make_all(wchar_t *path)
{
    if (CreateDirectoryW(path, NULL) || is_directory(path))
        return true;
    wchar_t *slash = GetLastError() == ERROR_PATH_NOT_FOUND ? wcsrchr(path, L'\\') : NULL;
    if (!slash || slash == path || slash[-1] == L':' || slash[-1] == L'\\')
        return false;
    *slash = 0;
    bool made = make_all(path);
    *slash = L'\\';
    return made && (CreateDirectoryW(path, NULL) || is_directory(path));
}

/* A private one needs nothing: what is below a user's own folder is closed to others, and the list of rights is inherited. */
int hocket__dir_make(const char *path, bool is_private, struct hocket_error *err)
{
    (void) is_private;
    if (!*path)
        return hocket__error(err, HOCKET_EINVAL, "not a path: ''");
    wchar_t *wide = hocket__wide_path(path);
    size_t n = wide ? wcslen(wide) : 0;
    if (n > 4 && wide[n - 1] == L'\\')
        wide[n - 1] = 0;
    bool made = wide && make_all(wide);
    if (wide && !made)
        hocket__win_failed();
    free(wide);
    return made ? 0 : fail(err, "make the directory", path);
}

/* ---- Looking --------------------------------------------------------------------- */

static int64_t ms_of(FILETIME t)
{
    return (((int64_t) t.dwHighDateTime << 32 | t.dwLowDateTime) - INT64_C(116444736000000000))
           / 10000;
}

int hocket__file_info(const char *path, struct hocket__file_info *out, struct hocket_error *err)
{
    BY_HANDLE_FILE_INFORMATION info;
    *out = (struct hocket__file_info){ 0 };
    HANDLE h =
        open_path(path, FILE_READ_ATTRIBUTES, SHARE_ALL, OPEN_EXISTING, FILE_FLAG_BACKUP_SEMANTICS);
    if (h == INVALID_HANDLE_VALUE)
        return errno == ENOENT || errno == ENOTDIR ? 0 : fail(err, "look at", path);
    out->exists = true;
    if (GetFileType(h) == FILE_TYPE_DISK && GetFileInformationByHandle(h, &info)) {
        out->is_dir = info.dwFileAttributes & FILE_ATTRIBUTE_DIRECTORY;
        out->is_file = !out->is_dir;
        out->is_private = true;
        out->size = (int64_t) info.nFileSizeHigh << 32 | info.nFileSizeLow;
        out->mtime_ms = ms_of(info.ftLastWriteTime);
    }
    CloseHandle(h);
    return 0;
}

int hocket__dir_list(const char *path, void (*cb)(void *ud, const char *name, bool is_dir),
    void *ud, struct hocket_error *err)
{
    uv_fs_t req;
    uv_dirent_t entry;
    char room[HOCKET__FS_ROOM];
    int count = 0, rc = uv_fs_scandir(NULL, &req, hocket__fs_long(path, room), 0, NULL);
    if (rc < 0) {
        errno = rc == UV_ENOENT                     ? ENOENT
                : rc == UV_ENOTDIR                  ? ENOTDIR
                : rc == UV_ENOMEM                   ? ENOMEM
                : rc == UV_EACCES || rc == UV_EPERM ? EACCES
                                                    : EIO;
        uv_fs_req_cleanup(&req);
        return fail(err, "list", path);
    }
    for (rc = 0; rc == 0 && uv_fs_scandir_next(&req, &entry) == 0;) {
        if (++count > MAX_ENTRIES)
            rc =
                hocket__error(err, HOCKET_ELIMIT, "%s has more than %d entries", path, MAX_ENTRIES);
        else
            cb(ud, entry.name, entry.type == UV_DIRENT_DIR);
    }
    uv_fs_req_cleanup(&req);
    return rc;
}

/* Files that this user has made: below a user's own folder others cannot put any. Refused are links, devices, and files with
 * a second name. */
#include "os/own_file.h"

#include <errno.h>
#include <fcntl.h>
#include <io.h>
#include <stdio.h>
#include <stdlib.h>
#include <uv.h>

#include "base/system_names.h"
#include "os/windows/wide.h"

#define SHARE_ALL (FILE_SHARE_READ | FILE_SHARE_WRITE | FILE_SHARE_DELETE)

int hocket__own_file_open(const char *path, bool writes, struct hocket_error *err)
{
    BY_HANDLE_FILE_INFORMATION info;
    wchar_t *wide = hocket__wide_path(path);
    HANDLE h = wide ? CreateFileW(wide, writes ? GENERIC_READ | GENERIC_WRITE : GENERIC_READ,
                   SHARE_ALL, NULL, writes ? OPEN_ALWAYS : OPEN_EXISTING,
                   FILE_ATTRIBUTE_NORMAL | FILE_FLAG_OPEN_REPARSE_POINT, NULL)
                    : INVALID_HANDLE_VALUE;
    if (wide && h == INVALID_HANDLE_VALUE)
        hocket__win_failed();
    free(wide);
    if (h == INVALID_HANDLE_VALUE)
        return hocket__error(err, errno == ENOENT ? HOCKET_ENOTFOUND : HOCKET_EIO, "%s: %s", path,
            hocket__errno_text(errno));
    if (GetFileType(h) == FILE_TYPE_DISK && GetFileInformationByHandle(h, &info)
        && !(info.dwFileAttributes & (FILE_ATTRIBUTE_REPARSE_POINT | FILE_ATTRIBUTE_DIRECTORY))
        && info.nNumberOfLinks <= 1) {
        int fd = hocket__win_descriptor(h, writes ? _O_RDWR : _O_RDONLY);
        return fd >= 0 ? fd
                       : hocket__error(err, HOCKET_EIO, "%s: %s", path, hocket__errno_text(errno));
    }
    CloseHandle(h);
    return hocket__error(err, HOCKET_EDENIED, "%s is not the file that hocket made", path);
}

void hocket__own_file_close(int fd)
{
    _close(fd);
}

static OVERLAPPED at_place(int64_t at)
{
    return (OVERLAPPED){ .Offset = (DWORD) at, .OffsetHigh = (DWORD) (at >> 32) };
}

int64_t hocket__own_file_read(int fd, void *to, size_t n, int64_t at)
{
    OVERLAPPED place = at_place(at);
    DWORD got = 0;
    if (ReadFile(hocket__win_handle(fd), to, (DWORD) n, &got, &place))
        return got;
    return GetLastError() == ERROR_HANDLE_EOF ? 0 : hocket__win_failed();
}

bool hocket__own_file_write(int fd, const void *from, size_t n, int64_t at)
{
    OVERLAPPED place = at_place(at);
    DWORD put = 0;
    if (!WriteFile(hocket__win_handle(fd), from, (DWORD) n, &put, &place))
        hocket__win_failed();
    return put == n;
}

bool hocket__own_file_is_there(int fd)
{
    FILE_STANDARD_INFO info;
    return GetFileInformationByHandleEx(
               hocket__win_handle(fd), FileStandardInfo, &info, sizeof(info))
           && !info.DeletePending && info.NumberOfLinks > 0;
}

/* ---- Without a name ---------------------------------------------------------------------- */

/* It has a name until it is closed, and nobody else can open it. */
static HANDLE spool_in(const char *dir)
{
    char path[4096];
    uint64_t random;
    wchar_t *wide = NULL;
    if (uv_random(NULL, NULL, &random, sizeof(random), 0, NULL) < 0
        || (size_t) snprintf(
               path, sizeof(path), "%s/hocket-%016llx", dir, (unsigned long long) random)
               >= sizeof(path)
        || !(wide = hocket__wide_path(path)))
        return INVALID_HANDLE_VALUE;
    HANDLE h = CreateFileW(wide, GENERIC_READ | GENERIC_WRITE, 0, NULL, CREATE_NEW,
        FILE_ATTRIBUTE_TEMPORARY | FILE_FLAG_DELETE_ON_CLOSE, NULL);
    free(wide);
    return h;
}

/* There may be no /tmp: then in Windows' own folder for temporary files. */
int hocket__spool_open(const char *dir)
{
    wchar_t own[MAX_PATH + 1];
    HANDLE h = spool_in(dir);
    if (h == INVALID_HANDLE_VALUE && GetTempPathW(MAX_PATH + 1, own) > 0) {
        char *place = hocket__narrow_path(own);
        h = place ? spool_in(place) : h;
        free(place);
    }
    return h == INVALID_HANDLE_VALUE ? hocket__win_failed() : hocket__win_descriptor(h, _O_RDWR);
}

void hocket__spool_close(int fd)
{
    _close(fd);
}

int hocket__spool_write(int fd, struct hocket__str text, int64_t at)
{
    while (text.n > 0) {
        size_t n = text.n > (1u << 30) ? 1u << 30 : text.n;
        if (!hocket__own_file_write(fd, text.p, n, at))
            return -1;
        text = hocket__str(text.p + n, text.n - n);
        at += (int64_t) n;
    }
    return 0;
}

int hocket__spool_read(int fd, char *out, size_t n, int64_t at)
{
    while (n > 0) {
        int64_t got = hocket__own_file_read(fd, out, n > (1u << 30) ? 1u << 30 : n, at);
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

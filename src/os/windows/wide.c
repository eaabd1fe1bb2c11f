#include "os/windows/wide.h"

#include <errno.h>
#include <fcntl.h>
#include <io.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <windows.h>

#define TRIES 10

wchar_t *hocket__wide(const char *text)
{
    int n = MultiByteToWideChar(CP_UTF8, MB_ERR_INVALID_CHARS, text, -1, NULL, 0);
    wchar_t *wide = n > 0 ? malloc((size_t) n * sizeof(*wide)) : NULL;
    if (wide && MultiByteToWideChar(CP_UTF8, MB_ERR_INVALID_CHARS, text, -1, wide, n) == n)
        return wide;
    errno = n > 0 && !wide ? ENOMEM : EILSEQ;
    free(wide);
    return NULL;
}

/* "\\?\C:\…", or "\\?\UNC\server\…". Only an absolute path without "." and ".." may have the mark: Windows reads no further. */
static wchar_t *mark_long(const wchar_t *full, size_t n)
{
    bool share = wcsncmp(full, L"\\\\", 2) == 0;
    const wchar_t *mark = share ? L"\\\\?\\UNC" : L"\\\\?\\";
    size_t m = wcslen(mark), skip = share ? 1 : 0;
    wchar_t *out = malloc((m + n - skip + 1) * sizeof(*out));
    if (!out)
        return NULL;
    memcpy(out, mark, m * sizeof(*out));
    memcpy(out + m, full + skip, (n - skip + 1) * sizeof(*out));
    return out;
}

wchar_t *hocket__wide_path(const char *path)
{
    wchar_t *wide = hocket__wide(path), *full = NULL, *out = NULL;
    if (!wide)
        return NULL;
    if (wcsncmp(wide, L"\\\\?\\", 4) == 0)
        return wide;
    DWORD n = GetFullPathNameW(wide, 0, NULL, NULL);
    full = malloc(((size_t) n + 1) * sizeof(*full));
    n = full ? GetFullPathNameW(wide, n + 1, full, NULL) : 0;
    if (n > 0)
        out = wcsncmp(full, L"\\\\.\\", 4) == 0 ? _wcsdup(full) : mark_long(full, n);
    errno = full && n == 0 ? ENOENT : ENOMEM;
    free(full);
    free(wide);
    return out;
}

char *hocket__narrow_path(const wchar_t *wide)
{
    bool share = wcsncmp(wide, L"\\\\?\\UNC\\", 8) == 0;
    wide += share ? 6 : wcsncmp(wide, L"\\\\?\\", 4) == 0 ? 4 : 0;
    int n = WideCharToMultiByte(CP_UTF8, 0, wide, -1, NULL, 0, NULL, NULL);
    char *out = malloc((size_t) n + 1);
    if (!out)
        return NULL;
    WideCharToMultiByte(CP_UTF8, 0, wide, -1, out, n, NULL, NULL);
    for (char *c = out; *c; c++)
        if (*c == '\\')
            *c = '/';
    if (share)
        out[0] = '/';
    return out;
}

/* Some file systems, and wine for long paths, give a handle no name: then the one that opened it stays. */
char *hocket__final_path(void *handle, const wchar_t *opened)
{
    DWORD n = GetFinalPathNameByHandleW(handle, NULL, 0, 0);
    wchar_t *wide = n ? malloc(((size_t) n + 1) * sizeof(*wide)) : NULL;
    bool known = wide && GetFinalPathNameByHandleW(handle, wide, n + 1, 0) > 0;
    char *out = hocket__narrow_path(known ? wide : opened);
    free(wide);
    size_t len = out ? strlen(out) : 0;
    if (len > 3 && out[len - 1] == '/')
        out[len - 1] = 0;
    return out;
}

char *hocket__real_path(const char *path)
{
    wchar_t *wide = hocket__wide_path(path);
    HANDLE h = wide ? CreateFileW(wide, FILE_READ_ATTRIBUTES,
                   FILE_SHARE_READ | FILE_SHARE_WRITE | FILE_SHARE_DELETE, NULL, OPEN_EXISTING,
                   FILE_FLAG_BACKUP_SEMANTICS, NULL)
                    : INVALID_HANDLE_VALUE;
    char *out = NULL;
    if (h != INVALID_HANDLE_VALUE) {
        out = hocket__final_path(h, wide);
        CloseHandle(h);
    } else if (wide) {
        hocket__win_failed();
    }
    free(wide);
    return out;
}

int hocket__win_fail(unsigned long code)
{
    static const struct {
        unsigned long code;
        int number;
    } known[] = {
        { ERROR_FILE_NOT_FOUND, ENOENT },
        { ERROR_PATH_NOT_FOUND, ENOENT },
        { ERROR_INVALID_NAME, ENOENT },
        { ERROR_BAD_NETPATH, ENOENT },
        { ERROR_INVALID_DRIVE, ENOENT },
        { ERROR_ACCESS_DENIED, EACCES },
        { ERROR_SHARING_VIOLATION, EACCES },
        { ERROR_LOCK_VIOLATION, EACCES },
        { ERROR_PRIVILEGE_NOT_HELD, EPERM },
        { ERROR_WRITE_PROTECT, EROFS },
        { ERROR_FILE_EXISTS, EEXIST },
        { ERROR_ALREADY_EXISTS, EEXIST },
        { ERROR_DIRECTORY, ENOTDIR },
        { ERROR_DIR_NOT_EMPTY, ENOTEMPTY },
        { ERROR_NOT_ENOUGH_MEMORY, ENOMEM },
        { ERROR_OUTOFMEMORY, ENOMEM },
        { ERROR_TOO_MANY_OPEN_FILES, EMFILE },
        { ERROR_DISK_FULL, ENOSPC },
        { ERROR_HANDLE_DISK_FULL, ENOSPC },
        { ERROR_FILENAME_EXCED_RANGE, ENAMETOOLONG },
        { ERROR_NOT_A_REPARSE_POINT, EINVAL },
        { ERROR_INVALID_PARAMETER, EINVAL },
    };
    errno = EIO;
    for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++)
        if (known[i].code == code)
            errno = known[i].number;
    return -1;
}

int hocket__win_failed(void)
{
    return hocket__win_fail(GetLastError());
}

int hocket__win_descriptor(void *handle, int flags)
{
    int fd = _open_osfhandle((intptr_t) handle, flags | _O_BINARY);
    if (fd < 0) {
        CloseHandle(handle);
        errno = EMFILE;
    }
    return fd;
}

void *hocket__win_handle(int fd)
{
    return (void *) _get_osfhandle(fd);
}

int hocket__win_again(int *tries)
{
    DWORD code = GetLastError();
    if (++*tries >= TRIES || (code != ERROR_ACCESS_DENIED && code != ERROR_SHARING_VIOLATION))
        return 0;
    Sleep(1u << *tries);
    return 1;
}

int hocket__win_replace(const wchar_t *from, const wchar_t *to)
{
    int tries = 0;
    do
        if (MoveFileExW(from, to, MOVEFILE_REPLACE_EXISTING | MOVEFILE_WRITE_THROUGH))
            return 0;
    while (hocket__win_again(&tries));
    return hocket__win_failed();
}

/* Where the file of a store may be. Rights are those of Windows' access control lists: a folder below the user's own is closed
 * to other users, and a new one inherits that. */
#include "os/store_place.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <uv.h>

#include "base/system_names.h"
#include "os/file.h"
#include "os/fs.h"
#include "os/windows/wide.h"

static int complain(struct hocket_error *err, const char *what, const char *path)
{
    int status = errno == EACCES || errno == EPERM || errno == EROFS ? HOCKET_EDENIED : HOCKET_EIO;
    return hocket__error(err, status,
        "cannot %s %s: %s: give another file to keep runs in, or keep none", what, path,
        hocket__errno_text(errno));
}

static bool is_remote(const char *dir)
{
    wchar_t volume[4] = { (wchar_t) dir[0], L':', L'\\', 0 };
    bool share = strncmp(dir, "//", 2) == 0 && dir[2] != '?' && dir[2] != '.';
    return share || (dir[1] == ':' && GetDriveTypeW(volume) == DRIVE_REMOTE);
}

/* 1: it is there. */
static int check_file(const char *path, bool *looks, struct hocket_error *err)
{
    BY_HANDLE_FILE_INFORMATION info = { 0 };
    wchar_t *wide = hocket__wide_path(path);
    if (!wide)
        return complain(err, "look at", path);
    DWORD attributes = GetFileAttributesW(wide);
    HANDLE h = CreateFileW(wide, FILE_READ_ATTRIBUTES,
        FILE_SHARE_READ | FILE_SHARE_WRITE | FILE_SHARE_DELETE, NULL, OPEN_EXISTING,
        FILE_FLAG_BACKUP_SEMANTICS | FILE_FLAG_OPEN_REPARSE_POINT, NULL);
    free(wide);
    if (attributes == INVALID_FILE_ATTRIBUTES || h == INVALID_HANDLE_VALUE) {
        hocket__win_failed();
        return errno == ENOENT ? 0 : complain(err, "look at", path);
    }
    bool known = GetFileInformationByHandle(h, &info);
    CloseHandle(h);
    if (attributes & FILE_ATTRIBUTE_REPARSE_POINT)
        return hocket__error(
            err, HOCKET_EDENIED, "%s is a symbolic link: name the file that it leads to", path);
    if (attributes & FILE_ATTRIBUTE_DIRECTORY)
        return hocket__error(err, HOCKET_EINVAL, "%s is no file", path);
    if (known && info.nNumberOfLinks > 1)
        return hocket__error(err, HOCKET_EDENIED,
            "%s has a second name (a hard link): SQLite would damage it: copy it", path);
    *looks |= (attributes & FILE_ATTRIBUTE_READONLY) != 0;
    return 1;
}

/* 0: there is no such file yet. */
static int check_files(struct hocket__buf *path, bool *looks, struct hocket_error *err)
{
    static const char *const suffixes[] = { "-wal", "-shm", "-journal", "" };
    size_t len = path->len;
    int rc = 0;
    for (size_t i = 0; rc >= 0 && i < sizeof(suffixes) / sizeof(suffixes[0]); i++) {
        if (hocket__buf_adds(path, suffixes[i]) < 0)
            return hocket__error_nomem(err);
        rc = check_file(path->data, looks, err);
        hocket__buf_cut(path, len);
    }
    return rc;
}

/* SQLite opens what is there, and makes nothing. */
static int make_file(const char *path, struct hocket_error *err)
{
    wchar_t *wide = hocket__wide_path(path);
    HANDLE h = wide ? CreateFileW(wide, GENERIC_WRITE,
                   FILE_SHARE_READ | FILE_SHARE_WRITE | FILE_SHARE_DELETE, NULL, CREATE_NEW,
                   FILE_ATTRIBUTE_NORMAL, NULL)
                    : INVALID_HANDLE_VALUE;
    free(wide);
    if (h == INVALID_HANDLE_VALUE) {
        if (wide)
            hocket__win_failed();
        return errno == EEXIST ? 0 : complain(err, "make", path);
    }
    CloseHandle(h);
    return 0;
}

/* `path` with "/" alone; the folder is "." where there is none. */
static int split(
    const char *path, char *dir, size_t size, const char **name, struct hocket_error *err)
{
    size_t n = strlen(path);
    if (n + 2 > size)
        return hocket__error(
            err, HOCKET_EINVAL, "the path of the file to keep runs in is too long");
    memcpy(dir, path, n + 1);
    for (char *c = dir; *c; c++)
        if (*c == '\\')
            *c = '/';
    char *slash = strrchr(dir, '/');
    *name = path + (slash ? slash - dir + 1 : 0);
    if (!**name || strcmp(*name, ".") == 0 || strcmp(*name, "..") == 0)
        return hocket__error(err, HOCKET_EINVAL, "\"%s\" names no file to keep runs in", path);
    if (slash && (slash == dir || slash[-1] == ':'))
        slash[1] = 0; /* the top of a drive keeps its slash */
    else if (slash)
        *slash = 0;
    else
        strcpy(dir, ".");
    return 0;
}

static int refuse(const char *dir, struct hocket_error *err)
{
    return hocket__error(err, HOCKET_EUNSUPPORTED,
        "%s is on a network file system, where SQLite cannot lock: keep runs on a local disk", dir);
}

int hocket__store_place(
    const char *path, struct hocket__buf *real, bool *looks, struct hocket_error *err)
{
    char dir[4096], room[HOCKET__FS_ROOM], *resolved = NULL;
    const char *name = path;
    int rc = split(path, dir, sizeof(dir), &name, err);
    if (rc == 0 && is_remote(dir))
        rc = refuse(dir, err);
    if (rc == 0)
        rc = hocket__dir_make(dir, true, err);
    if (rc < 0)
        return rc;
    if (!(resolved = hocket__real_path(dir)))
        return complain(err, "look at", dir);
    *looks = false;
    hocket__buf_reset(real);
    hocket__buf_addf(
        real, "%s%s%s", resolved, resolved[strlen(resolved) - 1] == '/' ? "" : "/", name);
    if (real->status == 0 && (name = hocket__fs_long(real->data, room)) == room) {
        hocket__buf_reset(real);
        hocket__buf_adds(real, room);
    }
    if (is_remote(resolved))
        rc = refuse(resolved, err);
    else if (real->status < 0)
        rc = hocket__error_nomem(err);
    free(resolved);
    if (rc == 0)
        rc = check_files(real, looks, err);
    return rc == 0 ? make_file(real->data, err) : rc < 0 ? rc : 0;
}

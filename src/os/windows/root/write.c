/* Reading whole files and changing them: see root.h. A change is compared with what was read before. Windows cannot exchange two
 * names, so between the comparison and the replacement there is a moment in which somebody else's change would be lost. */
#include "os/windows/root/root_impl.h"

#include <errno.h>
#include <io.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "os/file.h"
#include "os/own.h"

#define COMPARE_MAX ((size_t) 256 << 20)
#define DEPTH       200

/* Of ntifs.h. */
struct rename_info {
    union {
        BOOLEAN replace;
        ULONG flags;
    } how;
    HANDLE folder;
    ULONG bytes;
    WCHAR name[1];
};
#define RENAME_INFORMATION 10

/* ---- Reading --------------------------------------------------------------------------- */

int hocket__root_slurp(
    int fd, const char *path, size_t max, struct hocket__buf *out, struct hocket_error *err)
{
    size_t from = out->len;
    for (;;) {
        if (hocket__buf_reserve(out, 65536) < 0)
            return hocket__error_nomem(err);
        int n = _read(fd, out->data + out->len, 65536);
        if (n < 0)
            return hocket__at_fail(err, "read", path);
        if (n == 0)
            return 0;
        out->len += (size_t) n;
        out->data[out->len] = 0;
        if (out->len - from > max)
            return hocket__error(err, HOCKET_ELIMIT, "%s is larger than %zu bytes", path, max);
    }
}

/* Whether what stands there is what is expected. */
static int compare(HANDLE dir, const char *name, const char *path, const unsigned char *expect,
    struct hocket_error *err)
{
    struct hocket__at at;
    struct hocket__buf now;
    unsigned char hash[HOCKET__HASH];
    HANDLE h = hocket__at_open(dir, name, FILE_GENERIC_READ, FILE_OPEN, 0);
    if (h == INVALID_HANDLE_VALUE && errno == ENOENT)
        return hocket__error(err, HOCKET_ESTATE, "%s is not there any more", path);
    if (h == INVALID_HANDLE_VALUE)
        return hocket__at_fail(err, "read", path);
    int rc = hocket__at_look(h, &at) < 0 ? hocket__at_fail(err, "read", path)
                                         : hocket__at_check(&at, path, err);
    int fd = hocket__win_descriptor(h, 0);
    if (fd < 0)
        return hocket__at_fail(err, "read", path);
    hocket__buf_init(&now, &hocket__malloc, 0);
    if (rc == 0)
        rc = hocket__root_slurp(fd, path, COMPARE_MAX, &now, err);
    _close(fd);
    hocket__root_hash(hocket__buf_str(&now), expect, hash);
    hocket__buf_deinit(&now);
    if (rc == 0 && memcmp(hash, expect, HOCKET__HASH) != 0)
        rc = hocket__error(
            err, HOCKET_ESTATE, "%s was changed by somebody else since it was read", path);
    return rc;
}

/* ---- Putting in place ----------------------------------------------------------------- */

/* Gives what a handle is of another name in a folder, with others waited for as hocket__win_replace does. */
static int rename_to(HANDLE h, HANDLE dir, const char *name, bool replace)
{
    wchar_t *wide = hocket__wide(name);
    size_t n = wide ? wcslen(wide) * sizeof(*wide) : 0;
    struct rename_info *info = wide ? calloc(1, sizeof(*info) + n) : NULL;
    IO_STATUS_BLOCK io;
    NTSTATUS status = 0;
    int tries = 0;
    if (info) {
        info->how.replace = replace;
        info->folder = dir;
        info->bytes = (ULONG) n;
        memcpy(info->name, wide, n);
        do {
            status =
                NtSetInformationFile(h, &io, info, (ULONG) (sizeof(*info) + n), RENAME_INFORMATION);
            SetLastError(status < 0 ? RtlNtStatusToDosError(status) : 0);
        } while (status < 0 && replace && hocket__win_again(&tries));
    }
    bool done = info && status >= 0;
    free(info);
    free(wide);
    return done ? 0 : info ? hocket__win_failed() : -1;
}

static void remove_handle(HANDLE h)
{
    FILE_DISPOSITION_INFO gone = { TRUE };
    SetFileInformationByHandle(h, FileDispositionInfo, &gone, sizeof(gone));
}

/* A written file beside its place: the handle, which may be renamed and removed. */
static HANDLE make_temporary(HANDLE dir, struct hocket__str content)
{
    char name[40];
    uint64_t random;
    if (hocket__random(&random, sizeof(random)) != 0) {
        errno = EIO;
        return INVALID_HANDLE_VALUE;
    }
    snprintf(name, sizeof(name), ".hocket-%016llx.tmp", (unsigned long long) random);
    HANDLE h = hocket__at_open(
        dir, name, FILE_GENERIC_WRITE | DELETE, FILE_CREATE, FILE_NON_DIRECTORY_FILE);
    bool good = h != INVALID_HANDLE_VALUE;
    while (good && content.n > 0) {
        DWORD n = content.n > (1u << 30) ? 1u << 30 : (DWORD) content.n;
        good = WriteFile(h, content.p, n, &n, NULL);
        content = hocket__str(content.p + n, content.n - n);
    }
    if (h != INVALID_HANDLE_VALUE && !(good && FlushFileBuffers(h))) {
        hocket__win_failed();
        remove_handle(h);
        CloseHandle(h);
        return INVALID_HANDLE_VALUE;
    }
    return h;
}

static int write_in(HANDLE dir, const char *name, const char *path, struct hocket__str content,
    const unsigned char *expect, struct hocket_error *err)
{
    HANDLE there = expect ? INVALID_HANDLE_VALUE : hocket__at_open(dir, name, 0, FILE_OPEN, 0);
    int rc = expect ? compare(dir, name, path, expect, err) : 0;
    if (there != INVALID_HANDLE_VALUE) {
        CloseHandle(there);
        rc = hocket__error(err, HOCKET_EEXIST, "%s is there already", path);
    } else if (!expect && errno != ENOENT) {
        rc = hocket__at_fail(err, "write", path);
    }
    if (rc < 0)
        return rc;
    HANDLE h = make_temporary(dir, content);
    if (h == INVALID_HANDLE_VALUE)
        return hocket__at_fail(err, "write", path);
    if (expect)
        rc = compare(dir, name, path, expect, err);
    if (rc == 0 && rename_to(h, dir, name, expect != NULL) < 0)
        rc = hocket__at_fail(err, "write", path);
    if (rc < 0)
        remove_handle(h);
    CloseHandle(h);
    return rc;
}

int hocket__root_write(struct hocket__root *r, const char *path, struct hocket__str content,
    const unsigned char expect[HOCKET__HASH], struct hocket_error *err)
{
    const char *name;
    HANDLE dir = hocket__at_parent(r, path, expect == NULL, &name);
    if (dir == INVALID_HANDLE_VALUE)
        return hocket__at_fail(err, "get to", path);
    int rc = strcmp(name, ".") == 0
                 ? hocket__error(err, HOCKET_EINVAL, "%s is a directory, not a file", path)
                 : write_in(dir, name, path, content, expect, err);
    CloseHandle(dir);
    return rc;
}

/* ---- Moving -------------------------------------------------------------------------- */

static int move_checked(HANDLE h, const char *from, HANDLE to_dir, const char *to_name,
    const char *to, const unsigned char *expect, struct hocket_error *err)
{
    struct hocket__at at;
    if (hocket__at_look(h, &at) < 0)
        return hocket__at_fail(err, "move", from);
    int rc = at.kind == 'd' ? 0 : hocket__at_check(&at, from, err);
    if (rc == 0 && expect)
        rc = at.kind == 'd' ? hocket__error(err, HOCKET_EEXIST, "%s is there already", to)
                            : compare(to_dir, to_name, to, expect, err);
    if (rc < 0 || rename_to(h, to_dir, to_name, expect != NULL) == 0)
        return rc;
    return errno == EEXIST ? hocket__error(err, HOCKET_EEXIST, "%s is there already", to)
                           : hocket__at_fail(err, "move", from);
}

int hocket__root_move(struct hocket__root *r, const char *from, const char *to,
    const unsigned char expect[HOCKET__HASH], struct hocket_error *err)
{
    const char *name;
    if (strcmp(from, ".") == 0 || strcmp(to, ".") == 0)
        return hocket__error(
            err, HOCKET_EINVAL, "the project's own folder cannot be moved or replaced");
    HANDLE h = hocket__at_path(r, from, DELETE);
    if (h == INVALID_HANDLE_VALUE)
        return hocket__at_fail(err, "move", from);
    HANDLE dir = hocket__at_parent(r, to, expect == NULL, &name);
    int rc = dir == INVALID_HANDLE_VALUE ? hocket__at_fail(err, "get to", to)
                                         : move_checked(h, from, dir, name, to, expect, err);
    if (dir != INVALID_HANDLE_VALUE)
        CloseHandle(dir);
    CloseHandle(h);
    return rc;
}

int hocket__root_rename(
    struct hocket__root *r, const char *path, const char *name, struct hocket_error *err)
{
    const char *old;
    HANDLE dir = hocket__at_parent(r, path, false, &old);
    HANDLE h = dir == INVALID_HANDLE_VALUE ? dir : hocket__at_open(dir, old, DELETE, FILE_OPEN, 0);
    int rc = h == INVALID_HANDLE_VALUE || rename_to(h, dir, name, false) < 0
                 ? hocket__at_fail(err, "rename", path)
                 : 0;
    if (h != INVALID_HANDLE_VALUE)
        CloseHandle(h);
    if (dir != INVALID_HANDLE_VALUE)
        CloseHandle(dir);
    return rc;
}

/* ---- Links --------------------------------------------------------------------------- */

int hocket__root_link(
    struct hocket__root *r, const char *path, const char *target, struct hocket_error *err)
{
    (void) r;
    (void) target;
    return hocket__error(err, HOCKET_EUNSUPPORTED,
        "cannot make %s: hocket makes no symbolic links on Windows", path);
}

int hocket__root_target(
    struct hocket__root *r, const char *path, struct hocket__buf *out, struct hocket_error *err)
{
    struct hocket__root_info info;
    (void) out;
    int rc = hocket__root_info(r, path, &info, err);
    if (rc < 0)
        return rc;
    return info.kind == 'l' ? hocket__error(
               err, HOCKET_EUNSUPPORTED, "hocket reads no links on Windows: %s", path)
                            : hocket__error(err, HOCKET_EINVAL, "%s is no link", path);
}

bool hocket__root_open_up(struct hocket__root *r, const char *path, int64_t since_s)
{
    (void) r;
    (void) path;
    (void) since_s;
    return false;
}

/* ---- Removing ------------------------------------------------------------------------ */

struct removal {
    HANDLE dir;
    int depth;
};

static int remove_one(void *ud, const char *name, const struct hocket__root_info *info)
{
    const struct removal *r = ud;
    FILE_DISPOSITION_INFO gone = { TRUE };
    HANDLE h = r->depth > DEPTH
                   ? (errno = ENAMETOOLONG, INVALID_HANDLE_VALUE)
                   : hocket__at_open(r->dir, name,
                       DELETE | (info->kind == 'd' ? FILE_LIST_DIRECTORY | FILE_TRAVERSE : 0),
                       FILE_OPEN, 0);
    if (h == INVALID_HANDLE_VALUE)
        return errno == ENOENT ? 0 : -1;
    struct removal inner = { h, r->depth + 1 };
    int rc = info->kind == 'd' ? hocket__at_list(h, remove_one, &inner) : 0;
    if (rc == 0 && !SetFileInformationByHandle(h, FileDispositionInfo, &gone, sizeof(gone)))
        rc = hocket__win_failed();
    CloseHandle(h);
    return rc;
}

int hocket__root_remove(struct hocket__root *r, const char *path, struct hocket_error *err)
{
    struct hocket__root_info info;
    const char *name;
    if (strcmp(path, ".") == 0)
        return hocket__error(err, HOCKET_EINVAL, "the root itself is not removed");
    int rc = hocket__root_info(r, path, &info, err);
    if (rc < 0)
        return rc;
    struct removal top = { hocket__at_parent(r, path, false, &name), 0 };
    if (top.dir == INVALID_HANDLE_VALUE)
        return hocket__at_fail(err, "remove", path);
    rc = remove_one(&top, name, &info) < 0 ? hocket__at_fail(err, "remove", path) : 0;
    CloseHandle(top.dir);
    return rc;
}

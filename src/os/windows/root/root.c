/* Files below a root, by handles: see root.h. A path is walked one name at a time; each name is opened relative to the handle
 * of the folder before it, and no link or junction is followed. So nobody who swaps a name meanwhile leads it elsewhere.
 *
 * Windows reads more into names than a model may say: streams ("a.txt:b"), devices ("NUL"), short names ("PROGRA~1") and what
 * it cuts off ("a. "). Those are refused, since rules and protected names are compared as texts. */
#include "os/windows/root/root_impl.h"

#include <errno.h>
#include <fcntl.h>
#include <io.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PATH_BYTES 4096
#define NAME_CHARS 255
#define SHARE_ALL  (FILE_SHARE_READ | FILE_SHARE_WRITE | FILE_SHARE_DELETE)

/* ---- Errors ------------------------------------------------------------------- */

int hocket__at_fail(struct hocket_error *err, const char *doing, const char *path)
{
    if (errno != EILSEQ)
        return hocket__root_fail(err, doing, path);
    return hocket__error(err, HOCKET_EDENIED,
        "cannot %s %s: Windows reads this name in another way: a device, a stream, a short name, "
        "or a dot or space at its end",
        doing, path);
}

/* ---- The root ------------------------------------------------------------------ */

int hocket__root_open(const char *dir, struct hocket__root **out, struct hocket_error *err)
{
    struct hocket__root *r = calloc(1, sizeof(*r));
    wchar_t *wide = r ? hocket__wide_path(dir) : NULL;
    if (!r)
        return hocket__error_nomem(err);
    r->refs = 1;
    r->handle = wide ? CreateFileW(wide, FILE_LIST_DIRECTORY | FILE_TRAVERSE | SYNCHRONIZE,
                    SHARE_ALL, NULL, OPEN_EXISTING, FILE_FLAG_BACKUP_SEMANTICS, NULL)
                     : INVALID_HANDLE_VALUE;
    if (wide && r->handle == INVALID_HANDLE_VALUE)
        hocket__win_failed();
    struct hocket__at at = { 0 };
    bool is_folder =
        r->handle != INVALID_HANDLE_VALUE && hocket__at_look(r->handle, &at) == 0 && at.kind == 'd';
    if (r->handle != INVALID_HANDLE_VALUE && !is_folder)
        errno = ENOTDIR;
    if (is_folder && !(r->dir = hocket__final_path(r->handle, wide)))
        errno = ENOMEM;
    free(wide);
    if (r->dir) {
        *out = r;
        return 0;
    }
    int rc = hocket__at_fail(err, "open", dir);
    hocket__root_unref(r);
    return rc;
}

struct hocket__root *hocket__root_ref(struct hocket__root *r)
{
    __atomic_add_fetch(&r->refs, 1, __ATOMIC_RELAXED);
    return r;
}

void hocket__root_unref(struct hocket__root *r)
{
    if (!r || __atomic_sub_fetch(&r->refs, 1, __ATOMIC_ACQ_REL) > 0)
        return;
    if (r->handle != INVALID_HANDLE_VALUE)
        CloseHandle(r->handle);
    free(r->dir);
    free(r);
}

const char *hocket__root_dir(const struct hocket__root *r)
{
    return r->dir;
}

/* There is one way only. */
void hocket__root_plain(struct hocket__root *r)
{
    (void) r;
}

/* ---- Paths ------------------------------------------------------------------------ */

static bool is_absolute(struct hocket__str s)
{
    return s.n > 0 && (s.p[0] == '/' || (s.n > 1 && s.p[1] == ':'));
}

/* An absolute path is taken when it lies in the project; the case of its letters does not count. */
static bool cut_root(const struct hocket__root *r, struct hocket__str *text)
{
    size_t n = strlen(r->dir);
    if (!is_absolute(*text))
        return true;
    if (r->dir[n - 1] == '/')
        n--;
    if (text->n < n || _strnicmp(text->p, r->dir, n) != 0 || (text->n > n && text->p[n] != '/'))
        return false;
    *text = hocket__str(text->p + n, text->n - n);
    return true;
}

int hocket__root_path(const struct hocket__root *r, struct hocket__str text,
    struct hocket__buf *out, struct hocket_error *err)
{
    char plain[PATH_BYTES];
    if (text.n >= sizeof(plain) || memchr(text.p, 0, text.n))
        return hocket__error(
            err, HOCKET_EINVAL, "a path has at most %d bytes and no NUL", PATH_BYTES - 1);
    for (size_t i = 0; i < text.n; i++)
        plain[i] = text.p[i] == '\\' ? '/' : text.p[i];
    struct hocket__str rest = hocket__str(plain, text.n);
    if (!cut_root(r, &rest))
        return hocket__error(err, HOCKET_EDENIED,
            "%.*s is outside of the project; paths are relative to its folder", (int) text.n,
            text.p);
    return hocket__root_resolve(text, rest, out, err);
}

/* ---- Names -------------------------------------------------------------------------- */

static bool is_device(const char *name)
{
    static const char *const devices[] = { "con", "prn", "aux", "nul", "conin$", "conout$",
        "clock$" };
    size_t n = strcspn(name, ".");
    while (n > 0 && name[n - 1] == ' ')
        n--;
    for (size_t i = 0; i < sizeof(devices) / sizeof(devices[0]); i++)
        if (strlen(devices[i]) == n && _strnicmp(name, devices[i], n) == 0)
            return true;
    return n == 4 && (_strnicmp(name, "com", 3) == 0 || _strnicmp(name, "lpt", 3) == 0)
           && name[3] >= '0' && name[3] <= '9';
}

/* As Windows makes them: at most eight characters with a tilde and a digit at their end. */
static bool is_short(const char *name)
{
    size_t n = strcspn(name, ".");
    const char *tilde = memchr(name, '~', n);
    return tilde && n <= 8 && tilde[1] >= '1' && tilde[1] <= '9'
           && strspn(tilde + 1, "0123456789") == (size_t) (name + n - tilde - 1);
}

static bool is_fit(const char *name)
{
    size_t n = strlen(name);
    if (n == 0 || name[n - 1] == '.' || name[n - 1] == ' ' || is_device(name) || is_short(name))
        return false;
    for (size_t i = 0; i < n; i++)
        if ((unsigned char) name[i] < ' ' || strchr("\\:*?\"<>|", name[i]))
            return false;
    return true;
}

/* ---- By handles ------------------------------------------------------------------------- */

HANDLE hocket__at_open(HANDLE dir, const char *name, ACCESS_MASK access, ULONG how, ULONG options)
{
    HANDLE h = INVALID_HANDLE_VALUE;
    IO_STATUS_BLOCK io;
    wchar_t *wide = is_fit(name) ? hocket__wide(name) : (errno = EILSEQ, NULL);
    if (!wide)
        return h;
    size_t n = wcslen(wide);
    if (n > NAME_CHARS) {
        free(wide);
        errno = ENAMETOOLONG;
        return h;
    }
    UNICODE_STRING text = { (USHORT) (n * 2), (USHORT) (n * 2), wide };
    OBJECT_ATTRIBUTES at;
    InitializeObjectAttributes(&at, &text, OBJ_CASE_INSENSITIVE, dir, NULL);
    NTSTATUS status = NtCreateFile(&h, access | SYNCHRONIZE | FILE_READ_ATTRIBUTES, &at, &io, NULL,
        FILE_ATTRIBUTE_NORMAL, SHARE_ALL, how,
        options | FILE_SYNCHRONOUS_IO_NONALERT | FILE_OPEN_REPARSE_POINT, NULL, 0);
    free(wide);
    if (status >= 0)
        return h;
    hocket__win_fail(RtlNtStatusToDosError(status));
    return INVALID_HANDLE_VALUE;
}

int hocket__at_look(HANDLE h, struct hocket__at *at)
{
    if (!GetFileInformationByHandle(h, &at->info))
        return hocket__win_failed();
    DWORD a = at->info.dwFileAttributes;
    at->kind = a & FILE_ATTRIBUTE_REPARSE_POINT ? 'l' : a & FILE_ATTRIBUTE_DIRECTORY ? 'd' : 'f';
    return 0;
}

static int64_t ms_of(FILETIME t)
{
    return (((int64_t) t.dwHighDateTime << 32 | t.dwLowDateTime) - INT64_C(116444736000000000))
           / 10000;
}

static void fill_info(struct hocket__root_info *out, const struct hocket__at *at)
{
    *out = (struct hocket__root_info){ .kind = at->kind,
        .size = (int64_t) at->info.nFileSizeHigh << 32 | at->info.nFileSizeLow,
        .mtime_ms = ms_of(at->info.ftLastWriteTime),
        .mode = at->info.dwFileAttributes & FILE_ATTRIBUTE_READONLY ? 0444 : 0644,
        .links = at->info.nNumberOfLinks };
}

int hocket__at_check(const struct hocket__at *at, const char *path, struct hocket_error *err)
{
    if (at->kind == 'd')
        return hocket__error(err, HOCKET_EINVAL, "%s is a directory, not a file", path);
    if (at->kind == 'l')
        return hocket__error(err, HOCKET_EDENIED, "%s is a symbolic link", path);
    if (at->info.nNumberOfLinks > 1)
        return hocket__error(err, HOCKET_EDENIED,
            "%s has %lu names (hard links), and another may be outside of the project", path,
            (unsigned long) at->info.nNumberOfLinks);
    return 0;
}

/* A folder, never by a link. */
static HANDLE step_down(HANDLE dir, const char *name, bool make)
{
    struct hocket__at at;
    if (strcmp(name, "..") == 0) {
        errno = EXDEV;
        return INVALID_HANDLE_VALUE;
    }
    HANDLE h = hocket__at_open(dir, name, FILE_LIST_DIRECTORY | FILE_TRAVERSE,
        make ? FILE_OPEN_IF : FILE_OPEN, make ? FILE_DIRECTORY_FILE : 0);
    if (h == INVALID_HANDLE_VALUE)
        return h;
    if (hocket__at_look(h, &at) == 0 && at.kind == 'd')
        return h;
    errno = at.kind == 'l' ? ELOOP : ENOTDIR;
    CloseHandle(h);
    return INVALID_HANDLE_VALUE;
}

static HANDLE root_again(struct hocket__root *r)
{
    HANDLE h, self = GetCurrentProcess();
    return DuplicateHandle(self, r->handle, self, &h, 0, FALSE, DUPLICATE_SAME_ACCESS)
               ? h
               : (hocket__win_failed(), INVALID_HANDLE_VALUE);
}

HANDLE hocket__at_parent(struct hocket__root *r, const char *path, bool make, const char **name)
{
    char part[NAME_CHARS * 4];
    HANDLE dir = root_again(r);
    const char *at = path, *slash;
    while (dir != INVALID_HANDLE_VALUE && (slash = strchr(at, '/'))) {
        size_t n = (size_t) (slash - at);
        HANDLE next = INVALID_HANDLE_VALUE;
        errno = ENAMETOOLONG;
        if (n < sizeof(part)) {
            memcpy(part, at, n);
            part[n] = 0;
            next = step_down(dir, part, make);
        }
        CloseHandle(dir);
        dir = next;
        at = slash + 1;
    }
    *name = at;
    return dir;
}

HANDLE hocket__at_path(struct hocket__root *r, const char *path, ACCESS_MASK access)
{
    const char *name;
    if (strcmp(path, ".") == 0)
        return root_again(r);
    HANDLE dir = hocket__at_parent(r, path, false, &name);
    if (dir == INVALID_HANDLE_VALUE)
        return dir;
    HANDLE h = hocket__at_open(dir, name, access, FILE_OPEN, 0);
    CloseHandle(dir);
    return h;
}

/* ---- Opening ------------------------------------------------------------------------ */

int hocket__root_file(struct hocket__root *r, const char *path, struct hocket__root_info *info,
    struct hocket_error *err)
{
    struct hocket__at at;
    HANDLE h = hocket__at_path(r, path, FILE_GENERIC_READ);
    if (h == INVALID_HANDLE_VALUE || hocket__at_look(h, &at) < 0) {
        if (h != INVALID_HANDLE_VALUE)
            CloseHandle(h);
        return hocket__at_fail(err, "read", path);
    }
    int rc = at.kind == 'f' ? 0 : hocket__at_check(&at, path, err);
    fill_info(info, &at);
    if (rc == 0)
        return hocket__win_descriptor(h, _O_RDONLY);
    CloseHandle(h);
    return rc;
}

int hocket__root_folder(struct hocket__root *r, const char *path, struct hocket_error *err)
{
    struct hocket__at at;
    HANDLE h = hocket__at_path(r, path, FILE_LIST_DIRECTORY | FILE_TRAVERSE);
    if (h != INVALID_HANDLE_VALUE && (hocket__at_look(h, &at) < 0 || at.kind != 'd')) {
        errno = at.kind == 'l' ? ELOOP : ENOTDIR;
        CloseHandle(h);
        h = INVALID_HANDLE_VALUE;
    }
    return h == INVALID_HANDLE_VALUE ? hocket__at_fail(err, "look into", path)
                                     : hocket__win_descriptor(h, _O_RDONLY);
}

void hocket__root_close(int fd)
{
    _close(fd);
}

int hocket__root_info(struct hocket__root *r, const char *path, struct hocket__root_info *info,
    struct hocket_error *err)
{
    struct hocket__at at;
    HANDLE h = hocket__at_path(r, path, 0);
    if (h == INVALID_HANDLE_VALUE)
        return hocket__at_fail(err, "look at", path);
    int rc = hocket__at_look(h, &at) < 0 ? hocket__at_fail(err, "look at", path) : 0;
    CloseHandle(h);
    if (rc == 0)
        fill_info(info, &at);
    return rc;
}

int hocket__root_parent(struct hocket__root *r, const char *path, bool make, const char **name,
    struct hocket_error *err)
{
    HANDLE h = hocket__at_parent(r, path, make, name);
    if (h != INVALID_HANDLE_VALUE && strcmp(*name, "..") == 0) {
        CloseHandle(h);
        h = INVALID_HANDLE_VALUE;
        errno = EXDEV;
    }
    return h == INVALID_HANDLE_VALUE ? hocket__at_fail(err, "get to", path)
                                     : hocket__win_descriptor(h, _O_RDONLY);
}

/* ---- Listing ---------------------------------------------------------------------------- */

static int64_t ms_of_large(LARGE_INTEGER t)
{
    return (t.QuadPart - INT64_C(116444736000000000)) / 10000;
}

static char *name_of(const FILE_ID_BOTH_DIR_INFO *e)
{
    wchar_t wide[NAME_CHARS + 2];
    size_t n = e->FileNameLength / sizeof(wchar_t);
    if (n > NAME_CHARS)
        return NULL;
    memcpy(wide, e->FileName, n * sizeof(wchar_t));
    wide[n] = 0;
    return hocket__narrow_path(wide);
}

/* What is listed at once. On the heap: folders are removed from within their own lists, up to 200 deep, and a thread's stack may
 * have one megabyte. */
union page {
    char bytes[16384];
    FILE_ID_BOTH_DIR_INFO first;
};

typedef int entry_fn(void *ud, const char *name, const struct hocket__root_info *info);

static int each_of(const union page *page, entry_fn *cb, void *ud)
{
    for (const char *at = page->bytes;;) {
        const FILE_ID_BOTH_DIR_INFO *e = (const void *) at;
        char *name = name_of(e);
        struct hocket__root_info info = { .kind =
                                              e->FileAttributes & FILE_ATTRIBUTE_REPARSE_POINT ? 'l'
                                              : e->FileAttributes & FILE_ATTRIBUTE_DIRECTORY   ? 'd'
                                                                                             : 'f',
            .size = e->EndOfFile.QuadPart,
            .mtime_ms = ms_of_large(e->LastWriteTime),
            .mode = 0644,
            .links = 1 };
        bool counts = name && strcmp(name, ".") != 0 && strcmp(name, "..") != 0;
        int rc = counts ? cb(ud, name, &info) : 0;
        free(name);
        if (rc != 0 || e->NextEntryOffset == 0)
            return rc;
        at += e->NextEntryOffset;
    }
}

int hocket__at_list(HANDLE dir, entry_fn *cb, void *ud)
{
    FILE_INFO_BY_HANDLE_CLASS how = FileIdBothDirectoryRestartInfo;
    union page *page = malloc(sizeof(*page));
    int rc = 0;
    if (!page) {
        errno = ENOMEM;
        return -1;
    }
    for (; rc == 0; how = FileIdBothDirectoryInfo) {
        if (!GetFileInformationByHandleEx(dir, how, page, sizeof(*page))) {
            rc = GetLastError() == ERROR_NO_MORE_FILES ? 0 : hocket__win_failed();
            break;
        }
        rc = each_of(page, cb, ud);
    }
    int code = errno;
    free(page);
    errno = code;
    return rc;
}

struct listing {
    void (*cb)(void *ud, const char *name, const struct hocket__root_info *info);
    void *ud;
    size_t n, max;
};

static int list_one(void *ud, const char *name, const struct hocket__root_info *info)
{
    struct listing *l = ud;
    if (l->n++ == l->max)
        return 1;
    l->cb(l->ud, name, info);
    return 0;
}

int hocket__root_list(struct hocket__root *r, const char *path, size_t max,
    void (*cb)(void *ud, const char *name, const struct hocket__root_info *info), void *ud,
    struct hocket_error *err)
{
    struct listing l = { cb, ud, 0, max };
    int fd = hocket__root_folder(r, path, err);
    if (fd < 0)
        return fd;
    int rc = hocket__at_list(hocket__win_handle(fd), list_one, &l);
    if (rc < 0)
        rc = hocket__at_fail(err, "look into", path);
    else if (rc > 0)
        rc = hocket__error(err, HOCKET_ELIMIT, "%s holds more than %zu entries", path, max);
    _close(fd);
    return rc;
}

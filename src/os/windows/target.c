#include "os/target.h"

#include <errno.h>
#include <fcntl.h>
#include <io.h>
#include <stdio.h>
#include <stdlib.h>
#include <uv.h>

#include "base/system_names.h"
#include "os/file.h"
#include "os/fs.h"
#include "os/windows/wide.h"

static int complain(struct hocket_error *err, const char *path)
{
    int e = errno;
    return hocket__error(err,
        e == EACCES || e == EPERM || e == EROFS ? HOCKET_EDENIED
        : e == ENOENT                           ? HOCKET_ENOTFOUND
                                                : HOCKET_EIO,
        "cannot write %s: %s", path, hocket__errno_text(e));
}

int hocket__target_open(struct hocket__target *t, struct hocket_error *err)
{
    size_t n = strlen(t->path) + 24;
    t->fd = -1;
    t->part = malloc(n);
    if (!t->part)
        return hocket__error_nomem(err);
    snprintf(t->part, n, "%s.%d.tmp", t->path, (int) uv_os_getpid());
    wchar_t *wide = hocket__wide_path(t->part);
    HANDLE h = wide ? CreateFileW(wide, GENERIC_WRITE, FILE_SHARE_READ | FILE_SHARE_DELETE, NULL,
                   CREATE_NEW, FILE_ATTRIBUTE_NORMAL, NULL)
                    : INVALID_HANDLE_VALUE;
    if (wide && h == INVALID_HANDLE_VALUE)
        hocket__win_failed();
    free(wide);
    if (h != INVALID_HANDLE_VALUE && (t->fd = hocket__win_descriptor(h, _O_WRONLY)) >= 0)
        return 0;
    free(t->part);
    t->part = NULL;
    return complain(err, t->path);
}

int hocket__target_write(
    struct hocket__target *t, struct hocket__str text, struct hocket_error *err)
{
    if (hocket__write_all(t->fd, text) == 0)
        return 0;
    return complain(err, t->path ? t->path : "what was asked for");
}

void hocket__target_close(struct hocket__target *t)
{
    if (t->fd >= 0 && !t->lent)
        _close(t->fd);
    if (t->part)
        hocket__fs_unlink(t->part);
    free(t->part);
    free(t->path);
    *t = (struct hocket__target){ .fd = -1 };
}

/* A file that is open cannot be moved by its name. */
int hocket__target_finish(struct hocket__target *t, struct hocket_error *err)
{
    if (!t->part)
        return 0;
    int rc = _commit(t->fd);
    _close(t->fd);
    t->fd = -1;
    wchar_t *from = hocket__wide_path(t->part), *to = hocket__wide_path(t->path);
    if (rc == 0)
        rc = from && to ? hocket__win_replace(from, to) : -1;
    free(from);
    free(to);
    if (rc < 0)
        return complain(err, t->path);
    free(t->part);
    t->part = NULL;
    return 0;
}

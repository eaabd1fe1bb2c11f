/* What an errno is for callers: one table for all of os/, so that the same failure has the same
 * status whoever meets it. Passing ones may be gone at the next attempt. */
#include "os/errors.h"

#include <errno.h>

#include "os/descriptors.h"

bool hocket__errno_is_passing(int code)
{
    return code == EMFILE || code == ENFILE;
}

int hocket__errno_status(int code)
{
    switch (code) {
    case ENOENT:
    case ENOTDIR: return HOCKET_ENOTFOUND;
    case EACCES:
    case EPERM:
    case EROFS:
    case EXDEV:
    case ELOOP: return HOCKET_EDENIED;
    case EEXIST:
    case ENOTEMPTY: return HOCKET_EEXIST;
    case ENOMEM: return HOCKET_ENOMEM;
    default: return HOCKET_EIO;
    }
}

int hocket__errno_fail(
    struct hocket_error *err, const char *doing, const char *path, const char *words)
{
    int code = errno, status = hocket__errno_status(code);
    char own[HOCKET__ERRNO_WORDS];
    hocket__error(err, status, "cannot %s %s: %s", doing, path,
        words ? words : hocket__errno_words(code, own));
    if (err && hocket__errno_is_passing(code))
        err->retryable = true;
    return status;
}

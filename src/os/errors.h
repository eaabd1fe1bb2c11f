/* What the system's error numbers are for callers. */
#pragma once

#include "base/status.h"

#include <stdbool.h>

/* The status of an errno: ENOTFOUND, EDENIED (also of links and paths that lead elsewhere), EEXIST,
 * ENOMEM, else EIO. */
int hocket__errno_status(int code);
/* Whether it says nothing of what was asked for: the process, or the system, has no more descriptors just
 * now. */
bool hocket__errno_is_passing(int code);
/* "cannot DOING PATH: WORDS" with the status of errno, which is returned; retryable where it is a passing one. `words` NULL: those
 * of the system. */
int hocket__errno_fail(
    struct hocket_error *err, const char *doing, const char *path, const char *words);

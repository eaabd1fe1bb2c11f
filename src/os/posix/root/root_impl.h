/* What the files of a root share. */
#pragma once

#include "os/root.h"

#include <stdbool.h>
#include <sys/stat.h>

struct hocket__root {
    int refs; /* atomic */
    int fd;
    bool plain; /* no openat2 */
    char *dir;
};

/* EINVAL unless it is a regular file with one name. */
int hocket__root_check(const struct stat *st, const char *path, struct hocket_error *err);

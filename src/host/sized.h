/* Structures of the public header that begin with their size, and may grow: what a program gives may
 * be shorter than ours (it is older), or longer (it is newer). */
#pragma once

#include "base/status.h"

#include <stddef.h>

/* Copies the program's structure into ours, which has `size` bytes: what it does not have is zero. EINVAL when
 * its size cannot be one, or when a member that we do not know is set. `name` is the structure's. */
int hocket__sized_take(
    void *ours, size_t size, const void *theirs, const char *name, struct hocket_error *err);

/* Copies ours into the program's, as far as that reaches; its size is then what was filled. */
int hocket__sized_give(void *theirs, const void *ours, size_t size);

/* The .gitignore files that count at one place of a tree, and those above it: the repository's
 * info/exclude, then from its top down. Paths are relative to the repository's top, or to the
 * root where there is no repository.
 *
 * A person's own list (core.excludesFile) is left out: the library reads nobody's configuration, and
 * what an agent finds is to be the same wherever the tree lies. */
#pragma once

#include "os/search/ignore.h"

#define HOCKET__IGNORES_MAX 300

struct hocket__ignores {
    struct hocket__ignore files[HOCKET__IGNORES_MAX];
    size_t n;
};

/* Finds the repository that `root` (an absolute path without links) is in, as git does: the first
 * folder upwards with a .git, on the same file system, and its owner's. Reads what counts for all
 * of the root and stands above it. Appends the root's path in the repository, "" when it is the top
 * or there is none. */
void hocket__ignores_above(struct hocket__ignores *all, const char *root, struct hocket__buf *path);

/* Reads one file of a directory; `base`: bytes of paths that lead there, the slash included. What
 * is not there, is no regular file, larger than 1 MiB, or one too many, counts for nothing. */
void hocket__ignores_push(struct hocket__ignores *all, int dir, const char *name, size_t base);
/* Forgets all but the first `n`. */
void hocket__ignores_pop(struct hocket__ignores *all, size_t n);

bool hocket__ignores_match(const struct hocket__ignores *all, const char *path, bool is_dir);

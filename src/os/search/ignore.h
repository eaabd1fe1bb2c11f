/* .gitignore files, as git reads them (gitignore(5), wildmatch).
 *
 * Each holds the patterns of one file. A walk of a tree asks the objects of the directories from
 * the deepest up, and takes the first answer. It does not enter an ignored directory. */
#pragma once

#include "base/buf.h"

#include <stdbool.h>

struct hocket__ignore_rule {
    size_t at, n; /* of the pattern in the text */
    bool negated, dir_only, anchored, plain, suffix;
};

struct hocket__ignore {
    struct hocket__buf text;
    struct hocket__ignore_rule *rules;
    size_t count, cap;
    size_t base; /* for the walker: bytes of the path that lead to its directory */
};

/* Reads a file's text. Past 10,000 patterns the rest is left out. 0 or ENOMEM; deinit in either
 * case. */
int hocket__ignore_init(
    struct hocket__ignore *ig, const struct hocket_allocator *a, struct hocket__str text);
void hocket__ignore_deinit(struct hocket__ignore *ig);

enum hocket__ignore_verdict { HOCKET__UNKNOWN, HOCKET__KEPT, HOCKET__IGNORED };

/* What it says of a path below its directory, without a slash in front or behind. */
enum hocket__ignore_verdict hocket__ignore_match(
    const struct hocket__ignore *ig, const char *path, bool is_dir);

/* Searching a tree below a root, by name and by content. Blocking; any thread.
 *
 * .git is never entered, links are never followed, what .gitignore files and .git/info/exclude name
 * is left out unless asked for, with those above the root (see ignore.h). The content of credentials is
 * not looked into, unless it begins at one. Binary files, files with more than one name and files past a size
 * are passed over and counted. It ends early, and says so, at its limits of results, of time and of
 * entries. The order is that of the names. */
#pragma once

#include "os/root.h"

struct hocket__search {
    const char *path;           /* where it begins: a directory, or one file */
    struct hocket__str pattern; /* in the content; n 0: names are listed */
    bool literal, ignore_case;
    const char *glob; /* of names (of paths below `path` when it has a '/'); may be NULL */
    bool all;         /* also what is ignored */
    size_t max_results, max_file;
    int64_t max_ms;
    const int *cancelled; /* looked at between files; may be NULL */
};

struct hocket__search_stats {
    size_t files, results, matched_files; /* looked into; lines or names found; files with any */
    size_t large, binary, secret, hard, unread; /* passed over; `hard`: the pattern took too long */
    bool full, timed_out;
};

/* Appends "path:line:text\n" or "path\n" for each result. 0, EPARSE, EUNSUPPORTED, ENOTFOUND …,
 * ECANCELLED. Lines are cut at 300 bytes and are valid UTF-8. */
int hocket__search(struct hocket__root *r, const struct hocket__search *s, struct hocket__buf *out,
    struct hocket__search_stats *stats, struct hocket_error *err);

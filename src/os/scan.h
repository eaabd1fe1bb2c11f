/* What stands in a tree of directories, and what has changed in it since the last look.
 *
 *     look ──walk──> names and signatures ──> differ from those of the last look? ──> read, hashed
 *                    (device, inode, size,                │
 *                     times)                              └─ no, and not written just now: not opened
 *
 * A signature that is the same says little of a file that was written a moment ago: clocks of file
 * systems go in steps of some milliseconds. Such a file is read once more at the next look.
 *
 * Only files with certain endings count, and none whose name is what an editor leaves beside the file
 * that is being edited. Links are followed: a directory that can be reached in several ways is looked
 * into once. Blocking, and without Lua: made for a thread. Memory comes from malloc. One thread at a
 * time. */
#pragma once

#include "base/status.h"
#include "base/str.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define HOCKET__SCAN_MAX_FILES 20000
#define HOCKET__SCAN_MAX_FILE  ((size_t) 1 << 20) /* bytes of one; a larger one has no text */

struct hocket__scan;

/* `root` is absolute; `endings`, without dots, as one text with a space between two of them. One that begins with
 * a dot is the whole name of a hidden file that counts, or with a slash behind it of a hidden directory that is looked into; others do not.
 * NULL: out of memory. */
struct hocket__scan *hocket__scan_new(const char *root, const char *endings);
void hocket__scan_free(struct hocket__scan *s);

/* Looks. A root that is not there is empty. After a failure everything is as before the look: ENOMEM,
 * EDENIED, EIO, ELIMIT (more than so many files), ECANCELLED (*cancelled, read atomically, became
 * true). */
int hocket__scan_run(struct hocket__scan *s, const int *cancelled, struct hocket_error *err);

struct hocket__scan_change {
    char kind;               /* '+' new, '-' gone, '~' changed */
    const char *path;        /* below the root */
    const char *real;        /* where it is in truth, when a link leads there; or NULL */
    struct hocket__str text; /* p is NULL: it cannot be read … */
    const char *why;         /* … and this is why */
    int status;
};

/* The n-th change of the last look, from 0; false after the last one. Valid until the next look or
 * hocket__scan_taken. */
bool hocket__scan_change(const struct hocket__scan *s, size_t n, struct hocket__scan_change *out);

/* Whether there are changes that hocket__scan_taken was not told of. A look before that would lose them. */
bool hocket__scan_has_changes(const struct hocket__scan *s);

/* The changes were taken: their texts go. */
void hocket__scan_taken(struct hocket__scan *s);

/* Of all names and contents, the same for the same ones. 0: the root is not there. */
uint64_t hocket__scan_hash(const struct hocket__scan *s);

/* The directories whose changes can change the tree, from 0: the directories of the tree, and the
 * ones that hold a link on the way to something in it, or the link's target. For a missing root: the
 * directory in which it, or a link to it, would appear. NULL after the last. */
const char *hocket__scan_dir(const struct hocket__scan *s, size_t n);

/* Whether the tree was there, and whether all its file systems tell of changes that others make
 * (those of networks do not). */
bool hocket__scan_exists(const struct hocket__scan *s);
bool hocket__scan_gets_events(const struct hocket__scan *s);

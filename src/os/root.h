/* Files below a root: what tools for models read and write.
 *
 * No path leaves the root: not by "..", an absolute path, a symbolic link, a link of /proc, a
 * second name of a file outside (hard link), or by swapping any of them during a check. Reading
 * resolves with openat2 and RESOLVE_BENEATH where the kernel has it, else component by component
 * without following links; changing never follows a link. Only regular files with one name are read
 * and replaced; a FIFO or a device never blocks.
 *
 * Blocking, and safe from any thread: a root is never changed after it was opened. Memory is the
 * allocator's of the buffers that are given. Paths are relative to the root, as hocket__root_path
 * gives them. Messages name the path as it was given, never one outside. */
#pragma once

#include "base/buf.h"
#include "base/status.h"

#include <stdbool.h>
#include <stdint.h>

/* What was read, to be known again later, also by another process: a key, and the content's hash under it. */
#define HOCKET__HASH 24

struct hocket__root;

/* Opens a directory. Free with unref; ref and unref may be called from any thread. */
int hocket__root_open(const char *dir, struct hocket__root **out, struct hocket_error *err);
struct hocket__root *hocket__root_ref(struct hocket__root *r);
void hocket__root_unref(struct hocket__root *r);
/* Its own absolute path without links. */
const char *hocket__root_dir(const struct hocket__root *r);
/* Does without openat2 from now on: for tests, before the root is used. */
void hocket__root_plain(struct hocket__root *r);

/* Appends the path that a text stands for, relative to the root, without "." and ".."; "." for the
 * root itself. An absolute path has to begin with the root's own. EINVAL, EDENIED (it leads out).
 */
int hocket__root_path(const struct hocket__root *r, struct hocket__str text,
    struct hocket__buf *out, struct hocket_error *err);

/* What failed below a root with errno: hocket__errno_fail with words for links and for paths that lead out. */
int hocket__root_fail(struct hocket_error *err, const char *doing, const char *path);

/* The part of hocket__root_path that is the same on each system: appends what `rest` stands for, a part of `text` with "/" alone. */
int hocket__root_resolve(struct hocket__str text, struct hocket__str rest, struct hocket__buf *out,
    struct hocket_error *err);

struct hocket__root_info {
    char kind; /* 'f' file, 'd' directory, 'l' link, 'o' other */
    int64_t size, mtime_ms;
    unsigned mode, links;
};

/* A regular file with one name, opened for reading: the descriptor, for hocket__root_close. */
int hocket__root_file(struct hocket__root *r, const char *path, struct hocket__root_info *info,
    struct hocket_error *err);
/* A directory, opened for reading. */
int hocket__root_folder(struct hocket__root *r, const char *path, struct hocket_error *err);
void hocket__root_close(int fd);
/* What the path names. A link that leads out or nowhere is described itself. ENOTFOUND. */
int hocket__root_info(struct hocket__root *r, const char *path, struct hocket__root_info *info,
    struct hocket_error *err);

/* Appends what an opened file holds; ELIMIT past `max` bytes. */
int hocket__root_slurp(
    int fd, const char *path, size_t max, struct hocket__buf *out, struct hocket_error *err);
/* The hash of a content, under the key of `like`: the same as that when the content is. NULL: under a key of this process's
 * own, so nobody can make a content with a hash that they know. */
void hocket__root_hash(struct hocket__str content, const unsigned char like[HOCKET__HASH],
    unsigned char hash[HOCKET__HASH]);

/* Writes a whole file: a temporary one beside it, synced, then moved into place. Parents are made.
 * `expect` is the hash of what is to be replaced: when something else is there by then, also at the
 * last moment, it is left as it was (ESTATE). NULL: nothing is to be there (EEXIST). */
int hocket__root_write(struct hocket__root *r, const char *path, struct hocket__str content,
    const unsigned char expect[HOCKET__HASH], struct hocket_error *err);

/* Moves a file or a directory; parents are made. `expect` as above, for what is at `to`. */
int hocket__root_move(struct hocket__root *r, const char *from, const char *to,
    const unsigned char expect[HOCKET__HASH], struct hocket_error *err);

/* Gives whatever is at `path` (a file, folder or link) another name in its folder, which nothing has
 * yet. */
int hocket__root_rename(
    struct hocket__root *r, const char *path, const char *name, struct hocket_error *err);

/* Makes a symbolic link, where nothing is. */
int hocket__root_link(
    struct hocket__root *r, const char *path, const char *target, struct hocket_error *err);

/* Appends what a symbolic link says; EINVAL when there is none at `path`. */
int hocket__root_target(
    struct hocket__root *r, const char *path, struct hocket__buf *out, struct hocket_error *err);

/* Removes what is at `path`, a folder with all in it, however deep. No link is followed, no other file system is entered. */
int hocket__root_remove(struct hocket__root *r, const char *path, struct hocket_error *err);

/* Lets its owner into a folder whose mode was changed at `since_s` or later; true when it did. */
bool hocket__root_open_up(struct hocket__root *r, const char *path, int64_t since_s);

/* Calls cb for every entry except "." and "..", in no order; at most `max` (ELIMIT). Sizes are of
 * files only. */
int hocket__root_list(struct hocket__root *r, const char *path, size_t max,
    void (*cb)(void *ud, const char *name, const struct hocket__root_info *info), void *ud,
    struct hocket_error *err);

/* Opens the directory that the path's last part is in, without following links: the descriptor
 * (O_PATH), to be closed. *name points into path. With `make` directories are made. */
int hocket__root_parent(struct hocket__root *r, const char *path, bool make, const char **name,
    struct hocket_error *err);

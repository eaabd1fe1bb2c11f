/* Files for scripts and loaders: whole files in, directories listed, new files out. Blocking;
 * regular files only; every size is bounded. */
#pragma once

#include "base/buf.h"
#include "base/status.h"

#define HOCKET__FILE_MAX ((size_t) 16 << 20) /* bytes read of one file by default */

/* Appends the file's content. EIO, ENOTFOUND, EDENIED, EINVAL (a directory, a device, a FIFO),
 * ELIMIT (larger than `max`). Messages name the path. */
int hocket__file_read(
    const char *path, size_t max, struct hocket__buf *out, struct hocket_error *err);

/* Writes all of it to a blocking descriptor: 0, or -1 with errno. */
int hocket__write_all(int fd, struct hocket__str s);

/* Writes a whole file by a temporary one beside it and a rename. With `exclusive` an existing
 * file is left alone: EEXIST. `mode` as for open(2). */
int hocket__file_write(const char *path, struct hocket__str content, bool exclusive, int mode,
    struct hocket_error *err);

/* A file that is written line by line: made or emptied, and readable by its owner alone, also where it was not
 * before. The descriptor, to be given to hocket__file_close, or a negative code. Regular files only, no symbolic
 * link (EINVAL), and one writer at a time: ESTATE. */
int hocket__file_begin(const char *path, struct hocket_error *err);
/* Appends all of it at once, so that a program that is killed leaves whole lines, but for the
 * last. */
int hocket__file_append(
    int fd, const char *path, struct hocket__str content, struct hocket_error *err);
int hocket__file_close(int fd, const char *path, struct hocket_error *err);

/* Makes the directory and its parents, for the user alone if they are private; existing ones are fine. */
int hocket__dir_make(const char *path, bool is_private, struct hocket_error *err);

struct hocket__file_info {
    bool exists, is_dir, is_file,
        is_private; /* private: nobody but its owner may read or change it */
    int64_t size, mtime_ms;
};

/* Follows links. What is not there is not an error. */
int hocket__file_info(const char *path, struct hocket__file_info *out, struct hocket_error *err);

/* Calls cb for every entry except "." and "..", in no order; at most 100,000 (ELIMIT). */
int hocket__dir_list(const char *path, void (*cb)(void *ud, const char *name, bool is_dir),
    void *ud, struct hocket_error *err);

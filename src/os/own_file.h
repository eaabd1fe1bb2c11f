/* Files that this user has made, and nobody else: what stands in their place is neither written nor believed. */
#pragma once

#include "base/status.h"
#include "base/str.h"

#include <stdint.h>

/* Opens the file for reading, or makes it where it is to be written too. What somebody has put there is refused: a pipe, which
 * would not end either, another's file, another name of a file, a link. The descriptor, or a status; ENOTFOUND: there is none. */
int hocket__own_file_open(const char *path, bool writes, struct hocket_error *err);
void hocket__own_file_close(int fd);

/* How many of n bytes were read from a place: 0 at the end; -1 and errno. */
int64_t hocket__own_file_read(int fd, void *to, size_t n, int64_t at);
/* Whether all of n bytes were written to a place, at once; else errno. */
bool hocket__own_file_write(int fd, const void *from, size_t n, int64_t at);
/* Whether it still has its name. */
bool hocket__own_file_is_there(int fd);

/* ---- Without a name ---------------------------------------------------------------------- */

/* A file without a name, for texts that are too many for memory: nobody else can open it, and it is gone with its
 * descriptor. */

/* In a folder, as "/tmp". A descriptor, for hocket__spool_close, or -1 and errno. */
int hocket__spool_open(const char *dir);
void hocket__spool_close(int fd);
/* Writes all of the text at a place. 0, or -1 and errno. */
int hocket__spool_write(int fd, struct hocket__str text, int64_t at);
/* Reads n bytes from a place. 0, or -1 and errno, EIO where there are not so many. */
int hocket__spool_read(int fd, char *out, size_t n, int64_t at);

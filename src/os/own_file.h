/* Files that this user has made, and nobody else: what stands in their place is neither written nor believed. */
#pragma once

#include "base/status.h"

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

/* A file without a name, for texts that are too many for memory: nobody else can open it, and it is gone with its
 * descriptor. */
#pragma once

#include "base/str.h"

#include <stdint.h>

/* In a folder, as "/tmp". A descriptor, for hocket__spool_close, or -1 and errno. */
int hocket__spool_open(const char *dir);
void hocket__spool_close(int fd);
/* Writes all of the text at a place. 0, or -1 and errno. */
int hocket__spool_write(int fd, struct hocket__str text, int64_t at);
/* Reads n bytes from a place. 0, or -1 and errno, EIO where there are not so many. */
int hocket__spool_read(int fd, char *out, size_t n, int64_t at);

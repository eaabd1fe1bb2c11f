/* Where a store's file may be. What is in it is a person's own: nobody else may read it, and nobody
 * else may have put it there.
 *
 * - The directory is made (0700) when there is none; it must be the user's or root's, and no other
 *   user may write in it: what lies beside the file (SQLite's -wal) is part of the database.
 * - The file is made with 0600. It must be the user's own and no link.
 * - Not on a network's file system: SQLite's locks and shared memory do not hold there. */
#pragma once

#include "base/buf.h"
#include "base/status.h"

/* Checks and makes; appends the path with all links of its directory resolved. A file that was there
 * is not opened: that would give back locks that this process holds on it. *looks: it may only be read. */
int hocket__store_place(
    const char *path, struct hocket__buf *real, bool *looks, struct hocket_error *err);

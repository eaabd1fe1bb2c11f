/* Runs in a file, by SQLite: the component libhocket-store.
 *
 * One file in WAL mode, for any number of processes at once. A store has one thread of its own, which
 * alone uses the connection: it takes what the loop has handed over as one transaction, however many turns
 * that were (group commit), answers questions, renews claims and removes what is too old in small steps.
 * The loop's thread never waits for any of that.
 *
 * SYNCED commits are written with synchronous = FULL, which takes all before them to the disk too; the
 * others with NORMAL: they are the operating system's at once, and the disk's with the next checkpoint. */
#pragma once

#include "store/store.h"

/* `o->path` is the file. Problems of the file are reported later, as BROKEN: the thread opens it. Only the
 * loop's thread uses the allocator; the store's thread uses malloc. ENOMEM, EINVAL, EIO. */
int hocket__store_sqlite_open(
    const struct hocket__store_options *o, struct hocket__store **out, struct hocket_error *err);

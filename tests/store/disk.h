/* A disk that fails, for SQLite: a VFS in front of the system's, which becomes the default one.
 *
 * - Each write, truncation and sync is counted. From the n-th on a number of them fail, with an I/O
 *   error or as full; or the process is killed by SIGKILL there.
 * - What was written since a file's last sync is remembered. disk_lose_power makes files of what a disk
 *   may hold after a loss of power: what was synced, and of the rest some writes, in part torn.
 *
 * For one connection at a time. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

enum disk_fault {
    DISK_WELL,
    DISK_ERROR,       /* SQLITE_IOERR_… */
    DISK_FULL,        /* SQLITE_FULL for writes; syncs go well */
    DISK_OFF,         /* I/O errors for ever */
    DISK_KILL,        /* SIGKILL before the operation … */
    DISK_KILL_BEHIND, /* … or behind it */
};

/* Once in a process. Connections checkpoint every few pages, so that this is seen, too. */
void disk_install(void);

/* Counts from 1 again; from the n-th operation on `count` of them fail so. n 0: none. */
void disk_begin(enum disk_fault fault, unsigned n, unsigned count);
/* How many there were; what was to fail did. */
unsigned disk_count(void);
bool disk_struck(void);
/* An operation of another file of the store: whether it fails; and what comes behind it. */
bool disk_strikes(void);
void disk_done(bool struck);
bool disk_kills_behind(void);
/* Forgets all files: they are as they are. */
void disk_forget(void);

/* Writes the files anew, chance by `seed`, and forgets them. Nothing may have them open. */
void disk_lose_power(uint64_t seed);
/* The same in the middle of work, at the end of the process. Does not return. */
void disk_power_off(uint64_t seed);
/* From here on each operation takes so long. */
void disk_slow(unsigned us);

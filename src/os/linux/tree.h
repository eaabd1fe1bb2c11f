/* All processes below a subreaper: however they were detached (a daemon, setsid, a parent that
 * died), they stay its descendants. */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct hocket__tree {
    int64_t processes; /* that are no zombies */
    int64_t resident;  /* bytes; what several share counts for each */
    int64_t written;   /* bytes, to disks, also by processes that were reaped */
    bool hidden;       /* one of them lets nobody see what it writes */
};

/* Calls cb for every descendant of the calling process; children have the depth 1. */
void hocket__tree_each(void (*cb)(void *ud, pid_t pid, int depth), void *ud);

/* Counts the descendants of the calling process. */
struct hocket__tree hocket__tree_measure(void);

/* How many tasks (threads) the calling user has on this machine. */
int64_t hocket__tree_of_user(void);

/* Sends a signal to every descendant at least `depth` generations below (1: the children too).
 * Returns how many there were that are no zombies. */
int64_t hocket__tree_signal(int depth, int signal);

/* Stops every descendant, so that none can fork while others are killed. Returns how many. */
int64_t hocket__tree_stop(void);

/* Ends every descendant and reaps all children. Returns how many descendants there were. */
int64_t hocket__tree_end(void);

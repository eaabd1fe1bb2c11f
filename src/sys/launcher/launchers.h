/* Where launchers come from (sys/launch.h): a process beside the host, begun with the first
 * program, which forks one for each.
 *
 *     host ──four descriptors──> nursery ──fork──> launcher ──fork──> program
 *
 * Executing the host's program for each launcher would load all its libraries again, which takes
 * longer than /bin/true does as a whole; a fork of something small takes a fraction of that. The
 * nursery knows no request: that goes from the host to the launcher directly. It ends when the
 * host closes its socket or dies; launchers do not need it any more by then. */
#pragma once

#include "base/buf.h"
#include "base/status.h"

struct hocket__launchers {
    struct hocket__buf path; /* of the program that the nursery was begun with, and a NUL */
    int socket;              /* to it, -1: there is none */
    int pidfd;
};

void hocket__launchers_init(struct hocket__launchers *l, const struct hocket_allocator *a);

/* Starts a launcher with copies of these descriptors as its 0 to 3, from the program at `path`: a
 * new nursery is begun when there is none, or one of another program. ENOTFOUND, EIO; EUNSUPPORTED
 * when the program is none that acts as the launcher. */
int hocket__launchers_start(
    struct hocket__launchers *l, const char *path, const int *fds, struct hocket_error *err);

/* Ends the nursery and waits for it. */
void hocket__launchers_close(struct hocket__launchers *l);

/* In a forked copy of the host's process: leaves the nursery to the original. */
void hocket__launchers_forget(struct hocket__launchers *l);

/* How programs are started (os/launch.h): the host's side of it first, then the launchers'. */
#pragma once

#include "base/buf.h"
#include "base/status.h"

/* ---- launchers.c: the host's side ------------------------------------------------ */

/* Where launchers come from (os/launch.h): a process beside the host, begun with the first
 * program, which forks one for each.
 *
 *     host ──four descriptors──> nursery ──fork──> launcher ──fork──> program
 *
 * Executing the host's program for each launcher would load all its libraries again, which takes
 * longer than /bin/true does as a whole; a fork of something small takes a fraction of that. The
 * nursery knows no request: that goes from the host to the launcher directly. It ends when the
 * host closes its socket or dies; launchers do not need it any more by then. */
struct hocket__launchers {
    struct hocket__buf path; /* of the program that the nursery was begun with, and a NUL */
    int socket;              /* to it, -1: there is none */
    int pidfd;
};

void hocket__launchers_init(struct hocket__launchers *l, const struct hocket_allocator *a);

/* Starts a launcher with copies of the descriptors as its 0 to 3, from the program at `path`.
 * Starts a new nursery when there is none, or when it belongs to another program. ENOTFOUND, EIO;
 * EUNSUPPORTED when the program does not act as a launcher. */
int hocket__launchers_start(
    struct hocket__launchers *l, const char *path, const int *fds, struct hocket_error *err);

/* Ends the nursery and waits for it. */
void hocket__launchers_close(struct hocket__launchers *l);

/* In a forked copy of the host's process: leaves the nursery to the original. */
void hocket__launchers_after_fork(struct hocket__launchers *l);

/* ---- nursery.c, launcher.c: the launchers' side ------------------------------------ */

/* The nursery takes descriptors from the host at descriptor 3: four in each message, which are
 * made the standard input, output and error of the program and the launcher's own descriptor 3, a
 * socket to the host. */
#define HOCKET__LAUNCHER_SOCKET 3
#define HOCKET__LAUNCHER_FDS    4
/* argv[1] of a program that is to act as the nursery. */
#define HOCKET__LAUNCHER_WORD "--hocket-launcher"

/* Forks a launcher for each message until the host has gone, and ends the process. Each launcher
 * runs one program as the request on its socket says. */
_Noreturn void hocket__launcher_main(void);

struct hocket__launch_result;

/* _exit, after the counts of a build for coverage were written. */
_Noreturn void hocket__launcher_leave(int status);

/* One launcher's work, in its own process. */
_Noreturn void hocket__launcher_run(void);

void hocket__launcher_send(int socket, const struct hocket__launch_result *r);

/* The program that a launcher runs: started inside its sandbox, with the reason when it cannot
 * start.
 */
#pragma once

#include "os/launch.h"

#include <sys/types.h>

struct hocket__program {
    const struct hocket__launch *spec;
    const char *tmp; /* its scratch directory, "" when the sandbox has its own */
    pid_t pid;       /* of it, or of bubblewrap */
    int report;      /* what the child says before exec, or bubblewrap about the program */
};

/* Forks and executes it. 0, or errno. */
int hocket__program_start(struct hocket__program *p);

/* When it is over: sets `started`, or `status` and `message`. One that was `killed` may have had no
 * time to say that it was started. */
void hocket__program_report(
    struct hocket__program *p, bool killed, struct hocket__launch_result *out);

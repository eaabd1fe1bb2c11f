/* `hocket run --ping URL`: tells a dead man's switch that the run begins, and how it ended. The run does not wait for the first one. */
#pragma once

#include <hocket/hocket.h>

#include "cli/screen.h"

struct cli_ping {
    const char *url; /* NULL: no ping is sent */
    struct cli_screen *screen;
    hocket_host *host;
    int open; /* pings that are on their way */
};

void cli_ping_start(struct cli_ping *p);
/* Tells how it ended, by its exit code, unless it `waits` to be resumed; then waits for what is on its way, some seconds at
 * most. `run`: its id, or "". */
void cli_ping_end(struct cli_ping *p, const char *run, int exit_code, bool waits);

/* `--watch`: is told of changes to a target, and says them on a line. */
#pragma once

#include <hocket/hocket.h>

#include "cli/screen.h"

struct cli_watcher {
    hocket_host *host;
    struct cli_screen *screen;
    uint64_t call; /* the operation that watches; 0: none, or it has ended */
    bool changed;  /* since cli_watcher_wait returned */
};

/* Begins to watch. What cannot be watched is said; then `call` is 0. */
void cli_watcher_start(
    struct cli_watcher *w, hocket_host *host, struct cli_screen *screen, const char *target);

/* Waits for a change that can be used: false when a signal came, or watching has ended. */
bool cli_watcher_wait(struct cli_watcher *w);

/* `--watch`: gets changes to a target, and prints each on a line.
 *
 * A run may write beside its agents (`> out.txt`, a report), which is a change as well. When the
 * same files change again and again while it runs, or right after, it is not run again: that would
 * never end, and costs. */
#pragma once

#include <hocket/hocket.h>

#include "cli/run_args/run_args.h"
#include "cli/screen.h"
#include "cli/text.h"

struct cli_watcher {
    hocket_host *host;
    struct cli_screen *screen;
    uint64_t call; /* the operation that watches; 0: none, or it has ended */
    bool watching; /* the files were looked at: what changes from now on is noticed */
    bool changed;  /* since cli_watcher_wait returned */
    bool running;
    int64_t ended_ms;   /* the last time that it waited for a change */
    int64_t ended_at;   /* … by the clock that files have */
    struct cli_buf own; /* the files that changed while it ran, or right after */
    int times;          /* … in so many runs on end */
};

/* Begins to watch the target of `run`, and returns after the first scan. A run that starts then begins with the scanned files, and
 * later changes count, even the run's own. Reports what cannot be watched; then `call` is 0. */
void cli_watcher_start(struct cli_watcher *w, hocket_host *host, struct cli_screen *screen,
    const struct cli_run_args *run);

/* Frees what it keeps. */
void cli_watcher_end(struct cli_watcher *w);

/* Waits for a change that can be used: false when a signal came, or watching has ended. */
bool cli_watcher_wait(struct cli_watcher *w);

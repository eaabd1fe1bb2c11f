/* The event file: JSON lines, written by a thread of its own behind a bounded queue.
 *
 *     run ── cli_sink_add ──▶ [ queue, 64 MiB ] ──▶ thread ──▶ file, FIFO, pipe
 *              never waits        full: lost                     may be slow, full, gone
 *
 * Nothing that happens to the file reaches the run. A FIFO is opened when it gets a reader. What
 * went wrong, and how many events were lost, is said by cli_sink_end. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "cli/screen.h"

struct cli_sink;

/* `path` "-" is stdout. A file that is there is gone on with, a new one is its owner's alone. NULL with
 * *error set when it cannot be opened: an errno, EWOULDBLOCK when another run writes it, ELOOP when it
 * is a symbolic link (what is below /dev and /proc excepted). */
struct cli_sink *cli_sink_open(const char *path, int *error);
/* Such an error in words. */
const char *cli_sink_error(int error);

/* Queues one line without its end. The last line of a run has a place kept free for it. */
void cli_sink_add(struct cli_sink *s, const char *json, size_t n, bool last);

/* Gives the thread `seconds` to write the rest, less when `give_up` returns true. Appends one
 * sentence to `problem` when events were lost. Frees the sink. */
void cli_sink_end(
    struct cli_sink *s, double seconds, bool (*give_up)(void), struct cli_buf *problem);
/* The same with a few seconds, which a signal cuts short unless its command is `leaving` already, and the sentence as a warning. NULL is fine. */
void cli_sink_close(struct cli_sink *s, bool leaving, struct cli_screen *screen);

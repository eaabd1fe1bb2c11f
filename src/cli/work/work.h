/* What the files about workers share. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "cli/args/args.h"

/* `hocket work --processes N`: N processes of this program with these arguments, each of which is started again when it
 * ends without having been asked to. Returns the exit code, when all have ended. */
int cli_work_processes(int64_t count, char **argv);

/* Becomes this program with these arguments. Returns only where that cannot be, after having said why: an exit code. */
int cli_work_begin(char **argv);

/* Prints what a run came to that has ended, as `hocket wait` does. `store`: that of --store, or NULL. The exit code that the run had. */
int cli_wait_ended(const char *command, const char *store, const char *id, bool json);

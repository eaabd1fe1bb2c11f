/* Where the program keeps runs: one rule for all commands.
 *
 *     --store FILE|URL|off, else HOCKET_STORE, else $XDG_STATE_HOME/hocket/runs.db,
 *     else ~/.local/state/hocket/runs.db */
#pragma once

#include <stdbool.h>

#include <hocket/hocket.h>

#include "cli/buf.h"

#define CLI_STORE_HELP                                                                             \
    "the store: a file, a PostgreSQL URL, or off; default: HOCKET_STORE, then the file\n"          \
    "in your home"

/* "word:/…": postgres://…, or what is refused. */
bool cli_store_is_url(const char *store);
/* What may be printed of it: no password. */
void cli_store_show(struct cli_buf *out, const char *store);

/* Sets store, durability, store_days and store_bytes, and nothing else: 30 days, 1 GB; of a database none of either. `store` and `durability`
 * are what the options said, or NULL. o->store is an absolute path or a URL, valid until the next call, or NULL: none. It is
 * relative to the current directory, so ask before that changes. Nothing is made: the store makes its directory and
 * its file, for the user alone, when it is opened to keep the first run. */
void cli_store_options(struct hocket_options *o, const char *store, const char *durability);
/* The same for commands that make runs: a store that nobody named is done without where it cannot be used; where there is no
 * place for one, a line on stderr says so. */
void cli_store_for_runs(struct hocket_options *o, const char *store, const char *durability);

/* The same for a command whose runs other processes do: NULL, or what is wrong: there is no store, or one that ends with this
 * process. */
const char *cli_store_for_others(
    struct hocket_options *o, const char *store, const char *durability);

/* The same for a command that only looks: nothing is removed because it is old. False after having said on
 * stderr that there is nothing to look at; then nothing is to be opened, which would make it. */
bool cli_store_look(struct hocket_options *o, const char *command, const char *store);

/* Whether what is kept there outlives this process: not in a store in memory. `store`: what --store said, or NULL. */
bool cli_store_outlives(const char *store);
/* The store that nobody has named cannot be used, so that this process keeps nothing: then nothing outlives it. */
void cli_store_lost(void);

/* For messages: "hocket resume ID --store FILE", as the person would have to write it; nothing for NULL. */
void cli_store_hint(struct cli_buf *out, const char *store);

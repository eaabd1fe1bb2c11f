/* A run as one page that needs nothing else: no server, no network. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct cli_html {
    const char *command, *id, *store; /* store: that of --store, or NULL */
    const char *file;                 /* "-": stdout */
    int64_t at;                       /* the last record; 0: all */
    bool force;                       /* also in the place of another file */
};

/* Writes it, whole or not at all, readable by the user alone. Returns the exit code, after having said what went wrong. */
int cli_html_write(const struct cli_html *h);

/* A table: cells are gathered, and laid out when all are there. */
#pragma once

#include "cli/markdown/page.h"

#define CLI_TABLE_COLUMNS 24
#define CLI_TABLE_CELLS   2000

struct cli_table {
    struct cli_styled *cells; /* row by row, the head first */
    size_t count, columns;
};

/* Takes the text as the next cell; what is too much is left out. */
void cli_table_add(struct cli_table *t, struct cli_styled *cell);
/* Writes it: in columns where they fit, else each row as lines "head: cell"; and frees it. */
void cli_table_write(struct cli_table *t, struct cli_page *page);
void cli_table_free(struct cli_table *t);

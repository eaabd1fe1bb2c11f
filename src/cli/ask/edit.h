/* Line editing with libedit, which is loaded when a person types for the first time: a start that
 * needs none of it does not pay for it, and where it is not installed lines are read as the
 * terminal gives them. */
#pragma once

#include <stddef.h>

#include "cli/buf.h"

struct cli_edit;

/* Gives the next byte of stdin: 1, 0 at its end, -1 when nobody wants it any more. */
typedef int (*cli_edit_byte_cb)(void *ud, unsigned char *out);

/* NULL without libedit. */
struct cli_edit *cli_edit_new(cli_edit_byte_cb next, void *ud);
void cli_edit_free(struct cli_edit *e);

/* One line without its end: 1, 0 at the end of the input, -1 when it was not wanted any more. */
int cli_edit_line(struct cli_edit *e, const char *prompt, struct cli_buf *out);

/* Characters that stand in the line now. */
size_t cli_edit_typed(const struct cli_edit *e);

/* For the arrow keys. The file may be absent; saving returns an errno, or 0. */
void cli_edit_remember(struct cli_edit *e, const char *line);
void cli_edit_load(struct cli_edit *e, const char *path);
int cli_edit_save(struct cli_edit *e, const char *path);

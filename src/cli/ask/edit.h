/* Line editing with libedit. The library is loaded when a person types for the first time, so other starts do not
 * pay for it. Where it is not installed, lines are read as the terminal gives them. */
#pragma once

#include <stddef.h>

#include "cli/buf.h"

struct cli_edit;

/* Gives the next byte of stdin: 1, 0 at its end, -1 when nobody wants it any more. */
typedef int (*cli_edit_byte_cb)(void *ud, unsigned char *out);

/* Fills *words with what the end of the line's first n bytes may become, each ended by a line end; *from: bytes of
 * the line that stay. */
typedef void (*cli_edit_words_cb)(
    void *ud, const char *line, size_t n, struct cli_buf *words, size_t *from);

/* NULL without libedit. */
struct cli_edit *cli_edit_new(cli_edit_byte_cb next, void *ud);
void cli_edit_free(struct cli_edit *e);

/* From now on the tab key completes; `ud` is that of the bytes. */
void cli_edit_complete(struct cli_edit *e, cli_edit_words_cb words);

/* Draws the prompt and what is typed anew, in a line that is empty. */
void cli_edit_redraw(struct cli_edit *e);

/* One line without its end: 1, 0 at the end of the input, -1 when it was not wanted any more. */
int cli_edit_line(struct cli_edit *e, const char *prompt, struct cli_buf *out);

/* Characters that stand in the line now. */
size_t cli_edit_typed(const struct cli_edit *e);

/* For the arrow keys. The file may be absent; saving returns an errno, or 0. */
void cli_edit_remember(struct cli_edit *e, const char *line);
void cli_edit_load(struct cli_edit *e, const char *path);
int cli_edit_save(struct cli_edit *e, const char *path);

/* stdout: the answer, and nothing else.
 *
 * A stdout that fails (closed, a full disk, a reader that went away) never ends the process: the
 * first failure is kept, later text is dropped, and cli_out_end tells of it. On a terminal
 * control characters in the text are shown, not obeyed. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

void cli_out_text(const char *p, size_t n);
/* Text that is ours, escapes and all. */
void cli_out_styled(const char *p, size_t n);
void cli_out_line(const char *p, size_t n); /* with a line end, unless the text has one */
bool cli_out_is_terminal(void);

/* 0, or the errno of the first failure. */
int cli_out_failure(void);

/* Says on stderr when something could not be written. Returns CLI_EXIT_DONE or _FAILED. */
int cli_out_end(void);

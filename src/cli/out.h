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
/* A line of JSON: what a terminal would obey stands in it as escapes, also in a pipe, whose end may be a terminal. */
void cli_out_json(const char *p, size_t n);
bool cli_out_is_terminal(void);

/* From now on only these functions reach stdout: what scripts, modules in C and programs write to it goes to stderr. For commands
 * whose stdout is JSON or a report, before any script is loaded. Where no descriptor is left it stays as it is. */
void cli_out_claim(void);
/* The opposite, before another program takes this one's place. */
void cli_out_release(void);
/* Its descriptor, also where it is claimed. */
int cli_out_fd(void);
/* Text of a script, in its order with what the script writes by the C library's stdout: it is out after cli_out_flush, and goes to
 * stderr where the script serves a protocol over stdout before that. */
void cli_out_script(const char *p, size_t n);
void cli_out_flush(void);

/* 0, or the errno of the first failure. */
int cli_out_failure(void);

/* Says on stderr when something could not be written. Returns CLI_EXIT_DONE or _FAILED. */
int cli_out_end(void);

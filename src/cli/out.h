/* stdout: the answer, and nothing else. And files, which are there whole or not at all.
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
/* Lines for people, such as a table: control characters are shown, also in a pipe, whose end may be a terminal. An answer is
 * cli_out_text: in a pipe it is data. */
void cli_out_shown(const char *p, size_t n);
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
/* Before anything is written: the C library gathers what scripts write, unless it is a terminal's. musl's would write the first line at
 * once, and that of a script that serves a protocol afterwards would be in the protocol. */
void cli_out_give(void);
void cli_out_flush(void);

/* 0, or the errno of the first failure. */
int cli_out_failure(void);
/* Something of stdout was lost elsewhere. */
void cli_out_fail(int error);

/* Says on stderr when something could not be written. Returns CLI_EXIT_DONE or _FAILED. */
int cli_out_end(void);

/* ---- Files ------------------------------------------------------------------------------------ */

/* A file is written beside, and takes its name when it is whole: who reads the name meets what was there, or all of it. A pipe or
 * a device is written to as it is. */
struct cli_part {
    int fd;     /* to be written to */
    char *path; /* FILE.XXXXXX, with a name of its own; NULL: nothing takes its name */
};

/* Begins `file`, for its owner alone; "-" is stdout. False with errno. */
bool cli_part_open(struct cli_part *p, const char *file);
/* Ends it: with `whole` it is on the disk and has its name, else it is gone. False with errno where that could not be. */
bool cli_part_close(struct cli_part *p, const char *file, bool whole);

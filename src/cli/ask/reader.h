/* Lines that a person types or a pipe brings, while the host goes on working.
 *
 *     cli_reader_line ──▶ poll: stdin ──▶ a line
 *                            └─ the host's descriptor ──▶ hocket_pump, go_on()
 *
 * Nothing is read before it is asked for, but from a pipe what lies beyond a line is kept for the
 * next one. A line that is no UTF-8 is made so with replacement characters. */
#pragma once

#include <stdbool.h>

#include <hocket/hocket.h>

#include "cli/ask/edit.h"

enum cli_read {
    CLI_READ_LINE,
    CLI_READ_END,     /* Ctrl-D, the end of the input, a terminal that went away */
    CLI_READ_STOPPED, /* go_on said no */
};

struct cli_reader {
    hocket_host *host;
    bool (*go_on)(
        void *ud); /* called whenever the host has worked: whether the line is still wanted */
    void *ud;
    struct cli_buf kept; /* read and not yet handed out */
    bool terminal, ended;
    bool early; /* something was typed before the line was edited */
    bool tried; /* whether there is line editing */
    struct cli_edit *edit;
    const char *history;        /* a file, or NULL; set before the first line */
    cli_edit_words_cb complete; /* for the tab key, or NULL; likewise. Its ud is `ud` */
    const char *prompt;         /* of the line that is read now */
};

/* Sets it up for stdin. `terminal`: prompts are shown, and a person types. */
void cli_reader_start(
    struct cli_reader *r, hocket_host *host, bool terminal, bool (*go_on)(void *ud), void *ud);
int cli_reader_end(struct cli_reader *r); /* an errno when the history could not be saved, or 0 */

/* The characters that stand in the line that is being typed; -1: nobody knows. */
long cli_reader_typed(const struct cli_reader *r);

/* Something was written over the line that is being typed: draws it anew. */
void cli_reader_redraw(struct cli_reader *r);

/* The line is worth to be found again by the arrow keys. */
void cli_reader_remember(struct cli_reader *r, const char *line);

/* Throws away what a person has typed so far: it was typed before what is asked now. A pipe's lines are
 * answers in their turn, and stay. */
void cli_reader_forget(struct cli_reader *r);

/* Puts the next line, without its end, into *out. The prompt goes to stderr. */
enum cli_read cli_reader_line(struct cli_reader *r, const char *prompt, struct cli_buf *out);

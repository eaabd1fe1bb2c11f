/* Reports on stdout: lines of columns and paragraphs, in colours where stdout is a terminal. What comes from models,
 * tools and stores is shown and never obeyed, in a pipe as well: a pager obeys. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "cli/screen.h"

struct cli_paper {
    struct cli_screen screen; /* of stdout, or of *onto: what it can show */
    struct cli_screen *onto;  /* where lines go; NULL: stdout */
    struct cli_buf line;      /* that is being written */
    bool terminal;
};

void cli_paper_start(struct cli_paper *p);
/* On stderr, above the rows of a live view. */
void cli_paper_start_on(struct cli_paper *p, struct cli_screen *screen);
void cli_paper_end(struct cli_paper *p);

/* What is ours, in the tone; `text` may hold anything, on one line, cut to `columns` (0: not). */
void cli_paper_add(struct cli_paper *p, enum cli_tone tone, const char *text);
void cli_paper_addf(struct cli_paper *p, enum cli_tone tone, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));
void cli_paper_shown(
    struct cli_paper *p, enum cli_tone tone, const char *text, size_t n, size_t columns);
/* Blanks until the line is so wide. */
void cli_paper_to(struct cli_paper *p, size_t column);
/* Columns that are left in the line. */
size_t cli_paper_left(const struct cli_paper *p);
/* Ends the line. */
void cli_paper_line(struct cli_paper *p);

/* A text of some lines from here on, each below the other at `indent`, wrapped at words on a terminal. */
void cli_paper_text(
    struct cli_paper *p, enum cli_tone tone, const char *text, size_t n, size_t indent);

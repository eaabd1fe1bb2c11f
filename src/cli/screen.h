/* stderr: permanent lines, and below them on a terminal the rows of the live view, which are
 * erased and drawn again.
 *
 *     ✓ food          tasks 3, 4 done in 1.2 s      permanent, scrolls up
 *     ⠹ sightseeing   Choosing sights       3 s     live, at most ten times a second
 *       ━━━━━━━━━───  4/6 tasks · 4.2k in …
 *
 * Everything goes out in whole writes, the rows always erased before anything else is written to
 * either stream, so the two never mix on a terminal. What is not a terminal gets plain lines
 * with the time. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <time.h>

#include "cli/buf.h"

enum cli_tone { CLI_PLAIN, CLI_GOOD, CLI_DIM, CLI_ASK, CLI_WARN, CLI_BAD };

#define CLI_MAX_ROWS 40

/* Rows of a live view, each narrower than the terminal. */
struct cli_rows {
    struct cli_buf text; /* rows with a line end between them, colours and all */
    size_t width[CLI_MAX_ROWS], count;
};

struct cli_screen {
    bool terminal, color, live, unicode;
    size_t columns, lines; /* of the terminal */
    size_t name_width;     /* of the column of names */
    struct cli_rows shown; /* what stands on the screen now; count 0: nothing */
    double drawn_at;
    unsigned frame;
    time_t at;     /* the time of plain lines; 0: now */
    bool mid_line; /* stdout, on this terminal, stands in the middle of a line */
    bool in_text;  /* an answer is coming: no rows below it */
    bool held;     /* a person is typing: lines wait in `waiting` */
    struct cli_buf waiting;
    size_t passed_over; /* lines that found no room there */
};

/* `live`: whether a live view is wanted; it is on only where the terminal can show it. */
void cli_screen_start(struct cli_screen *s, bool live, bool color);
void cli_screen_end(struct cli_screen *s); /* erases the rows and shows the cursor */

void cli_screen_measure(struct cli_screen *s); /* after a change of the terminal's size */

/* A line of the run: `who` (may be NULL) and a shown text, with a mark or the time in front. */
void cli_screen_line(struct cli_screen *s, enum cli_tone tone, const char *who, const char *text);

/* A line of the program itself, which may hold line ends: "error: …". */
void cli_screen_say(struct cli_screen *s, enum cli_tone tone, const char *text);

/* Lines that are made up already: shown text (cli/text.h), colours, ends of lines. */
void cli_screen_put(struct cli_screen *s, const struct cli_buf *lines);

void cli_screen_erase(struct cli_screen *s);

/* While somebody types: the rows are gone, the cursor is shown, and lines of the run
 * (cli_screen_line) wait; what the program itself says does not. */
void cli_screen_hold(struct cli_screen *s);
void cli_screen_release(struct cli_screen *s);
void cli_screen_draw(struct cli_screen *s, struct cli_rows *rows); /* takes the rows' text */

double cli_now(void); /* seconds on a clock that never goes back */

/* The escape that begins a tone, "" without colours; `cli_plain` ends it. */
const char *cli_screen_tone(const struct cli_screen *s, enum cli_tone tone);
const char *cli_screen_plain(const struct cli_screen *s);

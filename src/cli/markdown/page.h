/* Lines on a terminal: styled text, wrapped at words behind marks of lists and quotes. */
#pragma once

#include "cli/markdown/markdown.h"

/* Bits of a style. */
enum cli_style {
    CLI_STYLE_BOLD = 1,
    CLI_STYLE_ITALIC = 2,
    CLI_STYLE_CODE = 4,
    CLI_STYLE_LINK = 8,
    CLI_STYLE_STRIKE = 16,
    CLI_STYLE_FAINT = 32
};

/* Text with a style for each byte. A '\n' in it is a line end that has to be. */
struct cli_styled {
    struct cli_buf text, styles;
};

void cli_styled_add(struct cli_styled *s, const char *p, size_t n, int style);
void cli_styled_reset(struct cli_styled *s);
void cli_styled_free(struct cli_styled *s);

#define CLI_PAGE_LEVELS 12 /* deeper items are indented like the last level */

/* What lines of a list item or quote begin with: the mark in the first, as much room in the others. */
struct cli_level {
    char mark[24];
    size_t width;
    bool quote, used;
};

struct cli_page {
    struct cli_markdown *m;
    struct cli_buf *out;
    struct cli_level levels[CLI_PAGE_LEVELS];
    size_t depth;
};

/* A quote's mark is drawn in each line. */
void cli_page_push(struct cli_page *page, const char *mark, bool quote);
void cli_page_pop(struct cli_page *page);
/* Columns that are left behind all marks. */
size_t cli_page_room(const struct cli_page *page);
/* Writes the text, wrapped; and resets it. Nothing when it is empty. */
void cli_page_text(struct cli_page *page, struct cli_styled *s);
/* One line that is not wrapped: code, a row of a table. */
void cli_page_line(struct cli_page *page, const char *p, const char *styles, size_t n);

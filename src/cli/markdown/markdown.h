/* Markdown on a terminal: an answer as it is meant, wrapped at words, also while it comes.
 *
 *     feed ──> blocks that are complete ──> styled lines
 *                └─ the rest is the tail: shown as it is until it is complete
 *
 * Blocks are what blank lines, list items and headings part; each is read by md4c for itself, so
 * that a long answer is never read anew. What the text holds of escapes and control characters is
 * made visible before: all escapes that come out are ours. Without md4c on the machine, and for a
 * block of more than 64 KiB, text is wrapped and nothing else. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "cli/buf.h"

struct cli_screen;

struct cli_markdown {
    size_t columns;      /* at least 20 are used */
    bool color, unicode; /* whether there may be escapes, and lines drawn */
    struct cli_buf tail; /* what came and is not complete, as it came */
    bool begun;          /* something was written */
    bool gap;            /* a blank line belongs before the next block */
    bool in_list;        /* the last block was an item: the next one is no new list */
    size_t fence;        /* inside of a fence: of how many characters; and which, and where */
    size_t fence_indent;
    char fence_mark;
};

/* {0} with the first three members set is a fresh one; to be freed with cli_buf_free(&m->tail). */

/* Takes text, and appends the lines of all blocks that it completes. */
void cli_markdown_feed(struct cli_markdown *m, const char *p, size_t n, struct cli_buf *out);
/* The text is over: appends the tail's lines. It can begin anew then. */
void cli_markdown_end(struct cli_markdown *m, struct cli_buf *out);

/* Writes an answer to stdout, with a line end: as Markdown on a terminal, unless it is JSON, and elsewhere as it came. */
void cli_answer(const struct cli_screen *screen, const char *p, size_t n);

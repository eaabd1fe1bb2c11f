/* An answer on a terminal while it comes: what is complete stands there as it is meant, the rest as it
 * came, until it is complete and is written over.
 *
 * Lines that are complete are written once and never touched; the tail is erased and written again.
 * A tail that no longer fits the screen stays as it came: what has scrolled away cannot be erased. */
#include "cli/chat/chat_impl.h"

#include <string.h>

#include "cli/out.h"
#include "cli/text.h"

/* The tail stands on the screen without its last line end, so that the cursor is in the middle of a
 * line for as long as nothing else was written. */
static bool is_below(const struct cli_chat *c)
{
    return c->stream.shown > 0 && c->screen.mid_line;
}

static void forget_tail(struct cli_chat *c)
{
    c->stream.shown = c->stream.row = c->stream.column = 0;
}

/* What has scrolled away stays as it came. */
static void erase_tail(struct cli_chat *c)
{
    struct cli_buf b = { 0 };
    size_t most = c->screen.lines > 1 ? c->screen.lines - 1 : 0,
           up = c->stream.row < most ? c->stream.row : most;
    if (is_below(c)) {
        cli_buf_adds(&b, "\r");
        if (up > 0)
            cli_buf_addf(&b, "\033[%zuA", up);
        cli_buf_adds(&b, "\033[J");
        cli_out_styled(b.p, b.n);
        cli_buf_free(&b);
        c->screen.mid_line = false;
    }
    forget_tail(c);
}

/* As a terminal does, which breaks a line when the next character has no room in it. */
static void advance(struct cli_chat *c, const char *p, size_t n)
{
    for (size_t i = 0, len; i < n; i += len ? len : 1) {
        unsigned code;
        len = cli_utf8_next(p + i, n - i, &code);
        size_t width = cli_text_width(p + i, len ? len : 1);
        if (p[i] == '\t')
            width = 8 - c->stream.column % 8;
        if (p[i] == '\n' || c->stream.column + width > c->screen.columns) {
            c->stream.row++;
            c->stream.column = 0;
        }
        c->stream.column += p[i] == '\n' ? 0 : width;
    }
}

static void add(struct cli_chat *c, struct cli_buf *out, const char *p, size_t n)
{
    advance(c, p, n);
    cli_buf_add(out, p, n);
}

/* A word that has no room in its line begins the next one. */
static void add_words(struct cli_chat *c, struct cli_buf *out, const char *p, size_t n)
{
    size_t columns = c->screen.columns;
    for (size_t i = 0, end; i < n;) {
        for (end = i; end < n && p[end] != ' ' && p[end] != '\n';)
            end++;
        size_t width = cli_text_width(p + i, end - i);
        if (width <= columns && c->stream.column > 0 && c->stream.column + width > columns)
            add(c, out, "\n", 1);
        add(c, out, p + i, end - i);
        for (i = end; i < n && (p[i] == ' ' || p[i] == '\n'); i++)
            if (p[i] == '\n' || c->stream.column < columns)
                add(c, out, p + i, 1);
    }
}

/* How much of the tail can be shown: whole words, so that none is cut at the end of a line. A word wider than the
 * screen is cut anyway. */
static size_t whole_words(const struct cli_chat *c)
{
    const struct cli_buf *tail = &c->stream.markdown.tail;
    size_t end = tail->n, shown = c->stream.shown;
    while (end > shown && tail->p[end - 1] == '\n')
        end--;
    size_t whole = end;
    while (whole > shown && tail->p[whole - 1] != ' ' && tail->p[whole - 1] != '\n')
        whole--;
    return end - whole < c->screen.columns ? whole : end;
}

static void show_tail(struct cli_chat *c)
{
    const struct cli_buf *tail = &c->stream.markdown.tail;
    struct cli_buf text = { 0 }, shown = { 0 };
    size_t end = whole_words(c);
    if (end <= c->stream.shown)
        return;
    cli_text_show(&text, tail->p + c->stream.shown, end - c->stream.shown, true);
    add_words(c, &shown, cli_buf_text(&text), text.n);
    cli_out_styled(shown.p, shown.n);
    cli_buf_free(&text);
    cli_buf_free(&shown);
    c->stream.shown = end;
    c->screen.mid_line = true;
}

static void write_lines(struct cli_chat *c, struct cli_buf *lines)
{
    if (lines->n > 0)
        erase_tail(c);
    cli_out_styled(lines->p, lines->n);
    cli_buf_free(lines);
}

void cli_stream_add(struct cli_chat *c, const char *p, size_t n)
{
    struct cli_markdown *m = &c->stream.markdown;
    struct cli_buf lines = { 0 };
    cli_screen_measure(&c->screen);
    m->columns = c->screen.columns;
    m->color = c->screen.color;
    m->unicode = c->screen.unicode;
    if (c->stream.shown > 0 && !c->screen.mid_line)
        forget_tail(c); /* something else was written below it: it stands there once more */
    cli_markdown_feed(m, p, n, &lines);
    write_lines(c, &lines);
    show_tail(c);
}

void cli_stream_end(struct cli_chat *c)
{
    struct cli_buf lines = { 0 };
    if (c->stream.markdown.tail.n == 0) {
        forget_tail(c);
        return;
    }
    cli_markdown_end(&c->stream.markdown, &lines);
    erase_tail(c);
    write_lines(c, &lines);
}

/* Reports are put together line by line, so that columns can be told from what the line has so far.
 * Escapes are ours alone, as texts have theirs made visible before they get here; so the width is
 * what is left without them. */
#include "cli/paper.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "cli/out.h"
#include "cli/text.h"

/* Of what is no terminal. */
#define COLUMNS 100

/* What a screen knows of colours and characters holds for stdout too, its size does not: stdout may
 * go elsewhere. */
void cli_paper_start(struct cli_paper *p)
{
    struct winsize size = { 0 };
    *p = (struct cli_paper){ .terminal = cli_out_is_terminal() };
    cli_screen_start(&p->screen, false, true);
    p->screen.color = p->screen.color && p->terminal;
    p->screen.columns = COLUMNS;
    if (p->terminal && ioctl(cli_out_fd(), TIOCGWINSZ, &size) == 0 && size.ws_col > 0)
        p->screen.columns = size.ws_col < 40 ? 40 : size.ws_col;
}

void cli_paper_start_on(struct cli_paper *p, struct cli_screen *screen)
{
    *p = (struct cli_paper){ .screen = *screen, .onto = screen, .terminal = screen->terminal };
    if (!p->terminal)
        p->screen.columns = COLUMNS;
    else if (p->screen.columns < 40)
        p->screen.columns = 40;
}

void cli_paper_end(struct cli_paper *p)
{
    if (p->line.n > 0)
        cli_paper_line(p);
    cli_buf_free(&p->line);
    if (!p->onto)
        cli_screen_end(&p->screen);
}

static void put(struct cli_paper *p, enum cli_tone tone, const char *text, size_t n)
{
    const char *begin = tone == CLI_PLAIN ? "" : cli_screen_tone(&p->screen, tone);
    cli_buf_adds(&p->line, begin);
    cli_buf_add(&p->line, text, n);
    cli_buf_adds(&p->line, *begin ? cli_screen_plain(&p->screen) : "");
}

void cli_paper_add(struct cli_paper *p, enum cli_tone tone, const char *text)
{
    put(p, tone, text, strlen(text));
}

void cli_paper_addf(struct cli_paper *p, enum cli_tone tone, const char *fmt, ...)
{
    char text[256];
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(text, sizeof(text), fmt, ap);
    va_end(ap);
    cli_paper_add(p, tone, text);
}

void cli_paper_shown(
    struct cli_paper *p, enum cli_tone tone, const char *text, size_t n, size_t columns)
{
    struct cli_buf shown = { 0 }, cut = { 0 };
    cli_text_show(&shown, text, n, false);
    while (shown.n > 0 && shown.p[shown.n - 1] == ' ')
        shown.n--;
    if (columns > 0)
        cli_text_cut(&cut, cli_buf_text(&shown), shown.n, columns);
    else
        cli_buf_add(&cut, cli_buf_text(&shown), shown.n);
    put(p, tone, cli_buf_text(&cut), cut.n);
    cli_buf_free(&shown);
    cli_buf_free(&cut);
}

/* Columns of the line, without its escapes, which are all ours. */
static size_t width(const struct cli_paper *p)
{
    struct cli_buf plain = { 0 };
    const char *at = cli_buf_text(&p->line), *end = at + p->line.n;
    while (at < end) {
        const char *escape = memchr(at, '\033', (size_t) (end - at));
        cli_buf_add(&plain, at, (size_t) ((escape ? escape : end) - at));
        const char *m = escape ? memchr(escape, 'm', (size_t) (end - escape)) : NULL;
        at = m ? m + 1 : end;
    }
    size_t n = plain.n ? cli_text_width(plain.p, plain.n) : 0;
    cli_buf_free(&plain);
    return n;
}

void cli_paper_to(struct cli_paper *p, size_t column)
{
    for (size_t n = width(p); n < column; n++)
        cli_buf_adds(&p->line, " ");
}

size_t cli_paper_left(const struct cli_paper *p)
{
    size_t n = width(p);
    return n + 8 < p->screen.columns ? p->screen.columns - n : 8;
}

/* No blanks at the end of a line: they are of columns that were not filled, and spoil what is
 * copied. */
void cli_paper_line(struct cli_paper *p)
{
    while (p->line.n > 0 && p->line.p[p->line.n - 1] == ' ')
        p->line.n--;
    cli_buf_adds(&p->line, "\n");
    if (p->onto)
        cli_screen_put(p->onto, &p->line);
    else
        cli_out_styled(p->line.p, p->line.n);
    cli_buf_reset(&p->line);
}

/* One line of the text, in as many as it takes. */
static void wrap(struct cli_paper *p, enum cli_tone tone, const char *text, size_t n, size_t indent)
{
    size_t columns = p->screen.columns > indent + 20 ? p->screen.columns - indent - 1 : 20;
    do {
        size_t len = p->terminal && n > 0 ? cli_text_break(text, n, columns) : n;
        cli_paper_to(p, indent);
        put(p, tone, text, len);
        cli_paper_line(p);
        text += len;
        n -= len;
        while (n > 0 && *text == ' ' && p->terminal) {
            text++;
            n--;
        }
    } while (n > 0);
}

void cli_paper_text(
    struct cli_paper *p, enum cli_tone tone, const char *text, size_t n, size_t indent)
{
    struct cli_buf shown = { 0 };
    cli_text_show(&shown, text, n, true);
    for (size_t i = 0; i < shown.n; i++)
        shown.p[i] = shown.p[i] == '\t' ? ' ' : shown.p[i];
    while (shown.n > 0 && strchr(" \n", shown.p[shown.n - 1]))
        shown.n--;
    const char *at = cli_buf_text(&shown), *end = at + shown.n;
    for (;;) {
        const char *stop = end > at ? memchr(at, '\n', (size_t) (end - at)) : NULL;
        wrap(p, tone, at, (size_t) ((stop ? stop : end) - at), indent);
        if (!stop)
            break;
        at = stop + 1;
    }
    cli_buf_free(&shown);
}

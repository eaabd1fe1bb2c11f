/* Lines of a terminal page: text with a style for each byte, broken at words, with the marks
 * of the lists and quotes around it in front. A mark is written once, and blanks of its width
 * on the lines that follow. */
#include "cli/markdown/page.h"

#include <string.h>

#include "cli/text.h"

#define NARROWEST 20

/* ---- Styled text ------------------------------------------------------------- */

void cli_styled_add(struct cli_styled *s, const char *p, size_t n, int style)
{
    char as[64];
    memset(as, style, sizeof(as));
    cli_buf_add(&s->text, p, n);
    for (size_t left = n; left > 0;) {
        size_t part = left < sizeof(as) ? left : sizeof(as);
        cli_buf_add(&s->styles, as, part);
        left -= part;
    }
}

void cli_styled_reset(struct cli_styled *s)
{
    cli_buf_reset(&s->text);
    cli_buf_reset(&s->styles);
}

void cli_styled_free(struct cli_styled *s)
{
    cli_buf_free(&s->text);
    cli_buf_free(&s->styles);
}

/* ---- Marks --------------------------------------------------------------------- */

void cli_page_push(struct cli_page *page, const char *mark, bool quote)
{
    struct cli_level *l = &page->levels[page->depth < CLI_PAGE_LEVELS ? page->depth : 0];
    if (page->depth++ >= CLI_PAGE_LEVELS)
        return;
    *l = (struct cli_level){ .quote = quote };
    strncpy(l->mark, mark, sizeof(l->mark) - 1);
    l->width = cli_text_width(l->mark, strlen(l->mark));
}

void cli_page_pop(struct cli_page *page)
{
    page->depth--;
}

static size_t levels(const struct cli_page *page)
{
    return page->depth < CLI_PAGE_LEVELS ? page->depth : CLI_PAGE_LEVELS;
}

size_t cli_page_room(const struct cli_page *page)
{
    size_t taken = 0, columns = page->m->columns;
    for (size_t i = 0; i < levels(page); i++)
        taken += page->levels[i].width;
    /* deep nesting leaves some room all the same; then lines are longer than the terminal,
     * which breaks them */
    return columns > taken + NARROWEST ? columns - taken : NARROWEST;
}

/* ---- Lines ----------------------------------------------------------------------- */

static void set_style(struct cli_page *page, int style)
{
    static const char *const codes[] = { ";1", ";3", ";36", ";4", ";9", ";2" };
    if (!page->m->color)
        return;
    cli_buf_adds(page->out, "\033[0");
    for (size_t i = 0; i < sizeof(codes) / sizeof(codes[0]); i++)
        if (style & 1 << i)
            cli_buf_adds(page->out, codes[i]);
    cli_buf_adds(page->out, "m");
}

static void write_marks(struct cli_page *page)
{
    for (size_t i = 0; i < levels(page); i++) {
        struct cli_level *l = &page->levels[i];
        if (l->quote || !l->used) {
            set_style(page, l->quote ? CLI_STYLE_FAINT : 0);
            cli_buf_adds(page->out, l->mark);
            set_style(page, 0);
        } else {
            cli_buf_addf(page->out, "%*s", (int) l->width, "");
        }
        l->used = true;
    }
}

static void write_gap(struct cli_page *page)
{
    if (page->m->gap && page->m->begun)
        cli_buf_adds(page->out, "\n");
    page->m->gap = false;
    page->m->begun = true;
}

void cli_page_line(struct cli_page *page, const char *p, const char *styles, size_t n)
{
    char style = 0;
    write_gap(page);
    write_marks(page);
    for (size_t i = 0; i < n; i++) {
        if (styles && styles[i] != style) {
            style = styles[i];
            set_style(page, (unsigned char) style);
        }
        cli_buf_add(page->out, p + i, 1);
    }
    if (style)
        set_style(page, 0);
    cli_buf_adds(page->out, "\n");
}

/* One line of the text that has to end at `n`. */
static void wrap(struct cli_page *page, const char *p, const char *styles, size_t n)
{
    size_t room = cli_page_room(page);
    do {
        size_t fits = cli_text_break(p, n, room), shown = fits;
        while (shown > 0 && p[shown - 1] == ' ')
            shown--;
        cli_page_line(page, p, styles, shown);
        while (fits < n && p[fits] == ' ')
            fits++;
        p += fits;
        styles += fits;
        n -= fits;
    } while (n > 0);
}

void cli_page_text(struct cli_page *page, struct cli_styled *s)
{
    const char *p = cli_buf_text(&s->text), *styles = cli_buf_text(&s->styles);
    for (size_t left = s->text.n; left > 0;) {
        const char *end = memchr(p, '\n', left);
        size_t n = end ? (size_t) (end - p) : left, taken = end ? n + 1 : n;
        wrap(page, p, styles, n);
        p += taken;
        styles += taken;
        left -= taken;
    }
    cli_styled_reset(s);
}

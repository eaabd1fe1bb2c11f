/* Cuts a stream of Markdown into blocks that are complete and styles each by itself (markdown.h): a
 * block is never looked at again, so that a long answer costs by its length. Code in a fence does
 * not wait for its end: lines of it are shown as they come. */
#include "cli/markdown/markdown.h"

#include <string.h>

#include "cli/markdown/page.h"
#include "cli/markdown/render.h"
#include "cli/text.h"

/* ---- Where a block ends ------------------------------------------------------------ */

struct line {
    const char *p;
    size_t n, indent; /* without its end; indent: spaces that it begins with */
};

static struct line line_at(const char *p, const char *end)
{
    struct line l = { p, (size_t) (end - p), 0 };
    while (l.indent < l.n && p[l.indent] == ' ')
        l.indent++;
    return l;
}

static bool is_blank(struct line l)
{
    return strspn(l.p, " \t\r") >= l.n;
}

/* Of "```lua": how many of the character, at least three; else 0. */
static size_t fence_of(struct line l)
{
    size_t n = l.indent;
    char c = n < l.n ? l.p[n] : 0;
    if (c != '`' && c != '~')
        return 0;
    while (n < l.n && l.p[n] == c)
        n++;
    return n - l.indent >= 3 ? n - l.indent : 0;
}

static bool is_heading(struct line l)
{
    size_t n = 0;
    while (n < l.n && l.p[n] == '#')
        n++;
    return n > 0 && n <= 6 && n < l.n && l.p[n] == ' ';
}

static bool is_item(struct line l)
{
    size_t n = 0;
    if (l.n > 1 && strchr("-*+", l.p[0]) && l.p[1] == ' ')
        return true;
    while (n < l.n && n < 9 && l.p[n] >= '0' && l.p[n] <= '9')
        n++;
    return n > 0 && n + 1 < l.n && strchr(".)", l.p[n]) && l.p[n + 1] == ' ';
}

/* Bytes of the first block of p, which ends where another begins; 0 while that cannot be said.
 * *blank: blank lines follow it, which are counted in. A fence is a block of one line: what it
 * holds is taken line by line. */
static size_t first_block(const char *p, size_t n, bool *blank)
{
    bool any = false;
    *blank = false;
    for (const char *at = p, *end; (end = memchr(at, '\n', (size_t) (p + n - at))); at = end + 1) {
        struct line l = line_at(at, end);
        bool begins = fence_of(l) || is_heading(l) || is_item(l);
        if (any && (*blank ? !is_blank(l) : begins))
            return (size_t) (at - p);
        if (fence_of(l) || is_heading(l))
            return (size_t) (end + 1 - p); /* blocks of one line */
        *blank = any && is_blank(l);
        any = any || !is_blank(l);
    }
    return 0;
}

/* ---- One block --------------------------------------------------------------------- */

/* A block of an item that was parted from it by a blank line is indented: it stays so. */
static size_t outdent(const char *p, size_t n, struct cli_buf *out)
{
    size_t common = 0;
    while (common < n && p[common] == ' ')
        common++;
    for (const char *at = p, *stop = p + n; at < stop;) {
        const char *end = memchr(at, '\n', (size_t) (stop - at));
        struct line l = line_at(at, end ? end : stop);
        size_t cut = l.indent < common ? l.indent : common;
        cli_buf_add(out, l.p + cut, l.n - cut);
        cli_buf_adds(out, "\n");
        at = end ? end + 1 : stop;
    }
    return common < 16 ? common : 16;
}

static void wrap_plainly(struct cli_page *page, const struct cli_buf *text)
{
    struct cli_styled s = { { 0 }, { 0 } };
    size_t n = text->n;
    while (n > 0 && text->p[n - 1] == '\n')
        n--;
    cli_styled_add(&s, cli_buf_text(text), n, 0);
    cli_page_text(page, &s);
    cli_styled_free(&s);
}

static void write_block(
    struct cli_markdown *m, const char *p, size_t n, bool blank, struct cli_buf *out)
{
    struct cli_page page = { .m = m, .out = out };
    struct cli_buf shown = { 0 }, text = { 0 };
    char room[17] = "                ";
    while (n > 0 && *p == '\n') {
        p++;
        n--;
        m->gap = true;
    }
    cli_text_show(&shown, p, n, true);
    room[outdent(cli_buf_text(&shown), shown.n, &text)] = 0;
    if (*room)
        cli_page_push(&page, room, false);
    if (text.n > 0 && !cli_render(&page, text.p, text.n))
        wrap_plainly(&page, &text);
    m->in_list = text.n > 0 && is_item(line_at(text.p, text.p + text.n));
    if (blank || m->in_list)
        m->gap = blank; /* else what was written says whether one belongs behind it */
    cli_buf_free(&shown);
    cli_buf_free(&text);
}

/* ---- Code ----------------------------------------------------------------------------- */

/* Lines between fences stand as they are, and are shown as they come. */
static void write_code(struct cli_markdown *m, struct line l, struct cli_buf *out)
{
    struct cli_page page = { .m = m, .out = out };
    struct cli_styled s = { { 0 }, { 0 } };
    struct cli_buf shown = { 0 };
    size_t cut = l.indent < m->fence_indent ? l.indent : m->fence_indent;
    cli_text_show(&shown, l.p + cut, l.n - cut, true);
    cli_styled_add(&s, cli_buf_text(&shown), shown.n, CLI_STYLE_CODE);
    cli_page_push(&page, "    ", false);
    cli_page_line(&page, cli_buf_text(&s.text), cli_buf_text(&s.styles), s.text.n);
    cli_buf_free(&shown);
    cli_styled_free(&s);
}

static void open_fence(struct cli_markdown *m, struct line l)
{
    m->fence = fence_of(l);
    m->fence_mark = l.p[l.indent];
    m->fence_indent = l.indent;
    m->gap = m->begun;
    m->in_list = false;
}

static void take_code(struct cli_markdown *m, struct line l, struct cli_buf *out)
{
    if (fence_of(l) >= m->fence && l.p[l.indent] == m->fence_mark) {
        m->fence = 0;
        m->gap = true;
    } else {
        write_code(m, l, out);
    }
}

/* ---- The stream --------------------------------------------------------------------- */

/* Takes one line of code, or one block; returns its bytes, 0 when nothing is complete. */
static size_t take(struct cli_markdown *m, const char *p, size_t n, struct cli_buf *out)
{
    const char *end = memchr(p, '\n', n);
    bool blank;
    if (m->fence && end) {
        take_code(m, line_at(p, end), out);
        return (size_t) (end + 1 - p);
    }
    size_t block = m->fence ? 0 : first_block(p, n, &blank);
    if (block && end && fence_of(line_at(p, end)))
        open_fence(m, line_at(p, end));
    else if (block)
        write_block(m, p, block, blank, out);
    return block;
}

void cli_markdown_feed(struct cli_markdown *m, const char *p, size_t n, struct cli_buf *out)
{
    struct cli_buf rest = { 0 };
    size_t done = 0, block;
    cli_buf_add(&m->tail, p, n);
    if (!memchr(p, '\n', n))
        return;
    while ((block = take(m, m->tail.p + done, m->tail.n - done, out)) > 0)
        done += block;
    if (done == 0)
        return;
    cli_buf_add(&rest, m->tail.p + done, m->tail.n - done);
    cli_buf_free(&m->tail);
    m->tail = rest;
}

void cli_markdown_end(struct cli_markdown *m, struct cli_buf *out)
{
    struct line l = line_at(cli_buf_text(&m->tail), cli_buf_text(&m->tail) + m->tail.n);
    if (m->fence && m->tail.n > 0)
        take_code(m, l, out);
    else if (m->tail.n > 0 && !fence_of(l))
        write_block(m, m->tail.p, m->tail.n, false, out);
    cli_buf_free(&m->tail);
    m->tail = (struct cli_buf){ 0 };
    m->begun = m->gap = m->in_list = false;
    m->fence = 0;
}

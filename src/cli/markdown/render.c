/* One block of Markdown to lines, by callbacks of md4c: blocks push and pop what indents a line,
 * spans what styles it. Nothing is written to the page before a block has said what it is. */
#include "cli/markdown/render.h"

#include <stdlib.h>
#include <string.h>

#include "cli/library.h"
#include "cli/markdown/page.h"
#include "cli/text.h"

/* A table: cells are gathered, and laid out when all are there. */

#define CLI_TABLE_COLUMNS 24
#define CLI_TABLE_CELLS   2000

struct cli_table {
    struct cli_styled *cells; /* row by row, the head first */
    size_t count, columns;
};

/* A table is kept until its last cell, since widths are known only then. One that does not fit
 * into the terminal is written as a list: a row's cells below each other, each with the name
 * of its column. */

/* Takes the text as the next cell; what is too much is left out. */
static void table_add(struct cli_table *t, struct cli_styled *cell)
{
    /* a model may write any table: cells beyond the limits are dropped */
    if (t->columns == 0 || t->columns > CLI_TABLE_COLUMNS || t->count >= CLI_TABLE_CELLS) {
        cli_styled_reset(cell);
        return;
    }
    if (!t->cells)
        t->cells = calloc(CLI_TABLE_CELLS, sizeof(*t->cells));
    if (!t->cells)
        cli_nomem();
    t->cells[t->count++] = *cell;
    *cell = (struct cli_styled){ { 0 }, { 0 } };
}

static void table_free(struct cli_table *t)
{
    for (size_t i = 0; i < t->count; i++)
        cli_styled_free(&t->cells[i]);
    free(t->cells);
    *t = (struct cli_table){ 0 };
}

static size_t width_of(const struct cli_styled *cell)
{
    return cli_text_width(cli_buf_text(&cell->text), cell->text.n);
}

/* Columns that the table takes, with what stands between them. */
static size_t measure(const struct cli_table *t, size_t widths[CLI_TABLE_COLUMNS])
{
    size_t all = 3 * (t->columns - 1);
    memset(widths, 0, sizeof(size_t) * CLI_TABLE_COLUMNS);
    for (size_t i = 0; i < t->count; i++) {
        size_t w = width_of(&t->cells[i]), *column = &widths[i % t->columns];
        *column = w > *column ? w : *column;
    }
    for (size_t c = 0; c < t->columns; c++)
        all += widths[c];
    return all;
}

static void append(struct cli_styled *line, const struct cli_styled *cell)
{
    cli_buf_add(&line->text, cli_buf_text(&cell->text), cell->text.n);
    cli_buf_add(&line->styles, cli_buf_text(&cell->styles), cell->styles.n);
}

static void pad(struct cli_styled *line, size_t n)
{
    while (n-- > 0)
        cli_styled_add(line, " ", 1, 0);
}

static void write_row(
    const struct cli_table *t, struct cli_page *page, size_t first, const size_t *widths)
{
    struct cli_styled line = { { 0 }, { 0 } };
    const char *bar = page->m->unicode ? " │ " : " | ";
    for (size_t c = 0; c < t->columns && first + c < t->count; c++) {
        const struct cli_styled *cell = &t->cells[first + c];
        if (c > 0)
            cli_styled_add(&line, bar, strlen(bar), CLI_STYLE_FAINT);
        append(&line, cell);
        if (c + 1 < t->columns)
            pad(&line, widths[c] - width_of(cell));
    }
    cli_page_line(page, cli_buf_text(&line.text), cli_buf_text(&line.styles), line.text.n);
    cli_styled_free(&line);
}

static void write_table_rule(const struct cli_table *t, struct cli_page *page, const size_t *widths)
{
    struct cli_styled line = { { 0 }, { 0 } };
    const char *dash = page->m->unicode ? "─" : "-", *cross = page->m->unicode ? "─┼─" : "-+-";
    for (size_t c = 0; c < t->columns; c++) {
        if (c > 0)
            cli_styled_add(&line, cross, strlen(cross), CLI_STYLE_FAINT);
        for (size_t i = 0; i < widths[c]; i++)
            cli_styled_add(&line, dash, strlen(dash), CLI_STYLE_FAINT);
    }
    cli_page_line(page, cli_buf_text(&line.text), cli_buf_text(&line.styles), line.text.n);
    cli_styled_free(&line);
}

static void write_columns(const struct cli_table *t, struct cli_page *page, const size_t *widths)
{
    for (size_t first = 0; first < t->count; first += t->columns) {
        write_row(t, page, first, widths);
        if (first == 0)
            write_table_rule(t, page, widths);
    }
}

static void write_list(const struct cli_table *t, struct cli_page *page)
{
    struct cli_styled line = { { 0 }, { 0 } };
    for (size_t i = t->columns; i < t->count; i++) {
        if (t->cells[i].text.n == 0)
            continue;
        append(&line, &t->cells[i % t->columns]);
        cli_styled_add(&line, ": ", 2, CLI_STYLE_BOLD);
        append(&line, &t->cells[i]);
        cli_page_text(page, &line);
        page->m->gap = page->m->gap || (i + 1) % t->columns == 0;
    }
    cli_styled_free(&line);
}

/* Writes it: in columns where they fit, else each row as lines "head: cell"; and frees it. */
static void table_write(struct cli_table *t, struct cli_page *page)
{
    size_t widths[CLI_TABLE_COLUMNS];
    if (t->count > 0 && measure(t, widths) <= cli_page_room(page))
        write_columns(t, page, widths);
    else if (t->count > 0)
        write_list(t, page);
    table_free(t);
}

#ifdef HOCKET_MD4C
#include <md4c.h>

#define LARGEST ((size_t) 64 << 10)
#define LISTS   CLI_PAGE_LEVELS

struct list {
    bool tight;
    bool ordered;
    unsigned next;
    char delimiter;
};

struct render {
    struct cli_page *page;
    struct cli_styled text;
    struct cli_table table;
    struct list lists[LISTS];
    size_t depth; /* of lists */
    int style;
    bool code;         /* a block of it */
    struct cli_buf to; /* where the link that is being read leads */
    size_t link_at;    /* where its text began */
};

/* ---- Blocks ---------------------------------------------------------------------- */

/* Lists deeper than we keep are written as text that stands in the last one; NULL for those. */
static struct list *innermost(struct render *r)
{
    return r->depth > 0 && r->depth <= LISTS ? &r->lists[r->depth - 1] : NULL;
}

/* `gap`: an empty line before what comes next. In a tight list there is none. */
static void flush(struct render *r)
{
    struct list *l = innermost(r);
    if (r->text.text.n == 0)
        return;
    cli_page_text(r->page, &r->text);
    r->page->m->gap = !l || !l->tight;
}

/* A list within another one begins right below its item. */
static void enter_list(struct render *r, bool ordered, bool tight, unsigned start, char delimiter)
{
    flush(r);
    if (r->depth == 0)
        r->page->m->gap = r->page->m->gap || !r->page->m->in_list;
    if (r->depth++ < LISTS)
        r->lists[r->depth - 1] = (struct list){ tight, ordered, start, delimiter };
}

static void leave_list(struct render *r)
{
    r->depth--;
    r->page->m->gap = r->depth == 0 || r->page->m->gap;
}

static void enter_item(struct render *r, const MD_BLOCK_LI_DETAIL *d)
{
    struct list *l = innermost(r);
    struct cli_buf mark = { 0 };
    bool unicode = r->page->m->unicode;
    if (l && l->ordered)
        cli_buf_addf(&mark, "%u%c ", l->next++, l->delimiter);
    else if (d->is_task)
        cli_buf_adds(&mark, d->task_mark == ' ' ? "[ ] " : "[x] ");
    else
        cli_buf_adds(&mark, unicode ? "• " : "- ");
    cli_page_push(r->page, cli_buf_text(&mark), false);
    cli_buf_free(&mark);
}

static void write_rule(struct render *r)
{
    const char *dash = r->page->m->unicode ? "─" : "-";
    size_t room = cli_page_room(r->page);
    for (size_t i = 0; i < (room < 40 ? room : 40); i++)
        cli_styled_add(&r->text, dash, strlen(dash), CLI_STYLE_FAINT);
    flush(r);
}

/* Lines of code stand as they are: nothing in them is wrapped. */
static void write_code(struct render *r)
{
    const char *p = cli_buf_text(&r->text.text), *styles = cli_buf_text(&r->text.styles);
    cli_page_push(r->page, "    ", false);
    for (size_t left = r->text.text.n; left > 0;) {
        const char *end = memchr(p, '\n', left);
        size_t n = end ? (size_t) (end - p) : left, taken = end ? n + 1 : n;
        cli_page_line(r->page, p, styles, n);
        p += taken;
        styles += taken;
        left -= taken;
    }
    cli_page_pop(r->page);
    cli_styled_reset(&r->text);
    r->page->m->gap = true;
}

/* What is open when a block begins is text of the one around it, such as an item's first line. */
static int enter_block(MD_BLOCKTYPE type, void *detail, void *ud)
{
    struct render *r = ud;
    const MD_BLOCK_UL_DETAIL *ul = detail;
    const MD_BLOCK_OL_DETAIL *ol = detail;
    switch (type) {
    case MD_BLOCK_QUOTE:
        flush(r);
        cli_page_push(r->page, r->page->m->unicode ? "│ " : "> ", true);
        break;
    case MD_BLOCK_UL: enter_list(r, false, ul->is_tight, 0, 0); break;
    case MD_BLOCK_OL: enter_list(r, true, ol->is_tight, ol->start, ol->mark_delimiter); break;
    case MD_BLOCK_LI: enter_item(r, detail); break;
    case MD_BLOCK_H:
        flush(r);
        r->page->m->gap = true;
        r->style =
            CLI_STYLE_BOLD | (((MD_BLOCK_H_DETAIL *) detail)->level == 1 ? CLI_STYLE_LINK : 0);
        break;
    case MD_BLOCK_CODE:
        flush(r);
        r->code = true;
        r->style = CLI_STYLE_CODE;
        break;
    case MD_BLOCK_TABLE:
        flush(r);
        r->table.columns = ((MD_BLOCK_TABLE_DETAIL *) detail)->col_count;
        break;
    case MD_BLOCK_TH: r->style = CLI_STYLE_BOLD; break;
    default: break;
    }
    return 0;
}

static int leave_block(MD_BLOCKTYPE type, void *detail, void *ud)
{
    struct render *r = ud;
    (void) detail;
    switch (type) {
    case MD_BLOCK_QUOTE:
    case MD_BLOCK_LI:
        flush(r);
        cli_page_pop(r->page);
        break;
    case MD_BLOCK_UL:
    case MD_BLOCK_OL: leave_list(r); break;
    case MD_BLOCK_HR: write_rule(r); break;
    case MD_BLOCK_CODE: write_code(r); break;
    case MD_BLOCK_TH:
    case MD_BLOCK_TD: table_add(&r->table, &r->text); break;
    case MD_BLOCK_TABLE:
        table_write(&r->table, r->page);
        r->page->m->gap = true;
        break;
    default: flush(r); break;
    }
    r->style = type == MD_BLOCK_H || type == MD_BLOCK_CODE || type == MD_BLOCK_TH ? 0 : r->style;
    r->code = r->code && type != MD_BLOCK_CODE;
    return 0;
}

/* ---- Text in them ----------------------------------------------------------------- */

static int style_of(MD_SPANTYPE type)
{
    switch (type) {
    case MD_SPAN_EM: return CLI_STYLE_ITALIC;
    case MD_SPAN_STRONG: return CLI_STYLE_BOLD;
    case MD_SPAN_A: return CLI_STYLE_LINK;
    case MD_SPAN_CODE: return CLI_STYLE_CODE;
    case MD_SPAN_DEL: return CLI_STYLE_STRIKE;
    default: return 0;
    }
}

static int enter_span(MD_SPANTYPE type, void *detail, void *ud)
{
    struct render *r = ud;
    const MD_SPAN_A_DETAIL *a = detail;
    const MD_SPAN_IMG_DETAIL *img = detail;
    r->style |= style_of(type);
    if (type == MD_SPAN_A || type == MD_SPAN_IMG) {
        const MD_ATTRIBUTE *to = type == MD_SPAN_A ? &a->href : &img->src;
        cli_buf_reset(&r->to);
        cli_buf_add(&r->to, to->text, to->size);
        r->link_at = r->text.text.n;
    }
    if (type == MD_SPAN_IMG)
        cli_styled_add(&r->text, "[image: ", 8, r->style);
    return 0;
}

/* A person sees where a link leads: behind its text, unless that says it. */
static void add_target(struct render *r)
{
    const char *text = cli_buf_text(&r->text.text) + r->link_at;
    size_t n = r->text.text.n - r->link_at;
    bool same = r->link_at <= r->text.text.n && n > 0 && n <= r->to.n
                && memcmp(text, r->to.p + r->to.n - n, n) == 0;
    if (r->to.n == 0 || same)
        return;
    cli_styled_add(&r->text, " (", 2, CLI_STYLE_FAINT);
    cli_styled_add(&r->text, r->to.p, r->to.n, CLI_STYLE_FAINT);
    cli_styled_add(&r->text, ")", 1, CLI_STYLE_FAINT);
}

static int leave_span(MD_SPANTYPE type, void *detail, void *ud)
{
    struct render *r = ud;
    (void) detail;
    r->style &= ~style_of(type);
    if (type == MD_SPAN_IMG)
        cli_styled_add(&r->text, "]", 1, r->style);
    if (type == MD_SPAN_A || type == MD_SPAN_IMG)
        add_target(r);
    return 0;
}

/* The few that models write; others stand as they came. */
static void add_entity(struct render *r, const char *p, size_t n)
{
    static const char *const known[][2] = { { "&amp;", "&" }, { "&lt;", "<" }, { "&gt;", ">" },
        { "&quot;", "\"" }, { "&#39;", "'" }, { "&nbsp;", " " } };
    for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++)
        if (strlen(known[i][0]) == n && memcmp(known[i][0], p, n) == 0) {
            cli_styled_add(&r->text, known[i][1], 1, r->style);
            return;
        }
    cli_styled_add(&r->text, p, n, r->style);
}

static int take_text(MD_TEXTTYPE type, const MD_CHAR *p, MD_SIZE n, void *ud)
{
    struct render *r = ud;
    switch (type) {
    case MD_TEXT_SOFTBR: /* models part lines where they mean to */
    case MD_TEXT_BR: cli_styled_add(&r->text, "\n", 1, 0); break;
    case MD_TEXT_ENTITY: add_entity(r, p, n); break;
    case MD_TEXT_NULLCHAR: cli_styled_add(&r->text, "\xEF\xBF\xBD", 3, r->style); break;
    default:
        if (type == MD_TEXT_CODE && !r->code && !r->page->m->color)
            cli_styled_add(&r->text, "`", 1, 0); /* what else would tell it apart */
        cli_styled_add(&r->text, p, n, r->style);
        if (type == MD_TEXT_CODE && !r->code && !r->page->m->color)
            cli_styled_add(&r->text, "`", 1, 0);
        break;
    }
    return 0;
}

/* ---- The library ------------------------------------------------------------------- */

typedef int (*parse_cb)(const MD_CHAR *, MD_SIZE, const MD_PARSER *, void *);

/* Loaded when it is first needed: a run whose answer goes into a pipe never needs it. */
static parse_cb load(void)
{
#if HOCKET_STATIC
    return md_parse;
#else
    static parse_cb parse;
    static bool tried;
    if (!tried)
        cli_library_load("libmd4c.so.0", "md_parse\0", &parse);
    tried = true;
    return parse;
#endif
}

/* md4c has no way to be stopped in a long text, and a screen redraws while an answer is coming:
 * what is too long is shown as it is. */
bool cli_render(struct cli_page *page, const char *p, size_t n)
{
    const MD_PARSER parser = { .flags = MD_FLAG_TABLES | MD_FLAG_STRIKETHROUGH | MD_FLAG_TASKLISTS
                                        | MD_FLAG_PERMISSIVEURLAUTOLINKS | MD_FLAG_NOHTML
                                        | MD_FLAG_NOINDENTEDCODEBLOCKS,
        .enter_block = enter_block,
        .leave_block = leave_block,
        .enter_span = enter_span,
        .leave_span = leave_span,
        .text = take_text };
    struct render r = { .page = page };
    parse_cb parse = n <= LARGEST ? load() : NULL;
    if (!parse)
        return false;
    parse(p, (MD_SIZE) n, &parser, &r);
    cli_styled_free(&r.text);
    table_free(&r.table);
    cli_buf_free(&r.to);
    return true;
}

#else

bool cli_render(struct cli_page *page, const char *p, size_t n)
{
    (void) page;
    (void) p;
    (void) n;
    return false;
}

#endif

/* A table is kept until its last cell, since widths are known only then. One that does not fit
 * into the terminal is written as a list: a row's cells below each other, each with the name
 * of its column. */
#include "cli/markdown/table.h"

#include <stdlib.h>
#include <string.h>

#include "cli/text.h"

void cli_table_add(struct cli_table *t, struct cli_styled *cell)
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

void cli_table_free(struct cli_table *t)
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

static void write_rule(const struct cli_table *t, struct cli_page *page, const size_t *widths)
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
            write_rule(t, page, widths);
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

void cli_table_write(struct cli_table *t, struct cli_page *page)
{
    size_t widths[CLI_TABLE_COLUMNS];
    if (t->count > 0 && measure(t, widths) <= cli_page_room(page))
        write_columns(t, page, widths);
    else if (t->count > 0)
        write_list(t, page);
    cli_table_free(t);
}

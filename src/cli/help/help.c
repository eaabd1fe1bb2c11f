/* Pages are found by name ("guides/tools", or "tools" alone), sections by the words of their headings. The pages are
 * unpacked each time, which takes some milliseconds. */
#include "cli/help/help.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "cli/buf.h"
#include "cli/exit.h"
#include "cli/host/host.h"
#include "cli/markdown/markdown.h"
#include "cli/out.h"
#include "cli/screen.h"
#include "cli/text.h"

#define MAX_PAGES 128
#define MAX_HITS  40

struct page {
    const char *name, *text;
};

struct pages {
    struct cli_buf all;
    struct page list[MAX_PAGES];
    size_t count;
};

/* A heading, and what is below it up to the next heading of its level. */
struct section {
    const char *page, *title, *end;
    size_t title_len;
};

struct hits {
    struct section list[MAX_HITS];
    size_t count;
};

/* Before each page stands a form feed and a line with its name. */
static bool load(struct pages *pages)
{
    struct cli_result result;
    int status = cli_host_call("pages", "{}", &result);
    if (status < 0)
        cli_result_complain(&result, "help");
    else
        cli_buf_add(&pages->all, cli_buf_text(&result.text), result.text.n);
    cli_result_free(&result);
    if (status < 0)
        return false;
    char *name = strchr(pages->all.p, '\f');
    while (name && pages->count < MAX_PAGES) {
        *name++ = 0; /* the end of the page before */
        char *text = strchr(name, '\n');
        if (!text)
            break;
        *text++ = 0;
        pages->list[pages->count++] = (struct page){ name, text };
        name = strchr(text, '\f');
    }
    return true;
}

static const char *base_of(const char *name)
{
    const char *slash = strrchr(name, '/');
    return slash ? slash + 1 : name;
}

static const struct page *find_page(const struct pages *pages, const char *words)
{
    for (size_t i = 0; i < pages->count; i++)
        if (strcasecmp(pages->list[i].name, words) == 0)
            return &pages->list[i];
    for (size_t i = 0; i < pages->count; i++)
        if (strcasecmp(base_of(pages->list[i].name), words) == 0)
            return &pages->list[i];
    return NULL;
}

/* ---- Sections ------------------------------------------------------------ */

static const char *next_line(const char *p)
{
    const char *end = strchr(p, '\n');
    return end ? end + 1 : p + strlen(p);
}

static bool is_fence(const char *line)
{
    return strncmp(line, "```", 3) == 0;
}

static size_t level_of(const char *line)
{
    size_t level = strspn(line, "#");
    return level > 0 && line[level] == ' ' ? level : 0;
}

static const char *end_of(const char *heading)
{
    size_t level = level_of(heading);
    bool code = false;
    for (const char *p = next_line(heading); *p; p = next_line(p)) {
        code ^= is_fence(p);
        if (!code && level_of(p) > 0 && level_of(p) <= level)
            return p;
    }
    return heading + strlen(heading);
}

static bool mentions(const char *title, size_t len, const char *words)
{
    size_t n = strlen(words);
    for (size_t i = 0; i + n <= len; i++)
        if (strncasecmp(title + i, words, n) == 0)
            return true;
    return false;
}

static void find_sections(const struct page *page, const char *words, struct hits *hits)
{
    bool code = false;
    for (const char *p = page->text; *p && hits->count < MAX_HITS; p = next_line(p)) {
        code ^= is_fence(p);
        size_t level = code ? 0 : level_of(p);
        const char *title = p + level + 1;
        if (level > 0 && mentions(title, strcspn(title, "\n"), words))
            hits->list[hits->count++] =
                (struct section){ page->name, title, end_of(p), strcspn(title, "\n") };
    }
}

/* The one whose heading is just these words, or the only one. */
static const struct section *best_of(const struct hits *hits, const char *words)
{
    size_t n = strlen(words);
    for (size_t i = 0; i < hits->count; i++)
        if (hits->list[i].title_len == n && strncasecmp(hits->list[i].title, words, n) == 0)
            return &hits->list[i];
    return hits->count == 1 ? &hits->list[0] : NULL;
}

/* ---- Printing ------------------------------------------------------------ */

static int print(const char *p, size_t n)
{
    struct cli_screen screen;
    struct cli_buf plain = { 0 };
    cli_screen_start(&screen, false, true);
    if (!screen.unicode) {
        cli_text_ascii(&plain, p, n);
        p = cli_buf_text(&plain);
        n = plain.n;
    }
    cli_answer(&screen, p, n);
    cli_buf_free(&plain);
    cli_screen_end(&screen);
    return cli_out_end();
}

static int print_section(const struct section *s)
{
    struct cli_buf b = { 0 };
    cli_buf_addf(&b, "# %.*s\n%.*s", (int) s->title_len, s->title,
        (int) (s->end - s->title - s->title_len), s->title + s->title_len);
    int code = print(b.p, b.n);
    cli_buf_free(&b);
    return code;
}

static int print_hits(const struct hits *hits, const char *words)
{
    struct cli_buf b = { 0 };
    cli_buf_addf(&b, "Sections with '%s' in their heading:\n\n", words);
    for (size_t i = 0; i < hits->count; i++)
        cli_buf_addf(&b, "  %-30s %.*s\n", hits->list[i].page, (int) hits->list[i].title_len,
            hits->list[i].title);
    cli_buf_addf(&b, "\nA page: hocket help %s. A section: hocket help and its whole heading.\n",
        hits->list[0].page);
    cli_out_text(b.p, b.n);
    cli_buf_free(&b);
    return cli_out_end();
}

static int show(const struct pages *pages, const char *words, bool *found)
{
    struct hits hits = { 0 };
    const struct page *page = find_page(pages, words);
    if (page)
        return print(page->text, strlen(page->text));
    for (size_t i = 0; i < pages->count; i++)
        find_sections(&pages->list[i], words, &hits);
    *found = hits.count > 0;
    const struct section *best = best_of(&hits, words);
    if (best)
        return print_section(best);
    return *found ? print_hits(&hits, words) : CLI_EXIT_USAGE;
}

bool cli_help_topic(int argc, char **argv, int *code)
{
    struct pages pages = { 0 };
    struct cli_buf words = { 0 };
    bool found = argv[0][0] != 0;
    for (int i = 0; i < argc; i++)
        cli_buf_addf(&words, "%s%s", i > 0 ? " " : "", argv[i]);
    if (found)
        *code = load(&pages) ? show(&pages, words.p, &found) : CLI_EXIT_FAILED;
    cli_buf_free(&words);
    cli_buf_free(&pages.all);
    return found;
}

int cli_help_topics(void)
{
    struct pages pages = { 0 };
    struct cli_buf b = { 0 };
    if (!load(&pages))
        return CLI_EXIT_FAILED;
    for (size_t i = 0; i < pages.count; i++) {
        const char *title = pages.list[i].text + level_of(pages.list[i].text) + 1;
        cli_buf_addf(&b, "  %-34s %.*s\n", pages.list[i].name, (int) strcspn(title, "\n"), title);
    }
    cli_buf_adds(&b, "\n`hocket help PAGE` shows a page, `hocket help WORDS` the sections with "
                     "these words in their heading.\n");
    int code = print(b.p, b.n);
    cli_buf_free(&b);
    cli_buf_free(&pages.all);
    return code;
}

/* A page as a model reads it: headings, lists and tables as Markdown has them, links as
 * numbers. Nothing is kept but the text: it is written as the tags pass by. libxml2 is opened
 * when the first page comes, since few runs read any. */
#include "os/html.h"

#include "base/utf8.h"

#include <libxml/HTMLparser.h>
#include <uv.h>
#include <stdio.h>
#include <stdlib.h>

#include "os/library.h"

#define LIBRARY HOCKET__LIBRARY("xml2", "2")

#define FUNCTIONS(X)                                                                               \
    X(htmlCreatePushParserCtxt)                                                                    \
    X(htmlCtxtUseOptions)                                                                          \
    X(htmlFreeParserCtxt)                                                                          \
    X(htmlParseChunk)                                                                              \
    X(xmlParseCharEncoding)

static struct {
#define MEMBER(name) __typeof__(name) *name;
    FUNCTIONS(MEMBER)
#undef MEMBER
} xml;
static struct {
    uv_once_t once;
    int status;
    struct hocket_error error;
} loaded = { .once = UV_ONCE_INIT };

/* A host may have several threads that read pages: uv_once, and the error is kept for all of
 * them. */
static void load_once(void)
{
#if HOCKET_STATIC
#define TAKE(name) xml.name = name;
    FUNCTIONS(TAKE)
#undef TAKE
#else
#define NAME(name) #name "\0"
    const char *why;
    switch (hocket__library_load(LIBRARY, FUNCTIONS(NAME), &xml, &why)) {
    case HOCKET__LIBRARY_LOADED: break;
    case HOCKET__LIBRARY_ABSENT:
        loaded.status = hocket__error(&loaded.error, HOCKET_EUNSUPPORTED,
            "reading pages needs libxml2 (Debian package libxml2): %s", why);
        break;
    case HOCKET__LIBRARY_OTHER:
        loaded.status = hocket__error(&loaded.error, HOCKET_EUNSUPPORTED,
            "%s is not a libxml2 that can be used: it has no %s", LIBRARY, why);
    }
#undef NAME
#endif
}

/* ---- What tags mean -------------------------------------------------------------------- */

enum kind {
    INLINE,
    BLOCK,
    HEADING,
    ITEM,
    CELL,
    BREAK,
    RULE,
    LINK,
    IMAGE,
    PREFORMATTED,
    TITLE,
    SKIPPED
};

/* clang-format off */
static const struct tag {
    const char *name;
    enum kind kind;
} tags[] = { /* sorted */
    { "a", LINK }, { "address", BLOCK }, { "article", BLOCK }, { "aside", BLOCK }, { "blockquote", BLOCK },
    { "br", BREAK }, { "button", SKIPPED }, { "canvas", SKIPPED }, { "dd", BLOCK }, { "details", BLOCK },
    { "div", BLOCK }, { "dl", BLOCK }, { "dt", BLOCK }, { "fieldset", BLOCK }, { "figcaption", BLOCK },
    { "figure", BLOCK }, { "footer", BLOCK }, { "form", BLOCK }, { "h1", HEADING }, { "h2", HEADING },
    { "h3", HEADING }, { "h4", HEADING }, { "h5", HEADING }, { "h6", HEADING }, { "header", BLOCK },
    { "hr", RULE }, { "iframe", SKIPPED }, { "img", IMAGE }, { "li", ITEM }, { "main", BLOCK }, { "nav", BLOCK },
    { "noscript", SKIPPED }, { "object", SKIPPED }, { "ol", BLOCK }, { "p", BLOCK }, { "pre", PREFORMATTED },
    { "script", SKIPPED }, { "section", BLOCK }, { "select", SKIPPED }, { "style", SKIPPED },
    { "summary", BLOCK }, { "svg", SKIPPED }, { "table", BLOCK }, { "td", CELL }, { "template", SKIPPED },
    { "textarea", SKIPPED }, { "th", CELL }, { "title", TITLE }, { "tr", BLOCK }, { "ul", BLOCK },
};
/* clang-format on */

static int by_name(const void *key, const void *row)
{
    return strcmp(key, ((const struct tag *) row)->name);
}

static enum kind kind_of(const xmlChar *name)
{
    const struct tag *t =
        bsearch(name, tags, sizeof(tags) / sizeof(tags[0]), sizeof(tags[0]), by_name);
    return t ? t->kind : INLINE;
}

/* ---- Writing --------------------------------------------------------------------------- */

struct reader {
    struct hocket__page *page;
    int skipped, preformatted, title; /* how many such tags are open */
    int lines;                        /* line ends that are due before the next text */
    bool space;                       /* a space is due */
    int link;                         /* the number of the link that is open, 0: none */
    size_t link_from;
};

/* Line ends and spaces are owed and not written, so that several in a row are one, and none
 * stands at the end. */
static void due(struct reader *r, int lines)
{
    if (r->lines < lines)
        r->lines = lines;
    r->space = false;
}

static void put(struct reader *r, const char *p, size_t n)
{
    struct hocket__buf *out = &r->page->text;
    if (out->len > 0)
        for (int i = 0; i < r->lines; i++)
            hocket__buf_addc(out, '\n');
    if (r->space && r->lines == 0 && out->len > 0)
        hocket__buf_addc(out, ' ');
    r->lines = 0;
    r->space = false;
    hocket__buf_add(out, p, n);
}

/* Not isspace: in some locales of a host it takes bytes of UTF-8 for blanks. */
static bool is_blank(char c)
{
    return c == ' ' || (c >= '\t' && c <= '\r');
}

/* Runs of white space are one space. */
static void put_words(struct reader *r, const char *p, size_t n)
{
    while (n > 0) {
        size_t blank = 0, word = 0;
        while (blank < n && is_blank(p[blank]))
            blank++;
        r->space |= blank > 0;
        p += blank;
        n -= blank;
        while (word < n && !is_blank(p[word]))
            word++;
        if (word > 0)
            put(r, p, word);
        p += word;
        n -= word;
    }
}

static const char *attribute(const xmlChar **list, const char *name)
{
    for (; list && list[0]; list += 2)
        if (strcmp((const char *) list[0], name) == 0)
            return list[1] ? (const char *) list[1] : "";
    return NULL;
}

/* Links are kept apart, NUL behind each, and the text has their numbers: addresses in it would cost
 * a model more than the words. */
static void open_link(struct reader *r, const char *href)
{
    struct hocket__page *p = r->page;
    r->link = 0;
    if (!href || !*href || *href == '#' || p->n_links >= HOCKET__HTML_LINKS
        || strncmp(href, "javascript:", 11) == 0)
        return;
    r->link = p->n_links + 1;
    r->link_from = p->text.len;
    hocket__buf_add(&p->links, href, strlen(href) + 1);
    /* the number that the text will show: links count from 1 */
    p->n_links++;
}

/* A link around nothing is none. */
static void close_link(struct reader *r)
{
    char mark[16];
    if (r->link == 0)
        return;
    if (r->page->text.len > r->link_from) {
        r->space = true;
        put(r, mark, (size_t) snprintf(mark, sizeof(mark), "[%d]", r->link));
    }
    r->link = 0;
}

/* Tags need not be balanced: the parser closes what it can, and counts never go below zero. */
static void on_start(void *ud, const xmlChar *name, const xmlChar **attributes)
{
    struct reader *r = ud;
    const char *alt;
    enum kind kind = kind_of(name);
    r->skipped += kind == SKIPPED;
    r->title += kind == TITLE;
    if (r->skipped)
        return;
    switch (kind) {
    case BLOCK: due(r, name[0] == 't' && name[1] == 'r' ? 1 : 2); break;
    case HEADING:
        due(r, 2);
        put(r, "######", (size_t) (name[1] - '0'));
        r->space = true;
        break;
    case ITEM:
        due(r, 1);
        put(r, "-", 1);
        r->space = true;
        break;
    case CELL:
        if (r->page->text.len > 0 && r->lines == 0) {
            r->space = true;
            put(r, "|", 1);
        }
        r->space = true;
        break;
    case BREAK: due(r, 1); break;
    case RULE: due(r, 2); break;
    case LINK: open_link(r, attribute(attributes, "href")); break;
    case IMAGE:
        alt = attribute(attributes, "alt");
        if (alt)
            put_words(r, alt, strlen(alt));
        break;
    case PREFORMATTED:
        due(r, 2);
        r->preformatted++;
        break;
    default: break;
    }
}

static void on_end(void *ud, const xmlChar *name)
{
    struct reader *r = ud;
    enum kind kind = kind_of(name);
    if (kind == SKIPPED && r->skipped > 0)
        r->skipped--;
    if (kind == TITLE && r->title > 0)
        r->title--;
    if (r->skipped)
        return;
    if (kind == LINK)
        close_link(r);
    if (kind == PREFORMATTED && r->preformatted > 0)
        r->preformatted--;
    if (kind == BLOCK || kind == HEADING || kind == PREFORMATTED)
        due(r, name[0] == 't' && name[1] == 'r' ? 1 : 2);
    if (kind == ITEM)
        due(r, 1);
}

static void on_text(void *ud, const xmlChar *text, int length)
{
    struct reader *r = ud;
    const char *p = (const char *) text;
    size_t n = (size_t) length;
    if (r->skipped)
        return;
    if (r->title)
        hocket__buf_add(&r->page->title, p, n);
    else if (r->preformatted)
        put(r, p, n);
    else
        put_words(r, p, n);
}

/* ---- Reading --------------------------------------------------------------------------- */

void hocket__page_init(struct hocket__page *p, const struct hocket_allocator *a, size_t max_text)
{
    p->n_links = 0;
    hocket__buf_init(&p->title, a, 4096);
    hocket__buf_init(&p->text, a, max_text);
    hocket__buf_init(&p->links, a, 1 << 20);
}

void hocket__page_deinit(struct hocket__page *p)
{
    hocket__buf_deinit(&p->title);
    hocket__buf_deinit(&p->text);
    hocket__buf_deinit(&p->links);
}

/* What the server says goes before what the page says; and what is valid UTF-8 is UTF-8, as hardly
 * any other text is that by chance. */
static xmlCharEncoding encoding_of(struct hocket__str html, const char *charset)
{
    if (charset && *charset)
        return xml.xmlParseCharEncoding(charset);
    return hocket__utf8_valid(html.p, html.n) == html.n ? XML_CHAR_ENCODING_UTF8
                                                        : XML_CHAR_ENCODING_NONE;
}

/* In pieces, so that a page that fills the text is not parsed to its end. A text that is full is
 * cut, and no error. */
int hocket__page_read(
    struct hocket__page *p, struct hocket__str html, const char *charset, struct hocket_error *err)
{
    uv_once(&loaded.once, load_once);
    if (loaded.status < 0) {
        if (err)
            *err = loaded.error;
        return loaded.status;
    }
    struct reader r = { .page = p };
    htmlSAXHandler sax = {
        .startElement = on_start, .endElement = on_end, .characters = on_text, .cdataBlock = NULL
    };
    xmlCharEncoding encoding = encoding_of(html, charset);
    htmlParserCtxtPtr ctxt = xml.htmlCreatePushParserCtxt(&sax, &r, NULL, 0, NULL,
        encoding == XML_CHAR_ENCODING_ERROR ? XML_CHAR_ENCODING_NONE : encoding);
    if (!ctxt)
        return hocket__error_nomem(err);
    xml.htmlCtxtUseOptions(
        ctxt, HTML_PARSE_RECOVER | HTML_PARSE_NOERROR | HTML_PARSE_NOWARNING | HTML_PARSE_NONET);
    for (size_t n; html.n > 0 && p->text.status == 0; html = hocket__str(html.p + n, html.n - n)) {
        n = html.n < 65536 ? html.n : 65536;
        xml.htmlParseChunk(ctxt, html.p, (int) n, 0);
    }
    xml.htmlParseChunk(ctxt, "", 0, 1);
    xml.htmlFreeParserCtxt(ctxt);
    return p->text.status == HOCKET_ENOMEM ? hocket__error_nomem(err) : 0;
}

/* The readable text of a page. libxml2 (its HTML parser, as a stream of tags) is loaded when the
 * first page is read. */
#pragma once

#include "base/buf.h"
#include "base/status.h"

#define HOCKET__HTML_LINKS 500 /* that are kept of one page */

struct hocket__page {
    struct hocket__buf title;
    struct hocket__buf text;  /* headings with #, list items with -, links as "text [3]" */
    struct hocket__buf links; /* their addresses as they stand there, a NUL after each */
    int n_links;
};

void hocket__page_init(struct hocket__page *p, const struct hocket_allocator *a, size_t max_text);
void hocket__page_deinit(struct hocket__page *p);

/* Reads a page. `charset` is what the server said ("" or NULL: nothing; then the page's own word,
 * else UTF-8 where it is that, counts). What is no HTML is read as far as it goes. Text beyond
 * max_text is left out. EUNSUPPORTED (no libxml2), ENOMEM. Never calls back, may run on any thread.
 */
int hocket__page_read(
    struct hocket__page *p, struct hocket__str html, const char *charset, struct hocket_error *err);

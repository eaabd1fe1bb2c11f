/* One block of Markdown as lines of a page. */
#pragma once

#include "cli/markdown/page.h"

/* False when md4c is not there, or the text is too large for it: nothing was written. */
bool cli_render(struct cli_page *page, const char *p, size_t n);

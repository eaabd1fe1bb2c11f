/* The page as one script and one style sheet: what `hocket show --html` puts into a file. Browsers load no modules from files, so its
 * modules become functions, each after the modules that it imports. */
#pragma once

#include <stdbool.h>

#include "cli/buf.h"

/* Appends both; false with a sentence in *problem where a file of the page is written in a way that is not known here. */
bool cli_bundle(struct cli_buf *script, struct cli_buf *style, struct cli_buf *problem);

/* Unpacks gzip: the files of the page, which the program has packed. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "cli/buf.h"

/* Appends what is packed. NULL, or what is wrong, in words. */
const char *cli_inflate(struct cli_buf *out, const unsigned char *packed, size_t n);

/* Unpacks gzip: the files of the page, which the program has packed. No stream, no checksum: what it reads is part of the program. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "cli/buf.h"

/* Appends what is packed; false where it is damaged. */
bool cli_inflate(struct cli_buf *out, const unsigned char *packed, size_t n);

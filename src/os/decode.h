/* What is in a file, as text: UTF-8, UTF-16 with a byte order mark, Latin-1 and its Windows kin; in an
 * encoding that nobody can tell; or no text at all. */
#pragma once

#include "base/buf.h"

#include <stdbool.h>

/* "utf-8", "utf-8 with a byte order mark", "utf-16le", "utf-16be", "latin-1", "windows-1252", "unknown" or
 * "binary". *text is the text as UTF-8, without the mark: a piece of the content where it can be, else of
 * *out, which has to be empty before (look at its status); nothing for binary files. Of an unknown
 * encoding (Shift-JIS, GBK, KOI8 …) all beyond ASCII is U+FFFD: whoever wrote that back would destroy
 * the file. */
const char *hocket__decode_text(
    struct hocket__str content, struct hocket__buf *out, struct hocket__str *text);

/* The lines from `first` (1 is the first), at most `count` of them and `max` bytes: a piece of the
 * text. A line longer than `max` is cut at a character. */
struct hocket__lines {
    struct hocket__str piece;
    size_t first, last, total; /* line numbers; last < first: none */
    bool cut;                  /* the last one is not whole */
};

struct hocket__lines hocket__take_lines(
    struct hocket__str text, size_t first, size_t count, size_t max);

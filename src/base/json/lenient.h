/* JSON as models write it: in sentences and fences, with comments, commas too many, keys without
 * quotes. What is meant beyond doubt becomes strict JSON (RFC 8259), which the strict reader then
 * reads; what is JSON already stays as it was written. Nothing is guessed: a value that was cut off
 * is none.
 *
 *     struct hocket__lenient l;
 *     hocket__lenient_init(&l, text);
 *     while (hocket__lenient_next(&l, out) == 1)      // each value that the text may mean
 *         if (it fits) break;
 *
 * Taken beside strict JSON: // and block comments; a comma behind the last member or element; keys
 * without quotes; texts in single quotes; line ends, tabs and other control characters in a text;
 * a backslash in front of what needs none, which stays; True, False, None.
 *
 * The text is hostile: nesting is bounded as the strict reader's for Lua is, and the work by a
 * small multiple of the text's length, however many braces it has that lead nowhere. After such
 * work the reader looks for no further value. */
#pragma once

#include "base/buf.h"
#include "base/str.h"

#define HOCKET__LENIENT_DEPTH 128

struct hocket__lenient {
    struct hocket__str text;
    size_t at;
    size_t work; /* bytes that may still be looked at */
    enum { HOCKET__LENIENT_WHOLE, HOCKET__LENIENT_FENCES, HOCKET__LENIENT_ANYWHERE } phase;
};

void hocket__lenient_init(struct hocket__lenient *l, struct hocket__str text);

/* The next value that the text may mean, as strict JSON in `out`, which is emptied first: all of
 * the text; what stands in its fences (```), one by one; then each object or array in it, from the
 * outside. The same may come more than once. 1; 0: there is none any more; HOCKET_ENOMEM. */
int hocket__lenient_next(struct hocket__lenient *l, struct hocket__buf *out);

/* Whether the text is one value and nothing else, but for white space and a fence around all of
 * it; in `out`, which is empty, as strict JSON. 1, 0 or HOCKET_ENOMEM. */
int hocket__lenient_whole(struct hocket__str text, struct hocket__buf *out);

/* The value that a model means by all of a text: as above, and where that is a text in quotes which is an object
 * itself, as models write arguments, that object. 1, 0 or HOCKET_ENOMEM; `out` is empty before. */
int hocket__lenient_meant(struct hocket__str text, struct hocket__buf *out);

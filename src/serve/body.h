/* Takes the body of a request out of the input, by its length or by its chunks. No I/O.
 * Chunk extensions and trailers are checked, bounded and dropped. */
#pragma once

#include "base/buf.h"

struct hocket__body {
    bool chunked;
    int state;
    uint64_t left;  /* bytes of the body, or of the current chunk, still to come */
    size_t digits;  /* of the chunk's size */
    size_t ignored; /* bytes of extensions and trailers so far */
};

void hocket__body_init(struct hocket__body *b, bool chunked, uint64_t length);

/* Consumes input and appends to `out`, whose max is the largest body. Returns 1 when the
 * body is whole, 0 when more is needed, an HTTP status (400, 413) or ENOMEM. *used says
 * how much of `in` was consumed. */
int hocket__body_feed(
    struct hocket__body *b, struct hocket__str in, size_t *used, struct hocket__buf *out);

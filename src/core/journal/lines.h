/* Lines of text that are kept in their order, of which the oldest go first: what a journal has in
 * memory. They lie one behind the other in chunks, so that adding one is hardly more than copying
 * it, and a chunk is freed with the last of its lines:
 *
 *     oldest ──> [ 41 42 43 ]  [ 44 45 46 47 ]  [ 48 49 … room ] <── newest
 *
 * Chunks grow with what is kept, up to 64 KB, so that a short journal stays small. */
#pragma once

#include "base/alloc.h"
#include "base/str.h"

struct hocket__lines_chunk;

struct hocket__kept_line {
    const char *p;
    uint32_t n, mark; /* mark: a number of whoever adds it */
};

struct hocket__lines {
    const struct hocket_allocator *a;
    /* index[head .. head + count) are kept. */
    struct hocket__kept_line *index;
    size_t head, count, cap;
    struct hocket__lines_chunk *oldest, *newest;
    struct hocket__lines_chunk *spare; /* put aside for the last lines; NULL: none, or used */
    size_t held;                       /* bytes of all chunks */
};

void hocket__lines_init(struct hocket__lines *l, const struct hocket_allocator *a);
void hocket__lines_deinit(struct hocket__lines *l);

/* Adds a copy, followed by a NUL that does not count: 0, or ENOMEM with nothing added. At most
 * HOCKET__LINE_MAX bytes. */
#define HOCKET__LINE_MAX UINT32_MAX
int hocket__lines_add(struct hocket__lines *l, struct hocket__str text, uint32_t mark);
/* Puts memory aside for HOCKET__LINES_LAST lines of `size` bytes in all, with their NULs, that
 * hocket__lines_add_last adds without failing, once. 0 or ENOMEM. */
#define HOCKET__LINES_LAST 2
int hocket__lines_reserve_last(struct hocket__lines *l, size_t size);
void hocket__lines_add_last(struct hocket__lines *l, struct hocket__str text, uint32_t mark);
/* Drops the oldest; there has to be one. */
void hocket__lines_drop(struct hocket__lines *l);

/* The i-th that is kept, from 0. Stays where it is until it is dropped. */
static inline struct hocket__str hocket__lines_at(const struct hocket__lines *l, size_t i)
{
    const struct hocket__kept_line *line = &l->index[l->head + i];
    return hocket__str(line->p, line->n);
}

static inline uint32_t hocket__lines_mark(const struct hocket__lines *l, size_t i)
{
    return l->index[l->head + i].mark;
}

/* Blocks in a list, each at least as large as what did not fit into the one before; nothing is
 * given back before all of it is. A compiled schema is made of many small things that live as long
 * as it. */
#include "core/schema/arena.h"

#include <stddef.h>
#include <stdint.h>

#define BLOCK_SIZE 4000

struct hocket__arena_block {
    struct hocket__arena_block *next;
    size_t size, used; /* of `data` */
    max_align_t data[];
};

void hocket__arena_init(struct hocket__arena *m, const struct hocket_allocator *a)
{
    *m = (struct hocket__arena){ .a = a };
}

void hocket__arena_deinit(struct hocket__arena *m)
{
    while (m->blocks) {
        struct hocket__arena_block *b = m->blocks;
        m->blocks = b->next;
        hocket__free(m->a, b, sizeof(*b) + b->size);
    }
}

static struct hocket__arena_block *add_block(struct hocket__arena *m, size_t size)
{
    struct hocket__arena_block *b = hocket__new(m->a, sizeof(*b) + size);
    if (!b)
        return NULL;
    b->next = m->blocks;
    b->size = size;
    b->used = 0;
    m->blocks = b;
    return b;
}

void *hocket__arena_zero(struct hocket__arena *m, size_t size)
{
    struct hocket__arena_block *b = m->blocks;
    if (size > SIZE_MAX / 2)
        return NULL;
    /* rounded up, so that each piece begins as aligned as the block */
    size = (size + sizeof(max_align_t) - 1) / sizeof(max_align_t) * sizeof(max_align_t);
    if (!b || b->size - b->used < size)
        b = add_block(m, size > BLOCK_SIZE ? size : BLOCK_SIZE);
    if (!b)
        return NULL;
    void *p = (char *) b->data + b->used;
    b->used += size;
    return memset(p, 0, size);
}

char *hocket__arena_copy(struct hocket__arena *m, struct hocket__str s)
{
    char *p = hocket__arena_zero(m, s.n + 1);
    if (p && s.n > 0)
        memcpy(p, s.p, s.n);
    return p;
}

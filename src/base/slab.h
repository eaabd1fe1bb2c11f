/* Small blocks for one thread: free lists by size over slabs from another allocator.
 *
 * Lua makes and drops many small objects in bursts, as requests do, which is what general allocators
 * are slow at (their thread caches overflow, and neighbours are merged and split again). Blocks of
 * up to 512 bytes come from a list of their size; larger ones go through. Slabs are given
 * back all together, with deinit. */
#pragma once

#include "base/alloc.h"

#define HOCKET__SLAB_STEP 16
#define HOCKET__SLAB_MAX  512

struct hocket__slab {
    struct hocket_allocator a;            /* this allocator, for whoever uses it */
    const struct hocket_allocator *below; /* where slabs and large blocks come from */
    void *lists[HOCKET__SLAB_MAX / HOCKET__SLAB_STEP];
    struct hocket__slab_block *slabs;
    char *fresh, *fresh_end; /* what is left of the newest slab */
};

/* In place: the allocator points to it. */
void hocket__slab_init(struct hocket__slab *s, const struct hocket_allocator *below);
/* Frees all slabs; large blocks have to have been freed before. */
void hocket__slab_deinit(struct hocket__slab *s);

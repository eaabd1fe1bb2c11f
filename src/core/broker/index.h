/* Finding things by a composite key: a chained hash of nodes that live inside
 * the things themselves. The caller compares the keys:
 *
 *     for (n = hocket__index_first(ix, hash); n; n = hocket__index_next(n))
 *         if (is_it(n)) …
 */
#pragma once

#include "base/alloc.h"

struct hocket__index_node {
    struct hocket__index_node *next;
    uint64_t hash;
};

struct hocket__index {
    struct hocket__index_node **buckets;
    size_t cap, count;
    const struct hocket_allocator *a;
};

void hocket__index_init(struct hocket__index *ix, const struct hocket_allocator *a);
void hocket__index_deinit(struct hocket__index *ix);               /* the nodes are the caller's */
int hocket__index_reserve(struct hocket__index *ix, size_t count); /* 0 or ENOMEM */

/* Room for it has been reserved. */
void hocket__index_add(struct hocket__index *ix, struct hocket__index_node *n, uint64_t hash);
void hocket__index_del(struct hocket__index *ix, struct hocket__index_node *n);

/* The nodes with just this hash, in no order. */
struct hocket__index_node *hocket__index_first(const struct hocket__index *ix, uint64_t hash);
struct hocket__index_node *hocket__index_next(const struct hocket__index_node *n);

/* Folds a number, or bytes, into a hash. */
uint64_t hocket__index_mix(uint64_t hash, uint64_t value);
uint64_t hocket__index_text(uint64_t hash, const char *p, size_t n);

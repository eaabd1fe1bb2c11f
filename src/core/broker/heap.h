/* A binary min-heap of items that know their place in it, so that any item can
 * be moved or taken out in O(log n). The room is reserved beforehand: putting
 * an item in cannot fail, and so no transition of a job can. */
#pragma once

#include "base/alloc.h"

#include <stdbool.h>

/* Compared as (a, b, c). */
struct hocket__heap_key {
    int64_t a;
    uint64_t b, c;
};

struct hocket__heap_item {
    struct hocket__heap_key key;
    size_t pos; /* from 1; 0: in no heap */
};

struct hocket__heap {
    struct hocket__heap_item **items;
    size_t count, cap;
    const struct hocket_allocator *a;
};

void hocket__heap_init(struct hocket__heap *h, const struct hocket_allocator *a);
void hocket__heap_deinit(struct hocket__heap *h);
int hocket__heap_reserve(struct hocket__heap *h, size_t count); /* 0 or ENOMEM */

/* Puts the item in, or moves it when it is in already. The room is reserved. */
void hocket__heap_set(
    struct hocket__heap *h, struct hocket__heap_item *item, struct hocket__heap_key key);
void hocket__heap_del(struct hocket__heap *h, struct hocket__heap_item *item); /* absent is fine */

static inline struct hocket__heap_item *hocket__heap_top(const struct hocket__heap *h)
{
    return h->count > 0 ? h->items[0] : NULL;
}

static inline bool hocket__heap_key_less(struct hocket__heap_key x, struct hocket__heap_key y)
{
    if (x.a != y.a)
        return x.a < y.a;
    return x.b != y.b ? x.b < y.b : x.c < y.c;
}

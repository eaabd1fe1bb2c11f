/* Items move through a hole: place() writes an item and its position once for each step, where
 * swapping would write two. */
#include "core/broker/heap.h"

void hocket__heap_init(struct hocket__heap *h, const struct hocket_allocator *a)
{
    *h = (struct hocket__heap){ .a = a };
}

void hocket__heap_deinit(struct hocket__heap *h)
{
    hocket__free(h->a, h->items, h->cap * sizeof(struct hocket__heap_item *));
    hocket__heap_init(h, h->a);
}

int hocket__heap_reserve(struct hocket__heap *h, size_t count)
{
    return hocket__grow(h->a, &h->items, &h->cap, count, sizeof(struct hocket__heap_item *));
}

static void place(struct hocket__heap *h, size_t i, struct hocket__heap_item *item)
{
    h->items[i] = item;
    item->pos = i + 1;
}

static size_t sift_up(struct hocket__heap *h, size_t i, struct hocket__heap_item *item)
{
    while (i > 0 && hocket__heap_key_less(item->key, h->items[(i - 1) / 2]->key)) {
        place(h, i, h->items[(i - 1) / 2]);
        i = (i - 1) / 2;
    }
    place(h, i, item);
    return i;
}

static void sift_down(struct hocket__heap *h, size_t i, struct hocket__heap_item *item)
{
    for (size_t child; (child = 2 * i + 1) < h->count; i = child) {
        if (child + 1 < h->count
            && hocket__heap_key_less(h->items[child + 1]->key, h->items[child]->key))
            child++;
        if (!hocket__heap_key_less(h->items[child]->key, item->key))
            break;
        place(h, i, h->items[child]);
    }
    place(h, i, item);
}

void hocket__heap_set(
    struct hocket__heap *h, struct hocket__heap_item *item, struct hocket__heap_key key)
{
    size_t i = item->pos > 0 ? item->pos - 1 : h->count++;
    item->key = key;
    /* The new key may be smaller or larger than the old one: one of the two does nothing. */
    sift_down(h, sift_up(h, i, item), item);
}

void hocket__heap_del(struct hocket__heap *h, struct hocket__heap_item *item)
{
    if (item->pos == 0)
        return;
    size_t i = item->pos - 1;
    struct hocket__heap_item *last = h->items[--h->count];
    item->pos = 0;
    if (last != item)
        sift_down(h, sift_up(h, i, last), last);
}

/* A hash map from 64-bit ids to pointers: how objects find each other, by id
 * and never by a kept pointer. Open addressing, ids are never 0. */
#pragma once

#include "base/alloc.h"

struct hocket__map {
    struct hocket__map_slot {
        uint64_t id;
        void *value;
    } * slots;
    size_t cap, count;
    const struct hocket_allocator *a;
};

void hocket__map_init(struct hocket__map *m, const struct hocket_allocator *a);
void hocket__map_deinit(struct hocket__map *m); /* the values are the caller's */
/* 0, ENOMEM (never for an id that is there), or EINVAL for the id 0. */
int hocket__map_set(struct hocket__map *m, uint64_t id, void *value);
void *hocket__map_get(const struct hocket__map *m, uint64_t id); /* NULL: absent */
void *hocket__map_del(struct hocket__map *m, uint64_t id);       /* what was there */

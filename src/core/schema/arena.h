/* Memory that is freed all at once: many small pieces of one object that does
 * not change once it is made. Nothing is moved, so pointers into it stay. */
#pragma once

#include "base/alloc.h"
#include "base/str.h"

struct hocket__arena_block;

struct hocket__arena {
    const struct hocket_allocator *a;
    struct hocket__arena_block *blocks;
};

void hocket__arena_init(struct hocket__arena *m, const struct hocket_allocator *a);
void hocket__arena_deinit(struct hocket__arena *m);

/* Zeroed memory, aligned for anything; NULL when memory is out. */
void *hocket__arena_zero(struct hocket__arena *m, size_t size);
/* A NUL-terminated copy, or NULL. */
char *hocket__arena_copy(struct hocket__arena *m, struct hocket__str s);

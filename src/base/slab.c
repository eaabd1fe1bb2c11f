/* A list of free blocks for each size class, over slabs of 32 KB. A block has no header: its
 * size comes back with it (lua_Alloc says it), and a free one holds the link to the next.
 *
 * For what lives and dies by the thousand: Lua's objects and the small blocks of requests. A block
 * is of one thread, that of the host. Slabs are given back when all of it is; what is larger than
 * the largest class goes to the allocator below. */
#include "base/slab.h"

#define SLAB_SIZE ((size_t) 32 * 1024)

struct hocket__slab_block {
    struct hocket__slab_block *next;
    size_t unused; /* keeps what follows aligned to 16 */
};

static size_t class_of(size_t size)
{
    return (size - 1) / HOCKET__SLAB_STEP;
}

static int add_slab(struct hocket__slab *s)
{
    struct hocket__slab_block *b = hocket__new(s->below, SLAB_SIZE);
    if (!b)
        return HOCKET_ENOMEM;
    b->next = s->slabs;
    s->slabs = b;
    s->fresh = (char *) (b + 1);
    s->fresh_end = (char *) b + SLAB_SIZE;
    return 0;
}

static void give(struct hocket__slab *s, void *p, size_t size)
{
    if (size > HOCKET__SLAB_MAX) {
        hocket__free(s->below, p, size);
        return;
    }
    *(void **) p = s->lists[class_of(size)];
    s->lists[class_of(size)] = p;
}

/* What is left of a slab when a larger block is wanted goes to the lists. */
static void use_up(struct hocket__slab *s)
{
    while (s->fresh_end - s->fresh >= HOCKET__SLAB_STEP) {
        size_t left = (size_t) (s->fresh_end - s->fresh) / HOCKET__SLAB_STEP * HOCKET__SLAB_STEP;
        size_t size = left < HOCKET__SLAB_MAX ? left : HOCKET__SLAB_MAX;
        give(s, s->fresh, size);
        s->fresh += size;
    }
}

static void *take(struct hocket__slab *s, size_t size)
{
    if (size > HOCKET__SLAB_MAX)
        return hocket__new(s->below, size);
    size_t class = class_of(size), room = (class + 1) * HOCKET__SLAB_STEP;
    void *p = s->lists[class];
    if (p) {
        s->lists[class] = *(void **) p;
        return p;
    }
    if ((size_t) (s->fresh_end - s->fresh) < room) {
        use_up(s);
        if (add_slab(s) < 0)
            return NULL;
    }
    p = s->fresh;
    s->fresh += room;
    return p;
}

static void *move(struct hocket__slab *s, void *p, size_t old_size, size_t new_size)
{
    if (old_size > HOCKET__SLAB_MAX && new_size > HOCKET__SLAB_MAX)
        return hocket__resize(s->below, p, old_size, new_size);
    if (old_size <= HOCKET__SLAB_MAX && new_size <= HOCKET__SLAB_MAX
        && class_of(old_size) == class_of(new_size))
        return p;
    void *q = take(s, new_size);
    if (q) {
        memcpy(q, p, old_size < new_size ? old_size : new_size);
        give(s, p, old_size);
    }
    return q;
}

/* As lua_Alloc: without a block, old_size says what it is for, and nothing of its size. */
static void *slab_cb(void *ud, void *ptr, size_t old_size, size_t new_size)
{
    struct hocket__slab *s = ud;
    if (!ptr || old_size == 0)
        return new_size ? take(s, new_size) : NULL;
    if (new_size == 0) {
        give(s, ptr, old_size);
        return NULL;
    }
    return move(s, ptr, old_size, new_size);
}

void hocket__slab_init(struct hocket__slab *s, const struct hocket_allocator *below)
{
    *s = (struct hocket__slab){ .below = below };
    s->a = (struct hocket_allocator){ slab_cb, s };
}

void hocket__slab_deinit(struct hocket__slab *s)
{
    while (s->slabs) {
        struct hocket__slab_block *b = s->slabs;
        s->slabs = b->next;
        hocket__free(s->below, b, SLAB_SIZE);
    }
    hocket__slab_init(s, s->below);
}

/* Open addressing with linear probing, and no tombstones: a gap is closed by moving back what
 * follows, so a map in which things come and go for days stays as fast as a new one.
 *
 * Keys are ids that are counted up or hashes that are random already: a multiplication spreads the
 * former, and nobody from outside chooses either. 0 is no key. Pointers into the map are good until
 * the next change. */
#include "base/map.h"

/* Fibonacci hashing spreads consecutive ids; cap is a power of two. */
static size_t home(const struct hocket__map *m, uint64_t id)
{
    return (size_t) (id * 0x9E3779B97F4A7C15u >> 17) & (m->cap - 1);
}

static struct hocket__map_slot *find(const struct hocket__map *m, uint64_t id)
{
    size_t i = home(m, id);
    while (m->slots[i].id != 0 && m->slots[i].id != id)
        i = (i + 1) & (m->cap - 1);
    return &m->slots[i];
}

void hocket__map_init(struct hocket__map *m, const struct hocket_allocator *a)
{
    *m = (struct hocket__map){ .a = a };
}

void hocket__map_deinit(struct hocket__map *m)
{
    hocket__free(m->a, m->slots, m->cap * sizeof(*m->slots));
    hocket__map_init(m, m->a);
}

static int resize(struct hocket__map *m, size_t cap)
{
    struct hocket__map old = *m;
    struct hocket__map_slot *slots = hocket__zero(m->a, cap * sizeof(*slots));
    if (!slots)
        return HOCKET_ENOMEM;
    m->slots = slots;
    m->cap = cap;
    for (size_t i = 0; i < old.cap; i++)
        if (old.slots[i].id != 0)
            *find(m, old.slots[i].id) = old.slots[i];
    hocket__free(m->a, old.slots, old.cap * sizeof(*old.slots));
    return 0;
}

int hocket__map_set(struct hocket__map *m, uint64_t id, void *value)
{
    if (id == 0)
        return HOCKET_EINVAL;
    struct hocket__map_slot *s = m->cap > 0 ? find(m, id) : NULL;
    if (!s || s->id == 0) {
        if ((m->count + 1) * 4 > m->cap * 3 && resize(m, m->cap ? m->cap * 2 : 16) < 0)
            return HOCKET_ENOMEM;
        s = find(m, id);
        m->count++;
    }
    *s = (struct hocket__map_slot){ id, value };
    return 0;
}

void *hocket__map_get(const struct hocket__map *m, uint64_t id)
{
    if (m->cap == 0 || id == 0)
        return NULL;
    struct hocket__map_slot *s = find(m, id);
    return s->id ? s->value : NULL;
}

/* Closes the gap by moving back the followers whose home lies at or before it. */
void *hocket__map_del(struct hocket__map *m, uint64_t id)
{
    if (m->cap == 0 || id == 0)
        return NULL;
    struct hocket__map_slot *gap = find(m, id);
    if (gap->id == 0)
        return NULL;
    void *value = gap->value;
    size_t mask = m->cap - 1, g = (size_t) (gap - m->slots);
    for (size_t i = (g + 1) & mask; m->slots[i].id != 0; i = (i + 1) & mask) {
        size_t distance = (i - home(m, m->slots[i].id)) & mask;
        if (distance >= ((i - g) & mask)) {
            m->slots[g] = m->slots[i];
            g = i;
        }
    }
    m->slots[g] = (struct hocket__map_slot){ 0 };
    m->count--;
    return value;
}

/* One bucket for each thing at least, a power of two of them. A node keeps its hash, so that
 * growing needs no keys, and chains are compared by the hash before anybody looks at a key.
 *
 * For what the broker has to find by a text or a number. Nodes are parts of what they index:
 * nothing is allocated for an entry. */
#include "core/broker/index.h"

void hocket__index_init(struct hocket__index *ix, const struct hocket_allocator *a)
{
    *ix = (struct hocket__index){ .a = a };
}

void hocket__index_deinit(struct hocket__index *ix)
{
    hocket__free(ix->a, ix->buckets, ix->cap * sizeof(struct hocket__index_node *));
    hocket__index_init(ix, ix->a);
}

static struct hocket__index_node **bucket(const struct hocket__index *ix, uint64_t hash)
{
    return &ix->buckets[hash & (ix->cap - 1)];
}

static void rehash(struct hocket__index *ix, struct hocket__index_node **buckets, size_t cap)
{
    struct hocket__index old = *ix;
    ix->buckets = buckets;
    ix->cap = cap;
    for (size_t i = 0; i < old.cap; i++) {
        for (struct hocket__index_node *n = old.buckets[i], *next; n; n = next) {
            next = n->next;
            n->next = *bucket(ix, n->hash);
            *bucket(ix, n->hash) = n;
        }
    }
    hocket__free(old.a, old.buckets, old.cap * sizeof(struct hocket__index_node *));
}

int hocket__index_reserve(struct hocket__index *ix, size_t count)
{
    if (count <= ix->cap)
        return 0;
    size_t cap = ix->cap ? ix->cap : 16;
    while (cap < count)
        cap *= 2;
    struct hocket__index_node **buckets = hocket__zero(ix->a, cap * sizeof(*buckets));
    if (!buckets)
        return HOCKET_ENOMEM;
    rehash(ix, buckets, cap);
    return 0;
}

void hocket__index_add(struct hocket__index *ix, struct hocket__index_node *n, uint64_t hash)
{
    n->hash = hash;
    n->next = *bucket(ix, hash);
    *bucket(ix, hash) = n;
    ix->count++;
}

void hocket__index_del(struct hocket__index *ix, struct hocket__index_node *n)
{
    struct hocket__index_node **at = bucket(ix, n->hash);
    while (*at != n)
        at = &(*at)->next;
    *at = n->next;
    ix->count--;
}

static struct hocket__index_node *same(struct hocket__index_node *n, uint64_t hash)
{
    while (n && n->hash != hash)
        n = n->next;
    return n;
}

struct hocket__index_node *hocket__index_first(const struct hocket__index *ix, uint64_t hash)
{
    return ix->cap > 0 ? same(*bucket(ix, hash), hash) : NULL;
}

struct hocket__index_node *hocket__index_next(const struct hocket__index_node *n)
{
    return same(n->next, n->hash);
}

/* The finaliser of splitmix64: every input bit reaches the low bits, which are
 * the ones that choose the bucket. */
uint64_t hocket__index_mix(uint64_t hash, uint64_t value)
{
    uint64_t z = (hash ^ value) + 0x9E3779B97F4A7C15u;
    z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9u;
    z = (z ^ z >> 27) * 0x94D049BB133111EBu;
    return z ^ z >> 31;
}

uint64_t hocket__index_text(uint64_t hash, const char *p, size_t n)
{
    for (; n >= 8; p += 8, n -= 8) {
        uint64_t word;
        memcpy(&word, p, 8);
        hash = hocket__index_mix(hash, word);
    }
    uint64_t rest = 0;
    if (n > 0)
        memcpy(&rest, p, n);
    return hocket__index_mix(hash, rest ^ (uint64_t) n << 56);
}

/* Which members or elements of one instance have been looked at: a bit each,
 * by place, without memory of its own up to 64 of them. */
#include "core/schema/run_impl.h"

static size_t words(size_t count)
{
    return (count + 63) / 64;
}

int hocket__schema_seen_init(struct hocket__schema_run *r, struct hocket__schema_seen *s,
    const struct hocket__schema_inst *in)
{
    bool holds = in->type == HOCKET__TREE_ARRAY || in->type == HOCKET__TREE_OBJECT;
    *s = (struct hocket__schema_seen){ .count = holds ? hocket_json_count(in->json) : 0 };
    if (!hocket__schema_spend(r, s->count / 16))
        return HOCKET_ELIMIT;
    if (s->count <= 64)
        return 0;
    s->bits = hocket__zero(r->a, words(s->count) * sizeof(*s->bits));
    return s->bits ? 0 : HOCKET_ENOMEM;
}

void hocket__schema_seen_deinit(struct hocket__schema_run *r, struct hocket__schema_seen *s)
{
    hocket__free(r->a, s->bits, words(s->count) * sizeof(*s->bits));
}

void hocket__schema_seen_add(struct hocket__schema_seen *s, size_t i)
{
    uint64_t *word = s->bits ? &s->bits[i / 64] : &s->few;
    *word |= (uint64_t) 1 << (i % 64);
}

bool hocket__schema_seen_has(const struct hocket__schema_seen *s, size_t i)
{
    uint64_t word = s->bits ? s->bits[i / 64] : s->few;
    return (word >> (i % 64)) & 1;
}

void hocket__schema_seen_merge(
    struct hocket__schema_seen *into, const struct hocket__schema_seen *from)
{
    if (!from->bits)
        into->few |= from->few;
    for (size_t i = 0; from->bits && i < words(from->count); i++)
        into->bits[i] |= from->bits[i];
}

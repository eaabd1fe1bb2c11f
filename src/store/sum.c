#include "store/sum.h"

#include <string.h>

#define BITS 12 /* of each part of what updates set */

/* Of two that differ in h or in v alone the outcomes differ. */
static uint64_t mix(uint64_t h, uint64_t v)
{
    h = (h ^ v) * UINT64_C(0x9E3779B97F4A7C15);
    return h ^ h >> 29;
}

/* Low bytes first, on every machine. */
static uint64_t word_of(const char *p, size_t n)
{
    uint64_t v = 0;
    for (size_t i = 0; i < n; i++)
        v |= (uint64_t) (unsigned char) p[i] << (8 * i);
    return v;
}

/* The same of eight, as compilers know it: one load, where eight turns of a loop cost as much as all else of a sum. */
static uint64_t word(const char *text)
{
    const unsigned char *p = (const unsigned char *) text;
    return (uint64_t) p[0] | (uint64_t) p[1] << 8 | (uint64_t) p[2] << 16 | (uint64_t) p[3] << 24
           | (uint64_t) p[4] << 32 | (uint64_t) p[5] << 40 | (uint64_t) p[6] << 48
           | (uint64_t) p[7] << 56;
}

static uint64_t mix_text(uint64_t h, struct hocket__str s)
{
    h = mix(h, s.n);
    for (; s.n >= 8; s = hocket__str(s.p + 8, s.n - 8))
        h = mix(h, word(s.p));
    return s.n > 0 ? mix(h, word_of(s.p, s.n)) : h;
}

int64_t hocket__store_sum_entry(const struct hocket__store_entry *e)
{
    uint64_t h = mix(mix(mix(1, e->n), e->tick), (uint64_t) e->at_ms);
    h = mix(mix(h, e->kind), e->path);
    h = mix_text(mix_text(mix(h, e->ord), e->name), e->digest);
    return (int64_t) mix_text(h, e->value);
}

int64_t hocket__store_sum_record(const struct hocket__store_record *r)
{
    return (int64_t) mix_text(mix(2, r->seq), r->json);
}

int64_t hocket__store_sum_message(const struct hocket__store_message *m)
{
    return (int64_t) mix_text(mix_text(mix(3, (uint64_t) m->at_ms), m->id), m->json);
}

int64_t hocket__store_sum_run(const struct hocket__store_run *r)
{
    uint64_t h = mix(mix(mix(4, r->at_n), r->at_seq), (uint64_t) r->created_ms);
    h = mix_text(mix_text(mix_text(h, hocket__cstr(r->id)), r->target), r->input);
    h = mix_text(mix_text(h, r->version), hocket__str((const char *) r->seed, sizeof(r->seed)));
    return (int64_t) mix_text(mix_text(h, hocket__cstr(r->caller)), r->project);
}

/* ---- What updates set ------------------------------------------------------------------------- */

/* The time at which it is due is the queue's, which sets it by itself. */
static uint64_t mix_part(const struct hocket__store_run *r, unsigned part)
{
    switch (part) {
    case HOCKET__STORE_SET_WAITING_FOR: return mix_text(5, r->waiting_for);
    case HOCKET__STORE_SET_USAGE:
        return mix(mix(mix(6, (uint64_t) r->cost), (uint64_t) r->tokens), r->simulated);
    case HOCKET__STORE_SET_GENERATION: return mix_text(7, r->generation);
    case HOCKET__STORE_SET_OPTIONS: return mix_text(8, r->options);
    case HOCKET__STORE_SET_QUEUE: return mix_text(9, r->pool);
    }
    return 0;
}

int64_t hocket__store_sum_set(const struct hocket__store_run *r, unsigned set, int64_t *mask)
{
    uint64_t sum = 0, bits = 0, all = (1 << BITS) - 1;
    int at = 0;
    for (unsigned part = HOCKET__STORE_SET_WAITING_FOR; part <= HOCKET__STORE_SET_QUEUE;
         part <<= 1, at += BITS) {
        if (!(set & part))
            continue;
        sum |= (mix_part(r, part) >> 32 & all) << at;
        bits |= all << at;
    }
    *mask = (int64_t) bits;
    return (int64_t) sum;
}

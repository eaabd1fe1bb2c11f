/* Writes a text down as bytes and matches, the cheapest way: found from its end, by what each symbol
 * costs. What it costs follows from how often it is chosen: so it is done some times over. */
#include <stdlib.h>

#include "embed.h"

/* The cheapest way on from a place: a match, or a byte when `n` is 0. */
struct step {
    uint32_t cost; /* in bits, to the end */
    struct match match;
};

static uint32_t distance_cost(const struct code *distances, uint32_t distance)
{
    struct classed d = classify(distance - 1);
    return code_cost(distances, d.of) + d.bits;
}

/* Each part of a match is a match too; of a long one only short parts and the whole are looked at. */
static void try_match(struct step *s, const struct codes *codes, size_t shorter, struct match m)
{
    uint32_t distance = distance_cost(&codes->distances, m.distance);
    for (uint32_t n = (uint32_t) shorter + 1; n <= m.n; n = n < 64 || n == m.n ? n + 1 : m.n) {
        struct classed length = classify(n - MIN_MATCH);
        uint32_t cost =
            code_cost(&codes->symbols, 256 + length.of) + length.bits + distance + s[n].cost;
        if (cost < s->cost)
            *s = (struct step){ cost, { n, m.distance } };
    }
}

static struct step *find_steps(const struct file *f, const struct codes *codes)
{
    struct step *steps = must(calloc(f->n + 1, sizeof(*steps)));
    for (size_t at = f->n; at-- > 0;) {
        const struct matches *m = f->matches;
        size_t shorter = MIN_MATCH - 1;
        steps[at].cost = code_cost(&codes->symbols, f->data[at]) + steps[at + 1].cost;
        for (size_t i = m->begin[at]; i < m->begin[at + 1]; shorter = m->all[i++].n)
            try_match(&steps[at], codes, shorter, m->all[i]);
    }
    return steps;
}

void choose(struct file *f, const struct codes *codes, struct codes *counts)
{
    struct step *steps = find_steps(f, codes);
    for (size_t at = 0; at < f->n;) {
        struct match m = steps[at].match;
        counts->symbols.count[m.n ? 256 + classify(m.n - MIN_MATCH).of : f->data[at]]++;
        if (m.n)
            counts->distances.count[classify(m.distance - 1).of]++;
        at += m.n ? m.n : 1;
    }
    free(steps);
}

struct codes codes_new(void)
{
    return (struct codes){
        { .n = N_SYMBOLS, .max_bits = SYMBOL_BITS },
        { .n = N_DISTANCES, .max_bits = DISTANCE_BITS },
    };
}

void codes_make(struct codes *c)
{
    code_make(&c->symbols);
    code_make(&c->distances);
}

struct writer {
    unsigned char *out;
    uint64_t bits;
    unsigned n;
};

static void put(struct writer *w, uint32_t v, unsigned n)
{
    w->bits |= (uint64_t) v << w->n;
    for (w->n += n; w->n >= 8; w->n -= 8, w->bits >>= 8)
        *w->out++ = (unsigned char) w->bits;
}

static void put_symbol(struct writer *w, const struct code *c, unsigned symbol)
{
    put(w, c->word[symbol], c->bits[symbol]);
}

static void put_match(struct writer *w, const struct codes *codes, struct match m)
{
    struct classed length = classify(m.n - MIN_MATCH), distance = classify(m.distance - 1);
    put_symbol(w, &codes->symbols, 256 + length.of);
    put(w, length.rest, length.bits);
    put_symbol(w, &codes->distances, distance.of);
    put(w, distance.rest, distance.bits);
}

void pack(struct file *f, const struct codes *codes)
{
    struct step *steps = find_steps(f, codes);
    f->packed = must(malloc(f->n * 2 + 16));
    struct writer w = { .out = f->packed };
    for (size_t at = 0; at < f->n; at += steps[at].match.n ? steps[at].match.n : 1)
        if (steps[at].match.n)
            put_match(&w, codes, steps[at].match);
        else
            put_symbol(&w, &codes->symbols, f->data[at]);
    if (w.n > 0)
        put(&w, 0, 8 - w.n);
    f->n_packed = (size_t) (w.out - f->packed);
    free(steps);
}

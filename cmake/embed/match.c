/* Finds what stands in a text for the second time, by chains of places that begin alike. */
#include <stdlib.h>
#include <string.h>

#include "embed.h"

#define HASH_BITS 15
#define TRIES     512 /* earlier places that are looked at */

struct finder {
    const unsigned char *text; /* the dictionary, and behind it the text */
    size_t n;
    int head[1 << HASH_BITS], *before; /* the last place that began alike */
};

static unsigned hash(const unsigned char *p)
{
    return (p[0] << 16 | p[1] << 8 | p[2]) * 2654435761u >> (32 - HASH_BITS);
}

static void note(struct finder *k, size_t at)
{
    if (at + MIN_MATCH > k->n)
        return;
    unsigned h = hash(k->text + at);
    k->before[at] = k->head[h];
    k->head[h] = (int) at;
}

static void add(struct matches *m, uint32_t n, uint32_t distance)
{
    if (m->n == m->cap) {
        m->cap = m->cap ? m->cap * 2 : 1024;
        m->all = must(realloc(m->all, m->cap * sizeof(m->all[0])));
    }
    m->all[m->n++] = (struct match){ n, distance };
}

static void look(const struct finder *k, size_t at, struct matches *m)
{
    size_t best = MIN_MATCH - 1, most = k->n - at < MAX_MATCH ? k->n - at : MAX_MATCH;
    int tries = TRIES;
    if (best >= most)
        return;
    for (int p = k->before[at]; p >= 0 && best < most && tries-- > 0; p = k->before[p]) {
        if (at - (size_t) p > MAX_DISTANCE)
            return;
        const unsigned char *a = k->text + p, *b = k->text + at;
        size_t n = 0;
        if (a[best] != b[best])
            continue;
        while (n < most && a[n] == b[n])
            n++;
        if (n > best) {
            best = n;
            add(m, (uint32_t) n, (uint32_t) (at - (size_t) p));
        }
    }
}

struct matches *find_matches(
    const unsigned char *dictionary, size_t n_dictionary, const unsigned char *text, size_t n)
{
    struct matches *m = must(calloc(1, sizeof(*m)));
    struct finder *k = must(malloc(sizeof(*k)));
    unsigned char *whole = must(malloc(n_dictionary + n + 1));
    memcpy(whole, dictionary, n_dictionary);
    memcpy(whole + n_dictionary, text, n);
    *k = (struct finder){ .text = whole, .n = n_dictionary + n };
    memset(k->head, -1, sizeof(k->head));
    k->before = must(malloc((k->n + 1) * sizeof(int)));
    m->begin = must(malloc((n + 1) * sizeof(size_t)));
    for (size_t i = 0; i < k->n; i++) {
        note(k, i);
        if (i < n_dictionary)
            continue;
        m->begin[i - n_dictionary] = m->n;
        if (i + MIN_MATCH <= k->n)
            look(k, i, m);
    }
    m->begin[n] = m->n;
    free(k->before);
    free(k);
    free(whole);
    return m;
}

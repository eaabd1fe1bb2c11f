/* Huffman codes. No word is longer than what the reader looks up in one step. */
#include <string.h>

#include "embed.h"

struct node {
    uint64_t weight;
    int left, right; /* -1: a symbol */
};

static int lightest(const struct node *nodes, const bool *taken, int n)
{
    int best = -1;
    for (int i = 0; i < n; i++)
        if (!taken[i] && nodes[i].weight > 0 && (best < 0 || nodes[i].weight < nodes[best].weight))
            best = i;
    return best;
}

static unsigned set_bits(struct code *c, const struct node *nodes, int at, unsigned depth)
{
    if (nodes[at].left < 0) {
        c->bits[at] = (unsigned char) (depth > 0 ? depth : 1);
        return c->bits[at];
    }
    unsigned left = set_bits(c, nodes, nodes[at].left, depth + 1);
    unsigned right = set_bits(c, nodes, nodes[at].right, depth + 1);
    return left > right ? left : right;
}

/* The bits of the longest word. */
static unsigned build(struct code *c, const uint64_t *weights)
{
    struct node nodes[2 * N_SYMBOLS];
    bool taken[2 * N_SYMBOLS] = { false };
    int n = (int) c->n;
    for (int i = 0; i < n; i++)
        nodes[i] = (struct node){ weights[i], -1, -1 };
    memset(c->bits, 0, sizeof(c->bits));
    for (;;) {
        int a = lightest(nodes, taken, n);
        if (a < 0)
            return 0;
        taken[a] = true;
        int b = lightest(nodes, taken, n);
        if (b < 0)
            return set_bits(c, nodes, a, 0);
        taken[b] = true;
        nodes[n++] = (struct node){ nodes[a].weight + nodes[b].weight, a, b };
    }
}

static uint16_t reverse(unsigned word, unsigned bits)
{
    unsigned out = 0;
    for (unsigned i = 0; i < bits; i++)
        out |= (word >> i & 1) << (bits - 1 - i);
    return (uint16_t) out;
}

static void set_words(struct code *c)
{
    unsigned word = 0;
    for (unsigned bits = 1; bits <= c->max_bits; bits++, word <<= 1)
        for (unsigned s = 0; s < c->n; s++)
            if (c->bits[s] == bits)
                c->word[s] = reverse(word++, bits);
}

/* Where a word would be too long, rare symbols are taken for less rare than they are. */
void code_make(struct code *c)
{
    uint64_t weights[N_SYMBOLS];
    memcpy(weights, c->count, sizeof(weights));
    while (build(c, weights) > c->max_bits)
        for (unsigned s = 0; s < c->n; s++)
            weights[s] = weights[s] > 0 ? weights[s] / 2 + 1 : 0;
    set_words(c);
}

void code_table(const struct code *c, uint16_t *out)
{
    memset(out, 0, sizeof(out[0]) << c->max_bits);
    for (unsigned s = 0; s < c->n; s++)
        if (c->bits[s])
            for (unsigned i = c->word[s]; i < 1u << c->max_bits; i += 1u << c->bits[s])
                out[i] = (uint16_t) (s << 4 | c->bits[s]);
}

unsigned code_cost(const struct code *c, unsigned symbol)
{
    return c->bits[symbol] ? c->bits[symbol] : c->max_bits + 1;
}

/* Up to 7 each is a class of its own; above, four of them are between one power of two and the next. */
struct classed classify(uint32_t v)
{
    unsigned lg = 3;
    if (v < 8)
        return (struct classed){ v, 0, 0 };
    while (v >> (lg + 1))
        lg++;
    return (struct classed){ 8 + (lg - 3) * 4 + (v >> (lg - 2) & 3), lg - 2,
        v & ((1u << (lg - 2)) - 1) };
}

/* Unpacks what cmake/embed/ has packed. The packed texts are part of the program, and yet nothing
 * is trusted: a program on a damaged disk says that it is damaged, and does not write past a
 * buffer. */
#include "base/unpack.h"

#include <stddef.h>

#include "base/bytes.h"

struct reader {
    const unsigned char *p, *end;
    uint64_t bits; /* the next ones, zeros behind them */
    unsigned n;
    bool failed;
};

/* A match takes 43 bits at most: two words, and what is left of two numbers. Eight bytes at once may leave
 * bits above the `n`, which come again the next time, and are the same then. */
static inline void refill(struct reader *r)
{
    if (r->n >= 48)
        return;
    if (r->end - r->p >= 8) {
        r->bits |= hocket__read_le64(r->p) << r->n;
        r->p += (63 - r->n) >> 3;
        r->n |= 56;
        return;
    }
    for (; r->n <= 56 && r->p < r->end; r->n += 8)
        r->bits |= (uint64_t) *r->p++ << r->n;
}

static inline unsigned take(struct reader *r, unsigned n)
{
    unsigned v = (unsigned) (r->bits & ((1u << n) - 1));
    r->failed |= n > r->n;
    r->bits >>= n;
    r->n -= n;
    return v;
}

static inline unsigned take_word(struct reader *r, const uint16_t *words, unsigned bits)
{
    unsigned word = words[r->bits & ((1u << bits) - 1)];
    r->failed |= word == 0;
    take(r, word & 15);
    return word >> 4;
}

static inline size_t take_number(struct reader *r, unsigned class)
{
    if (class < 8)
        return class;
    unsigned bits = (class - 8) / 4 + 1;
    if (bits > 17) {
        r->failed = true;
        return 0;
    }
    return (size_t) (4 + class % 4) << bits | take(r, bits);
}

/* Most are a few bytes long, for which a call would cost more than they do: two words that may overlap
 * each other do it. */
static inline void copy(char *to, const char *from, size_t n)
{
    uint64_t first, last;
    uint32_t head, tail;
    if (n > 16) {
        memcpy(to, from, n);
    } else if (n >= 8) {
        memcpy(&first, from, 8);
        memcpy(&last, from + n - 8, 8);
        memcpy(to, &first, 8);
        memcpy(to + n - 8, &last, 8);
    } else if (n >= 4) {
        memcpy(&head, from, 4);
        memcpy(&tail, from + n - 4, 4);
        memcpy(to, &head, 4);
        memcpy(to + n - 4, &tail, 4);
    } else {
        for (size_t i = 0; i < n; i++)
            to[i] = from[i];
    }
}

/* What came before: the dictionary, and then what is made already. */
static inline bool copy_match(
    struct hocket__str dictionary, char *out, size_t at, size_t n, size_t offset)
{
    char *to = out + at;
    if (offset == 0 || offset > at + dictionary.n)
        return false;
    if (offset > at) {
        size_t back = offset - at, of_dictionary = back < n ? back : n;
        copy(to, dictionary.p + dictionary.n - back, of_dictionary);
        to += of_dictionary;
        n -= of_dictionary;
    }
    if (offset >= n)
        copy(to, to - offset, n);
    else /* byte by byte, as a match may overlap what it makes */
        for (size_t i = 0; i < n; i++)
            to[i] = to[i - (ptrdiff_t) offset];
    return true;
}

/* Gives how many bytes it made; 0 when it failed. */
static inline size_t unpack_match(struct reader *r, const struct hocket__unpack_code *code,
    struct hocket__str dictionary, unsigned class, char *out, size_t at, size_t n)
{
    size_t match = take_number(r, class) + HOCKET__UNPACK_MIN_MATCH;
    unsigned distance = take_word(r, code->distances, HOCKET__UNPACK_DISTANCE_BITS);
    size_t offset = take_number(r, distance) + 1;
    if (r->failed || match > n - at || !copy_match(dictionary, out, at, match, offset))
        return 0;
    return match;
}

bool hocket__unpack(struct hocket__str packed, const struct hocket__unpack_code *code,
    struct hocket__str dictionary, char *out, size_t n)
{
    const unsigned char *start = (const unsigned char *) packed.p;
    struct reader r = { .p = start, .end = start + packed.n };
    for (size_t at = 0, made; at < n; at += made) {
        refill(&r);
        unsigned symbol = take_word(&r, code->symbols, HOCKET__UNPACK_SYMBOL_BITS);
        made = 1;
        if (symbol < 256)
            out[at] = (char) symbol;
        else
            made = unpack_match(&r, code, dictionary, symbol - 256, out, at, n);
        if (r.failed || made == 0)
            return false;
    }
    return r.p == r.end && r.n < 8 && r.bits == 0;
}

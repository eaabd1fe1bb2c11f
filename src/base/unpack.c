/* Unpacks what cmake/embed.c has packed. The packed texts are part of the program, and yet nothing
 * is trusted: a program on a damaged disk says that it is damaged, and does not write past a
 * buffer. */
#include "base/unpack.h"

#define MIN_MATCH 4

struct reader {
    const unsigned char *p, *end;
    bool failed;
};

static unsigned next(struct reader *r)
{
    if (r->p < r->end)
        return *r->p++;
    r->failed = true;
    return 0;
}

/* A length that runs past the end of the input ends by next(), which gives 0 there and marks the
 * failure. */
static size_t read_length(struct reader *r, unsigned half)
{
    size_t n = half;
    unsigned more = 255;
    if (half < 15)
        return n;
    while (more == 255)
        n += more = next(r);
    return n;
}

static bool copy_literals(struct reader *r, char *out, size_t at, size_t room, size_t n)
{
    if (n > room || n > (size_t) (r->end - r->p))
        return false;
    memcpy(out + at, r->p, n);
    r->p += n;
    return true;
}

/* What came before: the dictionary, and then what is made already. */
static bool copy_match(struct hocket__str dictionary, char *out, size_t at, size_t n, size_t offset)
{
    if (offset == 0 || offset > at + dictionary.n)
        return false;
    size_t of_dictionary = offset > at ? offset - at : 0;
    if (of_dictionary > n)
        of_dictionary = n;
    if (of_dictionary > 0)
        memcpy(out + at, dictionary.p + dictionary.n + at - offset, of_dictionary);
    if (of_dictionary == 0 && offset >= n)
        memcpy(out + at, out + at - offset, n);
    else /* byte by byte, as a match may overlap what it makes */
        for (size_t i = at + of_dictionary; i < at + n; i++)
            out[i] = out[i - offset];
    return true;
}

bool hocket__unpack(struct hocket__str packed, struct hocket__str dictionary, char *out, size_t n)
{
    const unsigned char *start = (const unsigned char *) packed.p;
    struct reader r = { .p = start, .end = start + packed.n };
    for (size_t at = 0;;) {
        unsigned token = next(&r);
        size_t literals = read_length(&r, token >> 4);
        if (r.failed || !copy_literals(&r, out, at, n - at, literals))
            return false;
        at += literals;
        if (r.p == r.end)
            return at == n;
        unsigned low = next(&r), high = next(&r);
        size_t match = read_length(&r, token & 15) + MIN_MATCH;
        if (r.failed || match > n - at || !copy_match(dictionary, out, at, match, low | high << 8))
            return false;
        at += match;
    }
}

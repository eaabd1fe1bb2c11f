/* Deflate (RFC 1951) in gzip (RFC 1952), symbol by symbol: 40 files of some KB are unpacked in a few milliseconds, and no library
 * has to be linked for it. Codes are canonical: those of one length are consecutive numbers, in the order of their symbols. */
#include "cli/html/inflate.h"

#include <stdint.h>
#include <string.h>

#define LONGEST   15
#define LITERALS  288
#define LENGTHS   29
#define DISTANCES 30
/* Nothing of the page is larger; damaged bytes are not to fill the memory. */
#define MOST ((size_t) 16 << 20)

struct reader {
    const unsigned char *p, *end;
    uint32_t held; /* bits that were taken from there and not used, the next one lowest */
    int bits;
    bool bad;
};

struct code {
    uint16_t count[LONGEST + 1]; /* how many symbols have a code of this length */
    uint16_t symbols[LITERALS];  /* in the order of their codes */
};

static unsigned take(struct reader *r, int n)
{
    while (r->bits < n) {
        r->bad |= r->p == r->end;
        r->held |= (uint32_t) (r->p < r->end ? *r->p++ : 0) << r->bits;
        r->bits += 8;
    }
    unsigned value = r->held & ((1u << n) - 1);
    r->held >>= n;
    r->bits -= n;
    return value;
}

/* ---- Codes ----------------------------------------------------------------------------------- */

static void make_code(struct code *c, const uint8_t *lengths, int n)
{
    uint16_t at[LONGEST + 2] = { 0 };
    memset(c, 0, sizeof(*c));
    for (int i = 0; i < n; i++)
        c->count[lengths[i]]++;
    c->count[0] = 0;
    for (int i = 1; i <= LONGEST; i++)
        at[i + 1] = (uint16_t) (at[i] + c->count[i]);
    for (int i = 0; i < n; i++)
        if (lengths[i] > 0)
            c->symbols[at[lengths[i]]++] = (uint16_t) i;
}

static int decode(struct reader *r, const struct code *c)
{
    int code = 0, first = 0, index = 0;
    for (int length = 1; length <= LONGEST; length++) {
        code |= (int) take(r, 1);
        if (code - c->count[length] < first)
            return c->symbols[index + (code - first)];
        index += c->count[length];
        first = (first + c->count[length]) << 1;
        code <<= 1;
    }
    r->bad = true;
    return 0;
}

/* ---- Blocks ------------------------------------------------------------------------------------ */

static void copy_back(struct reader *r, struct cli_buf *out, size_t from, size_t distance, size_t n)
{
    if (distance > out->n - from || out->n - from > MOST) {
        r->bad = true;
        return;
    }
    for (; n > 0; n--) { /* what is copied may be what was copied just now */
        char c = out->p[out->n - distance];
        cli_buf_add(out, &c, 1);
    }
}

static void read_symbols(struct reader *r, struct cli_buf *out, size_t from,
    const struct code *literals, const struct code *distances)
{
    static const uint16_t base[LENGTHS] = { 3, 4, 5, 6, 7, 8, 9, 10, 11, 13, 15, 17, 19, 23, 27, 31,
        35, 43, 51, 59, 67, 83, 99, 115, 131, 163, 195, 227, 258 };
    static const uint8_t more[LENGTHS] = { 0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 2, 2, 2, 2, 3, 3, 3,
        3, 4, 4, 4, 4, 5, 5, 5, 5, 0 };
    while (!r->bad) {
        int symbol = decode(r, literals);
        if (symbol == 256)
            return;
        if (symbol < 256) {
            char c = (char) symbol;
            cli_buf_add(out, &c, 1);
            continue;
        }
        symbol -= 257;
        r->bad |= symbol >= LENGTHS;
        size_t n = r->bad ? 0 : base[symbol] + take(r, more[symbol]);
        int far = decode(r, distances);
        r->bad |= far >= DISTANCES;
        if (r->bad)
            return;
        int extra = far < 4 ? 0 : far / 2 - 1;
        size_t distance =
            far < 4 ? (size_t) far + 1 : ((size_t) (2 + far % 2) << extra) + 1 + take(r, extra);
        copy_back(r, out, from, distance, n);
    }
}

static void read_fixed(struct reader *r, struct cli_buf *out, size_t from)
{
    struct code literals, distances;
    uint8_t lengths[LITERALS];
    for (int i = 0; i < LITERALS; i++)
        lengths[i] = i < 144 ? 8 : i < 256 ? 9 : i < 280 ? 7 : 8;
    make_code(&literals, lengths, LITERALS);
    memset(lengths, 5, DISTANCES);
    make_code(&distances, lengths, DISTANCES);
    read_symbols(r, out, from, &literals, &distances);
}

/* The lengths of the codes are themselves packed: by a code, and by runs of the same. */
static void read_lengths(struct reader *r, const struct code *c, uint8_t *lengths, int n)
{
    for (int i = 0; i < n && !r->bad;) {
        int symbol = decode(r, c), times = 1;
        uint8_t length = symbol < 16 ? (uint8_t) symbol : 0;
        if (symbol == 16) {
            length = i > 0 ? lengths[i - 1] : 0;
            times = 3 + (int) take(r, 2);
        } else if (symbol > 16) {
            times = symbol == 17 ? 3 + (int) take(r, 3) : 11 + (int) take(r, 7);
        }
        r->bad |= i + times > n;
        for (; times > 0 && i < n; times--)
            lengths[i++] = length;
    }
}

static void read_dynamic(struct reader *r, struct cli_buf *out, size_t from)
{
    static const uint8_t order[19] = { 16, 17, 18, 0, 8, 7, 9, 6, 10, 5, 11, 4, 12, 3, 13, 2, 14, 1,
        15 };
    struct code literals, distances;
    uint8_t lengths[LITERALS + 32] = { 0 };
    int n_literals = 257 + (int) take(r, 5), n_distances = 1 + (int) take(r, 5),
        n = 4 + (int) take(r, 4);
    for (int i = 0; i < n; i++)
        lengths[order[i]] = (uint8_t) take(r, 3);
    make_code(&literals, lengths, 19);
    memset(lengths, 0, sizeof(lengths));
    r->bad |= n_literals > LITERALS - 2 || n_distances > DISTANCES;
    if (r->bad)
        return;
    read_lengths(r, &literals, lengths, n_literals + n_distances);
    make_code(&literals, lengths, n_literals);
    make_code(&distances, lengths + n_literals, n_distances);
    read_symbols(r, out, from, &literals, &distances);
}

static void read_stored(struct reader *r, struct cli_buf *out)
{
    r->held = 0; /* the rest of a byte; fewer than eight bits are ever held here */
    r->bits = 0;
    size_t left = (size_t) (r->end - r->p), n = left < 4 ? 0 : (size_t) (r->p[0] | r->p[1] << 8);
    r->bad |= left < 4 + n;
    if (r->bad)
        return;
    cli_buf_add(out, (const char *) r->p + 4, n);
    r->p += 4 + n;
}

bool cli_inflate(struct cli_buf *out, const unsigned char *packed, size_t n)
{
    static const unsigned char head[] = { 0x1f, 0x8b, 8, 0 }; /* no name, no comment */
    struct reader r = { .p = packed + 10, .end = packed + n };
    size_t from = out->n;
    if (n < 18 || memcmp(packed, head, sizeof(head)) != 0)
        return false;
    for (bool last = false; !last && !r.bad;) {
        last = take(&r, 1);
        unsigned kind = take(&r, 2);
        if (kind == 0)
            read_stored(&r, out);
        else if (kind == 1)
            read_fixed(&r, out, from);
        else if (kind == 2)
            read_dynamic(&r, out, from);
        else
            r.bad = true;
    }
    const unsigned char *size = packed + n - 4;
    uint32_t whole =
        size[0] | (uint32_t) size[1] << 8 | (uint32_t) size[2] << 16 | (uint32_t) size[3] << 24;
    return !r.bad && out->n - from == whole;
}

/* Numbers as they stand in the text (decimal.h). Doubles were rejected: 0.1 * 3 is no multiple of
 * 0.1 there, and two ids of twenty digits are equal. */
#include "core/schema/decimal.h"

#define EXPONENT_MAX 1000000000000000

/* Bounded, so that sums with it do not overflow; what lies past the bound is larger, or smaller,
 * than anything that is compared with it. */
static int64_t read_exponent(const char *p, const char *end)
{
    bool negative = p < end && *p == '-';
    int64_t v = 0;
    if (p < end && (*p == '-' || *p == '+'))
        p++;
    for (; p < end && hocket__is_digit(*p); p++)
        v = v < EXPONENT_MAX ? v * 10 + (*p - '0') : v;
    return negative ? -v : v;
}

/* Counts the digits from the first to the last that is not 0, and what their
 * place says about the exponent. */
static const char *read_digits(struct hocket__decimal *d, const char *p, const char *end)
{
    int64_t places = 0, zeros = 0;
    size_t seen = 0;
    bool fraction = false;
    for (; p < end && (hocket__is_digit(*p) || *p == '.'); p++) {
        if (*p == '.') {
            fraction = true;
            continue;
        }
        places += fraction;
        if (*p != '0' && seen == 0)
            d->digits = p;
        seen += seen > 0 || *p != '0';
        zeros = *p == '0' ? zeros + 1 : 0;
    }
    d->count = seen > (size_t) zeros ? seen - (size_t) zeros : 0;
    d->exponent = zeros - places;
    return p;
}

struct hocket__decimal hocket__decimal_read(struct hocket__str text)
{
    struct hocket__decimal d = { .text = text };
    const char *p = text.p, *end = text.p + text.n;
    if (p < end && *p == '-') {
        d.negative = true;
        p++;
    }
    p = read_digits(&d, p, end);
    if (p < end && (*p == 'e' || *p == 'E'))
        d.exponent += read_exponent(p + 1, end);
    if (d.count == 0) {
        /* 0, -0 and 0e5 are one number */
        d.exponent = 0;
        d.negative = false;
    }
    return d;
}

/* The digits are read where they were written, so a point may stand between them. */
static int next_digit(const char **p)
{
    while (**p == '.')
        ++*p;
    return *(*p)++ - '0';
}

static int compare_size(const struct hocket__decimal *a, const struct hocket__decimal *b)
{
    if (a->count == 0 || b->count == 0)
        return (a->count > 0) - (b->count > 0);
    /* of 0.00012 and 120 the place of the first digit says which is larger; digits are compared only where that is
     * the same */
    int64_t size_a = a->exponent + (int64_t) a->count, size_b = b->exponent + (int64_t) b->count;
    if (size_a != size_b)
        return size_a < size_b ? -1 : 1;
    const char *p = a->digits, *q = b->digits;
    size_t common = a->count < b->count ? a->count : b->count;
    for (size_t i = 0; i < common; i++) {
        int x = next_digit(&p), y = next_digit(&q);
        if (x != y)
            return x < y ? -1 : 1;
    }
    return (a->count > b->count) - (a->count < b->count);
}

int hocket__decimal_compare(const struct hocket__decimal *a, const struct hocket__decimal *b)
{
    if (a->negative != b->negative)
        return a->negative ? -1 : 1;
    return a->negative ? compare_size(b, a) : compare_size(a, b);
}

bool hocket__decimal_is_integer(const struct hocket__decimal *d)
{
    return d->exponent >= 0;
}

bool hocket__decimal_count(const struct hocket__decimal *d, uint64_t *out)
{
    const char *p = d->digits;
    uint64_t v = 0;
    if (d->negative || d->exponent < 0)
        return false;
    *out = UINT64_MAX;
    /* it may not fit into 64 bits, and no instance is that large */
    if (d->exponent + (int64_t) d->count > 19)
        return true;
    for (size_t i = 0; i < d->count; i++)
        v = v * 10 + (uint64_t) next_digit(&p);
    for (int64_t i = 0; i < d->exponent; i++)
        v *= 10;
    *out = v;
    return true;
}

static uint64_t multiply(uint64_t a, uint64_t b, uint64_t modulus)
{
    return (uint64_t) ((unsigned __int128) a * b % modulus);
}

static uint64_t power_of_ten(uint64_t exponent, uint64_t modulus)
{
    uint64_t result = 1 % modulus, base = 10 % modulus;
    for (; exponent > 0; exponent >>= 1) {
        if (exponent & 1)
            result = multiply(result, base, modulus);
        base = multiply(base, base, modulus);
    }
    return result;
}

/* a·10^i over b·10^j. The digits of a do not end in 0, so when j is the larger
 * no power of ten can be taken out of them and the quotient is no integer. */
bool hocket__decimal_divides(const struct hocket__decimal *b, const struct hocket__decimal *a)
{
    uint64_t divisor = 0, rest = 0;
    const char *p = b->digits;
    if (a->count == 0)
        return true;
    if (a->exponent < b->exponent)
        return false;
    for (size_t i = 0; i < b->count; i++)
        divisor = divisor * 10 + (uint64_t) next_digit(&p);
    p = a->digits;
    for (size_t i = 0; i < a->count; i++)
        rest = (multiply(rest, 10, divisor) + (uint64_t) next_digit(&p) % divisor) % divisor;
    uint64_t shift = power_of_ten((uint64_t) (a->exponent - b->exponent), divisor);
    return multiply(rest, shift, divisor) == 0;
}

uint64_t hocket__decimal_hash(const struct hocket__decimal *d)
{
    uint64_t h = 0xcbf29ce484222325u ^ (uint64_t) d->exponent ^ (uint64_t) d->negative << 63;
    const char *p = d->digits;
    for (size_t i = 0; i < d->count; i++)
        h = (h ^ (uint64_t) next_digit(&p)) * 0x100000001b3u;
    return h;
}

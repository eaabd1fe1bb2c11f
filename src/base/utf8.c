/* UTF-8, checked and repaired (utf8.h). Everything that comes from models, tools and files passes
 * here, most of it plain ASCII: eight bytes are checked at once, and only the others go through the
 * table of lead bytes. */
#include "base/utf8.h"

#define ONES 0x0101010101010101u

/* Unicode 15, table 3-7: what may follow a lead byte. Only the second byte has
 * ranges of its own; they keep out overlong forms, surrogates and codes past U+10FFFF. */
static int lead(unsigned char c, unsigned char *low, unsigned char *high)
{
    *low = c == 0xE0 ? 0xA0 : c == 0xF0 ? 0x90 : 0x80;
    *high = c == 0xED ? 0x9F : c == 0xF4 ? 0x8F : 0xBF;
    if (c < 0x80)
        return 1;
    if (c < 0xC2 || c > 0xF4)
        return 0;
    return c < 0xE0 ? 2 : c < 0xF0 ? 3 : 4;
}

/* How many of the bytes are the beginning of one sequence; *need is its length. */
static int prefix(const unsigned char *p, size_t n, int *need)
{
    unsigned char low, high;
    *need = lead(p[0], &low, &high);
    int i = 1;
    for (; i < *need && (size_t) i < n && p[i] >= low && p[i] <= high; i++) {
        low = 0x80;
        high = 0xBF;
    }
    return i;
}

static bool is_follower(unsigned char c)
{
    return (c & 0xC0) == 0x80;
}

int hocket__utf8_sequence(const char *p, size_t n)
{
    const unsigned char *s = (const unsigned char *) p;
    int need;
    if (n == 0)
        return 0;
    if (n >= 3 && s[0] > 0xE0 && s[0] < 0xED && is_follower(s[1]) && is_follower(s[2]))
        return 3; /* most of the world's other scripts: worth a short way */
    int have = prefix(s, n, &need);
    return have == need ? have : -have;
}

static size_t skip_ascii(const char *p, size_t i, size_t n)
{
    uint64_t word, four[4];
    for (; n - i >= sizeof(four); i += sizeof(four)) {
        memcpy(four, p + i, sizeof(four));
        if ((four[0] | four[1] | four[2] | four[3]) & ONES * 0x80)
            break;
    }
    for (; n - i >= sizeof(word); i += sizeof(word)) {
        memcpy(&word, p + i, sizeof(word));
        if (word & ONES * 0x80)
            break;
    }
    while (i < n && (unsigned char) p[i] < 0x80)
        i++;
    return i;
}

size_t hocket__utf8_valid(const char *p, size_t n)
{
    size_t i = 0;
    while (i < n) {
        int len = hocket__utf8_sequence(p + i, n - i);
        if (len < 0)
            break;
        i += (size_t) len;
        if (len == 1)
            i = skip_ascii(p, i, n);
    }
    return i;
}

int hocket__utf8_repair(struct hocket__buf *out, const char *p, size_t n)
{
    size_t i = 0;
    while (i < n) {
        size_t valid = hocket__utf8_valid(p + i, n - i);
        hocket__buf_add(out, p + i, valid);
        i += valid;
        if (i < n) {
            i += (size_t) -hocket__utf8_sequence(p + i, n - i);
            hocket__utf8_add(out, 0xFFFD);
        }
    }
    return out->status;
}

size_t hocket__utf8_put(uint32_t code, char out[4])
{
    size_t n = 0;
    if (code > 0x10FFFF || (code >= 0xD800 && code <= 0xDFFF))
        code = 0xFFFD;
    if (code < 0x80) {
        out[n++] = (char) code;
        return n;
    }
    if (code < 0x800) {
        out[n++] = (char) (0xC0 | code >> 6);
    } else if (code < 0x10000) {
        out[n++] = (char) (0xE0 | code >> 12);
    } else {
        out[n++] = (char) (0xF0 | code >> 18);
        out[n++] = (char) (0x80 | (code >> 12 & 0x3F));
    }
    if (code >= 0x800)
        out[n++] = (char) (0x80 | (code >> 6 & 0x3F));
    out[n++] = (char) (0x80 | (code & 0x3F));
    return n;
}

int hocket__utf8_add(struct hocket__buf *out, uint32_t code)
{
    char bytes[4];
    return hocket__buf_add(out, bytes, hocket__utf8_put(code, bytes));
}

size_t hocket__utf8_cut(const char *p, size_t n)
{
    for (size_t back = 1; back <= 3 && back <= n; back++) {
        const unsigned char *at = (const unsigned char *) p + n - back;
        int need;
        if (is_follower(*at))
            continue;
        size_t have = (size_t) prefix(at, back, &need);
        return have == back && need > (int) back ? n - back : n;
    }
    return n;
}

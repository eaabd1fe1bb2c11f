/* Sets of code points. They are built by adding ranges in any order, then
 * closed: sorted, joined, and the ASCII part spread into a bitmap.
 *
 * A class is asked for each character of a text: the bitmap answers for ASCII, a search by
 * bisection for the rest. */
#include "core/regex/regex_impl.h"

#include <stdlib.h>

#define CODE_MAX 0x10ffffu

int hocket__regex_class_add(
    const struct hocket_allocator *a, struct hocket__regex_class *c, uint32_t first, uint32_t last)
{
    int rc = hocket__grow(a, &c->ranges, &c->cap, c->count + 1, sizeof(*c->ranges));
    if (rc == 0)
        c->ranges[c->count++] = (struct hocket__regex_range){ first, last };
    return rc;
}

static const struct hocket__regex_range digits[] = { { '0', '9' } };
static const struct hocket__regex_range word[] = { { '0', '9' }, { 'A', 'Z' }, { '_', '_' },
    { 'a', 'z' } };
static const struct hocket__regex_range space[] = { { 0x9, 0xd }, { 0x20, 0x20 }, { 0xa0, 0xa0 },
    { 0x1680, 0x1680 }, { 0x2000, 0x200a }, { 0x2028, 0x2029 }, { 0x202f, 0x202f },
    { 0x205f, 0x205f }, { 0x3000, 0x3000 }, { 0xfeff, 0xfeff } };

static int add_all(const struct hocket_allocator *a, struct hocket__regex_class *c,
    const struct hocket__regex_range *list, size_t n)
{
    int rc = 0;
    for (size_t i = 0; i < n && rc == 0; i++)
        rc = hocket__regex_class_add(a, c, list[i].first, list[i].last);
    return rc;
}

/* The gaps between the ranges of a sorted list. */
static int add_others(const struct hocket_allocator *a, struct hocket__regex_class *c,
    const struct hocket__regex_range *list, size_t n)
{
    uint32_t from = 0;
    int rc = 0;
    for (size_t i = 0; i < n && rc == 0; i++) {
        if (list[i].first > from)
            rc = hocket__regex_class_add(a, c, from, list[i].first - 1);
        from = list[i].last + 1;
    }
    return rc < 0 ? rc : hocket__regex_class_add(a, c, from, CODE_MAX);
}

#define COUNT(list) (sizeof(list) / sizeof((list)[0]))

int hocket__regex_class_add_escape(
    const struct hocket_allocator *a, struct hocket__regex_class *c, char letter)
{
    switch (letter) {
    case 'd': return add_all(a, c, digits, COUNT(digits));
    case 'D': return add_others(a, c, digits, COUNT(digits));
    case 'w': return add_all(a, c, word, COUNT(word));
    case 'W': return add_others(a, c, word, COUNT(word));
    case 's': return add_all(a, c, space, COUNT(space));
    default: return add_others(a, c, space, COUNT(space));
    }
}

static int compare(const void *x, const void *y)
{
    const struct hocket__regex_range *a = x, *b = y;
    return a->first < b->first ? -1 : a->first > b->first;
}

/* Ranges that touch or overlap become one, which a search by halves needs. */
static void join(struct hocket__regex_class *c)
{
    size_t kept = 0;
    for (size_t i = 1; i < c->count; i++) {
        struct hocket__regex_range *last = &c->ranges[kept], *r = &c->ranges[i];
        if (r->first > last->last + 1)
            c->ranges[++kept] = *r;
        else if (r->last > last->last)
            last->last = r->last;
    }
    if (c->count > 0)
        c->count = kept + 1;
}

static bool in_ranges(const struct hocket__regex_class *c, uint32_t code)
{
    size_t low = 0, high = c->count;
    while (low < high) {
        size_t mid = low + (high - low) / 2;
        if (code < c->ranges[mid].first)
            high = mid;
        else if (code > c->ranges[mid].last)
            low = mid + 1;
        else
            return true;
    }
    return false;
}

static bool look_up(const struct hocket__regex_class *c, uint32_t code)
{
    bool in = in_ranges(c, code)
              || (c->categories != 0 && (c->categories & hocket__unicode_category(code)) != 0);
    return in != c->negated;
}

void hocket__regex_class_close(struct hocket__regex_class *c)
{
    if (c->count > 1)
        qsort(c->ranges, c->count, sizeof(*c->ranges), compare);
    join(c);
    memset(c->ascii, 0, sizeof(c->ascii));
    for (uint32_t code = 0; code < 128; code++)
        if (look_up(c, code))
            c->ascii[code / 32] |= 1u << (code % 32);
}

bool hocket__regex_class_has(const struct hocket__regex_class *c, uint32_t code)
{
    if (code < 128)
        return (c->ascii[code / 32] >> (code % 32)) & 1u;
    return look_up(c, code);
}

/* From a pattern to a program: recursive descent that writes code as it reads.
 * Groups nest GROUP_DEPTH deep at most, which bounds the recursion.
 *
 * Repetition copies the code that is repeated, which is what the limit on a program's size is
 * about: (a{1000}){1000} is refused here and takes no memory before. */
#include <stdlib.h>

#include "core/regex/regex_impl.h"

struct hocket__regex_parser {
    struct hocket__regex *re;
    const char *begin, *p, *end;
    size_t max_size;
    int groups, aheads; /* open ones */
    struct hocket_error *err;
};

/* Sets of code points. They are built by adding ranges in any order, then
 * closed: sorted, joined, and the ASCII part spread into a bitmap.
 *
 * A class is asked for each character of a text: the bitmap answers for ASCII, a search by
 * bisection for the rest. */

#define CODE_MAX 0x10ffffu

static int class_add(
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
        rc = class_add(a, c, list[i].first, list[i].last);
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
            rc = class_add(a, c, from, list[i].first - 1);
        from = list[i].last + 1;
    }
    return rc < 0 ? rc : class_add(a, c, from, CODE_MAX);
}

#define COUNT(list) (sizeof(list) / sizeof((list)[0]))

/* Adds what \d \D \w \W \s \S stand for; `letter` is one of dDwWsS. */
static int class_add_escape(
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

static void class_close(struct hocket__regex_class *c)
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

/* Escapes and classes of patterns.
 *
 * What \d, \w and \s stand for is ECMA-262's, without the flag u: ASCII for the first two, and the
 * spaces of Unicode for the third. */

static bool read_hex(struct hocket__regex_parser *ps, int most, uint32_t *out)
{
    const char *p = ps->p;
    uint32_t v = 0;
    for (int i = 0; i < most; i++, p++) {
        if (p >= ps->end || hocket__hex_value(*p) < 0)
            return false;
        v = v * 16 + (uint32_t) hocket__hex_value(*p);
    }
    ps->p = p;
    *out = v;
    return true;
}

static bool read_braced_code(struct hocket__regex_parser *ps, uint32_t *out)
{
    uint32_t v = 0;
    const char *p = ps->p;
    for (; p < ps->end && hocket__hex_value(*p) >= 0 && v <= 0x10ffff; p++)
        v = v * 16 + (uint32_t) hocket__hex_value(*p);
    if (p == ps->p || p >= ps->end || *p != '}' || v > 0x10ffff)
        return false;
    ps->p = p + 1;
    *out = v;
    return true;
}

static bool regex_accept(struct hocket__regex_parser *ps, const char *what)
{
    size_t n = strlen(what);
    if ((size_t) (ps->end - ps->p) < n || memcmp(ps->p, what, n) != 0)
        return false;
    ps->p += n;
    return true;
}

/* Behind \u: {…}, or four digits, of which two in a row may be a pair. */
static bool read_unicode_escape(struct hocket__regex_parser *ps, uint32_t *out)
{
    if (regex_accept(ps, "{"))
        return read_braced_code(ps, out);
    if (!read_hex(ps, 4, out))
        return false;
    const char *back = ps->p;
    uint32_t low;
    /* half a pair alone stays what it is, and matches nothing: no UTF-8 holds one */
    if (*out >= 0xd800 && *out < 0xdc00 && regex_accept(ps, "\\u")) {
        if (read_hex(ps, 4, &low) && low >= 0xdc00 && low < 0xe000)
            *out = 0x10000 + ((*out - 0xd800) << 10) + (low - 0xdc00);
        else
            ps->p = back;
    }
    return true;
}

/* Fails with the offset. Returns `status`. */
static int fail(struct hocket__regex_parser *ps, int status, const char *what)
{
    return hocket__error(
        ps->err, status, "at offset %zu of the pattern: %s", (size_t) (ps->p - ps->begin), what);
}

static int control_escape(struct hocket__regex_parser *ps, uint32_t *out)
{
    if (ps->p >= ps->end || !hocket__is_letter(*ps->p))
        return fail(ps, HOCKET_EPARSE, "\\c is followed by a letter");
    *out = (uint32_t) *ps->p++ & 31;
    return 0;
}

/* An escape that stands for one character; ps->p is behind the backslash. */
static int char_escape(struct hocket__regex_parser *ps, uint32_t *out)
{
    static const char names[] = "tnrvf", values[] = "\t\n\r\v\f";
    char c = *ps->p;
    const char *simple = strchr(names, c);
    if (c != 0 && simple) {
        *out = (uint32_t) values[simple - names];
    } else if (c == '0') {
        *out = 0;
        if (ps->p + 1 < ps->end && hocket__is_digit(ps->p[1]))
            return fail(ps, HOCKET_EUNSUPPORTED, "octal escapes are not supported");
    } else if (hocket__is_digit(c) || c == 'k') {
        return fail(ps, HOCKET_EUNSUPPORTED, "back-references are not supported");
    } else if (c == 'x' || c == 'u' || c == 'c') {
        ps->p++;
        if (c == 'c')
            return control_escape(ps, out);
        if (c == 'x' ? read_hex(ps, 2, out) : read_unicode_escape(ps, out))
            return 0;
        return fail(ps, HOCKET_EPARSE, "hexadecimal digits expected");
    } else if (hocket__is_letter(c)) {
        return fail(ps, HOCKET_EPARSE, "this escape does not exist in ECMA-262");
    } else {
        *out = hocket__regex_read(&ps->p, ps->end);
        return 0;
    }
    ps->p++;
    return 0;
}

/* Behind \p or \P: {L}, {Letter}, {gc=L}, {General_Category=L}. */
static int property(struct hocket__regex_parser *ps, struct hocket__regex_class *c, bool negated)
{
    if (!regex_accept(ps, "{"))
        return fail(ps, HOCKET_EPARSE, "\\p is followed by a name in braces");
    if (!regex_accept(ps, "General_Category="))
        (void) regex_accept(ps, "gc=");
    const char *stop = memchr(ps->p, '}', (size_t) (ps->end - ps->p));
    if (!stop)
        return fail(ps, HOCKET_EPARSE, "the } of \\p{…} is missing");
    struct hocket__str name = hocket__str(ps->p, (size_t) (stop - ps->p));
    uint32_t mask = hocket__unicode_category_mask(name);
    bool ascii = hocket__str_is(name, "ASCII");
    if (mask == 0 && !ascii)
        return fail(ps, HOCKET_EUNSUPPORTED, "only general categories are supported in \\p{…}");
    ps->p = stop + 1;
    if (ascii)
        return class_add(ps->re->a, c, negated ? 128 : 0, negated ? 0x10ffff : 127);
    c->categories |= negated ? ~mask & HOCKET__UNICODE_ALL : mask;
    return 0;
}

/* An escape that stands for a set, if it is one: 1, 0 when not, or negative. */
static int set_escape(struct hocket__regex_parser *ps, struct hocket__regex_class *c)
{
    char letter = *ps->p;
    if (letter == 0 || !strchr("dDwWsSpP", letter))
        return 0;
    ps->p++;
    int rc = letter == 'p' || letter == 'P' ? property(ps, c, letter == 'P')
                                            : class_add_escape(ps->re->a, c, letter);
    return rc < 0 ? rc : 1;
}

/* ---- Classes */

static int reserve(struct hocket__regex_parser *ps, size_t more)
{
    struct hocket__regex *re = ps->re;
    if (more > ps->max_size || re->size > ps->max_size - more)
        return fail(ps, HOCKET_ELIMIT, "the pattern is too big");
    if (hocket__grow(re->a, &re->code, &re->code_cap, re->size + more, sizeof(*re->code)) < 0)
        return hocket__error_nomem(ps->err);
    return 0;
}

/* Whether the next character is c; whether the text comes next, which is then taken. */
static int emit(struct hocket__regex_parser *ps, enum hocket__regex_op op, int32_t arg)
{
    int rc = reserve(ps, 1);
    if (rc == 0)
        ps->re->code[ps->re->size++] = (struct hocket__regex_code){ op, arg };
    return rc;
}

static int new_class(struct hocket__regex_parser *ps, struct hocket__regex_class **out)
{
    struct hocket__regex *re = ps->re;
    if (hocket__grow(re->a, &re->classes, &re->class_cap, re->class_count + 1, sizeof(*re->classes))
        < 0)
        return hocket__error_nomem(ps->err);
    *out = &re->classes[re->class_count++];
    memset(*out, 0, sizeof(**out));
    return emit(ps, HOCKET__RE_CLASS, (int32_t) re->class_count - 1);
}

static bool regex_at(const struct hocket__regex_parser *ps, char c)
{
    return ps->p < ps->end && *ps->p == c;
}

/* One end of a range: 1 when it was a set (which is added), 0 with a character
 * in *code, or negative. */
static int class_item(
    struct hocket__regex_parser *ps, struct hocket__regex_class *c, uint32_t *code)
{
    if (!regex_at(ps, '\\')) {
        *code = hocket__regex_read(&ps->p, ps->end);
        return 0;
    }
    if (++ps->p >= ps->end)
        return fail(ps, HOCKET_EPARSE, "the pattern ends with a backslash");
    if (regex_accept(ps, "b")) {
        *code = '\b';
        return 0;
    }
    int rc = set_escape(ps, c);
    return rc != 0 ? rc : char_escape(ps, code);
}

static int add(
    struct hocket__regex_parser *ps, struct hocket__regex_class *c, uint32_t first, uint32_t last)
{
    if (first > last)
        return fail(ps, HOCKET_EPARSE, "the range ends before it begins");
    return class_add(ps->re->a, c, first, last);
}

/* A character, a set, or a range. Next to a set a '-' is itself: [\w-.]. */
static int class_range(struct hocket__regex_parser *ps, struct hocket__regex_class *c)
{
    uint32_t first, last;
    int set = class_item(ps, c, &first);
    if (set < 0)
        return set;
    if (set || !regex_at(ps, '-') || ps->p + 1 >= ps->end || ps->p[1] == ']')
        return set ? 0 : add(ps, c, first, first);
    ps->p++;
    int set_too = class_item(ps, c, &last);
    if (set_too < 0)
        return set_too;
    if (!set_too)
        return add(ps, c, first, last);
    int rc = add(ps, c, first, first);
    return rc < 0 ? rc : add(ps, c, '-', '-');
}

/* Behind a '[': the class, up to its ']'. */
static int parse_class(struct hocket__regex_parser *ps)
{
    struct hocket__regex_class *c;
    int rc = new_class(ps, &c);
    if (rc < 0)
        return rc;
    c->negated = regex_accept(ps, "^");
    while (!regex_at(ps, ']')) {
        if (ps->p >= ps->end)
            return fail(ps, HOCKET_EPARSE, "the ] of a class is missing");
        rc = class_range(ps, c);
        if (rc < 0)
            return rc == HOCKET_ENOMEM ? hocket__error_nomem(ps->err) : rc;
    }
    ps->p++;
    class_close(c);
    return 0;
}

/* ---- Outside of classes */

/* Behind a backslash; *repeatable becomes false for \b and \B. */
static int parse_escape(struct hocket__regex_parser *ps, bool *repeatable)
{
    if (ps->p >= ps->end)
        return fail(ps, HOCKET_EPARSE, "the pattern ends with a backslash");
    if (regex_at(ps, 'b') || regex_at(ps, 'B')) {
        *repeatable = false;
        return emit(ps, *ps->p++ == 'b' ? HOCKET__RE_WORD : HOCKET__RE_NOT_WORD, 0);
    }
    if (*ps->p != 0 && strchr("dDwWsSpP", *ps->p)) {
        struct hocket__regex_class *c;
        int rc = new_class(ps, &c);
        if (rc == 0)
            rc = set_escape(ps, c);
        if (rc < 0)
            return rc == HOCKET_ENOMEM ? hocket__error_nomem(ps->err) : rc;
        class_close(c);
        return 0;
    }
    uint32_t code;
    int rc = char_escape(ps, &code);
    return rc < 0 ? rc : emit(ps, HOCKET__RE_CHAR, (int32_t) code);
}

#define GROUP_DEPTH 100
#define AHEAD_DEPTH 4
#define NO_MAX      UINT32_MAX

/* ---- Writing code */

/* All jumps are relative: what is moved stays right as long as no jump leads across `where`,
 * and none does, since only whole atoms and alternatives get something put in front. */
static int insert(
    struct hocket__regex_parser *ps, size_t where, enum hocket__regex_op op, int32_t arg)
{
    int rc = reserve(ps, 1);
    if (rc < 0)
        return rc;
    struct hocket__regex_code *code = ps->re->code + where;
    memmove(code + 1, code, (ps->re->size - where) * sizeof(*code));
    *code = (struct hocket__regex_code){ op, arg };
    ps->re->size++;
    return 0;
}

static int emit_copy(struct hocket__regex_parser *ps, size_t from, size_t n)
{
    int rc = reserve(ps, n);
    if (rc < 0)
        return rc;
    struct hocket__regex *re = ps->re;
    memcpy(re->code + re->size, re->code + from, n * sizeof(*re->code));
    re->size += n;
    return 0;
}

/* ---- Quantifiers */

static int repeat_for_ever(struct hocket__regex_parser *ps, size_t start, size_t len, uint32_t min)
{
    int rc = 0;
    if (min == 0) {
        rc = insert(ps, start, HOCKET__RE_SPLIT, (int32_t) len + 2);
        return rc < 0 ? rc : emit(ps, HOCKET__RE_JUMP, -(int32_t) len - 1);
    }
    for (uint32_t i = 1; i < min && rc == 0; i++)
        rc = emit_copy(ps, start, len);
    return rc < 0 ? rc : emit(ps, HOCKET__RE_SPLIT, -(int32_t) len);
}

/* All optional copies jump to the same end, so that a text's position is in only one of them at a
 * time. */
static int repeat_up_to(
    struct hocket__regex_parser *ps, size_t start, size_t len, uint32_t min, uint32_t max)
{
    size_t stop = start + len * max + (max - min), block = start;
    int rc = 0;
    if (min == 0) {
        rc = insert(ps, start, HOCKET__RE_SPLIT, (int32_t) (stop - start));
        block++;
    }
    for (uint32_t i = 1; i < max && rc == 0; i++) {
        if (i >= min)
            rc = emit(ps, HOCKET__RE_SPLIT, (int32_t) (stop - ps->re->size));
        if (rc == 0)
            rc = emit_copy(ps, block, len);
    }
    return rc;
}

static int repeat(struct hocket__regex_parser *ps, size_t start, uint32_t min, uint32_t max)
{
    size_t len = ps->re->size - start;
    uint64_t copies = max != NO_MAX ? max : min ? min : 1;
    uint64_t splits = max != NO_MAX ? max - min : 2;
    if (len == 0)
        return 0;
    /* Checked before anything is copied: (((a{100}){100}){100}) is refused and not tried. */
    if (copies * len + splits > ps->max_size)
        return fail(ps, HOCKET_ELIMIT, "the pattern repeats too often");
    if (max == 0) {
        ps->re->size = start;
        return 0;
    }
    return max == NO_MAX ? repeat_for_ever(ps, start, len, min)
                         : repeat_up_to(ps, start, len, min, max);
}

static const char *read_number(const char *p, const char *end, uint32_t *out)
{
    uint32_t n = 0;
    for (; p < end && *p >= '0' && *p <= '9'; p++)
        n = n < 100000000 ? n * 10 + (uint32_t) (*p - '0') : n;
    *out = n;
    return p;
}

/* {m} {m,} {m,n}; anything else in braces is text. */
static bool read_braces(struct hocket__regex_parser *ps, uint32_t *min, uint32_t *max)
{
    const char *p = ps->p + 1, *q = read_number(p, ps->end, min);
    if (q == p)
        return false;
    *max = *min;
    if (q < ps->end && *q == ',') {
        p = q + 1;
        q = read_number(p, ps->end, max);
        if (q == p)
            *max = NO_MAX;
    }
    if (q >= ps->end || *q != '}')
        return false;
    ps->p = q + 1;
    return true;
}

static bool read_quantifier(struct hocket__regex_parser *ps, uint32_t *min, uint32_t *max)
{
    *min = regex_at(ps, '+');
    *max = regex_at(ps, '?') ? 1 : NO_MAX;
    if (regex_at(ps, '*') || regex_at(ps, '+') || regex_at(ps, '?'))
        ps->p++;
    else if (!regex_at(ps, '{') || !read_braces(ps, min, max))
        return false;
    if (regex_at(ps, '?')) /* lazy: the answer is the same */
        ps->p++;
    return true;
}

/* ---- Atoms, sequences, alternatives */

static int alternatives(struct hocket__regex_parser *ps);

static int group_end(struct hocket__regex_parser *ps)
{
    ps->groups--;
    return regex_accept(ps, ")") ? 0 : fail(ps, HOCKET_EPARSE, "the ) of a group is missing");
}

static int lookahead(struct hocket__regex_parser *ps, enum hocket__regex_op op)
{
    if (++ps->aheads > AHEAD_DEPTH)
        return fail(ps, HOCKET_ELIMIT, "too many lookaheads inside each other");
    if (ps->aheads > ps->re->depth)
        ps->re->depth = ps->aheads;
    size_t start = ps->re->size;
    int rc = emit(ps, op, 0);
    if (rc == 0)
        rc = alternatives(ps);
    if (rc == 0)
        rc = emit(ps, HOCKET__RE_MATCH, 0);
    if (rc < 0)
        return rc;
    ps->re->code[start].arg = (int32_t) (ps->re->size - start);
    ps->aheads--;
    return group_end(ps);
}

static int group(struct hocket__regex_parser *ps, bool *repeatable)
{
    if (++ps->groups > GROUP_DEPTH)
        return fail(ps, HOCKET_ELIMIT, "too many groups inside each other");
    if (regex_at(ps, '?') && !regex_accept(ps, "?:")) {
        bool not_ahead = regex_accept(ps, "?!");
        if (not_ahead || regex_accept(ps, "?=")) {
            *repeatable = false;
            return lookahead(ps, not_ahead ? HOCKET__RE_NOT_AHEAD : HOCKET__RE_AHEAD);
        }
        if (regex_accept(ps, "?<=") || regex_accept(ps, "?<!"))
            return fail(ps, HOCKET_EUNSUPPORTED, "lookbehind is not supported");
        /* a group's name is skipped: nothing can refer to it */
        const char *name_end =
            regex_accept(ps, "?<") ? memchr(ps->p, '>', (size_t) (ps->end - ps->p)) : NULL;
        if (!name_end)
            return fail(ps, HOCKET_EUNSUPPORTED, "this kind of group is not supported");
        ps->p = name_end + 1;
    }
    int rc = alternatives(ps);
    return rc < 0 ? rc : group_end(ps);
}

static int atom(struct hocket__regex_parser *ps, bool *repeatable)
{
    uint32_t min, max;
    /* Where an atom should begin. A brace that is no quantifier is text, so only what reads as
     * one is an error. */
    if (read_quantifier(ps, &min, &max))
        return fail(ps, HOCKET_EPARSE, "there is nothing to repeat");
    if (regex_accept(ps, "("))
        return group(ps, repeatable);
    if (regex_accept(ps, "["))
        return parse_class(ps);
    if (regex_accept(ps, "\\"))
        return parse_escape(ps, repeatable);
    if (regex_accept(ps, "."))
        return emit(ps, HOCKET__RE_ANY, 0);
    if (regex_at(ps, '^') || regex_at(ps, '$')) {
        *repeatable = false;
        return emit(ps, *ps->p++ == '^' ? HOCKET__RE_BEGIN : HOCKET__RE_END, 0);
    }
    return emit(ps, HOCKET__RE_CHAR, (int32_t) hocket__regex_read(&ps->p, ps->end));
}

static int sequence(struct hocket__regex_parser *ps)
{
    while (ps->p < ps->end && *ps->p != '|' && *ps->p != ')') {
        size_t start = ps->re->size;
        bool repeatable = true;
        uint32_t min, max;
        int rc = atom(ps, &repeatable);
        if (rc < 0)
            return rc;
        if (!repeatable || !read_quantifier(ps, &min, &max))
            continue;
        if (max < min)
            return fail(ps, HOCKET_EPARSE, "the numbers in braces are out of order");
        rc = repeat(ps, start, min, max);
        if (rc < 0)
            return rc;
    }
    return 0;
}

/* A further alternative puts its branch in front of the code that stands before. */
static int alternatives(struct hocket__regex_parser *ps)
{
    size_t start = ps->re->size;
    int rc = sequence(ps);
    while (rc == 0 && regex_accept(ps, "|")) {
        size_t jump = ps->re->size + 1;
        rc = insert(ps, start, HOCKET__RE_SPLIT, (int32_t) (jump + 1 - start));
        if (rc == 0)
            rc = emit(ps, HOCKET__RE_JUMP, 0);
        if (rc == 0)
            rc = sequence(ps);
        if (rc == 0)
            ps->re->code[jump].arg = (int32_t) (ps->re->size - jump);
    }
    return rc;
}

int hocket__regex_parse(
    struct hocket__regex *re, struct hocket__str pattern, size_t max_size, struct hocket_error *err)
{
    struct hocket__regex_parser ps = { .re = re,
        .begin = pattern.p,
        .p = pattern.p,
        .end = pattern.p + pattern.n,
        .max_size = max_size,
        .err = err };
    if (pattern.n > 4 * max_size)
        return fail(&ps, HOCKET_ELIMIT, "the pattern is too long");
    int rc = alternatives(&ps);
    if (rc == 0 && ps.p < ps.end)
        rc = fail(&ps, HOCKET_EPARSE, "there is no ( for this )");
    return rc < 0 ? rc : emit(&ps, HOCKET__RE_MATCH, 0);
}
